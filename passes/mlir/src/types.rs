//! Types of tensors and of functions.

use mlir_sys::*;
use rustc_hash::FxHashSet;

use super::raw::{self, Address};
use promote_infer::shape::Shape;

/// The attribute of a function that is its type.
pub const FUNCTION_TYPE: &str = "function_type";

/// The inputs of a function type.
pub fn inputs(r#type: MlirType) -> Vec<MlirType> {
    // SAFETY: the type is a function type and the indices are in range.
    unsafe {
        (0..mlirFunctionTypeGetNumInputs(r#type)).map(|i| mlirFunctionTypeGetInput(r#type, i)).collect()
    }
}

/// The results of a function type.
pub fn results(r#type: MlirType) -> Vec<MlirType> {
    // SAFETY: the type is a function type and the indices are in range.
    unsafe {
        (0..mlirFunctionTypeGetNumResults(r#type)).map(|i| mlirFunctionTypeGetResult(r#type, i)).collect()
    }
}

/// The type of functions that take and return these types.
pub fn function(context: MlirContext, inputs: &[MlirType], results: &[MlirType]) -> MlirType {
    // SAFETY: the context and all types are alive.
    unsafe {
        mlirFunctionTypeGet(
            context,
            inputs.len() as isize,
            inputs.as_ptr(),
            results.len() as isize,
            results.as_ptr(),
        )
    }
}

/// The type of a function.
pub fn of_function(function: MlirOperation) -> Option<MlirType> {
    let attribute = raw::attribute(function, FUNCTION_TYPE)?;
    // SAFETY: the attribute is alive and a type.
    unsafe {
        let r#type = mlirAttributeIsAType(attribute).then(|| mlirTypeAttrGetValue(attribute))?;
        mlirTypeIsAFunction(r#type).then_some(r#type)
    }
}

/// The tensor type with this element type and shape.
pub fn tensor(element: MlirType, shape: &Shape) -> MlirType {
    // SAFETY: the element type is alive, and tensors of the dialect's and the builtin numeric types are valid.
    unsafe {
        match shape.dims() {
            None => mlirUnrankedTensorTypeGet(element),
            Some(dims) => {
                // MLIR's dynamic size is the engine's.
                let none = MlirAttribute { ptr: std::ptr::null() };
                mlirRankedTensorTypeGet(dims.len() as isize, dims.as_ptr(), element, none)
            }
        }
    }
}

/// Whether a type has a type of the dialect anywhere in it, as a function type or tuple may. Types in types are looked
/// through once each: written out, they could be exponentially long.
pub fn mentions_promote(r#type: MlirType) -> bool {
    let mut seen = FxHashSet::default();
    let mut rest = vec![r#type];
    while let Some(r#type) = rest.pop() {
        if !seen.insert(Address(r#type)) {
            continue;
        }
        // SAFETY: types live as long as the context; each accessor is called on a type of its kind.
        unsafe {
            if mlirTypeIsATuple(r#type) {
                rest.extend((0..mlirTupleTypeGetNumTypes(r#type)).map(|i| mlirTupleTypeGetType(r#type, i)));
            } else if mlirTypeIsAFunction(r#type) {
                rest.extend(inputs(r#type));
                rest.extend(results(r#type));
            } else if mlirTypeIsAShaped(r#type) {
                rest.push(mlirShapedTypeGetElementType(r#type));
            } else if raw::type_text(r#type).contains("!promote.") {
                return true;
            }
        }
    }
    false
}
