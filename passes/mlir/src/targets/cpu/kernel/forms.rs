//! What each form of kernel does with a unit of work.

use mlir_sys::*;
use rustc_hash::FxHashMap;

use super::Maker;
use promote_lower::kernel::{ExprId, Role};

impl<'k> Maker<'k> {
    pub(super) fn map(&mut self, tile: Option<(MlirValue, MlirValue)>) {
        let kernel = self.kernel;
        let anchors: Vec<usize> = (0..kernel.anchors.len()).collect();
        let Some(bounds) = tile else {
            return anchors.into_iter().for_each(|anchor| self.store_anchor(anchor, 1));
        };
        let dim = kernel.dims.len() - 1;
        if let Some(extent) = self.short {
            return self.short_map(extent, bounds, &anchors);
        }
        self.hoist(1 << dim, usize::MAX);
        self.innermost(dim, bounds, &[], &mut |maker, lanes, _| {
            anchors.iter().for_each(|anchor| maker.store_anchor(*anchor, lanes));
            Vec::new()
        });
    }

    /// A map whose innermost dimension is short: `bounds` are those of the dimension before it.
    pub(super) fn short_map(&mut self, extent: i64, (from, to): (MlirValue, MlirValue), anchors: &[usize]) {
        let dim = self.kernel.dims.len() - 1;
        self.hoist(3 << (dim - 1), usize::MAX);
        let (width, zero) = (self.code.index(extent), self.code.index(0));
        // From here on the innermost dimension counts the elements of both.
        let (from, to) = (self.code.int("llvm.mul", from, width), self.code.int("llvm.mul", to, width));
        let step = self.lanes as i64 * extent;
        let count = self.code.int("llvm.sub", to, from);
        let size = self.code.index(step);
        let rest = self.code.int("llvm.srem", count, size);
        let middle = self.code.int("llvm.sub", to, rest);
        self.index[dim - 1] = Some(zero);
        let rounds = self.code.open((from, middle, step), &[]);
        for phase in 0..extent as usize {
            self.phase = phase;
            let ahead = self.code.index((phase * self.lanes) as i64);
            self.index[dim] = Some(self.code.int("llvm.add", rounds.index, ahead));
            self.frames.push(FxHashMap::default());
            anchors.iter().for_each(|anchor| self.store_anchor(*anchor, self.lanes));
            self.frames.pop();
        }
        self.phase = 0;
        self.index[dim] = None;
        self.code.close(&rounds, &[]);
        self.repeat(dim, (middle, to), 1, &[], &mut |maker, _| {
            anchors.iter().for_each(|anchor| maker.store_anchor(*anchor, 1));
            Vec::new()
        });
        self.index[dim - 1] = None;
    }

    /// Computes in front of all loops what depends on a short innermost dimension alone.
    pub(super) fn hoist_periodic(&mut self) {
        let Some(extent) = self.short else { return };
        let used: Vec<ExprId> = (0..self.kernel.exprs.len())
            .filter(|index| {
                self.is_periodic[*index] && self.users[*index] & !(1 << (self.kernel.dims.len() - 1)) != 0
            })
            .map(|index| ExprId(index as u32))
            .collect();
        for phase in 0..extent as usize {
            self.phase = phase;
            used.iter().for_each(|expr| {
                self.eval(*expr, self.lanes);
            });
        }
        self.phase = 0;
    }

    pub(super) fn rows(&mut self) {
        let reduced = self.kernel.reduced();
        self.results.fill(None);
        let full: Vec<usize> =
            (0..self.kernel.anchors.len()).filter(|anchor| self.is_full(*anchor)).collect();
        let last = full.iter().map(|anchor| self.stage(*anchor)).max().unwrap_or(0);
        for stage in 0..=last {
            self.stage = stage;
            let anchors: Vec<usize> =
                full.iter().copied().filter(|anchor| self.stage(*anchor) == stage).collect();
            let kept: Vec<ExprId> =
                self.kept.iter().filter(|(_, kept)| kept.stage == stage).map(|(expr, _)| *expr).collect();
            let mut carried = Vec::new();
            for anchor in &anchors {
                carried.extend(self.start(*anchor));
            }
            let carried = self.nest(reduced.clone(), stage, &carried, &mut |maker, lanes, state| {
                maker.row_step(&anchors, &kept, lanes, state)
            });
            let mut rest = carried.as_slice();
            for anchor in &anchors {
                let (own, others) = rest.split_at(self.accumulator(*anchor).len() * self.copies(*anchor));
                rest = others;
                if !own.is_empty() {
                    self.results[*anchor] = Some(self.finish(*anchor, own));
                }
            }
        }
        self.stage = usize::MAX;
        for anchor in 0..self.kernel.anchors.len() {
            match self.results[anchor] {
                Some(result) if !matches!(self.kernel.anchors[anchor].role, Role::Scan(_)) => {
                    self.store_result(anchor, result, 1);
                }
                _ if !full.contains(&anchor) => self.store_anchor(anchor, 1),
                _ => {}
            }
        }
    }

    /// What a stage does at an index of a row: stores, keeps and accumulates.
    pub(super) fn row_step(
        &mut self,
        anchors: &[usize],
        kept: &[ExprId],
        lanes: usize,
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        for expr in kept {
            let value = self.eval(*expr, lanes);
            self.keep(*expr, value, lanes);
        }
        let (mut next, mut rest) = (Vec::with_capacity(state.len()), state);
        for anchor in anchors {
            let parts = self.accumulator(*anchor);
            if parts.is_empty() {
                self.store_anchor(*anchor, lanes);
                continue;
            }
            let copies = self.copies(*anchor);
            let (own, others) = rest.split_at(parts.len() * copies);
            rest = others;
            // Vectors have an accumulator of their own.
            let own_lanes = if copies == 1 { 1 } else { lanes };
            let at = if copies == 2 && lanes == 1 { parts.len() } else { 0 };
            let old = &own[at..at + parts.len()];
            let new = self.accumulate(*anchor, old, own_lanes);
            let mut all = own.to_vec();
            all[at..at + parts.len()].copy_from_slice(&new);
            next.extend(all);
        }
        next
    }

    pub(super) fn columns(&mut self, tile: Option<(MlirValue, MlirValue)>) {
        let kernel = self.kernel;
        let Some((from, to)) = tile else { unreachable!("columns have a last dimension") };
        self.tile = Some(from);
        let dim = kernel.dims.len() - 1;
        let reduced = kernel.reduced();
        let is_reduction =
            |anchor: &usize| matches!(kernel.anchors[*anchor].role, Role::Reduce(_) | Role::Scan(_));
        let reductions: Vec<usize> = (0..kernel.anchors.len()).filter(is_reduction).collect();
        let last = reductions.iter().map(|anchor| self.stage(*anchor)).max().unwrap_or(0);
        for anchor in &reductions {
            if self.columns[*anchor].is_empty() {
                self.columns[*anchor] = self.column_room(*anchor);
            }
        }
        for stage in 0..=last {
            let anchors: Vec<usize> =
                reductions.iter().copied().filter(|anchor| self.stage(*anchor) == stage).collect();
            self.innermost(dim, (from, to), &[], &mut |maker, lanes, _| {
                for anchor in &anchors {
                    let start = maker.identity(*anchor, lanes);
                    maker.put_column(*anchor, &start, from, lanes);
                }
                Vec::new()
            });
            self.around(reduced.clone(), stage, &[], &mut |maker, _| {
                maker.hoist(1 << dim, stage);
                maker.innermost(dim, (from, to), &[], &mut |maker, lanes, _| {
                    for anchor in &anchors {
                        let old = maker.column(*anchor, from, lanes);
                        let new = maker.accumulate(*anchor, &old, lanes);
                        maker.put_column(*anchor, &new, from, lanes);
                    }
                    Vec::new()
                });
                Vec::new()
            });
        }
        self.hoist(1 << dim, usize::MAX);
        self.innermost(dim, (from, to), &[], &mut |maker, lanes, _| {
            for anchor in 0..kernel.anchors.len() {
                if matches!(kernel.anchors[anchor].role, Role::Scan(_)) {
                    // Each step was stored.
                } else if reductions.contains(&anchor) {
                    let values = maker.column(anchor, from, lanes);
                    let value = maker.element(anchor, &values);
                    maker.store_result(anchor, value, lanes);
                } else {
                    maker.store_anchor(anchor, lanes);
                }
            }
            Vec::new()
        });
    }
}
