//! The same program under the rules of several libraries, and what the policies find.

use promote::{Options, Policies, Policy, Semantics, Session};

use crate::support::{DEFAULT, Outcome, run_in};

fn run_with(semantics: &str, source: &str, policies: Policies) -> Outcome {
    let semantics = Semantics::by_name(semantics, false).expect("the semantics exists");
    let session = Session::new(&Options { policies, ..Options::new(semantics) });
    run_in(&session.expect("MLIR takes the dialect"), source, DEFAULT)
}

/// A program and what each semantics makes of it.
fn compare(names: &[&str], source: &str) -> String {
    let mut out = source.trim().to_owned();
    for name in names {
        let outcome = run_with(name, source, Policies::default());
        out.push_str(&format!("\n\n// --semantics={name}\n{}{}", outcome.text, outcome.diagnostics_text()));
    }
    out
}

macro_rules! comparisons {
    ($($name:ident, [$($semantics:literal),+], $source:literal;)*) => { $(
        #[test]
        fn $name() {
            insta::assert_snapshot!(compare(&[$($semantics),+], $source));
        }
    )* };
}

comparisons! {
    signed_and_unsigned_64_bit_integers, ["jax", "numpy2", "torch", "array-api", "tensorflow-all", "jep9407-option3"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi64>, %y: tensor<4xui64>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xi64>, tensor<4xui64>) -> !u
  return %0 : !u
}"#;
    a_float_scalar_meets_integers, ["jax", "numpy2", "numpy1", "torch", "tensorflow", "python"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>) -> !u {
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.multiply"(%x, %half) : (tensor<4xi32>, tensor<!promote.weak_float>) -> !u
  return %0 : !u
}"#;
    an_array_without_dimensions_counts_less, ["numpy2", "numpy1", "torch", "cupy"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>, %y: tensor<f64>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<f64>) -> !u
  return %0 : !u
}"#;
    an_array_of_unknown_rank_may_count_less, ["numpy2", "numpy1", "torch"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>, %y: tensor<*xf64>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<*xf64>) -> !u
  return %0 : !u
}"#;
    a_literal_out_of_range, ["jax", "numpy2", "numpy1", "torch"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xui8>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.less"(%x, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  return %0, %1 : !u, !u
}"#;
    python_computes_its_own_numbers, ["torch", "array-api", "numpy2", "jax"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf64>, %k: tensor<4xi64>) -> (!u, !u, !u, !u) {
  %tenth = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %three = "promote.constant"() {value = dense<3> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %seven = "promote.constant"() {value = dense<-7> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %product = "promote.multiply"(%tenth, %three) : (tensor<!promote.weak_float>, tensor<!promote.weak_int>) -> !u
  %third = "promote.divide"(%seven, %three) : (tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  %floor = "promote.floor_divide"(%seven, %three) : (tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  %less = "promote.less"(%floor, %three) : (!u, tensor<!promote.weak_int>) -> !u
  %0 = "promote.multiply"(%x, %product) : (tensor<4xf64>, !u) -> !u
  %1 = "promote.add"(%x, %third) : (tensor<4xf64>, !u) -> !u
  %2 = "promote.add"(%k, %floor) : (tensor<4xi64>, !u) -> !u
  return %0, %1, %2, %less : !u, !u, !u, !u
}"#;
    a_bool_of_pythons_is_an_integer_in_arithmetic, ["torch"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>) -> (!u, !u) {
  %one = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %two = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %relaxed = "promote.relax"(%one) : (tensor<!promote.weak_int>) -> !u
  %less = "promote.less"(%relaxed, %two) {my.note = "kept"} : (!u, tensor<!promote.weak_int>) -> !u
  %sum = "promote.add"(%less, %less) : (!u, !u) -> !u
  %0 = "promote.add"(%x, %sum) : (tensor<4xi8>, !u) -> !u
  %1 = "promote.multiply"(%x, %less) : (tensor<4xi8>, !u) -> !u
  return %0, %1 : !u, !u
}"#;
    what_python_does_not_compute_of_its_numbers, ["torch"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%n: tensor<!promote.weak_int>, %b: tensor<4xi1>) -> (!u, !u, !u, !u, !u, !u, !u) {
  %zero = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %two = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %many = "promote.constant"() {value = dense<64> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %i = "promote.constant"() {value = dense<(0.0, 1.0)> : tensor<complex<f64>>} : () -> tensor<!promote.weak_complex>
  %by_zero = "promote.divide"(%two, %zero) : (tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  %wide = "promote.pow"(%two, %many) : (tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  %unordered = "promote.less"(%i, %two) : (tensor<!promote.weak_complex>, tensor<!promote.weak_int>) -> !u
  %unknown = "promote.multiply"(%two, %n) : (tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  %function = "promote.sqrt"(%two) : (tensor<!promote.weak_int>) -> !u
  %true = "promote.equal"(%two, %two) : (tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  %power = "promote.pow"(%b, %true) : (tensor<4xi1>, !u) -> !u
  return %by_zero, %wide, %unordered, %unknown, %function, %true, %power : !u, !u, !u, !u, !u, !u, !u
}"#;
    bounds_that_cannot_bind, ["numpy2", "torch"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xui8>) -> !u {
  %low = "promote.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %high = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.clip"(%x, %low, %high) : (tensor<4xui8>, tensor<!promote.weak_int>, tensor<!promote.weak_int>) -> !u
  return %0 : !u
}"#;
    a_division_and_a_mean_of_integers, ["jax", "numpy2", "torch", "tensorflow", "array-api", "python"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi64>) -> (!u, !u) {
  %0 = "promote.divide"(%x, %x) : (tensor<4xi64>, tensor<4xi64>) -> !u
  %1 = "promote.mean"(%x) : (tensor<4xi64>) -> !u
  return %0, %1 : !u, !u
}"#;
    half_precision_and_a_complex_scalar, ["numpy2", "torch"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf16>) -> !u {
  %i = "promote.constant"() {value = dense<(0.0, 1.0)> : tensor<complex<f64>>} : () -> tensor<!promote.weak_complex>
  %0 = "promote.multiply"(%x, %i) : (tensor<4xf16>, tensor<!promote.weak_complex>) -> !u
  return %0 : !u
}"#;
    weak_values_with_a_width, ["tensorflow-all"], r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xui8>, %y: tensor<4xbf16>) -> (!u, !u) {
  %half = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.multiply"(%x, %half) : (tensor<4xui8>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.add"(%0, %y) : (!u, tensor<4xbf16>) -> !u
  return %0, %1 : !u, !u
}"#;
}

const SHARED: &str = r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>, %y: tensor<4xbf16>) -> (!u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<4xi32>, tensor<4xbf16>) -> !u
  %1 = "promote.multiply"(%y, %x) : (tensor<4xbf16>, tensor<4xi32>) -> !u
  return %0, %1 : !u, !u
}"#;

#[test]
fn a_policy_finds_every_operand_though_its_value_is_converted_once() {
    let warn = vec![Policy::PrecisionLoss];
    let outcome = run_with("jax", SHARED, Policies { warn, ..Policies::default() });
    insta::assert_snapshot!(format!("{}{}", outcome.text, outcome.diagnostics_text()));
}

#[test]
fn literals_are_found_that_a_dtype_does_not_hold() {
    let source = r#"
!u = tensor<*x!promote.unknown>
func.func @f(%i: tensor<2xi8>, %b: tensor<2xf32>, %h: tensor<2xf16>) -> (!u, !u, !u, !u) {
  %300 = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %odd = "promote.constant"() {value = dense<16777217> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %1e6 = "promote.constant"() {value = dense<1.0e6> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %tenth = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.add"(%i, %300) : (tensor<2xi8>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.add"(%b, %odd) : (tensor<2xf32>, tensor<!promote.weak_int>) -> !u
  %2 = "promote.add"(%h, %1e6) : (tensor<2xf16>, tensor<!promote.weak_float>) -> !u
  %3 = "promote.add"(%h, %tenth) : (tensor<2xf16>, tensor<!promote.weak_float>) -> !u
  return %0, %1, %2, %3 : !u, !u, !u, !u
}"#
    .replace("%300", "%big")
    .replace("%1e6", "%million");
    let deny = vec![Policy::PrecisionLoss, Policy::MagnitudeLoss];
    let outcome = run_with("jax", &source, Policies { deny, ..Policies::default() });
    assert_eq!(outcome.text, "");
    insta::assert_snapshot!(outcome.diagnostics_text());
}

#[test]
fn a_promotion_that_the_library_refuses_to_run_is_warned_of() {
    let source = r#"
func.func @f(%x: tensor<2x2xi32>, %y: tensor<2x2xf64>) -> tensor<*x!promote.unknown> {
  %0 = "promote.matmul"(%x, %y) : (tensor<2x2xi32>, tensor<2x2xf64>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}"#;
    let outcome = run_with("torch", source, Policies::default());
    insta::assert_snapshot!(format!("{}{}", outcome.text, outcome.diagnostics_text()));
}

#[test]
fn a_denied_promotion_leaves_nothing() {
    let (warn, deny) = (vec![Policy::PrecisionLoss], vec![Policy::PrecisionLoss]);
    let outcome = run_with("jax", SHARED, Policies { warn, deny, ..Policies::default() });
    assert_eq!(outcome.text, "");
    assert_eq!(
        outcome.diagnostics_text().matches("error[P0031]").count(),
        2,
        "{}",
        outcome.diagnostics_text()
    );
}

#[test]
fn an_op_that_the_library_cannot_run_is_found_where_asked_for() {
    let source = r#"
func.func @f(%x: tensor<4xui16>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%x, %x) : (tensor<4xui16>, tensor<4xui16>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}"#;
    let silent = run_with("torch", source, Policies::default());
    assert_eq!(silent.diagnostics_text(), "");
    let outcome = run_with("torch", source, Policies { warn: vec![Policy::NoKernel], ..Policies::default() });
    insta::assert_snapshot!(outcome.diagnostics_text());
}
