//! Columns whose elements lie side by side, cut into parts that are short: those of a column are reduced beside each other, as they follow
//! each other in memory, and read [lengthwise](super::lengthwise).
//!
//! ## Laws
//! - The elements of a part are combined in the order of any column.

use mlir_sys::*;
use promote_lower::kernel::{Chunk, Form, Kernel, Role, Root, Taken};
use promote_lower::order::BLOCK;

use super::lengthwise::{blocks, can_go_lengthwise, most_blocks};
use super::roots::accumulator_bytes;
use super::squares::Bounds;
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    COLUMNS_OF_PARTS, LEAST_LENGTHWISE, LONGEST_PART, PARTS_BESIDE, PARTS_BYTES,
};

/// Parts of columns that are reduced beside each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    chunk: Chunk,
    /// How many rows each has.
    length: i64,
}

impl Parts {
    /// The parts of a kernel's columns, if there are enough of them to transpose so many runs at once, and they are short.
    pub(super) fn new(kernel: &Kernel, dim: usize, (runs, has_masks): (usize, bool)) -> Option<Self> {
        let chunk = kernel.chunk.filter(|chunk| chunk.dim == dim && chunk.taken == Taken::Own)?;
        let (length, extent) = (chunk.length.fixed()?, kernel.dims[dim].fixed()?);
        let is_reduced_once =
            |root: &Root| matches!(root.role, Role::Reduce(_)) && kernel.expr(root.expr).stage == 0;
        let is_of_columns = matches!(kernel.form, Form::Columns { .. }) && kernel.reduced().len() == 1;
        let is_same_in_parts = kernel.exprs.iter().all(|expr| expr.dims & 1 << chunk.by == 0);
        let can_be = is_of_columns && is_same_in_parts && kernel.roots.iter().all(is_reduced_once);
        let bytes: i64 = kernel.roots.iter().map(|root| accumulator_bytes(kernel, root)).sum();
        let has_room = blocks(length) <= most_blocks(kernel, runs);
        let is_worth_it = (LEAST_LENGTHWISE..=LONGEST_PART).contains(&length)
            && extent / length >= least_parts(runs)
            && bytes * COLUMNS_OF_PARTS as i64 * PARTS_BESIDE <= PARTS_BYTES;
        let is_whole = has_masks || length % BLOCK == 0 && extent % length == 0;
        (can_be && is_whole && is_worth_it && has_room && can_go_lengthwise(kernel, dim))
            .then_some(Self { chunk, length })
    }

    /// The dimension of the parts.
    pub(super) const fn by(&self) -> usize {
        self.chunk.by
    }
}

/// The fewest parts that are worth reading so: others are read as columns beside each other.
const fn least_parts(runs: usize) -> i64 {
    runs as i64 * 3 / 4
}

impl KernelEmitter<'_> {
    /// A tile of columns, and of the parts that they are cut into. The last one may be shorter.
    pub(super) fn parts_of_columns(&mut self, parts: Parts, columns: Bounds, (from, to): Bounds) {
        let (kernel, last) = (self.kernel, self.kernel.dims.len() - 1);
        let roots: Vec<usize> = (0..kernel.roots.len()).collect();
        for root in &roots {
            let types = self.accumulator(*root);
            let size = PARTS_BESIDE * COLUMNS_OF_PARTS as i64;
            self.columns[*root] = types.into_iter().map(|ty| (self.room(ty, size), ty)).collect();
        }
        let tile = (columns.0, from);
        self.repeat(last, columns, 1, &[], &mut |emitter, _| {
            let groups = emitter.code.open((from, to, emitter.runs as i64), &[]);
            emitter.frames.push(Scope::default());
            emitter.group_of_parts((parts, &roots), tile, (groups.index, to));
            emitter.frames.pop();
            emitter.code.close(&groups, &[]);
            Vec::new()
        });
        let outside = std::mem::replace(&mut self.lanes, COLUMNS_OF_PARTS);
        let after = self.code.new_block(&[]);
        if let Some(condition) = self.can_stream_squares(parts.by(), (from, columns.0)) {
            self.has_streamed = true;
            self.branch_to(after, condition, &mut |emitter| {
                emitter.streams = true;
                emitter.store_parts(parts, &roots, columns, (from, to));
                emitter.streams = false;
            });
        }
        self.store_parts(parts, &roots, columns, (from, to));
        self.code.branch(after, &[]);
        self.code.go_to(after);
        self.lanes = outside;
    }

    /// Stores what the parts of a tile add up to.
    fn store_parts(&mut self, parts: Parts, roots: &[usize], columns: Bounds, (from, to): Bounds) {
        let last = self.kernel.dims.len() - 1;
        self.repeat(parts.by(), (from, to), 1, &[], &mut |emitter, _| {
            let part = emitter.at(parts.by());
            let before = emitter.place_before((columns.0, from), part);
            emitter.innermost(last, columns, &[], &mut |emitter, lanes, _| {
                for root in roots {
                    let result = emitter.column_result(*root, before, lanes);
                    emitter.store_result(*root, result, lanes);
                }
                Vec::new()
            });
            Vec::new()
        });
    }

    /// The index before the first column of a part, so far that the columns of a tile lie behind those of the parts before.
    fn place_before(&mut self, (column, from): (MlirValue, MlirValue), part: MlirValue) -> MlirValue {
        let (number, width) =
            (self.code.int("llvm.sub", part, from), self.code.index(COLUMNS_OF_PARTS as i64));
        let columns = self.code.int("llvm.mul", number, width);
        self.code.int("llvm.sub", column, columns)
    }

    /// Puts the accumulators of some parts of the column at hand, as many as are transposed at once or are left, where those of the tile
    /// are.
    fn group_of_parts(
        &mut self,
        (parts, roots): (Parts, &[usize]),
        tile: (MlirValue, MlirValue),
        (part, end): Bounds,
    ) {
        let (Parts { chunk, length }, runs) = (parts, self.runs);
        let rooms = self.rooms_of_fours(roots, blocks(length));
        let (zero, rows, most) = (self.code.index(0), self.code.index(length), self.code.index(runs as i64));
        let left = self.code.int("llvm.sub", end, part);
        let count = self.code.int("llvm.intr.smin", left, most);
        let each = self.code.open((zero, count, 1), &[]);
        self.frames.push(Scope::default());
        let own = self.code.int("llvm.add", part, each.index);
        let first = self.code.int("llvm.mul", own, rows);
        let after = self.code.int("llvm.add", first, rows);
        let extent = self.product(&self.kernel.dims[chunk.dim].clone());
        let last = self.code.int("llvm.intr.smin", after, extent);
        let outside = self.vector.take();
        self.put_fours((chunk.dim, roots), ((first, after), last), &rooms, (each.index, runs as i64));
        self.vector = outside;
        self.frames.pop();
        self.code.close(&each, &[]);
        let start: Vec<MlirValue> = roots.iter().flat_map(|root| self.identity(*root, runs)).collect();
        let sums = self.with_all_blocks((roots, &rooms), rows, runs, &start);
        for (root, own) in self.of_each(roots, &sums) {
            let own = self.registers(root, own);
            for run in 0..runs {
                // There is room for those of the runs that have none, too.
                let number = self.code.index(run as i64);
                let part = self.code.int("llvm.add", part, number);
                let before = self.place_before(tile, part);
                let sums: Vec<MlirValue> =
                    own.iter().map(|sum| self.part_of(*sum, &[run as i32]).value).collect();
                self.put_column(root, &sums, before, 1);
            }
        }
    }
}
