//! Branches between the blocks of a region.

use std::ops::Range;

use pliron::builtin::attributes::StringAttr;
use pliron::builtin::op_interfaces::{
    BranchOpInterface, IsTerminatorInterface, NOpdsInterface, NRegionsInterface, NResultsInterface,
    NSuccsInterface, OneSuccInterface, OperandSegmentInterface,
};
use pliron::builtin::types::IntegerType;
use pliron::common_traits::Verify;
use pliron::context::Context;
use pliron::derive::{op_interface_impl, pliron_op};
use pliron::op::Op;
use pliron::operation::Operation;
use pliron::result::Result;
use pliron::r#type::Typed;
use pliron::value::Value;
use pliron::verify_err;

use super::requires;
use crate::attributes::{CASES, IntsAttr, MESSAGE};

/// `cf.br` of MLIR: goes on to a block, to which it passes its operands.
#[pliron_op(
    name = "promote_cf.br",
    format,
    interfaces = [
        IsTerminatorInterface, NResultsInterface<0>, NRegionsInterface<0>, NSuccsInterface<1>, OneSuccInterface
    ],
    verifier = "succ"
)]
pub struct BrOp;

#[op_interface_impl]
impl BranchOpInterface for BrOp {
    fn verify_successor_operand_layout(&self, context: &Context) -> Result<()> {
        <Self as OneSuccInterface>::verify(self, context)
    }

    fn successor_operand_range(&self, context: &Context, _: usize) -> Range<usize> {
        0..self.get_operation().deref(context).get_num_operands()
    }

    fn add_successor_operand(&self, context: &mut Context, _: usize, operand: Value) -> usize {
        Operation::push_operand(self.get_operation(), context, operand)
    }

    fn remove_successor_operand(&self, context: &mut Context, _: usize, index: usize) -> Value {
        Operation::remove_operand(self.get_operation(), context, index)
    }
}

/// The interfaces of a branch whose first segment of operands is its own, and whose others are the successors'.
macro_rules! segmented_branch {
    ($title:ident) => {
        #[op_interface_impl]
        impl OperandSegmentInterface for $title {
            fn expected_num_segments(&self, context: &Context) -> Option<usize> {
                Some(self.get_operation().deref(context).get_num_successors() + 1)
            }
        }

        #[op_interface_impl]
        impl BranchOpInterface for $title {
            fn verify_successor_operand_layout(&self, context: &Context) -> Result<()> {
                <Self as OperandSegmentInterface>::verify(self, context)?;
                if self.segment_size(context, 0) == 1 {
                    return Ok(());
                }
                verify_err!(self.loc(context), "the first segment of operands is what is branched on")
            }

            fn successor_operand_range(&self, context: &Context, successor: usize) -> Range<usize> {
                self.segment_range(context, successor + 1)
            }

            fn add_successor_operand(
                &self,
                context: &mut Context,
                successor: usize,
                operand: Value,
            ) -> usize {
                self.push_to_segment(context, successor + 1, operand)
            }

            fn remove_successor_operand(
                &self,
                context: &mut Context,
                successor: usize,
                index: usize,
            ) -> Value {
                self.remove_from_segment(context, successor + 1, index)
            }
        }
    };
}

/// `cf.cond_br` of MLIR: goes on to the first block if its first operand holds, else to the second.
#[pliron_op(
    name = "promote_cf.cond_br",
    format,
    interfaces = [IsTerminatorInterface, NResultsInterface<0>, NRegionsInterface<0>, NSuccsInterface<2>]
)]
pub struct CondBrOp;

segmented_branch!(CondBrOp);

impl Verify for CondBrOp {
    fn verify(&self, context: &Context) -> Result<()> {
        requires::bit(self.get_operation(), context)
    }
}

/// `cf.switch` of MLIR: goes on to the block of the case that its first operand is, or to the first block.
#[pliron_op(
    name = "promote_cf.switch",
    format,
    interfaces = [IsTerminatorInterface, NResultsInterface<0>, NRegionsInterface<0>]
)]
pub struct SwitchOp;

segmented_branch!(SwitchOp);

impl Verify for SwitchOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let cases = operation.attributes.get::<IntsAttr>(&CASES).map(|cases| cases.0.len());
        if cases.map(|cases| cases + 1) != Some(operation.get_num_successors()) {
            return verify_err!(
                operation.loc(),
                "a switch has a block for each of `{CASES}`, after the one for other values"
            );
        }
        if operation.get_operand(0).get_type(context).deref(context).is::<IntegerType>() {
            return Ok(());
        }
        verify_err!(operation.loc(), "cf.switch chooses by an integer")
    }
}

/// `cf.assert` of MLIR: ends a run with the message `promote_msg` unless its operand holds.
#[pliron_op(
    name = "promote_cf.assert",
    format,
    interfaces = [NOpdsInterface<1>, NResultsInterface<0>, NRegionsInterface<0>]
)]
pub struct AssertOp;

impl Verify for AssertOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        match operation.attributes.get::<StringAttr>(&MESSAGE) {
            Some(_) => requires::bit(self.get_operation(), context),
            None => verify_err!(operation.loc(), "an assertion has a message, in the attribute `{MESSAGE}`"),
        }
    }
}
