//! Diagnostics of loops and branches: type histories of carries, what strict carries refuse, what policies find at edges.

use promote::{Options, Policies, Policy, Semantics, Session};

use crate::support::{DEFAULT, run_in};

fn say(remarks: bool, policies: Policies, source: &str) -> String {
    let semantics = Semantics::by_name("jax", false).expect("jax is known");
    let session = Session::new(&Options { remarks, policies, ..Options::new(semantics) });
    let source = source.replace("!u", "tensor<*x!promote.unknown>");
    run_in(&session.expect("MLIR takes the dialect"), &source, DEFAULT).diagnostics_text()
}

fn strict(source: &str) -> String {
    say(false, Policies { strict_carries: true, ..Policies::default() }, source)
}

/// A shift register: each carry takes what the one behind it had, and the last what is added to (jax#9046).
const REGISTER: &str = r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> (!u, !u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i, %b = %i, %c = %i) -> (!u, !u, !u) {
    %a1 = "promote.negative"(%b) : (!u) -> !u
    %b1 = "promote.abs"(%c) : (!u) -> !u
    %c2 = "promote.add"(%c, %y) : (!u, tensor<4xf16>) -> !u
    scf.yield %a1, %b1, %c2 : !u, !u, !u
  }
  return %r#0, %r#1, %r#2 : !u, !u, !u
}"#;

const BRANCHES: &str = r#"
func.func @f(%c: i1, %x: tensor<4xi32>, %y: tensor<4xf16>) -> !u {
  %r = scf.if %c -> (!u) {
    %a = "promote.relax"(%x) : (tensor<4xi32>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%y) : (tensor<4xf16>) -> !u
    scf.yield %b : !u
  }
  return %r : !u
}"#;

#[test]
fn each_carry_of_a_shift_register_is_raised_a_round_later() {
    insta::assert_snapshot!(say(true, Policies::default(), REGISTER));
}

#[test]
fn a_type_history_leads_through_branches_and_back_through_rounds() {
    insta::assert_snapshot!(say(
        true,
        Policies::default(),
        r#"
func.func @f(%n: index, %c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>, %z: tensor<4xf32>) -> (!u, !u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i, %b = %i, %d = %i) -> (!u, !u, !u) {
    %t = scf.if %c -> !u {
      %m = "promote.negative"(%b) : (!u) -> !u
      scf.yield %m : !u
    } else { scf.yield %a : !u }
    %s = "promote.add"(%d, %y) : (!u, tensor<4xf16>) -> !u
    %v = "promote.multiply"(%s, %z) : (!u, tensor<4xf32>) -> !u
    scf.yield %t, %d, %v : !u, !u, !u
  }
  return %r#0, %r#1, %r#2 : !u, !u, !u
}
func.func @w(%n: index, %c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>, %z: tensor<4xf32>) -> (!u, !u) {
  %i = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r:2 = scf.while (%a = %i, %b = %i) : (!u, !u) -> (!u, !u) {
    scf.condition(%c) %b, %a : !u, !u
  } do {
  ^bb0(%p: !u, %q: !u):
    %s = "promote.add"(%q, %y) : (!u, tensor<4xf16>) -> !u
    scf.yield %p, %s : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}
func.func @cf(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %i = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  cf.br ^h(%i, %i : !u, !u)
^h(%a: !u, %b: !u):
  %s = "promote.add"(%b, %y) : (!u, tensor<4xf16>) -> !u
  cf.cond_br %c, ^h(%b, %s : !u, !u), ^e
^e:
  return %a : !u
}"#
    ));
}

#[test]
fn what_flows_from_a_branch_is_found_by_policies() {
    let policies = Policies { warn: vec![Policy::PrecisionLoss], ..Policies::default() };
    insta::assert_snapshot!(say(true, policies, BRANCHES));
    let policies = Policies { deny: vec![Policy::PrecisionLoss], ..Policies::default() };
    assert!(say(false, policies, BRANCHES).contains("error[P0031]: promoting operand 0 of scf.yield"));
}

#[test]
fn a_literal_that_flows_from_a_branch_is_found_by_policies() {
    let policies = Policies { warn: vec![Policy::PrecisionLoss], ..Policies::default() };
    let source = r#"
func.func @f(%c: i1, %y: tensor<4xbf16>) -> !u {
  %k = "promote.constant"() {value = dense<257> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %r = scf.if %c -> (!u) {
    %a = "promote.relax"(%k) : (tensor<!promote.weak_int>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%y) : (tensor<4xbf16>) -> !u
    scf.yield %b : !u
  }
  return %r : !u
}"#;
    insta::assert_snapshot!(say(true, policies, source));
}

#[test]
fn strict_carries_refuse_a_strong_carry_that_a_loop_raises() {
    insta::assert_snapshot!(strict(REGISTER));
}

#[test]
fn strict_carries_refuse_branches_of_two_dtypes() {
    insta::assert_snapshot!(strict(BRANCHES));
}

#[test]
fn strict_carries_refuse_an_op_that_the_first_round_alone_refuses() {
    insta::assert_snapshot!(strict(
        r#"
func.func @f(%x: tensor<i8>, %y: tensor<i1>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%y) : (tensor<i1>) -> !u
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %d = "promote.negative"(%a) : (!u) -> !u
    %e = "promote.relax"(%x) : (tensor<i8>) -> !u
    scf.yield %e : !u
  }
  return %r : !u
}"#
    ));
}

#[test]
fn strict_carries_take_a_weak_carry_that_is_raised_once() {
    let source = REGISTER.replace("tensor<4xi8>", "tensor<4xf16>");
    assert_eq!(strict(&source), "");
}

#[test]
fn strict_carries_name_the_carry_and_not_an_op_that_a_promoted_carry_would_meet() {
    insta::assert_snapshot!(strict(
        r#"
func.func @f(%k: tensor<4xi32>, %y: tensor<4xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%k) : (tensor<4xi32>) -> !u
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %p = "promote.bitwise_and"(%a, %k) : (!u, tensor<4xi32>) -> !u
    %q = "promote.add"(%p, %y) : (!u, tensor<4xf32>) -> !u
    scf.yield %q : !u
  }
  return %r : !u
}"#
    ));
}

#[test]
fn strict_carries_of_a_generic_function_name_the_call_and_what_goes_in() {
    insta::assert_snapshot!(strict(
        r#"
func.func private @g(%z: !u, %x: tensor<4xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> (!u) {
    %p = "promote.add"(%a, %x) : (!u, tensor<4xbf16>) -> !u
    scf.yield %p : !u
  }
  return %r : !u
}
func.func @f(%x: tensor<4xbf16>, %n: index) -> (!u, !u) {
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %z = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = func.call @g(%z, %x, %n) : (!u, tensor<4xbf16>, index) -> !u
  %y = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %s = func.call @g(%y, %x, %n) : (!u, tensor<4xbf16>, index) -> !u
  return %r, %s : !u, !u
}"#
    ));
}

#[test]
fn strict_carries_refuse_a_call_that_only_the_first_round_makes() {
    insta::assert_snapshot!(strict(
        r#"
func.func private @g(%z: !u, %x: tensor<bf16>, %p: i1) -> !u {
  %r = scf.if %p -> (!u) {
    scf.yield %z : !u
  } else {
    %y = "promote.relax"(%x) : (tensor<bf16>) -> !u
    scf.yield %y : !u
  }
  return %r : !u
}
func.func @f(%x: tensor<bf16>, %n: index, %p: i1) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %z = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> (!u) {
    %s = func.call @g(%a, %x, %p) : (!u, tensor<bf16>, i1) -> !u
    %t = "promote.add"(%a, %x) : (!u, tensor<bf16>) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}"#
    ));
}

#[test]
fn strict_carries_say_what_else_is_wrong_with_the_function() {
    insta::assert_snapshot!(strict(
        r#"
func.func @f(%b: tensor<4xi1>, %x: tensor<4xi32>, %y: tensor<4xf32>, %p: i1, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bad = "promote.subtract"(%b, %b) : (tensor<4xi1>, tensor<4xi1>) -> !u
  %i = "promote.relax"(%x) : (tensor<4xi32>) -> !u
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %q = "promote.add"(%a, %y) : (!u, tensor<4xf32>) -> !u
    %in = "promote.floor"(%b) : (tensor<4xi1>) -> !u
    scf.yield %q : !u
  }
  %s = scf.if %p -> (!u) {
    scf.yield %i : !u
  } else {
    %z = "promote.relax"(%y) : (tensor<4xf32>) -> !u
    scf.yield %z : !u
  }
  %of_refused = "promote.bitwise_invert"(%r) : (!u) -> !u
  return %of_refused, %s : !u, !u
}"#
    ));
}
