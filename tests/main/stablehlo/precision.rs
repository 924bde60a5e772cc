//! Roundings to narrow floats: they survive XLA, whose default is to compute in wider floats where it likes.

use promote::{DType, Kind, RunOptions, Semantics};
use promote_reference::{Array, Number, Program, Value};

use super::machine::{Job, has_arrays, run};
use super::pipeline;
use crate::support::{Outcome, run_in, run_with, session};

/// A product that is rounded, and what is made of it in f32, where the rounding shows.
fn source(dtype: DType) -> String {
    let narrow = format!("tensor<256x{}>", dtype.mlir());
    format!(
        "func.func @f(%x: {narrow}, %y: {narrow}) -> (tensor<256xf32>, tensor<256xf32>, tensor<f32>) {{
  %0 = \"promote.multiply\"(%x, %y) : ({narrow}, {narrow}) -> {narrow}
  %1 = \"promote.convert\"(%0) : ({narrow}) -> tensor<256xf32>
  %2 = \"promote.subtract\"(%0, %y) : ({narrow}, {narrow}) -> {narrow}
  %3 = \"promote.square\"(%2) : ({narrow}) -> {narrow}
  %4 = \"promote.convert\"(%3) : ({narrow}) -> tensor<256xf32>
  %5 = \"promote.max\"(%1) : (tensor<256xf32>) -> tensor<f32>
  return %1, %4, %5 : tensor<256xf32>, tensor<256xf32>, tensor<f32>
}}
"
    )
}

fn arguments(dtype: DType) -> Vec<Array> {
    let number = |i: u32| Number::Real(f64::from(i.wrapping_mul(2_654_435_761) >> 16) / 26_000.0 + 0.26);
    let array = |from: u32| Array::new(dtype, vec![256], (from..from + 256).map(number).collect::<Vec<_>>());
    vec![array(1), array(1000)]
}

/// Whether XLA may compute a float in a wider one.
fn is_narrow(dtype: &DType) -> bool {
    dtype.kind() == Kind::Float && dtype.bits() < 32
}

/// The lowering with an allowance.
fn lowered(dtype: DType, excess_precision: bool) -> Outcome {
    let mut options = RunOptions::default();
    options.targets.stablehlo.excess_precision = excess_precision;
    run_with(&session("jax", true, false), &source(dtype), &pipeline(), options)
}

#[test]
fn narrow_floats_are_rounded_after_every_op() {
    let semantics = Semantics::by_name("jax", true).expect("the semantics exists");
    let session = session("jax", true, false);
    let dtypes: Vec<DType> = DType::strong().filter(|dtype| is_narrow(dtype) && has_arrays(*dtype)).collect();
    assert!(dtypes.len() > 8, "{dtypes:?}");
    let job = |dtype: &DType| {
        let lowered = run_in(&session, &source(*dtype), &pipeline());
        assert!(!lowered.text.is_empty(), "{dtype}: {}", lowered.diagnostics_text());
        Job { text: lowered.text, inputs: arguments(*dtype) }
    };
    let jobs: Vec<Job> = dtypes.iter().map(job).collect();
    let answers = run(&jobs.iter().collect::<Vec<_>>());
    for (dtype, answer) in dtypes.iter().zip(answers) {
        let program = Program::read(&source(*dtype)).expect("the function is well formed");
        let values: Vec<_> = arguments(*dtype).into_iter().map(Value::Array).collect();
        let expected = program.run(&semantics, "f", &values).expect("the program runs").results;
        let found = answer.unwrap_or_else(|error| panic!("{dtype}: {error}"));
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let Value::Array(expected) = expected else { panic!("all results are arrays") };
            let bits =
                |array: &Array| array.elements.iter().map(|x| x.parts().0.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(found), bits(expected), "{dtype}, result {number}");
        }
    }
}

#[test]
fn what_keeps_roundings_can_be_left_out() {
    for (excess_precision, kept) in [(false, 3), (true, 0)] {
        let text = lowered(DType::BF16, excess_precision).text;
        assert_eq!(text.matches("stablehlo.reduce_precision").count(), kept, "{text}");
    }
}

#[test]
fn wide_floats_need_no_keeping() {
    for dtype in DType::strong().filter(|dtype| dtype.kind() == Kind::Float && !is_narrow(dtype)) {
        let text = lowered(dtype, false).text;
        assert!(!text.is_empty() && !text.contains("reduce_precision"), "{text}");
    }
}
