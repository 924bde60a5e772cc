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

mod fetch;
mod keep;

use promote_dialect::extent::{Product as Extents, Sum, Symbol};
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind};
use promote_lower::graph::NodeId;
use promote_lower::order::PRODUCTS;
use promote_scalar::{Binary, Compare, Ty, register};

use crate::build::Build;
use crate::code::Code;
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

/// The left matrix, and the right one.
const LEFT: usize = 0;
const RIGHT: usize = 1;

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
}

#[cfg(test)]
mod tests {
    use promote_lattice::DType;

    use super::Product;

    #[test]
    fn tiles_are_large_where_they_keep_all_processors_busy_and_waste_little() {
        let of = |dtype: DType, [batch, rows, columns]: [i64; 3]| {
            let product = Product::new([dtype; 3], "p");
            let (entry, tiles) = product.chosen(batch, rows, columns);
            (entry.name.clone(), tiles)
        };
        let large = |tiles: i64| ("p_128".to_owned(), tiles);
        let small = |tiles: i64| ("p_64".to_owned(), tiles);
        assert_eq!(of(DType::F32, [1, 2048, 2048]), large(256));
        assert_eq!(of(DType::I8, [1, 2048, 1024]), large(128));
        assert_eq!(of(DType::F32, [1, 2048, 1023]), large(128));
        assert_eq!(of(DType::F32, [1, 1024, 1024]), small(256));
        assert_eq!(of(DType::F32, [1000, 64, 64]), small(1000));
        assert_eq!(of(DType::F32, [1000, 65, 65]), large(1000));
        assert_eq!(of(DType::F32, [1, 1, 1 << 20]), small(1 << 14));
        assert_eq!(of(DType::F64, [1, 2048, 2048]), small(1024));
        assert_eq!(of(DType::F32, [0, 64, 64]), small(0));
        assert_eq!(of(DType::F32, [1, 0, i64::MAX]), small(0));
    }
}
