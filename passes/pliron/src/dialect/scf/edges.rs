//! What flows along the edges into, between and out of the regions of structured ops.

use pliron::builtin::op_interfaces::{RegionBranchPoint, RegionEdge, RegionSuccessor};
use pliron::context::{Context, Ptr};
use pliron::linked_list::ContainsLinkedList;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::result::Result;
use pliron::value::Value;
use pliron::verify_err;

use super::{ConditionOp, YieldOp};

/// An edge: where from, which of that op's operands are its own, where to, and what is given there.
pub(super) struct Edge {
    from: RegionBranchPoint,
    own: usize,
    to: RegionSuccessor,
    receivers: Vec<Value>,
}

/// The edges of an op.
pub(super) type Edges = fn(Ptr<Operation>, &Context) -> Vec<Edge>;

/// The edges of `scf.if`, whose second region may have no block, and of the like.
pub(super) fn condition(operation: Ptr<Operation>, context: &Context) -> Vec<Edge> {
    let results = results(operation, context);
    let after = |from, own, receivers| Edge { from, own, to: RegionSuccessor::After, receivers };
    let own = operation.deref(context).get_num_operands();
    let mut edges = Vec::new();
    for region in operation.deref(context).regions() {
        if region.deref(context).get_head().is_none() {
            edges.push(after(RegionBranchPoint::Parent, own, Vec::new()));
            continue;
        }
        let to = RegionSuccessor::Region(region);
        edges.push(Edge { from: RegionBranchPoint::Parent, own, to, receivers: Vec::new() });
        edges.extend(yields(region, context).map(|end| after(end, 0, results.clone())));
    }
    edges
}

/// The edges of `scf.for`, whose body is given an index and then the carries.
pub(super) fn for_loop(operation: Ptr<Operation>, context: &Context) -> Vec<Edge> {
    let Some(body) = operation.deref(context).regions().next() else { return Vec::new() };
    let results = results(operation, context);
    let carries: Vec<_> = arguments(body, context).into_iter().skip(1).collect();
    let ends = yields(body, context).map(|end| (end, 0));
    let both = |(from, own)| {
        let again = Edge { from, own, to: RegionSuccessor::Region(body), receivers: carries.clone() };
        [again, Edge { from, own, to: RegionSuccessor::After, receivers: results.clone() }]
    };
    std::iter::once((RegionBranchPoint::Parent, 3)).chain(ends).flat_map(both).collect()
}

/// The edges of `scf.while`.
pub(super) fn while_loop(operation: Ptr<Operation>, context: &Context) -> Vec<Edge> {
    let regions: Vec<_> = operation.deref(context).regions().collect();
    let [before, body] = regions[..] else { return Vec::new() };
    let (again, passed) = (arguments(before, context), arguments(body, context));
    let to_before =
        |from| Edge { from, own: 0, to: RegionSuccessor::Region(before), receivers: again.clone() };
    let mut edges = vec![to_before(RegionBranchPoint::Parent)];
    for from in ends::<ConditionOp>(before, context) {
        edges.push(Edge { from, own: 1, to: RegionSuccessor::Region(body), receivers: passed.clone() });
        let receivers = results(operation, context);
        edges.push(Edge { from, own: 1, to: RegionSuccessor::After, receivers });
    }
    edges.extend(yields(body, context).map(to_before));
    edges
}

/// The edges as pliron knows them.
pub(super) fn of(operation: Ptr<Operation>, context: &Context, edges: Edges) -> Vec<RegionEdge> {
    let edge = |edge: Edge| {
        let source = source(operation, edge.from).deref(context);
        let uses: Vec<_> = source.operands_as_uses().collect();
        let (reads, passed) = uses.split_at(edge.own.min(uses.len()));
        let flows = passed.iter().copied().zip(edge.receivers).collect();
        RegionEdge { from: edge.from, to: edge.to, flows, reads: reads.to_vec() }
    };
    edges(operation, context).into_iter().map(edge).collect()
}

/// Whether as much is passed along each edge as is given at its end.
pub(super) fn verify(operation: Ptr<Operation>, context: &Context, edges: Edges) -> Result<()> {
    for edge in edges(operation, context) {
        let source = source(operation, edge.from).deref(context);
        let passed = source.get_num_operands().checked_sub(edge.own);
        if passed != Some(edge.receivers.len()) {
            let given = edge.receivers.len();
            return verify_err!(
                source.loc(),
                "{given} values must be passed on, after {} operands of its own",
                edge.own
            );
        }
    }
    Ok(())
}

fn source(operation: Ptr<Operation>, from: RegionBranchPoint) -> Ptr<Operation> {
    match from {
        RegionBranchPoint::Parent => operation,
        RegionBranchPoint::Terminator(end) => end,
    }
}

fn results(operation: Ptr<Operation>, context: &Context) -> Vec<Value> {
    operation.deref(context).results().collect()
}

/// What the first block of a region is given.
fn arguments(region: Ptr<Region>, context: &Context) -> Vec<Value> {
    let first = region.deref(context).get_head();
    first.map_or_else(Vec::new, |block| block.deref(context).arguments().collect())
}

/// What yields from a region.
fn yields(region: Ptr<Region>, context: &Context) -> impl Iterator<Item = RegionBranchPoint> {
    ends::<YieldOp>(region, context)
}

/// The ops of one kind that end blocks of a region.
fn ends<T: pliron::op::Op>(
    region: Ptr<Region>,
    context: &Context,
) -> impl Iterator<Item = RegionBranchPoint> {
    let blocks = region.deref(context).iter(context);
    let ends = blocks.filter_map(|block| block.deref(context).get_tail());
    ends.filter(|end| Operation::is_op::<T>(*end, context)).map(RegionBranchPoint::Terminator)
}
