//! What several ops ask of their operands.

use pliron::context::{Context, Ptr};
use pliron::operation::Operation;
use pliron::result::Result;
use pliron::r#type::Typed;
use pliron::verify_err;

use crate::types::is_bit;

/// Whether the first operand of an op is an `i1`, by which it chooses.
pub(super) fn bit(operation: Ptr<Operation>, context: &Context) -> Result<()> {
    let operation = operation.deref(context);
    let is_there = operation.operands().next().is_some_and(|first| is_bit(context, first.get_type(context)));
    if is_there {
        return Ok(());
    }
    verify_err!(operation.loc(), "the condition is an i1")
}
