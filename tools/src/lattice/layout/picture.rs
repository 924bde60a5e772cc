//! The parts of a diagram side by side: boxes, frames and lines where they are drawn.

use super::blocks::{BOX_HEIGHT, Block};
use super::graph::Graph;
use super::layers::Layers;
use super::ports::Ports;

/// The space between layers.
const RISE: f64 = 44.0;
/// The space between parts that are not connected.
const APART: f64 = 48.0;
/// The space around everything.
const BORDER: f64 = 16.0;

/// A rectangle; `x` and `y` are its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A line from the top of a lower block through bends to the bottom of an upper one.
#[derive(Clone, Debug)]
pub struct Line {
    /// The pairs of nodes that it stands for, by index.
    pub edges: Vec<(usize, usize)>,
    /// The points it goes through.
    pub points: Vec<(f64, f64)>,
}

/// A diagram with a place for everything.
#[derive(Clone, Debug)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    /// The box of each node.
    pub boxes: Vec<Rect>,
    /// The frames around boxes that share a block.
    pub frames: Vec<Rect>,
    pub lines: Vec<Line>,
}

/// A drawing that grows to the right, part by part.
pub(super) struct Picture<'a> {
    graph: &'a Graph,
    ranks: &'a [usize],
    blocks: &'a [Block],
    drawing: Drawing,
}

/// How high the layers of a part are, and where.
struct Storeys {
    /// The height of each layer.
    heights: Vec<f64>,
    /// Its lower edge, from the top of the picture.
    floors: Vec<f64>,
}

impl Storeys {
    fn new(part: &[usize], ranks: &[usize], blocks: &[Block], bottom: f64) -> Self {
        let mut heights = vec![BOX_HEIGHT; part.iter().map(|block| ranks[*block] + 1).max().unwrap_or(0)];
        for block in part {
            heights[ranks[*block]] = heights[ranks[*block]].max(blocks[*block].height());
        }
        let mut floors = Vec::with_capacity(heights.len());
        let mut floor = bottom;
        for height in &heights {
            floors.push(floor);
            floor -= height + RISE;
        }
        Self { heights, floors }
    }

    /// The upper edge of a layer.
    fn ceiling(&self, layer: usize) -> f64 {
        self.floors[layer] - self.heights[layer]
    }

    /// The upper edge of all.
    fn top(&self) -> f64 {
        self.floors.len().checked_sub(1).map_or(0.0, |last| self.ceiling(last))
    }
}

impl<'a> Picture<'a> {
    pub(super) fn new(
        graph: &'a Graph,
        ranks: &'a [usize],
        blocks: &'a [Block],
        parts: &[Vec<usize>],
    ) -> Self {
        let top = |part: &Vec<usize>| Storeys::new(part, ranks, blocks, 0.0).top();
        let height = 2.0 * BORDER - parts.iter().map(top).fold(0.0, f64::min);
        let nowhere = Rect { x: 0.0, y: 0.0, width: 0.0, height: 0.0 };
        let boxes = vec![nowhere; graph.nodes.len()];
        let drawing = Drawing { width: BORDER, height, boxes, frames: Vec::new(), lines: Vec::new() };
        Self { graph, ranks, blocks, drawing }
    }

    /// Adds a part on the right.
    pub(super) fn add(&mut self, layers: &Layers, centres: &[f64]) {
        let items = || layers.layers.iter().flatten().copied();
        let half = |item: usize| layers.widths[item] / 2.0;
        let from = items().map(|item| centres[item] - half(item)).fold(f64::INFINITY, f64::min);
        let to = items().map(|item| centres[item] + half(item)).fold(f64::NEG_INFINITY, f64::max);
        let shift = self.drawing.width - from;
        let centres: Vec<_> = centres.iter().map(|centre| centre + shift).collect();
        let part: Vec<_> = items().filter(|item| *item < self.blocks.len()).collect();
        let storeys = Storeys::new(&part, self.ranks, self.blocks, self.drawing.height - BORDER);
        for block in part {
            self.add_block(block, centres[block] - half(block), &storeys);
        }
        let ports = Ports::new(layers, &centres);
        for (line, (items, ends)) in layers.lines.iter().enumerate() {
            let ports = (ports.starts[line], ports.ends[line]);
            self.add_line(items, *ends, ports, &centres, &storeys);
        }
        self.drawing.width = to + shift + APART;
    }

    fn add_block(&mut self, index: usize, x: f64, storeys: &Storeys) {
        let block = &self.blocks[index];
        let y = self.top(index, storeys);
        for (position, node) in block.members.iter().enumerate() {
            self.drawing.boxes[*node] = block.place(position, (x, y));
        }
        if block.is_crowd() {
            self.drawing.frames.push(Rect { x, y, width: block.width(), height: block.height() });
        }
    }

    fn top(&self, block: usize, storeys: &Storeys) -> f64 {
        storeys.floors[self.ranks[block]] - self.blocks[block].height()
    }

    fn add_line(
        &mut self,
        items: &[usize],
        (below, above): (usize, usize),
        (start, end): (f64, f64),
        centres: &[f64],
        storeys: &Storeys,
    ) {
        let layer = self.ranks[below];
        let mut points = vec![(start, self.top(below, storeys)), (start, storeys.ceiling(layer))];
        for (item, layer) in items[1..items.len() - 1].iter().zip(layer + 1..) {
            points
                .extend([(centres[*item], storeys.floors[layer]), (centres[*item], storeys.ceiling(layer))]);
        }
        points.push((end, storeys.floors[self.ranks[above]]));
        points.dedup();
        let members = |block: usize| &self.blocks[block].members;
        let is_of_line =
            |(from, to): &(usize, usize)| members(below).contains(from) && members(above).contains(to);
        let edges = self.graph.edges.iter().copied().filter(is_of_line).collect();
        self.drawing.lines.push(Line { edges, points });
    }

    pub(super) fn finish(mut self) -> Drawing {
        self.drawing.width += BORDER - APART;
        self.drawing
    }
}
