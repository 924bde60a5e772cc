//! Elements at indices that are values: loaded where they are, or chosen in registers.

use mlir_sys::*;
use promote_dialect::extent::{Extent, Product};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Access, Code, Expr, ExprId};
use promote_scalar::{Binary, Cast, Compare, Element, Emit, Trap, Ty, convert, filler, memory};

use super::elements::{element, part_count, parts, read_bytes};
use super::shuffled::{Read, Shuffled};
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    LEAST_ROW_TAKEN, LEAST_TAKEN, MOST_OF_ROW, MOST_PLACES, NEAR_TAKEN, ROWS_TAKEN_AHEAD,
};
use crate::targets::cpu::target::Choice;
use crate::targets::llvm::{self, Register, intrinsic, shuffle};

/// Where elements are taken from, kept on the stack.
#[derive(Clone)]
pub(super) enum KeptPlaces {
    /// Those of blocks that are permuted: how far from the first element of the block, as an `i32`.
    OfBlocks(MlirValue),
    /// Those at the indices of some dimensions: how far from the first element that may be taken, as an `i64`, and, where that does not
    /// end the call, whether the index is in range, as a byte.
    OfIndices { dims: Vec<usize>, places: MlirValue, fits: Option<MlirValue> },
}

/// Where elements are taken from, by lanes.
enum Steps {
    /// So far from the first element that may be taken.
    Computed(Register),
    /// The same, one after the other in memory.
    Kept(MlirValue),
}

/// In the place of an index that is out of range, in blocks.
const OUT_OF_RANGE: i64 = i32::MIN as i64;

impl KernelEmitter<'_> {
    /// Elements at indices that are values.
    pub(super) fn take(&mut self, id: ExprId, lanes: usize) -> Element<Register> {
        let (kernel, dtype) = (self.kernel, self.kernel.expr(id).dtype);
        let Code::Take { access, index, stride, extent } = &kernel.expr(id).code else {
            unreachable!("only what is taken is")
        };
        let filler = self.constant(filler(dtype), dtype, lanes);
        let varies = self.vector.is_some_and(|dim| kernel.expr(*index).dims & 1 << dim != 0);
        // Where all lanes have one index, they are loaded as from anywhere.
        let index_lanes = if varies { lanes } else { 1 };
        let (steps, fits) = match self.kept_places.get(&id).cloned() {
            Some(KeptPlaces::OfIndices { dims, places, fits }) => {
                let number = self.number_of(&dims);
                let steps = self.code.element(places, number, self.code.types.i64, 1);
                let fits = fits.map(|fits| {
                    let byte = self.code.types.scalar(Ty::I8);
                    let from = self.code.element(fits, number, byte, 1);
                    let value = self.code.load(from, llvm::vector(byte, index_lanes), 1);
                    self.emit(index_lanes).cast(Cast::Truncate, Register { value, ty: Ty::I8 }, Ty::I1)
                });
                (Steps::Kept(steps), fits)
            }
            Some(KeptPlaces::OfBlocks(_)) | None => {
                let (steps, fits) = self.place((*index, *extent, stride), index_lanes);
                (Steps::Computed(steps), fits)
            }
        };
        if extent.fixed() == Some(0) {
            return filler;
        }
        let loaded = match steps {
            steps if varies && lanes > 1 => self.take_lanes((access, steps), dtype, lanes),
            Steps::Computed(step) => self.load(access, dtype, lanes, Some(step.value)),
            Steps::Kept(from) => {
                let step = self.code.load(from, self.code.types.i64, 8);
                self.load(access, dtype, lanes, Some(step))
            }
        };
        let Some(fits) = fits else { return loaded };
        let fits = if index_lanes == lanes { fits } else { llvm::splat(&mut self.code, fits, lanes) };
        let mut e = self.emit(lanes);
        let chosen: Vec<Register> = parts(loaded)
            .into_iter()
            .zip(parts(filler))
            .map(|(loaded, filler)| e.select(fits, loaded, filler))
            .collect();
        element(&chosen)
    }

    /// Brings into the caches the rows that are taken with a later index of the dimension before, if they are long and not near: processors
    /// do not foresee where they are, and wait for the memory of few at once.
    pub(super) fn prefetch_taken(&mut self, dim: usize, from: MlirValue) {
        let kernel = self.kernel;
        let Some(rows) = dim.checked_sub(1) else { return };
        for (id, expr) in (0..).map(ExprId).zip(&kernel.exprs) {
            let Code::Take { access, index, stride, extent } = &expr.code else { continue };
            let in_bytes = |count: i64| count.saturating_mul(read_bytes(expr));
            let of_all =
                extent.fixed().zip(stride.fixed()).map(|(extent, stride)| extent.saturating_mul(stride));
            let is_near = of_all.is_some_and(|count| in_bytes(count) <= NEAR_TAKEN);
            let of_row = kernel.dims[dim].fixed().map(in_bytes).filter(|bytes| *bytes >= LEAST_ROW_TAKEN);
            let is_read = kernel.expr(*index).dims >> rows == 1 && self.is_read(*index);
            let is_row = access.strides[dim].fixed() == Some(1) && !self.kept_places.contains_key(&id);
            let Some(bytes) = of_row.filter(|_| is_read && is_row && !is_near) else { continue };
            // What was computed of the row at hand is not of the later one.
            let outside = (self.index.clone(), std::mem::take(&mut self.frames));
            let (extent_of_rows, ahead) =
                (self.product(&kernel.dims[rows].clone()), self.code.index(ROWS_TAKEN_AHEAD));
            let (one, current) = (self.code.index(1), self.at(rows));
            let last = self.code.int("llvm.sub", extent_of_rows, one);
            let later = self.code.int("llvm.add", current, ahead);
            self.index[rows] = Some(self.code.int("llvm.intr.smin", later, last));
            self.index[dim] = Some(from);
            self.frames.push(Scope::default());
            let (place, _) = self.place_in_range((*index, *extent, stride), 1);
            let (first, _) = self.first(access, expr.dtype, Some(place.value));
            (self.index, self.frames) = outside;
            self.prefetch_lines(first, bytes.min(MOST_OF_ROW) as usize, self.setting.machine.level_ahead());
        }
    }

    /// Whether an expression is read from memory and converted, and no more.
    fn is_read(&self, id: ExprId) -> bool {
        match self.kernel.expr(id).code {
            Code::Load(_) => true,
            Code::Convert(operand) => self.is_read(operand),
            Code::Take { .. } | Code::Splat(_) | Code::Size(_) | Code::Index { .. } => false,
            Code::Map(..) | Code::Reduced(_) => false,
        }
    }

    /// How far from the first element that may be taken those at an index are, as an `i64`, and whether it is in range, where that does
    /// not end the call; if it is not, the first one is.
    fn place(&mut self, taken: (ExprId, Extent, &Product), lanes: usize) -> (Register, Option<Register>) {
        let (step, fits) = self.place_in_range(taken, lanes);
        match self.setting.numerics {
            Numerics::Jax => (step, Some(fits)),
            Numerics::NumPy | Numerics::Torch => {
                let mut e = self.emit(lanes);
                let yes = e.int(Ty::I1, 1);
                let misses = e.binary(Binary::Xor, fits, yes);
                e.trap(misses, Trap::IndexOutOfRange);
                (step, None)
            }
        }
    }

    /// The same, and whether the index is in range, whatever comes of it if it is not.
    fn place_in_range(
        &mut self,
        (index, extent, stride): (ExprId, Extent, &Product),
        lanes: usize,
    ) -> (Register, Register) {
        let (dtype, numerics) = (self.kernel.expr(index).dtype, self.setting.numerics);
        let node = self.current;
        let index = self.eval(index, lanes);
        self.current = node;
        let [extent, stride] = [&extent.into(), stride].map(|number| {
            let number = Register { value: self.product(number), ty: Ty::I64 };
            llvm::splat(&mut self.code, number, lanes)
        });
        let mut e = self.emit(lanes);
        let index = convert(&mut e, dtype, DType::I64, numerics, index).real();
        let zero = e.int(Ty::I64, 0);
        let is_large = e.compare(Compare::LtS, index, zero);
        // Beyond the range of signed integers, so beyond any extent.
        let is_large = if dtype == DType::U64 { is_large } else { e.int(Ty::I1, 0) };
        let from_end = e.binary(Binary::Add, index, extent);
        let is_negative = e.compare(Compare::LtS, index, zero);
        let place = e.select(is_negative, from_end, index);
        let fits = e.compare(Compare::LtU, place, extent);
        let yes = e.int(Ty::I1, 1);
        let not_large = e.binary(Binary::Xor, is_large, yes);
        let fits = e.binary(Binary::And, fits, not_large);
        let place = e.select(fits, place, zero);
        (e.binary(Binary::Mul, place, stride), fits)
    }

    /// Elements that are so far from the first one that may be taken.
    fn take_lanes(
        &mut self,
        (access, steps): (&Access, Steps),
        dtype: DType,
        lanes: usize,
    ) -> Element<Register> {
        let (first, unit) = self.first(access, dtype, None);
        let (count, stride) = (part_count(dtype), self.stride(access));
        let ty = memory(dtype);
        let size = ty.bits() as usize / 8;
        let loaded: Vec<Register> = (0..count as i64)
            .map(|part| {
                let value = match steps {
                    // Loading steps one by one takes less than taking them from a vector.
                    Steps::Kept(from) => self.lane_by_lane((unit, size), lanes, |emitter, lane| {
                        let (i64, number) = (emitter.code.types.i64, emitter.code.index(lane));
                        let at = emitter.code.element(from, number, i64, 1);
                        let step = emitter.code.load(at, i64, 8);
                        let own = emitter.product(&(&stride * &Product::number(lane)));
                        let step = emitter.code.int("llvm.add", step, own);
                        let (parts, part) = (emitter.code.index(count as i64), emitter.code.index(part));
                        let step = emitter.code.int("llvm.mul", step, parts);
                        let step = emitter.code.int("llvm.add", step, part);
                        emitter.code.element(first, step, unit, 1)
                    }),
                    Steps::Computed(steps) => {
                        let own = self.lane_steps(&stride, lanes);
                        let mut e = self.emit(lanes);
                        let steps = e.binary(Binary::Add, steps, own);
                        let parts = e.int(Ty::I64, count as i64);
                        let steps = e.binary(Binary::Mul, steps, parts);
                        self.gather((first, steps, part), unit, lanes, size)
                    }
                };
                promote_scalar::load(&mut self.emit(lanes), dtype.real_part(), Register { value, ty })
            })
            .collect();
        element(&loaded)
    }

    /// Computes in front of all loops where elements are taken from, as far as that is the same again and again.
    pub(super) fn keep_places(&mut self) {
        let kernel = self.kernel;
        if let Some(shuffled) = self.shuffled {
            return shuffled.reads(kernel).iter().for_each(|read| self.keep_places_of_blocks(shuffled, read));
        }
        let mut room = MOST_PLACES;
        for (id, expr) in (0..).map(ExprId).zip(&kernel.exprs) {
            let Code::Take { access: _, index, stride, extent } = &expr.code else { continue };
            let Some((dims, count)) = self.dims_to_keep(expr, *index, room) else { continue };
            room -= count;
            let [whole, byte] = [Ty::I64, Ty::I8].map(|ty| self.code.types.scalar(ty));
            let places = self.code.stack(whole, count, 64);
            let fits = (self.setting.numerics == Numerics::Jax).then(|| self.code.stack(byte, count, 64));
            self.once_if_any(expr.dims, &mut |emitter| {
                emitter.each_of(&dims, &mut |emitter| {
                    emitter.current = Some(expr.node);
                    let number = emitter.number_of(&dims);
                    let (place, is_in_range) = emitter.place((*index, *extent, stride), 1);
                    let to = emitter.code.element(places, number, whole, 1);
                    emitter.code.store(place.value, to, 8);
                    if let (Some(fits), Some(is_in_range)) = (fits, is_in_range) {
                        let to = emitter.code.element(fits, number, byte, 1);
                        let is_in_range = emitter.emit(1).cast(Cast::ZExt, is_in_range, Ty::I8);
                        emitter.code.store(is_in_range.value, to, 1);
                    }
                });
            });
            self.kept_places.insert(id, KeptPlaces::OfIndices { dims, places, fits });
        }
    }

    /// The dimensions of an index that is the same for many others outside of them, and how many indices they have, if that is no more
    /// than there is room for. What is taken is never masked, and its lanes follow each other along one dimension: that of the index, or
    /// none of them.
    fn dims_to_keep(&self, expr: &Expr, index: ExprId, room: i64) -> Option<(Vec<usize>, i64)> {
        let (kernel, of_index) = (self.kernel, self.kernel.expr(index));
        let dims: Vec<usize> = (0..kernel.dims.len()).filter(|dim| of_index.dims & 1 << dim != 0).collect();
        let (first, last) = (*dims.first()?, *dims.last()?);
        let is_along = self.vector.is_none_or(|dim| !dims.contains(&dim) || dim == last);
        let is_in_order = is_along && self.across.is_none() && !self.is_tiny;
        let all = |dims: &[usize]| {
            dims.iter().try_fold(1_i64, |all, dim| all.checked_mul(kernel.dims[*dim].fixed()?))
        };
        let count = all(&dims).filter(|count| (1..=room).contains(count))?;
        let outside: Vec<usize> = (0..first).filter(|dim| expr.dims & 1 << dim != 0).collect();
        let is_used_again = all(&outside).is_none_or(|again| again >= LEAST_TAKEN);
        // What waits for a reduction is not known in front of all loops.
        (is_in_order && is_used_again && of_index.stage == 0).then_some((dims, count))
    }

    /// Does something once if there is an index of each of some dimensions.
    fn once_if_any(&mut self, dims: u64, body: &mut dyn FnMut(&mut Self)) {
        let (zero, mut count) = (self.code.index(0), self.code.index(1));
        for dim in (0..self.kernel.dims.len()).filter(|dim| dims & 1 << dim != 0) {
            let extent = self.product(&self.kernel.dims[dim].clone());
            count = self.code.int("llvm.intr.smin", count, extent);
        }
        let open = self.code.open((zero, count, 1), &[]);
        self.frames.push(Scope::default());
        body(self);
        self.frames.pop();
        self.code.close(&open, &[]);
    }

    /// Loops over the indices of some dimensions.
    fn each_of(&mut self, dims: &[usize], body: &mut dyn FnMut(&mut Self)) {
        let Some((dim, inner)) = dims.split_first() else { return body(self) };
        let (zero, extent) = (self.code.index(0), self.product(&self.kernel.dims[*dim].clone()));
        self.repeat(*dim, (zero, extent), 1, &[], &mut |emitter, _| {
            emitter.each_of(inner, body);
            Vec::new()
        });
    }

    /// The number of the current indices of some dimensions among all of them.
    fn number_of(&mut self, dims: &[usize]) -> MlirValue {
        let mut number = self.code.index(0);
        for dim in dims {
            let (index, extent) = (self.at(*dim), self.product(&self.kernel.dims[*dim].clone()));
            number = self.code.int("llvm.mul", number, extent);
            number = self.code.int("llvm.add", number, index);
        }
        number
    }

    /// Keeps the places of what is taken of blocks, which are the same for all of them.
    fn keep_places_of_blocks(&mut self, shuffled: Shuffled, read: &Read<'_>) {
        let Some(taken) = &read.taken else { return };
        let elements = (shuffled.block as usize * shuffled.together).next_multiple_of(self.lanes);
        let i32 = self.code.types.scalar(Ty::I32);
        let room = self.code.stack(i32, elements as i64, 64);
        let dims: Vec<usize> = (shuffled.inner..self.kernel.dims.len()).collect();
        let apart = self.product(&read.access.strides[shuffled.inner - 1].clone());
        self.once_if_any(read.expr.dims, &mut |emitter| {
            emitter.each_of(&dims, &mut |emitter| {
                emitter.current = Some(read.expr.node);
                let number = emitter.number_of(&dims);
                let (place, fits) = emitter.place((taken.index, taken.extent, taken.stride), 1);
                let within = emitter.scalar_linear(&read.access.strides, None);
                let step = emitter.code.int("llvm.add", place.value, within);
                for block in 0..shuffled.together {
                    let before = emitter.code.index(block as i64);
                    let before = emitter.code.int("llvm.mul", before, apart);
                    let mut own = emitter.code.int("llvm.add", step, before);
                    if let Some(fits) = fits {
                        let missing = emitter.code.index(OUT_OF_RANGE);
                        own = emitter.code.select(fits.value, own, missing);
                    }
                    let own = emitter.code.value("llvm.trunc", &[own], i32, &[]);
                    let to = emitter.code.index(block as i64 * shuffled.block);
                    let to = emitter.code.int("llvm.add", to, number);
                    let to = emitter.code.element(room, to, i32, 1);
                    emitter.code.store(own, to, 4);
                }
            });
        });
        self.kept_places.insert(read.id, KeptPlaces::OfBlocks(room));
    }

    /// The lanes of results from one of a group of blocks on, chosen from registers whose first element is so far from the first one of
    /// the group.
    pub(super) fn chosen_places(
        &mut self,
        (room, first): (MlirValue, usize),
        (registers, low): (&[MlirValue], i64),
        dtype: DType,
    ) -> Register {
        let (lanes, ty) = (self.lanes, memory(dtype));
        let own = Ty::integer(ty.bits());
        let i32 = self.code.types.scalar(Ty::I32);
        let from = self.code.index(first as i64);
        let from = self.code.element(room, from, i32, 1);
        let place = Register { value: self.code.load(from, llvm::vector(i32, lanes), 4), ty: Ty::I32 };
        let mut e = self.emit(lanes);
        let missing = e.int(Ty::I32, OUT_OF_RANGE);
        let fits = e.compare(Compare::Ne, place, missing);
        let low = e.int(Ty::I32, low);
        let place = e.binary(Binary::Sub, place, low);
        let place = match own {
            Ty::I32 => place,
            Ty::I64 => e.cast(Cast::ZExt, place, own),
            Ty::I8 | Ty::I16 => e.cast(Cast::Truncate, place, own),
            Ty::I1 | Ty::F16 | Ty::F32 | Ty::F64 => unreachable!("they are chosen as integers"),
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

    /// How elements of a type are chosen by their places.
    pub(super) fn choice(&self, of: Ty) -> Choice {
        match self.setting.machine.choice(of.bits()) {
            Some(choice) => choice,
            None => unreachable!("blocks are chosen from where an instruction does so"),
        }
    }

    /// The elements at places in registers, which are whole.
    fn picked(&mut self, registers: &[MlirValue], place: Register) -> MlirValue {
        match self.choice(place.ty) {
            Choice::OfPairs => self.picked_of_pairs(registers, place),
            Choice::OfBytes => self.picked_of_bytes(registers, place),
        }
    }

    /// The first of the lanes of a vector, or the first one again in lanes that it does not have.
    fn so_many_lanes(&self, vector: MlirValue, of: Ty, [own, wanted]: [usize; 2]) -> MlirValue {
        if own == wanted {
            return vector;
        }
        let lanes: Vec<i32> =
            (0..wanted as i32).map(|lane| if lane < own as i32 { lane } else { 0 }).collect();
        shuffle(&self.code, (vector, vector), self.code.types.lanes(of, wanted), &lanes)
    }

    /// The same, from registers of 16 bytes: of each of them what it has, and zeros.
    fn picked_of_bytes(&mut self, registers: &[MlirValue], place: Register) -> MlirValue {
        const LANES: usize = Choice::OfBytes.register_bytes();
        /// What an instruction takes for no place has the highest bit, as all have that these make too large.
        const BEYOND: i64 = 0x80 - LANES as i64;
        let (lanes, own, size) = (self.lanes, place.ty, place.ty.bits() as usize / 8);
        let [bytes, part] =
            [(Ty::I8, lanes * size), (own, lanes)].map(|(ty, lanes)| self.code.types.lanes(ty, lanes));
        let whole = self.code.types.lanes(Ty::I8, LANES);
        // The bytes of an element, one after the other.
        let [each, within] = [[size as u8; 8], [0, 1, 2, 3, 4, 5, 6, 7]]
            .map(|bytes| (i64::from_le_bytes(bytes) << (64 - own.bits())) >> (64 - own.bits()));
        let mut e = self.emit(lanes);
        let [each, within] = [each, within].map(|bytes| e.int(own, bytes));
        let first = e.binary(Binary::Mul, place, each);
        let places = e.binary(Binary::Add, first, within);
        let places = self.code.value("llvm.bitcast", &[places.value], bytes, &[]);
        let places = self.so_many_lanes(places, Ty::I8, [lanes * size, LANES]);
        let mut all: Option<Register> = None;
        for (number, register) in registers.iter().enumerate() {
            let register = self.code.value("llvm.bitcast", &[*register], whole, &[]);
            let mut e = self.emit(LANES);
            let start = e.int(Ty::I8, (number * LANES) as i64);
            let own = e.binary(Binary::Sub, Register { value: places, ty: Ty::I8 }, start);
            let beyond = e.int(Ty::I8, BEYOND);
            let own = self.code.value("llvm.intr.uadd.sat", &[own.value, beyond.value], whole, &[]);
            let value = intrinsic(&self.code, "llvm.x86.ssse3.pshuf.b.128", &[register, own], whole);
            let found = Register { value, ty: Ty::I8 };
            all = Some(match all {
                None => found,
                Some(before) => self.emit(LANES).binary(Binary::Or, before, found),
            });
        }
        match all {
            Some(all) => {
                let all = self.so_many_lanes(all.value, Ty::I8, [LANES, lanes * size]);
                self.code.value("llvm.bitcast", &[all], part, &[])
            }
            None => unreachable!("something is loaded of blocks"),
        }
    }

    /// The same, from registers of 64 bytes.
    fn picked_of_pairs(&mut self, registers: &[MlirValue], place: Register) -> MlirValue {
        let (lanes, own) = (self.lanes, place.ty);
        let width = Choice::OfPairs.register_bytes() * 8 / own.bits() as usize;
        let whole = self.code.types.lanes(own, width);
        let places = self.so_many_lanes(place.value, own, [lanes, width]);
        let mut all = None;
        for (number, pair) in registers.chunks(2).enumerate() {
            let [x, y] =
                [pair[0], pair[pair.len() - 1]].map(|x| self.code.value("llvm.bitcast", &[x], whole, &[]));
            let chosen = intrinsic(&self.code, instruction(own), &[x, places, y], whole);
            let chosen = self.so_many_lanes(chosen, own, [width, lanes]);
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

/// The instruction that chooses elements by their places in two registers of the widest kind.
fn instruction(ty: Ty) -> &'static str {
    match ty {
        Ty::I8 => "llvm.x86.avx512.vpermi2var.qi.512",
        Ty::I16 => "llvm.x86.avx512.vpermi2var.hi.512",
        Ty::I32 => "llvm.x86.avx512.vpermi2var.d.512",
        Ty::I64 => "llvm.x86.avx512.vpermi2var.q.512",
        Ty::I1 | Ty::F16 | Ty::F32 | Ty::F64 => unreachable!("they are chosen as integers"),
    }
}
