//! The order of some dtypes, as its immediate successors: what a Hasse diagram shows.

use promote_lattice::{DType, Lattice};

use crate::lattice::system::{Entry, System};

/// Dtypes and which of them are immediately above which.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The dtypes.
    pub nodes: Vec<DType>,
    /// From the lower to the upper, by index.
    pub edges: Vec<(usize, usize)>,
}

impl Graph {
    /// The order of a system between some dtypes.
    pub fn new(system: &System, entries: &[Entry]) -> Self {
        Self::of_order(system.semantics.order(), entries.iter().map(|entry| entry.operand.dtype))
    }

    /// An order between some dtypes.
    pub fn of_order(order: &Lattice, dtypes: impl Iterator<Item = DType>) -> Self {
        let mut nodes: Vec<DType> = Vec::new();
        for dtype in dtypes {
            if !nodes.contains(&dtype) {
                nodes.push(dtype);
            }
        }
        let is_above = |below: usize, above: usize| below != above && order.le(nodes[below], nodes[above]);
        let all = 0..nodes.len();
        let is_immediate = |below: usize, above: usize| {
            is_above(below, above)
                && !all.clone().any(|between| is_above(below, between) && is_above(between, above))
        };
        let pairs = all.clone().flat_map(|below| all.clone().map(move |above| (below, above)));
        let edges = pairs.filter(|(below, above)| is_immediate(*below, *above)).collect();
        Self { nodes, edges }
    }

    pub(super) fn below(&self, node: usize) -> Vec<usize> {
        self.edges.iter().filter(|(_, above)| *above == node).map(|(below, _)| *below).collect()
    }

    pub(super) fn above(&self, node: usize) -> Vec<usize> {
        self.edges.iter().filter(|(below, _)| *below == node).map(|(_, above)| *above).collect()
    }
}
