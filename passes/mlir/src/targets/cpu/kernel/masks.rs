//! Vectors of which some lanes do not count: what is left of a loop after whole vectors.
//!
//! Lanes that do not count are not read, not written and not accumulated. They hold zeros where they would be read, of which
//! every op without exceptions is defined.
//!
//! ## Laws
//! - No mask of a store is a constant of one lane: LLVM 22 writes neighbours, too, where the numbers were narrowed. Where the lanes that
//!   count are known, they are stored one by one.

use mlir_sys::*;
use promote_scalar::{Compare, Emit, Ty};

use super::KernelEmitter;
use crate::targets::llvm::vector;
use crate::targets::llvm::{Register, shuffle, splat};

impl KernelEmitter<'_> {
    /// The lanes from the current index of a dimension on that are before an end.
    pub(super) fn lanes_before(&mut self, dim: usize, end: MlirValue) -> MlirValue {
        let lanes = self.lanes;
        let index = self.at(dim);
        let left = self.code.int("llvm.sub", end, index);
        // That is less than the lanes of a vector.
        let left = self.code.value("llvm.trunc", &[left], self.code.types.scalar(Ty::I32), &[]);
        // A store of narrowed numbers with a mask that LLVM 22 finds to be of one lane writes that lane before it is narrowed,
        // which is too wide.
        let left = self.code.opaque(Register { value: left, ty: Ty::I32 }, 'r');
        let left = splat(&mut self.code, left, lanes);
        let numbers = Register { value: self.iota(Ty::I32, lanes), ty: Ty::I32 };
        self.emit(lanes).compare(Compare::LtS, numbers, left).value
    }

    /// The lanes from the current index of a dimension on that are in a range. Both ends are as few indices away as 32 bits count.
    pub(super) fn lanes_within(&mut self, dim: usize, (from, to): (MlirValue, MlirValue)) -> MlirValue {
        let [behind, before] = [from, to].map(|end| self.lanes_before(dim, end));
        let none = self.code.constant(Ty::I1, 0, self.lanes);
        self.code.value(
            "llvm.select",
            &[behind, none, before],
            self.code.types.lanes(Ty::I1, self.lanes),
            &[],
        )
    }

    /// The lanes that count.
    pub(super) fn mask_of(&mut self, lanes: usize) -> MlirValue {
        match self.mask {
            Some(mask) => mask,
            None => self.code.constant(Ty::I1, 1, lanes),
        }
    }

    /// Each lane twice, or more often: those of elements with so many parts.
    fn mask_of_parts(&mut self, count: usize) -> MlirValue {
        let (lanes, mask) = (self.lanes, self.mask_of(self.lanes));
        if count == 1 {
            return mask;
        }
        let of: Vec<i32> = (0..lanes * count).map(|lane| (lane / count) as i32).collect();
        shuffle(&self.code, (mask, mask), self.code.types.lanes(Ty::I1, lanes * count), &of)
    }

    /// What is in the lanes that are not read.
    pub(super) fn nothing(&mut self, r#type: MlirType) -> MlirValue {
        match self.mask {
            Some(_) => self.code.value("llvm.mlir.zero", &[], r#type, &[]),
            None => self.code.poison(r#type),
        }
    }

    /// Loads elements that lie side by side, of so many parts each: a vector for each part.
    pub(super) fn load_masked(
        &mut self,
        first: MlirValue,
        (ty, size): (Ty, usize),
        count: usize,
    ) -> Vec<Register> {
        let (lanes, unit) = (self.lanes, self.code.types.scalar(ty));
        let result = vector(unit, lanes * count);
        let nothing = self.nothing(result);
        let all = match self.rest {
            Some(rest) => self.load_lanes((first, unit, size), rest * count, (nothing, result)),
            None => {
                // A prefetch does not wait for the mask, which may be computed after much that waits for memory itself.
                let level = self.setting.machine.level_ahead();
                self.prefetch_lines(first, lanes * count * size, level);
                let mask = self.mask_of_parts(count);
                self.masked_load(first, result, size, (mask, nothing))
            }
        };
        if count == 1 {
            return vec![Register { value: all, ty }];
        }
        let of = |part: usize| -> Vec<i32> { (0..lanes).map(|lane| (lane * count + part) as i32).collect() };
        (0..count)
            .map(|part| Register {
                value: shuffle(&self.code, (all, all), vector(unit, lanes), &of(part)),
                ty,
            })
            .collect()
    }

    /// Stores elements side by side, of so many parts each.
    pub(super) fn store_masked(
        &mut self,
        value: MlirValue,
        (first, unit, size): (MlirValue, MlirType, usize),
        count: usize,
    ) {
        let Some(rest) = self.rest else {
            let mask = self.mask_of_parts(count);
            return self.masked_store(value, first, size, mask);
        };
        for lane in 0..rest * count {
            let place = self.code.index(lane as i64);
            let own = self.code.value("llvm.extractelement", &[value, place], unit, &[]);
            let address = self.code.element(first, place, unit, 1);
            self.code.store(own, address, size);
        }
    }

    /// Loads the first lanes of a vector one by one.
    fn load_lanes(
        &mut self,
        (first, unit, size): (MlirValue, MlirType, usize),
        count: usize,
        (mut all, result): (MlirValue, MlirType),
    ) -> MlirValue {
        for lane in 0..count {
            let place = self.code.index(lane as i64);
            let address = self.code.element(first, place, unit, 1);
            let own = self.code.load(address, unit, size);
            all = self.code.value("llvm.insertelement", &[all, own, place], result, &[]);
        }
        all
    }

    /// Loads the lanes of a mask, and takes the others from `rest`.
    pub(super) fn masked_load(
        &self,
        first: MlirValue,
        result: MlirType,
        size: usize,
        (mask, rest): (MlirValue, MlirValue),
    ) -> MlirValue {
        let alignment = self.code.types.int(self.code.types.i32, size as i64);
        let operands = [first, mask, rest];
        self.code.value("llvm.intr.masked.load", &operands, result, &[("alignment", alignment)])
    }

    /// Stores the lanes of a mask.
    pub(super) fn masked_store(&self, value: MlirValue, first: MlirValue, size: usize, mask: MlirValue) {
        let alignment = self.code.types.int(self.code.types.i32, size as i64);
        self.code.op("llvm.intr.masked.store", &[value, first, mask], &[], &[("alignment", alignment)]);
    }

    /// What is carried: the new values in the lanes that count, the old ones in others.
    pub(super) fn masked(&self, mut new: Vec<MlirValue>, old: &[MlirValue]) -> Vec<MlirValue> {
        if let Some(mask) = self.mask {
            for (new, old) in new.iter_mut().zip(old) {
                *new = self.code.select(mask, *new, *old);
            }
        }
        new
    }
}
