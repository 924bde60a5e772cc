//! Programs that are built in Rust: MLIR reads their text, and both hosts make the same of them.

use pliron::context::Context;
use promote::builder::Program;
use promote::pliron as host;
use promote::{Op, RunOptions, Source, Verdict};
use promote_lattice::Semantics;

use crate::hosts::names;
use crate::support::{DEFAULT, session};

#[path = "../support/built.rs"]
mod programs;

/// The outline of a program after the line of its module, which has a name in pliron only.
fn body(outline: &str) -> &str {
    outline.split_once('\n').map_or("", |(_, body)| body)
}

/// Emits a program to both hosts and promotes it there; whether it was accepted.
fn agree(name: &str, program: &Program) -> bool {
    let session = session("jax", false, false);
    let text = program.to_string();
    let Some(mut module) = session.parse(Source::Text(&text)) else {
        panic!("{name}: {:#?}\n{text}", session.take_diagnostics());
    };
    let context = &mut Context::new();
    let other = host::built::module(context, program);
    let outline = module.outline().expect("the session knows the dialect");
    assert_eq!(body(&host::outline(context, other)), body(&outline), "{name} as it was built");

    let pipeline = promote::Pipeline::parse(DEFAULT).expect("the pipeline is well formed");
    let is_done = session.run(&mut module, &pipeline, &RunOptions::default()) == Ok(Verdict::Done);
    let semantics = Semantics::by_name("jax", false).expect("jax is known");
    let said = match host::pass::promote(context, other, &host::pass::Config::new(semantics)) {
        Ok(said) | Err(said) => said,
    };
    assert_eq!(format!("{said:#?}"), format!("{:#?}", session.take_diagnostics()), "{name}");
    if is_done {
        let outline = module.outline().expect("the session knows the dialect");
        let own = host::outline(context, other);
        assert_eq!(names(body(&own)), names(body(&outline)), "{name}, promoted");
    }
    is_done
}

#[test]
fn every_op_of_the_table_is_the_same_in_both_hosts() {
    for op in Op::ALL {
        assert!(agree(op.name(), &programs::of_op(*op)), "{op}");
    }
}

#[test]
fn loops_branches_and_calls_are_the_same_in_both_hosts() {
    for (name, program) in programs::programs() {
        assert_eq!(agree(name, &program), name != "a dtype that cannot be joined", "{name}");
    }
}
