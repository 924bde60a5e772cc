//! Ops of other dialects that follow rules: `--op-rules`.

use insta::assert_snapshot;

use crate::support::{GOOD, PROMOTED, Tool, run};

const PROGRAM: &str = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xi32>, %y: tensor<4xf32>) -> !u {
  %0 = "my.add"(%x, %y) : (tensor<4xi32>, tensor<4xf32>) -> !u
  return %0 : !u
}
"#;
const RULES: &str = "format = 1\n[ops]\n'my.add' = 'add'\n[convert]\n'signed -> f32' = 'my.cast'\n";
/// A key, an op, a kind and a recipe that are wrong.
const WRONG: &str = "format = 1\nbroadcast = 'a.b {kode = {kode}}'\n[op]\n[ops]\n\"my.add\" = \"ad\"\n[by-kind.mul]\nfloats = \"my.fmul\"\n";

#[test]
fn a_file_says_which_rules_ops_follow() {
    let tool = Tool::new().with("my.toml", RULES);
    let run = tool.run_on(PROGRAM, ["--op-rules", "my.toml"]).succeeded();
    assert!(run.text().contains("%0 = \"my.cast\"(%arg0) : (tensor<4xi32>) -> tensor<4xf32>"), "{run}");
    assert!(run.text().contains("-> tensor<4xf32> {"), "{run}");
    let run = tool.run_on(PROGRAM, ["--op-rules=stablehlo", "-op-rules=my.toml", "--remarks"]);
    assert!(
        run.stderr.contains("remark[P0030]: operand 0 of my.add (i32, f32) is converted from i32 to f32"),
        "{run}"
    );
}

#[test]
fn without_a_rule_ops_are_left_alone() {
    let run = run(PROGRAM, &["--op-rules=stablehlo"]).refused();
    assert!(run.stderr.contains("the dtype of the result of my.add"), "{run}");
    let run = Tool::new().run_on(GOOD, ["--op-rules=torch"]).succeeded();
    assert_eq!(run.text(), PROMOTED);
}

#[test]
fn the_pass_may_stand_in_a_pipeline_of_ones_own() {
    let tool = Tool::new().with("my.toml", RULES);
    let first = "builtin.module(promote-infer-types,promote-insert-converts)";
    let run = tool.run_on(PROGRAM, ["--op-rules=my.toml", "--pass-pipeline", first]).succeeded();
    assert!(run.text().contains("promote.convert"), "{run}");
    let then = "builtin.module(promote-apply-op-rules,cse)";
    let run = tool.run_on(run.text(), ["--op-rules=my.toml", "--pass-pipeline", then]).succeeded();
    assert!(run.text().contains("my.cast") && !run.text().contains("promote."), "{run}");
}

#[test]
fn the_shipped_files_are_listed() {
    assert_snapshot!(run("", &["--list-op-rules"]).succeeded().text(), @r"
    stablehlo   StableHLO, with stablehlo.convert and stablehlo.broadcast_in_dim
    tosa        TOSA, with tosa.cast, and tosa.reshape between ranks
    linalg      arith and math on tensors, with arith's conversions and linalg.generic
    torch       torch-mlir's torch dialect, with torch.aten.to.dtype
    ");
}

#[test]
fn all_that_is_wrong_with_a_file_is_shown_in_its_lines() {
    let tool = Tool::new().with("wrong.toml", WRONG);
    let run = tool.run_on(PROGRAM, ["--op-rules=wrong.toml"]).refused();
    assert_snapshot!(run.stderr, @r#"
    wrong.toml:2:13: error[P0041]: `{kode}` is not known: there are from, to, from.element, to.element, code, value, shape, rank, dimensions, map, identity, parallel; an attribute without a value is written { kode }
    broadcast = 'a.b {kode = {kode}}'
                ^
      help: write the name of an op, or ops in MLIR's generic form that take %x and make %result
    wrong.toml:3:2: error[P0041]: there is no key `op` in a rule file
    [op]
     ^
      help: write ops
    wrong.toml:5:12: error[P0041]: there is no op `ad`
    "my.add" = "ad"
               ^
      help: write add
    wrong.toml:7:1: error[P0041]: `floats` is not a dtype or kind of dtypes
    floats = "my.fmul"
    ^
      help: write "float"
    "#);
}

#[test]
fn a_file_that_is_no_text() {
    for bytes in [&b"format = 1\n\xff"[..], b"format = 1\n\0", b"\xef\xbb\xbfformat = 1\n"] {
        let tool = Tool::new().with("bytes.toml", bytes);
        let run = tool.run_on(PROGRAM, ["--op-rules=bytes.toml"]).refused();
        assert!(run.stderr.starts_with("bytes.toml:"), "{run}");
        assert!(
            run.stderr.ends_with("help: write the file as UTF-8 text, without a byte order mark\n"),
            "{run}"
        );
    }
}

#[test]
fn a_name_or_an_attribute_that_is_none() {
    let run = run(PROGRAM, &["--op-rules=onnx"]);
    assert_eq!(run.status, Some(2), "{run}");
    assert!(
        run.stderr.contains("there are no op rules `onnx`; there are: stablehlo, tosa, linalg, torch"),
        "{run}"
    );
    let rules = "format = 1\n[ops]\n'my.add {x = #y}' = 'add'\n";
    let run = Tool::new().with("my.toml", rules).run_on(PROGRAM, ["--op-rules=my.toml"]).refused();
    assert!(run.stderr.contains("op rules my: MLIR does not read the attribute x = #y"), "{run}");
}
