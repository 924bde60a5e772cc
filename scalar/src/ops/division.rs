//! Division of integers, and what rests on it.
//!
//! Vector units divide floats, not integers. Except on machines that do ([`Emit::divides_integers`]), a quotient of integers
//! of up to 16 bits is found in `f32`, and one of 32 bits in `f64`: the quotient of two such numbers is further from the next
//! whole number than rounding reaches.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind};

use crate::build::Build;
use crate::emit::{Binary, Cast, Compare, Emit, Trap, Ty};
use crate::storage::register;

/// A division by something that is not zero.
struct Division<V> {
    /// Whether the divisor was zero.
    by_zero: V,
    /// The quotient, rounded towards zero; of 1 if the divisor was zero.
    quotient: V,
    /// What is left, of the sign of the dividend.
    rest: V,
}

fn divide<E: Emit>(e: &mut E, dtype: DType, x: E::Value, y: E::Value) -> Division<E::Value> {
    let (zero, one) = (e.bits(y, 0), e.bits(y, 1));
    let by_zero = e.compare(Compare::Eq, y, zero);
    let divisor = e.select(by_zero, one, y);
    let quotient = quotient(e, dtype, x, divisor);
    let whole = e.mul(quotient, divisor);
    let rest = e.sub(x, whole);
    Division { by_zero, quotient, rest }
}

/// The quotient, rounded towards zero; `y` is not zero.
fn quotient<E: Emit>(e: &mut E, dtype: DType, x: E::Value, y: E::Value) -> E::Value {
    let signed = dtype.kind() == Kind::Signed;
    let (float, whole) = match register(dtype) {
        _ if e.divides_integers() && !signed => return e.binary(Binary::DivU, x, y),
        _ if e.divides_integers() => return divide_signed(e, x, y, |e, x, y| e.binary(Binary::DivS, x, y)),
        Ty::I8 | Ty::I16 => (Ty::F32, Ty::I32),
        Ty::I32 => (Ty::F64, Ty::I32),
        _ if !signed => return e.binary(Binary::DivU, x, y),
        _ => return divide_signed(e, x, y, |e, x, y| e.binary(Binary::DivS, x, y)),
    };
    let divide = |e: &mut E, x, y| {
        let (x, y) = (e.resize(x, whole, signed), e.resize(y, whole, signed));
        let (to_float, to_whole) = match signed || dtype.bits() < 32 {
            true => (Cast::SToF, Cast::FToS),
            false => (Cast::UToF, Cast::FToU),
        };
        let (x, y) = (e.cast(to_float, x, float), e.cast(to_float, y, float));
        let quotient = e.div(x, y);
        e.cast(to_whole, quotient, whole)
    };
    match signed && dtype.bits() == 32 {
        true => divide_signed(e, x, y, divide),
        false => {
            let quotient = divide(e, x, y);
            e.resize(quotient, register(dtype), signed)
        }
    }
}

/// A division that may not be asked for the quotient of the least integer by -1, which wraps to itself.
pub(crate) fn divide_signed<E: Emit>(
    e: &mut E,
    x: E::Value,
    y: E::Value,
    divide: impl Fn(&mut E, E::Value, E::Value) -> E::Value,
) -> E::Value {
    let (is_minus_one, one) = (e.is(Compare::Eq, y, -1.0), e.bits(y, 1));
    let divisor = e.select(is_minus_one, one, y);
    let quotient = divide(e, x, divisor);
    let negative = e.neg(x);
    e.select(is_minus_one, negative, quotient)
}

/// Whether a division leaves something of another sign than the divisor's.
fn rounds_up<E: Emit>(e: &mut E, dtype: DType, rest: E::Value, y: E::Value) -> Option<E::Value> {
    if dtype.kind() != Kind::Signed {
        return None;
    }
    let (is_left, signs) = (e.is(Compare::Ne, rest, 0.0), e.xor(rest, y));
    let differ = e.is(Compare::LtS, signs, 0.0);
    Some(e.and(is_left, differ))
}

/// The quotient, rounded down. That by zero is -1 in XLA, which JAX then rounds down wherever there is a remainder.
pub(super) fn floor_divide<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    dtype: DType,
    x: E::Value,
    y: E::Value,
) -> E::Value {
    let Division { by_zero, quotient, rest } = divide(e, dtype, x, y);
    let floor = match rounds_up(e, dtype, rest, y) {
        Some(rounds_up) => {
            let less = e.offset(quotient, -1.0);
            e.select(rounds_up, less, quotient)
        }
        None => quotient,
    };
    let of_zero = match (numerics, dtype.kind()) {
        (Numerics::Jax, Kind::Signed) => {
            let is_zero = e.is(Compare::Eq, x, 0.0);
            let (one, two) = (e.bits(x, -1), e.bits(x, -2));
            e.select(is_zero, one, two)
        }
        (Numerics::Jax, _) => e.bits(x, -1),
        (Numerics::NumPy, _) => e.bits(x, 0),
        (Numerics::Torch, _) => {
            e.trap(by_zero, Trap::DivisionByZero);
            return floor;
        }
    };
    e.select(by_zero, of_zero, floor)
}

/// What [`floor_divide`] leaves: of the sign of the divisor. By zero it is 0, or an exception in PyTorch.
pub(super) fn remainder<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    dtype: DType,
    x: E::Value,
    y: E::Value,
) -> E::Value {
    // By 1 nothing is left, so nothing is left by zero.
    let Division { by_zero, rest, .. } = divide(e, dtype, x, y);
    if numerics == Numerics::Torch {
        e.trap(by_zero, Trap::DivisionByZero);
    }
    match rounds_up(e, dtype, rest, y) {
        Some(rounds_up) => {
            let sum = e.add(rest, y);
            e.select(rounds_up, sum, rest)
        }
        None => rest,
    }
}

/// What a division that rounds towards zero leaves: C's `%`. By zero it is 0, or an exception in PyTorch.
pub(super) fn fmod<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    dtype: DType,
    x: E::Value,
    y: E::Value,
) -> E::Value {
    let Division { by_zero, rest, .. } = divide(e, dtype, x, y);
    if numerics == Numerics::Torch {
        e.trap(by_zero, Trap::DivisionByZero);
    }
    rest
}

/// The distance from zero, as an unsigned integer of the same width, of which also the least has one.
fn magnitude<E: Emit>(e: &mut E, dtype: DType, x: E::Value) -> E::Value {
    if dtype.kind() != Kind::Signed {
        return x;
    }
    let negative = e.neg(x);
    e.binary(Binary::MaxS, x, negative)
}

/// The dtype of magnitudes.
fn unsigned(dtype: DType) -> DType {
    match register(dtype) {
        Ty::I8 => DType::U8,
        Ty::I16 => DType::U16,
        Ty::I32 => DType::U32,
        _ => DType::U64,
    }
}

/// The greatest common divisor of two magnitudes, by Euclid's algorithm.
fn euclid<E: Emit>(e: &mut E, dtype: DType, x: E::Value, y: E::Value) -> E::Value {
    let state = e.repeat(
        &[x, y],
        |e, state| e.is(Compare::Ne, state[1], 0.0),
        |e, state| {
            // A lane that is done keeps its number: by zero nothing is left.
            let Division { by_zero, rest, .. } = divide(e, dtype, state[0], state[1]);
            vec![e.select(by_zero, state[0], state[1]), rest]
        },
    );
    state[0]
}

/// The greatest common divisor; 0 of two zeros.
pub(super) fn gcd<E: Emit>(e: &mut E, dtype: DType, x: E::Value, y: E::Value) -> E::Value {
    let (x, y) = (magnitude(e, dtype, x), magnitude(e, dtype, y));
    euclid(e, unsigned(dtype), x, y)
}

/// The product without the common divisor; 0 of 0.
pub(super) fn lcm<E: Emit>(e: &mut E, dtype: DType, x: E::Value, y: E::Value) -> E::Value {
    let (x, y) = (magnitude(e, dtype, x), magnitude(e, dtype, y));
    let divisor = euclid(e, unsigned(dtype), x, y);
    // A common divisor of 0 is that of two zeros.
    let quotient = divide(e, unsigned(dtype), x, divisor).quotient;
    e.mul(quotient, y)
}
