//! Random programs with loops, branches and calls, in XLA and in the reference interpreter.

use std::io::Write as _;

use promote::diagnostic::Code;
use promote::{DType, Kind, Semantics};
use promote_reference::random::{Dynamic, Options, generate};
use promote_reference::{Array, Program, Value};

use super::machine::{Job, Measure, run, size};
use super::pipeline;
use crate::support::{run_in, session};

const SEEDS: std::ops::Range<u64> = 0..400;

/// Units of the last place of f16, of the largest number that goes in or comes out: the programs' own dtypes are mixed.
const TOLERATED: f64 = 4.0;

/// An argument as XLA takes it.
fn array(value: &Value, position: usize, count: usize) -> Array {
    match value {
        Value::Array(array) => array.clone(),
        // The entry function takes an index, then a truth value, last.
        Value::Integer(number) => {
            let dtype = if position + 1 == count { DType::B1 } else { DType::I64 };
            Array::of_ints(dtype, &[], &[(*number).into()])
        }
    }
}

#[test]
fn random_programs_with_control_flow_give_the_interpreters_numbers() {
    let semantics = Semantics::by_name("jax", true).expect("the semantics exists");
    let session = session("jax", true, false);
    let options = Options { semantics: "jax".to_owned(), x64: true, dynamic: Dynamic::Equal };
    let (mut jobs, mut expected, mut refused) = (Vec::new(), Vec::new(), 0);
    for seed in SEEDS {
        let program = generate(seed, &options);
        let before =
            Program::read(&program.text).and_then(|read| read.run(&semantics, "main", &program.arguments));
        let Ok(outcome) = before else { continue };
        let lowered = run_in(&session, &program.text, &pipeline());
        if lowered.text.is_empty() {
            let internal = lowered.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::Internal);
            assert!(!internal, "seed {seed}: {}{}", program.text, lowered.diagnostics_text());
            refused += 1;
            continue;
        }
        let count = program.arguments.len();
        let inputs = program.arguments.iter().enumerate().map(|(i, value)| array(value, i, count));
        jobs.push(Job { text: lowered.text, inputs: inputs.collect() });
        expected.push((seed, outcome.results));
    }
    let answers = run(&jobs.iter().collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for (((seed, expected), job), answer) in expected.iter().zip(&jobs).zip(answers) {
        let found = match answer {
            Ok(found) => found,
            Err(error) => {
                wrong.push(format!("seed {seed}: {error}"));
                continue;
            }
        };
        for (found, expected) in found.iter().zip(expected) {
            let Value::Array(expected) = expected else { continue };
            let scale = job.inputs.iter().chain([expected]).map(size).fold(1.0, f64::max);
            let is_whole = !matches!(expected.dtype.kind(), Kind::Float | Kind::Complex);
            let dtype = if is_whole { expected.dtype } else { DType::F16 };
            let (distance, at) = Measure { dtype, scale }.largest(found, expected);
            if distance > TOLERATED {
                let (found, expected) = (found.elements.get(at), expected.elements.get(at));
                wrong.push(format!("seed {seed}: {found:?} instead of {expected:?}"));
            }
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "random programs: {} run in XLA, {refused} are refused, {} differ",
        jobs.len(),
        wrong.len()
    );
    assert_eq!(wrong, Vec::<String>::new());
}
