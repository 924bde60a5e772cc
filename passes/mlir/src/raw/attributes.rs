//! Attributes.

use mlir_sys::*;

use super::{context, index_type, string, text};

/// An attribute of an op.
pub fn attribute(operation: MlirOperation, name: &str) -> Option<MlirAttribute> {
    // SAFETY: the operation is alive; MLIR returns null if there is no such attribute.
    let attribute = unsafe { mlirOperationGetAttributeByName(operation, string(name)) };
    (!attribute.ptr.is_null()).then_some(attribute)
}

/// Sets an attribute of an op.
pub fn set_attribute(operation: MlirOperation, name: &str, value: MlirAttribute) {
    // SAFETY: the operation and the attribute are alive.
    unsafe { mlirOperationSetAttributeByName(operation, string(name), value) }
}

/// All attributes of an op.
pub fn attributes(operation: MlirOperation) -> impl Iterator<Item = (String, MlirAttribute)> {
    // SAFETY: the operation is alive and the indices are in range.
    let count = unsafe { mlirOperationGetNumAttributes(operation) };
    (0..count).map(move |i| {
        // SAFETY: as above.
        let named = unsafe { mlirOperationGetAttribute(operation, i) };
        // SAFETY: the name lives as long as the context.
        (text(unsafe { mlirIdentifierStr(named.name) }), named.attribute)
    })
}

/// A string attribute's text.
pub fn string_attribute(operation: MlirOperation, name: &str) -> Option<String> {
    let attribute = attribute(operation, name)?;
    // SAFETY: the attribute is alive and a string.
    unsafe { mlirAttributeIsAString(attribute).then(|| text(mlirStringAttrGetValue(attribute))) }
}

/// The symbol that a flat symbol reference attribute names.
pub fn symbol(attribute: MlirAttribute) -> Option<String> {
    // SAFETY: the attribute is alive and a flat symbol reference.
    unsafe {
        mlirAttributeIsAFlatSymbolRef(attribute).then(|| text(mlirFlatSymbolRefAttrGetValue(attribute)))
    }
}

/// A reference to a symbol, for an attribute of `operation`.
pub fn symbol_reference(operation: MlirOperation, name: &str) -> MlirAttribute {
    // SAFETY: the context is alive, and MLIR copies the name.
    unsafe { mlirFlatSymbolRefAttrGet(context(operation), string(name)) }
}

/// An attribute with its name.
pub fn named(context: MlirContext, name: &str, value: MlirAttribute) -> MlirNamedAttribute {
    // SAFETY: the context and the attribute are alive.
    unsafe { mlirNamedAttributeGet(mlirIdentifierGet(context, string(name)), value) }
}

/// The mark of that name: a unit attribute.
pub fn mark(context: MlirContext, name: &str) -> MlirNamedAttribute {
    // SAFETY: the context is alive.
    named(context, name, unsafe { mlirUnitAttrGet(context) })
}

/// Whether an op has attributes.
pub fn has_attributes(operation: MlirOperation) -> bool {
    // SAFETY: the operation is alive.
    unsafe { mlirOperationGetNumAttributes(operation) > 0 }
}

/// A number as an attribute of type `i64`.
pub fn i64_attribute(context: MlirContext, value: i64) -> MlirAttribute {
    // SAFETY: the context is alive.
    unsafe { mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), value) }
}

/// A number as an attribute of type `index`.
pub fn index_attribute(context: MlirContext, value: i64) -> MlirAttribute {
    // SAFETY: the type is alive.
    unsafe { mlirIntegerAttrGet(index_type(context), value) }
}

/// Numbers as `array<i64: …>`.
pub fn i64_array(context: MlirContext, values: &[i64]) -> MlirAttribute {
    // SAFETY: the context is alive, and MLIR copies the list.
    unsafe { mlirDenseI64ArrayGet(context, values.len() as isize, values.as_ptr()) }
}

/// Text as an attribute.
pub fn string_attribute_of(context: MlirContext, text: &str) -> MlirAttribute {
    // SAFETY: the context is alive, and MLIR copies the text.
    unsafe { mlirStringAttrGet(context, string(text)) }
}

/// A type as an attribute.
pub fn type_attribute(r#type: MlirType) -> MlirAttribute {
    // SAFETY: types live as long as the context.
    unsafe { mlirTypeAttrGet(r#type) }
}

/// The numbers of `array<i64: …>`.
pub fn i64_list(attribute: MlirAttribute) -> Option<Vec<i64>> {
    // SAFETY: the attribute is alive, and asked for its numbers if it is a list of them.
    unsafe {
        mlirAttributeIsADenseI64Array(attribute).then(|| {
            let count = mlirDenseArrayGetNumElements(attribute);
            (0..count).map(|i| mlirDenseI64ArrayGetElement(attribute, i)).collect()
        })
    }
}

/// The attributes of an op that are not its own.
pub fn discardable_attributes(operation: MlirOperation) -> impl Iterator<Item = (String, MlirAttribute)> {
    // SAFETY: the operation is alive and the indices are in range.
    let count = unsafe { mlirOperationGetNumDiscardableAttributes(operation) };
    (0..count).map(move |i| {
        // SAFETY: as above.
        let named = unsafe { mlirOperationGetDiscardableAttribute(operation, i) };
        // SAFETY: the name lives as long as the context.
        (text(unsafe { mlirIdentifierStr(named.name) }), named.attribute)
    })
}
