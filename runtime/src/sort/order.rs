//! How elements compare: keys of integers and floats, and the order of complex numbers.

use std::cmp::Ordering;

use super::keys::{self, Key};

/// A floating-point format, as far as the order of its numbers is concerned. Its elements have zeros above their bits.
#[derive(Clone, Copy)]
pub struct Format<T> {
    /// The sign bit; 0 if numbers have none.
    sign: T,
    /// The largest code of a positive number or infinity: codes above are NaNs.
    largest: T,
    /// Whether the code of negative zero is a NaN.
    nan_is_negative_zero: bool,
}

impl<T: Key> Format<T> {
    /// A format in which the codes up to `largest` are the positive numbers, and those with the sign the negative ones.
    pub const fn new(sign: T, largest: T) -> Format<T> {
        Format { sign, largest, nan_is_negative_zero: false }
    }

    /// The same, but that negative zero is the NaN.
    pub const fn without_negative_zero(sign: T, largest: T) -> Format<T> {
        Format { sign, largest, nan_is_negative_zero: true }
    }

    fn magnitude(&self, value: T) -> T {
        value & !self.sign
    }

    fn is_negative(&self, value: T) -> bool {
        value & self.sign != T::default()
    }

    fn is_nan(&self, value: T) -> bool {
        self.magnitude(value) > self.largest || (self.nan_is_negative_zero && value == self.sign)
    }

    /// Whether the value is a zero that compares equal to another one with other bits.
    fn is_signed_zero(&self, value: T) -> bool {
        self.sign != T::default() && self.magnitude(value) == T::default()
    }

    /// A key of the same order, in which negative zero is the less.
    fn key(&self, value: T) -> T {
        value ^ if self.is_negative(value) { self.sign.and_below() } else { self.sign }
    }

    /// The value of a key: keys of positive numbers have the sign bit.
    fn value(&self, key: T) -> T {
        key ^ if self.is_negative(key) { self.sign } else { self.sign.and_below() }
    }
}

/// Sorts integers: `flip` is the sign bit of signed ones.
pub fn integers<T: Key>(line: &mut [T], flip: T) {
    line.iter_mut().for_each(|value| *value = *value ^ flip);
    keys::sort(line);
    line.iter_mut().for_each(|value| *value = *value ^ flip);
}

/// Sorts floats given by their bits.
pub fn floats<T: Key>(line: &mut [T], format: Format<T>) {
    let numbers = nans_last(line, format);
    let line = &mut line[..numbers];
    let signs: Vec<T> = if line.contains(&format.sign) && line.contains(&T::default()) {
        line.iter().copied().filter(|&value| format.is_signed_zero(value)).collect()
    } else {
        Vec::new()
    };
    line.iter_mut().for_each(|value| *value = format.key(*value));
    keys::sort(line);
    line.iter_mut().for_each(|value| *value = format.value(*value));
    if !signs.is_empty() {
        let first = line.partition_point(|&value| format.is_negative(value) && value != format.sign);
        line[first..first + signs.len()].copy_from_slice(&signs);
    }
}

/// Moves NaNs after the numbers, both in their order, and returns the number of numbers.
fn nans_last<T: Key>(line: &mut [T], format: Format<T>) -> usize {
    let is_nan = |value: &T| format.is_nan(*value);
    if !line.iter().any(is_nan) {
        return line.len();
    }
    let nans: Vec<T> = line.iter().copied().filter(is_nan).collect();
    let mut numbers = 0;
    for index in 0..line.len() {
        let value = line[index];
        if !is_nan(&value) {
            line[numbers] = value;
            numbers += 1;
        }
    }
    line[numbers..].copy_from_slice(&nans);
    numbers
}

/// An order of complex numbers.
type Order<T> = fn(&[T; 2], &[T; 2]) -> Ordering;

/// Sorts complex numbers whose parts Rust has as floats.
pub fn complex<T: PartialOrd + Copy>(line: &mut [[T; 2]], order: Order<T>) {
    line.sort_by(order);
}

/// Sorts complex numbers whose parts are given by their bits.
pub fn complex_bits<T: Key>(line: &mut [[T; 2]], format: Format<T>, order: Order<f32>) {
    let ordered = |part: T| {
        let magnitude = format.magnitude(part).to_f32();
        match () {
            () if format.is_nan(part) => f32::NAN,
            () if format.is_negative(part) => -magnitude,
            () => magnitude,
        }
    };
    line.sort_by(|left, right| order(&left.map(ordered), &right.map(ordered)));
}

/// NumPy's order of complex numbers: by real part, then imaginary; those with a NaN after the others, sorted by the part
/// that is a number, a NaN in the real part last.
pub fn by_groups<T: PartialOrd + Copy>(left: &[T; 2], right: &[T; 2]) -> Ordering {
    let group = |[real, imaginary]: &[T; 2]| 2 * u8::from(is_nan(*real)) + u8::from(is_nan(*imaginary));
    group(left).cmp(&group(right)).then_with(|| by_parts(left, right))
}

/// JAX's order of complex numbers: by real part, then imaginary, each with NaN after the numbers.
pub fn by_parts<T: PartialOrd + Copy>(left: &[T; 2], right: &[T; 2]) -> Ordering {
    let part = |index: usize| {
        let (left, right) = (left[index], right[index]);
        left.partial_cmp(&right).unwrap_or_else(|| is_nan(left).cmp(&is_nan(right)))
    };
    part(0).then_with(|| part(1))
}

fn is_nan<T: PartialOrd>(value: T) -> bool {
    value.partial_cmp(&value).is_none()
}
