//! Ops of real numbers. Those narrower than `f32` are computed in `f32` and rounded once.

use promote_lattice::convert::Numerics;
use promote_lattice::dtype::Specials;
use promote_lattice::{DType, Op};

use crate::build::Build;
use crate::emit::{Binary, Cast, Compare, Emit, Unary};
use crate::math;
use crate::storage::{load, memory, narrow, part, round_to, settle, store};

/// What a definition computes, and what is to be done with it.
enum Computed<V> {
    /// A truth value.
    Truth(V),
    /// A number that any format with infinities holds if it holds the operand.
    Exact(V),
    /// A number to be rounded.
    Rounded(V),
}

/// An op of one number. A definition that asks whether something holds returns a truth value.
pub(super) fn unary<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtype: DType,
    x: E::Value,
) -> Option<E::Value> {
    let computed = match op {
        Op::IsNan => Computed::Truth(e.is_nan(x)),
        Op::IsInf => Computed::Truth(is_infinite(e, x)),
        Op::IsFinite => Computed::Truth(is_finite(e, x)),
        Op::SignBit => Computed::Truth(e.is_negative(x)),
        Op::LogicalNot => Computed::Truth(e.is(Compare::FEq, x, 0.0)),
        Op::Positive | Op::Real | Op::Conj => Computed::Exact(x),
        Op::Negative => Computed::Exact(e.neg(x)),
        Op::Abs => Computed::Exact(e.fabs(x)),
        Op::Sign => Computed::Exact(sign(e, numerics, x)),
        Op::Floor => Computed::Exact(e.unary(Unary::Floor, x)),
        Op::Ceil => Computed::Exact(e.unary(Unary::Ceil, x)),
        Op::Round => Computed::Exact(e.unary(Unary::RoundEven, x)),
        Op::Trunc => Computed::Exact(e.unary(Unary::Trunc, x)),
        Op::Imag => Computed::Exact(e.constant(x, 0.0)),
        Op::Relu => {
            let (is_negative, zero) = (e.is(Compare::FLt, x, 0.0), e.constant(x, 0.0));
            Computed::Exact(e.select(is_negative, zero, x))
        }
        Op::Square => Computed::Rounded(e.mul(x, x)),
        Op::Sqrt => Computed::Rounded(e.sqrt(x)),
        Op::Reciprocal => {
            let one = e.constant(x, 1.0);
            Computed::Rounded(e.div(one, x))
        }
        Op::Angle => Computed::Rounded(angle(e, numerics, x)),
        // `math` knows its functions; anything else is refused.
        _ => Computed::Rounded(math::of(e, op, &[x])?),
    };
    Some(match computed {
        Computed::Truth(truth) => truth,
        Computed::Exact(number) => settle(e, dtype, number),
        Computed::Rounded(number) => round_to(e, dtype, number),
    })
}

/// Half a turn of a negative number, else none; a NaN is itself. The angle of -0 is half a turn but in PyTorch.
fn angle<E: Emit>(e: &mut E, numerics: Numerics, x: E::Value) -> E::Value {
    let is_nan = e.is_nan(x);
    let is_negative = match numerics {
        Numerics::Torch => e.is(Compare::FLt, x, 0.0),
        Numerics::Jax | Numerics::NumPy => e.is_negative(x),
    };
    let (half_turn, zero) = (e.constant(x, std::f64::consts::PI), e.constant(x, 0.0));
    let angle = e.select(is_negative, half_turn, zero);
    e.select(is_nan, x, angle)
}

pub(super) fn is_infinite<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let magnitude = e.fabs(x);
    e.is(Compare::FEq, magnitude, f64::INFINITY)
}

pub(super) fn is_finite<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let magnitude = e.fabs(x);
    e.is(Compare::FLt, magnitude, f64::INFINITY)
}

/// 1 or -1. A zero keeps its sign in JAX alone, and a NaN is 0 in PyTorch.
fn sign<E: Emit>(e: &mut E, numerics: Numerics, x: E::Value) -> E::Value {
    let magnitude = e.fabs(x);
    let has_sign = e.is(Compare::FGt, magnitude, 0.0);
    let one = e.constant(x, 1.0);
    let unit = e.copysign(one, x);
    let other = match numerics {
        Numerics::Jax => x,
        // -0 and 0 make 0.
        Numerics::NumPy => e.offset(x, 0.0),
        Numerics::Torch => e.constant(x, 0.0),
    };
    e.select(has_sign, unit, other)
}

/// An op of two numbers.
pub(super) fn binary<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtype: DType,
    x: E::Value,
    y: E::Value,
) -> Option<E::Value> {
    let value = match op {
        Op::NextAfter => return Some(next_after(e, dtype, x, y)),
        Op::CopySign => {
            let signed = e.copysign(x, y);
            return Some(settle(e, dtype, signed));
        }
        Op::Add => e.add(x, y),
        Op::Subtract => e.sub(x, y),
        Op::Multiply => e.mul(x, y),
        Op::Divide => e.div(x, y),
        Op::FloorDivide => floor_divide(e, numerics, x, y),
        Op::Remainder => remainder(e, numerics, x, y),
        Op::Fmod => e.binary(Binary::FRem, x, y),
        Op::Atan2 | Op::Hypot | Op::LogAddExp => math::of(e, op, &[x, y])?,
        // What has no definition is refused.
        _ => return None,
    };
    Some(round_to(e, dtype, value))
}

/// Whether the remainder of a division is not zero and of another sign than the divisor.
fn rounds_up<E: Emit>(e: &mut E, rest: E::Value, y: E::Value) -> E::Value {
    let (is_left, rest) = (e.is(Compare::FNe, rest, 0.0), e.is(Compare::FLt, rest, 0.0));
    let negative = e.is(Compare::FLt, y, 0.0);
    let differ = e.xor(rest, negative);
    e.and(is_left, differ)
}

/// The whole quotient, rounded down: what is left after the remainder, divided, is a whole number but for rounding, which
/// the nearest whole number takes back. A quotient that is zero has the sign of the exact one, but in JAX that of the
/// computed one.
fn floor_divide<E: Emit>(e: &mut E, numerics: Numerics, x: E::Value, y: E::Value) -> E::Value {
    let rest = e.binary(Binary::FRem, x, y);
    let whole = e.sub(x, rest);
    let quotient = e.div(whole, y);
    let rounds_up = rounds_up(e, rest, y);
    let less = e.offset(quotient, -1.0);
    let quotient = e.select(rounds_up, less, quotient);
    let floor = e.unary(Unary::Floor, quotient);
    let distance = e.sub(quotient, floor);
    let (is_far, next) = (e.is(Compare::FGt, distance, 0.5), e.offset(floor, 1.0));
    let nearest = e.select(is_far, next, floor);
    let direct = e.div(x, y);
    let is_zero = e.is(Compare::FEq, quotient, 0.0);
    let zero = match numerics {
        Numerics::Jax => quotient,
        Numerics::NumPy | Numerics::Torch => {
            let zero = e.constant(x, 0.0);
            e.copysign(zero, direct)
        }
    };
    let nearest = e.select(is_zero, zero, nearest);
    let by_zero = e.is(Compare::FEq, y, 0.0);
    e.select(by_zero, direct, nearest)
}

/// Python's `%`: of the sign of the divisor. A zero has that sign in NumPy alone; elsewhere the dividend's.
fn remainder<E: Emit>(e: &mut E, numerics: Numerics, x: E::Value, y: E::Value) -> E::Value {
    let rest = e.binary(Binary::FRem, x, y);
    let rounds_up = rounds_up(e, rest, y);
    let sum = e.add(rest, y);
    let remainder = e.select(rounds_up, sum, rest);
    match numerics {
        Numerics::Jax | Numerics::Torch => remainder,
        Numerics::NumPy => {
            let is_zero = e.is(Compare::FEq, rest, 0.0);
            let zero = e.constant(x, 0.0);
            let zero = e.copysign(zero, y);
            e.select(is_zero, zero, remainder)
        }
    }
}

/// The next number of `dtype` after `x` towards `y`, found among the integers that order floats as they are ordered: nothing
/// is computed with subnormal numbers, so they count also on machines that take them for zero.
fn next_after<E: Emit>(e: &mut E, dtype: DType, x: E::Value, y: E::Value) -> E::Value {
    let specials = part(dtype).props().format.map_or(Specials::Ieee, |format| format.specials);
    let sign = if specials == Specials::ExponentOnly { 0 } else { 1i64 << (part(dtype).bits() - 1) };
    let [own, other] = [x, y].map(|number| {
        let raw = store(e, dtype, number);
        if e.ty(raw).is_float() { e.to_bits(raw) } else { raw }
    });
    let (from, to) = (rank(e, own, sign), rank(e, other, sign));
    let rises = e.compare(order(sign), from, to);
    let (up, down) = (e.bits(from, 1), e.bits(from, -1));
    let step = e.select(rises, up, down);
    let next = e.add(from, step);
    let code = if sign == 0 {
        next
    } else {
        // Zero that is reached from below is the negative one, if there is one.
        let (was_below, is_below) = (e.is(Compare::LtS, from, 0.0), e.is(Compare::LtS, next, 0.0));
        let of_zero = e.is(Compare::Eq, next, 0.0);
        let is_negative = match specials {
            Specials::NanIsNegativeZero => is_below,
            Specials::Ieee | Specials::NanOnly | Specials::FiniteOnly | Specials::ExponentOnly => {
                let negative_zero = e.and(of_zero, was_below);
                e.or(is_below, negative_zero)
            }
        };
        let negative = e.neg(next);
        let sign = e.bits(negative, sign);
        let negative = e.or(negative, sign);
        e.select(is_negative, negative, next)
    };
    let is_same = e.compare(Compare::Eq, from, to);
    let code = e.select(is_same, other, code);
    let next = from_code(e, dtype, code);
    let (is_nan, nan) = (e.compare(Compare::FUnordered, x, y), e.add(x, y));
    e.select(is_nan, nan, next)
}

/// How ranks are ordered: as signed integers, or as unsigned ones where codes have no sign.
const fn order(sign: i64) -> Compare {
    if sign == 0 { Compare::LtU } else { Compare::LtS }
}

/// The place of a code among the numbers: both zeros are 0, and negative numbers below.
fn rank<E: Emit>(e: &mut E, code: E::Value, sign: i64) -> E::Value {
    if sign == 0 {
        return code;
    }
    let (signed, magnitude) = (e.masked(code, sign), e.masked(code, sign.wrapping_sub(1)));
    let (is_negative, negative) = (e.is(Compare::Ne, signed, 0.0), e.neg(magnitude));
    e.select(is_negative, negative, magnitude)
}

/// The number of a code, which is of the type in memory or, for machine floats, has their bits.
fn from_code<E: Emit>(e: &mut E, dtype: DType, code: E::Value) -> E::Value {
    match narrow(dtype) {
        Some(_) => load(e, dtype, code),
        None => e.cast(Cast::Bitcast, code, memory(dtype)),
    }
}
