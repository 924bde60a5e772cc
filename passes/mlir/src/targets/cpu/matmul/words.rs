//! Products of words of 16 bits, two terms of a sum in an instruction.
//!
//! The instruction (`pmaddwd`) multiplies words with a sign and adds up two products to an `i32`, which is added to the sum. All of that
//! is exact but for what wraps, as it does where one product is added after the other.
//!
//! ## Laws
//! - Terms beyond the last are zero in packed rows. What they are in panels does not matter.

use mlir_sys::*;
use promote_lattice::{DType, Kind};
use promote_scalar::{Binary, Cast, Emit, Ty, memory};

use super::emitter::Emitter;
use crate::targets::llvm::{Register, intrinsic};

/// Whether each element of a dtype is a word with a sign, or fits in one.
pub(super) fn fits_word(dtype: DType) -> bool {
    match dtype.kind() {
        Kind::Signed => [8, 16].contains(&dtype.bits()),
        Kind::Unsigned => dtype.bits() == 8,
        Kind::Bool | Kind::Float | Kind::Complex => false,
    }
}

/// The name of the instruction in LLVM, for vectors of so many sums.
fn instruction(lanes: usize) -> &'static str {
    match lanes {
        4 => "llvm.x86.sse2.pmadd.wd",
        8 => "llvm.x86.avx2.pmadd.wd",
        16 => "llvm.x86.avx512.pmaddw.d.512",
        _ => unreachable!("sums are in whole vectors"),
    }
}

impl Emitter {
    /// Elements of an operand as words, in lanes.
    pub(super) fn words(&mut self, of: DType, value: MlirValue, lanes: usize) -> MlirValue {
        let (cast, ty) = (if of.kind() == Kind::Signed { Cast::SExt } else { Cast::ZExt }, memory(of));
        if ty == Ty::I16 {
            value
        } else {
            self.lanes(lanes).cast(cast, Register { value, ty }, Ty::I16).value
        }
    }

    /// Adds the products of words to sums, two to each.
    pub(super) fn add_words(&mut self, [left, right, sum]: [MlirValue; 3], lanes: usize) -> MlirValue {
        let [sums, words] =
            [(Ty::I32, lanes), (Ty::I16, 2 * lanes)].map(|(ty, lanes)| self.code.types.lanes(ty, lanes));
        let [left, right] = [left, right].map(|pairs| self.code.value("llvm.bitcast", &[pairs], words, &[]));
        let value = intrinsic(&self.code, instruction(lanes), &[left, right], sums);
        let [two, sum] = [value, sum].map(|value| Register { value, ty: Ty::I32 });
        self.lanes(lanes).binary(Binary::Add, two, sum).value
    }
}
