//! Sorting keys, which are integers: in vector registers where the processor can, else by digits where a line is long and keys are short;
//! by all threads where it is very long.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::Elements;
#[cfg(target_arch = "x86_64")]
use super::vectors;
use crate::buffer::{self, Header};
use crate::pool;

/// From this length on, a line is sorted in registers, if the processor can.
const REGISTERS_FROM: usize = 16;

/// From this length on, a line is sorted by digits.
const DIGITS_FROM: usize = 256;

/// From this length on, a line is sorted by all threads, if it is alone.
pub(super) const PARALLEL_FROM: usize = 1 << 16;

/// Elements of a merge's result that are made at a time.
const BLOCK: usize = 1 << 13;

/// Keys of more bytes have too many digits for that to be quicker.
const DIGITS_MOST: usize = 4;

/// What is done with each number of a line.
pub trait Pass<T>: Sync {
    /// Does it with those of a part. To be inlined always, so that it is compiled for the vectors of its caller.
    fn over(&self, part: &mut [T]);
}

/// An integer.
pub trait Key:
    Copy
    + Ord
    + Send
    + Sync
    + std::ops::BitXor<Output = Self>
    + std::ops::BitAnd<Output = Self>
    + std::ops::Not<Output = Self>
{
    /// How many bytes it has.
    const BYTES: usize;
    /// Zero.
    const ZERO: Self;
    /// The greatest one.
    const MOST: Self;
    /// One of its bytes, from the lowest. Compared from the highest on, as unsigned numbers, they have the order of the keys.
    fn byte(self, index: usize) -> usize;
    /// Sorts keys in vector registers, with as much memory beside for more than [`few`](Self::few), to where they are or to
    /// there; false if the processor cannot.
    fn sort_in_registers(keys: &mut [Self], other: &mut [Self], stays: bool) -> bool;
    /// Merges sorted keys in vector registers; false if the processor cannot.
    fn merge_in_registers(left: &[Self], right: &[Self], target: &mut [Self]) -> bool;
    /// The most keys that are sorted in registers without memory beside them; 0 if the processor cannot.
    fn few() -> usize;
    /// Makes a pass over numbers, by wide vectors where keys are sorted in those.
    fn widely(pass: &impl Pass<Self>, part: &mut [Self]);
}

/// The bits of a float.
pub trait Bits: Key {
    /// This bit, if it is one, and all below it.
    fn and_below(self) -> Self;
    /// The same number as a float, exactly where it has at most 24 bits.
    fn to_f32(self) -> f32;
}

macro_rules! bits {
    ($($type:ty),*) => { $(
        impl Bits for $type {
            #[inline(always)]
            fn and_below(self) -> Self {
                self | self.saturating_sub(1)
            }
            fn to_f32(self) -> f32 {
                self as f32
            }
        }
    )* };
}

bits!(u8, u16, u32, u64);

macro_rules! key {
    ($type:ty, $($registers:item)*) => {
        impl Key for $type {
            const BYTES: usize = size_of::<$type>();
            const ZERO: Self = 0;
            const MOST: Self = <$type>::MAX;
            #[inline(always)]
            fn byte(self, index: usize) -> usize {
                usize::from((self ^ <$type>::MIN).to_le_bytes()[index])
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
            fn sort_in_registers(_: &mut [Self], _: &mut [Self], _: bool) -> bool {
                false
            }
            fn merge_in_registers(_: &[Self], _: &[Self], _: &mut [Self]) -> bool {
                false
            }
            fn few() -> usize {
                0
            }
            fn widely(pass: &impl Pass<Self>, part: &mut [Self]) {
                pass.over(part);
            }
        }
    };
}

/// Keys that modules sort in registers, on some processors: the first one of those that the processor has.
#[cfg(target_arch = "x86_64")]
macro_rules! lanes {
    ($type:ty, $($is_supported:ident $module:ident $widely:ident),+) => {
        key! {
            $type,
            fn sort_in_registers(keys: &mut [Self], other: &mut [Self], stays: bool) -> bool {
                $(if vectors::$is_supported() {
                    // SAFETY: the processor has what the function asks for.
                    unsafe { vectors::$module::sort(keys, other, stays) };
                    return true;
                })+
                false
            }
            fn merge_in_registers(left: &[Self], right: &[Self], target: &mut [Self]) -> bool {
                $(if vectors::$is_supported() {
                    // SAFETY: the processor has what the function asks for.
                    unsafe { vectors::$module::merge_runs(left, right, target) };
                    return true;
                })+
                false
            }
            fn few() -> usize {
                $(if vectors::$is_supported() {
                    return vectors::$module::SMALL;
                })+
                0
            }
            fn widely(pass: &impl Pass<Self>, part: &mut [Self]) {
                $(if vectors::$is_supported() {
                    // SAFETY: the processor has what the function asks for.
                    return unsafe { vectors::$widely(pass, part) };
                })+
                pass.over(part);
            }
        }
    };
}

/// Keys of modules that need what a function says.
macro_rules! in_registers {
    ($($type:ty, $($is_supported:ident $module:ident $widely:ident),+;)*) => { $(
        #[cfg(target_arch = "x86_64")]
        lanes!($type, $($is_supported $module $widely),+);
        #[cfg(not(target_arch = "x86_64"))]
        plain!($type);
    )* };
}

plain!(u8);
plain!(i8);
in_registers! {
    u16, is_supported_in_halves of_u16 widely;
    i16, is_supported_in_halves of_i16 widely;
    u32, is_supported of_u32 widely, is_supported_by_eights of_u32_by_eights widely_by_eights;
    i32, is_supported of_i32 widely, is_supported_by_eights of_i32_by_eights widely_by_eights;
    u64, is_supported of_u64 widely;
    i64, is_supported of_i64 widely;
}

/// Scratch memory as large as a line, from the runtime's cache.
struct Scratch<T> {
    block: NonNull<Header>,
    length: usize,
    _keys: PhantomData<T>,
}

impl<T: Key> Scratch<T> {
    fn new(length: usize) -> Option<Self> {
        let block = buffer::allocate(length.checked_mul(size_of::<T>())?).ok()?;
        // SAFETY: the buffer is as large, and nobody else uses it.
        unsafe { buffer::data(block).write_bytes(0, length * size_of::<T>()) };
        Some(Self { block, length, _keys: PhantomData })
    }

    const fn keys(&mut self) -> &mut [T] {
        // SAFETY: as many keys of zero bits were written, which are numbers, and the data of a buffer are aligned to 64 bytes.
        unsafe { std::slice::from_raw_parts_mut(buffer::data(self.block).cast(), self.length) }
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        // SAFETY: it was allocated, and nobody uses it any more.
        unsafe { buffer::free(self.block) };
    }
}

/// Does something with the blocks of a line, of which it is said where each begins, on all threads.
fn in_blocks<T: Send>(line: &mut [T], body: impl Fn(usize, &mut [T]) + Sync) {
    let (length, start) = (line.len(), Elements(line.as_mut_ptr()));
    pool::parallel(length.div_ceil(BLOCK) as i64, 1, &|begin, end| {
        for first in (begin as usize..end as usize).map(|block| block * BLOCK) {
            // SAFETY: the blocks are inside the line, and apart.
            let block =
                unsafe { std::slice::from_raw_parts_mut(start.get().add(first), BLOCK.min(length - first)) };
            body(first, block);
        }
    });
}

/// Makes a pass over a line, on all threads if it is long.
pub(super) fn pass<T: Key>(line: &mut [T], pass: &impl Pass<T>) {
    match line.len() < PARALLEL_FROM {
        true => T::widely(pass, line),
        false => in_blocks(line, |_, part| T::widely(pass, part)),
    }
}

/// Sorts keys.
pub fn sort<T: Key>(line: &mut [T]) {
    let few = T::few();
    if line.len() <= few && line.len() >= REGISTERS_FROM {
        T::sort_in_registers(line, &mut [], true);
        return;
    }
    let digits = line.len() >= DIGITS_FROM && T::BYTES <= DIGITS_MOST;
    let parallel = line.len() >= PARALLEL_FROM && pool::threads_here() > 1;
    let needs_scratch = few > 0 && line.len() > few || digits || parallel;
    let Some(mut other) = needs_scratch.then(|| Scratch::new(line.len())).flatten() else {
        return line.sort_unstable();
    };
    if parallel { by_merging(line, other.keys()) } else { run(line, other.keys(), true) }
}

/// Sorts on one thread, with as much memory beside, to where the keys are or to there.
fn run<T: Key>(line: &mut [T], other: &mut [T], stays: bool) {
    if T::sort_in_registers(line, other, stays) {
        return;
    }
    if line.len() >= DIGITS_FROM && T::BYTES <= DIGITS_MOST {
        by_digits(line, other);
    } else {
        line.sort_unstable();
    }
    if !stays {
        other.copy_from_slice(line);
    }
}

/// Sorts as many runs as there are threads, then merges neighbours until one is left; each merge is cut into blocks of its
/// result.
fn by_merging<T: Key>(line: &mut [T], other: &mut [T]) {
    let length = line.len();
    let runs = pool::threads_here().next_power_of_two();
    let mut width = length.div_ceil(runs).next_multiple_of(BLOCK);
    // The last merge is to be to the line: each goes to where the one before does not.
    let merges = length.div_ceil(width).next_power_of_two().ilog2();
    let stays = merges.is_multiple_of(2);
    let (line_start, other_start) = (Elements(line.as_mut_ptr()), Elements(other.as_mut_ptr()));
    pool::parallel(length.div_ceil(width) as i64, 1, &|begin, end| {
        for index in begin as usize..end as usize {
            let count = width.min(length - index * width);
            // SAFETY: the runs are inside the line, and apart.
            unsafe {
                let slice = |start: *mut T| std::slice::from_raw_parts_mut(start.add(index * width), count);
                run(slice(line_start.get()), slice(other_start.get()), stays);
            }
        }
    });
    let (mut from, mut to) = if stays { (line, other) } else { (other, line) };
    for _ in 0..merges {
        let source = &*from;
        in_blocks(to, |first, target| {
            // Runs begin at blocks: a block lies in one pair.
            let pair = first / (2 * width) * 2 * width;
            let (middle, last) = ((pair + width).min(length), (pair + 2 * width).min(length));
            let (left, right) = (&source[pair..middle], &source[middle..last]);
            let [begin, end] =
                [first - pair, first - pair + target.len()].map(|place| split(left, right, place));
            merge(&left[begin.0..end.0], &right[begin.1..end.1], target);
        });
        (from, to) = (to, from);
        width *= 2;
    }
}

/// How many of the first keys of the merge of two sorted runs come from each: as many from the left as are not above their
/// counterparts on the right.
fn split<T: Key>(left: &[T], right: &[T], count: usize) -> (usize, usize) {
    let (mut least, mut most) = (count.saturating_sub(right.len()), count.min(left.len()));
    while least < most {
        let middle = least.midpoint(most);
        if left[middle] <= right[count - 1 - middle] { least = middle + 1 } else { most = middle }
    }
    (least, count - least)
}

/// Writes the merge of two sorted runs.
pub(super) fn merge<T: Key>(left: &[T], right: &[T], target: &mut [T]) {
    if T::merge_in_registers(left, right, target) {
        return;
    }
    merge_in_order(left, right, target);
}

/// Writes the merge of two sorted runs, one key after the other.
pub(super) fn merge_in_order<T: Copy + Ord>(mut left: &[T], mut right: &[T], mut target: &mut [T]) {
    loop {
        // As long as neither runs out there is no branch to guess.
        let count = left.len().min(right.len());
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
    target.copy_from_slice(if left.is_empty() { right } else { left });
}

/// Sorts by one byte after the other, the lowest first; a byte in which all keys agree is passed over.
pub(super) fn by_digits<T: Key>(line: &mut [T], other: &mut [T]) {
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
