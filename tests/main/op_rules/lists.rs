//! Ops that join the elements of a list, and ops that join operands: the converts stand before the list, and what the rules
//! cannot tell the elements of is refused.

use insta::assert_snapshot;
use promote::op_rules::OpRules;

use super::{accepted, refused, run, session, session_with};

/// A program of `torch.aten.cat`, of a list that is made like this.
fn cat(list: &str, made: &str) -> String {
    format!(
        r#"func.func @f(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor<[4,3],f16>, %i: !torch.vtensor<[1,3],si64>, %l: {list}) -> !torch.vtensor {{
         %d = "torch.constant.int"() {{value = 0 : i64}} : () -> !torch.int
         {made}
         %0 = "torch.aten.cat"(%list, %d) : ({list}, !torch.int) -> !torch.vtensor
         return %0 : !torch.vtensor
       }}"#
    )
}

#[test]
fn what_a_list_joins_is_converted_before_the_list() {
    let made = r#"%list = "torch.prim.ListConstruct"(%y, %x, %i) : (!torch.vtensor<[4,3],f16>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[1,3],si64>) -> !torch.list<vtensor>"#;
    let text = accepted(&session("torch", "torch"), &cat("!torch.list<vtensor>", made));
    assert_snapshot!(text, @r#"
    module {
      func.func @f(%arg0: !torch.vtensor<[2,3],f32>, %arg1: !torch.vtensor<[4,3],f16>, %arg2: !torch.vtensor<[1,3],si64>, %arg3: !torch.list<vtensor>) -> !torch.vtensor<[7,3],f32> {
        %0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
        %1 = "torch.constant.int"() {value = 6 : i64} : () -> !torch.int
        %2 = "torch.constant.bool"() {value = false} : () -> !torch.bool
        %3 = "torch.constant.none"() : () -> !torch.none
        %4 = "torch.aten.to.dtype"(%arg1, %1, %2, %2, %3) : (!torch.vtensor<[4,3],f16>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[4,3],f32>
        %5 = "torch.constant.int"() {value = 6 : i64} : () -> !torch.int
        %6 = "torch.constant.bool"() {value = false} : () -> !torch.bool
        %7 = "torch.constant.none"() : () -> !torch.none
        %8 = "torch.aten.to.dtype"(%arg2, %5, %6, %6, %7) : (!torch.vtensor<[1,3],si64>, !torch.int, !torch.bool, !torch.bool, !torch.none) -> !torch.vtensor<[1,3],f32>
        %9 = "torch.prim.ListConstruct"(%4, %arg0, %8) : (!torch.vtensor<[4,3],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[1,3],f32>) -> !torch.list<vtensor>
        %10 = "torch.aten.cat"(%9, %0) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[7,3],f32>
        return %10 : !torch.vtensor<[7,3],f32>
      }
    }
    "#);
}

#[test]
fn a_list_that_says_of_which_dtype_its_elements_are_follows_them() {
    let made = r#"%list = "torch.prim.ListConstruct"(%y, %i) : (!torch.vtensor<[4,3],f16>, !torch.vtensor<[1,3],si64>) -> !torch.list<vtensor<[?,3],si64>>"#;
    let text = accepted(&session("torch", "torch"), &cat("!torch.list<vtensor<[?,3],si64>>", made));
    let wanted = "(!torch.list<vtensor<[?,3],f16>>, !torch.int) -> !torch.vtensor<[5,3],f16>";
    assert!(text.contains(wanted), "{text}");
    assert!(text.contains("!torch.vtensor<[1,3],f16>) -> !torch.list<vtensor<[?,3],f16>>"), "{text}");
}

#[test]
fn a_stack_has_a_new_axis() {
    let source = r#"func.func @f(%x: !torch.vtensor<[2,?],si32>, %y: !torch.vtensor<[2,?],i1>) -> !torch.vtensor {
         %d = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
         %l = "torch.prim.ListConstruct"(%x, %y, %x) : (!torch.vtensor<[2,?],si32>, !torch.vtensor<[2,?],i1>, !torch.vtensor<[2,?],si32>) -> !torch.list<vtensor>
         %0 = "torch.aten.stack"(%l, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor
         return %0 : !torch.vtensor
       }"#;
    let text = accepted(&session("torch", "torch"), source);
    assert!(text.contains("(!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[2,?,3],si32>"), "{text}");
    assert_eq!(text.matches("torch.aten.to.dtype").count(), 1, "{text}");
}

/// An axis that is known at run time only says nothing of the shape, which is then the one that the program states.
#[test]
fn an_axis_that_is_no_constant_leaves_the_shape_as_it_is_stated() {
    let source = r#"func.func @f(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor<[2,3],bf16>, %d: !torch.int) -> !torch.vtensor<[?,?],unk> {
         %l = "torch.prim.ListConstruct"(%x, %y) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],bf16>) -> !torch.list<vtensor>
         %0 = "torch.aten.cat"(%l, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[?,?],unk>
         return %0 : !torch.vtensor<[?,?],unk>
       }"#;
    let text = accepted(&session("torch", "torch"), source);
    assert!(text.contains("!torch.int) -> !torch.vtensor<[?,?],f32>"), "{text}");
}

/// The list stands before another use of what it needs converted, and in another block than the op that takes it.
#[test]
fn a_list_is_moved_to_the_op_that_takes_it() {
    let source = r#"func.func @f(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[3],f16>, %z: !torch.vtensor<[6],f16>, %n: index) -> !torch.vtensor {
         %c0 = arith.constant 0 : index
         %c1 = arith.constant 1 : index
         %d = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
         %l = "torch.prim.ListConstruct"(%x, %y) : (!torch.vtensor<[3],f32>, !torch.vtensor<[3],f16>) -> !torch.list<vtensor>
         %0 = "torch.aten.mul.Tensor"(%x, %y) : (!torch.vtensor<[3],f32>, !torch.vtensor<[3],f16>) -> !torch.vtensor
         %init = "promote.relax"(%z) : (!torch.vtensor<[6],f16>) -> !torch.vtensor<[?],unk>
         %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> (!torch.vtensor<[?],unk>) {
           %b = "torch.aten.cat"(%l, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor
           %e = "torch.aten.add.Tensor"(%b, %a, %d) : (!torch.vtensor, !torch.vtensor<[?],unk>, !torch.int) -> !torch.vtensor<[?],unk>
           scf.yield %e : !torch.vtensor<[?],unk>
         }
         %1 = "torch.aten.add.Tensor"(%z, %r, %d) : (!torch.vtensor<[6],f16>, !torch.vtensor<[?],unk>, !torch.int) -> !torch.vtensor
         return %1 : !torch.vtensor
       }"#;
    let text = accepted(&session("torch", "torch"), source);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    let (convert, loop_, list) = (at("torch.aten.to.dtype"), at("scf.for"), at("torch.prim.ListConstruct"));
    assert!(convert < loop_ && loop_ < list && list < at("torch.aten.cat"), "{text}");
    assert!(list > at("torch.aten.mul.Tensor"), "{text}");
}

#[test]
fn a_list_that_needs_no_conversion_stays_where_it_is() {
    let source = r#"func.func @f(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[3],f16>) -> (!torch.vtensor<[6],f32>, !torch.vtensor<[3],f32>) {
         %l = "torch.prim.ListConstruct"(%x, %x) : (!torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>) -> !torch.list<vtensor>
         %d = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
         %0 = "torch.aten.mul.Tensor"(%x, %y) : (!torch.vtensor<[3],f32>, !torch.vtensor<[3],f16>) -> !torch.vtensor<[3],f32>
         %1 = "torch.aten.cat"(%l, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[6],f32>
         return %1, %0 : !torch.vtensor<[6],f32>, !torch.vtensor<[3],f32>
       }"#;
    let text = accepted(&session("torch", "torch"), source);
    assert!(text.find("ListConstruct") < text.find("torch.constant.int"), "{text}");
}

/// The last element decides, and one in the middle, beyond what an op of ours may have.
#[test]
fn a_list_of_many() {
    for (semantics, wide) in [("torch", 19), ("torch", 7), ("jax", 12), ("numpy2", 19)] {
        let element = |index: usize| if index == wide { "f32" } else { "f16" };
        let names: Vec<String> = (0..20).map(|index| format!("%{index}")).collect();
        let types: Vec<String> =
            (0..20).map(|index| format!("!torch.vtensor<[1],{}>", element(index))).collect();
        let arguments: Vec<String> =
            names.iter().zip(&types).map(|(name, of)| format!("{name}: {of}")).collect();
        let source = format!(
            "func.func @f({}) -> !torch.vtensor {{\n\
             %d = \"torch.constant.int\"() {{value = 0 : i64}} : () -> !torch.int\n\
             %l = \"torch.prim.ListConstruct\"({}) : ({}) -> !torch.list<vtensor>\n\
             %r = \"torch.aten.cat\"(%l, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor\n\
             return %r : !torch.vtensor\n}}",
            arguments.join(", "),
            names.join(", "),
            types.join(", ")
        );
        let text = accepted(&session(semantics, "torch"), &source);
        assert!(text.contains("!torch.int) -> !torch.vtensor<[20],f32>"), "{semantics}: {text}");
        assert_eq!(text.matches("torch.aten.to.dtype").count(), 19, "{semantics}: {text}");
    }
}

#[test]
fn lists_whose_elements_cannot_be_converted_are_refused() {
    let source = r#"func.func @f(%x: !torch.vtensor<[2],f32>, %y: !torch.vtensor<[2],f16>, %i: !torch.int, %l: !torch.list<vtensor>) {
         %d = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
         %0 = "torch.aten.cat"(%l, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor
         %1 = "torch.aten.chunk"(%x, %d, %d) : (!torch.vtensor<[2],f32>, !torch.int, !torch.int) -> !torch.list<vtensor>
         %2 = "torch.aten.cat"(%1, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor
         %3 = "torch.prim.ListConstruct"(%x, %y) : (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f16>) -> !torch.list<vtensor>
         %4 = "torch.aten.cat"(%3, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor
         %5 = "torch.aten.append.t"(%3, %x) : (!torch.list<vtensor>, !torch.vtensor<[2],f32>) -> !torch.list<vtensor>
         %6 = "torch.prim.ListConstruct"() : () -> !torch.list<vtensor>
         %7 = "torch.aten.stack"(%6, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor
         %8 = "torch.prim.ListConstruct"(%x, %i) : (!torch.vtensor<[2],f32>, !torch.int) -> !torch.list<vtensor>
         %9 = "torch.aten.stack"(%8, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor
         %10 = "torch.prim.ListConstruct"(%x, %l) : (!torch.vtensor<[2],f32>, !torch.list<vtensor>) -> !torch.list<vtensor>
         %11 = "torch.aten.stack"(%10, %d) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor
         return
       }"#;
    assert_snapshot!(refused(&session("torch", "torch"), source), @r#"
    3:15: error[P0005]: operand 0 of torch.aten.cat, a list, is made where its elements are not known
      help: give it the result of torch.prim.ListConstruct
    5:15: error[P0005]: operand 0 of torch.aten.cat, a list, is made where its elements are not known
      help: give it the result of torch.prim.ListConstruct
    7:15: error[P0005]: operand 0 of torch.aten.cat, a list, is used by other ops, too
      help: give it a torch.prim.ListConstruct of its own, as each element is converted for one op
    10:15: error[P0005]: operand 0 of torch.aten.stack, a list, is empty
      help: give it an element, or remove the op
    12:15: error[P0008]: operand 1 of stack must be an array in torch, but is a Python scalar (i*)
      1:14: note: element 0 of operand 0 is tensor<2xf32>
      1:72: note: element 1 of operand 0 is !torch.int
      help: convert the scalar to an array with promote.convert, which states its dtype
    14:16: error[P0006]: element 1 of operand 0 of torch.aten.stack is not a tensor of a dtype that can be promoted
      1:14: note: element 0 of operand 0 is tensor<2xf32>
      1:88: note: element 1 of operand 0 is !torch.list<vtensor>
      help: convert it to a tensor first, for example with tensor.from_elements
    "#);
}

#[test]
fn elements_that_do_not_fit_are_refused_where_they_are_joined() {
    let made = r#"%list = "torch.prim.ListConstruct"(%x, %y) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[4,3],f16>) -> !torch.list<vtensor>"#;
    let along = cat("!torch.list<vtensor>", made).replace("value = 0", "value = 1");
    assert_snapshot!(refused(&session("torch", "torch"), &along), @r#"
    4:15: error[P0010]: promote.concat of shapes 2x3 and 4x3
      1:14: note: element 0 of operand 0 is tensor<2x3xf32>
      1:45: note: element 1 of operand 0 is tensor<4x3xf16>
      help: all dimensions but that of axis must be equal
    "#);
    let beyond = cat("!torch.list<vtensor>", made).replace("value = 0", "value = 2");
    assert_snapshot!(refused(&session("torch", "torch"), &beyond), @r#"
    4:15: error[P0010]: axis 2 is out of range for shape 2x3: a rank of 2 has axes -2 to 1
      1:14: note: element 0 of operand 0 is tensor<2x3xf32>
      1:45: note: element 1 of operand 0 is tensor<4x3xf16>
      help: negative axes count from the end: -1 is the last
    "#);
}

/// Without the last passes, what is still to be converted is an element of the list.
#[test]
fn verification_names_the_element() {
    let made = r#"%list = "torch.prim.ListConstruct"(%x, %y) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[4,3],f16>) -> !torch.list<vtensor>"#;
    let source = cat("!torch.list<vtensor>", made);
    let outcome = run(&session("torch", "torch"), &source, "promote-infer-types,promote-verify-strong");
    assert_snapshot!(outcome.diagnostics_text(), @r#"
    4:15: error[P0017]: element 1 of operand 0 of torch.aten.cat, tensor<4x3xf16>, would still be converted to tensor<4x3xf32>
      1:45: note: the operand is defined here
      help: run promote-insert-converts first
    "#);
}

#[test]
fn lists_of_a_dialect_of_ones_own() {
    let rules = r#"
        format = 1
        [ops]
        "my.join" = { op = "concat", operands = [1], attributes = { axis = "along" } }
        "my.add" = "add"
        [lists]
        op = "my.list"
        type = "!my.tensors"
        [convert]
        "any -> any" = "my.cast"
    "#;
    let rules = OpRules::from_toml(rules, "own").expect("the rules are right");
    let source = r#"!u = tensor<*x!promote.unknown>
       func.func @f(%m: i8, %x: tensor<4xi32>, %y: tensor<?xf32>) -> (!u, !u) {
         %l = "my.list"(%x, %y, %x) : (tensor<4xi32>, tensor<?xf32>, tensor<4xi32>) -> !my.tensors
         %0 = "my.join"(%m, %l) {along = 0 : i64} : (i8, !my.tensors) -> !u
         %1 = "my.add"(%x, %x) : (tensor<4xi32>, tensor<4xi32>) -> !u
         return %0, %1 : !u, !u
       }"#;
    assert_snapshot!(accepted(&session_with("jax", vec![rules]), source), @r#"
    module {
      func.func @f(%arg0: i8, %arg1: tensor<4xi32>, %arg2: tensor<?xf32>) -> (tensor<?xf32>, tensor<4xi32>) {
        %0 = "my.cast"(%arg1) : (tensor<4xi32>) -> tensor<4xf32>
        %1 = "my.list"(%0, %arg2, %0) : (tensor<4xf32>, tensor<?xf32>, tensor<4xf32>) -> !my.tensors
        %2 = "my.join"(%arg0, %1) {along = 0 : i64, promote.checked} : (i8, !my.tensors) -> tensor<?xf32>
        %3 = "my.add"(%arg1, %arg1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
        return %2, %3 : tensor<?xf32>, tensor<4xi32>
      }
    }
    "#);
}

/// llvm/torch-mlir#4422 in ops that add what they multiply. PyTorch refuses operands that differ.
#[test]
fn products_with_a_sum_join_all_their_operands() {
    let source = r#"func.func @f(%x: !torch.vtensor<[64,16],f32>, %w: !torch.vtensor<[16,32],bf16>, %b: !torch.vtensor<[32],f16>, %c: !torch.vtensor<[5,4,3],bf16>, %e: !torch.vtensor<[5,3,2],f16>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor<[64,32],unk>, !torch.vtensor<[64,32],unk>) {
         %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
         %none = "torch.constant.none"() : () -> !torch.none
         %0 = "torch.aten.addmm"(%b, %x, %w, %one, %one) : (!torch.vtensor<[32],f16>, !torch.vtensor<[64,16],f32>, !torch.vtensor<[16,32],bf16>, !torch.int, !torch.int) -> !torch.vtensor
         %1 = "torch.aten.bmm"(%c, %e) : (!torch.vtensor<[5,4,3],bf16>, !torch.vtensor<[5,3,2],f16>) -> !torch.vtensor
         %2 = "torch.aten.baddbmm"(%1, %c, %e, %one, %one) : (!torch.vtensor, !torch.vtensor<[5,4,3],bf16>, !torch.vtensor<[5,3,2],f16>, !torch.int, !torch.int) -> !torch.vtensor
         %t = "torch.aten.t"(%w) : (!torch.vtensor<[16,32],bf16>) -> !torch.vtensor<[32,16],unk>
         %3 = "torch.aten.linear"(%x, %t, %none) : (!torch.vtensor<[64,16],f32>, !torch.vtensor<[32,16],unk>, !torch.none) -> !torch.vtensor<[64,32],unk>
         %4 = "torch.aten.linear"(%x, %t, %b) : (!torch.vtensor<[64,16],f32>, !torch.vtensor<[32,16],unk>, !torch.vtensor<[32],f16>) -> !torch.vtensor<[64,32],unk>
         return %0, %1, %2, %3, %4 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor<[64,32],unk>, !torch.vtensor<[64,32],unk>
       }"#;
    let text = accepted(&session("torch", "torch"), source);
    let made = |op: &str| -> Vec<&str> { text.lines().filter(|line| line.contains(op)).collect() };
    for (op, count) in
        [("torch.aten.addmm", 1), ("torch.aten.bmm", 1), ("torch.aten.baddbmm", 1), ("torch.aten.linear", 2)]
    {
        let lines = made(&format!("\"{op}\""));
        assert_eq!(lines.len(), count, "{text}");
        for line in lines {
            assert!(line.ends_with("f32>") && !line.contains("f16"), "{line}");
        }
    }
    let types = "(!torch.vtensor<[64,32],f32>, !torch.vtensor<[5,4,2],f32>, !torch.vtensor<[5,4,2],f32>, ";
    assert!(text.contains(types), "{text}");
}
