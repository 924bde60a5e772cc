//! Literals: a number written in a program takes the dtype of the value it meets.

use std::fmt;

use super::number::{Number, decode, overflows};
use super::{Bits, Numerics, convert};
use crate::dtype::{DType, Kind};

/// A weakly typed number as a program writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// An integer, of dtype `i*`.
    Int(i64),
    /// A real number, of dtype `f*`.
    Float(f64),
    /// A real and an imaginary part, of dtype `c*`.
    Complex(f64, f64),
}

impl Literal {
    /// The number 1, of the kind of `dtype`.
    pub const fn one(dtype: DType) -> Self {
        match dtype.kind() {
            Kind::Bool | Kind::Unsigned | Kind::Signed => Self::Int(1),
            Kind::Float => Self::Float(1.0),
            Kind::Complex => Self::Complex(1.0, 0.0),
        }
    }

    /// The weak dtype of the literal.
    pub const fn dtype(self) -> DType {
        match self {
            Self::Int(_) => DType::WeakInt,
            Self::Float(_) => DType::WeakFloat,
            Self::Complex(..) => DType::WeakComplex,
        }
    }

    /// The literal as a value of its weak dtype.
    pub const fn bits(self) -> Bits {
        match self {
            Self::Int(value) => value.cast_unsigned() as Bits,
            Self::Float(value) => value.to_bits() as Bits,
            Self::Complex(real, imaginary) => {
                real.to_bits() as Bits | (imaginary.to_bits() as Bits) << u64::BITS
            }
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Complex(real, imaginary) => write!(f, "({real:?}, {imaginary:?})"),
        }
    }
}

/// What became of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The value in the dtype asked for.
    pub bits: Bits,
    /// Whether the dtype has the range for the literal. If not, an integer wrapped around, or a number became an infinity,
    /// a NaN, the dtype's largest, or zero without being it. Every number is in the range of bool, which takes its truth.
    pub in_range: bool,
    /// Whether the value is the literal itself, neither rounded nor cut.
    pub exact: bool,
}

/// Converts a literal to the dtype that uses it.
///
/// Every library takes its own view of a literal out of range (NumPy refuses the program, JAX wraps): that is for the
/// caller to say, by [`Converted::in_range`].
///
/// ```
/// use promote_lattice::DType::{F16, U8};
/// use promote_lattice::convert::{Literal, Numerics, literal};
///
/// let wrapped = literal(Literal::Int(-1), U8, Numerics::Jax);
/// assert_eq!((wrapped.bits, wrapped.in_range), (255, false));
/// let rounded = literal(Literal::Float(0.1), F16, Numerics::Jax);
/// assert_eq!((rounded.bits, rounded.in_range, rounded.exact), (0x2e66, true, false));
/// ```
pub fn literal(value: Literal, to: DType, numerics: Numerics) -> Converted {
    let from = value.dtype().storage();
    let bits = convert(value.bits(), from, to, numerics);
    let number = parts(value.bits(), from);
    let kept = if to.kind() == Kind::Complex { 2 } else { 1 };
    let pairs = || number.into_iter().zip(parts(bits, to.storage())).take(kept);
    let drops_nothing = number[kept..].iter().all(|part| part.is_zero());
    Converted {
        bits,
        in_range: pairs().all(|(number, result)| in_range(number, result, to)),
        exact: drops_nothing && pairs().all(|(number, result)| number == result),
    }
}

/// The real and the imaginary part; the latter is zero for real dtypes.
fn parts(bits: Bits, dtype: DType) -> [Number; 2] {
    let part = dtype.real_part();
    let imaginary = if part == dtype { Number::ZERO } else { decode(bits >> part.bits(), part) };
    [decode(bits, part), imaginary]
}

/// Whether `result`, which `number` became in `to`, is no consequence of an overflow or underflow.
fn in_range(number: Number, result: Number, to: DType) -> bool {
    match to.real_part().props().format {
        None if to == DType::B1 => true,
        _ if number.is_finite() && !number.is_zero() && result.is_zero() && to.is_inexact() => false,
        None => number.is_finite() && number.truncated() == result.truncated(),
        Some(format) if number.is_finite() => result.is_finite() && !overflows(number, format),
        // Some formats have one NaN, of either sign.
        Some(_) => number == result || number.is_nan() && result.is_nan(),
    }
}
