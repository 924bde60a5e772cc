//! Where ops of the dialect stand: lowerings make code of functions only.
//!
//! Elsewhere, as in the region of a module, values have no order in which they are computed, and may depend on themselves.

use promote_diagnostics::{Code, Diagnostic};

use crate::ir::{Ir, Kind};
use crate::source::place_of;
use crate::units;

/// Which functions a lowering makes code of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Functions {
    /// Those of `func` that stand in the root itself.
    OfTheRoot,
    /// All ops but modules: other dialects have functions too.
    OfAnyDialect,
}

/// The error for each op of the dialect that is outside of functions in `root`, and for each of another dialect that depends
/// on itself there, which upstream's own passes fold for ever.
pub fn outside_of_functions<I: Ir>(ir: &I, root: I::Op, functions: Functions) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for unit in units::roots(ir, root) {
        if is_function_of(ir, unit, root, functions) {
            continue;
        }
        units::walk(ir, unit, &mut |operation| {
            let is_ours = ir.kind(operation).promote().is_some();
            let is_cyclic = || {
                let mut defining = ir.operands(operation).filter_map(|operand| ir.defining_op(operand));
                defining.any(|defining| ir.is_same_or_after(defining, operation))
            };
            if (is_ours || is_cyclic()) && !is_inside(ir, operation, root, functions) {
                found.push(misplaced(ir, operation, root));
            }
        });
    }
    found
}

fn misplaced<I: Ir>(ir: &I, operation: I::Op, root: I::Op) -> Diagnostic {
    let name = ir.name_text(ir.name(operation));
    let parents = std::iter::successors(ir.parent(operation), |parent| ir.parent(*parent));
    let mut parents = parents.take_while(|parent| *parent != root);
    let (message, remedy) = match parents.any(|parent| ir.kind(parent) == Kind::Function) {
        true => (
            format!(
                "{name} is in a function of a nested module: only functions of the outer module are compiled"
            ),
            "move the function into the outer module",
        ),
        false => (format!("{name} is outside of functions"), "move it into a function of the module"),
    };
    Diagnostic::error(Code::NotLowered, place_of(ir, operation), message).with_remedy(remedy)
}

/// Whether an op stands in what counts as a function.
fn is_inside<I: Ir>(ir: &I, operation: I::Op, root: I::Op, functions: Functions) -> bool {
    let mut parents = std::iter::successors(ir.parent(operation), |operation| {
        (*operation != root).then(|| ir.parent(*operation)).flatten()
    });
    parents.any(|parent| is_function_of(ir, parent, root, functions))
}

fn is_function_of<I: Ir>(ir: &I, operation: I::Op, root: I::Op, functions: Functions) -> bool {
    match functions {
        Functions::OfTheRoot => ir.parent(operation) == Some(root) && ir.kind(operation) == Kind::Function,
        Functions::OfAnyDialect => ir.kind(operation) != Kind::Module,
    }
}
