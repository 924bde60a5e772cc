//! Where the dtypes of a Hasse diagram stand, and how the lines run.
//!
//! [`Drawing::new`] places a [`Graph`] bottom up, in the manner of Sugiyama, Tagawa and Toda:
//!
//! 1. dtypes that nothing tells apart, with the same dtypes immediately below and above them, share a block;
//! 2. what is not connected is placed on its own, side by side;
//! 3. a block's layer is the length of the longest chain below it;
//! 4. lines that cross several layers get a bend in each of them;
//! 5. the order in each layer is improved by sweeps that sort by the mean position of the neighbours (barycentres),
//!    and the order with the fewest crossings is kept;
//! 6. blocks are moved towards their neighbours as far as their order and their widths allow (isotonic regression);
//!    neighbours of one kind pull harder, so that `u8`, `u16`, `u32`, `u64` stand upright.
//!
//! [`blocks`] does 1 to 3, [`layers`] 4 and 5, [`centres`] 6; [`ports`] and [`picture`] put it on paper.
//!
//! Everything is computed from the order of the dtypes alone, so a diagram is the same from run to run.

mod blocks;
mod centres;
mod graph;
mod layers;
mod picture;
mod ports;

use layers::Layers;
use picture::Picture;

pub use graph::Graph;
pub use picture::{Drawing, Line, Rect};

impl Drawing {
    /// Places a graph whose nodes have these names.
    pub fn new(graph: &Graph, names: &[&str]) -> Self {
        let blocks = blocks::blocks(graph, names);
        let edges = blocks::edges(graph, &blocks);
        let ranks = blocks::ranks(blocks.len(), &edges);
        let parts = blocks::parts(blocks.len(), &edges);
        let mut picture = Picture::new(graph, &ranks, &blocks, &parts);
        for part in parts {
            let edges: Vec<_> = edges.iter().copied().filter(|(below, _)| part.contains(below)).collect();
            let kind = |block: usize| graph.nodes[blocks[block].members[0]].kind();
            let is_kin = |(below, above): (usize, usize)| kind(below) == kind(above);
            let mut layers = Layers::new(&blocks, &part, &edges, &ranks, is_kin);
            layers.uncross();
            layers.put_crowds_last(&blocks);
            let centres = layers.centres();
            picture.add(&layers, &centres);
        }
        picture.finish()
    }
}
