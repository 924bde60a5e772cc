//! Calls of the run time.

use mlir_sys::*;
use promote_abi::{Kind, Prototype, Runtime};
use promote_scalar::Ty;

use crate::targets::llvm::{Code, Types};

/// Calls a function of the run time, which is declared in the module; what it returns, if it does.
pub fn call(code: &Code, function: Runtime, arguments: &[MlirValue]) -> Option<MlirValue> {
    let Prototype { name, result, .. } = function.prototype();
    code.call(name, arguments, result.map(|result| r#type(&code.types, result)))
}

/// The type of something that crosses the interface.
fn r#type(types: &Types, of: promote_abi::Type) -> MlirType {
    match of.kind {
        Some(Kind::Pointer) => types.pointer,
        Some(Kind::Bool) => types.scalar(Ty::I1),
        Some(Kind::I8) => types.i8,
        Some(Kind::I16) => types.scalar(Ty::I16),
        Some(Kind::I32) => types.i32,
        Some(Kind::I64) => types.i64,
        Some(Kind::F32) => types.scalar(Ty::F32),
        Some(Kind::F64) => types.scalar(Ty::F64),
        None => unreachable!("structures are passed by their address"),
    }
}
