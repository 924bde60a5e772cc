//! Where in its layer everything stands: near its neighbours, in the order of the layer, without overlaps.

use super::layers::{Layers, PULL};

/// How often the layers are swept for shorter lines.
const SWEEPS: usize = 96;

/// The space between blocks of a layer, and of a line that passes by.
const SPACE: f64 = 26.0;

impl Layers {
    /// The middle of each item: near its neighbours, in the order of its layer, without overlaps.
    pub(super) fn centres(&self) -> Vec<f64> {
        let mut centres = vec![0.0; self.items.len()];
        for layer in &self.layers {
            self.settle(layer, &vec![0.0; layer.len()], &mut centres);
        }
        for sweep in 0..SWEEPS {
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
