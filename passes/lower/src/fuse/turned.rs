//! Kernels that read across the rows that they write.
//!
//! A cumulative op stores each of its steps, and softmax its rows. Where what they read was permuted before, no order of loops has
//! both side by side. A map goes through squares, but where rows are short. What turns the elements is then a kernel of its own,
//! which does nothing else.

use rustc_hash::FxHashSet;

use super::{Fusion, Plan, Step};
use crate::graph::{Graph, NodeId, Prim};
use crate::kernel::{Kernel, Root};
use crate::target::Costs;
use promote_dialect::extent::Extent;

/// Plans how the `needed` nodes come into memory, given whether the target [runs along memory](crate::target::Target::runs_along_memory)
/// in what a kernel reads and writes.
pub fn fuse(
    graph: &Graph,
    needed: &[NodeId],
    costs: &Costs,
    runs_along_memory: &dyn Fn(&Kernel) -> bool,
) -> Plan {
    let mut apart = FxHashSet::default();
    loop {
        let plan = planned(graph, needed, &apart, costs);
        let before = apart.len();
        for step in &plan.steps {
            if let Step::Kernel(kernel, _) = step
                && !runs_along_memory(kernel)
            {
                apart.extend(turned(graph, kernel, &plan.buffers));
            }
        }
        if apart.len() == before {
            return plan;
        }
    }
}

/// Plans how the `needed` nodes come into memory; those that are `apart` do by kernels of their own.
fn planned(graph: &Graph, needed: &[NodeId], apart: &FxHashSet<NodeId>, costs: &Costs) -> Plan {
    let mut fusion = Fusion::new(graph, needed, apart, costs);
    for index in 0..graph.nodes.len() {
        if fusion.live[index] {
            fusion.place(NodeId(index as u32));
        }
    }
    fusion.finish()
}

/// The views that turn what a kernel reads and that it computes itself: they are not among the `stored` nodes, which are sorted.
fn turned(graph: &Graph, kernel: &Kernel, stored: &[NodeId]) -> Vec<NodeId> {
    let mut seen: FxHashSet<NodeId> = kernel.roots.iter().map(|root| root.node).collect();
    let mut rest: Vec<NodeId> = seen.iter().copied().collect();
    let mut found: Vec<NodeId> = kernel.roots.iter().filter_map(|root| turned_before(graph, root)).collect();
    while let Some(node) = rest.pop() {
        let node = graph.node(node);
        // What elements are taken from is looked up, and few of it may be.
        let read = if matches!(node.prim, Prim::Take(_)) { &node.args[1..] } else { node.args.as_slice() };
        for arg in read.iter().filter(|arg| stored.binary_search(arg).is_err()) {
            if !seen.insert(*arg) {
                continue;
            }
            if turns(graph, *arg) { found.push(*arg) } else { rest.push(*arg) }
        }
    }
    found
}

/// What a root that turns elements itself can leave to a kernel before it: the turning, if it writes them beside others, or else what it
/// computes of each.
fn turned_before(graph: &Graph, root: &Root) -> Option<NodeId> {
    if !turns(graph, root.node) {
        return None;
    }
    let is_own = root.sinks.iter().any(|sink| sink.buffer == root.node);
    let operand = graph.node(root.node).args[0];
    let is_computed = matches!(graph.node(operand).prim, Prim::Map(_) | Prim::Convert);
    if is_own { is_computed.then_some(operand) } else { Some(root.node) }
}

/// Whether a node is a view that repeats no elements, in which others are side by side than in what it is of.
fn turns(graph: &Graph, node: NodeId) -> bool {
    let Prim::View(indices) = &graph.node(node).prim else { return false };
    let (own, source) = (graph.shape(node), graph.shape(graph.node(node).args[0]));
    let is_long = |extent: &Extent| *extent != Extent::Fixed(1);
    let (Some(last), Some(innermost)) = (own.iter().rposition(is_long), source.iter().rposition(is_long))
    else {
        return false;
    };
    let is_used = |dim: usize| indices.iter().any(|index| index.dim == Some(dim));
    let has_all = (0..own.len()).all(|dim| !is_long(&own[dim]) || is_used(dim));
    has_all && indices[innermost].dim.is_some_and(|dim| dim != last)
}
