//! Products by tiles: the right matrix is packed into panels.
//!
//! ## Algorithm
//! Some rows of the left operand at a time are multiplied with one panel after another: the tile of the product stays in
//! registers while the panel streams through. If there are many panels, the rows are packed first, one element of each after
//! another. Long sums are cut where the packed rows would leave the first-level cache. Where the panels are not all in
//! the third-level cache when the next rows need them, the rows of several tiles are packed, and each panel is multiplied with
//! all of them.
//!
//! If there are few rows, writing the right matrix to memory and reading it again takes as long as multiplying. Then some
//! panels at a time are packed, as long as a part of a sum is, and multiplied with all rows while they are in the
//! second-level cache.

use mlir_sys::*;
use promote_lower::order::PRODUCTS;
use promote_scalar::Ty;

use super::emitter::Emitter;
use super::place::Place;
use super::terms::Terms;
use super::{Elements, Slot};
use crate::targets::cpu::costs::{
    CACHED, MOST_REPACKED, PANELS_AT_ONCE, PANELS_CACHED, PANELS_IN_PLACE, PREFETCHED_TILES, TILES_AT_ONCE,
};
use crate::targets::cpu::kernel::Setting;
use crate::targets::cpu::target::Machine;
use crate::targets::llvm::{Level, Loop, Predicate, block_argument};

/// The tile of the product that stays in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Its rows.
    pub rows: i64,
    /// The vectors of a row.
    pub(super) vectors: usize,
    /// The lanes of a vector.
    pub(super) lanes: usize,
    /// Whether rows of the left matrix are packed.
    packs_rows: bool,
    /// Whether rows are short, so that what is read later of them is brought into the caches.
    are_rows_short: bool,
    /// Whether several tiles are multiplied with a panel, one after another.
    pub shares_panels: bool,
    /// Whether panels are packed right before they are multiplied with all rows, and not by a function of their own before.
    pub packs_panels: bool,
}

impl Tile {
    /// The tile for panels of so many columns, and a product of these rows, terms and columns: it takes most of the registers,
    /// but leaves some for the operands.
    pub fn new(machine: Machine, elements: Elements, width: i64, extents: [Option<i64>; 3]) -> Self {
        let [rows_of_all, inner, columns] = extents;
        let (width, full) = (width as usize, elements.lanes(machine));
        let vectors = (width / full).max(1);
        let has_many = machine.vector_registers >= 32;
        let most = match (vectors, has_many) {
            (1, _) => 8,
            (2, true) => 12,
            (2, false) => 6,
            (_, true) => 8,
            (_, false) => 4,
        };
        let is_narrow = columns.is_some_and(|columns| columns <= PANELS_IN_PLACE * width as i64);
        let packs_rows = !is_narrow || !elements.is_plain();
        let few = rows_of_all.filter(|rows| (1..=MOST_REPACKED).contains(rows));
        // As few rows as possible go to waste.
        let rows = few.map_or(most, |rows| {
            let blocks = (rows + most - 1) / most;
            (rows + blocks - 1) / blocks
        });
        let bytes = inner.unwrap_or(i64::MAX).saturating_mul(columns.unwrap_or(i64::MAX));
        let bytes = bytes.saturating_mul(elements.size() as i64) / elements.terms.number();
        let packs_panels = few.is_some() && bytes > CACHED;
        let are_rows_short = inner.is_some_and(|inner| inner <= PRODUCTS);
        let is_known = inner.is_some() && columns.is_some();
        let shares_panels = is_known && packs_rows && !packs_panels && bytes > PANELS_CACHED;
        Self {
            rows,
            vectors,
            lanes: full.min(width),
            packs_rows,
            are_rows_short,
            shares_panels,
            packs_panels,
        }
    }

    /// How many elements of the type of the product there is room for in its packed rows.
    pub fn room(&self, elements: Elements) -> i64 {
        PRODUCTS * self.rows + elements.terms.first_sums_room()
    }

    /// How wide panels are, for so many columns: as few vectors as possible go to waste.
    pub fn width(machine: Machine, elements: Elements, columns: Option<i64>) -> i64 {
        let lanes = elements.lanes(machine) as i64;
        let padded = |vectors: i64, columns: i64| (columns as u64).next_multiple_of((vectors * lanes) as u64);
        match columns {
            Some(columns) if columns <= lanes => match elements.terms {
                Terms::One => columns.max(1).cast_unsigned().next_power_of_two().cast_signed(),
                // The instructions are of whole vectors.
                Terms::Words | Terms::Pairs | Terms::Fours => lanes,
            },
            Some(columns) if padded(3, columns) < padded(2, columns) => 3 * lanes,
            Some(_) | None => 2 * lanes,
        }
    }

    pub(super) const fn columns(&self) -> i64 {
        (self.vectors * self.lanes) as i64
    }
}

/// Where the elements of the left matrix are that a tile is made of.
enum Rows {
    /// One of each row after another, and whether some are outside the range of [pairs](super::pairs), if that is asked.
    Packed(MlirValue, Option<MlirValue>),
    /// Where they are: the start of each row, and of those of a later tile, if these are to be brought into the caches.
    InPlace(Vec<MlirValue>, Option<MlirValue>),
}

/// Adds what the left factor and the right one hold to a sum.
type Add = fn(&mut Emitter, [MlirValue; 3], usize) -> MlirValue;

/// Matrices of a batch, and their extents.
pub(super) struct Matrices {
    left: MlirValue,
    pub(super) product: MlirValue,
    pub(super) rows: MlirValue,
    k: MlirValue,
    pub(super) n: MlirValue,
}

/// A part of a panel.
struct Panel {
    at: MlirValue,
    /// The first of its columns.
    column: MlirValue,
    /// Whether elements are outside the range of [pairs](super::pairs), if that is asked.
    is_outside: Option<MlirValue>,
}

/// A part of what is summed over.
struct Part {
    start: MlirValue,
    length: MlirValue,
    is_first: MlirValue,
}

/// Compiles the function that multiplies with panels that are packed: a unit is the rows of a tile of a batch.
pub(super) fn blocks(
    setting: Setting,
    (name, location): (&str, MlirLocation),
    elements: Elements,
    tile: Tile,
) {
    let mut m = Emitter::new(setting, name, location, elements);
    let (packed, blocks) = (m.word(Slot::Packed), m.word(Slot::Blocks));
    let (zero, height) = (m.code.index(0), m.code.index(tile.rows));
    let room = (!tile.shares_panels).then(|| m.room(&tile));
    let (batches, [from, to]) = m.open_batches(blocks);
    let batch = batches.index;
    let matrices = m.matrices(batch);
    let (panels, width) = (m.panels(matrices.n, tile.columns()), m.code.index(tile.columns()));
    let depth = m.depth(matrices.k);
    let of_packed = m.multiply(panels, depth);
    let of_packed = m.multiply(of_packed, width);
    let of_packed = m.multiply(batch, of_packed);
    let packed = m.at(packed, of_packed);
    let is_outside = elements.asks_for_range().then(|| m.was_told_outside());
    let at_once = if tile.shares_panels { TILES_AT_ONCE } else { 1 };
    let units = m.code.open((from, to, at_once), &[]);
    let (parts, part) = m.open_parts(matrices.k);
    let panel_at = |m: &mut Emitter, column: MlirValue| {
        let of_part = m.depth(part.start);
        let of_part = m.multiply(of_part, width);
        // The columns before the panel are as many elements of each row, and so is the panel.
        let start = m.place(column, depth, of_part);
        Panel { at: m.at(packed, start), column, is_outside }
    };
    match room {
        Some(room) => {
            let first = m.multiply(units.index, height);
            let rows = m.rows(&tile, &matrices, (first, room), &part);
            let columns = m.code.open((zero, matrices.n, tile.columns()), &[]);
            let panel = panel_at(&mut m, columns.index);
            m.tile(&tile, &matrices, (&rows, first), &panel, &part);
            m.code.close(&columns, &[]);
        }
        None => {
            let last = m.plus(units.index, at_once);
            let last = m.less(last, to);
            let of_batch = m.multiply(batch, blocks);
            m.tiles_that_share(&tile, &matrices, (of_batch, units.index, last), &part, &panel_at);
        }
    }
    m.code.close(&parts, &[]);
    m.code.close(&units, &[]);
    m.code.close(&batches, &[]);
    m.code.r#return(None);
}

/// Compiles the function that packs panels and multiplies them with all rows: a unit is a panel of a batch.
pub(super) fn panels(
    setting: Setting,
    (name, location): (&str, MlirLocation),
    elements: Elements,
    tile: Tile,
) {
    let mut m = Emitter::new(setting, name, location, elements);
    let (right, packed) = (m.word(Slot::Right), m.word(Slot::Packed));
    let (panels, zero, width) = (m.word(Slot::Blocks), m.code.index(0), m.code.index(tile.columns()));
    let room = m.room(&tile);
    let (batches, [from, to]) = m.open_batches(panels);
    let matrices = m.matrices(batches.index);
    let of_right = m.multiply(matrices.k, matrices.n);
    let of_right = m.multiply(batches.index, of_right);
    let right = m.of(elements.right, right, of_right);
    let groups = m.code.open((from, to, PANELS_AT_ONCE), &[]);
    let last = m.plus(groups.index, PANELS_AT_ONCE);
    let last = m.less(last, to);
    // A part of each panel at a time is where the first panels of the group would be: it stays in the cache.
    let of_group = m.place(batches.index, panels, groups.index);
    let depth = m.depth(matrices.k);
    let all = m.multiply(depth, width);
    let of_group = m.multiply(of_group, all);
    let packed = m.at(packed, of_group);
    let (parts, part) = m.open_parts(matrices.k);
    let panel_at = |m: &mut Emitter, panel: MlirValue| {
        let number = m.sub(panel, groups.index);
        let start = m.depth(part.length);
        let start = m.multiply(number, start);
        let start = m.multiply(start, width);
        (m.at(packed, start), m.multiply(panel, width))
    };
    let inside: Vec<_> =
        elements.asks_for_range().then(|| m.code.constant(Ty::I1, 0, 1)).into_iter().collect();
    let each = m.code.open((groups.index, last, 1), &inside);
    let (target, column) = panel_at(&mut m, each.index);
    let from = m.place(part.start, matrices.n, column);
    let source = m.of(elements.right, right, from);
    let is_outside = m.pack_panel((source, target), (part.length, matrices.n), (tile.columns(), column));
    let are_outside = each.carried.first().copied();
    let with_this: Vec<_> =
        are_outside.zip(is_outside).map(|(before, this)| m.either(before, this)).into_iter().collect();
    m.code.close(&each, &with_this);

    let blocks = m.code.open((zero, matrices.rows, tile.rows), &[]);
    let rows = m.rows(&tile, &matrices, (blocks.index, room), &part);
    let each = m.code.open((groups.index, last, 1), &[]);
    let (at, column) = panel_at(&mut m, each.index);
    m.tile(&tile, &matrices, (&rows, blocks.index), &Panel { at, column, is_outside: are_outside }, &part);
    m.code.close(&each, &[]);
    m.code.close(&blocks, &[]);
    m.code.close(&parts, &[]);
    m.code.close(&groups, &[]);
    m.code.close(&batches, &[]);
    m.code.r#return(None);
}

impl Emitter {
    /// How many panels so many columns are.
    pub(super) fn panels(&mut self, n: MlirValue, width: i64) -> MlirValue {
        let less = self.plus(n, width - 1);
        let width = self.code.index(width);
        self.code.int("llvm.sdiv", less, width)
    }

    /// Room for the packed rows of a tile.
    fn room(&mut self, tile: &Tile) -> MlirValue {
        let scalar = self.scalar();
        self.code.stack(scalar, tile.room(self.elements), 64)
    }

    fn matrices(&mut self, batch: MlirValue) -> Matrices {
        let (left, product) = (self.word(Slot::Left), self.word(Slot::Product));
        let (rows, k, n) = (self.word(Slot::M), self.word(Slot::K), self.word(Slot::N));
        let (of_left, of_product) = (self.multiply(rows, k), self.multiply(rows, n));
        let (of_left, of_product) = (self.multiply(batch, of_left), self.multiply(batch, of_product));
        let left = self.of(self.elements.left, left, of_left);
        Matrices { left, product: self.at(product, of_product), rows, k, n }
    }

    /// Opens a loop over the parts of what is summed over. A sum of nothing is a part, too: it stores zeros.
    fn open_parts(&mut self, k: MlirValue) -> (Loop, Part) {
        let (zero, one, most) =
            (self.code.index(0), self.code.index(1), self.code.index(self.elements.block()));
        let summed = self.code.int("llvm.intr.smax", k, one);
        let parts = self.code.open((zero, summed, self.elements.block()), &[]);
        let rest = self.sub(k, parts.index);
        let length = self.less(rest, most);
        let is_first = self.code.compare(Predicate::Eq, parts.index, zero);
        let part = Part { start: parts.index, length, is_first };
        (parts, part)
    }

    /// A part of the rows from one on, packed if the tile wants it.
    fn rows(
        &mut self,
        tile: &Tile,
        matrices: &Matrices,
        (first, room): (MlirValue, MlirValue),
        part: &Part,
    ) -> Rows {
        let starts =
            self.row_starts((matrices.left, tile.rows), (first, matrices.rows), (part.start, matrices.k));
        if !tile.packs_rows {
            let later = tile.are_rows_short.then(|| {
                let ahead = self.code.index(tile.rows * PREFETCHED_TILES);
                let ahead = self.multiply(ahead, matrices.k);
                self.of(self.elements.left, starts[0], ahead)
            });
            return Rows::InPlace(starts, later);
        }
        let is_outside = match self.elements.terms {
            Terms::One => {
                self.pack_rows(&starts, room, part.length);
                None
            }
            Terms::Pairs => {
                self.pack_rows_of_terms(&starts, room, part.length);
                Some(self.are_rows_outside(&starts, part.length))
            }
            Terms::Words => {
                self.pack_rows_of_terms(&starts, room, part.length);
                None
            }
            Terms::Fours => {
                self.pack_rows_of_terms(&starts, room, part.length);
                let depth = self.depth(part.length);
                self.negated_offsets(room, (tile.rows, depth));
                None
            }
        };
        Rows::Packed(room, is_outside)
    }

    /// Packs the rows of some tiles of a batch, and multiplies all of them with one panel after another.
    fn tiles_that_share(
        &mut self,
        tile: &Tile,
        matrices: &Matrices,
        (before, from, to): (MlirValue, MlirValue, MlirValue),
        part: &Part,
        panel_at: &dyn Fn(&mut Self, MlirValue) -> Panel,
    ) {
        let height = self.code.index(tile.rows);
        // Tiles of the batches before it have rooms, too.
        let room_of = |m: &mut Self, unit: MlirValue| {
            let (number, size) = (m.add(before, unit), m.code.index(tile.room(m.elements)));
            let (rooms, place) = (m.word(Slot::Rooms), m.multiply(number, size));
            (m.at(rooms, place), m.multiply(unit, height))
        };
        let asks = self.elements.asks_for_range();
        let nothing: Vec<_> = asks.then(|| self.code.constant(Ty::I1, 0, 1)).into_iter().collect();
        let tiles = self.code.open((from, to, 1), &nothing);
        let (room, first) = room_of(self, tiles.index);
        let next = match self.rows(tile, matrices, (first, room), part) {
            Rows::Packed(_, are_outside) => {
                tiles.carried.first().zip(are_outside).map(|(before, own)| self.either(*before, own))
            }
            Rows::InPlace(..) => unreachable!("rows of tiles that share panels are packed"),
        };
        self.code.close(&tiles, next.as_slice());
        let are_outside = tiles.carried.first().copied();
        let zero = self.code.index(0);
        let columns = self.code.open((zero, matrices.n, tile.columns()), &[]);
        let panel = panel_at(self, columns.index);
        let tiles = self.code.open((from, to, 1), &[]);
        let (room, first) = room_of(self, tiles.index);
        self.tile(tile, matrices, (&Rows::Packed(room, are_outside), first), &panel, part);
        self.code.close(&tiles, &[]);
        self.code.close(&columns, &[]);
    }

    /// Multiplies rows with a panel.
    fn tile(
        &mut self,
        tile: &Tile,
        matrices: &Matrices,
        (rows, first): (&Rows, MlirValue),
        panel: &Panel,
        part: &Part,
    ) {
        let place = Place { tile, matrices, first, column: panel.column };
        self.prefetch_tile(place);
        let sums = match self.elements.terms {
            Terms::One => self.sums(tile, rows, (panel.at, part.length), Self::accumulate),
            Terms::Pairs => self.sums_of_pairs(tile, rows, panel, part.length),
            Terms::Words => self.sums(tile, rows, (panel.at, part.length), Self::add_words),
            Terms::Fours => self.sums(tile, rows, (panel.at, part.length), Self::add_fours),
        };
        self.put_tile(place, &sums, part.is_first);
    }

    /// The tile of the product of pairs of terms: those in the range are multiplied by an instruction.
    fn sums_of_pairs(
        &mut self,
        tile: &Tile,
        rows: &Rows,
        panel: &Panel,
        length: MlirValue,
    ) -> Vec<MlirValue> {
        let (Rows::Packed(_, Some(are_rows)), Some(is_panel)) = (rows, panel.is_outside) else {
            unreachable!("rows and panels of pairs are asked for their range as they are packed")
        };
        let is_outside = self.either(*are_rows, is_panel);
        let vector = self.code.types.lanes(self.ty(), tile.lanes);
        let types = vec![vector; tile.rows as usize * tile.vectors];
        let (outside, inside) = (self.code.new_block(&[]), self.code.new_block(&[]));
        let after = self.code.new_block(&types);
        self.code.branch_if(is_outside, (outside, &[]), (inside, &[]));
        let ways: [(MlirBlock, Add); 2] = [(outside, Self::add_each_of_pairs), (inside, Self::add_pairs)];
        for (block, add) in ways {
            self.code.go_to(block);
            let sums = self.sums(tile, rows, (panel.at, length), add);
            self.code.branch(after, &sums);
        }
        self.code.go_to(after);
        (0..types.len()).map(|number| block_argument(after, number)).collect()
    }

    /// Packs rows, one element of each after another.
    fn pack_rows(&mut self, starts: &[MlirValue], packed: MlirValue, length: MlirValue) {
        let (zero, height) = (self.code.index(0), self.code.index(starts.len() as i64));
        let left = self.elements.left;
        let steps = self.code.open((zero, length, 1), &[]);
        for (row, start) in starts.iter().enumerate() {
            let from = self.of(left, *start, steps.index);
            let value = self.operand(left, from, (1, None));
            let row = self.code.index(row as i64);
            let to = self.place(steps.index, height, row);
            let to = self.at(packed, to);
            self.store(value, to, None);
        }
        self.code.close(&steps, &[]);
    }

    /// The tile of the product, of terms that are added so: row by row, vector by vector.
    fn sums(
        &mut self,
        tile: &Tile,
        rows: &Rows,
        (panel, length): (MlirValue, MlirValue),
        add: Add,
    ) -> Vec<MlirValue> {
        let lanes = tile.lanes;
        let start = match rows {
            Rows::Packed(packed, _) => self.first_sums(*packed, (tile.rows, tile.vectors), lanes),
            Rows::InPlace(..) => vec![self.zero(lanes); tile.rows as usize * tile.vectors],
        };
        let (zero, depth) = (self.code.index(0), self.depth(length));
        let steps = self.code.open((zero, depth, 1), &start);
        let (height, width) = (self.code.index(tile.rows), self.code.index(tile.columns()));
        let from = self.multiply(steps.index, width);
        let right: Vec<_> = (0..tile.vectors)
            .map(|number| {
                let place = self.plus(from, (number * lanes) as i64);
                let address = self.at(panel, place);
                self.load(address, lanes, None)
            })
            .collect();
        let from = self.multiply(steps.index, height);
        if let Rows::InPlace(_, Some(later)) = rows {
            // Each row is a stream, and a short one: processors do not see where the next one begins.
            let address = self.at(*later, from);
            self.code.prefetch(address, Level::First);
        }
        let mut next = Vec::with_capacity(start.len());
        for row in 0..tile.rows {
            let address = match rows {
                Rows::Packed(packed, _) => {
                    let place = self.plus(from, row);
                    self.at(*packed, place)
                }
                Rows::InPlace(starts, _) => self.at(starts[row as usize], steps.index),
            };
            let factor = self.load(address, 1, None);
            let factor = self.splat(factor, lanes);
            for right in &right {
                let sum = steps.carried[next.len()];
                next.push(add(self, [factor, *right, sum], lanes));
            }
        }
        self.code.close(&steps, &next);
        steps.carried
    }
}
