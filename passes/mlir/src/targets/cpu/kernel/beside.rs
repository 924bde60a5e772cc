//! Rows that are too short for vectors, side by side: a vector holds an element of each of as many rows.
//!
//! The elements of a row are gone through one after another in straight-line code. Where they lie side by side in memory,
//! as in an array of pixels or of probabilities, the rows of a vector are loaded whole and transposed in registers; what is
//! stored so is transposed back, the steps of cumulative ops among it. A value of one element stays at hand for all stages. Where rows
//! are read in steps, or in reverse order, the elements are chosen first from all that lies between them, if that is little.
//!
//! ## Laws
//! - In a kernel the sums of a row do not depend on where the row is: the last vector of a tile takes rows again that the one
//!   before had, so that it is whole, and rows by themselves are added up in the same order.
//! - Complex numbers, whose parts lie beside each other, are not transposed: their rows are computed as long ones are.

use std::collections::BTreeMap;

use mlir_sys::*;
use promote_lattice::DType;
use promote_lower::kernel::{Access, Code as What, ExprId, Kernel, Role};
use promote_lower::order::{Beside, Layout};
use promote_scalar::{Element, memory};

use super::elements::parts;
use super::squares::Bounds;
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::ROWS_BESIDE;
use crate::targets::llvm::{Register, shuffle, vector};

impl KernelEmitter<'_> {
    /// A tile of rows.
    pub(super) fn rows_beside(&mut self, beside: &Beside, tile: Bounds) {
        let (rows, lanes) = (beside.rows, self.lanes);
        self.hoist(3 << rows, 0);
        self.in_groups(rows, tile, tile.0, (lanes, lanes as i64, ROWS_BESIDE), &mut |emitter, count| {
            emitter.some_rows(beside, count)
        });
    }

    /// So many rows from the current one on.
    fn some_rows(&mut self, beside: &Beside, lanes: usize) {
        let kernel = self.kernel;
        let within = beside.within();
        self.results.fill(None);
        // What is computed of each element.
        let mut elements: Vec<Scope> = vec![Scope::default(); beside.length];
        // Without AVX-512 there are half as many registers: a square is loaded when it is needed, not all of them before.
        let at_once = if self.setting.machine.has_masks() { beside.length } else { lanes };
        let full: Vec<usize> = (0..kernel.roots.len()).filter(|root| self.kernel.is_full(*root)).collect();
        let last = full.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        let mut stored: BTreeMap<(usize, usize), Vec<MlirValue>> = BTreeMap::new();
        for stage in 0..=last {
            self.share(1 << within, stage, lanes);
            let roots: Vec<usize> = full.iter().copied().filter(|root| self.stage(*root) == stage).collect();
            let mut sums: Vec<Vec<Vec<MlirValue>>> = roots
                .iter()
                .map(|root| vec![self.identity(*root, lanes); beside.sums(kernel, &kernel.roots[*root])])
                .collect();
            for place in 0..beside.length {
                if stage == 0 && lanes > 1 && place % at_once == 0 {
                    (place..(place + at_once).min(beside.length))
                        .step_by(lanes)
                        .for_each(|from| self.load_rows(beside, from, &mut elements));
                }
                self.index[within] = Some(self.code.index(place as i64));
                self.frames.push(std::mem::take(&mut elements[place]));
                for (root, sums) in roots.iter().zip(&mut sums) {
                    let own = place % sums.len().max(1);
                    match kernel.roots[*root].role {
                        Role::Store => {
                            let value = self.eval(kernel.roots[*root].expr, lanes);
                            self.store_within_rows(beside, (*root, value), lanes, &mut stored);
                        }
                        Role::Scan(op) => {
                            let old = self.registers(*root, &sums[own]);
                            let (step, all) = self.scan_step((*root, op), &old, lanes);
                            self.store_within_rows(beside, (*root, step), lanes, &mut stored);
                            sums[own] = parts(all).into_iter().map(|register| register.value).collect();
                        }
                        Role::Reduce(_) | Role::Arg(_) => {
                            sums[own] = self.accumulate(*root, &sums[own], lanes);
                        }
                    }
                }
                elements[place] = self.frames.pop().unwrap_or_default();
            }
            self.index[within] = None;
            for (root, sums) in roots.into_iter().zip(sums) {
                self.results[root] = self.sum_of_sums(root, sums, lanes);
            }
        }
        for ((root, sink), values) in stored {
            let root = &kernel.roots[root];
            self.store_rows(beside, (&root.sinks[sink], kernel.expr(root.expr).dtype), values);
        }
        self.store_row(&full, lanes);
    }

    /// Those sums as one.
    fn sum_of_sums(
        &mut self,
        root: usize,
        mut sums: Vec<Vec<MlirValue>>,
        lanes: usize,
    ) -> Option<Element<Register>> {
        while sums.len() > 1 {
            let others = sums.split_off(sums.len() / 2);
            for (sum, other) in sums.iter_mut().zip(others) {
                let [x, y] = [sum.as_slice(), &other].map(|values| self.registers(root, values));
                let joined = self.joined_accumulators(root, lanes, &x, &y);
                *sum = joined.into_iter().map(|register| register.value).collect();
            }
        }
        let sum = self.registers(root, sums.first()?);
        Some(self.result(root, &sum, lanes))
    }

    /// Loads what does not lie along the rows' dimension, and transposes it: the places of a square from one on, or all places where
    /// vectors hold several rows.
    fn load_rows(&mut self, beside: &Beside, from: usize, elements: &mut [Scope]) {
        let (kernel, lanes) = (self.kernel, self.lanes);
        let are_compared = compared(kernel);
        for (index, expr) in kernel.exprs.iter().enumerate() {
            let What::Load(access) = &expr.code else { continue };
            let raw = match beside.layout(access, expr.dtype) {
                Some(Layout::Squares { step }) => self.load_places(beside, (access, step), expr.dtype, from),
                Some(Layout::Interleaved) if from > 0 => continue,
                Some(Layout::Interleaved) if are_compared[index] && is_compared_apart(expr.dtype) => {
                    self.load_in_vectors(beside, access, expr.dtype)
                }
                Some(Layout::Interleaved) => self.load_interleaved(beside, access, expr.dtype),
                Some(Layout::Along) | None => continue,
            };
            for (scope, value) in elements[from..].iter_mut().zip(raw) {
                let raw = Register { value, ty: memory(expr.dtype) };
                let loaded = promote_scalar::load(&mut self.emit(lanes), expr.dtype, raw);
                scope.insert((ExprId(index as u32), lanes, 0), Element::Real(loaded));
            }
        }
    }

    /// The address of an element of the row that is so many further on, and the type and the size of an element.
    fn element_of_row(
        &mut self,
        beside: &Beside,
        (access, dtype): (&Access, DType),
        (row, place): (usize, usize),
    ) -> (MlirValue, MlirType, usize) {
        let current = self.at(beside.rows);
        let ahead = self.code.index(row as i64);
        self.index[beside.rows] = Some(self.code.int("llvm.add", current, ahead));
        self.index[beside.within()] = Some(self.code.index(place as i64));
        let (address, unit) = self.first(access, dtype, None);
        self.index[beside.within()] = None;
        self.index[beside.rows] = Some(current);
        (address, unit, memory(dtype).bits() as usize / 8)
    }

    fn load_interleaved(&mut self, beside: &Beside, access: &Access, dtype: DType) -> Vec<MlirValue> {
        let (lanes, length) = (self.lanes, beside.length);
        let (first, unit, size) = self.element_of_row(beside, (access, dtype), (0, 0));
        let all = self.code.load(first, vector(unit, lanes * length), size);
        let of = |place: usize| -> Vec<i32> { (0..lanes).map(|row| (row * length + place) as i32).collect() };
        (0..length).map(|place| shuffle(&self.code, (all, all), vector(unit, lanes), &of(place))).collect()
    }

    /// The same in as many vectors as a row has elements: those of each place are chosen from one vector after another. Where they were
    /// chosen from all at once, and floats are compared, LLVM 22 would compare all and choose from truth values, which takes up to twenty
    /// times as long.
    fn load_in_vectors(&mut self, beside: &Beside, access: &Access, dtype: DType) -> Vec<MlirValue> {
        let (lanes, length) = (self.lanes, beside.length);
        let (first, unit, size) = self.element_of_row(beside, (access, dtype), (0, 0));
        let r#type = vector(unit, lanes);
        let load = |number: usize| {
            let ahead = self.code.index((number * lanes) as i64);
            self.code.load(self.code.element(first, ahead, unit, 1), r#type, size)
        };
        let vectors: Vec<MlirValue> = (0..length).map(load).collect();
        let chosen = |place: usize| {
            let at = |lane: usize| lane * length + place;
            (1..length).fold(vectors[0], |chosen, number| {
                // The first shuffle chooses from the first two vectors; the others leave what was chosen in its lanes. A lane whose element
                // comes later has anything until then.
                let lane = |lane: usize| match at(lane) / lanes {
                    own if own == number => (lanes + at(lane) % lanes) as i32,
                    0 if number == 1 => at(lane) as i32,
                    _ => lane as i32,
                };
                let mask: Vec<i32> = (0..lanes).map(lane).collect();
                shuffle(&self.code, (chosen, vectors[number]), r#type, &mask)
            })
        };
        (0..length).map(chosen).collect()
    }

    /// The elements of a square of rows from a place on, transposed: a vector of each place.
    fn load_places(
        &mut self,
        beside: &Beside,
        (access, step): (&Access, i64),
        dtype: DType,
        from: usize,
    ) -> Vec<MlirValue> {
        let (lanes, length) = (self.lanes, beside.length);
        // The last square of several begins where it ends with the row.
        let start = from.min(length.saturating_sub(lanes));
        let count = lanes.min(length);
        // What of it comes first in memory.
        let first = if step < 0 { start + count - 1 } else { start };
        let rows: Vec<MlirValue> = (0..lanes)
            .map(|row| {
                let (address, unit, size) = self.element_of_row(beside, (access, dtype), (row, first));
                self.choose_strided(address, (unit, size), (count, lanes), step.unsigned_abs() as usize)
            })
            .collect();
        let mut places = self.transposed(rows, lanes, memory(dtype));
        places.truncate(count);
        if step < 0 {
            places.reverse();
        }
        places.split_off(from - start)
    }

    /// Stores the first lanes of a vector, or all of them.
    fn store_part(&mut self, value: Register, first: MlirValue, size: usize, count: usize) {
        if count >= self.lanes {
            return self.code.store(value.value, first, size);
        }
        // No mask of one lane: see the laws of masks.
        if self.has_masks && count > 1 {
            let mask = self.first_lanes(count);
            return self.masked_store(value.value, first, size, mask);
        }
        let (unit, mut place) = (self.code.types.scalar(value.ty), 0);
        while place < count {
            // As many as a shorter vector has.
            let lanes = 1 << (count - place).ilog2();
            let own: Vec<i32> = (place..place + lanes).map(|lane| lane as i32).collect();
            let ahead = self.code.index(place as i64);
            let address = self.code.element(first, ahead, unit, 1);
            self.code.store(self.part_of(value, &own).value, address, size);
            place += lanes;
        }
    }

    /// Truth in the first lanes.
    pub(super) fn first_lanes(&self, count: usize) -> MlirValue {
        self.lanes_of(count, self.lanes)
    }

    /// The first of so many lanes.
    pub(super) fn lanes_of(&self, count: usize, lanes: usize) -> MlirValue {
        let lanes: Vec<i32> = (0..lanes).map(|lane| i32::from(lane < count)).collect();
        let r#type = self.code.types.lanes(promote_scalar::Ty::I1, lanes.len());
        // SAFETY: the type is a vector of as many truth values as there are.
        let value = unsafe { mlirDenseElementsAttrBoolGet(r#type, lanes.len() as isize, lanes.as_ptr()) };
        self.code.value("llvm.mlir.constant", &[], r#type, &[("value", value)])
    }

    /// Stores an element of each row, or puts it by until whole rows can be stored.
    fn store_within_rows(
        &mut self,
        beside: &Beside,
        (root, value): (usize, Element<Register>),
        lanes: usize,
        stored: &mut BTreeMap<(usize, usize), Vec<MlirValue>>,
    ) {
        let kernel = self.kernel;
        let dtype = kernel.expr(kernel.roots[root].expr).dtype;
        for (number, sink) in kernel.roots[root].sinks.iter().enumerate() {
            let layout = beside.layout(sink, dtype);
            match layout {
                Some(Layout::Interleaved | Layout::Squares { .. }) if lanes > 1 => {
                    let raw = promote_scalar::store(&mut self.emit(lanes), dtype, parts(value)[0]);
                    stored.entry((root, number)).or_default().push(raw.value);
                }
                _ => self.store(sink, dtype, value, lanes),
            }
        }
    }

    /// Stores whole rows.
    fn store_rows(&mut self, beside: &Beside, (sink, dtype): (&Access, DType), values: Vec<MlirValue>) {
        let lanes = self.lanes;
        let r#type = self.code.types.lanes(memory(dtype), lanes);
        if beside.layout(sink, dtype) == Some(Layout::Interleaved) {
            let (first, unit, size) = self.element_of_row(beside, (sink, dtype), (0, 0));
            let length = values.len();
            let mut pieces = values;
            pieces.resize(length.next_power_of_two(), self.code.poison(r#type));
            let all = self.joined(pieces, (unit, lanes));
            let mask: Vec<i32> =
                (0..lanes * length).map(|place| (place % length * lanes + place / length) as i32).collect();
            let rows = shuffle(&self.code, (all, all), vector(unit, lanes * length), &mask);
            return self.code.store(rows, first, size);
        }
        for (block, values) in values.chunks(lanes).enumerate() {
            let mut square = values.to_vec();
            square.resize(lanes, self.code.poison(r#type));
            for (row, value) in self.transposed(square, lanes, memory(dtype)).into_iter().enumerate() {
                let (first, _, size) = self.element_of_row(beside, (sink, dtype), (row, block * lanes));
                let value = Register { value, ty: memory(dtype) };
                self.store_part(value, first, size, values.len());
            }
        }
    }
}

/// Of which expressions a kernel uses nothing but truth values that are computed of them.
fn compared(kernel: &Kernel) -> Vec<bool> {
    let mut is_used = vec![false; kernel.exprs.len()];
    let mut are_compared = vec![true; kernel.exprs.len()];
    kernel.roots.iter().for_each(|root| are_compared[root.expr.0 as usize] = false);
    for index in (0..kernel.exprs.len()).rev() {
        are_compared[index] &= is_used[index];
        let is_compared = are_compared[index] || kernel.exprs[index].dtype == DType::B1;
        for operand in kernel.operands(ExprId(index as u32)) {
            is_used[operand.0 as usize] = true;
            are_compared[operand.0 as usize] &= is_compared;
        }
    }
    are_compared
}

/// Whether LLVM 22 compares vectors of more elements than a register has before it chooses from them: it does so with these floats, and
/// has to convert others first.
const fn is_compared_apart(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

#[cfg(test)]
mod tests {
    use promote_lower::program::Program;

    use crate::targets::cpu::kernel::Schedule;
    use crate::targets::cpu::target::Machine;

    #[test]
    fn short_rows_in_small_steps_are_computed_side_by_side() {
        for (ty, access, is_beside) in [
            ("f32", "5*d0 + d1", true),
            ("f32", "15*d0 + 3*d1", true),
            ("f32", "5*d0 - d1 + 4", true),
            ("f32", "25*d0 + 5*d1", false),
            ("f64", "15*d0 + 3*d1", true),
            ("f64", "20*d0 + 4*d1", false),
            ("c64", "15*d0 + 3*d1", false),
        ] {
            let text = format!(
                "numerics jax

kernel @k0 {{
  dims [1000, 5]
  form rows reduced 1
  e0 = load b0[{access}] : {ty} over [d0, d1] stage 0 node 0
  r0 = reduce sum e0 to b1[d0] node 1
}}
"
            );
            let program = Program::parse(&text).expect("it is a program");
            let machine = Machine { vector_bytes: 64, ..Machine::default() };
            let schedule = Schedule::new(&program.kernels[0], machine, program.numerics);
            assert_eq!(schedule.beside.is_some(), is_beside, "{ty} {access}");
        }
    }
}
