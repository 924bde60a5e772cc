//! The lowering to StableHLO: what it returns, what it refuses, and that XLA gets the same numbers of it.
//!
//! Tests that run XLA need a Python with jax: the one of `tests/tools/venv.sh`, or `PROMOTE_PYTHON`.

mod execution;
pub mod machine;
mod ops;
mod precision;
mod random;
mod refusals;
mod snapshots;
mod sweep;

use promote::convert::Numerics;
use promote::{DType, Kind, Op};

use crate::support::{Outcome, run_in, session};

/// Dtypes that StableHLO does not have.
pub const LACKING: [DType; 4] = [DType::U1, DType::I1, DType::C32, DType::BC32];

/// Whether an op of operands of a dtype, of which nothing is known, may raise an exception: StableHLO has none.
pub fn raises(numerics: Numerics, op: Op, dtype: DType) -> bool {
    let is_integer = matches!(dtype.kind(), Kind::Unsigned | Kind::Signed);
    match numerics {
        Numerics::Jax => false,
        Numerics::NumPy => op == Op::Take || op == Op::Pow && dtype.kind() == Kind::Signed,
        Numerics::Torch => {
            op == Op::Take || matches!(op, Op::FloorDivide | Op::Remainder | Op::Fmod) && is_integer
        }
    }
}

/// The pipeline of `--emit=stablehlo`.
fn pipeline() -> String {
    promote::Pipeline::to_stablehlo().to_string()
}

/// What becomes of a source.
fn lower(semantics: &str, x64: bool, source: &str) -> Outcome {
    let source = source.replace("!u", "tensor<*x!promote.unknown>");
    run_in(&session(semantics, x64, false), &source, &pipeline())
}
