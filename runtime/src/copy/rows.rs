//! Rows one by one, and rows that are interleaved from runs of the source.

use std::mem::MaybeUninit;

use super::squares::LINE;
#[cfg(target_arch = "x86_64")]
use super::steps::Steps;
use super::{Address, Axis, INTERLEAVED, Odometer, count};

/// Copies rows along `inner`; `apart` is made for it, or for an axis that it is a part of.
///
/// # Safety
/// As [`copy`], for two axes.
pub(super) unsafe fn rows<T: Copy>(across: Axis, (inner, apart): (Axis, &Apart), to: Address, from: Address) {
    let width = size_of::<T>() as isize;
    let count = inner.extent;
    // The cases apart, so that each becomes a loop of vectors with a constant stride.
    // SAFETY: by contract; bytes need no alignment.
    unsafe {
        if inner.to != width {
            each_row(across, to, from, |to, from| strided::<T>(count, to, inner.to, from, inner.from));
        } else if inner.from == width && count as isize * width >= SHORT {
            let bytes = count * size_of::<T>();
            let ahead = across.from.wrapping_mul(AHEAD.div_ceil(bytes) as isize);
            match across.extent > 1 && bytes >= LONG {
                true => each_row(across, to, from, |to, from| {
                    bring(from.at(ahead), bytes.min(AHEAD));
                    std::ptr::copy_nonoverlapping(from.0, to.0, bytes)
                }),
                false => {
                    each_row(across, to, from, |to, from| std::ptr::copy_nonoverlapping(from.0, to.0, bytes))
                }
            }
        } else if inner.from == width {
            each_row(across, to, from, |to, from| strided::<T>(count, to, width, from, width));
        } else if inner.from == 0 {
            each_row(across, to, from, |to, from| strided::<T>(count, to, width, from, 0));
        } else {
            match inner.from == -width {
                true => {
                    each_row(across, to, from, |to, from| apart.copy::<T>((count, count), to, (from, -width)))
                }
                false => each_row(across, to, from, |to, from| {
                    apart.copy::<T>((count, count), to, (from, inner.from))
                }),
            }
        }
    }
}

/// Whether so many elements, so many steps apart, are put next to each other in registers.
pub(super) fn has_steps(size: usize, elements: (usize, isize)) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        Steps::suit(size, elements)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (size, elements);
        false
    }
}

/// How elements that do not lie side by side are put next to each other.
pub(super) struct Apart {
    #[cfg(target_arch = "x86_64")]
    steps: Option<Steps>,
}

impl Apart {
    /// For elements of so many bytes, along an axis.
    pub(super) fn new(size: usize, Axis { extent, from: stride, .. }: Axis) -> Apart {
        #[cfg(target_arch = "x86_64")]
        {
            let step = stride / size as isize;
            // Between elements so near to each other is memory of the same pages.
            let steps = (step * size as isize == stride).then(|| Steps::new(size, (extent, step)));
            Apart { steps: steps.flatten() }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (size, extent, stride);
            Apart {}
        }
    }

    /// Whether there are instructions for it.
    pub(super) const fn has_registers(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            self.steps.is_some()
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            false
        }
    }

    /// Copies as many of them, the first of those that are `left` of a row.
    ///
    /// # Safety
    /// As [`copy`], for one axis, of elements that lie as was said.
    #[inline(always)]
    pub(super) unsafe fn copy<T: Copy>(
        &self,
        (count, left): (usize, usize),
        to: Address,
        (from, stride): (Address, isize),
    ) {
        let width = size_of::<T>() as isize;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: by contract.
        let copied =
            self.steps.as_ref().map_or(0, |steps| unsafe { steps.copy((count, left), to.0, from.0) });
        #[cfg(not(target_arch = "x86_64"))]
        let (copied, _) = (0, left);
        let (to, from) = (to.at(copied as isize * width), from.at(copied as isize * stride));
        // SAFETY: by contract.
        unsafe { strided::<T>(count - copied, to, width, from, stride) };
    }
}

/// Copies runs along `run`, one for each index of the axes `inside`: by way of memory that stays in the first-level cache if their
/// elements are whole rows of the target, which may lie a power of two apart.
///
/// # Safety
/// As [`copy`], for these axes.
// Its rows are on the stack only where they are used.
#[inline(never)]
pub(super) unsafe fn runs<T: Copy>(run: Axis, inside: &[Axis], to: Address, from: Address) {
    let size = size_of::<T>();
    let row = count(inside) * size;
    let mut dense = size as isize;
    let is_row = inside.iter().rev().all(|axis| {
        let follows = axis.to == dense;
        dense *= axis.extent as isize;
        follows
    });
    if !is_row || run.to <= row as isize || run.extent * row > INTERLEAVED {
        // SAFETY: by contract.
        return unsafe { interleave::<T>(run, inside, to, from) };
    }
    let mut rows = MaybeUninit::<Rows>::uninit();
    let there = Address(rows.as_mut_ptr().cast());
    // SAFETY: by contract; all rows of the run are as large as that memory at most.
    unsafe {
        interleave::<T>(Axis { to: row as isize, ..run }, inside, there, from);
        let copied = Axis { from: row as isize, ..run };
        each_row(copied, to, there, |to, from| std::ptr::copy_nonoverlapping(from.0, to.0, row));
    }
}

/// Rows of the target.
#[repr(C, align(64))]
struct Rows([u8; INTERLEAVED]);

/// The same, straight to where elements belong.
///
/// # Safety
/// As [`copy`], for these axes.
unsafe fn interleave<T: Copy>(run: Axis, inside: &[Axis], to: Address, from: Address) {
    let (width, length) = (size_of::<T>() as isize, run.extent);
    let mut odometer = Odometer::new(inside, 0);
    for _ in 0..count(inside) {
        let (to, from) = (to.at(odometer.to), from.at(odometer.from));
        // The case of runs without gaps apart, so that they are read in vectors.
        // SAFETY: by contract.
        unsafe {
            match run.from == width {
                true => strided::<T>(length, to, run.to, from, width),
                false => strided::<T>(length, to, run.to, from, run.from),
            }
        }
        odometer.advance();
    }
}

#[inline(always)]
fn each_row(across: Axis, to: Address, from: Address, row: impl Fn(Address, Address)) {
    for index in 0..across.extent as isize {
        row(to.at(index * across.to), from.at(index * across.from));
    }
}

/// The fewest bytes of rows that lie apart from which on those after them are prefetched: processors foresee shorter ones.
const LONG: usize = 1 << 9;

/// How many bytes ahead, and at most how many of a row.
const AHEAD: usize = 1 << 12;

/// Brings so many bytes into the second-level cache, if they are there: of the first-level one, Zen 4 has so few misses under way that it waits
/// for those of a row.
#[inline(always)]
pub(super) fn bring(from: Address, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for place in (0..bytes).step_by(LINE).chain(bytes.checked_sub(1)) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch does not fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(from.at(place as isize).0.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes);
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
