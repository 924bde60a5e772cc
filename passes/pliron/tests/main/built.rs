//! Programs that are built in Rust, in pliron.

use pliron::context::{Context, Ptr};
use pliron::operation::Operation;
use promote_builder::Program;
use promote_diagnostics::Severity;
use promote_host::outline::outline;
use promote_lattice::{Op, Semantics};
use promote_pliron::built::module;
use promote_pliron::host::Host;
use promote_pliron::pass::{Config, promote};
use promote_pliron::text;

#[path = "../../../../tests/support/built.rs"]
mod programs;

/// The outline of a program without the line of the module, which has no place of its own.
fn body(context: &mut Context, program: Ptr<Operation>) -> String {
    let outline = outline(&Host::new(context), program);
    outline.split_once('\n').map_or_else(String::new, |(_, body)| body.to_owned())
}

/// The promoted program as text, or its errors.
fn promoted(program: &Program) -> Result<String, String> {
    let context = &mut Context::new();
    let made = module(context, program);
    let written = text::print(context, made);
    let reread = &mut Context::new();
    let again = text::parse(reread, &written, "built.plir").expect("what is printed is read");
    assert_eq!(body(reread, again), body(context, made));
    let config = Config::new(Semantics::by_name("jax", false).expect("jax is known"));
    match promote(context, made, &config) {
        Ok(_) => Ok(text::print(context, made)),
        Err(found) => {
            let errors = found.iter().filter(|found| found.severity == Severity::Error);
            let place = |found: &promote_diagnostics::Diagnostic| {
                found.location.as_ref().map_or_else(String::new, |place| place.file.clone())
            };
            Err(errors.map(|found| format!("{}: {}\n", place(found), found.message)).collect())
        }
    }
}

#[test]
fn every_op_of_the_table_is_built_and_promoted() {
    for op in Op::ALL {
        promoted(&programs::of_op(*op)).unwrap_or_else(|errors| panic!("{op}: {errors}"));
    }
}

#[test]
fn loops_branches_and_calls_are_built_and_promoted() {
    for (name, program) in programs::programs() {
        match promoted(&program) {
            Ok(text) => assert!(!text.contains("unknown"), "{name}: {text}"),
            Err(errors) => {
                assert_eq!(name, "a dtype that cannot be joined", "{errors}");
                assert!(errors.contains("built.rs: "), "{errors}");
            }
        }
    }
}
