//! What the functions of a module take and return.

use promote_diagnostics::{Code, Diagnostic};
use promote_lower::interface::Interface;
use promote_lower::symbols::in_mlir;
use promote_lower::types::MAX_RANK;

use super::{Strong, type_of};
use crate::ir::Signature;
use crate::source::place_of;

/// The interface of a function that has been promoted.
///
/// # Errors
/// If it takes or returns what no code is made for.
pub fn of_function<I: Strong>(ir: &I, function: I::Op) -> Result<Interface, Diagnostic> {
    let name = ir.symbol(function).unwrap_or_default();
    let location = place_of(ir, function);
    let Some(Signature { inputs, results }) = ir.signature(function) else {
        let message = format!("@{} has no function type", in_mlir(&name));
        return Err(Diagnostic::error(Code::NotLowered, location, message));
    };
    let of = |types: Vec<I::Type>| {
        let known = |r#type| type_of(ir, r#type).ok_or(r#type);
        types.into_iter().map(known).collect::<Result<Vec<_>, _>>()
    };
    match of(inputs).and_then(|inputs| Ok((inputs, of(results)?))) {
        Ok((inputs, outputs)) => Ok(Interface { name, location, inputs, outputs }),
        Err(wrong) => {
            let message = format!(
                "@{} takes or returns a {}, which is not supported",
                in_mlir(&name),
                ir.type_text(wrong)
            );
            Err(Diagnostic::error(Code::NotLowered, location, message)
                .with_remedy(format!("functions take and return tensors of the dialect's dtypes and a known rank, of {MAX_RANK} at most, and numbers")))
        }
    }
}
