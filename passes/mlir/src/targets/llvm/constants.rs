//! Constants, which stand in the entry block, each once, and what is known of them.

use mlir_sys::*;
use promote_scalar::{Cast, Ty};

use super::{Code, Register, vector};
use crate::raw;

impl Code {
    /// The bits of a number that is known to the compiler.
    pub fn known_bits(&self, number: Register) -> Option<u64> {
        self.bits.get(&number.value.ptr).copied()
    }

    /// Whether a float is known to the compiler, and is not NaN.
    pub fn is_number(&self, float: Register) -> bool {
        self.known_bits(float).is_some_and(|bits| is_number(float.ty, bits))
    }

    /// An element, given by its bits, in so many lanes. The bits of a NaN are kept, which an attribute would not do.
    pub fn literal(&mut self, ty: Ty, bits: u64, lanes: usize) -> Register {
        if ty == ty.bits_type() || is_number(ty, bits) {
            return Register { value: self.constant(ty, bits, lanes), ty };
        }
        let raw = Register { value: self.constant(ty.bits_type(), bits, lanes), ty: ty.bits_type() };
        self.converted(lanes, Cast::Bitcast, raw, ty)
    }

    /// A number, given by its bits, in so many lanes.
    pub fn constant(&mut self, ty: Ty, bits: u64, lanes: usize) -> MlirValue {
        if let Some(known) = self.constants.get(&(ty, bits, lanes)) {
            return *known;
        }
        let scalar = self.types.scalar(ty);
        // SAFETY: the types are alive, and an attribute of a scalar suits a splat of its type.
        let attribute = unsafe {
            let number = match ty {
                Ty::F32 => {
                    mlirFloatAttrDoubleGet(self.types.context, scalar, f32::from_bits(bits as u32).into())
                }
                Ty::F64 => mlirFloatAttrDoubleGet(self.types.context, scalar, f64::from_bits(bits)),
                Ty::F16 => unreachable!("half precision is only converted from and to"),
                Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => {
                    let unused = 64 - ty.bits();
                    mlirIntegerAttrGet(scalar, bits.cast_signed() << unused >> unused)
                }
            };
            if lanes == 1 { number } else { mlirDenseElementsAttrSplatGet(vector(scalar, lanes), number) }
        };
        let operation =
            self.detached("llvm.mlir.constant", &[], &[vector(scalar, lanes)], &[("value", attribute)]);
        // SAFETY: the entry block is alive and takes the op at its start, before all that may use it.
        unsafe { mlirBlockInsertOwnedOperation(self.entry, 0, operation) };
        let value = raw::result(operation);
        self.constants.insert((ty, bits, lanes), value);
        self.bits.insert(value.ptr, bits);
        value
    }

    /// An index.
    pub fn index(&mut self, value: i64) -> MlirValue {
        self.constant(Ty::I64, value.cast_unsigned(), 1)
    }
}

/// Whether bits are those of a float in single or double precision that is not NaN.
const fn is_number(ty: Ty, bits: u64) -> bool {
    match ty {
        Ty::F32 => !f32::from_bits(bits as u32).is_nan(),
        Ty::F64 => !f64::from_bits(bits).is_nan(),
        Ty::F16 | Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => false,
    }
}
