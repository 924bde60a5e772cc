//! Ops of two elements.

use std::cmp::Ordering;

use num_complex::Complex64;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};

use super::{Element, unsupported};
use crate::Error;
use crate::narrow::{self, narrow};
use crate::number::Number;

/// `op` of `x`, which is of `dtype`, and `y`.
pub(super) fn binary(op: Op, x: Number, y: Number, dtype: DType, numerics: Numerics) -> Element {
    if let Some(truth) = predicate(op, x, y, numerics) {
        return Ok(Number::truth(truth));
    }
    match (op, x, y) {
        (Op::Maximum, ..) => Ok(maximum(x, y, numerics)),
        (Op::Minimum, ..) => Ok(minimum(x, y, numerics)),
        (_, Number::Int(x), Number::Int(y)) => integers(op, x, y, dtype, numerics),
        (_, Number::Complex(..), _) | (_, _, Number::Complex(..)) => complex(op, x.parts(), y.parts()),
        (Op::NextAfter, ..) => Ok(next_after(x, y, dtype)),
        _ => reals(op, x.real(), y.real(), numerics),
    }
}

/// How two numbers compare; not at all if one is NaN. Complex ones by their real parts, then by their imaginary ones, which
/// JAX looks at where the real parts are equal alone.
fn compare(x: Number, y: Number, numerics: Numerics) -> Option<Ordering> {
    match (x, y) {
        (Number::Int(x), Number::Int(y)) => Some(x.cmp(&y)),
        _ if numerics != Numerics::Jax && (x.is_nan() || y.is_nan()) => None,
        _ => x.parts().partial_cmp(&y.parts()),
    }
}

fn predicate(op: Op, x: Number, y: Number, numerics: Numerics) -> Option<bool> {
    let order = compare(x, y, numerics);
    Some(match op {
        Op::Equal => order == Some(Ordering::Equal),
        Op::NotEqual => order != Some(Ordering::Equal),
        Op::Less => order == Some(Ordering::Less),
        Op::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Op::Greater => order == Some(Ordering::Greater),
        Op::GreaterEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Op::LogicalAnd => x.is_true() && y.is_true(),
        Op::LogicalOr => x.is_true() || y.is_true(),
        Op::LogicalXor => x.is_true() != y.is_true(),
        _ => return None,
    })
}

/// The larger number, or the NaN if there is one, of two the second; of equal numbers the first.
pub(crate) fn maximum(x: Number, y: Number, numerics: Numerics) -> Number {
    extreme(x, y, numerics, Ordering::Greater)
}

/// The smaller number, or the NaN if there is one, of two the second; of equal numbers the first.
pub(crate) fn minimum(x: Number, y: Number, numerics: Numerics) -> Number {
    extreme(x, y, numerics, Ordering::Less)
}

/// The larger of two numbers in a reduction, whose order makes no difference: of zeros that which is not negative.
pub(crate) fn larger(x: Number, y: Number, numerics: Numerics) -> Number {
    match (x, y) {
        (Number::Real(a), Number::Real(b)) if a == b => {
            Number::Real(if a.is_sign_negative() { b } else { a })
        }
        _ => maximum(x, y, numerics),
    }
}

/// The smaller of two numbers in a reduction: of zeros that which is negative.
pub(crate) fn smaller(x: Number, y: Number, numerics: Numerics) -> Number {
    match (x, y) {
        (Number::Real(a), Number::Real(b)) if a == b => {
            Number::Real(if a.is_sign_negative() { a } else { b })
        }
        _ => minimum(x, y, numerics),
    }
}

fn extreme(x: Number, y: Number, numerics: Numerics, wanted: Ordering) -> Number {
    let order = compare(x, y, numerics);
    let takes_first = match (numerics, x) {
        // Of complex numbers JAX takes the second if they do not compare so, also if they do not compare.
        (Numerics::Jax, Number::Complex(..)) => order == Some(wanted),
        (_, Number::Complex(..)) => x.is_nan() || !y.is_nan() && order != Some(wanted.reverse()),
        _ => !y.is_nan() && (x.is_nan() || order != Some(wanted.reverse())),
    };
    if takes_first { x } else { y }
}

/// The nearest number between two bounds, of which the upper one goes before the lower.
pub(super) fn clip(x: Number, low: Number, high: Number, numerics: Numerics) -> Number {
    let Number::Complex(..) = x else {
        return minimum(maximum(x, low, numerics), high, numerics);
    };
    // NumPy asks of NaN in the number alone, and then compares as JAX does.
    let bounded = |x: Number, bound: Number, wanted: Ordering| {
        let stays = x.is_nan() || compare(x, bound, Numerics::Jax) == Some(wanted);
        if stays { x } else { bound }
    };
    bounded(bounded(x, low, Ordering::Greater), high, Ordering::Less)
}

fn integers(op: Op, x: i128, y: i128, dtype: DType, numerics: Numerics) -> Element {
    let bits = i128::from(dtype.bits());
    let value = match op {
        Op::Add => x.wrapping_add(y),
        Op::Subtract => x.wrapping_sub(y),
        Op::Multiply => x.wrapping_mul(y),
        Op::FloorDivide | Op::Remainder | Op::Fmod if y == 0 => by_zero(op, x, dtype, numerics)?,
        Op::FloorDivide => floor_divide(x, y),
        Op::Remainder => x - y * floor_divide(x, y),
        Op::Fmod => x % y,
        Op::Pow => power(x, y, dtype, numerics)?,
        Op::Gcd => gcd(x, y),
        Op::Lcm if x == 0 || y == 0 => 0,
        Op::Lcm => (x / gcd(x, y)).abs().wrapping_mul(y.abs()),
        Op::BitwiseAnd => x & y,
        Op::BitwiseOr => x | y,
        Op::BitwiseXor => x ^ y,
        Op::BitwiseLeftShift if !(0..bits).contains(&y) => 0,
        Op::BitwiseLeftShift => x << y,
        Op::BitwiseRightShift if !(0..bits).contains(&y) => -i128::from(x < 0),
        Op::BitwiseRightShift => x >> y,
        _ => return reals(op, x as f64, y as f64, numerics),
    };
    Ok(Number::Int(value))
}

fn floor_divide(x: i128, y: i128) -> i128 {
    let quotient = x / y;
    if x % y != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
}

/// XLA's division by zero returns -1, which JAX then rounds down wherever there is a remainder; NumPy returns 0, and PyTorch
/// raises an exception.
///
/// JAX's `fmod` replaces a divisor of 0 by 1, but not of two truth values, of which XLA leaves the dividend.
fn by_zero(op: Op, x: i128, dtype: DType, numerics: Numerics) -> Result<i128, Error> {
    let unsigned = !matches!(dtype.kind(), promote_lattice::Kind::Signed);
    match (numerics, op) {
        (Numerics::Torch, _) => Err(Error::Trap("ZeroDivisionError".to_owned())),
        (Numerics::Jax, Op::Fmod) if dtype == DType::B1 => Ok(x),
        (Numerics::NumPy, _) | (Numerics::Jax, Op::Remainder | Op::Fmod) => Ok(0),
        (Numerics::Jax, _) => Ok(if unsigned || x == 0 { -1 } else { -2 }),
    }
}

/// The power modulo a large power of two. With a negative exponent, which NumPy refuses, it is the whole part of the power
/// in PyTorch; JAX looks at six bits of any exponent.
fn power(base: i128, exponent: i128, dtype: DType, numerics: Numerics) -> Result<i128, Error> {
    if numerics == Numerics::Jax && base == 0 && exponent != 0 {
        return Ok(0);
    }
    let exponent = match numerics {
        Numerics::Jax if dtype != DType::B1 => exponent & 63,
        Numerics::NumPy if exponent < 0 => {
            return Err(Error::Trap("integers to negative integer powers are not allowed".to_owned()));
        }
        _ => exponent,
    };
    let odd = exponent & 1 == 1;
    Ok(match base {
        1 => 1,
        -1 => {
            if odd {
                -1
            } else {
                1
            }
        }
        _ if exponent < 0 => 0,
        _ => {
            let (mut power, mut square, mut rest) = (1i128, base, exponent);
            while rest > 0 {
                if rest & 1 == 1 {
                    power = power.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                rest >>= 1;
            }
            power
        }
    })
}

fn gcd(x: i128, y: i128) -> i128 {
    if y == 0 { x.abs() } else { gcd(y, x % y) }
}

fn reals(op: Op, x: f64, y: f64, numerics: Numerics) -> Element {
    let value = match op {
        Op::Add => x + y,
        Op::Subtract => x - y,
        Op::Multiply => x * y,
        Op::Divide => x / y,
        Op::FloorDivide => floor_divide_reals(x, y, numerics),
        Op::Remainder => remainder(x, y, numerics),
        Op::Fmod => x % y,
        Op::Pow => x.powf(y),
        Op::Atan2 => x.atan2(y),
        Op::Hypot => x.hypot(y),
        Op::LogAddExp if x == y => x + std::f64::consts::LN_2,
        Op::LogAddExp => x.max(y) + (-(x - y).abs()).exp().ln_1p(),
        Op::CopySign => x.copysign(y),
        _ => return Err(unsupported(op)),
    };
    Ok(Number::Real(value))
}

/// NumPy's `npy_divmod`: the quotient of what the remainder leaves. A zero has the sign of the exact quotient, but in JAX
/// that of the computed one.
fn floor_divide_reals(x: f64, y: f64, numerics: Numerics) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let mut quotient = (x - x % y) / y;
    if x % y != 0.0 && (y < 0.0) != (x % y < 0.0) {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        if numerics == Numerics::Jax {
            return quotient;
        }
        return 0f64.copysign(x / y);
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}

/// Python's `%`: of the sign of `y`. A zero has that sign in NumPy alone.
fn remainder(x: f64, y: f64, numerics: Numerics) -> f64 {
    let rest = x % y;
    match rest {
        _ if rest == 0.0 && numerics == Numerics::NumPy => 0f64.copysign(y),
        _ if rest == 0.0 => rest,
        _ if (rest < 0.0) != (y < 0.0) => rest + y,
        _ => rest,
    }
}

/// The next number of `dtype` after `x` towards `y`.
fn next_after(x: Number, y: Number, dtype: DType) -> Number {
    let (from, to) = (x.real(), y.real());
    if from.is_nan() || to.is_nan() {
        return Number::Real(f64::NAN);
    }
    if from == to {
        return y;
    }
    if let Some(format) = narrow(dtype) {
        return Number::Real(narrow::next_after(from, to, format));
    }
    let sign = 1 << (dtype.bits() - 1);
    let bits = x.bits(dtype);
    let next = match from {
        _ if from == 0.0 => 1 | if to < 0.0 { sign } else { 0 },
        _ if (from < to) == (from > 0.0) => bits + 1,
        _ => bits - 1,
    };
    Number::from_bits(next, dtype)
}

fn complex(op: Op, x: (f64, f64), y: (f64, f64)) -> Element {
    let (x, y) = (Complex64::new(x.0, x.1), Complex64::new(y.0, y.1));
    let value = match op {
        Op::Add => x + y,
        Op::Subtract => x - y,
        Op::Multiply => x * y,
        Op::Divide => x / y,
        Op::Pow if y.re == 0.0 && y.im == 0.0 => Complex64::new(1.0, 0.0),
        Op::Pow => x.powc(y),
        Op::LogAddExp => (x.exp() + y.exp()).ln(),
        _ => return Err(unsupported(op)),
    };
    Ok(Number::Complex(value.re, value.im))
}
