//! Calls, loops and recursion together.

use crate::flow_support::{cases, show};

cases! {
    a_generic_function_gets_a_carry_whose_dtype_rises, r#"
func.func private @mix(%a: !u, %b: !u) -> !u {
  %s = "promote.add"(%a, %b) : (!u, !u) -> !u
  %r = "promote.abs"(%s) : (!u) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xi8>, %y: tensor<4xi16>, %z: tensor<4xf16>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a0 = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b0 = "promote.relax"(%y) : (tensor<4xi16>) -> !u
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0) -> (!u, !u) {
    %s = func.call @mix(%a, %b) : (!u, !u) -> !u
    %t = "promote.multiply"(%b, %z) : (!u, tensor<4xf16>) -> !u
    scf.yield %s, %t : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    a_weak_result_of_a_call_flows_to_a_carry, r#"
func.func private @seed() -> !u {
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %r = "promote.relax"(%half) : (tensor<!promote.weak_float>) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = call @seed() : () -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.multiply"(%a, %x) : (!u, tensor<4xbf16>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_loop_in_a_generic_function_called_with_two_dtypes, r#"
func.func private @power_sum(%x: !u, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.add"(%a, %x) : (!u, !u) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}
func.func @main(%x: tensor<4xi8>, %y: tensor<2x2xbf16>, %n: index) -> (!u, !u) {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<2x2xbf16>) -> !u
  %r = call @power_sum(%a, %n) : (!u, index) -> !u
  %s = call @power_sum(%b, %n) : (!u, index) -> !u
  return %r, %s : !u, !u
}"#;
    a_loop_in_a_function_called_in_a_loop, r#"
func.func private @inner(%x: !u, %y: !u, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!u) {
    %s = "promote.multiply"(%a, %y) : (!u, !u) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}
func.func @main(%x: tensor<4xi16>, %y: tensor<f16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi16>) -> !u
  %f = "promote.relax"(%y) : (tensor<f16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = func.call @inner(%a, %f, %n) : (!u, !u, index) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    mutual_recursion_through_loops, r#"
func.func private @ping(%x: !u, %y: tensor<4xf16>, %c: i1, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!u) {
    %s = func.call @pong(%x, %y, %c, %n) : (!u, tensor<4xf16>, i1, index) -> !u
    %t = "promote.add"(%a, %s) : (!u, !u) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}
func.func private @pong(%x: !u, %y: tensor<4xf16>, %c: i1, %n: index) -> !u {
  %r = scf.if %c -> (!u) {
    %s = func.call @ping(%x, %y, %c, %n) : (!u, tensor<4xf16>, i1, index) -> !u
    %t = "promote.multiply"(%s, %y) : (!u, tensor<4xf16>) -> !u
    scf.yield %t : !u
  } else {
    scf.yield %x : !u
  }
  return %r : !u
}
func.func @main(%x: tensor<4xi8>, %y: tensor<4xf16>, %c: i1, %n: index) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r = call @ping(%a, %y, %c, %n) : (!u, tensor<4xf16>, i1, index) -> !u
  return %r : !u
}"#;
    recursion_in_a_branch_of_blocks, r#"
func.func private @halve(%x: !u, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.cmpi eq, %n, %c0 : index
  cf.cond_br %z, ^base, ^again
^base:
  cf.br ^end(%x : !u)
^again:
  %two = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %m = arith.subi %n, %c1 : index
  %r = call @halve(%x, %m) : (!u, index) -> !u
  %h = "promote.divide"(%r, %two) : (!u, tensor<!promote.weak_int>) -> !u
  cf.br ^end(%h : !u)
^end(%v: !u):
  return %v : !u
}
func.func @main(%x: tensor<4xi16>, %n: index) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi16>) -> !u
  %r = call @halve(%a, %n) : (!u, index) -> !u
  return %r : !u
}"#;
    a_ring_of_three_functions, r#"
func.func private @a(%x: !u, %c: i1) -> !u {
  %s = call @b(%x, %c) : (!u, i1) -> !u
  return %s : !u
}
func.func private @b(%x: !u, %c: i1) -> !u {
  cf.cond_br %c, ^base, ^on
^base:
  cf.br ^end(%x : !u)
^on:
  %s = call @c(%x, %c) : (!u, i1) -> !u
  cf.br ^end(%s : !u)
^end(%v: !u):
  return %v : !u
}
func.func private @c(%x: !u, %c: i1) -> !u {
  %s = call @a(%x, %c) : (!u, i1) -> !u
  %r = "promote.sqrt"(%s) : (!u) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xui8>, %c: i1) -> !u {
  %v = "promote.relax"(%x) : (tensor<4xui8>) -> !u
  %r = call @a(%v, %c) : (!u, i1) -> !u
  return %r : !u
}"#;
    weak_and_strong_arguments_make_two_instances_of_a_loop, r#"
func.func private @twice(%x: !u, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!u) {
    %s = "promote.add"(%a, %a) : (!u, !u) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}
func.func @main(%x: tensor<f32>, %y: tensor<4xbf16>, %n: index) -> (!u, !u) {
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %w = "promote.relax"(%half) : (tensor<!promote.weak_float>) -> !u
  %v = "promote.relax"(%x) : (tensor<f32>) -> !u
  %p = call @twice(%w, %n) : (!u, index) -> !u
  %q = call @twice(%v, %n) : (!u, index) -> !u
  %r = "promote.multiply"(%p, %y) : (!u, tensor<4xbf16>) -> !u
  %s = "promote.multiply"(%q, %y) : (!u, tensor<4xbf16>) -> !u
  return %r, %s : !u, !u
}"#;
    a_function_called_in_both_branches_with_different_dtypes, r#"
func.func private @twice(%x: !u) -> !u {
  %r = "promote.add"(%x, %x) : (!u, !u) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xi8>, %y: tensor<4xf16>, %c: i1) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  %r = scf.if %c -> !u {
    %s = func.call @twice(%a) : (!u) -> !u
    scf.yield %s : !u
  } else {
    %s = func.call @twice(%b) : (!u) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
}
