//! Results: printed, or written to files.

use crate::support::Tool;
use crate::{ROWS, floats, identity, npy, run, run_in};

const INPUTS: [&str; 4] = ["-i", "[[1, 2, 3]]", "-i", "[1, 1, 1]"];

#[test]
fn one_file_for_each_result() {
    let tool = Tool::new();
    let written = run_in(&tool, ROWS, &[&INPUTS[..], &["--output-dir", "new/results"]].concat()).succeeded();
    assert_eq!(written.text(), "");
    assert_eq!(tool.read("new/results/rows.0.npy"), npy("<f4", "(1, 3)", &floats(&[2., 3., 4.])));
    assert_eq!(tool.read("new/results/rows.1.npy"), npy("<f4", "(3,)", &floats(&[2., 3., 4.])));
    run_in(&tool, ROWS, &[&INPUTS[..], &["-o", "a.npy", "-o", "b.npy"]].concat()).succeeded();
    assert_eq!(tool.read("b.npy"), npy("<f4", "(3,)", &floats(&[2., 3., 4.])));
    assert_eq!(tool.files(), ["a.npy", "b.npy", "f.mlir", "new"]);
}

#[test]
fn all_files_or_none() {
    let tool = Tool::new();
    let run = run_in(&tool, ROWS, &[&INPUTS[..], &["-o", "a.npy", "-o", "no/such/b.npy"]].concat()).refused();
    assert!(run.stderr.contains("error[P0021]: cannot write `no/such/b.npy`"), "{run}");
    assert_eq!(tool.files(), ["f.mlir"]);
}

#[test]
fn narrow_dtypes_go_through_files() {
    let tool = Tool::new().with("x.npy", npy("<V1", "(3,)", &[0x38, 0xb8, 0x7f]));
    run_in(&tool, &identity("tensor<3xf8E4M3FN>"), &["-i", "x.npy", "-o", "y.npy"]).succeeded();
    assert_eq!(tool.read("y.npy"), tool.read("x.npy"));
    let shown = run_in(&tool, &identity("tensor<3xf8E4M3FN>"), &["-i", "x.npy"]).succeeded();
    assert_eq!(shown.text(), "same.0: float8_e4m3fn[3]\n[ 1.0, -1.0,  nan]\n");
}

#[test]
fn complex_numbers_of_two_bfloat16_are_none_of_two_halves() {
    for (element, name) in [("bf16", "bcomplex32"), ("f16", "complex32")] {
        let program = format!(
            "func.func @f(%x: tensor<3xcomplex<{element}>>) -> tensor<*x!promote.unknown> {{
  %0 = \"promote.cumulative_sum\"(%x) : (tensor<3xcomplex<{element}>>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}}
"
        );
        let run = run(&program, &["--semantics", "torch", "-i", "[1+1j, 2+1j, 3+1j]"]).succeeded();
        assert_eq!(run.text(), format!("f.0: {name}[3]\n[1.0+1.0j, 3.0+2.0j, 6.0+3.0j]\n"));
    }
}

#[test]
fn large_results_are_summarised_with_all_digits() {
    let program = r#"func.func @f() -> tensor<2000xf32> {
  %0 = "promote.iota"() {axis = 0 : i64} : () -> tensor<2000xf32>
  %1 = "promote.constant"() {value = dense<1.0e-1> : tensor<f64>} : () -> tensor<!promote.weak_float>
  %2 = "promote.multiply"(%0, %1) : (tensor<2000xf32>, tensor<!promote.weak_float>) -> tensor<2000xf32>
  return %2 : tensor<2000xf32>
}
"#;
    let run = run(program, &[]).succeeded();
    let [first, last] =
        [[0f32, 1.0, 2.0], [1997.0, 1998.0, 1999.0]].map(|xs| xs.map(|x| format!("{:9?}", x * 0.1)));
    let expected = format!("f.0: float32[2000]\n[{}, ..., {}]\n", first.join(", "), last.join(", "));
    assert_eq!(run.text(), expected);
}

#[test]
fn times_are_reported_beside_the_results() {
    let timed = run(ROWS, &[&INPUTS[..], &["--time=3", "--threads=1"]].concat());
    assert!(timed.status == Some(0) && timed.text().starts_with("rows.0"), "{timed}");
    assert!(
        timed.stderr.starts_with("promote, compile and load: ")
            && timed.stderr.contains("\n3 runs: minimum "),
        "{timed}"
    );
}

#[test]
fn denormals() {
    let program = r#"func.func @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = "promote.multiply"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
"#;
    let half = |flags: &[&str]| {
        run(program, &[&["-i", "1.1754944e-38", "-i", "0.5"][..], flags].concat())
            .succeeded()
            .text()
            .to_owned()
    };
    assert_eq!(half(&[]), "f.0: float32[]\n5.877472e-39\n");
    assert_eq!(half(&["--denormals=flush"]), "f.0: float32[]\n0.0\n");
}

/// Processors that flush denormal numbers take all of them for equal.
#[test]
fn extremes_of_flushed_denormals_are_elements_or_zero() {
    let program = r#"func.func @f(%x: tensor<?xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = "promote.max"(%x) : (tensor<?xf32>) -> tensor<f32>
  %1 = "promote.min"(%x) : (tensor<?xf32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
"#;
    let ran = run(program, &["-i", "[1e-39,6e-39,3e-39]", "--denormals=flush"]).succeeded();
    let lines: Vec<&str> = ran.text().lines().collect();
    let [_, largest, _, least] = lines[..] else { panic!("two results: {lines:?}") };
    for extreme in [largest, least] {
        assert!(["0.0", "1e-39", "6e-39", "3e-39"].contains(&extreme), "{lines:?}");
    }
}
