//! Libraries in processes of other languages: stacks of all sizes, children by `fork`, and nothing but the C library.

use crate::needed::programs;
use crate::support::{PROMOTE_OPT, Run, Tool};

const PROGRAM: &str = r#"!v = tensor<?xi64>
func.func @deep(%n: index, %x: !v) -> !v {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %stops = arith.cmpi sle, %n, %zero : index
  %r = scf.if %stops -> (!v) {
    scf.yield %x : !v
  } else {
    %less = arith.subi %n, %one : index
    %rest = func.call @deep(%less, %x) : (index, !v) -> !v
    %sum = "promote.add"(%rest, %x) : (!v, !v) -> !v
    scf.yield %sum : !v
  }
  return %r : !v
}
func.func @wide(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c = "promote.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %y = "promote.add"(%x, %c) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %s = "promote.cumulative_sum"(%y) : (tensor<?xf32>) -> tensor<?xf32>
  %z = "promote.sort"(%s) {axis = array<i64: 0>} : (tensor<?xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}
"#;

#[track_caller]
fn worked(run: Run) -> String {
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run}");
    run.text().to_owned()
}

/// A directory with the library.
fn library() -> Tool {
    programs(&["cc"]);
    let tool = Tool::new().with("deep.mlir", PROGRAM);
    for (kind, out) in [("so", "libdeep.so"), ("header", "deep.h")] {
        let kind = format!("--emit={kind}");
        tool.command(PROMOTE_OPT, "", ["deep.mlir", "--semantics=numpy2", &kind, "-o", out]).succeeded();
    }
    tool
}

/// The same, with a C program that uses it.
fn program() -> Tool {
    let tool = library().with("processes.c", include_str!("processes.c"));
    let built =
        "cc -std=gnu99 -Wall -Wextra -Werror -I. processes.c -L. -ldeep -lpthread -Wl,-rpath,. -o processes";
    worked(tool.shell(built));
    tool
}

#[test]
fn stacks_of_all_sizes() {
    let tool = program();
    for limit in ["512", "8192", "unlimited"] {
        let text = worked(tool.shell(&format!("ulimit -S -s {limit} && ./processes")));
        let (refusal, rest) = text.split_once('\n').expect("it prints lines");
        assert!(
            refusal.starts_with("promote_deep: deep.mlir:10:13: func.call @deep: the call needs "),
            "{refusal}"
        );
        assert_eq!(rest, "main thread: 0, right\n", "with ulimit -s {limit}");
    }
}

#[test]
fn children_of_a_process_with_calls_in_progress() {
    let tool = program();
    assert_eq!(worked(tool.shell("./processes 300")), "300 children, 0 failed\n");
}

#[test]
fn a_library_needs_the_c_library_only() {
    let tool = library();
    programs(&["readelf", "nm"]);
    let needed = worked(tool.shell("readelf -d libdeep.so | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p'"));
    let of_system = ["libc.so.", "libm.so.", "libgcc_s.so.", "libpthread.so.", "libdl.so.", "ld-linux"];
    for library in needed.lines() {
        assert!(of_system.iter().any(|name| library.starts_with(name)), "{library}");
    }
    let undefined = worked(tool.shell("nm -D --undefined-only libdeep.so"));
    for line in undefined.lines() {
        let (kind, name) = line.trim().split_once(' ').expect("a kind and a name");
        assert!(kind == "w" || ["@GLIBC_", "@GCC_"].iter().any(|version| name.contains(version)), "{line}");
    }
    let shown = worked(tool.shell("nm -D --defined-only --format=just-symbols libdeep.so | sort"));
    let functions = ["deep", "deep_shape", "get_num_threads", "last_error", "set_flush_denormals"];
    let functions = functions.iter().chain(&["set_num_threads", "wide", "wide_shape"]);
    let functions: String = functions.map(|name| format!("promote_{name}\n")).collect();
    assert_eq!(shown, format!("__tvm_ffi_deep\n__tvm_ffi_wide\n{functions}"));
}
