//! Conversion: what `promote.convert` makes of an element, bit for bit what [`promote_lattice::convert::convert`] says.
//!
//! A complex number is converted part by part. Numbers go the way that the library's kernels go: by way of `f32` or of a
//! machine integer where that shows in the result, and through a flush to zero where JAX has one.
//!
//! # Laws
//! - No float is converted to an integer that does not hold it: what is out of range is replaced before.
//! - A NaN is NaN of the same sign; it may keep a payload.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind};

use crate::build::{Build, power_of_two};
use crate::emit::{Cast, Compare, Element, Emit, Ty};
use crate::storage::{narrow, part, register, round_to, wrap};

/// Converts an element of dtype `from` to dtype `to`.
pub fn convert<E: Emit>(
    e: &mut E,
    from: DType,
    to: DType,
    numerics: Numerics,
    x: Element<E::Value>,
) -> Element<E::Value> {
    let (from, to) = (from.storage(), to.storage());
    if from == to {
        return x;
    }
    let convert = |e: &mut E, x| convert_part(e, part(from), part(to), numerics, x);
    match (x, to.kind()) {
        (Element::Real(x), Kind::Complex) => {
            let real = convert(e, x);
            let zero = e.constant(real, 0.0);
            Element::Complex(real, zero)
        }
        (Element::Complex(real, imaginary), Kind::Complex) => {
            Element::Complex(convert(e, real), convert(e, imaginary))
        }
        (Element::Complex(real, imaginary), Kind::Bool) => {
            let (real, imaginary) = (convert(e, real), convert(e, imaginary));
            Element::Real(e.or(real, imaginary))
        }
        (x, _) => Element::Real(convert(e, x.real())),
    }
}

fn convert_part<E: Emit>(e: &mut E, from: DType, to: DType, numerics: Numerics, x: E::Value) -> E::Value {
    match (from.kind(), to.kind()) {
        _ if from == to => x,
        (Kind::Float, Kind::Bool) => {
            let x = flush(e, from, to, numerics, x);
            e.is(Compare::FNe, x, 0.0)
        }
        (Kind::Float, Kind::Unsigned | Kind::Signed) => {
            let whole = match numerics {
                Numerics::Jax => saturated(e, to, x),
                Numerics::NumPy | Numerics::Torch => as_on_x86(e, from, to, numerics, x),
            };
            let whole = e.resize(whole, register(to), true);
            wrap(e, to, whole)
        }
        (Kind::Float, _) => {
            let x = flush(e, from, to, numerics, x);
            convert_float(e, from, to, numerics, x)
        }
        (Kind::Bool, Kind::Float) => {
            let (one, zero) = (e.float(register(to), 1.0), e.float(register(to), 0.0));
            let number = e.select(x, one, zero);
            round_to(e, to, number)
        }
        (_, Kind::Bool) => e.is(Compare::Ne, x, 0.0),
        (kind, Kind::Unsigned | Kind::Signed) => {
            let resized = e.resize(x, register(to), kind == Kind::Signed);
            if to.bits() < from.bits() || is_negative_lost(kind, to) { wrap(e, to, resized) } else { resized }
        }
        (kind, _) => {
            let number = integer_to_float(e, x, kind == Kind::Signed, register(to));
            round_to(e, to, number)
        }
    }
}

/// Whether a number of the same width changes in the register, as its sign is read anew.
fn is_negative_lost(from: Kind, to: DType) -> bool {
    from != to.kind() || to.bits() < 8
}

/// An integer in a register as a float. Small ones are widened first, as machines convert 32 bits at a time.
fn integer_to_float<E: Emit>(e: &mut E, x: E::Value, signed: bool, to: Ty) -> E::Value {
    match e.ty(x) {
        Ty::I32 | Ty::I64 => e.cast(if signed { Cast::SToF } else { Cast::UToF }, x, to),
        _ => {
            let wide = e.resize(x, Ty::I32, signed);
            e.cast(Cast::SToF, wide, to)
        }
    }
}

/// JAX's flush of numbers that are subnormal in `f32` or `f64`, once rounded to its precision.
fn flush<E: Emit>(e: &mut E, from: DType, to: DType, numerics: Numerics, x: E::Value) -> E::Value {
    use DType::{B1, BF16, F32, F64};
    let least = match (from, to) {
        _ if numerics != Numerics::Jax => return x,
        // Half a unit of a 24-bit number below the least normal one rounds up to that.
        (F64, F32 | BF16) => power_of_two(-126) - power_of_two(-151),
        (BF16 | F32, F64 | B1) => power_of_two(-126),
        (F64, B1) => f64::MIN_POSITIVE,
        _ => return x,
    };
    let magnitude = e.fabs(x);
    let is_subnormal = e.is(Compare::FLt, magnitude, least);
    let zero = e.constant(x, 0.0);
    let zero = e.copysign(zero, x);
    e.select(is_subnormal, zero, x)
}

fn convert_float<E: Emit>(e: &mut E, from: DType, to: DType, numerics: Numerics, x: E::Value) -> E::Value {
    let direct = match numerics {
        Numerics::Jax => to != DType::BF16,
        Numerics::NumPy => to == DType::F16,
        Numerics::Torch => false,
    };
    if direct || register(from) != Ty::F64 {
        return round_once(e, from, to, x);
    }
    let single = e.refloat(x, register(to));
    round_to(e, to, single)
}

/// A float as the nearest one of another dtype, ties to even.
pub(crate) fn round_once<E: Emit>(e: &mut E, from: DType, to: DType, x: E::Value) -> E::Value {
    if register(from) != Ty::F64 || narrow(to).is_none() {
        let number = e.refloat(x, register(to));
        return round_to(e, to, number);
    }
    let single = round_to_odd(e, x);
    round_to(e, to, single)
}

/// An `f64` as an `f32` that rounds to narrower formats as the `f64` does: towards zero, with the last bit set if anything
/// was lost.
fn round_to_odd<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let nearest = e.refloat(x, Ty::F32);
    let back = e.refloat(nearest, Ty::F64);
    let (magnitude, back_magnitude) = (e.fabs(x), e.fabs(back));
    let went_up = e.compare(Compare::FGt, back_magnitude, magnitude);
    let is_inexact = e.compare(Compare::FNe, back, x);
    let bits = e.to_bits(nearest);
    let (went_up, is_inexact) =
        (e.cast(Cast::ZExt, went_up, Ty::I32), e.cast(Cast::ZExt, is_inexact, Ty::I32));
    let towards_zero = e.sub(bits, went_up);
    let odd = e.or(towards_zero, is_inexact);
    e.cast(Cast::Bitcast, odd, Ty::F32)
}

/// The whole part of `x`, or the end of the range of `to`; 0 of NaN. Of 32 bits or of 64.
pub(crate) fn saturated<E: Emit>(e: &mut E, to: DType, x: E::Value) -> E::Value {
    let signed = to.kind() == Kind::Signed;
    let width = to.bits() as i32;
    let (least, beyond) = match signed {
        true => (-power_of_two(width - 1), power_of_two(width - 1)),
        false => (0.0, power_of_two(width)),
    };
    if width <= 16 {
        return saturated_narrow(e, least, beyond - 1.0, x);
    }
    let ty = register(to);
    let x = zero_of_nan(e, x);
    let least = e.constant(x, least);
    let is_above = e.is(Compare::FGe, x, beyond);
    let clamped = e.fmax(x, least);
    let safe = e.select(is_above, least, clamped);
    let largest = e.int(ty, if signed { i64::MAX >> (64 - width) } else { -1 });
    let cast = if signed { Cast::FToS } else { Cast::FToU };
    let whole = e.cast(cast, safe, ty);
    e.select(is_above, largest, whole)
}

/// The whole part of `x` within a range whose ends `x`'s type holds, as 32 bits.
fn saturated_narrow<E: Emit>(e: &mut E, least: f64, largest: f64, x: E::Value) -> E::Value {
    let x = zero_of_nan(e, x);
    let (low, high) = (e.constant(x, least), e.constant(x, largest));
    let clamped = e.fmax(x, low);
    let clamped = e.fmin(clamped, high);
    e.cast(Cast::FToS, clamped, Ty::I32)
}

/// 0 if `x` is NaN, else `x`. To compare first would not do: a code generator may take a comparison and a choice for the machine's
/// larger or smaller of two numbers, and on some machines that is NaN where an operand is a signalling NaN.
fn zero_of_nan<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let (is_nan, zero) = (e.is_nan(x), e.constant(x, 0.0));
    e.select(is_nan, zero, x)
}

/// The low bits of what x86 makes of a float, in the register that the library's kernel uses: 32 bits, or 64.
fn as_on_x86<E: Emit>(e: &mut E, from: DType, to: DType, numerics: Numerics, x: E::Value) -> E::Value {
    let signed = to.kind() == Kind::Signed;
    match to.bits() {
        // Whatever is beyond 32 bits has zeros in the low bits of 64, if it has no more than 24 bits itself.
        ..32 if numerics == Numerics::Torch && to == DType::U8 && from == DType::F64 => x86(e, x, Ty::I64),
        ..32 => x86(e, x, Ty::I32),
        32 if !signed && from == DType::F16 => {
            // By way of 64 bits, in which only infinities and NaN are out of range.
            let magnitude = e.fabs(x);
            let is_finite = e.is(Compare::FLt, magnitude, f64::INFINITY);
            let zero = e.constant(x, 0.0);
            let safe = e.select(is_finite, x, zero);
            e.cast(Cast::FToS, safe, Ty::I32)
        }
        _ if signed => x86(e, x, register(to)),
        _ => x86_unsigned(e, x, register(to)),
    }
}

/// x86's conversion to a signed integer: the least one for all that is out of range.
fn x86<E: Emit>(e: &mut E, x: E::Value, ty: Ty) -> E::Value {
    let half = power_of_two(ty.bits() as i32 - 1);
    let (least, is_below) = (e.constant(x, -half), e.is(Compare::FLt, x, half));
    let clamped = e.select(is_below, x, least);
    let safe = e.fmax(clamped, least);
    e.cast(Cast::FToS, safe, ty)
}

/// x86's conversion to an unsigned integer: the signed one, in the lower half of the range and in the upper.
fn x86_unsigned<E: Emit>(e: &mut E, x: E::Value, ty: Ty) -> E::Value {
    let half = power_of_two(ty.bits() as i32 - 1);
    let is_upper = e.is(Compare::FGe, x, half);
    let rest = e.offset(x, -half);
    let chosen = e.select(is_upper, rest, x);
    let whole = x86(e, chosen, ty);
    let high = e.int(ty, i64::MIN >> (64 - ty.bits()));
    let flipped = e.xor(whole, high);
    e.select(is_upper, flipped, whole)
}

/// Whether an element is not zero, as `promote.any` asks; NaN is not zero. Nothing is flushed.
pub fn is_nonzero<E: Emit>(e: &mut E, dtype: DType, x: Element<E::Value>) -> E::Value {
    match (x, dtype.kind()) {
        (Element::Real(x), Kind::Bool) => x,
        (Element::Real(x), Kind::Float) => e.is(Compare::FNe, x, 0.0),
        (Element::Real(x), _) => e.is(Compare::Ne, x, 0.0),
        (Element::Complex(real, imaginary), _) => {
            let (real, imaginary) = (e.is(Compare::FNe, real, 0.0), e.is(Compare::FNe, imaginary, 0.0));
            e.or(real, imaginary)
        }
    }
}
