//! Squares, and tiles of rows that lie down their columns, which begin with lines of the cache, wherever tensors begin.
//!
//! A vector that is as long as a line, and lies in two, is loaded in twice the time, and cannot be stored past the caches. NumPy's
//! large arrays begin 16 bytes behind a line.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_scalar::{Ty, memory};

use super::down::Down;
use super::elements::part_count;
use super::squares::{Bounds, reads};
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    CACHE_LINE, LEAST_IN_LINES, STREAM_ALIGNMENT, STREAMED, TRANSPOSED_TILE, VECTORS_IN_LINES,
};
use crate::targets::llvm::{Predicate, block_argument};
use promote_lattice::DType;
use promote_lower::kernel::{Access, Code as What};

/// The indices of a tile along one dimension.
pub(super) struct Tile {
    bounds: Bounds,
    /// The first index whose element begins a line of the cache, if that is known.
    line: Option<MlirValue>,
}

/// A tile of rows that lie down their columns.
#[derive(Clone, Copy)]
pub(super) struct TileDown {
    pub(super) rows: Bounds,
    /// The first row whose elements begin lines of the cache, if that is worth knowing.
    pub(super) line: Option<MlirValue>,
    /// The row that the first accumulator would be of: one before the first row where that lets the accumulators of a line begin one.
    pub(super) first: MlirValue,
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
        let (steps, zero) = (vec![access.strides[other].clone()], self.code.index(0));
        let outside = self.index[other].replace(index);
        let before = self.before_line_of_many((access, dtype), (dim, zero), steps, STREAMED);
        self.index[other] = outside;
        before
    }

    /// A tile of rows that is read from lines of the cache on, if it has many vectors, which are as long as lines, and much is read.
    pub(super) fn tile_down(&mut self, down: &Down, rows: Bounds) -> TileDown {
        let lanes = self.lanes as i64;
        let is_long = down.tall >= VECTORS_IN_LINES * lanes && self.has_masks;
        let Some(before) = is_long.then(|| self.before_lines_down(down.rows, rows.0)).flatten() else {
            return TileDown { rows, line: None, first: rows.0 };
        };
        let line = self.code.int("llvm.add", rows.0, before);
        let (zero, in_vector) = (self.code.index(0), self.code.index(lanes - 1));
        let back = self.code.int("llvm.sub", zero, before);
        let back = self.code.int("llvm.and", back, in_vector);
        TileDown { rows, line: Some(line), first: self.code.int("llvm.sub", rows.0, back) }
    }

    /// How many rows, of those that are read down their columns, from one on are before the first line of the cache of what is read first:
    /// less than a vector, and 0 where that is another number in other columns; none where it is not worth it.
    fn before_lines_down(&mut self, rows: usize, from: MlirValue) -> Option<MlirValue> {
        let kernel = self.kernel;
        let (access, dtype) = kernel.exprs.iter().find_map(|expr| match &expr.code {
            What::Load(access) if access.strides[rows].fixed() == Some(1) => Some((access, expr.dtype)),
            _ => None,
        })?;
        let fills_lines = self.lanes as i64 * i64::from(memory(dtype).bits()) / 8 == CACHE_LINE;
        let steps: Vec<Product> = kernel.reduced().map(|dim| access.strides[dim].clone()).collect();
        let (zero, outside) = (self.code.index(0), self.index.clone());
        kernel.reduced().for_each(|dim| self.index[dim] = Some(zero));
        let before = fills_lines
            .then(|| self.before_line_of_many((access, dtype), (rows, from), steps, LEAST_IN_LINES))
            .flatten();
        self.index = outside;
        before
    }

    /// How many elements of a tensor from an index on are before its next line of the cache, if so many bytes are read or written: 0 where
    /// that is another number so many elements further on; none where there are known to be fewer.
    fn before_line_of_many(
        &mut self,
        (access, dtype): (&Access, DType),
        (dim, index): (usize, MlirValue),
        steps: Vec<Product>,
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
            let step = self.product(&step);
            let step = self.code.int("llvm.mul", step, size);
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

    /// Goes through the rows of a tile in vectors of whole lines. What is before the first one is in a vector that ends there, and what
    /// is behind the last one in one that begins there, both with masks: a row is in the same lane of the same vector whatever is done, so that
    /// accumulators of vectors are loaded as they were stored.
    pub(super) fn rows_in_lines(
        &mut self,
        dim: usize,
        tile: TileDown,
        body: &mut dyn FnMut(&mut Self, usize),
    ) {
        let (TileDown { rows: (from, to), first, .. }, lanes) = (tile, self.lanes);
        let mut body = |emitter: &mut Self, lanes: usize, _: &[MlirValue]| {
            body(emitter, lanes);
            Vec::new()
        };
        let Some(line) = tile.line else {
            self.innermost(dim, (from, to), &[], &mut body);
            return;
        };
        let last = self.last_whole((line, to), lanes as i64);
        self.repeat(dim, (line, last), lanes, &[], &mut |emitter, state| body(emitter, lanes, state));
        let [zero, two] = [0, 2].map(|number| self.code.index(number));
        let parts = self.code.open((zero, two, 1), &[]);
        self.frames.push(Scope::default());
        let is_before = self.code.compare(Predicate::Eq, parts.index, zero);
        let [begin, end] =
            [(first, last), (line, to)].map(|(before, behind)| self.code.select(is_before, before, behind));
        let end = self.code.int("llvm.intr.smin", end, to);
        self.repeat(dim, (begin, end), lanes, &[], &mut |emitter, state| {
            emitter.mask = Some(emitter.lanes_within(dim, (from, end)));
            let next = body(emitter, lanes, state);
            emitter.mask = None;
            next
        });
        self.frames.pop();
        self.code.close(&parts, &[]);
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
