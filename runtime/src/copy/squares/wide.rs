//! Squares that are turned in registers of a line each.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::super::{Address, Offset};
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
pub unsafe fn turn(size: usize, rows: (&[Offset], &[Offset]), addresses: (Address, Address), streams: bool) {
    // SAFETY: by contract.
    unsafe {
        match size {
            4 => {
                let halves = [
                    _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                    _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
                ];
                let interleaved = |x, y| halves.map(|half| _mm512_permutex2var_epi32(x, half, y));
                turned::<16>(rows, addresses, streams, interleaved);
            }
            8 => {
                let halves = [
                    _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                    _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15),
                ];
                let interleaved = |x, y| halves.map(|half| _mm512_permutex2var_epi64(x, half, y));
                turned::<8>(rows, addresses, streams, interleaved);
            }
            16 => {
                let halves = [
                    _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                    _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15),
                ];
                let interleaved = |x, y| halves.map(|half| _mm512_permutex2var_epi64(x, half, y));
                turned::<4>(rows, addresses, streams, interleaved);
            }
            _ => unreachable!("squares of other sizes are not turned here"),
        }
    }
}

/// How many bytes ahead the source is brought into the second-level cache: no processor foresees what lies far apart. It is the
/// square after the next one, for a row of a square may lie in two lines of the cache.
const AHEAD: isize = 2 * LINE as isize;

/// Bytes of squares that are turned before they are written.
const PARTS: usize = 1 << 14;

/// Parts of rows of the target.
#[repr(C, align(64))]
struct Parts([u8; PARTS]);

/// Turns squares that follow each other along `inner` in memory that stays in the first-level cache, and then writes their rows past
/// the caches: a fence must follow. Rows need not begin or end with lines; what is left of lines at both ends goes through the caches.
///
/// # Safety
/// As [`turn`], for as many squares as that memory has room for.
#[target_feature(enable = "avx512f")]
pub unsafe fn turn_rows(
    size: usize,
    (across, inner): (&[Offset], &[Offset]),
    (to, from): (Address, Address),
) {
    let (side, bytes) = (LINE / size, inner.len() * size);
    let mut rows = MaybeUninit::<Parts>::uninit();
    let there = Address(rows.as_mut_ptr().cast());
    let pitch = (PARTS / side) as isize;
    debug_assert!(bytes <= pitch as usize && across.len() <= side);
    let mut turned = [Offset { to: 0, from: 0 }; LINE / 4];
    for ((index, row), turned) in (0..).zip(across).zip(&mut turned) {
        *turned = Offset { to: index * pitch - inner[0].to, from: row.from };
    }
    let turned = &turned[..across.len()];
    for square in inner.chunks(side) {
        // SAFETY: by contract.
        unsafe { turn(size, (turned, square), (there, from), false) };
    }
    for (index, row) in (0..).zip(across) {
        // SAFETY: by contract.
        unsafe { stream(there.at(index * pitch), to.at(row.to + inner[0].to), bytes) };
    }
}

/// Writes bytes past the caches, but for what is left of lines.
///
/// # Safety
/// As many can be read, and written; the two do not overlap.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn stream(from: Address, to: Address, bytes: usize) {
    let head = (to.0.addr().wrapping_neg() % LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: by contract; from the head on, lines of the target are aligned.
    unsafe {
        std::ptr::copy_nonoverlapping(from.0, to.0, head);
        for line in (head..tail).step_by(LINE) {
            let line = line as isize;
            _mm512_stream_si512(to.at(line).0.cast(), _mm512_loadu_si512(from.at(line).0.cast()));
        }
        std::ptr::copy_nonoverlapping(from.0.add(tail), to.0.add(tail), bytes - tail);
    }
}

/// Does what [`turn`] does, given how two lines are interleaved: their first halves, and their second ones. As in
/// [`turn_registers`](super::turn_registers), each round interleaves the first half of the lines with the second.
///
/// # Safety
/// As [`turn`].
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn turned<const SIDE: usize>(
    (across, inner): (&[Offset], &[Offset]),
    (to, from): (Address, Address),
    streams: bool,
    interleaved: impl Fn(__m512i, __m512i) -> [__m512i; 2],
) {
    // Of 4 bytes each: as many as there are of the elements.
    let mask = |elements: usize| u16::MAX >> (16 - elements * (16 / SIDE));
    let mut lines = [_mm512_setzero_si512(); SIDE];
    let from = from.at(across[0].from);
    // Loops of a fixed number of steps, which LLVM unrolls: lines stay in registers.
    let (is_read_whole, read) = (across.len() == SIDE, mask(across.len()));
    for (index, line) in lines.iter_mut().enumerate() {
        let Some(row) = inner.get(index) else { break };
        let at = from.at(row.from).0.cast::<i32>();
        // SAFETY: by contract; what is brought into a cache need not be there.
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(at.cast::<i8>().wrapping_offset(AHEAD));
            *line = if is_read_whole {
                _mm512_loadu_si512(at.cast())
            } else {
                _mm512_maskz_loadu_epi32(read, at)
            };
        }
    }
    for _ in 0..SIDE.ilog2() {
        let old = lines;
        for (pair, both) in lines.chunks_exact_mut(2).enumerate() {
            both.copy_from_slice(&interleaved(old[pair], old[pair + SIDE / 2]));
        }
    }
    let to = to.at(inner[0].to);
    let (is_written_whole, written) = (inner.len() == SIDE, mask(inner.len()));
    for (index, line) in lines.into_iter().enumerate() {
        let Some(row) = across.get(index) else { break };
        let to = to.at(row.to).0;
        // SAFETY: by contract; what is streamed is aligned.
        unsafe {
            if !is_written_whole {
                _mm512_mask_storeu_epi32(to.cast(), written, line);
            } else if streams && to.addr().is_multiple_of(LINE) {
                _mm512_stream_si512(to.cast(), line);
            } else {
                _mm512_storeu_si512(to.cast(), line);
            }
        }
    }
}
