//! Sorting along an axis: ascending and stable, NaNs last.
//!
//! Numbers become unsigned keys of the same order, and long lines of keys are sorted by their digits. Floats that
//! compare equal but differ in their bits are NaNs, which are moved behind the others in their order, and zeros, whose signs
//! are put back in their order; so the result is that of a stable sort. Lines are sorted in parallel.

use std::cmp::Ordering;

use crate::pool;

/// What elements a sort compares: the `kind` of `promote_rt_sort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum SortKind {
    /// Bytes that are 0 or 1.
    Bool = 0,
    /// `u8`, and narrower unsigned integers in bytes.
    U8 = 1,
    /// `u16`.
    U16 = 2,
    /// `u32`.
    U32 = 3,
    /// `u64`.
    U64 = 4,
    /// `i8`, and narrower signed integers in bytes.
    I8 = 5,
    /// `i16`.
    I16 = 6,
    /// `i32`.
    I32 = 7,
    /// `i64`.
    I64 = 8,
    /// bfloat16.
    Bf16 = 9,
    /// IEEE half.
    F16 = 10,
    /// `f32`.
    F32 = 11,
    /// `f64`.
    F64 = 12,
    /// Two `f32`.
    C64 = 13,
    /// Two `f64`.
    C128 = 14,
}

impl SortKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: &'static [SortKind] = &[
        SortKind::Bool,
        SortKind::U8,
        SortKind::U16,
        SortKind::U32,
        SortKind::U64,
        SortKind::I8,
        SortKind::I16,
        SortKind::I32,
        SortKind::I64,
        SortKind::Bf16,
        SortKind::F16,
        SortKind::F32,
        SortKind::F64,
        SortKind::C64,
        SortKind::C128,
    ];

    /// The kind of that number.
    pub fn from_number(number: i32) -> Option<SortKind> {
        usize::try_from(number).ok().and_then(|number| SortKind::ALL.get(number).copied())
    }
}

/// Lines next to each other that are gathered at once.
const LINES: usize = 16;

/// Elements worth another thread.
const GRAIN: usize = 4096;

/// From this length on, a line is sorted by digits.
const DIGITS_FROM: usize = 256;

/// From this length on, a line is sorted by all threads, if it is alone.
const PARALLEL_FROM: usize = 1 << 16;

/// Elements of a merge's result that are made at a time.
const BLOCK: usize = 1 << 13;

/// Keys of more bytes have too many digits for that to be quicker.
const DIGITS_MOST: usize = 4;

/// Sorts a contiguous `[outer, extent, inner]` array in place along its middle axis.
///
/// # Safety
/// `data` points to that many elements of that kind, aligned, which nobody else uses meanwhile.
pub unsafe fn sort(kind: SortKind, data: *mut u8, extents: [usize; 3]) {
    use SortKind as K;
    // SAFETY: by contract; every bit pattern is a value of these types.
    unsafe {
        match kind {
            K::Bool | K::U8 => lines(data.cast::<u8>(), extents, |line| integers(line, 0)),
            K::U16 => lines(data.cast::<u16>(), extents, |line| integers(line, 0)),
            K::U32 => lines(data.cast::<u32>(), extents, |line| integers(line, 0)),
            K::U64 => lines(data.cast::<u64>(), extents, |line| integers(line, 0)),
            K::I8 => lines(data.cast::<u8>(), extents, |line| integers(line, 1 << 7)),
            K::I16 => lines(data.cast::<u16>(), extents, |line| integers(line, 1 << 15)),
            K::I32 => lines(data.cast::<u32>(), extents, |line| integers(line, 1 << 31)),
            K::I64 => lines(data.cast::<u64>(), extents, |line| integers(line, 1 << 63)),
            K::Bf16 => lines(data.cast::<u16>(), extents, |line| floats(line, 0x7f80)),
            K::F16 => lines(data.cast::<u16>(), extents, |line| floats(line, 0x7c00)),
            K::F32 => lines(data.cast::<u32>(), extents, |line| floats(line, 0x7f80_0000)),
            K::F64 => lines(data.cast::<u64>(), extents, |line| floats(line, 0x7ff0 << 48)),
            K::C64 => lines(data.cast::<[f32; 2]>(), extents, |line| line.sort_by(complex)),
            K::C128 => lines(data.cast::<[f64; 2]>(), extents, |line| line.sort_by(complex)),
        }
    }
}

/// Elements shared by the threads, which sort distinct lines.
struct Elements<T>(*mut T);

// SAFETY: see `sort`.
unsafe impl<T> Sync for Elements<T> {}

impl<T> Elements<T> {
    const fn get(&self) -> *mut T {
        self.0
    }
}

/// Has every line sorted.
unsafe fn lines<T: Copy + Default + Send>(data: *mut T, extents: [usize; 3], sort: impl Fn(&mut [T]) + Sync) {
    let [outer, extent, inner] = extents;
    if outer == 0 || extent < 2 || inner == 0 {
        return;
    }
    let data = Elements(data);
    let blocks = inner.div_ceil(LINES);
    let unit = extent * inner.min(LINES);
    pool::parallel((outer * blocks) as i64, (GRAIN / unit).max(1) as i64, &|begin, end| {
        let data = data.get();
        let mut gathered = Vec::new();
        for unit in begin as usize..end as usize {
            let (plane, first) = (unit / blocks, unit % blocks * LINES);
            let width = LINES.min(inner - first);
            // SAFETY: the lines of this unit are inside the array, and in no other unit.
            unsafe {
                let start = data.add(plane * extent * inner + first);
                if inner == 1 {
                    sort(std::slice::from_raw_parts_mut(start, extent));
                } else {
                    gather_and_sort(start, [extent, inner, width], &mut gathered, &sort);
                }
            }
        }
    });
}

/// Sorts `width` lines that lie next to each other, by way of `gathered`.
unsafe fn gather_and_sort<T: Copy + Default>(
    start: *mut T,
    [extent, inner, width]: [usize; 3],
    gathered: &mut Vec<T>,
    sort: &impl Fn(&mut [T]),
) {
    gathered.resize(extent * width, T::default());
    for row in 0..extent {
        for line in 0..width {
            // SAFETY: by the caller's contract.
            gathered[line * extent + row] = unsafe { *start.add(row * inner + line) };
        }
    }
    gathered.chunks_exact_mut(extent).for_each(sort);
    for row in 0..extent {
        for line in 0..width {
            // SAFETY: as above.
            unsafe { *start.add(row * inner + line) = gathered[line * extent + row] };
        }
    }
}

/// An unsigned number that sorts as its bits.
trait Key: Copy + Ord + Default + Sync + std::ops::BitXor<Output = Self> + std::ops::Not<Output = Self> {
    const SIGN: Self;
    const BYTES: usize;
    fn byte(self, index: usize) -> usize;
    fn magnitude(self) -> Self;
}

macro_rules! keys {
    ($($type:ty),*) => { $(
        impl Key for $type {
            const SIGN: Self = 1 << (<$type>::BITS - 1);
            const BYTES: usize = size_of::<$type>();
            fn byte(self, index: usize) -> usize {
                (self >> (8 * index) & 0xff) as usize
            }
            fn magnitude(self) -> Self {
                self & !Self::SIGN
            }
        }
    )* };
}

keys!(u8, u16, u32, u64);

/// Sorts integers: `flip` is the sign bit of signed ones.
fn integers<T: Key>(line: &mut [T], flip: T) {
    line.iter_mut().for_each(|value| *value = *value ^ flip);
    keys(line);
    line.iter_mut().for_each(|value| *value = *value ^ flip);
}

/// Sorts floats given by their bits.
fn floats<T: Key>(line: &mut [T], infinity: T) {
    let numbers = nans_last(line, infinity);
    let line = &mut line[..numbers];
    let zero = T::default();
    let signs: Vec<T> = if line.contains(&T::SIGN) && line.contains(&zero) {
        line.iter().copied().filter(|value| value.magnitude() == zero).collect()
    } else {
        Vec::new()
    };
    let negative = |value: T| value.magnitude() != value;
    let flipped = |value: T, flip: bool| if flip { !value } else { value ^ T::SIGN };
    line.iter_mut().for_each(|value| *value = flipped(*value, negative(*value)));
    keys(line);
    // Keys of negative numbers have no sign bit.
    line.iter_mut().for_each(|value| *value = flipped(*value, !negative(*value)));
    if !signs.is_empty() {
        let first = line.partition_point(|&value| negative(value) && value != T::SIGN);
        line[first..first + signs.len()].copy_from_slice(&signs);
    }
}

/// Moves NaNs behind the numbers, both in their order, and gives the number of numbers.
fn nans_last<T: Key>(line: &mut [T], infinity: T) -> usize {
    let is_nan = |value: &T| value.magnitude() > infinity;
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

/// Sorts unsigned keys.
fn keys<T: Key>(line: &mut [T]) {
    let mut other = Vec::new();
    let digits = line.len() >= DIGITS_FROM && T::BYTES <= DIGITS_MOST;
    let parallel = line.len() >= PARALLEL_FROM && pool::threads_here() > 1;
    if !(digits || parallel) || other.try_reserve_exact(line.len()).is_err() {
        return line.sort_unstable();
    }
    other.resize(line.len(), T::default());
    if parallel { by_merging(line, &mut other) } else { run(line, &mut other) }
}

/// Sorts on one thread, with as much memory beside.
fn run<T: Key>(line: &mut [T], other: &mut [T]) {
    if line.len() >= DIGITS_FROM && T::BYTES <= DIGITS_MOST {
        by_digits(line, other);
    } else {
        line.sort_unstable();
    }
}

/// Sorts as many runs as there are threads, then merges neighbours until one is left; each merge is cut into blocks of its
/// result.
fn by_merging<T: Key>(line: &mut [T], other: &mut [T]) {
    let length = line.len();
    let runs = pool::threads_here().next_power_of_two();
    let mut width = length.div_ceil(runs).next_multiple_of(BLOCK);
    let (line_start, other_start) = (Elements(line.as_mut_ptr()), Elements(other.as_mut_ptr()));
    pool::parallel(length.div_ceil(width) as i64, 1, &|begin, end| {
        for index in begin as usize..end as usize {
            let count = width.min(length - index * width);
            // SAFETY: the runs are inside the line, and apart.
            unsafe {
                let slice = |start: *mut T| std::slice::from_raw_parts_mut(start.add(index * width), count);
                run(slice(line_start.get()), slice(other_start.get()));
            }
        }
    });
    let (mut from, mut to) = (line, other);
    while width < length {
        let target = Elements(to.as_mut_ptr());
        let source = &*from;
        pool::parallel(length.div_ceil(BLOCK) as i64, 1, &|begin, end| {
            for block in begin as usize..end as usize {
                let count = BLOCK.min(length - block * BLOCK);
                // SAFETY: the blocks are inside the target, and apart.
                let block_of_target =
                    unsafe { std::slice::from_raw_parts_mut(target.get().add(block * BLOCK), count) };
                // Runs begin at blocks: a block lies in one pair.
                let first = block * BLOCK / (2 * width) * 2 * width;
                let (middle, last) = ((first + width).min(length), (first + 2 * width).min(length));
                merge(&source[first..middle], &source[middle..last], block * BLOCK - first, block_of_target);
            }
        });
        (from, to) = (to, from);
        width *= 2;
    }
    if std::ptr::eq(from.as_ptr(), other_start.get()) {
        to.copy_from_slice(from);
    }
}

/// Writes the part of the merge of two sorted runs that begins at `position` and fills `target`.
fn merge<T: Key>(left: &[T], right: &[T], position: usize, target: &mut [T]) {
    // How many of the first `position` come from the left: as many as are not above their counterparts on the right.
    let (mut least, mut most) = (position.saturating_sub(right.len()), position.min(left.len()));
    while least < most {
        let middle = least.midpoint(most);
        if left[middle] <= right[position - 1 - middle] { least = middle + 1 } else { most = middle }
    }
    let (mut left, mut right) = (&left[least..], &right[position - least..]);
    for place in target {
        let from_left = match (left.first(), right.first()) {
            (Some(left), Some(right)) => left <= right,
            (left, _) => left.is_some(),
        };
        let run = if from_left { &mut left } else { &mut right };
        *place = run[0];
        *run = &run[1..];
    }
}

/// Sorts by one byte after the other, the lowest first; a byte in which all keys agree is passed over.
fn by_digits<T: Key>(line: &mut [T], other: &mut [T]) {
    let mut counts = vec![[0usize; 256]; T::BYTES];
    for value in line.iter() {
        for (index, count) in counts.iter_mut().enumerate() {
            count[value.byte(index)] += 1;
        }
    }
    let (mut from, mut to) = (line, other);
    let mut swapped = false;
    for (index, count) in counts.iter().enumerate() {
        if count[from[0].byte(index)] == from.len() {
            continue;
        }
        let mut places = [0; 256];
        for digit in 1..256 {
            places[digit] = places[digit - 1] + count[digit - 1];
        }
        for &value in from.iter() {
            let place = &mut places[value.byte(index)];
            to[*place] = value;
            *place += 1;
        }
        (from, to) = (to, from);
        swapped = !swapped;
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

/// NumPy's order of complex numbers: by real part, then imaginary; those with a NaN behind the others, sorted by the part
/// that is a number, a NaN in the real part last.
fn complex<T: PartialOrd + Copy>(left: &[T; 2], right: &[T; 2]) -> Ordering {
    let nan = |value: T| value.partial_cmp(&value).is_none();
    let group = |[real, imaginary]: &[T; 2]| 2 * u8::from(nan(*real)) + u8::from(nan(*imaginary));
    let part = |index: usize| left[index].partial_cmp(&right[index]).unwrap_or(Ordering::Equal);
    group(left).cmp(&group(right)).then_with(|| part(0)).then_with(|| part(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are the same every time, with many repetitions and special values among them.
    fn bits(seed: u64, count: usize, specials: &[u64]) -> Vec<u64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 11 ^ state << 23
        };
        (0..count)
            .map(|_| {
                let (random, choice) = (next(), next() >> 40);
                if choice % 4 == 0 && !specials.is_empty() {
                    specials[(choice / 4) as usize % specials.len()]
                } else {
                    random
                }
            })
            .collect()
    }

    /// Sorts by [`sort`] and by a stable sort along each line, and compares bit for bit.
    fn check<T: Copy + Default + PartialEq + std::fmt::Debug>(
        kind: SortKind,
        values: &[T],
        [outer, extent, inner]: [usize; 3],
        order: impl Fn(&T, &T) -> Ordering + Copy,
    ) {
        let mut sorted = values.to_vec();
        // SAFETY: that many elements are there.
        unsafe { sort(kind, sorted.as_mut_ptr().cast(), [outer, extent, inner]) };
        for plane in 0..outer {
            for line in 0..inner {
                let along = |row: usize| plane * extent * inner + row * inner + line;
                let mut expected: Vec<T> = (0..extent).map(|row| values[along(row)]).collect();
                expected.sort_by(order);
                let found: Vec<T> = (0..extent).map(|row| sorted[along(row)]).collect();
                assert!(found == expected, "{kind:?} {outer}x{extent}x{inner}");
            }
        }
    }

    const SHAPES: [[usize; 3]; 9] = [
        [1, 1, 1],
        [3, 2, 1],
        [1, 300, 1],
        [40, 257, 1],
        [2, 5, 33],
        [1, 700, 3],
        [0, 4, 4],
        [3, 0, 2],
        [1, 20000, 1],
    ];

    fn total(value: f64) -> impl Fn(f64) -> Ordering {
        move |other| match (value.is_nan(), other.is_nan()) {
            (false, false) => value.partial_cmp(&other).unwrap(),
            (left, right) => left.cmp(&right),
        }
    }

    #[test]
    fn integers_sort_as_naively() {
        macro_rules! each {
            ($($kind:ident $type:ty, $signed:ty;)*) => { $(
                for shape in SHAPES {
                    let values: Vec<$type> =
                        bits(7, shape.iter().product(), &[0, 1, u64::MAX]).iter().map(|&bits| bits as $type).collect();
                    check(SortKind::$kind, &values, shape, |a, b| (*a as $signed).cmp(&(*b as $signed)));
                }
            )* };
        }
        each! {
            Bool u8, u8; U8 u8, u8; U16 u16, u16; U32 u32, u32; U64 u64, u64;
            I8 u8, i8; I16 u16, i16; I32 u32, i32; I64 u64, i64;
        }
    }

    #[test]
    fn floats_sort_as_stably_and_nans_go_last() {
        fn half(bits: u16) -> f64 {
            let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
            let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
            match (exponent, mantissa) {
                (31, 0.0) => sign * f64::INFINITY,
                (31, _) => f64::NAN,
                (0, _) => sign * mantissa * 2f64.powi(-24),
                _ => sign * (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
            }
        }
        macro_rules! each {
            ($($kind:ident $type:ty, $value:expr, $specials:expr;)*) => { $(
                for shape in SHAPES {
                    let values: Vec<$type> =
                        bits(3, shape.iter().product(), &$specials).iter().map(|&bits| bits as $type).collect();
                    check(SortKind::$kind, &values, shape, |a, b| total($value(*a))($value(*b)));
                }
            )* };
        }
        each! {
            Bf16 u16, |bits: u16| f64::from(f32::from_bits(u32::from(bits) << 16)), [0, 0x8000, 0x7fc0, 0xffc1, 0x7f80];
            F16 u16, half, [0, 0x8000, 0x7e00, 0xfe01, 0x7c00, 0xfc00];
            F32 u32, |bits| f64::from(f32::from_bits(bits)), [0, 1 << 31, 0x7fc0_0000, 0xffc0_0001, 0x7f80_0000];
            F64 u64, f64::from_bits, [0, 1 << 63, 0x7ff8 << 48, u64::MAX, 0x7ff0 << 48];
        }
    }

    #[test]
    fn long_lines_are_merged_on_any_number_of_threads() {
        for threads in [2, 3, 8] {
            pool::set_num_threads(threads);
            for count in [PARALLEL_FROM, PARALLEL_FROM + 1, 3 * PARALLEL_FROM - 77] {
                let values: Vec<u32> = bits(5, count, &[3, 3, 9]).iter().map(|&bits| bits as u32).collect();
                check(SortKind::I32, &values, [1, count, 1], |a, b| (*a as i32).cmp(&(*b as i32)));
                check(SortKind::F32, &values, [1, count, 1], |a, b| {
                    total(f64::from(f32::from_bits(*a)))(f64::from(f32::from_bits(*b)))
                });
                let values = bits(6, count, &[]);
                check(SortKind::U64, &values, [1, count, 1], |a, b| a.cmp(b));
            }
        }
        pool::set_num_threads(0);
    }

    #[test]
    fn complex_numbers_sort_as_in_numpy() {
        let nan = f32::NAN;
        let mut values = [
            [nan, nan],
            [nan, 1.0],
            [2.0, nan],
            [1.0, nan],
            [3.0, 1.0],
            [3.0, -1.0],
            [nan, 0.0],
            [-1.0, 9.0],
        ];
        // SAFETY: eight elements are there.
        unsafe { sort(SortKind::C64, values.as_mut_ptr().cast(), [1, 8, 1]) };
        assert_eq!(
            format!("{values:?}"),
            "[[-1.0, 9.0], [3.0, -1.0], [3.0, 1.0], [1.0, NaN], [2.0, NaN], [NaN, 0.0], [NaN, 1.0], [NaN, NaN]]"
        );
        let doubles = bits(5, 600, &[])
            .chunks(2)
            .map(|pair| [(pair[0] % 5) as f64, pair[1] as f64])
            .collect::<Vec<_>>();
        check(SortKind::C128, &doubles, [1, 300, 1], |a, b| a.partial_cmp(b).unwrap());
    }
}
