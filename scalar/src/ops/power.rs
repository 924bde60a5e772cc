//! Powers: of integers by squaring, of others by logarithms.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind};

use super::complex;
use crate::build::Build;
use crate::convert::convert;
use crate::emit::{Binary, Compare, Element, Emit, Trap, Ty};
use crate::math;
use crate::storage::{register, round_to, wrap};

/// The power, of the dtype of the base. The exponent is of that dtype, or an integer of any.
pub(super) fn power<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    (dtype, x): (DType, Element<E::Value>),
    (exponent, y): (DType, Element<E::Value>),
) -> Option<Element<E::Value>> {
    match (dtype.kind(), exponent.kind(), x) {
        (Kind::Bool, ..) => {
            let y = convert(e, exponent, DType::B1, numerics, y);
            let is_zeroth = e.not(y.real());
            Some(Element::Real(e.or(x.real(), is_zeroth)))
        }
        (Kind::Unsigned | Kind::Signed, Kind::Bool | Kind::Float | Kind::Complex, _) => {
            let y = convert(e, exponent, dtype, numerics, y);
            power(e, numerics, (dtype, x), (dtype, y))
        }
        (Kind::Unsigned | Kind::Signed, ..) => {
            Some(Element::Real(of_integers(e, numerics, (dtype, x.real()), (exponent, y.real()))))
        }
        (Kind::Complex, _, Element::Complex(re, im)) => match convert(e, exponent, dtype, numerics, y) {
            Element::Complex(c, d) => Some(complex::power(e, dtype, (re, im), (c, d))),
            Element::Real(_) => None,
        },
        (Kind::Float | Kind::Complex, ..) => {
            Some(Element::Real(of_reals(e, numerics, (dtype, x.real()), (exponent, y))))
        }
    }
}

/// A power of a real number. An integer exponent that `f32` may not hold, and so may take for an even one, is met in `f64`.
fn of_reals<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    (dtype, x): (DType, E::Value),
    (exponent, y): (DType, Element<E::Value>),
) -> E::Value {
    let ty = register(dtype);
    let in_double = ty == Ty::F32 && exponent.is_integer() && exponent.bits() > 16;
    let (computed, of_exponent) = match (in_double, ty) {
        (true, _) | (_, Ty::F64) => (Ty::F64, DType::F64),
        _ if exponent.is_integer() => (Ty::F32, DType::F32),
        _ => (ty, dtype),
    };
    let y = convert(e, exponent, of_exponent, numerics, y).real();
    let x = e.refloat(x, computed);
    let power = math::pow(e, x, y);
    let power = e.refloat(power, ty);
    round_to(e, dtype, power)
}

/// A power of an integer, which wraps. NumPy refuses a negative exponent, PyTorch gives the whole part of the power, and
/// JAX looks at six bits of any exponent.
fn of_integers<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    (dtype, x): (DType, E::Value),
    (exponent, y): (DType, E::Value),
) -> E::Value {
    let zero = e.bits(y, 0);
    let is_negative = match exponent.kind() {
        Kind::Signed => Some(e.compare(Compare::LtS, y, zero)),
        _ => None,
    };
    let rest = match (numerics, is_negative) {
        (Numerics::Jax, _) => e.masked(y, 63),
        (Numerics::NumPy | Numerics::Torch, None) => y,
        (Numerics::NumPy, Some(is_negative)) => {
            e.trap(is_negative, Trap::NegativePower);
            e.select(is_negative, zero, y)
        }
        (Numerics::Torch, Some(is_negative)) => {
            // Of 1 and -1 the lowest bit of the exponent says the power; that of others has no whole part.
            let odd = e.masked(y, 1);
            let rest = e.select(is_negative, odd, y);
            let is_unit = is_unit(e, dtype, x);
            let keeps = e.not(is_negative);
            let keeps = e.or(keeps, is_unit);
            let power = by_squaring(e, x, rest);
            let none = e.bits(x, 0);
            let power = e.select(keeps, power, none);
            return wrap(e, dtype, power);
        }
    };
    let power = by_squaring(e, x, rest);
    if numerics != Numerics::Jax {
        return wrap(e, dtype, power);
    }
    // JAX looks at six bits of the exponent, but 0 is its own power for any but 0.
    let (is_nothing, is_raised) = (e.is(Compare::Eq, x, 0.0), e.compare(Compare::Ne, y, zero));
    let stays = e.and(is_nothing, is_raised);
    let power = e.select(stays, x, power);
    wrap(e, dtype, power)
}

/// Whether an integer is 1 or -1.
pub(super) fn is_unit<E: Emit>(e: &mut E, dtype: DType, x: E::Value) -> E::Value {
    let is_one = e.is(Compare::Eq, x, 1.0);
    if dtype.kind() != Kind::Signed {
        return is_one;
    }
    let is_minus_one = e.is(Compare::Eq, x, -1.0);
    e.or(is_one, is_minus_one)
}

/// The power; the exponent is read as unsigned. Both may be of different widths.
fn by_squaring<E: Emit>(e: &mut E, base: E::Value, exponent: E::Value) -> E::Value {
    let one = e.bits(base, 1);
    let state = e.repeat(
        &[one, base, exponent],
        |e, state| e.is(Compare::Ne, state[2], 0.0),
        |e, state| {
            let [power, square, rest] = [state[0], state[1], state[2]];
            let (is_left, odd) = (e.is(Compare::Ne, rest, 0.0), e.masked(rest, 1));
            let is_odd = e.is(Compare::Ne, odd, 0.0);
            let product = e.mul(power, square);
            let power = e.select(is_odd, product, power);
            let next = e.mul(square, square);
            let square = e.select(is_left, next, square);
            vec![power, square, e.shift(Binary::ShrU, rest, 1)]
        },
    );
    state[0]
}
