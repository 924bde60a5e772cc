//! Powers of e and 2 that are complex, and what is made of them.

use promote_lattice::Op;

use super::{Pair, Range, choose, divide, is_infinite, native};
use crate::build::Build;
use crate::emit::{Compare, Emit};
use crate::math;
use crate::ops::float;

/// A length and an angle as a number, where the length comes as a product of two so that it does not overflow. At the angle
/// 0 the imaginary part is that zero. Where `end` says that the length is exactly an infinity or a zero, it needs no angle.
pub(super) fn polar<E: Emit>(
    e: &mut E,
    length: Pair<E::Value>,
    angle: E::Value,
    end: E::Value,
) -> Pair<E::Value> {
    let (cos, sin) = (math::cos(e, angle), math::sin(e, angle));
    let (real, imaginary) = (e.mul(length.0, cos), e.mul(length.0, sin));
    let (real, imaginary) = (e.mul(real, length.1), e.mul(imaginary, length.1));
    let whole = e.mul(length.0, length.1);
    let has_angle = float::is_finite(e, angle);
    let no_angle = e.not(has_angle);
    let is_end = e.and(no_angle, end);
    let real = e.select(is_end, whole, real);
    let is_nothing = e.is(Compare::FEq, whole, 0.0);
    let is_nothing = e.and(is_end, is_nothing);
    let imaginary = e.select(is_nothing, whole, imaginary);
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

pub(super) fn exp<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    if let Some(power) = native(e, Op::Exp, (re, im)) {
        return power;
    }
    let limit = Range::of(e, re).exponent;
    let length = split(e, re, limit, math::exp);
    let end = is_infinite(e, re);
    polar(e, length, im, end)
}

pub(super) fn exp2<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let limit = Range::of(e, re).exponent;
    let length = split(e, re, limit * std::f64::consts::LOG2_E, math::exp2);
    let angle = e.scale(im, std::f64::consts::LN_2);
    let end = is_infinite(e, re);
    polar(e, length, angle, end)
}

/// `exp(z) - 1`; near zero `exp(re) cos(im) - 1` without the ones that cancel.
pub(super) fn expm1<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
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

/// `1 / (1 + exp(-z))`, of the power that does not overflow.
pub(super) fn sigmoid<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    let is_negative = e.is(Compare::FLt, re, 0.0);
    let (minus_re, minus_im) = (e.neg(re), e.neg(im));
    let met = choose(e, is_negative, (re, im), (minus_re, minus_im));
    let power = exp(e, met);
    let (one, zero) = (e.constant(re, 1.0), e.constant(re, 0.0));
    let numerator = choose(e, is_negative, power, (one, zero));
    let denominator = (e.add(one, power.0), power.1);
    divide(e, numerator, denominator)
}
