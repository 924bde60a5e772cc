//! Numbers outside of tensors: what holds them in registers, and between blocks and functions.

use mlir_sys::*;
use promote_lattice::DType;
use promote_scalar::{Ty, register};

use crate::targets::llvm::Types;
use promote_lower::program::ValueKind;
use promote_lower::types::Number;

/// The dtype of a number in memory.
pub fn dtype(number: Number) -> DType {
    match number.dtype() {
        Some(dtype) => dtype,
        None => unreachable!("values are numbers that code is made for"),
    }
}

/// The type that a number has in registers: that of an element.
pub fn register_type(number: Number) -> Ty {
    register(dtype(number))
}

/// The types that carry a value between blocks and functions: a number's; or those of a buffer's first element and owner.
pub fn carriers(types: &Types, kind: ValueKind) -> Vec<MlirType> {
    match kind {
        ValueKind::Number(number) => vec![types.scalar(register_type(number))],
        ValueKind::Buffer(_) => vec![types.pointer, types.pointer],
    }
}
