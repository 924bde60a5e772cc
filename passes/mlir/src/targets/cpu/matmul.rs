//! Products of large matrices of floats, and of integers, which wrap.
//!
//! ## Algorithm
//! The right operand is packed into panels as wide as two vectors, each a contiguous `[k, width]`, so that it is read in
//! order. Then some rows of the left operand at a time are packed, too, and multiplied with one panel after another: the
//! tile of the result stays in registers while the panel streams through. Long sums are cut where the packed rows would
//! leave the first-level cache. What of a panel lies beyond the last column is zero, and not stored.
//!
//! Both are functions `void @name(environment, begin, end)` over units, as kernels are; the environment holds
//! [`SLOTS`] words.

use mlir_sys::*;
use promote_scalar::{Binary, Emit, Ty};

use super::costs::SUMMED_BLOCK;
use super::emit::{self, Lanes, Register};
use super::kernel::Setting;
use super::llvm::{Code, Predicate, vector};
use super::target::Machine;

/// What the environments of both functions hold: the matrices, then their extents.
#[derive(Clone, Copy, Debug)]
#[repr(i64)]
enum Slot {
    Left,
    Right,
    Packed,
    Product,
    /// Rows.
    M,
    /// What is summed over.
    K,
    /// Columns.
    N,
    /// Panels.
    Panels,
    /// Blocks of rows.
    Blocks,
}

/// How many words the environments hold.
pub const SLOTS: i64 = 9;

/// The tile of the result that stays in registers.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// Its rows.
    pub rows: i64,
    /// Its columns: the width of a panel.
    pub columns: i64,
    /// The lanes of a vector.
    lanes: usize,
}

impl Tile {
    /// The tile for elements of a type: it takes most of the registers, but leaves some for the operands.
    pub const fn new(machine: Machine, ty: Ty) -> Self {
        let lanes = machine.vector_bytes / (ty.bits() as usize / 8);
        let rows = if machine.vector_registers >= 32 { 12 } else { 6 };
        Self { rows, columns: 2 * lanes as i64, lanes }
    }

    const fn vectors(&self) -> usize {
        self.columns as usize / self.lanes
    }
}

struct MatmulEmitter {
    setting: Setting,
    code: Code,
    tile: Tile,
    ty: Ty,
}

impl MatmulEmitter {
    fn new(setting: Setting, name: &str, location: MlirLocation, ty: Ty) -> Self {
        let types = setting.types;
        let arguments = [types.pointer, types.i64, types.i64];
        let mut code = Code::function(types, setting.module, location, name, (None, &arguments));
        let start = code.new_block(&[]);
        code.branch(start, &[]);
        code.go_to(start);
        Self { setting, code, tile: Tile::new(setting.machine, ty), ty }
    }

    fn size(&self) -> usize {
        self.ty.bits() as usize / 8
    }

    fn scalar(&self) -> MlirType {
        self.code.types.scalar(self.ty)
    }

    fn word(&mut self, slot: Slot) -> MlirValue {
        let types = self.code.types;
        let place = self.code.index(slot as i64);
        let address = self.code.element(self.code.argument(0), place, types.i64, 1);
        let r#type = match slot {
            Slot::Left | Slot::Right | Slot::Packed | Slot::Product => types.pointer,
            Slot::M | Slot::K | Slot::N | Slot::Panels | Slot::Blocks => types.i64,
        };
        self.code.load(address, r#type, 8)
    }

    fn add(&mut self, x: MlirValue, y: MlirValue) -> MlirValue {
        self.code.int("llvm.add", x, y)
    }

    fn multiply(&mut self, x: MlirValue, y: MlirValue) -> MlirValue {
        self.code.int("llvm.mul", x, y)
    }

    fn less(&mut self, x: MlirValue, y: MlirValue) -> MlirValue {
        self.code.int("llvm.intr.smin", x, y)
    }

    /// `x * y + z` indices.
    fn place(&mut self, x: MlirValue, y: MlirValue, z: MlirValue) -> MlirValue {
        let product = self.multiply(x, y);
        self.add(product, z)
    }

    fn at(&mut self, base: MlirValue, index: MlirValue) -> MlirValue {
        let scalar = self.scalar();
        self.code.element(base, index, scalar, 1)
    }

    fn load(&mut self, address: MlirValue, lanes: usize) -> MlirValue {
        let r#type = vector(self.scalar(), lanes);
        self.code.load(address, r#type, self.size())
    }

    fn store(&mut self, value: MlirValue, address: MlirValue) {
        self.code.store(value, address, self.size());
    }

    fn lanes(&mut self, lanes: usize) -> Lanes<'_> {
        let context = self.code.argument(0);
        Lanes { code: &mut self.code, lanes, has_f16: self.setting.machine.has_f16, context, place: None }
    }

    fn plus(&mut self, x: MlirValue, y: MlirValue, lanes: usize) -> MlirValue {
        let ty = self.ty;
        let add = if ty.is_float() { Binary::FAdd } else { Binary::Add };
        self.lanes(lanes).binary(add, Register { value: x, ty }, Register { value: y, ty }).value
    }

    /// A unit as its batch and its place in the batch.
    fn decode(&mut self, unit: MlirValue, count: MlirValue) -> (MlirValue, MlirValue) {
        (self.code.int("llvm.udiv", unit, count), self.code.int("llvm.urem", unit, count))
    }
}

/// Compiles the function that packs panels of the right operand: a unit is a panel of a batch.
pub fn pack(setting: Setting, name: &str, location: MlirLocation, ty: Ty) {
    let mut m = MatmulEmitter::new(setting, name, location, ty);
    let (right, packed) = (m.word(Slot::Right), m.word(Slot::Packed));
    let (k, n, panels) = (m.word(Slot::K), m.word(Slot::N), m.word(Slot::Panels));
    let (begin, end, zero) = (m.code.argument(1), m.code.argument(2), m.code.index(0));
    let width = m.code.index(m.tile.columns);
    let units = m.code.open((begin, end, 1), &[]);
    let (batch, panel) = m.decode(units.index, panels);
    let (matrix, all) = (m.multiply(k, n), m.multiply(k, width));
    let of_batch = m.multiply(batch, matrix);
    let source = m.at(right, of_batch);
    let of_unit = m.multiply(units.index, all);
    let target = m.at(packed, of_unit);
    let first = m.multiply(panel, width);
    let rest = m.code.int("llvm.sub", n, first);
    let is_whole = m.code.compare(Predicate::Sge, rest, width);
    let (whole, part, after) = (m.code.new_block(&[]), m.code.new_block(&[]), m.code.new_block(&[]));
    m.code.branch_if(is_whole, (whole, &[]), (part, &[]));

    m.code.go_to(whole);
    let rows = m.code.open((zero, k, 1), &[]);
    let (from, to) = (m.place(rows.index, n, first), m.multiply(rows.index, width));
    let (from, to) = (m.at(source, from), m.at(target, to));
    let value = m.load(from, m.tile.columns as usize);
    m.store(value, to);
    m.code.close(&rows, &[]);
    m.code.branch(after, &[]);

    m.code.go_to(part);
    let rows = m.code.open((zero, k, 1), &[]);
    let columns = m.code.open((zero, width, 1), &[]);
    // A column beyond the last one is read where there is one, and not used.
    let one = m.code.index(1);
    let last = m.code.int("llvm.sub", rest, one);
    let inside = m.less(columns.index, last);
    let from = m.place(rows.index, n, first);
    let from = m.add(from, inside);
    let to = m.place(rows.index, width, columns.index);
    let (from, to) = (m.at(source, from), m.at(target, to));
    let (value, nothing) = (m.load(from, 1), m.code.constant(ty, 0, 1));
    let is_inside = m.code.compare(Predicate::Slt, columns.index, rest);
    let value = m.code.select(is_inside, value, nothing);
    m.store(value, to);
    m.code.close(&columns, &[]);
    m.code.close(&rows, &[]);
    m.code.branch(after, &[]);

    m.code.go_to(after);
    m.code.close(&units, &[]);
    m.code.r#return(None);
}

/// Compiles the function that multiplies: a unit is a block of rows of a batch.
pub fn multiply(setting: Setting, name: &str, location: MlirLocation, ty: Ty) {
    let mut m = MatmulEmitter::new(setting, name, location, ty);
    let (left, packed, product) = (m.word(Slot::Left), m.word(Slot::Packed), m.word(Slot::Product));
    let (rows, k, n) = (m.word(Slot::M), m.word(Slot::K), m.word(Slot::N));
    let (panels, blocks) = (m.word(Slot::Panels), m.word(Slot::Blocks));
    let (begin, end, zero, one) = (m.code.argument(1), m.code.argument(2), m.code.index(0), m.code.index(1));
    let (width, height) = (m.code.index(m.tile.columns), m.code.index(m.tile.rows));
    let scalar = m.scalar();
    let packed_rows = m.code.stack(scalar, SUMMED_BLOCK * m.tile.rows, 64);
    let room = m.code.stack(scalar, m.tile.rows * m.tile.columns, 64);

    let units = m.code.open((begin, end, 1), &[]);
    let (batch, block) = m.decode(units.index, blocks);
    let first = m.multiply(block, height);
    let (of_left, of_packed, of_product) = (m.multiply(rows, k), m.multiply(panels, k), m.multiply(rows, n));
    let of_left = m.multiply(batch, of_left);
    let left = m.at(left, of_left);
    let of_packed = m.multiply(of_packed, width);
    let of_packed = m.multiply(batch, of_packed);
    let packed = m.at(packed, of_packed);
    let of_product = m.multiply(batch, of_product);
    let product = m.at(product, of_product);

    // A sum of nothing is a part, too: it stores zeros.
    let sums = m.code.int("llvm.intr.smax", k, one);
    let parts = m.code.open((zero, sums, SUMMED_BLOCK), &[]);
    let rest = m.code.int("llvm.sub", k, parts.index);
    let length = m.code.index(SUMMED_BLOCK);
    let length = m.less(rest, length);
    m.pack_rows((left, packed_rows), (first, rows), (parts.index, length, k));
    let is_first = m.code.compare(Predicate::Eq, parts.index, zero);

    let columns = m.code.open((zero, panels, 1), &[]);
    let (of_panel, of_part) = (m.multiply(k, width), m.multiply(parts.index, width));
    let from = m.place(columns.index, of_panel, of_part);
    let panel = m.at(packed, from);
    let sums = m.tile_of(packed_rows, panel, length);
    let column = m.multiply(columns.index, width);
    let count = m.code.int("llvm.sub", n, column);
    let is_whole = m.code.compare(Predicate::Sge, count, width);
    let (whole, part, after) = (m.code.new_block(&[]), m.code.new_block(&[]), m.code.new_block(&[]));
    m.code.branch_if(is_whole, (whole, &[]), (part, &[]));
    m.code.go_to(whole);
    m.put(&sums, product, (first, rows), (column, n), is_first);
    m.code.branch(after, &[]);
    m.code.go_to(part);
    m.put_part(&sums, room, product, (first, rows), (column, n), is_first);
    m.code.branch(after, &[]);
    m.code.go_to(after);
    m.code.close(&columns, &[]);
    m.code.close(&parts, &[]);
    m.code.close(&units, &[]);
    m.code.r#return(None);
}

impl MatmulEmitter {
    /// Packs rows from `first` on, one element of each after another; a row beyond the last is the last.
    fn pack_rows(
        &mut self,
        (left, packed): (MlirValue, MlirValue),
        (first, rows): (MlirValue, MlirValue),
        (start, length, k): (MlirValue, MlirValue, MlirValue),
    ) {
        let (zero, one) = (self.code.index(0), self.code.index(1));
        let last = self.code.int("llvm.sub", rows, one);
        let height = self.code.index(self.tile.rows);
        let sources: Vec<_> = (0..self.tile.rows)
            .map(|row| {
                let row = self.code.index(row);
                let row = self.add(first, row);
                let row = self.less(row, last);
                let from = self.place(row, k, start);
                self.at(left, from)
            })
            .collect();
        let steps = self.code.open((zero, length, 1), &[]);
        for (row, source) in sources.into_iter().enumerate() {
            let from = self.at(source, steps.index);
            let value = self.load(from, 1);
            let row = self.code.index(row as i64);
            let to = self.place(steps.index, height, row);
            let to = self.at(packed, to);
            self.store(value, to);
        }
        self.code.close(&steps, &[]);
    }

    /// The tile of the product: row by row, vector by vector.
    fn tile_of(&mut self, rows: MlirValue, panel: MlirValue, length: MlirValue) -> Vec<MlirValue> {
        let (tile, ty, lanes) = (self.tile, self.ty, self.tile.lanes);
        let nothing = self.code.constant(ty, 0, lanes);
        let start = vec![nothing; tile.rows as usize * tile.vectors()];
        let zero = self.code.index(0);
        let steps = self.code.open((zero, length, 1), &start);
        let (height, width) = (self.code.index(tile.rows), self.code.index(tile.columns));
        let from = self.multiply(steps.index, width);
        let right: Vec<_> = (0..tile.vectors())
            .map(|number| {
                let place = self.code.index((number * lanes) as i64);
                let place = self.add(from, place);
                let address = self.at(panel, place);
                self.load(address, lanes)
            })
            .collect();
        let from = self.multiply(steps.index, height);
        let mut next = Vec::with_capacity(start.len());
        for row in 0..tile.rows {
            let place = self.code.index(row);
            let place = self.add(from, place);
            let address = self.at(rows, place);
            let factor = Register { value: self.load(address, 1), ty };
            let factor = emit::splat(&mut self.code, factor, lanes);
            for right in &right {
                let sum = Register { value: steps.carried[next.len()], ty };
                let right = Register { value: *right, ty };
                let has_fma = self.setting.machine.has_fma;
                let mut e = self.lanes(lanes);
                let sum = match (ty.is_float(), has_fma) {
                    (true, true) => e.fma(factor, right, sum),
                    (true, false) => {
                        let product = e.binary(Binary::FMul, factor, right);
                        e.binary(Binary::FAdd, product, sum)
                    }
                    (false, _) => {
                        let product = e.binary(Binary::Mul, factor, right);
                        e.binary(Binary::Add, product, sum)
                    }
                };
                next.push(sum.value);
            }
        }
        self.code.close(&steps, &next);
        steps.carried
    }

    /// Stores a tile of whole vectors, or adds it to what is there.
    fn put(
        &mut self,
        sums: &[MlirValue],
        product: MlirValue,
        (first, rows): (MlirValue, MlirValue),
        (column, n): (MlirValue, MlirValue),
        is_first: MlirValue,
    ) {
        let lanes = self.tile.lanes;
        for (row, sums) in sums.chunks(self.tile.vectors()).enumerate() {
            let row = self.code.index(row as i64);
            let row = self.add(first, row);
            let is_inside = self.code.compare(Predicate::Slt, row, rows);
            let (inside, after) = (self.code.new_block(&[]), self.code.new_block(&[]));
            self.code.branch_if(is_inside, (inside, &[]), (after, &[]));
            self.code.go_to(inside);
            let from = self.place(row, n, column);
            for (number, sum) in sums.iter().enumerate() {
                let place = self.code.index((number * lanes) as i64);
                let place = self.add(from, place);
                let address = self.at(product, place);
                self.put_sum(*sum, address, lanes, is_first);
            }
            self.code.branch(after, &[]);
            self.code.go_to(after);
        }
    }

    /// Stores a sum, or adds it to what is there. What is there the first time is anything.
    fn put_sum(&mut self, sum: MlirValue, address: MlirValue, lanes: usize, is_first: MlirValue) {
        let old = self.load(address, lanes);
        let nothing = self.code.constant(self.ty, 0, lanes);
        let old = self.code.select(is_first, nothing, old);
        let sum = self.plus(old, sum, lanes);
        self.store(sum, address);
    }

    /// Stores what of a tile lies before the last column.
    fn put_part(
        &mut self,
        sums: &[MlirValue],
        room: MlirValue,
        product: MlirValue,
        (first, rows): (MlirValue, MlirValue),
        (column, n): (MlirValue, MlirValue),
        is_first: MlirValue,
    ) {
        for (number, sum) in sums.iter().enumerate() {
            let place = self.code.index((number * self.tile.lanes) as i64);
            let address = self.at(room, place);
            self.store(*sum, address);
        }
        let (zero, height) = (self.code.index(0), self.code.index(self.tile.rows));
        let width = self.code.index(self.tile.columns);
        let count = self.code.int("llvm.sub", n, column);
        let below = self.code.int("llvm.sub", rows, first);
        let below = self.less(below, height);
        let down = self.code.open((zero, below, 1), &[]);
        let across = self.code.open((zero, count, 1), &[]);
        let from = self.place(down.index, width, across.index);
        let from = self.at(room, from);
        let sum = self.load(from, 1);
        let row = self.add(first, down.index);
        let to = self.place(row, n, column);
        let to = self.add(to, across.index);
        let address = self.at(product, to);
        self.put_sum(sum, address, 1, is_first);
        self.code.close(&across, &[]);
        self.code.close(&down, &[]);
    }
}

/// What the environment holds, in order.
pub struct Environment {
    /// The operands and the result: contiguous batches of matrices.
    pub left: MlirValue,
    /// See above.
    pub right: MlirValue,
    /// Room for the packed right operand.
    pub packed: MlirValue,
    /// See above.
    pub product: MlirValue,
    /// Rows, what is summed over, and columns.
    pub extents: [MlirValue; 3],
    /// Panels of the right operand, and blocks of rows of the left one.
    pub counts: [MlirValue; 2],
}

impl Environment {
    /// Writes it to memory; where it is.
    pub fn write(&self, code: &mut Code) -> MlirValue {
        let i64 = code.types.i64;
        let room = code.stack(i64, SLOTS, 8);
        let [m, k, n] = self.extents;
        let [panels, blocks] = self.counts;
        let words = [
            (Slot::Left, self.left),
            (Slot::Right, self.right),
            (Slot::Packed, self.packed),
            (Slot::Product, self.product),
            (Slot::M, m),
            (Slot::K, k),
            (Slot::N, n),
            (Slot::Panels, panels),
            (Slot::Blocks, blocks),
        ];
        for (slot, value) in words {
            let place = code.index(slot as i64);
            let address = code.element(room, place, i64, 1);
            code.store(value, address, 8);
        }
        room
    }
}
