//! Watching the passes: `--mlir-print-ir-*`, `--mlir-timing`, and other forms of the result.

use insta::assert_snapshot;

use crate::support::{BAD, GOOD, PROMOTED, run, show};

/// The headers of what was printed before and after passes.
fn dumps(stderr: &str) -> Vec<&str> {
    stderr
        .lines()
        .filter_map(|line| line.strip_prefix("// -----// IR Dump ")?.strip_suffix(" //----- //"))
        .map(|header| header.split(" (").next().unwrap_or(header))
        .collect()
}

#[test]
fn after_and_before_all() {
    let run_after = run(GOOD, &["--mlir-print-ir-after-all"]);
    assert_eq!(run_after.text(), PROMOTED);
    assert_eq!(
        dumps(&run_after.stderr),
        [
            "After promote-infer-types",
            "After promote-insert-converts",
            "After promote-fold-converts",
            "After promote-verify-strong"
        ]
    );
    let run_before = run(GOOD, &["-mlir-print-ir-before-all"]);
    assert_eq!(dumps(&run_before.stderr)[0], "Before promote-infer-types");
    assert!(run_before.stderr.contains("!promote.unknown"));
}

#[test]
fn around_named_passes() {
    let args = &[
        "--mlir-print-ir-before=promote-insert-converts",
        "--mlir-print-ir-after=promote-infer-types,promote-fold-converts",
    ];
    assert_snapshot!(show(args, &run(GOOD, args)));
}

#[test]
fn around_upstream_passes_and_in_functions() {
    let args = &[
        "--pass-pipeline=builtin.module(func.func(promote-infer-types,canonicalize),cse)",
        "--mlir-print-ir-after=canonicalize,cse",
        "--mlir-print-ir-module-scope",
    ];
    let run = run(GOOD, args);
    assert_eq!(dumps(&run.stderr), ["After canonicalize", "After cse"]);
    assert_eq!(run.stderr.matches("module {").count(), 2, "{run}");
}

#[test]
fn after_a_pass_that_changed_something() {
    let passes = "--pass-pipeline=cse,promote-infer-types,promote-infer-types";
    let run = run(GOOD, &[passes, "--mlir-print-ir-after-change"]);
    assert_eq!(dumps(&run.stderr), ["After promote-infer-types"]);
}

#[test]
fn after_a_pass_that_failed() {
    let run = run(BAD, &["--mlir-print-ir-after-failure"]).refused();
    assert_eq!(dumps(&run.stderr), ["After promote-infer-types Failed"]);
}

#[test]
fn a_pass_that_does_not_run_is_wrong_usage() {
    for name in ["no-such-pass", "canonicalize", ""] {
        let run = run(GOOD, &[&format!("--mlir-print-ir-after={name}")]).misused();
        assert!(run.stderr.contains(&format!("`{name}`, which is not in builtin.module(")), "{run}");
    }
}

#[test]
fn the_time_of_each_pass() {
    let run = run(GOOD, &["--mlir-timing"]);
    assert_eq!((run.status, run.text()), (Some(0), PROMOTED));
    for line in ["Execution time report", "promote-infer-types", "promote-verify-strong", "Total"] {
        assert!(run.stderr.contains(line), "{line}: {run}");
    }
}

#[test]
fn generic_form() {
    let run = run(GOOD, &["--mlir-print-op-generic"]).succeeded();
    assert!(run.text().starts_with("\"builtin.module\"() ({"), "{run}");
    assert!(run.text().contains("\"func.return\"(%1) : (tensor<8xf32>) -> ()"), "{run}");
}

#[test]
fn locations() {
    let run = run(GOOD, &["--mlir-print-debuginfo"]).succeeded();
    assert!(run.text().contains("loc(\"-\":3:8)"), "{run}");
}

#[test]
fn a_graph() {
    let args = &["--emit=dot"];
    assert_snapshot!(show(args, &run(GOOD, args).succeeded()));
}
