//! What ops of other dialects have and may have as they stand: shapes, accumulators, attributes, dtypes.

use promote::op_rules::OpRules;

use super::{accepted, refused, session, session_with};

fn own(text: &str) -> OpRules {
    OpRules::from_toml(text, "own").expect("the rules are well formed")
}

#[test]
fn extents_that_a_dialect_takes_to_be_equal_are_not_broadcast() {
    for (rules, op) in [("linalg", "arith.addf"), ("stablehlo", "stablehlo.add")] {
        for (x, y) in [("?x4", "?x4"), ("?x4", "2x4"), ("?x?", "?x3")] {
            let source = format!(
                "func.func @f(%x: tensor<{x}xf32>, %y: tensor<{y}xbf16>) -> tensor<*x!promote.unknown> {{\n  \
                 %0 = \"{op}\"(%x, %y) : (tensor<{x}xf32>, tensor<{y}xbf16>) -> tensor<*x!promote.unknown>\n  \
                 return %0 : tensor<*x!promote.unknown>\n}}"
            );
            // Stock ops of arith ask for equal types.
            if rules == "linalg" && x != y {
                continue;
            }
            let text = accepted(&session("jax", rules), &source);
            assert!(!text.contains("broadcast") && !text.contains("cf.assert"), "{text}");
        }
        let strong = format!(
            "func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {{\n  \
             %0 = \"{op}\"(%x, %x) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>\n  \
             return %0 : tensor<?x4xf32>\n}}"
        );
        assert!(accepted(&session("jax", rules), &strong).contains(op));
    }
    // An extent of 1 beside one that is not known may be meant to be broadcast.
    let source = r#"func.func @f(%x: tensor<?xf32>, %y: tensor<1xf32>) -> tensor<?xf32> {
      %0 = "stablehlo.add"(%x, %y) : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"#;
    assert!(refused(&session("jax", "stablehlo"), source).contains("broadcast"));
}

#[test]
fn a_shape_that_is_stated_less_precisely_than_it_is_known_stays() {
    let source = r#"func.func @f(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[?],bf16>, %n: !torch.int) -> !torch.vtensor<[?],f32> {
      %0 = "torch.aten.add.Tensor"(%x, %y, %n) : (!torch.vtensor<[4],f32>, !torch.vtensor<[?],bf16>, !torch.int) -> !torch.vtensor<[?],f32>
      return %0 : !torch.vtensor<[?],f32>
    }"#;
    let text = accepted(&session("torch", "torch"), source);
    assert!(text.contains("!torch.int) -> !torch.vtensor<[?],f32>"), "{text}");
}

#[test]
fn products_add_up_in_the_wider_dtype_that_is_stated() {
    let product = |of: &str, to: &str| {
        format!(
            "func.func @f(%x: tensor<2x3x{of}>, %y: tensor<3x2x{of}>) -> tensor<2x2x{to}> {{\n  \
             %0 = \"stablehlo.dot_general\"(%x, %y) {{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}} : (tensor<2x3x{of}>, tensor<3x2x{of}>) -> tensor<2x2x{to}>\n  \
             return %0 : tensor<2x2x{to}>\n}}"
        )
    };
    let session = session("jax", "stablehlo");
    for (of, to) in [("bf16", "f32"), ("i8", "i32"), ("f32", "f32")] {
        let source = product(of, to);
        assert!(accepted(&session, &source).contains(&format!("tensor<2x2x{to}>")), "{source}");
    }
    for (of, to) in [("f32", "bf16"), ("f32", "i32")] {
        assert!(refused(&session, &product(of, to)).contains("P0012"), "{of} {to}");
    }
}

#[test]
fn an_op_that_does_not_compute_in_a_dtype_is_refused() {
    let source = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>) -> !u {
  %0 = "stablehlo.floor"(%x) : (tensor<4xi32>) -> !u
  return %0 : !u
}"#;
    assert!(
        refused(&session("jax", "stablehlo"), source).contains("stablehlo.floor does not compute in i32")
    );
}

#[test]
fn what_serves_ops_of_several_files_is_written_for_each() {
    let source = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (!u, !u) {
  %0 = "tosa.add"(%x, %y) : (tensor<4xi32>, tensor<4xf32>) -> !u
  %1 = "arith.addf"(%x, %y) : (tensor<4xi32>, tensor<4xf32>) -> !u
  return %0, %1 : !u, !u
}"#;
    let shipped = |name| OpRules::shipped(name).expect("the rules are shipped");
    let text = accepted(&session_with("jax", vec![shipped("tosa"), shipped("linalg")]), source);
    assert_eq!((text.matches("tosa.cast").count(), text.matches("arith.sitofp").count()), (1, 1), "{text}");
}

#[test]
fn an_op_of_a_family_keeps_what_the_family_does_not_say() {
    let rules =
        "format = 1\n[by-kind.maximum]\nsigned = 'my.max {kind = \"i\"}'\nfloat = 'my.max {kind = \"f\"}'";
    let source = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>, %y: tensor<4xf32>) -> !u {
  %0 = "my.max"(%x, %y) {axis = 3 : i64, kind = "i", mode = "a"} : (tensor<4xi32>, tensor<4xf32>) -> !u
  return %0 : !u
}"#;
    let text = accepted(&session_with("jax", vec![own(rules)]), source);
    assert!(text.contains(r#"{axis = 3 : i64, kind = "f", mode = "a"}"#), "{text}");
}

#[test]
fn an_op_of_a_family_is_that_of_its_last_tensor() {
    let rules = r#"format = 1
broadcasts = "native"
[by-kind.maximum]
signed = "my.imax"
f32 = "my.fmax"
[types.t]
ranked = "!my.t<[{shape}],{element}>"
unranked = "!my.t<*,{element}>"
[scalars]
"!my.int" = "i*""#;
    let source = r#"func.func @f(%x: !my.t<[4],f32>, %s: !my.int) -> !my.t<[4],f32> {
      %0 = "my.imax"(%x, %s) : (!my.t<[4],f32>, !my.int) -> !my.t<[4],f32>
      return %0 : !my.t<[4],f32>
    }"#;
    let text = accepted(&session_with("jax", vec![own(rules)]), source);
    assert!(text.contains("my.fmax"), "{text}");
}
