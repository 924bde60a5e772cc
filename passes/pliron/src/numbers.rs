//! Elements as text: integers and floats in decimal, and the bits, as `0x7fc00001`, of what decimals do not say.

use std::fmt;

use promote_lattice::convert::{Bits, Numerics, convert};
use promote_lattice::{DType, Kind};

use crate::reader::{Read, Reader};

/// The bits that a dtype has.
pub const fn mask(dtype: DType) -> Bits {
    let width = dtype.bits();
    if width >= Bits::BITS { Bits::MAX } else { (1 << width) - 1 }
}

/// Writes an element.
pub fn write(bits: Bits, dtype: DType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let dtype = dtype.storage();
    match dtype.kind() {
        Kind::Bool | Kind::Unsigned => write!(f, "{bits}"),
        Kind::Signed => {
            let above = Bits::BITS - dtype.bits();
            write!(f, "{}", ((bits << above) as i128) >> above)
        }
        Kind::Float => match decimal(bits, dtype) {
            Some(number) => write!(f, "{number:?}"),
            None => write!(f, "{bits:#x}"),
        },
        Kind::Complex => {
            let part = dtype.real_part();
            f.write_str("(")?;
            write(bits & mask(part), part, f)?;
            f.write_str(", ")?;
            write(bits >> part.bits() & mask(part), part, f)?;
            f.write_str(")")
        }
    }
}

/// The number that a float is, if its decimal says all of it.
fn decimal(bits: Bits, dtype: DType) -> Option<f64> {
    let wide = convert(bits, dtype, DType::F64, Numerics::NumPy);
    let number = f64::from_bits(u64::try_from(wide).ok()?);
    (number.is_finite() && of_decimal(number, dtype) == bits).then_some(number)
}

fn of_decimal(number: f64, dtype: DType) -> Bits {
    convert(number.to_bits().into(), DType::F64, dtype, Numerics::NumPy)
}

/// Reads an element.
pub fn read(reader: &mut Reader<'_, '_>, dtype: DType) -> Read<Bits> {
    let dtype = dtype.storage();
    match dtype.kind() {
        Kind::Bool | Kind::Unsigned | Kind::Signed => read_integer(reader, dtype),
        Kind::Float => read_float(reader, dtype),
        Kind::Complex => {
            let part = dtype.real_part();
            reader.expect('(')?;
            let real = read_float(reader, part)?;
            reader.expect(',')?;
            let imaginary = read_float(reader, part)?;
            reader.expect(')')?;
            Ok(real | imaginary << part.bits())
        }
    }
}

fn read_integer(reader: &mut Reader<'_, '_>, dtype: DType) -> Read<Bits> {
    reader.skip_spaces();
    let at = reader.location();
    let text = reader.take_while(|next| next.is_ascii_digit() || next == '-');
    let above = i128::BITS - dtype.bits();
    let is_in_range = |number: &i128| match dtype.kind() {
        Kind::Signed => (number << above) >> above == *number,
        Kind::Bool | Kind::Unsigned | Kind::Float | Kind::Complex => {
            *number >= 0 && number >> dtype.bits() == 0
        }
    };
    match text.parse::<i128>() {
        Ok(number) if is_in_range(&number) => Ok(number as Bits & mask(dtype)),
        Ok(_) => pliron::input_err!(at, "{text} is out of the range of {}", dtype.mlir())?,
        Err(_) => reader.fail("an integer"),
    }
}

fn read_float(reader: &mut Reader<'_, '_>, dtype: DType) -> Read<Bits> {
    reader.skip_spaces();
    let at = reader.location();
    let text = reader.take_while(|next| next.is_ascii_alphanumeric() || matches!(next, '-' | '+' | '.'));
    if let Some(digits) = text.strip_prefix("0x") {
        return match Bits::from_str_radix(digits, 16) {
            Ok(bits) if bits & !mask(dtype) == 0 => Ok(bits),
            _ => pliron::input_err!(at, "`{text}` are no {} bits in hexadecimal", dtype.bits())?,
        };
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && text.contains(|c: char| c.is_ascii_digit()) => {
            Ok(of_decimal(number, dtype))
        }
        _ if text.is_empty() => reader.fail("a float"),
        _ => pliron::input_err!(at, "`{text}` is no finite decimal, and no bits as 0x7fc0")?,
    }
}
