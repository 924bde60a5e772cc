//! Squares that begin with lines of the cache, wherever tensors begin.
//!
//! A vector that is as long as a line, and lies in two, is loaded in twice the time, and cannot be stored past the caches. NumPy's
//! large arrays begin 16 bytes behind a line.

use mlir_sys::*;
use promote_scalar::{Ty, memory};

use super::elements::part_count;
use super::squares::{Bounds, reads};
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{CACHE_LINE, STREAM_ALIGNMENT, STREAMED, TRANSPOSED_TILE};
use crate::targets::llvm::{Predicate, block_argument};
use promote_lattice::DType;
use promote_lower::kernel::Access;

/// The indices of a tile along one dimension.
pub(super) struct Tile {
    bounds: Bounds,
    /// The first index whose element begins a line of the cache, if that is known.
    line: Option<MlirValue>,
}

impl Tile {
    /// The first index.
    pub(super) fn begin(&self) -> MlirValue {
        self.bounds.0
    }
}

impl KernelEmitter<'_> {
    /// A tile that begins with a line of the cache in what is read or written along a dimension, and ends with one, if enough is: tensors begin
    /// anywhere. What is before the first line is of the first tile.
    pub(super) fn beginning_with_lines(
        &mut self,
        (dim, (from, to)): (usize, Bounds),
        other: (usize, MlirValue),
    ) -> Tile {
        let Some(shift) = self.before_lines(dim, other) else {
            return Tile { bounds: (from, to), line: None };
        };
        let (zero, extent) = (self.code.index(0), self.product(&self.kernel.dims[dim].clone()));
        let end = self.code.int("llvm.add", to, shift);
        let end = self.code.int("llvm.intr.smin", end, extent);
        let line = self.code.int("llvm.add", from, shift);
        let line = self.code.int("llvm.intr.smin", line, end);
        let is_first = self.code.compare(Predicate::Eq, from, zero);
        let begin = self.code.select(is_first, from, line);
        Tile { bounds: (begin, end), line: Some(line) }
    }

    /// Does something with what is before the first line of a tile, if there is something, and with the rest of it.
    pub(super) fn in_lines(&mut self, tile: &Tile, body: &mut dyn FnMut(&mut Self, Bounds)) {
        let (from, to) = tile.bounds;
        let Some(line) = tile.line else { return body(self, tile.bounds) };
        let [zero, one, two] = [0, 1, 2].map(|number| self.code.index(number));
        let begins_with_line = self.code.compare(Predicate::Eq, from, line);
        let first = self.code.select(begins_with_line, one, zero);
        let parts = self.code.open((first, two, 1), &[]);
        self.frames.push(Scope::default());
        let is_before = self.code.compare(Predicate::Eq, parts.index, zero);
        let bounds = (self.code.select(is_before, from, line), self.code.select(is_before, line, to));
        body(self, bounds);
        self.frames.pop();
        self.code.close(&parts, &[]);
    }

    /// How many elements of what is written along the innermost dimension, or else of what is read first along the other one of squares, are
    /// before its first line of the cache: 0 where that is not the same at all indices of the other dimension, one of which is given; none
    /// where it is not worth it, or several results are stored.
    fn before_lines(&mut self, dim: usize, (other, index): (usize, MlirValue)) -> Option<MlirValue> {
        // The first line of each tile is as far behind its beginning: tiles of columns are whole lines, and so are
        // [blocks of rows](Self::block_rows), at least.
        const { assert!(TRANSPOSED_TILE % CACHE_LINE == 0) };
        let (kernel, last) = (self.kernel, self.kernel.dims.len() - 1);
        let (access, dtype) = if dim == last {
            let [root] = kernel.roots.as_slice() else { return None };
            let [sink] = root.sinks.as_slice() else { return None };
            (sink, kernel.expr(root.expr).dtype)
        } else {
            let (_, access, dtype) = reads(kernel, dim).into_iter().next()?;
            (access, dtype)
        };
        let (step, zero) = (self.product(&access.strides[other].clone()), self.code.index(0));
        let outside = self.index[other].replace(index);
        let before = self.before_line_of_many((access, dtype), (dim, zero), &[step], STREAMED);
        self.index[other] = outside;
        before
    }

    /// How many elements of a tensor from an index on are before its next line of the cache, if so many bytes are read or written: 0 where
    /// that is another number so many elements further on; none where there are known to be fewer.
    pub(super) fn before_line_of_many(
        &mut self,
        (access, dtype): (&Access, DType),
        (dim, index): (usize, MlirValue),
        steps: &[MlirValue],
        least: i64,
    ) -> Option<MlirValue> {
        if part_count(dtype) != 1 || access.strides[dim].fixed() != Some(1) {
            return None;
        }
        let bytes = i64::from(memory(dtype).bits()) / 8;
        let are_many = self.are_many(least / bytes)?;
        let (many, after) = (self.code.new_block(&[]), self.code.new_block(&[self.code.types.i64]));
        let zero = self.code.index(0);
        self.code.branch_if(are_many, (many, &[]), (after, &[zero]));
        self.code.go_to(many);
        let address = self.bytes_ahead((access, dtype), dim, index);
        let [size, in_size, in_line] =
            [bytes, bytes - 1, CACHE_LINE - 1].map(|number| self.code.index(number));
        let before = self.code.int("llvm.sub", zero, address);
        let before = self.code.int("llvm.and", before, in_line);
        // In all rows, or columns, and of whole elements.
        let mut odd = self.code.int("llvm.and", before, in_size);
        for step in steps {
            let step = self.code.int("llvm.mul", *step, size);
            let own = self.code.int("llvm.and", step, in_line);
            odd = self.code.int("llvm.or", odd, own);
        }
        let is_even = self.code.compare(Predicate::Eq, odd, zero);
        let shift = self.code.int("llvm.udiv", before, size);
        let shift = self.code.select(is_even, shift, zero);
        self.code.branch(after, &[shift]);
        self.code.go_to(after);
        Some(block_argument(after, 0))
    }

    /// Whether, at run time, results may be stored past the caches, as they are many, and all vectors of them are aligned.
    pub(super) fn can_stream_squares(
        &mut self,
        dim: usize,
        (row, column): (MlirValue, MlirValue),
    ) -> Option<MlirValue> {
        let (kernel, last) = (self.kernel, self.kernel.dims.len() - 1);
        let sinks: Vec<(&Access, DType)> = kernel
            .roots
            .iter()
            .flat_map(|root| root.sinks.iter().map(|sink| (sink, kernel.expr(root.expr).dtype)))
            .collect();
        let bytes = |dtype: DType| i64::from(memory(dtype).bits()) / 8;
        let fills_lines = |(sink, dtype): &(&Access, DType)| {
            part_count(*dtype) == 1
                && sink.strides[last].fixed() == Some(1)
                && (self.lanes as i64 * bytes(*dtype)) % STREAM_ALIGNMENT as i64 == 0
        };
        if sinks.is_empty() || !sinks.iter().all(fills_lines) {
            return None;
        }
        let mut condition = self.are_many(STREAMED / bytes(sinks[0].1))?;
        self.stream_alignment = STREAM_ALIGNMENT;
        let truths = self.code.types.scalar(Ty::I1);
        let (mask, zero) = (self.code.index(STREAM_ALIGNMENT as i64 - 1), self.code.index(0));
        for (sink, dtype) in sinks {
            self.index[dim] = Some(row);
            let first = self.bytes_ahead((sink, dtype), last, column);
            self.index[dim] = None;
            let (stride, size) = (self.product(&sink.strides[dim].clone()), self.code.index(bytes(dtype)));
            let step = self.code.int("llvm.mul", stride, size);
            let either = self.code.int("llvm.or", first, step);
            let rest = self.code.int("llvm.and", either, mask);
            let is_aligned = self.code.compare(Predicate::Eq, rest, zero);
            condition = self.code.value("llvm.and", &[condition, is_aligned], truths, &[]);
        }
        Some(condition)
    }
}
