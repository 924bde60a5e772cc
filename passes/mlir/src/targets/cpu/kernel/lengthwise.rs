//! Columns whose elements lie side by side, each read lengthwise: in vectors along it.
//!
//! A block of rows is some vectors. What each lane of them adds up to, or, of sums in [fours](promote_lower::order::is_summed_in_fours),
//! each four, is put beside that of other runs of as many rows: of the columns beside it, or, of long columns, of the blocks after it.
//! Those of as many runs as a square has rows are transposed in registers, and then combined one after the other. So memory is read in
//! order, and a square is transposed for some vectors of each of its rows.
//!
//! ## Laws
//! - Fours are added up one after the other, and blocks are, as where columns lie in rows.
//! - What is beyond the end of a column is nothing, which changes no sum: an accumulator begins with it.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_lattice::Op;
use promote_lower::kernel::{Code as What, Expr, ExprId, Form, Kernel, Role, Root};
use promote_lower::order::{BLOCK, FOUR, has_free_order, is_summed_in_fours};
use promote_scalar::{Cast, Compare, Emit, Ty};

use super::elements::{element, parts};
use super::fours::Partial;
use super::roots::accumulator_bytes;
use super::squares::{Bounds, reads};
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{BLOCKS_BYTES, LEAST_LENGTHWISE, MOST_BLOCKS, MOST_READ_AGAIN};
use crate::targets::llvm::{Register, splat};

/// The fours of a block, and the lanes of the vectors that they are added up in.
pub(super) const FOURS: usize = (BLOCK / FOUR) as usize;

/// Which columns are read lengthwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lengthwise {
    /// All.
    All,
    /// All, if they have as many rows as that is worth it for, and no more than there is room for: a run alone knows.
    Open,
    /// Those that fill no vector, as there are no masks.
    Rest,
}

impl Lengthwise {
    /// Which columns of a kernel are read lengthwise along a dimension, if any, where squares have so many lanes, and so many runs are
    /// transposed at once.
    pub(super) fn new(
        kernel: &Kernel,
        dim: usize,
        (lanes, runs): (usize, usize),
        has_masks: bool,
    ) -> Option<Self> {
        let rows = rows_of_unit(kernel, dim);
        let is_worth_it = rows.is_none_or(|rows| rows >= LEAST_LENGTHWISE);
        let in_first_stage = |root: &Root| root.role == Role::Store || kernel.expr(root.expr).stage == 0;
        let is_read_once = kernel.roots.iter().all(in_first_stage);
        // Of more dimensions, columns may be parts, which are far apart.
        let lie_in_order = kernel.dims.len() == 2 && kernel.chunk.is_none();
        let which = match rows {
            _ if !has_masks => Self::Rest,
            _ if are_few(kernel, lanes) => Self::All,
            Some(rows) if blocks(rows) > most_blocks(kernel, runs) => return None,
            Some(_) if is_read_once => Self::All,
            Some(rows) if lie_in_order && rows <= MOST_READ_AGAIN => Self::All,
            None if is_read_once => Self::Open,
            Some(_) | None => return None,
        };
        (is_worth_it && can_go_lengthwise(kernel, dim)).then_some(which)
    }
}

/// Whether columns are fewer than a square has lanes.
fn are_few(kernel: &Kernel, lanes: usize) -> bool {
    kernel.dims.last().and_then(Product::fixed).is_some_and(|columns| columns < lanes as i64)
}

/// How many rows of a column a unit reads: those of a part, if columns are cut; none if a run alone knows.
pub(super) fn rows_of_unit(kernel: &Kernel, dim: usize) -> Option<i64> {
    match kernel.chunk.filter(|chunk| chunk.dim == dim) {
        Some(chunk) => chunk.length.fixed(),
        None => kernel.dims[dim].fixed(),
    }
}

/// How many blocks so many rows are in.
pub(super) const fn blocks(rows: i64) -> i64 {
    (rows + BLOCK - 1) / BLOCK
}

/// For the fours of how many blocks of so many runs there is room.
pub(super) fn most_blocks(kernel: &Kernel, runs: usize) -> i64 {
    let bytes: i64 = kernel.roots.iter().map(|root| accumulator_bytes(kernel, root)).sum();
    (BLOCKS_BYTES / (bytes * (runs * FOURS) as i64).max(1)).clamp(1, MOST_BLOCKS)
}

/// Whether the columns of a kernel may be read lengthwise along a dimension: nothing varies along it but what lies in memory so, and each
/// root is added up in fours, or may be reduced in any order.
pub(super) fn can_go_lengthwise(kernel: &Kernel, dim: usize) -> bool {
    let is_free = |op: Op, root: &Root| has_free_order(op, kernel.expr(root.expr).dtype);
    let suits = |root: &Root| match root.role {
        Role::Store => true,
        Role::Reduce(op) => is_summed_in_fours(kernel, root) || is_free(op, root),
        Role::Arg(_) | Role::Scan(_) => false,
    };
    let across: Vec<ExprId> = reads(kernel, dim).into_iter().map(|(id, ..)| id).collect();
    let lies_along = |(id, expr): (ExprId, &Expr)| match expr.code.strides() {
        Some(strides) => strides[dim].is_zero() || across.contains(&id),
        None => true,
    };
    let takes = kernel.exprs.iter().any(|expr| matches!(expr.code, What::Take { .. }));
    let is_of_columns = matches!(kernel.form, Form::Columns { .. });
    let exprs = || (0..).map(ExprId).zip(&kernel.exprs);
    is_of_columns && !takes && kernel.roots.iter().all(suits) && exprs().all(lies_along)
}

/// Where the fours of runs are put, of each part of an accumulator.
pub(super) type Rooms = Vec<(MlirValue, Ty)>;

/// Columns beside each other.
#[derive(Clone, Copy)]
struct Beside<'a> {
    /// The dimension along which they are read.
    dim: usize,
    /// The lanes of their accumulators.
    lanes: usize,
    /// How many there are, at most as many.
    count: MlirValue,
    roots: &'a [usize],
}

impl KernelEmitter<'_> {
    /// Reduces the columns from the current one on, as many as there are lanes or are left.
    pub(super) fn columns_lengthwise(
        &mut self,
        (dim, rows): (usize, Bounds),
        (roots, state): (&[usize], &[MlirValue]),
        lanes: usize,
    ) -> Vec<MlirValue> {
        let last = self.kernel.dims.len() - 1;
        let (column, mut count) = (self.at(last), self.code.index(lanes as i64));
        if let Some(last_column) = self.last_column {
            let left = self.code.int("llvm.sub", last_column, column);
            let one = self.code.index(1);
            let left = self.code.int("llvm.add", left, one);
            count = self.code.int("llvm.intr.smin", count, left);
        }
        let columns = Beside { dim, lanes, count, roots };
        let (needed, most) = (self.rows_of_unit(dim).map(blocks), most_blocks(self.kernel, self.runs));
        let has_room = needed.map_or(!are_few(self.kernel, self.side), |needed| needed <= most);
        let outside = (self.mask.take(), self.results.clone());
        let state = if has_room && lanes > 1 {
            let rooms = self.rooms_of_fours(roots, needed.unwrap_or(most));
            self.short_columns(columns, rows, &rooms, state)
        } else {
            let rooms = self.rooms_of_fours(roots, 1);
            self.few_columns(columns, rows, &rooms, state)
        };
        (self.mask, self.results) = outside;
        self.index[last] = Some(column);
        state
    }

    /// Room for the fours of so many blocks of as many runs as are transposed at once.
    pub(super) fn rooms_of_fours(&mut self, roots: &[usize], blocks: i64) -> Vec<Rooms> {
        let size = blocks * (self.runs * FOURS) as i64;
        let room = |root: &usize| -> Rooms {
            self.accumulator(*root).into_iter().map(|ty| (self.room(ty, size), ty)).collect()
        };
        roots.iter().map(room).collect()
    }

    /// Columns for the fours of all of whose blocks there is room: those of as many columns are transposed at once.
    fn short_columns(
        &mut self,
        columns: Beside<'_>,
        (from, to): Bounds,
        rooms: &[Rooms],
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        let runs = self.runs as i64;
        self.each_column(columns, &mut |emitter, number| {
            emitter.put_fours((columns.dim, columns.roots), ((from, to), to), rooms, (number, runs));
        });
        let rows = self.code.int("llvm.sub", to, from);
        self.with_all_blocks((columns.roots, rooms), rows, columns.lanes, state)
    }

    /// Accumulators with all blocks of so many rows of each of their runs.
    pub(super) fn with_all_blocks(
        &mut self,
        (roots, rooms): (&[usize], &[Rooms]),
        rows: MlirValue,
        lanes: usize,
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        let (zero, count) = (self.code.index(0), self.blocks_of(rows));
        let blocks = self.code.open((zero, count, 1), state);
        self.frames.push(Scope::default());
        let next = self.with_block((roots, rooms), (blocks.index, lanes), &blocks.carried);
        self.frames.pop();
        self.code.close(&blocks, &next);
        blocks.carried
    }

    /// How many blocks so many rows are in.
    fn blocks_of(&mut self, rows: MlirValue) -> MlirValue {
        let (block, less) = (self.code.index(BLOCK), self.code.index(BLOCK - 1));
        let rounded = self.code.int("llvm.add", rows, less);
        self.code.int("llvm.sdiv", rounded, block)
    }

    /// Few columns: one after the other, the fours of some blocks of each at once.
    fn few_columns(
        &mut self,
        columns: Beside<'_>,
        rows: Bounds,
        rooms: &[Rooms],
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        let (roots, runs) = (columns.roots, self.runs);
        let types: Vec<Ty> = roots.iter().flat_map(|root| self.accumulator(*root)).collect();
        let [totals, sums]: [Rooms; 2] = [columns.lanes, runs]
            .map(|size| types.iter().map(|ty| (self.room(*ty, size as i64), *ty)).collect());
        let zero = self.code.index(0);
        for (room, value) in totals.iter().zip(state) {
            self.put_at(*room, Register { value: *value, ty: room.1 }, zero, columns.lanes);
        }
        self.each_column(columns, &mut |emitter, number| {
            let own: Vec<MlirValue> =
                totals.iter().map(|room| emitter.get_at(*room, number, 1).value).collect();
            let length = BLOCK * runs as i64;
            let all = emitter.in_pieces(rows, length, &own, &mut |emitter, (from, to), state| {
                emitter.put_fours((columns.dim, roots), ((from, to), to), rooms, (zero, 1));
                let nothing: Vec<MlirValue> =
                    roots.iter().flat_map(|root| emitter.identity(*root, runs)).collect();
                let of_blocks = emitter.sums_of_runs(roots, rooms, zero, &nothing);
                for (room, value) in sums.iter().zip(of_blocks) {
                    emitter.put_at(*room, Register { value, ty: room.1 }, zero, runs);
                }
                let rows = emitter.code.int("llvm.sub", to, from);
                let count = emitter.blocks_of(rows);
                let joins = emitter.code.open((zero, count, 1), state);
                let block: Vec<MlirValue> =
                    sums.iter().map(|room| emitter.get_at(*room, joins.index, 1).value).collect();
                let joined = emitter.joined_roots(roots, (&joins.carried, &block), 1);
                emitter.code.close(&joins, &joined);
                joins.carried
            });
            for (room, value) in totals.iter().zip(all) {
                emitter.put_at(*room, Register { value, ty: room.1 }, number, 1);
            }
        });
        totals.iter().map(|room| self.get_at(*room, zero, columns.lanes).value).collect()
    }

    /// Does something with each of some columns, by its number, as with the column at hand: results of stages before are its own.
    fn each_column(&mut self, columns: Beside<'_>, body: &mut dyn FnMut(&mut Self, MlirValue)) {
        let (last, zero) = (self.kernel.dims.len() - 1, self.code.index(0));
        let column = self.at(last);
        let results: Vec<Option<Rooms>> = self
            .results
            .clone()
            .into_iter()
            .map(|result| {
                let result = result.filter(|_| columns.lanes > 1)?;
                let rooms = parts(result).into_iter().map(|part| {
                    let room = (self.room(part.ty, columns.lanes as i64), part.ty);
                    self.put_at(room, part, zero, columns.lanes);
                    room
                });
                Some(rooms.collect())
            })
            .collect();
        let each = self.code.open((zero, columns.count, 1), &[]);
        self.frames.push(Scope::default());
        let outside = (self.vector.take(), self.results.clone());
        self.index[last] = Some(self.code.int("llvm.add", column, each.index));
        for (root, rooms) in results.iter().enumerate() {
            let Some(rooms) = rooms else { continue };
            let own: Vec<Register> = rooms.iter().map(|room| self.get_at(*room, each.index, 1)).collect();
            self.results[root] = Some(element(&own));
        }
        self.hoist(1 << columns.dim, self.stage);
        body(self, each.index);
        (self.vector, self.results) = outside;
        self.frames.pop();
        self.code.close(&each, &[]);
        self.index[last] = Some(column);
    }

    /// Puts the fours of the blocks of a range of rows, which are there up to an end, where there is room for them: those of the first
    /// block are `first` runs from the beginning, and those of others each so many further.
    pub(super) fn put_fours(
        &mut self,
        (dim, roots): (usize, &[usize]),
        ((from, to), end): (Bounds, MlirValue),
        rooms: &[Rooms],
        (first, step): (MlirValue, i64),
    ) {
        let middle = self.last_whole((from, end), BLOCK);
        for (bounds, is_whole) in [((from, middle), true), ((middle, to), false)] {
            // Without masks, there are whole ones.
            if !self.has_blocks(dim, is_whole) || !(is_whole || self.has_masks) {
                continue;
            }
            self.repeat(dim, bounds, BLOCK as usize, &[], &mut |emitter, _| {
                let row = emitter.at(dim);
                let [block, step] = [BLOCK, step].map(|number| emitter.code.index(number));
                let before = emitter.code.int("llvm.sub", row, from);
                let number = emitter.code.int("llvm.sdiv", before, block);
                let further = emitter.code.int("llvm.mul", number, step);
                let run = emitter.code.int("llvm.add", first, further);
                let fours = emitter.fours_of_block((dim, row), (!is_whole).then_some(end), roots);
                let place = emitter.place_of_run(run);
                for (rooms, own) in rooms.iter().zip(fours) {
                    for (room, fours) in rooms.iter().zip(own) {
                        emitter.put_at(*room, fours, place, FOURS);
                    }
                }
                Vec::new()
            });
        }
    }

    /// Whether the rows that a unit has may be whole blocks, or leave a part of one.
    fn has_blocks(&self, dim: usize, are_whole: bool) -> bool {
        let Some(rows) = self.rows_of_unit(dim) else { return true };
        if are_whole {
            return rows >= BLOCK;
        }
        // The last part of a dimension that is cut may be shorter.
        let last = self.kernel.dims[dim].fixed().map_or(1, |extent| extent % rows.max(1));
        let last = if self.kernel.chunk.is_some_and(|chunk| chunk.dim == dim) { last } else { 0 };
        rows % BLOCK != 0 || last % BLOCK != 0
    }

    fn place_of_run(&mut self, run: MlirValue) -> MlirValue {
        let size = self.code.index(FOURS as i64);
        self.code.int("llvm.mul", run, size)
    }

    /// The fours of a block of rows, a lane each, in the order of [`lane_of_four`]; of what may be reduced in any order, what the lanes of
    /// its vectors add up to. Rows from an end on are nothing.
    fn fours_of_block(
        &mut self,
        (dim, row): (usize, MlirValue),
        end: Option<MlirValue>,
        roots: &[usize],
    ) -> Vec<Vec<Register>> {
        let outside = (self.vector.replace(dim), std::mem::replace(&mut self.lanes, FOURS), self.index[dim]);
        let mut sums: Vec<Vec<Vec<MlirValue>>> = vec![Vec::new(); roots.len()];
        for number in 0..FOUR {
            let ahead = self.code.index(number * FOURS as i64);
            self.index[dim] = Some(self.code.int("llvm.add", row, ahead));
            self.mask = end.map(|end| self.rows_before(dim, end));
            self.frames.push(Scope::default());
            for (root, sums) in roots.iter().zip(&mut sums) {
                let nothing = self.identity(*root, FOURS);
                let own = match self.is_summed_in_fours(*root) {
                    true => self.added(*root, None, FOURS),
                    false => self.accumulate(*root, &nothing, FOURS),
                };
                sums.push(self.masked(own, &nothing));
            }
            self.frames.pop();
        }
        self.mask = None;
        let mut all = Vec::with_capacity(roots.len());
        for (root, sums) in roots.iter().zip(sums) {
            let mut rows: Vec<Vec<Register>> = sums.iter().map(|sum| self.registers(*root, sum)).collect();
            if self.is_summed_in_fours(*root) {
                rows = self.transposed_registers(&rows, FOURS);
            }
            let first = rows.remove(0);
            let sum =
                |sum: Vec<Register>, next: Vec<Register>| self.joined_accumulators(*root, FOURS, &sum, &next);
            all.push(rows.into_iter().fold(first, sum));
        }
        (self.vector, self.lanes, self.index[dim]) = outside;
        all
    }

    /// The lanes from the current index of a dimension on that are before an end, which nothing is stored by.
    fn rows_before(&mut self, dim: usize, end: MlirValue) -> MlirValue {
        let (index, lanes) = (self.at(dim), self.lanes);
        let left = Register { value: self.code.int("llvm.sub", end, index), ty: Ty::I64 };
        let left = self.emit(1).cast(Cast::Truncate, left, Ty::I32);
        let left = splat(&mut self.code, left, lanes);
        let numbers = Register { value: self.iota(Ty::I32, lanes), ty: Ty::I32 };
        self.emit(lanes).compare(Compare::LtS, numbers, left).value
    }

    /// Squares of the parts of accumulators, transposed.
    fn transposed_registers(&self, rows: &[Vec<Register>], lanes: usize) -> Vec<Vec<Register>> {
        let mut all = vec![Vec::new(); rows.len()];
        for part in 0..rows[0].len() {
            let ty = rows[0][part].ty;
            let own = rows.iter().map(|row| row[part].value).collect();
            for (row, value) in all.iter_mut().zip(self.transposed(own, lanes, ty)) {
                row.push(Register { value, ty });
            }
        }
        all
    }

    /// Accumulators with a block of each of their runs.
    fn with_block(
        &mut self,
        (roots, rooms): (&[usize], &[Rooms]),
        (block, lanes): (MlirValue, usize),
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        let runs = self.code.index(self.runs as i64);
        let first = self.code.int("llvm.mul", block, runs);
        let begun = self.begun(Partial::Block, (roots, state), lanes);
        let sums = self.sums_of_runs(roots, rooms, first, &begun);
        self.with_partial(Partial::Block, roots, (state, &sums), lanes)
    }

    /// What accumulators with a lane for each run add up to with the fours of a block of those, the first of which is so many runs from
    /// the beginning.
    pub(super) fn sums_of_runs(
        &mut self,
        roots: &[usize],
        rooms: &[Rooms],
        first: MlirValue,
        start: &[MlirValue],
    ) -> Vec<MlirValue> {
        let runs = self.runs;
        let mut all = Vec::with_capacity(start.len());
        for ((root, start), rooms) in self.of_each(roots, start).zip(rooms) {
            let mut rows = Vec::with_capacity(runs);
            for number in 0..runs {
                let ahead = self.code.index(number as i64);
                let run = self.code.int("llvm.add", first, ahead);
                let place = self.place_of_run(run);
                rows.push(rooms.iter().map(|room| self.get_at(*room, place, FOURS)).collect::<Vec<_>>());
            }
            let squares = self.transposed_registers(&rows, FOURS);
            let mut sum = self.registers(root, start);
            for four in 0..FOURS {
                let lane = lane_of_four(four);
                let own: Vec<i32> = (0..runs).map(|run| (lane / runs * runs + run) as i32).collect();
                let four: Vec<Register> =
                    squares[lane % runs].iter().map(|part| self.part_of(*part, &own)).collect();
                sum = self.joined_accumulators(root, runs, &sum, &four);
            }
            all.extend(sum.into_iter().map(|register| register.value));
        }
        all
    }

    /// Two accumulators of each of some roots as one.
    fn joined_roots(
        &mut self,
        roots: &[usize],
        (x, y): (&[MlirValue], &[MlirValue]),
        lanes: usize,
    ) -> Vec<MlirValue> {
        let mut all = Vec::with_capacity(x.len());
        for ((root, x), (_, y)) in self.of_each(roots, x).zip(self.of_each(roots, y)) {
            all.extend(self.with_sum(root, (x, y), lanes));
        }
        all
    }
}

/// The lane of a four of a block: vectors are rows of squares as wide as a four, which are transposed.
const fn lane_of_four(four: usize) -> usize {
    let width = FOUR as usize;
    four % width * width + four / width
}
