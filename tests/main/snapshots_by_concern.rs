//! Snapshots of IR before and after, grouped by concern. Each shows the source, the pipeline, the result and what was said.

use crate::support::{DEFAULT, INFER, INSERT, run_in, session};

/// What the dialect's users see of a run, source first.
fn show(source: &str, pipeline: &str, x64: bool) -> String {
    let outcome = run_in(&session("jax", x64, false), source, pipeline);
    let mode = if x64 { " --x64" } else { "" };
    format!("{}\n\n// {pipeline}{mode}\n{}{}", source.trim(), outcome.text, outcome.said_text())
}

macro_rules! snapshots {
    ($($name:ident, $pipeline:expr $(, x64 = $x64:literal)?, $source:literal;)*) => { $(
        #[test]
        fn $name() {
            let x64 = None$(.or(Some($x64)))?.unwrap_or(false);
            insta::assert_snapshot!(show($source, $pipeline, x64));
        }
    )* };
}

mod infer {
    use super::*;

    snapshots! {
        dtypes_and_shapes_flow_through_a_chain, INFER, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x1xbf16>, %y: tensor<4xi32>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<3x1xbf16>, tensor<4xi32>) -> !u
  %1 = "promote.sqrt"(%0) : (!u) -> !u
  %2 = "promote.sum"(%1) {axis = array<i64: -1>} : (!u) -> !u
  return %2 : !u
}"#;
        a_relax_is_gone_and_its_operand_used, INFER, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf16>) -> !u {
  %0 = "promote.relax"(%x) : (tensor<4xf16>) -> !u
  %1 = "promote.negative"(%0) : (!u) -> !u
  return %1 : !u
}"#;
        weak_values_stay_weak, INFER, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>, %k: tensor<!promote.weak_float>) -> (!u, !u) {
  %0 = "promote.multiply"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.sum"(%0) : (!u) -> !u
  return %0, %1 : !u, !u
}"#;
        result_types_flow_from_callee_to_caller_in_any_order, INFER, r#"
!u = tensor<*x!promote.unknown>
func.func @caller(%x: tensor<4xbf16>) -> !u {
  %0 = call @callee(%x) : (tensor<4xbf16>) -> !u
  %1 = "promote.exp"(%0) : (!u) -> !u
  return %1 : !u
}
func.func private @callee(%x: tensor<4xbf16>) -> !u {
  %0 = "promote.expand_dims"(%x) {axis = array<i64: 0>} : (tensor<4xbf16>) -> !u
  return %0 : !u
}"#;
        dynamic_dimensions_are_carried_and_refined, INFER, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?x1xf32>, %y: tensor<4xf32>, %z: tensor<?x?xf32>) -> (!u, !u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<?x1xf32>, tensor<4xf32>) -> !u
  %1 = "promote.matmul"(%0, %z) : (!u, tensor<?x?xf32>) -> !u
  %2 = "promote.reshape"(%0) {shape = array<i64: -1>} : (!u) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
        partly_stated_types_are_completed, INFER, r#"
func.func @f(%x: tensor<4xbf16>) -> (tensor<4x!promote.unknown>, tensor<*xbf16>) {
  %0 = "promote.exp"(%x) : (tensor<4xbf16>) -> tensor<4x!promote.unknown>
  %1 = "promote.abs"(%x) : (tensor<4xbf16>) -> tensor<*xbf16>
  return %0, %1 : tensor<4x!promote.unknown>, tensor<*xbf16>
}"#;
        blocks_may_stand_in_any_order, INFER, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>) -> !u {
  cf.br ^first
^last:
  %1 = "promote.exp"(%0) : (!u) -> !u
  return %1 : !u
^first:
  %0 = "promote.negative"(%x) : (tensor<4xbf16>) -> !u
  cf.br ^last
}"#;
        every_shape_op_has_its_shape, INFER, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<2x3x4xf32>, %i: tensor<5xi32>) -> (!u, !u, !u, !u, !u, !u, !u, !u, !u) {
  %0 = "promote.reshape"(%x) {shape = array<i64: 6, -1>} : (tensor<2x3x4xf32>) -> !u
  %1 = "promote.permute_dims"(%x) {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> !u
  %2 = "promote.broadcast_to"(%x) {shape = array<i64: 7, 2, 3, 4>} : (tensor<2x3x4xf32>) -> !u
  %3 = "promote.expand_dims"(%x) {axis = array<i64: 0, -1>} : (tensor<2x3x4xf32>) -> !u
  %4 = "promote.squeeze"(%3) {axis = array<i64: 0>} : (!u) -> !u
  %5 = "promote.slice"(%x) {start = array<i64: 0, 2, 0>, stop = array<i64: 2, -4, 4>, step = array<i64: 1, -1, 2>} : (tensor<2x3x4xf32>) -> !u
  %6 = "promote.take"(%x, %i) {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<5xi32>) -> !u
  %7 = "promote.concat"(%x, %x) {axis = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> !u
  %8 = "promote.stack"(%x, %x) {axis = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> !u
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : !u, !u, !u, !u, !u, !u, !u, !u, !u
}"#;
    }
}

mod convert_placement {
    use super::*;

    snapshots! {
        one_convert_serves_all_users, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (!u, !u, !u) {
  %0 = "promote.negative"(%x) : (tensor<4xbf16>) -> !u
  %1 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> !u
  %2 = "promote.multiply"(%y, %x) : (tensor<4xf32>, tensor<4xbf16>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
        an_explicit_convert_serves_later_users, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (!u, !u) {
  %0 = "promote.convert"(%x) : (tensor<4xbf16>) -> tensor<*xf32>
  %1 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> !u
  %2 = "promote.exp"(%0) : (tensor<*xf32>) -> !u
  return %1, %2 : !u, !u
}"#;
        converted_before_broadcast, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<3x4xf32>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<3x4xf32>) -> !u
  return %0 : !u
}"#;
        reductions_compute_in_their_own_dtype, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xui8>, %b: tensor<4xi1>) -> (!u, !u, !u) {
  %0 = "promote.sum"(%x) : (tensor<4xui8>) -> !u
  %1 = "promote.mean"(%x) : (tensor<4xui8>) -> !u
  %2 = "promote.square"(%b) : (tensor<4xi1>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
        an_integer_exponent_of_a_float_stays_an_integer, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>, %n: tensor<4xi32>, %i: tensor<4xi8>) -> (!u, !u) {
  %0 = "promote.pow"(%x, %n) : (tensor<4xf32>, tensor<4xi32>) -> !u
  %1 = "promote.pow"(%i, %n) : (tensor<4xi8>, tensor<4xi32>) -> !u
  return %0, %1 : !u, !u
}"#;
        a_use_in_a_region_is_served_from_outside, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>, %c: i1) -> !u {
  scf.if %c {
    %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> !u
  }
  %1 = "promote.subtract"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> !u
  return %1 : !u
}"#;
        the_condition_of_where_becomes_bool, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%c: tensor<4xi32>, %x: tensor<4xf32>) -> !u {
  %k = "promote.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.where"(%c, %x, %k) : (tensor<4xi32>, tensor<4xf32>, tensor<!promote.weak_int>) -> !u
  return %0 : !u
}"#;
        inserted_ops_carry_the_location_of_the_op_they_serve, INSERT, r#"
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "promote.add"(%x, %y) {my.note = "kept"} : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32> loc("model.py":7:3)
  return %0 : tensor<4xf32>
}"#;
    }
}

mod weak_literals {
    use super::*;

    snapshots! {
        a_literal_is_a_constant_of_each_dtype_that_uses_it, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (!u, !u, !u) {
  %k = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.add"(%x, %k) : (tensor<4xbf16>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.add"(%y, %k) : (tensor<4xf32>, tensor<!promote.weak_float>) -> !u
  %2 = "promote.multiply"(%k, %y) : (tensor<!promote.weak_float>, tensor<4xf32>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
        computed_weak_values_take_the_default_dtype, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>, %y: tensor<4xbf16>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.multiply"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_float>) -> !u
  %1 = "promote.add"(%0, %y) : (!u, tensor<4xbf16>) -> !u
  return %0, %1 : !u, !u
}"#;
        weak_arguments_take_the_default_dtype_of_x64, INSERT, x64 = true, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%k: tensor<!promote.weak_int>, %z: tensor<!promote.weak_complex>, %x: tensor<4xf32>) -> (!u, !u) {
  %0 = "promote.add"(%k, %x) : (tensor<!promote.weak_int>, tensor<4xf32>) -> !u
  %1 = "promote.abs"(%z) : (tensor<!promote.weak_complex>) -> !u
  return %0, %1 : !u, !u
}"#;
        an_integer_out_of_range_wraps_with_a_warning, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xui8>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  %m = "promote.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %1 = "promote.maximum"(%x, %m) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  return %0, %1 : !u, !u
}"#;
        a_float_out_of_range_becomes_infinite_with_a_warning, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf16>) -> !u {
  %k = "promote.constant"() {value = dense<1.0e5> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.multiply"(%x, %k) : (tensor<4xf16>, tensor<!promote.weak_float>) -> !u
  return %0 : !u
}"#;
        a_literal_may_be_an_array, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3xi16>, %z: tensor<2xf32>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<[1, -2, 3]> : tensor<3xi64>} : () -> tensor<3x!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<3xi16>, tensor<3x!promote.weak_int>) -> !u
  %c = "promote.constant"() {value = dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f64>>} : () -> tensor<2x!promote.weak_complex>
  %1 = "promote.multiply"(%z, %c) : (tensor<2xf32>, tensor<2x!promote.weak_complex>) -> !u
  return %0, %1 : !u, !u
}"#;
        a_literal_returned_or_used_elsewhere_takes_the_default_dtype, INSERT, r#"
func.func @f() -> tensor<!promote.weak_int> {
  %k = "promote.constant"() {value = dense<7> : tensor<i64>} : () -> tensor<!promote.weak_int>
  "other.use"(%k) : (tensor<!promote.weak_int>) -> ()
  return %k : tensor<!promote.weak_int>
}"#;
        narrow_dtypes_take_literals_too, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xi4>, %z: tensor<4xf4E2M1FN>) -> (!u, !u, !u) {
  %k = "promote.constant"() {value = dense<3> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<4xf8E4M3FN>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.add"(%y, %k) : (tensor<4xi4>, tensor<!promote.weak_int>) -> !u
  %2 = "promote.add"(%z, %k) : (tensor<4xf4E2M1FN>, tensor<!promote.weak_int>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
    }
}

mod broadcasting {
    use super::*;

    snapshots! {
        operands_are_broadcast_to_the_result, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x1xf32>, %y: tensor<4xf32>, %c: tensor<i1>) -> !u {
  %0 = "promote.where"(%c, %x, %y) : (tensor<i1>, tensor<3x1xf32>, tensor<4xf32>) -> !u
  return %0 : !u
}"#;
        one_broadcast_serves_all_users, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> (!u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<3x4xf32>) -> !u
  %1 = "promote.subtract"(%y, %x) : (tensor<3x4xf32>, tensor<4xf32>) -> !u
  return %0, %1 : !u, !u
}"#;
        a_dynamic_extent_comes_from_the_operand_that_knows_it, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?x1xf32>, %y: tensor<1x?xbf16>, %z: tensor<?xf32>) -> (!u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<?x1xf32>, tensor<1x?xbf16>) -> !u
  %k = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %1 = "promote.multiply"(%z, %k) : (tensor<?xf32>, tensor<!promote.weak_int>) -> !u
  return %0, %1 : !u, !u
}"#;
        a_vector_times_a_batch_of_matrices_needs_no_broadcast, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3xf64>, %y: tensor<2x3x4xf64>, %z: tensor<4xf64>) -> (!u, !u) {
  %0 = "promote.matmul"(%x, %y) : (tensor<3xf64>, tensor<2x3x4xf64>) -> !u
  %1 = "promote.matmul"(%y, %z) : (tensor<2x3x4xf64>, tensor<4xf64>) -> !u
  return %0, %1 : !u, !u
}"#;
        only_batch_dimensions_of_matmul_are_broadcast, INSERT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<7x1x3x4xf32>, %y: tensor<5x4x2xf32>, %w: tensor<4x2xbf16>) -> (!u, !u) {
  %0 = "promote.matmul"(%x, %y) : (tensor<7x1x3x4xf32>, tensor<5x4x2xf32>) -> !u
  %1 = "promote.matmul"(%x, %w) : (tensor<7x1x3x4xf32>, tensor<4x2xbf16>) -> !u
  return %0, %1 : !u, !u
}"#;
    }
}

mod fold {
    use super::*;

    const FOLD: &str = "promote-fold-converts";

    snapshots! {
        converts_that_do_nothing_go, FOLD, r#"
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "promote.convert"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
        an_exact_step_is_skipped, FOLD, r#"
func.func @f(%x: tensor<4xi8>, %y: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = "promote.convert"(%x) : (tensor<4xi8>) -> tensor<4xi32>
  %1 = "promote.convert"(%0) : (tensor<4xi32>) -> tensor<4xf32>
  %2 = "promote.convert"(%y) : (tensor<4xi32>) -> tensor<4xi64>
  %3 = "promote.convert"(%2) : (tensor<4xi64>) -> tensor<4xi32>
  return %1, %3 : tensor<4xf32>, tensor<4xi32>
}"#;
        a_pair_through_a_narrower_dtype_stays, FOLD, r#"
func.func @f(%x: tensor<4xf32>, %y: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = "promote.convert"(%x) : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = "promote.convert"(%0) : (tensor<4xbf16>) -> tensor<4xf32>
  %2 = "promote.convert"(%y) : (tensor<4xi32>) -> tensor<4xf32>
  %3 = "promote.convert"(%2) : (tensor<4xf32>) -> tensor<4xi32>
  return %1, %3 : tensor<4xf32>, tensor<4xi32>
}"#;
        a_step_with_other_users_stays_for_them, FOLD, r#"
func.func @f(%x: tensor<4xi8>) -> (tensor<4xi32>, tensor<4xi64>) {
  %0 = "promote.convert"(%x) : (tensor<4xi8>) -> tensor<4xi32>
  %1 = "promote.convert"(%0) : (tensor<4xi32>) -> tensor<4xi64>
  return %0, %1 : tensor<4xi32>, tensor<4xi64>
}"#;
        a_convert_of_a_small_constant_is_done_at_once, FOLD, r#"
func.func @f() -> (tensor<3xf32>, tensor<f32>, tensor<2xi32>) {
  %0 = "promote.constant"() {value = dense<[1, 2, 16777217]> : tensor<3xi32>} : () -> tensor<3xi32>
  %1 = "promote.convert"(%0) : (tensor<3xi32>) -> tensor<3xf32>
  %2 = "promote.constant"() {value = dense<0x7FC0> : tensor<bf16>} : () -> tensor<bf16>
  %3 = "promote.convert"(%2) : (tensor<bf16>) -> tensor<f32>
  %4 = "promote.constant"() {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi1>
  %5 = "promote.convert"(%4) : (tensor<2xi1>) -> tensor<2xi32>
  return %1, %3, %5 : tensor<3xf32>, tensor<f32>, tensor<2xi32>
}"#;
    }
}

mod verify {
    use super::*;

    const VERIFY: &str = "promote-verify-strong";

    snapshots! {
        weak_and_unknown_values_are_refused, VERIFY, r#"
func.func @f(%x: tensor<4x!promote.weak_int>, %y: tuple<tensor<!promote.weak_float>>) -> tensor<*x!promote.unknown> {
  %0 = "promote.negative"(%x) : (tensor<4x!promote.weak_int>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}"#;
        implicit_promotions_and_broadcasts_are_refused, VERIFY, r#"
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>, %z: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "promote.add"(%y, %z) : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<4xf32>, tensor<3x4xf32>
}"#;
        operands_without_rank_might_broadcast, VERIFY, r#"
func.func @f(%x: tensor<*xf32>, %y: tensor<4xf32>) -> tensor<*xf32> {
  %0 = "promote.add"(%x, %y) : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  %1 = "promote.exp"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}"#;
        strong_ir_passes, VERIFY, r#"
func.func @f(%x: tensor<4xf32>, %n: tensor<4xi32>) -> tensor<4xf32> {
  %0 = "promote.pow"(%x, %n) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
    }
}

mod diagnostics {
    use super::*;

    snapshots! {
        dtypes_without_a_join, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> !u
  return %0 : !u
}"#;
        an_op_that_refuses_its_dtype, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi1>, %z: tensor<4xcomplex<f32>>) -> (!u, !u, !u) {
  %0 = "promote.subtract"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> !u
  %1 = "promote.floor"(%z) : (tensor<4xcomplex<f32>>) -> !u
  %2 = "promote.exp"(%1) : (!u) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
        a_negative_literal_power_of_an_integer, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>) -> !u {
  %k = "promote.constant"() {value = dense<-1> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.pow"(%x, %k) : (tensor<4xi32>, tensor<!promote.weak_int>) -> !u
  return %0 : !u
}"#;
        shapes_that_do_not_fit, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> (!u, !u, !u, !u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<3x4xf32>, tensor<5xf32>) -> !u
  %1 = "promote.sum"(%x) {axis = array<i64: 2>} : (tensor<3x4xf32>) -> !u
  %2 = "promote.matmul"(%x, %x) : (tensor<3x4xf32>, tensor<3x4xf32>) -> !u
  %3 = "promote.reshape"(%x) {shape = array<i64: 5, -1>} : (tensor<3x4xf32>) -> !u
  %4 = "promote.squeeze"(%x) {axis = array<i64: 0>} : (tensor<3x4xf32>) -> !u
  return %0, %1, %2, %3, %4 : !u, !u, !u, !u, !u
}"#;
        attributes_unknown_missing_and_wrong, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<3x4xf32>) -> (!u, !u, !u) {
  %0 = "promote.sum"(%x) {axes = array<i64: 0>} : (tensor<3x4xf32>) -> !u
  %1 = "promote.sum"(%x) {axis = 0 : i64, keepdims = 1 : i64} : (tensor<3x4xf32>) -> !u
  %2 = "promote.exp"(%x) {fast} : (tensor<3x4xf32>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
        a_stated_type_that_the_rules_do_not_give, DEFAULT, r#"
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<5xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xbf16>
  %1 = "promote.add"(%y, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<4xbf16>, tensor<5xf32>
}"#;
        unknown_values_that_nothing_determines, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func private @external(tensor<4xf32>) -> !u
func.func @f(%x: !u, %n: index) -> (!u, !u) {
  %0 = "other.op"() : () -> !u
  %1 = "promote.add"(%x, %0) : (!u, !u) -> !u
  %2 = "promote.add"(%n, %n) : (index, index) -> !u
  return %1, %2 : !u, !u
}"#;
        a_recursive_function_without_stated_results, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> !u {
  %0 = call @f(%x) : (tensor<4xf32>) -> !u
  return %0 : !u
}"#;
        mlir_refuses_before_the_passes, DEFAULT, r#"
func.func @f(%x: tensor<4xf32>) {
  %0 = "promote.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}"#;
        constants_and_sources_that_state_too_little, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> (!u, !u, !u) {
  %0 = "promote.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<!promote.weak_int>
  %1 = "promote.iota"() {axis = 0 : i64} : () -> !u
  %2 = "promote.convert"(%x) : (tensor<4xf32>) -> !u
  %3 = "promote.iota"() {axis = 1 : i64} : () -> tensor<4xi32>
  return %1, %2, %2 : !u, !u, !u
}"#;
    }
}

mod calls {
    use super::*;

    snapshots! {
        results_stated_in_part_follow_the_callee, DEFAULT, r#"
func.func @caller(%x: tensor<4xbf16>) -> tensor<*xf32> {
  %0 = call @callee(%x) : (tensor<4xbf16>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
func.func private @callee(%x: tensor<4xbf16>) -> tensor<*xf32> {
  %0 = "promote.convert"(%x) : (tensor<4xbf16>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}"#;
        operands_are_cast_to_what_the_callee_states, INSERT, r#"
func.func private @external(tensor<*xf32>, tensor<?xbf16>)
func.func @caller(%x: tensor<4xbf16>) {
  %0 = "promote.convert"(%x) : (tensor<4xbf16>) -> tensor<*xf32>
  %1 = "promote.negative"(%x) : (tensor<4xbf16>) -> tensor<?xbf16>
  call @external(%0, %1) : (tensor<*xf32>, tensor<?xbf16>) -> ()
  return
}"#;
        weak_arguments_and_results_pass_through_calls, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
!f = tensor<!promote.weak_float>
func.func private @scale(%k: !f) -> !u {
  %two = "promote.constant"() {value = dense<2.0> : tensor<f64>} : () -> !f
  %0 = "promote.multiply"(%k, %two) : (!f, !f) -> !u
  return %0 : !u
}
func.func private @external(!f) -> !f
func.func @main(%x: tensor<4xbf16>) -> (!u, !u) {
  %k = "promote.constant"() {value = dense<0.5> : tensor<f64>} : () -> !f
  %0 = call @scale(%k) : (!f) -> !u
  %1 = "promote.add"(%x, %0) : (tensor<4xbf16>, !u) -> !u
  %2 = call @external(%k) : (!f) -> !f
  %3 = "promote.multiply"(%x, %2) : (tensor<4xbf16>, !f) -> !u
  return %1, %3 : !u, !u
}"#;
        a_recursive_function_with_stated_results, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "promote.add"(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"#;
        functions_of_nested_modules_are_found_in_their_own, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func private @g(%x: tensor<4xi8>) -> !u {
  %0 = "promote.sum"(%x) : (tensor<4xi8>) -> !u
  return %0 : !u
}
module @inner {
  func.func @f(%x: tensor<4xi8>) -> !u {
    %0 = call @g(%x) : (tensor<4xi8>) -> !u
    return %0 : !u
  }
  func.func private @g(%x: tensor<4xi8>) -> !u {
    %0 = "promote.mean"(%x) : (tensor<4xi8>) -> !u
    return %0 : !u
  }
}"#;
    }
}

/// Programs that once went wrong.
mod regressions {
    use super::*;

    const VERIFY: &str = "promote-verify-strong";
    const FOLD: &str = "promote-fold-converts";

    snapshots! {
        a_value_converted_from_itself, FOLD, r#"
%a = "promote.convert"(%a) : (tensor<f32>) -> tensor<f32>
"#;
        values_converted_from_each_other, FOLD, r#"
func.func @f() {
  return
^bb1:
  %a = "promote.convert"(%b) : (tensor<i32>) -> tensor<i8>
  %b = "promote.convert"(%a) : (tensor<i8>) -> tensor<i32>
  cf.br ^bb1
}"#;
        a_value_relaxed_from_itself, DEFAULT, r#"
func.func @f() {
  return
^bb1:
  %a = "promote.relax"(%a) : (tensor<f32>) -> tensor<f32>
  cf.br ^bb1
}"#;
        an_unknown_value_made_of_itself, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<f32>) {
  return
^bb1:
  %a = "promote.add"(%a, %x) : (!u, tensor<f32>) -> !u
  cf.br ^bb1
}"#;
        a_promotion_that_an_explicit_convert_could_serve, VERIFY, r#"
func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = "promote.convert"(%x) : (tensor<4xbf16>) -> tensor<4xf32>
  %r = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}"#;
        a_result_that_is_no_plain_tensor, DEFAULT, r#"
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32, "csr"> {
  %r = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> index
  %s = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32, "csr">
  return %s : tensor<4xf32, "csr">
}"#;
        converts_that_folding_made_equal, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>, %z: tensor<4xi32>) -> (!u, !u) {
  %a = "promote.convert"(%x) : (tensor<4xi8>) -> tensor<4xi16>
  %b = "promote.add"(%a, %z) : (tensor<4xi16>, tensor<4xi32>) -> !u
  %c = "promote.add"(%x, %z) : (tensor<4xi8>, tensor<4xi32>) -> !u
  return %b, %c : !u, !u
}"#;
        an_exponent_that_the_base_does_not_hold, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>, %y: tensor<4xui8>) -> (!u, !u, !u) {
  %k = "promote.constant"() {value = dense<300> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.pow"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.pow"(%y, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  %2 = "promote.add"(%y, %k) : (tensor<4xui8>, tensor<!promote.weak_int>) -> !u
  return %0, %1, %2 : !u, !u, !u
}"#;
        attributes_of_weak_constants_survive, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi8>) -> !u {
  %k = "promote.constant"() {value = dense<5> : tensor<i64>, my.tag = 1 : i32} : () -> tensor<!promote.weak_int>
  %0 = "promote.add"(%x, %k) : (tensor<4xi8>, tensor<!promote.weak_int>) -> !u
  return %0 : !u
}"#;
        an_explicit_convert_of_a_literal_keeps_its_value, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f() -> (tensor<ui32>, tensor<i64>) {
  %k = "promote.constant"() {value = dense<3000000000> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.convert"(%k) : (tensor<!promote.weak_int>) -> tensor<ui32>
  %1 = "promote.convert"(%k) : (tensor<!promote.weak_int>) -> tensor<i64>
  return %0, %1 : tensor<ui32>, tensor<i64>
}"#;
        a_literal_condition_is_true_or_false, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> !u {
  %k = "promote.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %0 = "promote.where"(%k, %x, %x) : (tensor<!promote.weak_float>, tensor<4xf32>, tensor<4xf32>) -> !u
  return %0 : !u
}"#;
        types_hidden_where_nothing_promotes_them, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func private @declared(!u)
func.func @f() {
  %0 = "other.make"() : () -> tuple<tensor<!promote.weak_int>>
  return
}"#;
        an_op_that_does_not_exist, DEFAULT, r#"
func.func @f(%x: tensor<4xf32>) {
  %0 = "promote.substract"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}"#;
        an_op_without_a_place_is_found_by_its_function, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi1>) -> !u {
  %0 = "promote.subtract"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> !u loc(unknown)
  return %0 : !u
}"#;
        a_constant_that_states_nothing, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> !u {
  %c = "promote.constant"() {value = dense<[1, 2, 3, 4]> : tensor<4xi64>} : () -> !u
  %0 = "promote.add"(%x, %c) : (tensor<4xf32>, !u) -> !u
  return %0 : !u
}"#;
        a_function_in_a_function, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  builtin.module {
    func.func @g(%y: tensor<4xf32>) -> !u {
      %0 = "promote.abs"(%y) : (tensor<4xf32>) -> !u
      return %0 : !u
    }
  }
  return %x : tensor<4xf32>
}"#;
        inserting_before_inferring, "promote-insert-converts", r#"
func.func @f(%x: tensor<8xbf16>, %y: tensor<8xf32>) {
  %0 = "promote.add"(%x, %y) : (tensor<8xbf16>, tensor<8xf32>) -> tensor<*x!promote.unknown>
  return
}"#;
        an_extent_that_nothing_says, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<1xf32>) -> !u {
  %0 = "promote.broadcast_to"(%x) {shape = array<i64: -9223372036854775808>} : (tensor<1xf32>) -> !u
  return %0 : !u
}"#;
        a_function_that_never_returns, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf32>) -> !u {
  cf.br ^bb1
^bb1:
  cf.br ^bb1
}"#;
        more_elements_than_can_be_counted, DEFAULT, r#"
!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4611686018427387904x2xf32>) -> !u {
  %0 = "promote.reshape"(%x) {shape = array<i64: 7>} : (tensor<4611686018427387904x2xf32>) -> !u
  return %0 : !u
}"#;
    }

    #[test]
    fn blocks_in_reverse_order_settle() {
        let mut blocks: Vec<String> = Vec::new();
        for i in 1..400 {
            blocks.push(format!(
                "^bb{i}:\n  %{i} = \"promote.negative\"(%{}) : (!u) -> !u\n  cf.br ^bb{}\n",
                i - 1,
                i + 1
            ));
        }
        blocks.reverse();
        let source = format!(
            "!u = tensor<*x!promote.unknown>\nfunc.func @f(%x: tensor<4xbf16>) -> !u {{\n  \
             %0 = \"promote.negative\"(%x) : (tensor<4xbf16>) -> !u\n  cf.br ^bb1\n\
             ^bb400:\n  return %399 : !u\n{}}}",
            blocks.concat()
        );
        let outcome = run_in(&session("jax", false, false), &source, DEFAULT);
        assert!(outcome.text.contains("-> tensor<4xbf16> {"), "{}", outcome.said_text());
    }
}
