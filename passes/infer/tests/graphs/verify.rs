//! Verification of strong programs.

use crate::builder::{Builder, jax};
use promote_diagnostics::{Code, Diagnostic};
use promote_infer::graph::{NewOp, Type, ValueId};
use promote_infer::unit::Unit;
use promote_infer::verify::verify;
use promote_lattice::{DType, Op};

fn verified(b: &mut Builder, unit: &Unit) -> Vec<Diagnostic> {
    let sources = b.source();
    verify(unit, &mut b.graph, &sources, &jax())
}

fn line(diagnostic: &Diagnostic) -> u32 {
    diagnostic.location.as_ref().expect("every id has a place").line
}

/// An op whose result is stated.
fn stated(b: &mut Builder, op: Op, operands: &[ValueId], stated: Type) -> ValueId {
    let block = b.block;
    let new = NewOp { op, operands, attrs: None, scalar: None, written: None, stated, block };
    b.graph.add_op(new, None)
}

#[test]
fn a_program_without_implicit_conversions_is_strong() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::F32, &[4]), b.value(DType::F32, &[4]));
    let r#type = b.tensor(DType::F32, &[4]);
    stated(&mut b, Op::Add, &[x, y], r#type);
    assert_eq!(verified(&mut b, &Unit::default()), []);
}

#[test]
fn weak_unknown_and_nested_values_are_not_strong() {
    let mut b = Builder::new();
    b.value(DType::WeakInt, &[]);
    b.graph.add_value(Type::UNKNOWN, b.block);
    b.graph.add_value(Type::OPAQUE, b.block);
    let nested = b.graph.add_value(Type::OPAQUE, b.block);
    let unit = Unit { nested: [nested].into_iter().collect(), ..Unit::default() };
    let found = verified(&mut b, &unit);
    let summary: Vec<_> = found.iter().map(|found| (found.code, line(found))).collect();
    assert_eq!(summary, [1, 2, 4].map(|line| (Code::NotStrong, line)));
}

#[test]
fn a_signature_that_mentions_a_weak_type_is_not_strong() {
    let unit = Unit { is_function: true, has_weak_signature: true, ..Unit::default() };
    let found = verified(&mut Builder::new(), &unit);
    assert!(matches!(&found[..], [only] if line(only) == 0), "{found:?}");
}

#[test]
fn implicit_conversions_are_reported_at_the_op_that_needs_them() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::BF16, &[4]), b.value(DType::F32, &[2, 4]));
    let r#type = b.tensor(DType::F32, &[2, 4]);
    stated(&mut b, Op::Add, &[x, y], r#type);
    let found = verified(&mut b, &Unit::default());
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.code, line(found)), (Code::ImplicitBroadcast, 3));
    assert_eq!(
        found.message,
        "operand 0 of promote.add, tensor<4xbf16>, would still be broadcast to tensor<2x4xf32>"
    );
}
