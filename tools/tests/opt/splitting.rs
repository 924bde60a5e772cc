//! `--split-input-file`, `--verify-diagnostics`, `--verify-roundtrip`, `--verify-each`: testing a compiler.

use insta::assert_snapshot;

use crate::support::{BAD, CORPUS, GOOD, PROMOTED, Tool, run, show};

const PLAIN: &str = "func.func @plain() {\n  return\n}\n";

#[test]
fn parts_are_compiled_one_by_one() {
    let parts = format!("{GOOD}// -----\n{GOOD}  // ----- a comment\n{GOOD}");
    let expected = [PROMOTED, PROMOTED, PROMOTED].join("// -----\n");
    for flag in ["--split-input-file", "-split-input-file", "--split-input-file=// -----"] {
        assert_eq!(run(parts.as_str(), &[flag]).succeeded().text(), expected, "{flag}");
    }
}

#[test]
fn a_marker_of_ones_own() {
    let parts = format!("{GOOD}//// next\n{GOOD}");
    let run = run(parts, &["--split-input-file=//// next"]).succeeded();
    assert_eq!(run.text(), [PROMOTED, PROMOTED].join("// -----\n"));
}

#[test]
fn rulers_are_no_markers() {
    run(format!("{PLAIN}// ------\n{}", PLAIN.replace("plain", "other")), &["--split-input-file"])
        .succeeded();
}

#[test]
fn parts_before_and_after_a_refused_one_are_printed() {
    let args = &["--split-input-file"];
    let parts = format!("{PLAIN}// -----\nbroken\n// -----\n{BAD}// -----\n{PLAIN}");
    assert_snapshot!(show(args, &run(parts, args).refused()));
}

#[test]
fn without_the_flag_a_marker_is_a_comment() {
    assert_eq!(run(format!("// -----\n{GOOD}"), &[]).succeeded().text(), PROMOTED);
}

#[test]
fn expected_diagnostics_make_a_success() {
    let expecting = BAD
        .replace("  %0 =", "  // expected-error@+1 {{P0007: jax does not promote}}\n  %0 =")
        .replace("  %1 =", "  // expected-error@below {{axis 1 is out of range}}\n  %1 =")
        .replace(
            "func.func",
            "// expected-note@+2 {{operand 0 is}}\n// expected-note@+1 {{operand 1 is}}\nfunc.func",
        );
    run(expecting.as_str(), &["--verify-diagnostics"]).succeeded();
    run(format!("{expecting}// -----\n{expecting}"), &["--verify-diagnostics", "--split-input-file"])
        .succeeded();
}

#[test]
fn unexpected_diagnostics_are_errors() {
    let args = &["--verify-diagnostics"];
    assert_snapshot!(show(args, &run(BAD, args).refused()));
    run(BAD, &["--verify-diagnostics=only-expected"]).succeeded();
}

#[test]
fn expectations_that_are_not_met_are_errors() {
    let args = &["--verify-diagnostics"];
    let unmet = format!("// expected-error {{{{never}}}}\n{PLAIN}// expected-warning@-1 {{{{nor this}}}}\n");
    assert_snapshot!(show(args, &run(unmet.as_str(), args).refused()));
    run(unmet, &["--verify-diagnostics=only-expected"]).refused();
}

#[test]
fn remarks_and_warnings_can_be_expected() {
    let remarked = GOOD
        .replace("func.func", "// expected-note@below {{shape 8}}\nfunc.func")
        .replace("  %0 =", "  // expected-remark@below {{bf16 → f32}}\n  %0 =");
    run(remarked, &["--verify-diagnostics", "--remarks"]).succeeded();
}

#[test]
fn every_valid_program_survives_being_written_and_read() {
    let tool = Tool::new();
    for entry in std::fs::read_dir(format!("{CORPUS}/valid")).expect("the corpus is there") {
        let path = entry.expect("it can be listed").path();
        let plain = tool.run([path.as_os_str()]).succeeded();
        for flag in ["--verify-roundtrip", "--verify-each", "--verify-each=true", "--mlir-disable-threading"]
        {
            assert_eq!(tool.run([path.as_os_str(), flag.as_ref()]).succeeded(), plain, "{path:?} {flag}");
        }
    }
}
