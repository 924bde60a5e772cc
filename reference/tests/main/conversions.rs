//! Conversions, against those of `promote-lattice`, which are checked against the libraries.

use promote_lattice::DType::{self, *};
use promote_lattice::convert::{self, Bits, Numerics};
use promote_reference::{Number, convert};

/// All codes of dtypes of up to 8 bits, and some of 16 that have all exponents and all ends of mantissas; of wider ones those
/// around the limits of all dtypes.
fn codes(dtype: DType) -> Vec<Bits> {
    if dtype.bits() <= 16 {
        return (0..1 << dtype.bits()).step_by(if dtype.bits() == 16 { 5 } else { 1 }).collect();
    }
    let part = dtype.real_part();
    let wide: Vec<Bits> = match part.bits() {
        16 => (0..=u16::MAX).step_by(97).map(Bits::from).collect(),
        32 => (0..=u16::MAX).map(|high| Bits::from(high) << 16 | Bits::from(high.rotate_left(5))).collect(),
        _ => (0..=u16::MAX)
            .map(|high| Bits::from(high) << 48 | Bits::from(high.rotate_left(3)) << 13)
            .collect(),
    };
    match dtype == part {
        true => wide,
        false => wide
            .into_iter()
            .map(|bits| bits | bits.reverse_bits() >> (128 - part.bits()) << part.bits())
            .collect(),
    }
}

/// Numbers at which conversions to narrower dtypes round, overflow or lose what is subnormal.
fn edges() -> Vec<f64> {
    let mut edges = Vec::new();
    for exponent in [
        -1074, -1023, -1022, -150, -149, -133, -127, -126, -25, -24, -14, -1, 0, 7, 8, 15, 16, 31, 32, 63,
        64, 127, 128,
    ] {
        let power = 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
        for ulps in [-4_i64, -1, 0, 1, 4, 1 << 28, 3 << 28, (1 << 29) - 1, 1 << 44, 1 << 45, 3 << 44] {
            for sign in [1.0, -1.0] {
                edges.push(sign * f64::from_bits(power.to_bits().wrapping_add_signed(ulps)));
            }
        }
    }
    edges
}

/// A NaN without its payload, which is not modelled.
fn without_payload(bits: Bits, dtype: DType) -> Bits {
    Number::from_bits(bits, dtype).bits(dtype)
}

#[test]
fn every_conversion_is_that_of_the_library() {
    for numerics in [Numerics::Jax, Numerics::NumPy, Numerics::Torch] {
        for from in DType::strong() {
            let mut codes = codes(from);
            if from == F64 {
                codes.extend(edges().into_iter().map(|edge| Bits::from(edge.to_bits())));
            }
            if from == F32 {
                codes.extend(edges().into_iter().map(|edge| Bits::from((edge as f32).to_bits())));
            }
            for to in DType::strong() {
                for bits in &codes {
                    let expected = without_payload(convert::convert(*bits, from, to, numerics), to);
                    let number = Number::from_bits(*bits, from);
                    let found = convert(number, from, to, numerics).bits(to);
                    assert_eq!(found, expected, "{numerics:?}: {number:?} of {from} to {to}");
                }
            }
        }
    }
}

#[test]
fn bits_are_read_and_written() {
    for dtype in DType::strong().filter(|dtype| dtype.bits() <= 16) {
        for bits in codes(dtype) {
            let number = Number::from_bits(bits, dtype);
            if !number.is_nan() {
                assert_eq!(number.bits(dtype), bits, "{dtype}");
                assert_eq!(number.fit(dtype), number, "{dtype} holds its own numbers");
            }
        }
    }
}
