//! Numbers of 16 bits, NaNs, and roundings that processors do not have.

/// An f16, by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half(pub(crate) u16);

/// A bf16, by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bf16(pub(crate) u16);

/// The bits of a number, and of every NaN those that PTX's instructions on 32 bits make.
#[inline(always)]
pub(crate) fn canonical32(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

/// To which of the numbers beside it a number is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// `.rn`: to the nearest, and to the even one if both are.
    Nearest,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// A binary format with infinities and NaNs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    exponent_bits: u32,
    fraction_bits: u32,
}

pub(crate) const HALF: Format = Format { exponent_bits: 5, fraction_bits: 10 };
pub(crate) const BF16: Format = Format { exponent_bits: 8, fraction_bits: 7 };
pub(crate) const SINGLE: Format = Format { exponent_bits: 8, fraction_bits: 23 };
pub(crate) const DOUBLE: Format = Format { exponent_bits: 11, fraction_bits: 52 };

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Rounds (−1)^`negative` · `magnitude` · 2^`exponent`; the bits.
    pub(crate) fn round(self, negative: bool, magnitude: u64, exponent: i32, rounding: Rounding) -> u64 {
        let sign = u64::from(negative) << (self.exponent_bits + self.fraction_bits);
        if magnitude == 0 {
            return sign;
        }
        // The exponent of the last bit that is kept.
        let top = exponent + 63 - magnitude.leading_zeros() as i32;
        let last = (top - self.fraction_bits as i32).max(1 - self.bias() - self.fraction_bits as i32);
        let shift = last - exponent;
        let (mut kept, is_more, is_half, is_inexact) = match shift {
            ..=0 => (magnitude << -shift, false, false, false),
            1..=63 => {
                let rest = magnitude & ((1 << shift) - 1);
                let half = 1 << (shift - 1);
                (magnitude >> shift, rest > half, rest == half, rest != 0)
            }
            64 => (0, magnitude > 1 << 63, magnitude == 1 << 63, true),
            _ => (0, false, false, true),
        };
        let is_up = match rounding {
            Rounding::Nearest => is_more || is_half && kept & 1 == 1,
            Rounding::Zero => false,
            Rounding::Down => is_inexact && negative,
            Rounding::Up => is_inexact && !negative,
        };
        kept += u64::from(is_up);
        // A carry goes into the exponent, as the formats are made for.
        let field = (last + self.fraction_bits as i32 + self.bias() - 1) as u64;
        let bits = (field << self.fraction_bits) + kept;
        let infinity = ((1u64 << self.exponent_bits) - 1) << self.fraction_bits;
        if bits < infinity {
            return sign | bits;
        }
        let is_infinite = match rounding {
            Rounding::Nearest => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        sign | if is_infinite { infinity } else { infinity - 1 }
    }

    /// Rounds a number; NaNs become the one that PTX makes.
    pub(crate) fn of_f64(self, value: f64, rounding: Rounding) -> u64 {
        let bits = value.to_bits();
        let negative = bits >> 63 != 0;
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let infinity = ((1u64 << self.exponent_bits) - 1) << self.fraction_bits;
        match field {
            0x7ff if fraction != 0 => (1 << (self.exponent_bits + self.fraction_bits)) - 1,
            0x7ff => u64::from(negative) << (self.exponent_bits + self.fraction_bits) | infinity,
            0 => self.round(negative, fraction, -1074, rounding),
            _ => self.round(negative, fraction | 1 << 52, field - 1075, rounding),
        }
    }

    /// Rounds an integer.
    pub(crate) fn of_integer(self, value: i128, rounding: Rounding) -> u64 {
        let magnitude = u64::try_from(value.unsigned_abs()).expect("integers have 64 bits");
        self.round(value < 0, magnitude, 0, rounding)
    }
}

/// The bits of a narrow float as those of an f64 of the same number.
fn widened(bits: u16, format: Format) -> f64 {
    let negative = bits >> 15 != 0;
    let fraction = u64::from(bits) & ((1 << format.fraction_bits) - 1);
    let field = (u64::from(bits) >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
    let least = 1 - format.bias() - format.fraction_bits as i32;
    let magnitude = match field {
        0 => fraction as f64 * power(least),
        _ if field == (1 << format.exponent_bits) - 1 => {
            if fraction == 0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        _ => (fraction | 1 << format.fraction_bits) as f64 * power(least + field as i32 - 1),
    };
    if negative { -magnitude } else { magnitude }
}

/// A power of two in the range of normal numbers.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl Half {
    pub(crate) fn to_f64(self) -> f64 {
        widened(self.0, HALF)
    }

    pub(crate) fn of(value: f64) -> Self {
        Self(HALF.of_f64(value, Rounding::Nearest) as u16)
    }
}

impl Bf16 {
    pub(crate) fn to_f64(self) -> f64 {
        f64::from(f32::from_bits(u32::from(self.0) << 16))
    }

    pub(crate) fn of(value: f64) -> Self {
        Self(BF16.of_f64(value, Rounding::Nearest) as u16)
    }
}

/// The sum, rounded to odd: rounded again to a narrower format it is as if it had been rounded once.
pub(crate) fn add_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    let taken = sum - a;
    let lost = (a - (sum - taken)) + (b - taken);
    if lost == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // The exact sum is between this number and the next one on the side of what was lost; one of both is odd.
    let is_away = (lost > 0.0) == (sum > 0.0);
    f64::from_bits(if is_away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roundings_to_nearest_are_those_of_the_processor() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            // Exponents around those of 32 bits.
            let exponent = 1023 - 160 + bits % 320;
            let value = f64::from_bits(bits & 0x800f_ffff_ffff_ffff | exponent << 52);
            let rounded = SINGLE.of_f64(value, Rounding::Nearest) as u32;
            assert_eq!(rounded, (value as f32).to_bits(), "{value:e}");
            let integer = bits as i64 >> (bits % 64);
            assert_eq!(
                SINGLE.of_integer(integer.into(), Rounding::Nearest) as u32,
                (integer as f32).to_bits()
            );
            assert_eq!(DOUBLE.of_integer(integer.into(), Rounding::Nearest), (integer as f64).to_bits());
        }
    }

    #[test]
    fn every_narrow_number_comes_back() {
        for bits in 0..=u16::MAX {
            let (half, bf16) = (Half(bits), Bf16(bits));
            let is_nan = half.to_f64().is_nan();
            assert_eq!(Half::of(half.to_f64()).0, if is_nan { 0x7fff } else { bits });
            let is_nan = bf16.to_f64().is_nan();
            assert_eq!(Bf16::of(bf16.to_f64()).0, if is_nan { 0x7fff } else { bits });
        }
    }

    #[test]
    fn directed_roundings_enclose_a_number() {
        let third = 1.0 / 3.0;
        let round = |value, rounding| HALF.of_f64(value, rounding);
        assert_eq!([round(third, Rounding::Down), round(third, Rounding::Up)], [0x3555, 0x3556]);
        assert_eq!([round(-third, Rounding::Down), round(-third, Rounding::Up)], [0xb556, 0xb555]);
        assert_eq!([round(1e9, Rounding::Zero), round(1e9, Rounding::Up)], [0x7bff, 0x7c00]);
        assert_eq!([round(1e-9, Rounding::Zero), round(1e-9, Rounding::Up)], [0, 1]);
    }

    #[test]
    fn sums_rounded_to_odd_remember_what_was_lost() {
        let tiny = power(-80);
        for (sign, wanted) in [(1.0, 0x3c01), (-1.0, 0x3c00)] {
            let middle = 1.0 + power(-11);
            assert_eq!(Half::of(add_odd(middle, sign * tiny)).0, wanted);
        }
        assert_eq!(add_odd(1.0, 2.0), 3.0);
    }
}
