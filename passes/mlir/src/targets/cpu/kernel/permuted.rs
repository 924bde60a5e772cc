//! The code of maps that permute [blocks](Shuffled): what is read of them is loaded whole, and results are chosen from it in registers.
//!
//! ## Laws
//! - Nothing is read outside of what lies between the first and the last element of the blocks at hand.
//! - The last blocks of a tile are taken with some that the group before had, so that a group has as many. What a vector that they do
//!   not fill writes behind them belongs to blocks of the same tile that follow, and is written by those afterwards.

use mlir_sys::*;
use promote_lattice::DType;
use promote_lower::kernel::{Expr, ExprId};
use promote_scalar::{Element, Ty, memory};

use super::shuffled::{Read, Shuffled};
use super::squares::Bounds;
use super::taken::KeptPlaces;
use super::{KernelEmitter, Scope};
use crate::targets::llvm::{Register, shuffle, splat, vector};

/// What is loaded of blocks.
struct Loaded {
    id: ExprId,
    dtype: DType,
    registers: Vec<MlirValue>,
    places: Places,
}

/// Where the element of each lane of results is.
enum Places {
    /// So far from the first one of the registers.
    Known(Vec<usize>),
    /// Where a run finds it. The first one of the registers is so far from the first one of the blocks.
    Kept(MlirValue, i64),
}

impl KernelEmitter<'_> {
    /// A tile of blocks.
    pub(super) fn map_shuffled(&mut self, shuffled: Shuffled, bounds: Bounds) {
        let (blocks, tile) = shuffled.tile();
        self.hoist(shuffled.inside(self.kernel), usize::MAX);
        let (lanes, together) = (self.lanes, shuffled.together);
        let elements = shuffled.block as usize * together;
        let same = self.same_for_all(shuffled, together);
        let mut start = bounds.0;
        if !elements.is_multiple_of(lanes) {
            // As many blocks as whole vectors reach into: all but the first ones are stored again by those after them.
            let reached = elements.next_multiple_of(lanes).div_ceil(shuffled.block as usize);
            let others = self.code.index(reached as i64 - 1);
            let end = self.code.int("llvm.sub", bounds.1, others);
            let step = self.code.index(together as i64);
            start = self.repeat(blocks, (start, end), together, &[start], &mut |emitter, _| {
                emitter.some_blocks(shuffled, together, (&same, true));
                let own = emitter.at(blocks);
                vec![emitter.code.int("llvm.add", own, step)]
            })[0];
        }
        let groups = (together, together as i64, tile);
        self.in_groups(blocks, bounds, start, groups, &mut |emitter, count| {
            if count == together {
                return emitter.some_blocks(shuffled, count, (&same, false));
            }
            let same = emitter.same_for_all(shuffled, count);
            emitter.some_blocks(shuffled, count, (&same, false));
        });
    }

    /// So many blocks from the current one on, beside what is the same for all. Where others follow, the vectors stored are whole.
    fn some_blocks(&mut self, shuffled: Shuffled, count: usize, (same, others_follow): (&[Scope], bool)) {
        let (kernel, lanes, last) = (self.kernel, self.lanes, self.kernel.dims.len() - 1);
        let loaded = self.load_all(shuffled, count, true);
        let elements = shuffled.block as usize * count;
        for (first, same) in (0..elements).step_by(lanes).zip(same) {
            let own = lanes.min(elements - first);
            let mut frame = self.vector_of(&loaded, first, elements);
            frame.extend(same.iter().map(|(key, value)| (*key, *value)));
            self.mask = (own < lanes && !others_follow).then(|| self.first_lanes(own));
            // A mask has more lanes than one: see the laws of masks. On processors without them, all lanes are stored one by one.
            self.rest = ((own == 1 || !self.has_masks) && !others_follow).then_some(own);
            self.index[last] = Some(self.code.index(first as i64));
            self.frames.push(frame);
            (0..kernel.roots.len()).for_each(|root| self.store_root(root, lanes));
            self.frames.pop();
            (self.mask, self.rest, self.index[last]) = (None, None, None);
        }
    }

    /// What is the same for all blocks, for so many of them at once: for each vector of results.
    fn same_for_all(&mut self, shuffled: Shuffled, count: usize) -> Vec<Scope> {
        let (loaded, elements) = (self.load_all(shuffled, count, false), shuffled.block as usize * count);
        let firsts = (0..elements).step_by(self.lanes);
        firsts.map(|first| self.vector_of(&loaded, first, elements)).collect()
    }

    /// Loads what differs from block to block, or what does not.
    fn load_all(&mut self, shuffled: Shuffled, count: usize, differs: bool) -> Vec<Loaded> {
        let kernel = self.kernel;
        let is_own = |expr: &Expr| (expr.dims & 1 << (shuffled.inner - 1) != 0) == differs;
        let reads = shuffled.reads(kernel).into_iter().filter(|read| is_own(read.expr));
        reads
            .map(|read| {
                let Some(span) = shuffled.span(kernel, &read, count) else {
                    unreachable!("the strides of blocks are known")
                };
                let places = match self.kept_places.get(&read.id) {
                    Some(KeptPlaces::OfBlocks(room)) => Places::Kept(*room, span.0),
                    Some(KeptPlaces::OfIndices { .. }) => unreachable!("these are of blocks"),
                    None => match shuffled.offsets(kernel, read.access, count) {
                        Some(offsets) => {
                            Places::Known(offsets.iter().map(|offset| (offset - span.0) as usize).collect())
                        }
                        None => unreachable!("they lie in the span"),
                    },
                };
                let registers = self.load_blocks(&read, span);
                Loaded { id: read.id, dtype: read.expr.dtype, registers, places }
            })
            .collect()
    }

    /// A vector of results of what was loaded, from one of so many elements on.
    fn vector_of(&mut self, loaded: &[Loaded], first: usize, elements: usize) -> Scope {
        let (mut frame, lanes) = (Scope::default(), self.lanes);
        for load in loaded {
            let raw = self.chosen_lanes(load, first, lanes.min(elements - first));
            let element = promote_scalar::load(&mut self.emit(lanes), load.dtype, raw);
            frame.insert((load.id, lanes, 0), Element::Real(element));
        }
        frame
    }

    /// Loads all that lies between the first and the last of the elements that may be read of blocks.
    fn load_blocks(&mut self, read: &Read<'_>, (low, high): (i64, i64)) -> Vec<MlirValue> {
        let (dtype, size) = (read.expr.dtype, memory(read.expr.dtype).bits() as usize / 8);
        let width = match read.taken {
            Some(_) => self.choice(memory(dtype)).register_bytes() / size,
            None => self.lanes,
        };
        let registers = (low..=high).step_by(width);
        registers
            .map(|from| {
                let from_first = self.code.index(from);
                let (address, unit) = self.first(read.access, dtype, Some(from_first));
                let (whole, left) = (vector(unit, width), (high - from + 1) as usize);
                if left >= width {
                    return self.code.load(address, whole, size);
                }
                if !self.has_masks {
                    return self.load_up_to((address, memory(dtype)), (left, from > low), width);
                }
                let mask = self.lanes_of(left, width);
                let nothing = self.code.value("llvm.mlir.zero", &[], whole, &[]);
                self.masked_load(address, whole, size, (mask, nothing))
            })
            .collect()
    }

    /// So many first lanes of a vector, not all, in vectors that end where these lanes do. In front of the address, there may be a vector
    /// that is read as well.
    fn load_up_to(
        &mut self,
        (address, ty): (MlirValue, Ty),
        (left, is_behind_others): (usize, bool),
        width: usize,
    ) -> MlirValue {
        let (unit, size) = (self.code.types.scalar(ty), ty.bits() as usize / 8);
        let whole = vector(unit, width);
        let from = |emitter: &mut Self, first: i64, lanes: usize| {
            let first = emitter.code.index(first);
            let address = emitter.code.element(address, first, unit, 1);
            emitter.code.load(address, vector(unit, lanes), size)
        };
        if left == 1 && !is_behind_others {
            let value = self.code.load(address, unit, size);
            return splat(&mut self.code, Register { value, ty }, width).value;
        }
        if is_behind_others {
            let all = from(self, left as i64 - width as i64, width);
            let mask: Vec<i32> = (0..width).map(|lane| ((lane + width - left) % width) as i32).collect();
            return shuffle(&self.code, (all, all), whole, &mask);
        }
        // The largest power of two, and the same again that ends where the lanes do.
        let half = 1 << left.ilog2();
        let [low, high] = [0, left - half].map(|first| from(self, first as i64, half));
        let place = |lane: usize| if lane < half { lane } else { (lane + 2 * half - left).min(2 * half - 1) };
        let mask: Vec<i32> = (0..width).map(|lane| place(lane) as i32).collect();
        shuffle(&self.code, (low, high), whole, &mask)
    }

    /// So many lanes of results from one on, of the registers that have them.
    fn chosen_lanes(&mut self, loaded: &Loaded, first: usize, own: usize) -> Register {
        let (lanes, ty) = (self.lanes, memory(loaded.dtype));
        let places = match &loaded.places {
            Places::Known(places) => places,
            Places::Kept(room, low) => {
                return self.chosen_places((*room, first), (&loaded.registers, *low), loaded.dtype);
            }
        };
        let place = |lane: usize| places[first + lane.min(own - 1)];
        let mut used: Vec<usize> = (0..own).map(|lane| place(lane) / lanes).collect();
        used.sort_unstable();
        used.dedup();
        let r#type = self.code.types.lanes(ty, lanes);
        let mut all = loaded.registers[used[0]];
        for (step, pair) in used.windows(2.min(used.len())).enumerate() {
            let second = pair[pair.len() - 1];
            // What was chosen before is where it belongs.
            let from = |lane: usize| match (place(lane) / lanes, place(lane) % lanes) {
                (register, own) if register == second && pair.len() == 2 => lanes + own,
                (register, own) if register == used[0] && step == 0 => own,
                _ => lane,
            };
            let mask: Vec<i32> = (0..lanes).map(|lane| from(lane) as i32).collect();
            all = shuffle(&self.code, (all, loaded.registers[second]), r#type, &mask);
        }
        Register { value: all, ty }
    }
}
