//! Numbers outside of tensors: as the program has them, in registers and in memory.
//!
//! The program's ops of numbers stay ops of arith and its like, whose `index` becomes an i64 later: casts join the two.

use mlir_sys::*;
use promote_scalar::Ty;

use super::llvm::{Code, Types};
use super::signature::Number;
use crate::mlir::raw;

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

/// A number in a register, as ops of the program take it, whose type is `r#type`.
pub fn to_program(code: &Code, value: MlirValue, number: Number, r#type: MlirType) -> MlirValue {
    match number {
        Number::Index => code.value("builtin.unrealized_conversion_cast", &[value], r#type, &[]),
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
