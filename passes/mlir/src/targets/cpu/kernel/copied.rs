//! Kernels that do nothing but move elements, as transpositions do: the run time copies those, which knows the extents and the
//! strides of a call and has code for more orders than a kernel.

use promote_lower::kernel::{Kernel, Moved};
use promote_scalar::memory_size;

use crate::targets::cpu::costs::{
    LEAST_COPIED, LEAST_CUT, LONG_TURN, SHORTEST_RUN, SHORTEST_STEPPED, WIDEST_COPIED, WIDEST_STEP,
    WIDEST_TURN,
};

/// Whether the run time copies what a kernel moves: many elements, rows of which do not lie side by side in both tensors, or are
/// no wider than an element may be. Those that lie side by side along `across` are read in squares, unless the sides of squares are
/// parts of longer runs of memory.
pub(super) fn is_copied(kernel: &Kernel, across: Option<usize>) -> bool {
    let (Some(moved), Some(last)) = (kernel.moved(), kernel.dims.len().checked_sub(1)) else { return false };
    let count = kernel.dims.iter().try_fold(1_i64, |all, extent| Some(all.saturating_mul(extent.fixed()?)));
    let has_many = count.is_none_or(|count| count >= LEAST_COPIED);
    let size = memory_size(moved.dtype);
    // What is loaded of narrower elements, as of bools, is a number of their dtype whatever their bytes are. The widest fill registers
    // one by one.
    let is_whole = moved.dtype.bits() as usize == 8 * size && (size as i64) < WIDEST_COPIED;
    let is_in_order = match across {
        Some(across) => {
            let is_cached = count.is_none_or(|count| count.saturating_mul(size as i64) < LEAST_CUT);
            is_cached || !goes_on(kernel, moved, [across, last])
        }
        None => {
            let steps = [moved.from, moved.to].map(|access| access.strides[last].fixed());
            let bytes = kernel.dims[last].fixed().map(|extent| extent.saturating_mul(size as i64));
            let is_element =
                bytes.is_some_and(|row| row <= WIDEST_COPIED && row.cast_unsigned().is_power_of_two());
            let is_long = kernel.dims[last].fixed().is_none_or(|extent| extent >= SHORTEST_STEPPED);
            match steps {
                [Some(1), Some(1)] => !is_element,
                [Some(-1 | 0), Some(1)] => true,
                [Some(from), Some(1)] => {
                    let others = &moved.from.strides[..last];
                    let is_nearer = |stride: i64| stride != 0 && stride.abs() < from.abs();
                    let takes_turns = others.iter().any(|stride| stride.fixed().is_some_and(is_nearer));
                    let are_long = bytes.is_none_or(|bytes| bytes >= LONG_TURN);
                    let widest = if takes_turns && size == 4 && are_long { WIDEST_TURN } else { WIDEST_STEP };
                    is_long && from.abs() <= widest
                }
                [Some(_) | None, _] => false,
            }
        }
    };
    has_many && is_whole && !is_in_order
}

/// Whether few elements along one of two sides are a run of memory that another dimension continues: in the first of them, in
/// which elements are read side by side, or in the last, in which they are written.
fn goes_on(kernel: &Kernel, moved: Moved<'_>, sides: [usize; 2]) -> bool {
    [moved.from, moved.to].into_iter().zip(sides).any(|(access, side)| {
        let Some(extent) = kernel.dims[side].fixed() else { return false };
        let is_short = extent.saturating_mul(memory_size(moved.dtype) as i64) < SHORTEST_RUN;
        let mut others = (0..kernel.dims.len()).filter(|dim| !sides.contains(dim));
        is_short && others.any(|dim| access.strides[dim].fixed() == Some(extent))
    })
}
