//! Products of matrices: tiles of both go through shared memory, and each thread adds up some elements of the product.
//!
//! The products of an element are added up one after the other, in the order of the index that is summed over, in blocks of
//! [`PRODUCTS`], as every target does. Each is rounded once with the sum, by a fused multiply-add. A thread has the sums of
//! one block in registers; what the blocks before came to is in the product's own memory meanwhile. Integers, whose sums are
//! the same in any order, are one block.
//!
//! While a group multiplies what one half of its shared memory holds, it loads the next piece of both matrices, and then brings
//! it to the other half. What is beyond the ends of what is summed over is filled with a zero on the left and a negative zero
//! on the right: a sum to which their product is added stays as it is, whatever it is.

use promote_dialect::extent::{Product as Extents, Sum, Symbol};
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind};
use promote_lower::graph::NodeId;
use promote_lower::order::PRODUCTS;
use promote_scalar::{Binary, Cast, Compare, Element, Ty, convert, memory, register};

use crate::build::Build;
use crate::code::Code;
use crate::elements::{load, store};
use crate::entry::{Entry, Geometry, Loops, Slot};
use crate::target::Dtypes;

/// The threads of a group stand in a square of so many rows and columns.
const SIDE: i64 = 16;
const THREADS: i64 = SIDE * SIDE;
/// The bytes of shared memory that are accessed at once.
const WIDEST: i64 = 16;
/// With so many tiles, all processors of a device have something to do.
const MANY_TILES: i64 = 128;

/// The numbers that a product takes, as symbols: the tiles of all batches, the rows, what is summed over, and the columns.
pub const SYMBOLS: u32 = 4;

/// The tile of a product that a group computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Its rows.
    pub rows: i64,
    /// Its columns.
    pub columns: i64,
    /// How much of what is summed over is in shared memory at once.
    depth: i64,
    /// How many elements of shared memory are accessed at once.
    at_once: i64,
    /// How many terms are added up before a branch: no more than there are registers for.
    unrolled: u32,
}

impl Tile {
    /// A large tile, and a small one for products that have few of those. The sums of a thread fill half of its registers at
    /// most; of those of 64 bits, with what they are computed of, there is room for a small tile only.
    fn all(dtype: DType) -> Vec<Self> {
        let at_once = WIDEST * 8 / i64::from(sums(dtype).1.bits());
        let of = |own: i64, depth: i64, unrolled: u32| {
            let side = own * SIDE;
            Self { rows: side, columns: side, depth, at_once, unrolled }
        };
        if at_once < 4 { vec![of(4, 8, 4)] } else { vec![of(8, 8, 2), of(4, 16, 4)] }
    }

    /// How many tiles so many products have.
    const fn count(&self, batch: i64, rows: i64, columns: i64) -> i64 {
        let across = (rows as u64).div_ceil(self.rows as u64) as i64;
        let along = (columns as u64).div_ceil(self.columns as u64) as i64;
        batch.saturating_mul(across).saturating_mul(along)
    }

    const fn area(&self) -> i64 {
        self.rows * self.columns
    }
}

/// The code that multiplies matrices of some dtypes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The dtypes of the left matrix, the right one, and the product.
    pub dtypes: Dtypes,
    /// The code for each size of tiles, large ones first.
    pub tiles: Vec<(Tile, Entry)>,
}

impl Product {
    /// How it is launched, under names that begin so.
    pub(crate) fn new(dtypes: Dtypes, name: &str) -> Self {
        let named = |tile: Tile| (tile, entry(format!("{name}_{}", tile.rows), tile));
        Self { dtypes, tiles: Tile::all(dtypes[2]).into_iter().map(named).collect() }
    }

    /// The code for so many matrices of such a shape, and how many tiles they have: large ones where they keep all processors
    /// busy and not much more of them is beyond the ends than of small ones.
    pub fn chosen(&self, batch: i64, rows: i64, columns: i64) -> (&Entry, i64) {
        let small = &self.tiles[self.tiles.len() - 1];
        let count = |(tile, _): &(Tile, Entry)| tile.count(batch, rows, columns);
        let area = |of: &(Tile, Entry)| count(of).saturating_mul(of.0.area());
        let suits = |of: &&(Tile, Entry)| count(of) >= MANY_TILES && area(of) / 5 * 4 <= area(small);
        let chosen = self.tiles.iter().find(suits).unwrap_or(small);
        (&chosen.1, count(chosen))
    }
}

/// How it is launched, under a name.
fn entry(name: String, tile: Tile) -> Entry {
    let symbol = |symbol: u32| Extents { number: 1, symbols: vec![Symbol(symbol)] };
    let mut slots: Vec<Slot> = (0..3).map(|buffer| Slot::Buffer(NodeId(buffer))).collect();
    slots.extend((0..SYMBOLS).map(|number| Slot::Number(Sum(vec![symbol(number)]))));
    let loops = Loops { outer: Extents::number(1), inner: symbol(2), at_once: 1, block: tile.depth };
    let geometry = Geometry { threads: THREADS as u32, units: symbol(0), per_group: 1, loops };
    Entry { name, slots, geometry }
}

/// The dtype and type that products of a dtype are added up in: integers in 32 bits at least, the low ones of which are the sum.
fn sums(dtype: DType) -> (DType, Ty) {
    let dtype = match dtype.kind() {
        Kind::Signed if dtype.bits() < 32 => DType::I32,
        Kind::Unsigned if dtype.bits() < 32 => DType::U32,
        Kind::Bool | Kind::Signed | Kind::Unsigned | Kind::Float | Kind::Complex => dtype,
    };
    (dtype, register(dtype))
}

/// Emits the product of matrices in the first two buffers, of these dtypes, to the third: `[batch, rows, inner]`,
/// `[batch, inner, columns]` and `[batch, rows, columns]`.
pub fn emit<C: Code>(code: &mut C, dtypes: Dtypes, numerics: Numerics, (tile, entry): &(Tile, Entry)) {
    let parameters: Vec<_> = entry.slots.iter().map(Slot::parameter).collect();
    code.begin(&entry.name, &parameters, THREADS as u32);
    let [left, right, product] = [0, 1, 2].map(|parameter| code.memory(parameter));
    let [tiles, rows, inner, columns] = [3, 4, 5, 6].map(|parameter| code.word(parameter));
    let (sum_dtype, ty) = sums(dtypes[2]);
    // A column of the left matrix after the other, so that a thread reads its rows beside each other. Between them is room
    // for one access, so that threads that write rows beside each other write to banks beside each other.
    let pitches = [tile.rows + tile.at_once, tile.columns];
    let shared = pitches.map(|pitch| code.shared(ty, (2 * tile.depth * pitch) as u32));
    let origin = code.shared(Ty::I64, 3);
    let (group, groups, thread) = (code.group(), code.groups(), code.thread());
    let own = places(code, tile, thread);
    // Rows begin at multiples of an access, and end there.
    let is_even = [inner, columns].map(|extent| {
        let rest = code.split(extent, tile.at_once).1;
        let zero = code.number(0);
        code.compare(Compare::Eq, rest, zero)
    });
    let mut kernel = Kernel {
        tile: *tile,
        dtypes,
        numerics,
        sum: (sum_dtype, ty),
        matrices: [left, right],
        product,
        rows,
        inner,
        columns,
        pitches,
        shared,
        origin,
        thread,
        own,
        is_even,
    };
    let open = code.open((group, tiles, groups), &[]);
    kernel.tile(code, open.index);
    code.close(open, &[]);
    code.end();
}

/// The first row and the first column of a thread, of those that it accesses at once. Threads that run in step have few rows
/// and columns: 4 by 8.
fn places<C: Code>(code: &mut C, tile: &Tile, thread: C::Value) -> [C::Value; 2] {
    let (rest, low_x) = code.split(thread, 8);
    let (rest, low_y) = code.split(rest, 4);
    let (high_y, high_x) = code.split(rest, 2);
    let joined = |code: &mut C, high: C::Value, by: i64, low: C::Value| {
        let high = code.scaled(high, by);
        let place = code.add(high, low);
        code.scaled(place, tile.at_once)
    };
    [joined(code, high_y, 4, low_y), joined(code, high_x, 8, low_x)]
}

/// About how many registers there are for the sums of the blocks before.
const REGISTERS: i64 = 8;

/// The left matrix, and the right one.
const LEFT: usize = 0;
const RIGHT: usize = 1;

/// What a thread loads at once of a matrix, again and again: of the left one beside each other along what is summed over, of
/// the right one along its columns.
#[derive(Clone, Copy)]
struct Piece<V> {
    /// The index of what is summed over, in what the group loads at once.
    term: V,
    /// The row of the left matrix, or the first column of the right one, in the tile.
    line: V,
    /// How many elements there are of the row, or the columns, up to as many as it loads, in 32 bits.
    lines: V,
    /// The first element in memory, the first time.
    at: V,
}

struct Kernel<C: Code> {
    tile: Tile,
    dtypes: Dtypes,
    numerics: Numerics,
    /// The dtype and type of sums.
    sum: (DType, Ty),
    matrices: [C::Memory; 2],
    product: C::Memory,
    rows: C::Value,
    inner: C::Value,
    columns: C::Value,
    /// How far apart in shared memory elements are whose indices of what is summed over follow each other.
    pitches: [i64; 2],
    shared: [C::Shared; 2],
    thread: C::Value,
    /// The first row and column of the thread.
    own: [C::Value; 2],
    /// Where the tile is: its first row and column, and where the product begins. It is kept here from block to block, and not
    /// in registers.
    origin: C::Shared,
    /// Whether rows of the left matrix, and of the right one and the product, consist of whole accesses.
    is_even: [C::Value; 2],
}

/// How many tiles a dimension has.
fn count<C: Code>(code: &mut C, extent: C::Value, length: i64) -> C::Value {
    let extent = code.ahead(extent, length - 1);
    code.split(extent, length).0
}

impl<C: Code> Kernel<C> {
    fn tile(&mut self, code: &mut C, number: C::Value) {
        let (rows, columns) = (self.rows, self.columns);
        let (row_tiles, column_tiles) =
            (count(code, rows, self.tile.rows), count(code, columns, self.tile.columns));
        let (rest, column) = code.divided(number, column_tiles);
        let (batch, row) = code.divided(rest, row_tiles);
        let (row, column) = (code.scaled(row, self.tile.rows), code.scaled(column, self.tile.columns));
        let pieces = [self.pieces(code, LEFT, (batch, row)), self.pieces(code, RIGHT, (batch, column))];
        let [zero, one, depth] = [0, 1, self.tile.depth].map(|number| code.number(number));
        let start = self.start(code, batch, self.rows, self.columns);
        for (place, number) in (0..).zip([row, column, start]) {
            let place = code.number(place);
            code.put(self.origin, place, &[number]);
        }
        let raw = self.fetch(code, &pieces, zero);
        self.bring(code, &pieces, &raw, zero);
        code.barrier();
        // At least one block, which may be empty.
        let least = code.binary(Binary::MaxS, self.inner, one);
        let length = if self.is_in_blocks() { code.number(PRODUCTS) } else { least };
        let blocks = code.open((zero, least, length), &[]);
        let end = code.add(blocks.index, length);
        let end = code.min(end, self.inner);
        let nothing = self.nothing(code);
        let sums = vec![nothing; (self.tile.area() / THREADS) as usize];
        let open = code.open((blocks.index, end, depth), &sums);
        let (number, _) = code.split(open.index, self.tile.depth);
        let half = code.binary(Binary::And, number, one);
        let next = code.add(open.index, depth);
        let raw = self.fetch(code, &pieces, next);
        let sums = self.multiply(code, half, &open.carried);
        let other = code.sub(one, half);
        self.bring(code, &pieces, &raw, other);
        code.barrier();
        let sums = code.close(open, &sums);
        self.keep(code, blocks.index, &sums);
        code.close(blocks, &[]);
        // The next tile has another origin.
        code.barrier();
    }

    /// Whether it matters in which order products are added up.
    const fn is_in_blocks(&self) -> bool {
        self.sum.1.is_float()
    }

    fn nothing(&self, code: &mut C) -> C::Value {
        if self.sum.1.is_float() { code.float(self.sum.1, 0.0) } else { code.int(self.sum.1, 0) }
    }

    /// Where a matrix of a batch begins.
    fn start(&self, code: &mut C, batch: C::Value, rows: C::Value, columns: C::Value) -> C::Value {
        let area = code.mul(rows, columns);
        code.mul(batch, area)
    }

    /// What a thread loads of a matrix, whose part of the tile begins with the row, or the column, `first`.
    fn pieces(
        &self,
        code: &mut C,
        which: usize,
        (batch, first): (C::Value, C::Value),
    ) -> Vec<Piece<C::Value>> {
        let Tile { rows, columns, depth, at_once, .. } = self.tile;
        let (across, count) = if which == LEFT { (depth, rows * depth) } else { (columns, depth * columns) };
        let (of_rows, of_columns) =
            if which == LEFT { (self.rows, self.inner) } else { (self.inner, self.columns) };
        let start = self.start(code, batch, of_rows, of_columns);
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
    fn fetch(&self, code: &mut C, pieces: &[Vec<Piece<C::Value>>; 2], from: C::Value) -> [Vec<C::Value>; 2] {
        [LEFT, RIGHT].map(|which| {
            let mut branch = code.open_if(self.is_even[which]);
            let whole = self.fetch_of(code, (which, &pieces[which]), from, self.tile.at_once);
            code.otherwise(&mut branch, &whole);
            let single = self.fetch_of(code, (which, &pieces[which]), from, 1);
            code.close_if(branch, &single)
        })
    }

    /// How many elements of those that are loaded at once are there, of so many that are left; in 32 bits.
    fn within(&self, code: &mut C, left: C::Value) -> C::Value {
        let [none, all] = [0, self.tile.at_once].map(|number| code.number(number));
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
        let ahead = if which == LEFT { from } else { code.mul(from, self.columns) };
        let ty = memory(self.dtypes[which]);
        let none = code.int(Ty::I32, 0);
        let mut all = Vec::new();
        for piece in pieces {
            let first = code.add(piece.at, ahead);
            let term = code.add(piece.term, from);
            let left = code.sub(self.inner, term);
            let terms = self.within(code, left);
            // Elements follow each other along one, and are there if any of the other is.
            let (along, other) = if which == LEFT { (terms, piece.lines) } else { (piece.lines, terms) };
            let is_other = code.less(none, other);
            let count = code.select(is_other, along, none);
            for number in (0..self.tile.at_once).step_by(at_once as usize) {
                let before = code.int(Ty::I32, number);
                let is_there = code.less(before, count);
                let mut branch = code.open_if(is_there);
                let at = code.ahead(first, number);
                let loaded = code.load(self.matrices[which], at, ty, at_once as usize);
                code.otherwise(&mut branch, &loaded);
                let filler = self.filler(code, which);
                all.extend(code.close_if(branch, &vec![filler; at_once as usize]));
            }
        }
        all
    }

    /// What is beyond the ends of a matrix, as it would be in memory.
    fn filler(&self, code: &mut C, which: usize) -> C::Value {
        let (dtype, ty) = (self.dtypes[which], register(self.dtypes[which]));
        if !ty.is_float() {
            return code.int(memory(dtype), 0);
        }
        let zero = code.float(ty, if which == LEFT { 0.0 } else { -0.0 });
        promote_scalar::store(code, dtype, zero)
    }

    /// Brings what was loaded to one half of shared memory, in the dtype of sums. The left matrix is transposed.
    fn bring(
        &self,
        code: &mut C,
        pieces: &[Vec<Piece<C::Value>>; 2],
        raw: &[Vec<C::Value>; 2],
        half: C::Value,
    ) {
        for which in [LEFT, RIGHT] {
            let (shared, pitch, dtype) = (self.shared[which], self.pitches[which], self.dtypes[which]);
            let start = code.scaled(half, self.tile.depth * pitch);
            for (piece, raw) in pieces[which].iter().zip(raw[which].chunks(self.tile.at_once as usize)) {
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

    /// Adds the products of what is in one half of shared memory to sums.
    fn multiply(&self, code: &mut C, half: C::Value, sums: &[C::Value]) -> Vec<C::Value> {
        let Tile { rows, columns, depth, at_once, .. } = self.tile;
        let mut first = |which: usize| {
            let start = code.scaled(half, depth * self.pitches[which]);
            code.add(start, self.own[which])
        };
        let first = [first(LEFT), first(RIGHT)];
        let [zero, one, end] = [0, 1, depth].map(|number| code.number(number));
        let open = code.open((zero, end, one), sums);
        let mut operands = |which: usize| {
            let place = code.scaled(open.index, self.pitches[which]);
            let at = code.add(first[which], place);
            let lines = if which == LEFT { rows } else { columns };
            let read = |ahead: i64| {
                let at = code.ahead(at, ahead);
                code.get(self.shared[which], at, at_once as usize)
            };
            (0..lines).step_by((SIDE * at_once) as usize).flat_map(read).collect::<Vec<_>>()
        };
        let (of_rows, of_columns) = (operands(LEFT), operands(RIGHT));
        let factors = of_rows.iter().flat_map(|x| of_columns.iter().map(move |y| (*x, *y)));
        let next: Vec<_> =
            factors.zip(&open.carried).map(|((x, y), sum)| self.multiply_add(code, x, y, *sum)).collect();
        code.close_unrolled(open, &next, self.tile.unrolled)
    }

    fn multiply_add(&self, code: &mut C, x: C::Value, y: C::Value, sum: C::Value) -> C::Value {
        if self.sum.1.is_float() {
            return code.fma(x, y, sum);
        }
        let product = code.mul(x, y);
        code.add(sum, product)
    }

    /// Adds the sums of a block, which begins with an index of what is summed over, to those of the blocks before.
    fn keep(&self, code: &mut C, block: C::Value, sums: &[C::Value]) {
        let [row, column, start] = [0, 1, 2].map(|place| {
            let place = code.number(place);
            code.get(self.origin, place, 1)[0]
        });
        let [row, column] =
            [(row, LEFT), (column, RIGHT)].map(|(first, which)| code.add(first, self.own[which]));
        let zero = code.number(0);
        let is_later = code.less(zero, block);
        let columns = self.lines(self.tile.columns);
        let of_row = columns.len() as i64 * i64::from(self.sum.1.bits()) / 32;
        let rows: Vec<_> = self.lines(self.tile.rows).into_iter().zip(sums.chunks(columns.len())).collect();
        for rows in rows.chunks((REGISTERS / of_row).max(1) as usize) {
            let mut branch = code.open_if(self.is_even[RIGHT]);
            self.keep_rows(code, is_later, (start, row, column), (rows, &columns), self.tile.at_once);
            code.otherwise(&mut branch, &[]);
            self.keep_rows(code, is_later, (start, row, column), (rows, &columns), 1);
            code.close_if(branch, &[]);
        }
    }

    /// How far after the first one the rows, or columns, of a thread are, in a tile of so many.
    fn lines(&self, extent: i64) -> Vec<i64> {
        let Tile { at_once, .. } = self.tile;
        let line = |number: i64| number / at_once * SIDE * at_once + number % at_once;
        (0..extent / SIDE).map(line).collect()
    }

    /// The same of some rows, so many elements at once.
    fn keep_rows(
        &self,
        code: &mut C,
        is_later: C::Value,
        (start, row, column): (C::Value, C::Value, C::Value),
        (rows, columns): (&[(i64, &[C::Value])], &[i64]),
        at_once: i64,
    ) {
        let mut places = Vec::new();
        for (ahead, sums) in rows {
            let row = code.ahead(row, *ahead);
            let in_rows = code.less(row, self.rows);
            let line = code.mul(row, self.columns);
            let line = code.add(line, start);
            for (columns, sums) in columns.chunks(at_once as usize).zip(sums.chunks(at_once as usize)) {
                let column = code.ahead(column, columns[0]);
                let in_columns = code.less(column, self.columns);
                let is_there = code.both(in_rows, in_columns);
                places.push((is_there, code.add(line, column), sums));
            }
        }
        // All are loaded before the first is waited for.
        let before: Vec<Vec<C::Value>> = places
            .iter()
            .map(|(is_there, at, _)| {
                let is_there = code.both(*is_there, is_later);
                self.before(code, is_there, *at, at_once as usize)
            })
            .collect();
        for ((is_there, at, sums), before) in places.into_iter().zip(before) {
            let totals: Vec<_> =
                std::iter::zip(sums, before).map(|(sum, before)| self.total(code, *sum, before)).collect();
            let mut branch = code.open_if(is_there);
            store(code, self.product, at, self.dtypes[2], (&totals, at_once as usize));
            code.otherwise(&mut branch, &[]);
            code.close_if(branch, &[]);
        }
    }
    /// What the blocks before came to of elements beside each other, if there are any: else negative zeros, to which a number
    /// may be added.
    fn before(&self, code: &mut C, is_there: C::Value, at: C::Value, count: usize) -> Vec<C::Value> {
        if !self.is_in_blocks() {
            return vec![self.nothing(code); count];
        }
        let mut branch = code.open_if(is_there);
        let loaded = load(code, self.product, at, self.dtypes[2], (count, count));
        let loaded: Vec<_> = loaded.into_iter().map(Element::real).collect();
        code.otherwise(&mut branch, &loaded);
        let zero = code.float(self.sum.1, -0.0);
        code.close_if(branch, &vec![zero; count])
    }

    /// What a sum and those of the blocks before come to, as an element of the product.
    fn total(&self, code: &mut C, sum: C::Value, before: C::Value) -> Element<C::Value> {
        if self.is_in_blocks() {
            return Element::Real(code.binary(Binary::FAdd, before, sum));
        }
        let ty = register(self.dtypes[2]);
        Element::Real(if ty == self.sum.1 { sum } else { code.cast(Cast::Truncate, sum, ty) })
    }
}
