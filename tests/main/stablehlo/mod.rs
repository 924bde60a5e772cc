//! The lowering to StableHLO: what it gives, what it refuses, and that XLA gets the same numbers of it.
//!
//! Tests that run XLA need a Python with jax: `PROMOTE_PYTHON`, or `python3`. Without one they say so, and pass.

mod execution;
pub mod machine;
mod ops;
mod random;
mod refusals;
mod snapshots;
mod sweep;

use crate::support::{Outcome, run_in, session};

/// The pipeline of `--emit=stablehlo`.
fn pipeline() -> String {
    promote::Pipeline::to_stablehlo().to_string()
}

/// What becomes of a source.
fn lower(semantics: &str, x64: bool, source: &str) -> Outcome {
    let source = source.replace("!u", "tensor<*x!promote.unknown>");
    run_in(&session(semantics, x64, false), &source, &pipeline())
}
