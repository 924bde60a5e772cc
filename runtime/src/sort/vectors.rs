//! Sorting unsigned keys in vector registers, on processors that have AVX-512.
//!
//! A quicksort whose partition compresses the keys below a pivot, and those that are not, out of a register at a time, and
//! whose last step, for a few registers' worth of keys, is a bitonic network. Pivots are medians of samples; where they
//! turn out bad too often, what is left is sorted otherwise, so that no order of keys takes quadratic time.

use std::arch::x86_64::*;

/// The most keys that a network sorts, in registers.
const REGISTERS: usize = 8;

/// A partition takes the median of so many samples from so many keys on.
const MANY: usize = 1 << 12;

/// Whether the processor can.
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt")
}

macro_rules! lanes {
    ($module:ident, $key:ty, $index:ty, $lanes:literal, $mask:ty, $load:ident, $store:ident, $splat:ident, $min:ident,
     $max:ident, $mask_max:ident, $permute:ident, $compress:ident, $below:ident, $indices:ident) => {
        pub(super) mod $module {
            use super::*;

            const LANES: usize = $lanes;
            /// The most keys that a network sorts.
            pub const SMALL: usize = REGISTERS * LANES;

            /// The lanes that lanes are compared with.
            const fn partners(flip: usize) -> [$index; LANES] {
                let mut all = [0; LANES];
                let mut lane = 0;
                while lane < LANES {
                    all[lane] = (lane ^ flip) as $index;
                    lane += 1;
                }
                all
            }

            /// The lanes that take the greater of two, where the distance to the partner has this highest bit.
            const fn upper(bit: usize) -> $mask {
                let (mut mask, mut lane) = (0, 0);
                while lane < LANES {
                    if lane & bit != 0 {
                        mask |= 1 << lane;
                    }
                    lane += 1;
                }
                mask
            }

            #[inline]
            const fn first(count: usize) -> $mask {
                ((1_u32 << count) - 1) as $mask
            }

            #[target_feature(enable = "avx512f,popcnt")]
            fn load(from: &[$key]) -> __m512i {
                // SAFETY: lanes beyond the slice are not loaded.
                unsafe { $load($splat(<$key>::MAX.cast_signed()), first(from.len()), from.as_ptr().cast()) }
            }

            #[target_feature(enable = "avx512f,popcnt")]
            fn store(to: &mut [$key], keys: __m512i) {
                // SAFETY: lanes beyond the slice are not stored.
                unsafe { $store(to.as_mut_ptr().cast(), first(to.len()), keys) }
            }

            /// The lanes in the order that partners have.
            #[target_feature(enable = "avx512f,popcnt")]
            #[inline]
            fn permuted<const FLIP: usize>(keys: __m512i) -> __m512i {
                let partners = const { partners(FLIP) };
                // SAFETY: the array has as many bytes as a register.
                $permute(unsafe { $indices(partners.as_ptr().cast()) }, keys)
            }

            /// Each lane becomes the lesser or the greater of itself and its partner.
            #[target_feature(enable = "avx512f,popcnt")]
            #[inline]
            fn exchange<const FLIP: usize, const BIT: usize>(keys: __m512i) -> __m512i {
                let others = permuted::<FLIP>(keys);
                $mask_max($min(keys, others), const { upper(BIT) }, keys, others)
            }

            /// Sorts the lanes of a register, of which the first half of each half is below the second, and so on.
            #[target_feature(enable = "avx512f,popcnt")]
            #[inline]
            fn merge_lanes(mut keys: __m512i) -> __m512i {
                if LANES == 16 {
                    keys = exchange::<8, 8>(keys);
                }
                exchange::<1, 1>(exchange::<2, 2>(exchange::<4, 4>(keys)))
            }

            /// Sorts the lanes of a register: runs of 2, 4, 8, … are made of pairs of runs, the second one turned round.
            #[target_feature(enable = "avx512f,popcnt")]
            #[inline]
            fn sort_lanes(keys: __m512i) -> __m512i {
                let pairs = exchange::<1, 1>(keys);
                let fours = exchange::<1, 1>(exchange::<3, 2>(pairs));
                let eights = exchange::<1, 1>(exchange::<2, 2>(exchange::<7, 4>(fours)));
                if LANES == 8 {
                    return eights;
                }
                exchange::<1, 1>(exchange::<2, 2>(exchange::<4, 4>(exchange::<15, 8>(eights))))
            }

            /// Makes one run of two, each of so many registers.
            #[target_feature(enable = "avx512f,popcnt")]
            #[inline]
            fn merge<const RUN: usize>(keys: &mut [__m512i]) {
                let (left, right) = keys[..2 * RUN].split_at_mut(RUN);
                for ahead in 0..RUN {
                    let (first, other) = (left[ahead], permuted::<{ LANES - 1 }>(right[RUN - 1 - ahead]));
                    left[ahead] = $min(first, other);
                    right[RUN - 1 - ahead] = permuted::<{ LANES - 1 }>($max(first, other));
                }
                for half in [left, right] {
                    if RUN >= 4 {
                        step::<2>(half);
                    }
                    if RUN >= 2 {
                        step::<1>(half);
                    }
                    half.iter_mut().for_each(|register| *register = merge_lanes(*register));
                }
            }

            /// Compares registers with those so far from them.
            #[target_feature(enable = "avx512f,popcnt")]
            #[inline]
            fn step<const FAR: usize>(keys: &mut [__m512i]) {
                for pair in keys.chunks_exact_mut(2 * FAR) {
                    for ahead in 0..FAR {
                        let (x, y) = (pair[ahead], pair[ahead + FAR]);
                        (pair[ahead], pair[ahead + FAR]) = ($min(x, y), $max(x, y));
                    }
                }
            }

            /// Sorts keys in registers.
            #[target_feature(enable = "avx512f,popcnt")]
            #[inline]
            fn network<const COUNT: usize>(keys: &mut [__m512i; COUNT]) {
                keys.iter_mut().for_each(|register| *register = sort_lanes(*register));
                if COUNT >= 2 {
                    keys.chunks_exact_mut(2).for_each(|pair| merge::<1>(pair));
                }
                if COUNT >= 4 {
                    keys.chunks_exact_mut(4).for_each(|four| merge::<2>(four));
                }
                if COUNT >= 8 {
                    merge::<4>(keys);
                }
            }

            #[target_feature(enable = "avx512f,popcnt")]
            fn loaded<const COUNT: usize>(from: &[$key]) -> [__m512i; COUNT] {
                let mut keys = [$splat(<$key>::MAX.cast_signed()); COUNT];
                for (register, keys) in from.chunks(LANES).zip(&mut keys) {
                    *keys = load(register);
                }
                network(&mut keys);
                keys
            }

            #[target_feature(enable = "avx512f,popcnt")]
            fn stored<const COUNT: usize>(keys: [__m512i; COUNT], to: &mut [$key]) {
                to.chunks_mut(LANES).zip(keys).for_each(|(to, keys)| store(to, keys));
            }

            /// Sorts a few keys where they are, or to as much memory elsewhere.
            #[target_feature(enable = "avx512f,popcnt")]
            fn small(keys: &mut [$key], to: Option<&mut [$key]>) {
                match keys.len().div_ceil(LANES) {
                    0 | 1 => stored(loaded::<1>(keys), to.unwrap_or(keys)),
                    2 => stored(loaded::<2>(keys), to.unwrap_or(keys)),
                    3 | 4 => stored(loaded::<4>(keys), to.unwrap_or(keys)),
                    _ => stored(loaded::<REGISTERS>(keys), to.unwrap_or(keys)),
                }
            }

            /// The median of samples.
            #[target_feature(enable = "avx512f,popcnt")]
            fn pivot(keys: &[$key]) -> $key {
                let count = if keys.len() < MANY { LANES } else { SMALL };
                let mut samples = [0; SMALL];
                let step = keys.len() / count;
                for (number, sample) in samples[..count].iter_mut().enumerate() {
                    // Not always the same place of its part, so that a pattern of keys meets no pattern of samples.
                    *sample = keys[number * step + (number * 0x9e37_79b9) % step];
                }
                small(&mut samples[..count], None);
                samples[count / 2]
            }

            /// Puts the keys below a pivot, or up to it, at the beginning of `to`, the others at the end; how many are below.
            #[target_feature(enable = "avx512f,popcnt")]
            fn partition<const UP_TO: bool>(from: &[$key], to: &mut [$key], pivot: $key) -> usize {
                let pivots = $splat(pivot.cast_signed());
                let (mut left, mut right) = (0, to.len());
                let to = to.as_mut_ptr();
                let mut divide = |keys: __m512i, is_there: $mask| {
                    // The pivot is below a key, or the key below the pivot.
                    let below = if UP_TO { !$below(pivots, keys) } else { $below(keys, pivots) };
                    let (below, above) = (below & is_there, !below & is_there);
                    let (few, many) = (below.count_ones() as usize, above.count_ones() as usize);
                    right -= many;
                    // SAFETY: as many keys as were read are stored, from both ends of as much memory.
                    unsafe {
                        $store(to.add(left).cast(), first(few), $compress(below, keys));
                        $store(to.add(right).cast(), first(many), $compress(above, keys));
                    }
                    left += few;
                };
                let (whole, rest) = from.as_chunks::<LANES>();
                for part in whole {
                    // SAFETY: as many keys are there.
                    divide(unsafe { $indices(part.as_ptr().cast()) }, <$mask>::MAX);
                }
                if !rest.is_empty() {
                    divide(load(rest), first(rest.len()));
                }
                left
            }

            /// Sorts keys, to where they are or to the memory beside.
            #[target_feature(enable = "avx512f,popcnt")]
            fn quick(mut keys: &mut [$key], mut other: &mut [$key], stays: bool, mut depth: u32) {
                loop {
                    if keys.len() <= SMALL {
                        return small(keys, (!stays).then_some(other));
                    }
                    if depth == 0 {
                        keys.sort_unstable();
                        if !stays {
                            other.copy_from_slice(keys);
                        }
                        return;
                    }
                    depth -= 1;
                    let pivot = pivot(keys);
                    let below = partition::<false>(keys, other, pivot);
                    if below > 0 {
                        let (left, right) = keys.split_at_mut(below);
                        let (other_left, other_right) = other.split_at_mut(below);
                        quick(other_left, left, !stays, depth);
                        return quick(other_right, right, !stays, depth);
                    }
                    // The pivot is the least: the keys that equal it are done.
                    let equal = partition::<true>(keys, other, pivot);
                    if stays {
                        keys[..equal].fill(pivot);
                    }
                    keys[equal..].copy_from_slice(&other[equal..]);
                    (keys, other) = (&mut keys[equal..], &mut other[equal..]);
                }
            }

            /// Sorts keys, with as much memory beside; with none if they are few.
            #[target_feature(enable = "avx512f,popcnt")]
            pub fn sort(keys: &mut [$key], other: &mut [$key]) {
                assert!(
                    keys.len() <= SMALL || other.len() == keys.len(),
                    "there is as much memory beside the keys"
                );
                let depth = 2 * keys.len().max(2).ilog2();
                quick(keys, other, true, depth);
            }
        }
    };
}

lanes! {
    of_32, u32, i32, 16, u16, _mm512_mask_loadu_epi32, _mm512_mask_storeu_epi32, _mm512_set1_epi32, _mm512_min_epu32,
    _mm512_max_epu32, _mm512_mask_max_epu32, _mm512_permutexvar_epi32, _mm512_maskz_compress_epi32,
    _mm512_cmplt_epu32_mask, _mm512_loadu_epi32
}

lanes! {
    of_64, u64, i64, 8, u8, _mm512_mask_loadu_epi64, _mm512_mask_storeu_epi64, _mm512_set1_epi64, _mm512_min_epu64,
    _mm512_max_epu64, _mm512_mask_max_epu64, _mm512_permutexvar_epi64, _mm512_maskz_compress_epi64,
    _mm512_cmplt_epu64_mask, _mm512_loadu_epi64
}
