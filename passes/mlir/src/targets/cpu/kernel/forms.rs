//! What each form of kernel does with a unit of work.

use mlir_sys::*;
use promote_scalar::Element;

use super::elements::each;
use super::lanes::{goes_by_row, planar, repeated};
use super::squares::Bounds;
use super::{KernelEmitter, Scope};
use crate::targets::llvm::{Predicate, Register, shuffle};
use promote_lattice::DType;
use promote_lower::kernel::{ExprId, Role};

impl<'k> KernelEmitter<'k> {
    pub(super) fn map(&mut self, tile: Option<(MlirValue, MlirValue)>) {
        let kernel = self.kernel;
        let roots: Vec<usize> = (0..kernel.roots.len()).collect();
        let Some(bounds) = tile else {
            return roots.into_iter().for_each(|root| self.store_root(root, 1));
        };
        let dim = kernel.dims.len() - 1;
        if let Some(extent) = self.short {
            return self.short_map(extent, bounds, &roots);
        }
        self.hoist(1 << dim, usize::MAX);
        self.prefetch_taken(dim, bounds.0);
        self.next_row = self.row_before(dim);
        self.innermost(dim, bounds, &[], &mut |emitter, lanes, _| {
            roots.iter().for_each(|root| emitter.store_root(*root, lanes));
            Vec::new()
        });
        self.next_row = None;
    }

    /// A map whose innermost dimension is short: `rows` are those of the dimension before it. Where they are no whole number of
    /// rounds apart, the last round computes again what the one before did; where they are less than one apart, all is computed row by
    /// row, or one by one.
    pub(super) fn short_map(&mut self, extent: i64, rows: Bounds, roots: &[usize]) {
        let dim = self.kernel.dims.len() - 1;
        self.hoist(3 << (dim - 1), usize::MAX);
        let width = self.code.index(extent);
        // From here on the innermost dimension counts the elements of both.
        let [from, to] = [rows.0, rows.1].map(|row| self.code.int("llvm.mul", row, width));
        let size = self.code.index(self.lanes as i64 * extent);
        let count = self.code.int("llvm.sub", to, from);
        let has_rounds = self.code.compare(Predicate::Sge, count, size);
        let after = self.code.new_block(&[]);
        self.branch_to(after, has_rounds, &mut |emitter| emitter.short_rounds(extent, (from, to), roots));
        match goes_by_row(self.kernel) {
            true => self.short_rows(extent, rows, roots),
            false => {
                self.repeat(dim, (from, to), 1, &[], &mut |emitter, _| {
                    let index = emitter.at(dim);
                    emitter.index[dim - 1] = Some(emitter.code.int("llvm.udiv", index, width));
                    emitter.index[dim] = Some(emitter.code.int("llvm.urem", index, width));
                    roots.iter().for_each(|root| emitter.store_root(*root, 1));
                    emitter.index[dim - 1] = None;
                    Vec::new()
                });
            }
        }
        self.code.branch(after, &[]);
        self.code.go_to(after);
    }

    /// Elements of a short innermost dimension and the one before it, at least as many as a round has: as many vectors as the innermost one
    /// has indices. The last round has some of them again.
    fn short_rounds(&mut self, extent: i64, (from, to): Bounds, roots: &[usize]) {
        let dim = self.kernel.dims.len() - 1;
        let step = self.lanes as i64 * extent;
        let [width, zero, size] = [extent, 0, step].map(|number| self.code.index(number));
        let last = self.code.int("llvm.sub", to, size);
        let rounds = self.code.open((from, to, step), &[]);
        let start = self.code.int("llvm.intr.smin", rounds.index, last);
        let row = self.code.int("llvm.udiv", start, width);
        let (planes, values) = (self.load_planes(extent, row), self.values_of_rows(row));
        self.index[dim - 1] = Some(zero);
        for phase in 0..extent as usize {
            self.phase = phase;
            let ahead = self.code.index((phase * self.lanes) as i64);
            self.index[dim] = Some(self.code.int("llvm.add", start, ahead));
            let mut frame = self.interleaved(&planes);
            frame.extend(self.repeated(extent, &values));
            self.frames.push(frame);
            roots.iter().for_each(|root| self.store_root(*root, self.lanes));
            self.frames.pop();
        }
        self.phase = 0;
        (self.index[dim - 1], self.index[dim]) = (None, None);
        self.code.close(&rounds, &[]);
    }

    /// Rows of a short innermost dimension, each in vectors along it.
    fn short_rows(&mut self, extent: i64, rows: Bounds, roots: &[usize]) {
        let dim = self.kernel.dims.len() - 1;
        let (lanes, again) = (self.lanes, self.computes_again);
        (self.lanes, self.computes_again) = (self.lanes_of_row, true);
        let (zero, width) = (self.code.index(0), self.code.index(extent));
        self.repeat(dim - 1, rows, 1, &[], &mut |emitter, _| {
            emitter.hoist(1 << dim, usize::MAX);
            emitter.innermost(dim, (zero, width), &[], &mut |emitter, lanes, _| {
                roots.iter().for_each(|root| emitter.store_root(*root, lanes));
                Vec::new()
            });
            Vec::new()
        });
        (self.lanes, self.computes_again) = (lanes, again);
    }

    /// What a round reads in planes from a row on: of each expression, a vector of each plane.
    fn load_planes(&mut self, extent: i64, row: MlirValue) -> Vec<(ExprId, DType, Vec<Register>)> {
        let dim = self.kernel.dims.len() - 1;
        let outside = self.vector.replace(dim - 1);
        self.index[dim - 1] = Some(row);
        let mut planes = Vec::new();
        for (id, access, dtype) in planar(self.kernel) {
            let mut vectors = Vec::new();
            for plane in 0..extent {
                self.index[dim] = Some(self.code.index(plane));
                vectors.extend(self.load_raw(access, dtype, self.lanes, None));
            }
            planes.push((id, dtype, vectors));
        }
        self.vector = outside;
        planes
    }

    /// What is the same along the innermost dimension, for as many rows as there are lanes, from one on.
    fn values_of_rows(&mut self, row: MlirValue) -> Vec<(ExprId, Element<Register>)> {
        let dim = self.kernel.dims.len() - 1;
        let outside = self.vector.replace(dim - 1);
        (self.index[dim - 1], self.index[dim]) = (Some(row), Some(self.code.index(0)));
        self.frames.push(Scope::default());
        let ids = repeated(self.kernel).into_iter();
        let values = ids.map(|id| (id, self.eval(id, self.lanes))).collect();
        self.frames.pop();
        self.vector = outside;
        values
    }

    /// Of the values of the rows of a round, those of the elements that the vector of the phase has.
    fn repeated(&mut self, extent: i64, values: &[(ExprId, Element<Register>)]) -> Scope {
        let lanes = self.lanes;
        let row = |lane: usize| (self.phase * lanes + lane) / extent as usize;
        let mask: Vec<i32> = (0..lanes).map(|lane| row(lane) as i32).collect();
        let code = &self.code;
        let spread = |part: Register| {
            let r#type = code.types.lanes(part.ty, lanes);
            Register { value: shuffle(code, (part.value, part.value), r#type, &mask), ty: part.ty }
        };
        values.iter().map(|(id, value)| ((*id, lanes, 0), each(*value, spread))).collect()
    }

    /// Of what a round reads in planes, the elements that the vector of the phase has, in order.
    fn interleaved(&mut self, planes: &[(ExprId, DType, Vec<Register>)]) -> Scope {
        let lanes = self.lanes;
        let mut frame = Scope::default();
        for (id, dtype, vectors) in planes {
            let extent = vectors.len();
            let place = |lane: usize| self.phase * lanes + lane;
            let r#type = self.code.types.lanes(vectors[0].ty, lanes);
            let mut all = vectors[0].value;
            if lanes == 1 {
                all = vectors[self.phase].value;
            }
            for (plane, vector) in vectors.iter().enumerate().skip(1).filter(|_| lanes > 1) {
                // The lanes of the planes before are where they belong, but those of the first one at first.
                let from = |lane: usize| match (place(lane) % extent, plane) {
                    (own, _) if own == plane => lanes + place(lane) / extent,
                    (0, 1) => place(lane) / extent,
                    _ => lane,
                };
                let mask: Vec<i32> = (0..lanes).map(|lane| from(lane) as i32).collect();
                all = shuffle(&self.code, (all, vector.value), r#type, &mask);
            }
            let raw = Register { value: all, ty: vectors[0].ty };
            let loaded = promote_scalar::load(&mut self.emit(lanes), *dtype, raw);
            frame.insert((*id, lanes, 0), Element::Real(loaded));
        }
        frame
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
            (0..self.kernel.roots.len()).filter(|root| self.kernel.is_full(*root)).collect();
        let last = full.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        for stage in 0..=last {
            self.stage = stage;
            let roots: Vec<usize> = full.iter().copied().filter(|root| self.stage(*root) == stage).collect();
            let kept: Vec<ExprId> =
                self.kept.iter().filter(|(_, kept)| kept.stage == stage).map(|(expr, _)| *expr).collect();
            let mut carried = Vec::new();
            for root in &roots {
                carried.extend(self.start(*root));
            }
            let is_stored = |root: &usize| self.kernel.roots[*root].role == Role::Store;
            self.computes_again = !self.is_tiny && roots.iter().all(is_stored);
            let mut step = |emitter: &mut Self, lanes: usize, state: &[MlirValue]| {
                emitter.row_step(&roots, &kept, lanes, state)
            };
            let carried = match self.sought(&roots) {
                Some(sought) => {
                    let dim = reduced.start;
                    self.hoist(1 << dim, stage);
                    let bounds = self.bounds(dim);
                    let block = self.block_of_extreme(sought, dim, bounds);
                    self.innermost(dim, block, &carried, &mut step)
                }
                None => self.nest(reduced.clone(), stage, (&roots, &carried), &mut step),
            };
            let mut rest = carried.as_slice();
            for root in &roots {
                let (own, others) = rest.split_at(self.accumulator(*root).len() * self.copies(*root));
                rest = others;
                if matches!(self.kernel.roots[*root].role, Role::Reduce(_) | Role::Arg(_)) {
                    self.results[*root] = Some(self.finish(*root, own));
                }
            }
        }
        self.computes_again = false;
        self.store_row(&full, 1);
    }

    /// Stores what a row has once: results, and roots that are not `full`.
    pub(super) fn store_row(&mut self, full: &[usize], lanes: usize) {
        self.stage = usize::MAX;
        for root in 0..self.kernel.roots.len() {
            match self.results[root] {
                Some(result) if !matches!(self.kernel.roots[root].role, Role::Scan(_)) => {
                    self.store_result(root, result, lanes);
                }
                _ if !full.contains(&root) => self.store_root(root, lanes),
                _ => {}
            }
        }
    }

    /// What a stage does at an index of a row: stores, keeps and accumulates.
    pub(super) fn row_step(
        &mut self,
        roots: &[usize],
        kept: &[ExprId],
        lanes: usize,
        state: &[MlirValue],
    ) -> Vec<MlirValue> {
        for expr in kept {
            let value = self.eval(*expr, lanes);
            self.keep(*expr, value, lanes);
        }
        let (mut next, mut rest) = (Vec::with_capacity(state.len()), state);
        for root in roots {
            let parts = self.accumulator(*root);
            if parts.is_empty() {
                self.store_root(*root, lanes);
                continue;
            }
            let copies = self.copies(*root);
            let (own, others) = rest.split_at(parts.len() * copies);
            rest = others;
            // What remains of vectors has an accumulator of its own, unless it is in a vector, too.
            let at = if copies == 2 && lanes == 1 { parts.len() } else { 0 };
            let old = &own[at..at + parts.len()];
            let new = self.accumulate(*root, old, lanes);
            let new = self.masked(new, old);
            let mut all = own.to_vec();
            all[at..at + parts.len()].copy_from_slice(&new);
            next.extend(all);
        }
        next
    }
}
