//! Lattices of the user's own, given to `--semantics`.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{GOOD, PROMOTED, Run, Tool, run, show};

/// A dtype and an op that are misspelt.
const WRONG: &str = "base = \"jax\"\n[edges]\nf8E4M3 = [\"bf16\"]\n[ops.div]\ncompute = \"f32\" # 名\n";
/// Two dtypes with two least upper bounds.
const AMBIGUOUS: &str =
    "name = \"two ways\"\n[edges]\n\tu8 = [\"i16\", \"f16\"]\n\ti8 = [\"i16\", \"f16\"]\n";
/// A lattice in which bf16 is promoted to f16.
const HALF: &str = "base = 'jax'\n[edges]\nbf16 = ['f16']\n";

const ADDS: &str = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<8xbf16>, %y: tensor<8xf16>, %z: tensor<8xui64>) -> (!u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<8xbf16>, tensor<8xf16>) -> !u
  %1 = "promote.add"(%z, %0) : (tensor<8xui64>, !u) -> !u
  return %0, %1 : !u, !u
}
"#;

fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/lattices").join(name);
    path.to_str().expect("the repository's path is text").to_owned()
}

#[test]
fn a_file_says_how_to_promote() {
    let tool = Tool::new().with("half.toml", HALF);
    for value in ["half.toml", "./half.toml"] {
        let run = tool.run_on(ADDS, ["--semantics", value]).succeeded();
        assert!(run.text().contains("-> (tensor<8xf16>, tensor<8xf16>)"), "{run}");
    }
    let run = tool.run_on(ADDS, ["-semantics=half.toml", "--x64", "--remarks"]);
    assert_eq!(run.status, Some(0), "{run}");
    assert!(run.stderr.contains("remark[P0030]") && run.stderr.contains("bf16 → f16"), "{run}");
}

#[test]
fn a_name_with_a_separator_is_a_file_whatever_it_ends_in() {
    let tool = Tool::new().with("half", HALF);
    tool.run_on(ADDS, ["--semantics=./half"]).succeeded();
    tool.run_on(ADDS, ["--semantics=half"]).misused();
}

#[test]
fn shipped_examples_are_accepted() {
    let examples = fs::read_dir(shipped("")).expect("there are examples");
    for example in examples {
        let path = example.expect("they can be listed").path();
        let path = path.to_str().expect("the repository's path is text");
        assert_eq!(run(GOOD, &["--semantics", path]).succeeded().text(), PROMOTED);
    }
}

#[test]
fn a_lattice_refuses_programs_in_its_own_name() {
    let run = run(ADDS, &["--semantics", &shipped("strict-64.toml")]).refused();
    assert!(
        run.stderr.contains(
            "error[P0007]: strict-64 does not promote u64 and f32 to one dtype: u64 and f32 have no upper bound"
        ),
        "{run}"
    );
    let run =
        self::run(GOOD.replace("f32", "f64"), &["--semantics", &shipped("accelerator-f8.toml")]).refused();
    assert!(run.stderr.contains("accelerator-f8 has no dtype f64"), "{run}");
}

#[test]
fn all_that_is_wrong_with_a_file_is_shown_in_its_lines() {
    let args = &["--semantics=mine.toml", "-o", "out.mlir"];
    let mut output = String::new();
    for text in [WRONG, AMBIGUOUS] {
        let tool = Tool::new().with("mine.toml", text);
        let run = tool.run_on(GOOD, args).refused();
        assert_eq!(tool.files(), ["mine.toml"], "nothing is written");
        output.push_str(&show(args, &run));
    }
    assert_snapshot!(output);
}

#[test]
fn files_that_are_no_text() {
    let wrong = |bytes: &[u8], reason: &str| {
        let run = Tool::new().with("mine.toml", bytes).run_on(GOOD, ["--semantics=mine.toml"]).refused();
        assert!(run.stderr.starts_with("mine.toml:1:"), "{run}");
        assert!(run.stderr.contains("error[P0025]") && run.stderr.contains(reason), "{run}");
    };
    wrong(b"base = 'j\xffx'", "is not UTF-8 text");
    wrong(b"base = 'j\0x'", "has a NUL byte");
    wrong(b"ML\xefR", "is MLIR bytecode");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let tool = Tool::new();
    for (path, reason) in [("none.toml", "there is no such file"), ("./", "it is a directory")] {
        let run = tool.run_on(GOOD, ["--semantics", path]).refused();
        assert!(run.stderr.contains(&format!("error[P0025]: cannot read `{path}`: {reason}")), "{run}");
    }
}

#[test]
fn a_name_that_is_none_may_be_a_file() {
    let run = Tool::new().with("half.toml", HALF).run_on(GOOD, ["--semantics=half"]).misused();
    assert!(run.stderr.contains("there is no semantics `half`"), "{run}");
    assert!(run.stderr.contains("help: write half.toml"), "{run}");
}

#[test]
fn errors_are_structured_too() {
    let output = |format: &str| -> Run {
        let tool = Tool::new().with("mine.toml", AMBIGUOUS);
        tool.run_on(GOOD, ["--semantics=mine.toml", "--diagnostics-format", format])
    };
    let json = output("json");
    assert_eq!(json.status, Some(1), "{json}");
    let error: Value = serde_json::from_str(&json.stderr).expect("one line of JSON");
    assert_eq!((&error["code"], &error["file"]), (&"P0025".into(), &"mine.toml".into()));
    assert_eq!((&error["line"], &error["column"]), (&4.into(), &15.into()));
    assert_eq!(error["message"], "u8 and i8 have two least upper bounds: i16 and f16");
    let sarif = output("sarif");
    assert_eq!(sarif.status, Some(1), "{sarif}");
    let document: Value = serde_json::from_str(&sarif.stderr).expect("the document is JSON");
    let result = &document["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "P0025");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 4);
}
