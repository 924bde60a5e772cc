//! Elements at indices that are values: loaded where they are, or chosen in registers.

use mlir_sys::*;
use promote_dialect::extent::{Extent, Product};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Access, ExprId};
use promote_scalar::{Binary, Cast, Compare, Element, Emit, Trap, Ty, convert, filler, memory};

use super::KernelEmitter;
use super::elements::{element, part_count, parts};
use super::shuffled::{Read, Shuffled};
use crate::targets::llvm::{self, Register, intrinsic, shuffle};

/// Where the elements of blocks that are permuted are taken from, kept on the stack.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    /// How far each of them is from the first element of its block, as an `i32`.
    room: MlirValue,
}

/// In the place of an index that is out of range.
const OUT_OF_RANGE: i64 = i32::MIN as i64;

impl KernelEmitter<'_> {
    /// Elements at indices that are values.
    pub(super) fn take(
        &mut self,
        (access, index): (&Access, ExprId),
        (stride, extent): (&Product, Extent),
        dtype: DType,
        lanes: usize,
    ) -> Element<Register> {
        let varies = self.vector.is_some_and(|dim| self.kernel.expr(index).dims & 1 << dim != 0);
        // Where all lanes have one index, they are loaded as from anywhere.
        let index_lanes = if varies { lanes } else { 1 };
        let (place, fits) = self.place((index, extent), index_lanes);
        let filler = self.constant(filler(dtype), dtype, lanes);
        if extent.fixed() == Some(0) {
            return filler;
        }
        let stride_value = self.product(stride);
        let loaded = if varies && lanes > 1 {
            self.take_lanes((access, place, stride_value), dtype, lanes)
        } else {
            let steps = self.code.int("llvm.mul", place.value, stride_value);
            self.load(access, dtype, lanes, Some(steps))
        };
        let fits = if index_lanes == lanes { fits } else { llvm::splat(&mut self.code, fits, lanes) };
        let mut e = self.emit(lanes);
        let chosen: Vec<Register> = parts(loaded)
            .into_iter()
            .zip(parts(filler))
            .map(|(loaded, filler)| e.select(fits, loaded, filler))
            .collect();
        element(&chosen)
    }

    /// How many elements after the first one those at an index are, which is an `i64`, and whether it is in range; else the first one is.
    fn place(&mut self, (index, extent): (ExprId, Extent), lanes: usize) -> (Register, Register) {
        let (dtype, numerics) = (self.kernel.expr(index).dtype, self.setting.numerics);
        let node = self.current;
        let index = self.eval(index, lanes);
        self.current = node;
        let extent = Register { value: self.product(&extent.into()), ty: Ty::I64 };
        let extent = llvm::splat(&mut self.code, extent, lanes);
        let mut e = self.emit(lanes);
        let index = convert(&mut e, dtype, DType::I64, numerics, index).real();
        let zero = e.int(Ty::I64, 0);
        let is_large = e.compare(Compare::LtS, index, zero);
        let is_large = match dtype {
            // Beyond the range of signed integers, so beyond any extent.
            DType::U64 => is_large,
            _ => e.int(Ty::I1, 0),
        };
        let from_end = e.binary(Binary::Add, index, extent);
        let is_negative = e.compare(Compare::LtS, index, zero);
        let place = e.select(is_negative, from_end, index);
        let fits = e.compare(Compare::LtU, place, extent);
        let not_large = e.int(Ty::I1, 1);
        let not_large = e.binary(Binary::Xor, is_large, not_large);
        let fits = e.binary(Binary::And, fits, not_large);
        let place = e.select(fits, place, zero);
        if numerics != Numerics::Jax {
            let yes = e.int(Ty::I1, 1);
            let misses = e.binary(Binary::Xor, fits, yes);
            e.trap(misses, Trap::IndexOutOfRange);
        }
        (place, fits)
    }

    fn take_lanes(
        &mut self,
        (access, place, stride): (&Access, Register, MlirValue),
        dtype: DType,
        lanes: usize,
    ) -> Element<Register> {
        let (first, unit) = self.first(access, dtype, None);
        let count = part_count(dtype);
        let stride = llvm::splat(&mut self.code, Register { value: stride, ty: Ty::I64 }, lanes);
        let own = self.stride(access);
        let own = self.lane_steps(&own, lanes);
        let mut e = self.emit(lanes);
        let steps = e.binary(Binary::Mul, place, stride);
        let steps = e.binary(Binary::Add, steps, own);
        let parts = e.int(Ty::I64, count as i64);
        let steps = e.binary(Binary::Mul, steps, parts);
        let ty = memory(dtype);
        let size = ty.bits() as usize / 8;
        let loaded: Vec<Register> = (0..count as i64)
            .map(|part| {
                let raw = Register { value: self.gather((first, steps, part), unit, lanes, size), ty };
                promote_scalar::load(&mut self.emit(lanes), dtype.real_part(), raw)
            })
            .collect();
        element(&loaded)
    }

    /// Computes where the elements of blocks that are permuted are taken from, which is the same for all of them. If there is no block,
    /// no index is out of range.
    pub(super) fn keep_places(&mut self) {
        let Some(shuffled) = self.shuffled else { return };
        for read in shuffled.reads(self.kernel) {
            if read.taken.is_some() {
                let elements = (shuffled.block as usize * shuffled.together).next_multiple_of(self.lanes);
                let i32 = self.code.types.scalar(Ty::I32);
                let kept = Kept { room: self.code.stack(i32, elements as i64, 64) };
                let blocks = shuffled.inner - 1;
                let (zero, one) = (self.code.index(0), self.code.index(1));
                let extent = self.product(&self.kernel.dims[blocks].clone());
                let first = self.code.int("llvm.intr.smin", extent, one);
                self.repeat(blocks, (zero, first), 1, &[], &mut |emitter, _| {
                    emitter.keep_places_within(shuffled, (&read, kept), shuffled.inner, zero);
                    Vec::new()
                });
                self.kept_places.insert(read.id, kept);
            }
        }
    }

    /// The same in blocks of the dimensions from one on, whose number in memory is known so far.
    fn keep_places_within(
        &mut self,
        shuffled: Shuffled,
        (read, kept): (&Read<'_>, Kept),
        dim: usize,
        number: MlirValue,
    ) {
        if dim < self.kernel.dims.len() {
            let (zero, extent) = (self.code.index(0), self.product(&self.kernel.dims[dim].clone()));
            self.repeat(dim, (zero, extent), 1, &[], &mut |emitter, _| {
                let index = emitter.at(dim);
                let outside = emitter.code.int("llvm.mul", number, extent);
                let number = emitter.code.int("llvm.add", outside, index);
                emitter.keep_places_within(shuffled, (read, kept), dim + 1, number);
                Vec::new()
            });
            return;
        }
        let Some(taken) = &read.taken else { unreachable!("only what is taken has places that a run knows") };
        self.current = Some(read.expr.node);
        let (place, fits) = self.place((taken.index, taken.extent), 1);
        let stride = self.product(taken.stride);
        let mut step = self.code.int("llvm.mul", place.value, stride);
        for dim in shuffled.inner..self.kernel.dims.len() {
            let (index, stride) = (self.at(dim), self.product(&read.access.strides[dim].clone()));
            let own = self.code.int("llvm.mul", index, stride);
            step = self.code.int("llvm.add", step, own);
        }
        let apart = self.product(&read.access.strides[shuffled.inner - 1].clone());
        let i32 = self.code.types.scalar(Ty::I32);
        for block in 0..shuffled.together {
            let before = self.code.index(block as i64);
            let before = self.code.int("llvm.mul", before, apart);
            let own = self.code.int("llvm.add", step, before);
            let missing = self.code.index(OUT_OF_RANGE);
            let own = self.code.select(fits.value, own, missing);
            let own = self.code.value("llvm.trunc", &[own], i32, &[]);
            let to = self.code.index(block as i64 * shuffled.block);
            let to = self.code.int("llvm.add", to, number);
            let to = self.code.element(kept.room, to, i32, 1);
            self.code.store(own, to, 4);
        }
    }

    /// The lanes of results from one of a group of blocks on, chosen from registers whose first element is so far from the first one of
    /// the group.
    pub(super) fn chosen_places(
        &mut self,
        (kept, first): (Kept, usize),
        (registers, low): (&[MlirValue], i64),
        dtype: DType,
    ) -> Register {
        let (lanes, ty) = (self.lanes, memory(dtype));
        let own = Ty::integer(ty.bits());
        let i32 = self.code.types.scalar(Ty::I32);
        let from = self.code.index(first as i64);
        let from = self.code.element(kept.room, from, i32, 1);
        let place = Register { value: self.code.load(from, llvm::vector(i32, lanes), 4), ty: Ty::I32 };
        let mut e = self.emit(lanes);
        let missing = e.int(Ty::I32, OUT_OF_RANGE);
        let fits = e.compare(Compare::Ne, place, missing);
        let low = e.int(Ty::I32, low);
        let place = e.binary(Binary::Sub, place, low);
        let place = match own.bits() {
            32 => place,
            64 => e.cast(Cast::ZExt, place, own),
            _ => e.cast(Cast::Truncate, place, own),
        };
        let value = self.picked(registers, place);
        let value = Register { value, ty: own };
        let value = if own == ty { value } else { self.emit(lanes).cast(Cast::Bitcast, value, ty) };
        // Elsewhere the call has failed.
        if self.setting.numerics != Numerics::Jax {
            return value;
        }
        let filler = self.code.literal(ty, filler(dtype) as u64 & (u64::MAX >> (64 - ty.bits())), lanes);
        self.emit(lanes).select(fits, value, filler)
    }

    /// The elements at places in registers, which are whole.
    fn picked(&mut self, registers: &[MlirValue], place: Register) -> MlirValue {
        let (lanes, own) = (self.lanes, place.ty);
        let width = self.setting.machine.vector_bytes * 8 / own.bits() as usize;
        let (whole, part) = (self.code.types.lanes(own, width), self.code.types.lanes(own, lanes));
        let lane_numbers = |count: usize| -> Vec<i32> {
            (0..count).map(|lane| if lane < lanes { lane as i32 } else { 0 }).collect()
        };
        let places = match lanes == width {
            true => place.value,
            false => shuffle(&self.code, (place.value, place.value), whole, &lane_numbers(width)),
        };
        let mut all = None;
        for (number, pair) in registers.chunks(2).enumerate() {
            let [x, y] =
                [pair[0], pair[pair.len() - 1]].map(|x| self.code.value("llvm.bitcast", &[x], whole, &[]));
            let chosen = intrinsic(&self.code, instruction(own), &[x, places, y], whole);
            let chosen = match lanes == width {
                true => chosen,
                false => shuffle(&self.code, (chosen, chosen), part, &lane_numbers(lanes)),
            };
            all = Some(match all {
                None => chosen,
                Some(before) => {
                    let mut e = self.emit(lanes);
                    let start = e.int(own, (number * 2 * width) as i64);
                    let is_before = e.compare(Compare::LtU, place, start);
                    self.code.select(is_before.value, before, chosen)
                }
            });
        }
        match all {
            Some(all) => all,
            None => unreachable!("something is loaded of blocks"),
        }
    }
}

/// The instruction that chooses elements by their places in two registers.
fn instruction(ty: Ty) -> &'static str {
    match ty {
        Ty::I8 => "llvm.x86.avx512.vpermi2var.qi.512",
        Ty::I16 => "llvm.x86.avx512.vpermi2var.hi.512",
        Ty::I32 => "llvm.x86.avx512.vpermi2var.d.512",
        Ty::I64 => "llvm.x86.avx512.vpermi2var.q.512",
        Ty::I1 | Ty::F16 | Ty::F32 | Ty::F64 => unreachable!("they are chosen as integers"),
    }
}
