//! Sorting unsigned keys: in vector registers where the processor can, else by digits where a line is long and keys are short;
//! by all threads where it is very long.

use super::Elements;
#[cfg(target_arch = "x86_64")]
use super::vectors;
use crate::pool;

/// From this length on, a line is sorted in registers, if the processor can.
const REGISTERS_FROM: usize = 16;

/// Below this length, registers take less time than digits, which go over the line less often, even if keys are short.
const REGISTERS_BELOW: usize = 1 << 20;

/// From this length on, a line is sorted by digits.
const DIGITS_FROM: usize = 256;

/// From this length on, a line is sorted by all threads, if it is alone.
pub(super) const PARALLEL_FROM: usize = 1 << 16;

/// Elements of a merge's result that are made at a time.
const BLOCK: usize = 1 << 13;

/// Keys of more bytes have too many digits for that to be quicker.
const DIGITS_MOST: usize = 4;

/// An unsigned number that sorts as its bits.
pub trait Key:
    Copy
    + Ord
    + Default
    + Sync
    + std::ops::BitXor<Output = Self>
    + std::ops::BitAnd<Output = Self>
    + std::ops::Not<Output = Self>
{
    /// How many bytes it has.
    const BYTES: usize;
    /// One of them, from the lowest.
    fn byte(self, index: usize) -> usize;
    /// This bit, if it is one, and all below it.
    fn and_below(self) -> Self;
    /// The same number as a float, exactly where it has at most 24 bits.
    fn to_f32(self) -> f32;
    /// Sorts keys in vector registers, with as much memory beside from [`few`](Self::few) on; false if the processor cannot.
    fn sort_in_registers(keys: &mut [Self], other: &mut [Self]) -> bool;
    /// The most keys that are sorted in registers without memory beside them; 0 if the processor cannot.
    fn few() -> usize;
}

macro_rules! key {
    ($type:ty, $($registers:item)*) => {
        impl Key for $type {
            const BYTES: usize = size_of::<$type>();
            fn byte(self, index: usize) -> usize {
                (self >> (8 * index) & 0xff) as usize
            }
            fn and_below(self) -> Self {
                self | self.saturating_sub(1)
            }
            fn to_f32(self) -> f32 {
                self as f32
            }
            $($registers)*
        }
    };
}

/// Keys that are not sorted in registers.
macro_rules! plain {
    ($type:ty) => {
        key! {
            $type,
            fn sort_in_registers(_: &mut [Self], _: &mut [Self]) -> bool {
                false
            }
            fn few() -> usize {
                0
            }
        }
    };
}

/// Keys that a module sorts in registers, on some processors.
#[cfg(target_arch = "x86_64")]
macro_rules! lanes {
    ($type:ty, $module:ident) => {
        key! {
            $type,
            fn sort_in_registers(keys: &mut [Self], other: &mut [Self]) -> bool {
                let can = vectors::is_supported();
                if can {
                    // SAFETY: the processor has what the function asks for.
                    unsafe { vectors::$module::sort(keys, other) };
                }
                can
            }
            fn few() -> usize {
                if vectors::is_supported() { vectors::$module::SMALL } else { 0 }
            }
        }
    };
}

plain!(u8);
plain!(u16);
#[cfg(target_arch = "x86_64")]
lanes!(u32, of_32);
#[cfg(target_arch = "x86_64")]
lanes!(u64, of_64);
#[cfg(not(target_arch = "x86_64"))]
plain!(u32);
#[cfg(not(target_arch = "x86_64"))]
plain!(u64);

/// Sorts unsigned keys.
pub fn sort<T: Key>(line: &mut [T]) {
    if line.len() <= T::few() && line.len() >= REGISTERS_FROM && T::sort_in_registers(line, &mut []) {
        return;
    }
    let mut other = Vec::new();
    let registers = line.len() >= REGISTERS_FROM && T::few() > 0;
    let digits = line.len() >= DIGITS_FROM && T::BYTES <= DIGITS_MOST;
    let parallel = line.len() >= PARALLEL_FROM && pool::threads_here() > 1;
    if !(registers || digits || parallel) || other.try_reserve_exact(line.len()).is_err() {
        return line.sort_unstable();
    }
    other.resize(line.len(), T::default());
    if parallel { by_merging(line, &mut other) } else { run(line, &mut other) }
}

/// Sorts on one thread, with as much memory beside.
fn run<T: Key>(line: &mut [T], other: &mut [T]) {
    let by_registers = T::BYTES > DIGITS_MOST || line.len() < REGISTERS_BELOW;
    if by_registers && T::sort_in_registers(line, other) {
        return;
    }
    if line.len() >= DIGITS_FROM && T::BYTES <= DIGITS_MOST {
        by_digits(line, other);
    } else {
        line.sort_unstable();
    }
}

/// Sorts as many runs as there are threads, then merges neighbours until one is left; each merge is cut into blocks of its
/// result.
fn by_merging<T: Key>(line: &mut [T], other: &mut [T]) {
    let length = line.len();
    let runs = pool::threads_here().next_power_of_two();
    let mut width = length.div_ceil(runs).next_multiple_of(BLOCK);
    let (line_start, other_start) = (Elements(line.as_mut_ptr()), Elements(other.as_mut_ptr()));
    pool::parallel(length.div_ceil(width) as i64, 1, &|begin, end| {
        for index in begin as usize..end as usize {
            let count = width.min(length - index * width);
            // SAFETY: the runs are inside the line, and apart.
            unsafe {
                let slice = |start: *mut T| std::slice::from_raw_parts_mut(start.add(index * width), count);
                run(slice(line_start.get()), slice(other_start.get()));
            }
        }
    });
    let (mut from, mut to) = (line, other);
    while width < length {
        let target = Elements(to.as_mut_ptr());
        let source = &*from;
        pool::parallel(length.div_ceil(BLOCK) as i64, 1, &|begin, end| {
            for block in begin as usize..end as usize {
                let count = BLOCK.min(length - block * BLOCK);
                // SAFETY: the blocks are inside the target, and apart.
                let block_of_target =
                    unsafe { std::slice::from_raw_parts_mut(target.get().add(block * BLOCK), count) };
                // Runs begin at blocks: a block lies in one pair.
                let first = block * BLOCK / (2 * width) * 2 * width;
                let (middle, last) = ((first + width).min(length), (first + 2 * width).min(length));
                merge(&source[first..middle], &source[middle..last], block * BLOCK - first, block_of_target);
            }
        });
        (from, to) = (to, from);
        width *= 2;
    }
    if std::ptr::eq(from.as_ptr(), other_start.get()) {
        to.copy_from_slice(from);
    }
}

/// Writes the part of the merge of two sorted runs that begins at `position` and fills `target`.
fn merge<T: Key>(left: &[T], right: &[T], position: usize, target: &mut [T]) {
    // How many of the first `position` come from the left: as many as are not above their counterparts on the right.
    let (mut least, mut most) = (position.saturating_sub(right.len()), position.min(left.len()));
    while least < most {
        let middle = least.midpoint(most);
        if left[middle] <= right[position - 1 - middle] { least = middle + 1 } else { most = middle }
    }
    let (mut left, mut right) = (&left[least..], &right[position - least..]);
    let mut target = target;
    loop {
        // As long as neither runs out there is no branch to guess.
        let count = target.len().min(left.len()).min(right.len());
        if count == 0 {
            break;
        }
        let (places, rest) = target.split_at_mut(count);
        let (mut i, mut j) = (0, 0);
        for place in places {
            let (x, y) = (left[i], right[j]);
            let from_left = x <= y;
            *place = if from_left { x } else { y };
            i += usize::from(from_left);
            j += usize::from(!from_left);
        }
        (left, right, target) = (&left[i..], &right[j..], rest);
    }
    let run = if left.is_empty() { right } else { left };
    target.copy_from_slice(&run[..target.len()]);
}

/// Sorts by one byte after the other, the lowest first; a byte in which all keys agree is passed over.
fn by_digits<T: Key>(line: &mut [T], other: &mut [T]) {
    let mut counts = vec![[0usize; 256]; T::BYTES];
    for value in line.iter() {
        for (index, count) in counts.iter_mut().enumerate() {
            count[value.byte(index)] += 1;
        }
    }
    let (mut from, mut to) = (line, other);
    let mut swapped = false;
    for (index, count) in counts.iter().enumerate() {
        if count[from[0].byte(index)] == from.len() {
            continue;
        }
        let mut places = [0; 256];
        for digit in 1..256 {
            places[digit] = places[digit - 1] + count[digit - 1];
        }
        for &value in from.iter() {
            let place = &mut places[value.byte(index)];
            to[*place] = value;
            *place += 1;
        }
        (from, to) = (to, from);
        swapped = !swapped;
    }
    if swapped {
        to.copy_from_slice(from);
    }
}
