//! What is refused, and that nothing is changed then.

use promote::{Pipeline, PrintOptions, RunOptions, Source, Verdict};

use super::lower;
use crate::support::{run_in, session};

macro_rules! refusals {
    ($($name:ident $(under $semantics:literal)?, $source:literal;)*) => { $(
        #[test]
        fn $name() {
            let semantics = None$(.or(Some($semantics)))?.unwrap_or("jax");
            let outcome = lower(semantics, false, $source);
            assert_eq!(outcome.text, "");
            insta::assert_snapshot!(format!("{}\n\n{}", $source.trim(), outcome.diagnostics_text()));
        }
    )* };
}

refusals! {
    extents_that_only_a_run_knows, r#"
func.func @f(%x: tensor<?x4xf32>) -> !u {
  %0 = "promote.exp"(%x) : (tensor<?x4xf32>) -> !u
  return %0 : !u
}"#;
    exceptions_of_pytorch under "torch", r#"
func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>, %i: tensor<2xi64>) -> (!u, !u) {
  %0 = "promote.floor_divide"(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> !u
  %1 = "promote.take"(%0, %i) {axis = 0 : i64} : (!u, tensor<2xi64>) -> !u
  %2 = "promote.take"(%x, %i) {axis = 0 : i64} : (tensor<4xi32>, tensor<2xi64>) -> !u
  return %1, %2 : !u, !u
}"#;
    exceptions_of_numpy under "numpy2", r#"
func.func @f(%x: tensor<4xi32>, %y: tensor<4xi32>) -> !u {
  %0 = "promote.pow"(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> !u
  return %0 : !u
}"#;
    recursion_and_declarations, r#"
func.func private @outside(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
    dtypes_that_stablehlo_lacks under "torch", r#"
func.func @its_own(%x: tensor<4xcomplex<f16>>, %y: tensor<4xcomplex<f16>>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xcomplex<f16>>, tensor<4xcomplex<f16>>) -> !u
  return %0 : !u
}
func.func @inside(%x: tensor<4xcomplex<f32>>) -> !u {
  %0 = "promote.convert"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<bf16>>
  %1 = "promote.abs"(%0) : (tensor<4xcomplex<bf16>>) -> !u
  return %1 : !u
}"#;
    ops_that_stablehlo_lacks_of_a_dtype, r#"
func.func @f(%x: tensor<4xcomplex<f32>>) -> !u {
  %0 = "promote.exp"(%x) : (tensor<4xcomplex<f32>>) -> !u
  %1 = "promote.atan2"(%0, %x) : (!u, tensor<4xcomplex<f32>>) -> !u
  return %1 : !u
}"#;
    ops_and_types_of_others, r#"
func.func @f(%x: tensor<4xf32>, %m: memref<4xf32>, %s: tensor<4xui1>) -> tensor<4xf32> {
  %0 = "my.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "promote.add"(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"#;
    what_a_region_passes_on_of_something_refused_is_not_looked_at, r#"
func.func @f(%x: tensor<?xf32>) -> tensor<f32> {
  %r = scf.execute_region -> (tensor<?xf32>) {
    scf.yield %x : tensor<?xf32>
  }
  %0 = "promote.sum"(%r) {axis = array<i64: -1>} : (tensor<?xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}"#;
}

#[test]
fn weak_programs_are_refused() {
    let source = r#"
func.func @f(%x: tensor<4xf32>, %y: tensor<4xi32>) -> tensor<4xf32> {
  %0 = "promote.add"(%x, %y) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  %1 = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
  return %0 : tensor<4xf32>
}"#;
    let outcome = run_in(&session("jax", false, false), source, "promote-to-stablehlo");
    insta::assert_snapshot!(outcome.diagnostics_text());
}

#[test]
fn a_refused_module_stays_as_it_was() {
    let source = r#"
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "promote.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "my.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
    let session = session("jax", false, false);
    let mut module = session.parse(Source::Text(source)).expect("the source is well formed");
    let print = |module: &promote::Module<'_>| {
        let mut out = Vec::new();
        module.print(&mut out, PrintOptions::default()).expect("a vector can be written to");
        out
    };
    let before = print(&module);
    let pipeline = Pipeline::parse("promote-to-stablehlo").expect("the pipeline is well formed");
    assert_eq!(session.run(&mut module, &pipeline, &RunOptions::default()), Ok(Verdict::Refused));
    assert_eq!(before, print(&module));
}

#[test]
fn a_second_run_changes_nothing() {
    let source = r#"
func.func @f(%x: tensor<4xf32>, %n: index) -> !u {
  %0 = "promote.softmax"(%x) : (tensor<4xf32>) -> !u
  return %0 : !u
}"#;
    let once = lower("jax", false, source);
    let twice = lower("jax", false, &once.text);
    assert_eq!(once.text, twice.text, "{}", twice.diagnostics_text());
}
