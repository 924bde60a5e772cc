//! The columns of rows: their number among all columns, where dimensions count as one, and their indices.

use mlir_sys::*;

use super::KernelEmitter;
use super::down::Down;
use super::squares::Bounds;

impl KernelEmitter<'_> {
    /// The first of the columns that are gone through together, and the one after the last.
    pub(super) fn columns_bounds(&mut self, down: &Down, stage: usize) -> Bounds {
        let last = self.kernel.reduced().end - 1;
        if self.kernel.as_one {
            let length = self.kernel.length();
            return (self.code.index(0), self.product(&length));
        }
        self.hoist(1 << last | 1 << down.rows, stage);
        self.bounds(last)
    }

    /// Sets the indices of a column. It is one of all columns of a row where its dimensions count as one.
    pub(super) fn go_to_column(&mut self, column: MlirValue) {
        let reduced = self.kernel.reduced();
        let mut rest = column;
        let inner = if self.kernel.as_one { reduced.start + 1..reduced.end } else { 0..0 };
        for dim in inner.rev() {
            let extent = self.product(&self.kernel.dims[dim].clone());
            self.index[dim] = Some(self.code.int("llvm.urem", rest, extent));
            rest = self.code.int("llvm.udiv", rest, extent);
        }
        let outermost = if self.kernel.as_one { reduced.start } else { reduced.end - 1 };
        self.index[outermost] = Some(rest);
    }

    /// How many indices further on a column is than the one at hand, which is the first of its row by so many.
    pub(super) fn columns_ahead(&mut self, column: MlirValue, further: MlirValue) -> Vec<(usize, MlirValue)> {
        let reduced = self.kernel.reduced();
        if !self.kernel.as_one {
            return vec![(reduced.end - 1, further)];
        }
        let outside = self.index.clone();
        let next = self.code.int("llvm.add", column, further);
        self.go_to_column(next);
        let there = self.index.clone();
        self.go_to_column(column);
        let here = std::mem::replace(&mut self.index, outside);
        let pairs = reduced.filter_map(|dim| Some((dim, there[dim]?, here[dim]?)));
        pairs.map(|(dim, there, here)| (dim, self.code.int("llvm.sub", there, here))).collect()
    }
}
