//! Maps that permute small blocks of memory, as those that turn or flip the short innermost dimensions of a tensor, or take from them.
//!
//! The elements of a block lie together in the results, and not further apart than twice as many in what is read, in any order. What
//! is read of a block, or of several that follow each other, is loaded whole, and each vector of results is chosen from it in registers.
//! Where indices say which elements are taken, and are the same for all blocks, their places are computed once in front of the loops.

use promote_dialect::extent::{Extent, Product};
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Access, Code as What, Expr, ExprId, Form, Kernel};
use promote_lower::order;
use promote_scalar::{memory, register};

use super::elements::{part_count, read_bytes};
use crate::targets::cpu::costs::{
    LEAST_TAKEN, MAP_TILE, MOST_SHUFFLED, MOST_SHUFFLES, MOST_SQUARES, MOST_TAKEN, PLACES_OF_BYTES,
    SQUARE_COST,
};
use crate::targets::cpu::target::{Choice, Machine};

/// How a map permutes blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shuffled {
    /// The outermost dimension within a block. The one before it counts blocks.
    pub(super) inner: usize,
    /// How many elements a block has.
    pub(super) block: i64,
    /// How many blocks are permuted at once.
    pub(super) together: usize,
    /// How many elements a vector has.
    pub(super) lanes: usize,
}

/// What is read of blocks.
pub(super) struct Read<'k> {
    pub(super) id: ExprId,
    pub(super) expr: &'k Expr,
    /// Where it is, or the first of those that may be taken.
    pub(super) access: &'k Access,
    /// What is taken, if something is.
    pub(super) taken: Option<Taken<'k>>,
}

/// How elements are taken.
pub(super) struct Taken<'k> {
    pub(super) index: ExprId,
    /// From one to the next.
    pub(super) stride: &'k Product,
    /// How many there are.
    pub(super) extent: Extent,
}

impl Shuffled {
    /// How a kernel permutes blocks, if vectors have 32 bytes or more: one of few operands that does little with each element, for each
    /// vector of a group has code of its own.
    pub(super) fn new(kernel: &Kernel, machine: Machine, numerics: Numerics) -> Option<Self> {
        let last = kernel.dims.len().checked_sub(1)?;
        let used = in_vectors(kernel);
        let used = || kernel.exprs.iter().zip(&used).filter(|(_, is_used)| **is_used).map(|(expr, _)| expr);
        let is_simple = |expr: &Expr| match &expr.code {
            What::Load(_) | What::Splat(_) | What::Size(_) | What::Map(..) | What::Convert(_) => true,
            // Only an instruction chooses elements by places that a run alone knows.
            What::Take { .. } => choice(expr, machine).is_some(),
            What::Index { .. } | What::Reduced(_) => false,
        };
        // Indices are looked at in front of the loops; nothing else may end the run.
        let raises = |expr: &Expr| !matches!(expr.code, What::Take { .. }) && order::raises(expr, numerics);
        let reads = used().filter(|expr| matches!(expr.code, What::Load(_) | What::Take { .. })).count();
        let is_small = kernel.cost() <= SQUARE_COST && reads <= MOST_SQUARES;
        let widest = used().filter(|expr| expr.dims != 0).map(|expr| register(expr.dtype).bits().div_ceil(8));
        let takes = used().filter(|expr| matches!(expr.code, What::Take { .. }));
        let narrowest = takes.filter_map(|expr| Some(choice(expr, machine)?.register_bytes())).min();
        let lanes = narrowest.unwrap_or(machine.vector_bytes) / widest.max().unwrap_or(1) as usize;
        let fits = machine.vector_bytes >= 32 && kernel.form == Form::Map && lanes >= 2 && is_small;
        if !fits || kernel.exprs.iter().any(raises) || !used().all(is_simple) {
            return None;
        }
        (1..=last).find_map(|inner| Self::within(kernel, inner, lanes, machine))
    }

    /// The same, in blocks of the dimensions from one on.
    fn within(kernel: &Kernel, inner: usize, lanes: usize, machine: Machine) -> Option<Self> {
        let last = kernel.dims.len() - 1;
        let block =
            kernel.dims[inner..].iter().try_fold(1_i64, |all, extent| all.checked_mul(extent.fixed()?))?;
        let most = MOST_SHUFFLED * lanes as i64;
        if !(2..=most).contains(&block) {
            return None;
        }
        let mut found = Self { inner, block, together: 1, lanes };
        let [takes, loads] = [true, false]
            .map(|is_taken| found.reads(kernel).iter().any(|read| read.taken.is_some() == is_taken));
        // Each vector of a large block is chosen from as many registers as it fills, or as a vector has lanes, at most.
        let registers = (block as usize).div_ceil(lanes);
        if loads && registers * registers.min(lanes) > MOST_SHUFFLES {
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
        // Blocks that fill whole vectors, if those are few. What is taken is chosen from all that is loaded.
        let shared = 1 << block.trailing_zeros().min(lanes.trailing_zeros());
        let filling = lanes / shared;
        let there_are = kernel.dims[inner - 1].fixed().unwrap_or(i64::MAX);
        let are_few = block / shared as i64 <= MOST_SHUFFLED && there_are >= filling as i64;
        let together = if are_few && !takes { filling as i64 } else { lanes as i64 / block };
        found.together = together.min(there_are).max(1) as usize;
        let mut is_permuted = false;
        for read in found.reads(kernel) {
            let (low, high) = found.span(kernel, &read, found.together)?;
            let span = high - low + 1;
            if part_count(read.expr.dtype) != 1 || read.expr.dims & 1 << last == 0 {
                return None;
            }
            if let Some(taken) = &read.taken {
                let of_memory = (span as usize, read_bytes(read.expr) as usize);
                if !found.is_worth_taking(kernel, taken, of_memory, choice(read.expr, machine)?) {
                    return None;
                }
                is_permuted = true;
                continue;
            }
            if span > most.min(2 * block * found.together as i64) {
                return None;
            }
            // What is the same all along a dimension is in order as far as it differs.
            let differs = (inner..=last).all(|dim| !read.access.strides[dim].is_zero());
            let of_block = &found.offsets(kernel, read.access, 1)?;
            is_permuted |= differs && of_block.windows(2).any(|pair| pair[1] != pair[0] + 1);
        }
        let reads_rows = |read: &Read<'_>| {
            let stride = read.access.strides[last].fixed();
            let is_along = |index: ExprId| kernel.expr(index).dims & 1 << last == 0;
            stride == Some(1) && read.taken.as_ref().is_none_or(|taken| is_along(taken.index))
        };
        let is_stored = kernel.roots.iter().all(|root| {
            kernel.expr(root.expr).dims & found.inside(kernel) != 0
                && part_count(kernel.expr(root.expr).dtype) == 1
                && root.sinks.iter().all(is_dense)
        });
        let fills = block as usize * found.together * 2 > lanes;
        let is_long = kernel.dims[last].fixed().is_some_and(|extent| extent >= lanes as i64);
        let has_rows = is_long && found.reads(kernel).iter().all(reads_rows);
        (is_permuted && is_stored && fills && !has_rows).then_some(found)
    }

    /// Whether what is taken from so many neighbouring elements, of so many bytes, is chosen from them faster than one by one.
    fn is_worth_taking(
        &self,
        kernel: &Kernel,
        taken: &Taken<'_>,
        (span, size): (usize, usize),
        choice: Choice,
    ) -> bool {
        let elements = self.block as usize * self.together;
        let registers = (span * size).div_ceil(choice.register_bytes());
        let of_each = match choice {
            // And then by which of them has it.
            Choice::OfPairs => registers + registers % 2 - 1,
            // And then whatever was found.
            Choice::OfBytes => 2 * registers - 1,
        };
        let choices = of_each * elements.div_ceil(self.lanes);
        // The places of bytes are bytes.
        let are_counted = size > 1 || span <= PLACES_OF_BYTES;
        let of_index = kernel.expr(taken.index).dims;
        let is_within = of_index != 0 && of_index & ((1 << self.inner) - 1) == 0;
        let mut outer = kernel.dims[..self.inner].iter();
        let blocks = outer.try_fold(1_i64, |all, extent| all.checked_mul(extent.fixed()?));
        let are_many = blocks.is_none_or(|blocks| blocks >= LEAST_TAKEN * self.together as i64);
        is_within && are_counted && registers <= MOST_TAKEN && registers + choices <= elements && are_many
    }

    /// The dimensions within blocks, and the one that counts them.
    pub(super) fn inside(&self, kernel: &Kernel) -> u64 {
        (self.inner - 1..kernel.dims.len()).fold(0, |all, dim| all | 1 << dim)
    }

    /// What is read of blocks.
    pub(super) fn reads<'k>(&self, kernel: &'k Kernel) -> Vec<Read<'k>> {
        let inside = self.inside(kernel);
        let exprs = (0..).map(ExprId).zip(&kernel.exprs).zip(in_vectors(kernel));
        let own = exprs.filter(|((_, expr), is_used)| *is_used && expr.dims & inside != 0);
        let reads = own.filter_map(|((id, expr), _)| match &expr.code {
            What::Load(access) => Some(Read { id, expr, access, taken: None }),
            What::Take { access, index, stride, extent } => {
                let taken = Taken { index: *index, stride, extent: *extent };
                Some(Read { id, expr, access, taken: Some(taken) })
            }
            What::Splat(_)
            | What::Size(_)
            | What::Index { .. }
            | What::Map(..)
            | What::Convert(_)
            | What::Reduced(_) => None,
        });
        reads.collect()
    }

    /// How far from the first element of a block the first and the last one in memory are that may be read of so many of them; none if a
    /// run alone knows, or if there is none.
    pub(super) fn span(&self, kernel: &Kernel, read: &Read<'_>, blocks: usize) -> Option<(i64, i64)> {
        let along = |extent: Option<i64>, stride: &Product| {
            let last = extent?.checked_sub(1).filter(|last| *last >= 0)?;
            last.checked_mul(stride.fixed()?)
        };
        let apart = match blocks {
            1 => Some(0),
            _ => along(Some(blocks as i64), &read.access.strides[self.inner - 1]),
        };
        let own = (self.inner..kernel.dims.len())
            .map(|dim| along(kernel.dims[dim].fixed(), &read.access.strides[dim]));
        let taken = read.taken.as_ref().map(|taken| along(taken.extent.fixed(), taken.stride));
        let steps = own.chain([apart]).chain(taken);
        steps
            .into_iter()
            .try_fold((0, 0), |(low, high), step| Some((low + step?.min(0), high + step?.max(0))))
    }

    /// How far from the first element of a block those of so many blocks are, in the order of the results; none if a run alone
    /// knows.
    pub(super) fn offsets(&self, kernel: &Kernel, access: &Access, blocks: usize) -> Option<Vec<i64>> {
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

/// How what is taken is chosen, if it may be.
fn choice(taken: &Expr, machine: Machine) -> Option<Choice> {
    machine.choice(memory(taken.dtype).bits())
}

/// The expressions that are computed in vectors: all but those that say which elements are taken.
fn in_vectors(kernel: &Kernel) -> Vec<bool> {
    let mut used = vec![false; kernel.exprs.len()];
    for root in &kernel.roots {
        used[root.expr.0 as usize] = true;
    }
    // An expression comes after its operands.
    for (number, expr) in kernel.exprs.iter().enumerate().rev() {
        if used[number] && !matches!(expr.code, What::Take { .. }) {
            let operands = kernel.operands(ExprId(number as u32));
            operands.iter().for_each(|operand| used[operand.0 as usize] = true);
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use promote_lower::program::Program;

    use super::{Machine, Shuffled};

    /// How many blocks of how many elements are permuted at once, from which dimension on, in vectors of so many lanes.
    fn found(dims: &str, [from, to]: [&str; 2], lanes: usize) -> Option<(usize, i64, usize)> {
        let all = over(dims);
        let machine = Machine { vector_bytes: 4 * lanes, ..Machine::default() };
        permuted(dims, &format!("  e0 = load b0[{from}] : f32 over {all} stage 0 node 0\n"), to, machine)
    }

    /// The same of what is taken, along so many elements that lie so far apart, at the indices of a dimension.
    fn taken(
        dims: &str,
        [ty, from, stride]: [&str; 3],
        (extent, of): (i64, &str),
        to: &str,
        machine: Machine,
    ) -> Option<(usize, i64, usize)> {
        let all = over(dims);
        let text = format!(
            "  e0 = load b2[{of}] : i32 over [{of}] stage 0 node 0
  e1 = take b0[{from}] at e0 stride {stride} extent {extent} : {ty} over {all} stage 0 node 1
"
        );
        let without = Machine { narrowest_chosen: None, chooses_bytes: false, ..machine };
        assert_eq!(permuted(dims, &text, to, without), None, "by no instruction: {dims}");
        permuted(dims, &text, to, machine)
    }

    /// One with AVX-512 that chooses elements of so many bits from pairs of registers, and bytes from others.
    fn of_pairs(narrowest: u32) -> Machine {
        Machine { vector_bytes: 64, narrowest_chosen: Some(narrowest), ..of_bytes() }
    }

    fn of_bytes() -> Machine {
        Machine { vector_bytes: 32, chooses_bytes: true, ..Machine::default() }
    }

    fn over(dims: &str) -> String {
        let all: Vec<String> = (0..dims.split(',').count()).map(|dim| format!("d{dim}")).collect();
        format!("[{}]", all.join(", "))
    }

    fn permuted(dims: &str, exprs: &str, to: &str, machine: Machine) -> Option<(usize, i64, usize)> {
        let last = exprs.lines().count() - 1;
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [{dims}]
  form map
{exprs}  r0 = store e{last} to b1[{to}] node 1
}}
"
        );
        let program = Program::parse(&text).expect("it is a program");
        let shuffled = Shuffled::new(&program.kernels[0], machine, program.numerics)?;
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

    #[test]
    fn blocks_are_permuted_without_masks_in_registers_of_32_bytes_and_more() {
        for (lanes, wanted) in [(8, Some((1, 6, 4))), (4, None)] {
            let access = ["6*d0 + d1 + 2*d2", "6*d0 + 3*d1 + d2"];
            assert_eq!(found("1000, 2, 3", access, lanes), wanted, "{lanes} lanes");
        }
    }

    #[test]
    fn what_is_taken_of_short_rows_is_chosen_from_them() {
        for (dims, access, along, to, wanted) in [
            // Two colours of three, a column of two eight times, and all of a row that fills a register.
            ("1000, 2", ["u8", "3*d0", "1"], (3, "d1"), "2*d0 + d1", Some((1, 2, 32))),
            ("1000, 8", ["f32", "2*d0", "1"], (2, "d1"), "8*d0 + d1", Some((1, 8, 2))),
            ("s0, 16", ["f32", "16*d0", "1"], (16, "d1"), "16*d0 + d1", Some((1, 16, 1))),
            // With their neighbours, and of what lies anyhow.
            ("1000, 5, 4", ["f32", "28*d0 + d2", "4"], (7, "d1"), "20*d0 + 4*d1 + d2", Some((1, 20, 1))),
            ("1000, 5, 4", ["f32", "28*d0 + 7*d2", "1"], (7, "d1"), "20*d0 + 4*d1 + d2", Some((1, 20, 1))),
            // Rows of more than the places of bytes, or as many registers; whole rows; few blocks, or one.
            ("1000, 100", ["u8", "257*d0", "1"], (257, "d1"), "100*d0 + d1", None),
            ("1000, 100", ["f32", "129*d0", "1"], (129, "d1"), "100*d0 + d1", None),
            ("1000, 5, 16", ["f32", "112*d0 + d2", "16"], (7, "d1"), "80*d0 + 16*d1 + d2", None),
            ("6, 8", ["f32", "2*d0", "1"], (2, "d1"), "8*d0 + d1", None),
            ("100", ["f32", "0", "1"], (2, "d0"), "d0", None),
            // More is read than chosen, or it is another one of each row.
            ("1000, 2", ["f32", "100*d0", "1"], (100, "d1"), "2*d0 + d1", None),
            ("1000, 8", ["f32", "2*d0", "1"], (2, "d0"), "8*d0 + d1", None),
        ] {
            assert_eq!(taken(dims, access, along, to, of_pairs(8)), wanted, "{dims}: {access:?}");
        }
    }

    #[test]
    fn what_is_taken_is_chosen_from_registers_of_16_bytes_where_there_are_no_larger_ones() {
        for (dims, access, along, to, wanted) in [
            // Two colours of three, and a column of two eight times.
            ("1000, 2", ["u8", "3*d0", "1"], (3, "d1"), "2*d0 + d1", Some((1, 2, 8))),
            ("1000, 8", ["f32", "2*d0", "1"], (2, "d1"), "8*d0 + d1", Some((1, 8, 1))),
            // The only element of each row.
            ("1000, 3", ["f32", "d0", "1"], (1, "d1"), "3*d0 + d1", Some((1, 3, 1))),
            // As many registers as the places of their bytes count, and one more.
            ("1000, 128", ["u8", "128*d0", "1"], (128, "d1"), "128*d0 + d1", Some((1, 128, 1))),
            ("1000, 128", ["u8", "129*d0", "1"], (129, "d1"), "128*d0 + d1", None),
            // So many registers that one element after the other takes less.
            ("1000, 16", ["u8", "128*d0", "1"], (128, "d1"), "16*d0 + d1", None),
            ("1000, 5, 4", ["f32", "28*d0 + d2", "4"], (7, "d1"), "20*d0 + 4*d1 + d2", None),
        ] {
            assert_eq!(taken(dims, access, along, to, of_bytes()), wanted, "{dims}: {access:?}");
            if access[0] == "u8" {
                assert_eq!(taken(dims, access, along, to, of_pairs(16)), wanted, "{dims}: {access:?}");
            }
        }
    }
}
