//! Maps in tiles: what lies across memory is read along it, and turned in shared memory.
//!
//! A group takes a square of the last dimension and of the one along which some operands lie. Its threads read those operands along
//! memory, tell each other what they read, and compute the elements of the square along the last dimension.

use promote_lower::kernel::ExprId;
use promote_scalar::Element;

use super::{Emitter, Scope};
use crate::build::Build;
use crate::code::Code;
use crate::elements::{element, parts};
use crate::tiles::{PITCH, ROWS, SHORT, SIDE, Tiles, types};

/// What a thread has to do with a tile.
struct Tile<C: Code> {
    /// Its place in a row of threads, and its row.
    thread: (C::Value, C::Value),
    /// The first index of the tile along the dimension of rows, and along the last one.
    first: (C::Value, C::Value),
    /// The extents of both.
    extents: (C::Value, C::Value),
}

impl<C: Code> Emitter<'_, C> {
    /// Computes in tiles, or, if a run finds that extents are short, one by one.
    pub(super) fn tiles(&mut self, tiles: &Tiles) {
        let last = self.kernel.dims.len() - 1;
        let open = [tiles.rows, last].into_iter().filter(|dim| self.kernel.dims[*dim].fixed().is_none());
        let short = self.code.number(SHORT - 1);
        let mut are_long = None;
        for dim in open.collect::<Vec<_>>() {
            let extent = self.product(&self.kernel.dims[dim]);
            let is_long = self.code.less(short, extent);
            are_long = Some(are_long.map_or(is_long, |others| self.code.both(others, is_long)));
        }
        // All threads of a launch find the same, and so meet at the barriers.
        let Some(are_long) = are_long else { return self.in_tiles(tiles) };
        let mut branch = self.code.open_if(are_long);
        self.enter();
        self.in_tiles(tiles);
        self.leave();
        self.code.otherwise(&mut branch, &[]);
        self.enter();
        self.one_by_one();
        self.leave();
        self.code.close_if(branch, &[]);
    }

    /// Each thread computes elements that are as far from each other as a group has threads.
    fn one_by_one(&mut self) {
        self.for_units(|emitter, first, units| {
            let (thread, step) = (emitter.code.thread(), emitter.code.number(Tiles::THREADS.into()));
            let from = emitter.code.add(first, thread);
            let end = emitter.code.ahead(first, Tiles::UNITS);
            let end = emitter.code.min(end, units);
            emitter.count((from, end, step), &[], |emitter, unit, _| {
                emitter.element_of(unit);
                Vec::new()
            });
        });
    }

    /// Each group computes one tile after another.
    fn in_tiles(&mut self, tiles: &Tiles) {
        let (rows, last) = (tiles.rows, self.kernel.dims.len() - 1);
        let others: Vec<usize> = (0..last).filter(|dim| *dim != rows).collect();
        let shared: Vec<Vec<C::Shared>> = tiles.loads.iter().map(|load| self.shared_tile(*load)).collect();
        let thread = self.code.thread();
        let (row, column) = self.code.split(thread, SIDE.into());
        self.hoist(u64::MAX, 0);
        let extents = [rows, last].map(|dim| self.product(&self.kernel.dims[dim]));
        let [down, along] = extents.map(|extent| {
            let extent = self.code.ahead(extent, i64::from(SIDE) - 1);
            self.code.split(extent, SIDE.into()).0
        });
        let mut count = self.code.mul(down, along);
        for dim in &others {
            let extent = self.product(&self.kernel.dims[*dim]);
            count = self.code.mul(count, extent);
        }
        let (group, groups) = (self.code.group(), self.code.groups());
        self.count((group, count, groups), &[], |emitter, number, _| {
            let (rest, across) = emitter.code.divided(number, along);
            let (other, upper) = emitter.code.divided(rest, down);
            emitter.decode_among(&others, other);
            let first = [upper, across].map(|tile| emitter.code.scaled(tile, SIDE.into()));
            let tile: Tile<C> = Tile { thread: (column, row), first: first.into(), extents: extents.into() };
            emitter.read_tile(tiles, &tile, &shared);
            emitter.code.barrier();
            emitter.write_tile(tiles, &tile, &shared);
            emitter.code.barrier();
            emitter.index.fill(None);
            Vec::new()
        });
    }

    /// Room for an operand's elements of a tile: for each of their parts.
    fn shared_tile(&mut self, load: ExprId) -> Vec<C::Shared> {
        let types = types(self.kernel.expr(load).dtype);
        types.into_iter().map(|ty| self.code.shared(ty, SIDE * PITCH)).collect()
    }

    /// Reads operands with threads beside each other along the dimension along which they lie: a row of shared memory has what is
    /// at one index of the last dimension.
    fn read_tile(&mut self, tiles: &Tiles, tile: &Tile<C>, shared: &[Vec<C::Shared>]) {
        for ahead in (0..SIDE).step_by(ROWS as usize) {
            let (column, row) = tile.thread;
            let row = self.code.ahead(row, ahead.into());
            self.within(tiles, tile, (column, row), |emitter| {
                let place = emitter.code.scaled(row, PITCH.into());
                let place = emitter.code.add(place, column);
                for (load, rooms) in tiles.loads.iter().zip(shared) {
                    let loaded = parts(emitter.eval(*load));
                    rooms.iter().zip(loaded).for_each(|(room, part)| emitter.code.put(*room, place, &[part]));
                }
            });
        }
    }

    /// Computes the elements with threads beside each other along the last dimension.
    fn write_tile(&mut self, tiles: &Tiles, tile: &Tile<C>, shared: &[Vec<C::Shared>]) {
        for ahead in (0..SIDE).step_by(ROWS as usize) {
            let (column, row) = tile.thread;
            let row = self.code.ahead(row, ahead.into());
            self.within(tiles, tile, (row, column), |emitter| {
                let place = emitter.code.scaled(column, PITCH.into());
                let place = emitter.code.add(place, row);
                let mut known = Scope::default();
                for (load, rooms) in tiles.loads.iter().zip(shared) {
                    let read: Vec<C::Value> =
                        rooms.iter().flat_map(|room| emitter.code.get(*room, place, 1)).collect();
                    let value: Element<C::Value> = element(&read);
                    known.insert((*load, 0), value);
                }
                emitter.scopes.push(known);
                (0..emitter.kernel.roots.len()).for_each(|root| emitter.store_root(root));
                emitter.leave();
            });
        }
    }

    /// Does something at a place of a tile, if the dimensions go so far.
    fn within(
        &mut self,
        tiles: &Tiles,
        tile: &Tile<C>,
        (down, along): (C::Value, C::Value),
        body: impl FnOnce(&mut Self),
    ) {
        let last = self.kernel.dims.len() - 1;
        let (row, column) = (self.code.add(tile.first.0, down), self.code.add(tile.first.1, along));
        let (in_rows, in_columns) =
            (self.code.less(row, tile.extents.0), self.code.less(column, tile.extents.1));
        let is_there = self.code.both(in_rows, in_columns);
        (self.index[tiles.rows], self.index[last]) = (Some(row), Some(column));
        self.only_if(is_there, body);
        (self.index[tiles.rows], self.index[last]) = (None, None);
    }
}
