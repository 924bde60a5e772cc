//! Copying between strided tensors: to make inputs contiguous, and to write outputs where their owner wants them.
//!
//! The axes are put into the order of the target's memory, and those that are contiguous with each other on both sides
//! become one. Then rows are copied; or, where the source runs along another axis than the target (a transposition),
//! square tiles, so that every cache line is used whole while it is there.

use crate::pool;

/// One axis of a copy; strides in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    extent: usize,
    to: isize,
    from: isize,
}

/// Elements along a side of a tile.
const TILE: usize = 32;

/// Bytes of a row that are copied as one unit of work.
const ROW: usize = 1 << 16;

/// Bytes worth another thread.
const GRAIN: usize = 1 << 18;

/// A tensor's memory: where its first element is, and its strides in bytes.
#[derive(Clone, Copy)]
pub struct Strided<'a> {
    /// The first element.
    pub data: *mut u8,
    /// One stride for each axis.
    pub strides: &'a [isize],
}

/// Copies all elements of a tensor.
///
/// # Safety
/// All elements that `extents` and the strides describe are readable in `from` and writable in `to`; the two do not
/// overlap, no two elements of `to` do, and nobody else uses them meanwhile.
pub unsafe fn copy(extents: &[usize], size: usize, to: Strided<'_>, from: Strided<'_>) {
    if extents.contains(&0) || size == 0 {
        return;
    }
    let mut axes: Vec<Axis> = (extents.iter().zip(to.strides).zip(from.strides))
        .map(|((&extent, &to), &from)| Axis { extent, to, from })
        .collect();
    let unit = match size {
        1 | 2 | 4 | 8 | 16 => size,
        _ => {
            axes.push(Axis { extent: size, to: 1, from: 1 });
            1
        }
    };
    let plan = Plan::new(axes);
    let (to, from) = (Address(to.data), Address(from.data));
    // SAFETY: by contract, for elements of any of these widths.
    unsafe {
        match unit {
            1 => plan.run::<u8>(to, from),
            2 => plan.run::<u16>(to, from),
            4 => plan.run::<u32>(to, from),
            8 => plan.run::<u64>(to, from),
            _ => plan.run::<u128>(to, from),
        }
    }
}

/// Where elements are; shared by the threads, which write to distinct ones.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: see `copy`.
unsafe impl Sync for Address {}

impl Address {
    /// Further on by that many bytes.
    const fn at(self, offset: isize) -> Address {
        Address(self.0.wrapping_offset(offset))
    }
}

struct Plan {
    outer: Vec<Axis>,
    /// The axis along which the source is nearly contiguous, if that is not `inner`.
    across: Option<Axis>,
    /// The axis along which the target is contiguous.
    inner: Axis,
}

impl Plan {
    fn new(mut axes: Vec<Axis>) -> Plan {
        axes.retain(|axis| axis.extent != 1);
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.to.unsigned_abs()));
        let mut merged: Vec<Axis> = Vec::new();
        for axis in axes {
            let length = axis.extent as isize;
            match merged.last_mut() {
                Some(outer) if outer.to == axis.to * length && outer.from == axis.from * length => {
                    *outer = Axis { extent: outer.extent * axis.extent, ..axis };
                }
                _ => merged.push(axis),
            }
        }
        let inner = merged.pop().unwrap_or(Axis { extent: 1, to: 0, from: 0 });
        let nearer = |axis: &Axis| {
            axis.from != 0 && axis.from.unsigned_abs() < inner.from.unsigned_abs() && axis.extent >= 4
        };
        let place = (0..merged.len())
            .filter(|&place| inner.extent >= 4 && nearer(&merged[place]))
            .min_by_key(|&place| merged[place].from.unsigned_abs());
        let across = place.map(|place| merged.remove(place));
        Plan { outer: merged, across, inner }
    }

    /// Runs the plan for elements of type `T`.
    ///
    /// # Safety
    /// As [`copy`].
    unsafe fn run<T: Copy>(&self, to: Address, from: Address) {
        let (cut, length) = match self.across {
            Some(across) => (across, TILE),
            None => (self.inner, (ROW / size_of::<T>()).max(1)),
        };
        let cuts = cut.extent.div_ceil(length);
        let outer: usize = self.outer.iter().map(|axis| axis.extent).product();
        let unit = match self.across {
            Some(_) => TILE * self.inner.extent,
            None => self.inner.extent.min(length),
        };
        let grain = (GRAIN / (unit * size_of::<T>())).max(1);
        pool::parallel((outer * cuts) as i64, grain as i64, &|begin, end| {
            // A whole address, not its field, is what closures may share.
            let (to, from) = (to.at(0), from.at(0));
            let mut odometer = Odometer::new(&self.outer, begin as usize / cuts);
            let mut part = begin as usize % cuts;
            for _ in begin..end {
                let first = part * length;
                let piece = Axis { extent: length.min(cut.extent - first), ..cut };
                let target = to.at(odometer.to + first as isize * cut.to);
                let source = from.at(odometer.from + first as isize * cut.from);
                // SAFETY: the piece lies in the tensors, and each is visited once.
                unsafe {
                    match self.across {
                        Some(_) => tiles::<T>(piece, self.inner, target, source),
                        None => row::<T>(piece, target, source),
                    }
                }
                part += 1;
                if part == cuts {
                    part = 0;
                    odometer.advance();
                }
            }
        });
    }
}

/// Counts through axes, the last one fastest.
struct Odometer<'a> {
    axes: &'a [Axis],
    indices: Vec<usize>,
    to: isize,
    from: isize,
}

impl<'a> Odometer<'a> {
    fn new(axes: &'a [Axis], mut position: usize) -> Odometer<'a> {
        let mut odometer = Odometer { axes, indices: vec![0; axes.len()], to: 0, from: 0 };
        for (index, axis) in odometer.indices.iter_mut().zip(axes).rev() {
            *index = position % axis.extent;
            position /= axis.extent;
            odometer.to += *index as isize * axis.to;
            odometer.from += *index as isize * axis.from;
        }
        odometer
    }

    fn advance(&mut self) {
        for (index, axis) in self.indices.iter_mut().zip(self.axes).rev() {
            *index += 1;
            self.to += axis.to;
            self.from += axis.from;
            if *index < axis.extent {
                return;
            }
            *index = 0;
            self.to -= axis.extent as isize * axis.to;
            self.from -= axis.extent as isize * axis.from;
        }
    }
}

/// Copies a row.
///
/// # Safety
/// As [`copy`], for one axis.
unsafe fn row<T: Copy>(axis: Axis, to: Address, from: Address) {
    let width = size_of::<T>() as isize;
    if axis.to == width && axis.from == width {
        // SAFETY: by contract; bytes need no alignment.
        return unsafe { std::ptr::copy_nonoverlapping(from.0, to.0, axis.extent * size_of::<T>()) };
    }
    // The cases apart, so that each becomes a loop of vectors with a constant stride.
    // SAFETY: by contract.
    unsafe {
        match (axis.to == width, axis.from) {
            (true, 0) => strided::<T>(axis.extent, to, width, from, 0),
            (true, back) if back == -width => strided::<T>(axis.extent, to, width, from, -width),
            (true, double) if double == 2 * width => strided::<T>(axis.extent, to, width, from, 2 * width),
            (true, other) => strided::<T>(axis.extent, to, width, from, other),
            (false, other) => strided::<T>(axis.extent, to, axis.to, from, other),
        }
    }
}

#[inline(always)]
unsafe fn strided<T: Copy>(count: usize, to: Address, to_stride: isize, from: Address, from_stride: isize) {
    for index in 0..count as isize {
        // SAFETY: by the caller's contract.
        unsafe {
            let value = from.at(index * from_stride).0.cast::<T>().read_unaligned();
            to.at(index * to_stride).0.cast::<T>().write_unaligned(value);
        }
    }
}

/// Copies two axes, a tile at a time: `across` is at most a tile wide.
///
/// # Safety
/// As [`copy`], for two axes.
unsafe fn tiles<T: Copy>(across: Axis, inner: Axis, to: Address, from: Address) {
    for first in (0..inner.extent).step_by(TILE) {
        let width = TILE.min(inner.extent - first);
        let (to, from) = (to.at(first as isize * inner.to), from.at(first as isize * inner.from));
        for index in 0..across.extent as isize {
            // SAFETY: by contract.
            unsafe {
                strided::<T>(
                    width,
                    to.at(index * across.to),
                    inner.to,
                    from.at(index * across.from),
                    inner.from,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of the same numbers every time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) % bound
        }
    }

    /// Strides of a permuted, sliced, reversed or broadcast view; the offset of its first element; the memory's size.
    fn view(
        random: &mut Random,
        extents: &[usize],
        size: usize,
        broadcast: bool,
    ) -> (Vec<isize>, isize, usize) {
        let mut order: Vec<usize> = (0..extents.len()).collect();
        for index in (1..order.len()).rev() {
            order.swap(index, random.below(index as u64 + 1) as usize);
        }
        let (mut strides, mut offset, mut reach) = (vec![0; extents.len()], 0, size as isize);
        for axis in order {
            match random.below(if broadcast { 4 } else { 3 }) {
                3 => {}
                1 => {
                    strides[axis] = -reach;
                    offset += reach * (extents[axis] as isize - 1);
                    reach *= extents[axis] as isize;
                }
                step => {
                    strides[axis] = reach * (1 + step as isize / 2);
                    reach = strides[axis] * extents[axis] as isize;
                }
            }
        }
        (strides, offset, reach as usize)
    }

    fn offsets(extents: &[usize], strides: &[isize]) -> Vec<isize> {
        let mut offsets = vec![0];
        for (&extent, &stride) in extents.iter().zip(strides) {
            offsets = (offsets.iter())
                .flat_map(|offset| (0..extent as isize).map(move |index| offset + index * stride))
                .collect();
        }
        offsets
    }

    #[test]
    fn copies_what_a_naive_copy_copies() {
        let mut random = Random(1);
        for round in 0..400 {
            let rank = random.below(5) as usize;
            let large = round % 20 == 0;
            let extents: Vec<usize> =
                (0..rank).map(|_| random.below(if large { 60 } else { 9 }) as usize + 1).collect();
            let size = [1, 2, 4, 8, 16, 3, 12][random.below(7) as usize];
            let (to_strides, to_offset, to_bytes) = view(&mut random, &extents, size, false);
            let (from_strides, from_offset, from_bytes) = view(&mut random, &extents, size, true);
            let source: Vec<u8> = (0..from_bytes.max(1)).map(|_| random.below(256) as u8).collect();
            let (mut target, mut naive) = (vec![0u8; to_bytes], vec![0u8; to_bytes]);
            for (to, from) in offsets(&extents, &to_strides).iter().zip(offsets(&extents, &from_strides)) {
                let (to, from) = ((to + to_offset) as usize, (from + from_offset) as usize);
                naive[to..to + size].copy_from_slice(&source[from..from + size]);
            }
            // SAFETY: the views were made to fit their memory.
            unsafe {
                copy(
                    &extents,
                    size,
                    Strided { data: target.as_mut_ptr().offset(to_offset), strides: &to_strides },
                    Strided { data: source.as_ptr().cast_mut().offset(from_offset), strides: &from_strides },
                );
            }
            assert!(target == naive, "{extents:?} of {size}: to {to_strides:?} from {from_strides:?}");
        }
    }

    #[test]
    fn axes_that_are_contiguous_become_one() {
        let axis = |extent, to, from| Axis { extent, to, from };
        let plan = Plan::new(vec![axis(2, 48, 48), axis(3, 16, 16), axis(1, 7, 7), axis(4, 4, 4)]);
        assert_eq!((plan.outer.len(), plan.across, plan.inner), (0, None, axis(24, 4, 4)));
        let transposed = Plan::new(vec![axis(8, 32, 4), axis(8, 4, 32)]);
        assert_eq!((transposed.across, transposed.inner), (Some(axis(8, 32, 4)), axis(8, 4, 32)));
    }
}
