//! Kernels that read across rows: in squares of as many rows as a vector has lanes, transposed in registers.
//!
//! Where the elements of an operand lie side by side along another dimension than the innermost one, a vector of it would be
//! gathered from as many lines of the cache. A square of it is loaded instead, in vectors along its own rows, and
//! transposed: its vectors along the innermost dimension are then at hand for as many indices of the other one.

use mlir_sys::*;
use promote_scalar::{Element, Ty, memory};
use rustc_hash::FxHashMap;

use super::KernelEmitter;
use super::elements::part_count;
use super::runs::has_blocks_beside;
use super::upright::widest;
use crate::targets::cpu::costs::{
    LEAST_BYTES_ACROSS, LEAST_ROWS_ACROSS, MOST_SQUARES, PREFETCHED_ROWS, SQUARE_COST, SQUARE_ROWS,
};
use crate::targets::llvm::{Level, Predicate, Register, shuffle, vector};
use promote_dialect::extent::Product;
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Access, Code as What, ExprId, Form, Kernel, Role};

/// Whether a stride is further than to the next element, or back to the one before.
fn is_far(stride: &Product) -> bool {
    stride.fixed().is_none_or(|stride| !(-1..=1).contains(&stride))
}

/// Whether elements lie side by side along a dimension, and not along the innermost one.
fn is_across(access: &Access, dim: usize) -> bool {
    access.strides[dim].fixed() == Some(1) && access.strides.last().is_some_and(is_far)
}

/// What is read across, along a dimension.
pub(super) fn reads(kernel: &Kernel, dim: usize) -> Vec<(ExprId, &Access, DType)> {
    let ids = (0..).map(ExprId).zip(&kernel.exprs);
    let reads = ids.filter_map(|(id, expr)| match &expr.code {
        What::Load(access) if is_across(access, dim) => Some((id, access, expr.dtype)),
        _ => None,
    });
    reads.collect()
}

/// The dimension along which most is read across the innermost one, if a kernel is to be computed in squares of so many lanes: a
/// map, or columns less of which is read across that dimension than across the innermost one. Where there are masks, these may be shorter
/// than a square.
pub(super) fn squares(kernel: &Kernel, lanes: usize, numerics: Numerics, has_masks: bool) -> Option<usize> {
    let last = kernel.dims.len().checked_sub(1)?;
    let (dim, least) = match kernel.form {
        Form::Map => ((0..last).max_by_key(|dim| reads(kernel, *dim).len())?, SQUARE_ROWS),
        Form::Rows { .. } => return None,
        Form::Columns { .. } => {
            let dim = kernel.reduced().next_back()?;
            let least = (LEAST_BYTES_ACROSS / widest(kernel, dim)).max(LEAST_ROWS_ACROSS);
            let least = if has_masks { least } else { SQUARE_ROWS };
            ((kernel.reads_less_across(dim, last) && reduces_only(kernel)).then_some(dim)?, least)
        }
    };
    let found = reads(kernel, dim);
    let is_long = |dim: usize, least: i64| kernel.dims[dim].fixed().is_none_or(|extent| extent >= least);
    // What is less than a square has a part of one only where columns fill vectors.
    let fills = is_long(last, lanes as i64);
    let least = if fills { least } else { SQUARE_ROWS };
    let has_columns = fills || has_blocks_beside(kernel, dim, numerics);
    let has_squares = is_long(dim, least) && has_columns;
    let is_worth_it = !found.is_empty() && found.len() <= MOST_SQUARES && kernel.cost() <= SQUARE_COST;
    let is_simple = found.iter().all(|(_, _, dtype)| part_count(*dtype) == 1);
    (is_worth_it && is_simple && has_squares && lanes > 1).then_some(dim)
}

/// Whether nothing is stored at each index of the reduced dimensions.
pub(super) fn reduces_only(kernel: &Kernel) -> bool {
    kernel.roots.iter().enumerate().all(|(number, root)| match root.role {
        Role::Reduce(_) | Role::Arg(_) => true,
        Role::Store => !kernel.is_full(number),
        Role::Scan(_) => false,
    })
}

/// The bounds of a block of indices.
pub(super) type Bounds = (MlirValue, MlirValue);

/// What is brought into the first-level cache with each vector of a square.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// How many rows ahead it is.
    pub(super) rows: i64,
    /// What is read after the last rows.
    pub(super) then: Then,
}

/// The first rows of what is read after the last ones.
#[derive(Clone, Copy)]
pub(super) enum Then {
    /// Of the next column, along a dimension.
    Column(usize),
    /// Of the columns of the next unit.
    Unit,
    /// Nothing is known of it.
    Unknown,
}

impl KernelEmitter<'_> {
    /// A block of the dimension that is read along, and a tile of the innermost one.
    pub(super) fn map_squares(&mut self, dim: usize, rows: Bounds, columns: Bounds) {
        let last = self.kernel.dims.len() - 1;
        self.index[dim] = None;
        self.hoist(1 << last | 1 << dim, usize::MAX);
        let columns = self.beginning_with_lines((last, columns), (dim, rows.0));
        let rows = self.beginning_with_lines((dim, rows), (last, columns.all.0));
        self.one_by_one(dim, rows.before(), columns.all);
        let rows = rows.whole;
        let (count, whole) = (self.code.int("llvm.sub", rows.1, rows.0), self.code.index(SQUARE_ROWS));
        let is_whole = self.code.compare(Predicate::Eq, count, whole);
        let [squares, single, after] = [(); 3].map(|()| self.code.new_block(&[]));
        self.code.branch_if(is_whole, (squares, &[]), (single, &[]));
        self.code.go_to(squares);
        self.one_by_one(dim, rows, columns.before());
        let (from, to) = columns.whole;
        let middle = self.last_whole((from, to), self.lanes as i64);
        match self.can_stream_squares(dim, (rows.0, from)) {
            None => self.block_of_squares(dim, rows.0, (from, middle)),
            Some(condition) => {
                let [streams, plain, joined] = [(); 3].map(|()| self.code.new_block(&[]));
                self.code.branch_if(condition, (streams, &[]), (plain, &[]));
                for (block, is_streamed) in [(streams, true), (plain, false)] {
                    self.code.go_to(block);
                    self.streams = is_streamed;
                    self.block_of_squares(dim, rows.0, (from, middle));
                    self.code.branch(joined, &[]);
                }
                self.has_streamed = true;
                self.code.go_to(joined);
            }
        }
        self.streams = false;
        self.one_by_one(dim, rows, (middle, to));
        self.code.branch(after, &[]);
        self.code.go_to(single);
        self.one_by_one(dim, rows, columns.all);
        self.code.branch(after, &[]);
        self.code.go_to(after);
    }

    fn one_by_one(&mut self, dim: usize, rows: Bounds, columns: Bounds) {
        let last = self.kernel.dims.len() - 1;
        self.repeat(dim, rows, 1, &[], &mut |emitter, _| {
            emitter.repeat(last, columns, 1, &[], &mut |emitter, _| {
                (0..emitter.kernel.roots.len()).for_each(|root| emitter.store_root(root, 1));
                Vec::new()
            });
            Vec::new()
        });
    }

    /// Columns of squares, one after the other: lines that lie side by side are read together.
    fn block_of_squares(&mut self, dim: usize, row: MlirValue, columns: Bounds) {
        let (last, lanes) = (self.kernel.dims.len() - 1, self.lanes);
        self.repeat(last, columns, lanes, &[], &mut |emitter, _| {
            emitter.share(1 << dim, usize::MAX, lanes);
            for ahead in (0..SQUARE_ROWS).step_by(lanes) {
                let ahead = emitter.code.index(ahead);
                let row = emitter.code.int("llvm.add", row, ahead);
                emitter.square_of_results(dim, row);
            }
            Vec::new()
        });
    }

    /// The results of a square from a row on.
    fn square_of_results(&mut self, dim: usize, row: MlirValue) {
        let ahead = Some(Ahead { rows: PREFETCHED_ROWS, then: Then::Unknown });
        self.square(dim, row, ahead, &mut |emitter| {
            (0..emitter.kernel.roots.len()).for_each(|root| emitter.store_root(root, emitter.lanes));
        });
    }

    /// Does something with each row of a square from one on, of which what is read across is at hand. What is so many rows ahead is
    /// brought into the caches.
    pub(super) fn square(
        &mut self,
        dim: usize,
        row: MlirValue,
        prefetched: Option<Ahead>,
        body: &mut dyn FnMut(&mut Self),
    ) {
        let last = self.kernel.dims.len() - 1;
        let columns = self.columns_of_square();
        self.square_of((dim, row), (last, &columns), (prefetched, None), body);
    }

    /// The columns from the current one on, as many as there are lanes: of fewer the last one again.
    pub(super) fn columns_of_square(&mut self) -> Vec<MlirValue> {
        let column = self.at(self.kernel.dims.len() - 1);
        let beside = |number| {
            let number = self.code.index(number);
            let column = self.code.int("llvm.add", column, number);
            match self.last_column {
                Some(last) => self.code.int("llvm.intr.smin", column, last),
                None => column,
            }
        };
        (0..self.lanes as i64).map(beside).collect()
    }

    /// Does something with each row of a square whose lanes are at some indices of a dimension. Of one that has a mask the
    /// rows of other lanes are not read.
    pub(super) fn square_of(
        &mut self,
        (dim, row): (usize, MlirValue),
        lanes_at: (usize, &[MlirValue]),
        (prefetched, mask): (Option<Ahead>, Option<MlirValue>),
        body: &mut dyn FnMut(&mut Self),
    ) {
        let lanes = lanes_at.1.len();
        self.index[dim] = Some(row);
        let across = reads(self.kernel, dim);
        let squares: Vec<Vec<MlirValue>> = across
            .iter()
            .map(|(_, access, dtype)| {
                let ahead = prefetched.map(|ahead| self.elements_ahead(access, (dim, row), ahead));
                self.load_square(access, *dtype, lanes_at, (ahead, mask))
            })
            .collect();
        for number in 0..lanes {
            let ahead = self.code.index(number as i64);
            self.index[dim] = Some(self.code.int("llvm.add", row, ahead));
            let mut frame = FxHashMap::default();
            for ((id, _, dtype), square) in across.iter().zip(&squares) {
                let raw = Register { value: square[number], ty: memory(*dtype) };
                let loaded = promote_scalar::load(&mut self.emit(lanes), *dtype, raw);
                frame.insert((*id, lanes, 0), Element::Real(loaded));
            }
            self.frames.push(frame);
            self.prefetch_next_rows(dim);
            body(self);
            self.frames.pop();
        }
        self.index[dim] = None;
    }

    /// A square of an operand, vector by vector along its lanes, which are at some indices of a dimension.
    fn load_square(
        &mut self,
        access: &Access,
        dtype: DType,
        (along, lanes_at): (usize, &[MlirValue]),
        (prefetched, mask): (Option<MlirValue>, Option<MlirValue>),
    ) -> Vec<MlirValue> {
        let lanes = lanes_at.len();
        let size = memory(dtype).bits() as usize / 8;
        let outside = self.index[along];
        let rows = lanes_at.iter().map(|index| {
            self.index[along] = Some(*index);
            let (first, unit) = self.first(access, dtype, None);
            if let Some(ahead) = prefetched {
                let next = self.code.element(first, ahead, unit, 1);
                self.code.prefetch(next, Level::First);
            }
            let row = vector(unit, lanes);
            match mask {
                Some(mask) => {
                    let nothing = self.code.value("llvm.mlir.zero", &[], row, &[]);
                    self.masked_load(first, row, size, (mask, nothing))
                }
                None => self.code.load(first, row, size),
            }
        });
        let rows = rows.collect();
        self.index[along] = outside;
        self.transposed(rows, memory(dtype))
    }

    /// How many elements ahead that is which is brought into the cache with a square from a row on.
    pub(super) fn elements_ahead(
        &mut self,
        access: &Access,
        (dim, row): (usize, MlirValue),
        Ahead { rows, then }: Ahead,
    ) -> MlirValue {
        let ahead = self.code.index(rows);
        let (step, columns) = match then {
            Then::Column(next) => (self.product(&access.strides[next].clone()), 1),
            Then::Unit => (self.next_unit(access), self.lanes as i64),
            Then::Unknown => return ahead,
        };
        if let Some(extent) = self.kernel.dims[dim].fixed().filter(|extent| *extent < rows) {
            // The same rows, of columns so far on that as many rows are in between.
            let steps = self.code.index(rows / (columns * extent.max(1)) + 1);
            return self.code.int("llvm.mul", step, steps);
        }
        let extent = self.product(&self.kernel.dims[dim].clone());
        let back = self.code.int("llvm.sub", step, extent);
        let beyond = self.code.int("llvm.add", ahead, back);
        let reached = self.code.int("llvm.add", row, ahead);
        let is_beyond = self.code.compare(Predicate::Sge, reached, extent);
        self.code.value("llvm.select", &[is_beyond, beyond, ahead], self.code.types.i64, &[])
    }

    /// How many elements further on the columns of the next unit are.
    fn next_unit(&mut self, access: &Access) -> MlirValue {
        let last = self.kernel.dims.len() - 1;
        let columns = &access.strides[last] * &Product::number(self.lanes as i64);
        let columns = self.product(&columns);
        let Some((dim, is_nearer)) = self.by_strides else { return columns };
        let other = self.product(&access.strides[dim].clone());
        self.code.select(is_nearer, columns, other)
    }

    /// Brings what is read along rows soon into the caches.
    fn prefetch_next_rows(&mut self, dim: usize) {
        let kernel = self.kernel;
        for expr in &kernel.exprs {
            if let What::Load(access) = &expr.code
                && access.strides.last().and_then(Product::fixed) == Some(1)
                && !access.strides[dim].is_zero()
            {
                let rows = &access.strides[dim] * &Product::number(PREFETCHED_ROWS);
                let extra = self.product(&rows);
                let (next, _) = self.first(access, expr.dtype, Some(extra));
                self.code.prefetch(next, Level::First);
            }
        }
    }

    /// The transposed square of elements of that type.
    ///
    /// Each step takes rows in pairs and moves a bit of an element's row into its column, and a bit of its column into its
    /// row. Shuffles within 16 bytes and of 16 bytes are one instruction each: first neighbours are interleaved, in units of
    /// 1, 2, 4, … elements, until that moved all bits within 16 bytes, the highest bits of columns first; then every other 16
    /// bytes of a pair are chosen, which moves the remaining bits, the lowest first.
    pub(super) fn transposed(&self, mut rows: Vec<MlirValue>, ty: Ty) -> Vec<MlirValue> {
        let lanes = rows.len();
        let r#type = self.code.types.lanes(ty, lanes);
        let chunk = (16 * 8 / ty.bits() as usize).min(lanes);
        let mut distance = 1;
        while distance < lanes {
            // The lane of the first, or the second, row of a pair that is in a lane of its first, or second, result.
            let lane_from = |lane: usize, result: usize| -> usize {
                if distance < chunk {
                    let (start, place) = (lane / chunk * chunk, lane % chunk);
                    let unit = place / (2 * distance) * distance + place % distance;
                    start + result * chunk / 2 + unit + place / distance % 2 * lanes
                } else {
                    let (number, count) = (lane / chunk, lanes / chunk);
                    let (number, second) = (number % (count / 2), number / (count / 2));
                    (2 * number + result) * chunk + lane % chunk + second * lanes
                }
            };
            let masks: Vec<Vec<i32>> = (0..2)
                .map(|result| (0..lanes).map(|lane| lane_from(lane, result) as i32).collect())
                .collect();
            for first in (0..lanes).filter(|row| row & distance == 0) {
                let pair = (rows[first], rows[first + distance]);
                for (result, mask) in masks.iter().enumerate() {
                    rows[first + result * distance] = shuffle(&self.code, pair, r#type, mask);
                }
            }
            distance *= 2;
        }
        // The bits of columns within 16 bytes were moved in reverse.
        let bits = chunk.ilog2();
        let reversed = |row: usize| (0..bits).fold(0, |all, bit| all << 1 | row >> bit & 1);
        (0..lanes).map(|row| rows[row / chunk * chunk + reversed(row % chunk)]).collect()
    }
}
