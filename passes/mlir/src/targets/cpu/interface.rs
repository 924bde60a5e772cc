//! What the public functions of a module take and return, as callers outside see it: for headers, linkers, and those who
//! load code. It is read from the module, strong or lowered; no code is made.
//!
//! Lowering leaves a constant for each public function, `promote.signature.f`, whose value is the function's type as text.
//! No code refers to it, so it is in no object.

use mlir_sys::*;
use promote_dialect::mlir::Names;

use super::{has_body, is_public};
use crate::places::place_of;
use crate::raw;
use crate::strong::type_of;
use crate::units;
use crate::view::{FUNCTION, function_type};
use promote_diagnostics::{Code, Diagnostic, Location};
use promote_lower::symbols::{decoded, encoded, in_mlir};
use promote_lower::types::{MAX_RANK, Type};

/// A public function, as callers outside see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name in the program.
    pub name: String,
    /// Where it is defined.
    pub location: Option<Location>,
    /// What it takes.
    pub inputs: Vec<Type>,
    /// What it returns.
    pub outputs: Vec<Type>,
}

/// What begins the symbol of a constant that keeps a function's type.
const SIGNATURE: &str = "promote.signature.";

/// The symbol of the constant that keeps the type of the function `name`.
pub fn symbol(name: &str) -> String {
    format!("{SIGNATURE}{}", encoded(name))
}

/// The public functions of a module, by name.
///
/// # Errors
/// If one of them takes or returns what no code is made for.
pub(crate) fn interfaces(module: MlirOperation, names: &Names) -> Result<Vec<Interface>, Vec<Diagnostic>> {
    let operations = raw::regions(module).flat_map(raw::blocks).flat_map(raw::operations);
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for operation in operations {
        if raw::is_named(operation, FUNCTION) && has_body(operation) && is_public(operation) {
            match of_function(operation, names) {
                Ok(interface) => found.push(interface),
                Err(error) => refused.push(error),
            }
        } else if raw::is_named(operation, "llvm.mlir.global") {
            found.extend(of_constant(operation, names));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    if refused.is_empty() { Ok(found) } else { Err(refused) }
}

/// The interface of a function that has been promoted.
///
/// # Errors
/// If it takes or returns what no code is made for.
pub(crate) fn of_function(function: MlirOperation, names: &Names) -> Result<Interface, Diagnostic> {
    let name = raw::string_attribute(function, "sym_name").unwrap_or_default();
    let location = place_of(function);
    let Some(r#type) = function_type(function) else {
        let message = format!("@{} has no function type", in_mlir(&name));
        return Err(Diagnostic::error(Code::NotLowered, location, message));
    };
    let of = |types: Vec<MlirType>| {
        let known = |r#type| type_of(r#type, names).ok_or(r#type);
        types.into_iter().map(known).collect::<Result<Vec<_>, _>>()
    };
    match of(units::inputs(r#type)).and_then(|inputs| Ok((inputs, of(units::results(r#type))?))) {
        Ok((inputs, outputs)) => Ok(Interface { name, location, inputs, outputs }),
        Err(wrong) => {
            let message = format!(
                "@{} takes or returns a {}, which is not supported",
                in_mlir(&name),
                raw::type_text(wrong)
            );
            Err(Diagnostic::error(Code::NotLowered, location, message)
                .with_remedy(format!("functions take and return tensors of the dialect's dtypes and a known rank, of {MAX_RANK} at most, and numbers")))
        }
    }
}

/// The interface that lowering left in a constant, if this is one.
fn of_constant(global: MlirOperation, names: &Names) -> Option<Interface> {
    let name = decoded(raw::string_attribute(global, "sym_name")?.strip_prefix(SIGNATURE)?)?;
    let text = raw::string_attribute(global, "value")?;
    // SAFETY: the context is alive, and MLIR copies the text.
    let r#type = unsafe { mlirTypeParseGet(raw::context(global), raw::string(&text)) };
    // SAFETY: the type is alive if there is one.
    if r#type.ptr.is_null() || !unsafe { mlirTypeIsAFunction(r#type) } {
        return None;
    }
    let of = |types: Vec<MlirType>| types.into_iter().map(|r#type| type_of(r#type, names)).collect();
    let (inputs, outputs): (Option<Vec<_>>, Option<Vec<_>>) =
        (of(units::inputs(r#type)), of(units::results(r#type)));
    Some(Interface { name, location: place_of(global), inputs: inputs?, outputs: outputs? })
}
