//! Columns whose elements lie side by side: as many as a vector has lanes, from top to bottom, in [squares](super::squares)
//! that are transposed in registers.
//!
//! A vector of a row would be gathered from as many lines of the cache. The accumulators of the columns at hand stay in
//! registers, and so do their results, for later stages, which read columns again that are still in the caches.
//!
//! Columns that fill no vector are added up one by one. A vector then holds an element of each of several blocks of rows, whose sums
//! depend on none of the others; they are added up one after the other at the end.
//!
//! ## Laws
//! - The elements of a column are combined one after the other in blocks of rows, as where they lie in rows.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Expr, ExprId, Form, Kernel, Role, Root};
use promote_lower::order::{BLOCK, has_free_order, is_summed_in_blocks};
use promote_scalar::memory;

use super::squares::{Ahead, Bounds, reads};
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    CACHE_LINE, MOST_PREFETCHED_UPRIGHT, PREFETCHED_BLOCKS, PREFETCHED_UPRIGHT,
};
use crate::targets::llvm::Register;

/// Whether blocks of a column can be reduced beside each other: each root has a sum for each block, or may be reduced in any order,
/// and nothing varies along the column but what is read in squares.
pub(super) fn has_blocks_beside(kernel: &Kernel, dim: usize, numerics: Numerics) -> bool {
    let across: Vec<ExprId> = reads(kernel, dim).into_iter().map(|(id, ..)| id).collect();
    let is_in_square = |(id, expr): (ExprId, &Expr)| {
        let is_along = expr.code.strides().is_some_and(|strides| !strides[dim].is_zero());
        !is_along || across.contains(&id)
    };
    let has_blocks = |root: &Root| match root.role {
        Role::Store => true,
        Role::Reduce(op) => {
            is_summed_in_blocks(kernel, root, numerics, 1) || has_free_order(op, kernel.expr(root.expr).dtype)
        }
        Role::Arg(_) | Role::Scan(_) => false,
    };
    let is_of_columns = matches!(kernel.form, Form::Columns { .. });
    let mut exprs = (0..).map(ExprId).zip(&kernel.exprs);
    is_of_columns && kernel.roots.iter().all(has_blocks) && exprs.all(is_in_square)
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
                self.results[root] = Some(self.result(kernel.roots[root].role, &registers, lanes));
            }
        }
        self.store_row(&[], lanes);
    }

    /// Reduces the whole blocks of a column, several beside each other, if that can be done; what is left of the rows, and the
    /// accumulators.
    fn blocks_beside(
        &mut self,
        dim: usize,
        (from, to): Bounds,
        roots: &[usize],
        state: &[MlirValue],
    ) -> (Bounds, Vec<MlirValue>) {
        let Some(lanes) = self.blocks else { return ((from, to), state.to_vec()) };
        let middle = self.last_whole((from, to), BLOCK);
        let groups = self.code.open((from, middle, BLOCK * lanes as i64), state);
        self.frames.push(Scope::default());
        let (block, most) = (self.code.index(BLOCK), self.code.index(lanes as i64));
        let left = self.code.int("llvm.sub", middle, groups.index);
        let left = self.code.int("llvm.sdiv", left, block);
        let count = self.code.int("llvm.intr.smin", left, most);
        let sums = self.sums_of_blocks(dim, (groups.index, count), lanes, roots);
        let zero = self.code.index(0);
        let joins = self.code.open((zero, count, 1), &groups.carried);
        let mut joined = Vec::with_capacity(state.len());
        for root in roots {
            let own = joined.len()..joined.len() + self.accumulator(*root).len();
            let before = self.registers(*root, &joins.carried[own.clone()]);
            let sums = self.registers(*root, &sums[own]);
            let sum: Vec<Register> = sums.into_iter().map(|sum| self.lane_at(sum, joins.index)).collect();
            let all = self.joined_accumulators(*root, 1, &before, &sum);
            joined.extend(all.into_iter().map(|register| register.value));
        }
        self.code.close(&joins, &joined);
        self.frames.pop();
        self.code.close(&groups, &joins.carried);
        ((middle, to), groups.carried)
    }

    /// The accumulators of so many blocks from a row on, a lane for each. Lanes beyond them have the last one, too.
    fn sums_of_blocks(
        &mut self,
        dim: usize,
        (first, count): (MlirValue, MlirValue),
        lanes: usize,
        roots: &[usize],
    ) -> Vec<MlirValue> {
        let (zero, one, block) = (self.code.index(0), self.code.index(1), self.code.index(BLOCK));
        let last = self.code.int("llvm.sub", count, one);
        let blocks: Vec<MlirValue> = (0..lanes as i64)
            .map(|lane| {
                let lane = self.code.index(lane);
                let number = self.code.int("llvm.intr.smin", lane, last);
                let ahead = self.code.int("llvm.mul", number, block);
                self.code.int("llvm.add", first, ahead)
            })
            .collect();
        // What was computed before has one lane here, so that nothing of it is taken for lanes along the rows.
        let outside = self.vector.replace(dim);
        let start: Vec<MlirValue> = roots.iter().flat_map(|root| self.identity(*root, lanes)).collect();
        let rows = self.code.open((zero, block, lanes as i64), &start);
        self.frames.push(Scope::default());
        let lanes_at: Vec<MlirValue> =
            blocks.iter().map(|block| self.code.int("llvm.add", *block, rows.index)).collect();
        let mut sums = rows.carried.clone();
        let ahead = Some(Ahead { rows: PREFETCHED_BLOCKS, then: None });
        self.square_of((dim, lanes_at[0]), (dim, &lanes_at), ahead, &mut |emitter| {
            sums = emitter.row_of_columns(roots, &sums, lanes);
        });
        self.frames.pop();
        self.code.close(&rows, &sums);
        self.vector = outside;
        rows.carried
    }

    /// The bytes of the widest element that is read in squares.
    fn widest(&self, dim: usize) -> i64 {
        let bytes =
            reads(self.kernel, dim).into_iter().map(|(_, _, dtype)| i64::from(memory(dtype).bits()) / 8);
        bytes.max().unwrap_or(1)
    }

    /// How many squares lie in the lines of the cache that the first of them is read from.
    fn squares_of_lines(&self, dim: usize, lanes: usize) -> i64 {
        (CACHE_LINE / (lanes as i64 * self.widest(dim))).max(1)
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
        let rows = (PREFETCHED_UPRIGHT / self.widest(dim)).min(MOST_PREFETCHED_UPRIGHT);
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
    fn row_of_columns(&mut self, roots: &[usize], state: &[MlirValue], lanes: usize) -> Vec<MlirValue> {
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
