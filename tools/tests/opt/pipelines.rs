//! `--pass-pipeline`: passes of ours and upstream's, and pipelines that are wrong.

use insta::assert_snapshot;

use crate::support::{GOOD, PROMOTED, Run, run, show};

fn pipeline(source: &str, pipeline: &str) -> Run {
    run(source, &[&format!("--pass-pipeline={pipeline}")])
}

#[test]
fn the_default_written_out() {
    let all = "promote-infer-types,promote-insert-converts,promote-fold-converts,promote-verify-strong";
    for text in [
        all,
        &format!("builtin.module({all})"),
        &format!("any({all})"),
        &format!("builtin.module(func.func({all}))"),
    ] {
        assert_eq!(pipeline(GOOD, text).succeeded().text(), PROMOTED, "{text}");
    }
}

#[test]
fn passes_beside_upstream_ones() {
    let twice = GOOD.replace("  return", "  %1 = \"promote.add\"(%x, %y) : (tensor<8xbf16>, tensor<8xf32>) -> !u\n  %c = arith.constant 1 : i32\n  return");
    for text in [
        "builtin.module(promote-infer-types,canonicalize)",
        "builtin.module(canonicalize,func.func(promote-infer-types,cse),promote-insert-converts)",
        "builtin.module( func.func( promote-infer-types , canonicalize{top-down=false max-iterations=3} ) )",
        "promote-infer-types,symbol-dce,sccp,strip-debuginfo",
    ] {
        let run = pipeline(&twice, text).succeeded();
        assert!(run.text().contains("-> tensor<8xf32>"), "{text}: {run}");
    }
    let canonical = pipeline(&twice, "canonicalize").succeeded();
    assert!(!canonical.text().contains("arith.constant"), "{canonical}");
}

#[test]
fn nothing_to_do() {
    for text in ["", " ", "builtin.module()", "builtin.module(func.func())", "builtin.module(foo.bar(cse))"] {
        let run = pipeline(GOOD, text).succeeded();
        assert!(run.text().contains("tensor<*x!promote.unknown>"), "{text}: {run}");
    }
}

#[test]
fn pipelines_that_are_wrong_are_wrong_usage() {
    let mut output = String::new();
    for text in [
        "no-such-pass",
        "builtin.module(promote-infer-types,no-such-pass)",
        "builtin.module(func.func(no-such-pass))",
        "promote-infer-types{x64=true}",
        "canonicalize{no-such-option=1}",
        "canonicalize{max-iterations=many}",
        "builtin.module(",
        "builtin.module(cse))",
        "builtin.module(cse,,cse)",
        "cse{",
        "cse}",
        ",",
        "func.func(cse),builtin.module(cse)no",
        "gpu.module(cse)",
        "builtin.module(cse) trailing",
    ] {
        let args = [format!("--pass-pipeline={text}")];
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run = run(GOOD, &args).misused();
        assert!(run.stderr.contains("error[P0022]"), "{text}: {run}");
        output.push_str(&format!("{text}\n{}\n", run.stderr));
    }
    assert_snapshot!(output);
}

/// MLIR aborts where such passes are added from C++ to a pass manager of another op.
#[test]
fn passes_on_ops_that_they_do_not_take_are_refused() {
    for text in [
        "builtin.module(affine-loop-tile)",
        "builtin.module(convert-gpu-to-nvvm)",
        "builtin.module(convert-gpu-to-rocdl)",
        "builtin.module(func.func(inline))",
        "builtin.module(func.func(convert-func-to-llvm))",
        "builtin.module(convert-vector-to-scf,lower-affine,test-nothing)",
        "builtin.module(spirv-lower-abi-attrs)",
    ] {
        let run = pipeline(GOOD, text);
        assert!(matches!(run.status, Some(1 | 2)), "{text}: {run}");
        assert!(run.stderr.contains("error[P") && !run.stderr.contains("P0099"), "{text}: {run}");
        assert_eq!(run.text(), "", "{text}");
    }
}

#[test]
fn very_many_passes_and_very_deep_nesting() {
    pipeline(GOOD, &vec!["promote-infer-types"; 500].join(",")).succeeded();
    pipeline(GOOD, &format!("{}cse{}", "builtin.module(".repeat(5000), ")".repeat(5000))).misused();
    pipeline(GOOD, &format!("cse{}{}", "{".repeat(5000), "}".repeat(5000))).misused();
}

#[test]
fn a_pass_that_fails_says_so() {
    let args = &["--pass-pipeline=promote-verify-strong"];
    assert_snapshot!(show(args, &run(GOOD, args).refused()));
    let run = pipeline(GOOD, "transform-interpreter").refused();
    assert!(run.stderr.contains("__transform_main"), "{run}");
}

#[test]
fn single_passes_leave_the_rest() {
    let inferred = pipeline(GOOD, "promote-infer-types").succeeded();
    assert!(inferred.text().contains("-> tensor<8xf32>") && !inferred.text().contains("promote.convert"));
    let inserted = run(inferred.text(), &["--pass-pipeline=promote-insert-converts"]).succeeded();
    assert_eq!(inserted.text(), PROMOTED);
    for pass in
        ["promote-infer-types", "promote-insert-converts", "promote-fold-converts", "promote-verify-strong"]
    {
        assert_eq!(pipeline(PROMOTED, pass).succeeded().text(), PROMOTED, "{pass}");
    }
}
