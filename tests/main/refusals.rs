//! Loops and branches that are refused, and their diagnostics.

use crate::flow_support::{cases, show};

cases! {
    an_op_that_every_round_refuses, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.add"(%a, %y) : (!u, tensor<4xf16>) -> !u
    %t = "promote.bitwise_and"(%a, %s) : (!u, !u) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}"#;
    a_carry_whose_shape_the_body_contradicts, r#"
func.func @f(%x: tensor<2x3xf32>, %y: tensor<2xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%y) : (tensor<2xf32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.relax"(%x) : (tensor<2x3xf32>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_stated_carry_is_narrower_than_what_the_rounds_give, r#"
func.func @f(%x: tensor<4xf16>, %y: tensor<4xf32>, %n: index) -> tensor<4xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf16>) {
    %s = "promote.add"(%a, %y) : (tensor<4xf16>, tensor<4xf32>) -> !u
    %t = "promote.relax"(%s) : (!u) -> tensor<4xf16>
    scf.yield %t : tensor<4xf16>
  }
  return %r : tensor<4xf16>
}"#;
    a_stated_argument_of_a_block_is_narrower_than_what_flows_there, r#"
func.func @f(%c: i1, %x: tensor<4xf16>, %y: tensor<4xf32>) -> tensor<*xf16> {
  %a = "promote.relax"(%x) : (tensor<4xf16>) -> tensor<*xf16>
  %s = "promote.add"(%x, %y) : (tensor<4xf16>, tensor<4xf32>) -> !u
  %t = "promote.relax"(%s) : (!u) -> tensor<*xf16>
  cf.cond_br %c, ^end(%a : tensor<*xf16>), ^end(%t : tensor<*xf16>)
^end(%v: tensor<*xf16>):
  return %v : tensor<*xf16>
}"#;
    two_loops_are_refused_and_both_are_reported, r#"
func.func @f(%x: tensor<4xf32>, %y: tensor<3xf32>, %z: tensor<4xi1>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a0 = "promote.relax"(%x) : (tensor<4xf32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0) -> (!u) {
    %s = "promote.add"(%a, %y) : (!u, tensor<3xf32>) -> !u
    scf.yield %s : !u
  }
  %b0 = "promote.relax"(%z) : (tensor<4xi1>) -> !u
  %q = scf.for %i = %c0 to %n step %c1 iter_args(%b = %b0) -> (!u) {
    %s = "promote.negative"(%b) : (!u) -> !u
    scf.yield %s : !u
  }
  return %r, %q : !u, !u
}"#;
    a_recursion_whose_result_is_refused, r#"
func.func private @g(%x: !u, %y: !u, %c: i1) -> !u {
  %r = scf.if %c -> !u {
    scf.yield %x : !u
  } else {
    %s = func.call @g(%y, %x, %c) : (!u, !u, i1) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}
func.func @main(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>, %c: i1) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xf8E4M3FN>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xbf16>) -> !u
  %r = call @g(%a, %b, %c) : (!u, !u, i1) -> !u
  return %r : !u
}"#;
    numpy_refuses_a_literal_that_an_unsigned_carry_does_not_hold under "numpy2", r#"
func.func @f(%x: tensor<4xui8>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xui8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %k = "promote.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %s = "promote.add"(%a, %k) : (!u, tensor<!promote.weak_int>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    an_op_that_the_second_round_refuses, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %t = "promote.bitwise_invert"(%a) : (!u) -> !u
    %s = "promote.add"(%t, %y) : (!u, tensor<4xf16>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_shape_that_the_second_round_refuses, r#"
func.func @f(%x: tensor<1xf32>, %y: tensor<4xf32>, %z: tensor<3xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<1xf32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %t = "promote.reshape"(%a) {shape = array<i64: 1>} : (!u) -> !u
    %s = "promote.add"(%t, %y) : (!u, tensor<4xf32>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_loop_that_does_not_settle_hides_no_other_error, r#"
func.func @f(%x: tensor<2xf32>, %b: tensor<4xi1>, %n: index) -> (!u, !u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %before = "promote.subtract"(%b, %b) : (tensor<4xi1>, tensor<4xi1>) -> !u
  %init = "promote.relax"(%x) : (tensor<2xf32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.expand_dims"(%a) {axis = array<i64: 0>} : (!u) -> !u
    %in = "promote.subtract"(%b, %b) : (tensor<4xi1>, tensor<4xi1>) -> !u
    scf.yield %next : !u
  }
  %depends = "promote.reshape"(%r) {shape = array<i64: 7>} : (!u) -> !u
  %after = "promote.bitwise_invert"(%x) : (tensor<2xf32>) -> !u
  return %r, %depends, %after : !u, !u, !u
}"#;
    two_loops_that_do_not_settle_are_both_reported, r#"
func.func @f(%x: tensor<2xf32>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<2xf32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (!u) {
      %next = "promote.expand_dims"(%b) {axis = array<i64: 0>} : (!u) -> !u
      scf.yield %next : !u
    }
    scf.yield %s : !u
  }
  %t = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.expand_dims"(%a) {axis = array<i64: 1>} : (!u) -> !u
    scf.yield %next : !u
  }
  return %r, %t : !u, !u
}"#;
    what_calls_a_function_that_does_not_settle_is_not_refused_again, r#"
func.func private @grow(%x: !u, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (!u) {
    %next = "promote.expand_dims"(%a) {axis = array<i64: 0>} : (!u) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}
func.func private @same(%x: !u) -> !u {
  %y = "promote.add"(%x, %x) : (!u, !u) -> !u
  return %y : !u
}
func.func @f(%x: tensor<2xf32>, %b: tensor<4xi1>, %n: index) -> (!u, !u) {
  %i = "promote.relax"(%x) : (tensor<2xf32>) -> !u
  %r = func.call @grow(%i, %n) : (!u, index) -> !u
  %s = func.call @same(%r) : (!u) -> !u
  %t = "promote.add"(%s, %b) : (!u, tensor<4xi1>) -> !u
  %bad = "promote.subtract"(%b, %b) : (tensor<4xi1>, tensor<4xi1>) -> !u
  return %t, %bad : !u, !u
}"#;
    a_carry_that_doubles_its_dimensions, r#"
func.func @f(%x: tensor<4x4xi32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<4x4xi32>) -> !u
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %t = "promote.take"(%a, %a) {axis = 0 : i64} : (!u, !u) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}"#;
    a_carry_that_doubles_its_extent, r#"
func.func @f(%x: tensor<4xi32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<4xi32>) -> !u
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %t = "promote.concat"(%a, %a) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (!u, !u) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}
func.func @g(%x: tensor<1xi32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<1xi32>) -> !u
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %t = "promote.concat"(%a, %a) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (!u, !u) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}
func.func @h(%x: tensor<1xi32>, %n: index, %y: tensor<?xi32>) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<1xi32>) -> !u
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %t = "promote.concat"(%a, %y) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (!u, tensor<?xi32>) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}"#;
}
