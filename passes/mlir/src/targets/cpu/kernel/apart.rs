//! Few long rows that are reduced down their columns: their sums are computed apart from each other, and kept in memory until all are there.
//!
//! A column of few rows is a short run of memory, and shorter still for each of several threads that share the rows. So a unit of work
//! is a sum of all rows. Sums whose numbers follow each other are computed together, as many as the thread has and there is room for: their
//! columns often do so in memory, too. Where nothing is between them, they are read as one run, as if it were a single column. In a second
//! pass over the rows, their sums are halved, as those of [others](super::down) are.
//!
//! ## Laws
//! - All reductions are in the first stage.
//! - Sums have no line of the cache in common where they are kept: threads write them side by side.
//! - Where they are computed, the accumulators of a sum follow those of the one before without a gap, so that a run of columns has a run of them.
//!   A vector of the last rows of a sum, some of whose lanes are masked, has the first accumulators of the next one in those: it stores what it
//!   loaded of them. Sums of a group begin together. All sums of a group are of one thread, and there are two tiles for each, with room for
//!   a vector behind all of them.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Kernel, Role, Root};
use promote_lower::order::{self, MOST_LANES};
use promote_scalar::Ty;

use super::column_sums::Columns;
use super::down::Down;
use super::elements::memory_of;
use super::prefetch::loaded_bytes;
use super::roots::accumulator_bytes;
use super::squares::Bounds;
use super::tile_down::{Group, OneRun, TileDown};
use super::{KernelEmitter, Scope, Slot, Sums};
use crate::targets::cpu::costs::{
    BYTES_APART, CACHE_LINE, CACHED_ROWS, LEAST_FOR_KEPT, LEAST_SUMS_APART, MOST_OUTER, MOST_ROWS_DOWN,
};

/// How the sums of few long rows are computed apart from each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Apart {
    /// How many rows there are beside each other.
    rows: i64,
    /// How many such rows, one for each index of the other dimensions.
    outer: i64,
    /// How many sums a row has.
    sums: i64,
    /// How many of them are computed together, at most.
    most: i64,
}

impl Apart {
    /// How the sums of rows along a dimension are computed, if they are few, and much more is read than sums are kept.
    pub(super) fn new(kernel: &Kernel, numerics: Numerics, dim: usize, sums: usize) -> Option<Self> {
        let extent = |dim: usize| kernel.dims[dim].fixed();
        let rows = extent(dim).filter(|rows| (1..=MOST_ROWS_DOWN).contains(rows))?;
        let others = (0..kernel.reduced().start).filter(|other| *other != dim);
        let outer = others.map(extent).try_fold(1i64, |all, extent| all.checked_mul(extent?))?;
        let length = kernel.length().fixed()?;
        let widest = kernel.exprs.iter().map(loaded_bytes).max().unwrap_or(0);
        let read = [outer, length, widest].into_iter().try_fold(rows, i64::checked_mul)?;
        let reductions = || kernel.roots.iter().filter(|root| root.role != Role::Store);
        let bytes: i64 = reductions().map(|root| accumulator_bytes(kernel, root)).sum();
        let own = |root: &Root| {
            let has_blocks = order::is_summed_in_blocks(kernel, root, numerics, sums);
            accumulator_bytes(kernel, root) * (1 + i64::from(has_blocks))
        };
        let room = reductions().map(own).sum::<i64>() * rows;
        let (outer, sums) = (Some(outer).filter(|outer| *outer <= MOST_OUTER)?, sums as i64);
        let most = if are_near(kernel) { (BYTES_APART / room.max(1)).clamp(1, sums) } else { 1 };
        let apart = Self { rows, outer, sums, most };
        let kept = outer * apart.tiles() * apart.tile(MOST_LANES as usize) * bytes;
        let is_first = reductions().all(|root| kernel.expr(root.expr).stage == 0);
        let is_worth_it = read > CACHED_ROWS && kept * LEAST_FOR_KEPT <= read && sums >= LEAST_SUMS_APART;
        (is_worth_it && is_first && kernel.chunk.is_none() && room <= BYTES_APART).then_some(apart)
    }

    /// How many elements a tile of accumulators has, where sums are kept: whole lines, and what a vector that begins with the last row has.
    fn tile(&self, lanes: usize) -> i64 {
        let needed = (self.rows + lanes as i64) as u64;
        needed.next_multiple_of(CACHE_LINE as u64) as i64
    }

    /// How many tiles are kept for each index of the other dimensions. The second pass takes three, however few sums there are: without masks,
    /// the second one for the columns that fill no round of sums, and the third one for a block of those.
    fn tiles(&self) -> i64 {
        self.sums.max(3)
    }
}

/// Whether the columns of neighbouring sums may lie side by side: none is nearer to a column in memory than the next one is known to be.
fn are_near(kernel: &Kernel) -> bool {
    let (reduced, last) = (kernel.reduced(), kernel.reduced().end - 1);
    kernel.exprs.iter().filter_map(|expr| expr.code.access()).all(|access| {
        let distance =
            |dim: usize| access.strides[dim].fixed().map(i64::unsigned_abs).filter(|distance| *distance > 0);
        let others = (reduced.start..last).filter_map(distance);
        distance(last).is_none_or(|next| others.min().is_none_or(|nearest| next <= nearest))
    })
}

/// Where something of each root is, part by part, in bytes.
type Places = Vec<Vec<(i64, Ty)>>;

impl<'k> KernelEmitter<'k> {
    /// Compiles the first pass.
    pub(super) fn run_apart(mut self, down: &Down, apart: Apart, name: String) -> Sums {
        let start = self.begin();
        let units: Vec<usize> = self.units().0;
        self.hoist(u64::MAX, 0);
        let (begin, end) = (self.code.argument(1), self.code.argument(2));
        let sums_loop = self.code.open((begin, end, 1), &[]);
        self.frames.push(Scope::default());
        let all = self.code.index(apart.sums);
        let first = self.code.int("llvm.urem", sums_loop.index, all);
        let outer = self.code.int("llvm.udiv", sums_loop.index, all);
        self.decode(outer, &units, &[]);
        let outer = self.number_of_others(down);
        let left = self.code.int("llvm.sub", all, first);
        let taken = self.code.int("llvm.sub", end, sums_loop.index);
        let most = self.code.index(apart.most);
        let count = self.code.int("llvm.intr.smin", taken, left);
        let count = self.code.int("llvm.intr.smin", count, most);
        self.sums_apart((down, apart), (outer, first), Group { count, most: apart.most });
        self.frames.pop();
        self.code.close_by(&sums_loop, count, &[]);
        self.end(start);
        let kernel = self.kernel;
        let length = kernel.length().fixed().unwrap_or(1) / apart.sums;
        Sums {
            name,
            units: apart.outer * apart.sums,
            work: length.saturating_mul(apart.rows).max(1),
            grain: self.grain(),
            together: apart.most,
            bytes: self.rooms_of_sums(apart).1,
            slots: self.slots,
        }
    }

    /// Where the sums of each root are kept until the second pass, part by part, and behind them where some are computed, in two tiles each: in
    /// bytes from the first one; how many bytes all take.
    fn rooms_of_sums(&self, apart: Apart) -> ([Places; 2], i64) {
        let elements = apart.outer * apart.tiles() * apart.tile(self.lanes);
        let mut bytes = 0;
        let places = [1, 2].map(|tiles| {
            let mut place = |ty: Ty| {
                let place = bytes;
                bytes += tiles * elements * i64::from(ty.bits().div_ceil(8));
                (place, ty)
            };
            let roots = (0..self.kernel.roots.len()).map(|root| self.accumulator(root));
            roots.map(|parts| parts.into_iter().map(&mut place).collect()).collect()
        });
        (places, bytes)
    }

    /// The same as rooms, from a tile of so many elements on.
    fn rooms_from(&mut self, places: Places, (tile, size): (MlirValue, i64)) -> Vec<Vec<(MlirValue, Ty)>> {
        let (all, size) = (self.slot(Slot::Sums), self.code.index(size));
        let first = self.code.int("llvm.mul", tile, size);
        let mut room = |(place, ty): (i64, Ty)| {
            let place = self.code.index(place);
            let own = self.code.element(all, place, self.code.types.i8, 1);
            let unit = self.code.types.scalar(memory_of(ty));
            (self.code.element(own, first, unit, 1), ty)
        };
        places.into_iter().map(|parts| parts.into_iter().map(&mut room).collect()).collect()
    }

    /// Some neighbouring sums of all rows, from one on.
    fn sums_apart(
        &mut self,
        (down, apart): (&Down, Apart),
        (outer, first): (MlirValue, MlirValue),
        group: Group,
    ) {
        let (kernel, reduced) = (self.kernel, self.kernel.reduced());
        let roots = self.reductions();
        let ([kept, computed], _) = self.rooms_of_sums(apart);
        let (before, size) = (self.tiles_before(apart, outer), apart.tile(self.lanes));
        let own = self.code.int("llvm.add", before, first);
        let kept = self.rooms_from(kept, (before, size));
        self.columns = self.rooms_from(computed, (own, 2 * size));
        let (zero, rows) = (self.code.index(0), self.product(&kernel.dims[down.rows].clone()));
        let longest = apart.most * apart.rows;
        let tile = self.tile_down((down.rows, (zero, rows)), (longest, apart.rows), (first, apart.sums));
        let is_dense = group.most > 1;
        let run = if is_dense { self.one_run(down) } else { OneRun::Never };
        let tile = TileDown { is_dense, run, ..tile };
        self.tile = Some(tile.first);
        self.stage = 0;
        let deeper = reduced.fold(1 << down.rows, |all, dim| all | 1 << dim);
        self.hoist(deeper, 0);
        let next = self.code.int("llvm.add", first, group.count);
        let columns =
            Columns { lane: Some(first), next: Some(next), apart: apart.sums, at_once: down.columns, group };
        self.sum_of_columns(down, &roots, (tile.first, tile), columns);
        let size = self.code.index(size);
        self.each_beside(group, &mut |emitter, number| {
            let from = emitter.further(tile, tile.first, number);
            let sum = emitter.code.int("llvm.add", first, number);
            let ahead = emitter.code.int("llvm.mul", sum, size);
            let to = emitter.code.int("llvm.sub", zero, ahead);
            emitter.innermost(down.rows, tile.rows, &[], &mut |emitter, lanes, _| {
                for root in &roots {
                    let values = emitter.column(*root, from, lanes);
                    let values = emitter.registers(*root, &values);
                    for (room, value) in kept[*root].iter().zip(values) {
                        emitter.put(*room, value, to, lanes);
                    }
                }
                Vec::new()
            });
        });
    }

    /// The tile whose sums of all rows were kept in the first pass, and in whose first accumulators they are halved.
    pub(super) fn kept_tile(&mut self, (down, apart): (&Down, Apart), rows: Bounds) -> TileDown {
        let (zero, outer) = (self.code.index(0), self.number_of_others(down));
        let (before, size) = (self.tiles_before(apart, outer), apart.tile(self.lanes));
        let ([kept, _], _) = self.rooms_of_sums(apart);
        self.columns = self.rooms_from(kept, (before, size));
        TileDown::new(rows, zero, size)
    }

    /// The number of the indices of the dimensions beside the rows, in the order of the kernel's dimensions: units may be in another.
    fn number_of_others(&mut self, down: &Down) -> MlirValue {
        let mut number = self.code.index(0);
        for dim in (0..self.kernel.reduced().start).filter(|dim| *dim != down.rows) {
            let (extent, index) = (self.product(&self.kernel.dims[dim].clone()), self.at(dim));
            number = self.code.int("llvm.mul", number, extent);
            number = self.code.int("llvm.add", number, index);
        }
        number
    }

    /// How many tiles are kept for the indices of the other dimensions that come before one.
    fn tiles_before(&mut self, apart: Apart, outer: MlirValue) -> MlirValue {
        let tiles = self.code.index(apart.tiles());
        self.code.int("llvm.mul", outer, tiles)
    }
}
