//! Transpositions of what lies a few steps apart in the source: pieces of it are put next to each other in memory that stays in the caches,
//! and turned there.

use std::mem::MaybeUninit;

use super::rows::{Apart, bring};
use super::squares::{self, Dense, LINE};
use super::{Address, Offset};

/// The bytes of a piece.
const PIECE: usize = 1 << 8;

/// From the beginning of a piece to that of the next one: they begin in other sets of a cache.
const PITCH: usize = PIECE + LINE;

/// How many pieces there is room for on the stack: of elements of any size in whole squares.
const PIECES: usize = LINE;

/// Pieces next to each other.
#[repr(C, align(64))]
struct Pieces([u8; PIECES * PITCH]);

/// Copies two rows of offsets as [`squares`](squares::squares) does, where each element of `across` lies as many bytes after the one before
/// in the source.
///
/// # Safety
/// As [`squares`](squares::squares), for elements that lie so; the target is dense if it is said to be.
// Its pieces are on the stack only where they are used: other copies have rooms of their own.
#[inline(never)]
pub unsafe fn turn<T: Copy>(
    (across, inner): (&[Offset], &[Offset]),
    (apart, stride, is_dense): (&Apart, isize, bool),
    (to, from): (Address, Address),
    streams: bool,
) {
    let (size, none) = (size_of::<T>(), Offset { to: 0, from: 0 });
    let mut room = MaybeUninit::<Pieces>::uninit();
    let there = Address(room.as_mut_ptr().cast());
    let (mut of_piece, mut of_all) = ([none; PIECE], [none; PIECES]);
    for inner in inner.chunks(PIECES) {
        let mut left = across.len();
        for across in across.chunks(PIECE / size) {
            for (number, row) in inner.iter().enumerate() {
                let (place, first) = ((number * PITCH) as isize, from.at(row.from + across[0].from));
                let length = across.len() as isize * stride;
                bring(first.at(length), length.unsigned_abs());
                // SAFETY: by contract; there is room for each piece.
                unsafe { apart.copy::<T>((across.len(), left), there.at(place), (first, stride)) };
                of_all[number] = Offset { to: row.to, from: place };
            }
            for (place, offset) in across.iter().enumerate() {
                of_piece[place] = Offset { to: offset.to, from: (place * size) as isize };
            }
            let sides = (&of_piece[..across.len()], &of_all[..inner.len()]);
            let dense = Dense { source: true, target: is_dense };
            // SAFETY: by contract; the pieces are there.
            unsafe { squares::squares::<T>(sides, dense, (to, there), streams) };
            left -= across.len();
        }
    }
}
