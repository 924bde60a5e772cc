//! Which dtypes TensorFlow's CPU kernels have, and which ops its modes promote: a row an op, as measured.

use DType::*;

pub(super) use super::super::operand::Output;
use super::super::refusal::Accepts;
use crate::dtype::DType;
use crate::op::Op;

/// The dtype rule of an op.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The kinds it has kernels for.
    pub accepts: Accepts,
    /// The dtypes of those kinds that it has no kernel for.
    pub lacks: &'static [DType],
    pub output: Output,
    /// Whether the modes promote its operands.
    pub promotes: bool,
    /// Whether, in the modes, what is computed from weak operands is weak.
    pub weak: bool,
}

pub(super) enum Rule {
    /// One dtype for all operands, or all but a condition.
    Row(Row),
    /// The first operand's dtype; the second holds indices.
    Take,
    /// The first operand's dtype, weak or not.
    First,
    /// The op's type says the dtype.
    Stated,
    /// TensorFlow has no such op, and how we know.
    None(&'static str),
}

/// An op that the modes promote, and that computes in the dtype of its operands.
const fn row(accepts: Accepts) -> Row {
    Row { accepts, lacks: &[], output: Output::Compute, promotes: true, weak: true }
}

/// An op that drops weakness.
const fn strong(accepts: Accepts) -> Row {
    Row { weak: false, ..row(accepts) }
}

/// An op that no mode promotes.
const fn equal(accepts: Accepts) -> Row {
    Row { promotes: false, ..strong(accepts) }
}

const UNSIGNED: &[DType] = &[U8, U16, U32, U64];

/// The rule of `op`; `modes` if one of the modes that promote is on.
pub(super) fn rule(op: Op, modes: bool) -> Rule {
    use Op::*;
    use {Accepts as A, Output as O};
    Rule::Row(match op {
        Constant | Iota | Convert => return Rule::Stated,
        Relax | Reshape | PermuteDims | BroadcastTo | ExpandDims | Squeeze | Flip | Slice => {
            return Rule::First;
        }
        Take => return Rule::Take,
        Trunc | Log2 | Log10 | SignBit | Cbrt | Exp2 | Hypot | LogAddExp | CopySign | Gcd | Lcm => {
            return Rule::None("tf.math has no such function");
        }
        Positive if !modes => return Rule::None("tensors have no unary plus"),

        Positive => row(A::ANY),
        Negative | Sign | Pow => Row { lacks: UNSIGNED, ..row(A::NUMBERS) },
        Abs => Row { lacks: UNSIGNED, output: O::RealPart, ..row(A::NUMBERS) },
        Imag => Row { output: O::RealPart, ..row(A::ANY) },
        Real => Row { output: O::RealPart, ..row(A::NUMBERS) },
        Angle | Var | Std => Row { output: O::RealPart, ..row(A::INEXACT) },
        Square | Conj | Add | Subtract | Multiply | Divide | Sum | Prod | Mean => row(A::NUMBERS),
        CumulativeSum | CumulativeProd => strong(A::NUMBERS),
        Sqrt | Rsqrt | Exp | Expm1 | Log | Log1p | Sin | Cos | Tan | Sinh | Cosh | Tanh | Asin | Acos
        | Atan | Asinh | Acosh | Atanh | Sigmoid | Reciprocal => row(A::INEXACT),
        Floor | Ceil | Erf | LogSumExp => row(A::FLOATS),
        Softmax => strong(A::FLOATS),
        Round | FloorDivide | Remainder | Max | Min => row(A::REAL_NUMBERS),
        Maximum | Minimum | Relu | Clip => strong(A::REAL_NUMBERS),
        Fmod => Row { lacks: &[U8, U16, U32, U64, I8, I16, BF16, F16], ..row(A::REAL_NUMBERS) },
        Matmul => Row { lacks: &[U8, U16, U32, U64, I8, I16], ..row(A::NUMBERS) },
        // In the modes, tf.sort makes the largest number of the dtype an `i32*`, which does not hold it.
        Sort if modes => Row { lacks: &[U32, U64], ..strong(A::REAL_NUMBERS) },
        Sort => strong(A::REAL_NUMBERS),

        Where | Concat | Stack => equal(A::ANY),
        Atan2 => equal(A::FLOATS),
        NextAfter => Row { lacks: &[BF16, F16], ..equal(A::FLOATS) },
        BitwiseInvert | BitwiseAnd | BitwiseOr | BitwiseXor | BitwiseLeftShift | BitwiseRightShift => {
            equal(A::INTEGERS)
        }

        IsNan | IsInf | IsFinite => Row { output: O::Bool, ..row(A::FLOATS) },
        Equal => Row { output: O::Bool, ..row(A::ANY) },
        NotEqual => Row { output: O::Bool, ..equal(A::ANY) },
        Less | LessEqual | Greater | GreaterEqual => Row { output: O::Bool, ..equal(A::REAL_NUMBERS) },
        LogicalNot | LogicalAnd | LogicalOr | LogicalXor | Any | All => {
            Row { output: O::Bool, ..equal(A::BOOL) }
        }
        ArgMax | ArgMin => Row { output: O::Index, ..row(A::REAL) },
        CountNonzero => Row { output: O::Index, ..row(A::ANY) },
    })
}

/// What `tf.math.divide` divides in.
pub(super) const fn true_division(dtype: DType) -> DType {
    match dtype {
        U8 | I8 | U16 | I16 => F32,
        U32 | I32 | U64 | I64 => F64,
        WeakInt | WeakI64 => WeakF64,
        inexact => inexact,
    }
}
