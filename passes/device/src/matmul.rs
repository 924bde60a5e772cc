//! Products of matrices: tiles of both go through shared memory, and each thread adds up some elements of the product.
//!
//! The products of an element are added up one after the other, in the order of the index that is summed over, in blocks of
//! [`PRODUCTS`], as every target does. Each is rounded once with the sum, by a fused multiply-add.

use promote_dialect::extent::{Product, Sum, Symbol};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::graph::NodeId;
use promote_lower::order::PRODUCTS;
use promote_scalar::{Binary, Compare, Element, convert, register};

use crate::build::Build;
use crate::code::Code;
use crate::elements::{load, store};
use crate::entry::{Entry, Geometry, Loops, Slot};

/// The rows and columns of a tile of the product.
const TILE: i64 = 64;
/// How much of what is summed over is in shared memory.
const DEPTH: i64 = 16;
/// The rows and columns of a thread.
const OWN: i64 = 4;
/// The threads of a group: a square.
const SIDE: i64 = TILE / OWN;
const THREADS: i64 = SIDE * SIDE;

/// The numbers that a product takes, as symbols: the tiles of all batches, the rows, what is summed over, and the columns.
pub const SYMBOLS: u32 = 4;

/// How many tiles a product has, all batches together.
pub const fn tiles(batch: i64, rows: i64, columns: i64) -> i64 {
    batch.saturating_mul(up(rows)).saturating_mul(up(columns))
}

const fn up(extent: i64) -> i64 {
    extent / TILE + (extent % TILE > 0) as i64
}

/// How it is launched, under a name.
pub fn entry(name: String) -> Entry {
    let symbol = |symbol: u32| Product { number: 1, symbols: vec![Symbol(symbol)] };
    let mut slots: Vec<Slot> = (0..3).map(|buffer| Slot::Buffer(NodeId(buffer))).collect();
    slots.extend((0..SYMBOLS).map(|number| Slot::Number(Sum(vec![symbol(number)]))));
    let loops = Loops { outer: Product::number(1), inner: symbol(2), at_once: 1 };
    let geometry = Geometry { threads: THREADS as u32, units: symbol(0), per_group: 1, loops };
    Entry { name, slots, geometry }
}

/// Emits the product of matrices in the first two buffers, of these dtypes, to the third: `[batch, rows, inner]`,
/// `[batch, inner, columns]` and `[batch, rows, columns]`.
pub fn emit<C: Code>(code: &mut C, dtypes: [DType; 3], numerics: Numerics, entry: &Entry) {
    let parameters: Vec<_> = entry.slots.iter().map(Slot::parameter).collect();
    code.begin(&entry.name, &parameters, THREADS as u32);
    let [left, right, product] = [0, 1, 2].map(|parameter| code.memory(parameter));
    let [tiles, rows, inner, columns] = [3, 4, 5, 6].map(|parameter| code.word(parameter));
    let ty = register(dtypes[2]);
    // Of the left matrix a column after the other, so that a thread reads its rows beside each other.
    let shared = [code.shared(ty, (TILE * DEPTH) as u32), code.shared(ty, (TILE * DEPTH) as u32)];
    let (group, groups, thread) = (code.group(), code.groups(), code.thread());
    let mut product = Tiles { dtypes, numerics, left, right, product, rows, inner, columns, shared, thread };
    let open = code.open((group, tiles, groups), &[]);
    product.tile(code, open.index);
    code.close(open, &[]);
    code.end();
}

struct Tiles<C: Code> {
    dtypes: [DType; 3],
    numerics: Numerics,
    left: C::Memory,
    right: C::Memory,
    product: C::Memory,
    rows: C::Value,
    inner: C::Value,
    columns: C::Value,
    shared: [C::Shared; 2],
    thread: C::Value,
}

impl<C: Code> Tiles<C> {
    /// How many tiles a dimension has.
    fn count(code: &mut C, extent: C::Value) -> C::Value {
        let extent = code.ahead(extent, TILE - 1);
        code.split(extent, TILE).0
    }

    fn tile(&mut self, code: &mut C, number: C::Value) {
        let (row_tiles, column_tiles) = (Self::count(code, self.rows), Self::count(code, self.columns));
        let (rest, column) = code.divided(number, column_tiles);
        let (batch, row) = code.divided(rest, row_tiles);
        let (row, column) = (code.scaled(row, TILE), code.scaled(column, TILE));
        let (y, x) = code.split(self.thread, SIDE);
        let (of_left, of_right, of_product) = (
            self.area(code, batch, self.rows, self.inner),
            self.area(code, batch, self.inner, self.columns),
            self.area(code, batch, self.rows, self.columns),
        );
        let (first_row, first_column) = (code.scaled(y, OWN), code.scaled(x, OWN));
        let zero = code.number(0);
        let depth = code.number(DEPTH);
        let nothing = self.zero(code);
        let start = vec![nothing; (OWN * OWN) as usize];
        let length = code.number(PRODUCTS);
        let blocks = code.open((zero, self.inner, length), &start);
        let end = code.add(blocks.index, length);
        let end = code.min(end, self.inner);
        let open = code.open((blocks.index, end, depth), &start);
        let from = open.index;
        self.fill(code, self.left, (of_left, self.dtypes[0], 0), (row, from), (self.rows, self.inner));
        self.fill(
            code,
            self.right,
            (of_right, self.dtypes[1], 1),
            (from, column),
            (self.inner, self.columns),
        );
        code.barrier();
        let left = code.sub(end, from);
        let steps = code.min(left, depth);
        let one = code.number(1);
        let terms = code.open((zero, steps, one), &open.carried);
        let place = code.scaled(terms.index, TILE);
        let own = |code: &mut C, shared: C::Shared, first: C::Value| -> Vec<C::Value> {
            let start = code.add(place, first);
            (0..OWN)
                .map(|ahead| {
                    let at = code.ahead(start, ahead);
                    code.get(shared, at)
                })
                .collect()
        };
        let (of_rows, of_columns) =
            (own(code, self.shared[0], first_row), own(code, self.shared[1], first_column));
        let mut next = Vec::with_capacity(terms.carried.len());
        for (row, of_row) in of_rows.iter().enumerate() {
            for (column, of_column) in of_columns.iter().enumerate() {
                let sum = terms.carried[row * OWN as usize + column];
                next.push(self.multiply_add(code, *of_row, *of_column, sum));
            }
        }
        let sums = code.close(terms, &next);
        code.barrier();
        let sums = code.close(open, &sums);
        let is_first = code.compare(Compare::Eq, blocks.index, zero);
        let mut totals = Vec::with_capacity(sums.len());
        for (before, sum) in blocks.carried.iter().zip(&sums) {
            let total = self.add(code, *before, *sum);
            totals.push(code.select(is_first, *sum, total));
        }
        let sums = code.close(blocks, &totals);
        for own_row in 0..OWN {
            for own_column in 0..OWN {
                let at = code.add(row, first_row);
                let (row, column_at) = (code.ahead(at, own_row), code.add(column, first_column));
                let column = code.ahead(column_at, own_column);
                let (in_rows, in_columns) = (code.less(row, self.rows), code.less(column, self.columns));
                let is_there = code.both(in_rows, in_columns);
                let mut branch = code.open_if(is_there);
                let at = code.mul(row, self.columns);
                let at = code.add(at, column);
                let at = code.add(at, of_product);
                let sum = sums[(own_row * OWN + own_column) as usize];
                store(code, self.product, at, self.dtypes[2], (&[Element::Real(sum)], 1));
                code.otherwise(&mut branch, &[]);
                code.close_if(branch, &[]);
            }
        }
    }

    fn area(&self, code: &mut C, batch: C::Value, rows: C::Value, columns: C::Value) -> C::Value {
        let area = code.mul(rows, columns);
        code.mul(batch, area)
    }

    fn zero(&self, code: &mut C) -> C::Value {
        let ty = register(self.dtypes[2]);
        if ty.is_float() { code.float(ty, 0.0) } else { code.int(ty, 0) }
    }

    fn multiply_add(&self, code: &mut C, x: C::Value, y: C::Value, sum: C::Value) -> C::Value {
        if code.ty(x).is_float() {
            return code.fma(x, y, sum);
        }
        let product = code.binary(Binary::Mul, x, y);
        code.binary(Binary::Add, sum, product)
    }

    fn add(&self, code: &mut C, x: C::Value, y: C::Value) -> C::Value {
        let op = if code.ty(x).is_float() { Binary::FAdd } else { Binary::Add };
        code.binary(op, x, y)
    }

    /// Brings a tile of a matrix to shared memory, in the dtype of the product; what is beyond its ends is zero. The first is
    /// transposed.
    fn fill(
        &self,
        code: &mut C,
        matrix: C::Memory,
        (area, dtype, which): (C::Value, DType, usize),
        (row, column): (C::Value, C::Value),
        (rows, columns): (C::Value, C::Value),
    ) {
        let is_left = which == 0;
        let (width, places) = if is_left { (DEPTH, TILE * DEPTH) } else { (TILE, TILE * DEPTH) };
        for round in 0..places / THREADS {
            let number = code.ahead(self.thread, round * THREADS);
            let (own_row, own_column) = code.split(number, width);
            let (y, x) = (code.add(row, own_row), code.add(column, own_column));
            let (in_rows, in_columns) = (code.less(y, rows), code.less(x, columns));
            let is_there = code.both(in_rows, in_columns);
            let mut branch = code.open_if(is_there);
            let at = code.mul(y, columns);
            let at = code.add(at, x);
            let at = code.add(at, area);
            let value = load(code, matrix, at, dtype, (1, 1))[0];
            let value = convert(code, dtype, self.dtypes[2], self.numerics, value).real();
            code.otherwise(&mut branch, &[value]);
            let zero = self.zero(code);
            let value = code.close_if(branch, &[zero])[0];
            let place = if is_left {
                let place = code.scaled(own_column, TILE);
                code.add(place, own_row)
            } else {
                number
            };
            code.put(self.shared[which], place, value);
        }
    }
}
