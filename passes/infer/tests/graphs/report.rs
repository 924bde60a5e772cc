//! Diagnostics of graphs: their texts and the lines they name.

use crate::builder::{Builder, jax};
use promote_diagnostics::{Code, Diagnostic, Severity};
use promote_infer::graph::{Region, Type};
use promote_infer::plan::plan;
use promote_infer::report::{Historian, Policies, Remarks, Reporter};
use promote_infer::solve::solve;
use promote_infer::source::{SourceMap, Sources};
use promote_infer::unit::Unit;
use promote_lattice::{DType, Op, Policy};

/// A source map that must not be asked for.
struct Unasked;

impl Sources for Unasked {
    fn map(&self) -> &SourceMap {
        panic!("there is nothing to say")
    }
}

fn lines(diagnostic: &Diagnostic) -> Vec<u32> {
    let places =
        std::iter::once(&diagnostic.location).chain(diagnostic.notes.iter().map(|note| &note.location));
    places.map(|place| place.as_ref().expect("every id has a place").line).collect()
}

#[test]
fn a_refused_op_is_reported_with_its_operands() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::B1, &[4]), b.value(DType::B1, &[]));
    b.op(Op::Subtract, &[x, y]);
    let solution = solve(&mut b.graph, &jax());
    let (unit, sources) = (Unit::default(), b.source());
    let found =
        Reporter { unit: &unit, graph: &b.graph, solution: &solution, sources: &sources }.diagnostics(&[]);
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.code, lines(found)), (Code::RefusedDtype, vec![3, 1, 2]));
    assert_eq!(found.notes[0].message, "operand 0 is tensor<4xi1>");
    assert_eq!(found.notes[1].message, "operand 1 is tensor<i1>");
}

#[test]
fn values_that_cannot_be_joined_are_reported_where_they_are_passed_on() {
    let mut b = Builder::new();
    let (init, other) = (b.value(DType::F8E4M3FN, &[]), b.value(DType::F16, &[]));
    let target = b.graph.add_value(Type::UNKNOWN, b.block);
    let slot = b.graph.add_slot(Some(target), Type::UNKNOWN);
    b.graph.feed(slot, init, b.block);
    b.graph.feed(slot, other, b.block);
    let solution = solve(&mut b.graph, &jax());
    let (unit, mut sources) = (Unit::default(), b.source());
    let diagnostics = |sources: &SourceMap| {
        let reporter = Reporter { unit: &unit, graph: &b.graph, solution: &solution, sources };
        reporter.diagnostics(&[])
    };
    let found = diagnostics(&sources);
    assert_eq!(found.iter().map(lines).collect::<Vec<_>>(), [[3, 100, 101]]);
    assert!(found[0].message.ends_with("they are joined in argument 2 of this block"), "{found:?}");

    // The initial value of a loop is reported where it is defined.
    sources.feeds[0][0].is_own = true;
    assert_eq!(diagnostics(&sources).iter().map(lines).collect::<Vec<_>>(), [[3, 1, 101]]);
}

#[test]
fn a_program_that_is_right_asks_for_no_source() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::BF16, &[4]), b.value(DType::F32, &[]));
    b.op(Op::Add, &[x, y]);
    let solution = solve(&mut b.graph, &jax());
    let unit = Unit::default();
    let reporter = Reporter { unit: &unit, graph: &b.graph, solution: &solution, sources: &Unasked };
    assert_eq!(reporter.diagnostics(&[]), []);
    assert_eq!(reporter.unranked(), []);
}

#[test]
fn a_promotion_is_explained_where_the_operand_is_used() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::I32, &[4]), b.value(DType::F16, &[]));
    b.op(Op::Add, &[x, y]);
    let semantics = jax();
    let solution = solve(&mut b.graph, &semantics);
    let plan = plan(&mut b.graph, &solution, &semantics);
    let (unit, sources) = (Unit::default(), b.source());
    let reporter = Reporter { unit: &unit, graph: &b.graph, solution: &solution, sources: &sources };
    let policies = Policies { deny: vec![Policy::MagnitudeLoss], ..Policies::default() };
    let found = Remarks { reporter, semantics: &semantics, all: true, policies: &policies }.of_plan(&plan);
    let summary: Vec<_> = found.iter().map(|found| (found.severity, found.code, lines(found))).collect();
    assert_eq!(
        summary,
        [(Severity::Remark, Code::Converted, vec![3, 1]), (Severity::Error, Code::MagnitudeLoss, vec![3, 1]),]
    );
    assert!(found[0].message.contains("is converted from i32 to f16, along i32 → "), "{found:?}");
}

#[test]
fn the_history_of_a_carry_tells_the_round_and_the_op_that_raised_it() {
    let mut b = Builder::new();
    let (init, other) = (b.value(DType::I8, &[]), b.value(DType::F16, &[]));
    let header = b.graph.add_block(Region::Of(b.block));
    b.graph.add_branch(b.block, header);
    b.graph.add_branch(header, header);
    let entry = std::mem::replace(&mut b.block, header);
    let carry = b.graph.add_value(Type::UNKNOWN, header);
    let slot = b.graph.add_slot(Some(carry), Type::UNKNOWN);
    b.graph.feed(slot, init, entry);
    let next = b.op(Op::Add, &[carry, other]);
    b.graph.feed(slot, next, header);
    let solution = solve(&mut b.graph, &jax());
    let (unit, sources) = (Unit::default(), b.source());
    let reporter = Reporter { unit: &unit, graph: &b.graph, solution: &solution, sources: &sources };
    let found = Historian::new(reporter).remarks();
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.code, lines(found)), (Code::Raised, vec![3, 100, 101]));
    assert_eq!(found.notes[0].message, "the initial value is tensor<i8>");
    assert_eq!(
        found.notes[1].message,
        "iteration 1 changes it from tensor<i8> to tensor<f16>, through promote.add"
    );
}
