//! Hyperbolic functions of complex numbers; the circular ones are these, turned.

use super::{Pair, Range, choose, divide, is_infinite, is_zero};
use crate::build::Build;
use crate::emit::{Compare, Emit, Ty, Unary};
use crate::math;
use crate::ops::float;

/// `sinh(re) cos(im)` and `cosh(re) sin(im)`.
pub(super) fn sinh<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let parts = hyperbolic(e, (re, im));
    let near = (e.mul(parts.sinh, parts.cos), e.mul(parts.cosh, parts.sin));
    let (real, imaginary) = parts.far(e);
    let far = (flipped(e, real, re), imaginary);
    let (real, imaginary) = choose(e, parts.is_far, far, near);
    let real = e.select(parts.lost, re, real);
    let (is_zero, is_real) = (e.is(Compare::FEq, re, 0.0), e.is(Compare::FEq, im, 0.0));
    let keeps_zero = e.and(is_zero, parts.no_angle);
    let real = e.select(keeps_zero, re, real);
    let real = e.select(is_real, parts.sinh, real);
    (real, e.select(is_real, im, imaginary))
}

/// `cosh(re) cos(im)` and `sinh(re) sin(im)`.
pub(super) fn cosh<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
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
    let keeps_zero = e.and(is_zero, parts.no_angle);
    let has_none = e.or(keeps_zero, is_real);
    let real = e.select(is_real, parts.cosh, real);
    (real, e.select(has_none, no_imaginary, imaginary))
}

/// `sin(π z) / (π z)`. Whole turns of the real part are taken away before the multiplication, and where the sine overflows,
/// half of its length is multiplied after the division. On the real line it is what it is of real numbers, and the imaginary
/// part a zero of the side that the slope, `(cos(π x) - sinc x) / x`, has.
pub(super) fn sinc<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    let (re, im) = z;
    let whole = e.unary(Unary::RoundEven, re);
    let beyond = e.sub(re, whole);
    let half = e.scale(whole, 0.5);
    let floor = e.unary(Unary::Floor, half);
    let is_odd = e.compare(Compare::FNe, half, floor);
    let pi = e.constant(re, std::f64::consts::PI);
    let [angle, height, along] = [beyond, im, re].map(|x| e.mul(x, pi));
    let parts = hyperbolic(e, (height, angle));
    // What rounding took from the height, as often as the height is great.
    let rest = {
        let (minus, low) = (e.neg(height), pi_rest(e, im));
        let rest = e.fma(im, pi, minus);
        e.fma(im, low, rest)
    };
    let (cosh, sinh) = (e.mul_add(parts.sinh, rest, parts.cosh), e.mul_add(parts.cosh, rest, parts.sinh));
    let near = (e.mul(cosh, parts.sin), e.mul(sinh, parts.cos));
    let (outwards, upwards) = (flipped(e, rest, im), flipped(e, parts.cos, im));
    let outwards = e.scale(outwards, 0.5);
    let root = e.mul_add(parts.root, outwards, parts.root);
    let far = (e.mul(root, parts.sin), e.mul(root, upwards));
    let sine = choose(e, parts.is_far, far, near);
    let (real, imaginary) = divide(e, sine, (along, height));
    let one = e.constant(re, 1.0);
    let length = e.select(parts.is_far, root, one);
    let minus = e.neg(length);
    let length = e.select(is_odd, minus, length);
    let quotient = (e.mul(real, length), e.mul(imaginary, length));
    let (on_line, cos) = (math::sinc(e, re), e.mul(parts.cos, length));
    let slope = e.sub(cos, on_line);
    let slope = e.div(slope, re);
    let side = e.mul(im, slope);
    let is_real = e.is(Compare::FEq, im, 0.0);
    let value = choose(e, is_real, (on_line, side), quotient);
    let (is_zero, zero) = (is_zero(e, z), e.constant(re, 0.0));
    choose(e, is_zero, (one, zero), value)
}

/// What π is beyond the number of the type of `like` that is nearest.
fn pi_rest<E: Emit>(e: &mut E, like: E::Value) -> E::Value {
    let rest = if e.ty(like) == Ty::F64 { 1.2246467991473532e-16 } else { -8.742278e-8 };
    e.constant(like, rest)
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
    /// Whether the imaginary part is no angle.
    no_angle: V,
    /// Whether the real part is infinite and nothing says of what sign.
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
        no_angle,
        lost: e.and(is_infinite, no_angle),
    }
}

/// Kahan's formula: with `t = tan(im)` and `s = sinh(re)` the quotient of `s sqrt(1 + s²) (1 + t²) + i t` by
/// `1 + (1 + t²) s²`. Far out it is 1 and `4 sin(im) cos(im) exp(-2 re)`.
pub(super) fn tanh<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let limit = Range::of(e, re).wide;
    let one = e.constant(re, 1.0);
    let magnitude = e.fabs(re);
    let is_far = e.is(Compare::FGt, magnitude, limit);
    let zero = e.constant(re, 0.0);
    let met = e.select(is_far, zero, re);
    let (t, s) = (math::tan(e, im), math::sinh(e, met));
    let beta = e.mul_add(t, t, one);
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
        let (is_end, has_angle) = (is_infinite(e, re), float::is_finite(e, im));
        let no_angle = e.not(has_angle);
        let (end, nan) = (e.copysign(zero, im), e.sub(im, im));
        let imaginary = e.select(no_angle, end, imaginary);
        let known = e.or(is_end, has_angle);
        let unit = e.copysign(one, re);
        (e.select(known, unit, nan), e.select(known, imaginary, nan))
    };
    let (real, imaginary) = choose(e, is_far, far, near);
    let is_real = e.is(Compare::FEq, im, 0.0);
    let along = math::tanh(e, re);
    (e.select(is_real, along, real), e.select(is_real, im, imaginary))
}
