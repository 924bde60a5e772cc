//! Sums of the columns of a tile of rows, which lie [down](super::down) them: each column is read once, some at a time.

use mlir_sys::*;
use promote_lower::order::BLOCK;

use super::down::Down;
use super::squares::Bounds;
use super::tile_down::{Group, OneRun, TileDown};
use super::{KernelEmitter, NextRow, Scope};
use crate::targets::llvm::{Level, Predicate};

/// The accumulators of a root, and the first row of the tile that they are of.
type Place = (usize, MlirValue);

/// Columns of a block: from one on, so many apart, so many at once, and those of the sums of a group beside it.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    /// The first one of a block, if not what fills no vector.
    pub(super) lane: Option<MlirValue>,
    /// The first one of a block that is read after these.
    pub(super) next: Option<MlirValue>,
    pub(super) apart: i64,
    pub(super) at_once: i64,
    pub(super) group: Group,
}

impl KernelEmitter<'_> {
    /// Joins the accumulators of a tile with those of another.
    pub(super) fn join_tiles(
        &mut self,
        down: &Down,
        roots: &[usize],
        (first, second): Bounds,
        tile: TileDown,
    ) {
        self.innermost(down.rows, tile.rows, &[], &mut |emitter, lanes, _| {
            for root in roots {
                let [x, y] = [first, second].map(|from| {
                    let values = emitter.column(*root, from, lanes);
                    emitter.registers(*root, &values)
                });
                let joined = emitter.joined_accumulators(*root, lanes, &x, &y);
                let joined: Vec<MlirValue> = joined.into_iter().map(|register| register.value).collect();
                let own: Vec<MlirValue> = x.iter().map(|register| register.value).collect();
                let joined = emitter.masked(joined, &own);
                emitter.put_column(*root, &joined, first, lanes);
            }
            Vec::new()
        });
    }

    /// Sets the accumulators of a group of sums to what they begin with.
    fn begin_columns(&mut self, down: &Down, places: &[Place], tile: TileDown, group: Group) {
        self.each_tile((tile, group), &mut |emitter, number, tile| {
            let places = emitter.places_beside(tile, places, number);
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
    pub(super) fn sum_of_columns(
        &mut self,
        down: &Down,
        roots: &[usize],
        (from, tile): (MlirValue, TileDown),
        columns: Columns,
    ) {
        let (reduced, stage, group) = (self.kernel.reduced(), self.stage, columns.group);
        let last = reduced.end - 1;
        let whole: Vec<Place> = roots.iter().map(|root| (*root, from)).collect();
        let (summed, others): (Vec<Place>, Vec<Place>) =
            whole.iter().partition(|(root, _)| self.is_summed_in_blocks(*root));
        let outer = if self.kernel.as_one { last..last } else { reduced.start..last };
        // Where there is a first block.
        let has_elements = self.kernel.length().fixed().is_some_and(|length| length > 0);
        let begins_with_block = outer.is_empty() && has_elements && self.kernel.chunk.is_none();
        self.begin_columns(down, if begins_with_block { &others } else { &whole }, tile, group);
        self.enclose(outer, stage, &[], &mut |emitter, _| {
            let bounds = emitter.columns_bounds(down, stage);
            if summed.is_empty() {
                emitter.columns_of_block(down, &whole, (bounds, bounds, tile), columns);
                return Vec::new();
            }
            let after = emitter.further(tile, from, group.count);
            let summed: Vec<usize> = summed.iter().map(|(root, _)| *root).collect();
            let length = BLOCK * down.sums as i64;
            let blocks = emitter.code.open((bounds.0, bounds.1, length), &[]);
            emitter.frames.push(Scope::default());
            let length = emitter.code.index(length);
            let end = emitter.code.int("llvm.add", blocks.index, length);
            let end = emitter.code.int("llvm.intr.smin", end, bounds.1);
            // What all blocks add up to begins with the first one, which is joined with none.
            let is_first = emitter.code.compare(Predicate::Eq, blocks.index, bounds.0);
            let zero = emitter.code.index(0);
            let (own, joined) = match begins_with_block {
                true => {
                    let (first, last) = tile.rows;
                    (emitter.code.select(is_first, from, after), emitter.code.select(is_first, first, last))
                }
                false => (after, tile.rows.1),
            };
            let of_block: Vec<Place> = summed.iter().map(|root| (*root, own)).collect();
            let all = [of_block.as_slice(), &others].concat();
            emitter.begin_columns(down, &of_block, tile, group);
            emitter.columns_of_block(down, &all, ((blocks.index, end), bounds, tile), columns);
            let joined = TileDown { rows: (tile.rows.0, joined), ..tile };
            let group = match begins_with_block {
                true => Group { count: emitter.code.select(is_first, zero, group.count), ..group },
                false => group,
            };
            emitter.each_tile((joined, group), &mut |emitter, number, joined| {
                let [first, second] = [from, own].map(|from| emitter.further(tile, from, number));
                emitter.join_tiles(down, &summed, (first, second), joined);
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
        ((from, to), all, tile): (Bounds, Bounds, TileDown),
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
        let others = self.code.index((at_once - 1) * apart - 1);
        let last = self.code.int("llvm.sub", end, others);
        let last = self.code.int("llvm.sub", last, group.count);
        let (further, after) = (self.code.index(at_once * apart), self.code.index(at_once * apart + 1));
        let next_group = self.code.int("llvm.sub", after, group.count);
        let step = (at_once * apart) as usize;
        let first = self.repeat(dim, (first, last), step, &[first], &mut |emitter, _| {
            let column = emitter.at(dim);
            let following = emitter.code.int("llvm.add", column, further);
            let mut as_one = |emitter: &mut Self| {
                let tile = emitter.as_one_tile(tile, group);
                let next = emitter.next_column(further, all, next);
                emitter.accumulate_columns(down, places, tile, (apart, at_once, next));
            };
            let mut each = |emitter: &mut Self| {
                emitter.each_beside(group, &mut |emitter, number| {
                    let own = emitter.code.int("llvm.add", column, number);
                    let next = match group.most {
                        1 => emitter.next_column(further, all, next),
                        _ => emitter.next_beside(number, (group, next_group)),
                    };
                    let places = emitter.places_beside(tile, places, number);
                    emitter.index[dim] = Some(own);
                    emitter.accumulate_columns(down, &places, tile, (apart, at_once, next));
                });
                emitter.index[dim] = Some(column);
            };
            emitter.in_one_run((tile, group), &mut as_one, &mut each);
            vec![following]
        })[0];
        if at_once > 1 || group.most > 1 {
            let rest = Columns { lane: Some(first), next, apart, at_once: 1, group };
            self.rest_of_block(down, places, ((first, end), all, tile), rest);
        }
    }

    /// Adds the columns of a block that are left to accumulators, one after the other.
    fn rest_of_block(
        &mut self,
        down: &Down,
        places: &[Place],
        ((first, end), all, tile): (Bounds, Bounds, TileDown),
        Columns { next, apart, group, .. }: Columns,
    ) {
        let dim = self.kernel.reduced().end - 1;
        let further = self.code.index(apart);
        let mut as_one = |emitter: &mut Self| {
            emitter.repeat(dim, (first, end), apart as usize, &[], &mut |emitter, _| {
                let column = emitter.at(dim);
                let left = emitter.code.int("llvm.sub", end, column);
                let count = emitter.code.int("llvm.intr.smin", left, group.count);
                let tile = emitter.as_one_tile(tile, Group { count, ..group });
                let next = emitter.next_column(further, all, next);
                emitter.accumulate_columns(down, places, tile, (apart, 1, next));
                Vec::new()
            });
        };
        let mut each = |emitter: &mut Self| {
            emitter.each_beside(group, &mut |emitter, number| {
                let first = emitter.code.int("llvm.add", first, number);
                let places = emitter.places_beside(tile, places, number);
                emitter.repeat(dim, (first, end), apart as usize, &[], &mut |emitter, _| {
                    let next = emitter.next_column(further, all, next);
                    emitter.accumulate_columns(down, &places, tile, (apart, 1, next));
                    Vec::new()
                });
            });
        };
        self.in_one_run((tile, group), &mut as_one, &mut each);
    }

    /// Adds the columns of a group as one run of memory where they are that, else each by itself.
    fn in_one_run(
        &mut self,
        (tile, group): (TileDown, Group),
        as_one: &mut dyn FnMut(&mut Self),
        each: &mut dyn FnMut(&mut Self),
    ) {
        let scoped = |emitter: &mut Self, add: &mut dyn FnMut(&mut Self)| {
            emitter.frames.push(Scope::default());
            add(emitter);
            emitter.frames.pop();
        };
        match tile.run {
            OneRun::If(condition) if group.most > 1 => {
                let after = self.code.new_block(&[]);
                self.branch_to(after, condition, &mut |emitter| scoped(emitter, as_one));
                scoped(self, each);
                self.code.branch(after, &[]);
                self.code.go_to(after);
            }
            OneRun::Always if group.most > 1 => scoped(self, as_one),
            OneRun::If(_) | OneRun::Always | OneRun::Never => each(self),
        }
    }

    /// The accumulators of the sum of that number in a group.
    fn places_beside(&mut self, tile: TileDown, places: &[Place], number: MlirValue) -> Vec<Place> {
        places.iter().map(|(root, from)| (*root, self.further(tile, *from, number))).collect()
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
