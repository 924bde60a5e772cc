//! Ops of complex numbers, computed in their parts.
//!
//! Products are the plain formula; quotients are Smith's, as in NumPy. The functions take and return what C99's annex G
//! says at zeros, infinities and branch cuts, and neither overflow nor underflow on the way to a result that does not.

use promote_lattice::{DType, Op};

use super::{choice, float, inverse};
use crate::build::{Build, power_of_two};
use crate::emit::{Compare, Element, Emit, Ty, Unary};
use crate::math;
use crate::storage::round_to;

/// Real and imaginary part.
pub(super) type Pair<V> = (V, V);

/// An op of one number. A definition that asks whether something holds gives a truth value, and one that gives a part, or a
/// magnitude, a real number.
pub(super) fn unary<E: Emit>(
    e: &mut E,
    op: Op,
    dtype: DType,
    z: Pair<E::Value>,
) -> Option<Element<E::Value>> {
    let (re, im) = z;
    let real = match op {
        Op::IsNan => e.compare(Compare::FUnordered, re, im),
        Op::IsInf => {
            let (re, im) = (is_infinite(e, re), is_infinite(e, im));
            e.or(re, im)
        }
        Op::IsFinite => {
            let (re, im) = (float::is_finite(e, re), float::is_finite(e, im));
            e.and(re, im)
        }
        Op::LogicalNot => is_zero(e, z),
        Op::Real => re,
        Op::Imag => im,
        Op::Abs => {
            let length = hypotenuse(e, z);
            round_to(e, dtype, length)
        }
        Op::Angle => {
            let angle = math::atan2(e, im, re);
            round_to(e, dtype, angle)
        }
        _ => {
            let (re, im) = function(e, op, dtype, z)?;
            return Some(Element::Complex(round_to(e, dtype, re), round_to(e, dtype, im)));
        }
    };
    Some(Element::Real(real))
}

fn function<E: Emit>(e: &mut E, op: Op, dtype: DType, z: Pair<E::Value>) -> Option<Pair<E::Value>> {
    let (re, im) = z;
    Some(match op {
        Op::Positive => z,
        Op::Negative => (e.neg(re), e.neg(im)),
        Op::Conj => (re, e.neg(im)),
        Op::Round => (e.unary(Unary::RoundEven, re), e.unary(Unary::RoundEven, im)),
        Op::Relu => {
            let zero = e.constant(re, 0.0);
            let larger = choice::maximum(e, dtype, Element::Complex(re, im), Element::Complex(zero, zero));
            let Element::Complex(re, im) = larger else { return None };
            (re, im)
        }
        Op::Sign => sign(e, z),
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
        _ => return None,
    })
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
        _ => return None,
    };
    Some(Element::Complex(round_to(e, dtype, re), round_to(e, dtype, im)))
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

fn is_infinite<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let magnitude = e.fabs(x);
    e.is(Compare::FEq, magnitude, f64::INFINITY)
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
    math::hypot(e, re, im)
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

/// The number of the same direction at distance 1; zero is itself.
fn sign<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    let length = hypotenuse(e, z);
    let unit = (e.div(z.0, length), e.div(z.1, length));
    let is_zero = is_zero(e, z);
    choose(e, is_zero, z, unit)
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
            _ => Self { high: 124, low: -76, up: 50, exponent: 88.0, wide: 10.0 },
        }
    }
}

/// A number as `scaled × 2^(2 × halves)`, whose powers of two come as their square roots.
struct Scaled<V> {
    z: Pair<V>,
    /// `2^halves`, which gives back what a square root was scaled by.
    root: V,
    /// `log(2^(2 × halves))`.
    log: V,
}

/// Scales what is near either end of the range.
fn scaled<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Scaled<E::Value> {
    let Range { high, low, up, .. } = Range::of(e, z.0);
    let (large, _) = sorted(e, z);
    let is_high = e.is(Compare::FGe, large, power_of_two(high));
    let is_low = e.is(Compare::FLt, large, power_of_two(low));
    let mut chosen = |of_high: f64, of_low: f64, else_: f64| {
        let [of_high, of_low, else_] = [of_high, of_low, else_].map(|value| e.constant(large, value));
        let low = e.select(is_low, of_low, else_);
        e.select(is_high, of_high, low)
    };
    let factor = chosen(power_of_two(-4), power_of_two(2 * up), 1.0);
    let root = chosen(4.0, power_of_two(-up), 1.0);
    let ln_2 = std::f64::consts::LN_2;
    let log = chosen(4.0 * ln_2, f64::from(-2 * up) * ln_2, 0.0);
    Scaled { z: (e.mul(z.0, factor), e.mul(z.1, factor)), root, log }
}

/// The root with a real part that is not negative; the imaginary part has the operand's sign.
pub(super) fn sqrt<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    let Scaled { z: (re, im), root, .. } = scaled(e, z);
    let length = math::hypot(e, re, im);
    let magnitude = e.fabs(re);
    let sum = e.add(length, magnitude);
    let half = e.scale(sum, 0.5);
    let large = e.sqrt(half);
    let im_magnitude = e.fabs(im);
    let twice = e.add(large, large);
    let small = e.div(im_magnitude, twice);
    // A zero has the root zero, and what is infinite across has one that is so along.
    let is_zero = e.is(Compare::FEq, large, 0.0);
    let small = e.select(is_zero, im_magnitude, small);
    let is_negative = e.is_negative(re);
    let real = e.select(is_negative, small, large);
    let imaginary = e.select(is_negative, large, small);
    let is_across = is_infinite(e, im);
    let (real, imaginary) = choose(e, is_across, (im_magnitude, im_magnitude), (real, imaginary));
    let (real, imaginary) = (e.mul(real, root), e.mul(imaginary, root));
    (real, e.copysign(imaginary, z.1))
}

/// A length and an angle as a number, where the length comes as a product of two so that it does not overflow. At the angle
/// 0 the imaginary part is that zero, and an infinite length at no angle has an infinite real part.
fn polar<E: Emit>(e: &mut E, length: Pair<E::Value>, angle: E::Value) -> Pair<E::Value> {
    let (cos, sin) = (math::cos(e, angle), math::sin(e, angle));
    let (real, imaginary) = (e.mul(length.0, cos), e.mul(length.0, sin));
    let (real, imaginary) = (e.mul(real, length.1), e.mul(imaginary, length.1));
    let whole = e.mul(length.0, length.1);
    let no_angle = {
        let is_finite = float::is_finite(e, angle);
        e.not(is_finite)
    };
    let is_infinite = e.is(Compare::FEq, whole, f64::INFINITY);
    let is_nothing = e.is(Compare::FEq, whole, 0.0);
    let real_end = e.or(is_infinite, is_nothing);
    let real_end = e.and(no_angle, real_end);
    let imaginary_end = e.and(no_angle, is_nothing);
    let (real, imaginary) = (e.select(real_end, whole, real), e.select(imaginary_end, whole, imaginary));
    let is_real = e.is(Compare::FEq, angle, 0.0);
    (e.select(is_real, whole, real), e.select(is_real, angle, imaginary))
}

/// `f(x)` as a product of two, for a function of which half the operand gives the root: of a large operand that root twice.
fn split<E: Emit>(
    e: &mut E,
    x: E::Value,
    limit: f64,
    f: impl FnOnce(&mut E, E::Value) -> E::Value,
) -> Pair<E::Value> {
    let is_large = e.is(Compare::FGt, x, limit);
    let (half, one) = (e.scale(x, 0.5), e.constant(x, 1.0));
    let met = e.select(is_large, half, x);
    let power = f(e, met);
    (power, e.select(is_large, power, one))
}

fn exp<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let limit = Range::of(e, re).exponent;
    let length = split(e, re, limit, math::exp);
    polar(e, length, im)
}

fn exp2<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let limit = Range::of(e, re).exponent;
    let length = split(e, re, limit * std::f64::consts::LOG2_E, math::exp2);
    let angle = e.scale(im, std::f64::consts::LN_2);
    polar(e, length, angle)
}

/// `exp(z) - 1`; near zero `exp(re) cos(im) - 1` without the ones that cancel.
fn expm1<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let (power_re, imaginary) = exp(e, (re, im));
    let (less, cos) = (math::expm1(e, re), math::cos(e, im));
    let half = e.scale(im, 0.5);
    let sin = math::sin(e, half);
    let along = e.mul(less, cos);
    let twice = e.add(sin, sin);
    let across = e.mul(twice, sin);
    let near = e.sub(along, across);
    let far = e.offset(power_re, -1.0);
    let is_near = e.is(Compare::FLt, re, 2.0);
    let real = e.select(is_near, near, far);
    let is_real = e.is(Compare::FEq, im, 0.0);
    let end = e.is(Compare::FEq, re, f64::NEG_INFINITY);
    let by_itself = e.or(is_real, end);
    (e.select(by_itself, less, real), imaginary)
}

/// The principal logarithm.
pub(super) fn log<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    (log_of_length(e, z), math::atan2(e, z.1, z.0))
}

/// `log(|z|)`. Near 1 that is half the logarithm of the square, whose distance from 1 is found to twice the precision.
pub(super) fn log_of_length<E: Emit>(e: &mut E, z: Pair<E::Value>) -> E::Value {
    let Scaled { z: scaled, log: scale, .. } = scaled(e, z);
    let length = math::hypot(e, scaled.0, scaled.1);
    let far = math::log(e, length);
    let far = e.add(far, scale);
    let (large, small) = sorted(e, z);
    let one = e.constant(large, 1.0);
    let distance = distance_from_one(e, large, small, one);
    let near = math::log1p(e, distance);
    let near = e.scale(near, 0.5);
    let (above, below) = (e.is(Compare::FGt, length, 0.6), e.is(Compare::FLt, length, 1.6));
    let is_near = e.and(above, below);
    e.select(is_near, near, far)
}

/// `x² + y² - 1`, where `x` is the larger.
fn distance_from_one<E: Emit>(e: &mut E, x: E::Value, y: E::Value, one: E::Value) -> E::Value {
    let (xx, yy) = (e.mul(x, x), e.mul(y, y));
    let (minus_xx, minus_yy) = (e.neg(xx), e.neg(yy));
    let (x_rest, y_rest) = (e.fma(x, x, minus_xx), e.fma(y, y, minus_yy));
    let rest = e.add(x_rest, y_rest);
    let less = e.sub(xx, one);
    let sum = e.add(less, yy);
    e.add(sum, rest)
}

fn scaled_log<E: Emit>(e: &mut E, z: Pair<E::Value>, by: f64) -> Pair<E::Value> {
    let (re, im) = log(e, z);
    (e.scale(re, by), e.scale(im, by))
}

/// `log(1 + z)`, of small numbers without adding the 1.
fn log1p<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let sum = e.offset(re, 1.0);
    let far = log_of_length(e, (sum, im));
    let twice = e.add(re, re);
    let square = e.fma(re, re, twice);
    let distance = e.fma(im, im, square);
    let near = math::log1p(e, distance);
    let near = e.scale(near, 0.5);
    let (large, _) = sorted(e, (re, im));
    let is_near = e.is(Compare::FLt, large, 0.3);
    (e.select(is_near, near, far), math::atan2(e, im, sum))
}

/// `sinh(re) cos(im)` and `cosh(re) sin(im)`.
fn sinh<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let parts = hyperbolic(e, (re, im));
    let near = (e.mul(parts.sinh, parts.cos), e.mul(parts.cosh, parts.sin));
    let (real, imaginary) = parts.far(e);
    let far = (flipped(e, real, re), imaginary);
    let (real, imaginary) = choose(e, parts.is_far, far, near);
    let real = e.select(parts.lost, re, real);
    let (is_zero, is_real) = (e.is(Compare::FEq, re, 0.0), e.is(Compare::FEq, im, 0.0));
    let real = e.select(is_zero, re, real);
    let real = e.select(is_real, parts.sinh, real);
    (real, e.select(is_real, im, imaginary))
}

/// `cosh(re) cos(im)` and `sinh(re) sin(im)`.
fn cosh<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let parts = hyperbolic(e, (re, im));
    let near = (e.mul(parts.cosh, parts.cos), e.mul(parts.sinh, parts.sin));
    let (real, imaginary) = parts.far(e);
    let far = (real, flipped(e, imaginary, re));
    let (real, imaginary) = choose(e, parts.is_far, far, near);
    let magnitude = e.fabs(re);
    let real = e.select(parts.lost, magnitude, real);
    let (is_zero, is_real) = (e.is(Compare::FEq, re, 0.0), e.is(Compare::FEq, im, 0.0));
    let zero = e.constant(re, 0.0);
    let sign = e.copysign(zero, im);
    let no_imaginary = flipped(e, sign, re);
    let has_none = e.or(is_zero, is_real);
    let real = e.select(is_real, parts.cosh, real);
    (real, e.select(has_none, no_imaginary, imaginary))
}

/// `x`, or its negative if the sign of `by` is set.
fn flipped<E: Emit>(e: &mut E, x: E::Value, by: E::Value) -> E::Value {
    let (is_negative, negative) = (e.is_negative(by), e.neg(x));
    e.select(is_negative, negative, x)
}

/// What the hyperbolic functions of a complex number are made of.
struct Hyperbolic<V> {
    sinh: V,
    cosh: V,
    sin: V,
    cos: V,
    /// The root of `cosh(re)` where that overflows.
    root: V,
    /// Whether `cosh(re)` overflows.
    is_far: V,
    /// Whether the real part is infinite and the angle says nothing of its sign.
    lost: V,
}

impl<V: Copy> Hyperbolic<V> {
    /// `cosh(re)` times the cosine and the sine, where `cosh(re)` overflows.
    fn far<E: Emit<Value = V>>(&self, e: &mut E) -> Pair<V> {
        let (real, imaginary) = (e.mul(self.root, self.cos), e.mul(self.root, self.sin));
        (e.mul(real, self.root), e.mul(imaginary, self.root))
    }
}

fn hyperbolic<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Hyperbolic<E::Value> {
    let limit = Range::of(e, re).exponent;
    let magnitude = e.fabs(re);
    let is_far = e.is(Compare::FGt, magnitude, limit);
    let half = e.scale(magnitude, 0.5);
    let power = math::exp(e, half);
    let root = e.scale(power, std::f64::consts::FRAC_1_SQRT_2);
    let (is_infinite, is_finite) = (is_infinite(e, re), float::is_finite(e, im));
    let no_angle = e.not(is_finite);
    Hyperbolic {
        sinh: math::sinh(e, re),
        cosh: math::cosh(e, re),
        sin: math::sin(e, im),
        cos: math::cos(e, im),
        root,
        is_far,
        lost: e.and(is_infinite, no_angle),
    }
}

/// Kahan's formula: with `t = tan(im)` and `s = sinh(re)` the quotient of `s sqrt(1 + s²) (1 + t²) + i t` by
/// `1 + (1 + t²) s²`. Far out it is 1 and `4 sin(im) cos(im) exp(-2 re)`.
fn tanh<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let limit = Range::of(e, re).wide;
    let one = e.constant(re, 1.0);
    let magnitude = e.fabs(re);
    let is_far = e.is(Compare::FGt, magnitude, limit);
    let zero = e.constant(re, 0.0);
    let met = e.select(is_far, zero, re);
    let (t, s) = (math::tan(e, im), math::sinh(e, met));
    let beta = e.fma(t, t, one);
    let square = e.mul(s, s);
    let rho = e.add(one, square);
    let rho = e.sqrt(rho);
    let stretched = e.mul(beta, square);
    let divisor = e.add(one, stretched);
    let real = e.mul(beta, rho);
    let real = e.mul(real, s);
    let near = (e.div(real, divisor), e.div(t, divisor));
    let far = {
        let twice = e.scale(magnitude, -2.0);
        let (power, sin, cos) = (math::exp(e, twice), math::sin(e, im), math::cos(e, im));
        let product = e.mul(sin, cos);
        let product = e.scale(product, 4.0);
        let imaginary = e.mul(product, power);
        let is_nothing = e.is(Compare::FEq, power, 0.0);
        let (is_nan, end) = (e.is_nan(imaginary), e.copysign(zero, im));
        let is_nothing = e.and(is_nothing, is_nan);
        (e.copysign(one, re), e.select(is_nothing, end, imaginary))
    };
    let (real, imaginary) = choose(e, is_far, far, near);
    let is_real = e.is(Compare::FEq, im, 0.0);
    let along = math::tanh(e, re);
    (e.select(is_real, along, real), e.select(is_real, im, imaginary))
}

/// `1 / (1 + exp(-z))`, of the power that does not overflow.
fn sigmoid<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let is_negative = e.is(Compare::FLt, re, 0.0);
    let (minus_re, minus_im) = (e.neg(re), e.neg(im));
    let met = choose(e, is_negative, (re, im), (minus_re, minus_im));
    let power = exp(e, met);
    let (one, zero) = (e.constant(re, 1.0), e.constant(re, 0.0));
    let numerator = choose(e, is_negative, power, (one, zero));
    let denominator = (e.add(one, power.0), power.1);
    divide(e, numerator, denominator)
}

/// `log(exp(x) + exp(y))`: the one of the larger real part, and the logarithm of what the other adds to it.
fn log_add_exp<E: Emit>(e: &mut E, x: Pair<E::Value>, y: Pair<E::Value>) -> Pair<E::Value> {
    let is_larger = e.compare(Compare::FGe, x.0, y.0);
    let (large, small) = (choose(e, is_larger, x, y), choose(e, is_larger, y, x));
    let (re, im) = (e.sub(small.0, large.0), e.sub(small.1, large.1));
    let is_level = e.compare(Compare::FEq, x.0, y.0);
    let zero = e.constant(re, 0.0);
    let re = e.select(is_level, zero, re);
    let rest = exp(e, (re, im));
    let rest = log1p(e, rest);
    (e.add(large.0, rest.0), e.add(large.1, rest.1))
}

/// `x^y` by logarithms: of anything to the power 0 it is 1, and of 0 to a power with a positive real part 0.
pub(super) fn power<E: Emit>(
    e: &mut E,
    dtype: DType,
    x: Pair<E::Value>,
    (c, d): Pair<E::Value>,
) -> Element<E::Value> {
    let (length, log) = (hypotenuse(e, x), log_of_length(e, x));
    let angle = math::atan2(e, x.1, x.0);
    let along = math::pow(e, length, c);
    let turn = e.mul(d, angle);
    let turn = e.neg(turn);
    let across = math::exp(e, turn);
    let (turned, stretched) = (e.mul(c, angle), e.mul(d, log));
    let is_real = e.is(Compare::FEq, d, 0.0);
    let zero = e.constant(c, 0.0);
    let stretched = e.select(is_real, zero, stretched);
    let angle = e.add(turned, stretched);
    let power = polar(e, (along, across), angle);
    let (is_zero_base, is_positive) = (is_zero(e, x), e.is(Compare::FGt, c, 0.0));
    let is_zero_power = e.and(is_zero_base, is_positive);
    let power = choose(e, is_zero_power, (zero, zero), power);
    let (is_zeroth, one) = (is_zero(e, (c, d)), e.constant(c, 1.0));
    let (re, im) = choose(e, is_zeroth, (one, zero), power);
    Element::Complex(round_to(e, dtype, re), round_to(e, dtype, im))
}
