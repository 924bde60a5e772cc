//! Copying between strided tensors: to make inputs contiguous, and to write outputs where their owner wants them.
//!
//! The axes are put into the order of the target's memory, and those that are contiguous with each other on both sides
//! become one. Then rows are copied, several at a time if they are short; or, where the source runs along another axis
//! than the target (a transposition), square tiles by way of a small buffer, so that both sides' cache lines are used
//! whole at once: rows that lie a power of two apart would push each other out of the cache.

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

/// Bytes that are copied as one unit of work, in rows.
const ROWS: usize = 1 << 16;

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

/// How the two innermost axes are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Row by row along `inner`.
    Rows,
    /// In square tiles: the source is nearer to contiguous along `across`.
    Tiles,
}

struct Plan {
    outer: Vec<Axis>,
    across: Axis,
    /// The axis along which the target is nearest to contiguous.
    inner: Axis,
    manner: Manner,
}

impl Plan {
    fn new(mut axes: Vec<Axis>) -> Plan {
        const NONE: Axis = Axis { extent: 1, to: 0, from: 0 };
        axes.retain(|axis| axis.extent != 1);
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.to.unsigned_abs()));
        let mut outer: Vec<Axis> = Vec::new();
        for axis in axes {
            let length = axis.extent as isize;
            match outer.last_mut() {
                Some(last) if last.to == axis.to * length && last.from == axis.from * length => {
                    *last = Axis { extent: last.extent * axis.extent, ..axis };
                }
                _ => outer.push(axis),
            }
        }
        let inner = outer.pop().unwrap_or(NONE);
        let nearer = |axis: &Axis| {
            axis.from != 0 && axis.from.unsigned_abs() < inner.from.unsigned_abs() && axis.extent >= 4
        };
        let nearest = (0..outer.len())
            .filter(|&place| inner.extent >= 4 && nearer(&outer[place]))
            .min_by_key(|&place| outer[place].from.unsigned_abs());
        match nearest {
            Some(place) => {
                let across = outer.remove(place);
                Plan { outer, across, inner, manner: Manner::Tiles }
            }
            None => {
                let across = outer.pop().unwrap_or(NONE);
                Plan { outer, across, inner, manner: Manner::Rows }
            }
        }
    }

    /// What a unit of work is: so much of `across`, and of `inner`.
    fn unit(&self, size: usize) -> [usize; 2] {
        match self.manner {
            Manner::Tiles => [TILE, self.inner.extent],
            Manner::Rows => {
                let length = self.inner.extent.min(ROWS / size);
                [(ROWS / size / length).clamp(1, self.across.extent), length]
            }
        }
    }

    /// Runs the plan for elements of type `T`.
    ///
    /// # Safety
    /// As [`copy`].
    unsafe fn run<T: Copy + Default>(&self, to: Address, from: Address) {
        let [height, width] = self.unit(size_of::<T>());
        let cuts = [self.across.extent.div_ceil(height), self.inner.extent.div_ceil(width)];
        let outer: usize = self.outer.iter().map(|axis| axis.extent).product();
        let grain = (GRAIN / (height * width * size_of::<T>())).max(1);
        pool::parallel((outer * cuts[0] * cuts[1]) as i64, grain as i64, &|begin, end| {
            // A whole address, not its field, is what closures may share.
            let (to, from) = (to.at(0), from.at(0));
            let begin = begin as usize;
            let mut odometer = Odometer::new(&self.outer, begin / (cuts[0] * cuts[1]));
            let mut part = begin % (cuts[0] * cuts[1]);
            for _ in begin..end as usize {
                let across = self.across.part(part / cuts[1] * height, height);
                let inner = self.inner.part(part % cuts[1] * width, width);
                let target = to.at(odometer.to + across.1.to + inner.1.to);
                let source = from.at(odometer.from + across.1.from + inner.1.from);
                // SAFETY: the parts lie in the tensors, and each is visited once.
                unsafe {
                    match self.manner {
                        Manner::Tiles => tiles::<T>(across.0, inner.0, target, source),
                        Manner::Rows => rows::<T>(across.0, inner.0, target, source),
                    }
                }
                part += 1;
                if part == cuts[0] * cuts[1] {
                    part = 0;
                    odometer.advance();
                }
            }
        });
    }
}

impl Axis {
    /// At most `length` of the axis from `first` on, and how far away that is.
    fn part(self, first: usize, length: usize) -> (Axis, Offset) {
        let extent = length.min(self.extent - first);
        let offset = Offset { to: first as isize * self.to, from: first as isize * self.from };
        (Axis { extent, ..self }, offset)
    }
}

/// A distance in both tensors, in bytes.
struct Offset {
    to: isize,
    from: isize,
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

/// Copies rows along `inner`.
///
/// # Safety
/// As [`copy`], for two axes.
unsafe fn rows<T: Copy>(across: Axis, inner: Axis, to: Address, from: Address) {
    let width = size_of::<T>() as isize;
    let count = inner.extent;
    // The cases apart, so that each becomes a loop of vectors with a constant stride.
    // SAFETY: by contract; bytes need no alignment.
    unsafe {
        if inner.to != width {
            each_row(across, to, from, |to, from| strided::<T>(count, to, inner.to, from, inner.from));
        } else if inner.from == width && count as isize * width >= SHORT {
            each_row(across, to, from, |to, from| {
                std::ptr::copy_nonoverlapping(from.0, to.0, count * size_of::<T>())
            });
        } else if inner.from == width {
            each_row(across, to, from, |to, from| strided::<T>(count, to, width, from, width));
        } else if inner.from == 0 {
            each_row(across, to, from, |to, from| strided::<T>(count, to, width, from, 0));
        } else if inner.from == -width {
            each_row(across, to, from, |to, from| strided::<T>(count, to, width, from, -width));
        } else if inner.from == 2 * width {
            each_row(across, to, from, |to, from| strided::<T>(count, to, width, from, 2 * width));
        } else {
            each_row(across, to, from, |to, from| strided::<T>(count, to, width, from, inner.from));
        }
    }
}

#[inline(always)]
fn each_row(across: Axis, to: Address, from: Address, row: impl Fn(Address, Address)) {
    for index in 0..across.extent as isize {
        row(to.at(index * across.to), from.at(index * across.from));
    }
}

/// Bytes from which on a call of the C library's copy is worth it.
const SHORT: isize = 64;

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
unsafe fn tiles<T: Copy + Default>(across: Axis, inner: Axis, to: Address, from: Address) {
    let width = size_of::<T>() as isize;
    let mut tile = [[T::default(); TILE]; TILE];
    for first in (0..inner.extent).step_by(TILE) {
        let (inner, offset) = inner.part(first, TILE);
        let (to, from) = (to.at(offset.to), from.at(offset.from));
        for (index, line) in tile[..inner.extent].iter_mut().enumerate() {
            let (from, line) = (from.at(index as isize * inner.from), Address(line.as_mut_ptr().cast()));
            // SAFETY: by contract; a line of the tile has room for the extent of `across`.
            unsafe {
                if across.from == width {
                    strided::<T>(across.extent, line, width, from, width);
                } else {
                    strided::<T>(across.extent, line, width, from, across.from);
                }
            }
        }
        for index in 0..across.extent {
            let to = to.at(index as isize * across.to);
            for (place, line) in tile[..inner.extent].iter().enumerate() {
                // SAFETY: by contract.
                unsafe { to.at(place as isize * inner.to).0.cast::<T>().write_unaligned(line[index]) };
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
                (0..rank).map(|_| random.below(if large { 28 } else { 9 }) as usize + 1).collect();
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
        assert_eq!((plan.outer.len(), plan.manner, plan.inner), (0, Manner::Rows, axis(24, 4, 4)));
        let transposed = Plan::new(vec![axis(8, 32, 4), axis(8, 4, 32)]);
        assert_eq!((transposed.manner, transposed.across), (Manner::Tiles, axis(8, 32, 4)));
        assert_eq!(transposed.inner, axis(8, 4, 32));
    }
}
