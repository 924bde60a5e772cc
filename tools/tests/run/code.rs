//! `promote-opt --emit` for code: what is written, and where.

use std::path::Path;

use crate::support::{BAD, PROMOTE_OPT, Run, Tool};
use crate::{PROMOTE_RUN, ROWS};

fn emit(tool: &Tool, args: &[&str]) -> Run {
    tool.command(PROMOTE_OPT, ROWS, args)
}

#[test]
fn text_of_each_kind() {
    let tool = Tool::new();
    let text = |kind: &str| emit(&tool, &[&format!("--emit={kind}")]).succeeded().text().to_owned();
    assert!(text("llvm").contains("llvm.func @promote_rows("));
    assert!(text("llvm-ir").contains("define i32 @promote_rows("));
    assert!(text("asm").contains("promote_rows:"));
    let header = text("header");
    assert!(
        header.contains("int32_t promote_rows(const DLTensor *const *inputs, DLTensor *const *outputs);")
    );
    assert!(header.contains("inputs[0]: float32[?,3]"), "{header}");
}

#[test]
fn headers_are_made_without_code() {
    let tool = Tool::new();
    let timed = |kind: &str| emit(&tool, &["--emit", kind, "--mlir-timing", "-o", "out"]);
    assert!(timed("llvm").stderr.contains("promote-to-llvm"));
    let header = timed("header");
    assert!(header.stderr.contains("promote-verify-strong"), "{header}");
    assert!(!header.stderr.contains("-to-llvm"), "{header}");
    let weak = emit(&tool, &["--emit=header", "--pass-pipeline=builtin.module()"]).refused();
    assert!(weak.stderr.contains("error[P0016]"), "{weak}");
    let opaque =
        "func.func @f(%x: memref<4xf32>) { return }\nfunc.func private @g(%x: memref<4xf32>) { return }";
    let run = tool.command(PROMOTE_OPT, opaque, ["--emit=header"]).refused();
    let message = "<stdin>:1:1: error[P0038]: @f takes or returns a memref<4xf32>, which is not supported";
    assert!(run.stderr.starts_with(message) && !run.stderr.contains("@g"), "{run}");
}

#[test]
fn objects_and_libraries() {
    let tool = Tool::new();
    for kind in ["obj", "so", "runtime"] {
        emit(&tool, &["--emit", kind, "-o", kind]).succeeded();
        assert!(tool.read(kind).starts_with(b"\x7fELF"), "{kind}");
        // What is piped is the same.
        assert_eq!(emit(&tool, &["--emit", kind]).succeeded().stdout, tool.read(kind), "{kind}");
    }
    assert_eq!(tool.files(), ["obj", "runtime", "so"]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_is_for_the_processor_that_is_asked_for() {
    let tool = Tool::new();
    let program = r#"func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "promote.multiply"(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"#;
    let assembly = |cpu: &str| {
        let args = ["--emit=asm", "--target-cpu", cpu];
        tool.command(PROMOTE_OPT, program, args).succeeded().text().to_owned()
    };
    assert!(assembly("x86-64-v4").contains("%zmm"));
    assert!(!assembly("x86-64-v2").contains("%ymm"));
    let run = emit(&tool, &["--emit=asm", "--target-cpu=x86-64-v9"]).misused();
    assert!(
        run.stderr.contains("error[P0054]: unknown CPU 'x86-64-v9'") && run.stderr.contains("did you mean"),
        "{run}"
    );
    for program in [PROMOTE_OPT, PROMOTE_RUN] {
        let help = tool.command(program, "", ["--target-cpu=help"]).succeeded();
        assert!(
            help.text().starts_with("native (this machine: ") && help.text().contains("\nx86-64-v3\n"),
            "{help}"
        );
    }
}

#[test]
fn code_is_for_the_machine_that_is_asked_for() {
    /// Where an ELF object says for which machine it is.
    const MACHINE: usize = 18;
    let tool = Tool::new();
    for (triple, machine) in [
        ("x86_64-linux-gnu", 62),
        ("aarch64-linux-gnu", 183),
        ("riscv64-linux-gnu", 243),
        ("powerpc64le-linux-gnu", 21),
        ("loongarch64-linux-gnu", 258u16),
    ] {
        let run = emit(&tool, &["--emit=obj", "--target", triple]).succeeded();
        assert_eq!(run.stdout[MACHINE..MACHINE + 2], machine.to_le_bytes(), "{triple}");
    }
    let arm =
        emit(&tool, &["--emit=asm", "--target=aarch64-linux-gnu", "--target-cpu=neoverse-n1"]).succeeded();
    assert!(arm.text().contains("fmul\tv") || arm.text().contains("fadd\tv"), "{arm}");
    let help = emit(&tool, &["--target=aarch64-linux-gnu", "--target-cpu=help"]).succeeded();
    assert!(help.text().contains("\nneoverse-n1\n") && !help.text().contains("native"), "{help}");

    let foreign = if cfg!(target_arch = "aarch64") { "riscv64-linux-gnu" } else { "aarch64-linux-gnu" };
    for kind in ["so", "runtime"] {
        let run = emit(&tool, &["--emit", kind, "--target", foreign, "-o", "out"]).misused();
        assert!(run.stderr.contains("is available for this machine only, not for "), "{run}");
    }
    for (args, message) in [
        (&["--target=i686-linux-gnu"][..], "its pointers have 32 bits, and 64 are needed"),
        (&["--target=none-such"], "no code generator for none-such"),
        (&["--target", foreign, "--target-cpu=native"], "the CPU 'native' is this machine's"),
        (&["--target", foreign, "--target-features=+none-such"], "unknown feature '+none-such'"),
    ] {
        let args = [&["--emit=obj", "-o", "out"], args].concat();
        let run = emit(&tool, &args).misused();
        assert!(run.stderr.contains(message) && run.stderr.contains("help: "), "{run}");
    }
    assert_eq!(tool.files(), [] as [String; 0]);
}

#[test]
fn a_process_that_llvm_ends_is_an_error() {
    let tool = Tool::new();
    // LLVM finds them to exclude each other only when it begins, and ends the process.
    let args = ["--emit=obj", "--target=riscv64-linux-gnu", "--target-features=+zfinx", "-o", "out"];
    let run = emit(&tool, &args);
    assert_eq!(run.status, Some(1), "{run}");
    assert!(run.stderr.contains("LLVM ERROR: 'f' and 'zfinx' extensions are incompatible"), "{run}");
    let reported = "error[P0099]: MLIR stopped working on";
    assert!(run.stderr.contains(reported) && run.stderr.contains("help: "), "{run}");
    assert_eq!(tool.files(), [] as [String; 0]);
}

#[test]
fn refusals_write_nothing() {
    let tool = Tool::new();
    for kind in ["llvm", "llvm-ir", "asm", "obj", "so", "header"] {
        let run = tool.command(PROMOTE_OPT, BAD, ["--emit", kind, "-o", "out"]).refused();
        assert!(run.stderr.contains("<stdin>:3:8: error[P0007]"), "{run}");
    }
    assert_eq!(tool.files(), [] as [String; 0]);
}

#[test]
fn code_is_made_of_a_whole_file() {
    let tool = Tool::new();
    for flag in ["--split-input-file", "--verify-diagnostics"] {
        let run = emit(&tool, &["--emit=obj", flag]).misused();
        assert!(run.stderr.contains("code is generated for a whole file"), "{run}");
        emit(&tool, &["--emit=llvm", flag]).succeeded();
    }
}

#[test]
fn a_linker_that_fails_is_an_error() {
    let tool = Tool::new().with_variable("CC", "no-such-compiler");
    let run = emit(&tool, &["--emit=so", "-o", "f.so"]).refused();
    assert!(
        run.stderr.contains("error[P0054]: the linker failed") && run.stderr.contains("no-such-compiler"),
        "{run}"
    );
    assert!(!Path::new(&tool.path("f.so")).exists());
}

#[test]
fn libraries_are_linked_wherever_their_files_are() {
    let tool = Tool::new();
    for place in ["a,b", "a b", "-Wl,-r", "$HOME", "\"'"] {
        let temporary = tool.path(place).join("tmp");
        std::fs::create_dir_all(&temporary).expect("the directory can be written to");
        let output = tool.path(place).join("lib,x.so");
        let run = tool.command(
            "env",
            ROWS,
            [
                std::ffi::OsString::from(format!("TMPDIR={}", temporary.display())),
                PROMOTE_OPT.into(),
                "--emit=so".into(),
                "-o".into(),
                output.clone().into(),
            ],
        );
        run.succeeded();
        assert!(std::fs::read(output).expect("it is there").starts_with(b"\x7fELF"), "{place}");
        assert_eq!(std::fs::read_dir(temporary).expect("it is there").count(), 0, "{place}");
    }
    let nowhere = Tool::new().with_variable("TMPDIR", "/no/such/directory");
    let run = emit(&nowhere, &["--emit=so", "-o", "f.so"]).refused();
    assert!(run.stderr.contains("error[P0021]: cannot make a directory in `/no/such/directory`"), "{run}");
    assert!(nowhere.files().is_empty());
}

/// Code that brings memory into the caches ahead of time, for machines on which 32-bit arguments are extended.
#[test]
fn prefetches_are_valid_on_every_machine() {
    let text = "func.func @turn(%x: tensor<300x200xf32>) -> tensor<200x300xf32> {
  %r = \"promote.permute_dims\"(%x) {permutation = array<i64: 1, 0>} : (tensor<300x200xf32>) -> tensor<200x300xf32>
  return %r : tensor<200x300xf32>
}
";
    let tool = Tool::new().with("turn.mlir", text);
    for triple in ["x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu", "powerpc64le-linux-gnu"] {
        let target = format!("--target={triple}");
        tool.command(PROMOTE_OPT, "", ["turn.mlir", "--emit=obj", &target, "-o", "turn.o"]).succeeded();
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn what_is_read_later_goes_to_the_cache_that_suits_the_processor() {
    let tool = Tool::new();
    let column = r#"func.func @f(%x: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %0 = "promote.max"(%x) {axis = array<i64: 0>} : (tensor<4096x4096xf32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}
"#;
    let rows = r#"func.func @f(%x: tensor<50000x64xf32>, %i: tensor<1000xi32>) -> tensor<1000x64xf32> {
  %0 = "promote.take"(%x, %i) {axis = 0 : i64} : (tensor<50000x64xf32>, tensor<1000xi32>) -> tensor<1000x64xf32>
  return %0 : tensor<1000x64xf32>
}
"#;
    let backward = r#"func.func @f(%x: tensor<4096x128xf32>) -> tensor<4096x128xf32> {
  %0 = "promote.flip"(%x) {axis = array<i64: 0>} : (tensor<4096x128xf32>) -> tensor<4096x128xf32>
  %1 = "promote.exp"(%0) : (tensor<4096x128xf32>) -> tensor<4096x128xf32>
  return %1 : tensor<4096x128xf32>
}
"#;
    // What comes from near, or lane by lane, goes to the first-level cache everywhere.
    for (what, program) in [("a column", column), ("rows", rows), ("rows in reverse order", backward)] {
        let count = |cpu: &str| {
            let args = ["--emit=asm", "--target-cpu", cpu];
            let text = tool.command(PROMOTE_OPT, program, args).succeeded().text().to_owned();
            ["prefetcht0", "prefetcht1"].map(|name| text.matches(name).count())
        };
        let [[to_first, none], [others, to_second]] = [count("znver5"), count("znver4")];
        assert!(to_first > 0 && none == 0, "{what}: {to_first}, {none}");
        assert!(others < to_first && to_second > 0, "{what}: {others}, {to_second}");
    }
}

/// LLVM moves a comparison in front of the choice of what is compared, where that is from one vector, and then chooses truth values.
#[test]
fn truth_of_short_rows_is_found_in_what_was_chosen() {
    let tool = Tool::new();
    for (length, dtype) in [(2, "f32"), (3, "f32"), (3, "f64"), (4, "f32")] {
        let x = format!("tensor<3000x{length}x{dtype}>");
        let program = format!(
            "func.func @f(%x: {x}) -> tensor<3000xi1> {{
  %0 = \"promote.negative\"(%x) : ({x}) -> {x}
  %1 = \"promote.any\"(%0) {{axis = array<i64: 1>}} : ({x}) -> tensor<3000xi1>
  return %1 : tensor<3000xi1>
}}
"
        );
        for cpu in ["znver4", "x86-64-v3"] {
            let args = ["--emit=llvm-ir", "--target-cpu", cpu];
            let text = tool.command(PROMOTE_OPT, &*program, args).succeeded().text().to_owned();
            assert!(text.contains("shufflevector"), "{x} on {cpu}");
            assert!(!text.contains("x i1> poison, <"), "{x} on {cpu}");
        }
    }
}
