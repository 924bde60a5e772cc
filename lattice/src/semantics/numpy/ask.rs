//! What operands ask of the dtype of a loop, under either version of NumPy.

use DType::*;

use super::super::operand::{Operand, Origin, Rank};
use super::DEFAULTS;
use crate::convert::Literal;
use crate::dtype::{DType, Kind};

/// What an operand asks of the dtype of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// That this dtype is cast to it safely.
    Safe(DType),
    /// The same of an unsigned dtype or the signed one of its width: a small number that is not negative.
    SmallUnsigned(DType),
    /// That it is of this kind, or one above it; the two kinds of integers are one.
    Kind(Kind),
}

impl Ask {
    pub(super) fn is_met_by(self, to: DType) -> bool {
        match self {
            Self::Safe(from) => is_safe(from, to),
            Self::SmallUnsigned(from) => is_safe(from, to) || is_safe(signed(from), to),
            Self::Kind(kind) => {
                category(to.kind()) >= category(kind) && (kind != Kind::Complex || to.kind() == Kind::Complex)
            }
        }
    }
}

/// Whether every number of `from` is one of `to`, as NumPy's safe casts see it: 64-bit integers pass for f64.
fn is_safe(from: DType, to: DType) -> bool {
    let (part, wide) = (to.real_part(), from.bits() * 2);
    match (from.kind(), to.kind()) {
        _ if from == to => true,
        (Kind::Bool, _) => true,
        (_, Kind::Bool) => false,
        (Kind::Unsigned, Kind::Unsigned) | (Kind::Signed, Kind::Signed) => from.bits() <= to.bits(),
        (Kind::Unsigned, Kind::Signed) => from.bits() < to.bits(),
        (Kind::Signed, Kind::Unsigned) => false,
        (Kind::Unsigned | Kind::Signed, Kind::Float | Kind::Complex) => part.bits() >= wide.min(64),
        (Kind::Float, Kind::Float | Kind::Complex) | (Kind::Complex, Kind::Complex) => {
            let (Some(from), Some(to)) = (from.props().format, to.props().format) else { return false };
            from.exponent_bits <= to.exponent_bits && from.mantissa_bits <= to.mantissa_bits
        }
        (Kind::Float | Kind::Complex, _) => false,
    }
}

/// The signed dtype of an unsigned one's width.
const fn signed(unsigned: DType) -> DType {
    match unsigned {
        U8 => I8,
        U16 => I16,
        U32 => I32,
        U64 => I64,
        other => other,
    }
}

/// NumPy's three kinds: bools, integers, and the rest.
pub(super) const fn category(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => 0,
        Kind::Unsigned | Kind::Signed => 1,
        Kind::Float | Kind::Complex => 2,
    }
}

/// The narrowest dtype that NumPy 1 takes a scalar of `dtype` for, by its value.
fn narrowest(literal: Literal, dtype: DType) -> Ask {
    /// Beyond these NumPy 1 takes a float for a wider one, though the dtypes reach a little further.
    const F16_BOUND: f64 = 65000.0;
    const F32_BOUND: f64 = 3.4e38;
    let dtype = DEFAULTS.strengthen(dtype);
    let within = |bound: f64, value: f64| -bound < value && value < bound;
    match (literal, dtype.kind()) {
        (Literal::Int(_), Kind::Bool) => Ask::Safe(B1),
        (Literal::Int(value @ 0..), Kind::Unsigned | Kind::Signed) => {
            let bits = 64 - value.leading_zeros();
            let unsigned = if bits <= 8 {
                U8
            } else if bits <= 16 {
                U16
            } else if bits <= 32 {
                U32
            } else {
                U64
            };
            if bits < unsigned.bits() { Ask::SmallUnsigned(unsigned) } else { Ask::Safe(unsigned) }
        }
        (Literal::Int(value), Kind::Unsigned | Kind::Signed) => {
            let bits = 65 - value.leading_ones();
            Ask::Safe(if bits <= 8 {
                I8
            } else if bits <= 16 {
                I16
            } else if bits <= 32 {
                I32
            } else {
                I64
            })
        }
        (Literal::Float(_), Kind::Float) if dtype.bits() == 16 => Ask::Safe(dtype),
        (Literal::Float(value), Kind::Float) if !value.is_finite() || within(F16_BOUND, value) => {
            Ask::Safe(F16)
        }
        (Literal::Float(value), Kind::Float) if within(F32_BOUND, value) => Ask::Safe(F32),
        (Literal::Complex(re, im), Kind::Complex) if within(F32_BOUND, re) && within(F32_BOUND, im) => {
            Ask::Safe(C64)
        }
        _ => Ask::Safe(dtype),
    }
}

/// In a promotion a small number takes the signed dtype of its width only where it meets a signed one.
pub(super) fn settle_small(asks: &mut [Ask]) {
    let has_signed = asks.iter().any(|ask| matches!(ask, Ask::Safe(I8 | I16 | I32 | I64)));
    for ask in asks {
        if let (Ask::SmallUnsigned(dtype), false) = (*ask, has_signed) {
            *ask = Ask::Safe(dtype);
        }
    }
}

/// What an operand asks under NEP 50: an array its dtype, a Python scalar its kind if an array has it.
pub(super) fn weak_ask<'a, I: Iterator<Item = &'a Operand>>(operand: Operand, arrays: impl Fn() -> I) -> Ask {
    let has = |least: u8| arrays().any(|array| category(array.dtype.kind()) >= least);
    match operand.dtype {
        WeakInt if has(1) => Ask::Kind(Kind::Unsigned),
        // bfloat16 is no dtype that a Python float is known to fit.
        WeakFloat if has(2) && arrays().all(|array| !array.dtype.is_inexact() || array.dtype == BF16) => {
            Ask::Safe(F16)
        }
        WeakFloat if has(2) => Ask::Kind(Kind::Float),
        WeakComplex if has(2) => Ask::Kind(Kind::Complex),
        dtype => Ask::Safe(DEFAULTS.strengthen(dtype)),
    }
}

/// What operands ask under NumPy 1: scalars of no higher kind than the arrays ask for what their value needs; those
/// whose value is not in the program, for their kind.
pub(super) fn value_asks(operands: &[Operand], promoting: bool) -> Vec<Ask> {
    // In promotions the integers of array scalars count in full beside bfloat16.
    let has_bf16 = promoting && operands.iter().any(|operand| operand.dtype == BF16);
    let is_scalar = |operand: &Operand| {
        operand.is_python() || operand.rank == Rank::Zero && !(has_bf16 && operand.dtype.is_integer())
    };
    let highest = |scalars: bool| {
        let of_sort = operands.iter().filter(|operand| is_scalar(operand) == scalars);
        of_sort.map(|operand| category(operand.dtype.kind())).max()
    };
    let by_value = highest(false).is_some() && highest(false) >= highest(true);
    let ask = |operand: &Operand| match operand.origin {
        Origin::Literal(literal) | Origin::Constant(literal) if by_value && is_scalar(operand) => {
            narrowest(literal, operand.dtype)
        }
        Origin::Value if by_value && is_scalar(operand) && operand.dtype != B1 => {
            Ask::Kind(operand.dtype.kind())
        }
        _ => Ask::Safe(DEFAULTS.strengthen(operand.dtype)),
    };
    operands.iter().map(ask).collect()
}
