//! Rows of few columns: a vector of rows is reduced in registers, some columns at a time.
//!
//! A pass goes through as many columns as processors see streams side by side: those of the sums of a row whose numbers leave the same rest.
//! It halves these to one sum, which waits in memory, and the sums of all passes are halved, in the same order as in [`down`](super::down).
//! Where a tile has all rows, and room for half as many sums of each as there are passes, passes are made in the order of their numbers: each
//! goes on in memory where the one before it ended, if nothing is between the columns. Else all are emitted, in the order in which the fewest
//! sums wait, so that tiles are tall; a sum is halved as soon as both of a pair are there.
//!
//! ## Laws
//! - There is one reduction, in the first stage, and it is not added up in blocks.
//! - A sum that waits is in the accumulators that are as many tiles further on as [others wait](room) that came before it; in sequence, as
//!   its number modulo half of the passes says.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Kernel, Role};
use promote_lower::order;

use super::down::Down;
use super::elements::part_count;
use super::roots::accumulator_bytes;
use super::squares::Bounds;
use super::tile_down::TileDown;
use super::{KernelEmitter, NextRow, Scope};
use crate::targets::cpu::costs::{
    COLUMNS_AT_ONCE, COLUMNS_UPRIGHT, MOST_ROWS_DOWN, PREFETCHED_COLUMNS, ROWS_DOWN_BYTES,
};
use crate::targets::llvm::Level;

/// How rows of few columns are read: the code of each column of a pass is emitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtOnce {
    /// How many columns there are.
    pub(super) columns: usize,
    /// In how many passes they are read, a power of two: processors see so many streams side by side, and the cache holds as many lines that
    /// are a power of two apart. A pass adds up the sums whose numbers leave the same rest.
    passes: usize,
    /// Whether there is room for half of the sums of all passes, which may then be made in the order of their numbers.
    in_sequence: bool,
}

impl AtOnce {
    /// How the rows of a kernel are read, if their columns are so few: rows of so many sums, of which there are so many, in whole vectors.
    pub(super) fn new(kernel: &Kernel, numerics: Numerics, sums: usize, rows: i64) -> Option<Self> {
        let columns = kernel.length().fixed().filter(|_| kernel.as_one || kernel.reduced().len() == 1)?;
        let mut reductions = kernel.roots.iter().filter(|root| root.role != Role::Store);
        let (Some(root), None) = (reductions.next(), reductions.next()) else { return None };
        let expr = kernel.expr(root.expr);
        // Where a column is must be computed for each if dimensions count as one.
        let each = i64::from(kernel.cost()) + part_count(expr.dtype) as i64 + i64::from(kernel.as_one);
        let cost = each.checked_mul(columns)?;
        let is_plain = expr.stage == 0 && !order::is_summed_in_blocks(kernel, root, numerics, sums);
        if cost > COLUMNS_AT_ONCE || !is_plain {
            return None;
        }
        let columns = columns as usize;
        let passes = (columns / COLUMNS_UPRIGHT).checked_ilog2().map_or(1, |bits| 1 << bits).min(sums);
        let in_sequence = Self { columns, passes, in_sequence: true };
        let has_room = rows <= in_sequence.tallest(accumulator_bytes(kernel, root));
        Some(Self { in_sequence: passes > 1 && has_room, ..in_sequence })
    }

    /// How many sums of a row wait at a time.
    pub(super) fn rooms(self) -> i64 {
        if self.in_sequence { self.passes as i64 / 2 } else { i64::from(self.passes.ilog2()) }
    }

    /// The most rows that a tile may have, whose accumulators have so many bytes.
    pub(super) fn tallest(self, bytes: i64) -> i64 {
        (ROWS_DOWN_BYTES / (bytes * self.rooms()).max(1)).clamp(1, MOST_ROWS_DOWN)
    }

    /// The numbers of the sums that passes leave, in the order in which few of them wait: with their bits reversed.
    fn numbers(self) -> impl Iterator<Item = usize> {
        let unused = usize::BITS - self.passes.ilog2();
        (0..self.passes).map(move |pass| pass.reverse_bits().checked_shr(unused).unwrap_or(0))
    }

    /// Under which numbers a sum is known while it is halved, which it is with the sums that wait under all but the first of them.
    fn halvings(self, number: usize) -> Vec<usize> {
        let bits = self.passes.ilog2();
        let pairs = (0..bits).rev().take_while(|bit| number >> bit & 1 == 1).count();
        (0..=pairs).map(|pairs| number & (self.passes - 1) >> pairs).collect()
    }
}

/// How many tiles further on a sum of that number waits: others wait whose numbers have fewer bits.
const fn room(number: usize) -> i64 {
    number.count_ones() as i64
}

/// Columns from one on, so many apart.
#[derive(Clone, Copy)]
struct Stream {
    first: MlirValue,
    apart: usize,
    count: usize,
}

impl KernelEmitter<'_> {
    /// A tile of rows of few columns.
    pub(super) fn rows_halved(&mut self, down: &Down, at_once: AtOnce, tile: Bounds) {
        let kernel = self.kernel;
        let Some(root) = kernel.roots.iter().position(|root| root.role != Role::Store) else {
            unreachable!("what is read down its columns is reduced")
        };
        let rooms = at_once.rooms();
        if self.columns[root].is_empty() && rooms > 0 {
            let parts = self.accumulator(root);
            self.columns[root] = parts.into_iter().map(|ty| (self.room(ty, down.tall * rooms), ty)).collect();
        }
        self.stage = 0;
        self.hoist(1 << down.rows | self.all_reduced(), 0);
        // What fills no vector has a sum of its own where there are no masks.
        let columns = at_once.columns;
        let whole = if self.has_masks { columns } else { columns - columns % down.sums };
        if at_once.in_sequence && whole > 0 {
            self.passes_in_sequence(down, at_once, (root, whole), tile);
        } else {
            self.passes_in_pairs(down, at_once, (root, whole), tile);
        }
    }

    /// The passes in the order in which the fewest sums wait, each emitted; the last one has the result.
    fn passes_in_pairs(&mut self, down: &Down, at_once: AtOnce, (root, whole): (usize, usize), tile: Bounds) {
        let AtOnce { columns, passes, .. } = at_once;
        for number in at_once.numbers() {
            let halvings = at_once.halvings(number).into_iter().map(room);
            let places: Vec<MlirValue> = halvings
                .map(|tiles| {
                    let ahead = self.code.index(tiles * down.tall);
                    self.code.int("llvm.sub", tile.0, ahead)
                })
                .collect();
            let first = self.code.index(number as i64);
            let stream = Stream { first, apart: passes, count: (whole - number.min(whole)).div_ceil(passes) };
            self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
                let mut sum = emitter.sum_of_stream(down, root, stream, lanes);
                for place in &places[1..] {
                    let other = emitter.column(root, *place, lanes);
                    sum = emitter.halved(root, &other, &sum, lanes);
                }
                if number + 1 < passes {
                    emitter.put_column(root, &sum, places[places.len() - 1], lanes);
                } else {
                    emitter.store_halved(root, sum, (whole, columns), lanes);
                }
                Vec::new()
            });
        }
    }

    /// The passes in the order of their numbers. The sums of the second half of them are halved with those of the first one at once, and then
    /// all others.
    fn passes_in_sequence(
        &mut self,
        down: &Down,
        at_once: AtOnce,
        (root, whole): (usize, usize),
        tile: Bounds,
    ) {
        let AtOnce { columns, passes, .. } = at_once;
        let (half, longer) = (passes / 2, whole % passes);
        let mut bounds = [0, half, longer, passes];
        bounds.sort_unstable();
        let all = TileDown::new(tile, tile.0, down.tall);
        for (from, to) in bounds.into_iter().zip(bounds.into_iter().skip(1)).filter(|(from, to)| from < to) {
            let [begin, end, before] =
                [from, to, if from < half { 0 } else { half }].map(|number| self.code.index(number as i64));
            let numbers = self.code.open((begin, end, 1), &[]);
            self.frames.push(Scope::default());
            let room = self.code.int("llvm.sub", numbers.index, before);
            let place = self.further(all, tile.0, room);
            let count = whole / passes + usize::from(from < longer);
            let stream = Stream { first: numbers.index, apart: passes, count };
            self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
                let mut sum = emitter.sum_of_stream(down, root, stream, lanes);
                if from >= half {
                    let other = emitter.column(root, place, lanes);
                    sum = emitter.halved(root, &other, &sum, lanes);
                }
                emitter.put_column(root, &sum, place, lanes);
                Vec::new()
            });
            self.frames.pop();
            self.code.close(&numbers, &[]);
        }
        self.join_sums((down, half as i64), &[root], all);
        self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
            emitter.begin_row(lanes);
            let sum = emitter.column(root, tile.0, lanes);
            emitter.store_halved(root, sum, (whole, columns), lanes);
            Vec::new()
        });
    }

    /// Stores the result of a row, with the columns that fill no vector, and what depends on it.
    fn store_halved(
        &mut self,
        root: usize,
        mut sum: Vec<MlirValue>,
        (whole, columns): (usize, usize),
        lanes: usize,
    ) {
        if whole < columns {
            let first = self.code.index(whole as i64);
            let rest =
                self.sum_of_every(root, Stream { first, apart: 1, count: columns - whole }, (0, 1, 1), lanes);
            sum = self.halved(root, &sum, &rest, lanes);
        }
        let sum = self.registers(root, &sum);
        self.results[root] = Some(self.result(root, &sum, lanes));
        self.store_row(&[root], lanes);
    }

    /// The reduced dimensions.
    fn all_reduced(&self) -> u64 {
        self.kernel.reduced().fold(0, |all, dim| all | 1 << dim)
    }

    /// Begins with what a vector of rows has in common, before any result.
    fn begin_row(&mut self, lanes: usize) {
        (self.stage, self.results) = (0, vec![None; self.kernel.roots.len()]);
        self.share(self.all_reduced(), 0, lanes);
    }

    /// What the columns of a pass add up to, in a vector of rows, while those are brought into the cache that come after it.
    fn sum_of_stream(&mut self, down: &Down, root: usize, stream: Stream, lanes: usize) -> Vec<MlirValue> {
        self.begin_row(lanes);
        if !self.runs_ahead() {
            let ahead = self.code.index(PREFETCHED_COLUMNS);
            self.next_row = Some(NextRow { ahead: vec![(down.rows, ahead)], level: Level::Second });
        }
        let sum = self.sum_of_every(root, stream, (0, 1, down.sums / stream.apart), lanes);
        self.next_row = None;
        sum
    }

    /// What the columns of a stream add up to whose numbers in it are so many apart, from one on: sums that are `all` apart are halved, the
    /// others last; the columns of a sum are added up one after the other.
    fn sum_of_every(
        &mut self,
        root: usize,
        stream: Stream,
        (first, apart, all): (usize, usize, usize),
        lanes: usize,
    ) -> Vec<MlirValue> {
        if apart < all {
            let [x, y] = [first, first + apart]
                .map(|first| self.sum_of_every(root, stream, (first, 2 * apart, all), lanes));
            return self.halved(root, &x, &y, lanes);
        }
        let mut sum = self.identity(root, lanes);
        let outside = self.index.clone();
        for number in (first..stream.count).step_by(all) {
            let ahead = self.code.index((number * stream.apart) as i64);
            let column = self.code.int("llvm.add", stream.first, ahead);
            self.go_to_column(column);
            self.frames.push(Scope::default());
            sum = self.accumulate(root, &sum, lanes);
            self.frames.pop();
        }
        self.index = outside;
        sum
    }

    fn halved(&mut self, root: usize, x: &[MlirValue], y: &[MlirValue], lanes: usize) -> Vec<MlirValue> {
        let [x, y] = [x, y].map(|values| self.registers(root, values));
        let joined = self.joined_accumulators(root, lanes, &x, &y);
        joined.into_iter().map(|register| register.value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of every so many numbers from one on, halved.
    fn halved(first: usize, apart: usize, all: usize) -> String {
        if apart == all {
            return first.to_string();
        }
        let [x, y] = [first, first + apart].map(|first| halved(first, 2 * apart, all));
        format!("({x} {y})")
    }

    #[test]
    fn sums_of_passes_are_halved_as_soon_as_both_of_a_pair_are_there() {
        for bits in 0..=6 {
            let passes = 1 << bits;
            let at_once = AtOnce { columns: 8 * passes, passes, in_sequence: false };
            let mut rooms: Vec<Option<(usize, String)>> = vec![None; at_once.rooms() as usize];
            let mut last = None;
            for number in at_once.numbers() {
                let halvings = at_once.halvings(number);
                let mut sum = number.to_string();
                for other in &halvings[1..] {
                    let (number, waiting) = rooms[room(*other) as usize].take().expect("it waits");
                    assert_eq!(number, *other, "{at_once:?}");
                    sum = format!("({waiting} {sum})");
                }
                let number = halvings[halvings.len() - 1];
                last = Some(sum.clone());
                if let Some(room) = rooms.get_mut(room(number) as usize) {
                    assert!(room.is_none(), "{at_once:?}: {number}");
                    *room = Some((number, sum));
                }
            }
            assert_eq!(last, Some(halved(0, 1, passes)), "{at_once:?}");
        }
    }
}
