//! Products of bytes, four terms of a sum in an instruction.
//!
//! The instruction (`vpdpbusd`) multiplies bytes without a sign by bytes with a sign and adds four products to an `i32`, all
//! exactly but for what wraps there.
//!
//! ## Laws
//! - The left operand is taken as what it is. The right one is taken as the other: if both have a sign, or none, the bytes of
//!   the right one are packed with their highest bit flipped. So taken, they are off by what the byte `0x80` stands for, and
//!   sums are off by as often the sum of the left terms: [sums start](Emitter::first_sums) with minus that.
//! - Terms beyond the last are zero in packed rows. What they are in panels does not matter.

use mlir_sys::*;
use promote_lattice::Kind;
use promote_lower::order::PRODUCTS;
use promote_scalar::Ty;

use super::emitter::Emitter;
use super::terms::Terms;
use crate::raw;

/// How many sums the instruction adds to.
pub(super) const LANES: usize = 16;
/// Its name in LLVM.
const INSTRUCTION: &str = "llvm.x86.avx512.vpdpbusd.512";
/// Flips the highest bits of four bytes.
const FLIPPED: u64 = 0x8080_8080;

impl Emitter {
    /// Whether the bytes of panels have their highest bit flipped.
    fn is_flipped(&self) -> bool {
        self.elements.terms == Terms::Fours && self.elements.left.kind() == self.elements.right.kind()
    }

    /// Elements of panels as they are stored.
    pub(super) fn flipped(&mut self, bytes: MlirValue, lanes: usize) -> MlirValue {
        if !self.is_flipped() {
            return bytes;
        }
        let flip = self.code.constant(Ty::I32, FLIPPED, lanes);
        self.code.value("llvm.xor", &[bytes, flip], raw::value_type(bytes), &[])
    }

    /// Where the sums are that are first.
    fn first_sums_at(&mut self, packed: MlirValue, rows: i64) -> MlirValue {
        let place = self.code.index(PRODUCTS * rows);
        self.at(packed, place)
    }

    /// Stores, for each packed row, what its sums start with.
    pub(super) fn negated_offsets(&mut self, packed: MlirValue, (rows, depth): (i64, MlirValue)) {
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
        let sum = self.add_fours([left, flipped, steps.carried[0]], LANES);
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

    /// Adds the products of bytes to sums, four to each.
    pub(super) fn add_fours(&mut self, [left, right, sum]: [MlirValue; 3], lanes: usize) -> MlirValue {
        let bytes = self.code.types.lanes(Ty::I8, lanes * Terms::Fours.number() as usize);
        let [left, right] = [left, right].map(|words| self.code.value("llvm.bitcast", &[words], bytes, &[]));
        let [unsigned, signed] = match self.elements.left.kind() {
            Kind::Signed => [right, left],
            Kind::Unsigned => [left, right],
            Kind::Bool | Kind::Float | Kind::Complex => unreachable!("such are not multiplied by four"),
        };
        self.intrinsic(INSTRUCTION, [sum, unsigned, signed])
    }
}
