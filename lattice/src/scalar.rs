//! What Python computes of its own numbers: its operators, and the built-in functions `abs`, `round`, `max` and `min`.
//!
//! `0.5 * 2` in a program of PyTorch's is a number before PyTorch sees it. [`compute`] returns that number, and the type
//! that Python gives it, as CPython 3 does; a test compares it with recorded runs.
//!
//! Python's integers have no end, and here an [`Int`](Scalar::Int) has 64 bits: what does not fit is
//! [`Uncomputed::Wide`]. Powers of complex numbers, and the complex powers of negative ones, are not computed.

mod float;

use std::cmp::Ordering;

use crate::convert::Literal;
use crate::dtype::DType;
use crate::op::{Class, Op};

/// A number of Python's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// `bool`, which is an integer in arithmetic.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `float`.
    Float(f64),
    /// `complex`.
    Complex(f64, f64),
}

/// Why a number is not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncomputed {
    /// Python raises `ZeroDivisionError`.
    #[error("Python raises ZeroDivisionError")]
    ZeroDivision,
    /// Python raises `OverflowError`.
    #[error("Python raises OverflowError")]
    Overflow,
    /// Python raises `ValueError`.
    #[error("Python raises ValueError")]
    Value,
    /// Python raises `TypeError`.
    #[error("Python raises TypeError for numbers of these types")]
    Type,
    /// The integer that Python gives has more than 64 bits.
    #[error("the integer that Python returns needs more than 64 bits")]
    Wide,
    /// Python returns a power of a complex number, or a complex power.
    #[error("the power is a complex number, which is not computed here")]
    ComplexPower,
}

type Outcome = Result<Scalar, Uncomputed>;

impl Scalar {
    /// Its dtype: a weak one, or bool.
    pub const fn dtype(self) -> DType {
        match self {
            Self::Bool(_) => DType::B1,
            Self::Int(_) => DType::WeakInt,
            Self::Float(_) => DType::WeakFloat,
            Self::Complex(..) => DType::WeakComplex,
        }
    }

    /// The number; a bool as 0 or 1.
    pub const fn literal(self) -> Literal {
        match self {
            Self::Bool(value) => Literal::Int(value as i64),
            Self::Int(value) => Literal::Int(value),
            Self::Float(value) => Literal::Float(value),
            Self::Complex(real, imaginary) => Literal::Complex(real, imaginary),
        }
    }

    const fn is_zero(self) -> bool {
        match self {
            Self::Bool(value) => !value,
            Self::Int(value) => value == 0,
            Self::Float(value) => value == 0.0,
            Self::Complex(real, imaginary) => real == 0.0 && imaginary == 0.0,
        }
    }
}

impl From<Literal> for Scalar {
    fn from(literal: Literal) -> Self {
        match literal {
            Literal::Int(value) => Self::Int(value),
            Literal::Float(value) => Self::Float(value),
            Literal::Complex(real, imaginary) => Self::Complex(real, imaginary),
        }
    }
}

/// Two numbers, as the wider of their types.
enum Pair {
    Int(i64, i64),
    Float(f64, f64),
    Complex((f64, f64), (f64, f64)),
}

impl Pair {
    const fn of(a: Scalar, b: Scalar) -> Self {
        match (a.literal(), b.literal()) {
            (Literal::Int(a), Literal::Int(b)) => Self::Int(a, b),
            (Literal::Complex(..), _) | (_, Literal::Complex(..)) => Self::Complex(complex(a), complex(b)),
            (Literal::Float(_) | Literal::Int(_), Literal::Float(_) | Literal::Int(_)) => {
                Self::Float(complex(a).0, complex(b).0)
            }
        }
    }
}

/// The parts of a number as a complex one.
const fn complex(number: Scalar) -> (f64, f64) {
    match number.literal() {
        Literal::Int(value) => (value as f64, 0.0),
        Literal::Float(value) => (value, 0.0),
        Literal::Complex(real, imaginary) => (real, imaginary),
    }
}

/// Whether `op` is an operator of Python's, or one of the functions that are built in.
pub const fn is_pythons(op: Op) -> bool {
    use Op::*;
    match op.class() {
        Class::Arithmetic => !matches!(op, Fmod),
        Class::Extremum | Class::Comparison | Class::Bitwise | Class::Shift => true,
        Class::Sign => matches!(op, Positive | Negative | Abs),
        Class::Rounding => matches!(op, Round),
        // `and` and `or` return one of their operands, and no bool.
        Class::Logical => matches!(op, LogicalNot),
        // What a module has, or a method, or nothing.
        Class::Part
        | Class::Function
        | Class::SpecialFunction
        | Class::Predicate
        | Class::FloatPair
        | Class::IntegerPair => false,
        // What makes or takes more than numbers.
        Class::Stated
        | Class::Layout
        | Class::Indexing
        | Class::Joining
        | Class::Choice
        | Class::Accumulation
        | Class::Moment
        | Class::Order
        | Class::Truth
        | Class::Index
        | Class::Exponential
        | Class::Product => false,
    }
}

/// What Python makes of numbers; `None` if it has no operator or built-in function for `op`, or not of so many.
///
/// # Errors
/// [`Uncomputed`], where Python raises an exception or what it returns is not computed here.
///
/// ```
/// use promote_lattice::Op;
/// use promote_lattice::scalar::{Scalar, compute};
///
/// assert_eq!(compute(Op::Divide, &[Scalar::Int(1), Scalar::Int(4)]), Some(Ok(Scalar::Float(0.25))));
/// assert_eq!(compute(Op::Sqrt, &[Scalar::Int(4)]), None);
/// ```
pub fn compute(op: Op, operands: &[Scalar]) -> Option<Outcome> {
    match *operands {
        _ if !is_pythons(op) => None,
        [x] => unary(op, x),
        [x, y] => binary(op, x, y),
        _ => None,
    }
}

fn unary(op: Op, x: Scalar) -> Option<Outcome> {
    Some(match (op, x.literal()) {
        (Op::LogicalNot, _) => Ok(Scalar::Bool(x.is_zero())),
        (Op::Positive, number) => Ok(number.into()),
        (Op::Negative, Literal::Int(value)) => integer(value.checked_neg()),
        (Op::Negative, Literal::Float(value)) => Ok(Scalar::Float(-value)),
        (Op::Negative, Literal::Complex(real, imaginary)) => Ok(Scalar::Complex(-real, -imaginary)),
        (Op::Abs, Literal::Int(value)) => integer(value.checked_abs()),
        (Op::Abs, Literal::Float(value)) => Ok(Scalar::Float(value.abs())),
        (Op::Abs, Literal::Complex(real, imaginary)) => float::length(real, imaginary),
        (Op::Round, Literal::Int(value)) => Ok(Scalar::Int(value)),
        (Op::Round, Literal::Float(value)) => float::round(value),
        (Op::BitwiseInvert, Literal::Int(value)) => Ok(Scalar::Int(!value)),
        (Op::Round, Literal::Complex(..)) | (Op::BitwiseInvert, Literal::Float(_) | Literal::Complex(..)) => {
            Err(Uncomputed::Type)
        }
        _ => return None,
    })
}

fn binary(op: Op, x: Scalar, y: Scalar) -> Option<Outcome> {
    let ordered = |holds: fn(Ordering) -> bool| {
        let order = order(x, y)?;
        Ok(Scalar::Bool(order.is_some_and(holds)))
    };
    Some(match op {
        Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::FloorDivide | Op::Remainder | Op::Pow => {
            match Pair::of(x, y) {
                Pair::Int(x, y) => of_integers(op, x, y)?,
                Pair::Float(x, y) => float::of_floats(op, x, y)?,
                Pair::Complex(x, y) => float::of_complex(op, x, y)?,
            }
        }
        Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor => match (x, y) {
            (Scalar::Bool(x), Scalar::Bool(y)) => Ok(Scalar::Bool(bits(op, x.into(), y.into())? != 0)),
            _ => of_bits(x, y, |x, y| bits(op, x, y).ok_or(Uncomputed::Type)),
        },
        Op::BitwiseLeftShift => of_bits(x, y, shift_left),
        Op::BitwiseRightShift => of_bits(x, y, shift_right),
        Op::Equal => Ok(Scalar::Bool(is_equal(x, y))),
        Op::NotEqual => Ok(Scalar::Bool(!is_equal(x, y))),
        Op::Less => ordered(Ordering::is_lt),
        Op::LessEqual => ordered(Ordering::is_le),
        Op::Greater => ordered(Ordering::is_gt),
        Op::GreaterEqual => ordered(Ordering::is_ge),
        // The first, unless the second is more.
        Op::Maximum => order(x, y).map(|order| if order == Some(Ordering::Less) { y } else { x }),
        Op::Minimum => order(x, y).map(|order| if order == Some(Ordering::Greater) { y } else { x }),
        _ => return None,
    })
}

fn integer(value: Option<i64>) -> Outcome {
    value.map(Scalar::Int).ok_or(Uncomputed::Wide)
}

fn of_integers(op: Op, x: i64, y: i64) -> Option<Outcome> {
    Some(match op {
        Op::Add => integer(x.checked_add(y)),
        Op::Subtract => integer(x.checked_sub(y)),
        Op::Multiply => integer(x.checked_mul(y)),
        Op::Divide | Op::FloorDivide | Op::Remainder if y == 0 => Err(Uncomputed::ZeroDivision),
        Op::Divide => Ok(Scalar::Float(float::quotient(x, y))),
        Op::FloorDivide => {
            let floor = |quotient| if has_remainder_to_add(x, y) { quotient - 1 } else { quotient };
            integer(x.checked_div(y).map(floor))
        }
        Op::Remainder => {
            // A dividend of the least integer by -1 has the remainder 0, which Rust does not say.
            let remainder = x.wrapping_rem(y);
            Ok(Scalar::Int(if has_remainder_to_add(x, y) { remainder + y } else { remainder }))
        }
        Op::Pow if y < 0 => return float::of_floats(op, x as f64, y as f64),
        Op::Pow => integer(power(x, y)),
        _ => return None,
    })
}

/// Whether the remainder of a division towards zero is not of the divisor's sign.
const fn has_remainder_to_add(x: i64, y: i64) -> bool {
    let remainder = x.wrapping_rem(y);
    remainder != 0 && (remainder < 0) != (y < 0)
}

fn power(base: i64, exponent: i64) -> Option<i64> {
    match (base, u32::try_from(exponent)) {
        (_, Ok(exponent)) => base.checked_pow(exponent),
        (0 | 1, Err(_)) => Some(base),
        (-1, Err(_)) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        (_, Err(_)) => None,
    }
}

fn bits(op: Op, x: i64, y: i64) -> Option<i64> {
    match op {
        Op::BitwiseAnd => Some(x & y),
        Op::BitwiseOr => Some(x | y),
        Op::BitwiseXor => Some(x ^ y),
        _ => None,
    }
}

fn of_bits(x: Scalar, y: Scalar, of: impl Fn(i64, i64) -> Result<i64, Uncomputed>) -> Outcome {
    match (x.literal(), y.literal()) {
        (Literal::Int(x), Literal::Int(y)) => of(x, y).map(Scalar::Int),
        _ => Err(Uncomputed::Type),
    }
}

fn shift_left(x: i64, by: i64) -> Result<i64, Uncomputed> {
    if by < 0 {
        return Err(Uncomputed::Value);
    }
    let shifted = (by < 64).then(|| i64::try_from(i128::from(x) << by).ok()).flatten();
    if x == 0 { Ok(0) } else { shifted.ok_or(Uncomputed::Wide) }
}

fn shift_right(x: i64, by: i64) -> Result<i64, Uncomputed> {
    if by < 0 { Err(Uncomputed::Value) } else { Ok(x >> by.min(63)) }
}

/// Which of two real numbers is more, exactly; `None` if one is no number.
fn order(x: Scalar, y: Scalar) -> Result<Option<Ordering>, Uncomputed> {
    Ok(match (x.literal(), y.literal()) {
        (Literal::Complex(..), _) | (_, Literal::Complex(..)) => return Err(Uncomputed::Type),
        (Literal::Int(x), Literal::Int(y)) => Some(x.cmp(&y)),
        (Literal::Float(x), Literal::Float(y)) => x.partial_cmp(&y),
        (Literal::Int(x), Literal::Float(y)) => float::order(x, y),
        (Literal::Float(x), Literal::Int(y)) => float::order(y, x).map(Ordering::reverse),
    })
}

fn is_equal(x: Scalar, y: Scalar) -> bool {
    let (real, imaginary) = match (x.literal(), y.literal()) {
        (Literal::Complex(a, b), Literal::Complex(c, d)) => return a == c && b == d,
        (Literal::Complex(real, imaginary), other) | (other, Literal::Complex(real, imaginary)) => {
            (order(Scalar::Float(real), other.into()), imaginary)
        }
        (Literal::Int(_) | Literal::Float(_), Literal::Int(_) | Literal::Float(_)) => (order(x, y), 0.0),
    };
    real == Ok(Some(Ordering::Equal)) && imaginary == 0.0
}
