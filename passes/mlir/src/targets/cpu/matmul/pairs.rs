//! Products of `bf16`, two terms of a sum in an instruction.
//!
//! The instruction (`vdpbf16ps`) multiplies and adds twice, rounding the sum of an `f32` each time as a fused multiply-add does:
//! first what is in the upper halves, then what is in the lower ones. So it computes the bits of two such instructions in order,
//! as long as it sees no number that it takes otherwise: it takes subnormal numbers for zeros, of operands and sums. (That is how
//! Intel's manual defines it, and what processors of AMD were seen to do. It rounds to the nearest even, whatever the mode that
//! other instructions are in.)
//!
//! ## Laws
//! - Where all elements of packed rows and of a panel are zeros or [neither tiny nor huge](LEAST), it is used; elsewhere there
//!   are two fused multiply-adds. The bits are the same; which of several NaNs a sum is, is left open.
//! - Terms beyond the last are zero, in packed rows and in panels.

use mlir_sys::*;
use promote_scalar::{Binary, Cast, Emit, Ty};

use super::Slot;
use super::emitter::Emitter;
use crate::targets::llvm::{Predicate, Register};

/// Its name in LLVM.
const INSTRUCTION: &str = "llvm.x86.avx512bf16.dpbf16ps.512";
/// The bits of 2⁻⁵⁶, the least magnitude but zero. Elements are multiples of 2⁻⁶³ then, products and their sums of 2⁻¹²⁶, also
/// where these are rounded: none is subnormal.
const LEAST: u64 = (127 - 56) << 7;
/// The bits of 2⁵⁷, which magnitudes are below. Products are below 2¹¹⁴ then, and the sums of a
/// [block](promote_lower::order::PRODUCTS) of them below 2¹²³: none is infinite.
const BEYOND: u64 = (127 + 57) << 7;

/// What leaves the upper half of 32 bits.
const UPPER_HALF: i64 = -(1 << 16);

/// The range of the magnitudes of elements, lane by lane, as a loop carries it. A magnitude is bits shifted left by one, which leaves
/// the sign out.
/// - The least magnitude less one. That of a zero wraps, so that zeros do not count.
/// - The greatest magnitude.
pub(super) struct Range([MlirValue; 2]);

impl Range {
    /// What a loop carries.
    pub(super) fn of(carried: &[MlirValue]) -> Self {
        let [least, most] = carried else { unreachable!("a range is two values") };
        Self([*least, *most])
    }

    /// The same.
    pub(super) fn values(&self) -> &[MlirValue] {
        &self.0
    }
}

impl Emitter {
    /// The range of nothing.
    pub(super) fn no_range(&mut self, lanes: usize) -> Range {
        Range([u64::from(u16::MAX), 0].map(|bits| self.code.constant(Ty::I16, bits, lanes)))
    }

    /// A range with more elements.
    pub(super) fn widened(&mut self, range: Range, elements: &[MlirValue], lanes: usize) -> Range {
        let one = self.code.constant(Ty::I16, 1, lanes);
        let r#type = self.code.types.lanes(Ty::I16, lanes);
        elements.iter().fold(range, |Range([least, most]), element| {
            let magnitude = self.code.value("llvm.shl", &[*element, one], r#type, &[]);
            let less = self.code.value("llvm.sub", &[magnitude, one], r#type, &[]);
            let least = self.code.value("llvm.intr.umin", &[least, less], r#type, &[]);
            Range([least, self.code.value("llvm.intr.umax", &[most, magnitude], r#type, &[])])
        })
    }

    /// Whether a range has elements that are not multiplied by the instruction.
    pub(super) fn is_outside(&mut self, Range([least, most]): Range) -> MlirValue {
        let i16 = self.code.types.scalar(Ty::I16);
        let least = self.code.value("llvm.intr.vector.reduce.umin", &[least], i16, &[]);
        let most = self.code.value("llvm.intr.vector.reduce.umax", &[most], i16, &[]);
        let [bottom, top] = [2 * LEAST - 1, 2 * BEYOND].map(|bits| self.code.constant(Ty::I16, bits, 1));
        let is_tiny = self.code.compare(Predicate::Ult, least, bottom);
        let is_huge = self.code.compare(Predicate::Uge, most, top);
        self.either(is_tiny, is_huge)
    }

    /// Whether so many elements of rows of the left matrix are outside the range.
    pub(super) fn are_rows_outside(&mut self, starts: &[MlirValue], length: MlirValue) -> MlirValue {
        let (zero, lanes) = (self.code.index(0), self.elements.lanes(self.setting.machine));
        let left = self.elements.left;
        let nothing = self.no_range(lanes);
        let steps = self.code.open((zero, length, lanes as i64), nothing.values());
        let rest = self.sub(length, steps.index);
        let mask = self.mask(rest, lanes);
        let elements = starts.iter().map(|start| {
            let from = self.of(left, *start, steps.index);
            self.raw(Ty::I16, from, (lanes, Some(mask)))
        });
        let elements: Vec<_> = elements.collect();
        let range = self.widened(Range::of(&steps.carried), &elements, lanes);
        self.code.close(&steps, range.values());
        self.is_outside(Range::of(&steps.carried))
    }

    /// Tells functions that multiply whether there are elements outside the range. Threads may do so at once.
    pub(super) fn tell_outside(&mut self, is_outside: MlirValue) {
        let (then, after) = (self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(is_outside, (then, &[]), (after, &[]));
        self.code.go_to(then);
        let (address, one) = (self.word(Slot::IsOutside), self.code.index(1));
        self.code.store_atomic(one, address, 8);
        self.code.branch(after, &[]);
        self.code.go_to(after);
    }

    /// Whether functions that pack have told so.
    pub(super) fn was_told_outside(&mut self) -> MlirValue {
        let (address, zero) = (self.word(Slot::IsOutside), self.code.index(0));
        let told = self.code.load(address, self.code.types.i64, 8);
        self.code.compare(Predicate::Ne, told, zero)
    }

    /// Adds the products of two terms to sums, by the instruction.
    pub(super) fn add_pairs(&mut self, [left, right, sum]: [MlirValue; 3], lanes: usize) -> MlirValue {
        let halves = self.code.types.parse_type(&format!("vector<{}xbf16>", 2 * lanes));
        let [left, right] = [left, right].map(|words| self.code.value("llvm.bitcast", &[words], halves, &[]));
        self.intrinsic(INSTRUCTION, [sum, left, right])
    }

    /// The same, one after the other.
    pub(super) fn add_each_of_pairs(
        &mut self,
        [left, right, sum]: [MlirValue; 3],
        lanes: usize,
    ) -> MlirValue {
        let [first, second] = [(Binary::And, UPPER_HALF), (Binary::Shl, 16)].map(|(op, by)| {
            [left, right].map(|words| {
                let mut e = self.lanes(lanes);
                let by = e.int(Ty::I32, by);
                let words = e.cast(Cast::Bitcast, Register { value: words, ty: Ty::F32 }, Ty::I32);
                let half = e.binary(op, words, by);
                e.cast(Cast::Bitcast, half, Ty::F32).value
            })
        });
        [first, second].into_iter().fold(sum, |sum, [left, right]| self.accumulate([left, right, sum], lanes))
    }
}
