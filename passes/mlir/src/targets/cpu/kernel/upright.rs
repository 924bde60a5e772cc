//! Columns whose elements lie side by side: as many as a vector has lanes, from top to bottom, in [squares](super::squares)
//! that are transposed in registers.
//!
//! A vector of a row would be gathered from as many lines of the cache. The accumulators of the columns at hand stay in
//! registers, and so do their results, for later stages, which read columns again that are still in the caches.
//!
//! Columns that fill no vector, and those of short parts, are reduced [one by one](super::runs).
//!
//! ## Laws
//! - The elements of a column are combined one after the other in blocks of rows, as where they lie in rows.

use mlir_sys::*;
use promote_lower::kernel::{Kernel, Role};
use promote_lower::order::BLOCK;
use promote_scalar::memory;

use super::KernelEmitter;
use super::squares::{Ahead, Bounds, reads};
use crate::targets::cpu::costs::{CACHE_LINE, MOST_PREFETCHED_UPRIGHT, PREFETCHED_UPRIGHT};

/// The bytes of the widest element that is read in squares.
pub(super) fn widest(kernel: &Kernel, dim: usize) -> i64 {
    let bytes = reads(kernel, dim).into_iter().map(|(_, _, dtype)| i64::from(memory(dtype).bits()) / 8);
    bytes.max().unwrap_or(1)
}

impl KernelEmitter<'_> {
    /// A tile of columns, which lie along a reduced dimension.
    pub(super) fn columns_upright(&mut self, dim: usize, (from, to): Bounds) {
        let (last, lanes) = (self.kernel.dims.len() - 1, self.lanes);
        let middle = self.last_whole((from, to), lanes as i64);
        for (bounds, lanes) in [((from, middle), lanes), ((middle, to), 1)] {
            self.repeat(last, bounds, lanes, &[], &mut |emitter, _| {
                emitter.some_columns(dim, lanes);
                Vec::new()
            });
        }
    }

    /// So many columns from the current one on.
    fn some_columns(&mut self, dim: usize, lanes: usize) {
        let kernel = self.kernel;
        let reduced = kernel.reduced();
        self.results.fill(None);
        let is_reduction = |root: &usize| kernel.roots[*root].role != Role::Store;
        let reductions: Vec<usize> = (0..kernel.roots.len()).filter(is_reduction).collect();
        let last = reductions.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        for stage in 0..=last {
            self.stage = stage;
            let roots: Vec<usize> =
                reductions.iter().copied().filter(|root| self.stage(*root) == stage).collect();
            self.share(reduced.clone().fold(0, |all, dim| all | 1 << dim), stage, lanes);
            let start: Vec<MlirValue> = roots.iter().flat_map(|root| self.identity(*root, lanes)).collect();
            let sums = self.enclose(reduced.start..dim, stage, &start, &mut |emitter, state| {
                let bounds = emitter.bounds(dim);
                let (bounds, state) = if lanes == 1 {
                    emitter.blocks_beside(dim, bounds, &roots, state)
                } else {
                    (bounds, state.to_vec())
                };
                let of_all = (roots.as_slice(), state.as_slice());
                emitter.in_blocks(bounds, BLOCK, of_all, &[lanes], &mut |emitter, bounds, state| {
                    emitter.rows_of_columns((dim, bounds), &roots, state, lanes)
                })
            });
            let mut rest = sums.as_slice();
            for root in roots {
                let (own, others) = rest.split_at(self.accumulator(root).len());
                rest = others;
                let registers = self.registers(root, own);
                self.results[root] = Some(self.result(root, &registers, lanes));
            }
        }
        self.store_row(&[], lanes);
    }

    /// How many squares lie in the lines of the cache that the first of them is read from.
    fn squares_of_lines(&self, dim: usize, lanes: usize) -> i64 {
        (CACHE_LINE / (lanes as i64 * widest(self.kernel, dim))).max(1)
    }

    /// The dimension of the columns, and how many of them are reduced at once, if the first rows of those that follow are read after
    /// the last rows of these: units are in the order of the parts of a column, if it has parts, and then of the columns.
    fn next_columns(&self, dim: usize) -> Option<(usize, i64)> {
        let is_of_part =
            |outer: usize| self.kernel.chunk.is_some_and(|chunk| chunk.by == outer && chunk.dim == dim);
        (0..dim).all(is_of_part).then_some((self.kernel.dims.len() - 1, self.lanes as i64))
    }

    /// Adds rows to accumulators: in some squares at once as far as they go, then one by one.
    fn rows_of_columns(
        &mut self,
        (dim, (from, to)): (usize, Bounds),
        roots: &[usize],
        state: &[MlirValue],
        lanes: usize,
    ) -> Vec<MlirValue> {
        let squares = self.squares_of_lines(dim, lanes);
        let at_once = squares * lanes as i64;
        let rows = (PREFETCHED_UPRIGHT / widest(self.kernel, dim)).min(MOST_PREFETCHED_UPRIGHT);
        let ahead = Ahead { rows, then: self.next_columns(dim) };
        let middle = if lanes == 1 { from } else { self.last_whole((from, to), at_once) };
        let mut state = state.to_vec();
        if lanes > 1 {
            state = self.repeat(dim, (from, middle), at_once as usize, &state, &mut |emitter, state| {
                let (row, mut state) = (emitter.at(dim), state.to_vec());
                for square in 0..squares {
                    let first = emitter.code.index(square * lanes as i64);
                    let first = emitter.code.int("llvm.add", row, first);
                    // Of what lies in one line, once.
                    let ahead = (square == 0).then_some(ahead);
                    emitter.square(dim, first, ahead, &mut |emitter| {
                        state = emitter.row_of_columns(roots, &state, lanes);
                    });
                }
                emitter.index[dim] = Some(row);
                state
            });
        }
        self.repeat(dim, (middle, to), 1, &state, &mut |emitter, state| {
            emitter.row_of_columns(roots, state, lanes)
        })
    }

    /// Adds the elements of the current row to accumulators.
    pub(super) fn row_of_columns(
        &mut self,
        roots: &[usize],
        state: &[MlirValue],
        lanes: usize,
    ) -> Vec<MlirValue> {
        let mut rest = state;
        let mut next = Vec::with_capacity(state.len());
        for root in roots {
            let (own, others) = rest.split_at(self.accumulator(*root).len());
            rest = others;
            next.extend(self.accumulate(*root, own, lanes));
        }
        next
    }
}
