//! Where the result goes: all of it on success, nothing on refusal.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{BAD, GOOD, PROMOTED, Tool, run};

#[test]
fn standard_input_to_standard_output() {
    for args in [&[][..], &["-"], &["-", "-o", "-"], &["-o", "/dev/stdout"]] {
        assert_eq!(run(GOOD, args).succeeded().text(), PROMOTED, "{args:?}");
    }
}

#[test]
fn a_file_to_a_file() {
    let tool = Tool::new().with("in.mlir", GOOD);
    assert_eq!(tool.run(["in.mlir", "-o", "out.mlir"]).succeeded().text(), "");
    assert_eq!(tool.read("out.mlir"), PROMOTED.as_bytes());
    assert_eq!(tool.files(), ["in.mlir", "out.mlir"]);
}

#[test]
fn a_file_onto_itself() {
    let tool = Tool::new().with("a.mlir", GOOD);
    tool.run(["a.mlir", "-o", "a.mlir"]).succeeded();
    assert_eq!(tool.read("a.mlir"), PROMOTED.as_bytes());
}

#[test]
fn nothing_is_written_when_the_input_is_refused() {
    let tool = Tool::new().with("bad.mlir", BAD);
    for args in [&["bad.mlir", "-o", "out.mlir"][..], &["bad.mlir", "-o", "out.mlir", "--split-input-file"]] {
        assert_eq!(tool.run(args).refused().text(), "");
        assert_eq!(tool.files(), ["bad.mlir"]);
    }
    assert_eq!(tool.run(["bad.mlir"]).refused().text(), "");
}

#[test]
fn what_was_there_survives_a_refusal() {
    let tool = Tool::new().with("bad.mlir", BAD).with("out.mlir", "precious");
    for emit in ["mlir", "bytecode", "dot"] {
        tool.run(["bad.mlir", "-o", "out.mlir", "--emit", emit]).refused();
    }
    assert_eq!(tool.read("out.mlir"), b"precious");
    assert_eq!(tool.files(), ["bad.mlir", "out.mlir"]);
}

#[test]
fn what_was_there_survives_wrong_usage() {
    let tool = Tool::new().with("in.mlir", GOOD).with("out.mlir", "precious");
    tool.run(["in.mlir", "-o", "out.mlir", "--pass-pipeline=no-such-pass"]).misused();
    tool.run(["in.mlir", "-o", "out.mlir", "--semantics=none"]).misused();
    tool.run(["in.mlir", "-o", "out.mlir", "--no-such-flag"]).misused();
    assert_eq!(tool.read("out.mlir"), b"precious");
}

#[test]
fn one_part_that_is_refused_keeps_all_parts_from_the_file() {
    let parts = format!("{GOOD}// -----\n{BAD}// -----\n{GOOD}");
    let tool = Tool::new().with("parts.mlir", parts).with("out.mlir", "precious");
    tool.run(["parts.mlir", "--split-input-file", "-o", "out.mlir"]).refused();
    assert_eq!(tool.read("out.mlir"), b"precious");
}

#[test]
fn permissions_of_a_file_stay() {
    let tool = Tool::new().with("in.mlir", GOOD).with("out.mlir", "");
    fs::set_permissions(tool.path("out.mlir"), fs::Permissions::from_mode(0o640)).unwrap();
    tool.run(["in.mlir", "-o", "out.mlir"]).succeeded();
    assert_eq!(fs::metadata(tool.path("out.mlir")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn symbolic_links_are_followed() {
    let tool = Tool::new().with("in.mlir", GOOD).with("target.mlir", "");
    symlink("target.mlir", tool.path("link.mlir")).unwrap();
    symlink("new.mlir", tool.path("dangling.mlir")).unwrap();
    for (link, target) in [("link.mlir", "target.mlir"), ("dangling.mlir", "new.mlir")] {
        tool.run(["in.mlir", "-o", link]).succeeded();
        assert_eq!(tool.read(target), PROMOTED.as_bytes());
        assert!(fs::symlink_metadata(tool.path(link)).unwrap().is_symlink());
    }
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    let tool = Tool::new().with("in.mlir", GOOD).with("file", "");
    symlink("loop", tool.path("loop")).unwrap();
    for (path, reason) in [
        ("no/such/directory/out.mlir", "there is no such directory"),
        (".", "it is a directory"),
        ("file/out.mlir", "a part of the path is not a directory"),
        ("/dev/full", "no space is left"),
        ("/proc/out.mlir", "no such"),
        ("loop", "symbolic links"),
    ] {
        let run = tool.run(["in.mlir", "-o", path]).refused();
        assert!(run.stderr.contains("error[P0021]: cannot write `"), "{run}");
        assert!(run.stderr.contains(path) && run.stderr.contains(reason), "{run}");
    }
    assert_eq!(tool.files(), ["file", "in.mlir", "loop"]);
}

#[test]
fn a_directory_that_may_not_be_written() {
    let tool = Tool::new().with("in.mlir", GOOD);
    fs::create_dir(tool.path("closed")).unwrap();
    fs::set_permissions(tool.path("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let run = tool.run(["in.mlir", "-o", "closed/out.mlir"]);
    // Root may write everywhere.
    if run.status != Some(0) {
        assert!(run.refused().stderr.contains("permission denied"));
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    let run = Tool::new().with("in.mlir", GOOD).shell("promote-opt in.mlir > /dev/full");
    assert!(run.clone().refused().stderr.contains("cannot write standard output: no space is left"), "{run}");
}

#[test]
fn information_that_cannot_be_written_is_an_error() {
    let tool = Tool::new();
    for (program, requests) in [
        (
            "opt",
            "--help -h --version --list-passes --show-dialects --explain=P0007 --completions=bash --target-cpu=help --emit=runtime",
        ),
        ("run", "--help -h --version --target-cpu=help"),
        (
            "lattice",
            "--help -h --version show table join&i32&f32 check diff&jax&numpy2 dot svg html --completions=bash",
        ),
    ] {
        for request in requests.split(' ') {
            let command = format!("promote-{program} {}", request.replace('&', " "));
            let run = tool.shell(&format!("{command} > /dev/full"));
            assert_eq!(run.status, Some(1), "{command}: {run}");
            let message = "cannot write standard output: no space is left";
            assert!(
                run.stderr.starts_with(&format!("promote-{program}: error")) && run.stderr.contains(message),
                "{command}: {run}"
            );
            let read = tool.shell(&format!("set -o pipefail; {command} | head -c 1 > /dev/null"));
            assert_eq!(read.stderr, "", "{command}");
        }
    }
}

#[test]
fn a_file_size_limit_is_an_error_and_leaves_nothing() {
    let many: String =
        (0..500).map(|i| GOOD.replace("@f", &format!("@f{i}")).replace("!u", &format!("!u{i}"))).collect();
    let tool = Tool::new().with("in.mlir", many);
    let run = tool.shell("ulimit -f 1; promote-opt in.mlir -o out.mlir").refused();
    assert!(run.stderr.contains("error[P0021]: cannot write `out.mlir`"), "{run}");
    assert_eq!(tool.files(), ["in.mlir"]);
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let many: String =
        (0..5000).map(|i| GOOD.replace("@f", &format!("@f{i}")).replace("!u", &format!("!u{i}"))).collect();
    let tool = Tool::new().with("in.mlir", many);
    let run = tool.shell("set -o pipefail; promote-opt in.mlir | head -1").succeeded();
    assert_eq!(run.text(), "module {\n");
    for information in ["--help", "--list-passes", "--completions=zsh", "--explain=P0007"] {
        let run = tool.shell(&format!("promote-opt {information} | head -1"));
        assert_eq!((run.stderr.as_str(), run.text().lines().count()), ("", 1), "{run}");
    }
}

#[test]
fn pipes_and_devices_are_written_in_place() {
    let tool = Tool::new().with("in.mlir", GOOD);
    tool.run(["in.mlir", "-o", "/dev/null"]).succeeded();
    let run = tool.shell("mkfifo pipe; cat pipe & promote-opt in.mlir -o pipe; wait").succeeded();
    assert_eq!(run.text(), PROMOTED);
}

/// Inference gives the operand of another dialect's op a type that does not fit the op's region.
const CLASH: &str = r#"#map = affine_map<(d0) -> (d0)>
func.func @clash(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "promote.abs"(%x) : (tensor<4xf32>) -> tensor<4x!promote.unknown>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%0 : tensor<4x!promote.unknown>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: !promote.unknown, %b: f32):
    linalg.yield %b : f32
  } -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"#;

#[test]
fn a_result_that_does_not_verify_is_not_printed() {
    let many: String = (0..10_000).map(|i| PROMOTED.replace("@f", &format!("@f{i}"))).collect();
    let tool = Tool::new().with("small.mlir", CLASH).with("large.mlir", format!("{CLASH}{many}"));
    for (file, flags) in [
        ("small.mlir", &[][..]),
        ("large.mlir", &[]),
        ("large.mlir", &["--mlir-disable-threading"]),
        ("large.mlir", &["-o", "out.mlir"]),
    ] {
        let run = tool.run([&[file, "--pass-pipeline=promote-infer-types"], flags].concat()).refused();
        assert_eq!(run.text().len(), 0, "{file}");
        assert!(run.stderr.starts_with(&format!("{file}:4:8: error[P0001]: 'linalg.generic' op")), "{run}");
        assert!(run.stderr.contains("\n  %1 = linalg.generic {"), "the line is shown: {run}");
    }
    assert_eq!(tool.files(), ["large.mlir", "small.mlir"]);
}
