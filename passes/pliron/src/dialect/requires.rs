//! What several ops ask of their operands.

use pliron::context::{Context, Ptr};
use pliron::operation::Operation;
use pliron::result::Result;
use pliron::r#type::{TypeHandle, Typed};
use pliron::value::Value;
use pliron::verify_err;

use crate::types::is_bit;

/// The types of values. Those that are the results of one op in turn are taken from it: pliron looks through all results for each.
pub(super) fn types(values: impl Iterator<Item = Value>, context: &Context) -> Vec<TypeHandle> {
    let mut next = 0;
    let of = |value: Value| {
        let Some(definition) = value.defining_op() else { return value.get_type(context) };
        let definition = definition.deref(context);
        if next >= definition.get_num_results() || definition.get_result(next) != value {
            next = definition.results().position(|result| result == value).unwrap_or(0);
        }
        next += 1;
        definition.get_type(next - 1)
    };
    values.map(of).collect()
}

/// Whether the first operand of an op is an `i1`, by which it chooses.
pub(super) fn bit(operation: Ptr<Operation>, context: &Context) -> Result<()> {
    let operation = operation.deref(context);
    let is_there = operation.operands().next().is_some_and(|first| is_bit(context, first.get_type(context)));
    if is_there {
        return Ok(());
    }
    verify_err!(operation.loc(), "the condition is an i1")
}
