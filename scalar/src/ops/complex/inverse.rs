//! Inverse functions of complex numbers: Kahan's formulas ("Branch cuts for complex elementary functions", 1987), which
//! take signed zeros to the right side of every cut. Far out, where 1 is nothing beside the number, they are logarithms.

use super::logarithm::{log_of_length, sqrt};
use super::{Pair, choose};
use crate::build::{Build, power_of_two};
use crate::emit::{Compare, Emit, Ty};
use crate::math;

/// Whether a part is so large that 1 is nothing beside its square; NaN beside an infinity counts.
fn is_far<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> E::Value {
    let limit = power_of_two(if e.ty(re) == Ty::F64 { 60 } else { 28 });
    let (re, im) = (e.fabs(re), e.fabs(im));
    let (re, im) = (e.is(Compare::FGt, re, limit), e.is(Compare::FGt, im, limit));
    e.or(re, im)
}

/// `log(2 |z|)`.
fn log_of_twice<E: Emit>(e: &mut E, z: Pair<E::Value>) -> E::Value {
    let log = log_of_length(e, z);
    e.offset(log, std::f64::consts::LN_2)
}

/// `sqrt(1 - z)` and `sqrt(1 + z)`.
fn roots<E: Emit>(e: &mut E, (re, im): Pair<E::Value>) -> (Pair<E::Value>, Pair<E::Value>) {
    let one = e.constant(re, 1.0);
    let (less, more) = (e.sub(one, re), e.add(one, re));
    let minus_im = e.neg(im);
    (sqrt(e, (less, minus_im)), sqrt(e, (more, im)))
}

/// The real part of `conj(x) y`.
fn along<E: Emit>(e: &mut E, x: Pair<E::Value>, y: Pair<E::Value>) -> E::Value {
    let (real, imaginary) = (e.mul(x.0, y.0), e.mul(x.1, y.1));
    e.add(real, imaginary)
}

/// The imaginary part of `conj(x) y`.
fn across<E: Emit>(e: &mut E, x: Pair<E::Value>, y: Pair<E::Value>) -> E::Value {
    let (there, back) = (e.mul(x.0, y.1), e.mul(x.1, y.0));
    e.sub(there, back)
}

pub(super) fn asin<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    let (re, im) = z;
    let (less, more) = roots(e, z);
    let near = {
        let (real, imaginary) = (e.mul(less.0, more.0), e.mul(less.1, more.1));
        let along = e.sub(real, imaginary);
        let across = across(e, less, more);
        (math::atan2(e, re, along), math::asinh(e, across))
    };
    let far = {
        let (height, log) = (e.fabs(im), log_of_twice(e, z));
        (math::atan2(e, re, height), e.copysign(log, im))
    };
    let is_far = is_far(e, z);
    let (real, imaginary) = choose(e, is_far, far, near);
    // On the imaginary axis the angle is known even of NaN.
    let is_upright = e.is(Compare::FEq, re, 0.0);
    (e.select(is_upright, re, real), imaginary)
}

pub(super) fn acos<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    let (re, im) = z;
    let (less, more) = roots(e, z);
    let near = {
        let (half, across) = (math::atan2(e, less.0, more.0), across(e, more, less));
        (e.add(half, half), math::asinh(e, across))
    };
    let far = {
        let (height, log) = (e.fabs(im), log_of_twice(e, z));
        let log = e.copysign(log, im);
        (math::atan2(e, height, re), e.neg(log))
    };
    let is_far = is_far(e, z);
    let (real, imaginary) = choose(e, is_far, far, near);
    let (is_upright, quarter) = (e.is(Compare::FEq, re, 0.0), e.constant(re, std::f64::consts::FRAC_PI_2));
    (e.select(is_upright, quarter, real), imaginary)
}

pub(super) fn acosh<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    let (re, im) = z;
    let one = e.constant(re, 1.0);
    let (less, more) = (e.sub(re, one), e.add(re, one));
    let (less, more) = (sqrt(e, (less, im)), sqrt(e, (more, im)));
    let near = {
        let along = along(e, less, more);
        let half = math::atan2(e, less.1, more.0);
        (math::asinh(e, along), e.add(half, half))
    };
    let far = (log_of_twice(e, z), math::atan2(e, im, re));
    let is_far = is_far(e, z);
    choose(e, is_far, far, near)
}

/// Half the logarithm of `(1 + z) / (1 - z)`, of a number in the right half plane; the function is odd.
pub(super) fn atanh<E: Emit>(e: &mut E, z: Pair<E::Value>) -> Pair<E::Value> {
    let (re, im) = (e.fabs(z.0), z.1);
    let one = e.constant(re, 1.0);
    let (less, more) = (e.sub(one, re), e.add(one, re));
    let height = e.mul(im, im);
    let distance = e.mul_add(less, less, height);
    let far_real = {
        let length = math::hypot(e, re, im);
        let once = e.div(re, length);
        let twice = e.div(once, length);
        let (is_infinite, zero) = (e.is(Compare::FEq, length, f64::INFINITY), e.constant(re, 0.0));
        e.select(is_infinite, zero, twice)
    };
    let real = {
        let four = e.scale(re, 4.0);
        let ratio = e.div(four, distance);
        let log = math::log1p(e, ratio);
        let near = e.scale(log, 0.25);
        // So near to 1 that the square of the distance is lost.
        let magnitude = e.fabs(im);
        let half = e.scale(magnitude, 0.5);
        let log = math::log(e, half);
        let touching = e.scale(log, -0.5);
        let (is_below, is_above) =
            (e.is(Compare::FEq, re, 1.0), e.is(Compare::FLt, magnitude, power_of_two(-30)));
        let touches = e.and(is_below, is_above);
        e.select(touches, touching, near)
    };
    let imaginary = {
        let product = e.mul(less, more);
        let (twice, across) = (e.add(im, im), e.sub(product, height));
        let angle = math::atan2(e, twice, across);
        e.scale(angle, 0.5)
    };
    let far_imaginary = {
        let (quarter, height) = (e.constant(re, std::f64::consts::FRAC_PI_2), e.fabs(im));
        let quarter = e.copysign(quarter, im);
        // An infinite imaginary part has that angle whatever the real part is; a finite one does beside a number.
        let (is_infinite, zero) = (e.is(Compare::FEq, height, f64::INFINITY), e.constant(re, 0.0));
        let finite = e.select(is_infinite, zero, re);
        let (is_nan, nan) = (e.compare(Compare::FUnordered, finite, im), e.add(finite, im));
        e.select(is_nan, nan, quarter)
    };
    let is_far = is_far(e, z);
    let (real, imaginary) = choose(e, is_far, (far_real, far_imaginary), (real, imaginary));
    let is_upright = e.is(Compare::FEq, re, 0.0);
    let real = e.select(is_upright, re, real);
    (e.copysign(real, z.0), imaginary)
}
