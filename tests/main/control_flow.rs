//! Inference through branches, loops and conditions: the least fixpoint, and where conversions stand.

use crate::flow_support::{cases, show};

cases! {
    a_weak_carry_takes_the_dtype_and_shape_of_what_is_added, r#"
func.func @power_sum(%x: tensor<8xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (!u) {
    %next = "promote.add"(%acc, %x) : (!u, tensor<8xbf16>) -> !u
    scf.yield %next : !u
  }
  return %sum : !u
}"#;
    a_carry_that_stays_weak_becomes_the_default_dtype, r#"
func.func @f(%n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (!u) {
    %next = "promote.add"(%acc, %acc) : (!u, !u) -> !u
    scf.yield %next : !u
  }
  return %r : !u
}"#;
    two_carries_that_need_several_rounds, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a0 = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b0 = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0) -> (!u, !u) {
    %b1 = "promote.add"(%b, %y) : (!u, tensor<4xf16>) -> !u
    %a1 = "promote.relax"(%b) : (!u) -> !u
    scf.yield %a1, %b1 : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    branches_of_a_condition_are_joined, r#"
func.func @f(%c: i1, %x: tensor<4xi32>, %y: tensor<4xf16>) -> !u {
  %r = scf.if %c -> (!u) {
    %a = "promote.relax"(%x) : (tensor<4xi32>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%y) : (tensor<4xf16>) -> !u
    scf.yield %b : !u
  }
  %s = "promote.sqrt"(%r) : (!u) -> !u
  return %s : !u
}"#;
    a_weak_integer_and_a_weak_float_meet, r#"
func.func @f(%c: i1, %x: tensor<4xbf16>) -> (!u, !u) {
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %r = scf.if %c -> (!u) {
    %a = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%half) : (tensor<!promote.weak_float>) -> !u
    scf.yield %b : !u
  }
  %s = "promote.multiply"(%r, %x) : (!u, tensor<4xbf16>) -> !u
  return %r, %s : !u, !u
}"#;
    a_computed_weak_integer_and_a_weak_float_meet, r#"
func.func @f(%c: i1, %k: tensor<!promote.weak_int>, %x: tensor<4xf16>) -> !u {
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %r = scf.if %c -> (!u) {
    %a = "promote.negative"(%k) : (tensor<!promote.weak_int>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%half) : (tensor<!promote.weak_float>) -> !u
    scf.yield %b : !u
  }
  %s = "promote.multiply"(%r, %x) : (!u, tensor<4xf16>) -> !u
  return %s : !u
}"#;
    a_while_loop_and_what_its_condition_passes_on, r#"
func.func @f(%x: tensor<f32>) -> !u {
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
  %r = scf.while (%v = %init) : (!u) -> !u {
    %lt = "promote.less"(%v, %x) : (!u, tensor<f32>) -> tensor<i1>
    %c = tensor.extract %lt[] : tensor<i1>
    scf.condition(%c) %v : !u
  } do {
  ^bb0(%w: !u):
    %n = "promote.multiply"(%w, %x) : (!u, tensor<f32>) -> !u
    scf.yield %n : !u
  }
  return %r : !u
}"#;
    an_index_switch, r#"
func.func @f(%i: index, %x: tensor<4xi8>, %y: tensor<4xui8>) -> !u {
  %r = scf.index_switch %i -> !u
  case 0 {
    %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
    scf.yield %a : !u
  }
  default {
    %b = "promote.relax"(%y) : (tensor<4xui8>) -> !u
    scf.yield %b : !u
  }
  return %r : !u
}"#;
    loops_in_loops, r#"
func.func @f(%x: tensor<2xf16>, %y: tensor<2xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (!u) {
      %s = "promote.add"(%b, %x) : (!u, tensor<2xf16>) -> !u
      scf.yield %s : !u
    }
    %t = "promote.add"(%inner, %y) : (!u, tensor<2xf32>) -> !u
    scf.yield %t : !u
  }
  return %r : !u
}"#;
    a_value_is_used_after_the_loop_in_another_dtype, r#"
func.func @f(%x: tensor<4xi32>, %y: tensor<4xbf16>, %z: tensor<4xf32>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi32>) -> !u
  %before = "promote.add"(%x, %y) : (tensor<4xi32>, tensor<4xbf16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.multiply"(%a, %y) : (!u, tensor<4xbf16>) -> !u
    scf.yield %s : !u
  }
  %after = "promote.add"(%x, %z) : (tensor<4xi32>, tensor<4xf32>) -> !u
  %t = "promote.add"(%r, %after) : (!u, !u) -> !u
  return %before, %t : !u, !u
}"#;
    blocks_take_the_join_of_their_branches, r#"
func.func @f(%c: i1, %x: tensor<4xi32>, %y: tensor<4xf16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi32>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  cf.cond_br %c, ^t(%a : !u), ^t(%b : !u)
^t(%v: !u):
  %s = "promote.add"(%v, %v) : (!u, !u) -> !u
  return %s : !u
}"#;
    a_loop_of_blocks, r#"
func.func @f(%x: tensor<4xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  cf.br ^head(%c0, %init : index, !u)
^head(%i: index, %acc: !u):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  %next = "promote.add"(%acc, %x) : (!u, tensor<4xbf16>) -> !u
  %j = arith.addi %i, %c1 : index
  cf.br ^head(%j, %next : index, !u)
^exit:
  return %acc : !u
}"#;
    two_ways_into_a_loop, r#"
func.func @f(%c: i1, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  cf.cond_br %c, ^left(%a : !u), ^right(%b : !u)
^left(%l: !u):
  %l1 = "promote.negative"(%l) : (!u) -> !u
  cf.cond_br %c, ^right(%l1 : !u), ^exit(%l1 : !u)
^right(%r: !u):
  %r1 = "promote.abs"(%r) : (!u) -> !u
  cf.br ^left(%r1 : !u)
^exit(%e: !u):
  return %e : !u
}"#;
    a_switch_over_blocks, r#"
func.func @f(%i: i32, %x: tensor<4xi8>, %y: tensor<4xi16>, %z: tensor<4xui8>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xi16>) -> !u
  %d = "promote.relax"(%z) : (tensor<4xui8>) -> !u
  cf.switch %i : i32, [
    default: ^end(%a : !u),
    0: ^end(%b : !u),
    1: ^end(%d : !u)
  ]
^end(%v: !u):
  return %v : !u
}"#;
    returns_of_several_dtypes, r#"
func.func @f(%c: i1, %x: tensor<4xi32>, %y: tensor<f16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi32>) -> !u
  %b = "promote.relax"(%y) : (tensor<f16>) -> !u
  cf.cond_br %c, ^left, ^right
^left:
  return %a : !u
^right:
  return %b : !u
}"#;
    dtypes_that_do_not_meet, r#"
func.func @f(%c: i1, %x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) -> !u {
  %r = scf.if %c -> (!u) {
    %a = "promote.relax"(%x) : (tensor<4xf8E4M3FN>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%y) : (tensor<4xbf16>) -> !u
    scf.yield %b : !u
  }
  return %r : !u
}"#;
    shapes_that_do_not_meet, r#"
func.func @f(%c: i1, %x: tensor<4xf32>, %y: tensor<3xf32>) -> !u {
  %r = scf.if %c -> (!u) {
    %a = "promote.relax"(%x) : (tensor<4xf32>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%y) : (tensor<3xf32>) -> !u
    scf.yield %b : !u
  }
  return %r : !u
}"#;
    a_carry_that_grows_for_ever, r#"
func.func @f(%x: tensor<4xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xf32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.concat"(%a, %x) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (!u, tensor<4xf32>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    a_carry_that_gains_dimensions_for_ever, r#"
func.func @f(%x: tensor<1xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<1xf32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.expand_dims"(%a) {axis = array<i64: 0>} : (!u) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    an_op_that_the_first_round_refuses, r#"
func.func @f(%c: i1, %x: tensor<4xi32>, %y: tensor<4xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.add"(%a, %y) : (!u, tensor<4xf32>) -> !u
    %t = "promote.rsqrt"(%a) : (!u) -> !u
    %v = "promote.add"(%s, %t) : (!u, !u) -> !u
    %w = scf.if %c -> (!u) {
      scf.yield %v : !u
    } else {
      scf.yield %s : !u
    }
    scf.yield %w : !u
  }
  return %r : !u
}"#;
    dead_blocks, r#"
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
^dead(%v: !u):
  cf.br ^dead(%v : !u)
}"#;
    numpy_carries under "numpy2", r#"
func.func @f(%x: tensor<4xui8>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0.0> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_float>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.add"(%a, %x) : (!u, tensor<4xui8>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    torch_carries under "torch", r#"
func.func @f(%x: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = "promote.add"(%a, %x) : (!u, tensor<4xf16>) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    dynamic_extents_flow, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<?xbf16>, %c: i1) -> !u {
  %r = scf.if %c -> (!u) {
    %a = "promote.relax"(%x) : (tensor<?xf32>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%y) : (tensor<?xbf16>) -> !u
    scf.yield %b : !u
  }
  return %r : !u
}"#;
    a_scalar_flows_to_dynamic_extents, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<f32>, %c: i1) -> !u {
  %r = scf.if %c -> (!u) {
    %a = "promote.relax"(%x) : (tensor<?xf32>) -> !u
    scf.yield %a : !u
  } else {
    %b = "promote.relax"(%y) : (tensor<f32>) -> !u
    scf.yield %b : !u
  }
  return %r : !u
}"#;
    a_reduction_of_a_parallel_loop, r#"
func.func @sum(%x: tensor<4xbf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%init) -> !u {
    %v = "promote.exp"(%x) : (tensor<4xbf16>) -> !u
    scf.reduce(%v : !u) {
    ^bb0(%l: !u, %q: !u):
      %s = "promote.add"(%l, %q) : (!u, !u) -> !u
      scf.reduce.return %s : !u
    }
  }
  return %r : !u
}"#;
    parts_of_an_output_are_written_in_its_dtype, r#"
func.func @forall(%x: tensor<4xbf16>, %y: tensor<4xf16>) -> !u {
  %k0 = "promote.constant"() {value = dense<0> : tensor<8xi64>} : () -> tensor<8x!promote.weak_int>
  %o = "promote.relax"(%k0) : (tensor<8x!promote.weak_int>) -> tensor<8x!promote.unknown>
  %r = scf.forall (%i) in (2) shared_outs(%a = %o) -> tensor<8x!promote.unknown> {
    %z = "promote.multiply"(%x, %x) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4x!promote.unknown>
    %w = "promote.exp"(%y) : (tensor<4xf16>) -> tensor<4x!promote.unknown>
    %k = arith.constant 4 : index
    %off = arith.muli %i, %k : index
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %z into %a[%off] [4] [1] : tensor<4x!promote.unknown> into tensor<8x!promote.unknown>
      tensor.parallel_insert_slice %w into %a[%off] [4] [1] : tensor<4x!promote.unknown> into tensor<8x!promote.unknown>
    }
  }
  %s = "promote.exp"(%r) : (tensor<8x!promote.unknown>) -> !u
  return %s : !u
}"#;
    an_indirect_call, r#"
func.func @g(%x: tensor<4xf32>) -> !u {
  %0 = "promote.exp"(%x) : (tensor<4xf32>) -> !u
  return %0 : !u
}
func.func @f(%x: tensor<4xf32>) -> !u {
  %f = func.constant @g : (tensor<4xf32>) -> !u
  %r = func.call_indirect %f(%x) : (tensor<4xf32>) -> !u
  return %r : !u
}"#;
    a_declaration_that_states_nothing, r#"
func.func private @ext(!u) -> !u
func.func @f(%x: tensor<4xbf16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %0 = call @ext(%a) : (!u) -> !u
  return %0 : !u
}"#;
    placed_before_branches_and_loops, r#"
func.func @hoist(%x: tensor<4xi32>, %y: tensor<4xbf16>, %z: tensor<4xf32>, %n: index, %c: i1) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%z) : (tensor<4xf32>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %q = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (!u) {
    %s = scf.if %c -> !u {
      %s1 = "promote.multiply"(%x, %z) : (tensor<4xi32>, tensor<4xf32>) -> !u
      scf.yield %s1 : !u
    } else {
      %s2 = "promote.relax"(%z) : (tensor<4xf32>) -> !u
      scf.yield %s2 : !u
    }
    %s3 = "promote.add"(%b, %s) : (!u, !u) -> !u
    scf.yield %s3 : !u
    }
    scf.yield %q : !u
  }
  %w = scf.if %c -> !u {
    %s1 = "promote.multiply"(%y, %z) : (tensor<4xbf16>, tensor<4xf32>) -> !u
    scf.yield %s1 : !u
  } else {
    %v = "promote.relax"(%y) : (tensor<4xbf16>) -> !u
    scf.yield %v : !u
  }
  return %r, %w : !u, !u
}
func.func @blocks(%x: tensor<4xi32>, %z: tensor<4xf32>, %c: i1) -> !u {
  cf.cond_br %c, ^a, ^b
^a:
  cf.cond_br %c, ^d, ^e
^b:
  %b = "promote.relax"(%z) : (tensor<4xf32>) -> !u
  cf.br ^f(%b : !u)
^d:
  %d = "promote.add"(%x, %z) : (tensor<4xi32>, tensor<4xf32>) -> !u
  cf.br ^f(%d : !u)
^e:
  %e = "promote.multiply"(%x, %z) : (tensor<4xi32>, tensor<4xf32>) -> !u
  cf.br ^f(%e : !u)
^f(%f: !u):
  return %f : !u
}
func.func @cfloop(%x: tensor<4xi32>, %z: tensor<4xf32>, %c: i1) -> !u {
  %b = "promote.relax"(%z) : (tensor<4xf32>) -> !u
  cf.br ^h(%b : !u)
^h(%a: !u):
  cf.cond_br %c, ^body, ^exit
^body:
  %d = "promote.add"(%x, %a) : (tensor<4xi32>, !u) -> !u
  cf.br ^h(%d : !u)
^exit:
  return %a : !u
}"#;
}
