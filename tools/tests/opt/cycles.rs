//! Values that depend on themselves, and ops outside of functions: where no order rules, in modules, in the regions of ops
//! that nobody registered, and in blocks that are never reached. Everything is accepted or refused with a place, and ends.

use crate::support::{Run, Tool, in_parallel, run};

/// What is made of a program.
const KINDS: [&str; 9] =
    ["mlir", "dot", "linalg", "stablehlo", "program", "llvm", "llvm-ir", "obj", "header"];

/// Ops, each of which needs what comes of it, or comes later.
const LOOPS: [&str; 20] = [
    r#"%1 = "promote.convert"(%1) : (tensor<3xf32>) -> tensor<3xf32>"#,
    r#"%1 = "promote.positive"(%1) : (tensor<3xf32>) -> tensor<3xf32>"#,
    r#"%1 = "promote.positive"(%1) : (!u) -> !u"#,
    r#"%1 = "promote.exp"(%1) : (tensor<?xf32>) -> tensor<?xf32>"#,
    r#"%1 = "promote.matmul"(%1, %1) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>"#,
    r#"%1 = "promote.sort"(%1) {axis = 0 : i64} : (tensor<3xf32>) -> tensor<3xf32>"#,
    r#"%1 = "promote.broadcast_to"(%1) {shape = array<i64: 3>} : (tensor<3xf32>) -> tensor<3xf32>"#,
    r#"%1 = "promote.reshape"(%1) {shape = array<i64: -1, 3>} : (!u) -> !u"#,
    r#"%1 = "promote.relax"(%1) : (!u) -> !u"#,
    r#"%1 = "promote.relax"(%2) : (!u) -> !u
    %2 = "promote.relax"(%1) : (!u) -> !u"#,
    r#"%1 = "promote.positive"(%2) : (tensor<3xf32>) -> tensor<3xf32>
    %2 = "promote.positive"(%1) : (tensor<3xf32>) -> tensor<3xf32>"#,
    r#"%1 = "promote.convert"(%2) {promote.implicit} : (tensor<3xf32>) -> tensor<3xbf16>
    %2 = "promote.convert"(%1) {promote.implicit} : (tensor<3xbf16>) -> tensor<3xf32>"#,
    r#"%1 = "promote.convert"(%2) : (tensor<3xbf16>) -> tensor<3xf32>
    %2 = "promote.convert"(%1) : (tensor<3xf32>) -> tensor<3xbf16>"#,
    r#"%1 = "promote.squeeze"(%2) {axis = array<i64: 0>} : (tensor<1x3xf32>) -> tensor<3xf32>
    %2 = "promote.expand_dims"(%1) {axis = array<i64: 0>} : (tensor<3xf32>) -> tensor<1x3xf32>"#,
    r#"%c = "promote.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %1 = "promote.add"(%2, %c) : (tensor<3xbf16>, tensor<!promote.weak_int>) -> !u
    %2 = "promote.negative"(%1) : (!u) -> tensor<3xbf16>"#,
    r#"%1 = "promote.add"(%2, %3) : (tensor<3xbf16>, tensor<3xf32>) -> tensor<3xf32>
    %2 = "promote.convert"(%1) : (tensor<3xf32>) -> tensor<3xbf16>
    %3 = "promote.abs"(%1) : (tensor<3xf32>) -> tensor<3xf32>"#,
    r#"%1 = "promote.add"(%2, %3) : (tensor<!promote.weak_int>, tensor<3xf32>) -> tensor<3xf32>
    %2 = "promote.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<!promote.weak_int>
    %3 = "promote.constant"() {value = dense<1.0> : tensor<3xf32>} : () -> tensor<3xf32>"#,
    r#"%1 = "promote.take"(%2, %1) {axis = 0 : i64} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
    %2 = "promote.flip"(%1) {axis = array<i64: 0>} : (tensor<3xi32>) -> tensor<3xi32>"#,
    r#"%t = arith.constant true
    %1 = arith.select %t, %1, %1 : tensor<2xf32>"#,
    r#"%t = arith.constant true
    %1 = arith.select %t, %2, %2 : i32
    %2 = arith.select %t, %1, %1 : i32"#,
];

/// A place without order for ops.
fn places(ops: &str) -> [String; 3] {
    let alias = "!u = tensor<*x!promote.unknown>\n";
    [
        format!("{alias}{ops}\n"),
        format!("{alias}func.func @f() {{\n\"other.graph\"() ({{\n{ops}\n}}) : () -> ()\nreturn\n}}\n"),
        format!("{alias}func.func @f() {{\nreturn\n^never:\n{ops}\ncf.br ^never\n}}\n"),
    ]
}

/// Accepted without a word, or refused with a place.
#[track_caller]
fn settled(run: Run, what: &str) {
    match run.status {
        Some(0) => assert_eq!(run.stderr, "", "{what}\n{run}"),
        _ => assert!(run.clone().refused().stderr.starts_with("<stdin>:"), "{what}\n{run}"),
    }
}

#[test]
fn values_that_are_made_of_themselves() {
    let programs: Vec<String> = LOOPS.iter().flat_map(|ops| places(ops)).collect();
    let tasks: Vec<_> = programs.iter().flat_map(|program| KINDS.map(|kind| (program, kind))).collect();
    in_parallel(&tasks, |(program, kind)| {
        settled(run(program.as_str(), &["--emit", kind]), &format!("--emit={kind}\n{program}"));
    });
    let tasks: Vec<_> = programs.iter().collect();
    in_parallel(&tasks, |program| {
        let args = ["--pass-pipeline=builtin.module(promote-fold-converts)", "--remarks"];
        settled(run(program.as_str(), &args), program);
    });
}

#[test]
fn an_op_that_is_its_own_operand_is_refused_where_nothing_else_would_be_left() {
    for program in &places(LOOPS[0])[1..] {
        let run = run(program.as_str(), &["--emit=linalg"]).refused();
        let message = "error[P0038]: the result of promote.convert depends only on itself";
        assert!(run.stderr.contains(message) && run.stderr.contains("help: remove it"), "{run}");
    }
}

#[test]
fn ops_outside_of_functions_are_refused_by_each_lowering() {
    let op = r#"%0 = "promote.constant"() {value = dense<1.0> : tensor<3xf32>} : () -> tensor<3xf32>"#;
    let nested = format!("module {{ module {{\n{op}\n}} }}");
    let function = format!("module {{ module {{ func.func @f() {{\n{op}\nreturn }} }} }}");
    for (program, kinds) in [
        (format!("\n{op}"), &["linalg", "stablehlo", "llvm", "llvm-ir", "asm", "obj", "so"][..]),
        (nested, &["linalg", "stablehlo", "llvm", "so"]),
        // Code is made of the functions of the outermost module.
        (function, &["llvm", "obj"]),
        (format!("llvm.func @f() {{\n{op}\nllvm.return }}"), &["llvm", "so"]),
    ] {
        for kind in kinds {
            let run = Tool::new().run_on(program.as_str(), ["--emit", kind, "-o", "out"]).refused();
            let code = if *kind == "stablehlo" { "P0040" } else { "P0038" };
            let where_it_stands = match program.contains("func.func") {
                true => "in a function of a nested module",
                false => "outside of functions",
            };
            let message = format!("<stdin>:2:6: error[{code}]: promote.constant is {where_it_stands}");
            assert!(run.stderr.starts_with(&message), "{run}");
            assert!(run.stderr.contains("help: move "), "{run}");
        }
    }
}
