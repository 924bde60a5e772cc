//! Python's `float` and `complex`, where they are more than the machine's instructions.

use std::cmp::Ordering;

use super::{Outcome, Scalar, Uncomputed};
use crate::op::Op;

/// An op of arithmetic on two floats; `None` for others.
pub(super) fn of_floats(op: Op, x: f64, y: f64) -> Option<Outcome> {
    let by_zero = || if y == 0.0 { Err(Uncomputed::ZeroDivision) } else { Ok(()) };
    Some(match op {
        Op::Add => Ok(Scalar::Float(x + y)),
        Op::Subtract => Ok(Scalar::Float(x - y)),
        Op::Multiply => Ok(Scalar::Float(x * y)),
        Op::Divide => by_zero().map(|()| Scalar::Float(x / y)),
        Op::FloorDivide => by_zero().map(|()| Scalar::Float(divided(x, y).0)),
        Op::Remainder => by_zero().map(|()| Scalar::Float(divided(x, y).1)),
        Op::Pow => power(x, y),
        _ => return None,
    })
}

/// The quotient, rounded down, and the remainder, which has the sign of the divisor; as CPython's `_float_div_mod`.
fn divided(x: f64, y: f64) -> (f64, f64) {
    let mut remainder = x % y;
    let mut quotient = (x - remainder) / y;
    if remainder == 0.0 {
        remainder = 0.0_f64.copysign(y);
    } else if (y < 0.0) != (remainder < 0.0) {
        remainder += y;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(x / y), remainder);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, remainder)
}

fn power(x: f64, y: f64) -> Outcome {
    let finite = x.is_finite() && y.is_finite();
    if finite && x == 0.0 && y < 0.0 {
        return Err(Uncomputed::ZeroDivision);
    }
    if finite && x < 0.0 && y != y.floor() {
        return Err(Uncomputed::ComplexPower);
    }
    let power = x.powf(y);
    if finite && power.is_infinite() { Err(Uncomputed::Overflow) } else { Ok(Scalar::Float(power)) }
}

/// An op of arithmetic on two complex numbers; `None` for others.
pub(super) fn of_complex(op: Op, (a, b): (f64, f64), (c, d): (f64, f64)) -> Option<Outcome> {
    Some(match op {
        Op::Add => Ok(Scalar::Complex(a + c, b + d)),
        Op::Subtract => Ok(Scalar::Complex(a - c, b - d)),
        Op::Multiply => Ok(Scalar::Complex(a * c - b * d, a * d + b * c)),
        Op::Divide => complex_quotient((a, b), (c, d)),
        Op::FloorDivide | Op::Remainder => Err(Uncomputed::Type),
        Op::Pow => Err(Uncomputed::ComplexPower),
        _ => return None,
    })
}

/// As CPython's `_Py_c_quot`: divided by the larger part first.
fn complex_quotient((a, b): (f64, f64), (c, d): (f64, f64)) -> Outcome {
    if c.abs() >= d.abs() {
        if c == 0.0 {
            return Err(Uncomputed::ZeroDivision);
        }
        let ratio = d / c;
        let by = c + d * ratio;
        Ok(Scalar::Complex((a + b * ratio) / by, (b - a * ratio) / by))
    } else if d.abs() >= c.abs() {
        let ratio = c / d;
        let by = c * ratio + d;
        Ok(Scalar::Complex((a * ratio + b) / by, (b * ratio - a) / by))
    } else {
        Ok(Scalar::Complex(f64::NAN, f64::NAN))
    }
}

/// The absolute value of a complex number.
pub(super) fn length(real: f64, imaginary: f64) -> Outcome {
    let length = real.hypot(imaginary);
    let overflows = length.is_infinite() && real.is_finite() && imaginary.is_finite();
    if overflows { Err(Uncomputed::Overflow) } else { Ok(Scalar::Float(length)) }
}

/// The nearest integer, the even one of two.
pub(super) fn round(value: f64) -> Outcome {
    /// The first float beyond the integers of 64 bits.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let whole = value.round_ties_even();
    match value {
        _ if value.is_nan() => Err(Uncomputed::Value),
        _ if value.is_infinite() => Err(Uncomputed::Overflow),
        _ if (-END..END).contains(&whole) => Ok(Scalar::Int(whole as i64)),
        _ => Err(Uncomputed::Wide),
    }
}

/// The quotient of two integers, rounded once; the divisor is not 0.
pub(super) fn quotient(x: i64, y: i64) -> f64 {
    let (dividend, divisor) = (x.unsigned_abs(), y.unsigned_abs());
    if dividend == 0 {
        return if y < 0 { -0.0 } else { 0.0 };
    }
    // The quotient has 64 bits or more, of which the last one is set if others follow: it is rounded as all of them are.
    let raised = u128::from(dividend) << dividend.leading_zeros() << 64;
    let whole = (raised / u128::from(divisor)) | u128::from(raised % u128::from(divisor) != 0);
    let exponent = -i32::try_from(dividend.leading_zeros() + 64).expect("it is at most 127");
    let magnitude = whole as f64 * 2.0_f64.powi(exponent);
    if (x < 0) == (y < 0) { magnitude } else { -magnitude }
}

/// How an integer compares with a float, exactly.
pub(super) fn order(x: i64, y: f64) -> Option<Ordering> {
    let whole = y.trunc();
    // An infinity, or a float beyond 64 bits, is cut to the range of 128.
    let by_whole = i128::from(x).cmp(&(whole as i128));
    if y.is_nan() {
        None
    } else {
        Some(by_whole.then(0.0_f64.partial_cmp(&(y - whole)).unwrap_or(Ordering::Equal)))
    }
}
