//! From the memory of the matrices to lines of words in shared memory.

use promote_scalar::{Binary, Cast, Element, Ty, convert, memory};

use super::super::is_multiple;
use super::{Kernel, LEFT, QUARTER, RIGHT, THREADS, WORDS, depth, place_of};
use crate::build::Build;
use crate::code::Code;

/// What a thread loads at once of a matrix, again and again: a quarter of a line, or of two lines beside each other.
#[derive(Clone, Copy)]
pub(super) struct Piece<V> {
    /// Where its first line goes in half of shared memory.
    place: V,
    /// The index of what is summed over where the quarter begins, in the line; in 32 bits.
    term: V,
    /// How many of its lines there are, in 32 bits.
    lines: V,
    /// The first element in memory, the first time.
    at: V,
}

/// What a piece is made of: elements that lie beside each other are loaded together, as one integer or several.
#[derive(Clone, Copy)]
struct Shape {
    /// The elements along what is summed over, and the lines.
    terms: i64,
    lines: i64,
    /// How many elements an integer has, and its type.
    together: i64,
    ty: Ty,
}

/// What there is of a piece.
struct Rest<V> {
    /// Its first element in memory.
    first: V,
    /// How many terms and lines there are, in 32 bits.
    terms: V,
    lines: V,
    /// Whether all of it is there, where it can be loaded at once.
    is_whole: V,
}

/// How many there are of so many that are left, up to a number; in 32 bits.
fn within<C: Code>(code: &mut C, left: C::Value, all: i64) -> C::Value {
    let [none, all] = [0, all].map(|number| code.number(number));
    let left = code.binary(Binary::MaxS, left, none);
    let left = code.min(left, all);
    code.cast(Cast::Truncate, left, Ty::I32)
}

impl<C: Code> Kernel<'_, C> {
    fn shape(&self, which: usize) -> Shape {
        let bits = i64::from(self.raw(which).bits());
        let terms = QUARTER * self.factors.per_word();
        if which == LEFT {
            // Elements of a quarter lie beside each other.
            return Shape { terms, lines: 1, together: 32 / bits, ty: Ty::I32 };
        }
        // The lines of the right matrix are its columns, and elements of several lie beside each other.
        let lines = self.tile.columns * WORDS / QUARTER / THREADS;
        Shape { terms, lines, together: lines, ty: Ty::integer((lines * bits) as u32) }
    }

    /// Whether rows of the left matrix consist of whole quarters, and those of the right one and of the product of as many columns
    /// as are accessed at once.
    pub(super) fn evenness(&self, code: &mut C) -> [C::Value; 2] {
        let [left, right] = [self.shape(LEFT), self.shape(RIGHT)];
        [
            is_multiple(code, self.matrices.inner, left.terms),
            is_multiple(code, self.matrices.columns, right.lines.max(2)),
        ]
    }

    /// What a thread loads of a matrix, whose part of the tile begins with the line `first`.
    pub(super) fn pieces(
        &self,
        code: &mut C,
        which: usize,
        (batch, first): (C::Value, C::Value),
    ) -> Vec<Piece<C::Value>> {
        let shape = self.shape(which);
        let quarters = WORDS / QUARTER;
        let lines = if which == LEFT { self.tile.rows } else { self.tile.columns };
        let start = self.matrices.start(code, batch, which);
        let [rows, columns] = self.matrices.extents(which);
        // Threads beside each other load what lies beside each other.
        let (line, quarter) = if which == LEFT {
            code.split(self.thread, quarters)
        } else {
            let (quarter, line) = code.split(self.thread, lines / shape.lines);
            (code.scaled(line, shape.lines), quarter)
        };
        let place = place_of(code, line, quarter);
        let term = code.scaled(quarter, shape.terms);
        let line = code.add(first, line);
        let short = code.cast(Cast::Truncate, term, Ty::I32);
        let one = code.number(1);
        let last = code.sub(rows, one);
        let piece = |ahead: i64| {
            let line = code.ahead(line, ahead);
            let (y, x, lines) = if which == LEFT {
                // What comes of rows beyond the last one is not stored: they may be any.
                (code.min(line, last), term, code.int(Ty::I32, shape.lines))
            } else {
                let left = code.sub(columns, line);
                (term, line, within(code, left, shape.lines))
            };
            let at = code.mul(y, columns);
            let at = code.add(at, x);
            Piece { place: code.ahead(place, ahead * WORDS), term: short, lines, at: code.add(at, start) }
        };
        let each = THREADS / quarters * shape.lines;
        (0..lines).step_by(each as usize).map(piece).collect()
    }

    /// Whether a matrix is in memory as it is in shared memory, and is copied there.
    fn is_copied(&self, which: usize) -> bool {
        which == LEFT && self.dtypes[which] == self.factors.dtypes()[which]
    }

    /// Begins to bring a piece of both matrices, from an index of what is summed over on, to one half of shared memory: what is
    /// not copied is loaded as it is in memory.
    pub(super) fn fetch(
        &self,
        code: &mut C,
        pieces: &[Vec<Piece<C::Value>>; 2],
        (from, half): (C::Value, C::Value),
    ) -> [Vec<C::Value>; 2] {
        [LEFT, RIGHT].map(|which| {
            let start = self.start(code, which, half);
            let place = |code: &mut C, piece: &Piece<C::Value>| code.add(piece.place, start);
            let fetch = |piece: &Piece<C::Value>| {
                if !self.is_copied(which) {
                    return self.load(code, which, piece, from);
                }
                let place = place(code, piece);
                self.copy(code, piece, from, place);
                Vec::new()
            };
            pieces[which].iter().flat_map(fetch).collect()
        })
    }

    /// What there is of a piece from an index of what is summed over on.
    fn rest(&self, code: &mut C, which: usize, piece: &Piece<C::Value>, from: C::Value) -> Rest<C::Value> {
        let shape = self.shape(which);
        // What is left of what is summed over, as far as the line goes.
        let left = code.sub(self.matrices.inner, from);
        let left = within(code, left, depth(self.factors));
        let terms = code.sub(left, piece.term);
        let ahead = if which == LEFT { from } else { code.mul(from, self.matrices.columns) };
        let first = code.add(piece.at, ahead);
        let [no_lines, all_terms] = [0, shape.terms - 1].map(|number| code.int(Ty::I32, number));
        let has_terms = code.less(all_terms, terms);
        let has_lines = code.less(no_lines, piece.lines);
        let is_there = code.both(has_terms, has_lines);
        Rest { first, terms, lines: piece.lines, is_whole: code.both(is_there, self.is_even[which]) }
    }

    /// Copies a piece to shared memory; what is beyond the ends of a matrix has no bits.
    fn copy(&self, code: &mut C, piece: &Piece<C::Value>, from: C::Value, place: C::Value) {
        let shape = self.shape(LEFT);
        let rest = self.rest(code, LEFT, piece, from);
        let mut branch = code.open_if(rest.is_whole);
        let (word, _) = code.split(rest.first, shape.together);
        code.copy((self.matrices.memory[LEFT], word), (self.shared[LEFT], place));
        code.otherwise(&mut branch, &[]);
        let words = self.load_single(code, (LEFT, shape), &rest);
        code.put(self.shared[LEFT], place, &words);
        code.close_if(branch, &[]);
    }

    /// The integers of a piece; what is beyond the ends of a matrix has no bits.
    fn load(&self, code: &mut C, which: usize, piece: &Piece<C::Value>, from: C::Value) -> Vec<C::Value> {
        let shape = self.shape(which);
        let rest = self.rest(code, which, piece, from);
        let mut branch = code.open_if(rest.is_whole);
        let whole = self.load_whole(code, which, shape, rest.first);
        code.otherwise(&mut branch, &whole);
        let single = self.load_single(code, (which, shape), &rest);
        code.close_if(branch, &single)
    }

    fn load_whole(&self, code: &mut C, which: usize, shape: Shape, first: C::Value) -> Vec<C::Value> {
        let memory = self.matrices.memory[which];
        if which == LEFT {
            let (at, _) = code.split(first, shape.together);
            return code.load(memory, at, shape.ty, (shape.terms / shape.together) as usize);
        }
        let mut row = first;
        let mut all = Vec::new();
        for _ in 0..shape.terms {
            let (at, _) = code.split(row, shape.together);
            all.extend(code.load(memory, at, shape.ty, 1));
            row = code.add(row, self.matrices.columns);
        }
        all
    }

    /// The same an element at a time, of those that are there. Others have no bits: they are zero, or 2⁻¹²⁷ in `f8E8M0FNU`, which
    /// has no zero, and products of two such ones are too small to change a sum of `f32`.
    fn load_single(
        &self,
        code: &mut C,
        (which, shape): (usize, Shape),
        Rest { first, terms, lines, .. }: &Rest<C::Value>,
    ) -> Vec<C::Value> {
        let (memory, raw) = (self.matrices.memory[which], self.raw(which));
        let mut elements = Vec::new();
        for term in 0..shape.terms {
            let along =
                if which == LEFT { code.number(term) } else { code.scaled(self.matrices.columns, term) };
            let number = code.int(Ty::I32, term);
            let has_term = code.less(number, *terms);
            for line in 0..shape.lines {
                let number = code.int(Ty::I32, line);
                let has_line = code.less(number, *lines);
                let is_there = code.both(has_term, has_line);
                let mut branch = code.open_if(is_there);
                let at = code.add(*first, along);
                let at = code.ahead(at, line);
                let loaded = code.load(memory, at, raw, 1);
                code.otherwise(&mut branch, &loaded);
                let zero = code.int(raw, 0);
                elements.extend(code.close_if(branch, &[zero]));
            }
        }
        elements.chunks(shape.together as usize).map(|elements| code.join(elements)).collect()
    }

    /// Brings what was loaded to one half of shared memory, and waits for what is copied.
    pub(super) fn bring(
        &self,
        code: &mut C,
        pieces: &[Vec<Piece<C::Value>>; 2],
        loaded: &[Vec<C::Value>; 2],
        half: C::Value,
    ) {
        for which in [LEFT, RIGHT].into_iter().filter(|which| !self.is_copied(*which)) {
            let shape = self.shape(which);
            let start = self.start(code, which, half);
            let count = (shape.terms * shape.lines / shape.together) as usize;
            for (piece, loaded) in pieces[which].iter().zip(loaded[which].chunks(count)) {
                // Pieces of several lines begin at an even one, and the quarters of two such lines lie in the same order.
                for (line, words) in (0..).zip(self.lines(code, which, shape, loaded)) {
                    let at = code.ahead(piece.place, line * WORDS);
                    let at = code.add(at, start);
                    code.put(self.shared[which], at, &words);
                }
            }
        }
        if self.is_copied(LEFT) {
            code.finish_copies();
        }
    }

    /// The words of each line of a piece: factors that follow each other along what is summed over.
    fn lines(&self, code: &mut C, which: usize, shape: Shape, loaded: &[C::Value]) -> Vec<Vec<C::Value>> {
        let raw = self.raw(which);
        let elements: Vec<_> =
            loaded.iter().flat_map(|integer| code.parts(*integer, raw, shape.together as usize)).collect();
        let mut line = |line: usize| {
            let elements = elements.iter().skip(line).step_by(shape.lines as usize);
            let factors: Vec<_> = elements.map(|raw| self.factor(code, which, *raw)).collect();
            factors.chunks(self.factors.per_word() as usize).map(|factors| code.join(factors)).collect()
        };
        (0..shape.lines as usize).map(&mut line).collect()
    }

    /// A factor as it is in memory, of an element as it is there.
    fn factor(&self, code: &mut C, which: usize, raw: C::Value) -> C::Value {
        let (dtype, factor) = (self.dtypes[which], self.factors.dtypes()[which]);
        if dtype == factor {
            return raw;
        }
        let loaded = Element::Real(promote_scalar::load(code, dtype, raw));
        let converted = convert(code, dtype, factor, self.numerics, loaded).real();
        let stored = promote_scalar::store(code, factor, converted);
        debug_assert_eq!(code.ty(stored), memory(factor));
        stored
    }
}
