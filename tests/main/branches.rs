//! Blocks and branches of cf: loops with breaks, several ways in and out, and blocks that nothing reaches.

use crate::flow_support::{cases, show};

cases! {
    a_loop_that_is_left_by_a_break, r#"
func.func @f(%x: tensor<4xi16>, %y: tensor<4xf16>, %stop: i1, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi16>) -> !u
  cf.br ^head(%c0, %init : index, !u)
^head(%i: index, %a: !u):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit(%a : !u)
^body:
  %b = "promote.add"(%a, %x) : (!u, tensor<4xi16>) -> !u
  cf.cond_br %stop, ^exit(%b : !u), ^rest
^rest:
  %d = "promote.multiply"(%b, %y) : (!u, tensor<4xf16>) -> !u
  %j = arith.addi %i, %c1 : index
  cf.br ^head(%j, %d : index, !u)
^exit(%r: !u):
  return %r : !u
}"#;
    a_continue_skips_what_raises_the_carry, r#"
func.func @f(%y: tensor<4xbf16>, %skip: i1, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
  cf.br ^head(%c0, %init : index, !u)
^head(%i: index, %a: !u):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  %j = arith.addi %i, %c1 : index
  cf.cond_br %skip, ^head(%j, %a : index, !u), ^rest
^rest:
  %d = "promote.multiply"(%a, %y) : (!u, tensor<4xbf16>) -> !u
  cf.br ^head(%j, %d : index, !u)
^exit:
  return %a : !u
}"#;
    an_early_return_from_a_loop, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xi32>, %z: tensor<4xf16>, %found: i1, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  cf.br ^head(%c0, %init : index, !u)
^head(%i: index, %a: !u):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  %b = "promote.add"(%a, %y) : (!u, tensor<4xi32>) -> !u
  %j = arith.addi %i, %c1 : index
  cf.cond_br %found, ^early, ^head(%j, %b : index, !u)
^early:
  %e = "promote.negative"(%b) : (!u) -> !u
  return %e : !u
^exit:
  %r = "promote.relax"(%z) : (tensor<4xf16>) -> !u
  return %r : !u
}"#;
    a_block_that_is_its_own_loop, r#"
func.func @f(%x: tensor<4xui8>, %y: tensor<f16>, %c: i1) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xui8>) -> !u
  cf.br ^self(%a : !u)
^self(%v: !u):
  %n = "promote.divide"(%v, %y) : (!u, tensor<f16>) -> !u
  cf.cond_br %c, ^self(%n : !u), ^exit
^exit:
  return %n : !u
}"#;
    a_block_that_passes_itself_what_it_got_in_another_order, r#"
func.func @f(%x: tensor<i8>, %y: tensor<i16>, %z: tensor<f16>, %c: i1) -> (!u, !u, !u) {
  %a0 = "promote.relax"(%x) : (tensor<i8>) -> !u
  %b0 = "promote.relax"(%y) : (tensor<i16>) -> !u
  %c0 = "promote.relax"(%z) : (tensor<f16>) -> !u
  cf.br ^self(%a0, %b0, %c0 : !u, !u, !u)
^self(%a: !u, %b: !u, %d: !u):
  cf.cond_br %c, ^self(%b, %d, %a : !u, !u, !u), ^exit
^exit:
  return %a, %b, %d : !u, !u, !u
}"#;
    two_ways_into_a_loop_one_of_them_weak, r#"
func.func @f(%y: tensor<4xf16>, %c: i1) -> !u {
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %a = "promote.relax"(%half) : (tensor<!promote.weak_float>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  cf.cond_br %c, ^left(%a : !u), ^right(%b : !u)
^left(%l: !u):
  %m = "promote.exp"(%l) : (!u) -> !u
  cf.br ^right(%m : !u)
^right(%r: !u):
  cf.cond_br %c, ^left(%r : !u), ^exit
^exit:
  return %r : !u
}"#;
    three_ways_into_a_loop, r#"
func.func @f(%i: i32, %x: tensor<4xi8>, %y: tensor<4xui8>, %z: tensor<4xf16>, %c: i1) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xui8>) -> !u
  %d = "promote.relax"(%z) : (tensor<4xf16>) -> !u
  cf.switch %i : i32, [
    default: ^first(%a : !u),
    0: ^second(%b : !u),
    1: ^third(%d : !u)
  ]
^first(%p: !u):
  %p1 = "promote.negative"(%p) : (!u) -> !u
  cf.br ^second(%p1 : !u)
^second(%q: !u):
  %q1 = "promote.abs"(%q) : (!u) -> !u
  cf.cond_br %c, ^third(%q1 : !u), ^exit(%q : !u)
^third(%r: !u):
  %r1 = "promote.square"(%r) : (!u) -> !u
  cf.br ^first(%r1 : !u)
^exit(%e: !u):
  return %e : !u
}"#;
    a_dead_block_that_branches_to_a_live_one, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  cf.br ^end(%a : !u)
^dead:
  %b = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  cf.br ^end(%b : !u)
^end(%v: !u):
  return %v : !u
}"#;
    a_dead_block_that_uses_live_values, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %a = "promote.negative"(%x) : (tensor<4xi8>) -> !u
  return %a : !u
^dead:
  %b = "promote.add"(%x, %y) : (tensor<4xi8>, tensor<4xf16>) -> !u
  %d = "promote.multiply"(%a, %b) : (!u, !u) -> !u
  return %d : !u
}"#;
    a_dead_loop_with_a_way_in, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf16>, %c: i1) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  return %a : !u
^dead:
  cf.br ^head(%a : !u)
^head(%v: !u):
  %s = "promote.add"(%v, %y) : (!u, tensor<4xf16>) -> !u
  cf.cond_br %c, ^head(%s : !u), ^exit
^exit:
  %t = "promote.convert"(%s) : (!u) -> tensor<4xi8>
  %u = "promote.relax"(%t) : (tensor<4xi8>) -> !u
  return %u : !u
}"#;
    a_block_without_arguments_uses_what_dominates_it, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xf32>, %c: i1) -> !u {
  %a = "promote.add"(%x, %x) : (tensor<4xi8>, tensor<4xi8>) -> !u
  cf.cond_br %c, ^left, ^right
^left:
  %b = "promote.add"(%a, %y) : (!u, tensor<4xf32>) -> !u
  cf.br ^end(%b : !u)
^right:
  cf.br ^end(%a : !u)
^end(%r: !u):
  return %r : !u
}"#;
    a_switch_whose_cases_pass_different_numbers_of_values, r#"
func.func @f(%i: i32, %x: tensor<4xi8>, %y: tensor<4xf16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xf16>) -> !u
  cf.switch %i : i32, [
    default: ^none,
    0: ^one(%b : !u),
    1: ^two(%a, %b : !u, !u)
  ]
^none:
  cf.br ^one(%a : !u)
^one(%v: !u):
  return %v : !u
^two(%p: !u, %q: !u):
  %s = "promote.add"(%p, %q) : (!u, !u) -> !u
  cf.br ^one(%s : !u)
}"#;
    // u8 and i8 alone would be i16, and i16 and f16 f32; at once the three are f16.
    numpy_joins_all_that_flow_to_a_block_at_once under "numpy2", r#"
func.func @f(%i: i32, %x: tensor<4xui8>, %y: tensor<4xi8>, %z: tensor<4xf16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xui8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xi8>) -> !u
  %d = "promote.relax"(%z) : (tensor<4xf16>) -> !u
  cf.switch %i : i32, [
    default: ^end(%a : !u),
    0: ^end(%b : !u),
    1: ^end(%d : !u)
  ]
^end(%v: !u):
  return %v : !u
}"#;
    pythons_scalars_of_two_types_do_not_flow_to_one_place_of_torch under "torch", r#"
func.func @f(%p: i1) -> !u {
  %a = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %b = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %i = scf.if %p -> (!u) {
    %0 = "promote.relax"(%a) : (tensor<!promote.weak_float>) -> !u
    scf.yield %0 : !u
  } else {
    %0 = "promote.relax"(%b) : (tensor<!promote.weak_int>) -> !u
    scf.yield %0 : !u
  }
  %r = "promote.add"(%i, %b) : (!u, tensor<!promote.weak_int>) -> !u
  return %r : !u
}"#;
    a_scalar_of_pythons_that_a_branch_decides_does_not_lose_digits_in_torch under "torch", r#"
func.func @f(%p: i1, %x: tensor<1xf64>, %y: tensor<1xbf16>) -> (!u, !u) {
  %a = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %b = "promote.constant"() {value = dense<0.2> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %i = scf.if %p -> (!u) {
    %0 = "promote.relax"(%a) : (tensor<!promote.weak_float>) -> !u
    scf.yield %0 : !u
  } else {
    %0 = "promote.relax"(%b) : (tensor<!promote.weak_float>) -> !u
    scf.yield %0 : !u
  }
  %0 = "promote.multiply"(%i, %y) : (!u, tensor<1xbf16>) -> !u
  %1 = "promote.multiply"(%i, %x) : (!u, tensor<1xf64>) -> !u
  return %0, %1 : !u, !u
}"#;
    torch_joins_an_array_and_a_scalar_alike_at_a_block under "torch", r#"
func.func @f(%c: i1, %x: tensor<4xf16>, %y: tensor<f64>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xf16>) -> !u
  %b = "promote.relax"(%y) : (tensor<f64>) -> !u
  cf.cond_br %c, ^end(%a : !u), ^end(%b : !u)
^end(%v: !u):
  return %v : !u
}"#;
}
