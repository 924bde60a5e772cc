//! Sorting keys in vector registers, on processors that have AVX-512; those of 32 bits where there is AVX2, too.
//!
//! A quicksort whose partition compresses the keys below a pivot, and those that are not, out of a register at a time: the
//! ones stay where they are, the others go to the memory beside. Its last step, for some registers' worth of keys, is a
//! bitonic network. Pivots are medians of samples; where they turn out bad too often, what is left is sorted otherwise, so that
//! no order of keys takes quadratic time.

use std::arch::x86_64::*;

use super::eights::{
    below_signed, below_unsigned, compress, load_all, mask_load, mask_max_signed, mask_max_unsigned,
    mask_store, permute, permute_two, store_all,
};
use super::keys::{Pass, merge_in_order};

/// The most keys that a network sorts, in registers.
const REGISTERS: usize = 16;

/// A partition takes the median of so many samples from so many keys on.
const MANY: usize = 1 << 12;

/// Makes a pass over numbers.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn widely<T>(pass: &impl Pass<T>, part: &mut [T]) {
    pass.over(part);
}

/// The same with AVX2.
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn widely_by_eights<T>(pass: &impl Pass<T>, part: &mut [T]) {
    pass.over(part);
}

/// Whether the processor sorts keys of 32 and 64 bits so.
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt")
}

/// Whether it sorts those of 16 bits so, too.
pub(super) fn is_supported_in_halves() -> bool {
    is_supported() && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2")
}

/// Whether it sorts those of 32 bits in registers of eight.
pub(super) fn is_supported_by_eights() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
}

macro_rules! lanes {
    ($module:ident, $features:literal, $register:ty, $key:ty, $index:ty, $lanes:literal, $mask:ty, $load:ident, $store:ident,
     $store_all:ident, $splat:ident, $min:ident, $max:ident, $mask_max:ident, $permute:ident, $permute_two:ident,
     $compress:ident, $below:ident, $indices:ident) => {
        pub(super) mod $module {
            use super::*;

            const LANES: usize = $lanes;
            /// The most keys that a network sorts.
            pub const SMALL: usize = REGISTERS * LANES;
            /// How many samples a pivot is the median of, of many keys and of few.
            const SAMPLES: usize = 4 * LANES;
            const FEW_SAMPLES: usize = LANES;

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

            /// Lanes of two registers in turn, from one on; those of the second are counted after those of the first.
            const fn interleaved(from: usize) -> [$index; LANES] {
                let mut all = [0; LANES];
                let mut lane = 0;
                while lane < LANES {
                    all[lane] = (from + lane / 2 + lane % 2 * LANES) as $index;
                    lane += 1;
                }
                all
            }

            #[inline]
            const fn first(count: usize) -> $mask {
                ((1_u64 << count) - 1) as $mask
            }

            // Instructions take keys as signed numbers of the same bits: `as` changes none.
            #[target_feature(enable = $features)]
            fn load(from: &[$key]) -> $register {
                // SAFETY: lanes beyond the slice are not loaded.
                unsafe { $load($splat(<$key>::MAX as $index), first(from.len()), from.as_ptr().cast()) }
            }

            #[target_feature(enable = $features)]
            fn store(to: &mut [$key], keys: $register) {
                // SAFETY: lanes beyond the slice are not stored.
                unsafe { $store(to.as_mut_ptr().cast(), first(to.len()), keys) }
            }

            /// The lanes in the order that partners have.
            #[target_feature(enable = $features)]
            #[inline]
            fn permuted<const FLIP: usize>(keys: $register) -> $register {
                let partners = const { partners(FLIP) };
                // SAFETY: the array has as many bytes as a register.
                $permute(unsafe { $indices(partners.as_ptr().cast()) }, keys)
            }

            /// Each lane becomes the lesser or the greater of itself and its partner.
            #[target_feature(enable = $features)]
            #[inline]
            fn exchange<const FLIP: usize, const BIT: usize>(keys: $register) -> $register {
                let others = permuted::<FLIP>(keys);
                $mask_max($min(keys, others), const { upper(BIT) }, keys, others)
            }

            /// [`exchange`], with partners that are in the registers counted from the other end.
            #[target_feature(enable = $features)]
            #[inline]
            fn exchange_across<const FLIP: usize, const BIT: usize>(keys: &mut [$register]) {
                if let [only] = keys {
                    *only = exchange::<FLIP, BIT>(*only);
                    return;
                }
                let (firsts, lasts) = keys.split_at_mut(keys.len() / 2);
                for (x, y) in firsts.iter_mut().zip(lasts.iter_mut().rev()) {
                    let [of_x, of_y] = [*y, *x].map(|others| permuted::<FLIP>(others));
                    *x = $mask_max($min(*x, of_x), const { upper(BIT) }, *x, of_x);
                    *y = $mask_max($min(*y, of_y), const { upper(BIT) }, *y, of_y);
                }
            }

            /// Compares registers with those so far from them.
            #[target_feature(enable = $features)]
            #[inline]
            fn step<const FAR: usize>(keys: &mut [$register]) {
                for pair in keys.chunks_exact_mut(2 * FAR) {
                    for ahead in 0..FAR {
                        let (x, y) = (pair[ahead], pair[ahead + FAR]);
                        (pair[ahead], pair[ahead + FAR]) = ($min(x, y), $max(x, y));
                    }
                }
            }

            /// Compares the registers of runs of so many with those counted from the other end.
            #[target_feature(enable = $features)]
            #[inline]
            fn turn<const RUN: usize>(keys: &mut [$register]) {
                for run in keys.chunks_exact_mut(RUN) {
                    for ahead in 0..RUN / 2 {
                        let (x, y) = (run[ahead], run[RUN - 1 - ahead]);
                        (run[ahead], run[RUN - 1 - ahead]) = ($min(x, y), $max(x, y));
                    }
                }
            }

            /// Sorts each lane of runs of registers, of which the first half of each half is below the second, and so on.
            #[target_feature(enable = $features)]
            #[inline]
            fn merge_columns<const RUN: usize>(keys: &mut [$register]) {
                if RUN >= 16 {
                    step::<8>(keys);
                }
                if RUN >= 8 {
                    step::<4>(keys);
                }
                if RUN >= 4 {
                    step::<2>(keys);
                }
                if RUN >= 2 {
                    step::<1>(keys);
                }
            }

            /// Makes one run of two, whose lanes have these highest bits, in each so many lanes.
            #[target_feature(enable = $features)]
            #[inline]
            fn merge<const COUNT: usize, const FLIP: usize, const BIT: usize>(keys: &mut [$register; COUNT]) {
                exchange_across::<FLIP, BIT>(keys);
                for register in &mut *keys {
                    if BIT >= 16 {
                        *register = exchange::<8, 8>(*register);
                    }
                    if BIT >= 8 {
                        *register = exchange::<4, 4>(*register);
                    }
                    if BIT >= 4 {
                        *register = exchange::<2, 2>(*register);
                    }
                    if BIT >= 2 {
                        *register = exchange::<1, 1>(*register);
                    }
                }
                merge_columns::<COUNT>(keys);
            }

            /// Sorts keys in registers: each lane of all registers first, which takes no permutation, then runs of 2, 4, 8, … lanes
            /// made of pairs of runs, the second one turned round. The least keys are in the first lanes of all registers then.
            #[target_feature(enable = $features)]
            #[inline]
            fn network<const COUNT: usize>(keys: &mut [$register; COUNT]) {
                if COUNT >= 2 {
                    turn::<2>(keys);
                }
                if COUNT >= 4 {
                    turn::<4>(keys);
                    merge_columns::<2>(keys);
                }
                if COUNT >= 8 {
                    turn::<8>(keys);
                    merge_columns::<4>(keys);
                }
                if COUNT >= 16 {
                    turn::<16>(keys);
                    merge_columns::<8>(keys);
                }
                merge::<COUNT, 1, 1>(keys);
                merge::<COUNT, 3, 2>(keys);
                merge::<COUNT, 7, 4>(keys);
                if LANES >= 16 {
                    merge::<COUNT, 15, 8>(keys);
                }
                if LANES >= 32 {
                    merge::<COUNT, 31, 16>(keys);
                }
            }

            /// Puts the keys of each lane beside each other, lane after lane: interleaving the first half of all registers with the second
            /// moves the highest bit of the number of a register below those of a lane.
            #[target_feature(enable = $features)]
            #[inline]
            fn by_lanes<const COUNT: usize>(mut keys: [$register; COUNT]) -> [$register; COUNT] {
                let lanes = |from: &[$index; LANES]| {
                    // SAFETY: the array has as many bytes as a register.
                    unsafe { $indices(from.as_ptr().cast()) }
                };
                let [lower, upper] = const { [interleaved(0), interleaved(LANES / 2)] };
                let (lower, upper) = (lanes(&lower), lanes(&upper));
                for _ in 0..COUNT.ilog2() {
                    let old = keys;
                    for (pair, number) in keys.chunks_exact_mut(2).zip(0..) {
                        let (x, y) = (old[number], old[number + COUNT / 2]);
                        pair.copy_from_slice(&[$permute_two(x, lower, y), $permute_two(x, upper, y)]);
                    }
                }
                keys
            }

            #[target_feature(enable = $features)]
            fn loaded<const COUNT: usize>(from: &[$key]) -> [$register; COUNT] {
                let mut keys = [$splat(<$key>::MAX as $index); COUNT];
                for (register, keys) in from.chunks(LANES).zip(&mut keys) {
                    *keys = load(register);
                }
                network(&mut keys);
                by_lanes(keys)
            }

            #[target_feature(enable = $features)]
            fn stored<const COUNT: usize>(keys: [$register; COUNT], to: &mut [$key]) {
                to.chunks_mut(LANES).zip(keys).for_each(|(to, keys)| store(to, keys));
            }

            /// Sorts a few keys where they are, or to as much memory elsewhere.
            #[target_feature(enable = $features)]
            fn small(keys: &mut [$key], to: Option<&mut [$key]>) {
                match keys.len().div_ceil(LANES) {
                    0 | 1 => stored(loaded::<1>(keys), to.unwrap_or(keys)),
                    2 => stored(loaded::<2>(keys), to.unwrap_or(keys)),
                    3 | 4 => stored(loaded::<4>(keys), to.unwrap_or(keys)),
                    5..=8 => stored(loaded::<8>(keys), to.unwrap_or(keys)),
                    _ => stored(loaded::<REGISTERS>(keys), to.unwrap_or(keys)),
                }
            }

            /// The median of samples.
            #[target_feature(enable = $features)]
            fn pivot(keys: &[$key]) -> $key {
                let count = if keys.len() < MANY { FEW_SAMPLES } else { SAMPLES };
                let mut samples = [0; SAMPLES];
                let step = keys.len() / count;
                for (number, sample) in samples[..count].iter_mut().enumerate() {
                    // Not always the same place of its part, so that a pattern of keys meets no pattern of samples.
                    *sample = keys[number * step + (number * 0x9e37_79b9) % step];
                }
                small(&mut samples[..count], None);
                samples[count / 2]
            }

            /// Moves the keys on one side of a pivot to the beginning of `other`: the lower ones (`LOWER`), or those that are not.
            /// With `WITH_PIVOT` keys that equal the pivot are lower ones. The others go to the beginning of `keys`. How many are moved.
            #[target_feature(enable = $features)]
            fn partition<const LOWER: bool, const WITH_PIVOT: bool>(
                keys: &mut [$key],
                other: &mut [$key],
                pivot: $key,
            ) -> usize {
                assert_eq!(keys.len(), other.len());
                let pivots = $splat(pivot as $index);
                let is_moved = |keys: $register| {
                    let is_lower = if WITH_PIVOT { !$below(pivots, keys) } else { $below(keys, pivots) };
                    if LOWER { is_lower } else { !is_lower }
                };
                let (count, keys, other) = (keys.len(), keys.as_mut_ptr(), other.as_mut_ptr());
                let (mut place, mut left, mut moved) = (0, 0, 0);
                while place + LANES <= count {
                    // SAFETY: as many keys are there. No more are left, or moved, than were read, and what is stored after
                    // them is where nothing is any more, or yet: it is stored over.
                    unsafe {
                        let here = $indices(keys.add(place).cast());
                        let chosen = is_moved(here);
                        $store_all(keys.add(left).cast(), $compress(!chosen, here));
                        $store_all(other.add(moved).cast(), $compress(chosen, here));
                        let number = chosen.count_ones() as usize;
                        (moved, left) = (moved + number, left + LANES - number);
                    }
                    place += LANES;
                }
                // SAFETY: there are as many keys, and as much place for them.
                unsafe {
                    let there = first(count - place);
                    let here = $load($splat(0), there, keys.add(place).cast());
                    let chosen = is_moved(here) & there;
                    let number = chosen.count_ones() as usize;
                    $store(
                        keys.add(left).cast(),
                        first(count - place - number),
                        $compress(!chosen & there, here),
                    );
                    $store(other.add(moved).cast(), first(number), $compress(chosen, here));
                    moved + number
                }
            }

            /// Sorts keys, to where they are or to the memory beside.
            #[target_feature(enable = $features)]
            fn quick<'k>(
                mut keys: &'k mut [$key],
                mut other: &'k mut [$key],
                mut stays: bool,
                mut depth: u32,
            ) {
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
                    // Those that come first go to where they are to be, or stay there; so the others have place beside them.
                    let below = match stays {
                        true => keys.len() - partition::<false, false>(keys, other, pivot),
                        false => partition::<true, false>(keys, other, pivot),
                    };
                    let above = keys.len() - below;
                    if below > 0 {
                        if stays {
                            (keys, other) = (other, keys);
                        }
                        let (above, room_of_below) = keys.split_at_mut(above);
                        let (below, room_of_above) = other.split_at_mut(below);
                        quick(below, room_of_below, true, depth);
                        (keys, other, stays) = (above, room_of_above, false);
                        continue;
                    }
                    // The pivot is the least: the keys that equal it are done.
                    if stays {
                        (keys, other) = (other, keys);
                    }
                    let equal = partition::<true, true>(keys, other, pivot);
                    let rest = keys.len() - equal;
                    (keys, other, stays) = (&mut keys[..rest], &mut other[equal..], false);
                }
            }

            /// Sorts keys, with as much memory beside, to where they are or to there; with none if they are few and stay.
            #[target_feature(enable = $features)]
            pub fn sort(keys: &mut [$key], other: &mut [$key], stays: bool) {
                assert!(
                    stays && keys.len() <= SMALL || other.len() == keys.len(),
                    "there is as much memory beside the keys"
                );
                let depth = 2 * keys.len().max(2).ilog2();
                quick(keys, other, stays, depth);
            }

            /// Sorts the lanes of a register, of which the first half of each half is below the second, and so on.
            #[target_feature(enable = $features)]
            #[inline]
            fn merge_lanes(mut keys: $register) -> $register {
                if LANES >= 32 {
                    keys = exchange::<16, 16>(keys);
                }
                if LANES >= 16 {
                    keys = exchange::<8, 8>(keys);
                }
                exchange::<1, 1>(exchange::<2, 2>(exchange::<4, 4>(keys)))
            }

            /// Writes the merge of two sorted runs: the lesser half of the keys of two registers is written, the other half is merged
            /// with the next keys of the run whose next key is the lesser one.
            #[target_feature(enable = $features)]
            pub fn merge_runs(left: &[$key], right: &[$key], target: &mut [$key]) {
                assert_eq!(target.len(), left.len() + right.len());
                if left.len() < LANES {
                    return merge_in_order(left, right, target);
                }
                let (mut i, mut j, mut kept) = (LANES, 0, load(&left[..LANES]));
                while i + LANES <= left.len() && j + LANES <= right.len() {
                    let is_left = left[i] <= right[j];
                    let from = if is_left { &left[i..] } else { &right[j..] };
                    // SAFETY: as many keys are left of both.
                    let next = permuted::<{ LANES - 1 }>(unsafe { $indices(from.as_ptr().cast()) });
                    store(&mut target[i + j - LANES..i + j], merge_lanes($min(kept, next)));
                    kept = merge_lanes($max(kept, next));
                    (i, j) = if is_left { (i + LANES, j) } else { (i, j + LANES) };
                }
                let (written, left, right) = (i + j - LANES, &left[i..], &right[j..]);
                let (few, others) = if left.len() < LANES { (left, right) } else { (right, left) };
                let (mut last, mut both) = ([0; LANES], [0; 2 * LANES]);
                store(&mut last, kept);
                let both = &mut both[..LANES + few.len()];
                merge_in_order(&last, few, both);
                merge_in_order(both, others, &mut target[written..]);
            }
        }
    };
}

/// Lanes of keys of both kinds: the intrinsics that they share come first.
macro_rules! both {
    ($features:literal, $register:ty, $index:ty, $lanes:literal, $mask:ty, $load:ident, $store:ident, $store_all:ident, $splat:ident,
     $permute:ident, $permute_two:ident, $compress:ident, $indices:ident,
     $($module:ident, $key:ty, $min:ident, $max:ident, $mask_max:ident, $below:ident;)*) => { $(
        lanes! {
            $module, $features, $register, $key, $index, $lanes, $mask, $load, $store, $store_all, $splat, $min, $max, $mask_max,
            $permute, $permute_two, $compress, $below, $indices
        }
    )* };
}

both! {
    "avx512f,avx512bw,avx512vbmi2,popcnt", __m512i, i16, 32, u32, _mm512_mask_loadu_epi16, _mm512_mask_storeu_epi16,
    _mm512_storeu_epi16, _mm512_set1_epi16, _mm512_permutexvar_epi16, _mm512_permutex2var_epi16,
    _mm512_maskz_compress_epi16, _mm512_loadu_epi16,
    of_u16, u16, _mm512_min_epu16, _mm512_max_epu16, _mm512_mask_max_epu16, _mm512_cmplt_epu16_mask;
    of_i16, i16, _mm512_min_epi16, _mm512_max_epi16, _mm512_mask_max_epi16, _mm512_cmplt_epi16_mask;
}

both! {
    "avx512f,popcnt", __m512i, i32, 16, u16, _mm512_mask_loadu_epi32, _mm512_mask_storeu_epi32, _mm512_storeu_epi32,
    _mm512_set1_epi32, _mm512_permutexvar_epi32, _mm512_permutex2var_epi32, _mm512_maskz_compress_epi32,
    _mm512_loadu_epi32,
    of_u32, u32, _mm512_min_epu32, _mm512_max_epu32, _mm512_mask_max_epu32, _mm512_cmplt_epu32_mask;
    of_i32, i32, _mm512_min_epi32, _mm512_max_epi32, _mm512_mask_max_epi32, _mm512_cmplt_epi32_mask;
}

both! {
    "avx512f,popcnt", __m512i, i64, 8, u8, _mm512_mask_loadu_epi64, _mm512_mask_storeu_epi64, _mm512_storeu_epi64,
    _mm512_set1_epi64, _mm512_permutexvar_epi64, _mm512_permutex2var_epi64, _mm512_maskz_compress_epi64,
    _mm512_loadu_epi64,
    of_u64, u64, _mm512_min_epu64, _mm512_max_epu64, _mm512_mask_max_epu64, _mm512_cmplt_epu64_mask;
    of_i64, i64, _mm512_min_epi64, _mm512_max_epi64, _mm512_mask_max_epi64, _mm512_cmplt_epi64_mask;
}

both! {
    "avx2,popcnt", __m256i, i32, 8, u8, mask_load, mask_store, store_all, _mm256_set1_epi32, permute, permute_two, compress, load_all,
    of_u32_by_eights, u32, _mm256_min_epu32, _mm256_max_epu32, mask_max_unsigned, below_unsigned;
    of_i32_by_eights, i32, _mm256_min_epi32, _mm256_max_epi32, mask_max_signed, below_signed;
}
