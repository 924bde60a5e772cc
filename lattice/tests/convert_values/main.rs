//! Scalar conversion against the libraries themselves, and its laws against conversion itself.
//!
//! `data/values.json.gz` is the part of the oracle that concerns conversion: bits that JAX, NumPy and PyTorch returned. What
//! is known of the 8-bit and narrower floats was read off `ml_dtypes`.

mod collapse;
mod literals;
mod losses;
mod narrow;
mod oracle;

use std::error::Error;
use std::io::Read;
use std::ops::Range;

use flate2::read::GzDecoder;
use promote_lattice::convert::{
    Bits, Literal, Numerics, collapses, collapses_but_for_nan, convert, is_exact, literal, loss,
};
use promote_lattice::{DType, Kind};
use proptest::prelude::*;
use serde_json::Value;

const LIBRARIES: [(&str, Numerics); 3] =
    [("jax", Numerics::Jax), ("numpy2", Numerics::NumPy), ("torch", Numerics::Torch)];

fn narrow_floats() -> impl Iterator<Item = DType> {
    DType::strong().filter(|dtype| dtype.kind() == Kind::Float && dtype.bits() <= 8)
}

fn codes(dtype: DType) -> Range<Bits> {
    0..1 << dtype.bits()
}

/// The value (or its real part) as the nearest `f64`; for all but 64-bit integers, the value itself.
fn number(bits: Bits, dtype: DType) -> f64 {
    f64::from_bits(convert(bits, dtype, DType::F64, Numerics::NumPy) as u64)
}

/// The bits with every NaN replaced by the same one.
fn but_for_nan(bits: Bits, dtype: DType) -> Bits {
    let part = dtype.real_part();
    let one_nan = |bits: Bits| match part.kind() {
        Kind::Float if number(bits, part).is_nan() => {
            convert(f64::NAN.to_bits().into(), DType::F64, part, Numerics::NumPy)
        }
        _ => bits,
    };
    let mask = Bits::MAX >> (Bits::BITS - part.bits());
    if part == dtype {
        one_nan(bits)
    } else {
        one_nan(bits & mask) | one_nan(bits >> part.bits()) << part.bits()
    }
}

fn any_dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL)
}

fn any_numerics() -> impl Strategy<Value = Numerics> {
    prop::sample::select(LIBRARIES.map(|(_, numerics)| numerics).to_vec())
}

proptest! {
    #[test]
    fn convert_takes_any_bits_and_fills_no_more_than_the_dtype(
        bits: u128, from in any_dtype(), to in any_dtype(), numerics in any_numerics()
    ) {
        let result = convert(bits, from, to, numerics);
        prop_assert_eq!(result.checked_shr(to.bits()).unwrap_or(0), 0);
        prop_assert_eq!(result, convert(bits & (Bits::MAX >> (128 - from.bits())), from, to, numerics));
    }

    #[test]
    fn convert_between_machine_floats_is_the_machines(bits: u64) {
        let (double, single) = (f64::from_bits(bits), f32::from_bits(bits as u32));
        let to_single = convert(bits.into(), DType::F64, DType::F32, Numerics::NumPy);
        prop_assert!(double.is_nan() || to_single == (double as f32).to_bits().into());
        let to_double = convert(bits.into(), DType::F32, DType::F64, Numerics::NumPy);
        prop_assert!(single.is_nan() || to_double == f64::from(single).to_bits().into());
    }

    #[test]
    fn convert_of_integers_is_the_machines(value: i64) {
        let bits = Bits::from(value.cast_unsigned());
        prop_assert_eq!(convert(bits, DType::I64, DType::F32, Numerics::Torch), (value as f32).to_bits().into());
        prop_assert_eq!(convert(bits, DType::U64, DType::F64, Numerics::Torch), (value as u64 as f64).to_bits().into());
        prop_assert_eq!(convert(bits, DType::I64, DType::U16, Numerics::Torch), (value as u16).into());
    }

    #[test]
    fn literal_without_loss_comes_back(value: i64, to in any_dtype(), numerics in any_numerics()) {
        let converted = literal(Literal::Int(value), to, numerics);
        prop_assert!(!converted.exact || converted.in_range);
        let back = convert(converted.bits, to, DType::I64, numerics);
        prop_assert!(!converted.exact || back == Bits::from(value.cast_unsigned()));
    }
}
