//! The types of the LLVM dialect that code is made of, and attributes.

use mlir_sys::*;
use promote_scalar::Ty;

use crate::raw;

/// The types that code is made of, each once.
#[derive(Clone, Copy)]
pub struct Types {
    /// The context.
    pub context: MlirContext,
    /// A pointer.
    pub pointer: MlirType,
    /// The size of indices.
    pub i64: MlirType,
    /// Statuses.
    pub i32: MlirType,
    /// Bytes.
    pub i8: MlirType,
}

impl Types {
    /// The types of a context, which must have the LLVM dialect.
    pub fn new(context: MlirContext) -> Self {
        // SAFETY: the context is alive.
        unsafe {
            Self {
                context,
                pointer: mlirLLVMPointerTypeGet(context, 0),
                i64: mlirIntegerTypeGet(context, 64),
                i32: mlirIntegerTypeGet(context, 32),
                i8: mlirIntegerTypeGet(context, 8),
            }
        }
    }

    /// A machine type.
    pub fn scalar(&self, ty: Ty) -> MlirType {
        // SAFETY: the context is alive.
        unsafe {
            match ty {
                Ty::F16 => mlirF16TypeGet(self.context),
                Ty::F32 => mlirF32TypeGet(self.context),
                Ty::F64 => mlirF64TypeGet(self.context),
                Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => mlirIntegerTypeGet(self.context, ty.bits()),
            }
        }
    }

    /// A machine type in so many lanes; one lane is no vector.
    pub fn lanes(&self, ty: Ty, lanes: usize) -> MlirType {
        vector(self.scalar(ty), lanes)
    }

    /// An integer attribute.
    pub fn int(&self, r#type: MlirType, value: i64) -> MlirAttribute {
        // SAFETY: the type is alive, and an integer type.
        unsafe { mlirIntegerAttrGet(r#type, value) }
    }

    /// A function's type.
    pub fn function(&self, result: Option<MlirType>, arguments: &[MlirType]) -> MlirType {
        // SAFETY: the context is alive, and MLIR copies the array.
        unsafe {
            let result = result.unwrap_or_else(|| mlirLLVMVoidTypeGet(self.context));
            mlirLLVMFunctionTypeGet(result, arguments.len() as isize, arguments.as_ptr(), false)
        }
    }

    /// A type written as text, which the writer of this crate knows to be valid.
    pub fn parse_type(&self, text: &str) -> MlirType {
        // SAFETY: the context is alive.
        unsafe { mlirTypeParseGet(self.context, raw::string(text)) }
    }

    /// An attribute written as text, which the writer of this crate knows to be valid.
    pub fn parse(&self, text: &str) -> MlirAttribute {
        // SAFETY: the context is alive.
        unsafe { mlirAttributeParseGet(self.context, raw::string(text)) }
    }
}

/// So many lanes of a scalar type.
pub fn vector(scalar: MlirType, lanes: usize) -> MlirType {
    if lanes == 1 {
        return scalar;
    }
    // SAFETY: the type is a scalar that vectors may have.
    unsafe { mlirVectorTypeGet(1, [lanes as i64].as_ptr(), scalar) }
}
