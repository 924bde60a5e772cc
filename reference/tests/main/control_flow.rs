//! Control flow and calls.

use promote_lattice::DType::*;
use promote_reference::{Array, Error, Value};

use crate::support::{ints, reals, run, run_under};

const POWER_SUM: &str = r#"
func.func @f(%x: tensor<2xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (!u) {
    %next = "promote.add"(%acc, %x) : (!u, tensor<2xbf16>) -> !u
    scf.yield %next : !u
  }
  return %sum : !u
}"#;

#[test]
fn a_carry_is_of_the_type_of_the_fixpoint_even_without_a_trip() {
    let x = Value::Array(reals(BF16, &[1.5, 2.0]));
    assert_eq!(run(POWER_SUM, &[x.clone(), Value::Integer(3)]), [Value::Array(reals(BF16, &[4.5, 6.0]))]);
    assert_eq!(run(POWER_SUM, &[x, Value::Integer(0)]), [Value::Array(reals(BF16, &[0.0, 0.0]))]);
}

#[test]
fn branches_give_the_join() {
    let source = r#"
func.func @f(%c: i1, %x: tensor<2xi32>, %y: tensor<f16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<2xi32>) -> !u
  %b = "promote.relax"(%y) : (tensor<f16>) -> !u
  cf.cond_br %c, ^t(%a : !u), ^t(%b : !u)
^t(%v: !u):
  return %v : !u
}"#;
    let (x, y) = (Value::Array(ints(I32, &[1, 100_000])), Value::Array(Array::of_reals(F16, &[], &[0.5])));
    let taken = |c| run(source, &[Value::Integer(c), x.clone(), y.clone()]);
    assert_eq!(taken(1), [Value::Array(reals(F16, &[1.0, f64::INFINITY]))]);
    assert_eq!(taken(0), [Value::Array(reals(F16, &[0.5, 0.5]))]);
}

#[test]
fn switches_take_their_case_or_the_default() {
    let source = r#"
func.func @f(%i: index) -> index {
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %r = scf.index_switch %i -> index
  case 2 {
    scf.yield %c7 : index
  }
  default {
    scf.yield %c8 : index
  }
  %n = arith.index_cast %i : index to i32
  cf.switch %n : i32, [default: ^end(%r : index), -1: ^end(%i : index)]
^end(%v: index):
  return %v : index
}"#;
    let taken = |i| run(source, &[Value::Integer(i)]);
    assert_eq!([taken(2), taken(3), taken(-1)].concat(), [7, 8, -1].map(Value::Integer));
}

#[test]
fn a_while_loop_passes_on_what_its_condition_has() {
    let source = r#"
func.func @f(%x: tensor<i32>) -> (!u, i32) {
  %c10 = arith.constant 10 : i32
  %i = "promote.relax"(%x) : (tensor<i32>) -> !u
  %last = arith.constant 0 : i32
  %r:2 = scf.while (%v = %i, %l = %last) : (!u, i32) -> (!u, i32) {
    %d = "promote.convert"(%v) : (!u) -> tensor<i32>
    %e = tensor.extract %d[] : tensor<i32>
    %c = arith.cmpi slt, %e, %c10 : i32
    scf.condition(%c) %v, %e : !u, i32
  } do {
  ^bb0(%w: !u, %l: i32):
    %n = "promote.add"(%w, %w) : (!u, !u) -> !u
    scf.yield %n, %l : !u, i32
  }
  return %r#0, %r#1 : !u, i32
}"#;
    let x = Array::of_ints(I32, &[], &[3]);
    let results = run(source, &[Value::Array(x)]);
    assert_eq!(results, [Value::Array(Array::of_ints(I32, &[], &[12])), Value::Integer(12)]);
}

#[test]
fn private_functions_are_inferred_for_each_call_and_may_call_themselves() {
    let source = r#"
func.func private @power(%x: !u, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %z -> (!u) {
    %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %o = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
    scf.yield %o : !u
  } else {
    %m = arith.subi %n, %c1 : index
    %p = func.call @power(%x, %m) : (!u, index) -> !u
    %q = "promote.multiply"(%x, %p) : (!u, !u) -> !u
    scf.yield %q : !u
  }
  return %r : !u
}
func.func @f(%x: tensor<2xbf16>, %y: tensor<i8>, %n: index) -> (!u, !u) {
  %a = "promote.relax"(%x) : (tensor<2xbf16>) -> !u
  %b = "promote.relax"(%y) : (tensor<i8>) -> !u
  %r = call @power(%a, %n) : (!u, index) -> !u
  %s = call @power(%b, %n) : (!u, index) -> !u
  return %r, %s : !u, !u
}"#;
    let (x, y) = (Value::Array(reals(BF16, &[1.5, 2.0])), Value::Array(Array::of_ints(I8, &[], &[7])));
    let results = run(source, &[x.clone(), y.clone(), Value::Integer(3)]);
    let expected = [Value::Array(reals(BF16, &[3.375, 8.0])), Value::Array(Array::of_ints(I8, &[], &[87]))];
    assert_eq!(results, expected);
    assert_eq!(run_under("jax", false, source, &[x, y, Value::Integer(1000)]), Err(Error::Limit));
}

#[test]
fn what_fails_at_run_time_is_reported() {
    let source = r#"
func.func @f(%c: i1, %x: tensor<?xf32>) -> tensor<3xf32> {
  cf.assert %c, "it is so"
  %r = tensor.cast %x : tensor<?xf32> to tensor<3xf32>
  return %r : tensor<3xf32>
}"#;
    let x = Value::Array(reals(F32, &[1.0, 2.0]));
    let ends = |c| run_under("jax", false, source, &[Value::Integer(c), x.clone()]);
    assert_eq!(ends(0), Err(Error::Trap("it is so".to_owned())));
    assert!(matches!(ends(1), Err(Error::Trap(_))));
}

#[test]
fn endless_loops_end() {
    let source = "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}";
    assert_eq!(run_under("jax", false, source, &[]), Err(Error::Limit));
}

/// `sin` of `i8` is `f32`: that must not stay in the loop, where only `bf16` arrives in the end.
#[test]
fn what_an_op_makes_of_a_type_on_the_way_is_forgotten() {
    let source = r#"
func.func @f(%x: tensor<1xi8>, %y: tensor<1xbf16>, %c: i1, %d: i1) -> !u {
  %a = "promote.relax"(%x) : (tensor<1xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<1xbf16>) -> !u
  cf.cond_br %c, ^left(%a : !u), ^right(%b : !u)
^left(%p: !u):
  %v = "promote.sin"(%p) : (!u) -> !u
  cf.cond_br %d, ^right(%v : !u), ^exit
^right(%q: !u):
  cf.br ^left(%q : !u)
^exit:
  return %v : !u
}"#;
    let (x, y) = (Value::Array(ints(I8, &[0])), Value::Array(reals(BF16, &[1.0])));
    let results = run(source, &[x, y, Value::Integer(1), Value::Integer(0)]);
    assert_eq!(results, [Value::Array(reals(BF16, &[0.0]))]);
}
