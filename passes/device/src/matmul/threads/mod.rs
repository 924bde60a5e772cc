//! Products of which each thread adds up some elements, one product after the other.
//!
//! The products of an element are added up in the order of the index that is summed over, in blocks of [`PRODUCTS`], as every
//! target does. Each is rounded once with the sum, by a fused multiply-add. A thread has the sums of one block in registers;
//! what the blocks before came to is in the product's own memory meanwhile. Integers, whose sums are the same in any order, are
//! one block.
//!
//! What is beyond the ends of what is summed over is filled with zeros: a sum to which their product is added stays the same number,
//! and a negative zero does not stay one in the total, which begins with a zero.

mod fetch;
mod keep;

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind};
use promote_lower::order::PRODUCTS;
use promote_scalar::{Binary, Ty, register};

use super::{LEFT, Matrices, RIGHT, THREADS, Tile, Way, is_multiple};
use crate::build::Build;
use crate::code::Code;
use crate::target::Dtypes;

/// The threads of a group stand in a square of so many rows and columns.
const SIDE: i64 = 16;
/// The bytes of shared memory that are accessed at once.
const WIDEST: i64 = 16;

/// How a tile is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Steps {
    /// How much of what is summed over is in shared memory at once.
    pub depth: i64,
    /// How many elements of shared memory are accessed at once.
    at_once: i64,
    /// How many terms are added up before a branch: no more than there are registers for.
    unrolled: u32,
}

/// A large tile, and a small one for products that have few of those. The sums of a thread fill half of its registers at most;
/// of those of 64 bits, with what they are computed of, there is room for a small tile only.
pub(super) fn tiles(dtype: DType) -> Vec<Tile> {
    let sum = sums(dtype).1;
    let at_once = WIDEST * 8 / i64::from(sum.bits());
    // The products of integers are seldom fused with the sums, and take registers of their own.
    let unrolled = if sum.is_float() { 2 } else { 1 };
    let of = |own: i64, depth: i64, unrolled: u32| {
        let side = own * SIDE;
        Tile { rows: side, columns: side, way: Way::Threads(Steps { depth, at_once, unrolled }) }
    };
    if at_once < 4 { vec![of(4, 8, 4)] } else { vec![of(8, 8, unrolled), of(4, 16, 4)] }
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

/// Emits the product of matrices of some dtypes, tile by tile.
pub(super) fn emit<C: Code>(
    code: &mut C,
    (dtypes, numerics): (Dtypes, Numerics),
    (tile, steps): (Tile, Steps),
    matrices: &Matrices<C>,
) {
    let sum = sums(dtypes[2]);
    // A column of the left matrix after the other, so that a thread reads its rows beside each other. Between them is room
    // for one access, so that threads that write rows beside each other write to banks beside each other.
    let pitches = [tile.rows + steps.at_once, tile.columns];
    let shared = pitches.map(|pitch| code.shared(sum.1, (2 * steps.depth * pitch) as u32));
    let thread = code.thread();
    let own = places(code, steps, thread);
    // Rows begin at multiples of an access, and end there.
    let is_even = [matrices.inner, matrices.columns].map(|extent| is_multiple(code, extent, steps.at_once));
    let kernel =
        Kernel { tile, steps, dtypes, numerics, sum, matrices, pitches, shared, thread, own, is_even };
    matrices.for_each_tile(code, tile, |code, origin| kernel.tile(code, origin));
}

/// The first row and the first column of a thread, of those that it accesses at once. Threads that run in step have few rows
/// and columns: 4 by 8.
fn places<C: Code>(code: &mut C, steps: Steps, thread: C::Value) -> [C::Value; 2] {
    let (rest, low_x) = code.split(thread, 8);
    let (rest, low_y) = code.split(rest, 4);
    let (high_y, high_x) = code.split(rest, 2);
    let joined = |code: &mut C, high: C::Value, by: i64, low: C::Value| {
        let high = code.scaled(high, by);
        let place = code.add(high, low);
        code.scaled(place, steps.at_once)
    };
    [joined(code, high_y, 4, low_y), joined(code, high_x, 8, low_x)]
}

struct Kernel<'m, C: Code> {
    tile: Tile,
    steps: Steps,
    dtypes: Dtypes,
    numerics: Numerics,
    /// The dtype and type of sums.
    sum: (DType, Ty),
    matrices: &'m Matrices<C>,
    /// How far apart in shared memory elements are whose indices of what is summed over follow each other.
    pitches: [i64; 2],
    shared: [C::Shared; 2],
    thread: C::Value,
    /// The first row and column of the thread.
    own: [C::Value; 2],
    /// Whether rows of the left matrix, and of the right one and the product, consist of whole accesses.
    is_even: [C::Value; 2],
}

impl<C: Code> Kernel<'_, C> {
    fn tile(&self, code: &mut C, origin: [C::Value; 3]) {
        let [row, column, batch] = origin;
        let pieces = [self.pieces(code, LEFT, (batch, row)), self.pieces(code, RIGHT, (batch, column))];
        let [zero, one, depth] = [0, 1, self.steps.depth].map(|number| code.number(number));
        self.matrices.begin_tile(code, [row, column, batch]);
        let raw = self.fetch(code, &pieces, zero);
        self.bring(code, &pieces, &raw, zero);
        code.barrier();
        // At least one block, which may be empty.
        let least = code.binary(Binary::MaxS, self.matrices.inner, one);
        let length = if self.is_in_blocks() { code.number(PRODUCTS) } else { least };
        let blocks = code.open((zero, least, length), &[]);
        let end = code.add(blocks.index, length);
        let end = code.min(end, self.matrices.inner);
        let nothing = code.zero(self.sum.1);
        let sums = vec![nothing; (self.tile.area() / THREADS) as usize];
        let open = code.open((blocks.index, end, depth), &sums);
        let (number, _) = code.split(open.index, self.steps.depth);
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
    }

    /// Whether it matters in which order products are added up.
    const fn is_in_blocks(&self) -> bool {
        self.sum.1.is_float()
    }

    /// Adds the products of what is in one half of shared memory to sums.
    fn multiply(&self, code: &mut C, half: C::Value, sums: &[C::Value]) -> Vec<C::Value> {
        let (Tile { rows, columns, .. }, Steps { depth, at_once, .. }) = (self.tile, self.steps);
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
        code.close_unrolled(open, &next, self.steps.unrolled)
    }

    fn multiply_add(&self, code: &mut C, x: C::Value, y: C::Value, sum: C::Value) -> C::Value {
        if self.sum.1.is_float() {
            return code.fma(x, y, sum);
        }
        let product = code.mul(x, y);
        code.add(sum, product)
    }
}
