//! Sorting, compared with a naive stable sort of what the elements mean.

use std::cmp::Ordering;

use super::keys::{self, PARALLEL_FROM};
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

const SHAPES: [[usize; 3]; 14] = [
    [1, 1, 1],
    [3, 2, 1],
    [1, 300, 1],
    [40, 257, 1],
    [2, 5, 33],
    [1, 700, 3],
    [0, 4, 4],
    [3, 0, 2],
    [1, 20000, 1],
    // Short lines, side by side: as many as fill units or not, of one plane or several.
    [300, 13, 1],
    [70, 64, 1],
    [41, 7, 6],
    [3, 100, 150],
    [2, 256, 40],
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

fn half(bits: u16) -> f64 {
    decoded(u32::from(bits), [5, 10], 15, |code| code & 0x7fff > 0x7c00)
}

fn bfloat(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// The number of a code of `[exponent, mantissa]` bits. A code that would be an infinity is a large number, which is as good.
fn decoded(code: u32, [exponent, mantissa]: [u32; 2], bias: i32, is_nan: impl Fn(u32) -> bool) -> f64 {
    let field = (code >> mantissa & ((1 << exponent) - 1)) as i32;
    let fraction = f64::from(code & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
    let magnitude = match field {
        _ if is_nan(code) => f64::NAN,
        0 => fraction * 2f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2f64.powi(field - bias),
    };
    if code >> (exponent + mantissa) & 1 == 1 { -magnitude } else { magnitude }
}

#[test]
fn floats_sort_as_stably_and_nans_go_last() {
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
        Bf16 u16, bfloat, [0, 0x8000, 0x7fc0, 0xffc1, 0x7f80];
        F16 u16, half, [0, 0x8000, 0x7e00, 0xfe01, 0x7c00, 0xfc00];
        F32 u32, |bits| f64::from(f32::from_bits(bits)), [0, 1 << 31, 0x7fc0_0000, 0xffc0_0001, 0x7f80_0000];
        F64 u64, f64::from_bits, [0, 1 << 63, 0x7ff8 << 48, u64::MAX, 0x7ff0 << 48];
    }
}

/// Lines side by side are sorted in vectors, but for the units that have a NaN, or zeros of both signs.
#[test]
fn short_lines_of_floats_are_sorted_stably_whatever_their_neighbours_are() {
    for shape @ [outer, extent, inner] in [[300, 13, 1], [70, 64, 1], [41, 7, 6], [3, 100, 150]] {
        let count = outer * extent * inner;
        let mut values: Vec<f32> =
            bits(11, count, &[]).iter().map(|&bits| (bits as i16 as f32) / 8.0 + 0.0).collect();
        let value = |bits: &u32| f64::from(f32::from_bits(*bits));
        for special in [None, Some(f32::NAN), Some(-0.0), Some(f32::INFINITY)] {
            if let Some(special) = special {
                values[count / 3] = special;
                values[count / 2] = special;
            }
            let all: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
            check(SortKind::F32, &all, shape, |a, b| total(value(a))(value(b)));
            let all: Vec<u64> = values.iter().map(|value| f64::from(*value).to_bits()).collect();
            check(SortKind::F64, &all, shape, |a, b| total(f64::from_bits(*a))(f64::from_bits(*b)));
        }
    }
}

#[test]
fn short_lines_with_zeros_of_both_signs_are_sorted_stably() {
    let choice = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY];
    for shape @ [outer, extent, inner] in [[300, 13, 1], [41, 7, 6], [3, 100, 150]] {
        let random = bits(13, outer * extent * inner, &[]);
        let all: Vec<u32> =
            random.iter().map(|bits| choice[*bits as usize % choice.len()].to_bits()).collect();
        check(SortKind::F32, &all, shape, |a, b| {
            total(f64::from(f32::from_bits(*a)))(f64::from(f32::from_bits(*b)))
        });
    }
}

/// A tensor without elements may have any other extents.
#[test]
fn lines_of_no_element_or_one_take_no_time() {
    for shape in [[1 << 40, 0, 1], [usize::MAX, 0, usize::MAX], [1, 0, 1 << 50]] {
        // SAFETY: there is no element.
        unsafe { sort(SortKind::F32, std::ptr::dangling_mut(), shape) };
    }
    check(SortKind::F32, &[7_u32; 12], [3, 1, 4], |_, _| Ordering::Equal);
}

#[test]
fn floats_of_a_byte_sort_as_what_they_stand_for() {
    type IsNan = fn(u32) -> bool;
    // The formats of ml_dtypes: bits of the exponent and of the mantissa, bias, NaNs.
    let formats: [(SortKind, [u32; 2], i32, IsNan); 10] = [
        (SortKind::F4E2M1FN, [2, 1], 1, |_| false),
        (SortKind::F6E2M3FN, [2, 3], 1, |_| false),
        (SortKind::F6E3M2FN, [3, 2], 3, |_| false),
        (SortKind::F8E3M4, [3, 4], 3, |code| code & 0x7f > 0x70),
        (SortKind::F8E4M3, [4, 3], 7, |code| code & 0x7f > 0x78),
        (SortKind::F8E4M3FN, [4, 3], 7, |code| code & 0x7f == 0x7f),
        (SortKind::F8E5M2, [5, 2], 15, |code| code & 0x7f > 0x7c),
        (SortKind::F8E4M3B11FNUZ, [4, 3], 11, |code| code == 0x80),
        (SortKind::F8E4M3FNUZ, [4, 3], 8, |code| code == 0x80),
        (SortKind::F8E5M2FNUZ, [5, 2], 16, |code| code == 0x80),
    ];
    for shape in SHAPES {
        let random = bits(9, shape.iter().product(), &[]);
        for (kind, widths, bias, is_nan) in formats {
            let mask = (2u32 << (widths[0] + widths[1])) - 1;
            let codes: Vec<u8> = random.iter().map(|&bits| (bits as u32 & mask) as u8).collect();
            let value = |code: u8| decoded(u32::from(code), widths, bias, is_nan);
            check(kind, &codes, shape, |a, b| total(value(*a))(value(*b)));
        }
        let powers: Vec<u8> = random.iter().map(|&bits| bits as u8).collect();
        check(SortKind::F8E8M0FNU, &powers, shape, Ord::cmp);
    }
}

#[test]
fn long_lines_are_merged_on_any_number_of_threads() {
    for threads in [2, 3, 8] {
        pool::set_num_threads(threads);
        for count in [PARALLEL_FROM, PARALLEL_FROM + 1, 3 * PARALLEL_FROM - 77] {
            let values: Vec<u32> = bits(5, count, &[3, 3, 9, 0, 1 << 31, 0x7fc0_0001, 0xffc0_0000])
                .iter()
                .map(|&bits| bits as u32)
                .collect();
            check(SortKind::I32, &values, [1, count, 1], |a, b| (*a as i32).cmp(&(*b as i32)));
            check(SortKind::F32, &values, [1, count, 1], |a, b| {
                total(f64::from(f32::from_bits(*a)))(f64::from(f32::from_bits(*b)))
            });
            for values in patterns(count) {
                check(SortKind::U64, &values, [1, count, 1], |a, b| a.cmp(b));
                let values: Vec<u16> = values.iter().map(|bits| (bits >> 32) as u16).collect();
                check(SortKind::U16, &values, [1, count, 1], |a, b| a.cmp(b));
            }
        }
    }
    pool::set_num_threads(0);
}

#[test]
fn complex_numbers_sort_as_in_numpy() {
    let nan = f32::NAN;
    let mut values =
        [[nan, nan], [nan, 1.0], [2.0, nan], [1.0, nan], [3.0, 1.0], [3.0, -1.0], [nan, 0.0], [-1.0, 9.0]];
    // SAFETY: eight elements are there.
    unsafe { sort(SortKind::C64, values.as_mut_ptr().cast(), [1, 8, 1]) };
    assert_eq!(
        format!("{values:?}"),
        "[[-1.0, 9.0], [3.0, -1.0], [3.0, 1.0], [1.0, NaN], [2.0, NaN], [NaN, 0.0], [NaN, 1.0], [NaN, NaN]]"
    );
    let doubles =
        bits(5, 600, &[]).chunks(2).map(|pair| [(pair[0] % 5) as f64, pair[1] as f64]).collect::<Vec<_>>();
    check(SortKind::C128, &doubles, [1, 300, 1], |a, b| a.partial_cmp(b).unwrap());
}

#[test]
fn complex_numbers_of_16_bit_parts_sort_as_wider_ones() {
    type Value = fn(u16) -> f64;
    let group = |[re, im]: [f64; 2]| 2 * u8::from(re.is_nan()) + u8::from(im.is_nan());
    let order = |left: [f64; 2], right: [f64; 2]| {
        let part = |index: usize| left[index].partial_cmp(&right[index]).unwrap_or(Ordering::Equal);
        group(left).cmp(&group(right)).then(part(0)).then(part(1))
    };
    for (kind, value) in [(SortKind::C32, half as Value), (SortKind::Bc32, bfloat)] {
        let specials = [0, 1 << 15, 0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7fff, 0xffff, 0x3c00, 0xbc00];
        for shape in SHAPES {
            let parts = bits(4, 2 * shape.iter().product::<usize>(), &specials);
            let pairs: Vec<[u16; 2]> = parts.chunks(2).map(|pair| [pair[0] as u16, pair[1] as u16]).collect();
            check(kind, &pairs, shape, |a, b| order(a.map(value), b.map(value)));
        }
    }
}

/// Keys of some patterns: random ones, few different ones, all the same, in order, in order the other way round, and of two runs
/// in turn.
fn patterns(length: usize) -> [Vec<u64>; 6] {
    let random = bits(length as u64 + 1, length, &[0, u64::MAX]);
    let few = random.iter().map(|bits| bits % 5).collect();
    let of = |index: &dyn Fn(u64) -> u64| (0..length as u64).map(index).collect();
    let in_turn = |index| if index % 2 == 0 { index } else { u64::MAX - index };
    [
        random,
        few,
        of(&|_| u64::MAX),
        of(&|index| index << 40 | index),
        of(&|index| (length as u64 - index) << 40 | index),
        of(&in_turn),
    ]
}

fn sorted<T: Ord + Clone>(keys: &[T]) -> Vec<T> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    sorted
}

#[test]
fn keys_of_every_length_and_pattern_are_sorted() {
    fn check<T: keys::Key + std::fmt::Debug>(from: impl Fn(u64) -> T) {
        for length in (0..600).chain([1000, 1023, 1025, 4095, 4096, 5000, 40_000]) {
            for (number, pattern) in patterns(length).iter().enumerate() {
                let keys: Vec<T> = pattern.iter().map(|bits| from(*bits)).collect();
                let mut found = keys.clone();
                keys::sort(&mut found);
                assert!(found == sorted(&keys), "{length} keys of pattern {number}");
            }
        }
    }
    check(|bits| bits as u8);
    check(|bits| bits as i8);
    check(|bits| (bits >> 32) as u16);
    check(|bits| (bits >> 32) as i16);
    check(|bits| (bits >> 16) as u32);
    check(|bits| (bits >> 16) as i32);
    check(|bits| bits);
    check(|bits| bits as i64);
}

/// Where there is AVX-512, nothing else calls these functions.
#[cfg(target_arch = "x86_64")]
#[test]
fn keys_are_sorted_and_merged_by_eights_where_there_is_avx2() {
    use vectors::{of_i32_by_eights, of_u32_by_eights};

    macro_rules! check {
        ($module:ident, $type:ty) => {
            for length in (0..300).chain([1000, 1023, 1025, 4096, 40_000]) {
                for (number, pattern) in patterns(length).iter().enumerate() {
                    let keys: Vec<$type> = pattern.iter().map(|bits| (bits >> 16) as $type).collect();
                    let (expected, middle) = (sorted(&keys), length / 3);
                    let runs = [sorted(&keys[..middle]), sorted(&keys[middle..])];
                    let [mut stays, mut beside] = [keys.clone(), vec![0; length]];
                    let [mut leaves, mut found] = [keys, vec![0; length]];
                    let mut merged = vec![0; length];
                    // SAFETY: there is AVX2.
                    unsafe {
                        $module::sort(&mut stays, &mut beside, true);
                        $module::sort(&mut leaves, &mut found, false);
                        $module::merge_runs(&runs[0], &runs[1], &mut merged);
                    }
                    let is_right = stays == expected && found == expected && merged == expected;
                    assert!(is_right, "{length} keys of pattern {number}");
                }
            }
        };
    }
    if !vectors::is_supported_by_eights() {
        println!("skipped: no AVX2");
        return;
    }
    check!(of_u32_by_eights, u32);
    check!(of_i32_by_eights, i32);
}

#[test]
fn keys_are_sorted_by_digits_where_registers_cannot() {
    fn check<T: keys::Key + std::fmt::Debug>(from: impl Fn(u64) -> T) {
        for length in [256, 257, 1000, 40_000] {
            for (number, pattern) in patterns(length).iter().enumerate() {
                let keys: Vec<T> = pattern.iter().map(|bits| from(*bits)).collect();
                let (mut found, mut other) = (keys.clone(), keys.clone());
                keys::by_digits(&mut found, &mut other);
                assert!(found == sorted(&keys), "{length} keys of pattern {number}");
            }
        }
    }
    check(|bits| bits as u8);
    check(|bits| bits as i8);
    check(|bits| (bits >> 32) as u16);
    check(|bits| (bits >> 32) as i16);
    check(|bits| (bits >> 16) as u32);
    check(|bits| (bits >> 16) as i32);
}

#[test]
fn runs_of_every_length_are_merged() {
    fn check<T: keys::Key + std::fmt::Debug>(from: impl Fn(u64) -> T) {
        let lengths = (0..70).chain([100, 255, 1000]);
        for (left, right) in lengths.clone().flat_map(|left| lengths.clone().map(move |right| (left, right)))
        {
            for (number, pattern) in patterns(left + right).iter().enumerate() {
                let keys: Vec<T> = pattern.iter().map(|bits| from(*bits)).collect();
                let runs = [sorted(&keys[..left]), sorted(&keys[left..])];
                for merge in [keys::merge, keys::merge_in_order] {
                    let mut merged = vec![T::MOST; keys.len()];
                    merge(&runs[0], &runs[1], &mut merged);
                    assert!(merged == sorted(&keys), "runs of {left} and {right} of pattern {number}");
                }
            }
        }
    }
    check(|bits| (bits >> 32) as u16);
    check(|bits| (bits >> 32) as i16);
    check(|bits| (bits >> 16) as u32);
    check(|bits| (bits >> 16) as i32);
    check(|bits| bits);
    check(|bits| bits as i64);
}

#[test]
fn lines_of_nans_alone_keep_their_order() {
    for length in [1, 15, 16, 300] {
        let nans: Vec<u32> = (0..length).map(|index| (0x7fc0_0000 | (index % 2) << 31) + index).collect();
        check(SortKind::F32, &nans, [1, length as usize, 1], |_, _| Ordering::Equal);
    }
}
