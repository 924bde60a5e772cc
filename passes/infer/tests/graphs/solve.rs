//! Fixpoints over slots, and the plans made of solutions.

use crate::builder::{Builder, jax};
use promote_infer::graph::{Region, Type};
use promote_infer::plan::{Make, Position, Role, Use, plan};
use promote_infer::shape::DYNAMIC;
use promote_infer::solve::{Place, ProblemKind, solve};
use promote_lattice::{DType, Op};

#[test]
fn a_loop_carry_rises_to_the_least_fixpoint() {
    let mut b = Builder::new();
    let init = b.value(DType::I8, &[4]);
    let other = b.value(DType::BF16, &[3, 1]);
    let carry = b.graph.add_value(Type::UNKNOWN, b.block);
    let slot = b.graph.add_slot(Some(carry), Type::UNKNOWN);
    let next = b.op(Op::Add, &[carry, other]);
    b.graph.feed(slot, init, b.block);
    b.graph.feed(slot, next, b.block);

    let solution = solve(&mut b.graph, &jax());
    assert_eq!(solution.problems, []);
    for value in [carry, next] {
        assert_eq!(solution.dtype(value), Some(DType::BF16));
        assert_eq!(b.graph.shapes.get(solution.value(value).shape).dims(), Some(&[3, 4][..]));
    }
}

#[test]
fn a_carry_may_need_several_rounds() {
    // (a, b, c) carried through (b + u8, c + i16, c + f16): the float reaches `a` after three iterations.
    let mut b = Builder::new();
    let inits = [DType::U8, DType::U8, DType::U8].map(|dtype| b.value(dtype, &[]));
    let steps = [DType::U8, DType::I16, DType::F16].map(|dtype| b.value(dtype, &[]));
    let carries = [(); 3].map(|()| b.graph.add_value(Type::UNKNOWN, b.block));
    let slots = carries.map(|carry| b.graph.add_slot(Some(carry), Type::UNKNOWN));
    for (i, from) in [1, 2, 2].into_iter().enumerate() {
        let next = b.op(Op::Add, &[carries[from], steps[i]]);
        b.graph.feed(slots[i], inits[i], b.block);
        b.graph.feed(slots[i], next, b.block);
    }
    let solution = solve(&mut b.graph, &jax());
    assert_eq!(solution.problems, []);
    assert_eq!(carries.map(|carry| solution.dtype(carry)), [Some(DType::F16); 3]);
}

#[test]
fn a_carry_without_a_join_is_reported_once() {
    let mut b = Builder::new();
    let (init, other) = (b.value(DType::F8E4M3FN, &[]), b.value(DType::F16, &[]));
    let slot = b.graph.add_slot(None, Type::UNKNOWN);
    b.graph.feed(slot, init, b.block);
    b.graph.feed(slot, other, b.block);
    let solution = solve(&mut b.graph, &jax());
    assert!(
        matches!(solution.problems[..], [ref p] if p.place == Place::Slot(slot)),
        "{:?}",
        solution.problems
    );
}

#[test]
fn a_refused_op_is_reported_and_nothing_after_it() {
    let mut b = Builder::new();
    let x = b.value(DType::B1, &[4]);
    let refused = b.op(Op::Subtract, &[x, x]);
    let after = b.op(Op::Exp, &[refused]);
    b.op(Op::Add, &[after, x]);
    let solution = solve(&mut b.graph, &jax());
    assert!(matches!(solution.problems[..], [ref p] if matches!(p.kind, ProblemKind::Refused(_))));
    assert_eq!(solution.dtype(after), None);
}

#[test]
fn a_value_nothing_determines_is_reported_at_its_root() {
    let mut b = Builder::new();
    let unknown = b.graph.add_value(Type::UNKNOWN, b.block);
    let one = b.op(Op::Exp, &[unknown]);
    b.op(Op::Exp, &[one]);
    let solution = solve(&mut b.graph, &jax());
    assert_eq!(solution.problems.len(), 1);
    assert_eq!(solution.problems[0].place, Place::Value(unknown));
}

#[test]
fn one_insert_serves_all_uses_after_the_first() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::BF16, &[4]), b.value(DType::F32, &[2, 4]));
    let first = b.op(Op::Add, &[x, y]);
    b.op(Op::Multiply, &[x, first]);
    let solution = solve(&mut b.graph, &jax());
    let plan = plan(&mut b.graph, &solution, &jax());
    let kinds: Vec<_> = plan.inserts.iter().map(|insert| insert.make).collect();
    assert!(
        matches!(kinds[..], [Make::Convert(DType::F32), Make::Broadcast { like: None, .. }]),
        "{kinds:?}"
    );
    assert_eq!(plan.edits.len(), 2, "both uses of x, and no use of y");
    let first_use = Position::Before(Use::Operand(b.graph.ops().next().expect("there are ops"), 0));
    assert_eq!(plan.inserts[0].position, first_use);
}

#[test]
fn a_use_in_another_block_puts_the_insert_before_it() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::BF16, &[]), b.value(DType::F32, &[]));
    let entry = b.block;
    b.block = b.graph.add_block(Region::In { parent: entry, repeats: false });
    b.op(Op::Add, &[x, y]);
    let solution = solve(&mut b.graph, &jax());
    let plan = plan(&mut b.graph, &solution, &jax());
    let use_of_x = Use::Operand(b.graph.ops().next().expect("there are ops"), 0);
    assert!(
        matches!(plan.inserts[..], [ref only] if only.position == Position::Before(use_of_x)),
        "{plan:?}"
    );
}

#[test]
fn a_use_in_a_loop_puts_the_insert_before_the_loop() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::BF16, &[]), b.value(DType::F32, &[]));
    let entry = b.block;
    let body = b.graph.add_block(Region::In { parent: entry, repeats: true });
    b.block = b.graph.add_block(Region::In { parent: body, repeats: false });
    b.op(Op::Add, &[x, y]);
    let solution = solve(&mut b.graph, &jax());
    let plan = plan(&mut b.graph, &solution, &jax());
    assert!(
        matches!(plan.inserts[..], [ref only] if only.position == Position::BeforeParent(body)),
        "{plan:?}"
    );
}

#[test]
fn literals_are_written_in_the_dtype_that_uses_them() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::BF16, &[]), b.value(DType::I8, &[]));
    let k = b.literal(DType::WeakInt);
    b.op(Op::Add, &[x, k]);
    b.op(Op::Add, &[k, y]);
    b.op(Op::Add, &[k, x]);
    let solution = solve(&mut b.graph, &jax());
    let plan = plan(&mut b.graph, &solution, &jax());
    let kinds: Vec<_> = plan.inserts.iter().map(|insert| insert.make).collect();
    assert_eq!(kinds, [DType::BF16, DType::I8].map(|dtype| Make::Literal(dtype, Role::Number)));
    assert_eq!(plan.edits.len(), 3);
}

#[test]
fn a_dynamic_extent_is_taken_from_the_operand_that_has_it() {
    let mut b = Builder::new();
    let (x, y) = (b.value(DType::F32, &[DYNAMIC, 4]), b.value(DType::F32, &[4]));
    b.op(Op::Add, &[x, y]);
    let solution = solve(&mut b.graph, &jax());
    let plan = plan(&mut b.graph, &solution, &jax());
    assert_eq!(plan.edits.len(), 1, "x has the shape of the result");
    assert!(matches!(plan.inserts[0].make, Make::Broadcast { like: Some(like), .. } if like == x));
}
