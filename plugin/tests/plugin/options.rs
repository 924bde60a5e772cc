//! Options of passes and of the pipeline, and diagnostics.

use crate::support::{DEFAULT, ROOT, bare_mlir_opt, mlir_opt, plugin, promote_opt};

const MIXED: &str = r#"func.func @f(%x: tensor<4xi32>, %y: tensor<4xf16>) -> tensor<*x!promote.unknown> {
  %0 = "promote.add"(%x, %y) : (tensor<4xi32>, tensor<4xf16>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
"#;

fn promoted(pipeline: &str) -> crate::support::Run {
    mlir_opt(&["-", &format!("--pass-pipeline=builtin.module({pipeline})")], MIXED)
}

#[test]
fn options_choose_the_rules() {
    for (options, dtype) in [
        ("", "f16"),
        ("{semantics=jax}", "f16"),
        ("{semantics=numpy2}", "f64"),
        ("{semantics=torch}", "f16"),
        ("{semantics=numpy1 remarks=false}", "f64"),
    ] {
        let text = promoted(&format!("promote-default{options}")).text();
        assert!(text.contains(&format!("-> tensor<4x{dtype}> {{")), "{options}: {text}");
        let passes =
            ["promote-infer-types", "promote-insert-converts"].map(|pass| format!("{pass}{options}"));
        assert_eq!(promoted(&passes.join(",")).text(), text, "{options}");
    }
    // 64 bits are a question to JAX's rules.
    let argmax = "func.func @f(%x: tensor<4xf32>) -> tensor<*x!promote.unknown> {
  %0 = \"promote.argmax\"(%x) : (tensor<4xf32>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}";
    for (options, dtype) in [("", "i32"), ("{x64}", "i64"), ("{x64=false}", "i32")] {
        let pipeline = format!("--pass-pipeline=builtin.module(promote-default{options})");
        let text = mlir_opt(&["-", &pipeline], argmax).text();
        assert!(text.contains(&format!("-> tensor<{dtype}> {{")), "{options}: {text}");
    }
}

#[test]
fn a_lattice_of_the_users_own() {
    let lattice = "examples/lattices/bf16-below-f16.toml";
    let program = format!("{ROOT}/examples/rms_norm.mlir");
    let expected = promote_opt(&[&program, "--semantics", &format!("{ROOT}/{lattice}")]);
    let pipeline = format!("--pass-pipeline=builtin.module(promote-default{{semantics={lattice}}})");
    assert_eq!(mlir_opt(&[&program, &pipeline], "").text(), expected.text());
}

#[test]
fn ops_of_other_dialects_follow_rules() {
    let program = r#"func.func @mm(%a: !torch.vtensor<[64,16],f32>, %b: !torch.vtensor<[16,32],bf16>) -> !torch.vtensor {
  %0 = "torch.aten.mm"(%a, %b) : (!torch.vtensor<[64,16],f32>, !torch.vtensor<[16,32],bf16>) -> !torch.vtensor
  %1 = "torch.aten.exp"(%0) : (!torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}
"#;
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("mm.mlir").display().to_string();
    std::fs::write(&path, program).expect("the folder can be written to");
    let expected = promote_opt(&[&path, "--semantics=torch", "--op-rules=torch"]).text();
    assert!(expected.contains("torch.aten.to.dtype"), "{expected}");
    let options = "semantics=torch op-rules=torch";
    let of = |passes: &str| {
        let pipeline = format!("--pass-pipeline=builtin.module({passes})");
        mlir_opt(&[&path, &pipeline, "--allow-unregistered-dialect"], "").text()
    };
    let file = format!("{ROOT}/dialect/rules/torch.toml");
    assert_eq!(of(&format!("promote-default{{{options}}}")), expected);
    assert_eq!(of(&format!("func.func(promote-default{{{options}}})")), expected);
    assert_eq!(of(&format!("promote-default{{semantics=torch op-rules=linalg,{file}}}")), expected);
    let passes = [
        "promote-infer-types",
        "promote-insert-converts",
        "promote-fold-converts",
        "promote-verify-strong",
        "promote-apply-op-rules",
    ];
    assert_eq!(of(&passes.map(|pass| format!("{pass}{{{options}}}")).join(",")), expected);
    // Without rules, the ops are nobody's, and their types nobody infers.
    let pipeline = "--pass-pipeline=builtin.module(promote-default{semantics=torch})";
    let text = mlir_opt(&[&path, pipeline, "--allow-unregistered-dialect"], "").text();
    assert!(!text.contains("torch.aten.to.dtype") && text.contains("-> !torch.vtensor {"), "{text}");
}

#[test]
fn wrong_options_are_refused_in_plain_words() {
    for (pipeline, message) in [
        ("promote-default{semantics=fortran}", "error: promote-infer-types: there is no semantics `fortran`"),
        ("promote-fold-converts{semantics=}", "error: promote-fold-converts: there is no semantics ``"),
        ("promote-default{semantics=no/such.toml}", "cannot read no/such.toml"),
        ("promote-default{semantics=Cargo.toml}", "Cargo.toml: "),
        ("promote-default{op-rules=onnx}", "error: promote-infer-types: there are no op rules `onnx`"),
        ("promote-default{op-rules=torch,no/such.toml}", "cannot read no/such.toml"),
        ("promote-default{op-rules=Cargo.toml}", "Cargo.toml: "),
        ("promote-infer-types{warn=speed}", "unknown policy `speed`"),
        ("promote-infer-types{deny=widening,speed}", "unknown policy `speed`"),
        ("promote-default{speed=1}", "no such option speed"),
        ("promote-infer-types{x64=perhaps}", "'perhaps' is invalid value for boolean argument"),
        ("promote-everything", "'promote-everything' does not refer to a registered pass or pass pipeline"),
    ] {
        let report = promoted(pipeline).refusal();
        assert!(report.contains(message), "{pipeline}: {report}");
    }
}

#[test]
fn policies_and_remarks_are_diagnostics_of_mlir() {
    let expected = |severity: &str| format!("<stdin>:2:8: {severity}: ");
    let report = promoted("promote-default{warn=precision-loss remarks}");
    assert!(report.succeeded && report.err.contains(&expected("warning")), "{}", report.err);
    assert!(report.err.contains(&expected("remark")) && report.err.contains("[P0030]"), "{}", report.err);
    let report = promoted("promote-default{deny=widening,precision-loss}").refusal();
    assert!(report.contains(&expected("error")) && report.contains("[P0031]"), "{report}");
    assert_eq!(promoted("promote-default").err, "");
}

#[test]
fn errors_notes_and_remedies_are_where_verify_diagnostics_expects_them() {
    let text = r#"// expected-note@+2 {{operand 0 is tensor<4xf8E4M3FN>}}
// expected-note@+1 {{operand 1 is tensor<4xbf16>}}
func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) -> tensor<*x!promote.unknown> {
  // expected-error@+2 {{jax does not promote f8e4m3fn and bf16 to one dtype: f8e4m3fn and bf16 have no upper bound [P0007]}}
  // expected-note@+1 {{help: convert the operands to one dtype with promote.convert first}}
  %0 = "promote.add"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}

// -----

func.func @g(%x: tensor<4xi1>) -> tensor<*x!promote.unknown> {
  // expected-error@+1 {{jax has no subtract of b1}}
  %0 = "promote.subtract"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}
"#;
    let pipeline = format!("--pass-pipeline={DEFAULT}");
    let (split, first) = text.split_once("// -----").expect("there are two parts");
    mlir_opt(&["-", &pipeline, "--verify-diagnostics"], split).text();
    let flags = ["-", &pipeline, "--split-input-file", "--verify-diagnostics=only-expected"];
    mlir_opt(&flags, text).text();
    mlir_opt(&["-", &pipeline, "--verify-diagnostics=only-expected"], first).text();
    mlir_opt(&["-", &pipeline, "--verify-diagnostics"], MIXED.trim_end()).text();
}

#[test]
fn the_dialect_is_known_by_the_plugin_or_by_its_definition() {
    let passes = format!("--load-pass-plugin={}", plugin().display());
    let dialect = format!("--load-dialect-plugin={}", plugin().display());
    let pipeline = format!("--pass-pipeline={DEFAULT}");
    let expected = promoted("promote-default").text();
    let irdl = "--irdl-file=dialect/promote.irdl.mlir";
    assert_eq!(bare_mlir_opt(&["-", &passes, irdl, &pipeline], MIXED).text(), expected);
    // Without a pass, the dialect is read and written.
    let read = bare_mlir_opt(&["-", &dialect], MIXED).text();
    assert!(read.contains("!promote.unknown"), "{read}");
    assert!(bare_mlir_opt(&["-", &dialect, "--show-dialects"], "").text().contains("promote,"));
    // Without the dialect, passes say what is missing.
    let report = bare_mlir_opt(&["-", &passes, &pipeline], "module {}").refusal();
    assert!(report.contains("load this plugin by --load-dialect-plugin, too"), "{report}");
}

#[test]
fn the_pipeline_is_printed_with_its_options() {
    let flags =
        ["-", "--dump-pass-pipeline", "--pass-pipeline=builtin.module(promote-default{x64 deny=widening})"];
    let printed = mlir_opt(&flags, "module {}").err;
    assert!(printed.contains("promote-insert-converts{deny={widening} "), "{printed}");
    assert_eq!(printed.matches("x64=true").count(), 4, "{printed}");
}
