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
use super::lengthwise::can_go_lengthwise;
use super::upright::widest;
use crate::targets::cpu::costs::{
    CACHE_LINE, COLUMNS_UPRIGHT, LEAST_BYTES_ACROSS, LEAST_ROWS_ACROSS, MOST_SQUARES, PREFETCHED_ROWS,
    REGISTERS_OF_SQUARES, SET_STRIDE, SQUARE_COST, SQUARE_ROWS,
};
use crate::targets::llvm::{Level, Predicate, Register, block_argument, shuffle, vector};
use promote_dialect::extent::Product;
use promote_lattice::DType;
use promote_lower::interchange::near;
use promote_lower::kernel::{Access, Code as What, ExprId, Form, Kernel, Role};

/// How many elements it is from one to the next along a dimension, if they lie nearer to each other than along the innermost one.
pub(super) fn step_across(access: &Access, dim: usize, dtype: DType) -> Option<i64> {
    let is_far = |step: i64, last: &Product| last.fixed().is_none_or(|last| last.saturating_abs() > step);
    let is_nearer = |step: &i64| access.strides.last().is_some_and(|last| is_far(*step, last));
    near(&access.strides[dim], dtype).filter(is_nearer)
}

/// What is read across, along a dimension: by a map what lies side by side along it.
pub(super) fn reads(kernel: &Kernel, dim: usize) -> Vec<(ExprId, &Access, DType)> {
    let ids = (0..).map(ExprId).zip(&kernel.exprs);
    let is_read = |step: i64| step == 1 || kernel.form != Form::Map;
    let reads = ids.filter_map(|(id, expr)| match &expr.code {
        What::Load(access) if step_across(access, dim, expr.dtype).is_some_and(is_read) => {
            Some((id, access, expr.dtype))
        }
        _ => None,
    });
    reads.collect()
}

/// The dimension along which most is read across the innermost one, if a kernel is to be computed in squares of so many lanes: a
/// map, or columns less of which is read across that dimension than across the innermost one. Where there are masks, these may be shorter
/// than a square.
pub(super) fn squares(kernel: &Kernel, lanes: usize, has_masks: bool) -> Option<usize> {
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
    let has_columns = fills || can_go_lengthwise(kernel, dim);
    let has_squares = is_long(dim, least) && has_columns;
    let is_worth_it = !found.is_empty() && found.len() <= MOST_SQUARES && kernel.cost() <= SQUARE_COST;
    let is_simple = found.iter().all(|(_, _, dtype)| part_count(*dtype) == 1);
    (is_worth_it && is_simple && has_squares && lanes > 1).then_some(dim)
}

/// In how many lanes a map is computed in squares of so many rows: in as many as fill a line of the cache with the narrowest elements,
/// as far as there are registers for an operand that is read across, and columns.
pub(super) fn columns_at_once(kernel: &Kernel, dim: usize, side: usize, vector_bytes: usize) -> usize {
    let size = |dtype: DType| memory(dtype).bits() as usize / 8;
    let read: Vec<usize> = reads(kernel, dim).into_iter().map(|(_, _, dtype)| size(dtype)).collect();
    let stored = kernel.roots.iter().map(|root| size(kernel.expr(root.expr).dtype));
    let narrowest = stored.chain(read.iter().copied()).min().unwrap_or(1);
    let widest = read.iter().copied().max().unwrap_or(1);
    let most =
        (vector_bytes / narrowest).min(REGISTERS_OF_SQUARES * vector_bytes / (side * widest)).max(side);
    let extent = kernel.dims.last().and_then(Product::fixed).unwrap_or(i64::MAX);
    std::iter::successors(Some(most), |lanes| Some(lanes / 2))
        .find(|lanes| *lanes <= side || *lanes as i64 <= extent)
        .unwrap_or(side)
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
        let rows = self.beginning_with_lines((dim, rows), (last, columns.begin()));
        self.in_lines(&rows, &mut |emitter, rows| {
            emitter.in_lines(&columns, &mut |emitter, columns| emitter.block(dim, rows, columns));
        });
    }

    /// Rows and columns: in squares if there are enough for one, and past the caches if a unit has all its rows.
    fn block(&mut self, dim: usize, rows: Bounds, columns: Bounds) {
        let (whole_rows, side) = (self.block_rows(dim), self.side as i64);
        let after = self.code.new_block(&[]);
        let [height, width] = [rows, columns].map(|(from, to)| self.code.int("llvm.sub", to, from));
        let [most, least] = [whole_rows, side].map(|count| self.code.index(count));
        let truths = self.code.types.scalar(Ty::I1);
        let is_wide = self.code.compare(Predicate::Sge, width, least);
        let [is_whole, is_part] =
            [(Predicate::Eq, most), (Predicate::Sge, least)].map(|(predicate, bound)| {
                let is_high = self.code.compare(predicate, height, bound);
                self.code.value("llvm.and", &[is_wide, is_high], truths, &[])
            });
        if self.kernel.dims[dim].fixed().is_none_or(|extent| extent >= whole_rows) {
            self.branch_to(after, is_whole, &mut |emitter| emitter.whole_block(dim, rows, columns));
        }
        if whole_rows > side {
            self.branch_to(after, is_part, &mut |emitter| emitter.part_of_block(dim, rows, columns));
        }
        self.one_by_one(dim, rows, columns);
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

    /// All rows of a unit, in squares side by side. Columns that are left of whole ones are computed in squares that end where the columns do:
    /// some of them again.
    fn whole_block(&mut self, dim: usize, rows: Bounds, (from, to): Bounds) {
        let (lanes, side) = (self.lanes, self.side);
        let mut all_rows = |emitter: &mut Self| emitter.rows_of_squares(dim, rows);
        let middle = self.last_whole((from, to), lanes as i64);
        let mut from = from;
        if let Some(condition) = self.can_stream_squares(dim, (rows.0, from)) {
            let (streams, joined) = (self.code.new_block(&[]), self.code.new_block(&[self.code.types.i64]));
            self.code.branch_if(condition, (streams, &[]), (joined, &[from]));
            self.code.go_to(streams);
            self.streams = true;
            self.columns_of_squares(dim, (from, middle), false, &mut all_rows);
            (self.streams, self.has_streamed) = (false, true);
            self.code.branch(joined, &[middle]);
            self.code.go_to(joined);
            from = block_argument(joined, 0);
        }
        if lanes > side {
            self.columns_of_squares(dim, (from, middle), false, &mut all_rows);
            from = middle;
            self.lanes = side;
        }
        self.columns_of_squares(dim, (from, to), true, &mut all_rows);
        self.lanes = lanes;
    }

    /// Some rows of a unit: what is left of whole squares is computed in those that end where rows and columns do.
    fn part_of_block(&mut self, dim: usize, rows: Bounds, columns: Bounds) {
        let (lanes, side) = (self.lanes, self.side);
        self.lanes = side;
        let last = self.code.index(side as i64);
        let last = self.code.int("llvm.sub", rows.1, last);
        self.columns_of_squares(dim, columns, true, &mut |emitter| {
            emitter.repeat(dim, rows, side, &[], &mut |emitter, _| {
                let row = emitter.at(dim);
                let row = emitter.code.int("llvm.intr.smin", row, last);
                emitter.square_of_results(dim, row);
                Vec::new()
            });
        });
        self.lanes = lanes;
    }

    /// Does something with columns, as many at once as there are lanes, and with those that are left at the end, if it may do so with some of
    /// them twice: lines that lie side by side are read together.
    fn columns_of_squares(
        &mut self,
        dim: usize,
        columns: Bounds,
        overlaps: bool,
        body: &mut dyn FnMut(&mut Self),
    ) {
        let (last, lanes) = (self.kernel.dims.len() - 1, self.lanes);
        let last_square = self.code.index(lanes as i64);
        let last_square = self.code.int("llvm.sub", columns.1, last_square);
        self.repeat(last, columns, lanes, &[], &mut |emitter, _| {
            if overlaps {
                let column = emitter.at(last);
                emitter.index[last] = Some(emitter.code.int("llvm.intr.smin", column, last_square));
            }
            emitter.share(1 << dim, usize::MAX, lanes);
            body(emitter);
            Vec::new()
        });
    }

    /// All rows of a unit, of as many columns as there are lanes.
    fn rows_of_squares(&mut self, dim: usize, rows: Bounds) {
        let squares = |emitter: &mut Self, row: MlirValue| {
            for ahead in (0..SQUARE_ROWS).step_by(emitter.side) {
                let ahead = emitter.code.index(ahead);
                let row = emitter.code.int("llvm.add", row, ahead);
                emitter.square_of_results(dim, row);
            }
        };
        if self.block_rows(dim) == SQUARE_ROWS {
            return squares(self, rows.0);
        }
        self.repeat(dim, rows, SQUARE_ROWS as usize, &[], &mut |emitter, _| {
            let row = emitter.at(dim);
            squares(emitter, row);
            Vec::new()
        });
    }

    /// The results of a square from a row on.
    fn square_of_results(&mut self, dim: usize, row: MlirValue) {
        let ahead = Ahead { rows: self.rows_ahead(dim), then: Then::Unknown };
        self.square(dim, row, Some(ahead), &mut |emitter| {
            (0..emitter.kernel.roots.len()).for_each(|root| emitter.store_root(root, emitter.lanes));
        });
    }

    /// How many rows ahead memory is brought into the caches.
    fn rows_ahead(&self, dim: usize) -> i64 {
        PREFETCHED_ROWS.max(self.block_rows(dim))
    }

    /// How many rows a unit of squares has: as many as the lines of what is read across hold.
    pub(super) fn block_rows(&self, dim: usize) -> i64 {
        let sizes =
            reads(self.kernel, dim).into_iter().map(|(_, _, dtype)| i64::from(memory(dtype).bits()) / 8);
        sizes.map(|size| CACHE_LINE / size).fold(SQUARE_ROWS, i64::max)
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
        self.square_of((dim, row, self.side), (last, &columns), (prefetched, None), body);
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

    /// Does something with each of some rows from one on, whose lanes are at some indices of a dimension: rows are as many as lanes, or there are
    /// several squares beside each other. Of one that has a mask the rows of other lanes are not read: it is read side by side.
    pub(super) fn square_of(
        &mut self,
        (dim, row, count): (usize, MlirValue, usize),
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
                let ahead = prefetched.map(|ahead| self.elements_ahead((access, *dtype), (dim, row), ahead));
                self.load_square((access, *dtype, count), (dim, lanes_at), (ahead, mask))
            })
            .collect();
        for number in 0..count {
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

    /// So many rows of an operand, vector by vector along their lanes, which are at some indices of a dimension.
    fn load_square(
        &mut self,
        (access, dtype, count): (&Access, DType, usize),
        (dim, (along, lanes_at)): (usize, (usize, &[MlirValue])),
        (prefetched, mask): (Option<MlirValue>, Option<MlirValue>),
    ) -> Vec<MlirValue> {
        let size = memory(dtype).bits() as usize / 8;
        let unit = self.code.types.scalar(memory(dtype));
        let outside = self.index[along];
        // More lines than a set of the first-level cache holds push each other out of it.
        let share_set = |stride: i64| stride % SET_STRIDE * size as i64 % SET_STRIDE == 0;
        let level = match access.strides[along].fixed() {
            Some(stride) if share_set(stride) && lanes_at.len() > COLUMNS_UPRIGHT => Level::Second,
            Some(_) | None => self.setting.machine.level_ahead(),
        };
        let loaded = lanes_at.iter().map(|index| {
            self.index[along] = Some(*index);
            let (first, _) = self.first(access, dtype, None);
            if let Some(ahead) = prefetched {
                let next = self.code.element(first, ahead, unit, 1);
                self.code.prefetch(next, level);
            }
            let row = vector(unit, count);
            match (mask, step_across(access, dim, dtype)) {
                (None, Some(step @ 2..)) => {
                    self.choose_strided(first, (unit, size), (count, count), step as usize)
                }
                (None, _) => self.code.load(first, row, size),
                (Some(mask), _) => {
                    let nothing = self.code.value("llvm.mlir.zero", &[], row, &[]);
                    self.masked_load(first, row, size, (mask, nothing))
                }
            }
        });
        let loaded: Vec<MlirValue> = loaded.collect();
        self.index[along] = outside;
        let beside = |number: usize| loaded[number..].iter().step_by(count).copied().collect();
        let rows = (0..count).map(|number| self.joined(beside(number), (unit, count))).collect();
        self.transposed(rows, lanes_at.len(), memory(dtype))
    }

    /// How many elements ahead that is which is brought into the cache with a square from a row on.
    pub(super) fn elements_ahead(
        &mut self,
        (access, dtype): (&Access, DType),
        (dim, row): (usize, MlirValue),
        Ahead { rows, then }: Ahead,
    ) -> MlirValue {
        let apart = step_across(access, dim, dtype).unwrap_or(1);
        let ahead = self.code.index(rows * apart);
        let (step, columns) = match then {
            Then::Unit => (self.next_unit(access), self.lanes as i64),
            Then::Unknown => return ahead,
        };
        if let Some(extent) = self.kernel.dims[dim].fixed().filter(|extent| *extent < rows) {
            // The same rows, of columns so far on that as many rows are in between.
            let steps = self.code.index(rows / (columns * extent.max(1)) + 1);
            return self.code.int("llvm.mul", step, steps);
        }
        let extent = self.product(&self.kernel.dims[dim].clone());
        let (rows, apart) = (self.code.index(rows), self.code.index(apart));
        let all = self.code.int("llvm.mul", extent, apart);
        let back = self.code.int("llvm.sub", step, all);
        let beyond = self.code.int("llvm.add", ahead, back);
        let reached = self.code.int("llvm.add", row, rows);
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
                let rows = &access.strides[dim] * &Product::number(self.rows_ahead(dim));
                let extra = self.product(&rows);
                let (next, _) = self.first(access, expr.dtype, Some(extra));
                self.code.prefetch(next, self.setting.machine.level_ahead());
            }
        }
    }

    /// The transposed squares of elements of that type that lie beside each other in as many vectors as they have rows, of so many lanes.
    ///
    /// Each step takes rows in pairs and moves a bit of an element's row into its column, and a bit of its column into its
    /// row. Shuffles within 16 bytes and of 16 bytes are one instruction each: first neighbours are interleaved, in units of
    /// 1, 2, 4, … elements, until that moved all bits within 16 bytes, the highest bits of columns first; then every other 16
    /// bytes of a pair are chosen, which moves the remaining bits, the lowest first.
    pub(super) fn transposed(&self, mut rows: Vec<MlirValue>, lanes: usize, ty: Ty) -> Vec<MlirValue> {
        let side = rows.len();
        let r#type = self.code.types.lanes(ty, lanes);
        let chunk = (16 * 8 / ty.bits() as usize).min(side);
        let mut distance = 1;
        while distance < side {
            // The lane of the first, or the second, row of a pair that is in a lane of its first, or second, result.
            let lane_from = |lane: usize, result: usize| -> usize {
                if distance < chunk {
                    let (start, place) = (lane / chunk * chunk, lane % chunk);
                    let unit = place / (2 * distance) * distance + place % distance;
                    start + result * chunk / 2 + unit + place / distance % 2 * lanes
                } else {
                    let (start, number, count) = (lane / side * side, lane % side / chunk, side / chunk);
                    let (number, second) = (number % (count / 2), number / (count / 2));
                    start + (2 * number + result) * chunk + lane % chunk + second * lanes
                }
            };
            let masks: Vec<Vec<i32>> = (0..2)
                .map(|result| (0..lanes).map(|lane| lane_from(lane, result) as i32).collect())
                .collect();
            for first in (0..side).filter(|row| row & distance == 0) {
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
        (0..side).map(|row| rows[row / chunk * chunk + reversed(row % chunk)]).collect()
    }
}
