//! Where ops of the dialect stand: lowerings make code of functions only.
//!
//! Elsewhere, as in the region of a module, values have no order in which they are computed, and may depend on themselves.

use mlir_sys::*;
use promote_dialect::mlir::Names;

use super::places::place_of;
use super::raw::{self, Address};
use super::units;
use super::view::FUNCTION;
use promote_diagnostics::{Code, Diagnostic};

/// Which functions a lowering makes code of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Functions {
    /// Those of `func` that stand in the root itself.
    OfTheRoot,
    /// All ops but modules: other dialects have functions too.
    OfAnyDialect,
}

/// The error for each op of the dialect that is outside of functions in `root`, and for each of upstream's that depends
/// on itself there, which upstream's own passes fold for ever.
pub fn outside_of_functions(root: MlirOperation, names: &Names, functions: Functions) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for unit in units::roots(root) {
        if is_function_of(unit.0, root, functions) {
            continue;
        }
        units::walk(unit.0, &mut |operation| {
            // SAFETY: the operation is alive.
            let is_ours = unsafe { names.op(operation) }.is_some();
            let is_cyclic = raw::operands(operation)
                .filter_map(raw::defining_op)
                .any(|defining| raw::is_same_or_after(defining, operation));
            if (is_ours || is_cyclic) && !is_inside(operation, root, functions) {
                found.push(misplaced(operation, root));
            }
        });
    }
    found
}

fn misplaced(operation: MlirOperation, root: MlirOperation) -> Diagnostic {
    let name = raw::name(operation);
    let parent = std::iter::successors(raw::parent(operation), |parent| raw::parent(*parent));
    let mut parent = parent.take_while(|parent| Address(*parent) != Address(root));
    let (message, remedy) = match parent.any(|parent| raw::is_named(parent, FUNCTION)) {
        true => (
            format!(
                "{name} is in a function of a nested module: only functions of the outer module are compiled"
            ),
            "move the function into the outer module",
        ),
        false => (format!("{name} is outside of functions"), "move it into a function of the module"),
    };
    Diagnostic::error(Code::NotLowered, place_of(operation), message).with_remedy(remedy)
}

/// Whether an op stands in what counts as a function.
fn is_inside(operation: MlirOperation, root: MlirOperation, functions: Functions) -> bool {
    let mut parent = std::iter::successors(raw::parent(operation), |operation| {
        (Address(*operation) != Address(root)).then(|| raw::parent(*operation)).flatten()
    });
    parent.any(|parent| is_function_of(parent, root, functions))
}

fn is_function_of(operation: MlirOperation, root: MlirOperation, functions: Functions) -> bool {
    match functions {
        Functions::OfTheRoot => {
            let is_child = raw::parent(operation).is_some_and(|parent| Address(parent) == Address(root));
            is_child && raw::is_named(operation, FUNCTION)
        }
        Functions::OfAnyDialect => !raw::is_named(operation, "builtin.module"),
    }
}
