//! The control flow of a function.

use petgraph::algo::dominators;
use petgraph::graphmap::DiGraphMap;

use crate::flow::reverse_postorder;
use crate::program::Function;

/// The control flow of a function whose edges lead to blocks that are there.
#[derive(Debug)]
pub(super) struct Flow {
    /// The blocks that paths lead to, each before those after it but for the ways back of loops.
    pub order: Vec<usize>,
    /// The blocks that each block dominates with no other one between.
    pub dominated: Vec<Vec<usize>>,
}

impl Flow {
    pub(super) fn new(function: &Function) -> Self {
        let edges = |block: usize| function.blocks[block].end.edges().into_iter();
        let successors = |block: usize| edges(block).map(|edge| edge.block.0 as usize);
        let mut graph = DiGraphMap::<usize, ()>::new();
        graph.add_node(0);
        for block in 0..function.blocks.len() {
            successors(block).for_each(|next| {
                graph.add_edge(block, next, ());
            });
        }
        let dominators = dominators::simple_fast(&graph, 0);
        let mut dominated = vec![Vec::new(); function.blocks.len()];
        for block in 0..function.blocks.len() {
            if let Some(parent) = dominators.immediate_dominator(block) {
                dominated[parent].push(block);
            }
        }
        Self { order: reverse_postorder(function.blocks.len(), successors), dominated }
    }
}
