//! Rows of few columns, all of which are emitted: a vector of rows is reduced in registers.
//!
//! The sums of a row are halved as soon as both of a pair are there, as in [`down`](super::down), so few are in registers at a
//! time. A pass goes through as many columns as processors see streams side by side, and leaves one sum of a row for the next
//! ones; the last pass has the result. Where a tile has all rows, and room for so many sums of theirs, passes are made in the order of their
//! numbers: each goes on in memory where the one before it ended. Else it is the order in which the fewest sums wait, so that tiles are tall.
//!
//! ## Laws
//! - There is one reduction, in the first stage, and it is not added up in blocks.
//! - A sum that waits is in the accumulators that are [as many tiles](AtOnce::room) further on as its number says, and no other is then.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Kernel, Role};
use promote_lower::order;

use super::down::Down;
use super::elements::part_count;
use super::roots::accumulator_bytes;
use super::squares::Bounds;
use super::{KernelEmitter, NextRow, Scope};
use crate::targets::cpu::costs::{
    COLUMNS_AT_ONCE, COLUMNS_UPRIGHT, MOST_ROWS_DOWN, PREFETCHED_COLUMNS, ROWS_DOWN_BYTES,
};
use crate::targets::llvm::Level;

/// How rows are read all of whose columns are emitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtOnce {
    /// How many columns there are.
    pub(super) columns: usize,
    /// In how many passes they are read, a power of two: processors see so many streams side by side, and the cache holds as many lines that
    /// are a power of two apart. A pass adds up the sums whose numbers leave the same rest.
    passes: usize,
    /// Whether passes are made in the order of their numbers, not of those with the bits reversed.
    in_sequence: bool,
    /// The most rows of a tile.
    pub(super) tall: i64,
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
        let tallest = |in_sequence: bool| {
            let bytes = accumulator_bytes(kernel, root) * Self::rooms(passes, in_sequence);
            (ROWS_DOWN_BYTES / bytes.max(1)).clamp(1, MOST_ROWS_DOWN)
        };
        let in_sequence = rows <= tallest(true);
        Some(Self { columns, passes, in_sequence, tall: tallest(in_sequence) })
    }

    /// How many sums of a row wait at a time.
    fn rooms(passes: usize, in_sequence: bool) -> i64 {
        if in_sequence { passes as i64 / 2 } else { i64::from(passes.ilog2()) }
    }

    /// The numbers of the sums that passes leave, in the order in which these are made.
    fn numbers(self) -> impl Iterator<Item = usize> {
        let unused = usize::BITS - self.passes.ilog2();
        let number = move |pass: usize| match self.in_sequence {
            true => pass,
            false => pass.reverse_bits().checked_shr(unused).unwrap_or(0),
        };
        (0..self.passes).map(number)
    }

    /// Under which numbers a sum is known while it is halved, which it is with the sums that wait under all but the first of them.
    fn halvings(self, number: usize) -> Vec<usize> {
        let bits = self.passes.ilog2();
        let pairs = (0..bits).rev().take_while(|bit| number >> bit & 1 == 1).count();
        (0..=pairs).map(|pairs| number & (self.passes - 1) >> pairs).collect()
    }

    /// How many tiles further on a sum of that number waits.
    const fn room(self, number: usize) -> i64 {
        if self.in_sequence { number as i64 } else { number.count_ones() as i64 }
    }
}

impl KernelEmitter<'_> {
    /// A tile of rows all of whose columns are emitted.
    pub(super) fn rows_halved(&mut self, down: &Down, at_once: AtOnce, tile: Bounds) {
        let (kernel, AtOnce { columns, passes, in_sequence, .. }) = (self.kernel, at_once);
        let Some(root) = kernel.roots.iter().position(|root| root.role != Role::Store) else {
            unreachable!("what is read down its columns is reduced")
        };
        if self.columns[root].is_empty() && passes > 1 {
            let count = down.tall * AtOnce::rooms(passes, in_sequence);
            let parts = self.accumulator(root);
            self.columns[root] = parts.into_iter().map(|ty| (self.room(ty, count), ty)).collect();
        }
        self.stage = 0;
        let row = kernel.reduced().fold(0, |all, dim| all | 1 << dim);
        self.hoist(1 << down.rows | row, 0);
        let ahead = self.code.index(PREFETCHED_COLUMNS);
        // Processors do not see where the next pass begins, though it is where this one ends.
        let is_prefetched = in_sequence || !self.runs_ahead();
        // What fills no vector has a sum of its own where there are no masks.
        let whole = if self.has_masks { columns } else { columns - columns % down.sums };
        for number in at_once.numbers() {
            let halvings = at_once.halvings(number);
            let places: Vec<MlirValue> = halvings
                .iter()
                .map(|number| self.tiles_further(down, tile.0, at_once.room(*number)))
                .collect();
            self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
                (emitter.stage, emitter.results) = (0, vec![None; kernel.roots.len()]);
                emitter.share(row, 0, lanes);
                if is_prefetched {
                    emitter.next_row =
                        Some(NextRow { ahead: vec![(down.rows, ahead)], level: Level::Second });
                }
                let mut sum = emitter.sum_of_every(root, (number, passes, down.sums), whole, lanes);
                for place in &places[1..] {
                    let other = emitter.column(root, *place, lanes);
                    sum = emitter.halved(root, &other, &sum, lanes);
                }
                emitter.next_row = None;
                if number + 1 < passes {
                    emitter.put_column(root, &sum, places[places.len() - 1], lanes);
                    return Vec::new();
                }
                if whole < columns {
                    let rest = emitter.sum_from(root, (whole, 1), columns, lanes);
                    sum = emitter.halved(root, &sum, &rest, lanes);
                }
                let sum = emitter.registers(root, &sum);
                emitter.results[root] = Some(emitter.result(root, &sum, lanes));
                emitter.store_row(&[root], lanes);
                Vec::new()
            });
        }
    }

    /// The first row, counted from which accumulators are so many tiles further on.
    fn tiles_further(&mut self, down: &Down, from: MlirValue, tiles: i64) -> MlirValue {
        let ahead = self.code.index(tiles * down.tall);
        self.code.int("llvm.sub", from, ahead)
    }

    /// What the columns add up to that are so many apart, from one on: sums that are `all` apart are halved, the others last.
    fn sum_of_every(
        &mut self,
        root: usize,
        (first, apart, all): (usize, usize, usize),
        end: usize,
        lanes: usize,
    ) -> Vec<MlirValue> {
        if apart == all {
            return self.sum_from(root, (first, apart), end, lanes);
        }
        let [x, y] =
            [first, first + apart].map(|first| self.sum_of_every(root, (first, 2 * apart, all), end, lanes));
        self.halved(root, &x, &y, lanes)
    }

    /// The same, one column after the other.
    fn sum_from(
        &mut self,
        root: usize,
        (first, apart): (usize, usize),
        end: usize,
        lanes: usize,
    ) -> Vec<MlirValue> {
        let mut sum = self.identity(root, lanes);
        let outside = self.index.clone();
        for column in (first..end).step_by(apart) {
            let column = self.code.index(column as i64);
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
    fn sums_of_passes_are_halved_in_one_order_whenever_they_are_made() {
        for (bits, in_sequence) in (0..=6).flat_map(|bits| [(bits, false), (bits, true)]) {
            let passes = 1 << bits;
            let at_once = AtOnce { columns: 8 * passes, passes, in_sequence, tall: 1 };
            let mut rooms: Vec<Option<(usize, String)>> =
                vec![None; AtOnce::rooms(passes, in_sequence) as usize];
            let mut last = None;
            for number in at_once.numbers() {
                let halvings = at_once.halvings(number);
                let mut sum = number.to_string();
                for other in &halvings[1..] {
                    let (number, waiting) = rooms[at_once.room(*other) as usize].take().expect("it waits");
                    assert_eq!(number, *other, "{at_once:?}");
                    sum = format!("({waiting} {sum})");
                }
                let number = halvings[halvings.len() - 1];
                last = Some(sum.clone());
                if let Some(room) = rooms.get_mut(at_once.room(number) as usize) {
                    assert!(room.is_none(), "{at_once:?}: {number}");
                    *room = Some((number, sum));
                }
            }
            assert_eq!(last, Some(halved(0, 1, passes)), "{at_once:?}");
        }
    }
}
