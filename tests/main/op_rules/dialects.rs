//! Dialects that MLIR registers: what is not promoted yet is read, what is wrong otherwise is not, and stock tools take what
//! comes out.

use super::{accepted, refused, session};
use crate::linalg::stock::Tools;

const ARITH: &str = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4x3xbf16>, %y: tensor<3xf32>, %i: tensor<4x3xi32>, %b: tensor<4x3xi1>) -> (!u, !u) {
  %0 = "arith.addi"(%i, %y) : (tensor<4x3xi32>, tensor<3xf32>) -> !u
  %1 = "arith.mulf"(%0, %x) : (!u, tensor<4x3xbf16>) -> !u
  %2 = "math.exp"(%i) : (tensor<4x3xi32>) -> !u
  %3 = "arith.subi"(%1, %2) {overflowFlags = #arith.overflow<nsw>} : (!u, !u) -> !u
  %4 = "arith.cmpi"(%3, %i) {predicate = 2 : i64} : (!u, tensor<4x3xi32>) -> !u
  %c = arith.constant 1 : i32
  %d = arith.addi %c, %c : i32
  %5 = "arith.addf"(%3, %b) : (!u, tensor<4x3xi1>) -> !u
  return %4, %5 : !u, !u
}"#;

#[test]
fn an_op_becomes_the_one_for_its_kind_of_number() {
    let text = accepted(&session("jax", "linalg"), ARITH);
    for made in [
        "arith.addf",
        "arith.mulf",
        "math.exp",
        "arith.subf",
        "arith.cmpf olt",
        "arith.uitofp",
        "linalg.generic",
    ] {
        assert!(text.contains(made), "{made}: {text}");
    }
    // Scalars are nobody's business but arith's.
    assert!(text.contains("arith.addi %c1_i32, %c1_i32 : i32") && !text.contains("promote."), "{text}");
    assert!(Tools::find().passed(&text, "func.func(convert-elementwise-to-linalg)").is_some(), "{text}");
}

#[test]
fn what_is_strong_stays_as_it_is() {
    let source = r#"func.func @f(%i: tensor<4xi32>) -> tensor<4xi32> {
         %0 = arith.divsi %i, %i : tensor<4xi32>
         return %0 : tensor<4xi32>
       }"#;
    let text = accepted(&session("jax", "linalg"), source);
    assert!(text.contains("arith.divsi %arg0, %arg0 : tensor<4xi32>"), "{text}");
    // The sum of truth values is their difference in arith, which no promotion changes.
    let bools = r#"func.func @f(%b: tensor<4xi1>) -> tensor<4xi1> {
         %0 = arith.addi %b, %b : tensor<4xi1>
         return %0 : tensor<4xi1>
       }"#;
    assert!(accepted(&session("jax", "linalg"), bools).contains("arith.addi %arg0, %arg0 : tensor<4xi1>"));
}

#[test]
fn what_is_wrong_otherwise_is_refused_before_the_passes() {
    for (wrong, why) in [
        ("%0 = \"arith.extf\"(%x) : (tensor<4xf32>) -> tensor<4xf32>", "cast incompatible"),
        ("%0 = \"tosa.matmul\"(%x) : (tensor<4xf32>) -> tensor<4xf32>", "expected 4 operands"),
        (
            "%0 = \"arith.addf\"(%1, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n%1 = \"my.x\"() : () -> tensor<4xf32>",
            "does not dominate",
        ),
        ("%0 = \"arith.addf\"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> i32\nfunc.return %0 : i32", "P0"),
    ] {
        let source = format!("func.func @f(%x: tensor<4xf32>) {{\n{wrong}\nreturn\n}}");
        let found = refused(&session("jax", "linalg"), &source);
        assert!(found.contains(why), "{wrong}: {found}");
    }
}

#[test]
fn stock_tools_take_what_comes_of_tosa() {
    let source = r#"!u = tensor<*x!promote.unknown>
func.func @f(%z: tensor<?x5xi32>, %b: tensor<5xi1>, %s: tensor<f16>) -> (!u, tensor<?x5x!promote.unknown>) {
  %0 = "tosa.add"(%z, %b) : (tensor<?x5xi32>, tensor<5xi1>) -> !u
  %1 = "tosa.greater"(%0, %s) : (!u, tensor<f16>) -> !u
  %2 = "tosa.select"(%1, %s, %z) : (!u, tensor<f16>, tensor<?x5xi32>) -> !u
  %3 = "tosa.concat"(%2, %0) {axis = 0 : i32} : (!u, !u) -> tensor<?x5x!promote.unknown>
  return %2, %3 : !u, tensor<?x5x!promote.unknown>
}"#;
    let text = accepted(&session("jax", "tosa"), source);
    assert!(!text.contains("promote."), "{text}");
    assert!(
        Tools::find().passed(&text, "func.func(tosa-to-linalg-named),func.func(tosa-to-linalg)").is_some(),
        "{text}"
    );
}
