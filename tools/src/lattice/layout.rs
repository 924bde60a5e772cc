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
//! Everything is computed from the order of the dtypes alone, so a diagram is the same from run to run.

use promote_lattice::{DType, Lattice};

use super::system::{Entry, System};

/// How many dtypes it takes to share a block.
const CROWD: usize = 3;
/// How often the layers are swept for fewer crossings, and for shorter lines.
const SWEEPS: usize = 24;

/// The height of a dtype's box.
const BOX_HEIGHT: f64 = 30.0;
/// What a letter of a name takes, and what is around the name.
const LETTER: f64 = 8.2;
const MARGIN: f64 = 22.0;
/// The space between boxes in a block, and around them.
const GAP: f64 = 8.0;
/// The space between blocks of a layer, and of a line that passes by.
const SPACE: f64 = 26.0;
/// The space between layers.
const RISE: f64 = 44.0;
/// The space between lines that start or end at one block.
const PORTS: f64 = 12.0;
/// What the corners of a block leave no room for lines in.
const CORNER: f64 = 12.0;
/// The space between parts that are not connected.
const APART: f64 = 48.0;
/// The space around everything.
const BORDER: f64 = 16.0;

/// How hard neighbours pull at each other: of different kinds, of one kind, and bends of one line.
const PULL: f64 = 1.0;
const PULL_OF_KIN: f64 = 8.0;
const PULL_OF_BENDS: f64 = 16.0;

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

    fn below(&self, node: usize) -> Vec<usize> {
        self.edges.iter().filter(|(_, above)| *above == node).map(|(below, _)| *below).collect()
    }

    fn above(&self, node: usize) -> Vec<usize> {
        self.edges.iter().filter(|(below, _)| *below == node).map(|(_, above)| *above).collect()
    }
}

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

/// Nodes that share a place.
#[derive(Debug)]
struct Block {
    members: Vec<usize>,
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

    fn is_crowd(&self) -> bool {
        self.members.len() > 1
    }

    fn padding(&self) -> f64 {
        if self.is_crowd() { GAP } else { 0.0 }
    }

    fn width(&self) -> f64 {
        let columns = self.columns as f64;
        columns.mul_add(self.box_width, (columns - 1.0) * GAP) + 2.0 * self.padding()
    }

    fn height(&self) -> f64 {
        let rows = self.members.len().div_ceil(self.columns) as f64;
        rows.mul_add(BOX_HEIGHT, (rows - 1.0) * GAP) + 2.0 * self.padding()
    }

    /// The box of the member at `index`, given the block's upper left corner.
    fn place(&self, index: usize, (x, y): (f64, f64)) -> Rect {
        let (row, column) = ((index / self.columns) as f64, (index % self.columns) as f64);
        Rect {
            x: column.mul_add(self.box_width + GAP, x + self.padding()),
            y: row.mul_add(BOX_HEIGHT + GAP, y + self.padding()),
            width: self.box_width,
            height: BOX_HEIGHT,
        }
    }
}

/// Something that takes room in a layer: a block, or the bend of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Block,
    Bend,
}

/// The layers, and what is connected between neighbouring ones.
#[derive(Debug)]
struct Layers {
    items: Vec<Item>,
    widths: Vec<f64>,
    /// Bottom first, the items of each layer from left to right.
    layers: Vec<Vec<usize>>,
    /// The neighbours in the layer below and above of each item, and how hard they pull.
    down: Vec<Vec<(usize, f64)>>,
    up: Vec<Vec<(usize, f64)>>,
    /// Each line's items, from bottom to top, and the blocks it connects.
    lines: Vec<(Vec<usize>, (usize, usize))>,
}

impl Drawing {
    /// Places a graph whose nodes have these names.
    pub fn new(graph: &Graph, names: &[&str]) -> Self {
        let blocks = blocks(graph, names);
        let edges = block_edges(graph, &blocks);
        let ranks = ranks(blocks.len(), &edges);
        let parts = parts(blocks.len(), &edges);
        let mut picture = Picture::new(graph, &ranks, &blocks, &parts);
        for part in parts {
            let edges: Vec<_> = edges.iter().copied().filter(|(below, _)| part.contains(below)).collect();
            let is_kin = |(below, above): (usize, usize)| {
                let kind = |block: usize| graph.nodes[blocks[block].members[0]].kind();
                kind(below) == kind(above)
            };
            let mut layers = Layers::new(&blocks, &part, &edges, &ranks, is_kin);
            layers.uncross();
            layers.put_crowds_last(&blocks);
            let centres = layers.centres();
            picture.add(&layers, &centres);
        }
        picture.finish()
    }
}

/// Nodes with the same nodes immediately below and above them share a block if there are many of them.
fn blocks(graph: &Graph, names: &[&str]) -> Vec<Block> {
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
fn block_edges(graph: &Graph, blocks: &[Block]) -> Vec<(usize, usize)> {
    let block = |node: usize| blocks.iter().position(|block| block.members.contains(&node));
    let mut edges: Vec<_> =
        graph.edges.iter().filter_map(|(below, above)| Some((block(*below)?, block(*above)?))).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The layer of each block: the longest chain below it; what nothing is below of goes as high as it can.
fn ranks(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
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
fn parts(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
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

impl Layers {
    /// The layers of one part.
    fn new(
        blocks: &[Block],
        part: &[usize],
        edges: &[(usize, usize)],
        ranks: &[usize],
        is_kin: impl Fn((usize, usize)) -> bool,
    ) -> Self {
        let mut layers = Self {
            items: vec![Item::Block; blocks.len()],
            widths: blocks.iter().map(Block::width).collect(),
            layers: vec![Vec::new(); ranks.iter().max().map_or(0, |top| top + 1)],
            down: vec![Vec::new(); blocks.len()],
            up: vec![Vec::new(); blocks.len()],
            lines: Vec::new(),
        };
        for block in part {
            layers.layers[ranks[*block]].push(*block);
        }
        for (below, above) in edges {
            let pull = if is_kin((*below, *above)) { PULL_OF_KIN } else { PULL };
            let mut line = vec![*below];
            for layer in ranks[*below] + 1..ranks[*above] {
                line.push(layers.bend(layer));
            }
            line.push(*above);
            for pair in line.windows(2) {
                let are_bends = pair.iter().all(|item| layers.items[*item] == Item::Bend);
                let pull = if are_bends { PULL_OF_BENDS } else { pull };
                layers.up[pair[0]].push((pair[1], pull));
                layers.down[pair[1]].push((pair[0], pull));
            }
            layers.lines.push((line, (*below, *above)));
        }
        layers
    }

    fn bend(&mut self, layer: usize) -> usize {
        let item = self.items.len();
        self.items.push(Item::Bend);
        self.widths.push(0.0);
        self.down.push(Vec::new());
        self.up.push(Vec::new());
        self.layers[layer].push(item);
        item
    }

    /// Sorts the layers so that few lines cross.
    fn uncross(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for sweep in 0..SWEEPS {
            let upwards = sweep % 2 == 0;
            let count = self.layers.len();
            for step in 0..count {
                self.sort_layer(if upwards { step } else { count - 1 - step }, upwards);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    /// Sorts a layer by the barycentres of the neighbours in the layer before it; items without any stay.
    fn sort_layer(&mut self, layer: usize, upwards: bool) {
        let positions = self.positions();
        let neighbours = if upwards { &self.down } else { &self.up };
        let key = |item: usize| {
            let around = &neighbours[item];
            let sum: f64 = around.iter().map(|(other, _)| positions[*other]).sum();
            if around.is_empty() { positions[item] } else { sum / around.len() as f64 }
        };
        self.layers[layer].sort_by(|a, b| key(*a).total_cmp(&key(*b)));
    }

    /// Moves shared blocks to the right of their layers, out of the way, where no more lines cross for it.
    fn put_crowds_last(&mut self, blocks: &[Block]) {
        let is_crowd = |item: &usize| blocks.get(*item).is_some_and(Block::is_crowd);
        for layer in 0..self.layers.len() {
            let (crossings, before) = (self.crossings(), self.layers[layer].clone());
            self.layers[layer].sort_by_key(is_crowd);
            if self.crossings() > crossings {
                self.layers[layer] = before;
            }
        }
    }

    /// The position of each item in its layer, from 0 to 1.
    fn positions(&self) -> Vec<f64> {
        let mut positions = vec![0.0; self.items.len()];
        for layer in &self.layers {
            for (position, item) in layer.iter().enumerate() {
                positions[*item] = (position as f64 + 0.5) / layer.len() as f64;
            }
        }
        positions
    }

    fn crossings(&self) -> usize {
        let positions = self.positions();
        let mut crossings = 0;
        for layer in &self.layers {
            let links: Vec<(f64, f64)> = layer
                .iter()
                .flat_map(|item| {
                    self.up[*item].iter().map(|(above, _)| (positions[*item], positions[*above]))
                })
                .collect();
            for (i, one) in links.iter().enumerate() {
                crossings +=
                    links[i + 1..].iter().filter(|other| (one.0 - other.0) * (one.1 - other.1) < 0.0).count();
            }
        }
        crossings
    }

    /// The middle of each item: near its neighbours, in the order of its layer, without overlaps.
    fn centres(&self) -> Vec<f64> {
        let mut centres = vec![0.0; self.items.len()];
        for layer in &self.layers {
            self.settle(layer, &vec![0.0; layer.len()], &mut centres);
        }
        for sweep in 0..4 * SWEEPS {
            let count = self.layers.len();
            for step in 0..count {
                let layer = &self.layers[if sweep % 2 == 0 { step } else { count - 1 - step }];
                let wishes: Vec<f64> = layer.iter().map(|item| self.wish(*item, &centres)).collect();
                self.settle(layer, &wishes, &mut centres);
            }
        }
        centres
    }

    /// Where an item would like to be: in the middle of its neighbours, as they pull.
    fn wish(&self, item: usize, centres: &[f64]) -> f64 {
        let around = || self.down[item].iter().chain(&self.up[item]);
        let pull: f64 = around().map(|(_, pull)| pull).sum();
        let moment: f64 = around().map(|(other, pull)| centres[*other] * pull).sum();
        if pull > 0.0 { moment / pull } else { centres[item] }
    }

    /// How hard an item's neighbours pull at it together.
    fn weight(&self, item: usize) -> f64 {
        let pull: f64 = self.down[item].iter().chain(&self.up[item]).map(|(_, pull)| pull).sum();
        pull.max(PULL)
    }

    /// Puts the items of a layer as near to their wishes as their order and widths allow: a regression that pools
    /// neighbours that are in each other's way.
    fn settle(&self, layer: &[usize], wishes: &[f64], centres: &mut [f64]) {
        let mut offsets = Vec::with_capacity(layer.len());
        let mut offset = 0.0;
        for (position, item) in layer.iter().enumerate() {
            if position > 0 {
                let before = layer[position - 1];
                offset += f64::midpoint(self.widths[before], self.widths[*item]) + SPACE;
            }
            offsets.push(offset);
        }
        // Pools of items that stand side by side: the sum of what they wish, their weight, their number.
        let mut pools: Vec<(f64, f64, usize)> = Vec::new();
        for ((item, wish), offset) in layer.iter().zip(wishes).zip(&offsets) {
            let weight = self.weight(*item);
            pools.push(((wish - offset) * weight, weight, 1));
            while let [.., before, last] = pools.as_slice()
                && before.0 / before.1 > last.0 / last.1
            {
                let merged = (before.0 + last.0, before.1 + last.1, before.2 + last.2);
                pools.truncate(pools.len() - 2);
                pools.push(merged);
            }
        }
        let places = pools.iter().flat_map(|(sum, weight, count)| std::iter::repeat_n(sum / weight, *count));
        for ((item, place), offset) in layer.iter().zip(places).zip(&offsets) {
            centres[*item] = place + offset;
        }
    }
}

/// Where along the edges of its blocks each line starts and ends: side by side, in the order of where they lead.
struct Ports {
    starts: Vec<f64>,
    ends: Vec<f64>,
}

impl Ports {
    fn new(layers: &Layers, centres: &[f64]) -> Self {
        let items = |line: usize| &layers.lines[line].0;
        let first = |line: usize| (items(line)[0], items(line)[1]);
        let last = |line: usize| (items(line)[items(line).len() - 1], items(line)[items(line).len() - 2]);
        Self { starts: side(layers, centres, first), ends: side(layers, centres, last) }
    }
}

/// The ports on one side of the blocks; `of` gives a line's block on that side, and the item it leads to.
fn side(layers: &Layers, centres: &[f64], of: impl Fn(usize) -> (usize, usize)) -> Vec<f64> {
    let count = layers.lines.len();
    let port = |line: usize| {
        let (block, towards) = of(line);
        let others = (0..count).map(&of).enumerate().filter(|(_, (other, _))| *other == block);
        let key = |line: usize, towards: usize| (centres[towards], line);
        let mine = key(line, towards);
        let is_left = |other: (f64, usize)| other.0.total_cmp(&mine.0).then(other.1.cmp(&mine.1)).is_lt();
        let (all, left) = others.fold((0_u32, 0_u32), |(all, left), (other, (_, towards))| {
            (all + 1, left + u32::from(is_left(key(other, towards))))
        });
        let step = ((layers.widths[block] - CORNER) / f64::from(all)).min(PORTS);
        (f64::from(left) - f64::from(all - 1) / 2.0).mul_add(step, centres[block])
    };
    (0..count).map(port).collect()
}

/// A drawing that grows to the right, part by part.
struct Picture<'a> {
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
    fn new(graph: &'a Graph, ranks: &'a [usize], blocks: &'a [Block], parts: &[Vec<usize>]) -> Self {
        let top = |part: &Vec<usize>| Storeys::new(part, ranks, blocks, 0.0).top();
        let height = 2.0 * BORDER - parts.iter().map(top).fold(0.0, f64::min);
        let nowhere = Rect { x: 0.0, y: 0.0, width: 0.0, height: 0.0 };
        let boxes = vec![nowhere; graph.nodes.len()];
        let drawing = Drawing { width: BORDER, height, boxes, frames: Vec::new(), lines: Vec::new() };
        Self { graph, ranks, blocks, drawing }
    }

    /// Adds a part on the right.
    fn add(&mut self, layers: &Layers, centres: &[f64]) {
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

    fn finish(mut self) -> Drawing {
        self.drawing.width += BORDER - APART;
        self.drawing
    }
}
