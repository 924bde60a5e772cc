//! Sums of many numbers: in blocks, so that few of their bits are lost, and cumulative ones in vectors.
//!
//! A sum of `n` numbers one after the other is rounded `n` times. Columns are added up in blocks of [`BLOCK`] rows, and
//! the sums of blocks one after the other: a number takes part in that many roundings and one for each block. So are the
//! vectors of a row.
//!
//! The cumulative sums of a vector are those of its neighbours, of pairs, of fours and so on added up; what was before the
//! vector in its block is added to all of them, and then what was before the block.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_lattice::{DType, Op};
use promote_lower::kernel::{Form, Role};
use promote_lower::order::{self, BLOCK, MOST_LANES};
use promote_scalar::{Element, Ty, identity};

use super::elements::{each, element, parts};
use super::squares::Bounds;
use super::{Body, KernelEmitter};
use crate::targets::cpu::costs::{COLUMN_BYTES, MOST_COLUMNS, WIDEST_BYTES};
use crate::targets::llvm::{Register, shuffle, splat};

/// What is done with a block of indices: what is carried into it, and what comes out.
pub(super) type BlockBody<'a, 'k> =
    dyn FnMut(&mut KernelEmitter<'k>, Bounds, &[MlirValue]) -> Vec<MlirValue> + 'a;

impl<'k> KernelEmitter<'k> {
    /// Whether a root is added up in blocks of rows, or of vectors.
    pub(super) fn is_summed_in_blocks(&self, root: usize) -> bool {
        order::is_summed_in_blocks(self.kernel, &self.kernel.roots[root], self.setting.numerics, self.sums)
    }

    /// How many columns a tile has: as many as there is room for, a power of two.
    pub(super) fn column_tile(&self) -> i64 {
        let bytes = |root: usize| -> u32 {
            let rooms = if self.is_summed_in_blocks(root) { 2 } else { 1 };
            self.accumulator(root).into_iter().map(|ty| ty.bits().div_ceil(8) * rooms).sum()
        };
        let all: u32 = (0..self.kernel.roots.len()).map(bytes).sum();
        // As many columns as the longest vector has lanes, or, of many roots, as those of this kernel have.
        let least = MOST_LANES.min(WIDEST_BYTES / i64::from(all.max(1))).max(self.lanes as i64);
        let columns = (COLUMN_BYTES / i64::from(all.max(1))).max(least);
        let there_are = self.kernel.dims.last().and_then(Product::fixed).unwrap_or(MOST_COLUMNS);
        let there_are = there_are.clamp(1, MOST_COLUMNS) as u64;
        (1 << columns.ilog2()).min(there_are.next_power_of_two() as i64)
    }

    pub(super) fn registers(&self, root: usize, values: &[MlirValue]) -> Vec<Register> {
        let types = self.accumulator(root);
        values.iter().zip(types).map(|(value, ty)| Register { value: *value, ty }).collect()
    }

    /// The sums of the blocks before, at the column at hand.
    pub(super) fn get_sums_before(&mut self, root: usize, from: MlirValue, lanes: usize) -> Vec<MlirValue> {
        let rooms = self.sums_before[root].clone();
        rooms.into_iter().map(|room| self.get(room, from, lanes).value).collect()
    }

    /// Sets the sums of the blocks before, where a root has such.
    pub(super) fn put_sums_before(
        &mut self,
        root: usize,
        values: &[MlirValue],
        from: MlirValue,
        lanes: usize,
    ) {
        for (room, value) in self.sums_before[root].clone().into_iter().zip(values) {
            self.put(room, Register { value: *value, ty: room.1 }, from, lanes);
        }
    }

    /// Adds the sums of a block to those of the blocks before, and begins with the next one.
    pub(super) fn add_sums_of_block(&mut self, root: usize, from: MlirValue, lanes: usize) {
        let [before, own] = [self.get_sums_before(root, from, lanes), self.column(root, from, lanes)]
            .map(|values| element(&self.registers(root, &values)));
        let expr = self.kernel.roots[root].expr;
        let sum = self.combined((Op::Sum, self.kernel.expr(expr).dtype), lanes, before, own);
        let sum: Vec<MlirValue> = parts(sum).into_iter().map(|register| register.value).collect();
        self.put_sums_before(root, &sum, from, lanes);
        let start = self.identity(root, lanes);
        self.put_column(root, &start, from, lanes);
    }

    /// A cumulative sum of the rows of a block with what was before the block.
    pub(super) fn with_sums_before(
        &mut self,
        (root, op, dtype): (usize, Op, DType),
        sum: Element<Register>,
        lanes: usize,
    ) -> Element<Register> {
        let (false, Some(from)) = (self.sums_before[root].is_empty(), self.tile) else { return sum };
        let before = self.get_sums_before(root, from, lanes);
        let before = element(&self.registers(root, &before));
        self.combined((op, dtype), lanes, before, sum)
    }

    /// The innermost loop of a row with the accumulators of roots, of which those of long sums are added up block by block.
    pub(super) fn innermost_in_blocks(
        &mut self,
        dim: usize,
        bounds: Bounds,
        of_all: (&[usize], &[MlirValue]),
        body: &mut Body<'_, 'k>,
    ) -> Vec<MlirValue> {
        let (length, lanes) = (BLOCK * self.lanes as i64, [self.lanes, 1]);
        self.in_blocks(bounds, length, of_all, &lanes, &mut |emitter, bounds, state| {
            emitter.innermost(dim, bounds, state, body)
        })
    }

    /// What goes through a dimension with the accumulators of roots, each in so many lanes, block by block if there are sums that
    /// are added up so.
    pub(super) fn in_blocks(
        &mut self,
        bounds: Bounds,
        length: i64,
        (roots, carried): (&[usize], &[MlirValue]),
        lanes: &[usize],
        body: &mut BlockBody<'_, 'k>,
    ) -> Vec<MlirValue> {
        if !roots.iter().any(|root| self.is_summed_in_blocks(*root)) {
            return body(self, bounds, carried);
        }
        self.in_pieces(bounds, length, carried, &mut |emitter, bounds, carried| {
            let mut start = Vec::with_capacity(carried.len());
            for root in roots {
                let parts = emitter.accumulator(*root).len();
                for lanes in lanes.iter().take(emitter.copies(*root)) {
                    let own = carried[start.len()..start.len() + parts].to_vec();
                    if !emitter.is_summed_in_blocks(*root) {
                        start.extend(own);
                        continue;
                    }
                    start.extend(emitter.identity(*root, *lanes));
                    if matches!(emitter.kernel.roots[*root].role, Role::Scan(_)) {
                        emitter.before_block.insert(*root, own);
                    }
                }
            }
            let sums = body(emitter, bounds, &start);
            emitter.before_block.clear();
            let mut next = Vec::with_capacity(carried.len());
            for root in roots {
                let parts = emitter.accumulator(*root).len();
                for lanes in lanes.iter().take(emitter.copies(*root)) {
                    let own = next.len()..next.len() + parts;
                    match emitter.is_summed_in_blocks(*root) {
                        true => {
                            next.extend(emitter.with_sum(*root, (&carried[own.clone()], &sums[own]), *lanes))
                        }
                        false => next.extend(&sums[own]),
                    }
                }
            }
            next
        })
    }

    /// Whether cumulative sums run along the lanes of vectors.
    pub(super) fn scans_lanes(&self) -> bool {
        matches!(self.kernel.form, Form::Rows { .. }) && self.lanes > 1 && self.beside.is_none()
    }

    /// What is the same in all lanes, in so many.
    fn in_lanes(&self, all: &[Register], lanes: usize) -> Vec<Register> {
        match lanes {
            1 => all.iter().map(|register| self.part_of(*register, &[0])).collect(),
            _ => all.to_vec(),
        }
    }

    /// Stores the cumulative sums of a vector, in a block those of the blocks before with them; the last of the vector's block, in
    /// all lanes.
    pub(super) fn scan_lanes(
        &mut self,
        (root, op, dtype): (usize, Op, DType),
        before: &[Register],
        value: Element<Register>,
        lanes: usize,
    ) -> Vec<MlirValue> {
        let before = self.in_lanes(before, lanes);
        let numerics = self.setting.numerics;
        let Some(nothing) = identity(&mut self.emit(lanes), op, numerics, dtype) else {
            unreachable!("{op} of {dtype} has an identity")
        };
        let (mut sums, mut distance) = (value, 1);
        while distance < lanes {
            // Lanes of the second operand are counted after those of the first.
            let mask: Vec<i32> = (0..lanes)
                .map(|lane| if lane < distance { lane } else { lanes + lane - distance } as i32)
                .collect();
            let r#type = |ty: Ty| self.code.types.lanes(ty, lanes);
            let moved: Vec<Register> = parts(nothing)
                .into_iter()
                .zip(parts(sums))
                .map(|(nothing, sum)| {
                    let pair = (nothing.value, sum.value);
                    Register { value: shuffle(&self.code, pair, r#type(sum.ty), &mask), ty: sum.ty }
                })
                .collect();
            sums = self.combined((op, dtype), lanes, element(&moved), sums);
            distance *= 2;
        }
        let all = self.combined((op, dtype), lanes, element(&before), sums);
        let stored = match self.before_block.get(&root) {
            None => all,
            Some(before) => {
                let before = self.registers(root, before);
                let before = self.in_lanes(&before, lanes);
                self.combined((op, dtype), lanes, element(&before), all)
            }
        };
        self.store_result(root, stored, lanes);
        let last = each(all, |register| match lanes {
            1 => register,
            _ => self.part_of(register, &[lanes as i32 - 1]),
        });
        let width = self.lanes;
        parts(last).into_iter().map(|part| splat(&mut self.code, part, width).value).collect()
    }
}
