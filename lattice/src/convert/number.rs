//! The numbers behind the bits: decoding any real dtype to one exact form and rounding that form into any other.
//!
//! Every real dtype holds `±significand × 2^exponent`, an infinity or a NaN, and 64 bits of significand are enough for
//! all of them. So [`decode`] and [`encode`] need one case per way of spelling specials, not one per pair of dtypes.

use super::Bits;
use crate::dtype::{DType, FloatFormat, Kind, Props, Specials};

/// A real number or what stands for the lack of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// `±significand × 2^exponent`; a zero significand is a zero of that sign.
    Finite { negative: bool, significand: u64, exponent: i32 },
    /// An infinity.
    Infinite { negative: bool },
    /// Not a number. The payload is not kept: no library says what becomes of it.
    Nan { negative: bool },
}

impl Number {
    /// The integer nearest to zero among the two around the number, magnitude first; `None` if it needs more than 64
    /// bits or is no number.
    pub(super) fn truncated(self) -> Option<(u64, bool)> {
        let Self::Finite { negative, significand, exponent } = self else { return None };
        let magnitude = match exponent {
            _ if significand == 0 => 0,
            0.. if exponent.unsigned_abs() > significand.leading_zeros() => return None,
            0.. => significand << exponent,
            _ => significand.checked_shr(exponent.unsigned_abs()).unwrap_or(0),
        };
        Some((magnitude, negative))
    }

    /// Whether the number is a zero.
    pub(super) fn is_zero(self) -> bool {
        matches!(self, Self::Finite { significand: 0, .. })
    }

    /// Whether the number is not an infinity nor a NaN.
    pub(super) fn is_finite(self) -> bool {
        matches!(self, Self::Finite { .. })
    }
}

/// The number that `bits` spell in the real dtype `dtype` (of a complex dtype: in its part).
pub(super) fn decode(bits: Bits, dtype: DType) -> Number {
    let Props { kind, bits: width, format } = dtype.real_part().props();
    match format {
        Some(format) => decode_float(bits as u64, format),
        None => decode_integer(bits as u64, width, kind == Kind::Signed),
    }
}

fn decode_integer(bits: u64, width: u32, signed: bool) -> Number {
    let unused = 64 - width;
    let negative = signed && bits >> (width - 1) & 1 == 1;
    let significand = match negative {
        true => ((bits << unused) as i64 >> unused).unsigned_abs(),
        false => bits << unused >> unused,
    };
    Number::Finite { negative, significand, exponent: 0 }
}

fn decode_float(bits: u64, format: FloatFormat) -> Number {
    let FloatFormat { exponent_bits, mantissa_bits, bias, specials } = format;
    let magnitude = bits & mask(exponent_bits + mantissa_bits);
    let negative = specials != Specials::ExponentOnly && bits >> (exponent_bits + mantissa_bits) & 1 == 1;
    if is_nan_code(magnitude, negative, format) {
        return Number::Nan { negative };
    }
    if specials == Specials::Ieee && magnitude > max_code(format) {
        return Number::Infinite { negative };
    }
    let field = (magnitude >> mantissa_bits) as i32;
    let fraction = magnitude & mask(mantissa_bits);
    let normal = field > 0 || specials == Specials::ExponentOnly;
    let significand = if normal { fraction | 1 << mantissa_bits } else { fraction };
    let exponent = if normal { field } else { 1 } - bias - mantissa_bits as i32;
    Number::Finite { negative, significand, exponent }
}

fn is_nan_code(magnitude: u64, negative: bool, format: FloatFormat) -> bool {
    match format.specials {
        Specials::Ieee => magnitude > max_code(format) + 1,
        Specials::NanOnly | Specials::ExponentOnly => magnitude > max_code(format),
        Specials::NanIsNegativeZero => magnitude == 0 && negative,
        Specials::FiniteOnly => false,
    }
}

/// The bits of the number in the float format, rounded to nearest, ties to even.
///
/// What the format cannot spell becomes, in this order of preference, an infinity, a NaN, the largest finite number.
pub(super) fn encode(number: Number, format: FloatFormat) -> u64 {
    match number {
        Number::Nan { negative } => nan(negative, format),
        Number::Infinite { negative } => overflow(negative, format),
        Number::Finite { significand: 0, negative, .. } => zero(negative, format),
        Number::Finite { negative: true, .. } if format.specials == Specials::ExponentOnly => nan(true, format),
        Number::Finite { negative, significand, exponent } => {
            let code = round(significand, exponent, format);
            let vanishes = code == 0 && format.specials != Specials::ExponentOnly;
            match code <= max_code(format) {
                _ if vanishes => zero(negative, format),
                true => code | sign(negative, format),
                false => overflow(negative, format),
            }
        }
    }
}

/// The code of the nearest magnitude, as if the exponent field had no upper end.
fn round(significand: u64, exponent: i32, format: FloatFormat) -> u64 {
    let FloatFormat { mantissa_bits, bias, specials, .. } = format;
    let hidden_bit = u64::from(specials == Specials::ExponentOnly) << mantissa_bits;
    let lowest = if specials == Specials::ExponentOnly { -bias } else { 1 - bias };
    let leading = 63 - significand.leading_zeros() as i32 + exponent;
    let binade = leading.max(lowest);
    let units = shift_to_even(significand, binade - mantissa_bits as i32 - exponent);
    // A carry out of the mantissa moves on to the exponent field, where it belongs.
    (((binade - lowest) as u64) << mantissa_bits) + units.saturating_sub(hidden_bit)
}

/// `value / 2^places`, rounded to nearest, ties to even. A shift to the left must fit.
fn shift_to_even(value: u64, places: i32) -> u64 {
    match places {
        ..=0 => value << -places,
        1..=63 => {
            let quotient = value >> places;
            let half = 1 << (places - 1);
            let rest = value & mask(places as u32);
            quotient + u64::from(rest > half || rest == half && quotient & 1 == 1)
        }
        64 => u64::from(value > 1 << 63),
        65.. => 0,
    }
}

fn nan(negative: bool, format: FloatFormat) -> u64 {
    let infinity = max_code(format) + 1;
    match format.specials {
        Specials::Ieee => infinity | 1 << (format.mantissa_bits - 1) | sign(negative, format),
        Specials::NanOnly => infinity | sign(negative, format),
        Specials::NanIsNegativeZero => sign(true, format),
        Specials::ExponentOnly => infinity,
        Specials::FiniteOnly => sign(!negative, format),
    }
}

fn overflow(negative: bool, format: FloatFormat) -> u64 {
    match format.specials {
        Specials::Ieee => (max_code(format) + 1) | sign(negative, format),
        Specials::FiniteOnly => max_code(format) | sign(negative, format),
        Specials::NanOnly | Specials::NanIsNegativeZero | Specials::ExponentOnly => nan(negative, format),
    }
}

fn zero(negative: bool, format: FloatFormat) -> u64 {
    match format.specials {
        Specials::Ieee | Specials::NanOnly | Specials::FiniteOnly => sign(negative, format),
        Specials::NanIsNegativeZero => 0,
        Specials::ExponentOnly => nan(negative, format),
    }
}

fn sign(negative: bool, format: FloatFormat) -> u64 {
    u64::from(negative) << (format.exponent_bits + format.mantissa_bits)
}

/// The code of the largest finite magnitude.
pub(super) fn max_code(format: FloatFormat) -> u64 {
    let FloatFormat { exponent_bits, mantissa_bits, specials, .. } = format;
    let all_ones = mask(exponent_bits + mantissa_bits);
    match specials {
        Specials::Ieee => all_ones - (1 << mantissa_bits),
        Specials::NanOnly | Specials::ExponentOnly => all_ones - 1,
        Specials::NanIsNegativeZero | Specials::FiniteOnly => all_ones,
    }
}

/// The `width` low bits.
fn mask(width: u32) -> u64 {
    u64::MAX.checked_shr(64 - width).unwrap_or(0)
}
