//! Squares that are turned in registers of a line each.

use std::arch::x86_64::*;

use super::super::{Address, Axis};
use super::LINE;

/// Whether squares of elements of that size are turned here.
pub fn turns(size: usize) -> bool {
    matches!(size, 4 | 8 | 16) && is_x86_feature_detected!("avx512f")
}

/// Turns a square, or what there is of it: elements that follow each other along `across` in the source, and along `inner` in the
/// target. Where `streams`, whole lines that are aligned are written past the caches: a fence must follow.
///
/// # Safety
/// As [`squares`](super::squares), for a square of a size that [`turns`] takes.
#[target_feature(enable = "avx512f")]
pub unsafe fn turn(size: usize, axes: (Axis, Axis), addresses: (Address, Address), streams: bool) {
    // SAFETY: by contract.
    unsafe {
        match size {
            4 => {
                let halves = [
                    _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                    _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
                ];
                let interleaved = |x, y| halves.map(|half| _mm512_permutex2var_epi32(x, half, y));
                turned::<16>(axes, addresses, streams, interleaved);
            }
            8 => {
                let halves = [
                    _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                    _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15),
                ];
                let interleaved = |x, y| halves.map(|half| _mm512_permutex2var_epi64(x, half, y));
                turned::<8>(axes, addresses, streams, interleaved);
            }
            16 => {
                let halves = [
                    _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                    _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15),
                ];
                let interleaved = |x, y| halves.map(|half| _mm512_permutex2var_epi64(x, half, y));
                turned::<4>(axes, addresses, streams, interleaved);
            }
            _ => unreachable!("squares of other sizes are not turned here"),
        }
    }
}

/// The same, given how two lines are interleaved: their first halves, and their second ones. As in
/// [`turn_registers`](super::turn_registers), each round interleaves the first half of the lines with the second.
///
/// # Safety
/// As [`turn`].
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn turned<const SIDE: usize>(
    (across, inner): (Axis, Axis),
    (to, from): (Address, Address),
    streams: bool,
    interleaved: impl Fn(__m512i, __m512i) -> [__m512i; 2],
) {
    // Of 4 bytes each: as many as there are of the elements.
    let mask = |elements: usize| u16::MAX >> (16 - elements * (16 / SIDE));
    let mut lines = [_mm512_setzero_si512(); SIDE];
    for (row, line) in lines.iter_mut().enumerate().take(inner.extent) {
        let at = from.at(row as isize * inner.from).0.cast::<i32>();
        // SAFETY: by contract.
        *line = unsafe {
            if across.extent == SIDE {
                _mm512_loadu_si512(at.cast())
            } else {
                _mm512_maskz_loadu_epi32(mask(across.extent), at)
            }
        };
    }
    for _ in 0..SIDE.ilog2() {
        let old = lines;
        for (pair, both) in lines.chunks_exact_mut(2).enumerate() {
            both.copy_from_slice(&interleaved(old[pair], old[pair + SIDE / 2]));
        }
    }
    for (row, line) in lines.into_iter().enumerate().take(across.extent) {
        let to = to.at(row as isize * across.to).0.cast::<i32>();
        // SAFETY: by contract; what is streamed is aligned.
        unsafe {
            if inner.extent < SIDE {
                _mm512_mask_storeu_epi32(to, mask(inner.extent), line);
            } else if streams && to.addr().is_multiple_of(LINE) {
                _mm512_stream_si512(to.cast(), line);
            } else {
                _mm512_storeu_si512(to.cast(), line);
            }
        }
    }
}
