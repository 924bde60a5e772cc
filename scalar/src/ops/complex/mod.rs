//! Ops of complex numbers, computed in their parts.
//!
//! Products are the plain formula; quotients are Smith's, as in NumPy. The functions take and return what C99's annex G
//! says at zeros, infinities and branch cuts, and neither overflow nor underflow on the way to a result that does not.

mod exponential;
mod hyperbolic;
mod inverse;
mod logarithm;

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};

use self::exponential::{exp, exp2, expm1, sigmoid};
use self::hyperbolic::{cosh, sinc, sinh, tanh};
pub(super) use self::logarithm::power;
use self::logarithm::{log, log_add_exp, log1p, scaled_log, sqrt};
use super::choice;
use super::float::{is_finite, is_infinite};
use crate::build::Build;
use crate::emit::{Compare, Element, Emit, Ty, Unary};
use crate::math;
use crate::storage::round_to;

/// Real and imaginary part.
pub(super) type Pair<V> = (V, V);

/// An op of one number. A definition that asks whether something holds returns a truth value, and one that gives a part, or a
/// magnitude, a real number.
pub(super) fn unary<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtype: DType,
    z: Pair<E::Value>,
) -> Option<Element<E::Value>> {
    let (re, im) = z;
    let real = |value| Some(Element::Real(value));
    let (re, im) = match op {
        Op::IsNan => return real(e.compare(Compare::FUnordered, re, im)),
        Op::IsInf => {
            let (re, im) = (is_infinite(e, re), is_infinite(e, im));
            return real(e.or(re, im));
        }
        Op::IsFinite => {
            let (re, im) = (is_finite(e, re), is_finite(e, im));
            return real(e.and(re, im));
        }
        Op::LogicalNot => return real(is_zero(e, z)),
        Op::Real => return real(re),
        Op::Imag => return real(im),
        Op::Abs => {
            let length = hypotenuse(e, z);
            return real(round_to(e, dtype, length));
        }
        Op::Angle => {
            let angle = math::atan2(e, im, re);
            return real(round_to(e, dtype, angle));
        }
        Op::Positive => z,
        Op::Negative => (e.neg(re), e.neg(im)),
        Op::Conj => (re, e.neg(im)),
        Op::Round => (e.unary(Unary::RoundEven, re), e.unary(Unary::RoundEven, im)),
        Op::Relu => {
            let zero = e.constant(re, 0.0);
            let (x, zero) = (Element::Complex(re, im), Element::Complex(zero, zero));
            let larger = choice::maximum(e, numerics, dtype, x, zero);
            let Element::Complex(re, im) = larger else { return None };
            (re, im)
        }
        Op::Sign => sign(e, numerics, z),
        Op::Square => multiply(e, z, z),
        Op::Sqrt => sqrt(e, z),
        Op::Rsqrt => {
            let root = sqrt(e, z);
            reciprocal(e, root)
        }
        Op::Reciprocal => reciprocal(e, z),
        Op::Exp => exp(e, z),
        Op::Exp2 => exp2(e, z),
        Op::Expm1 => expm1(e, z),
        Op::Log => log(e, z),
        Op::Log2 => scaled_log(e, z, std::f64::consts::LOG2_E),
        Op::Log10 => scaled_log(e, z, std::f64::consts::LOG10_E),
        Op::Log1p => log1p(e, z),
        Op::Sinc => sinc(e, z),
        Op::Sinh => sinh(e, z),
        Op::Cosh => cosh(e, z),
        Op::Tanh => tanh(e, z),
        Op::Sin => unturned(e, z, sinh),
        Op::Cos => {
            let turned = turned(e, z);
            cosh(e, turned)
        }
        Op::Tan => unturned(e, z, tanh),
        Op::Asinh => {
            let turned = turned(e, z);
            let (re, im) = inverse::asin(e, turned);
            (im, e.neg(re))
        }
        Op::Asin => inverse::asin(e, z),
        Op::Acos => inverse::acos(e, z),
        Op::Acosh => inverse::acosh(e, z),
        Op::Atanh => inverse::atanh(e, z),
        Op::Atan => unturned(e, z, inverse::atanh),
        Op::Sigmoid => sigmoid(e, z),
        // What has no definition is refused.
        _ => return None,
    };
    Some(Element::Complex(round_to(e, dtype, re), round_to(e, dtype, im)))
}

/// An op of two numbers.
pub(super) fn binary<E: Emit>(
    e: &mut E,
    op: Op,
    dtype: DType,
    x: Pair<E::Value>,
    y: Pair<E::Value>,
) -> Option<Element<E::Value>> {
    let (re, im) = match op {
        Op::Add => (e.add(x.0, y.0), e.add(x.1, y.1)),
        Op::Subtract => (e.sub(x.0, y.0), e.sub(x.1, y.1)),
        Op::Multiply => multiply(e, x, y),
        Op::Divide => divide(e, x, y),
        Op::LogAddExp => log_add_exp(e, x, y),
        // What has no definition is refused.
        _ => return None,
    };
    Some(Element::Complex(round_to(e, dtype, re), round_to(e, dtype, im)))
}

/// The machine's own function of a complex number, if it has it.
fn native<E: Emit>(e: &mut E, op: Op, (re, im): Pair<E::Value>) -> Option<Pair<E::Value>> {
    match e.native(op, &[Element::Complex(re, im)])? {
        Element::Complex(re, im) => Some((re, im)),
        Element::Real(_) => None,
    }
}

/// `i z`.
fn turned<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    (e.neg(im), re)
}

/// `-i f(i z)`: the circular function of a hyperbolic one.
fn unturned<E: Emit>(
    e: &mut E,
    z: Pair<E::Value>,
    f: impl FnOnce(&mut E, Pair<E::Value>) -> Pair<E::Value>,
) -> Pair<E::Value> {
    let turned = turned(e, z);
    let (re, im) = f(e, turned);
    (im, e.neg(re))
}

fn is_zero<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> E::Value {
    let (re, im) = (e.is(Compare::FEq, re, 0.0), e.is(Compare::FEq, im, 0.0));
    e.and(re, im)
}

pub(super) fn choose<E: Emit>(
    e: &mut E,
    condition: E::Value,
    x: Pair<E::Value>,
    y: Pair<E::Value>,
) -> Pair<E::Value> {
    (e.select(condition, x.0, y.0), e.select(condition, x.1, y.1))
}

/// The distance from zero.
fn hypotenuse<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> E::Value {
    match e.native(Op::Abs, &[Element::Complex(re, im)]) {
        Some(length) => length.real(),
        None => math::hypot(e, re, im),
    }
}

/// The larger and the smaller of the magnitudes of the parts.
fn sorted<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let (re, im) = (e.fabs(re), e.fabs(im));
    let is_wider = e.compare(Compare::FGe, re, im);
    (e.select(is_wider, re, im), e.select(is_wider, im, re))
}

pub(super) fn multiply<E: Emit>(e: &mut E, (a, b): Pair<E::Value>, (c, d): Pair<E::Value>) -> Pair<E::Value> {
    let (ac, bd) = (e.mul(a, c), e.mul(b, d));
    let (ad, bc) = (e.mul(a, d), e.mul(b, c));
    (e.sub(ac, bd), e.add(ad, bc))
}

/// Smith's quotient. By zero, both parts are divided by zero.
pub(super) fn divide<E: Emit>(e: &mut E, x: Pair<E::Value>, y: Pair<E::Value>) -> Pair<E::Value> {
    let (a, b) = x;
    let (c, d) = y;
    let (c_magnitude, d_magnitude) = (e.fabs(c), e.fabs(d));
    let is_wide = e.compare(Compare::FGe, c_magnitude, d_magnitude);
    let (large, small) = (e.select(is_wide, c, d), e.select(is_wide, d, c));
    let (along, across) = (e.select(is_wide, a, b), e.select(is_wide, b, a));
    let ratio = e.div(small, large);
    let part = e.mul(small, ratio);
    let divisor = e.add(large, part);
    let (real, imaginary) = (e.mul(across, ratio), e.mul(along, ratio));
    let (real, imaginary) = (e.add(along, real), e.sub(across, imaginary));
    let negative = e.neg(imaginary);
    let imaginary = e.select(is_wide, imaginary, negative);
    let quotient = (e.div(real, divisor), e.div(imaginary, divisor));
    let by_zero = is_zero(e, y);
    let of_zero = (e.div(a, c_magnitude), e.div(b, c_magnitude));
    choose(e, by_zero, of_zero, quotient)
}

pub(super) fn reciprocal<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    let (one, zero) = (e.constant(z.0, 1.0), e.constant(z.0, 0.0));
    divide(e, (one, zero), z)
}

/// The number of the same direction at distance 1; zero is itself. NumPy's zero has no signs, and a number with one infinite
/// part has the direction of that part there.
fn sign<E: Emit>(e: &mut E, numerics: Numerics, z: Pair<E::Value>) -> Pair<E::Value> {
    let length = hypotenuse(e, z);
    let unit = (e.div(z.0, length), e.div(z.1, length));
    let is_zero = is_zero(e, z);
    match numerics {
        Numerics::Jax | Numerics::Torch => choose(e, is_zero, z, unit),
        Numerics::NumPy => {
            let (one, zero) = (e.constant(z.0, 1.0), e.constant(z.0, 0.0));
            let (along, up) = (is_infinite(e, z.0), is_infinite(e, z.1));
            let (finite_along, finite_up) = (e.not(along), e.not(up));
            let (along, up) = (e.and(along, finite_up), e.and(up, finite_along));
            let (right, above) = (e.copysign(one, z.0), e.copysign(one, z.1));
            let unit = choose(e, along, (right, zero), unit);
            let unit = choose(e, up, (zero, above), unit);
            choose(e, is_zero, (zero, zero), unit)
        }
    }
}

/// The exponents of a format that a definition must not come near: where squares overflow, and where they lose bits.
struct Range {
    /// From this power of two on a number is scaled down.
    high: i32,
    /// Below this power of two it is scaled up.
    low: i32,
    /// An even number of places up from the lowest.
    up: i32,
    /// Where `exp` overflows, about.
    exponent: f64,
    /// From this on 1 is nothing beside the square.
    wide: f64,
}

impl Range {
    fn of<E: Emit>(e: &E, x: E::Value) -> Self {
        match e.ty(x) {
            Ty::F64 => Self { high: 1020, low: -960, up: 108, exponent: 708.0, wide: 20.0 },
            Ty::F16 | Ty::F32 | Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => {
                Self { high: 124, low: -76, up: 50, exponent: 88.0, wide: 10.0 }
            }
        }
    }
}
