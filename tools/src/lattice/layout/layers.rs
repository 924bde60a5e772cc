//! The layers of a part, and the order in each: lines that cross several layers are bent, and few lines cross.

use super::blocks::Block;

/// How often the layers are swept for fewer crossings.
const SWEEPS: usize = 24;

/// How hard neighbours pull at each other: of different kinds, of one kind, and bends of one line.
pub(super) const PULL: f64 = 1.0;
const PULL_OF_KIN: f64 = 8.0;
const PULL_OF_BENDS: f64 = 16.0;

/// Something that takes room in a layer: a block, or the bend of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Block,
    Bend,
}

/// The layers, and what is connected between neighbouring ones.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) items: Vec<Item>,
    pub(super) widths: Vec<f64>,
    /// Bottom first, the items of each layer from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// The neighbours in the layer below and above of each item, and how hard they pull.
    pub(super) down: Vec<Vec<(usize, f64)>>,
    pub(super) up: Vec<Vec<(usize, f64)>>,
    /// Each line's items, from bottom to top, and the blocks it connects.
    pub(super) lines: Vec<(Vec<usize>, (usize, usize))>,
}

impl Layers {
    /// The layers of one part.
    pub(super) fn new(
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
    pub(super) fn uncross(&mut self) {
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
    pub(super) fn put_crowds_last(&mut self, blocks: &[Block]) {
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
}
