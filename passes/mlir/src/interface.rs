//! What the public functions of a module take and return, read from the module, strong or lowered; no code is made.
//!
//! Lowering leaves a constant for each public function, `promote.signature.f`, whose value is the function's type as text.
//! No code refers to it, so it is in no object.

use mlir_sys::*;
use promote_diagnostics::Diagnostic;
use promote_host::ir::{Ir, Kind};
use promote_host::strong::interface::of_function;
use promote_host::strong::program::{has_body, is_public};
use promote_host::strong::type_of;
use promote_host::units::blocks;
use promote_lower::interface::Interface;
use promote_lower::symbols::{decoded, encoded};

use crate::ir::Mlir;
use crate::places::place_of;
use crate::raw::{self, Address};
use crate::types;

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
pub(crate) fn interfaces(module: MlirOperation, ir: &Mlir) -> Result<Vec<Interface>, Vec<Diagnostic>> {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for operation in blocks(ir, Address(module)).flat_map(|block| ir.operations(block)) {
        if ir.kind(operation) == Kind::Function && has_body(ir, operation) && is_public(ir, operation) {
            match of_function(ir, operation) {
                Ok(interface) => found.push(interface),
                Err(error) => refused.push(error),
            }
        } else if raw::is_named(operation.0, "llvm.mlir.global") {
            found.extend(of_constant(operation.0, ir));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    if refused.is_empty() { Ok(found) } else { Err(refused) }
}

/// The interface that lowering left in a constant, if this is one.
fn of_constant(global: MlirOperation, ir: &Mlir) -> Option<Interface> {
    let name = decoded(raw::string_attribute(global, "sym_name")?.strip_prefix(SIGNATURE)?)?;
    let text = raw::string_attribute(global, "value")?;
    // SAFETY: the context is alive, and MLIR copies the text.
    let r#type = unsafe { mlirTypeParseGet(raw::context(global), raw::string(&text)) };
    // SAFETY: the type is alive if there is one.
    if r#type.ptr.is_null() || !unsafe { mlirTypeIsAFunction(r#type) } {
        return None;
    }
    let of = |types: Vec<MlirType>| types.into_iter().map(|r#type| type_of(ir, Address(r#type))).collect();
    let (inputs, outputs): (Option<Vec<_>>, Option<Vec<_>>) =
        (of(types::inputs(r#type)), of(types::results(r#type)));
    Some(Interface { name, location: place_of(global), inputs: inputs?, outputs: outputs? })
}
