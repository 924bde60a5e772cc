//! How units of work are numbered, and how many elements are worth a thread.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_lower::kernel::{Access, Code as What, Expr, Form, Role, Root};
use promote_lower::order::register_lanes;

use super::lengthwise::rows_of_unit;
use super::squares::{Bounds, reads};
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    CHEAP_VECTOR, COLUMNS_OF_PARTS, GRAIN, LEAST_BY_STRIDES, LONG_LOOP, MAP_TILE, PARTS_BESIDE, ROWS_BESIDE,
    TRANSPOSED_TILE, VECTORS_GRAIN,
};
use crate::targets::llvm::Predicate;

/// How units follow each other.
pub(super) struct Run {
    /// The dimension whose next index the next unit is of, but for the last index. If strides decide it, all that may be that one, with 1
    /// for the one that is, and 0 for the others.
    dims: Vec<(usize, Option<MlirValue>)>,
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
        self.sort_parts(&mut units);
        (units, tiles)
    }

    /// Puts the dimensions of the units of columns that are cut, and read row by row, in the order in which they lie in memory, if that is
    /// known: parts are not outside of all others.
    fn sort_parts(&self, units: &mut [usize]) {
        let is_cut = matches!(self.kernel.form, Form::Columns { .. }) && self.kernel.chunk.is_some();
        let Some(access) = self.read_most(units).filter(|_| is_cut && self.across.is_none()) else { return };
        let distance = |dim: &usize| self.distance(access, *dim).fixed().map(i64::unsigned_abs);
        if units.iter().all(|dim| distance(dim).is_some()) {
            units.sort_by_key(|dim| std::cmp::Reverse(distance(dim)));
        }
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
    /// columns that lie upright, it is what lies nearer in memory, and of other rows and columns whose strides a run alone knows.
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
        if let Some(access) = self.ordering_access(units) {
            self.units_by_strides(&access, units, rest);
            return bounds.into_iter().flatten().collect();
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
        let by_strides = self.unit_steps.iter().map(|(dim, step)| (*dim, Some(*step))).collect::<Vec<_>>();
        // Rows that are reduced down their columns are several units at once.
        let is_one_by_one = self.down.is_none() && !self.is_tiny && is_known;
        let extent = |(dim, _): &(usize, i64)| self.kernel.dims[*dim].fixed();
        let has_one_each = inner.iter().all(|tile| extent(tile).is_none_or(|extent| extent <= tile.1));
        let last = *units.last().filter(|_| takes_divisions && is_one_by_one && has_one_each)?;
        let dims = if by_strides.is_empty() { vec![(last, None)] } else { by_strides };
        let open = inner.iter().copied().filter(|tile| extent(tile).is_none()).collect();
        Some(Run { dims, open })
    }

    /// The units from one on whose other indices are the same, as far as the range goes; how many.
    pub(super) fn run_along(
        &mut self,
        run: &Run,
        (unit, end): Bounds,
        units: &[usize],
        bounds: &[Bounds],
    ) -> MlirValue {
        let first: Vec<MlirValue> = run.dims.iter().map(|(dim, _)| self.at(*dim)).collect();
        let (zero, one) = (self.code.index(0), self.code.index(1));
        let mut own = zero;
        for ((dim, step), index) in run.dims.iter().zip(&first) {
            let extent = self.product(&self.kernel.dims[*dim].clone());
            let left = self.code.int("llvm.sub", extent, *index);
            own = match step {
                Some(step) => {
                    let left = self.code.int("llvm.mul", left, *step);
                    self.code.int("llvm.add", own, left)
                }
                None => left,
            };
        }
        let left = self.code.int("llvm.sub", end, unit);
        let mut count = self.code.int("llvm.intr.smin", left, own);
        for tile in &run.open {
            let tiles = self.tile_count(*tile);
            let is_one = self.code.compare(Predicate::Eq, tiles, one);
            count = self.code.select(is_one, count, one);
        }
        let is_of_run = |dim: &usize| run.dims.iter().any(|(own, _)| own == dim);
        let outside = units.iter().filter(|dim| !is_of_run(dim)).fold(0, |all, dim| all | 1u64 << dim);
        self.hoist(!outside, 0);
        let open = self.code.open((zero, count, 1), &[]);
        self.frames.push(Scope::default());
        let outside_of_run = self.index.clone();
        for ((dim, step), index) in run.dims.iter().zip(&first) {
            let further = match step {
                Some(step) => self.code.int("llvm.mul", open.index, *step),
                None => open.index,
            };
            self.index[*dim] = Some(self.code.int("llvm.add", *index, further));
        }
        let unit = self.code.int("llvm.add", unit, open.index);
        self.unit((unit, end), bounds);
        self.index = outside_of_run;
        self.frames.pop();
        self.code.close(&open, &[]);
        count
    }

    /// What is read by whose strides units of reductions are numbered, if a run alone knows the order of these: the next unit reads the next
    /// row in memory, or the next part of columns. Rows that are read again in groups have an order of their own, and so have columns that
    /// lie upright.
    fn ordering_access(&self, units: &[usize]) -> Option<Access> {
        let is_reduced = match self.kernel.form {
            Form::Rows { .. } => self.grouped.is_none(),
            Form::Columns { .. } => self.across.is_none(),
            Form::Map => false,
        };
        let access = self.read_most(units).filter(|_| is_reduced && units.len() > 1)?;
        let distance = |dim: usize| self.distance(access, dim);
        let is_in_order = |pair: &[usize]| distance(pair[0]) == self.span(access, pair[1]);
        let is_known = units.iter().all(|dim| distance(*dim).fixed().is_some());
        (!is_known && !units.windows(2).all(is_in_order)).then(|| access.clone())
    }

    /// What is read of which most depends on the indices of units, the first of equals.
    fn read_most(&self, units: &[usize]) -> Option<&Access> {
        // `max_by_key` takes the last of equals.
        let loads = self.kernel.exprs.iter().rev().filter_map(|expr| match &expr.code {
            What::Load(access) => Some(access),
            What::Take { .. } | What::Splat(_) | What::Size(_) | What::Index { .. } => None,
            What::Map(..) | What::Convert(_) | What::Reduced(_) => None,
        });
        let dims =
            |access: &&Access| units.iter().filter(|dim| !self.distance(access, **dim).is_zero()).count();
        loads.max_by_key(dims)
    }

    /// How many elements further on in memory a dimension ends.
    fn span(&self, access: &Access, dim: usize) -> Product {
        let dim = self.kernel.chunk.filter(|chunk| chunk.by == dim).map_or(dim, |chunk| chunk.dim);
        &access.strides[dim] * &self.kernel.dims[dim]
    }

    /// How many elements further on in memory the next index of a dimension is; of parts, where the next one begins.
    fn distance(&self, access: &Access, dim: usize) -> Product {
        match self.kernel.chunk.filter(|chunk| chunk.by == dim) {
            Some(chunk) => &access.strides[chunk.dim] * &chunk.length.into(),
            None => access.strides[dim].clone(),
        }
    }

    /// Sets the indices of a unit, the units being numbered along the dimension along which least is between elements first, and so on; of
    /// equals along the last one.
    fn units_by_strides(&mut self, access: &Access, units: &[usize], unit: MlirValue) {
        let (zero, one) = (self.code.index(0), self.code.index(1));
        let mut distances = Vec::new();
        for dim in units {
            let stride = self.product(&self.distance(access, *dim));
            let back = self.code.int("llvm.sub", zero, stride);
            let distance = self.code.int("llvm.intr.smax", stride, back);
            // A dimension of one index has none, whatever its stride is: it is outside of all others.
            let (extent, most) = (self.product(&self.kernel.dims[*dim].clone()), self.code.index(i64::MAX));
            let has_next = self.code.compare(Predicate::Sgt, extent, one);
            distances.push(self.code.select(has_next, distance, most));
        }
        self.unit_steps.clear();
        for (own, dim) in units.iter().enumerate() {
            // How many units follow each other until the next one along the dimension, and whether that is the next one of all.
            let (mut inside, mut step) = (one, one);
            for other in (0..units.len()).filter(|other| *other != own) {
                let nearer = if other > own { Predicate::Sle } else { Predicate::Slt };
                let is_inside = self.code.compare(nearer, distances[other], distances[own]);
                let extent = self.product(&self.kernel.dims[units[other]].clone());
                let extent = self.code.select(is_inside, extent, one);
                inside = self.code.int("llvm.mul", inside, extent);
                step = self.code.select(is_inside, zero, step);
            }
            let extent = self.product(&self.kernel.dims[*dim].clone());
            let number = self.code.int("llvm.udiv", unit, inside);
            self.index[*dim] = Some(self.code.int("llvm.urem", number, extent));
            self.unit_steps.push((*dim, step));
        }
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
