//! The names of symbols: text that is not empty.
//!
//! MLIR prints an empty name as what it cannot read, and takes any bytes for a name; everything after the parser takes
//! names for text, where two that are not would be the same.

use mlir_sys::*;

use super::places::place_of;
use super::raw;
use promote_diagnostics::{Code, Diagnostic};

/// What is wrong with the names of the symbols in `root`, and with its own.
pub fn check(root: MlirOperation) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = check_one(root).into_iter().collect();
    let mut stack: Vec<MlirBlock> = raw::regions(root).flat_map(raw::blocks).collect();
    while let Some(block) = stack.pop() {
        for operation in raw::operations(block) {
            stack.extend(raw::regions(operation).flat_map(raw::blocks));
            // SAFETY: the operation is alive. Ops that define values define no symbols.
            if unsafe { mlirOperationGetNumResults(operation) } == 0 {
                found.extend(check_one(operation));
            }
        }
    }
    found
}

fn check_one(operation: MlirOperation) -> Option<Diagnostic> {
    let attribute = raw::attribute(operation, "sym_name")?;
    // SAFETY: the attribute is alive; a string is valid for its length while its owner is.
    let bytes = unsafe {
        if !mlirAttributeIsAString(attribute) {
            return None;
        }
        let text = mlirStringAttrGetValue(attribute);
        if text.length == 0 { &[] } else { std::slice::from_raw_parts(text.data.cast::<u8>(), text.length) }
    };
    let message = match std::str::from_utf8(bytes) {
        Ok("") => "the name of the symbol is empty".to_owned(),
        Ok(_) => return None,
        Err(_) => format!("the name of the symbol, {}, is not UTF-8", promote_lower::symbols::quoted(bytes)),
    };
    let error = Diagnostic::error(Code::Name, place_of(operation), message);
    Some(error.with_remedy("give it another name: any text in UTF-8 that is not empty"))
}
