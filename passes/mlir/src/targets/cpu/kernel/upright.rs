//! Columns whose elements lie side by side: as many as a vector has lanes, from top to bottom, in [squares](super::squares)
//! that are transposed in registers.
//!
//! A vector of a row would be gathered from as many lines of the cache. The accumulators of the columns at hand stay in
//! registers, and so do their results, for later stages, which read columns again that are still in the caches.
//!
//! What is left of columns and fills no vector is reduced in one with a mask; one column, or all where there are no masks, one by one.
//! Where nothing else varies along columns, all but short ones are read [lengthwise](super::lengthwise).
//!
//! ## Laws
//! - The elements of a column are combined in blocks of rows and one after the other, or in fours, as where they lie in rows.

use mlir_sys::*;
use promote_lower::kernel::{Kernel, Role};
use promote_lower::order::{BLOCK, FOUR};
use promote_scalar::memory;

use super::fours::Partial;
use super::lengthwise::{Lengthwise, most_blocks};
use super::squares::{Ahead, Bounds, Then, reads, step_across};
use super::{KernelEmitter, Scope};
use crate::raw;
use crate::targets::cpu::costs::{
    CACHE_LINE, COLUMNS_ONE_BY_ONE, LEAST_LENGTHWISE, MOST_PREFETCHED_UPRIGHT, PREFETCHED_UPRIGHT,
    ROWS_ONE_BY_ONE,
};
use crate::targets::llvm::{Predicate, block_argument};

/// The bytes of the widest element that is read in squares.
pub(super) fn widest(kernel: &Kernel, dim: usize) -> i64 {
    let bytes = reads(kernel, dim).into_iter().map(|(_, _, dtype)| i64::from(memory(dtype).bits()) / 8);
    bytes.max().unwrap_or(1)
}

impl KernelEmitter<'_> {
    /// A tile of columns, which lie along a reduced dimension.
    pub(super) fn columns_upright(&mut self, dim: usize, columns: Bounds) {
        match self.lengthwise {
            Some(Lengthwise::All) => self.tile_lengthwise(dim, columns),
            Some(Lengthwise::Open) => {
                let (after, (from, to)) = (self.code.new_block(&[]), self.bounds(dim));
                let rows = self.code.int("llvm.sub", to, from);
                let [least, most] = [LEAST_LENGTHWISE, BLOCK * most_blocks(self.kernel, self.runs)]
                    .map(|rows| self.code.index(rows));
                let is_worth_it = self.code.compare(Predicate::Sge, rows, least);
                let has_room = self.code.compare(Predicate::Sle, rows, most);
                let condition = self.code.select(is_worth_it, has_room, is_worth_it);
                self.branch_to(after, condition, &mut |emitter| emitter.tile_lengthwise(dim, columns));
                self.columns_in_squares(dim, columns);
                self.code.branch(after, &[]);
                self.code.go_to(after);
            }
            Some(Lengthwise::Rest) | None => self.columns_in_squares(dim, columns),
        }
    }

    /// A tile of columns, each of which is read lengthwise.
    fn tile_lengthwise(&mut self, dim: usize, columns: Bounds) {
        let (last, lanes) = (self.kernel.dims.len() - 1, self.runs);
        let outside = std::mem::replace(&mut self.lanes, lanes);
        if self.kernel.dims[last].fixed().is_some_and(|columns| columns % lanes as i64 == 0) {
            self.repeat(last, columns, lanes, &[], &mut |emitter, _| {
                emitter.some_columns(dim, lanes, true);
                Vec::new()
            });
        } else {
            self.part_of_columns(dim, columns, true);
        }
        self.lanes = outside;
    }

    /// A tile of columns in squares; what fills none, in parts of some or one by one.
    fn columns_in_squares(&mut self, dim: usize, (from, to): Bounds) {
        let (last, lanes) = (self.kernel.dims.len() - 1, self.lanes);
        let middle = self.last_whole((from, to), lanes as i64);
        let left = self.kernel.dims[last].fixed().map(|columns| columns % lanes as i64);
        // What is left is reduced one by one if it is so little, and there may be more of it.
        let few = self.most_one_by_one(dim);
        let rest = match (left, few) {
            (Some(left), Some(few)) if left > few => middle,
            (None, Some(few)) => self.unless_more((middle, to), few),
            (Some(_) | None, _) => to,
        };
        let is_rest = self.lengthwise == Some(Lengthwise::Rest);
        for (bounds, lanes, lengthwise) in [((from, middle), lanes, false), ((middle, rest), 1, is_rest)] {
            self.repeat(last, bounds, lanes, &[], &mut |emitter, _| {
                emitter.some_columns(dim, lanes, lengthwise);
                Vec::new()
            });
        }
        if few.is_some_and(|few| left.is_none_or(|left| left > few)) {
            self.part_of_columns(dim, (rest, to), false);
        }
    }

    /// How many columns that fill no vector are reduced one by one, at most: more are reduced in a vector with a mask. None if any number
    /// is.
    fn most_one_by_one(&self, dim: usize) -> Option<i64> {
        let kernel = self.kernel;
        let fills =
            kernel.dims.last().is_some_and(|last| last.fixed().is_none_or(|last| last >= self.lanes as i64));
        if !self.has_masks || !fills {
            return None;
        }
        // Less than a square of short ones is read anyway.
        let is_short = self.rows_of_unit(dim).is_some_and(|rows| rows < self.lanes as i64);
        Some(if is_short { self.lanes as i64 / 2 } else { COLUMNS_ONE_BY_ONE })
    }

    /// The end of a range if it has so many indices at most, else its start.
    fn unless_more(&mut self, (from, to): Bounds, most: i64) -> MlirValue {
        let (count, most) = (self.code.int("llvm.sub", to, from), self.code.index(most));
        let is_more = self.code.compare(Predicate::Sgt, count, most);
        self.code.select(is_more, from, to)
    }

    /// Columns of which the last ones fill no vector, in some whose other lanes are masked: in these the last column is read again, where
    /// they are not read lengthwise.
    fn part_of_columns(&mut self, dim: usize, (from, to): Bounds, lengthwise: bool) {
        let (last, lanes) = (self.kernel.dims.len() - 1, self.lanes);
        self.repeat(last, (from, to), lanes, &[], &mut |emitter, _| {
            let one = emitter.code.index(1);
            emitter.last_column = Some(emitter.code.int("llvm.sub", to, one));
            emitter.mask = Some(emitter.lanes_before(last, to));
            emitter.some_columns(dim, lanes, lengthwise);
            (emitter.mask, emitter.last_column) = (None, None);
            Vec::new()
        });
    }

    /// So many columns from the current one on.
    fn some_columns(&mut self, dim: usize, lanes: usize, lengthwise: bool) {
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
            if !lengthwise {
                self.share(reduced.clone().fold(0, |all, dim| all | 1 << dim), stage, lanes);
            }
            let start: Vec<MlirValue> = roots.iter().flat_map(|root| self.identity(*root, lanes)).collect();
            let sums = self.enclose(reduced.start..dim, stage, &start, &mut |emitter, state| {
                let (mut bounds, mut state) = (emitter.bounds(dim), state.to_vec());
                if lengthwise {
                    // Without masks, whole blocks are.
                    let whole = if emitter.has_masks { bounds.1 } else { emitter.last_whole(bounds, BLOCK) };
                    state = emitter.columns_lengthwise((dim, (bounds.0, whole)), (&roots, &state), lanes);
                    if emitter.has_masks {
                        return state;
                    }
                    bounds.0 = whole;
                }
                let of_all = (roots.as_slice(), state.as_slice());
                emitter.in_blocks(bounds, BLOCK, of_all, &[lanes], &mut |emitter, bounds, state| {
                    emitter.rows_of_columns((dim, bounds), &roots, state, lanes)
                })
            });
            for (root, own) in self.of_each(&roots, &sums) {
                let registers = self.registers(root, own);
                self.results[root] = Some(self.result(root, &registers, lanes));
            }
        }
        self.store_row(&[], lanes);
    }

    /// How many squares lie in the lines of the cache that the first of them is read from.
    fn squares_of_lines(&self, dim: usize, lanes: usize) -> i64 {
        (CACHE_LINE / (lanes as i64 * widest(self.kernel, dim) * self.step_of_squares(dim))).max(1)
    }

    /// The most elements from one row of a square to the next.
    fn step_of_squares(&self, dim: usize) -> i64 {
        let steps = reads(self.kernel, dim)
            .into_iter()
            .filter_map(|(_, access, dtype)| step_across(access, dim, dtype));
        steps.max().unwrap_or(1)
    }

    /// What is brought into the cache with the last rows of some columns: the columns of the next unit, or, where strides do not number
    /// units, those beside them. Of other reduced dimensions there are more columns before.
    fn after_columns(&self, dim: usize) -> Then {
        let is_of_part =
            |outer: usize| self.kernel.chunk.is_some_and(|chunk| chunk.by == outer && chunk.dim == dim);
        let is_known = self.by_strides.is_some() || (0..dim).all(is_of_part);
        if is_known && self.kernel.reduced().len() == 1 { Then::Unit } else { Then::Unknown }
    }

    /// Adds rows to accumulators: in some squares at once as far as they go, then in single ones, and what is left in a part of one, or
    /// row by row.
    fn rows_of_columns(
        &mut self,
        (dim, (from, to)): (usize, Bounds),
        roots: &[usize],
        state: &[MlirValue],
        lanes: usize,
    ) -> Vec<MlirValue> {
        if lanes == 1 {
            return self.row_by_row((dim, (from, to)), roots, state, 1);
        }
        let squares = self.squares_of_lines(dim, lanes);
        let at_once = squares * lanes as i64;
        let rows = (PREFETCHED_UPRIGHT / widest(self.kernel, dim)).min(MOST_PREFETCHED_UPRIGHT);
        let ahead = Ahead { rows, then: self.after_columns(dim) };
        let [many, whole] = [at_once, lanes as i64].map(|rows| self.last_whole((from, to), rows));
        let mut state = state.to_vec();
        // Squares of fewer rows than a four has would be parts of it.
        let has_fours = lanes as i64 >= FOUR;
        let rest = (squares > 1 && has_fours).then_some(((many, whole), 1));
        for (bounds, squares) in std::iter::once(((from, many), squares)).chain(rest) {
            state = self.repeat(dim, bounds, squares as usize * lanes, &state, &mut |emitter, state| {
                let (row, mut sums) = (emitter.at(dim), emitter.sums_in_fours(roots, state));
                for square in 0..squares {
                    let first = emitter.code.index(square * lanes as i64);
                    let first = emitter.code.int("llvm.add", row, first);
                    // Of what lies in one line, once.
                    let ahead = (square == 0).then_some(ahead);
                    emitter.square(dim, first, ahead, &mut |emitter| {
                        emitter.add_row(roots, &mut sums, lanes);
                    });
                }
                emitter.index[dim] = Some(row);
                emitter.with_last_fours(roots, &sums, lanes)
            });
        }
        if !has_fours {
            return self.row_by_row((dim, (many, to)), roots, &state, lanes);
        }
        // Whole squares bring in what lies between them, too.
        let has_whole = self.kernel.dims[dim].fixed().is_none_or(|extent| extent >= lanes as i64);
        // Squares in steps have no masks.
        let has_part = self.has_masks && self.step_of_squares(dim) == 1;
        match has_part && !self.leaves_few(dim, lanes) {
            true => self.part_of_square((dim, (whole, to)), (!has_whole).then_some(ahead), roots, &state),
            false => self.row_by_row((dim, (whole, to)), roots, &state, lanes),
        }
    }

    /// Whether whole squares are known to leave so few rows of a column that a square takes longer than reading them one by one.
    fn leaves_few(&self, dim: usize, lanes: usize) -> bool {
        let Some(extent) = self.kernel.dims[dim].fixed() else { return false };
        let is_few = |rows: i64| rows % lanes as i64 <= ROWS_ONE_BY_ONE;
        match self.kernel.chunk.as_ref().filter(|chunk| chunk.dim == dim) {
            Some(chunk) => {
                chunk.length.fixed().is_some_and(|length| is_few(length) && is_few(extent % length.max(1)))
            }
            None => is_few(extent),
        }
    }

    /// Adds rows to accumulators one by one.
    fn row_by_row(
        &mut self,
        (dim, bounds): (usize, Bounds),
        roots: &[usize],
        state: &[MlirValue],
        lanes: usize,
    ) -> Vec<MlirValue> {
        let rows = |emitter: &mut Self, bounds: Bounds, state: &[MlirValue]| {
            emitter.repeat(dim, bounds, 1, state, &mut |emitter, state| {
                emitter.row_of_columns(roots, state, lanes)
            })
        };
        if !roots.iter().any(|root| self.is_summed_in_fours(*root)) {
            return rows(self, bounds, state);
        }
        self.in_pieces(bounds, FOUR, state, &mut |emitter, bounds, state| {
            let begun = emitter.begun(Partial::Four, (roots, state), lanes);
            let sums = rows(emitter, bounds, &begun);
            emitter.with_partial(Partial::Four, roots, (state, &sums), lanes)
        })
    }

    /// Adds fewer rows than a square has to accumulators: what is read across is loaded as a square, with a mask of the rows
    /// that there are.
    fn part_of_square(
        &mut self,
        (dim, (from, to)): (usize, Bounds),
        ahead: Option<Ahead>,
        roots: &[usize],
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        let (last, lanes) = (self.kernel.dims.len() - 1, self.lanes);
        let types: Vec<MlirType> = state.iter().map(|value| raw::value_type(*value)).collect();
        let after = self.code.new_block(&types);
        let outside = self.index[dim].replace(from);
        self.frames.push(Scope::default());
        self.go_on_before(dim, to, (after, state));
        let mask = self.lanes_before(dim, to);
        let columns = self.columns_of_square();
        let (mut sums, mut rows) = (self.sums_in_fours(roots, state), 0);
        self.square_of((dim, from, lanes), (last, &columns), (ahead, Some(mask)), &mut |emitter| {
            rows += 1;
            // The last row of a square is not there.
            if rows == lanes {
                return;
            }
            if rows > 1 {
                let state = emitter.with_last_fours(roots, &sums, lanes);
                emitter.go_on_before(dim, to, (after, &state));
            }
            emitter.add_row(roots, &mut sums, lanes);
        });
        let state = self.with_last_fours(roots, &sums, lanes);
        self.code.branch(after, &state);
        self.code.go_to(after);
        self.frames.pop();
        self.index[dim] = outside;
        (0..types.len()).map(|value| block_argument(after, value)).collect()
    }

    /// Goes on if the index of a dimension lies before an end, else elsewhere.
    fn go_on_before(&mut self, dim: usize, end: MlirValue, (after, state): (MlirBlock, &[MlirValue])) {
        let (index, here) = (self.at(dim), self.code.new_block(&[]));
        let is_before = self.code.compare(Predicate::Slt, index, end);
        self.code.branch_if(is_before, (here, &[]), (after, state));
        self.code.go_to(here);
    }

    /// Adds the elements of the current row to accumulators.
    pub(super) fn row_of_columns(
        &mut self,
        roots: &[usize],
        state: &[MlirValue],
        lanes: usize,
    ) -> Vec<MlirValue> {
        let mut next = Vec::with_capacity(state.len());
        for (root, own) in self.of_each(roots, state) {
            next.extend(self.accumulate(root, own, lanes));
        }
        next
    }
}
