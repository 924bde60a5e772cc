//! The numbers that bits represent: decoding any real dtype to one exact form, and rounding that form into any float.
//!
//! Every real dtype holds `±significand × 2^exponent`, an infinity or a NaN, and 64 bits of significand are enough for
//! all of them. So [`decode`] and [`encode`] need one case per way of spelling specials, not one per pair of dtypes.

use super::Bits;
use crate::dtype::{DType, FloatFormat, Kind, Props, Specials};

/// A real number, an infinity or a NaN.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// `±significand × 2^exponent`; a zero significand is a zero of that sign.
    Finite { negative: bool, significand: u64, exponent: i32 },
    /// An infinity.
    Infinite { negative: bool },
    /// Not a number.
    Nan { negative: bool },
}

impl Number {
    pub(super) const ZERO: Self = Self::Finite { negative: false, significand: 0, exponent: 0 };

    /// The number without its fraction. What is beyond 64 bits becomes some integer of that sign beyond 64 bits, and NaN
    /// becomes one like negative infinity.
    pub(super) fn truncated(self) -> i128 {
        match self {
            Self::Finite { significand: 0, .. } => 0,
            Self::Finite { negative, significand, exponent } => {
                let magnitude = match exponent {
                    ..0 => significand.checked_shr(exponent.unsigned_abs()).unwrap_or(0).into(),
                    0..=63 => i128::from(significand) << exponent,
                    64.. => i128::MAX,
                };
                if negative { -magnitude } else { magnitude }
            }
            Self::Infinite { negative: false } => i128::MAX,
            Self::Infinite { negative: true } | Self::Nan { .. } => i128::MIN,
        }
    }

    /// The number, or the zero of its sign if it is subnormal in `format`, once rounded to the precision of `format`.
    pub(super) fn flushed(self, format: FloatFormat) -> Self {
        let wide = FloatFormat { exponent_bits: 11, bias: 1023, ..format };
        match decode_float(encode(self, wide), wide) {
            Self::Finite { negative, significand, exponent }
                if significand > 0 && binade(significand, exponent) < lowest_normal(format) =>
            {
                Self::Finite { negative, significand: 0, exponent: 0 }
            }
            _ => self,
        }
    }

    pub(super) fn is_zero(self) -> bool {
        matches!(self, Self::Finite { significand: 0, .. })
    }

    pub(super) fn is_nan(self) -> bool {
        matches!(self, Self::Nan { .. })
    }

    pub(super) fn is_finite(self) -> bool {
        matches!(self, Self::Finite { .. })
    }

    pub(super) fn is_negative(self) -> bool {
        match self {
            Self::Finite { negative, .. } | Self::Infinite { negative } | Self::Nan { negative } => negative,
        }
    }

    /// How far the number is from zero.
    pub(super) fn magnitude(self) -> Magnitude {
        match self {
            Self::Finite { significand: 0, .. } => Magnitude::ZERO,
            Self::Finite { significand, exponent, .. } => Magnitude {
                binade: binade(significand, exponent),
                aligned: significand << significand.leading_zeros(),
            },
            Self::Infinite { .. } => Magnitude { binade: i32::MAX, aligned: 0 },
            Self::Nan { .. } => Magnitude { binade: i32::MAX, aligned: 1 },
        }
    }
}

/// Numbers are equal if they are the same value: `1 × 2^3` is `4 × 2^1`, and NaN is NaN. Zeros differ by their sign.
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.magnitude() == other.magnitude() && self.is_negative() == other.is_negative()
    }
}

/// A magnitude in a form that compares: `aligned / 2^63 × 2^binade`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Magnitude {
    binade: i32,
    /// The significand, shifted until its highest bit is set.
    aligned: u64,
}

impl Magnitude {
    pub(super) const ZERO: Self = Self { binade: i32::MIN, aligned: 0 };

    /// The magnitude `significand × 2^exponent`.
    pub(super) fn new(significand: u64, exponent: i32) -> Self {
        Number::Finite { negative: false, significand, exponent }.magnitude()
    }

    /// The nearest float, for people to read.
    pub(super) fn approximate(self) -> f64 {
        self.aligned as f64 / 2_f64.powi(63) * 2_f64.powi(self.binade)
    }
}

/// The number that `bits` spell in a real dtype.
pub(super) fn decode(bits: Bits, dtype: DType) -> Number {
    let Props { kind, bits: width, format } = dtype.props();
    match format {
        Some(format) => decode_float(bits as u64, format),
        None => decode_integer(bits as u64, width, kind == Kind::Signed),
    }
}

fn decode_integer(bits: u64, width: u32, signed: bool) -> Number {
    let unused = u64::BITS - width;
    let extended = (bits << unused) as i64 >> unused;
    match signed {
        true => Number::Finite { negative: extended < 0, significand: extended.unsigned_abs(), exponent: 0 },
        false => Number::Finite { negative: false, significand: bits << unused >> unused, exponent: 0 },
    }
}

fn decode_float(bits: u64, format: FloatFormat) -> Number {
    let FloatFormat { exponent_bits, mantissa_bits, bias, specials } = format;
    let magnitude = bits & mask(exponent_bits + mantissa_bits);
    let negative = bits & sign(true, format) != 0;
    if is_nan(magnitude, negative, format) {
        return Number::Nan { negative };
    }
    if magnitude > max_code(format) {
        return Number::Infinite { negative };
    }
    let field = (magnitude >> mantissa_bits) as i32;
    let fraction = magnitude & mask(mantissa_bits);
    let (significand, field) = match field {
        0 if specials != Specials::ExponentOnly => (fraction, 1),
        _ => (fraction | 1 << mantissa_bits, field),
    };
    Number::Finite { negative, significand, exponent: field - bias - mantissa_bits as i32 }
}

fn is_nan(magnitude: u64, negative: bool, format: FloatFormat) -> bool {
    match format.specials {
        Specials::Ieee => magnitude > max_code(format) + 1,
        Specials::NanOnly | Specials::ExponentOnly => magnitude > max_code(format),
        Specials::NanIsNegativeZero => magnitude == 0 && negative,
        Specials::FiniteOnly => false,
    }
}

/// The bits of the number in a float format, rounded to nearest, ties to even.
pub(super) fn encode(number: Number, format: FloatFormat) -> u64 {
    match number {
        Number::Nan { negative } => nan(negative, format),
        Number::Infinite { negative } => overflow(negative, format),
        Number::Finite { significand: 0, negative, .. } => zero(negative, format),
        Number::Finite { negative: true, .. } if format.specials == Specials::ExponentOnly => {
            nan(true, format)
        }
        Number::Finite { negative, significand, exponent } => match round(significand, exponent, format) {
            0 if format.specials != Specials::ExponentOnly => zero(negative, format),
            code if code > max_code(format) => overflow(negative, format),
            code => code | sign(negative, format),
        },
    }
}

/// The code of the nearest magnitude, as if the exponent field had no upper end. The code 0 of an exponent-only format is
/// met as if it were the zero of others: that is how `ml_dtypes` rounds to its least power of two.
fn round(significand: u64, exponent: i32, format: FloatFormat) -> u64 {
    let mantissa_bits = format.mantissa_bits;
    let lowest = lowest_normal(format);
    let binade = binade(significand, exponent).max(lowest);
    let units = shift_to_even(significand, binade - mantissa_bits as i32 - exponent);
    // The hidden bit, and a carry out of the mantissa, add to the exponent field, where they belong.
    (((binade - lowest) as u64) << mantissa_bits) + units
}

/// `value / 2^places`, rounded to nearest, ties to even. To the left nothing may be shifted out.
fn shift_to_even(value: u64, places: i32) -> u64 {
    match places {
        ..=0 => value << -places,
        1..=63 => {
            let quotient = value >> places;
            let rest = value & mask(places as u32);
            let half = 1 << (places - 1);
            quotient + u64::from(rest > half || rest == half && quotient & 1 == 1)
        }
        64 => u64::from(value > 1 << 63),
        65.. => 0,
    }
}

/// Whether a finite number is too large for the format, even rounded.
pub(super) fn overflows(number: Number, format: FloatFormat) -> bool {
    match number {
        Number::Finite { significand, exponent, .. } if significand > 0 => {
            round(significand, exponent, format) > max_code(format)
        }
        _ => false,
    }
}

fn nan(negative: bool, format: FloatFormat) -> u64 {
    let past_max = max_code(format) + 1;
    match format.specials {
        Specials::Ieee => past_max | 1 << (format.mantissa_bits - 1) | sign(negative, format),
        Specials::NanOnly => past_max | sign(negative, format),
        Specials::NanIsNegativeZero => sign(true, format),
        Specials::ExponentOnly => past_max,
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

/// The sign bit, if the number is negative and the format has one.
fn sign(negative: bool, format: FloatFormat) -> u64 {
    let signed = format.specials != Specials::ExponentOnly;
    u64::from(negative && signed) << (format.exponent_bits + format.mantissa_bits)
}

/// The code of the largest finite number.
pub(super) fn max_code(format: FloatFormat) -> u64 {
    let all_ones = mask(format.exponent_bits + format.mantissa_bits);
    match format.specials {
        Specials::Ieee => all_ones - (1 << format.mantissa_bits),
        Specials::NanOnly | Specials::ExponentOnly => all_ones - 1,
        Specials::NanIsNegativeZero | Specials::FiniteOnly => all_ones,
    }
}

/// The exponent of the least normal number.
pub(super) fn lowest_normal(format: FloatFormat) -> i32 {
    1 - format.bias
}

/// The exponent of the power of two at or below `significand × 2^exponent`, which is not zero.
fn binade(significand: u64, exponent: i32) -> i32 {
    significand.ilog2() as i32 + exponent
}

/// The `width` low bits.
fn mask(width: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0)
}
