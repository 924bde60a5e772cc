//! Ops of one element.

use std::f64::consts::PI;

use num_complex::Complex64;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};

use super::{Element, unsupported};
use crate::number::Number;

/// `op` of `x`, which is of `dtype`.
pub(super) fn unary(op: Op, x: Number, dtype: DType, numerics: Numerics) -> Element {
    match x {
        Number::Int(value) => integer(op, value, dtype, numerics),
        Number::Real(value) => real(op, value, numerics),
        Number::Complex(re, im) => complex(op, Complex64::new(re, im), numerics),
    }
}

fn integer(op: Op, x: i128, dtype: DType, numerics: Numerics) -> Element {
    let value = match op {
        Op::Negative => x.wrapping_neg(),
        Op::Abs => x.abs(),
        Op::Sign => x.signum(),
        Op::Square => x.wrapping_mul(x),
        Op::Positive | Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::Real | Op::Conj => x,
        Op::BitwiseInvert if dtype == DType::B1 => 1 - x,
        Op::BitwiseInvert => !x,
        Op::Relu => x.max(0),
        // NumPy's integers: the whole part, and of 0 what x86 makes of an infinity, cut to the width.
        Op::Reciprocal if x == 0 && numerics == Numerics::NumPy => match (dtype.kind(), dtype.bits()) {
            (Kind::Signed, bits @ 32..) => -1 << (bits - 1),
            _ => 0,
        },
        Op::Reciprocal if x == 0 => 0,
        Op::Reciprocal => 1 / x,
        Op::Imag | Op::IsNan | Op::IsInf => 0,
        Op::IsFinite => 1,
        Op::SignBit => (x < 0).into(),
        Op::LogicalNot => (x == 0).into(),
        _ => return Err(unsupported(op)),
    };
    Ok(Number::Int(value))
}

fn real(op: Op, x: f64, numerics: Numerics) -> Element {
    let value = match op {
        Op::IsNan => return Ok(Number::truth(x.is_nan())),
        Op::IsInf => return Ok(Number::truth(x.is_infinite())),
        Op::IsFinite => return Ok(Number::truth(x.is_finite())),
        Op::SignBit => return Ok(Number::truth(x.is_sign_negative())),
        Op::LogicalNot => return Ok(Number::truth(x == 0.0)),
        Op::Negative => -x,
        Op::Positive | Op::Real | Op::Conj => x,
        Op::Imag => 0.0,
        Op::Abs => x.abs(),
        // A zero keeps its sign in JAX alone, and a NaN is 0 in PyTorch.
        Op::Sign if x.is_nan() && numerics == Numerics::Torch => 0.0,
        Op::Sign if x == 0.0 && numerics != Numerics::Jax => 0.0,
        Op::Sign if x == 0.0 || x.is_nan() => x,
        Op::Sign => x.signum(),
        Op::Square => x * x,
        Op::Floor => x.floor(),
        Op::Ceil => x.ceil(),
        Op::Round => x.round_ties_even(),
        Op::Trunc => x.trunc(),
        Op::Relu if x < 0.0 => 0.0,
        Op::Relu => x,
        Op::Sqrt => x.sqrt(),
        Op::Cbrt => x.cbrt(),
        Op::Rsqrt => 1.0 / x.sqrt(),
        Op::Exp => x.exp(),
        Op::Exp2 => x.exp2(),
        Op::Expm1 => x.exp_m1(),
        Op::Log => x.ln(),
        Op::Log2 => x.log2(),
        Op::Log10 => x.log10(),
        Op::Log1p => x.ln_1p(),
        Op::Sin => x.sin(),
        Op::Cos => x.cos(),
        Op::Tan => x.tan(),
        Op::Sinc => sinc(x),
        Op::Sinh => x.sinh(),
        Op::Cosh => x.cosh(),
        Op::Tanh => x.tanh(),
        Op::Asin => x.asin(),
        Op::Acos => x.acos(),
        Op::Atan => x.atan(),
        Op::Asinh => x.asinh(),
        Op::Acosh => x.acosh(),
        Op::Atanh => x.atanh(),
        Op::Erf => libm::erf(x),
        Op::Erfc => libm::erfc(x),
        Op::Lgamma => lgamma(x),
        Op::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Op::Reciprocal => 1.0 / x,
        Op::Angle if x.is_nan() => x,
        Op::Angle if x < 0.0 || x.is_sign_negative() && numerics != Numerics::Torch => PI,
        Op::Angle => 0.0,
        _ => return Err(unsupported(op)),
    };
    Ok(Number::Real(value))
}

/// What `x` is beyond an integer, and the sign that half a turn as often makes of a sine: π is known well enough for the sine
/// of what is left.
fn half_turns(x: f64) -> (f64, f64) {
    (x - x.round(), if x.round() % 2.0 == 0.0 { 1.0 } else { -1.0 })
}

/// 0 at all integers but 0.
fn sinc(x: f64) -> f64 {
    let (beyond, sign) = half_turns(x);
    match x == 0.0 {
        true => 1.0,
        false => 0.0 + sign * (beyond * PI).sin() / (x * PI),
    }
}

fn complex_sinc(z: Complex64) -> Complex64 {
    let (beyond, sign) = half_turns(z.re);
    let sine = (Complex64::new(beyond, z.im) * PI).sin() * sign;
    match z.norm() == 0.0 {
        true => Complex64::new(1.0, 0.0),
        false => sine / (z * PI),
    }
}

unsafe extern "C" {
    fn lgamma_r(x: f64, sign: *mut std::ffi::c_int) -> f64;
}

/// The C library's, which is accurate where the logarithm is about 0 too.
fn lgamma(x: f64) -> f64 {
    let mut sign = 0;
    // SAFETY: the function writes an integer to the place that it is passed, and nothing else.
    unsafe { lgamma_r(x, &raw mut sign) }
}

fn complex(op: Op, z: Complex64, numerics: Numerics) -> Element {
    let one = Complex64::new(1.0, 0.0);
    let value = match op {
        Op::IsNan => return Ok(Number::truth(z.is_nan())),
        Op::IsInf => return Ok(Number::truth(z.re.is_infinite() || z.im.is_infinite())),
        Op::IsFinite => return Ok(Number::truth(z.is_finite())),
        Op::LogicalNot => return Ok(Number::truth(z.re == 0.0 && z.im == 0.0)),
        Op::Abs => return Ok(Number::Real(z.norm())),
        Op::Angle => return Ok(Number::Real(z.arg())),
        Op::Real => return Ok(Number::Real(z.re)),
        Op::Imag => return Ok(Number::Real(z.im)),
        Op::Negative => -z,
        Op::Positive => z,
        Op::Conj => z.conj(),
        // NumPy's zero has no signs, and one infinite part is the direction.
        Op::Sign if numerics == Numerics::NumPy && z.norm() == 0.0 => Complex64::new(0.0, 0.0),
        Op::Sign if numerics == Numerics::NumPy && z.re.is_infinite() != z.im.is_infinite() => {
            let along = |part: f64| if part.is_infinite() { part.signum() } else { 0.0 };
            Complex64::new(along(z.re), along(z.im))
        }
        Op::Relu => {
            let larger =
                super::binary::maximum(Number::Complex(z.re, z.im), Number::Complex(0.0, 0.0), numerics);
            return Ok(larger);
        }
        Op::Sign if z.norm() == 0.0 => z,
        Op::Sign => Complex64::new(z.re / z.norm(), z.im / z.norm()),
        Op::Square => z * z,
        Op::Sqrt => z.sqrt(),
        Op::Cbrt => z.powf(1.0 / 3.0),
        Op::Rsqrt => one / z.sqrt(),
        Op::Exp => z.exp(),
        Op::Exp2 => (z * std::f64::consts::LN_2).exp(),
        Op::Expm1 => z.exp() - one,
        Op::Log => z.ln(),
        Op::Log2 => z.ln() / std::f64::consts::LN_2,
        Op::Log10 => z.ln() / std::f64::consts::LN_10,
        Op::Log1p => (z + one).ln(),
        Op::Sin => z.sin(),
        Op::Cos => z.cos(),
        Op::Tan => z.tan(),
        Op::Sinc => complex_sinc(z),
        Op::Sinh => z.sinh(),
        Op::Cosh => z.cosh(),
        Op::Tanh => z.tanh(),
        Op::Asin => z.asin(),
        Op::Acos => z.acos(),
        Op::Atan => z.atan(),
        Op::Asinh => z.asinh(),
        Op::Acosh => z.acosh(),
        Op::Atanh => z.atanh(),
        Op::Sigmoid => one / (one + (-z).exp()),
        Op::Reciprocal => one / z,
        _ => return Err(unsupported(op)),
    };
    Ok(Number::Complex(value.re, value.im))
}
