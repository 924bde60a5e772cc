//! How elements compare: keys of integers and floats, and the order of complex numbers.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use super::keys::{self, Bits, Key, Pass};

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

impl<T: Bits> Format<T> {
    /// A format in which the codes up to `largest` are the positive numbers, and those with the sign the negative ones.
    pub const fn new(sign: T, largest: T) -> Format<T> {
        Format { sign, largest, nan_is_negative_zero: false }
    }

    /// The same, but that negative zero is the NaN.
    pub const fn without_negative_zero(sign: T, largest: T) -> Format<T> {
        Format { sign, largest, nan_is_negative_zero: true }
    }

    #[inline(always)]
    fn magnitude(&self, value: T) -> T {
        value & !self.sign
    }

    #[inline(always)]
    fn is_negative(&self, value: T) -> bool {
        value & self.sign != T::ZERO
    }

    fn is_nan(&self, value: T) -> bool {
        self.magnitude(value) > self.largest || (self.nan_is_negative_zero && value == self.sign)
    }

    /// A key of the same order, in which negative zero is the less.
    #[inline(always)]
    fn key(&self, value: T) -> T {
        value ^ if self.is_negative(value) { self.sign.and_below() } else { self.sign }
    }

    /// The value of a key: keys of positive numbers have the sign bit.
    #[inline(always)]
    fn value(&self, key: T) -> T {
        key ^ if self.is_negative(key) { self.sign } else { self.sign.and_below() }
    }
}

/// Makes keys floats.
struct ToValues<T>(Format<T>);

impl<T: Bits> Pass<T> for ToValues<T> {
    #[inline(always)]
    fn over(&self, part: &mut [T]) {
        part.iter_mut().for_each(|key| *key = self.0.value(*key));
    }
}

/// Makes floats keys, and finds their extremes.
struct ToKeys<T> {
    format: Format<T>,
    extremes: Mutex<Extremes<T>>,
}

impl<T: Bits> Pass<T> for ToKeys<T> {
    #[inline(always)]
    fn over(&self, part: &mut [T]) {
        let Format { sign, .. } = self.format;
        let mut own = Extremes::NONE;
        for value in part {
            own = own.with(self.format.magnitude(*value), *value, *value ^ sign);
            *value = self.format.key(*value);
        }
        let mut all = self.extremes.lock().unwrap_or_else(PoisonError::into_inner);
        *all = all.with(own.largest, own.least, own.least_turned);
    }
}

/// How numbers are ordered that have keys.
pub trait Order<T> {
    /// Sorts a line.
    fn sort(&self, line: &mut [T]);
    /// Makes numbers keys, if numbers that compare equal all have the same bits; whether that is so.
    fn to_keys(&self, numbers: &mut [T]) -> bool;
    /// Makes keys numbers.
    fn to_values(&self, keys: &mut [T]);
}

/// Integers, which are keys.
pub struct Integers;

impl<T: Key> Order<T> for Integers {
    fn sort(&self, line: &mut [T]) {
        keys::sort(line);
    }

    fn to_keys(&self, _: &mut [T]) -> bool {
        true
    }

    fn to_values(&self, _: &mut [T]) {}
}

/// Which special values are among some floats.
struct Specials {
    has_nan: bool,
    has_both_zeros: bool,
}

/// Floats given by their bits.
impl<T: Bits> Order<T> for Format<T> {
    fn sort(&self, line: &mut [T]) {
        let mut numbers = line;
        let mut specials = to_keys(numbers, *self);
        if specials.has_nan {
            keys::pass(numbers, &ToValues(*self));
            let count = nans_last(numbers, *self);
            numbers = &mut numbers[..count];
            specials = to_keys(numbers, *self);
        }
        let [negative, positive] = [self.sign, T::ZERO].map(|zero| self.key(zero));
        let signs: Vec<T> = match specials.has_both_zeros {
            true => numbers.iter().copied().filter(|key| *key == negative || *key == positive).collect(),
            false => Vec::new(),
        };
        keys::sort(numbers);
        if !signs.is_empty() {
            let first = numbers.partition_point(|key| *key < negative);
            numbers[first..first + signs.len()].copy_from_slice(&signs);
        }
        keys::pass(numbers, &ToValues(*self));
    }

    fn to_keys(&self, numbers: &mut [T]) -> bool {
        let Specials { has_nan, has_both_zeros } = to_keys(numbers, *self);
        !has_nan && !has_both_zeros
    }

    fn to_values(&self, keys: &mut [T]) {
        keys::pass(keys, &ToValues(*self));
    }
}

/// Makes floats keys. What is special among them is said.
fn to_keys<T: Bits>(line: &mut [T], format: Format<T>) -> Specials {
    let pass = ToKeys { format, extremes: Mutex::new(Extremes::NONE) };
    keys::pass(line, &pass);
    let Extremes { largest, least, least_turned } =
        pass.extremes.into_inner().unwrap_or_else(PoisonError::into_inner);
    let [has_zero, has_negative_zero] = [least, least_turned].map(|least| least == T::ZERO);
    Specials {
        has_nan: largest > format.largest || format.nan_is_negative_zero && has_negative_zero,
        has_both_zeros: format.sign != T::ZERO && has_zero && has_negative_zero,
    }
}

/// Extremes of floats, as numbers of their bits: of the magnitude, of all bits, and of those with the sign turned round. A loop
/// finds them in vectors.
struct Extremes<T> {
    largest: T,
    least: T,
    least_turned: T,
}

impl<T: Key> Extremes<T> {
    /// Those of no floats.
    const NONE: Self = Self { largest: T::ZERO, least: T::MOST, least_turned: T::MOST };

    #[inline(always)]
    fn with(&self, magnitude: T, bits: T, turned: T) -> Self {
        Self {
            largest: self.largest.max(magnitude),
            least: self.least.min(bits),
            least_turned: self.least_turned.min(turned),
        }
    }
}

/// Moves NaNs after the numbers, both in their order, and returns the number of numbers.
fn nans_last<T: Bits>(line: &mut [T], format: Format<T>) -> usize {
    let is_nan = |value: &T| format.is_nan(*value);
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
type Comparison<T> = fn(&[T; 2], &[T; 2]) -> Ordering;

/// Sorts complex numbers whose parts Rust has as floats.
pub fn complex<T: PartialOrd + Copy>(line: &mut [[T; 2]], order: Comparison<T>) {
    line.sort_by(order);
}

/// Sorts complex numbers whose parts are given by their bits.
pub fn complex_bits<T: Bits>(line: &mut [[T; 2]], format: Format<T>, order: Comparison<f32>) {
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
