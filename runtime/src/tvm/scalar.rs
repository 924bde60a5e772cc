//! Numbers as tensors without dimensions.

use promote_abi::{DLDataType, DLTensor, TypeCode};

use crate::builtins::__truncdfbf2;
use crate::dlpack::CPU;

/// A Python scalar.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
}

/// A number in memory, and a tensor that points to it.
#[derive(Debug)]
pub struct Stored {
    bytes: [u8; 16],
    tensor: DLTensor,
}

impl Stored {
    /// The tensor, as long as the number stays where it is.
    pub fn tensor(&mut self) -> *const DLTensor {
        self.tensor.data = self.bytes.as_mut_ptr().cast();
        &raw const self.tensor
    }
}

impl Number {
    const fn name(self) -> &'static str {
        match self {
            Number::Bool(_) => "a bool",
            Number::Int(_) => "an int",
            Number::Float(_) => "a float",
        }
    }
}

/// Integers up to here are floats of double precision.
const EXACT: u64 = 1 << 53;

/// Stores a number in a dtype.
///
/// # Errors
/// If the dtype holds no such numbers, or not this one.
pub fn store(number: Number, dtype: DLDataType) -> Result<Stored, String> {
    let is_no = || format!("must be {dtype}, but is {}", number.name());
    let whole = match number {
        Number::Bool(value) => Some(i64::from(value)),
        Number::Int(value) => Some(value),
        Number::Float(_) => None,
    };
    let bytes = match (dtype.type_code(), dtype.bits) {
        (Some(TypeCode::Bool), _) => match number {
            Number::Bool(value) => word(u64::from(value)),
            Number::Int(_) | Number::Float(_) => return Err(is_no()),
        },
        (Some(TypeCode::Int | TypeCode::UInt), _) => integer(whole.ok_or_else(is_no)?, dtype)?,
        (Some(TypeCode::Float), 64) => word(double(number).to_bits()),
        (Some(TypeCode::Float), 32) => word(single(number).to_bits().into()),
        (Some(TypeCode::Float), 16) => word(half(exact(number, dtype)?).into()),
        (Some(TypeCode::Bfloat), 16) => word(__truncdfbf2(exact(number, dtype)?).to_bits().into()),
        (Some(TypeCode::Complex), 128) => word(double(number).to_bits()),
        (Some(TypeCode::Complex), 64) => word(single(number).to_bits().into()),
        _ => return Err(format!("must be a tensor of {dtype}: numbers are not converted to that")),
    };
    let tensor = DLTensor {
        data: std::ptr::null_mut(),
        device: CPU,
        ndim: 0,
        dtype,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    Ok(Stored { bytes, tensor })
}

/// The bytes of a number; an imaginary part is zero.
fn word(bits: u64) -> [u8; 16] {
    u128::from(bits).to_le_bytes()
}

fn integer(value: i64, dtype: DLDataType) -> Result<[u8; 16], String> {
    let bits = u32::from(dtype.bits).min(64);
    let (low, high) = match dtype.type_code() {
        Some(TypeCode::UInt) => (0, (1i128 << bits) - 1),
        _ => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    };
    if !(low..=high).contains(&i128::from(value)) {
        return Err(format!("must be {dtype}, which does not hold {value}"));
    }
    // Narrow elements take a byte, of which the low bits are read.
    let kept = u64::MAX >> (64 - bits);
    Ok(word(value.cast_unsigned() & kept))
}

const fn double(number: Number) -> f64 {
    match number {
        Number::Bool(value) => value as u8 as f64,
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    }
}

/// Rounded once.
const fn single(number: Number) -> f32 {
    match number {
        Number::Bool(value) => value as u8 as f32,
        Number::Int(value) => value as f32,
        Number::Float(value) => value as f32,
    }
}

/// A number that double precision holds, so that it is rounded once.
fn exact(number: Number, dtype: DLDataType) -> Result<f64, String> {
    match number {
        Number::Int(value) if value.unsigned_abs() > EXACT => {
            Err(format!("must be {dtype}, to which {value} is not converted: pass a float or a tensor"))
        }
        number => Ok(double(number)),
    }
}

/// IEEE's half precision, to nearest, ties to even.
fn half(value: f64) -> u16 {
    /// From here on, numbers are nearer to infinity than to the largest half.
    const TOO_LARGE: f64 = 65520.0;
    /// The smallest number of full precision, and how many of the smallest steps 1 is.
    const SMALLEST: f64 = 1.0 / 16384.0;
    const STEPS: f64 = 16_777_216.0;
    /// From here on, double precision holds integers only.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    let sign = ((value.to_bits() >> 63) as u16) << 15;
    let size = value.abs();
    let bits = size.to_bits();
    sign | if value.is_nan() {
        0x7e00
    } else if size >= TOO_LARGE {
        0x7c00
    } else if size < SMALLEST {
        // Powers of two scale exactly. A sum that large has no fraction, and its last bits are the integer.
        (size * STEPS + WHOLE).to_bits() as u16
    } else {
        let rounded = (bits + (1 << 41) - 1 + (bits >> 42 & 1)) >> 42;
        (rounded - ((1023 - 15) << 10)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn dtype(code: TypeCode, bits: u8) -> DLDataType {
        DLDataType { code: code as u8, bits, lanes: 1 }
    }

    /// What a half is worth.
    fn widened(bits: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        let size = match exponent {
            0 => mantissa * 2f64.powi(-24),
            31 if mantissa == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
        };
        if bits >> 15 == 1 { -size } else { size }
    }

    #[test]
    fn every_half_comes_back_and_what_is_between_goes_to_the_even_neighbour() {
        for bits in 0..0x7c00u16 {
            let (value, next) = (widened(bits), widened(bits + 1));
            assert_eq!(half(value), bits);
            assert_eq!(half(-value), bits | 0x8000);
            if next.is_finite() {
                let middle = f64::midpoint(value, next);
                assert_eq!(half(middle), bits + (bits & 1), "{bits:#x}");
                assert_eq!(half(middle.next_down()), bits, "{bits:#x}");
                assert_eq!(half(middle.next_up()), bits + 1, "{bits:#x}");
            }
        }
        assert_eq!(half(65519.999), 0x7bff);
        assert_eq!(half(65520.0), 0x7c00);
        assert_eq!(half(f64::NEG_INFINITY), 0xfc00);
        assert_eq!(half(f64::NAN), 0x7e00);
        assert_eq!(half(1e-300), 0);
    }

    #[test]
    fn integers_are_stored_where_they_fit() {
        for (code, bits, fits, does_not) in [
            (TypeCode::Int, 8, [-128, 127], [-129, 128]),
            (TypeCode::Int, 4, [-8, 7], [-9, 8]),
            (TypeCode::UInt, 8, [0, 255], [-1, 256]),
            (TypeCode::UInt, 2, [0, 3], [-1, 4]),
            (TypeCode::Int, 32, [i64::from(i32::MIN), i64::from(i32::MAX)], [i64::MIN, 1 << 31]),
        ] {
            for value in fits {
                let stored = store(Number::Int(value), dtype(code, bits)).expect("it fits");
                let kept = value.cast_unsigned() & (u64::MAX >> (64 - bits));
                assert_eq!(stored.bytes, u128::from(kept).to_le_bytes(), "{value}");
            }
            for value in does_not {
                let error = store(Number::Int(value), dtype(code, bits)).expect_err("it does not");
                assert!(error.contains("which does not hold"), "{error}");
            }
        }
        assert!(store(Number::Int(-1), dtype(TypeCode::UInt, 64)).is_err());
        assert!(store(Number::Int(i64::MAX), dtype(TypeCode::UInt, 64)).is_ok());
    }

    #[test]
    fn kinds_are_raised_and_never_lowered() {
        let (bool, int, float) = (Number::Bool(true), Number::Int(2), Number::Float(0.5));
        for (target, accepted) in [
            (dtype(TypeCode::Bool, 8), [true, false, false]),
            (dtype(TypeCode::Int, 16), [true, true, false]),
            (dtype(TypeCode::Bfloat, 16), [true; 3]),
            (dtype(TypeCode::Float, 16), [true; 3]),
            (dtype(TypeCode::Complex, 64), [true; 3]),
            (dtype(TypeCode::F8E5M2, 8), [false; 3]),
        ] {
            assert_eq!([bool, int, float].map(|number| store(number, target).is_ok()), accepted, "{target}");
        }
        assert!(store(Number::Int(1 << 60), dtype(TypeCode::Float, 16)).is_err());
        assert_eq!(store(float, dtype(TypeCode::Bfloat, 16)).expect("a float").bytes[..2], [0x00, 0x3f]);
        assert_eq!(store(int, dtype(TypeCode::Complex, 128)).expect("a double").bytes[8..], [0; 8]);
    }
}
