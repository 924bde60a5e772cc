//! Printing tensors as NumPy does, but with all digits: what is printed reads back as the same bits.
//!
//! Rows stand on lines of their own, columns are aligned, long rows are wrapped. Of a tensor with more than a thousand
//! elements the first and last three along each axis are shown.

use std::fmt::Write;

use promote::{DType, Kind, Tensor};
use promote_lattice::convert::{Bits, Literal, Numerics, convert, literal};

/// Elements that are all shown, at most.
const ALL: usize = 1000;

/// How many are shown at each end of an axis of a larger tensor.
const EDGE: usize = 3;

/// Columns of a line.
const WIDTH: usize = 100;

/// What stands for elements that are not shown.
const LEFT_OUT: &str = "...";

/// The text of a tensor in row-major order, without a newline at its end.
pub fn text(tensor: &Tensor<'_>) -> String {
    let Some(bytes) = tensor.bytes() else { return "strided".to_owned() };
    let extents: Vec<usize> = tensor.shape().iter().map(|&extent| extent as usize).collect();
    let printer = Printer { tensor, bytes, summarised: tensor.len() > ALL };
    let mut shown = Vec::new();
    if !tensor.is_empty() {
        printer.collect(&extents, 0, &mut shown);
    }
    let width = shown.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    printer.write(&extents, 0, &mut shown.iter(), width, &mut text);
    text
}

struct Printer<'a> {
    tensor: &'a Tensor<'a>,
    bytes: &'a [u8],
    summarised: bool,
}

/// Which elements along an axis are shown; `None` for those left out.
fn along(extent: usize, summarised: bool) -> impl Iterator<Item = Option<usize>> {
    let cut = summarised && extent > 2 * EDGE;
    let (first, last) = if cut { (EDGE, extent - EDGE) } else { (extent, extent) };
    let middle = cut.then_some(None);
    (0..first).map(Some).chain(middle).chain((last..extent).map(Some))
}

impl Printer<'_> {
    /// The texts of all elements that are shown, in order; `base` counts the rows before.
    fn collect(&self, extents: &[usize], base: usize, shown: &mut Vec<String>) {
        match extents {
            [] => shown.push(self.element(base)),
            [extent, inner @ ..] => along(*extent, self.summarised)
                .flatten()
                .for_each(|index| self.collect(inner, base * extent + index, shown)),
        }
    }

    /// Writes a tensor whose elements are taken from `shown`, after `indent` brackets.
    fn write(
        &self,
        extents: &[usize],
        indent: usize,
        shown: &mut std::slice::Iter<'_, String>,
        width: usize,
        text: &mut String,
    ) {
        let [extent, inner @ ..] = extents else {
            text.extend(shown.next().map(|element| format!("{element:>width$}")));
            return;
        };
        text.push('[');
        let start = indent + 1;
        let mut column = start;
        for (position, index) in along(*extent, self.summarised).enumerate() {
            if position > 0 {
                text.push(',');
                let wrap = !inner.is_empty() || column + width + 2 > WIDTH;
                if wrap {
                    // A blank line for each dimension between the rows.
                    text.push_str(&"\n".repeat(inner.len().max(1)));
                    let _ = write!(text, "{:start$}", "");
                    column = start;
                } else {
                    text.push(' ');
                }
            }
            column += width + 2;
            match index {
                None => text.push_str(LEFT_OUT),
                Some(_) if self.tensor.is_empty() => {
                    self.write(inner, start, &mut [].iter(), 0, text);
                }
                Some(_) => self.write(inner, start, shown, width, text),
            }
        }
        text.push(']');
    }

    fn element(&self, index: usize) -> String {
        let size = self.tensor.element_size();
        let mut bits = [0; size_of::<Bits>()];
        bits[..size].copy_from_slice(&self.bytes[index * size..(index + 1) * size]);
        element(Bits::from_le_bytes(bits), self.tensor.dtype())
    }
}

/// The text of a value.
pub fn element(bits: Bits, dtype: DType) -> String {
    let width = dtype.bits();
    match dtype.kind() {
        Kind::Bool if bits & 1 == 1 => "True".to_owned(),
        Kind::Bool => "False".to_owned(),
        Kind::Unsigned => (bits & ((1 << width) - 1)).to_string(),
        Kind::Signed => {
            let unused = Bits::BITS - width;
            ((bits << unused).cast_signed() >> unused).to_string()
        }
        Kind::Float => float(bits, dtype),
        Kind::Complex => {
            let part = dtype.real_part();
            let imaginary = float(bits >> part.bits(), part);
            let sign = if imaginary.starts_with('-') { "" } else { "+" };
            format!("{}{sign}{imaginary}j", float(bits, part))
        }
    }
}

/// The shortest decimal that is this float, with a point or an exponent.
fn float(bits: Bits, dtype: DType) -> String {
    let bits = bits & ((1 << dtype.bits()) - 1);
    let value = match dtype {
        DType::F32 => {
            return named(f64::from(f32::from_bits(bits as u32)), |_| {
                format!("{:?}", f32::from_bits(bits as u32))
            });
        }
        DType::F64 => f64::from_bits(bits as u64),
        _ => f64::from_bits(convert(bits, dtype, DType::F64, Numerics::NumPy) as u64),
    };
    named(value, |value| {
        let is_this = |text: &String| {
            let read = literal(Literal::Float(text.parse().unwrap_or(f64::NAN)), dtype, Numerics::NumPy);
            // What is beyond the range may become the largest number, and is not that.
            read.in_range && read.bits == bits
        };
        // Nine digits tell any two floats of up to 32 bits apart; F64's own text is the shortest already.
        let short = (0..9).map(|digits| format!("{value:.digits$e}")).find(is_this);
        let shortest = short.and_then(|text| text.parse().ok()).unwrap_or(value);
        format!("{shortest:?}")
    })
}

/// What is no number by its name, a number by `text`.
fn named(value: f64, text: impl FnOnce(f64) -> String) -> String {
    match value {
        _ if value.is_nan() => "nan".to_owned(),
        f64::INFINITY => "inf".to_owned(),
        f64::NEG_INFINITY => "-inf".to_owned(),
        _ => text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::super::literal::Literal as Written;
    use super::*;

    fn tensor<T: promote::Element>(elements: &[T], shape: &[i64]) -> String {
        text(&Tensor::of(elements, shape).unwrap())
    }

    #[test]
    fn rows_and_columns() {
        assert_eq!(
            tensor(&[1.0f32, -2.5, 1e-7, 0.1, f32::NAN, f32::INFINITY], &[2, 3]),
            "[[ 1.0, -2.5, 1e-7],\n [ 0.1,  nan,  inf]]"
        );
        assert_eq!(tensor(&[1u8, 2, 3, 4], &[2, 1, 2]), "[[[1, 2]],\n\n [[3, 4]]]");
        assert_eq!(tensor(&[7i64], &[]), "7");
        assert_eq!(tensor::<f32>(&[], &[0]), "[]");
        assert_eq!(tensor::<f32>(&[], &[2, 0]), "[[],\n []]");
        assert_eq!(tensor(&[[1.0f32, -2.0]], &[1]), "[1.0-2.0j]");
    }

    #[test]
    fn large_tensors_are_summarised() {
        let numbers: Vec<i32> = (0..2000).collect();
        assert_eq!(tensor(&numbers, &[2000]), "[   0,    1,    2, ..., 1997, 1998, 1999]");
        let square = tensor(&numbers, &[2, 1000]);
        assert_eq!(
            square,
            "[[   0,    1,    2, ...,  997,  998,  999],\n [1000, 1001, 1002, ..., 1997, 1998, 1999]]"
        );
        let column = tensor(&numbers, &[2000, 1]);
        assert!(column.starts_with("[[   0],\n [   1],\n [   2],\n ...,\n [1997],"), "{column}");
    }

    #[test]
    fn long_rows_are_wrapped() {
        let text = tensor(&(0..200).collect::<Vec<i32>>(), &[200]);
        assert!(text.lines().all(|line| line.len() <= WIDTH + 1) && text.lines().count() == 11, "{text}");
    }

    #[test]
    fn narrow_floats_have_the_digits_that_tell_them_apart() {
        let bf16 = [0x3f80, 0x3dcd, 0x7f61].map(|bits| element(bits, DType::BF16));
        assert_eq!(bf16, ["1.0", "0.1", "2.99e38"]);
        assert_eq!(element(0x2e66, DType::F16), "0.1");
        for dtype in
            [DType::BF16, DType::F16, DType::F8E4M3FN, DType::F8E5M2, DType::F4E2M1FN, DType::F8E8M0FNU]
        {
            for bits in 0..1u128 << dtype.bits() {
                let text = element(bits, dtype);
                let read: f64 = text.parse().unwrap();
                let again = convert(read.to_bits().into(), DType::F64, dtype, Numerics::NumPy);
                assert!(read.is_nan() || again == bits, "{dtype} {bits:#x}: {text}");
            }
        }
    }

    #[test]
    fn what_is_printed_of_any_dtype_reads_back_as_the_same_bits() {
        let strong = DType::strong();
        for dtype in strong {
            let mask = Bits::MAX >> (Bits::BITS - dtype.bits());
            // All codes of narrow dtypes, and some of the others.
            let spread = |code: Bits| code.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 3;
            let codes = (0..256).flat_map(|code| [code, spread(code)]).map(|code| code & mask);
            for bits in codes {
                let text = element(bits, dtype);
                let read = Written::parse(&text).unwrap_or_else(|error| panic!("{dtype} {bits:#x}: {error}"));
                let tensor = read.into_tensor(dtype).unwrap_or_else(|error| panic!("{dtype}: {error}"));
                let bytes = tensor.bytes().unwrap();
                let again = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | Bits::from(*byte));
                assert!(again == bits || text.contains("nan"), "{dtype} {bits:#x}: {text} is {again:#x}");
            }
        }
    }

    #[test]
    fn narrow_integers_have_their_sign() {
        assert_eq!(
            [element(15, DType::I4), element(7, DType::I4), element(15, DType::U4)],
            ["-1", "7", "15"]
        );
        assert_eq!([element(1, DType::B1), element(0, DType::B1)], ["True", "False"]);
    }
}
