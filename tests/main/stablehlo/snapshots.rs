//! What StableHLO comes of ops, by concern.

use super::lower;

macro_rules! snapshots {
    ($($name:ident $(under $semantics:literal)?, $source:literal;)*) => { $(
        #[test]
        fn $name() {
            let semantics = None$(.or(Some($semantics)))?.unwrap_or("jax");
            let outcome = lower(semantics, false, $source);
            insta::assert_snapshot!(format!("{}\n\n{}{}", $source.trim(), outcome.text, outcome.diagnostics_text()));
        }
    )* };
}

snapshots! {
    a_promotion_is_a_convert_and_a_broadcast, r#"
func.func @f(%x: tensor<4x8xbf16>, %y: tensor<8xf32>) -> !u {
  %two = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  %0 = "promote.multiply"(%x, %two) : (tensor<4x8xbf16>, tensor<!promote.weak_int>) -> !u
  %1 = "promote.add"(%0, %y) : (!u, tensor<8xf32>) -> !u
  return %1 : !u
}"#;
    jax_saturates_where_a_float_is_no_integer, r#"
func.func @f(%x: tensor<4xf32>) -> tensor<4xi8> {
  %0 = "promote.convert"(%x) : (tensor<4xf32>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}"#;
    numpy_does_what_x86_does_where_a_float_is_no_integer under "numpy2", r#"
func.func @f(%x: tensor<4xf32>) -> tensor<4xui32> {
  %0 = "promote.convert"(%x) : (tensor<4xf32>) -> tensor<4xui32>
  return %0 : tensor<4xui32>
}"#;
    an_integer_division_asks_for_nothing_undefined, r#"
func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (!u, !u) {
  %0 = "promote.floor_divide"(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> !u
  %1 = "promote.remainder"(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> !u
  return %0, %1 : !u, !u
}"#;
    a_mean_of_bf16_adds_up_in_f32, r#"
func.func @f(%x: tensor<4x8xbf16>) -> !u {
  %0 = "promote.mean"(%x) {axis = array<i64: -1>, keepdims = true} : (tensor<4x8xbf16>) -> !u
  return %0 : !u
}"#;
    an_argmax_finds_the_first_nan, r#"
func.func @f(%x: tensor<4x8xf32>) -> !u {
  %0 = "promote.argmax"(%x) {axis = array<i64: 1>} : (tensor<4x8xf32>) -> !u
  return %0 : !u
}"#;
    sums_run_over_windows_and_nan_sorts_last, r#"
func.func @f(%x: tensor<6xf32>) -> (!u, !u) {
  %0 = "promote.cumulative_sum"(%x) {axis = array<i64: 0>} : (tensor<6xf32>) -> !u
  %1 = "promote.sort"(%x) {axis = array<i64: 0>} : (tensor<6xf32>) -> !u
  return %0, %1 : !u, !u
}"#;
    batches_of_matrices_are_broadcast, r#"
func.func @f(%x: tensor<5x1x2x3xbf16>, %y: tensor<4x3x6xbf16>, %v: tensor<3xbf16>) -> (!u, !u) {
  %0 = "promote.matmul"(%x, %y) : (tensor<5x1x2x3xbf16>, tensor<4x3x6xbf16>) -> !u
  %1 = "promote.matmul"(%x, %v) : (tensor<5x1x2x3xbf16>, tensor<3xbf16>) -> !u
  return %0, %1 : !u, !u
}"#;
    jax_fills_in_what_is_taken_out_of_range, r#"
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi8>) -> !u {
  %0 = "promote.take"(%x, %i) {axis = 1 : i64} : (tensor<4x8xf32>, tensor<3xi8>) -> !u
  return %0 : !u
}"#;
    numpy_takes_at_constant_places under "numpy2", r#"
func.func @f(%x: tensor<4x8xf32>) -> !u {
  %i = "promote.constant"() {value = dense<[0, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %0 = "promote.take"(%x, %i) {axis = 1 : i64} : (tensor<4x8xf32>, tensor<2xi64>) -> !u
  return %0 : !u
}"#;
    a_slice_that_goes_backwards_is_reversed, r#"
func.func @f(%x: tensor<10x4xi32>) -> !u {
  %0 = "promote.slice"(%x) {start = array<i64: -2, 0>, stop = array<i64: 1, 4>, step = array<i64: -3, 2>} : (tensor<10x4xi32>) -> !u
  return %0 : !u
}"#;
    loops_and_conditions, r#"
func.func @f(%x: tensor<4xf32>, %n: index, %flag: i1) -> (tensor<4xf32>, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %s = "promote.add"(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  %w = scf.while (%a = %r) : (tensor<4xf32>) -> tensor<4xf32> {
    %m = "promote.max"(%a) : (tensor<4xf32>) -> tensor<f32>
    %b = "promote.constant"() {value = dense<100.0> : tensor<f32>} : () -> tensor<f32>
    %l = "promote.less"(%m, %b) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %go = tensor.extract %l[] : tensor<i1>
    %d = "promote.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.condition(%go) %d : tensor<4xf32>
  } do {
  ^bb0(%a: tensor<4xf32>):
    scf.yield %a : tensor<4xf32>
  }
  %i = scf.if %flag -> (!u) {
    %0 = "promote.relax"(%x) : (tensor<4xf32>) -> !u
    scf.yield %0 : !u
  } else {
    %0 = func.call @g(%n) : (index) -> tensor<4xf32>
    %1 = "promote.relax"(%0) : (tensor<4xf32>) -> !u
    scf.yield %1 : !u
  }
  return %w, %i : tensor<4xf32>, !u
}
func.func private @g(%n: index) -> tensor<4xf32> {
  %0 = "promote.iota"() {axis = 0 : i64} : () -> tensor<4xi32>
  %1 = "promote.convert"(%0) : (tensor<4xi32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"#;
    branches_between_blocks_become_conditions, r#"
func.func @f(%x: tensor<4xf32>, %flag: i1) -> tensor<4xf32> {
  cf.cond_br %flag, ^bb1, ^bb2(%x : tensor<4xf32>)
^bb1:
  %0 = "promote.negative"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^bb2(%0 : tensor<4xf32>)
^bb2(%r: tensor<4xf32>):
  return %r : tensor<4xf32>
}"#;
    what_stablehlo_lacks_is_a_function_if_it_is_long, r#"
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<2xf32>) -> (!u, !u, !u, !u) {
  %0 = "promote.erf"(%x) : (tensor<4xf32>) -> !u
  %1 = "promote.erf"(%y) : (tensor<4xf32>) -> !u
  %2 = "promote.erf"(%z) : (tensor<2xf32>) -> !u
  %3 = "promote.remainder"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> !u
  return %0, %1, %2, %3 : !u, !u, !u, !u
}
func.func @g(%x: tensor<4xf32>) -> !u {
  %0 = "promote.erf"(%x) : (tensor<4xf32>) -> !u
  return %0 : !u
}"#;
}
