//! Columns whose elements lie side by side, one by one: a vector holds an element of each of several runs of rows of a column,
//! whose sums depend on none of the others. Squares of these elements are transposed in registers.
//!
//! Runs are the [blocks](promote_lower::order::BLOCK) of a sum, of columns too few for a vector, or the parts that a column is cut
//! into. Columns one after the other are memory in order. The lines of the runs of a vector are read across each other, so they are
//! prefetched, in the order in which they lie in memory.
//!
//! ## Laws
//! - The elements of a run are combined one after the other, as where they lie in rows.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Chunk, Expr, ExprId, Form, Kernel, Role, Root, Taken};
use promote_lower::order::{BLOCK, has_free_order, is_summed_in_blocks};
use promote_scalar::memory;

use super::roots::accumulator_bytes;
use super::squares::{Ahead, Bounds, Then, reads};
use super::upright::widest;
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    LEAST_RUNS, LONGEST_RUNS, PARTS_BESIDE, RUNS_AHEAD, RUNS_BYTES, RUNS_FAR_AHEAD, RUNS_NEXT,
};
use crate::targets::llvm::{Level, Predicate, Register};

/// Whether nothing varies along a column but what is read in squares.
fn is_in_squares(kernel: &Kernel, dim: usize) -> bool {
    let across: Vec<ExprId> = reads(kernel, dim).into_iter().map(|(id, ..)| id).collect();
    let is_in_square = |(id, expr): (ExprId, &Expr)| {
        let is_along = expr.code.strides().is_some_and(|strides| !strides[dim].is_zero());
        !is_along || across.contains(&id)
    };
    (0..).map(ExprId).zip(&kernel.exprs).all(is_in_square)
}

/// Whether blocks of a column can be reduced beside each other: each root has a sum for each block, or may be reduced in any order.
pub(super) fn has_blocks_beside(kernel: &Kernel, dim: usize, numerics: Numerics) -> bool {
    let has_blocks = |root: &Root| match root.role {
        Role::Store => true,
        Role::Reduce(op) => {
            is_summed_in_blocks(kernel, root, numerics, 1) || has_free_order(op, kernel.expr(root.expr).dtype)
        }
        Role::Arg(_) | Role::Scan(_) => false,
    };
    let is_of_columns = matches!(kernel.form, Form::Columns { .. });
    is_of_columns && kernel.roots.iter().all(has_blocks) && is_in_squares(kernel, dim)
}

/// Parts of columns that are reduced beside each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    chunk: Chunk,
    /// How many rows each has.
    length: i64,
    /// Of how many parts a vector holds an element.
    pub(super) lanes: usize,
}

impl Parts {
    /// The parts of a kernel's columns, if there are enough of them for vectors of so many lanes, and so short that the rows of all lanes
    /// are brought into the cache together.
    pub(super) fn new(kernel: &Kernel, dim: usize, lanes: usize) -> Option<Self> {
        let chunk = kernel.chunk.filter(|chunk| chunk.dim == dim && chunk.taken == Taken::Own)?;
        let (length, extent) = (chunk.length.fixed()?, kernel.dims[dim].fixed()?);
        let is_reduced_once =
            |root: &Root| matches!(root.role, Role::Reduce(_)) && kernel.expr(root.expr).stage == 0;
        let is_of_columns = matches!(kernel.form, Form::Columns { .. }) && kernel.reduced().len() == 1;
        let is_same_in_parts = kernel.exprs.iter().all(|expr| expr.dims & 1 << chunk.by == 0);
        let can_be = is_of_columns && is_same_in_parts && kernel.roots.iter().all(is_reduced_once);
        let rows = lanes as i64;
        let bytes: i64 = kernel.roots.iter().map(|root| accumulator_bytes(kernel, root)).sum();
        let longest = LONGEST_RUNS / rows / widest(kernel, dim);
        let is_worth_it = lanes >= LEAST_RUNS
            && (rows..=longest).contains(&length)
            && extent / length >= least_parts(lanes)
            && bytes * rows * PARTS_BESIDE <= RUNS_BYTES;
        (can_be && is_worth_it && is_in_squares(kernel, dim)).then_some(Self { chunk, length, lanes })
    }

    /// The dimension of the parts.
    pub(super) const fn by(&self) -> usize {
        self.chunk.by
    }
}

/// The fewest parts that are worth vectors of so many lanes, rather than those of as many columns.
const fn least_parts(lanes: usize) -> i64 {
    lanes as i64 * 3 / 4
}

/// The fewest parts that are left for a vector of so many lanes: those of all lanes take as long.
const fn least_full(lanes: usize) -> i64 {
    lanes as i64 / 2
}

/// Runs of rows of a column, a lane for each.
#[derive(Clone, Copy)]
struct Runs<'a> {
    /// The dimension of the rows.
    dim: usize,
    /// The first row of each.
    first: &'a [MlirValue],
    /// How many rows each has, at least as many as there are lanes; those of all its [blocks](BLOCK) but the last are a whole number of
    /// squares.
    length: i64,
    /// What is read after the last rows.
    then: Then,
}

impl KernelEmitter<'_> {
    /// Reduces the whole blocks of a column, several beside each other, if that can be done; what is left of the rows, and the
    /// accumulators.
    pub(super) fn blocks_beside(
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
        let block = self.code.index(BLOCK);
        let left = self.code.int("llvm.sub", middle, groups.index);
        let left = self.code.int("llvm.sdiv", left, block);
        let (first, count) = self.firsts(groups.index, (BLOCK, left), lanes);
        let outside = self.vector.replace(dim);
        let start = self.start_of(roots, lanes);
        let runs = Runs { dim, first: &first, length: BLOCK, then: Then::Unknown };
        let bounds = (self.code.index(0), block);
        let sums = self.rows_of_runs(runs, bounds, roots, &start);
        self.vector = outside;
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

    /// A tile of columns, and of the parts that they are cut into: whole ones are reduced beside each other, but for a few that are left
    /// of vectors.
    pub(super) fn parts_of_columns(&mut self, parts: Parts, columns: Bounds, (from, to): Bounds) {
        let (kernel, last) = (self.kernel, self.kernel.dims.len() - 1);
        let Parts { chunk, length, lanes } = parts;
        let roots: Vec<usize> = (0..kernel.roots.len()).collect();
        for root in &roots {
            let types = self.accumulator(*root);
            let size = PARTS_BESIDE * lanes as i64;
            self.columns[*root] = types.into_iter().map(|ty| (self.room(ty, size), ty)).collect();
        }
        let (extent, rows) = (self.product(&kernel.dims[chunk.dim].clone()), self.code.index(length));
        let whole = self.code.int("llvm.sdiv", extent, rows);
        let whole = self.code.int("llvm.intr.smin", whole, to);
        let whole = self.code.int("llvm.intr.smax", whole, from);
        let middle = self.last_whole((from, whole), lanes as i64);
        let rest = self.code.int("llvm.sub", whole, middle);
        let least = self.code.index(least_full(lanes));
        let is_few = self.code.compare(Predicate::Slt, rest, least);
        let middle = self.code.value("llvm.select", &[is_few, middle, whole], self.code.types.i64, &[]);
        let tile = (columns.0, from);
        self.repeat(last, columns, 1, &[], &mut |emitter, _| {
            emitter.prefetch_results(parts, tile);
            let groups = emitter.code.open((from, middle, lanes as i64), &[]);
            emitter.frames.push(Scope::default());
            emitter.group_of_parts(parts, tile, (groups.index, middle));
            emitter.frames.pop();
            emitter.code.close(&groups, &[]);
            Vec::new()
        });
        let outside = std::mem::replace(&mut self.lanes, lanes);
        self.repeat(chunk.by, (from, middle), 1, &[], &mut |emitter, _| {
            let part = emitter.at(chunk.by);
            let before = emitter.place_before(parts, tile, part);
            emitter.innermost(last, columns, &[], &mut |emitter, lanes, _| {
                for root in &roots {
                    let result = emitter.column_result(*root, before, lanes);
                    emitter.store_result(*root, result, lanes);
                }
                Vec::new()
            });
            Vec::new()
        });
        self.lanes = outside;
        self.repeat(chunk.by, (middle, to), 1, &[], &mut |emitter, _| {
            emitter.columns_upright(chunk.dim, columns);
            Vec::new()
        });
    }

    /// Brings the lines that parts of a tile are stored to into the cache while its columns are reduced: those of some parts with each
    /// column.
    fn prefetch_results(&mut self, parts: Parts, (column, from): (MlirValue, MlirValue)) {
        let (kernel, last, by) = (self.kernel, self.kernel.dims.len() - 1, parts.by());
        let (own, with_each) = (self.at(last), PARTS_BESIDE / parts.lanes as i64);
        let (number, each) = (self.code.int("llvm.sub", own, column), self.code.index(with_each));
        let ahead = self.code.int("llvm.mul", number, each);
        let first = self.code.int("llvm.add", from, ahead);
        self.index[last] = Some(column);
        for number in 0..with_each {
            let number = self.code.index(number);
            self.index[by] = Some(self.code.int("llvm.add", first, number));
            for root in &kernel.roots {
                let dtype = kernel.expr(root.expr).dtype;
                for sink in &root.sinks {
                    let (address, _) = self.first(sink, dtype, None);
                    self.code.prefetch_written(address);
                }
            }
        }
        (self.index[last], self.index[by]) = (Some(own), None);
    }

    /// The index before the first column of a part, so far that the columns of a tile lie behind those of the parts before.
    fn place_before(
        &mut self,
        parts: Parts,
        (column, from): (MlirValue, MlirValue),
        part: MlirValue,
    ) -> MlirValue {
        let (number, lanes) = (self.code.int("llvm.sub", part, from), self.code.index(parts.lanes as i64));
        let columns = self.code.int("llvm.mul", number, lanes);
        self.code.int("llvm.sub", column, columns)
    }

    /// Puts the accumulators of some parts of the column at hand, as many as there are lanes or are left, where those of the tile are.
    fn group_of_parts(&mut self, parts: Parts, tile: (MlirValue, MlirValue), (part, end): Bounds) {
        let Parts { chunk, length, lanes } = parts;
        let last = self.kernel.dims.len() - 1;
        let roots: Vec<usize> = (0..self.kernel.roots.len()).collect();
        let (rows, left) = (self.code.index(length), self.code.int("llvm.sub", end, part));
        let row = self.code.int("llvm.mul", part, rows);
        let (first, _) = self.firsts(row, (length, left), lanes);
        let runs = Runs { dim: chunk.dim, first: &first, length, then: Then::Column(last) };
        let outside = self.vector.replace(chunk.dim);
        let start = self.start_of(&roots, lanes);
        let bounds = (self.code.index(0), rows);
        let of_all = (roots.as_slice(), start.as_slice());
        let sums = self.in_blocks(bounds, BLOCK, of_all, &[lanes], &mut |emitter, bounds, state| {
            emitter.rows_of_runs(runs, bounds, &roots, state)
        });
        self.vector = outside;
        let mut rest = sums.as_slice();
        for root in roots {
            let (own, others) = rest.split_at(self.accumulator(root).len());
            rest = others;
            for lane in 0..lanes {
                // There is room for those of the lanes that have none, too.
                let number = self.code.index(lane as i64);
                let part = self.code.int("llvm.add", part, number);
                let before = self.place_before(parts, tile, part);
                let sums = self.registers(root, own);
                let sums: Vec<MlirValue> =
                    sums.into_iter().map(|sum| self.part_of(sum, &[lane as i32]).value).collect();
                self.put_column(root, &sums, before, 1);
            }
        }
    }

    /// The first rows of runs that follow each other from a row on, a lane for each, and how many there are, at most as many as are
    /// left. Lanes beyond them have the last one, too.
    fn firsts(
        &mut self,
        row: MlirValue,
        (length, left): (i64, MlirValue),
        lanes: usize,
    ) -> (Vec<MlirValue>, MlirValue) {
        let (one, most, length) =
            (self.code.index(1), self.code.index(lanes as i64), self.code.index(length));
        let count = self.code.int("llvm.intr.smin", left, most);
        let last = self.code.int("llvm.sub", count, one);
        let first = |lane: i64| {
            let lane = self.code.index(lane);
            let number = self.code.int("llvm.intr.smin", lane, last);
            let ahead = self.code.int("llvm.mul", number, length);
            self.code.int("llvm.add", row, ahead)
        };
        ((0..lanes as i64).map(first).collect(), count)
    }

    fn start_of(&mut self, roots: &[usize], lanes: usize) -> Vec<MlirValue> {
        roots.iter().flat_map(|root| self.identity(*root, lanes)).collect()
    }

    /// Adds rows of each run to accumulators, in squares; what is left of them, in one that ends where they do. What was computed
    /// before has one lane here, so that nothing of it is taken for lanes along the rows.
    fn rows_of_runs(
        &mut self,
        runs: Runs<'_>,
        (from, to): Bounds,
        roots: &[usize],
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        let lanes = runs.first.len();
        let middle = self.last_whole((from, to), lanes as i64);
        let whole = self.code.open((from, middle, lanes as i64), state);
        self.frames.push(Scope::default());
        self.prefetch_runs(runs, whole.index);
        let sums = self.square_of_runs(runs, whole.index, (0, roots), &whole.carried);
        self.frames.pop();
        self.code.close(&whole, &sums);
        let rest = runs.length as usize % lanes;
        if rest == 0 {
            return whole.carried;
        }
        let last = self.code.open((middle, to, lanes as i64), &whole.carried);
        self.frames.push(Scope::default());
        let size = self.code.index(lanes as i64);
        let row = self.code.int("llvm.sub", to, size);
        let sums = self.square_of_runs(runs, row, (lanes - rest, roots), &last.carried);
        self.frames.pop();
        self.code.close(&last, &sums);
        last.carried
    }

    /// Adds the rows of a square to accumulators, without so many first ones.
    fn square_of_runs(
        &mut self,
        runs: Runs<'_>,
        row: MlirValue,
        (skipped, roots): (usize, &[usize]),
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        let first = runs.first.iter();
        let lanes_at: Vec<MlirValue> = first.map(|first| self.code.int("llvm.add", *first, row)).collect();
        let (mut sums, mut number) = (state.to_vec(), 0);
        self.square_of(
            (runs.dim, lanes_at[0], lanes_at.len()),
            (runs.dim, &lanes_at),
            (None, None),
            &mut |emitter| {
                if number >= skipped {
                    sums = emitter.row_of_columns(roots, &sums, lanes_at.len());
                }
                number += 1;
            },
        );
        sums
    }

    /// Brings as much into the cache as a square from a row on is read from, in the order in which it lies in memory: what all runs are
    /// read from is needed soon.
    fn prefetch_runs(&mut self, runs: Runs<'_>, row: MlirValue) {
        let (kernel, lanes) = (self.kernel, runs.first.len() as i64);
        // So many rows of each run were read, and of all of them as many elements.
        let size = self.code.index(lanes);
        let done = self.code.int("llvm.mul", row, size);
        let row = self.code.int("llvm.add", runs.first[0], done);
        let aheads = match self.setting.machine.level_ahead() {
            Level::First => &[(RUNS_AHEAD, Level::First)][..],
            Level::Second => &[(RUNS_FAR_AHEAD, Level::Second), (RUNS_NEXT, Level::First)],
        };
        for (_, access, dtype) in reads(kernel, runs.dim) {
            let bytes = i64::from(memory(dtype).bits()) / 8;
            for (ahead, level) in aheads.iter().copied() {
                let ahead = Ahead { rows: ahead / bytes, then: runs.then };
                let ahead = self.elements_ahead(access, (runs.dim, row), ahead);
                let outside = self.index[runs.dim].replace(row);
                let (first, _) = self.first(access, dtype, Some(ahead));
                self.index[runs.dim] = outside;
                self.prefetch_lines(first, (lanes * lanes * bytes) as usize, level);
            }
        }
        self.code.in_order();
    }
}
