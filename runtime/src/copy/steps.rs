//! Elements that lie a few steps apart, in vector registers, on processors that have AVX-512.
//!
//! All that lies between the first element and the last is loaded, as many registers as a step has elements for a register that is
//! stored: each of them gives that some of its lanes.

use std::arch::x86_64::*;

/// What is loaded and stored at once, in bytes: a register, and a line of the cache.
const BYTES: usize = 64;

/// The most elements of a step, which also share lines.
const STEPS: usize = 16;

/// Copies elements that are `step` apart next to each other, as far as registers go; how many that are.
///
/// # Safety
/// All that lies between the first and the last of `count` elements can be read, `count` elements can be written, and the two do not
/// overlap.
pub unsafe fn copy(size: usize, (count, step): (usize, usize), to: *mut u8, from: *const u8) -> usize {
    if !(2..=STEPS).contains(&step) || step * size > BYTES || count < 2 * BYTES / size {
        return 0;
    }
    let has_words = is_x86_feature_detected!("avx512f");
    let has_halves = has_words && is_x86_feature_detected!("avx512bw");
    let has_bytes = has_halves && is_x86_feature_detected!("avx512vbmi");
    // SAFETY: by contract; the processor has the instructions.
    unsafe {
        match size {
            1 if has_bytes => bytes(count, step, to.cast(), from.cast()),
            2 if has_halves => halves(count, step, to.cast(), from.cast()),
            4 if has_words => words(count, step, to.cast(), from.cast()),
            8 if has_words => longs(count, step, to.cast(), from.cast()),
            _ => 0,
        }
    }
}

macro_rules! lanes {
    ($name:ident, $features:literal, $unit:ty, $permute:ident) => {
        /// # Safety
        /// As [`copy`], on a processor that has the instructions.
        #[target_feature(enable = $features)]
        unsafe fn $name(count: usize, step: usize, to: *mut $unit, from: *const $unit) -> usize {
            const LANES: usize = BYTES / size_of::<$unit>();
            // Where the lanes come from as each register is added to those before it: numbers from `LANES` on are its own.
            let mut sources = [[0; LANES]; STEPS];
            for (number, sources) in sources[..step].iter_mut().enumerate() {
                for (lane, source) in sources.iter_mut().enumerate() {
                    let place = (lane * step).wrapping_sub(number * LANES);
                    *source = match number {
                        _ if place < LANES => LANES + place,
                        1 => lane * step % LANES,
                        _ => lane,
                    } as $unit;
                }
            }
            let mut copied = 0;
            // The last element of a register's worth is not the last one that there is: all before the next one can be read.
            while copied + LANES < count {
                // SAFETY: see above; a row of `sources` has as many bytes as a register.
                unsafe {
                    let first = from.add(copied * step);
                    let mut all = _mm512_loadu_si512(first.cast());
                    for number in 1..step {
                        let source = _mm512_loadu_si512(sources[number].as_ptr().cast());
                        let next = _mm512_loadu_si512(first.add(number * LANES).cast());
                        all = $permute(all, source, next);
                    }
                    _mm512_storeu_si512(to.add(copied).cast(), all);
                }
                copied += LANES;
            }
            copied
        }
    };
}

lanes!(bytes, "avx512f,avx512bw,avx512vbmi", u8, _mm512_permutex2var_epi8);
lanes!(halves, "avx512f,avx512bw", u16, _mm512_permutex2var_epi16);
lanes!(words, "avx512f", u32, _mm512_permutex2var_epi32);
lanes!(longs, "avx512f", u64, _mm512_permutex2var_epi64);
