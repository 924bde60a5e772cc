//! Bytecode, in and out.

use crate::support::{BAD, GOOD, PROMOTED, Tool, run};

#[test]
fn what_is_written_can_be_read() {
    let tool = Tool::new().with("in.mlir", GOOD);
    for flags in [&["--emit=bytecode"][..], &["--emit-bytecode"], &["-emit-bytecode"]] {
        let bytecode = tool.run([&["in.mlir"], flags].concat()).succeeded().stdout;
        assert!(bytecode.starts_with(b"ML\xefR"), "{flags:?}");
        assert_eq!(tool.run_on(bytecode.clone(), [] as [&str; 0]).succeeded().text(), PROMOTED);
        std::fs::write(tool.path("out.mlirbc"), bytecode).unwrap();
        assert_eq!(tool.run(["out.mlirbc"]).succeeded().text(), PROMOTED);
    }
}

#[test]
fn a_program_before_promotion() {
    let tool = Tool::new().with("in.mlir", GOOD);
    tool.run(["in.mlir", "--pass-pipeline=", "--emit=bytecode", "-o", "raw.mlirbc"]).succeeded();
    assert_eq!(tool.run(["raw.mlirbc"]).succeeded().text(), PROMOTED);
    assert_eq!(tool.run_on(tool.read("raw.mlirbc"), ["-"]).succeeded().text(), PROMOTED);
    tool.run(["raw.mlirbc", "--emit=bytecode", "--verify-roundtrip", "-o", "done.mlirbc"]).succeeded();
    assert_eq!(tool.run(["done.mlirbc"]).succeeded().text(), PROMOTED);
}

#[test]
fn errors_point_into_the_text_it_was_made_from() {
    let tool = Tool::new().with("in.mlir", BAD);
    tool.run(["in.mlir", "--pass-pipeline=", "--emit=bytecode", "-o", "raw.mlirbc"]).succeeded();
    let run = tool.run(["raw.mlirbc"]).refused();
    assert!(run.stderr.contains("in.mlir:3:8: error[P0007]"), "{run}");
}

#[test]
fn nothing_is_written_to_a_terminal() {
    let tool = Tool::new().with("in.mlir", GOOD);
    let run = tool.shell("command -v script > /dev/null || exit 77; script -qec 'promote-opt in.mlir --emit=bytecode' /dev/null");
    if run.status != Some(77) {
        assert!(run.text().contains("it would garble the terminal"), "{run}");
        assert!(!run.text().contains("MLIR22"), "{run}");
    }
}

/// Every way to cut it off. MLIR may crash on damaged bytecode: that, too, is an error and writes nothing.
#[test]
fn truncated_bytecode_is_an_error() {
    let whole = run(GOOD, &["--pass-pipeline=", "--emit=bytecode"]).succeeded().stdout;
    let lengths: Vec<usize> = (1..whole.len()).step_by(7).collect();
    crate::support::in_parallel(&lengths, |length| {
        let tool = Tool::new().with("out.mlir", "precious");
        let run = tool.run_on(&whole[..*length], ["-o", "out.mlir"]);
        assert_eq!(run.status, Some(1), "{length}: {run}");
        assert!(run.stderr.contains("error[P"), "{length}: {run}");
        assert_eq!(tool.read("out.mlir"), b"precious");
    });
}
