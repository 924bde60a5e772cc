//! Rows whose elements lie side by side down their columns: a vector holds an element of each of as many rows.
//!
//! Which elements of a row are combined in which order does not depend on how they lie in memory. So the sums of a row are
//! computed one after the other, those of a tile of rows together: the columns of a sum are read from top to bottom, some at
//! once, and each column of the tile once. The sums are halved as soon as both of a pair are there; they are gone through in
//! the order of their numbers with the bits reversed, so that few of them wait. Of few rows, whose columns are short runs of
//! memory, a group of neighbouring sums is computed at a time: their columns follow each other.
//!
//! ## Laws
//! - The elements of a row are combined in the order of [`Rows`], as where they lie along it.
//! - In the accumulators, `depth` groups of tiles further on, are the sums that wait after `depth` other groups.
//! - A tile has accumulators for a vector more than it has rows: it may begin behind the first lane of one, and no vector of a tile has
//!   accumulators of another. Lanes without a row keep what they have.
//! - Of sums in groups, the accumulators follow each other without a gap, and there is room for two vectors behind all of them. A vector of the
//!   last rows of a sum, some of whose lanes are masked, has the first accumulators of the next one in those: it stores what it loaded of them.
//!   All sums of a group begin together, and are halved together, with accumulators that have no row.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Kernel, Role, Root};
use promote_lower::order::{self, Rows};
use promote_scalar::Ty;

use super::apart::Apart;
use super::column_sums::Columns;
use super::halved::AtOnce;
use super::roots::accumulator_bytes;
use super::squares::{Bounds, reduces_only};
use super::tile_down::{Group, OneRun, TileDown};
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    COLUMNS_DOWN, COLUMNS_DOWN_COST, GROUPS_DOWN, LONG_RUNS_COST, MOST_ROWS_DOWN, ROWS_DOWN, ROWS_DOWN_BYTES,
};
use crate::targets::llvm::Predicate;

/// How rows are reduced down their columns.
#[derive(Clone, Debug)]
pub(super) struct Down {
    /// The dimension of the rows.
    pub(super) rows: usize,
    /// How many sums a row has.
    pub(super) sums: usize,
    /// How columns are read, if they are few.
    pub(super) at_once: Option<AtOnce>,
    /// How many neighbouring sums are computed at a time.
    group: i64,
    /// How many rows have accumulators for each of them.
    pub(super) tall: i64,
    /// How many columns are added to them at once.
    pub(super) columns: i64,
    /// Whether so little is done that how long the runs are in which columns are read shows.
    shows_runs: bool,
    /// How the sums of all rows are computed apart from each other, if the rows are few and long.
    pub(super) apart: Option<Apart>,
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
        let tall = |group: i64| {
            let bytes = |root: &Root| bytes(kernel, root, (rows.lanes, group), numerics);
            let all: i64 = kernel.roots.iter().map(bytes).sum();
            // Each sum has accumulators for a vector more than a tile has rows, or those of a group have for two.
            (ROWS_DOWN_BYTES / all.max(1) - lanes as i64).clamp(1, MOST_ROWS_DOWN)
        };
        let all = kernel.dims[dim].fixed().unwrap_or(i64::MAX);
        // All rows, in whole vectors, and in whole units if they are several.
        let whole = if all > ROWS_DOWN { ROWS_DOWN } else { lanes.max(1) as i64 };
        let room = all.saturating_add(whole - 1) / whole * whole;
        let has_all = |group: &i64| *group <= rows.lanes as i64 && room <= tall(*group);
        let group = GROUPS_DOWN.into_iter().find(has_all).unwrap_or(1);
        let at_once = AtOnce::new(kernel, numerics, rows.lanes, room);
        let bytes: i64 = kernel.roots.iter().map(|root| accumulator_bytes(kernel, root)).sum();
        let tall = at_once.map_or_else(|| tall(group), |at_once| at_once.tallest(bytes));
        let tall = match tall {
            _ if room <= tall => room,
            ..ROWS_DOWN => 1 << tall.ilog2(),
            ROWS_DOWN.. => tall / ROWS_DOWN * ROWS_DOWN,
        };
        let has_room = tall >= lanes as i64;
        let columns = (COLUMNS_DOWN_COST / i64::from(kernel.cost().max(1))).clamp(1, COLUMNS_DOWN);
        let of_sum = kernel.length().fixed().map_or(COLUMNS_DOWN, |all| all / rows.lanes.max(1) as i64);
        let columns = columns.min(of_sum.max(1));
        let apart = Apart::new(kernel, numerics, dim, rows.lanes).filter(|_| at_once.is_none());
        let is_done = reduced.end == kernel.dims.len() && lanes > 1 && is_plain && is_better && has_room;
        (is_done && reduces_only(kernel)).then_some(Self {
            rows: dim,
            sums: rows.lanes,
            at_once,
            group,
            tall,
            columns,
            shows_runs: kernel.cost() <= LONG_RUNS_COST,
            apart,
        })
    }

    /// How many rows a unit of work has.
    pub(super) fn unit(&self) -> i64 {
        self.tall.min(ROWS_DOWN)
    }

    /// How many units a thread takes at once: the runs in which it reads columns are as long.
    pub(super) fn together(&self) -> i64 {
        if self.shows_runs { self.tall / self.unit() } else { 1 }
    }
}

/// The bytes that the accumulators of a root have for a row whose sums are computed in groups.
fn bytes(kernel: &Kernel, root: &Root, (sums, group): (usize, i64), numerics: Numerics) -> i64 {
    accumulator_bytes(kernel, root) * tiles(kernel, root, (sums, group), numerics)
}

/// How many tiles of accumulators a root has: for the groups that wait, and for those of the block at hand.
fn tiles(kernel: &Kernel, root: &Root, (sums, group): (usize, i64), numerics: Numerics) -> i64 {
    let has_blocks = order::is_summed_in_blocks(kernel, root, numerics, sums);
    group * (i64::from(sums.ilog2() - group.ilog2()) + 1 + i64::from(has_blocks))
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

    /// The roots that are reduced.
    pub(super) fn reductions(&self) -> Vec<usize> {
        let is_reduction = |root: &usize| self.kernel.roots[*root].role != Role::Store;
        (0..self.kernel.roots.len()).filter(is_reduction).collect()
    }

    /// A tile of rows.
    pub(super) fn rows_down(&mut self, down: &Down, rows: Bounds) {
        let (kernel, reduced) = (self.kernel, self.kernel.reduced());
        let reductions = self.reductions();
        let last = reductions.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        let tile = match down.apart {
            Some(apart) => self.kept_tile((down, apart), rows),
            None => self.tile_with_rooms(down, &reductions, rows),
        };
        self.tile = Some(tile.first);
        for stage in 0..=last {
            self.stage = stage;
            let roots: Vec<usize> =
                reductions.iter().copied().filter(|root| self.stage(*root) == stage).collect();
            let deeper = reduced.clone().fold(1 << down.rows, |all, dim| all | 1 << dim);
            self.hoist(deeper, stage);
            // Later stages use what the rows were reduced to.
            let tile = TileDown { run: if stage == 0 { tile.run } else { OneRun::Never }, ..tile };
            match down.apart {
                Some(_) => self.join_sums((down, down.sums as i64), &roots, tile),
                None => self.sums_in_pairs(down, &roots, tile),
            }
            if roots.first().is_some_and(|root| self.copies(*root) == 2) {
                let group = self.sums_beside(1);
                let rest = Columns { lane: None, next: None, apart: 1, at_once: 1, group };
                // Those of the second tile were joined with those of the first.
                let one = self.code.index(1);
                let (last, first) = (self.further(tile, tile.first, one), tile.first);
                self.sum_of_columns(down, &roots, (last, tile), rest);
                self.join_tiles(down, &roots, (first, last), tile);
            }
        }
        self.stage = usize::MAX;
        self.hoist(1 << down.rows, usize::MAX);
        self.innermost(down.rows, rows, &[], &mut |emitter, lanes, _| {
            for root in 0..kernel.roots.len() {
                if reductions.contains(&root) {
                    let value = emitter.column_result(root, tile.first, lanes);
                    emitter.store_result(root, value, lanes);
                } else {
                    emitter.store_root(root, lanes);
                }
            }
            Vec::new()
        });
    }

    /// A tile of rows, with accumulators for as many tiles as are needed. Of a group they follow each other: there is room for all rows.
    fn tile_with_rooms(&mut self, down: &Down, reductions: &[usize], rows: Bounds) -> TileDown {
        let (kernel, numerics, lanes) = (self.kernel, self.setting.numerics, self.lanes as i64);
        let all = kernel.dims[down.rows].fixed().filter(|_| down.group > 1);
        // Behind the accumulators of a sum is room for a vector, or the next ones are, and for two behind all.
        let (stride, behind) = all.map_or((down.tall + lanes, 0), |all| (all, 2 * lanes));
        for root in reductions {
            if self.columns[*root].is_empty() {
                let tiles = tiles(kernel, &kernel.roots[*root], (down.sums, down.group), numerics);
                let parts = self.accumulator(*root);
                let count = tiles * stride + behind;
                self.columns[*root] = parts.into_iter().map(|ty| (self.room(ty, count), ty)).collect();
            }
        }
        let zero = self.code.index(0);
        let most = all.map_or(down.tall, |all| all * down.group);
        let tile = self.tile_down((down.rows, rows), (most, stride), (zero, 1));
        let Some(all) = all else { return tile };
        let run = self.one_run(down);
        TileDown { is_dense: true, run: self.of_all_rows(run, (down, all), rows), ..tile }
    }

    /// The same if a tile has all rows, of which there are so many; parts of columns are no run.
    fn of_all_rows(&mut self, run: OneRun, (down, all): (&Down, i64), (from, to): Bounds) -> OneRun {
        if all <= down.unit() {
            return run;
        }
        let (all, own) = (self.code.index(all), self.code.int("llvm.sub", to, from));
        let has_all = self.code.compare(Predicate::Eq, own, all);
        match run {
            OneRun::Never => OneRun::Never,
            OneRun::Always => OneRun::If(has_all),
            OneRun::If(condition) => {
                let bits = self.code.types.scalar(Ty::I1);
                OneRun::If(self.code.value("llvm.and", &[condition, has_all], bits, &[]))
            }
        }
    }

    /// The sums of the rows, group by group, halved: one is left, in the first tile of accumulators.
    fn sums_in_pairs(&mut self, down: &Down, roots: &[usize], tile: TileDown) {
        let (zero, one, r#type) = (self.code.index(0), self.code.index(1), self.code.types.i64);
        let (apart, group) = (down.sums as i64, self.sums_beside(down.group));
        let columns = Columns { lane: Some(zero), next: None, apart, at_once: down.columns, group };
        let groups = apart / group.most;
        if groups == 1 {
            self.sum_of_columns(down, roots, (tile.first, tile), columns);
            return self.join_sums((down, group.most), roots, tile);
        }
        let (count, beside) = (self.code.index(groups), group.count);
        let sums = self.code.open((zero, count, 1), &[]);
        self.frames.push(Scope::default());
        let unused = self.code.index(64 - i64::from(groups.ilog2()));
        let after = self.code.int("llvm.add", sums.index, one);
        let [lane, next] = [sums.index, after].map(|sum| {
            let reversed = self.code.value("llvm.intr.bitreverse", &[sum], r#type, &[]);
            let number = self.code.int("llvm.lshr", reversed, unused);
            self.code.int("llvm.mul", number, beside)
        });
        let depth = self.code.value("llvm.intr.ctpop", &[sums.index], r#type, &[]);
        let from = self.deeper((tile, group), tile.first, depth);
        self.sum_of_columns(
            down,
            roots,
            (from, tile),
            Columns { lane: Some(lane), next: Some(next), ..columns },
        );
        // As many pairs are whole as ones end the number.
        let all = self.code.index(-1);
        let zeros = self.code.int("llvm.xor", sums.index, all);
        let is_poison = [("is_zero_poison", self.code.types.parse("false"))];
        let pairs = self.code.value("llvm.intr.cttz", &[zeros], r#type, &is_poison);
        let joins = self.code.open((zero, pairs, 1), &[]);
        self.frames.push(Scope::default());
        let second = self.code.int("llvm.sub", depth, joins.index);
        let first = self.code.int("llvm.sub", second, one);
        let places = [first, second].map(|depth| self.deeper((tile, group), tile.first, depth));
        self.each_tile((tile, group), &mut |emitter, number, tile| {
            let [first, second] = places.map(|from| emitter.further(tile, from, number));
            emitter.join_tiles(down, roots, (first, second), tile);
        });
        self.frames.pop();
        self.code.close(&joins, &[]);
        self.frames.pop();
        self.code.close(&sums, &[]);
        self.join_sums((down, group.most), roots, tile);
    }

    /// Halves as many sums beside each other until one is left.
    pub(super) fn join_sums(&mut self, (down, sums): (&Down, i64), roots: &[usize], tile: TileDown) {
        let mut left = sums;
        while left > 1 {
            left /= 2;
            let (group, half) = (self.sums_beside(left), self.code.index(left));
            self.each_tile((tile, group), &mut |emitter, number, tile| {
                let second = emitter.code.int("llvm.add", number, half);
                let places = [number, second].map(|number| emitter.further(tile, tile.first, number));
                emitter.join_tiles(down, roots, places.into(), tile);
            });
        }
    }

    /// The first row, counted from which accumulators are so many groups of tiles further on.
    fn deeper(&mut self, (tile, group): (TileDown, Group), from: MlirValue, depth: MlirValue) -> MlirValue {
        let group = self.code.index(group.most);
        let tiles = self.code.int("llvm.mul", depth, group);
        self.further(tile, from, tiles)
    }
}
