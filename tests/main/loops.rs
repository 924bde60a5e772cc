//! Loops of scf: nested ones, ones that run never, ones with conditions in them, and what they carry.

use crate::flow_support::{cases, show};

cases! {
    three_loops_deep_a_carry_passes_through_all, r#"
func.func @f(%x: tensor<2xi16>, %y: tensor<2xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (!u) {
      %t = scf.for %k = %c0 to %n step %c1 iter_args(%c = %b) -> (!u) {
        %u = "promote.add"(%c, %x) : (!u, tensor<2xi16>) -> !u
        scf.yield %u : !u
      }
      %v = "promote.multiply"(%t, %y) : (!u, tensor<2xf16>) -> !u
      scf.yield %v : !u
    }
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    three_loops_deep_each_begins_anew, r#"
func.func @f(%x: tensor<2xi8>, %y: tensor<2xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %init) -> (!u) {
      %t = scf.for %k = %c0 to %n step %c1 iter_args(%c = %init) -> (!u) {
        %u = "promote.add"(%c, %x) : (!u, tensor<2xi8>) -> !u
        scf.yield %u : !u
      }
      %v = "promote.maximum"(%b, %t) : (!u, !u) -> !u
      scf.yield %v : !u
    }
    %w = "promote.multiply"(%s, %y) : (!u, tensor<2xbf16>) -> !u
    %z = "promote.add"(%a, %w) : (!u, !u) -> !u
    scf.yield %z : !u
  }
  return %r : !u
}"#;
    the_inner_loop_raises_a_carry_of_the_outer_one_only_there, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xi32>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a0 = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %zero = "promote.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %t0 = "promote.relax"(%zero) : (tensor<i32>) -> !u
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %t = %t0) -> (!u, !u) {
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (!u) {
      %s = "promote.add"(%b, %y) : (!u, tensor<4xi32>) -> !u
      scf.yield %s : !u
    }
    %total = "promote.add"(%t, %inner) : (!u, !u) -> !u
    %next = "promote.negative"(%a) : (!u) -> !u
    scf.yield %next, %total : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    a_loop_with_a_condition_in_it, r#"
func.func @f(%x: tensor<4xi16>, %y: tensor<4xf16>, %c: i1, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = scf.if %c -> (!u) {
      %s = "promote.add"(%a, %y) : (!u, tensor<4xf16>) -> !u
      scf.yield %s : !u
    } else {
      scf.yield %a : !u
    }
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    an_index_switch_in_a_loop, r#"
func.func @f(%x: tensor<4xui8>, %y: tensor<4xi8>, %z: tensor<4xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xui8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = scf.index_switch %i -> !u
    case 0 {
      scf.yield %a : !u
    }
    case 1 {
      %s = "promote.add"(%a, %y) : (!u, tensor<4xi8>) -> !u
      scf.yield %s : !u
    }
    default {
      %s = "promote.multiply"(%a, %z) : (!u, tensor<4xbf16>) -> !u
      scf.yield %s : !u
    }
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_region_of_several_blocks_in_a_loop, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %c: i1, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = scf.execute_region -> !u {
      cf.cond_br %c, ^left, ^right(%a : !u)
    ^left:
      %s = "promote.add"(%a, %y) : (!u, tensor<4xf16>) -> !u
      cf.br ^right(%s : !u)
    ^right(%v: !u):
      %t = "promote.abs"(%v) : (!u) -> !u
      scf.yield %t : !u
    }
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_loop_that_runs_never, r#"
func.func @f(%x: tensor<4xf32>) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %c0 step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.add"(%a, %x) : (!u, tensor<4xf32>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_while_loop_whose_condition_is_never_true, r#"
func.func @f(%x: tensor<i8>, %y: tensor<f16>) -> !u {
  %false = arith.constant false
  %init = "promote.relax"(%x) : (tensor<i8>) -> !u
  %r = scf.while (%v = %init) : (!u) -> !u {
    scf.condition(%false) %v : !u
  } do {
  ^bb0(%w: !u):
    %s = "promote.add"(%w, %y) : (!u, tensor<f16>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_while_loop_that_passes_on_another_value_than_its_carry, r#"
func.func @f(%x: tensor<i16>, %limit: tensor<f32>) -> !u {
  %init = "promote.relax"(%x) : (tensor<i16>) -> !u
  %r = scf.while (%v = %init) : (!u) -> !u {
    %root = "promote.sqrt"(%v) : (!u) -> !u
    %less = "promote.less"(%root, %limit) : (!u, tensor<f32>) -> tensor<i1>
    %c = tensor.extract %less[] : tensor<i1>
    scf.condition(%c) %root : !u
  } do {
  ^bb0(%w: !u):
    %ceil = "promote.ceil"(%w) : (!u) -> !u
    %whole = "promote.convert"(%ceil) : (!u) -> tensor<*xi16>
    %next = "promote.relax"(%whole) : (tensor<*xi16>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_while_loop_that_passes_on_more_than_it_carries, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %c: i1) -> (!u, !u) {
  %init = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r:2 = scf.while (%v = %init) : (!u) -> (!u, !u) {
    %s = "promote.add"(%v, %y) : (!u, tensor<4xf16>) -> !u
    scf.condition(%c) %v, %s : !u, !u
  } do {
  ^bb0(%w: !u, %t: !u):
    %next = "promote.negative"(%w) : (!u) -> !u
    scf.yield %next : !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    the_result_of_a_loop_is_used_after_it_in_two_other_dtypes, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xi16>, %z: tensor<4xf16>, %w: tensor<4xf32>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%y) : (tensor<4xi16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.add"(%a, %x) : (!u, tensor<4xi8>) -> !u
    scf.yield %next : !u
  }
  %s = "promote.multiply"(%r, %z) : (!u, tensor<4xf16>) -> !u
  %t = "promote.multiply"(%r, %w) : (!u, tensor<4xf32>) -> !u
  return %s, %t : !u, !u
}"#;
    two_loops_in_a_row, r#"
func.func @f(%x: tensor<4xi16>, %y: tensor<4xbf16>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.add"(%a, %x) : (!u, tensor<4xi16>) -> !u
    scf.yield %next : !u
  }
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %r) -> (!u) {
    %next = "promote.add"(%a, %y) : (!u, tensor<4xbf16>) -> !u
    scf.yield %next : !u
  }
  return %r, %s : !u, !u
}"#;
    a_carry_without_dimensions_and_a_vector_in_the_body, r#"
func.func @f(%x: tensor<f32>, %y: tensor<4xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<f32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.add"(%a, %y) : (!u, tensor<4xf32>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_carry_of_one_element_and_a_vector_in_the_body, r#"
func.func @f(%x: tensor<1xi32>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<1xi32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.add"(%a, %y) : (!u, tensor<4xf16>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_row_and_a_column_meet_in_a_carry, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<3x1xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %next = "promote.relax"(%y) : (tensor<3x1xf16>) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    a_reduction_in_the_body_gives_back_a_scalar, r#"
func.func @f(%x: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.add"(%a, %x) : (!u, tensor<4xf16>) -> !u
    %next = "promote.mean"(%s) : (!u) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    two_reductions_of_a_parallel_loop, r#"
func.func @f(%x: tensor<4xf16>, %y: tensor<4xi8>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %a0 = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %b0 = "promote.relax"(%y) : (tensor<4xi8>) -> !u
  %r:2 = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%a0, %b0) -> (!u, !u) {
    %v = "promote.relax"(%x) : (tensor<4xf16>) -> !u
    %w = "promote.relax"(%y) : (tensor<4xi8>) -> !u
    scf.reduce(%v, %w : !u, !u) {
    ^bb0(%l: !u, %k: !u):
      %s = "promote.add"(%l, %k) : (!u, !u) -> !u
      scf.reduce.return %s : !u
    }, {
    ^bb0(%l: !u, %k: !u):
      %s = "promote.maximum"(%l, %k) : (!u, !u) -> !u
      scf.reduce.return %s : !u
    }
  }
  return %r#0, %r#1 : !u, !u
}"#;
}
