//! Ops of integers, which wrap, and of truth values, which are the integers 0 and 1 of which only zero is false.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};

use super::{division, power};
use crate::build::Build;
use crate::emit::{Binary, Compare, Emit, Trap, Ty};
use crate::storage::wrap;

/// An op of one integer. A definition that asks whether something holds returns a truth value.
pub(super) fn unary<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtype: DType,
    x: E::Value,
) -> Option<E::Value> {
    let signed = dtype.kind() == Kind::Signed;
    let value = match op {
        Op::Positive | Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::Real | Op::Conj => return Some(x),
        Op::Abs | Op::Relu if !signed => return Some(x),
        Op::IsNan | Op::IsInf => return Some(e.int(Ty::I1, 0)),
        Op::IsFinite => return Some(e.int(Ty::I1, 1)),
        Op::SignBit if !signed => return Some(e.int(Ty::I1, 0)),
        Op::SignBit => return Some(e.is(Compare::LtS, x, 0.0)),
        Op::LogicalNot => return Some(e.is(Compare::Eq, x, 0.0)),
        Op::Imag => e.bits(x, 0),
        Op::Negative => e.neg(x),
        Op::Abs => {
            let negative = e.neg(x);
            e.binary(Binary::MaxS, x, negative)
        }
        Op::Sign if !signed => {
            let one = e.bits(x, 1);
            e.binary(Binary::MinU, x, one)
        }
        Op::Sign => {
            let (one, least) = (e.bits(x, 1), e.bits(x, -1));
            let most = e.binary(Binary::MinS, x, one);
            e.binary(Binary::MaxS, most, least)
        }
        Op::Square => e.mul(x, x),
        Op::BitwiseInvert => e.not(x),
        Op::Relu => {
            let zero = e.bits(x, 0);
            e.binary(Binary::MaxS, x, zero)
        }
        Op::Reciprocal => reciprocal(e, numerics, dtype, x),
        // What has no definition is refused.
        _ => return None,
    };
    Some(wrap(e, dtype, value))
}

/// The whole part of the inverse: only 1 and -1 have one that is not 0. That of 0 is what x86 makes of an infinity in NumPy,
/// in a register of 32 or 64 bits: the least signed integer, of which narrower and unsigned ones keep no bit.
fn reciprocal<E: Emit>(e: &mut E, numerics: Numerics, dtype: DType, x: E::Value) -> E::Value {
    let (is_unit, zero) = (power::is_unit(e, dtype, x), e.bits(x, 0));
    let whole = e.select(is_unit, x, zero);
    let is_wide = dtype.kind() == Kind::Signed && dtype.bits() >= 32;
    match numerics {
        Numerics::NumPy if is_wide => {
            let (is_zero, least) = (e.is(Compare::Eq, x, 0.0), e.bits(x, i64::MIN >> (64 - dtype.bits())));
            e.select(is_zero, least, whole)
        }
        Numerics::NumPy | Numerics::Jax | Numerics::Torch => whole,
    }
}

/// An op of one truth value.
pub(super) fn unary_of_bool<E: Emit>(e: &mut E, op: Op, x: E::Value) -> Option<E::Value> {
    Some(match op {
        Op::Positive | Op::Negative | Op::Abs | Op::Sign | Op::Square | Op::Relu => x,
        Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::Real | Op::Conj | Op::Reciprocal => x,
        Op::BitwiseInvert | Op::LogicalNot => e.not(x),
        Op::Imag | Op::IsNan | Op::IsInf | Op::SignBit => e.int(Ty::I1, 0),
        Op::IsFinite => e.int(Ty::I1, 1),
        // What has no definition is refused.
        _ => return None,
    })
}

/// An op of two integers.
pub(super) fn binary<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtype: DType,
    x: E::Value,
    y: E::Value,
) -> Option<E::Value> {
    let value = match op {
        Op::Add => e.add(x, y),
        Op::Subtract => e.sub(x, y),
        Op::Multiply => e.mul(x, y),
        Op::BitwiseAnd => e.and(x, y),
        Op::BitwiseOr => e.or(x, y),
        Op::BitwiseXor => e.xor(x, y),
        Op::BitwiseLeftShift => shift_left(e, dtype, x, y),
        Op::BitwiseRightShift => shift_right(e, dtype, x, y),
        Op::FloorDivide => division::floor_divide(e, numerics, dtype, x, y),
        Op::Remainder => division::remainder(e, numerics, dtype, x, y),
        Op::Fmod => division::fmod(e, numerics, dtype, x, y),
        Op::Gcd => division::gcd(e, dtype, x, y),
        Op::Lcm => division::lcm(e, dtype, x, y),
        // What has no definition is refused.
        _ => return None,
    };
    Some(wrap(e, dtype, value))
}

/// An op of two truth values.
pub(super) fn binary_of_bool<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    x: E::Value,
    y: E::Value,
) -> Option<E::Value> {
    Some(match op {
        Op::Add | Op::BitwiseOr | Op::Gcd => e.or(x, y),
        Op::Multiply | Op::BitwiseAnd | Op::Lcm => e.and(x, y),
        Op::Subtract | Op::BitwiseXor => e.xor(x, y),
        Op::FloorDivide | Op::Remainder | Op::Fmod => {
            let by_zero = e.not(y);
            match (numerics, op) {
                (Numerics::Torch, _) => e.trap(by_zero, Trap::DivisionByZero),
                // What JAX returns for division by zero is not zero, and so true.
                (Numerics::Jax, Op::FloorDivide) => return Some(e.or(x, by_zero)),
                // JAX replaces a divisor of 0 by 1 of integers, which truth values are not yet; XLA then leaves the dividend.
                (Numerics::Jax, Op::Fmod) => return Some(e.and(x, by_zero)),
                (Numerics::Jax | Numerics::NumPy, _) => {}
            }
            if op == Op::FloorDivide { e.and(x, y) } else { e.int(Ty::I1, 0) }
        }
        // What has no definition is refused.
        _ => return None,
    })
}

/// Whether `y`, read as unsigned, is less than the width, and `y` if it is, else 0.
fn amount<E: Emit>(e: &mut E, dtype: DType, y: E::Value) -> (E::Value, E::Value) {
    let inside = e.is(Compare::LtU, y, dtype.bits().into());
    let zero = e.bits(y, 0);
    (inside, e.select(inside, y, zero))
}

/// Beyond the width, and by a negative number, nothing is left.
fn shift_left<E: Emit>(e: &mut E, dtype: DType, x: E::Value, y: E::Value) -> E::Value {
    let (inside, amount) = amount(e, dtype, y);
    let (shifted, zero) = (e.binary(Binary::Shl, x, amount), e.bits(x, 0));
    e.select(inside, shifted, zero)
}

/// Beyond the width, and by a negative number, only the sign is left.
fn shift_right<E: Emit>(e: &mut E, dtype: DType, x: E::Value, y: E::Value) -> E::Value {
    if dtype.kind() == Kind::Signed {
        let most = e.bits(y, i64::from(dtype.bits()) - 1);
        let amount = e.binary(Binary::MinU, y, most);
        return e.binary(Binary::ShrS, x, amount);
    }
    let (inside, amount) = amount(e, dtype, y);
    let (shifted, zero) = (e.binary(Binary::ShrU, x, amount), e.bits(x, 0));
    e.select(inside, shifted, zero)
}
