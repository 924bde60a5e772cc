//! The places of tiles in a product: their sums are stored there, or added to those of the terms before.

use mlir_sys::*;

use super::emitter::{Columns, Emitter};
use super::tiles::{Matrices, Tile};
use crate::targets::llvm::{Level, Predicate};

/// Where a tile is put.
#[derive(Clone, Copy)]
pub(super) struct Place<'t> {
    pub tile: &'t Tile,
    pub matrices: &'t Matrices,
    /// Its first row.
    pub first: MlirValue,
    /// Its first column.
    pub column: MlirValue,
}

impl Emitter {
    /// Brings the place of a tile in the product into the cache, while its sums are computed.
    pub(super) fn prefetch_tile(&mut self, Place { tile, matrices, first, column }: Place<'_>) {
        for row in 0..tile.rows {
            let row = self.plus(first, row);
            let start = self.place(row, matrices.n, column);
            for number in 0..tile.vectors {
                let place = self.plus(start, (number * tile.lanes) as i64);
                let address = self.at(matrices.product, place);
                self.code.prefetch(address, Level::First);
            }
        }
    }

    /// Stores what of a tile lies in the product, or adds it to what is there.
    pub(super) fn put_tile(&mut self, place: Place<'_>, sums: &[MlirValue], is_first: MlirValue) {
        let Place { tile, matrices, column, .. } = place;
        let n = matrices.n;
        if self.setting.machine.has_masks() {
            let masks = (0..tile.vectors)
                .map(|number| {
                    let from = self.plus(column, (number * tile.lanes) as i64);
                    let rest = self.sub(n, from);
                    let mask = (tile.lanes > 1).then(|| self.mask(rest, tile.lanes));
                    Columns { first: from, lanes: tile.lanes, mask }
                })
                .collect::<Vec<_>>();
            return self.put_vectors(place, sums, &masks, is_first);
        }
        let width = self.code.index(tile.columns());
        let count = self.sub(n, column);
        let is_whole = self.code.compare(Predicate::Sge, count, width);
        let (whole, part, after) =
            (self.code.new_block(&[]), self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(is_whole, (whole, &[]), (part, &[]));
        self.code.go_to(whole);
        let vectors = (0..tile.vectors)
            .map(|number| {
                let first = self.plus(column, (number * tile.lanes) as i64);
                Columns { first, lanes: tile.lanes, mask: None }
            })
            .collect::<Vec<_>>();
        self.put_vectors(place, sums, &vectors, is_first);
        self.code.branch(after, &[]);
        self.code.go_to(part);
        self.put_part(place, sums, is_first);
        self.code.branch(after, &[]);
        self.code.go_to(after);
    }

    /// Stores the vectors of a tile in the rows that there are.
    fn put_vectors(
        &mut self,
        Place { matrices, first, .. }: Place<'_>,
        sums: &[MlirValue],
        vectors: &[Columns],
        is_first: MlirValue,
    ) {
        let Matrices { product, rows, n, .. } = *matrices;
        for (row, sums) in sums.chunks(vectors.len()).enumerate() {
            let row = self.plus(first, row as i64);
            let is_inside = self.code.compare(Predicate::Slt, row, rows);
            let (inside, after) = (self.code.new_block(&[]), self.code.new_block(&[]));
            self.code.branch_if(is_inside, (inside, &[]), (after, &[]));
            self.code.go_to(inside);
            for (sum, columns) in sums.iter().zip(vectors) {
                let place = self.place(row, n, columns.first);
                let address = self.at(product, place);
                self.put(*sum, address, (columns.lanes, columns.mask), is_first);
            }
            self.code.branch(after, &[]);
            self.code.go_to(after);
        }
    }

    /// Stores what of a tile lies before the last column, one by one.
    fn put_part(&mut self, place: Place<'_>, sums: &[MlirValue], is_first: MlirValue) {
        let Place { tile, matrices, first, column } = place;
        let Matrices { product, rows, n, .. } = *matrices;
        let scalar = self.scalar();
        let room = self.code.stack(scalar, tile.rows * tile.columns(), 64);
        for (number, sum) in sums.iter().enumerate() {
            let place = self.code.index((number * tile.lanes) as i64);
            let address = self.at(room, place);
            self.store(*sum, address, None);
        }
        let (zero, height) = (self.code.index(0), self.code.index(tile.rows));
        let width = self.code.index(tile.columns());
        let count = self.sub(n, column);
        let below = self.sub(rows, first);
        let below = self.less(below, height);
        let down = self.code.open((zero, below, 1), &[]);
        let across = self.code.open((zero, count, 1), &[]);
        let from = self.place(down.index, width, across.index);
        let from = self.at(room, from);
        let sum = self.load(from, 1, None);
        let row = self.add(first, down.index);
        let to = self.place(row, n, column);
        let to = self.add(to, across.index);
        let address = self.at(product, to);
        self.put(sum, address, (1, None), is_first);
        self.code.close(&across, &[]);
        self.code.close(&down, &[]);
    }
}
