//! The programs of `tests/files` and `examples`, through both tools.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{DEFAULT, ROOT, mlir_opt, programs, promote_opt};

/// The errors of our own in a report, as `place: code: message`. MLIR's have no code in `mlir-opt`.
fn errors(report: &str) -> BTreeSet<String> {
    let ours = |line: &str| {
        let (place, rest) = line.split_once(": error")?;
        // `error[P0007]: message`, or `error: message [P0007]`.
        let (code, message) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once("]: ")?,
            None => {
                let (message, code) = rest.strip_prefix(": ")?.rsplit_once(" [")?;
                (code.strip_suffix(']')?, message)
            }
        };
        (code.starts_with('P') && code != "P0001").then(|| format!("{place}: {code}: {message}"))
    };
    report.lines().filter_map(ours).collect()
}

fn all() -> Vec<String> {
    let folders = ["examples", "tests/files"].map(|folder| programs(&Path::new(ROOT).join(folder)));
    folders.concat().iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn every_program_becomes_what_promote_opt_makes_of_it() {
    let (mut promoted, mut refused) = (0, 0);
    for program in all() {
        let expected = promote_opt(&[&program]);
        let pipeline = format!("--pass-pipeline={DEFAULT}");
        let found = mlir_opt(&[&program, &pipeline, "--allow-unregistered-dialect"], "");
        assert_eq!(found.succeeded, expected.succeeded, "{program}\n{}{}", found.err, expected.err);
        if expected.succeeded {
            assert_eq!(found.out, expected.out, "{program}");
            promoted += 1;
        } else {
            let (found, expected) = (errors(&found.err), errors(&expected.err));
            assert_eq!(found, expected, "{program}");
            refused += usize::from(!expected.is_empty());
        }
    }
    assert!(promoted > 50 && refused > 10, "{promoted} were promoted, and {refused} refused");
}

#[test]
fn passes_nest_and_run_one_by_one() {
    let passes = "promote-infer-types,promote-insert-converts,promote-fold-converts,promote-verify-strong";
    let program = format!("{ROOT}/examples/rms_norm.mlir");
    let expected = promote_opt(&[&program]).text();
    for pipeline in [
        format!("builtin.module({passes})"),
        format!("builtin.module(func.func({passes}))"),
        "builtin.module(func.func(promote-default))".to_owned(),
        "builtin.module(any(promote-infer-types),func.func(promote-insert-converts),promote-fold-converts)"
            .to_owned(),
    ] {
        let found = mlir_opt(&[&program, &format!("--pass-pipeline={pipeline}"), "--verify-each"], "");
        assert_eq!(found.text(), expected, "{pipeline}");
    }
}

#[test]
fn what_is_promoted_is_lowered_by_passes_of_both() {
    let program = format!("{ROOT}/examples/rms_norm.mlir");
    let lowering =
        "promote-default,cse,promote-to-linalg,canonicalize,func.func(linalg-fuse-elementwise-ops)";
    let lowered = mlir_opt(&[&program, &format!("--pass-pipeline=builtin.module({lowering})")], "").text();
    assert!(lowered.contains("linalg.generic") && !lowered.contains("promote."), "{lowered}");
}

#[test]
fn threads_of_mlir_change_nothing() {
    let function = |index: usize| {
        format!(
            "func.func @f{index}(%x: tensor<?xbf16>, %y: tensor<?xi32>) -> tensor<*x!promote.unknown> {{
  %0 = \"promote.add\"(%x, %y) : (tensor<?xbf16>, tensor<?xi32>) -> tensor<*x!promote.unknown>
  %1 = \"promote.sqrt\"(%0) : (tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
  return %1 : tensor<*x!promote.unknown>
}}\n"
        )
    };
    let text: String = (0..500).map(function).collect();
    for pipeline in [DEFAULT, "builtin.module(func.func(promote-default))"] {
        let pipeline = format!("--pass-pipeline={pipeline}");
        let alone = mlir_opt(&["-", &pipeline, "--mlir-disable-threading"], &text).text();
        assert_eq!(mlir_opt(&["-", &pipeline], &text).text(), alone);
        assert_eq!(alone.matches("promote.implicit").count(), 500);
    }
}
