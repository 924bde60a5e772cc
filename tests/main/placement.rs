//! Where converts stand: one a value and dtype, as near to its uses as dominance allows, and outside of loops.

use crate::flow_support::{cases, show};

cases! {
    one_convert_for_two_branches_stands_before_the_condition, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %n = "promote.negative"(%x) : (tensor<4xi8>) -> !u
  %m = "promote.negative"(%y) : (tensor<4xf16>) -> !u
  %r = scf.if %c -> !u {
    %s = "promote.add"(%n, %y) : (!u, tensor<4xf16>) -> !u
    scf.yield %s : !u
  } else {
    %s = "promote.multiply"(%n, %m) : (!u, !u) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_convert_for_one_branch_stays_in_it, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %n = "promote.negative"(%x) : (tensor<4xi8>) -> !u
  %r = scf.if %c -> !u {
    %s = "promote.add"(%n, %y) : (!u, tensor<4xf16>) -> !u
    scf.yield %s : !u
  } else {
    %v = "promote.relax"(%y) : (tensor<4xf16>) -> !u
    scf.yield %v : !u
  }
  return %r : !u
}"#;
    converts_in_one_of_three_cases_stay_there, r#"
func.func @f(%i: index, %x: tensor<4xi8>, %y: tensor<4xf16>, %z: tensor<4xf32>) -> !u {
  %v = "promote.relax"(%z) : (tensor<4xf32>) -> !u
  %r = scf.index_switch %i -> !u
  case 0 {
    scf.yield %v : !u
  }
  case 1 {
    %s = "promote.add"(%x, %z) : (tensor<4xi8>, tensor<4xf32>) -> !u
    %t = "promote.add"(%y, %s) : (tensor<4xf16>, !u) -> !u
    %u = "promote.multiply"(%x, %t) : (tensor<4xi8>, !u) -> !u
    scf.yield %u : !u
  }
  default {
    %s = "promote.negative"(%v) : (!u) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_convert_stands_outside_of_two_loops, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (!u) {
      %t = "promote.add"(%b, %x) : (!u, tensor<4xi8>) -> !u
      scf.yield %t : !u
    }
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_convert_is_placed_before_two_loops_but_inside_their_condition, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  %q = scf.if %c -> !u {
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
      %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (!u) {
        %t = "promote.add"(%b, %x) : (!u, tensor<4xi8>) -> !u
        scf.yield %t : !u
      }
      scf.yield %s : !u
    }
    scf.yield %r : !u
  } else {
    scf.yield %init : !u
  }
  return %q : !u
}"#;
    what_a_loop_makes_is_converted_in_it, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %m = "promote.negative"(%x) : (tensor<4xi8>) -> !u
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (!u) {
      %t = "promote.add"(%b, %m) : (!u, !u) -> !u
      scf.yield %t : !u
    }
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_convert_that_only_what_follows_the_loop_needs_stays_there, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = "promote.negative"(%x) : (tensor<4xi8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %m) -> (!u) {
    %t = "promote.add"(%a, %m) : (!u, !u) -> !u
    scf.yield %t : !u
  }
  %s = "promote.multiply"(%m, %y) : (!u, tensor<4xf16>) -> !u
  %q = "promote.add"(%r, %s) : (!u, !u) -> !u
  return %q : !u
}"#;
    one_convert_for_a_loop_and_what_follows_it, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %t = "promote.add"(%a, %x) : (!u, tensor<4xi8>) -> !u
    scf.yield %t : !u
  }
  %s = "promote.multiply"(%r, %x) : (!u, tensor<4xi8>) -> !u
  return %s : !u
}"#;
    the_initial_value_and_an_operand_share_a_convert, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.multiply"(%a, %y) : (!u, tensor<4xf16>) -> !u
    %t = "promote.add"(%s, %x) : (!u, tensor<4xi8>) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}"#;
    what_is_yielded_in_two_places_is_converted_once, r#"
func.func @f(%c: i1, %d: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %v = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %w = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  %r = scf.if %c -> !u {
    %s = scf.if %d -> !u {
      scf.yield %v : !u
    } else {
      scf.yield %w : !u
    }
    scf.yield %s : !u
  } else {
    scf.yield %v : !u
  }
  return %r : !u
}"#;
    two_edges_of_a_branch_share_a_convert, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %v = "promote.negative"(%x) : (tensor<4xi8>) -> !u
  %w = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  cf.cond_br %c, ^left(%v : !u), ^right(%v : !u)
^left(%l: !u):
  %p = "promote.add"(%l, %w) : (!u, !u) -> !u
  cf.cond_br %c, ^left(%p : !u), ^right(%p : !u)
^right(%r: !u):
  return %r : !u
}"#;
    a_convert_for_a_loop_of_blocks_stands_before_it, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %v = "promote.negative"(%x) : (tensor<4xi8>) -> !u
  %w = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  cf.br ^head(%w : !u)
^head(%a: !u):
  cf.cond_br %c, ^body, ^exit
^body:
  %b = "promote.add"(%a, %v) : (!u, !u) -> !u
  cf.br ^head(%b : !u)
^exit:
  return %a : !u
}"#;
    a_convert_for_a_loop_with_two_ways_in_stands_before_both, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %v = "promote.negative"(%x) : (tensor<4xi8>) -> !u
  %w = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  cf.cond_br %c, ^left(%w : !u), ^right(%w : !u)
^left(%l: !u):
  %p = "promote.add"(%l, %v) : (!u, !u) -> !u
  cf.br ^right(%p : !u)
^right(%r: !u):
  cf.cond_br %c, ^left(%r : !u), ^exit
^exit:
  return %r : !u
}"#;
    a_convert_for_the_way_out_of_a_loop_stays_out_of_it, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %v = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  cf.br ^head(%v : !u)
^head(%a: !u):
  %b = "promote.negative"(%a) : (!u) -> !u
  cf.cond_br %c, ^head(%b : !u), ^exit
^exit:
  %s = "promote.add"(%b, %y) : (!u, tensor<4xf16>) -> !u
  return %s : !u
}"#;
    a_literal_is_a_constant_of_each_dtype_that_uses_it, r#"
func.func @f(%c: i1, %x: tensor<4xbf16>, %y: tensor<4xi8>) -> (!u, !u) {
  %two = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %r:2 = scf.if %c -> (!u, !u) {
    %s = "promote.multiply"(%x, %two) : (tensor<4xbf16>, tensor<!promote.weak_int>) -> !u
    %t = "promote.multiply"(%y, %two) : (tensor<4xi8>, tensor<!promote.weak_int>) -> !u
    scf.yield %s, %t : !u, !u
  } else {
    %s = "promote.add"(%x, %two) : (tensor<4xbf16>, tensor<!promote.weak_int>) -> !u
    %t = "promote.relax"(%y) : (tensor<4xi8>) -> !u
    scf.yield %s, %t : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    a_strong_constant_becomes_one_of_the_dtype_of_the_loop, r#"
func.func @f(%x: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = "promote.constant"() {value = dense<[1, 2, 3, 4]> : tensor<4xi8>} : () -> tensor<4xi8>
  %init = "promote.relax"(%two) : (tensor<4xi8>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.multiply"(%a, %x) : (!u, tensor<4xf16>) -> !u
    %t = "promote.add"(%s, %two) : (!u, tensor<4xi8>) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}"#;
    converts_to_two_dtypes_stand_apart, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>, %z: tensor<4xf32>) -> !u {
  %r = scf.if %c -> !u {
    %s = "promote.add"(%x, %y) : (tensor<4xi8>, tensor<4xf16>) -> !u
    scf.yield %s : !u
  } else {
    %s = "promote.add"(%x, %z) : (tensor<4xi8>, tensor<4xf32>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
}
