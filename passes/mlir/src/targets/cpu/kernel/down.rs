//! Rows whose elements lie side by side down their columns: a vector holds an element of each of as many rows.
//!
//! Which elements of a row are combined in which order does not depend on how they lie in memory. So the sums of a row are
//! computed one after the other, those of a tile of rows together: the columns of a sum are read from top to bottom, some at
//! once, and each column of the tile once. The sums are halved as soon as both of a pair are there; they are gone through in
//! the order of their numbers with the bits reversed, so that few of them wait.
//!
//! ## Laws
//! - The elements of a row are combined in the order of [`Rows`], as where they lie along it.
//! - In the accumulators, `depth` tiles further on, are the sums that wait after `depth` others.

use mlir_sys::*;
use promote_lattice::Kind;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Kernel, Role, Root};
use promote_lower::order::{self, BLOCK, Rows};
use promote_scalar::{Ty, register};

use super::squares::{Bounds, reduces_only};
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{COLUMN_BYTES, COLUMNS_DOWN, COLUMNS_DOWN_COST, MOST_ROWS_DOWN, ROWS_DOWN};

/// How rows are reduced down their columns.
#[derive(Clone, Debug)]
pub(super) struct Down {
    /// The dimension of the rows.
    pub(super) rows: usize,
    /// How many sums a row has.
    sums: usize,
    /// How many rows have accumulators.
    tall: i64,
    /// How many columns are added to them at once.
    columns: i64,
}

/// The accumulators of a root, and the first row of the tile that they are of.
type Place = (usize, MlirValue);

/// Columns of a block: from one on, so many apart, so many at once.
#[derive(Clone, Copy)]
struct Columns {
    /// The first one of a block, if not what fills no vector.
    lane: Option<MlirValue>,
    apart: i64,
    at_once: i64,
}

impl Down {
    /// How the rows of a kernel are reduced down their columns in vectors of so many rows, if more of what they read lies side
    /// by side along them than within a row.
    pub(super) fn new(kernel: &Kernel, numerics: Numerics, rows: &Rows, lanes: usize) -> Option<Self> {
        let reduced = kernel.reduced();
        let last = reduced.clone().next_back()?;
        let is_plain = rows.beside.is_none() && !rows.has_rest;
        let candidates = (0..reduced.start).rev().filter(|dim| kernel.reads_along(*dim));
        let dim = candidates.min_by_key(|dim| kernel.reads_across(*dim))?;
        let is_better = kernel.reads_less_across(dim, last);
        let bytes: i64 = kernel.roots.iter().map(|root| bytes(kernel, root, rows.lanes, numerics)).sum();
        let tall = (COLUMN_BYTES / bytes.max(1)).min(MOST_ROWS_DOWN);
        let has_room = tall >= lanes as i64;
        let columns = (COLUMNS_DOWN_COST / i64::from(kernel.cost().max(1))).clamp(1, COLUMNS_DOWN);
        let is_done = reduced.end == kernel.dims.len() && lanes > 1 && is_plain && is_better && has_room;
        (is_done && reduces_only(kernel)).then(|| Self {
            rows: dim,
            sums: rows.lanes,
            tall: 1 << tall.ilog2(),
            columns,
        })
    }

    /// How many rows a unit of work has.
    pub(super) fn unit(&self) -> i64 {
        self.tall.min(ROWS_DOWN)
    }

    /// How many units a thread takes at once: the runs in which it reads columns are as long.
    pub(super) fn together(&self) -> i64 {
        if self.columns == COLUMNS_DOWN { self.tall / self.unit() } else { 1 }
    }
}

/// The bytes that the accumulators of a root have for a row.
fn bytes(kernel: &Kernel, root: &Root, sums: usize, numerics: Numerics) -> i64 {
    let dtype = kernel.expr(root.expr).dtype;
    let part = i64::from(register(dtype).bits().div_ceil(8));
    let parts = if dtype.kind() == Kind::Complex { 2 * part } else { part };
    let all = match root.role {
        Role::Store => 0,
        Role::Reduce(_) | Role::Scan(_) => parts,
        Role::Arg(_) => parts + i64::from(Ty::I64.bits() / 8),
    };
    all * depths(kernel, root, sums, numerics)
}

/// How many tiles of accumulators a root has: for the sums that wait, and for that of the block at hand.
fn depths(kernel: &Kernel, root: &Root, sums: usize, numerics: Numerics) -> i64 {
    let has_blocks = order::is_summed_in_blocks(kernel, root, numerics, sums);
    i64::from(sums.ilog2()) + 1 + i64::from(has_blocks)
}

impl<'k> KernelEmitter<'k> {
    /// As many units as there are from one on that a run has, up to the next index of the other dimensions, and up to what there
    /// is room for: their rows, and how many units they are.
    pub(super) fn taller(
        &mut self,
        down: &Down,
        (unit, end): Bounds,
        (from, to): Bounds,
    ) -> (Bounds, MlirValue) {
        let one = self.code.index(1);
        if down.tall == down.unit() {
            return ((from, to), one);
        }
        let (most, size) = (self.code.index(down.tall / down.unit()), self.code.index(down.unit()));
        let left = self.code.int("llvm.sub", end, unit);
        let taken = self.code.int("llvm.intr.smin", left, most);
        let rows = self.code.int("llvm.mul", taken, size);
        let to = self.code.int("llvm.add", from, rows);
        let extent = self.product(&self.kernel.dims[down.rows].clone());
        let to = self.code.int("llvm.intr.smin", to, extent);
        let less = self.code.index(down.unit() - 1);
        let rows = self.code.int("llvm.sub", to, from);
        let rounded = self.code.int("llvm.add", rows, less);
        let taken = self.code.int("llvm.sdiv", rounded, size);
        ((from, to), self.code.int("llvm.intr.smax", taken, one))
    }

    /// A tile of rows.
    pub(super) fn rows_down(&mut self, down: &Down, tile: Bounds) {
        let (kernel, reduced) = (self.kernel, self.kernel.reduced());
        let is_reduction = |root: &usize| kernel.roots[*root].role != Role::Store;
        let reductions: Vec<usize> = (0..kernel.roots.len()).filter(is_reduction).collect();
        let last = reductions.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        for root in &reductions {
            if self.columns[*root].is_empty() {
                let count =
                    down.tall * depths(kernel, &kernel.roots[*root], down.sums, self.setting.numerics);
                let parts = self.accumulator(*root);
                self.columns[*root] = parts.into_iter().map(|ty| (self.room(ty, count), ty)).collect();
            }
        }
        self.tile = Some(tile.0);
        for stage in 0..=last {
            self.stage = stage;
            let roots: Vec<usize> =
                reductions.iter().copied().filter(|root| self.stage(*root) == stage).collect();
            let deeper = reduced.clone().fold(1 << down.rows, |all, dim| all | 1 << dim);
            self.hoist(deeper, stage);
            self.sums_in_pairs(down, &roots, tile);
            if roots.first().is_some_and(|root| self.copies(*root) == 2) {
                let rest = Columns { lane: None, apart: 1, at_once: 1 };
                let one = self.code.index(1);
                let (last, first) = (self.deeper(down, tile.0, one), tile.0);
                self.sum_of_columns(down, &roots, (last, tile), rest);
                self.join_tiles(down, &roots, (first, last), tile);
            }
        }
        self.stage = usize::MAX;
        self.hoist(1 << down.rows, usize::MAX);
        self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
            for root in 0..kernel.roots.len() {
                if reductions.contains(&root) {
                    let value = emitter.column_result(root, tile.0, lanes);
                    emitter.store_result(root, value, lanes);
                } else {
                    emitter.store_root(root, lanes);
                }
            }
            Vec::new()
        });
    }

    /// The sums of the rows one after the other, halved: one is left, at the depth of none.
    fn sums_in_pairs(&mut self, down: &Down, roots: &[usize], tile: Bounds) {
        let columns = Columns { lane: None, apart: down.sums as i64, at_once: down.columns };
        let (zero, one) = (self.code.index(0), self.code.index(1));
        if down.sums == 1 {
            return self.sum_of_columns(down, roots, (tile.0, tile), Columns { lane: Some(zero), ..columns });
        }
        let r#type = self.code.types.i64;
        let count = self.code.index(down.sums as i64);
        let sums = self.code.open((zero, count, 1), &[]);
        self.frames.push(Scope::default());
        let reversed = self.code.value("llvm.intr.bitreverse", &[sums.index], r#type, &[]);
        let unused = self.code.index(64 - i64::from(down.sums.ilog2()));
        let lane = self.code.int("llvm.lshr", reversed, unused);
        let depth = self.code.value("llvm.intr.ctpop", &[sums.index], r#type, &[]);
        let from = self.deeper(down, tile.0, depth);
        self.sum_of_columns(down, roots, (from, tile), Columns { lane: Some(lane), ..columns });
        // As many pairs are whole as ones end the number.
        let all = self.code.index(-1);
        let zeros = self.code.int("llvm.xor", sums.index, all);
        let is_poison = [("is_zero_poison", self.code.types.parse("false"))];
        let pairs = self.code.value("llvm.intr.cttz", &[zeros], r#type, &is_poison);
        let joins = self.code.open((zero, pairs, 1), &[]);
        self.frames.push(Scope::default());
        let second = self.code.int("llvm.sub", depth, joins.index);
        let first = self.code.int("llvm.sub", second, one);
        let places = [first, second].map(|depth| self.deeper(down, tile.0, depth));
        self.join_tiles(down, roots, places.into(), tile);
        self.frames.pop();
        self.code.close(&joins, &[]);
        self.frames.pop();
        self.code.close(&sums, &[]);
    }

    /// The first row, counted from which accumulators are so many tiles further on.
    fn deeper(&mut self, down: &Down, from: MlirValue, depth: MlirValue) -> MlirValue {
        let tall = self.code.index(down.tall);
        let ahead = self.code.int("llvm.mul", depth, tall);
        self.code.int("llvm.sub", from, ahead)
    }

    /// Joins the accumulators of a tile with those of another.
    fn join_tiles(&mut self, down: &Down, roots: &[usize], (first, second): Bounds, tile: Bounds) {
        self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
            for root in roots {
                let [x, y] = [first, second].map(|from| {
                    let values = emitter.column(*root, from, lanes);
                    emitter.registers(*root, &values)
                });
                let joined = emitter.joined_accumulators(*root, lanes, &x, &y);
                let joined: Vec<MlirValue> = joined.into_iter().map(|register| register.value).collect();
                emitter.put_column(*root, &joined, first, lanes);
            }
            Vec::new()
        });
    }

    /// Sets accumulators to what they begin with.
    fn begin_columns(&mut self, down: &Down, places: &[Place], tile: Bounds) {
        self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
            for (root, from) in places {
                let start = emitter.identity(*root, lanes);
                emitter.put_column(*root, &start, *from, lanes);
            }
            Vec::new()
        });
    }

    /// One of the sums of each row of a tile, in the accumulators from `from` on.
    fn sum_of_columns(
        &mut self,
        down: &Down,
        roots: &[usize],
        (from, tile): (MlirValue, Bounds),
        columns: Columns,
    ) {
        let (reduced, stage) = (self.kernel.reduced(), self.stage);
        let last = reduced.end - 1;
        let whole: Vec<Place> = roots.iter().map(|root| (*root, from)).collect();
        self.begin_columns(down, &whole, tile);
        let (summed, others): (Vec<Place>, Vec<Place>) =
            whole.iter().partition(|(root, _)| self.is_summed_in_blocks(*root));
        self.enclose(reduced.start..last, stage, &[], &mut |emitter, _| {
            emitter.hoist(1 << last | 1 << down.rows, stage);
            let bounds = emitter.bounds(last);
            if summed.is_empty() {
                emitter.columns_of_block(down, &whole, (bounds, tile), columns);
                return Vec::new();
            }
            let one = emitter.code.index(1);
            let own = emitter.deeper(down, from, one);
            let of_block: Vec<Place> = summed.iter().map(|(root, _)| (*root, own)).collect();
            let all = [of_block.as_slice(), &others].concat();
            let summed: Vec<usize> = summed.iter().map(|(root, _)| *root).collect();
            let length = BLOCK * down.sums as i64;
            let blocks = emitter.code.open((bounds.0, bounds.1, length), &[]);
            emitter.frames.push(Scope::default());
            let length = emitter.code.index(length);
            let end = emitter.code.int("llvm.add", blocks.index, length);
            let end = emitter.code.int("llvm.intr.smin", end, bounds.1);
            emitter.begin_columns(down, &of_block, tile);
            emitter.columns_of_block(down, &all, ((blocks.index, end), tile), columns);
            emitter.join_tiles(down, &summed, (from, own), tile);
            emitter.frames.pop();
            emitter.code.close(&blocks, &[]);
            Vec::new()
        });
    }

    /// Adds columns of a block to accumulators: some at once as far as they go, then one by one.
    fn columns_of_block(
        &mut self,
        down: &Down,
        places: &[Place],
        ((from, to), tile): (Bounds, Bounds),
        Columns { lane, apart, at_once }: Columns,
    ) {
        let dim = self.kernel.reduced().end - 1;
        let count = self.code.int("llvm.sub", to, from);
        let mask = self.code.index(-(down.sums as i64));
        let whole = self.code.int("llvm.and", count, mask);
        let middle = self.code.int("llvm.add", from, whole);
        let (first, end) = match lane {
            None => (middle, to),
            Some(lane) => {
                let first = self.code.int("llvm.add", from, lane);
                (first, if self.has_masks { to } else { middle })
            }
        };
        let by = |emitter: &mut Self, (first, end): Bounds, at_once: i64| -> MlirValue {
            let step = at_once * apart;
            let further = emitter.code.index(step);
            emitter.repeat(dim, (first, end), step as usize, &[first], &mut |emitter, _| {
                emitter.accumulate_columns(down, places, tile, (apart, at_once));
                let column = emitter.at(dim);
                vec![emitter.code.int("llvm.add", column, further)]
            })[0]
        };
        let mut first = first;
        if at_once > 1 {
            let others = self.code.index((at_once - 1) * apart);
            let last = self.code.int("llvm.sub", end, others);
            first = by(self, (first, last), at_once);
        }
        by(self, (first, end), 1);
    }

    /// Adds some columns to accumulators, one after another.
    fn accumulate_columns(
        &mut self,
        down: &Down,
        places: &[Place],
        tile: Bounds,
        (apart, at_once): (i64, i64),
    ) {
        let (dim, stage, rows) = (self.kernel.reduced().end - 1, self.stage, 1 << down.rows);
        let reduced = self.kernel.reduced().fold(0, |all, dim| all | 1 << dim);
        let first = self.at(dim);
        // What is the same for all rows is computed once for each column.
        let columns: Vec<(MlirValue, Scope)> = (0..at_once)
            .map(|number| {
                let ahead = self.code.index(number * apart);
                let column = self.code.int("llvm.add", first, ahead);
                self.index[dim] = Some(column);
                self.frames.push(Scope::default());
                self.hoist(rows, stage);
                (column, self.frames.pop().unwrap_or_default())
            })
            .collect();
        self.innermost(down.rows, tile, &[], &mut |emitter, lanes, _| {
            emitter.share(reduced, stage, lanes);
            let mut all: Vec<Vec<MlirValue>> =
                places.iter().map(|(root, from)| emitter.column(*root, *from, lanes)).collect();
            for (column, scope) in &columns {
                emitter.index[dim] = Some(*column);
                emitter.frames.push(scope.clone());
                for ((root, _), own) in places.iter().zip(&mut all) {
                    *own = emitter.accumulate(*root, own, lanes);
                }
                emitter.frames.pop();
            }
            for ((root, from), own) in places.iter().zip(&all) {
                emitter.put_column(*root, own, *from, lanes);
            }
            Vec::new()
        });
        self.index[dim] = Some(first);
    }
}
