//! Elements that lie a few steps apart, or in reverse order, in vector registers, on processors that have AVX-512.
//!
//! All that lies between the first element and the last is loaded, as many registers as a step has elements for a register that is
//! stored: each of them gives that some of its lanes.

use std::arch::x86_64::*;

/// What is loaded and stored at once, in bytes: a register, and a line of the cache.
const BYTES: usize = 64;

/// The most elements of a step, which also share lines.
const STEPS: usize = 16;

/// How elements so many steps apart are put next to each other.
pub struct Steps {
    size: usize,
    /// Back to the element before, or so many elements on.
    step: isize,
    /// Where the lanes come from as each register is added to those before it: numbers from that of lanes on are its own.
    sources: [Lanes; STEPS],
}

/// A number for each lane.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Lanes([u8; BYTES]);

impl Steps {
    /// Whether there are instructions for so many elements of so many bytes, these fill two registers, and the step is not too wide.
    pub fn suit(size: usize, (count, step): (usize, isize)) -> bool {
        if count * size < 2 * BYTES {
            return false;
        }
        let is_near = step == -1 || (2..=STEPS as isize).contains(&step) && step as usize * size <= BYTES;
        let has_words = is_x86_feature_detected!("avx512f");
        let has_halves = has_words && is_x86_feature_detected!("avx512bw");
        let has_bytes = has_halves && is_x86_feature_detected!("avx512vbmi");
        let has = match size {
            1 => has_bytes,
            2 => has_halves,
            4 | 8 => has_words,
            _ => false,
        };
        is_near && has
    }

    /// For elements that they suit.
    pub fn new(size: usize, (count, step): (usize, isize)) -> Option<Steps> {
        Steps::suit(size, (count, step)).then(|| {
            let mut sources = [Lanes([0; BYTES]); STEPS];
            let lanes = BYTES / size;
            for (register, sources) in sources[..step.unsigned_abs()].iter_mut().enumerate() {
                for (lane, source) in sources.0.chunks_exact_mut(size).enumerate() {
                    let number = if step < 0 {
                        lanes - 1 - lane
                    } else {
                        lane_from(lane, step as usize, register, lanes)
                    };
                    // Of the number, the other bytes are zero.
                    source[0] = number as u8;
                }
            }
            Steps { size, step, sources }
        })
    }

    /// Copies as many elements next to each other, as far as registers go; how many that are. There are `left` elements, of which they are the
    /// first.
    ///
    /// # Safety
    /// All that lies between the first and the last of `left` elements can be read, `count` elements can be written, and the two do not
    /// overlap.
    pub unsafe fn copy(&self, (count, left): (usize, usize), to: *mut u8, from: *const u8) -> usize {
        // SAFETY: by contract; the processor has the instructions.
        unsafe {
            match self.size {
                1 => bytes(self, (count, left), to.cast(), from.cast()),
                2 => halves(self, (count, left), to.cast(), from.cast()),
                4 => words(self, (count, left), to.cast(), from.cast()),
                8 => longs(self, (count, left), to.cast(), from.cast()),
                size => unreachable!("there are no steps of elements of {size} bytes"),
            }
        }
    }
}

/// Which lane comes from where as a register is added to those before it.
const fn lane_from(lane: usize, step: usize, register: usize, lanes: usize) -> usize {
    let place = (lane * step).wrapping_sub(register * lanes);
    if place < lanes {
        lanes + place
    } else if register == 1 {
        lane * step % lanes
    } else {
        lane
    }
}

macro_rules! lanes {
    ($name:ident, $features:literal, $unit:ty, $permute:ident) => {
        /// # Safety
        /// As [`Steps::copy`], on a processor that has the instructions.
        #[target_feature(enable = $features)]
        unsafe fn $name(
            steps: &Steps,
            (count, left): (usize, usize),
            to: *mut $unit,
            from: *const $unit,
        ) -> usize {
            const LANES: usize = BYTES / size_of::<$unit>();
            let source = |register: usize| {
                let lanes = steps.sources[register].0.as_ptr();
                // SAFETY: there are as many bytes as in a register, aligned as one.
                unsafe { _mm512_load_si512(lanes.cast()) }
            };
            let mut copied = 0;
            if steps.step < 0 {
                let reversed = source(0);
                while copied + LANES <= count {
                    // SAFETY: by contract: these are elements.
                    unsafe {
                        let all = _mm512_loadu_si512(from.sub(copied + LANES - 1).cast());
                        _mm512_storeu_si512(to.add(copied).cast(), $permute(all, reversed, all));
                    }
                    copied += LANES;
                }
                return copied;
            }
            let step = steps.step as usize;
            // The last element of a register's worth is not the last one that there is: all before the next one can be read.
            while copied + LANES <= count && copied + LANES < left {
                // SAFETY: see above.
                unsafe {
                    let first = from.add(copied * step);
                    let mut all = _mm512_loadu_si512(first.cast());
                    for register in 1..step {
                        let next = _mm512_loadu_si512(first.add(register * LANES).cast());
                        all = $permute(all, source(register), next);
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
