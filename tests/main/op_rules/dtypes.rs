//! Ops that an operand tells the dtype of their result, and operands that are left out.

use insta::assert_snapshot;
use promote::DType;
use promote::op_rules::OpRules;

use super::{accepted, refused, session};

/// The name of a dtype in torch-mlir's types.
fn element(dtype: DType) -> String {
    match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => format!("s{}", dtype.mlir()),
        other => other.mlir().to_owned(),
    }
}

/// A program of an op whose operand `told` is this dtype, or none.
fn told(name: &str, told: usize, from: DType, to: Option<i64>) -> String {
    let (constant, kind) = match to {
        Some(code) => {
            (format!("\"torch.constant.int\"() {{value = {code} : i64}} : () -> !torch.int"), "!torch.int")
        }
        None => ("\"torch.constant.none\"() : () -> !torch.none".to_owned(), "!torch.none"),
    };
    let x = format!("!torch.vtensor<[4],{}>", element(from));
    let (others, types) = (", %o".repeat(told - 1), ", !other.type".repeat(told - 1));
    format!(
        "func.func @f(%x: {x}, %o: !other.type) -> !torch.vtensor<[4],unk> {{\n\
         %d = {constant}\n\
         %0 = \"{name}\"(%x{others}, %d) : ({x}{types}, {kind}) -> !torch.vtensor<[4],unk>\n\
         return %0 : !torch.vtensor<[4],unk>\n}}"
    )
}

#[test]
fn the_result_is_of_the_dtype_that_the_op_is_told() {
    let file = OpRules::shipped("torch").expect("the rules are shipped");
    let session = session("torch", "torch");
    let rules: Vec<_> = file.ops.iter().filter_map(|rule| Some((rule, rule.dtype?))).collect();
    assert_eq!(rules.len(), 10);
    for (rule, operand) in rules {
        for (dtype, code) in file.codes.iter().filter(|(dtype, _)| matches!(dtype, DType::F16 | DType::F64)) {
            let source = told(&rule.pattern.name, operand, DType::I32, Some(*code));
            let made = format!("!torch.int) -> !torch.vtensor<[4],{}>", element(*dtype));
            // As torch-mlir prints its ops, the number is a property.
            let printed = source.replace("{value =", "<{value =").replace(" : i64}", " : i64}>");
            for source in [source, printed] {
                let text = accepted(&session, &source);
                // The op converts what it takes itself.
                assert!(text.contains(&made) && !text.contains("to.dtype"), "{}: {text}", rule.pattern);
            }
        }
    }
}

#[test]
fn a_sum_may_be_told_a_narrow_integer_and_a_mean_may_not() {
    let session = session("torch", "torch");
    for (code, made) in [(1, "si8"), (11, "i1"), (3, "si32"), (4, "si64")] {
        let text = accepted(&session, &told("torch.aten.sum", 1, DType::F32, Some(code)));
        assert!(text.contains(&format!("!torch.int) -> !torch.vtensor<[4],{made}>")), "{text}");
    }
    // Without a dtype, integers are added up in 64 bits.
    let text = accepted(&session, &told("torch.aten.sum", 1, DType::I8, None));
    assert!(text.contains("!torch.none) -> !torch.vtensor<[4],si64>"), "{text}");
    assert_snapshot!(refused(&session, &told("torch.aten.mean", 1, DType::F32, Some(3))), @r#"
    3:6: error[P0008]: torch has no mean with a result of i32
      1:14: note: operand 0 is tensor<4xf32>
      help: ask for another dtype, or none
    "#);
}

#[test]
fn a_stated_result_that_the_op_is_not_told_is_refused() {
    let source = told("torch.aten.sum", 1, DType::F32, Some(7)).replace("unk", "f32");
    assert_snapshot!(refused(&session("torch", "torch"), &source), @r#"
    3:6: error[P0012]: torch.aten.sum has the stated dtype f32, but the inferred dtype is f64
      1:14: note: operand 0 is tensor<4xf32>
      help: write f64 or !promote.unknown, and convert the result with promote.convert if f32 is intended
    "#);
}

#[test]
fn a_dtype_that_is_not_known_is_refused() {
    let session = session("torch", "torch");
    let source = r#"func.func @f(%x: !torch.vtensor<[4],f32>, %d: !torch.int, %o: !torch.optional<int>) {
         %n = "torch.constant.int"() {value = 99 : i64} : () -> !torch.int
         %0 = "torch.aten.sum"(%x, %d) : (!torch.vtensor<[4],f32>, !torch.int) -> !torch.vtensor<[],unk>
         %1 = "torch.aten.cumsum"(%x, %d, %o) : (!torch.vtensor<[4],f32>, !torch.int, !torch.optional<int>) -> !torch.vtensor<[4],unk>
         %2 = "torch.aten.sum"(%x, %n) : (!torch.vtensor<[4],f32>, !torch.int) -> !torch.vtensor<[],unk>
         %3 = "torch.aten.sum"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[],unk>
         return
       }"#;
    assert_snapshot!(refused(&session, source), @r#"
    3:15: error[P0005]: operand 1 of torch.aten.sum, the dtype of its result, must be a constant
      help: give it the result of torch.constant.int
    4:15: error[P0005]: operand 2 of torch.aten.cumsum, the dtype of its result, must be a constant
      help: give it the result of torch.constant.int
    5:15: error[P0005]: operand 1 of torch.aten.sum is the dtype 99, which the op rules do not have
      help: use a number of the table [codes] of the rule file, or add it there
    6:15: error[P0005]: operand 1 of torch.aten.sum, the dtype of its result, must be a constant
      help: give it the result of torch.constant.int
    "#);
}

#[test]
fn a_bound_may_be_left_out() {
    let session = session("torch", "torch");
    let source = r#"func.func @f(%x: !torch.vtensor<[4],si32>, %y: !torch.vtensor<[4],f16>, %s: !torch.float) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
         %none = "torch.constant.none"() : () -> !torch.none
         %0 = "torch.aten.clamp"(%x, %none, %s) : (!torch.vtensor<[4],si32>, !torch.none, !torch.float) -> !torch.vtensor
         %1 = "torch.aten.clamp"(%y, %s, %none) : (!torch.vtensor<[4],f16>, !torch.float, !torch.none) -> !torch.vtensor
         %2 = "torch.aten.clamp.Tensor"(%y, %x, %none) : (!torch.vtensor<[4],f16>, !torch.vtensor<[4],si32>, !torch.none) -> !torch.vtensor
         %3 = "torch.aten.clamp_max.Tensor"(%x, %y) : (!torch.vtensor<[4],si32>, !torch.vtensor<[4],f16>) -> !torch.vtensor
         return %0, %1, %2, %3 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
       }"#;
    assert_snapshot!(accepted(&session, source), @r#"
    module {
      func.func @f(%arg0: !torch.vtensor<[4],si32>, %arg1: !torch.vtensor<[4],f16>, %arg2: !torch.float) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f16>, !torch.vtensor<[4],f16>, !torch.vtensor<[4],f16>) {
        %0 = "torch.constant.none"() : () -> !torch.none
        %1 = "torch.constant.int"() {value = 6 : i64} : () -> !torch.int
        %2 = "torch.constant.bool"() {value = false} : () -> !torch.bool
        %3 = "torch.constant.none"() : () -> !torch.none
        %4 = "torch.aten.to.dtype"(%arg0, %1, %2, %2, %3) : (!torch.vtensor<[4],si32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[4],f32>
        %5 = "torch.aten.clamp"(%4, %0, %arg2) : (!torch.vtensor<[4],f32>, !torch.none, !torch.float) -> !torch.vtensor<[4],f32>
        %6 = "torch.aten.clamp"(%arg1, %arg2, %0) : (!torch.vtensor<[4],f16>, !torch.float, !torch.none) -> !torch.vtensor<[4],f16>
        %7 = "torch.constant.int"() {value = 5 : i64} : () -> !torch.int
        %8 = "torch.constant.bool"() {value = false} : () -> !torch.bool
        %9 = "torch.constant.none"() : () -> !torch.none
        %10 = "torch.aten.to.dtype"(%arg0, %7, %8, %8, %9) : (!torch.vtensor<[4],si32>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[4],f16>
        %11 = "torch.aten.clamp.Tensor"(%arg1, %10, %0) : (!torch.vtensor<[4],f16>, !torch.vtensor<[4],f16>, !torch.none) -> !torch.vtensor<[4],f16>
        %12 = "torch.aten.clamp_max.Tensor"(%10, %arg1) : (!torch.vtensor<[4],f16>, !torch.vtensor<[4],f16>) -> !torch.vtensor<[4],f16>
        return %5, %6, %11, %12 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f16>, !torch.vtensor<[4],f16>, !torch.vtensor<[4],f16>
      }
    }
    "#);
    let both = source
        .replace("%none, %s", "%none, %none")
        .replace("!torch.none, !torch.float", "!torch.none, !torch.none");
    assert_snapshot!(refused(&session, &both), @r#"
    3:15: error[P0006]: operand 1 of torch.aten.clamp is not a tensor of a dtype that can be promoted
      1:14: note: operand 0 is tensor<4xi32>
      2:18: note: operand 1 is !torch.none
      2:18: note: operand 2 is !torch.none
      help: convert it to a tensor first, for example with tensor.from_elements
    "#);
}
