//! Programs as the passes leave them, and what those must not leave.

use promote_lattice::DType::*;
use promote_reference::{Array, Value};

use crate::support::{ints, reals, run_under};

#[test]
fn converts_are_counted_but_for_those_of_constants() {
    let source = r#"
func.func @f(%x: tensor<2xi8>) -> tensor<2xf32> {
  %k = "promote.constant"() {value = dense<[1, 2]> : tensor<2xi8>} : () -> tensor<2xi8>
  %a = "promote.convert"(%x) {promote.implicit} : (tensor<2xi8>) -> tensor<2xf32>
  %b = "promote.convert"(%k) {promote.implicit} : (tensor<2xi8>) -> tensor<2xf32>
  %r = "promote.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}"#;
    let outcome = run_under("jax", false, source, &[Value::Array(ints(I8, &[3, 4]))]).expect("it runs");
    assert_eq!(outcome.results, [Value::Array(reals(F32, &[4.0, 6.0]))]);
    assert_eq!((outcome.converts, outcome.implicit), (1, 0));
}

#[test]
fn what_is_left_implicit_is_seen() {
    let source = r#"
func.func @f(%x: tensor<2xi8>, %y: tensor<f32>) -> tensor<2xf32> {
  %r = "promote.add"(%x, %y) : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}"#;
    let arguments = [Value::Array(ints(I8, &[3, 4])), Value::Array(Array::of_reals(F32, &[], &[0.5]))];
    let outcome = run_under("jax", false, source, &arguments).expect("it runs");
    assert_eq!(outcome.implicit, 2, "a conversion and a broadcast");
}

#[test]
fn dynamic_extents_are_those_of_a_pattern() {
    let source = r#"
func.func @f(%x: tensor<f32>, %y: tensor<?xf32>) -> (tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %b = "promote.broadcast_to"(%x, %y) {shape = array<i64: -9223372036854775808>} : (tensor<f32>, tensor<?xf32>) -> tensor<?xf32>
  %d = tensor.dim %b, %c0 : tensor<?xf32>
  return %b, %d : tensor<?xf32>, index
}"#;
    let arguments =
        [Value::Array(Array::of_reals(F32, &[], &[0.5])), Value::Array(reals(F32, &[1.0, 2.0, 3.0]))];
    let outcome = run_under("jax", false, source, &arguments).expect("it runs");
    assert_eq!(outcome.results, [Value::Array(reals(F32, &[0.5, 0.5, 0.5])), Value::Integer(3)]);
}
