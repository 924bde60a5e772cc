//! From the memory of the matrices to shared memory.

use promote_scalar::{Binary, Cast, Element, Ty, convert, memory};

use super::{Kernel, LEFT, RIGHT, Steps, THREADS, Tile};
use crate::build::Build;
use crate::code::Code;

/// What a thread loads at once of a matrix, again and again: of the left one beside each other along what is summed over, of
/// the right one along its columns.
#[derive(Clone, Copy)]
pub(super) struct Piece<V> {
    /// The index of what is summed over, in what the group loads at once.
    term: V,
    /// The row of the left matrix, or the first column of the right one, in the tile.
    line: V,
    /// How many elements there are of the row, or the columns, up to as many as it loads, in 32 bits.
    lines: V,
    /// The first element in memory, the first time.
    at: V,
}

impl<C: Code> Kernel<'_, C> {
    /// What a thread loads of a matrix, whose part of the tile begins with the row, or the column, `first`.
    pub(super) fn pieces(
        &self,
        code: &mut C,
        which: usize,
        (batch, first): (C::Value, C::Value),
    ) -> Vec<Piece<C::Value>> {
        let (Tile { rows, columns, .. }, Steps { depth, at_once, .. }) = (self.tile, self.steps);
        let (across, count) = if which == LEFT { (depth, rows * depth) } else { (columns, depth * columns) };
        let [of_rows, of_columns] = self.matrices.extents(which);
        let start = self.matrices.start(code, batch, which);
        let piece = |round: i64| {
            let number = code.ahead(self.thread, round * THREADS);
            let (y, x) = code.split(number, across / at_once);
            let x = code.scaled(x, at_once);
            let (term, line) = if which == LEFT { (x, y) } else { (y, x) };
            let place = code.add(first, line);
            let (y, x) = if which == LEFT { (place, term) } else { (term, place) };
            let at = code.mul(y, of_columns);
            let at = code.add(at, x);
            let lines = code.sub(if which == LEFT { of_rows } else { of_columns }, place);
            Piece { term, line, lines: self.within(code, lines), at: code.add(at, start) }
        };
        (0..count / (at_once * THREADS)).map(piece).collect()
    }

    /// Loads a piece of both matrices, from an index of what is summed over on, as it is in memory.
    pub(super) fn fetch(
        &self,
        code: &mut C,
        pieces: &[Vec<Piece<C::Value>>; 2],
        from: C::Value,
    ) -> [Vec<C::Value>; 2] {
        [LEFT, RIGHT].map(|which| {
            let mut branch = code.open_if(self.is_even[which]);
            let whole = self.fetch_of(code, (which, &pieces[which]), from, self.steps.at_once);
            code.otherwise(&mut branch, &whole);
            let single = self.fetch_of(code, (which, &pieces[which]), from, 1);
            code.close_if(branch, &single)
        })
    }

    /// How many elements of those that are loaded at once are there, of so many that are left; in 32 bits.
    fn within(&self, code: &mut C, left: C::Value) -> C::Value {
        let [none, all] = [0, self.steps.at_once].map(|number| code.number(number));
        let left = code.binary(Binary::MaxS, left, none);
        let left = code.min(left, all);
        code.cast(Cast::Truncate, left, Ty::I32)
    }

    /// The same of one matrix, so many elements at once.
    fn fetch_of(
        &self,
        code: &mut C,
        (which, pieces): (usize, &[Piece<C::Value>]),
        from: C::Value,
        at_once: i64,
    ) -> Vec<C::Value> {
        let ahead = if which == LEFT { from } else { code.mul(from, self.matrices.columns) };
        let ty = memory(self.dtypes[which]);
        let none = code.int(Ty::I32, 0);
        let mut all = Vec::new();
        for piece in pieces {
            let first = code.add(piece.at, ahead);
            let term = code.add(piece.term, from);
            let left = code.sub(self.matrices.inner, term);
            let terms = self.within(code, left);
            // Elements follow each other along one, and are there if any of the other is.
            let (along, other) = if which == LEFT { (terms, piece.lines) } else { (piece.lines, terms) };
            let is_other = code.less(none, other);
            let count = code.select(is_other, along, none);
            for number in (0..self.steps.at_once).step_by(at_once as usize) {
                let before = code.int(Ty::I32, number);
                let is_there = code.less(before, count);
                let mut branch = code.open_if(is_there);
                let at = code.ahead(first, number);
                let loaded = code.load(self.matrices.memory[which], at, ty, at_once as usize);
                code.otherwise(&mut branch, &loaded);
                // What is beyond the ends has no bits: it is zero, or 2⁻¹²⁷ in `f8E8M0FNU`, which has no zero. Such
                // dtypes are added up in `f32`, and products of two such ones are too small to change a sum. A sum that is a negative zero does not stay one in the total.
                let filler = code.zero(ty);
                all.extend(code.close_if(branch, &vec![filler; at_once as usize]));
            }
        }
        all
    }

    /// Brings what was loaded to one half of shared memory, in the dtype of sums. The left matrix is transposed.
    pub(super) fn bring(
        &self,
        code: &mut C,
        pieces: &[Vec<Piece<C::Value>>; 2],
        raw: &[Vec<C::Value>; 2],
        half: C::Value,
    ) {
        for which in [LEFT, RIGHT] {
            let (shared, pitch, dtype) = (self.shared[which], self.pitches[which], self.dtypes[which]);
            let start = code.scaled(half, self.steps.depth * pitch);
            for (piece, raw) in pieces[which].iter().zip(raw[which].chunks(self.steps.at_once as usize)) {
                let mut value = |raw: &C::Value| {
                    let loaded = Element::Real(promote_scalar::load(code, dtype, *raw));
                    convert(code, dtype, self.sum.0, self.numerics, loaded).real()
                };
                let values: Vec<_> = raw.iter().map(&mut value).collect();
                let at = code.scaled(piece.term, pitch);
                let at = code.add(at, piece.line);
                let at = code.add(at, start);
                if which == RIGHT {
                    code.put(shared, at, &values);
                    continue;
                }
                for (number, value) in (0..).zip(values) {
                    let at = code.ahead(at, number * pitch);
                    code.put(shared, at, &[value]);
                }
            }
        }
    }
}
