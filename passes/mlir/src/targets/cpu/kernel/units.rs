//! How units of work are numbered, and how many elements are worth a thread.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_lower::kernel::{Code as What, Expr, Form, Role, Root};
use promote_lower::order::register_lanes;

use super::KernelEmitter;
use super::lengthwise::rows_of_unit;
use super::squares::{Bounds, reads};
use crate::targets::cpu::costs::{
    CHEAP_VECTOR, COLUMNS_OF_PARTS, GRAIN, LEAST_BY_STRIDES, LONG_LOOP, MAP_TILE, PARTS_BESIDE, ROWS_BESIDE,
    TRANSPOSED_TILE, VECTORS_GRAIN,
};
use crate::targets::llvm::Predicate;

/// How units follow each other.
pub(super) struct Run {
    /// The dimension whose next index the next unit is of, but for the last index.
    dim: usize,
    /// The dimensions that may have one tile, with its size: a run alone knows.
    open: Vec<(usize, i64)>,
}

impl KernelEmitter<'_> {
    /// The parallel dimensions, each index of which is a unit, and those that are cut into tiles, with their sizes.
    pub(super) fn units(&self) -> (Vec<usize>, Vec<(usize, i64)>) {
        let (rank, reduced) = (self.kernel.dims.len(), self.kernel.reduced());
        let parallel = (0..rank).filter(|dim| !reduced.contains(dim));
        let tiles = match (self.kernel.form, self.across) {
            (Form::Rows { .. }, _) => match (&self.beside, &self.down) {
                (Some(beside), _) => vec![(beside.rows, ROWS_BESIDE)],
                (None, Some(down)) => vec![(down.rows, down.unit())],
                (None, None) => {
                    self.grouped.map(|grouped| (grouped.rows, grouped.tile)).into_iter().collect()
                }
            },
            (Form::Map, _) if rank == 0 => Vec::new(),
            (Form::Map, _) if let Some(shuffled) = self.shuffled => vec![shuffled.tile()],
            (Form::Map, _) if self.short.is_some() => vec![(rank - 2, MAP_TILE / 4)],
            (Form::Map, Some(across)) => vec![(rank - 1, TRANSPOSED_TILE), (across, self.block_rows(across))],
            (Form::Map, None) if self.is_transposed() => vec![(rank - 1, TRANSPOSED_TILE)],
            (Form::Map, None) => vec![(rank - 1, MAP_TILE)],
            (Form::Columns { .. }, Some(_)) => match self.parts {
                Some(parts) => vec![(rank - 1, COLUMNS_OF_PARTS as i64), (parts.by(), PARTS_BESIDE)],
                None if self.lengthwise.is_some() => vec![(rank - 1, self.lanes.max(self.runs) as i64)],
                None => vec![(rank - 1, self.lanes as i64)],
            },
            (Form::Columns { .. }, None) => vec![(rank - 1, self.column_tile())],
        };
        let inside = match self.shuffled {
            Some(shuffled) => shuffled.inner,
            None if self.short.is_some() => rank - 1,
            None => rank,
        };
        let is_inside = |dim: &usize| *dim >= inside;
        let is_tiled = |dim: &usize| tiles.iter().any(|(tiled, _)| tiled == dim);
        let mut units: Vec<usize> = parallel.filter(|dim| !is_tiled(dim) && !is_inside(dim)).collect();
        // The parts of a row follow each other, as they do in memory, and so do those of columns that lie upright.
        let is_along = |dim: usize| dim + 1 == rank || self.is_upright(dim);
        let is_part =
            |dim: &usize| self.kernel.chunk.is_some_and(|chunk| is_along(chunk.dim) && chunk.by == *dim);
        units.sort_by_key(is_part);
        (units, tiles)
    }

    /// Whether columns lie along a dimension in memory, and are read so.
    fn is_upright(&self, dim: usize) -> bool {
        matches!(self.kernel.form, Form::Columns { .. }) && self.across == Some(dim)
    }

    /// Whether a map reads or writes along another dimension than the innermost one: it goes through all of one tile first.
    pub(super) fn is_transposed(&self) -> bool {
        let strides = self.kernel.exprs.iter().filter_map(|expr| {
            let What::Load(access) = &expr.code else { return None };
            Some(&access.strides)
        });
        let is_across = |strides: &Vec<Product>| {
            let [before @ .., last] = strides.as_slice() else { return false };
            last.fixed().is_none_or(|last| !(-1..=1).contains(&last))
                && before.iter().any(|stride| stride.fixed() == Some(1))
        };
        self.kernel.form == Form::Map && self.shuffled.is_none() && strides.into_iter().any(is_across)
    }

    /// Whether the tiles of the first dimension that is cut follow each other last.
    pub(super) fn has_outer_tiles(&self) -> bool {
        self.across.is_some() || self.is_transposed() || self.grouped.is_some()
    }

    pub(super) fn work(&self, units: &[usize], tiles: &[(usize, i64)]) -> Product {
        let inside = (0..self.kernel.dims.len()).filter(|dim| !units.contains(dim));
        inside.fold(Product::number(1), |all, dim| {
            let tile = tiles.iter().find(|(tiled, _)| *tiled == dim);
            match (tile, self.kernel.dims[dim].fixed()) {
                (Some((_, tile)), extent) => {
                    &all * &Product::number(extent.map_or(*tile, |extent| extent.min(*tile)))
                }
                (None, _) => &all * &self.kernel.dims[dim],
            }
        })
    }

    /// How many indices the kernel has: its parts go through the same ones as the dimension that is cut.
    pub(super) fn index_count(&self) -> Product {
        let kernel = self.kernel;
        let is_part = |dim: usize| kernel.chunk.is_some_and(|chunk| chunk.by == dim);
        let dims = kernel.dims.iter().enumerate().filter(|(dim, _)| !is_part(*dim));
        dims.fold(Product::number(1), |all, (_, extent)| &all * extent)
    }

    /// How many elements are worth a thread: the more, the faster they are gone through.
    pub(super) fn grain(&self) -> i64 {
        let kernel = self.kernel;
        let is_near = |stride: &Product| stride.fixed().is_some_and(|stride| (-1..=1).contains(&stride));
        let is_along = |expr: &Expr| match &expr.code {
            What::Load(access) => access.strides.last().is_some_and(is_near),
            What::Take { .. } => false,
            What::Splat(_) | What::Size(_) | What::Index { .. } => true,
            What::Map(..) | What::Convert(_) | What::Reduced(_) => true,
        };
        let is_plain = |root: &Root| match root.role {
            Role::Store | Role::Reduce(_) => true,
            Role::Scan(_) | Role::Arg(_) => false,
        };
        let is_long =
            kernel.dims.last().is_some_and(|last| last.fixed().is_some_and(|last| last >= LONG_LOOP));
        let others = [self.across.is_some(), self.beside.is_some(), self.down.is_some()];
        let is_fast = is_long
            && others == [false; 3]
            && kernel.exprs.iter().all(is_along)
            && kernel.roots.iter().all(is_plain);
        if !is_fast {
            return GRAIN;
        }
        let lanes = register_lanes(kernel, self.setting.machine.vector_bytes) as i64;
        (VECTORS_GRAIN * lanes / (1 + i64::from(kernel.cost()) / CHEAP_VECTOR)).max(GRAIN)
    }

    /// Sets the indices of a unit; the bounds of its tiles.
    ///
    /// Tiles of the innermost dimension follow each other, or, where elements are read across, the other indices of one: the
    /// lines of the cache that it reads of are all used before the next. So do the indices around rows that are reduced in groups. Of
    /// columns that lie upright, it is what lies nearer in memory.
    pub(super) fn decode(&mut self, unit: MlirValue, units: &[usize], tiles: &[(usize, i64)]) -> Vec<Bounds> {
        let mut rest = unit;
        let mut bounds = vec![None; tiles.len()];
        let is_outermost = self.has_outer_tiles();
        // From the inside out: what follows each other, the tiles and then the indices.
        let mut order: Vec<usize> = (0..tiles.len()).rev().collect();
        if is_outermost {
            order.retain(|tile| *tile > 0);
        }
        let has_more = |inside: usize| inside + usize::from(is_outermost) < tiles.len() || !units.is_empty();
        for (inside, tile) in order.iter().enumerate() {
            let number = self.tile_number(tiles[*tile], &mut rest, has_more(inside + 1) || is_outermost);
            bounds[*tile] = Some(self.tile_bounds(tiles[*tile], number));
        }
        let mut columns = None;
        for (position, dim) in units.iter().enumerate().rev() {
            if columns.is_none() && self.is_numbered_by_strides(*dim) {
                let (tile, others) = self.columns_and_others((*dim, &units[..=position]), tiles[0], rest);
                (columns, rest) = (Some(tile), others);
            }
            let index = if position == 0 && !is_outermost {
                rest
            } else {
                let extent = self.product(&self.kernel.dims[*dim].clone());
                let index = self.code.int("llvm.urem", rest, extent);
                rest = self.code.int("llvm.udiv", rest, extent);
                index
            };
            self.index[*dim] = Some(index);
        }
        if is_outermost {
            bounds[0] = Some(self.tile_bounds(tiles[0], columns.unwrap_or(rest)));
        }
        bounds.into_iter().flatten().collect()
    }

    /// How units follow each other along a dimension, where it takes divisions to find out which indices a unit has.
    pub(super) fn run_of_units(&self, units: &[usize], tiles: &[(usize, i64)]) -> Option<Run> {
        let is_outermost = self.has_outer_tiles();
        let inner = if is_outermost { &tiles[1..] } else { tiles };
        let takes_divisions = units.len() + usize::from(is_outermost) > 1;
        let is_known = !units.iter().any(|dim| self.is_numbered_by_strides(*dim));
        // Rows that are reduced down their columns are several units at once.
        let is_one_by_one = self.down.is_none() && !self.is_tiny && is_known;
        let extent = |(dim, _): &(usize, i64)| self.kernel.dims[*dim].fixed();
        let has_one_each = inner.iter().all(|tile| extent(tile).is_none_or(|extent| extent <= tile.1));
        let dim = *units.last().filter(|_| takes_divisions && is_one_by_one && has_one_each)?;
        let open = inner.iter().copied().filter(|tile| extent(tile).is_none()).collect();
        Some(Run { dim, open })
    }

    /// The units from one on whose other indices are the same, as far as the range goes; how many.
    pub(super) fn run_along(
        &mut self,
        run: &Run,
        (unit, end): Bounds,
        units: &[usize],
        bounds: &[Bounds],
    ) -> MlirValue {
        let from = self.at(run.dim);
        let extent = self.product(&self.kernel.dims[run.dim].clone());
        let (left, own) = (self.code.int("llvm.sub", end, unit), self.code.int("llvm.sub", extent, from));
        let mut count = self.code.int("llvm.intr.smin", left, own);
        let one = self.code.index(1);
        for tile in &run.open {
            let tiles = self.tile_count(*tile);
            let is_one = self.code.compare(Predicate::Eq, tiles, one);
            count = self.code.select(is_one, count, one);
        }
        let outside = units.iter().filter(|dim| **dim != run.dim).fold(0, |all, dim| all | 1u64 << dim);
        self.hoist(!outside, 0);
        let to = self.code.int("llvm.add", from, count);
        self.repeat(run.dim, (from, to), 1, &[], &mut |emitter, _| {
            let before = emitter.at(run.dim);
            let before = emitter.code.int("llvm.sub", before, from);
            let unit = emitter.code.int("llvm.add", unit, before);
            emitter.unit((unit, end), bounds);
            Vec::new()
        });
        count
    }

    /// How many rows of a column a unit reads: those of a part, if columns are cut; none if a run alone knows.
    pub(super) fn rows_of_unit(&self, dim: usize) -> Option<i64> {
        rows_of_unit(self.kernel, dim)
    }

    /// Whether the strides of columns that lie upright decide if columns beside them along a dimension follow, or the next tile: it is
    /// none that they are cut along. Of a few rows too little is read for that.
    fn is_numbered_by_strides(&self, dim: usize) -> bool {
        let is_long = |across: usize| self.rows_of_unit(across).is_none_or(|rows| rows >= LEAST_BY_STRIDES);
        let is_worth_it = self.across.is_some_and(|across| self.is_upright(across) && is_long(across));
        is_worth_it && self.kernel.chunk.is_none_or(|chunk| chunk.by != dim)
    }

    /// The number of the tile of columns that a unit is in, and what counts the other dimensions: tiles follow each other if columns
    /// of what is read first lie nearer to each other in memory than along the innermost of those dimensions, else the indices of that
    /// one do.
    fn columns_and_others(
        &mut self,
        (dim, others): (usize, &[usize]),
        tile: (usize, i64),
        rest: MlirValue,
    ) -> (MlirValue, MlirValue) {
        let read = self.across.and_then(|across| reads(self.kernel, across).into_iter().next());
        let Some((_, access, _)) = read else {
            unreachable!("columns are upright as something is read across")
        };
        let [column, other] = [tile.0, dim].map(|dim| self.product(&access.strides[dim].clone()));
        let is_nearer = self.code.compare(Predicate::Sle, column, other);
        let extents = others.iter().map(|dim| &self.kernel.dims[*dim]);
        let count = extents.fold(Product::number(1), |all, extent| &all * extent);
        let (count, tiles) = (self.product(&count), self.tile_count(tile));
        let inside = self.code.select(is_nearer, tiles, count);
        let (outer, inner) =
            (self.code.int("llvm.udiv", rest, inside), self.code.int("llvm.urem", rest, inside));
        self.by_strides = Some((dim, is_nearer));
        (self.code.select(is_nearer, inner, outer), self.code.select(is_nearer, outer, inner))
    }

    /// How many tiles a dimension has.
    fn tile_count(&mut self, (dim, tile): (usize, i64)) -> MlirValue {
        let extent = self.product(&self.kernel.dims[dim].clone());
        let (size, less, one) = (self.code.index(tile), self.code.index(tile - 1), self.code.index(1));
        let count = self.code.int("llvm.add", extent, less);
        let count = self.code.int("llvm.sdiv", count, size);
        self.code.int("llvm.intr.smax", count, one)
    }

    /// The number of the tile that a unit is in; what is left of the unit's number counts those of other dimensions, if there
    /// are some.
    fn tile_number(&mut self, (dim, tile): (usize, i64), rest: &mut MlirValue, has_more: bool) -> MlirValue {
        if !has_more {
            return *rest;
        }
        let count = self.tile_count((dim, tile));
        let number = self.code.int("llvm.urem", *rest, count);
        *rest = self.code.int("llvm.udiv", *rest, count);
        number
    }

    fn tile_bounds(&mut self, (dim, tile): (usize, i64), number: MlirValue) -> Bounds {
        let extent = self.kernel.dims[dim].clone();
        let extent_value = self.product(&extent);
        if extent.fixed().is_some_and(|extent| extent <= tile) {
            return (self.code.index(0), extent_value);
        }
        let size = self.code.index(tile);
        let from = self.code.int("llvm.mul", number, size);
        let to = self.code.int("llvm.add", from, size);
        (from, self.code.int("llvm.intr.smin", to, extent_value))
    }
}
