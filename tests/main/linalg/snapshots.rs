//! Linalg as it is written, by concern.

use crate::support::{run_in, session};

const PIPELINE: &str = "promote-infer-types,promote-insert-converts,promote-fold-converts,promote-to-linalg";

fn show(source: &str, semantics: &str) -> String {
    let outcome = run_in(&session(semantics, false, false), source, PIPELINE);
    format!("{}\n\n// under {semantics}\n{}{}", source.trim(), outcome.text, outcome.diagnostics_text())
}

macro_rules! snapshots {
    ($($name:ident, $semantics:literal, $source:literal;)*) => { $(
        #[test]
        fn $name() {
            insta::assert_snapshot!(show($source, $semantics));
        }
    )* };
}

snapshots! {
    types_lose_their_signs_everywhere, "jax", r#"
func.func private @outside(tensor<4xui8>) -> tensor<ui16>
func.func @f(%x: tensor<4xui8>, %n: index) -> (tensor<4xui8>, tensor<ui16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = "promote.constant"() {value = dense<[1, 2, 254, 255]> : tensor<4xui8>} : () -> tensor<4xui8>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xui8>) {
    %b = "promote.maximum"(%a, %k) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    scf.yield %b : tensor<4xui8>
  }
  %s = func.call @outside(%r) : (tensor<4xui8>) -> tensor<ui16>
  %t = "foreign.op"(%r) {kind = tensor<4xui8>, of = dense<7> : tensor<2xui32>} : (tensor<4xui8>) -> tensor<4xui8>
  return %t, %s : tensor<4xui8>, tensor<ui16>
}"#;
    extents_that_a_run_knows, "jax", r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?x?xf32>) -> (!u, !u, !u) {
  %0 = "promote.slice"(%x) {start = array<i64: 1, 0>, stop = array<i64: 9, -1>, step = array<i64: 2, 1>} : (tensor<?x?xf32>) -> !u
  %1 = "promote.reshape"(%x) {shape = array<i64: 2, -1>} : (tensor<?x?xf32>) -> !u
  %2 = "promote.concat"(%x, %x) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<?x?xf32>, tensor<?x?xf32>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
    views_are_maps, "jax", r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4x6xi16>) -> (!u, !u, !u) {
  %0 = "promote.permute_dims"(%x) {permutation = array<i64: 1, 0>} : (tensor<4x6xi16>) -> !u
  %1 = "promote.slice"(%x) {start = array<i64: -1, 1>, stop = array<i64: -100, 6>, step = array<i64: -2, 2>} : (tensor<4x6xi16>) -> !u
  %2 = "promote.broadcast_to"(%x) {shape = array<i64: 3, 4, 6>} : (tensor<4x6xi16>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
    reductions_have_an_accumulator, "jax", r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4x6xf16>) -> (!u, !u, !u) {
  %0 = "promote.mean"(%x) {axis = array<i64: 1>} : (tensor<4x6xf16>) -> !u
  %1 = "promote.argmin"(%x) {axis = array<i64: 0>} : (tensor<4x6xf16>) -> !u
  %2 = "promote.cumulative_sum"(%x) {axis = array<i64: 1>} : (tensor<4x6xf16>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
    composite_ops_are_taken_apart, "jax", r#"
func.func @f(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = "promote.softmax"(%x) {axis = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}"#;
    a_matmul_adds_up_wider, "jax", r#"
func.func @f(%x: tensor<2x3xbf16>, %y: tensor<3x4xbf16>) -> tensor<2x4xbf16> {
  %0 = "promote.matmul"(%x, %y) : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}"#;
    narrow_floats_are_decoded_and_encoded, "jax", r#"
func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xi4>) -> (tensor<4xf32>, tensor<4xi8>) {
  %0 = "promote.convert"(%x) : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  %1 = "promote.convert"(%y) : (tensor<4xi4>) -> tensor<4xi8>
  return %0, %1 : tensor<4xf32>, tensor<4xi8>
}"#;
    a_sort_merges_runs, "jax", r#"
func.func @f(%x: tensor<3x?xf32>) -> tensor<3x?xf32> {
  %0 = "promote.sort"(%x) : (tensor<3x?xf32>) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}"#;
    a_take_that_fills, "jax", r#"
func.func @f(%x: tensor<5x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {
  %0 = "promote.take"(%x, %i) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}"#;
    a_take_that_refuses, "numpy2", r#"
func.func @f(%x: tensor<5x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {
  %0 = "promote.take"(%x, %i) {axis = 0 : i64} : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}"#;
    a_division_by_zero_is_asserted_not_to_be, "torch", r#"
func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = "promote.floor_divide"(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}"#;
}

#[test]
fn only_strong_programs_are_lowered() {
    let source = r#"
func.func @f(%x: tensor<4xi32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "promote.add"(%x, %y) : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
    let outcome = run_in(&session("jax", false, false), source, "promote-to-linalg");
    insta::assert_snapshot!(outcome.diagnostics_text());
}
