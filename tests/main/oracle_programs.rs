//! Whole programs against what the libraries recorded: dtype, weakness and shape of every value, refusals, and how many
//! conversions there are.

use promote::diagnostic::Severity;

use crate::support::{
    DEFAULT, INFER, Program, jax_converts, random_programs, real_programs, refused_programs, result_types,
    run_in, session,
};

/// A recorded system, and the session that must agree with it.
const SYSTEMS: &[(&str, &str, bool)] = &[
    ("jax", "jax", true),
    ("jax-x32", "jax", false),
    ("numpy2", "numpy2", false),
    ("torch-meta", "torch", false),
    ("torch", "torch", false),
];

/// Compares the types of every value of `programs` that `system` computes; how many there were.
fn every_value_agrees(programs: &[Program], system: &str) -> usize {
    let (mut values, mut wrong) = (0, Vec::new());
    let (_, name, x64) = SYSTEMS.iter().find(|row| row.0 == system).expect("the system is listed");
    let session = session(name, *x64, false);
    for program in programs.iter().filter(|p| p.ran_under(system)) {
        let program = program.accepted_part(system);
        let outcome = run_in(&session, &program.mlir(system), INFER);
        if outcome.text.is_empty() {
            wrong.push(format!("{} {system}: {}", program.id(), outcome.diagnostics_text()));
            continue;
        }
        let (found, expected) = (result_types(&outcome.text), program.expected_types(system));
        values += expected.len();
        for ((name, expected), found) in program.computed().iter().zip(expected).zip(found) {
            if found != expected {
                wrong.push(format!("{} {system} %{name}: {found}, recorded: {expected}", program.id()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    values
}

#[test]
fn every_value_of_the_random_programs_has_the_recorded_type() {
    let programs = random_programs();
    let values = |system| every_value_agrees(&programs, system);
    assert_eq!([values("jax"), values("jax-x32")], [2205, 2205]);
    // Without the 2 and 44 values that are refused, and what depends on them.
    assert_eq!(values("numpy2"), 2203);
    assert_eq!(values("torch-meta"), 2070);
}

#[test]
fn every_value_of_the_real_programs_has_the_recorded_type() {
    let programs = real_programs();
    let values = |system| every_value_agrees(&programs, system);
    assert_eq!([values("jax"), values("jax-x32")], [1118, 2176]);
    assert_eq!([values("numpy2"), values("torch")], [3292, 4570]);
}

/// The op that makes %v is on a line of its own: the error must be there.
fn line_of(source: &str, value: &str) -> u32 {
    let index = source.lines().position(|line| line.trim_start().starts_with(&format!("%{value} = ")));
    index.expect("the value is computed") as u32 + 1
}

#[test]
fn programs_are_refused_exactly_where_the_libraries_refuse() {
    for (system, count) in [("jax", 6), ("jax-x32", 6), ("numpy2", 8), ("torch-meta", 58)] {
        let (_, name, x64) = SYSTEMS.iter().find(|row| row.0 == system).expect("the system is listed");
        let session = session(name, *x64, false);
        let mut refused = 0;
        for program in refused_programs().iter().chain(&random_programs()) {
            let source = program.mlir(system);
            let outcome = run_in(&session, &source, INFER);
            let errors = outcome.diagnostics.iter().filter(|d| d.severity == Severity::Error);
            let found: Vec<_> = errors.map(|d| d.location.as_ref().map_or(0, |l| l.line)).collect();
            let mut expected: Vec<_> = program.refused(system).iter().map(|v| line_of(&source, v)).collect();
            expected.sort_unstable();
            assert_eq!(
                found,
                expected,
                "{} {system}\n{source}\n{}",
                program.id(),
                outcome.diagnostics_text()
            );
            refused += usize::from(!expected.is_empty());
        }
        assert_eq!(refused, count, "{system}");
    }
}

#[test]
fn no_program_gets_more_converts_than_jax_traces() {
    let counts = jax_converts();
    let mut checked = 0;
    for system in ["jax", "jax-x32"] {
        let session = session("jax", system == "jax", false);
        for program in random_programs().iter().chain(&real_programs()) {
            let bound = &counts["programs"][program.id()][system];
            if bound.is_null() {
                continue;
            }
            let outcome = run_in(&session, &program.mlir(system), DEFAULT);
            // JAX writes a conversion to bool as a comparison with zero.
            let is_counted = |line: &&str| line.contains("{promote.implicit}") && !line.ends_with("xi1>");
            let converts = outcome.text.lines().filter(is_counted).count() as u64;
            // `distinct`: what JAX converts, a value to a dtype once, with what it leaves to mixed-dtype primitives.
            let jax = bound["distinct"].as_u64().expect("a count");
            assert!(
                converts <= jax,
                "{} {system}: {converts} converts, JAX has {jax}\n{}",
                program.id(),
                outcome.text
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 784, "300 random programs twice, 184 real ones once");
}
