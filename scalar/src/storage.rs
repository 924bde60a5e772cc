//! Where elements are: in memory, and in registers between ops.
//!
//! An element has one part, or two if it is complex. [`load`] makes a register of a part in memory, [`store`] the other
//! way. Every real dtype of at most 32 bits that is a float is held as the `f32` of the same value, so that it is computed
//! with in `f32`; [`round_to`] then finds the nearest number of the dtype.
//!
//! # Laws
//! - A register holds a number of its dtype: integers are extended from their width, floats are rounded to their format.
//! - `store` of what `load` returned is what was in memory, NaN payloads included, but for bits beyond the width of a dtype.
//! - [`round_to`] gives what `convert` from `f32` returns, but that a NaN may keep a payload.

use promote_lattice::dtype::{FloatFormat, Specials};
use promote_lattice::{DType, Kind};

use crate::build::{Build, power_of_two};
use crate::emit::{Binary, Cast, Compare, Emit, Ty};

/// The sign bit of an `f32`.
const SIGN: i64 = 1 << 31;
/// The bits of the infinity of `f32`: NaNs are above.
const INFINITY: i64 = 0x7f80_0000;
/// The bits of the quiet NaN of `f32`.
const NAN: i64 = 0x7fc0_0000;
/// The bit that makes a NaN quiet.
const QUIET: i64 = 0x40_0000;
/// The mantissa bits of `f32`.
const MANTISSA: u32 = 23;

/// The dtype of a part of an element.
pub(crate) const fn part(dtype: DType) -> DType {
    dtype.storage().real_part()
}

/// The format of the parts of a dtype that is narrower than `f32`.
pub(crate) fn narrow(dtype: DType) -> Option<FloatFormat> {
    let part = part(dtype);
    part.props().format.filter(|_| part.bits() < 32)
}

/// The type of a register that holds a part of an element.
pub fn register(dtype: DType) -> Ty {
    let part = part(dtype);
    match (part.kind(), part.bits()) {
        (Kind::Bool, _) => Ty::I1,
        (Kind::Unsigned | Kind::Signed, ..=8) => Ty::I8,
        (Kind::Unsigned | Kind::Signed, ..=16) => Ty::I16,
        (Kind::Unsigned | Kind::Signed, ..=32) => Ty::I32,
        (Kind::Unsigned | Kind::Signed, _) => Ty::I64,
        (Kind::Float | Kind::Complex, ..=32) => Ty::F32,
        (Kind::Float | Kind::Complex, _) => Ty::F64,
    }
}

/// The type of a part of an element in memory: as NumPy and `ml_dtypes` store it, so that no part is less than a byte.
pub fn memory(dtype: DType) -> Ty {
    match (register(dtype), part(dtype).bits()) {
        (Ty::I1, _) | (Ty::F32, ..=8) => Ty::I8,
        (Ty::F32, ..=16) => Ty::I16,
        (register, _) => register,
    }
}

/// How many bytes an element takes in memory.
pub fn memory_size(dtype: DType) -> usize {
    let parts = if dtype.kind() == Kind::Complex { 2 } else { 1 };
    parts * memory(dtype).bits() as usize / 8
}

/// The register of a part that `raw`, of type [`memory`], is in memory.
pub fn load<E: Emit>(e: &mut E, dtype: DType, raw: E::Value) -> E::Value {
    let native = narrow(dtype).and_then(|_| e.decode(part(dtype), raw));
    if let Some(number) = native {
        return number;
    }
    match (part(dtype), narrow(dtype)) {
        (DType::B1, _) => e.is(Compare::Ne, raw, 0.0),
        (DType::BF16, _) => {
            let wide = e.cast(Cast::ZExt, raw, Ty::I32);
            let bits = e.shift(Binary::Shl, wide, 16);
            e.cast(Cast::Bitcast, bits, Ty::F32)
        }
        (DType::F16, _) if e.has_f16() => {
            let half = e.cast(Cast::Bitcast, raw, Ty::F16);
            e.cast(Cast::FExt, half, Ty::F32)
        }
        (_, Some(format)) => decode(e, format, raw),
        (part, None) => wrap(e, part, raw),
    }
}

/// What a register is in memory, of type [`memory`].
pub fn store<E: Emit>(e: &mut E, dtype: DType, register: E::Value) -> E::Value {
    let native = narrow(dtype).and_then(|_| e.encode(part(dtype), register));
    if let Some(code) = native {
        return code;
    }
    match (part(dtype), narrow(dtype)) {
        (DType::B1, _) => e.cast(Cast::ZExt, register, Ty::I8),
        (DType::BF16, _) => {
            let bits = e.to_bits(register);
            let high = e.shift(Binary::ShrU, bits, 16);
            e.cast(Cast::Truncate, high, Ty::I16)
        }
        (DType::F16, _) if e.has_f16() => {
            let half = e.cast(Cast::FTruncate, register, Ty::F16);
            e.cast(Cast::Bitcast, half, Ty::I16)
        }
        (_, Some(format)) => {
            let code = encode(e, format, register);
            e.cast(Cast::Truncate, code, memory(dtype))
        }
        (_, None) => register,
    }
}

/// An integer as its register holds it, given its low bits: extended from its width.
pub(crate) fn wrap<E: Emit>(e: &mut E, dtype: DType, x: E::Value) -> E::Value {
    let part = part(dtype);
    let unused = register(part).bits() - part.bits().min(register(part).bits());
    match part.kind() {
        _ if unused == 0 => x,
        Kind::Signed => {
            let high = e.shift(Binary::Shl, x, unused);
            e.shift(Binary::ShrS, high, unused)
        }
        Kind::Unsigned => e.masked(x, (1 << part.bits()) - 1),
        Kind::Bool | Kind::Float | Kind::Complex => x,
    }
}

/// The nearest number of `dtype`, ties to even, to an `f32`. A register of `f32` or `f64` is returned as it is.
pub fn round_to<E: Emit>(e: &mut E, dtype: DType, x: E::Value) -> E::Value {
    if let Some(rounded) = narrow(dtype).and_then(|_| e.round(part(dtype), x)) {
        return rounded;
    }
    match (part(dtype), narrow(dtype)) {
        (_, None) => x,
        (DType::BF16, _) => round_to_bf16(e, x),
        (DType::F16, _) if e.has_f16() => {
            let half = e.cast(Cast::FTruncate, x, Ty::F16);
            e.cast(Cast::FExt, half, Ty::F32)
        }
        (_, Some(format)) if format.specials == Specials::ExponentOnly => round_to_power(e, x),
        (_, Some(format)) => round_to_format(e, format, x),
    }
}

/// A result that every format with a sign, a zero and infinities holds, as `dtype` holds it: those of 8 bits lack some, or
/// have no whole number next to their largest.
pub(crate) fn settle<E: Emit>(e: &mut E, dtype: DType, x: E::Value) -> E::Value {
    if part(dtype).bits() <= 8 { round_to(e, dtype, x) } else { x }
}

/// The high half of the bits, rounded; the carry goes where it belongs, up to infinity.
fn round_to_bf16<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let bits = e.to_bits(x);
    let rounded = round_bits(e, bits, 16);
    let quiet = e.bits(bits, QUIET);
    let quiet = e.or(bits, quiet);
    let is_nan = e.is_nan(x);
    let chosen = e.select(is_nan, quiet, rounded);
    let high = e.masked(chosen, !0xffff);
    e.cast(Cast::Bitcast, high, Ty::F32)
}

/// Adds what makes the cut of `places` low bits round to nearest, ties to even.
fn round_bits<E: Emit>(e: &mut E, bits: E::Value, places: u32) -> E::Value {
    let last = e.shift(Binary::ShrU, bits, places);
    let odd = e.masked(last, 1);
    let below_half = e.bits(bits, (1 << (places - 1)) - 1);
    let up = e.add(bits, below_half);
    e.add(up, odd)
}

/// The powers of two of `f8e8m0fnu`: the exponent field, rounded; a tie goes up, as the hidden bit is odd, but down to the
/// least power, whose code is 0. All that is not positive, and what is too large, is NaN.
fn round_to_power<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    /// The largest that does not round beyond 2^127.
    const LARGEST: i64 = 0x7f3f_ffff;
    let bits = e.to_bits(x);
    let (half, below_half) = (e.bits(bits, QUIET), e.bits(bits, QUIET - 1));
    let is_normal = e.is(Compare::GeU, bits, f64::from(1 << MANTISSA));
    let up = e.select(is_normal, half, below_half);
    let rounded = e.add(bits, up);
    let power = e.masked(rounded, INFINITY);
    let is_zero = e.is(Compare::Eq, power, 0.0);
    let least = e.bits(bits, QUIET);
    let power = e.select(is_zero, least, power);
    let (one, largest, nan) = (e.bits(bits, 1), e.bits(bits, LARGEST), e.bits(bits, NAN));
    // Zero wraps to the largest unsigned number.
    let less_one = e.sub(bits, one);
    let is_beyond = e.compare(Compare::GeU, less_one, largest);
    let bits = e.select(is_beyond, nan, power);
    e.cast(Cast::Bitcast, bits, Ty::F32)
}

/// The exponent of the least normal number.
fn lowest_normal(format: FloatFormat) -> i32 {
    1 - format.bias
}

/// The bits as `f32` of the largest finite number.
fn largest(format: FloatFormat) -> i64 {
    let FloatFormat { exponent_bits, mantissa_bits, specials, bias } = format;
    let all_ones = (1i64 << (exponent_bits + mantissa_bits)) - 1;
    let code = match specials {
        Specials::Ieee => all_ones - (1 << mantissa_bits),
        Specials::NanOnly | Specials::ExponentOnly => all_ones - 1,
        Specials::NanIsNegativeZero | Specials::FiniteOnly => all_ones,
    };
    (code << (MANTISSA - mantissa_bits)) + (i64::from(127 - bias) << MANTISSA)
}

/// The numbers of a real float dtype that all others, but NaN, are between.
pub(crate) fn ends(dtype: DType) -> (f64, f64) {
    let Some(format) = narrow(dtype).filter(|format| format.specials != Specials::Ieee) else {
        return (f64::NEG_INFINITY, f64::INFINITY);
    };
    let largest = f32::from_bits(largest(format) as u32).into();
    if format.specials == Specials::ExponentOnly {
        (power_of_two(-format.bias), largest)
    } else {
        (-largest, largest)
    }
}

fn round_to_format<E: Emit>(e: &mut E, format: FloatFormat, x: E::Value) -> E::Value {
    let bits = e.to_bits(x);
    let magnitude = e.masked(bits, !SIGN);
    let sign = e.masked(bits, SIGN);
    let rounded = round_magnitude(e, format, magnitude);
    let largest = e.bits(bits, largest(format));
    let is_beyond = e.compare(Compare::GtU, rounded, largest);
    let bits = match format.specials {
        Specials::Ieee => {
            let infinity = e.bits(bits, INFINITY);
            let finite = e.select(is_beyond, infinity, rounded);
            let (is_nan, quiet) = (e.is_nan(x), e.bits(bits, QUIET));
            let quiet = e.or(magnitude, quiet);
            let quiet = e.masked(quiet, !((1 << (MANTISSA - format.mantissa_bits)) - 1));
            let magnitude = e.select(is_nan, quiet, finite);
            e.or(magnitude, sign)
        }
        Specials::FiniteOnly => {
            let finite = e.select(is_beyond, largest, rounded);
            let signed = e.or(finite, sign);
            let (is_nan, flip) = (e.is_nan(x), e.bits(bits, SIGN));
            let zero = e.xor(sign, flip);
            e.select(is_nan, zero, signed)
        }
        Specials::NanIsNegativeZero => {
            let (is_zero, zero) = (e.is(Compare::Eq, rounded, 0.0), e.bits(bits, 0));
            let signed = e.or(rounded, sign);
            let signed = e.select(is_zero, zero, signed);
            let nan = e.bits(bits, NAN | SIGN);
            e.select(is_beyond, nan, signed)
        }
        Specials::NanOnly | Specials::ExponentOnly => {
            let nan = e.bits(bits, NAN);
            let magnitude = e.select(is_beyond, nan, rounded);
            e.or(magnitude, sign)
        }
    };
    e.cast(Cast::Bitcast, bits, Ty::F32)
}

/// The bits of a magnitude, rounded as if the format had no upper end. Below the normal numbers the steps are all the same,
/// those of the `f32` numbers next to some power of two: adding that power rounds.
fn round_magnitude<E: Emit>(e: &mut E, format: FloatFormat, magnitude: E::Value) -> E::Value {
    let places = MANTISSA - format.mantissa_bits;
    let normal = round_bits(e, magnitude, places);
    let normal = e.masked(normal, !((1 << places) - 1));
    let lowest = lowest_normal(format);
    let step = e.float(Ty::F32, power_of_two(lowest + places as i32));
    let x = e.cast(Cast::Bitcast, magnitude, Ty::F32);
    let sum = e.add(x, step);
    let rest = e.sub(sum, step);
    let small = e.to_bits(rest);
    let is_small = e.is(Compare::LtU, magnitude, f64::from((lowest + 127) << MANTISSA));
    e.select(is_small, small, normal)
}

/// The `f32` that a code is. Shifted into place, a code is the number but for a power of two; so are subnormal ones.
fn decode<E: Emit>(e: &mut E, format: FloatFormat, raw: E::Value) -> E::Value {
    let FloatFormat { exponent_bits, mantissa_bits, bias, specials } = format;
    let width = exponent_bits + mantissa_bits;
    let code = e.cast(Cast::ZExt, raw, Ty::I32);
    if specials == Specials::ExponentOnly {
        return decode_power(e, code);
    }
    let magnitude = e.masked(code, (1 << width) - 1);
    let sign = e.masked(code, 1 << width);
    let sign = e.shift(Binary::Shl, sign, 31 - width);
    let shifted = e.shift(Binary::Shl, magnitude, MANTISSA - mantissa_bits);
    let small = e.cast(Cast::Bitcast, shifted, Ty::F32);
    let number = e.scale(small, power_of_two(127 - bias));
    let number = e.to_bits(number);
    let bits = match specials {
        Specials::Ieee => {
            let exponent = ((1i64 << exponent_bits) - 1) << mantissa_bits;
            let is_special = e.is(Compare::GeU, magnitude, exponent as f64);
            let infinity = e.bits(shifted, INFINITY);
            let special = e.or(shifted, infinity);
            let magnitude = e.select(is_special, special, number);
            e.or(magnitude, sign)
        }
        Specials::NanOnly => {
            let (is_nan, nan) =
                (e.is(Compare::Eq, magnitude, ((1i64 << width) - 1) as f64), e.bits(sign, NAN));
            let magnitude = e.select(is_nan, nan, number);
            e.or(magnitude, sign)
        }
        Specials::NanIsNegativeZero => {
            let signed = e.or(number, sign);
            let (is_nan, nan) = (e.is(Compare::Eq, signed, -power_of_two(31)), e.bits(sign, NAN | SIGN));
            e.select(is_nan, nan, signed)
        }
        Specials::FiniteOnly | Specials::ExponentOnly => e.or(number, sign),
    };
    e.cast(Cast::Bitcast, bits, Ty::F32)
}

fn decode_power<E: Emit>(e: &mut E, code: E::Value) -> E::Value {
    let power = e.shift(Binary::Shl, code, MANTISSA);
    let (is_least, least) = (e.is(Compare::Eq, code, 0.0), e.bits(code, QUIET));
    let (is_nan, nan) = (e.is(Compare::Eq, code, 255.0), e.bits(code, NAN));
    let power = e.select(is_least, least, power);
    let bits = e.select(is_nan, nan, power);
    e.cast(Cast::Bitcast, bits, Ty::F32)
}

/// The code, as 32 bits, of an `f32` that is a number of the format.
fn encode<E: Emit>(e: &mut E, format: FloatFormat, x: E::Value) -> E::Value {
    let FloatFormat { exponent_bits, mantissa_bits, bias, specials } = format;
    let width = exponent_bits + mantissa_bits;
    let places = MANTISSA - mantissa_bits;
    let bits = e.to_bits(x);
    if specials == Specials::ExponentOnly {
        return e.shift(Binary::ShrU, bits, MANTISSA);
    }
    let sign = e.masked(bits, SIGN);
    let sign = e.shift(Binary::ShrU, sign, 31 - width);
    let magnitude = e.fabs(x);
    let small = e.scale(magnitude, power_of_two(bias - 127));
    let small = e.to_bits(small);
    let number = e.shift(Binary::ShrU, small, places);
    match specials {
        Specials::Ieee => {
            let magnitude = e.to_bits(magnitude);
            let is_special = e.is(Compare::GeU, magnitude, INFINITY as f64);
            let shifted = e.shift(Binary::ShrU, magnitude, places);
            let special = e.masked(shifted, (1 << width) - 1);
            let code = e.select(is_special, special, number);
            e.or(code, sign)
        }
        Specials::NanOnly => {
            let (is_nan, nan) = (e.is_nan(x), e.bits(bits, (1 << width) - 1));
            let code = e.select(is_nan, nan, number);
            e.or(code, sign)
        }
        Specials::NanIsNegativeZero => {
            let (is_nan, nan) = (e.is_nan(x), e.bits(bits, 1 << width));
            let code = e.or(number, sign);
            e.select(is_nan, nan, code)
        }
        Specials::FiniteOnly | Specials::ExponentOnly => e.or(number, sign),
    }
}
