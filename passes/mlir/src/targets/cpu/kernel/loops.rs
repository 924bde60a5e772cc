//! Loops over dimensions, in vectors and one by one, and what is computed in front of them.

use mlir_sys::*;
use promote_lattice::DType;
use promote_scalar::{Ty, memory};
use rustc_hash::FxHashMap;

use super::elements::part_count;
use super::squares::Bounds;
use super::{Body, KernelEmitter, NextRow};
use crate::targets::cpu::costs::{
    MOST_PARTS, PART_ALIGNMENT, ROWS_AHEAD, STREAM_ALIGNMENT, STREAMED, STREAMED_ROW,
};
use crate::targets::llvm::Predicate;
use promote_lower::kernel::{Access, Code as What, ExprId, Form, Role, Taken};

impl<'k> KernelEmitter<'k> {
    /// A loop over a dimension by `lanes`, carrying values.
    pub(super) fn repeat(
        &mut self,
        dim: usize,
        bounds: (MlirValue, MlirValue),
        lanes: usize,
        carried: &[MlirValue],
        body: &mut dyn FnMut(&mut Self, &[MlirValue]) -> Vec<MlirValue>,
    ) -> Vec<MlirValue> {
        let open = self.code.open((bounds.0, bounds.1, lanes as i64), carried);
        let outside = self.index[dim].replace(open.index);
        self.frames.push(FxHashMap::default());
        let next = body(self, &open.carried);
        self.frames.pop();
        self.index[dim] = outside;
        self.code.close(&open, &next);
        open.carried
    }

    /// Does something and goes elsewhere, if a condition holds.
    pub(super) fn branch_to(
        &mut self,
        after: MlirBlock,
        condition: MlirValue,
        body: &mut dyn FnMut(&mut Self),
    ) {
        let [inside, outside] = [(); 2].map(|()| self.code.new_block(&[]));
        self.code.branch_if(condition, (inside, &[]), (outside, &[]));
        self.code.go_to(inside);
        body(self);
        self.code.branch(after, &[]);
        self.code.go_to(outside);
    }

    /// Where the whole runs of `size` indices of a range end, `size` being a power of two. A range that ends before it begins
    /// has none, and nothing is left of it.
    ///
    /// This is counted back from the end. `from + (count & -size)` says the same, but where `from` is a quotient times less
    /// than its divisor, as `8 * (task / 16)`, LLVM 22 on x86 folds it into the address that the sum is computed as, and drops
    /// the other operand, which depends on it, while it still uses it.
    pub(super) fn last_whole(&mut self, (from, to): Bounds, size: i64) -> MlirValue {
        let (zero, mask) = (self.code.index(0), self.code.index(size - 1));
        let count = self.code.int("llvm.sub", to, from);
        let count = self.code.int("llvm.intr.smax", count, zero);
        let rest = self.code.int("llvm.and", count, mask);
        self.code.int("llvm.sub", to, rest)
    }

    /// A tile of indices, from `start` on: so many at once, the last of them with some before, if need be; if the tile has less than
    /// `least`, one by one. Tiles have up to `tile` indices; `least` is no less than are taken at once, and a tile with less begins at
    /// `start`.
    pub(super) fn in_groups(
        &mut self,
        dim: usize,
        (from, to): Bounds,
        start: MlirValue,
        (count, least, tile): (usize, i64, i64),
        body: &mut dyn FnMut(&mut Self, usize),
    ) {
        let mut one_by_one = |emitter: &mut Self, from: MlirValue| {
            emitter.repeat(dim, (from, to), 1, &[], &mut |emitter, _| {
                body(emitter, 1);
                Vec::new()
            });
        };
        if count == 1 {
            return one_by_one(self, start);
        }
        let width = self.code.index(count as i64);
        let (all, enough) = (self.code.int("llvm.sub", to, from), self.code.index(least));
        let are_enough = self.code.compare(Predicate::Sge, all, enough);
        let end = self.code.select(are_enough, to, from);
        let left = self.kernel.dims[dim].fixed().map(|extent| extent % tile);
        if left.is_none_or(|left| left != 0 && left < least) {
            one_by_one(self, end);
        }
        let last = self.code.int("llvm.sub", to, width);
        self.repeat(dim, (start, end), count, &[], &mut |emitter, _| {
            let index = emitter.at(dim);
            emitter.index[dim] = Some(emitter.code.int("llvm.intr.smin", index, last));
            body(emitter, count);
            Vec::new()
        });
    }

    /// The innermost loop: in vectors as far as they go, then one by one.
    pub(super) fn innermost(
        &mut self,
        dim: usize,
        (from, to): (MlirValue, MlirValue),
        carried: &[MlirValue],
        body: &mut Body<'_, 'k>,
    ) -> Vec<MlirValue> {
        let lanes = self.lanes;
        if lanes == 1 {
            return self.repeat(dim, (from, to), 1, carried, &mut |emitter, state| body(emitter, 1, state));
        }
        let middle = self.last_whole((from, to), lanes as i64);
        if carried.is_empty()
            && let Some((condition, start)) = self.can_stream(dim, (from, to))
        {
            self.streamed(dim, (from, to), (condition, start, middle), body);
            return Vec::new();
        }
        let carried = self
            .repeat(dim, (from, middle), lanes, carried, &mut |emitter, state| body(emitter, lanes, state));
        let is_exact = self.kernel.dims[dim].fixed().is_some_and(|extent| extent % lanes as i64 == 0)
            && self.kernel.chunk.is_none();
        if is_exact {
            return carried;
        }
        if carried.is_empty() && self.computes_again {
            self.last(dim, (from, to), middle, body);
            return carried;
        }
        self.part(dim, (middle, to), &carried, body)
    }

    /// The innermost loop of a kernel that carries nothing: from `start` on past the caches if a condition holds, which is
    /// where its results are aligned; else from the first index on, to `middle` in vectors.
    pub(super) fn streamed(
        &mut self,
        dim: usize,
        (from, to): (MlirValue, MlirValue),
        (condition, start, middle): (MlirValue, MlirValue, MlirValue),
        body: &mut Body<'_, 'k>,
    ) {
        let lanes = self.lanes;
        let (streams, plain) = (self.code.new_block(&[]), self.code.new_block(&[]));
        let after = self.code.new_block(&[self.code.types.i64]);
        self.code.branch_if(condition, (streams, &[]), (plain, &[]));
        self.code.go_to(streams);
        self.part(dim, (from, start), &[], body);
        let last = self.last_whole((start, to), lanes as i64);
        self.streams = true;
        self.has_streamed = true;
        self.repeat(dim, (start, last), lanes, &[], &mut |emitter, state| body(emitter, lanes, state));
        self.streams = false;
        self.code.branch(after, &[last]);
        self.code.go_to(plain);
        self.repeat(dim, (from, middle), lanes, &[], &mut |emitter, state| body(emitter, lanes, state));
        self.code.branch(after, &[middle]);
        self.code.go_to(after);
        let rest = crate::targets::llvm::block_argument(after, 0);
        // Rows of a known extent are long where they may be stored past the caches: one mask does not matter.
        if self.computes_again && self.kernel.dims[dim].fixed().is_none() {
            return self.last(dim, (from, to), rest, body);
        }
        self.part(dim, (rest, to), &[], body);
    }

    /// Whether, at run time, vectors may be stored past the caches, as there are many, and the index from which on they are
    /// aligned. `None` if that is known not to be worth it.
    pub(super) fn can_stream(
        &mut self,
        dim: usize,
        (from, to): (MlirValue, MlirValue),
    ) -> Option<(MlirValue, MlirValue)> {
        let (kernel, lanes) = (self.kernel, self.lanes as i64);
        let is_in_order = matches!(kernel.form, Form::Map | Form::Rows { .. }) && self.down.is_none();
        if !is_in_order || kernel.cost() > 96 {
            return None;
        }
        let mut sinks = Vec::new();
        for root in kernel.roots.iter().filter(|root| root.role == Role::Store) {
            let dtype = kernel.expr(root.expr).dtype;
            sinks.extend(root.sinks.iter().map(|sink| (sink, dtype)));
        }
        sinks.retain(|(sink, _)| !sink.strides[dim].is_zero());
        let (_, dtype) = *sinks.first()?;
        let bytes = |dtype: DType| (memory(dtype).bits() as usize / 8 * part_count(dtype)) as i64;
        let is_aligned = |dtype: DType| (self.lanes as i64 * bytes(dtype)) % STREAM_ALIGNMENT as i64 == 0;
        if sinks.iter().any(|(sink, dtype)| sink.strides[dim].fixed() != Some(1) || !is_aligned(*dtype)) {
            return None;
        }
        let mut condition = self.are_many(STREAMED / bytes(dtype))?;
        let bits = self.code.types.scalar(Ty::I1);
        // Rows of few vectors follow each other: they fill lines together, and none is peeled. Of several results at once each row fills
        // its own.
        let is_short = |extent: &i64| *extent <= MOST_PARTS * lanes && extent % lanes == 0;
        let is_whole = kernel.dims[dim].fixed().is_some_and(|extent| is_short(&extent));
        let least = STREAMED_ROW / bytes(dtype);
        if !is_whole && dim > 0 {
            match kernel.dims[dim].fixed() {
                Some(extent) if extent < least => return None,
                Some(_) => {}
                None => {
                    let (extent, least) = (self.product(&kernel.dims[dim]), self.code.index(least));
                    let is_long = self.code.compare(Predicate::Sge, extent, least);
                    condition = self.code.value("llvm.and", &[condition, is_long], bits, &[]);
                }
            }
        }
        let is_shared = is_whole && sinks.len() == 1;
        self.stream_alignment = if is_shared { PART_ALIGNMENT } else { STREAM_ALIGNMENT };
        let (mask, zero) = (self.code.index(self.stream_alignment as i64 - 1), self.code.index(0));
        if is_whole {
            for sink in sinks {
                let ahead = self.bytes_ahead(sink, dim, from);
                let rest = self.code.int("llvm.and", ahead, mask);
                let is_aligned = self.code.compare(Predicate::Eq, rest, zero);
                condition = self.code.value("llvm.and", &[condition, is_aligned], bits, &[]);
            }
            return Some((condition, from));
        }
        let ahead = self.bytes_ahead(sinks[0], dim, from);
        let missing = self.code.int("llvm.sub", zero, ahead);
        let missing = self.code.int("llvm.and", missing, mask);
        let size = self.code.index(bytes(dtype));
        let head = self.code.int("llvm.udiv", missing, size);
        let start = self.code.int("llvm.add", from, head);
        let start = self.code.int("llvm.intr.smin", start, to);
        for sink in sinks {
            let rest = self.bytes_ahead(sink, dim, start);
            let rest = self.code.int("llvm.and", rest, mask);
            let is_aligned = self.code.compare(Predicate::Eq, rest, zero);
            condition = self.code.value("llvm.and", &[condition, is_aligned], bits, &[]);
        }
        Some((condition, start))
    }

    /// Whether the kernel has so many indices, a truth value at run time; `None` if it is known to have fewer.
    pub(super) fn are_many(&mut self, least: i64) -> Option<MlirValue> {
        let total = self.index_count();
        match total.fixed() {
            Some(total) if total < least => None,
            Some(_) => Some(self.code.constant(Ty::I1, 1, 1)),
            None => {
                let (total, least) = (self.product(&total), self.code.index(least));
                Some(self.code.compare(Predicate::Sge, total, least))
            }
        }
    }

    /// The address of what is read or written at an index of a dimension, as a number.
    pub(super) fn bytes_ahead(
        &mut self,
        (access, dtype): (&Access, DType),
        dim: usize,
        index: MlirValue,
    ) -> MlirValue {
        let outside = self.index[dim].replace(index);
        let (address, _) = self.first(access, dtype, None);
        self.index[dim] = outside;
        self.code.value("llvm.ptrtoint", &[address], self.code.types.i64, &[])
    }

    /// Loops over dimensions, the last one in vectors, with the accumulators of roots.
    pub(super) fn nest(
        &mut self,
        dims: std::ops::Range<usize>,
        stage: usize,
        (roots, carried): (&[usize], &[MlirValue]),
        body: &mut Body<'_, 'k>,
    ) -> Vec<MlirValue> {
        let last = dims.end - 1;
        self.enclose(dims.start..last, stage, carried, &mut |emitter, state| {
            emitter.hoist(1 << last, stage);
            let bounds = emitter.bounds(last);
            emitter.next_row = emitter.row_ahead(dims.clone());
            let next = match emitter.settling(last, roots) {
                Some(settling) => emitter.innermost_until(settling, (last, bounds), state, body),
                None => emitter.innermost_in_blocks(last, bounds, (roots, state), body),
            };
            emitter.next_row = None;
            next
        })
    }

    /// The row that is brought into the caches while a short one is read: processors do not see where it is.
    fn row_ahead(&mut self, dims: std::ops::Range<usize>) -> Option<NextRow> {
        let [.., rows, within] = dims.collect::<Vec<_>>()[..] else { return None };
        let extent = self.kernel.dims[within].fixed().filter(|extent| (1..ROWS_AHEAD).contains(extent))?;
        let ahead = self.code.index(ROWS_AHEAD / extent);
        Some(NextRow { ahead: vec![(rows, ahead)], level: self.setting.machine.level_ahead() })
    }

    /// Loops over dimensions one by one.
    pub(super) fn enclose(
        &mut self,
        dims: std::ops::Range<usize>,
        stage: usize,
        carried: &[MlirValue],
        body: &mut dyn FnMut(&mut Self, &[MlirValue]) -> Vec<MlirValue>,
    ) -> Vec<MlirValue> {
        if dims.is_empty() {
            return body(self, carried);
        }
        let deeper = (dims.start..self.kernel.dims.len()).fold(0, |all, dim| all | 1u64 << dim);
        self.hoist(deeper, stage);
        let bounds = self.bounds(dims.start);
        self.repeat(dims.start, bounds, 1, carried, &mut |emitter, state| {
            emitter.enclose(dims.start + 1..dims.end, stage, state, body)
        })
    }

    /// The bounds of a dimension, or of the part of it that the unit has.
    pub(super) fn bounds(&mut self, dim: usize) -> (MlirValue, MlirValue) {
        let extent = self.product(&self.kernel.dims[dim].clone());
        match self.kernel.chunk.filter(|chunk| chunk.dim == dim) {
            None => (self.code.index(0), extent),
            Some(chunk) => {
                let Some(part) = self.index[chunk.by] else { unreachable!("the parts are units") };
                let length = self.product(&chunk.length.into());
                let own = self.code.int("llvm.mul", part, length);
                let (from, to) = match chunk.taken {
                    Taken::Own => (own, self.code.int("llvm.add", own, length)),
                    Taken::Before => {
                        let (from, zero) = (self.code.int("llvm.sub", own, length), self.code.index(0));
                        (self.code.int("llvm.intr.smax", from, zero), own)
                    }
                };
                let to = self.code.int("llvm.intr.smin", to, extent);
                (self.code.int("llvm.intr.smin", from, to), to)
            }
        }
    }

    /// Computes what depends on none of the `deeper` dimensions, but is used by something that does, up to a stage.
    pub(super) fn hoist(&mut self, deeper: u64, stage: usize) {
        for index in 0..self.kernel.exprs.len() {
            let (id, expr) = (ExprId(index as u32), &self.kernel.exprs[index]);
            let is_used = self.users[index] & deeper != 0;
            let is_early = expr.stage <= stage && !matches!(expr.code, What::Splat(_));
            if expr.dims & deeper == 0 && is_used && is_early && self.is_bound(expr.dims) {
                self.eval(id, 1);
            }
        }
    }

    /// Computes what depends on none of the `inside` dimensions, but is used by something that does, in vectors up to a stage.
    pub(super) fn share(&mut self, inside: u64, stage: usize, lanes: usize) {
        for (index, expr) in self.kernel.exprs.iter().enumerate() {
            let is_shared = expr.dims & inside == 0 && self.users[index] & inside != 0;
            if is_shared && expr.stage <= stage && !matches!(expr.code, What::Splat(_)) {
                self.eval(ExprId(index as u32), lanes);
            }
        }
    }

    /// Whether all dimensions are run through at the moment.
    pub(super) fn is_bound(&self, dims: u64) -> bool {
        (0..self.index.len()).all(|dim| dims & 1 << dim == 0 || self.index[dim].is_some())
    }
}
