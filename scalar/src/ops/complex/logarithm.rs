//! Roots and logarithms of complex numbers, and what is made of them.

use promote_lattice::{DType, Op};

use super::exponential::{exp, polar};
use super::{Pair, Range, choose, hypotenuse, is_infinite, is_zero, native, sorted};
use crate::build::{Build, power_of_two};
use crate::emit::{Compare, Element, Emit, Ty, Unary};
use crate::math;
use crate::storage::round_to;

/// A number as `scaled × 2^(2 × halves)`, whose powers of two come as their square roots.
struct Scaled<V> {
    z: Pair<V>,
    /// `2^halves`, which returns what a square root was scaled by.
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
    if let Some(root) = native(e, Op::Sqrt, z) {
        return root;
    }
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

/// The principal logarithm.
pub(super) fn log<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    (log_of_length(e, z), math::atan2(e, z.1, z.0))
}

/// `log(|z|)`. Near 1 that is half the logarithm of the square, whose distance from 1 is found to twice the precision.
pub(super) fn log_of_length<E: Emit>(e: &mut E, z: Pair<E::Value>) -> E::Value {
    if let Some((log, _)) = native(e, Op::Log, z) {
        return log;
    }
    let Scaled { z: scaled, log: scale, .. } = scaled(e, z);
    let length = math::hypot(e, scaled.0, scaled.1);
    let far = math::log(e, length);
    let far = e.add(far, scale);
    let (large, small) = sorted(e, z);
    let one = e.constant(large, 1.0);
    let distance = distance_from_one(e, large, small, one);
    let near = math::log1p(e, distance);
    let near = e.scale(near, 0.5);
    // What was scaled up is not near, whatever its length is now.
    let (above, below) = (e.is(Compare::FGt, large, 0.42), e.is(Compare::FLt, length, 1.6));
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

pub(super) fn scaled_log<E: Emit>(e: &mut E, z: Pair<E::Value>, by: f64) -> Pair<E::Value> {
    let (re, im) = log(e, z);
    (e.scale(re, by), e.scale(im, by))
}

/// `log(1 + z)`, of small numbers without adding the 1.
pub(super) fn log1p<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> Pair<E::Value> {
    if let Some(log) = native(e, Op::Log1p, (re, im)) {
        return log;
    }
    let sum = e.offset(re, 1.0);
    let far = log_of_length(e, (sum, im));
    let twice = e.add(re, re);
    let square = e.mul_add(re, re, twice);
    let distance = e.mul_add(im, im, square);
    let near = math::log1p(e, distance);
    let near = e.scale(near, 0.5);
    let (large, _) = sorted(e, (re, im));
    let is_near = e.is(Compare::FLt, large, 0.3);
    (e.select(is_near, near, far), math::atan2(e, im, sum))
}

/// `log(exp(x) + exp(y))`: the one of the larger real part, and the logarithm of what the other adds to it.
pub(super) fn log_add_exp<E: Emit>(e: &mut E, x: Pair<E::Value>, y: Pair<E::Value>) -> Pair<E::Value> {
    let is_larger = e.compare(Compare::FGe, x.0, y.0);
    let (large, small) = (choose(e, is_larger, x, y), choose(e, is_larger, y, x));
    let (re, im) = (e.sub(small.0, large.0), e.sub(small.1, large.1));
    let is_level = e.compare(Compare::FEq, x.0, y.0);
    let zero = e.constant(re, 0.0);
    let re = e.select(is_level, zero, re);
    let rest = exp(e, (re, im));
    let rest = log1p(e, rest);
    let angle = e.add(large.1, rest.1);
    (e.add(large.0, rest.0), principal(e, angle))
}

/// An angle less the whole turns in it.
fn principal<E: Emit>(e: &mut E, angle: E::Value) -> E::Value {
    let turn = std::f64::consts::TAU;
    // The turn in two parts, of which the lower is what the type does not hold of it.
    let (high, low) = match e.ty(angle) {
        Ty::F64 => (turn, 2.449_293_598_294_706_4e-16),
        _ => (f64::from(turn as f32), turn - f64::from(turn as f32)),
    };
    let turns = e.scale(angle, 1.0 / turn);
    let turns = e.unary(Unary::RoundEven, turns);
    let turns = e.neg(turns);
    let (high, low) = (e.constant(angle, high), e.constant(angle, low));
    let angle = e.mul_add(turns, high, angle);
    e.mul_add(turns, low, angle)
}

/// `x^y` by logarithms: of anything to the power 0 it is 1, and of 0 to a power with a positive real part 0.
pub(in crate::ops) fn power<E: Emit>(
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
    let no_end = e.int(Ty::I1, 0);
    let power = polar(e, (along, across), angle, no_end);
    let (is_zero_base, is_positive) = (is_zero(e, x), e.is(Compare::FGt, c, 0.0));
    let is_zero_power = e.and(is_zero_base, is_positive);
    let power = choose(e, is_zero_power, (zero, zero), power);
    let (is_zeroth, one) = (is_zero(e, (c, d)), e.constant(c, 1.0));
    let (re, im) = choose(e, is_zeroth, (one, zero), power);
    Element::Complex(round_to(e, dtype, re), round_to(e, dtype, im))
}
