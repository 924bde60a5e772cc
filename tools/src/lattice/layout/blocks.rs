//! What shares a place in the diagram, and which layer it belongs to.

use super::graph::Graph;
use super::picture::Rect;

/// How many dtypes it takes to share a block.
const CROWD: usize = 3;

/// The height of a dtype's box.
pub(super) const BOX_HEIGHT: f64 = 30.0;
/// What a letter of a name takes, and what is around the name.
const LETTER: f64 = 8.2;
const MARGIN: f64 = 22.0;
/// The space between boxes in a block, and around them.
const GAP: f64 = 8.0;

/// Nodes that share a place.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) members: Vec<usize>,
    columns: usize,
    box_width: f64,
}

impl Block {
    fn new(members: Vec<usize>, names: &[&str]) -> Self {
        let letters = members.iter().map(|node| names[*node].chars().count()).max().unwrap_or(0);
        let columns = match members.len() {
            count if count < CROWD => count,
            count if count > 4 * CROWD => 4,
            _ => 3,
        };
        Self { members, columns, box_width: (letters as f64).mul_add(LETTER, MARGIN) }
    }

    pub(super) fn is_crowd(&self) -> bool {
        self.members.len() > 1
    }

    fn padding(&self) -> f64 {
        if self.is_crowd() { GAP } else { 0.0 }
    }

    pub(super) fn width(&self) -> f64 {
        let columns = self.columns as f64;
        columns.mul_add(self.box_width, (columns - 1.0) * GAP) + 2.0 * self.padding()
    }

    pub(super) fn height(&self) -> f64 {
        let rows = self.members.len().div_ceil(self.columns) as f64;
        rows.mul_add(BOX_HEIGHT, (rows - 1.0) * GAP) + 2.0 * self.padding()
    }

    /// The box of the member at `index`, given the block's upper left corner.
    pub(super) fn place(&self, index: usize, (x, y): (f64, f64)) -> Rect {
        let (row, column) = ((index / self.columns) as f64, (index % self.columns) as f64);
        Rect {
            x: column.mul_add(self.box_width + GAP, x + self.padding()),
            y: row.mul_add(BOX_HEIGHT + GAP, y + self.padding()),
            width: self.box_width,
            height: BOX_HEIGHT,
        }
    }
}

/// Nodes with the same nodes immediately below and above them share a block if there are many of them.
pub(super) fn blocks(graph: &Graph, names: &[&str]) -> Vec<Block> {
    let mut groups: Vec<([Vec<usize>; 2], Vec<usize>)> = Vec::new();
    for node in 0..graph.nodes.len() {
        let around = [graph.below(node), graph.above(node)];
        match groups.iter_mut().find(|(other, _)| *other == around) {
            Some((_, members)) => members.push(node),
            None => groups.push((around, vec![node])),
        }
    }
    let split = |members: Vec<usize>| match members.len() {
        0..CROWD => members.into_iter().map(|node| vec![node]).collect(),
        CROWD.. => vec![members],
    };
    groups.into_iter().flat_map(|(_, members)| split(members)).map(|group| Block::new(group, names)).collect()
}

/// The lines between blocks.
pub(super) fn edges(graph: &Graph, blocks: &[Block]) -> Vec<(usize, usize)> {
    let block = |node: usize| blocks.iter().position(|block| block.members.contains(&node));
    let mut edges: Vec<_> =
        graph.edges.iter().filter_map(|(below, above)| Some((block(*below)?, block(*above)?))).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The layer of each block: the longest chain below it; what nothing is below of goes as high as it can.
pub(super) fn ranks(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut ranks = vec![0; count];
    for _ in 0..count {
        for (below, above) in edges {
            ranks[*above] = ranks[*above].max(ranks[*below] + 1);
        }
    }
    for block in 0..count {
        let has_below = edges.iter().any(|(_, above)| *above == block);
        let above = edges.iter().filter(|(below, _)| *below == block).map(|(_, above)| ranks[*above]).min();
        if let (false, Some(above)) = (has_below, above) {
            ranks[block] = above - 1;
        }
    }
    ranks
}

/// The blocks of each part that is connected, those with most blocks first.
pub(super) fn parts(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut part: Vec<usize> = (0..count).collect();
    for _ in 0..count {
        for (a, b) in edges {
            let least = part[*a].min(part[*b]);
            (part[*a], part[*b]) = (least, least);
        }
    }
    let of = |root: usize| (0..count).filter(|block| part[*block] == root).collect::<Vec<_>>();
    let mut parts: Vec<_> = (0..count).map(of).filter(|part| !part.is_empty()).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts
}
