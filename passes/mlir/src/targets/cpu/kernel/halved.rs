//! Rows of few columns, all of which are emitted: a vector of rows is reduced in registers.
//!
//! The sums of a row are halved as soon as both of a pair are there, as in [`down`](super::down), so few are in registers at a
//! time. A pass goes through as many columns as processors see streams side by side, and leaves one sum of a row for the next
//! ones; the last pass has the result.
//!
//! ## Laws
//! - There is one reduction, in the first stage, and it is not added up in blocks.
//! - In the accumulators, `depth` tiles further on, is the sum that waits after `depth` others.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Kernel, Role};
use promote_lower::order;

use super::down::Down;
use super::elements::part_count;
use super::squares::Bounds;
use super::{KernelEmitter, NextRow, Scope};
use crate::targets::cpu::costs::{COLUMNS_AT_ONCE, COLUMNS_UPRIGHT, PREFETCHED_COLUMNS};
use crate::targets::llvm::Level;

/// In how many passes over their rows so many columns are read, of rows that have so many sums: processors see so many streams side by
/// side, and the cache holds as many lines that are a power of two apart.
pub(super) fn passes(columns: usize, sums: usize) -> usize {
    (columns.next_power_of_two() / COLUMNS_UPRIGHT).clamp(1, sums)
}

/// How many columns the rows of a kernel have, if few enough to have all of them emitted.
pub(super) fn at_once(kernel: &Kernel, numerics: Numerics, lanes: usize) -> Option<usize> {
    let columns = kernel.length().fixed().filter(|_| kernel.as_one || kernel.reduced().len() == 1)?;
    let mut sums = kernel.roots.iter().filter(|root| root.role != Role::Store);
    let (Some(sum), None) = (sums.next(), sums.next()) else { return None };
    let expr = kernel.expr(sum.expr);
    // Where a column is must be computed for each if dimensions count as one.
    let each = i64::from(kernel.cost()) + part_count(expr.dtype) as i64 + i64::from(kernel.as_one);
    let cost = each.checked_mul(columns)?;
    let is_plain = expr.stage == 0 && !order::is_summed_in_blocks(kernel, sum, numerics, lanes);
    (cost <= COLUMNS_AT_ONCE && is_plain).then_some(columns as usize)
}

impl KernelEmitter<'_> {
    /// A tile of rows of so many columns.
    pub(super) fn rows_halved(&mut self, down: &Down, columns: usize, tile: Bounds) {
        let kernel = self.kernel;
        let Some(root) = kernel.roots.iter().position(|root| root.role != Role::Store) else {
            unreachable!("what is read down its columns is reduced")
        };
        let passes = passes(columns, down.sums);
        if self.columns[root].is_empty() && passes > 1 {
            let count = down.tall * i64::from(passes.ilog2());
            let parts = self.accumulator(root);
            self.columns[root] = parts.into_iter().map(|ty| (self.room(ty, count), ty)).collect();
        }
        self.stage = 0;
        let row = kernel.reduced().fold(0, |all, dim| all | 1 << dim);
        self.hoist(1 << down.rows | row, 0);
        let ahead = self.code.index(PREFETCHED_COLUMNS);
        // What fills no vector has a sum of its own where there are no masks.
        let whole = if self.has_masks { columns } else { columns - columns % down.sums };
        for pass in 0..passes {
            let first = if passes == 1 { 0 } else { pass.reverse_bits() >> (usize::BITS - passes.ilog2()) };
            // As many pairs are whole as ones end the number.
            let (depth, pairs) = (pass.count_ones(), pass.trailing_ones());
            let waiting: Vec<MlirValue> =
                (0..=depth).map(|depth| self.tiles_further(down, tile.0, i64::from(depth))).collect();
            self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
                (emitter.stage, emitter.results) = (0, vec![None; kernel.roots.len()]);
                emitter.share(row, 0, lanes);
                if !emitter.runs_ahead() {
                    emitter.next_row =
                        Some(NextRow { ahead: vec![(down.rows, ahead)], level: Level::Second });
                }
                let mut sum = emitter.sum_of_every(root, (first, passes, down.sums), whole, lanes);
                for pair in 1..=pairs {
                    let other = emitter.column(root, waiting[(depth - pair) as usize], lanes);
                    sum = emitter.halved(root, &other, &sum, lanes);
                }
                emitter.next_row = None;
                if pass + 1 < passes {
                    emitter.put_column(root, &sum, waiting[(depth - pairs) as usize], lanes);
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
