//! Kernels that read across the rows that they write.
//!
//! A cumulative op stores each of its steps, and softmax its rows. Where what they read was permuted before, no order of loops has
//! both side by side. The view that turns the elements is then computed by a kernel of its own, which does nothing else, into memory
//! of its own. So it is where other kernels would read short rows one element at a time.

use rustc_hash::FxHashSet;

use super::{Fusion, Plan, Step};
use crate::graph::{Graph, Index, NodeId, Prim};
use crate::kernel::{Kernel, Root};
use crate::target::Costs;
use promote_dialect::extent::Extent;

/// Plans how the `needed` nodes come into memory, given the buffers that a kernel [reads across](crate::target::Target::reads_across).
pub fn fuse(
    graph: &Graph,
    needed: &[NodeId],
    costs: &Costs,
    reads_across: &dyn Fn(&Kernel) -> Vec<NodeId>,
) -> Plan {
    let mut apart = FxHashSet::default();
    // No node is added twice, so this ends.
    loop {
        let plan = planned(graph, needed, &apart, costs);
        let before = apart.len();
        for step in &plan.steps {
            let Step::Kernel(kernel, _) = step else { continue };
            let across: Vec<NodeId> = reads_across(kernel).into_iter().map(|node| graph.base(node)).collect();
            if !across.is_empty() {
                let turning = Turning { graph, stored: &plan.buffers, across: &across };
                apart.extend(turning.of(kernel));
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

/// Looks for what turns the elements that a kernel reads.
struct Turning<'g> {
    graph: &'g Graph,
    /// The nodes that kernels write, sorted.
    stored: &'g [NodeId],
    /// The nodes whose buffers are read across.
    across: &'g [NodeId],
}

impl Turning<'_> {
    /// The nodes that are to have kernels of their own: nothing that is less than what it is a view of is computed as a whole.
    fn of(&self, kernel: &Kernel) -> Vec<NodeId> {
        let mut seen: FxHashSet<NodeId> = kernel.roots.iter().map(|root| root.node).collect();
        let mut rest: Vec<NodeId> = seen.iter().copied().collect();
        let mut found: Vec<NodeId> = kernel.roots.iter().filter_map(|root| self.before_root(root)).collect();
        while let Some(node) = rest.pop() {
            if !self.is_whole(node) {
                continue;
            }
            let node = self.graph.node(node);
            // What elements are taken from is looked up, and few of it may be.
            let read =
                if matches!(node.prim, Prim::Take(_)) { &node.args[1..] } else { node.args.as_slice() };
            for arg in read.iter().filter(|arg| !self.is_stored(**arg)) {
                if seen.insert(*arg) {
                    if self.turns(*arg) { found.push(*arg) } else { rest.push(*arg) }
                }
            }
        }
        found
    }

    /// What a root that turns elements itself can leave to a kernel before it: the turning, if it writes them beside others, or else what
    /// it computes of each.
    fn before_root(&self, root: &Root) -> Option<NodeId> {
        if !self.turns(root.node) {
            return None;
        }
        let is_own = root.sinks.iter().any(|sink| sink.buffer == root.node);
        let operand = self.graph.node(root.node).args[0];
        let is_computed = matches!(self.graph.node(operand).prim, Prim::Map(_) | Prim::Convert);
        if is_own { (is_computed && self.is_whole(root.node)).then_some(operand) } else { Some(root.node) }
    }

    fn is_stored(&self, node: NodeId) -> bool {
        self.stored.binary_search(&node).is_ok()
    }

    /// Whether a node is a view that uses each dimension of its result, of elements that are read across, where others are side by side
    /// than in what they are read from. A view of a view is one with it.
    fn turns(&self, node: NodeId) -> bool {
        let Prim::View(indices) = &self.graph.node(node).prim else { return false };
        let own = self.graph.shape(node);
        let is_used = |dim: usize| indices.iter().any(|index| index.dim == Some(dim));
        if !(0..own.len()).all(|dim| own[dim] == Extent::Fixed(1) || is_used(dim)) {
            return false;
        }
        let (mut viewed, mut views) = (node, Vec::new());
        while let Prim::View(indices) = &self.graph.node(viewed).prim {
            views.push(indices);
            viewed = self.graph.node(viewed).args[0];
            if self.is_stored(viewed) {
                break;
            }
        }
        let innermost =
            |node: NodeId| self.graph.shape(node).iter().rposition(|extent| *extent != Extent::Fixed(1));
        let up = |dim: Option<usize>, indices: &&Vec<Index>| dim.and_then(|dim| indices[dim].dim);
        let dim = views.iter().rev().fold(innermost(viewed), up);
        let is_turned = dim.is_some() && dim != innermost(node);
        let prim = &self.graph.node(viewed).prim;
        let is_read =
            self.is_stored(viewed) || matches!(prim, Prim::Source(_) | Prim::Dense(_) | Prim::Reshape);
        is_turned && (!is_read || self.across.contains(&self.graph.base(viewed)))
    }

    /// Whether a node is not a view of some elements only of what it is of.
    fn is_whole(&self, node: NodeId) -> bool {
        let Prim::View(indices) = &self.graph.node(node).prim else { return true };
        let (own, source) = (self.graph.shape(node), self.graph.shape(self.graph.node(node).args[0]));
        indices.iter().zip(&source).all(|(index, extent)| match index.dim {
            Some(dim) => own[dim] == *extent,
            None => *extent == Extent::Fixed(1),
        })
    }
}
