//! What tensor cores multiply: integers of 8 bits always, whose sums are exact, and floats where that is asked for.

use promote::device::{TensorCores, compile_for};
use promote::{CompileOptions, Source};

use super::{assembled, checked, target};
use crate::execution::support::{known, session};

/// The PTX of a product of two large matrices, for an architecture.
fn product(dtype: &str, architecture: &str, tensor_cores: TensorCores) -> String {
    let r#type = format!("tensor<?x?x{dtype}>");
    let text = format!(
        "func.func @f(%x: {type}, %y: {type}) -> !u {{\n  %r = \"promote.matmul\"(%x, %y) : ({type}, {type}) -> !u\n  return %r : !u\n}}\n"
    );
    compiled(&text, architecture, tensor_cores)
}

fn compiled(text: &str, architecture: &str, tensor_cores: TensorCores) -> String {
    let session = session("jax", true, false);
    let mut module = session.parse(Source::Text(&known(text))).expect("it is read");
    let options = CompileOptions { tensor_cores, ..CompileOptions::default() };
    let code = compile_for(&session, &mut module, &options, target(architecture));
    let code = code.unwrap_or_else(|error| panic!("{error}"));
    checked(&code).unwrap_or_else(|why| panic!("{why}"))
}

fn count(ptx: &str) -> usize {
    ptx.lines().filter(|line| line.contains("mma.sync")).count()
}

#[test]
fn bytes_are_multiplied_by_tensor_cores_that_there_are() {
    for (dtype, instruction) in [("i8", "s32.s8.s8.s32"), ("ui8", "s32.u8.u8.s32")] {
        let text = product(dtype, "sm_80", TensorCores::default());
        assert!(text.contains(&format!("mma.sync.aligned.m16n8k32.row.col.{instruction}")), "{text}");
    }
    for (dtype, architecture) in [("i8", "sm_75"), ("i16", "sm_90"), ("f32", "sm_90"), ("i64", "sm_90")] {
        let text = product(dtype, architecture, TensorCores::default());
        assert_eq!(count(&text), 0, "{dtype} {architecture}:\n{text}");
    }
}

#[test]
fn floats_are_multiplied_by_tensor_cores_where_that_is_asked_for() {
    for (dtype, factors) in
        [("bf16", "bf16.bf16"), ("f16", "f16.f16"), ("f8E4M3FN", "f16.f16"), ("f8E8M0FNU", "bf16.bf16")]
    {
        let text = product(dtype, "sm_90", TensorCores::All);
        let instruction = format!("mma.sync.aligned.m16n8k16.row.col.f32.{factors}.f32");
        assert!(text.contains(&instruction), "{dtype}:\n{text}");
        assert_eq!(count(&product(dtype, "sm_90", TensorCores::Exact)), 0, "{dtype}");
    }
    for dtype in ["f32", "f64"] {
        assert_eq!(count(&product(dtype, "sm_90", TensorCores::All)), 0, "{dtype}");
    }
}

/// The PTX of a product of large matrices that are converted to the dtype of sums first.
fn converted(factors: [&str; 2], sum: &str, architecture: &str) -> String {
    let [left, right, wide] = [factors[0], factors[1], sum].map(|dtype| format!("tensor<?x?x{dtype}>"));
    compiled(
        &format!(
            "func.func @f(%x: {left}, %y: {right}) -> !u {{\n  \
             %a = \"promote.convert\"(%x) : ({left}) -> {wide}\n  \
             %b = \"promote.convert\"(%y) : ({right}) -> {wide}\n  \
             %r = \"promote.matmul\"(%a, %b) : ({wide}, {wide}) -> !u\n  return %r : !u\n}}\n"
        ),
        architecture,
        TensorCores::All,
    )
}

#[test]
fn products_by_tensor_cores_spill_nothing() {
    let of_sums = [
        (&["i8", "ui8"][..], "i32"),
        (&["bf16", "f8E8M0FNU", "f4E2M1FN", "f8E5M2FNUZ"], "f32"),
        (&["f16", "f4E2M1FN", "f8E4M3FN", "f6E3M2FN"], "f32"),
    ];
    let pairs = of_sums.iter().flat_map(|(dtypes, sum)| {
        dtypes.iter().flat_map(move |left| dtypes.iter().map(move |right| ([*left, *right], *sum)))
    });
    for (factors, sum) in pairs {
        for architecture in super::ARCHITECTURES {
            let text = converted(factors, sum, architecture);
            assert!(count(&text) > 0, "{factors:?} {architecture}: no tensor cores in\n{text}");
            let kernels = assembled(&text, architecture).unwrap_or_else(|why| panic!("{why}"));
            let slow: Vec<_> = kernels.into_iter().filter(super::Kernel::is_slow).collect();
            assert!(slow.is_empty(), "{factors:?} {architecture}: {slow:?}");
        }
    }
}
