//! What whole vectors leave of a loop: computed in a vector that overlaps the one before, under a mask, in shorter vectors, or one by one.

use mlir_sys::*;
use promote_lower::kernel::{Form, Role};
use promote_lower::order::register_lanes;

use super::squares::Bounds;
use super::{Body, KernelEmitter};
use crate::targets::cpu::costs::LANES_OF_REST;
use crate::targets::llvm::Predicate;

impl<'k> KernelEmitter<'k> {
    /// What is left of a range from `middle` on, less than a vector, where what was computed may be computed again: in a vector that
    /// ends where the range does, if the tile has as many elements. Those before it are another unit's.
    pub(super) fn last(
        &mut self,
        dim: usize,
        (from, to): Bounds,
        middle: MlirValue,
        body: &mut Body<'_, 'k>,
    ) {
        let whole = self.lanes;
        match self.kernel.dims[dim].fixed() {
            Some(extent) => {
                let in_tile = self.row_tile.map_or(extent, |tile| extent % tile);
                let lanes = (extent as usize % whole).next_power_of_two();
                if lanes as i64 <= in_tile {
                    self.lanes = lanes;
                    self.again(dim, (middle, to), body);
                } else {
                    self.part(dim, (middle, to), &[], body);
                }
            }
            None => {
                self.lanes = register_lanes(self.kernel, self.setting.machine.vector_bytes).clamp(1, whole);
                self.rest_of_register((dim, (from, to)), middle, body);
            }
        }
        self.lanes = whole;
    }

    /// The same of a range of any length, in vectors of a register as far as they go. A range that is shorter than that is computed as
    /// any part.
    fn rest_of_register(
        &mut self,
        (dim, (from, to)): (usize, Bounds),
        middle: MlirValue,
        body: &mut Body<'_, 'k>,
    ) {
        let lanes = self.lanes;
        let end = self.last_whole((middle, to), lanes as i64);
        self.repeat(dim, (middle, end), lanes, &[], &mut |emitter, state| body(emitter, lanes, state));
        let size = self.code.index(lanes as i64);
        let count = self.code.int("llvm.sub", to, from);
        let fits = self.code.compare(Predicate::Sge, count, size);
        let [whole, shorter, after] = [(); 3].map(|()| self.code.new_block(&[]));
        self.code.branch_if(fits, (whole, &[]), (shorter, &[]));
        self.code.go_to(whole);
        self.again(dim, (end, to), body);
        self.code.branch(after, &[]);
        self.code.go_to(shorter);
        self.part(dim, (end, to), &[], body);
        self.code.branch(after, &[]);
        self.code.go_to(after);
    }

    /// A vector that ends where a range does, if there is something in it.
    fn again(&mut self, dim: usize, (from, to): Bounds, body: &mut Body<'_, 'k>) {
        let lanes = self.lanes;
        let size = self.code.index(lanes as i64);
        let start = self.code.int("llvm.sub", to, size);
        self.repeat(dim, (from, to), lanes, &[], &mut |emitter, state| {
            emitter.index[dim] = Some(start);
            body(emitter, lanes, state)
        });
    }

    /// Less than a vector: in a vector some lanes of which are masked, in shorter ones, or one by one.
    pub(super) fn part(
        &mut self,
        dim: usize,
        (from, to): (MlirValue, MlirValue),
        carried: &[MlirValue],
        body: &mut Body<'_, 'k>,
    ) -> Vec<MlirValue> {
        if self.is_tiny && self.kernel.form == Form::Map {
            self.halves((dim, (from, to)), None, body);
            return carried.to_vec();
        }
        if !self.has_masks && carried.is_empty() && matches!(self.kernel.form, Form::Columns { .. }) {
            // Each lane is a column of its own, however many there are.
            self.shorter_and_shorter(dim, (from, to), body);
            return Vec::new();
        }
        if !self.has_masks {
            return self.repeat(dim, (from, to), 1, carried, &mut |emitter, state| body(emitter, 1, state));
        }
        let whole = self.lanes;
        let rest = self.kernel.dims[dim].fixed().map(|extent| extent as usize % whole);
        if matches!(self.kernel.form, Form::Columns { .. })
            && let Some(rest) = rest
        {
            // Each lane is a column of its own, in registers of which some lane counts.
            let register = register_lanes(self.kernel, self.setting.machine.vector_bytes);
            self.lanes = rest.next_power_of_two().max(register).min(whole);
        }
        let lanes = self.lanes;
        // Where elements are stored one by one, or not at all, the mask may be a constant: registers without a lane that counts are left
        // out.
        let known = rest.filter(|_| self.is_tiny || self.only_reduces(dim));
        let carried = self.repeat(dim, (from, to), lanes, carried, &mut |emitter, state| {
            emitter.rest = known.filter(|_| emitter.is_tiny);
            emitter.mask = Some(match known {
                Some(rest) => emitter.first_lanes(rest),
                None => emitter.lanes_before(dim, to),
            });
            let next = body(emitter, lanes, state);
            (emitter.mask, emitter.rest) = (None, None);
            next
        });
        self.lanes = whole;
        carried
    }

    /// Whether the stage at hand goes through a whole reduced dimension, and stores nothing along it. Along others, results are stored.
    fn only_reduces(&self, dim: usize) -> bool {
        let kernel = self.kernel;
        let is_stored = |root: usize| match kernel.roots[root].role {
            Role::Store | Role::Scan(_) => kernel.is_full(root) && self.stage(root) == self.stage,
            Role::Reduce(_) | Role::Arg(_) => false,
        };
        let is_reduced = matches!(kernel.form, Form::Rows { .. }) && kernel.reduced().contains(&dim);
        is_reduced && kernel.chunk.is_none() && !(0..kernel.roots.len()).any(is_stored)
    }

    /// Less than a vector of columns: in vectors of a register as far as they go, and what they leave in such that are half as long each;
    /// where a run alone knows how many that are, and each length would take code, in vectors of eight and one by one.
    fn shorter_and_shorter(&mut self, dim: usize, (mut from, to): Bounds, body: &mut Body<'_, 'k>) {
        let whole = self.lanes;
        let register = register_lanes(self.kernel, self.setting.machine.vector_bytes).clamp(1, whole);
        let known = self.kernel.dims[dim].fixed().map(|extent| extent as usize % register);
        let open = if known.is_none() { [LANES_OF_REST, 1].as_slice() } else { &[] };
        for lanes in [&[register], open].concat() {
            if lanes >= self.lanes {
                continue;
            }
            self.lanes = lanes;
            let end = self.last_whole((from, to), lanes as i64);
            self.repeat(dim, (from, end), lanes, &[], &mut |emitter, state| body(emitter, lanes, state));
            from = end;
        }
        if known.is_some() {
            self.halves((dim, (from, to)), known, body);
        }
        self.lanes = whole;
    }

    /// Less than a vector, of a kernel that carries nothing: in vectors that are half as long each, down to one element. None is in a
    /// loop, and none has a mask, so LLVM can keep what is stored here and loaded elsewhere in registers. The range does not end before it
    /// begins, and is empty if it has not as many indices as is known.
    fn halves(
        &mut self,
        (dim, (mut from, to)): (usize, Bounds),
        known: Option<usize>,
        body: &mut Body<'_, 'k>,
    ) {
        let whole = self.lanes;
        let count = self.code.int("llvm.sub", to, from);
        while self.lanes > 1 {
            self.lanes /= 2;
            let lanes = self.lanes;
            if known.is_some_and(|count| count & lanes == 0) {
                continue;
            }
            let bit = self.code.index(lanes as i64);
            let own = self.code.int("llvm.and", count, bit);
            let end = self.code.int("llvm.add", from, own);
            self.repeat(dim, (from, end), lanes, &[], &mut |emitter, state| body(emitter, lanes, state));
            from = end;
        }
        self.lanes = whole;
    }
}
