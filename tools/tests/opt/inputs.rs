//! What is read: files and streams of every kind, and what is wrong with them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{BAD, GOOD, PROMOTED, Run, Tool, run};

#[test]
fn files_that_cannot_be_read_are_named() {
    let tool = Tool::new();
    symlink("nowhere", tool.path("dangling")).unwrap();
    for (path, reason) in [
        ("missing.mlir", "there is no such file"),
        (".", "it is a directory"),
        ("dangling", "there is no such file"),
        ("missing/in.mlir", "there is no such file"),
    ] {
        let run = tool.run([path]).refused();
        assert!(run.stderr.contains(&format!("error[P0002]: cannot read `{path}`: {reason}")), "{run}");
        assert!(run.stderr.contains("  help: "), "{run}");
    }
}

#[test]
fn a_file_without_permission() {
    let tool = Tool::new().with("in.mlir", GOOD);
    fs::set_permissions(tool.path("in.mlir"), fs::Permissions::from_mode(0o000)).unwrap();
    let run = tool.run(["in.mlir"]);
    // Root may read everything.
    if run.status != Some(0) {
        assert!(run.refused().stderr.contains("permission denied"));
    }
}

#[test]
fn nothing_is_an_empty_module() {
    for nothing in ["", "\n", " \t\r\n", "// only a comment", "module {}"] {
        assert_eq!(run(nothing, &[]).succeeded().text(), "module {\n}\n\n", "{nothing:?}");
    }
    assert_eq!(Tool::new().run(["/dev/null"]).succeeded().text(), "module {\n}\n\n");
}

#[test]
fn streams_that_are_no_files() {
    let run = Tool::new().with("in.mlir", GOOD).shell("promote-opt <(cat in.mlir)").succeeded();
    assert_eq!(run.text(), PROMOTED);
}

#[test]
fn names_of_every_kind() {
    for name in
        [&b"-x.mlir"[..], b"with space.mlir", b"not-utf8-\xff.mlir", "名前.mlir".as_bytes(), b"new\nline"]
    {
        let name = OsStr::from_bytes(name);
        let tool = Tool::new().with(name, GOOD);
        assert_eq!(tool.run([OsStr::new("--"), name]).succeeded().text(), PROMOTED, "{name:?}");
        let run = Tool::new().with(name, BAD).run([OsStr::new("--"), name]).refused();
        assert!(run.stderr.contains(":3:8: error[P0007]"), "{run}");
        assert!(run.stderr.contains("  %0 = \"promote.add\""), "the line is shown: {run}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    for (bytes, message) in [
        (&b"module {\n  \xff\n}"[..], "<stdin>:2:3: error[P0002]: the input is not UTF-8 text: byte 0xff"),
        (b"module {\n\0}", "<stdin>:2:1: error[P0002]: the input has a NUL byte: byte 0x00"),
        (b"\xff\xfem\0o\0d\0", "<stdin>:1:1: error[P0002]: the input is not UTF-8 text: byte 0xff"),
        (b"\xef\xbb\xbfmodule {}", "<stdin>:1:1: error[P0002]: the input begins with a byte order mark"),
        (b"// \xe9\nmodule {}", "<stdin>:1:4: error[P0002]: the input is not UTF-8 text: byte 0xe9"),
    ] {
        let run = run(bytes, &[]).refused();
        assert!(run.stderr.starts_with(message), "{run}");
        assert!(run.stderr.contains("  help: write the file as UTF-8"), "{run}");
    }
}

#[test]
fn every_kind_of_line_end() {
    assert_eq!(run(GOOD.replace('\n', "\r\n"), &[]).succeeded().text(), PROMOTED);
    assert_eq!(run(GOOD.trim_end(), &[]).succeeded().text(), PROMOTED);
    let run = run(BAD.replace('\n', "\r\n"), &[]).refused();
    assert!(run.stderr.contains("<stdin>:3:8: error[P0007]"), "{run}");
    assert!(!run.stderr.contains('\r'), "{run}");
}

/// What MLIR's recursive parser would exhaust its stack on.
#[test]
fn twenty_thousand_levels_are_refused_where_they_are_too_deep() {
    const DEEP: usize = 20_000;
    let around = |open: &str, close: &str| format!("{}{}\n", open.repeat(DEEP), close.repeat(DEEP));
    let attribute = |value: String| format!("module attributes {{a.b = {value}}} {{}}\n");
    for (what, text) in [
        ("regions", around("\"a.b\"() ({\n", "}) : () -> ()\n")),
        ("modules", around("builtin.module {\n", "}\n")),
        ("functions", around("func.func @f() {\n", "return\n}\n")),
        ("tuples", format!("func.func private @f({})", around("tuple<", ">"))),
        ("function types", format!("func.func private @f({})", around("() -> (", ")"))),
        ("lists", attribute(around("[", "]"))),
        ("dictionaries", attribute(around("{a = ", "}"))),
        ("dense", attribute(format!("dense<{}> : tensor<1xi64>", around("[", "]")))),
        ("parentheses", attribute(around("(", ")"))),
        ("affine", attribute(format!("affine_map<(d0) -> ({} d0 {})>", "(".repeat(DEEP), ")".repeat(DEEP)))),
        ("locations", format!("module {{}} loc({} unknown {})", "fused[".repeat(DEEP), "]".repeat(DEEP))),
        ("unclosed", "{".repeat(DEEP)),
    ] {
        for args in [&[][..], &["--split-input-file"], &["--pass-pipeline="]] {
            let run = run(text.as_str(), args).refused();
            assert!(run.stderr.contains("error[P0003]: brackets are nested more than"), "{what}: {run}");
            assert!(run.stderr.starts_with("<stdin>:") && run.stderr.len() < 2000, "{what}: {run}");
        }
    }
}

#[test]
fn hundreds_of_levels_are_fine() {
    for (open, close) in [("builtin.module {\n", "}\n"), ("\"a.b\"() ({\n", "}) : () -> ()\n")] {
        let run = run(format!("{}{}", open.repeat(400), close.repeat(400)), &[]);
        assert!(run.succeeded().text().matches('{').count() >= 400);
    }
}

/// Aliases nest types and attributes without a bracket too many.
#[test]
fn levels_hidden_by_aliases_do_not_exhaust_the_stack() {
    let chain = |first: &str, next: &dyn Fn(usize) -> String, last: &dyn Fn(usize) -> String| {
        let mut text = first.to_owned();
        (1..20_000).for_each(|i| text.push_str(&next(i)));
        text + &last(19_999)
    };
    let tuples = chain("!t0 = tuple<i32>\n", &|i| format!("!t{i} = tuple<!t{}>\n", i - 1), &|i| {
        format!("func.func private @f(!t{i})\n")
    });
    let lists = chain("#a0 = [1]\n", &|i| format!("#a{i} = [#a{}]\n", i - 1), &|i| {
        format!("module attributes {{a.b = #a{i}}} {{}}\n")
    });
    let calls = chain(
        "#l0 = loc(\"a.mlir\":5:6)\n",
        &|i| format!("#l{i} = loc(callsite(#l{} at #l0))\n", i - 1),
        &|i| format!("%0 = \"promote.iota\"() {{axis = 7 : i64}} : () -> tensor<4xi32> loc(#l{i})\n"),
    );
    for text in [tuples, lists] {
        assert!(!run(text, &[]).succeeded().text().is_empty());
    }
    let run = run(calls, &[]).refused();
    assert!(run.stderr.starts_with("a.mlir:5:6: error[P0010]"), "{run}");
}

#[test]
fn a_huge_line_is_cut_where_it_is_shown() {
    let long = "x".repeat(3_000_000);
    for text in [
        format!("\"promote.sum\"() {{a = \"{long}\"}} : () -> ()\n"),
        format!("func.func @{long}() {{ \"promote.sum\"() : () -> () }}\n"),
    ] {
        let run = run(text, &[]).refused();
        assert!(run.stderr.len() < 4000, "{} bytes", run.stderr.len());
        assert!(run.stderr.contains('…') && run.stderr.contains('^'), "{run}");
    }
}

#[test]
fn all_errors_are_reported_in_order() {
    let ops: String = (0..2000)
        .map(|i| {
            format!(
                "  %{i} = \"promote.sum\"(%x) {{axis = array<i64: 1>}} : (tensor<4xf32>) -> tensor<f32>\n"
            )
        })
        .collect();
    let Run { stderr, .. } =
        run(format!("func.func @f(%x: tensor<4xf32>) {{\n{ops}  return\n}}\n"), &[]).refused();
    let places: Vec<_> = stderr.lines().filter(|line| line.contains(": error[P0010]: ")).collect();
    assert_eq!(places.len(), 2000);
    for (index, line) in places.into_iter().enumerate() {
        assert!(line.starts_with(&format!("<stdin>:{}:", index + 2)), "{line}");
    }
}

#[test]
fn little_memory_is_enough_or_an_error() {
    let tool = Tool::new().with("in.mlir", GOOD);
    for kilobytes in [400_000, 1_000_000, 4_000_000] {
        let run = tool.shell(&format!("ulimit -v {kilobytes}; promote-opt in.mlir")).succeeded();
        assert_eq!(run.text(), PROMOTED, "{kilobytes}");
    }
}
