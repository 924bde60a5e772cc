//! Ops from text.

use std::ffi::c_void;

use mlir_sys::*;

use super::{blocks, operations, printed, regions, string};

/// Parses and verifies one op, which stands in nothing.
///
/// # Errors
/// What MLIR says of the text.
pub fn parse_operation(context: MlirContext, source: &str) -> Result<MlirOperation, String> {
    unsafe extern "C" fn hear(diagnostic: MlirDiagnostic, heard: *mut c_void) -> MlirLogicalResult {
        // SAFETY: the list is the one below, and the diagnostic is alive during the call.
        unsafe {
            let message = printed(|callback, data| mlirDiagnosticPrint(diagnostic, callback, data));
            (*heard.cast::<Vec<String>>()).push(message);
        }
        MlirLogicalResult { value: 1 }
    }
    // MLIR wants text to end before a NUL byte.
    let terminated = format!("{source}\0");
    let mut heard: Vec<String> = Vec::new();
    // SAFETY: the context is alive, the text and the list outlive the calls, and the handler is detached before the list
    // goes.
    let operation = unsafe {
        let handler = mlirContextAttachDiagnosticHandler(context, Some(hear), (&raw mut heard).cast(), None);
        let operation = mlirOperationCreateParse(context, string(&terminated[..source.len()]), string("-"));
        mlirContextDetachDiagnosticHandler(context, handler);
        operation
    };
    match operation.ptr.is_null() {
        true => Err(heard.into_iter().next().unwrap_or_else(|| "MLIR does not read it".to_owned())),
        false => Ok(operation),
    }
}

/// Gives an op and all that is in it a place in the source.
pub fn relocate(operation: MlirOperation, location: MlirLocation) {
    let mut stack = vec![operation];
    while let Some(operation) = stack.pop() {
        // SAFETY: the operation and the location are alive.
        unsafe { mlirOperationSetLocation(operation, location) };
        stack.extend(regions(operation).flat_map(blocks).flat_map(operations));
    }
}

/// An attribute as MLIR writes it.
pub fn attribute_text(attribute: MlirAttribute) -> String {
    // SAFETY: the attribute is alive.
    printed(|callback, data| unsafe { mlirAttributePrint(attribute, callback, data) })
}
