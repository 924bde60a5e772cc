//! Products of bytes, four terms of a sum in an instruction.
//!
//! An element of packed matrices holds four terms. The instruction (`vpdpbusd`) multiplies bytes without a sign by bytes with a
//! sign and adds four products to an `i32`, all exactly but for what wraps there.
//!
//! ## Laws
//! - The left operand is taken as what it is. The right one is taken as the other: if both have a sign, or none, the bytes of
//!   the right one are packed with their highest bit flipped. So taken, they are off by what the byte `0x80` stands for, and
//!   sums are off by as often the sum of the left terms: [sums start](Emitter::first_sums) with minus that.
//! - Terms beyond the last are zero in packed rows. What they are in panels does not matter.

use mlir_sys::*;
use promote_lattice::{DType, Kind};
use promote_scalar::{Binary, Cast, Emit, Ty};

use super::emitter::Emitter;
use crate::raw;
use crate::targets::cpu::target::Machine;
use crate::targets::llvm::Predicate;
use crate::targets::llvm::Register;
use promote_lower::order::PRODUCTS;

/// How many terms the instruction adds.
pub(super) const TERMS: i64 = 4;
/// How many sums.
const LANES: usize = 16;
/// Its name in LLVM.
const INSTRUCTION: &str = "llvm.x86.avx512.vpdpbusd.512";
/// Flips the highest bits of four bytes.
const FLIPPED: u64 = 0x8080_8080;

/// Whether products of such elements, in registers of this type, are computed so.
pub(super) fn suits(machine: Machine, operands: [DType; 2], ty: Ty) -> bool {
    let is_byte = |dtype: DType| match dtype.kind() {
        Kind::Unsigned | Kind::Signed => dtype.bits() == 8,
        Kind::Bool | Kind::Float | Kind::Complex => false,
    };
    machine.has_vnni && machine.has_masks() && ty == Ty::I32 && operands.into_iter().all(is_byte)
}

impl Emitter {
    /// How many elements of packed matrices so many terms are.
    pub(super) fn depth(&mut self, terms: MlirValue) -> MlirValue {
        let at_once = self.elements.terms;
        if at_once == 1 {
            return terms;
        }
        let (past, by) = (self.plus(terms, at_once - 1), self.code.index(at_once));
        self.code.int("llvm.udiv", past, by)
    }

    /// Where the rows of the right matrix start that an element of a panel is made of; one beyond the last is the last.
    pub(super) fn right_rows(
        &mut self,
        source: MlirValue,
        element: MlirValue,
        (k, n): (MlirValue, MlirValue),
    ) -> Vec<MlirValue> {
        let (right, at_once) = (self.elements.right, self.elements.terms);
        let by = self.code.index(at_once);
        let first = self.multiply(element, by);
        let last = self.plus(k, -1);
        let starts = (0..at_once).map(|term| {
            let row = self.plus(first, term);
            let row = if term == 0 { row } else { self.less(row, last) };
            let from = self.multiply(row, n);
            self.of(right, source, from)
        });
        starts.collect()
    }

    /// Elements of a panel, from a column on.
    pub(super) fn right_terms(
        &mut self,
        starts: &[MlirValue],
        column: i64,
        (lanes, mask): (usize, Option<MlirValue>),
    ) -> MlirValue {
        let right = self.elements.right;
        let column = self.code.index(column);
        let addresses: Vec<_> = starts.iter().map(|start| self.of(right, *start, column)).collect();
        if let [address] = addresses.as_slice() {
            return self.operand(right, *address, (lanes, mask));
        }
        let bytes: Vec<_> =
            addresses.into_iter().map(|address| self.raw(Ty::I8, address, (lanes, mask))).collect();
        let all = self.joined(&bytes, lanes);
        if !self.is_flipped() {
            return all;
        }
        let flip = self.code.constant(Ty::I32, FLIPPED, lanes);
        self.code.value("llvm.xor", &[all, flip], raw::value_type(all), &[])
    }

    /// Packs rows, four terms of each after another.
    pub(super) fn pack_rows_by_four(&mut self, starts: &[MlirValue], packed: MlirValue, length: MlirValue) {
        let (zero, by) = (self.code.index(0), self.code.index(TERMS));
        let (whole, all) = (self.code.int("llvm.udiv", length, by), self.depth(length));
        let word = self.scalar();
        self.each_element(starts, packed, (zero, whole), |m, start, first| {
            let from = m.of(m.elements.left, start, first);
            m.code.load(from, word, 1)
        });
        self.each_element(starts, packed, (whole, all), |m, start, first| {
            let last = m.plus(length, -1);
            let nothing = m.code.constant(Ty::I8, 0, 1);
            let bytes: Vec<_> = (0..TERMS)
                .map(|term| {
                    let place = m.plus(first, term);
                    let (inside, is_inside) =
                        (m.less(place, last), m.code.compare(Predicate::Sle, place, last));
                    let from = m.of(m.elements.left, start, inside);
                    let byte = m.raw(Ty::I8, from, (1, None));
                    m.code.select(is_inside, byte, nothing)
                })
                .collect();
            m.joined(&bytes, 1)
        });
        self.negated_offsets(packed, (starts.len() as i64, all));
    }

    /// Stores some of the elements that each packed row has: what is made of the start of the row and the first term.
    fn each_element(
        &mut self,
        starts: &[MlirValue],
        packed: MlirValue,
        (from, to): (MlirValue, MlirValue),
        element: impl Fn(&mut Self, MlirValue, MlirValue) -> MlirValue,
    ) {
        let (by, height) = (self.code.index(TERMS), self.code.index(starts.len() as i64));
        let steps = self.code.open((from, to, 1), &[]);
        let (first, target) = (self.multiply(steps.index, by), self.multiply(steps.index, height));
        for (row, start) in starts.iter().enumerate() {
            let value = element(self, *start, first);
            let to = self.plus(target, row as i64);
            let to = self.at(packed, to);
            self.store(value, to, None);
        }
        self.code.close(&steps, &[]);
    }

    /// Four bytes as one number, in lanes.
    fn joined(&mut self, bytes: &[MlirValue], lanes: usize) -> MlirValue {
        let mut e = self.lanes(lanes);
        let wide = bytes.iter().zip(0..).map(|(byte, number)| {
            let wide = e.cast(Cast::ZExt, Register { value: *byte, ty: Ty::I8 }, Ty::I32);
            let by = e.int(Ty::I32, 8 * number);
            e.binary(Binary::Shl, wide, by)
        });
        let wide: Vec<_> = wide.collect();
        let joined = wide.into_iter().reduce(|all, one| e.binary(Binary::Or, all, one));
        let Some(joined) = joined else { unreachable!("there are four bytes") };
        joined.value
    }

    /// Whether the bytes of panels have their highest bit flipped.
    fn is_flipped(&self) -> bool {
        self.elements.terms > 1 && self.elements.left.kind() == self.elements.right.kind()
    }

    /// How much room the sums take that are first, after the packed rows, and what is read beyond these.
    pub(super) const fn first_sums_room(&self) -> i64 {
        if self.elements.terms > 1 { LANES as i64 } else { 0 }
    }

    /// Where the sums are that are first.
    fn first_sums_at(&mut self, packed: MlirValue, rows: i64) -> MlirValue {
        let place = self.code.index(PRODUCTS * rows);
        self.at(packed, place)
    }

    /// Stores, for each packed row, what its sums start with.
    fn negated_offsets(&mut self, packed: MlirValue, (rows, depth): (i64, MlirValue)) {
        if !self.is_flipped() {
            return;
        }
        // Lanes beyond the rows hold anything.
        let (zero, nothing) = (self.code.index(0), self.zero(LANES));
        let flipped = self.code.constant(Ty::I32, FLIPPED, LANES);
        let steps = self.code.open((zero, depth, 1), &[nothing]);
        let height = self.code.index(rows);
        let from = self.multiply(steps.index, height);
        let from = self.at(packed, from);
        let left = self.load(from, LANES, None);
        let sum = self.add_terms([left, flipped, steps.carried[0]], LANES);
        self.code.close(&steps, &[sum]);
        let offset = steps.carried[0];
        let negated = self.code.value("llvm.sub", &[nothing, offset], raw::value_type(offset), &[]);
        let to = self.first_sums_at(packed, rows);
        self.store(negated, to, None);
    }

    /// What the sums of a tile with packed rows start with: row by row, vector by vector.
    pub(super) fn first_sums(
        &mut self,
        packed: MlirValue,
        (rows, vectors): (i64, usize),
        lanes: usize,
    ) -> Vec<MlirValue> {
        if !self.is_flipped() {
            return vec![self.zero(lanes); rows as usize * vectors];
        }
        let from = self.first_sums_at(packed, rows);
        let of_rows = (0..rows).map(|row| {
            let row = self.code.index(row);
            let from = self.at(from, row);
            let sum = self.load(from, 1, None);
            self.splat(sum, lanes)
        });
        of_rows.collect::<Vec<_>>().into_iter().flat_map(|sum| vec![sum; vectors]).collect()
    }

    /// Adds the products of packed terms to sums.
    pub(super) fn add_terms(&mut self, [left, right, sum]: [MlirValue; 3], lanes: usize) -> MlirValue {
        if self.elements.terms == 1 {
            return self.accumulate([left, right, sum], lanes);
        }
        let types = self.code.types;
        let bytes = types.lanes(Ty::I8, lanes * TERMS as usize);
        let [left, right] = [left, right].map(|words| self.code.value("llvm.bitcast", &[words], bytes, &[]));
        let [unsigned, signed] = match self.elements.left.kind() {
            Kind::Signed => [right, left],
            Kind::Unsigned => [left, right],
            Kind::Bool | Kind::Float | Kind::Complex => unreachable!("such are not multiplied by four"),
        };
        let attributes = [
            ("intrin", types.parse(&format!("\"{INSTRUCTION}\""))),
            ("op_bundle_sizes", types.parse("array<i32>")),
            ("operandSegmentSizes", types.parse("array<i32: 3, 0>")),
        ];
        let operands = [sum, unsigned, signed];
        self.code.value("llvm.call_intrinsic", &operands, raw::value_type(sum), &attributes)
    }
}
