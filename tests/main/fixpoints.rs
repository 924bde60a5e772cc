//! Fixpoints around loops: carries that need several iterations, weak carries, carries of every kind of dtype.

use crate::flow_support::{cases, show};
use crate::support::{DEFAULT, run_in, session};

cases! {
    // A carry mismatch that JAX finds only after several tries (google/jax#9046).
    a_shift_register_fed_by_a_float, r#"
func.func @f(%x: tensor<f32>, %n: index) -> (!u, !u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %init = "promote.relax"(%zero) : (tensor<i32>) -> !u
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init, %b = %init, %c = %init) -> (!u, !u, !u) {
    %in = "promote.relax"(%x) : (tensor<f32>) -> !u
    scf.yield %in, %a, %b : !u, !u, !u
  }
  return %r#0, %r#1, %r#2 : !u, !u, !u
}"#;
    a_shift_register_of_three_dtypes, r#"
func.func @f(%x: tensor<f16>, %n: index) -> (!u, !u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %flag = "promote.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %byte = "promote.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %word = "promote.constant"() {value = dense<0> : tensor<i16>} : () -> tensor<i16>
  %a0 = "promote.relax"(%flag) : (tensor<i1>) -> !u
  %b0 = "promote.relax"(%byte) : (tensor<ui8>) -> !u
  %c2 = "promote.relax"(%word) : (tensor<i16>) -> !u
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0, %c = %c2) -> (!u, !u, !u) {
    %sum = "promote.add"(%c, %x) : (!u, tensor<f16>) -> !u
    scf.yield %b, %c, %sum : !u, !u, !u
  }
  return %r#0, %r#1, %r#2 : !u, !u, !u
}"#;
    // A scan over a Python scalar (google/jax#4274).
    a_weak_carry_that_the_body_leaves_weak, r#"
func.func @f(%n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %init = "promote.relax"(%half) : (tensor<!promote.weak_float>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.sin"(%a) : (!u) -> !u
    scf.yield %next : !u
  }
  %h = "promote.constant"() {value = dense<2.0> : tensor<bf16>} : () -> tensor<bf16>
  %s = "promote.multiply"(%r, %h) : (!u, tensor<bf16>) -> !u
  return %r, %s : !u, !u
}"#;
    // A loop that begins with 1 and multiplies by an array (google/jax#3163).
    a_weak_initial_value_and_a_strong_body, r#"
func.func @f(%x: tensor<f16>, %z: tensor<bf16>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.relax"(%x) : (tensor<f16>) -> !u
    scf.yield %next : !u
  }
  %s = "promote.multiply"(%r, %z) : (!u, tensor<bf16>) -> !u
  return %r, %s : !u, !u
}"#;
    a_strong_initial_value_and_a_body_that_yields_a_literal, r#"
func.func @f(%x: tensor<4xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %one = "promote.constant"() {value = dense<1.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
    %next = "promote.relax"(%one) : (tensor<!promote.weak_float>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_strong_integer_and_a_body_that_yields_a_weak_float, r#"
func.func @f(%x: tensor<i16>, %z: tensor<bf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<i16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
    %next = "promote.multiply"(%a, %half) : (!u, tensor<!promote.weak_float>) -> !u
    scf.yield %next : !u
  }
  %s = "promote.multiply"(%r, %z) : (!u, tensor<bf16>) -> !u
  return %s : !u
}"#;
    // What a weak integer became in the loop is a strong f32 after it, not a weak float.
    a_weak_integer_that_a_round_makes_a_weak_float, r#"
func.func @f(%z: tensor<4xbf16>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
    %next = "promote.multiply"(%a, %half) : (!u, tensor<!promote.weak_float>) -> !u
    scf.yield %next : !u
  }
  %s = "promote.multiply"(%r, %z) : (!u, tensor<4xbf16>) -> !u
  return %r, %s : !u, !u
}"#;
    an_option_of_jep9407_leaves_such_a_carry_weak under "jep9407-option3", r#"
func.func @f(%z: tensor<4xbf16>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
    %next = "promote.multiply"(%a, %half) : (!u, tensor<!promote.weak_float>) -> !u
    scf.yield %next : !u
  }
  %s = "promote.multiply"(%r, %z) : (!u, tensor<4xbf16>) -> !u
  return %r, %s : !u, !u
}"#;
    a_while_loop_that_doubles_a_python_scalar, r#"
func.func @f(%limit: tensor<i16>) -> !u {
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
  %r = scf.while (%v = %init) : (!u) -> !u {
    %less = "promote.less"(%v, %limit) : (!u, tensor<i16>) -> tensor<i1>
    %c = tensor.extract %less[] : tensor<i1>
    scf.condition(%c) %v : !u
  } do {
  ^bb0(%w: !u):
    %two = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %n = "promote.multiply"(%w, %two) : (!u, tensor<!promote.weak_int>) -> !u
    scf.yield %n : !u
  }
  return %r : !u
}"#;
    carries_that_are_swapped, r#"
func.func @f(%x: tensor<ui8>, %y: tensor<4xi8>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a0 = "promote.relax"(%x) : (tensor<ui8>) -> !u
  %b0 = "promote.relax"(%y) : (tensor<4xi8>) -> !u
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0) -> (!u, !u) {
    scf.yield %b, %a : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    a_complex_carry, r#"
func.func @f(%x: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %turn = "promote.constant"() {value = dense<(0.0, 1.0)> : tensor<complex<f64>>} : () -> tensor<!promote.weak_complex>
  %init = "promote.relax"(%x) : (tensor<4xf16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.multiply"(%a, %turn) : (!u, tensor<!promote.weak_complex>) -> !u
    scf.yield %next : !u
  }
  %s = "promote.abs"(%r) : (!u) -> !u
  return %s : !u
}"#;
    an_unsigned_carry_meets_a_signed_step, r#"
func.func @f(%x: tensor<4xui16>, %y: tensor<i8>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xui16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.subtract"(%a, %y) : (!u, tensor<i8>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_bool_carry_stays_one, r#"
func.func @f(%x: tensor<4xf32>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = "promote.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %init = "promote.relax"(%true) : (tensor<i1>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %finite = "promote.isfinite"(%x) : (tensor<4xf32>) -> !u
    %next = "promote.logical_and"(%a, %finite) : (!u, !u) -> !u
    scf.yield %next : !u
  }
  %s = "promote.sum"(%r) : (!u) -> !u
  return %r, %s : !u, !u
}"#;
    a_bool_carry_becomes_an_integer, r#"
func.func @f(%x: tensor<4xi8>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %false = "promote.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %init = "promote.relax"(%false) : (tensor<i1>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %positive = "promote.greater"(%x, %one) : (tensor<4xi8>, tensor<!promote.weak_int>) -> !u
    %next = "promote.add"(%a, %one) : (!u, tensor<!promote.weak_int>) -> !u
    %kept = "promote.where"(%positive, %next, %a) : (!u, !u, !u) -> !u
    scf.yield %kept : !u
  }
  return %r : !u
}"#;
    an_eight_bit_float_carry_and_literals, r#"
func.func @f(%x: tensor<4xf8E4M3FN>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %scaled = "promote.multiply"(%a, %half) : (!u, tensor<!promote.weak_float>) -> !u
    %next = "promote.add"(%scaled, %x) : (!u, tensor<4xf8E4M3FN>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_carry_whose_type_the_program_states, r#"
func.func @f(%x: tensor<4xf16>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %wide = "promote.convert"(%init) : (!u) -> tensor<*xf32>
  %whole = "promote.broadcast_to"(%wide) {shape = array<i64: 4>} : (tensor<*xf32>) -> tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %whole) -> (tensor<4xf32>) {
    %next = "promote.add"(%a, %x) : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}"#;
    torch_lets_an_array_decide_over_a_carry_without_dimensions under "torch", r#"
func.func @f(%x: tensor<f64>, %y: tensor<4xf16>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a0 = "promote.relax"(%x) : (tensor<f64>) -> !u
  %b0 = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0) -> (!u, !u) {
    %next = "promote.add"(%b, %a) : (!u, !u) -> !u
    %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
    %less = "promote.multiply"(%a, %half) : (!u, tensor<!promote.weak_float>) -> !u
    scf.yield %less, %next : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    tensorflow_carries_a_weak_integer_of_32_bits under "tensorflow-all", r#"
func.func @f(%x: tensor<4xi8>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %a0 = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %a0) -> (!u, !u) {
    %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %next = "promote.add"(%a, %one) : (!u, tensor<!promote.weak_int>) -> !u
    %sum = "promote.add"(%b, %x) : (!u, tensor<4xi8>) -> !u
    scf.yield %next, %sum : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    strict_jax_refuses_to_join_two_strong_dtypes under "jax-strict", r#"
func.func @f(%x: tensor<4xi16>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.relax"(%y) : (tensor<4xf16>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_recursion_whose_rules_are_not_monotone, r#"
func.func @loop(%n: index, %x: tensor<i32>, %y: tensor<f16>) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<i32>) -> !u
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p0 = %i, %p1 = %i) -> (!u, !u) {
    %b = "promote.add"(%p0, %y) : (!u, tensor<f16>) -> !u
    %s = "promote.sqrt"(%p0) : (!u) -> !u
    %t = "promote.add"(%s, %p1) : (!u, !u) -> !u
    scf.yield %b, %t : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}
func.func @rec(%c: i1, %x: tensor<i32>, %y: tensor<f16>) -> (!u, !u) {
  %r:2 = scf.if %c -> (!u, !u) {
    %p:2 = func.call @rec(%c, %x, %y) : (i1, tensor<i32>, tensor<f16>) -> (!u, !u)
    %b = "promote.add"(%p#0, %y) : (!u, tensor<f16>) -> !u
    %s = "promote.sqrt"(%p#0) : (!u) -> !u
    %t = "promote.add"(%s, %p#1) : (!u, !u) -> !u
    scf.yield %b, %t : !u, !u
  } else {
    %i = "promote.relax"(%x) : (tensor<i32>) -> !u
    scf.yield %i, %i : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}
func.func @loopcall(%n: index, %x: tensor<i32>, %y: tensor<f16>) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<i32>) -> !u
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p0 = %i, %p1 = %i) -> (!u, !u) {
    %b = "promote.add"(%p0, %y) : (!u, tensor<f16>) -> !u
    %s = func.call @sq(%p0) : (!u) -> !u
    %t = "promote.add"(%s, %p1) : (!u, !u) -> !u
    scf.yield %b, %t : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}
func.func private @sq(%p: !u) -> !u {
  %s = "promote.sqrt"(%p) : (!u) -> !u
  return %s : !u
}"#;
    an_affine_loop, r#"
func.func @f(%x: tensor<4xbf16>, %n: index) -> !u {
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = affine.for %i = 0 to %n iter_args(%a = %init) -> (!u) {
    %s = "promote.add"(%a, %x) : (!u, tensor<4xbf16>) -> !u
    affine.yield %s : !u
  }
  return %r : !u
}"#;
}

#[test]
fn blocks_in_reverse_order_settle() {
    let block = |i: usize| {
        let (before, after) = (i - 1, i + 1);
        format!("^bb{i}:\n  %{i} = \"promote.negative\"(%{before}) : (!u) -> !u\n  cf.br ^bb{after}\n")
    };
    let blocks: String = (1..400).rev().map(block).collect();
    let source = format!(
        "!u = tensor<*x!promote.unknown>\nfunc.func @f(%x: tensor<4xbf16>) -> !u {{\n  \
         %0 = \"promote.negative\"(%x) : (tensor<4xbf16>) -> !u\n  cf.br ^bb1\n\
         ^bb400:\n  return %399 : !u\n{blocks}}}"
    );
    let outcome = run_in(&session("jax", false, false), &source, DEFAULT);
    assert!(outcome.text.contains("-> tensor<4xbf16> {"), "{}", outcome.diagnostics_text());
}
