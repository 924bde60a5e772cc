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

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Kernel, Role, Root};
use promote_lower::order::{self, BLOCK, Rows};

use super::halved::{at_once, passes};
use super::lines::TileDown;
use super::roots::accumulator_bytes;
use super::squares::{Bounds, reduces_only};
use super::{KernelEmitter, NextRow, Scope};
use crate::targets::cpu::costs::{
    COLUMNS_DOWN, COLUMNS_DOWN_COST, GROUPS_DOWN, LONG_RUNS_COST, MOST_ROWS_DOWN, ROWS_DOWN, ROWS_DOWN_BYTES,
};
use crate::targets::llvm::Level;

/// How rows are reduced down their columns.
#[derive(Clone, Debug)]
pub(super) struct Down {
    /// The dimension of the rows.
    pub(super) rows: usize,
    /// How many sums a row has.
    pub(super) sums: usize,
    /// How many columns there are, if all are read at once.
    pub(super) at_once: Option<usize>,
    /// How many neighbouring sums are computed at a time.
    group: i64,
    /// How many rows have accumulators for each of them.
    pub(super) tall: i64,
    /// How many columns are added to them at once.
    columns: i64,
    /// Whether so little is done that how long the runs are in which columns are read shows.
    shows_runs: bool,
}

/// The accumulators of a root, and the first row of the tile that they are of.
type Place = (usize, MlirValue);

/// Columns of a block: from one on, so many apart, so many at once, and those of as many sums beside it.
#[derive(Clone, Copy)]
struct Columns {
    /// The first one of a block, if not what fills no vector.
    lane: Option<MlirValue>,
    /// The first one of a block that is read after these.
    next: Option<MlirValue>,
    apart: i64,
    at_once: i64,
    group: i64,
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
            (ROWS_DOWN_BYTES / all.max(1)).clamp(1, MOST_ROWS_DOWN)
        };
        let at_once = at_once(kernel, numerics, rows.lanes);
        let all = kernel.dims[dim].fixed().unwrap_or(i64::MAX);
        // All rows, in whole vectors, and in whole units if they are several.
        let whole = if all > ROWS_DOWN { ROWS_DOWN } else { lanes.max(1) as i64 };
        let room = all.saturating_add(whole - 1) / whole * whole;
        let has_all = |group: &i64| *group <= rows.lanes as i64 && room <= tall(*group);
        let group = GROUPS_DOWN.into_iter().find(has_all).unwrap_or(1);
        let waiting = |columns: usize| {
            let bytes: i64 = kernel.roots.iter().map(|root| accumulator_bytes(kernel, root)).sum();
            bytes * i64::from(passes(columns, rows.lanes).ilog2())
        };
        let tall = match at_once {
            Some(columns) => (ROWS_DOWN_BYTES / waiting(columns).max(1)).clamp(1, MOST_ROWS_DOWN),
            None => tall(group),
        };
        let tall = if room <= tall { room } else { 1 << tall.ilog2() };
        let has_room = tall >= lanes as i64;
        let columns = (COLUMNS_DOWN_COST / i64::from(kernel.cost().max(1))).clamp(1, COLUMNS_DOWN);
        let of_sum = kernel.length().fixed().map_or(COLUMNS_DOWN, |all| all / rows.lanes.max(1) as i64);
        let columns = columns.min(of_sum.max(1));
        let is_done = reduced.end == kernel.dims.len() && lanes > 1 && is_plain && is_better && has_room;
        (is_done && reduces_only(kernel)).then_some(Self {
            rows: dim,
            sums: rows.lanes,
            at_once,
            group,
            tall,
            columns,
            shows_runs: kernel.cost() <= LONG_RUNS_COST,
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

    /// A tile of rows.
    pub(super) fn rows_down(&mut self, down: &Down, rows: Bounds) {
        let (kernel, reduced, numerics) = (self.kernel, self.kernel.reduced(), self.setting.numerics);
        let is_reduction = |root: &usize| kernel.roots[*root].role != Role::Store;
        let reductions: Vec<usize> = (0..kernel.roots.len()).filter(is_reduction).collect();
        let last = reductions.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        for root in &reductions {
            if self.columns[*root].is_empty() {
                let tiles = tiles(kernel, &kernel.roots[*root], (down.sums, down.group), numerics);
                let count = tiles * self.accumulators_of_tile(down);
                let parts = self.accumulator(*root);
                self.columns[*root] = parts.into_iter().map(|ty| (self.room(ty, count), ty)).collect();
            }
        }
        let tile = self.tile_down(down, rows);
        self.tile = Some(tile.first);
        for stage in 0..=last {
            self.stage = stage;
            let roots: Vec<usize> =
                reductions.iter().copied().filter(|root| self.stage(*root) == stage).collect();
            let deeper = reduced.clone().fold(1 << down.rows, |all, dim| all | 1 << dim);
            self.hoist(deeper, stage);
            self.sums_in_pairs(down, &roots, tile);
            if roots.first().is_some_and(|root| self.copies(*root) == 2) {
                let rest = Columns { lane: None, next: None, apart: 1, at_once: 1, group: 1 };
                // Those of the second tile were joined with those of the first.
                let one = self.code.index(1);
                let (last, first) = (self.further(down, tile.first, one), tile.first);
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

    /// The sums of the rows, group by group, halved: one is left, in the first tile of accumulators.
    fn sums_in_pairs(&mut self, down: &Down, roots: &[usize], tile: TileDown) {
        let (zero, one, r#type) = (self.code.index(0), self.code.index(1), self.code.types.i64);
        let (apart, group) = (down.sums as i64, down.group);
        let columns = Columns { lane: Some(zero), next: None, apart, at_once: down.columns, group };
        let groups = apart / group;
        if groups == 1 {
            self.sum_of_columns(down, roots, (tile.first, tile), columns);
            return self.join_group(down, roots, tile);
        }
        let (count, beside) = (self.code.index(groups), self.code.index(group));
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
        let from = self.deeper(down, tile.first, depth);
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
        let places = [first, second].map(|depth| self.deeper(down, tile.first, depth));
        self.each_beside(group, &mut |emitter, number| {
            let [first, second] = places.map(|from| emitter.further(down, from, number));
            emitter.join_tiles(down, roots, (first, second), tile);
        });
        self.frames.pop();
        self.code.close(&joins, &[]);
        self.frames.pop();
        self.code.close(&sums, &[]);
        self.join_group(down, roots, tile);
    }

    /// Halves the sums of a group until one is left.
    fn join_group(&mut self, down: &Down, roots: &[usize], tile: TileDown) {
        let mut left = down.group;
        while left > 1 {
            left /= 2;
            let half = self.code.index(left);
            self.each_beside(left, &mut |emitter, number| {
                let second = emitter.code.int("llvm.add", number, half);
                let places = [number, second].map(|number| emitter.further(down, tile.first, number));
                emitter.join_tiles(down, roots, places.into(), tile);
            });
        }
    }

    /// Does something for each of so many sums that lie beside each other.
    fn each_beside(&mut self, group: i64, body: &mut dyn FnMut(&mut Self, MlirValue)) {
        let (zero, count) = (self.code.index(0), self.code.index(group));
        if group == 1 {
            return body(self, zero);
        }
        let beside = self.code.open((zero, count, 1), &[]);
        self.frames.push(Scope::default());
        body(self, beside.index);
        self.frames.pop();
        self.code.close(&beside, &[]);
    }

    /// The first row, counted from which accumulators are so many groups of tiles further on.
    fn deeper(&mut self, down: &Down, from: MlirValue, depth: MlirValue) -> MlirValue {
        let group = self.code.index(down.group);
        let tiles = self.code.int("llvm.mul", depth, group);
        self.further(down, from, tiles)
    }

    const fn accumulators_of_tile(&self, down: &Down) -> i64 {
        down.tall + self.lanes as i64
    }

    /// The first row, counted from which accumulators are so many tiles further on.
    fn further(&mut self, down: &Down, from: MlirValue, tiles: MlirValue) -> MlirValue {
        let size = self.code.index(self.accumulators_of_tile(down));
        let ahead = self.code.int("llvm.mul", tiles, size);
        self.code.int("llvm.sub", from, ahead)
    }

    /// Joins the accumulators of a tile with those of another.
    fn join_tiles(&mut self, down: &Down, roots: &[usize], (first, second): Bounds, tile: TileDown) {
        self.innermost(down.rows, tile.rows, &[], &mut |emitter, lanes, _| {
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

    /// Sets the accumulators of a group of sums to what they begin with.
    fn begin_columns(&mut self, down: &Down, places: &[Place], tile: TileDown, group: i64) {
        self.each_beside(group, &mut |emitter, number| {
            let places = emitter.places_beside(down, places, number);
            emitter.innermost(down.rows, tile.rows, &[], &mut |emitter, lanes, _| {
                for (root, from) in &places {
                    let start = emitter.identity(*root, lanes);
                    emitter.put_column(*root, &start, *from, lanes);
                }
                Vec::new()
            });
        });
    }

    /// A group of the sums of each row of a tile, in the accumulators from `from` on.
    fn sum_of_columns(
        &mut self,
        down: &Down,
        roots: &[usize],
        (from, tile): (MlirValue, TileDown),
        columns: Columns,
    ) {
        let (reduced, stage, group) = (self.kernel.reduced(), self.stage, columns.group);
        let last = reduced.end - 1;
        let whole: Vec<Place> = roots.iter().map(|root| (*root, from)).collect();
        self.begin_columns(down, &whole, tile, group);
        let (summed, others): (Vec<Place>, Vec<Place>) =
            whole.iter().partition(|(root, _)| self.is_summed_in_blocks(*root));
        let outer = if self.kernel.as_one { last..last } else { reduced.start..last };
        self.enclose(outer, stage, &[], &mut |emitter, _| {
            let bounds = emitter.columns_bounds(down, stage);
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
            emitter.begin_columns(down, &of_block, tile, group);
            emitter.columns_of_block(down, &all, ((blocks.index, end), tile), columns);
            emitter.each_beside(group, &mut |emitter, number| {
                let [first, second] = [from, own].map(|from| emitter.further(down, from, number));
                emitter.join_tiles(down, &summed, (first, second), tile);
            });
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
        ((from, to), tile): (Bounds, TileDown),
        Columns { lane, next, apart, at_once, group }: Columns,
    ) {
        let dim = self.kernel.reduced().end - 1;
        let middle = self.last_whole((from, to), down.sums as i64);
        let (first, end) = match lane {
            None => (middle, to),
            Some(lane) => {
                let first = self.code.int("llvm.add", from, lane);
                (first, if self.has_masks { to } else { middle })
            }
        };
        // The columns of a group as far as the last of its sums has some.
        let others = self.code.index((at_once - 1) * apart + group - 1);
        let last = self.code.int("llvm.sub", end, others);
        let further = self.code.index(at_once * apart);
        let next_group = self.code.index(at_once * apart + 1 - group);
        let step = (at_once * apart) as usize;
        let first = self.repeat(dim, (first, last), step, &[first], &mut |emitter, _| {
            let column = emitter.at(dim);
            emitter.each_beside(group, &mut |emitter, number| {
                let own = emitter.code.int("llvm.add", column, number);
                let next = match group {
                    1 => emitter.next_column(further, (from, end), next),
                    _ => emitter.next_beside(number, (group, next_group)),
                };
                let places = emitter.places_beside(down, places, number);
                emitter.index[dim] = Some(own);
                emitter.accumulate_columns(down, &places, tile, (apart, at_once, next));
            });
            emitter.index[dim] = Some(column);
            vec![emitter.code.int("llvm.add", column, further)]
        })[0];
        if at_once == 1 && group == 1 {
            return;
        }
        let apart_value = self.code.index(apart);
        self.each_beside(group, &mut |emitter, number| {
            let first = emitter.code.int("llvm.add", first, number);
            let places = emitter.places_beside(down, places, number);
            emitter.repeat(dim, (first, end), apart as usize, &[], &mut |emitter, _| {
                let next = emitter.next_column(apart_value, (from, end), next);
                emitter.accumulate_columns(down, &places, tile, (apart, 1, next));
                Vec::new()
            });
        });
    }

    /// The accumulators of the sum of that number in a group.
    fn places_beside(&mut self, down: &Down, places: &[Place], number: MlirValue) -> Vec<Place> {
        places.iter().map(|(root, from)| (*root, self.further(down, *from, number))).collect()
    }

    /// Adds some columns to accumulators, one after another; `next` columns further on are those that are read after them.
    fn accumulate_columns(
        &mut self,
        down: &Down,
        places: &[Place],
        tile: TileDown,
        (apart, at_once, next): (i64, i64, MlirValue),
    ) {
        let (dim, stage, rows) = (self.kernel.reduced().end - 1, self.stage, 1 << down.rows);
        let reduced = self.kernel.reduced().fold(0, |all, dim| all | 1 << dim);
        let (first, outside) = (self.at(dim), self.index.clone());
        // What is the same for all rows is computed once for each column.
        let columns: Vec<_> = (0..at_once)
            .map(|number| {
                let ahead = self.code.index(number * apart);
                let column = self.code.int("llvm.add", first, ahead);
                self.go_to_column(column);
                let ahead = self.columns_ahead(column, next);
                self.frames.push(Scope::default());
                self.hoist(rows, stage);
                (self.index.clone(), ahead, self.frames.pop().unwrap_or_default())
            })
            .collect();
        // Few columns are read one by one.
        let tile = TileDown { line: tile.line.filter(|_| at_once > 1), ..tile };
        self.rows_in_lines(down.rows, tile, &mut |emitter, lanes| {
            emitter.share(reduced, stage, lanes);
            let mut all: Vec<Vec<MlirValue>> =
                places.iter().map(|(root, from)| emitter.column(*root, *from, lanes)).collect();
            let row = emitter.index[down.rows];
            for (indices, ahead, scope) in &columns {
                emitter.index.clone_from(indices);
                emitter.index[down.rows] = row;
                // Processors do not see where one column follows another, far from it: it is read from where it was brought to.
                let level = match at_once {
                    1 => Some(emitter.setting.machine.level_ahead()),
                    _ => (!emitter.runs_ahead()).then_some(Level::Second),
                };
                emitter.next_row = level.map(|level| NextRow { ahead: ahead.clone(), level });
                emitter.frames.push(scope.clone());
                for ((root, _), own) in places.iter().zip(&mut all) {
                    let new = emitter.accumulate(*root, own, lanes);
                    *own = emitter.masked(new, own);
                }
                emitter.frames.pop();
            }
            for ((root, from), own) in places.iter().zip(&all) {
                emitter.put_column(*root, own, *from, lanes);
            }
        });
        self.next_row = None;
        self.index = outside;
    }
}
