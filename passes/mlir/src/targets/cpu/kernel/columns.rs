//! Columns: vectors of as many columns as they have lanes, whose accumulators lie in memory, and rows one after the other, or some at
//! once.
//!
//! ## Laws
//! - The elements of a column are combined one after the other; those of [sums](promote_lower::order::is_summed_in_fours) four at a
//!   time, from the first row of a block on: each four is begun with its first element, and added to the accumulator.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_lower::kernel::{Code as What, Role};
use promote_lower::order::{BLOCK, FOUR};
use rustc_hash::FxHashMap;

use super::KernelEmitter;
use super::lengthwise::Rooms;
use super::prefetch::loaded_bytes;
use super::roots::accumulator_bytes;
use super::squares::Bounds;
use crate::targets::cpu::costs::{
    CACHED_ROWS, CHEAP_ROW, FOLLOWED, FOLLOWED_IF_HEAVY, IN_ORDER, LONG_ROW, MOST_AT_ONCE, NARROW_ROW,
};
use crate::targets::llvm::{Predicate, Register};

/// Which rows are added to accumulators.
#[derive(Clone, Copy)]
enum Rows {
    /// As many as a four has.
    AtOnce,
    /// The first one of a four.
    First,
    /// One more of a four.
    Next,
    /// The last one of a four.
    Last,
}

impl Rows {
    const fn count(self) -> i64 {
        match self {
            Self::AtOnce => FOUR,
            Self::First | Self::Next | Self::Last => 1,
        }
    }
}

/// Which rows of a block are added one by one; those before them are added four at once.
#[derive(Clone, Copy)]
enum OneByOne {
    All,
    /// From this row on: a run decides whether these are all rows or those that fill no four.
    From(MlirValue),
    /// Those from this row on, which fill no four.
    Rest(MlirValue),
}

/// How some rows are added to an accumulator.
struct Sums {
    root: usize,
    /// What they are added to; none if they are a four of their own.
    begin: Option<Rooms>,
    /// What that is added to then.
    before: Option<Rooms>,
    /// Where the sum is put.
    result: Rooms,
}

impl KernelEmitter<'_> {
    pub(super) fn columns(&mut self, tile: Option<(MlirValue, MlirValue)>) {
        let kernel = self.kernel;
        let Some((from, to)) = tile else { unreachable!("columns have a last dimension") };
        self.tile = Some(from);
        let dim = kernel.dims.len() - 1;
        let reduced = kernel.reduced();
        let is_reduction = |root: &usize| kernel.roots[*root].role != Role::Store;
        let reductions: Vec<usize> = (0..kernel.roots.len()).filter(is_reduction).collect();
        let last = reductions.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        for root in &reductions {
            if self.columns[*root].is_empty() {
                self.columns[*root] = self.column_room(*root);
                if self.is_summed_in_blocks(*root) {
                    self.sums_before[*root] = self.column_room(*root);
                }
                if self.is_summed_in_fours(*root) {
                    self.fours[*root] = self.column_room(*root);
                }
            }
        }
        for stage in 0..=last {
            let roots: Vec<usize> =
                reductions.iter().copied().filter(|root| self.stage(*root) == stage).collect();
            self.innermost(dim, (from, to), &[], &mut |emitter, lanes, _| {
                for root in &roots {
                    let start = emitter.start_in(*root, lanes);
                    let nothing = emitter.identity(*root, lanes);
                    let has_blocks = !emitter.sums_before[*root].is_empty();
                    emitter.put_column(*root, if has_blocks { &nothing } else { &start }, from, lanes);
                    emitter.put_sums_before(*root, &start, from, lanes);
                }
                Vec::new()
            });
            let innermost = reduced.end - 1;
            self.enclose(reduced.start..innermost, stage, &[], &mut |emitter, _| {
                emitter.hoist(3 << innermost, stage);
                emitter.blocks_of_rows(innermost, &roots, (from, to), &mut |emitter, rows| {
                    // What depends on the row alone differs from one to the next: it is computed with each of several.
                    if rows.count() == 1 {
                        emitter.hoist(1 << dim, stage);
                    }
                    let ahead = emitter.ahead_of_columns((innermost, rows.count()), (from, to));
                    let sums: Vec<Sums> = roots.iter().map(|root| emitter.sums_of(*root, rows)).collect();
                    emitter.innermost(dim, (from, to), &[], &mut |emitter, lanes, _| {
                        emitter.next_row = ahead.map(|ahead| emitter.next_columns((innermost, dim), ahead));
                        emitter.accumulate_rows(&sums, (innermost, rows.count()), from, lanes);
                        emitter.next_row = None;
                        Vec::new()
                    });
                });
                Vec::new()
            });
        }
        self.hoist(1 << dim, usize::MAX);
        self.innermost(dim, (from, to), &[], &mut |emitter, lanes, _| {
            for root in 0..kernel.roots.len() {
                if matches!(kernel.roots[root].role, Role::Scan(_)) {
                    // Each step was stored.
                } else if reductions.contains(&root) {
                    let value = emitter.column_result(root, from, lanes);
                    emitter.store_result(root, value, lanes);
                } else {
                    emitter.store_root(root, lanes);
                }
            }
            Vec::new()
        });
    }

    /// How rows are added to the accumulators of a root, or to the fours at hand.
    fn sums_of(&self, root: usize, rows: Rows) -> Sums {
        let (columns, four) = (|| self.columns[root].clone(), || self.fours[root].clone());
        if !self.is_summed_in_fours(root) {
            return Sums { root, begin: Some(columns()), before: None, result: columns() };
        }
        let begin = match rows {
            Rows::AtOnce | Rows::First => None,
            Rows::Next | Rows::Last => Some(four()),
        };
        match rows {
            Rows::First | Rows::Next => Sums { root, begin, before: None, result: four() },
            Rows::AtOnce | Rows::Last => Sums { root, begin, before: Some(columns()), result: columns() },
        }
    }

    /// Adds some rows to the accumulators of columns, one after another.
    fn accumulate_rows(&mut self, all: &[Sums], (dim, rows): (usize, i64), from: MlirValue, lanes: usize) {
        let get = |emitter: &mut Self, rooms: &Rooms| -> Vec<MlirValue> {
            rooms.iter().map(|room| emitter.get(*room, from, lanes).value).collect()
        };
        let begin = |sums: &Sums| sums.begin.as_ref().map(|rooms| get(self, rooms));
        let mut sums: Vec<Option<Vec<MlirValue>>> = all.iter().map(begin).collect();
        let first = self.index[dim];
        for row in 0..rows {
            let ahead = self.code.index(row);
            self.index[dim] = first.map(|first| self.code.int("llvm.add", first, ahead));
            self.frames.push(FxHashMap::default());
            for (Sums { root, .. }, sum) in all.iter().zip(&mut sums) {
                *sum = Some(self.added(*root, sum.as_deref(), lanes));
            }
            self.frames.pop();
        }
        self.index[dim] = first;
        for (Sums { root, before, result, .. }, mut sum) in all.iter().zip(sums.into_iter().flatten()) {
            if let Some(before) = before {
                let before = get(self, before);
                sum = self.with_sum(*root, (&before, &sum), lanes);
            }
            for (room, value) in result.iter().zip(sum) {
                self.put(*room, Register { value, ty: room.1 }, from, lanes);
            }
        }
    }

    /// Whether four rows are added to columns at once, if that takes few instructions: of long ones, which push the accumulators out of the
    /// first-level cache, and of narrow ones that fill no whole registers, whose accumulators are waited for; also of others whose sums are
    /// those of fours, which need no accumulators of their own then. A run may find them [one by one](Self::rows_one_by_one) faster.
    fn takes_rows_at_once(&self, roots: &[usize]) -> bool {
        let bytes: i64 = roots.iter().map(|root| self.accumulator_bytes(*root)).sum();
        let is_reduced =
            |root: &usize| matches!(self.kernel.roots[*root].role, Role::Reduce(_) | Role::Arg(_));
        let register = self.setting.machine.vector_bytes as i64;
        let are_fours = roots.iter().any(|root| self.is_summed_in_fours(*root));
        let least = if are_fours { NARROW_ROW } else { LONG_ROW };
        let is_worth_it = match self.column_count() {
            Some(columns) => {
                let row = columns.saturating_mul(bytes);
                row >= least || row < NARROW_ROW && row % register != 0
            }
            None => are_fours && self.reads_rows(),
        };
        roots.len() <= MOST_AT_ONCE
            && roots.iter().all(is_reduced)
            && is_worth_it
            && self.kernel.cost() <= CHEAP_ROW
    }

    /// Whether what is read of a row lies side by side.
    fn reads_rows(&self) -> bool {
        let last = self.kernel.dims.len() - 1;
        let is_near = |strides: &Vec<Product>| matches!(strides[last].fixed(), Some(0 | 1));
        self.kernel.exprs.iter().all(|expr| expr.code.strides().is_none_or(is_near))
    }

    /// How many columns there are, unless a run alone knows.
    fn column_count(&self) -> Option<i64> {
        self.kernel.dims.last().and_then(Product::fixed)
    }

    fn accumulator_bytes(&self, root: usize) -> i64 {
        accumulator_bytes(self.kernel, &self.kernel.roots[root])
    }

    /// Which rows of a block are added one by one. That may be faster where they could be added four at once: where they are short and
    /// without gaps, and so many that they are in no cache.
    fn rows_one_by_one(&mut self, (rows, roots): (usize, &[usize]), (from, to): Bounds) -> OneByOne {
        if !self.takes_rows_at_once(roots) {
            return OneByOne::All;
        }
        const { assert!(BLOCK % FOUR == 0) };
        let middle = self.last_whole((from, to), FOUR);
        let kernel = self.kernel;
        let loads = kernel.exprs.iter().filter_map(|expr| {
            let What::Load(access) = &expr.code else { return None };
            Some((loaded_bytes(expr), access))
        });
        let Some((read, access)) = loads.max_by_key(|(bytes, _)| *bytes) else {
            return OneByOne::Rest(middle);
        };
        let is_light = roots.iter().all(|root| self.accumulator_bytes(*root) <= read);
        let most = if is_light { FOLLOWED } else { FOLLOWED_IF_HEAVY };
        let known = self.column_count();
        if known.is_some_and(|columns| !(IN_ORDER..most).contains(&columns.saturating_mul(read))) {
            return OneByOne::Rest(middle);
        }
        let (all, columns) = (self.index_count(), &kernel.dims[kernel.dims.len() - 1]);
        let [all, stride, columns] =
            [&all, &access.strides[rows], columns].map(|number| self.product(number));
        let [cached, least, most] =
            [CACHED_ROWS, IN_ORDER, most].map(|bytes| self.code.index((bytes + read - 1) / read));
        let mut at_once = vec![(Predicate::Sle, all, cached), (Predicate::Ne, stride, columns)];
        if known.is_none() {
            at_once.extend([(Predicate::Slt, columns, least), (Predicate::Sge, columns, most)]);
        }
        OneByOne::From(at_once.into_iter().fold(from, |first, (predicate, x, y)| {
            let is_faster = self.code.compare(predicate, x, y);
            self.code.select(is_faster, middle, first)
        }))
    }

    /// Goes through rows, some at once; after each block of them its sums are added to those of the rows before.
    fn blocks_of_rows(
        &mut self,
        rows: usize,
        roots: &[usize],
        columns: Bounds,
        body: &mut dyn FnMut(&mut Self, Rows),
    ) {
        let bounds = self.bounds(rows);
        let summed: Vec<usize> =
            roots.iter().copied().filter(|root| !self.sums_before[*root].is_empty()).collect();
        if summed.is_empty() {
            self.rows_of_block((rows, roots), (bounds, columns), body);
            return;
        }
        let dim = self.kernel.dims.len() - 1;
        self.in_pieces(bounds, BLOCK, &[], &mut |emitter, block, _| {
            emitter.rows_of_block((rows, roots), (block, columns), body);
            emitter.innermost(dim, columns, &[], &mut |emitter, lanes, _| {
                for root in &summed {
                    emitter.add_sums_of_block(*root, columns.0, lanes);
                }
                Vec::new()
            });
            Vec::new()
        });
    }

    /// Goes through rows of a tile of columns, some at once as far as they go, then one by one.
    fn rows_of_block(
        &mut self,
        (rows, roots): (usize, &[usize]),
        ((from, to), columns): (Bounds, Bounds),
        body: &mut dyn FnMut(&mut Self, Rows),
    ) {
        let mut each = |emitter: &mut Self, bounds: Bounds, which: Rows| {
            emitter.repeat(rows, bounds, which.count() as usize, &[], &mut |emitter, _| {
                body(emitter, which);
                Vec::new()
            });
        };
        let one_by_one = self.rows_one_by_one((rows, roots), (from, to));
        let middle = match one_by_one {
            OneByOne::All => from,
            OneByOne::From(middle) | OneByOne::Rest(middle) => {
                each(self, (from, middle), Rows::AtOnce);
                middle
            }
        };
        if !roots.iter().any(|root| self.is_summed_in_fours(*root)) {
            return each(self, (middle, to), Rows::Next);
        }
        // The first row of a four need not be added to nothing, nor the last one to a four in memory, which takes loops of their own.
        let has_fours = matches!(one_by_one, OneByOne::All | OneByOne::From(_));
        let has_ends = has_fours && self.kernel.cost() <= CHEAP_ROW && self.column_count().is_some();
        self.in_pieces((middle, to), FOUR, &[], &mut |emitter, (first, after), _| {
            if !has_ends {
                emitter.begin_fours(roots, columns);
                each(emitter, (first, after), Rows::Next);
                emitter.add_fours(roots, columns);
                return Vec::new();
            }
            let [second, fourth] = [1, FOUR - 1].map(|rows| {
                let ahead = emitter.code.index(rows);
                emitter.code.int("llvm.add", first, ahead)
            });
            let last = emitter.code.int("llvm.intr.smin", fourth, after);
            each(emitter, (first, second), Rows::First);
            each(emitter, (second, last), Rows::Next);
            each(emitter, (fourth, after), Rows::Last);
            // Of fewer rows, what they add up to is not added yet.
            let is_part = emitter.code.compare(Predicate::Sge, fourth, after);
            let done = emitter.code.new_block(&[]);
            emitter.branch_to(done, is_part, &mut |emitter| emitter.add_fours(roots, columns));
            emitter.code.branch(done, &[]);
            emitter.code.go_to(done);
            Vec::new()
        });
    }
}
