//! Attributes that say of which dtype the operands are: they are made to fit what the operands became.

use promote::op_rules::OpRules;

use super::{accepted, refused, session, session_with};

/// A comparison with a `compare_type`, in one of the two ways in which MLIR writes attributes.
fn comparison(types: [&str; 2], attribute: &str, in_properties: bool) -> String {
    let [x, y] = types.map(|element| format!("tensor<4x{element}>"));
    let attributes = format!(
        "{{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type {attribute}>}}"
    );
    let attributes = if in_properties { format!("<{attributes}>") } else { attributes };
    format!(
        "!u = tensor<*x!promote.unknown>\n\
         func.func @f(%x: {x}, %y: {y}) -> !u {{\n\
         %0 = \"stablehlo.compare\"(%x, %y) {attributes} : ({x}, {y}) -> !u\n\
         return %0 : !u\n}}"
    )
}

#[test]
fn the_type_of_a_comparison_follows_its_operands() {
    let session = session("jax:x64", "stablehlo");
    for (types, stated, made) in [
        (["i32", "f32"], "SIGNED", "FLOAT"),
        (["f32", "ui8"], "UNSIGNED", "FLOAT"),
        (["i32", "ui16"], "UNSIGNED", "SIGNED"),
        (["i1", "i32"], "UNSIGNED", "SIGNED"),
        (["ui8", "i1"], "UNSIGNED", "UNSIGNED"),
        (["complex<f32>", "i32"], "SIGNED", "FLOAT"),
        (["f32", "f32"], "FLOAT", "FLOAT"),
        (["bf16", "f32"], "TOTALORDER", "TOTALORDER"),
        (["i32", "f32"], "TOTALORDER", "TOTALORDER"),
    ] {
        for in_properties in [false, true] {
            let text = accepted(&session, &comparison(types, stated, in_properties));
            assert!(text.contains(&format!("compare_type = #stablehlo<comparison_type {made}>")), "{text}");
            assert!(text.contains("comparison_direction = #stablehlo<comparison_direction LT>"), "{text}");
            assert_eq!(text.matches("compare_type").count(), 1, "{text}");
        }
    }
}

#[test]
fn a_comparison_that_states_no_type_gets_none() {
    let source = comparison(["i32", "f32"], "SIGNED", false)
        .replace(", compare_type = #stablehlo<comparison_type SIGNED>", "");
    let text = accepted(&session("jax:x64", "stablehlo"), &source);
    assert!(!text.contains("compare_type"), "{text}");
}

#[test]
fn an_order_that_the_operands_do_not_have_is_refused() {
    let why = refused(&session("jax:x64", "stablehlo"), &comparison(["i32", "i8"], "TOTALORDER", false));
    insta::assert_snapshot!(why, @r#"
    3:6: error[P0041]: the attribute compare_type of stablehlo.compare cannot stay: its value does not fit operands of i32
      help: remove the attribute, or convert an operand explicitly
    "#);
}

/// Generic text has what an op of a registered dialect must have in properties.
#[test]
fn attributes_of_ours_may_be_properties() {
    for attribute in ["{dimension = 0 : i64}", "<{dimension = 0 : i64}>"] {
        let source = format!(
            "!u = tensor<*x!promote.unknown>\n\
             func.func @f(%x: tensor<4xi32>, %y: tensor<4xf32>) -> !u {{\n\
             %0 = \"stablehlo.concatenate\"(%x, %y) {attribute} : (tensor<4xi32>, tensor<4xf32>) -> !u\n\
             return %0 : !u\n}}"
        );
        let text = accepted(&session("jax", "stablehlo"), &source);
        assert!(text.contains("-> tensor<8xf32> {"), "{text}");
    }
}

#[test]
fn a_file_of_ones_own_has_attributes_that_follow() {
    let rules = "format = 1\n[ops]\n'my.less' = { op = 'less', operands = [1, 2] }\n\
                 [attributes-by-kind.'my.less'.by]\nsigned = '0 : i8'\nfloat = ['1 : i8', '2 : i8']\n";
    let rules = OpRules::from_toml(rules, "own").expect("the rules are right");
    let source = r#"func.func @f(%m: i8, %x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>) {
         %0 = "my.less"(%m, %x, %y) {by = 0 : i8, note = "kept"} : (i8, tensor<4xi32>, tensor<4xf32>) -> tensor<4xi1>
         %1 = "my.less"(%m, %x, %y) {by = 2 : i8} : (i8, tensor<4xi32>, tensor<4xf32>) -> tensor<4xi1>
         return %0, %1 : tensor<4xi1>, tensor<4xi1>
       }"#;
    let text = accepted(&session_with("jax", vec![rules]), source);
    assert!(text.contains("{by = 1 : i8, note = \"kept\"}") && text.contains("{by = 2 : i8}"), "{text}");
}
