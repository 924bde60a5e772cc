//! Which dtypes TensorFlow's CPU kernels have, and which ops its modes promote: a row an op, as measured.

use DType::*;

pub(super) use super::super::operand::Output;
use super::super::refusal::Accepts;
use crate::dtype::DType;
use crate::op::{Class, Op};

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
    let absent = Rule::None("tf.math has no such function");
    Rule::Row(match op.class() {
        Class::Stated => return Rule::Stated,
        Class::Layout => return Rule::First,
        Class::Indexing => return Rule::Take,
        Class::Joining => equal(A::ANY),
        Class::Choice => match op {
            Clip => strong(A::REAL_NUMBERS),
            _ => equal(A::ANY),
        },
        Class::Part => match op {
            Conj => row(A::NUMBERS),
            Imag => Row { output: O::RealPart, ..row(A::ANY) },
            Angle => Row { output: O::RealPart, ..row(A::INEXACT) },
            _ => Row { output: O::RealPart, ..row(A::NUMBERS) },
        },
        Class::Sign => match op {
            Positive if !modes => return Rule::None("tensors have no unary plus"),
            Positive => row(A::ANY),
            Abs => Row { lacks: UNSIGNED, output: O::RealPart, ..row(A::NUMBERS) },
            Square => row(A::NUMBERS),
            Relu => strong(A::REAL_NUMBERS),
            _ => Row { lacks: UNSIGNED, ..row(A::NUMBERS) },
        },
        Class::Rounding => match op {
            Trunc => return absent,
            Round => row(A::REAL_NUMBERS),
            _ => row(A::FLOATS),
        },
        Class::Function => match op {
            Cbrt | Exp2 | Log2 | Log10 | Sinc => return absent,
            _ => row(A::INEXACT),
        },
        Class::SpecialFunction => match op {
            Lgamma => Row { lacks: &[BF16], ..row(A::FLOATS) },
            _ => row(A::FLOATS),
        },
        Class::Predicate => match op {
            SignBit => return absent,
            _ => Row { output: O::Bool, ..row(A::FLOATS) },
        },
        Class::Logical | Class::Truth => Row { output: O::Bool, ..equal(A::BOOL) },
        Class::Bitwise | Class::Shift => equal(A::INTEGERS),
        Class::Arithmetic => match op {
            FloorDivide | Remainder => row(A::REAL_NUMBERS),
            Fmod => Row { lacks: &[U8, U16, U32, U64, I8, I16, BF16, F16], ..row(A::REAL_NUMBERS) },
            Pow => Row { lacks: UNSIGNED, ..row(A::NUMBERS) },
            _ => row(A::NUMBERS),
        },
        Class::Extremum => strong(A::REAL_NUMBERS),
        Class::FloatPair => match op {
            Hypot | LogAddExp | CopySign => return absent,
            NextAfter => Row { lacks: &[BF16, F16], ..equal(A::FLOATS) },
            _ => equal(A::FLOATS),
        },
        Class::IntegerPair => return absent,
        Class::Comparison => match op {
            Equal => Row { output: O::Bool, ..row(A::ANY) },
            NotEqual => Row { output: O::Bool, ..equal(A::ANY) },
            _ => Row { output: O::Bool, ..equal(A::REAL_NUMBERS) },
        },

        Class::Accumulation => match op {
            CumulativeSum | CumulativeProd => strong(A::NUMBERS),
            _ => row(A::NUMBERS),
        },
        Class::Moment => match op {
            Mean => row(A::NUMBERS),
            _ => Row { output: O::RealPart, ..row(A::INEXACT) },
        },
        Class::Order => match op {
            // In the modes, tf.sort makes the largest number of the dtype an `i32*`, which does not hold it.
            Sort if modes => Row { lacks: &[U32, U64], ..strong(A::REAL_NUMBERS) },
            Sort => strong(A::REAL_NUMBERS),
            _ => row(A::REAL_NUMBERS),
        },
        Class::Index => match op {
            CountNonzero => Row { output: O::Index, ..row(A::ANY) },
            _ => Row { output: O::Index, ..row(A::REAL) },
        },
        Class::Exponential => match op {
            Softmax => strong(A::FLOATS),
            _ => row(A::FLOATS),
        },
        Class::Product => Row { lacks: &[U8, U16, U32, U64, I8, I16], ..row(A::NUMBERS) },
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
