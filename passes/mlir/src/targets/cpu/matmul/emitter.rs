//! What all functions of matrix products are made of: elements of the operands and the product, and loops over columns.

use mlir_sys::*;
use promote_lattice::{DType, Kind};
use promote_scalar::{Binary, Cast, Compare, Emit, Ty, memory};

use super::{Elements, Slot};
use crate::targets::cpu::emit::Lanes;
use crate::targets::cpu::kernel::Setting;
use crate::targets::llvm::{self, Register};
use crate::targets::llvm::{Code, LEAF, Loop, vector};

/// A function in the making.
pub(super) struct Emitter {
    pub(super) setting: Setting,
    pub(super) code: Code,
    pub(super) elements: Elements,
}

/// Lanes of a row, from a column on.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    /// The first of them.
    pub(super) first: MlirValue,
    /// How many lanes.
    pub(super) lanes: usize,
    /// Which of them are before the last column, if not all are.
    pub(super) mask: Option<MlirValue>,
}

impl Emitter {
    pub(super) fn new(setting: Setting, name: &str, location: MlirLocation, elements: Elements) -> Self {
        let types = setting.types;
        let arguments = [types.pointer, types.i64, types.i64];
        let mut code = Code::function(types, setting.module, location, name, (None, &arguments), LEAF);
        let start = code.new_block(&[]);
        code.branch(start, &[]);
        code.go_to(start);
        Self { setting, code, elements }
    }

    pub(super) fn word(&mut self, slot: Slot) -> MlirValue {
        let types = self.code.types;
        let place = self.code.index(slot as i64);
        let address = self.code.element(self.code.argument(0), place, types.i64, 1);
        let r#type = match slot {
            Slot::Left | Slot::Right | Slot::Packed | Slot::Product | Slot::IsOutside | Slot::Rooms => {
                types.pointer
            }
            Slot::M | Slot::K | Slot::N | Slot::Blocks => types.i64,
        };
        self.code.load(address, r#type, 8)
    }

    // Indices.

    pub(super) fn add(&mut self, x: MlirValue, y: MlirValue) -> MlirValue {
        self.code.int("llvm.add", x, y)
    }

    pub(super) fn sub(&mut self, x: MlirValue, y: MlirValue) -> MlirValue {
        self.code.int("llvm.sub", x, y)
    }

    pub(super) fn multiply(&mut self, x: MlirValue, y: MlirValue) -> MlirValue {
        self.code.int("llvm.mul", x, y)
    }

    pub(super) fn less(&mut self, x: MlirValue, y: MlirValue) -> MlirValue {
        self.code.int("llvm.intr.smin", x, y)
    }

    /// Whether one of two conditions is true.
    pub(super) fn either(&mut self, x: MlirValue, y: MlirValue) -> MlirValue {
        self.code.value("llvm.or", &[x, y], self.code.types.scalar(Ty::I1), &[])
    }

    /// An index past another.
    pub(super) fn plus(&mut self, x: MlirValue, y: i64) -> MlirValue {
        let y = self.code.index(y);
        self.add(x, y)
    }

    /// `x * y + z` indices.
    pub(super) fn place(&mut self, x: MlirValue, y: MlirValue, z: MlirValue) -> MlirValue {
        let product = self.multiply(x, y);
        self.add(product, z)
    }

    /// Opens a loop over the batches that units from `begin` to below `end` are of; its units in the batch at hand.
    pub(super) fn open_batches(&mut self, units: MlirValue) -> (Loop, [MlirValue; 2]) {
        let (begin, end) = (self.code.argument(1), self.code.argument(2));
        let (zero, less) = (self.code.index(0), self.plus(units, -1));
        // There may be no unit in a batch: then there is none at all.
        let one = self.code.index(1);
        let divisor = self.code.int("llvm.intr.smax", units, one);
        let past = self.add(end, less);
        let (from, to) =
            (self.code.int("llvm.sdiv", begin, divisor), self.code.int("llvm.sdiv", past, divisor));
        let batches = self.code.open((from, to, 1), &[]);
        let start = self.multiply(batches.index, units);
        let (from, to) = (self.sub(begin, start), self.sub(end, start));
        let range = [self.code.int("llvm.intr.smax", from, zero), self.less(to, units)];
        (batches, range)
    }

    /// A unit as its batch and its place in the batch.
    pub(super) fn decode(&mut self, unit: MlirValue, count: MlirValue) -> (MlirValue, MlirValue) {
        (self.code.int("llvm.udiv", unit, count), self.code.int("llvm.urem", unit, count))
    }

    // Elements.

    /// The type of products and sums in registers, which is the product's in memory, too.
    pub(super) const fn ty(&self) -> Ty {
        self.elements.ty
    }

    const fn size(&self) -> usize {
        self.elements.size()
    }

    pub(super) fn scalar(&self) -> MlirType {
        self.code.types.scalar(self.ty())
    }

    /// Where an element of an operand is.
    pub(super) fn of(&mut self, dtype: DType, base: MlirValue, index: MlirValue) -> MlirValue {
        let scalar = self.code.types.scalar(memory(dtype));
        self.code.element(base, index, scalar, 1)
    }

    /// Where an element of the type of products is.
    pub(super) fn at(&mut self, base: MlirValue, index: MlirValue) -> MlirValue {
        let scalar = self.scalar();
        self.code.element(base, index, scalar, 1)
    }

    pub(super) fn lanes(&mut self, lanes: usize) -> Lanes<'_> {
        let context = self.code.argument(0);
        Lanes { code: &mut self.code, lanes, has_f16: self.setting.machine.has_f16, context, place: None }
    }

    /// Nothing, in lanes.
    pub(super) fn zero(&mut self, lanes: usize) -> MlirValue {
        self.code.constant(self.elements.ty, 0, lanes)
    }

    /// Elements of the type of products.
    pub(super) fn load(&mut self, address: MlirValue, lanes: usize, mask: Option<MlirValue>) -> MlirValue {
        self.raw(self.ty(), address, (lanes, mask))
    }

    pub(super) fn raw(
        &mut self,
        ty: Ty,
        address: MlirValue,
        (lanes, mask): (usize, Option<MlirValue>),
    ) -> MlirValue {
        let (r#type, size) = (vector(self.code.types.scalar(ty), lanes), ty.bits() as usize / 8);
        let Some(mask) = mask else { return self.code.load(address, r#type, size) };
        let alignment = self.code.types.int(self.code.types.i32, size as i64);
        let nothing = self.code.constant(ty, 0, lanes);
        let operands = [address, mask, nothing];
        self.code.value("llvm.intr.masked.load", &operands, r#type, &[("alignment", alignment)])
    }

    /// Elements of an operand, converted to the type of products.
    pub(super) fn operand(
        &mut self,
        dtype: DType,
        address: MlirValue,
        (lanes, mask): (usize, Option<MlirValue>),
    ) -> MlirValue {
        let raw = self.raw(memory(dtype), address, (lanes, mask));
        let to = self.ty();
        let mut e = self.lanes(lanes);
        let own = promote_scalar::load(&mut e, dtype, Register { value: raw, ty: memory(dtype) });
        let cast = match dtype.kind() {
            Kind::Signed => Cast::SExt,
            Kind::Unsigned => Cast::ZExt,
            Kind::Float => Cast::FExt,
            Kind::Bool | Kind::Complex => unreachable!("such are not converted here"),
        };
        if own.ty == to { own.value } else { e.cast(cast, own, to).value }
    }

    pub(super) fn store(&mut self, value: MlirValue, address: MlirValue, mask: Option<MlirValue>) {
        let Some(mask) = mask else { return self.code.store(value, address, self.size()) };
        let alignment = self.code.types.int(self.code.types.i32, self.size() as i64);
        self.code.op("llvm.intr.masked.store", &[value, address, mask], &[], &[("alignment", alignment)]);
    }

    pub(super) fn splat(&mut self, scalar: MlirValue, lanes: usize) -> MlirValue {
        let ty = self.ty();
        llvm::splat(&mut self.code, Register { value: scalar, ty }, lanes).value
    }

    /// `x * y + sum`, in the arithmetic of the product: the one place where it is decided how that is rounded.
    pub(super) fn accumulate(&mut self, [x, y, sum]: [MlirValue; 3], lanes: usize) -> MlirValue {
        let (ty, has_fma) = (self.ty(), self.setting.machine.has_fma);
        let [x, y, sum] = [x, y, sum].map(|value| Register { value, ty });
        let mut e = self.lanes(lanes);
        let sum = match (ty.is_float(), has_fma) {
            (true, true) => e.fma(x, y, sum),
            (true, false) => {
                let product = e.binary(Binary::FMul, x, y);
                e.binary(Binary::FAdd, product, sum)
            }
            (false, _) => {
                let product = e.binary(Binary::Mul, x, y);
                e.binary(Binary::Add, product, sum)
            }
        };
        sum.value
    }

    /// Stores sums, or adds them to what is there. What is there the first time is anything.
    pub(super) fn put(
        &mut self,
        sum: MlirValue,
        address: MlirValue,
        (lanes, mask): (usize, Option<MlirValue>),
        is_first: MlirValue,
    ) {
        let ty = self.ty();
        let old = self.load(address, lanes, mask);
        let nothing = self.zero(lanes);
        let old = self.code.select(is_first, nothing, old);
        let add = if ty.is_float() { Binary::FAdd } else { Binary::Add };
        let [old, sum] = [old, sum].map(|value| Register { value, ty });
        let sum = self.lanes(lanes).binary(add, old, sum).value;
        self.store(sum, address, mask);
    }

    // Columns.

    /// Which lanes are below a number.
    pub(super) fn mask(&mut self, count: MlirValue, lanes: usize) -> MlirValue {
        // Numbers as wide as the elements: there are fewer lanes than these count.
        let ty = Ty::integer(8 * self.size() as u32);
        let (least, most) = (self.code.index(0), self.code.index(lanes as i64));
        let count = self.less(count, most);
        let count = self.code.int("llvm.intr.smax", count, least);
        let count = match ty {
            Ty::I64 => count,
            _ => self.code.value("llvm.trunc", &[count], self.code.types.scalar(ty), &[]),
        };
        let count = llvm::splat(&mut self.code, Register { value: count, ty }, lanes);
        let r#type = self.code.types.lanes(ty, lanes);
        let numbers = self.code.value("llvm.intr.stepvector", &[], r#type, &[]);
        let numbers = Register { value: numbers, ty };
        self.lanes(lanes).compare(Compare::LtS, numbers, count).value
    }

    /// Does something with each vector of columns below `count`. Where there are no masks, what remains goes one by one.
    pub(super) fn each_vector(&mut self, count: MlirValue, body: impl Fn(&mut Self, Columns)) {
        let (zero, lanes) = (self.code.index(0), self.elements.lanes(self.setting.machine));
        if self.setting.machine.has_masks() {
            let columns = self.code.open((zero, count, lanes as i64), &[]);
            let rest = self.sub(count, columns.index);
            let mask = self.mask(rest, lanes);
            body(self, Columns { first: columns.index, lanes, mask: Some(mask) });
            self.code.close(&columns, &[]);
            return;
        }
        let width = self.code.index(lanes as i64);
        let rest = self.code.int("llvm.urem", count, width);
        let whole = self.sub(count, rest);
        for (from, to, lanes) in [(zero, whole, lanes), (whole, count, 1)] {
            let columns = self.code.open((from, to, lanes as i64), &[]);
            body(self, Columns { first: columns.index, lanes, mask: None });
            self.code.close(&columns, &[]);
        }
    }
}
