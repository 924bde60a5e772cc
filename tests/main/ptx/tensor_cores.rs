//! What tensor cores multiply: integers of 8 bits always, whose sums are exact, and floats where that is asked for.

use promote::device::{TensorCores, compile_for};
use promote::{CompileOptions, Source};

use super::{assembled, checked, target};
use crate::execution::support::{known, session};

/// The PTX of a product of two large matrices, for an architecture.
fn product(dtype: &str, architecture: &str, tensor_cores: TensorCores) -> String {
    let r#type = format!("tensor<?x?x{dtype}>");
    let text = known(&format!(
        "func.func @f(%x: {type}, %y: {type}) -> !u {{\n  %r = \"promote.matmul\"(%x, %y) : ({type}, {type}) -> !u\n  return %r : !u\n}}\n"
    ));
    let session = session("jax", true, false);
    let mut module = session.parse(Source::Text(&text)).expect("it is read");
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

#[test]
fn products_by_tensor_cores_spill_nothing() {
    for architecture in super::ARCHITECTURES {
        for dtype in ["i8", "ui8", "bf16", "f16", "f8E5M2"] {
            let text = product(dtype, architecture, TensorCores::All);
            let kernels = assembled(&text, architecture).unwrap_or_else(|why| panic!("{why}"));
            let slow: Vec<_> = kernels.into_iter().filter(super::Kernel::is_slow).collect();
            assert!(slow.is_empty(), "{dtype} {architecture}: {slow:?}");
        }
    }
}
