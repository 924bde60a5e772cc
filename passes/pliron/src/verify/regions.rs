//! What MLIR asks of the blocks of any op and of those of functions, and pliron does not.

use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::{SymbolOpInterface, SymbolTableInterface};
use pliron::builtin::ops::{FuncOp, ModuleOp};
use pliron::builtin::type_interfaces::FunctionTypeInterface;
use pliron::builtin::types::FunctionType;
use pliron::context::{Context, Ptr};
use pliron::linked_list::ContainsLinkedList;
use pliron::location::Location;
use pliron::op::op_impls;
use pliron::operation::Operation;
use pliron::r#type::Typed;
use promote_diagnostics::{Code, Diagnostic};

use crate::host::{places, types::text};

/// Whether an op may have its regions and successors.
///
/// # Errors
/// What is wrong, and where.
pub fn verify(context: &Context, operation: Ptr<Operation>) -> Result<(), Diagnostic> {
    let found = operation.deref(context);
    let region = found.get_parent_region(context);
    if found.successors().any(|block| block.deref(context).get_parent_region() != region) {
        return refused(context, found.loc(), "a branch goes to a block of another region".to_owned());
    }
    for first in found.regions().filter_map(|region| region.deref(context).get_head()) {
        if first.has_pred(context) {
            let block = first.deref(context);
            return refused(context, block.loc(), "a branch goes to the first block of a region".to_owned());
        }
        if Operation::is_op::<ModuleOp>(operation, context) && first.deref(context).get_num_arguments() > 0 {
            return refused(context, found.loc(), "a module is given no values".to_owned());
        }
    }
    match Operation::get_op::<FuncOp>(operation, context) {
        Some(function) => self::function(context, &function),
        None => Ok(()),
    }
}

/// Whether a function stands where functions are called by name, and is given what it states.
fn function(context: &Context, function: &FuncOp) -> Result<(), Diagnostic> {
    let operation = pliron::op::Op::get_operation(function).deref(context);
    let name = function.get_symbol_name(context);
    let is_table = |parent| op_impls::<dyn SymbolTableInterface>(&*Operation::get_op_dyn(parent, context));
    if operation.get_parent_op(context).is_some_and(|parent| !is_table(parent)) {
        return refused(context, operation.loc(), format!("the function {name} stands in no module"));
    }
    let Some(entry) = operation.get_region(0).deref(context).get_head() else { return Ok(()) };
    let stated = function.get_type(context);
    let stated = stated.deref(context);
    let inputs = stated.downcast_ref::<FunctionType>().map_or_else(Vec::new, FunctionType::arg_types);
    given(context, entry, name.as_ref(), &inputs)
}

fn given(
    context: &Context,
    entry: Ptr<BasicBlock>,
    name: &str,
    inputs: &[pliron::r#type::TypeHandle],
) -> Result<(), Diagnostic> {
    let entry = entry.deref(context);
    let taken = entry.get_num_arguments();
    if taken != inputs.len() {
        let message = format!(
            "the first block of the function {name} has {taken} argument(s), but the function takes {}",
            inputs.len()
        );
        return refused(context, entry.loc(), message);
    }
    let types = entry.arguments().map(|argument| argument.get_type(context));
    match types.zip(inputs).enumerate().find(|(_, (found, input))| found != *input) {
        None => Ok(()),
        Some((number, (found, input))) => {
            let [input, found] = [*input, found].map(|of| text(context, of));
            let message = format!(
                "the argument {number} of the function {name} is {input}, and its first block takes {found}"
            );
            refused(context, entry.loc(), message)
        }
    }
}

fn refused(context: &Context, place: &Location, message: String) -> Result<(), Diagnostic> {
    Err(Diagnostic::error(Code::Mlir, places::location(context, place), message))
}
