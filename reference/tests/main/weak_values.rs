//! Weak values: what their numbers become, and where.

use promote_lattice::DType::*;
use promote_reference::{Array, Error, Value};

use crate::support::{ints, reals, run, run_under};

#[test]
fn a_literal_is_converted_from_its_number_as_written() {
    let source = r#"
func.func @f(%x: tensor<1xf64>) -> !u {
  %k = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %r = "promote.add"(%x, %k) : (tensor<1xf64>, tensor<!promote.weak_float>) -> !u
  return %r : !u
}"#;
    let outcome = run_under("jax", true, source, &[Value::Array(reals(F64, &[0.0]))]).expect("it runs");
    assert_eq!(outcome.results, [Value::Array(reals(F64, &[0.1]))]);
}

#[test]
fn a_literal_exponent_is_not_wrapped() {
    let source = r#"
func.func @f(%x: tensor<2xi8>) -> !u {
  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %r = "promote.pow"(%x, %k) : (tensor<2xi8>, tensor<!promote.weak_int>) -> !u
  return %r : !u
}"#;
    assert_eq!(run(source, &[Value::Array(ints(I8, &[3, 2]))]), [Value::Array(ints(I8, &[113, 0]))]);
}

#[test]
fn a_bound_beyond_the_range_is_its_end() {
    let source = r#"
func.func @f(%x: tensor<2xi8>) -> !u {
  %a = "promote.constant"() {value = dense<-1000> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %b = "promote.constant"() {value = dense<1000> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %r = "promote.clip"(%x, %a, %b) : (tensor<2xi8>, tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  return %r : !u
}"#;
    let x = [Value::Array(ints(I8, &[-128, 127]))];
    assert_eq!(run_under("numpy2", false, source, &x).expect("it runs").results, x);
}

#[test]
fn what_stays_weak_gets_the_default_dtype() {
    let source = r#"
func.func @f() -> (!u, !u) {
  %k = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %s = "promote.sqrt"(%k) : (tensor<!promote.weak_int>) -> !u
  %r = "promote.relax"(%k) : (tensor<!promote.weak_int>) -> !u
  return %r, %s : !u, !u
}"#;
    let root = Array::of_reals(F32, &[], &[2f64.sqrt()]);
    assert_eq!(run(source, &[]), [Value::Array(Array::of_ints(I32, &[], &[2])), Value::Array(root)]);
}

#[test]
fn programs_that_the_library_refuses_are_refused() {
    let source = r#"
func.func @f(%x: tensor<2xi1>) -> !u {
  %r = "promote.subtract"(%x, %x) : (tensor<2xi1>, tensor<2xi1>) -> !u
  return %r : !u
}"#;
    let x = [Value::Array(ints(B1, &[0, 1]))];
    assert!(matches!(run_under("jax", false, source, &x), Err(Error::Refused(_))));
}
