//! Numbers that are known at run time, addresses, and elements in memory.

use mlir_sys::*;
use promote_lattice::DType;
use promote_scalar::{Binary, Element, Emit, Ty, memory};

use super::elements::{element, part_count, parts};
use super::{KernelEmitter, Slot};
use crate::targets::llvm::{self, Register, vector};
use promote_dialect::extent::{Product, Sum};
use promote_lower::interchange::near;
use promote_lower::kernel::Access;

impl<'k> KernelEmitter<'k> {
    /// The current index of a dimension.
    pub(super) fn at(&mut self, dim: usize) -> MlirValue {
        match self.index[dim] {
            Some(index) => index,
            None => self.code.index(0),
        }
    }

    pub(super) fn product(&mut self, product: &Product) -> MlirValue {
        match product.fixed() {
            Some(number) => self.code.index(number),
            None => self.slot(Slot::Number(Sum(vec![product.clone()]))),
        }
    }

    pub(super) fn sum(&mut self, sum: &Sum) -> MlirValue {
        match sum.fixed() {
            Some(number) => self.code.index(number),
            None => self.slot(Slot::Number(sum.clone())),
        }
    }

    /// What the environment holds.
    pub(super) fn slot(&mut self, slot: Slot) -> MlirValue {
        if let Some(known) = self.loaded.get(&slot) {
            return *known;
        }
        let block = self.code.block();
        self.code.go_to(self.entry);
        let types = self.code.types;
        let place = self.code.index(self.slots.len() as i64);
        let address = self.code.element(self.code.argument(0), place, types.i64, 1);
        let r#type = match slot {
            Slot::Context | Slot::Address(..) | Slot::Sums => types.pointer,
            Slot::Number(_) => types.i64,
        };
        let value = self.code.load(address, r#type, 8);
        self.code.go_to(block);
        self.slots.push(slot.clone());
        self.loaded.insert(slot, value);
        value
    }

    /// The numbers 0, 1, 2, … in lanes.
    pub(super) fn iota(&mut self, ty: Ty, lanes: usize) -> MlirValue {
        let r#type = self.code.types.lanes(ty, lanes);
        let size = ty.bits() as usize / 8;
        let numbers: Vec<u8> =
            (0..lanes as u64).flat_map(|lane| lane.to_le_bytes().into_iter().take(size)).collect();
        // SAFETY: the type is a vector of as many integers as the buffer has, and MLIR copies it.
        let value =
            unsafe { mlirDenseElementsAttrRawBufferGet(r#type, numbers.len(), numbers.as_ptr().cast()) };
        self.code.value("llvm.mlir.constant", &[], r#type, &[("value", value)])
    }

    /// `offset` and strides times indices, at the current indices.
    pub(super) fn scalar_linear(&mut self, strides: &[Product], offset: Option<&Sum>) -> MlirValue {
        let mut sum = match offset {
            Some(offset) => self.sum(offset),
            None => self.code.index(0),
        };
        for (dim, stride) in strides.iter().enumerate() {
            if stride.is_zero() || self.index[dim].is_none() {
                continue;
            }
            let index = self.at(dim);
            let step = match stride.fixed() {
                Some(1) => index,
                _ => {
                    let stride = self.product(stride);
                    self.code.int("llvm.mul", index, stride)
                }
            };
            sum = self.code.int("llvm.add", sum, step);
        }
        sum
    }

    pub(super) fn linear(&mut self, strides: &[Product], offset: &Sum, lanes: usize) -> Register {
        let first = Register { value: self.scalar_linear(strides, Some(offset)), ty: Ty::I64 };
        match self.vector.map(|dim| &strides[dim]) {
            Some(stride) if lanes > 1 => {
                let first = llvm::splat(&mut self.code, first, lanes);
                let steps = self.lane_steps(stride, lanes);
                self.emit(lanes).binary(Binary::Add, first, steps)
            }
            _ => first,
        }
    }

    /// From one lane of an access to the next.
    pub(super) fn stride(&self, access: &Access) -> Product {
        self.vector.map_or_else(|| Product::number(0), |dim| access.strides[dim].clone())
    }

    /// 0, 1, 2, … times a stride in lanes.
    pub(super) fn lane_steps(&mut self, stride: &Product, lanes: usize) -> Register {
        let iota = Register { value: self.iota(Ty::I64, lanes), ty: Ty::I64 };
        let stride = Register { value: self.product(stride), ty: Ty::I64 };
        let stride = llvm::splat(&mut self.code, stride, lanes);
        self.emit(lanes).binary(Binary::Mul, iota, stride)
    }

    /// Loads elements, `extra` elements further on.
    pub(super) fn load(
        &mut self,
        access: &Access,
        dtype: DType,
        lanes: usize,
        extra: Option<MlirValue>,
    ) -> Element<Register> {
        let raw = self.load_raw(access, dtype, lanes, extra);
        let part = dtype.real_part();
        let mut e = self.emit(lanes);
        match raw.as_slice() {
            [raw] => Element::Real(promote_scalar::load(&mut e, part, *raw)),
            [real, imaginary, ..] => Element::Complex(
                promote_scalar::load(&mut e, part, *real),
                promote_scalar::load(&mut e, part, *imaginary),
            ),
            [] => unreachable!("an element has a part"),
        }
    }

    /// Loads elements along a short innermost dimension, again and again.
    pub(super) fn load_periodic(&mut self, access: &Access, dtype: DType, lanes: usize) -> Element<Register> {
        let (extent, dim) = (self.short.unwrap_or(1), self.kernel.dims.len() - 1);
        let stride = self.product(&access.strides[dim].clone());
        let outside = self.index[dim].take();
        if lanes == 1 {
            let extent = self.code.index(extent);
            let index = match outside {
                Some(index) => self.code.int("llvm.urem", index, extent),
                None => self.code.index(0),
            };
            let steps = self.code.int("llvm.mul", index, stride);
            let loaded = self.load(access, dtype, 1, Some(steps));
            self.index[dim] = outside;
            return loaded;
        }
        // Each element once, then one lane after another.
        let elements: Vec<Element<Register>> = (0..extent)
            .map(|index| {
                let index = self.code.index(index);
                let steps = self.code.int("llvm.mul", index, stride);
                self.load(access, dtype, 1, Some(steps))
            })
            .collect();
        self.index[dim] = outside;
        let number_of_parts = parts(elements[0]).len();
        let filled: Vec<Register> = (0..number_of_parts)
            .map(|part| {
                let ty = parts(elements[0])[part].ty;
                let r#type = self.code.types.lanes(ty, lanes);
                let mut all = self.code.poison(r#type);
                for lane in 0..lanes {
                    let element = (self.phase * lanes + lane) % extent as usize;
                    let (value, place) = (parts(elements[element])[part].value, self.code.index(lane as i64));
                    all = self.code.value("llvm.insertelement", &[all, value, place], r#type, &[]);
                }
                Register { value: all, ty }
            })
            .collect();
        element(&filled)
    }

    pub(super) fn load_raw(
        &mut self,
        access: &Access,
        dtype: DType,
        lanes: usize,
        extra: Option<MlirValue>,
    ) -> Vec<Register> {
        let ty = memory(dtype);
        let count = part_count(dtype);
        let (first, unit) = self.first(access, dtype, extra);
        let stride = self.vector.and_then(|dim| access.strides[dim].fixed());
        let size = ty.bits() as usize / 8;
        let whole = |value| Register { value, ty };
        match (lanes, stride) {
            (2.., Some(1)) if self.mask.is_some() => {
                self.prefetch_next_row(access, (first, unit, count), lanes * count * size);
                self.load_masked(first, (ty, size), count)
            }
            (1, _) => {
                let part = |emitter: &mut Self, part: i64| {
                    let index = emitter.code.index(part);
                    let address = emitter.code.element(first, index, unit, 1);
                    whole(emitter.code.load(address, unit, size))
                };
                (0..count as i64).map(|number| part(self, number)).collect()
            }
            (_, Some(1)) => {
                self.prefetch_next_row(access, (first, unit, count), lanes * count * size);
                let all = self.code.load(first, vector(unit, lanes * count), size);
                let mask = |part: usize| -> Vec<i32> {
                    (0..lanes).map(|lane| (lane * count + part) as i32).collect()
                };
                match count {
                    1 => vec![whole(all)],
                    _ => (0..count)
                        .map(|part| {
                            let result = vector(unit, lanes);
                            whole(llvm::shuffle(&self.code, (all, all), result, &mask(part)))
                        })
                        .collect(),
                }
            }
            (_, Some(-1)) if count == 1 && self.mask.is_none() => {
                let back = self.code.index(1 - lanes as i64);
                let address = self.code.element(first, back, unit, 1);
                let all = self.code.load(address, vector(unit, lanes), size);
                let mask: Vec<i32> = (0..lanes).rev().map(|lane| lane as i32).collect();
                vec![whole(llvm::shuffle(&self.code, (all, all), vector(unit, lanes), &mask))]
            }
            (_, Some(stride @ 2..)) if count == 1 && self.mask.is_none() => {
                vec![whole(self.load_strided(first, (unit, size), lanes, stride))]
            }
            (_, Some(stride @ 2..)) if near(&self.stride(access), dtype).is_some() => {
                vec![whole(self.load_strided_masked(first, (unit, size), lanes, stride as usize))]
            }
            (_, None) if self.mask.is_none() => {
                let stride = self.stride(access);
                let stride = self.product(&(&stride * &Product::number(count as i64)));
                self.load_apart((first, stride), (unit, size), lanes, count).into_iter().map(whole).collect()
            }
            _ => {
                let stride = self.stride(access);
                let steps = self.lane_steps(&(&stride * &Product::number(count as i64)), lanes);
                (0..count as i64)
                    .map(|part| whole(self.gather((first, steps, part), unit, lanes, size)))
                    .collect()
            }
        }
    }

    /// The elements at some steps from an address, in lanes: one by one if all count, which processors are faster at than at gathering
    /// them.
    pub(super) fn gather(
        &mut self,
        (first, steps, part): (MlirValue, Register, i64),
        unit: MlirType,
        lanes: usize,
        size: usize,
    ) -> MlirValue {
        let addresses = self.addresses((first, steps, part), unit, lanes);
        let result = vector(unit, lanes);
        if self.mask.is_none() {
            let pointer = self.code.types.pointer;
            return self.lane_by_lane((unit, size), lanes, |emitter, lane| {
                let place = emitter.code.index(lane);
                emitter.code.value("llvm.extractelement", &[addresses, place], pointer, &[])
            });
        }
        let mask = self.mask_of(lanes);
        let passed = self.nothing(result);
        let alignment = self.code.types.int(self.code.types.i32, size as i64);
        let operands = [addresses, mask, passed];
        self.code.value("llvm.intr.masked.gather", &operands, result, &[("alignment", alignment)])
    }

    pub(super) fn addresses(
        &mut self,
        (first, steps, part): (MlirValue, Register, i64),
        unit: MlirType,
        lanes: usize,
    ) -> MlirValue {
        let steps = match part {
            0 => steps,
            _ => {
                let mut e = self.emit(lanes);
                let part = e.int(Ty::I64, part);
                e.binary(Binary::Add, steps, part)
            }
        };
        self.code.element(first, steps.value, unit, lanes)
    }

    /// The address of an access at the current indices, and the type of a part of an element.
    pub(super) fn first(
        &mut self,
        access: &Access,
        dtype: DType,
        extra: Option<MlirValue>,
    ) -> (MlirValue, MlirType) {
        let base = self.slot(Slot::Address(access.buffer, access.offset.clone()));
        let mut index = self.scalar_linear(&access.strides, None);
        if let Some(extra) = extra {
            index = self.code.int("llvm.add", index, extra);
        }
        let count = part_count(dtype);
        if count > 1 {
            let count = self.code.index(count as i64);
            index = self.code.int("llvm.mul", index, count);
        }
        let unit = self.code.types.scalar(memory(dtype));
        (self.code.element(base, index, unit, 1), unit)
    }

    pub(super) fn store(&mut self, sink: &Access, dtype: DType, value: Element<Register>, lanes: usize) {
        let part = dtype.real_part();
        let raw: Vec<Register> = parts(value)
            .into_iter()
            .map(|value| promote_scalar::store(&mut self.emit(lanes), part, value))
            .collect();
        let (first, unit) = self.first(sink, dtype, None);
        let size = memory(dtype).bits() as usize / 8;
        let count = raw.len();
        match (lanes, self.vector.and_then(|dim| sink.strides[dim].fixed())) {
            (1, _) => {
                for (number, raw) in raw.iter().enumerate() {
                    let index = self.code.index(number as i64);
                    let address = self.code.element(first, index, unit, 1);
                    self.code.store(raw.value, address, size);
                }
            }
            (_, Some(1)) => {
                let all = match raw.as_slice() {
                    [real, imaginary] => {
                        let lane = |lane: usize| (lane / 2 + lane % 2 * lanes) as i32;
                        let mask: Vec<i32> = (0..2 * lanes).map(lane).collect();
                        let pair = (real.value, imaginary.value);
                        llvm::shuffle(&self.code, pair, vector(unit, 2 * lanes), &mask)
                    }
                    raw => raw[0].value,
                };
                if self.mask.is_some() {
                    self.store_masked(all, (first, unit, size), count);
                } else if self.streams {
                    self.code.stream(all, first, self.stream_alignment);
                } else {
                    self.code.store(all, first, size);
                }
            }
            _ => {
                let stride = self.stride(sink);
                let steps = self.lane_steps(&(&stride * &Product::number(count as i64)), lanes);
                let mask = self.mask_of(lanes);
                for (number, raw) in raw.iter().enumerate() {
                    let addresses = self.addresses((first, steps, number as i64), unit, lanes);
                    if let Some(rest) = self.rest {
                        self.store_lanes(raw.value, addresses, (unit, size), rest);
                        continue;
                    }
                    let alignment = self.code.types.int(self.code.types.i32, size as i64);
                    let operands = [raw.value, addresses, mask];
                    self.code.op("llvm.intr.masked.scatter", &operands, &[], &[("alignment", alignment)]);
                }
            }
        }
    }

    /// Stores the first lanes of a vector one by one, each to an address of its own.
    fn store_lanes(
        &mut self,
        value: MlirValue,
        addresses: MlirValue,
        (unit, size): (MlirType, usize),
        count: usize,
    ) {
        for lane in 0..count {
            let place = self.code.index(lane as i64);
            let own = self.code.value("llvm.extractelement", &[value, place], unit, &[]);
            let pointer = self.code.types.pointer;
            let address = self.code.value("llvm.extractelement", &[addresses, place], pointer, &[]);
            self.code.store(own, address, size);
        }
    }
}
