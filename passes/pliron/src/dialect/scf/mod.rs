//! Structured control flow: conditions, loops, and what ends their regions.
//!
//! pliron's interfaces say of each what flows where, so that pliron's analyses see through them.

mod edges;
mod rules;

use pliron::builtin::op_interfaces::{AtLeastNOpdsInterface, OneOpdInterface};
use pliron::builtin::op_interfaces::{
    IsTerminatorInterface, NOpdsInterface, NRegionsInterface, NResultsInterface, NoTerminatorInterface,
    OneRegionInterface, RegionBranchOpInterface, RegionEdge, SingleBlockRegionInterface,
};
use pliron::context::Context;
use pliron::derive::{op_interface_impl, pliron_op};
use pliron::op::Op;
use pliron::result::Result;

/// `scf.if` of MLIR: runs its first region if its operand holds, else the second, if that has a block.
#[pliron_op(name = "promote_scf.if", format, interfaces = [NRegionsInterface<2>, OneOpdInterface])]
pub struct IfOp;

/// `scf.index_switch` of MLIR: runs the region of the case that its operand is, or the first.
#[pliron_op(name = "promote_scf.index_switch", format, interfaces = [OneOpdInterface])]
pub struct IndexSwitchOp;

/// `scf.execute_region` of MLIR: runs its region once, which may have several blocks.
#[pliron_op(
    name = "promote_scf.execute_region",
    format,
    interfaces = [NOpdsInterface<0>, OneRegionInterface]
)]
pub struct ExecuteRegionOp;

/// `scf.for` of MLIR: runs its region for each index from its first operand to before the second, in steps of the third. The
/// other operands are what the first iteration is given, and each yields what the next is given.
#[pliron_op(
    name = "promote_scf.for",
    format,
    interfaces = [OneRegionInterface, SingleBlockRegionInterface, AtLeastNOpdsInterface<3>]
)]
pub struct ForOp;

/// `scf.while` of MLIR: runs its first region, and as long as that says so the second.
#[pliron_op(
    name = "promote_scf.while",
    format,
    interfaces = [NRegionsInterface<2>, SingleBlockRegionInterface]
)]
pub struct WhileOp;

/// `scf.parallel` of MLIR: a loop nest whose iterations may run at once, and what they reduce to.
#[pliron_op(
    name = "promote_scf.parallel",
    format,
    interfaces = [OneRegionInterface, SingleBlockRegionInterface]
)]
pub struct ParallelOp;

/// `scf.forall` of MLIR: a loop nest whose iterations may run at once, and write to parts of outputs.
#[pliron_op(
    name = "promote_scf.forall",
    format,
    interfaces = [OneRegionInterface, SingleBlockRegionInterface]
)]
pub struct ForallOp;

/// `scf.forall.in_parallel` of MLIR: ends the body of a `forall`, and holds what writes to the outputs.
#[pliron_op(
    name = "promote_scf.forall_in_parallel",
    format,
    interfaces = [
        IsTerminatorInterface, OneRegionInterface, SingleBlockRegionInterface, NoTerminatorInterface, NOpdsInterface<0>,
        NResultsInterface<0>
    ]
)]
pub struct InParallelOp;

/// `scf.reduce` of MLIR: ends the body of a `parallel`; a region an operand says how two of its values become one.
#[pliron_op(
    name = "promote_scf.reduce",
    format,
    interfaces = [IsTerminatorInterface, SingleBlockRegionInterface, NResultsInterface<0>]
)]
pub struct ReduceOp;

/// `scf.reduce.return` of MLIR: ends a region of a `reduce`.
#[pliron_op(
    name = "promote_scf.reduce_return",
    format,
    interfaces = [IsTerminatorInterface, NResultsInterface<0>, NRegionsInterface<0>, NOpdsInterface<1>]
)]
pub struct ReduceReturnOp;

/// `scf.yield` of MLIR: ends a region, and passes its operands on.
#[pliron_op(
    name = "promote_scf.yield",
    format,
    interfaces = [IsTerminatorInterface, NResultsInterface<0>, NRegionsInterface<0>]
)]
pub struct YieldOp;

/// `scf.condition` of MLIR: ends the first region of a `while`. If the first operand holds, the second region is given the
/// others; else they are the results.
#[pliron_op(
    name = "promote_scf.condition",
    format,
    interfaces = [IsTerminatorInterface, NResultsInterface<0>, NRegionsInterface<0>, AtLeastNOpdsInterface<1>]
)]
pub struct ConditionOp;

/// `tensor.generate` of MLIR: a tensor of what its region yields for each position.
#[pliron_op(
    name = "promote_tensor.generate",
    format,
    interfaces = [OneRegionInterface, SingleBlockRegionInterface, NResultsInterface<1>]
)]
pub struct GenerateOp;

/// `tensor.yield` of MLIR: ends the region of a `generate`.
#[pliron_op(
    name = "promote_tensor.yield",
    format,
    interfaces = [IsTerminatorInterface, NResultsInterface<0>, NRegionsInterface<0>, NOpdsInterface<1>]
)]
pub struct GenerateYieldOp;

macro_rules! region_branch {
    ($title:ident, $edges:path) => {
        #[op_interface_impl]
        impl RegionBranchOpInterface for $title {
            fn verify_region_edges_layout(&self, context: &Context) -> Result<()> {
                edges::verify(self.get_operation(), context, $edges)
            }

            fn region_edges(&self, context: &Context) -> Vec<RegionEdge> {
                edges::of(self.get_operation(), context, $edges)
            }
        }
    };
}

region_branch!(IfOp, edges::condition);
region_branch!(IndexSwitchOp, edges::condition);
region_branch!(ExecuteRegionOp, edges::condition);
region_branch!(ForOp, edges::for_loop);
region_branch!(WhileOp, edges::while_loop);
