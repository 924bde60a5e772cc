//! Command lines that are wrong, and mlir-opt's habits that are not.

use insta::assert_snapshot;

use crate::support::{GOOD, PROMOTED, Tool, run};

#[test]
fn wrong_usage_exits_with_2_and_says_why() {
    let mut output = String::new();
    for args in [
        &["--no-such-flag"][..],
        &["-x"],
        &["a.mlir", "b.mlir"],
        &["--semantics=none"],
        &["--semantics="],
        &["--emit=none"],
        &["--emit=mlir", "--emit-bytecode"],
        &["--diagnostics-format=xml"],
        &["--color=sometimes"],
        &["--completions=tcsh"],
        &["--verify-each=perhaps"],
        &["--verify-diagnostics=some"],
        &["--split-input-file="],
        &["--pass-pipeline"],
        &["-o"],
        &["-o", ""],
        &[""],
        &["--x64=1"],
    ] {
        let run = run(GOOD, args).misused();
        output.push_str(&format!("$ promote-opt {}\n{}\n", args.join(" "), run.stderr));
    }
    assert_snapshot!(output);
}

#[test]
fn long_flags_may_have_one_dash() {
    let tool = Tool::new().with("in.mlir", GOOD);
    for args in [
        &["-x64"][..],
        &["-split-input-file"],
        &["-verify-diagnostics"],
        &["-verify-each"],
        &["-verify-each=false"],
        &["-verify-roundtrip"],
        &["-allow-unregistered-dialect"],
        &["-mlir-disable-threading"],
        &["-pass-pipeline", "builtin.module()"],
        &["-pass-pipeline=builtin.module(cse)"],
        &["-semantics=jax"],
        &["-emit", "mlir"],
        &["-color=never"],
    ] {
        tool.run([args, &["in.mlir"]].concat()).succeeded();
    }
    assert_eq!(tool.run(["in.mlir", "-oout.mlir"]).succeeded().text(), "");
    assert_eq!(tool.read("out.mlir"), PROMOTED.as_bytes());
}

#[test]
fn flags_after_two_dashes_are_files() {
    assert!(run("", &["--", "--help"]).refused().stderr.contains("cannot read `--help`"));
}

#[test]
fn arguments_that_are_not_utf8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    for args in [[&b"--pass-pipeline"[..], b"\xff"], [b"--semantics", b"\xff"], [b"--\xff", b"in.mlir"]] {
        Tool::new().run(args.map(OsStr::from_bytes)).misused();
    }
}

#[test]
fn sixty_four_bits() {
    let weak = "func.func @f() -> tensor<!promote.weak_int> {\n  %0 = \"promote.constant\"() {value = dense<1> : tensor<i64>} \
                : () -> tensor<!promote.weak_int>\n  return %0 : tensor<!promote.weak_int>\n}\n";
    assert!(run(weak, &[]).succeeded().text().contains("-> tensor<i32>"));
    assert!(run(weak, &["--x64"]).succeeded().text().contains("-> tensor<i64>"));
}
