//! Where on a block its lines start and end.

use super::layers::Layers;

/// The space between lines that start or end at one block.
const PORTS: f64 = 12.0;
/// What the corners of a block leave no room for lines in.
const CORNER: f64 = 12.0;

/// Where along the edges of its blocks each line starts and ends: side by side, in the order of where they lead.
pub(super) struct Ports {
    pub(super) starts: Vec<f64>,
    pub(super) ends: Vec<f64>,
}

impl Ports {
    pub(super) fn new(layers: &Layers, centres: &[f64]) -> Self {
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
