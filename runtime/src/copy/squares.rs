//! Transpositions: the source runs along another axis than the target.
//!
//! A square has as many elements on a side as a line of the cache holds. Its lines are read whole, one after another, are
//! turned in vector registers into a buffer, and written whole: rows that lie a power of two apart push each other out of
//! the cache, so none may be needed twice.

#[cfg(target_arch = "x86_64")]
mod wide;

use super::{Address, Offset};

/// A line of the cache, in bytes.
pub const LINE: usize = 64;

/// A vector register of any processor, in bytes.
const REGISTER: usize = 16;

/// How many squares lie side by side in a unit of work: memory is read in runs of so many lines.
pub const WIDTH: usize = 32;

/// The elements on the side of a square.
pub const fn side(size: usize) -> usize {
    LINE / size
}

/// The lines of a square.
#[repr(C, align(64))]
struct Square([u8; LINE * LINE]);

/// Whether elements lie next to each other: of the source along `across`, of the target along `inner`.
#[derive(Clone, Copy, Debug)]
pub struct Dense {
    pub source: bool,
    pub target: bool,
}

/// Copies two rows of offsets, square by square: `across`, along which the source runs, and `inner`, along which the target does. Where
/// `streams`, lines of the cache are written past it: a fence must follow.
///
/// # Safety
/// As [`copy`](super::copy), for the elements at the sums of an offset of each row. Where a tensor is dense, each offset of its
/// row is that of the next element after the one before.
pub unsafe fn squares<T: Copy>(
    (across, inner): (&[Offset], &[Offset]),
    dense: Dense,
    (to, from): (Address, Address),
    streams: bool,
) {
    let (size, side) = (size_of::<T>(), side(size_of::<T>()));
    let mut square = Square([0; LINE * LINE]);
    let lines: *mut u8 = square.0.as_mut_ptr();
    #[cfg(target_arch = "x86_64")]
    let is_wide = dense.source && dense.target && wide::turns(size);
    #[cfg(not(target_arch = "x86_64"))]
    let is_wide = false;
    // Where a square need not be whole, the first ends with a line of the source, so that the others read one line of it each.
    let start = across.first().map_or(0, |first| from.at(first.from).0.addr());
    let ahead = start.wrapping_neg() % LINE;
    let head = if is_wide && ahead.is_multiple_of(size) { (ahead / size).min(across.len()) } else { 0 };
    let (head, others) = across.split_at(head);
    // Registers have masks.
    let parts =
        starts(others.len(), side, !is_wide).map(|first| &others[first..others.len().min(first + side)]);
    for across in [head].into_iter().filter(|head| !head.is_empty()).chain(parts) {
        #[cfg(target_arch = "x86_64")]
        if is_wide && streams && !fill_lines((across, inner), to) {
            // SAFETY: by contract; the processor has the instructions.
            unsafe { wide::turn_rows(size, (across, inner), (to, from)) };
            continue;
        }
        for first in starts(inner.len(), side, !is_wide) {
            let below = &inner[first..];
            let inner = &below[..side.min(below.len())];
            #[cfg(target_arch = "x86_64")]
            if is_wide {
                // SAFETY: by contract; the processor has the instructions.
                unsafe { wide::turn(size, (across, inner), (to, from), streams) };
                continue;
            }
            let is_whole = inner.len() == side && across.len() == side;
            // SAFETY: by contract, and a square has room for as many lines as a line has elements.
            unsafe {
                if dense.source && is_whole {
                    turn::<T>(from.at(across[0].from), (side, side), below, lines);
                } else if dense.source && inner.len().min(across.len()) >= REGISTER / size {
                    turn::<T>(from.at(across[0].from), (across.len(), inner.len()), below, lines);
                } else {
                    collect::<T>((across, inner), from, lines);
                }
                put_all::<T>((across, inner), (lines, dense.target), to, streams && is_whole);
            }
        }
    }
}

/// Where parts begin of so many elements, or of all that there are. One that would have fewer ends where the elements do, and has some
/// of them again, if parts may overlap.
fn starts(count: usize, part: usize, overlaps: bool) -> impl Iterator<Item = usize> {
    let last = if overlaps { count.saturating_sub(part) } else { count };
    (0..count).step_by(part).map(move |first| first.min(last))
}

/// Whether parts of the rows of the target begin with lines of the cache.
#[cfg(target_arch = "x86_64")]
fn fill_lines((across, inner): (&[Offset], &[Offset]), to: Address) -> bool {
    across.iter().all(|row| to.at(row.to + inner[0].to).0.addr().is_multiple_of(LINE))
}

/// Writes what is in lines to where it belongs: side by side where the target is dense.
///
/// # Safety
/// As [`squares`].
#[inline(always)]
unsafe fn put_all<T: Copy>(
    (across, inner): (&[Offset], &[Offset]),
    (lines, is_dense): (*const u8, bool),
    to: Address,
    streams: bool,
) {
    let bytes = size_of::<T>() * inner.len();
    for (index, row) in across.iter().enumerate() {
        // SAFETY: by contract.
        unsafe {
            let (to, line) = (to.at(row.to), lines.add(index * LINE));
            if !is_dense {
                for (place, offset) in inner.iter().enumerate() {
                    let value = line.cast::<T>().add(place).read();
                    to.at(offset.to).0.cast::<T>().write_unaligned(value);
                }
            } else if bytes == LINE {
                put(line, to.at(inner[0].to).0, streams);
            } else if bytes >= REGISTER {
                let to = to.at(inner[0].to).0;
                for first in starts(bytes, REGISTER, true) {
                    std::ptr::copy_nonoverlapping(line.add(first), to.add(first), REGISTER);
                }
            } else {
                std::ptr::copy_nonoverlapping(line, to.at(inner[0].to).0, bytes);
            }
        }
    }
}

/// Elements one by one: those at one index of `across` into a line.
///
/// # Safety
/// As [`squares`].
unsafe fn collect<T: Copy>((across, inner): (&[Offset], &[Offset]), from: Address, lines: *mut u8) {
    for (place, below) in inner.iter().enumerate() {
        for (index, row) in across.iter().enumerate() {
            // SAFETY: by contract.
            unsafe {
                let value = from.at(below.from + row.from).0.cast::<T>().read_unaligned();
                lines.add(index * LINE).cast::<T>().add(place).write(value);
            }
        }
    }
}

/// Writes a line.
///
/// # Safety
/// A line can be read from `line`, which is aligned, and written to `to`.
#[inline(always)]
unsafe fn put(line: *const u8, to: *mut u8, streams: bool) {
    #[cfg(target_arch = "x86_64")]
    if streams && to.addr().is_multiple_of(LINE) {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
        let (line, to) = (line.cast::<__m128i>(), to.cast::<__m128i>());
        for part in 0..LINE / 16 {
            // SAFETY: both are aligned.
            unsafe { _mm_stream_si128(to.add(part), _mm_load_si128(line.add(part))) };
        }
        return;
    }
    let _ = streams;
    // SAFETY: by contract.
    unsafe { std::ptr::copy_nonoverlapping(line, to, LINE) };
}

/// Turns a square, or what there is of it: so many elements `across`, and so many of the lines that lie `below` each other in the source.
///
/// # Safety
/// There are at least as many elements across and lines below as a register has elements, and as many of each as a line of the cache
/// has at most; `across` elements can be read from `from` on at each of those lines. `lines` has room for a square.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
unsafe fn turn<T: Copy>(from: Address, (across, inner): (usize, usize), below: &[Offset], lines: *mut u8) {
    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_setzero_si128, _mm_storeu_si128,
    };
    let (size, side) = (size_of::<T>(), side(size_of::<T>()));
    // What a register has: a small square is turned in as many registers.
    let lanes = REGISTER / size;
    let mut registers = [_mm_setzero_si128(); 16];
    for down in starts(inner, lanes, true) {
        let rows: [Address; 16] = std::array::from_fn(|lane| from.at(below[down + lane % lanes].from));
        // The square below.
        for next in below.iter().skip(side + down).take(lanes) {
            _mm_prefetch::<_MM_HINT_T0>(from.at(next.from).0.cast());
        }
        for part in starts(across, lanes, true) {
            for (row, register) in rows.iter().zip(&mut registers[..lanes]) {
                // SAFETY: by contract.
                *register = unsafe { _mm_loadu_si128(row.at((part * size) as isize).0.cast()) };
            }
            turn_registers(size, &mut registers);
            for (lane, register) in registers[..lanes].iter().enumerate() {
                // SAFETY: the lane's line of the square.
                unsafe {
                    let to = lines.add((part + lane) * LINE + down * size);
                    _mm_storeu_si128(to.cast(), *register);
                }
            }
        }
    }
}

/// Turns the square of elements of that size that as many registers as a register has elements hold.
///
/// Each round interleaves the first half of the registers with the second. That moves the highest bit of an element's row
/// into its column, and the highest bit of its column into its row: after a round for each bit, they have changed places.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn turn_registers(size: usize, registers: &mut [std::arch::x86_64::__m128i; 16]) {
    use std::arch::x86_64::*;
    let lanes = 16 / size;
    let mut round = 1;
    while round < lanes {
        let old = *registers;
        for (pair, both) in registers[..lanes].chunks_exact_mut(2).enumerate() {
            let (x, y) = (old[pair], old[pair + lanes / 2]);
            let (low, high) = match size {
                1 => (_mm_unpacklo_epi8(x, y), _mm_unpackhi_epi8(x, y)),
                2 => (_mm_unpacklo_epi16(x, y), _mm_unpackhi_epi16(x, y)),
                4 => (_mm_unpacklo_epi32(x, y), _mm_unpackhi_epi32(x, y)),
                _ => (_mm_unpacklo_epi64(x, y), _mm_unpackhi_epi64(x, y)),
            };
            both.copy_from_slice(&[low, high]);
        }
        round *= 2;
    }
}

/// Turns a square, or what there is of it: so many elements `across`, and so many of the lines that lie `below` each other in the source.
///
/// # Safety
/// There are at least as many elements across and lines below as a register has elements, and as many of each as a line of the cache
/// has at most; `across` elements can be read from `from` on at each of those lines. `lines` has room for a square.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn turn<T: Copy>(from: Address, (across, inner): (usize, usize), below: &[Offset], lines: *mut u8) {
    let size = size_of::<T>() as isize;
    let offsets: [Offset; LINE] = std::array::from_fn(|index| Offset { to: 0, from: index as isize * size });
    // SAFETY: by contract.
    unsafe { collect::<T>((&offsets[..across], &below[..inner]), from, lines) };
}
