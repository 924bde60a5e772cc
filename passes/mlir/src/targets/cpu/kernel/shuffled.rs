//! Maps that permute small blocks of memory, as those that turn or flip the short innermost dimensions of a tensor.
//!
//! The elements of a block lie together in the results, and not further apart than twice as many in what is read, in any order. What
//! is read of a block, or of several that follow each other, is loaded whole, and each vector of results is chosen from it in registers.
//!
//! ## Laws
//! - Nothing is read outside of what lies between the first and the last element of the blocks at hand.
//! - The last blocks of a tile are taken with some that the group before had, so that a group has as many. What a vector that they do
//!   not fill writes behind them belongs to blocks of the same tile that follow, and is written by those afterwards.

use mlir_sys::*;
use promote_lattice::DType;
use promote_lower::kernel::{Access, Code as What, Expr, ExprId, Form, Kernel};
use promote_scalar::{Element, memory};

use super::elements::part_count;
use super::squares::Bounds;
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{MAP_TILE, MOST_SHUFFLED, MOST_SHUFFLES, MOST_SQUARES, SQUARE_COST};
use crate::targets::llvm::{Register, shuffle, vector};

/// How a map permutes blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shuffled {
    /// The outermost dimension within a block. The one before it counts blocks.
    pub(super) inner: usize,
    /// How many elements a block has.
    pub(super) block: i64,
    /// How many blocks a vector has.
    pub(super) together: usize,
}

impl Shuffled {
    /// How a kernel permutes blocks in vectors of so many lanes, in the largest that fit into registers: one of few operands that
    /// does little with each element, for each vector of a group has code of its own.
    pub(super) fn new(kernel: &Kernel, lanes: usize) -> Option<Self> {
        let last = kernel.dims.len().checked_sub(1)?;
        let is_simple = |expr: &Expr| match &expr.code {
            What::Load(_) | What::Splat(_) | What::Size(_) | What::Map(..) | What::Convert(_) => true,
            What::Index { .. } | What::Take { .. } | What::Reduced(_) => false,
        };
        let loads = kernel.exprs.iter().filter(|expr| matches!(expr.code, What::Load(_))).count();
        let is_small = kernel.cost() <= SQUARE_COST && loads <= MOST_SQUARES;
        if kernel.form != Form::Map || lanes < 2 || !is_small || !kernel.exprs.iter().all(is_simple) {
            return None;
        }
        (1..=last).find_map(|inner| Self::within(kernel, inner, lanes))
    }

    /// The same, in blocks of the dimensions from one on.
    fn within(kernel: &Kernel, inner: usize, lanes: usize) -> Option<Self> {
        let last = kernel.dims.len() - 1;
        let block =
            kernel.dims[inner..].iter().try_fold(1_i64, |all, extent| all.checked_mul(extent.fixed()?))?;
        let most = MOST_SHUFFLED * lanes as i64;
        if !(2..=most).contains(&block) {
            return None;
        }
        // Each vector of a large block is chosen from as many registers as it fills, or as a vector has lanes, at most.
        let registers = (block as usize).div_ceil(lanes);
        if registers * registers.min(lanes) > MOST_SHUFFLES {
            return None;
        }
        let is_dense = |access: &Access| {
            let mut next = 1;
            (inner - 1..=last).rev().all(|dim| {
                let lies = access.strides[dim].fixed() == Some(next);
                next *= kernel.dims[dim].fixed().unwrap_or(1);
                lies
            })
        };
        // Blocks that fill whole vectors, if those are few.
        let shared = 1 << block.trailing_zeros().min(lanes.trailing_zeros());
        let filling = lanes / shared;
        let there_are = kernel.dims[inner - 1].fixed().unwrap_or(i64::MAX);
        let are_few = block / shared as i64 <= MOST_SHUFFLED && there_are >= filling as i64;
        let together = if are_few { filling as i64 } else { lanes as i64 / block };
        let together = together.min(there_are).max(1) as usize;
        let found = Self { inner, block, together };
        let mut is_permuted = false;
        for (_, access, expr) in found.loads(kernel) {
            let offsets = found.offsets(kernel, access, together)?;
            let (low, high) = (*offsets.iter().min()?, *offsets.iter().max()?);
            let span = high - low + 1;
            let is_near = span <= most && span <= 2 * block * together as i64;
            if !is_near || part_count(expr.dtype) != 1 || expr.dims & 1 << last == 0 {
                return None;
            }
            // What is the same all along a dimension is in order as far as it differs.
            let differs = (inner..=last).all(|dim| !access.strides[dim].is_zero());
            let of_block = &offsets[..block as usize];
            is_permuted |= differs && of_block.windows(2).any(|pair| pair[1] != pair[0] + 1);
        }
        let reads_rows = |(_, access, _): (ExprId, &Access, &Expr)| access.strides[last].fixed() == Some(1);
        let is_stored = kernel.roots.iter().all(|root| {
            kernel.expr(root.expr).dims & found.inside(kernel) != 0
                && part_count(kernel.expr(root.expr).dtype) == 1
                && root.sinks.iter().all(is_dense)
        });
        let fills = block as usize * together * 2 > lanes;
        let is_long = kernel.dims[last].fixed().is_some_and(|extent| extent >= lanes as i64);
        let has_rows = is_long && found.loads(kernel).into_iter().all(reads_rows);
        (is_permuted && is_stored && fills && !has_rows).then_some(found)
    }

    /// The dimensions within blocks, and the one that counts them.
    fn inside(&self, kernel: &Kernel) -> u64 {
        (self.inner - 1..kernel.dims.len()).fold(0, |all, dim| all | 1 << dim)
    }

    /// What is loaded of blocks.
    fn loads<'k>(&self, kernel: &'k Kernel) -> Vec<(ExprId, &'k Access, &'k Expr)> {
        let inside = self.inside(kernel);
        let ids = (0..).map(ExprId).zip(&kernel.exprs);
        let loads = ids.filter_map(|(id, expr)| match &expr.code {
            What::Load(access) if expr.dims & inside != 0 => Some((id, access, expr)),
            What::Load(_)
            | What::Take { .. }
            | What::Splat(_)
            | What::Size(_)
            | What::Index { .. }
            | What::Map(..)
            | What::Convert(_)
            | What::Reduced(_) => None,
        });
        loads.collect()
    }

    /// How far from the first element of a block those of so many blocks are, in the order of the results; none if a run alone
    /// knows.
    fn offsets(&self, kernel: &Kernel, access: &Access, blocks: usize) -> Option<Vec<i64>> {
        let apart = match blocks {
            1 => 0,
            _ => access.strides[self.inner - 1].fixed()?,
        };
        let mut offsets: Vec<i64> = (0..blocks as i64).map(|block| block * apart).collect();
        for dim in self.inner..kernel.dims.len() {
            let (extent, stride) = (kernel.dims[dim].fixed()?, access.strides[dim].fixed()?);
            let along = |offset: i64| (0..extent).map(move |index| offset + index * stride);
            offsets = offsets.into_iter().flat_map(along).collect();
        }
        Some(offsets)
    }

    /// The dimension that counts blocks, and how many of them a tile has.
    pub(super) fn tile(&self) -> (usize, i64) {
        (self.inner - 1, (MAP_TILE / self.block).max(self.together as i64))
    }
}

/// What is loaded of blocks: the registers, and how far the element of each lane of results lies from the first of them.
struct Loaded {
    id: ExprId,
    dtype: DType,
    registers: Vec<MlirValue>,
    places: Vec<usize>,
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
            // A mask has more lanes than one: see the laws of masks.
            self.rest = (own == 1 && !others_follow).then_some(1);
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
        let loads = shuffled.loads(kernel).into_iter().filter(|(_, _, expr)| is_own(expr));
        loads
            .map(|(id, access, expr)| {
                let Some(offsets) = shuffled.offsets(kernel, access, count) else {
                    unreachable!("the strides of blocks are known")
                };
                self.load_blocks(id, (access, expr.dtype), &offsets)
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

    /// Loads all that lies between the first and the last of some elements.
    fn load_blocks(&mut self, id: ExprId, (access, dtype): (&Access, DType), offsets: &[i64]) -> Loaded {
        let lanes = self.lanes as i64;
        let (low, high) = offsets
            .iter()
            .fold((i64::MAX, i64::MIN), |(low, high), offset| (low.min(*offset), high.max(*offset)));
        let size = memory(dtype).bits() as usize / 8;
        let registers = (low..=high)
            .step_by(lanes as usize)
            .map(|from| {
                let from_first = self.code.index(from);
                let (address, unit) = self.first(access, dtype, Some(from_first));
                let (whole, left) = (vector(unit, lanes as usize), high - from + 1);
                if left >= lanes {
                    return self.code.load(address, whole, size);
                }
                let mask = self.first_lanes(left as usize);
                let nothing = self.code.value("llvm.mlir.zero", &[], whole, &[]);
                self.masked_load(address, whole, size, (mask, nothing))
            })
            .collect();
        let places = offsets.iter().map(|offset| (offset - low) as usize).collect();
        Loaded { id, dtype, registers, places }
    }

    /// So many lanes of results from one on, of the registers that have them.
    fn chosen_lanes(&self, loaded: &Loaded, first: usize, own: usize) -> Register {
        let (lanes, ty) = (self.lanes, memory(loaded.dtype));
        let place = |lane: usize| loaded.places[first + lane.min(own - 1)];
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

#[cfg(test)]
mod tests {
    use promote_lower::program::Program;

    use super::Shuffled;

    /// How many blocks of how many elements are permuted at once, from which dimension on, in vectors of so many lanes.
    fn found(dims: &str, [from, to]: [&str; 2], lanes: usize) -> Option<(usize, i64, usize)> {
        let over: Vec<String> = (0..dims.split(',').count()).map(|dim| format!("d{dim}")).collect();
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [{dims}]
  form map
  e0 = load b0[{from}] : f32 over [{}] stage 0 node 0
  r0 = store e0 to b1[{to}] node 1
}}
",
            over.join(", ")
        );
        let program = Program::parse(&text).expect("it is a program");
        let shuffled = Shuffled::new(&program.kernels[0], lanes)?;
        Some((shuffled.inner, shuffled.block, shuffled.together))
    }

    #[test]
    fn blocks_are_permuted_that_lie_together_in_both_tensors() {
        for (dims, access, wanted) in [
            // Pairs turned, as many as fill vectors; fewer than that; and those of an open number.
            ("1000, 2, 3", ["6*d0 + d1 + 2*d2", "6*d0 + 3*d1 + d2"], Some((1, 6, 8))),
            ("5, 2, 3", ["6*d0 + d1 + 2*d2", "6*d0 + 3*d1 + d2"], Some((1, 6, 2))),
            ("s0, 2, 3", ["6*d0 + d1 + 2*d2", "6*d0 + 3*d1 + d2"], Some((1, 6, 8))),
            // Flipped.
            ("1000, 7", ["7*d0 - d1 + 6", "7*d0 + d1"], Some((1, 7, 16))),
            ("200, 10, 4", ["40*d0 - 4*d1 + d2 + 36", "40*d0 + 4*d1 + d2"], Some((1, 40, 2))),
            // Blocks apart: one is taken at a time where it fills half of a vector, or all parts of one.
            ("1000, 3, 3", ["s0*d0 + d1 + 3*d2", "9*d0 + 3*d1 + d2"], Some((2, 3, 3))),
            ("1000, 4, 4", ["s0*d0 + d1 + 4*d2", "16*d0 + 4*d1 + d2"], Some((1, 16, 1))),
            // In order, the same for all blocks, of rows that fill vectors, and of more than fit into registers.
            ("1000, 2, 3", ["6*d0 + 3*d1 + d2", "6*d0 + 3*d1 + d2"], None),
            ("1000, 2, 3", ["d2", "6*d0 + 3*d1 + d2"], None),
            ("1000, 2, 16", ["32*d0 - 16*d1 + d2 + 16", "32*d0 + 16*d1 + d2"], None),
            ("1000, 20, 20", ["400*d0 + d1 + 20*d2", "400*d0 + 20*d1 + d2"], None),
            // What lies together in one of the tensors only.
            ("1000, 2, 3", ["12*d0 + d1 + 1000*d2", "6*d0 + 3*d1 + d2"], None),
            ("1000, 2, 3", ["6*d0 + d1 + 2*d2", "12*d0 + 6*d1 + d2"], None),
        ] {
            assert_eq!(found(dims, access, 16), wanted, "{dims}: {access:?}");
        }
    }
}
