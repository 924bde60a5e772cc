//! What is read later, brought into the caches.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_lattice::Op;
use promote_lower::kernel::{Access, Code as What, Expr, Kernel, Role};

use super::elements::read_bytes;
use super::squares::Bounds;
use super::tile_down::Group;
use super::{KernelEmitter, NextRow};
use crate::targets::cpu::costs::{
    BYTES_AHEAD, BYTES_AHEAD_OF_COLUMNS, CACHE_LINE, LONGEST_BACK, ROWS_AHEAD, SHORTEST_AHEAD,
};
use crate::targets::llvm::{Level, Predicate};

/// What is read after the columns at hand.
#[derive(Clone, Copy)]
pub(super) struct AheadOfColumns {
    /// How many columns further on it is, in the same rows.
    columns: MlirValue,
    /// The column from which on that is in the next tile.
    end: MlirValue,
    /// How many rows further on is what is read from there on.
    rows_then: MlirValue,
    /// How many columns further on that is.
    columns_then: MlirValue,
}

impl KernelEmitter<'_> {
    /// Whether so little is done with each byte that the processor is far enough ahead by itself, where it sees how it goes on, as where
    /// numbers of 32 bits are added up, or their squares; some [always are](crate::targets::cpu::target::Machine::foresees_rows).
    pub(super) fn runs_ahead(&self) -> bool {
        let (kernel, machine) = (self.kernel, self.setting.machine);
        let sums = kernel.roots.iter().filter(|root| root.role != Role::Store);
        let read: i64 = kernel.exprs.iter().map(loaded_bytes).sum();
        let ops = i64::from(kernel.cost()) + sums.clone().count() as i64;
        let is_ahead = machine.has_many_misses && ops * BYTES_AHEAD <= read;
        machine.foresees_rows() || is_ahead && sums.into_iter().all(|root| root.role == Role::Reduce(Op::Sum))
    }

    /// The row of a map that is brought into the caches with the one at hand, where rows are read in reverse order.
    pub(super) fn row_before(&mut self, dim: usize) -> Option<NextRow> {
        let rows = dim.checked_sub(1).filter(|rows| goes_back(self.kernel, *rows))?;
        let extent = self.kernel.dims[dim].fixed().filter(|extent| (1..=LONGEST_BACK).contains(extent))?;
        let ahead = self.code.index((ROWS_AHEAD / extent).max(1));
        Some(NextRow { ahead: vec![(rows, ahead)], level: self.setting.machine.level_ahead() })
    }

    /// What is read after so many rows of a tile of columns, and while they are. After them it is the next rows of the tile; after its last
    /// rows, the first ones of the next tile. There may be none, as after the last tile, or the same tile may be read again in another
    /// stage: nothing depends on what is brought into the caches. Where rows go along several dimensions, the next ones are always of the
    /// innermost. None if rows are short or processors are ahead by themselves.
    pub(super) fn ahead_of_columns(
        &mut self,
        (along, rows): (usize, i64),
        (from, to): Bounds,
    ) -> Option<AheadOfColumns> {
        let widest = self.kernel.exprs.iter().map(loaded_bytes).max().filter(|widest| *widest > 0)?;
        let extent = self.kernel.dims.last().and_then(Product::fixed);
        let is_short = extent.is_some_and(|extent| extent.saturating_mul(widest) < SHORTEST_AHEAD);
        if let Some(extent) = extent.filter(|_| is_short && goes_back(self.kernel, along)) {
            // The same columns, of rows so far on.
            let further = (BYTES_AHEAD_OF_COLUMNS / (extent * widest).max(1)).max(1) * rows;
            let (zero, rows_then) = (self.code.index(0), self.code.index(further));
            return Some(AheadOfColumns { columns: zero, end: from, rows_then, columns_then: zero });
        }
        if is_short || self.runs_ahead() {
            return None;
        }
        let columns = self.code.index(BYTES_AHEAD_OF_COLUMNS / widest);
        let (next, width) = (self.code.index(rows), self.code.int("llvm.sub", to, from));
        let back = self.code.int("llvm.sub", columns, width);
        let end = self.code.int("llvm.sub", to, columns);
        if self.kernel.reduced().len() > 1 {
            return Some(AheadOfColumns { columns, end, rows_then: next, columns_then: back });
        }
        let (first, last) = self.bounds(along);
        let row = self.at(along);
        let after = self.code.int("llvm.add", row, next);
        let is_last = self.code.compare(Predicate::Sge, after, last);
        let to_first = self.code.int("llvm.sub", first, row);
        let rows_then = self.code.select(is_last, to_first, next);
        let columns_then = self.code.select(is_last, columns, back);
        Some(AheadOfColumns { columns, end, rows_then, columns_then })
    }

    /// What is to be brought into the caches with a vector of columns.
    pub(super) fn next_columns(&mut self, (along, dim): (usize, usize), ahead: AheadOfColumns) -> NextRow {
        let (column, zero) = (self.at(dim), self.code.index(0));
        let is_behind = self.code.compare(Predicate::Sge, column, ahead.end);
        let rows = self.code.select(is_behind, ahead.rows_then, zero);
        let columns = self.code.select(is_behind, ahead.columns_then, ahead.columns);
        NextRow { ahead: vec![(along, rows), (dim, columns)], level: self.setting.machine.level_ahead() }
    }

    /// How many columns further on those are that are read next: of the same sum as far as it goes, then of the `next` one.
    pub(super) fn next_column(
        &mut self,
        further: MlirValue,
        (from, end): Bounds,
        next: Option<MlirValue>,
    ) -> MlirValue {
        let Some(next) = next else { return further };
        let column = self.at(self.kernel.reduced().end - 1);
        let following = self.code.int("llvm.add", column, further);
        let has_more = self.code.compare(Predicate::Slt, following, end);
        let next = self.code.int("llvm.add", from, next);
        let next = self.code.int("llvm.sub", next, column);
        self.code.value("llvm.select", &[has_more, further, next], self.code.types.i64, &[])
    }

    /// How many columns further on those are that are read next: of the next sum, or, after the last one of a group, of the first.
    pub(super) fn next_beside(
        &mut self,
        number: MlirValue,
        (group, next_group): (Group, MlirValue),
    ) -> MlirValue {
        let one = self.code.index(1);
        let last = self.code.int("llvm.sub", group.count, one);
        let is_last = self.code.compare(Predicate::Eq, number, last);
        self.code.value("llvm.select", &[is_last, next_group, one], self.code.types.i64, &[])
    }

    /// Brings as many bytes of the next row into the caches.
    pub(super) fn prefetch_next_row(
        &mut self,
        access: &Access,
        (first, unit, parts): (MlirValue, MlirType, usize),
        bytes: usize,
    ) {
        let Some(NextRow { ahead, level }) = self.next_row.clone() else { return };
        let mut next = first;
        for (dim, rows) in ahead {
            let stride = &access.strides[dim] * &Product::number(parts as i64);
            if !stride.is_zero() {
                let stride = self.product(&stride);
                let ahead = self.code.int("llvm.mul", stride, rows);
                next = self.code.element(next, ahead, unit, 1);
            }
        }
        if next.ptr == first.ptr {
            return;
        }
        self.prefetch_lines(next, bytes, level);
    }

    /// Brings the lines of the cache that so many bytes lie in into it.
    pub(super) fn prefetch_lines(&mut self, first: MlirValue, bytes: usize, level: Level) {
        for line in (0..bytes as i64).step_by(CACHE_LINE as usize) {
            let ahead = self.code.index(line);
            let address = self.code.element(first, ahead, self.code.types.i8, 1);
            self.code.prefetch(address, level);
        }
    }
}

/// Whether a kernel reads rows in reverse order, each along memory: processors go on reading behind each, where nothing is read again.
fn goes_back(kernel: &Kernel, rows: usize) -> bool {
    let Some(within) = kernel.dims.len().checked_sub(1) else { return false };
    kernel.exprs.iter().any(|expr| match &expr.code {
        What::Load(access) => {
            let goes_on = access.strides[within].fixed() == Some(1);
            goes_on && access.strides[rows].fixed().is_some_and(|next| next < 0)
        }
        What::Take { .. } | What::Splat(_) | What::Size(_) | What::Index { .. } => false,
        What::Map(..) | What::Convert(_) | What::Reduced(_) => false,
    })
}

/// How many bytes an expression reads in order at each index.
pub(super) fn loaded_bytes(expr: &Expr) -> i64 {
    match expr.code {
        What::Load(_) => read_bytes(expr),
        What::Take { .. } | What::Splat(_) | What::Size(_) | What::Index { .. } => 0,
        What::Map(..) | What::Convert(_) | What::Reduced(_) => 0,
    }
}
