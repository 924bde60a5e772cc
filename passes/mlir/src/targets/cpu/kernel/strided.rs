//! Elements that are a step apart in memory.

use mlir_sys::*;

use promote_scalar::Ty;

use super::KernelEmitter;
use crate::targets::cpu::costs::{
    CACHE_LINE, FROM_ONE_ADDRESS, PREFETCHED_APART, PREFETCHED_STEPS, SHUFFLED_BYTES,
};
use crate::targets::llvm::{self, Level, vector};

impl KernelEmitter<'_> {
    /// Every so many elements from an address, in a vector register after the other.
    pub(super) fn load_strided(
        &mut self,
        first: MlirValue,
        (unit, size): (MlirType, usize),
        lanes: usize,
        stride: i64,
    ) -> MlirValue {
        let step = stride * size as i64;
        // One lane after the other is a line of its own from here on, and none is read twice.
        for line in (0..lanes as i64).step_by((CACHE_LINE / step).max(1) as usize) {
            let ahead = self.code.index((PREFETCHED_STEPS * lanes as i64 + line) * stride);
            let address = self.code.element(first, ahead, unit, 1);
            self.code.prefetch(address, self.setting.machine.level_ahead());
        }
        let own = (self.setting.machine.vector_bytes / size).clamp(1, lanes);
        let pieces: Vec<MlirValue> = (0..lanes / own)
            .map(|piece| {
                let start = self.code.index((piece * own) as i64 * stride);
                let first = self.code.element(first, start, unit, 1);
                if own > 1 && step <= SHUFFLED_BYTES {
                    self.choose_strided(first, (unit, size), (own, own), stride as usize)
                } else {
                    self.lane_by_lane((unit, size), own, |emitter, lane| {
                        let ahead = emitter.code.index(lane * stride);
                        emitter.code.element(first, ahead, unit, 1)
                    })
                }
            })
            .collect();
        self.joined(pieces, (unit, own))
    }

    /// The same in the lanes that the mask has.
    pub(super) fn load_strided_masked(
        &mut self,
        first: MlirValue,
        (unit, size): (MlirType, usize),
        lanes: usize,
        stride: usize,
    ) -> MlirValue {
        let own = (self.setting.machine.vector_bytes / size).clamp(1, lanes);
        let (truths, all) = (self.code.types.lanes(Ty::I1, own), self.mask_of(lanes));
        let pieces: Vec<MlirValue> = (0..lanes / own)
            .map(|piece| {
                let of_piece: Vec<i32> = (0..own).map(|lane| (piece * own + lane) as i32).collect();
                let mask = llvm::shuffle(&self.code, (all, all), truths, &of_piece);
                let start = self.code.index((piece * own * stride) as i64);
                let first = self.code.element(first, start, unit, 1);
                self.choose_masked(first, (unit, size), (own, mask), stride)
            })
            .collect();
        self.joined(pieces, (unit, own))
    }

    /// The parts of elements whose step a run alone knows.
    pub(super) fn load_apart(
        &mut self,
        (first, stride): (MlirValue, MlirValue),
        (unit, size): (MlirType, usize),
        lanes: usize,
        parts: usize,
    ) -> Vec<MlirValue> {
        let steps: Vec<MlirValue> = (0..=FROM_ONE_ADDRESS)
            .map(|lane| {
                let lane = self.code.index(lane);
                self.code.int("llvm.mul", stride, lane)
            })
            .collect();
        let ahead = self.code.index(PREFETCHED_APART);
        let ahead = self.code.int("llvm.mul", stride, ahead);
        let mut addresses = Vec::with_capacity(lanes);
        let mut start = first;
        for lane in 0..lanes {
            let within = lane % FROM_ONE_ADDRESS as usize;
            if within == 0 {
                if lane > 0 {
                    start = self.code.element(start, steps[FROM_ONE_ADDRESS as usize], unit, 1);
                }
                let next = self.code.element(start, ahead, unit, 1);
                // Loading lane by lane takes so long that few misses are under way.
                self.code.prefetch(next, Level::First);
            }
            addresses.push(self.code.element(start, steps[within], unit, 1));
        }
        let mut part = |part: i64| {
            self.lane_by_lane((unit, size), lanes, |emitter, lane| {
                let ahead = emitter.code.index(part);
                emitter.code.element(addresses[lane as usize], ahead, unit, 1)
            })
        };
        (0..parts as i64).map(&mut part).collect()
    }

    /// Loads one lane after the other from where it is.
    pub(super) fn lane_by_lane(
        &mut self,
        (unit, size): (MlirType, usize),
        lanes: usize,
        mut address: impl FnMut(&mut Self, i64) -> MlirValue,
    ) -> MlirValue {
        let result = vector(unit, lanes);
        let mut all = self.code.poison(result);
        for lane in 0..lanes as i64 {
            let address = address(self, lane);
            let loaded = self.code.load(address, unit, size);
            let place = self.code.index(lane);
            all = self.code.value("llvm.insertelement", &[all, loaded, place], result, &[]);
        }
        all
    }

    /// Loads the elements of the lanes that a mask has, and nothing between them, and puts each into its lane.
    fn choose_masked(
        &mut self,
        first: MlirValue,
        (unit, size): (MlirType, usize),
        (lanes, mask): (usize, MlirValue),
        stride: usize,
    ) -> MlirValue {
        let (result, truths) = (vector(unit, lanes), self.code.types.lanes(Ty::I1, lanes));
        let (none, nothing) = (self.code.constant(Ty::I1, 0, lanes), self.nothing(result));
        // Lanes of the second operand of a shuffle are counted after those of the first.
        (0..stride).fold(nothing, |found, number| {
            let lane_of = |place: usize| if place.is_multiple_of(stride) { place / stride } else { lanes };
            let of_mask: Vec<i32> = (0..lanes).map(|lane| lane_of(number * lanes + lane) as i32).collect();
            let mask = llvm::shuffle(&self.code, (mask, none), truths, &of_mask);
            let start = self.code.index((number * lanes) as i64);
            let address = self.code.element(first, start, unit, 1);
            let loaded = self.masked_load(address, result, size, (mask, nothing));
            let source = |lane: usize| {
                let place = lane * stride;
                if place / lanes == number { lanes + place % lanes } else { lane }
            };
            let chosen: Vec<i32> = (0..lanes).map(|lane| source(lane) as i32).collect();
            llvm::shuffle(&self.code, (found, loaded), result, &chosen)
        })
    }

    /// Vectors as one.
    pub(super) fn joined(&self, mut pieces: Vec<MlirValue>, (unit, own): (MlirType, usize)) -> MlirValue {
        let mut lanes = own;
        while pieces.len() > 1 {
            let mask: Vec<i32> = (0..2 * lanes as i32).collect();
            let join = |pair: &[MlirValue]| {
                llvm::shuffle(&self.code, (pair[0], pair[1]), vector(unit, 2 * lanes), &mask)
            };
            pieces = pieces.chunks_exact(2).map(join).collect();
            lanes *= 2;
        }
        pieces[0]
    }

    /// Loads all that lies between the first of so many elements and the last, and nothing before or after it, and chooses them among that,
    /// in the first lanes of a vector.
    pub(super) fn choose_strided(
        &mut self,
        first: MlirValue,
        (unit, size): (MlirType, usize),
        (count, lanes): (usize, usize),
        stride: usize,
    ) -> MlirValue {
        let result = vector(unit, lanes);
        let span = (count - 1) * stride + 1;
        let pieces = span.div_ceil(lanes);
        let starts: Vec<usize> =
            (0..pieces).map(|number| (number * lanes).min(span.saturating_sub(lanes))).collect();
        let loaded: Vec<MlirValue> = starts
            .iter()
            .map(|start| {
                let start = self.code.index(*start as i64);
                let address = self.code.element(first, start, unit, 1);
                if span >= lanes {
                    return self.code.load(address, result, size);
                }
                let (mask, rest) = (self.lanes_of(span, lanes), self.code.poison(result));
                self.masked_load(address, result, size, (mask, rest))
            })
            .collect();
        let source = |lane: usize| (lane * stride / lanes).min(pieces - 1);
        let place = |lane: usize| lane * stride - starts[source(lane)];
        // One piece has all of them: the other lanes do not matter.
        if pieces == 1 && stride > 1 {
            let mask: Vec<i32> = (0..lanes).map(|lane| place(lane.min(count - 1)) as i32).collect();
            return llvm::shuffle(&self.code, (loaded[0], loaded[0]), result, &mask);
        }
        // Lanes of the second operand of a shuffle are counted after those of the first.
        (1..pieces).fold(loaded[0], |found, number| {
            let mask: Vec<i32> = (0..lanes)
                .map(|lane| match source(lane) {
                    _ if lane >= count => lane as i32,
                    own if own == number => (lanes + place(lane)) as i32,
                    0 if number == 1 => place(lane) as i32,
                    _ => lane as i32,
                })
                .collect();
            llvm::shuffle(&self.code, (found, loaded[number]), result, &mask)
        })
    }
}
