//! Numbers outside of tensors: as the program has them, in registers and in memory.
//!
//! The program's ops of numbers stay ops of arith and its like, whose `index` becomes an i64 later: casts join the two.

use mlir_sys::*;
use promote_lattice::DType;
use promote_scalar::Ty;

use super::llvm::{Code, Types};
use crate::raw;
use promote_lower::program::ValueKind;
use promote_lower::types::Number;

/// The type that a number has in registers.
pub fn register_type(types: &Types, number: Number) -> MlirType {
    // SAFETY: the context is alive.
    unsafe {
        match number {
            Number::Index => types.i64,
            Number::Int(width) => mlirIntegerTypeGet(types.context, width),
            Number::Float(dtype) => mlirTypeParseGet(types.context, raw::string(dtype.mlir())),
        }
    }
}

/// The type that a number has in memory.
pub fn memory_type(types: &Types, number: Number) -> MlirType {
    match number {
        Number::Int(1) => types.i8,
        Number::Index | Number::Int(_) | Number::Float(_) => register_type(types, number),
    }
}

/// A number read from memory, in a register.
pub fn from_memory(code: &mut Code, value: MlirValue, number: Number) -> MlirValue {
    match number {
        Number::Int(1) => {
            let zero = code.constant(Ty::I8, 0, 1);
            code.compare(super::llvm::Predicate::Ne, value, zero)
        }
        Number::Index | Number::Int(_) | Number::Float(_) => value,
    }
}

/// A number in a register, as it is written to memory.
pub fn to_memory(code: &mut Code, value: MlirValue, number: Number) -> MlirValue {
    match number {
        Number::Int(1) => code.value("llvm.zext", &[value], code.types.i8, &[]),
        Number::Index | Number::Int(_) | Number::Float(_) => value,
    }
}

/// The dtype of a number in memory.
pub fn dtype(number: Number) -> DType {
    match number.dtype() {
        Some(dtype) => dtype,
        None => unreachable!("values are numbers that code is made for"),
    }
}

/// The types that carry a value between blocks and functions: a number's; or those of a buffer's first element and owner.
pub fn carriers(types: &Types, kind: ValueKind) -> Vec<MlirType> {
    match kind {
        ValueKind::Number(number) => vec![register_type(types, number)],
        ValueKind::Buffer(_) => vec![types.pointer, types.pointer],
    }
}

/// The type that ops of the program have for a number.
pub fn program_type(types: &Types, number: Number) -> MlirType {
    match number {
        // SAFETY: the context is alive.
        Number::Index => unsafe { mlirIndexTypeGet(types.context) },
        Number::Int(_) | Number::Float(_) => register_type(types, number),
    }
}

/// A number in a register, as ops of the program take it.
pub fn to_program(code: &Code, value: MlirValue, number: Number) -> MlirValue {
    match number {
        Number::Index => {
            let index = program_type(&code.types, number);
            code.value("builtin.unrealized_conversion_cast", &[value], index, &[])
        }
        Number::Int(_) | Number::Float(_) => value,
    }
}

/// A number that ops of the program made, in a register.
pub fn from_program(code: &Code, value: MlirValue, number: Number) -> MlirValue {
    match number {
        Number::Index => code.value("builtin.unrealized_conversion_cast", &[value], code.types.i64, &[]),
        Number::Int(_) | Number::Float(_) => value,
    }
}
