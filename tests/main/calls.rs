//! Inference through calls: instances of private functions, weak values, recursion.

use crate::flow_support::{cases, show};

cases! {
    a_private_function_is_inferred_for_each_signature, r#"
func.func private @scale(%x: !u, %k: !u) -> !u {
  %r = "promote.multiply"(%x, %k) : (!u, !u) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xbf16>, %y: tensor<2x3xi8>) -> (!u, !u, !u) {
  %c = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %k = "promote.relax"(%c) : (tensor<!promote.weak_int>) -> !u
  %a = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %b = "promote.relax"(%y) : (tensor<2x3xi8>) -> !u
  %r = call @scale(%a, %k) : (!u, !u) -> !u
  %s = call @scale(%b, %k) : (!u, !u) -> !u
  %t = call @scale(%a, %k) : (!u, !u) -> !u
  return %r, %s, %t : !u, !u, !u
}"#;
    a_private_function_with_one_signature_keeps_its_name, r#"
func.func private @twice(%x: !u) -> !u {
  %r = "promote.add"(%x, %x) : (!u, !u) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xbf16>) -> (!u, !u) {
  %a = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %r = call @twice(%a) : (!u) -> !u
  %s = call @twice(%r) : (!u) -> !u
  return %r, %s : !u, !u
}"#;
    weak_values_pass_through_calls, r#"
func.func private @id(%x: !u) -> !u {
  return %x : !u
}
func.func @main(%x: tensor<4xbf16>) -> !u {
  %c = "promote.constant"() {value = dense<2.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %k = "promote.relax"(%c) : (tensor<!promote.weak_float>) -> !u
  %w = call @id(%k) : (!u) -> !u
  %r = "promote.multiply"(%w, %x) : (!u, tensor<4xbf16>) -> !u
  return %r : !u
}"#;
    recursion_from_its_base_case, r#"
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
func.func @main(%x: tensor<4xbf16>, %n: index) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %r = call @power(%a, %n) : (!u, index) -> !u
  return %r : !u
}"#;
    mutual_recursion, r#"
func.func @even(%n: index, %x: tensor<f32>) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %z -> (!u) {
    %o = "promote.relax"(%x) : (tensor<f32>) -> !u
    scf.yield %o : !u
  } else {
    %m = arith.subi %n, %c1 : index
    %p = func.call @odd(%m, %x) : (index, tensor<f32>) -> !u
    scf.yield %p : !u
  }
  return %r : !u
}
func.func @odd(%n: index, %x: tensor<f32>) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %z -> (!u) {
    %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %o = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
    scf.yield %o : !u
  } else {
    %m = arith.subi %n, %c1 : index
    %p = func.call @even(%m, %x) : (index, tensor<f32>) -> !u
    scf.yield %p : !u
  }
  return %r : !u
}"#;
    a_recursion_that_changes_its_argument, r#"
func.func private @sum(%acc: !u, %x: tensor<4xf16>, %c: i1) -> !u {
  %r = scf.if %c -> (!u) {
    scf.yield %acc : !u
  } else {
    %next = "promote.add"(%acc, %x) : (!u, tensor<4xf16>) -> !u
    %s = func.call @sum(%next, %x, %c) : (!u, tensor<4xf16>, i1) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}
func.func @main(%x: tensor<4xf16>, %c: i1) -> !u {
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %a = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %r = call @sum(%a, %x, %c) : (!u, tensor<4xf16>, i1) -> !u
  return %r : !u
}"#;
    a_recursion_whose_arguments_grow_for_ever, r#"
func.func private @grow(%x: !u, %n: index) -> !u {
  %e = "promote.expand_dims"(%x) {axis = array<i64: 0>} : (!u) -> !u
  %r = call @grow(%e, %n) : (!u, index) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xbf16>, %n: index) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %r = call @grow(%a, %n) : (!u, index) -> !u
  return %r : !u
}"#;
    a_recursion_without_a_base_case, r#"
func.func private @loop(%x: !u) -> !u {
  %r = call @loop(%x) : (!u) -> !u
  %s = "promote.negative"(%r) : (!u) -> !u
  return %s : !u
}
func.func @main(%x: tensor<4xbf16>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %r = call @loop(%a) : (!u) -> !u
  return %r : !u
}
func.func private @unused(%x: !u) -> !u {
  return %x : !u
}"#;
    a_generic_function_refused_for_one_signature, r#"
func.func private @bad(%x: !u, %y: !u) -> !u {
  %s = "promote.add"(%x, %y) : (!u, !u) -> !u
  return %s : !u
}
func.func private @unused(%x: !u) -> !u {
  return %x : !u
}
func.func @main(%x: tensor<4xbf16>, %y: tensor<3xf32>) -> !u {

  %a = "promote.relax"(%x) : (tensor<4xbf16>) -> !u
  %b = "promote.relax"(%y) : (tensor<3xf32>) -> !u
  %q = call @bad(%a, %a) : (!u, !u) -> !u
  %r = call @bad(%a, %b) : (!u, !u) -> !u
  return %r : !u
}"#;
    a_generic_function_that_nothing_calls, r#"
func.func private @unused(%x: !u) -> !u {
  return %x : !u
}
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  return %x : tensor<4xi8>
}"#;
    a_generic_function_used_as_a_value, r#"
func.func private @f(%x: !u) -> !u {
  return %x : !u
}
func.func @main(%x: tensor<4xi8>) -> !u {
  %f = constant @f : (!u) -> !u
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %r = call @f(%a) : (!u) -> !u
  return %r : !u
}"#;
    calls_in_a_loop, r#"
func.func private @step(%acc: !u, %x: !u) -> !u {
  %r = "promote.add"(%acc, %x) : (!u, !u) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xf16>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %init = "promote.relax"(%zero) : (tensor<!promote.weak_int>) -> !u
  %v = "promote.relax"(%x) : (tensor<4xf16>) -> !u
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!u) {
    %s = func.call @step(%a, %v) : (!u, !u) -> !u
    scf.yield %s : !u
  }
  return %r : !u
}"#;
    generic_functions_that_call_each_other_in_a_row, r#"
func.func private @inner(%x: !u) -> !u {
  %r = "promote.sqrt"(%x) : (!u) -> !u
  return %r : !u
}
func.func private @outer(%x: !u, %y: !u) -> !u {
  %a = call @inner(%x) : (!u) -> !u
  %b = call @inner(%y) : (!u) -> !u
  %r = "promote.add"(%a, %b) : (!u, !u) -> !u
  return %r : !u
}
func.func @main(%x: tensor<?xi32>, %y: tensor<f64>) -> !u {
  %a = "promote.relax"(%x) : (tensor<?xi32>) -> !u
  %b = "promote.relax"(%y) : (tensor<f64>) -> !u
  %r = call @outer(%a, %b) : (!u, !u) -> !u
  return %r : !u
}"#;
    a_name_that_is_taken, r#"
func.func private @f(%x: !u) -> !u {
  return %x : !u
}
func.func private @f.4xi8(%x: tensor<4xi8>) -> tensor<4xi8> {
  return %x : tensor<4xi8>
}
func.func @main(%x: tensor<4xi8>, %y: tensor<4xi16>) -> (!u, !u, tensor<4xi8>) {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xi16>) -> !u
  %r = call @f(%a) : (!u) -> !u
  %s = call @f(%b) : (!u) -> !u
  %t = call @f.4xi8(%x) : (tensor<4xi8>) -> tensor<4xi8>
  return %r, %s, %t : !u, !u, tensor<4xi8>
}"#;
    a_public_function_states_its_arguments, r#"
func.func @f(%x: !u) -> !u {
  return %x : !u
}"#;
    arguments_stated_in_part, r#"
func.func private @f(%x: tensor<4x!promote.unknown>, %y: tensor<*xf32>) -> !u {
  %r = "promote.add"(%x, %y) : (tensor<4x!promote.unknown>, tensor<*xf32>) -> !u
  return %r : !u
}
func.func @main(%x: tensor<4xi8>, %y: tensor<*xf32>) -> !u {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> tensor<4x!promote.unknown>
  %r = call @f(%a, %y) : (tensor<4x!promote.unknown>, tensor<*xf32>) -> !u
  return %r : !u
}"#;
    a_private_function_with_nested_functions_states_its_arguments, r#"
func.func private @outer(%x: !u) -> !u {
  builtin.module {
    func.func @inner(%y: tensor<4xi8>, %z: tensor<4xf16>) -> !u {
      %r = "promote.add"(%y, %z) : (tensor<4xi8>, tensor<4xf16>) -> !u
      return %r : !u
    }
  }
  return %x : !u
}
func.func @main(%x: tensor<4xi8>, %y: tensor<4xi16>) -> (!u, !u) {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xi16>) -> !u
  %r = call @outer(%a) : (!u) -> !u
  %s = call @outer(%b) : (!u) -> !u
  return %r, %s : !u, !u
}"#;
    a_private_function_with_nested_functions_that_nothing_calls, r#"
func.func private @outer(%x: !u) -> !u {
  builtin.module {
    func.func @inner(%y: tensor<4xi8>, %z: tensor<4xf16>) -> !u {
      %r = "promote.add"(%y, %z) : (tensor<4xi8>, tensor<4xf16>) -> !u
      return %r : !u
    }
  }
  return %x : !u
}
func.func @main(%x: tensor<4xi8>, %y: tensor<4xi16>) -> (!u, !u) {
  %a = "promote.relax"(%x) : (tensor<4xi8>) -> !u
  %b = "promote.relax"(%y) : (tensor<4xi16>) -> !u
  return %a, %b : !u, !u
}"#;
}
