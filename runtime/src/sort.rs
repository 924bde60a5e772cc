//! Sorting along an axis: ascending and stable, NaNs last.
//!
//! Floats become unsigned integers of the same order ([`order`]). Integers are sorted in vector registers or by their digits
//! ([`keys`]); those of short lines with many lines at a time ([`columns`]).
//! Floats that compare equal but differ in their bits are NaNs, which are moved after the others in their order, and zeros,
//! whose signs are put back in their order; so the result is that of a stable sort. Lines are sorted in parallel.

mod columns;
#[cfg(target_arch = "x86_64")]
mod eights;
mod keys;
mod order;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vectors;

use self::columns::{Lines, comparisons};
use self::keys::Key;
use self::order::{Format, Integers, Order, by_groups, by_parts, complex, complex_bits};
use crate::pool;
use promote_abi::SortKind;

/// Lines next to each other that are gathered at once.
const LINES: usize = 16;

/// Elements worth another thread.
const GRAIN: usize = 4096;

const BF16: Format<u16> = Format::new(1 << 15, 0x7f80);
const F16: Format<u16> = Format::new(1 << 15, 0x7c00);

/// Sorts a contiguous `[outer, extent, inner]` array in place along its middle axis.
///
/// # Safety
/// `data` points to that many elements of that kind, aligned, which nobody else uses meanwhile.
pub unsafe fn sort(kind: SortKind, data: *mut u8, extents: [usize; 3]) {
    use SortKind as K;
    let [outer, extent, inner] = extents;
    if outer == 0 || extent < 2 || inner == 0 {
        return;
    }
    let narrow = |format: Format<u8>| {
        // SAFETY: by contract; every bit pattern is a value of this type.
        unsafe { numbers(data, extents, &format) }
    };
    // SAFETY: by contract; every bit pattern is a value of these types.
    unsafe {
        match kind {
            K::Bool | K::U8 => numbers(data, extents, &Integers),
            K::U16 => numbers(data.cast::<u16>(), extents, &Integers),
            K::U32 => numbers(data.cast::<u32>(), extents, &Integers),
            K::U64 => numbers(data.cast::<u64>(), extents, &Integers),
            K::I8 => numbers(data.cast::<i8>(), extents, &Integers),
            K::I16 => numbers(data.cast::<i16>(), extents, &Integers),
            K::I32 => numbers(data.cast::<i32>(), extents, &Integers),
            K::I64 => numbers(data.cast::<i64>(), extents, &Integers),
            K::Bf16 => numbers(data.cast::<u16>(), extents, &BF16),
            K::F16 => numbers(data.cast::<u16>(), extents, &F16),
            K::F32 => numbers(data.cast::<u32>(), extents, &Format::new(1 << 31, 0x7f80_0000)),
            K::F64 => numbers(data.cast::<u64>(), extents, &Format::new(1 << 63, 0x7ff0 << 48)),
            K::C64 => lines(data.cast::<[f32; 2]>(), extents, |line| complex(line, by_groups)),
            K::C128 => lines(data.cast::<[f64; 2]>(), extents, |line| complex(line, by_groups)),
            K::JaxC64 => lines(data.cast::<[f32; 2]>(), extents, |line| complex(line, by_parts)),
            K::JaxC128 => lines(data.cast::<[f64; 2]>(), extents, |line| complex(line, by_parts)),
            K::F4E2M1FN => narrow(Format::new(1 << 3, 0x7)),
            K::F6E2M3FN | K::F6E3M2FN => narrow(Format::new(1 << 5, 0x1f)),
            K::F8E3M4 => narrow(Format::new(1 << 7, 0x70)),
            K::F8E4M3 => narrow(Format::new(1 << 7, 0x78)),
            K::F8E8M0FNU => narrow(Format::new(0, 0xfe)),
            K::F8E4M3FN => narrow(Format::new(1 << 7, 0x7e)),
            K::F8E5M2 => narrow(Format::new(1 << 7, 0x7c)),
            K::F8E4M3B11FNUZ | K::F8E4M3FNUZ | K::F8E5M2FNUZ => {
                narrow(Format::without_negative_zero(1 << 7, 0x7f))
            }
            K::C32 => lines(data.cast::<[u16; 2]>(), extents, |line| complex_bits(line, F16, by_groups)),
            K::Bc32 => lines(data.cast::<[u16; 2]>(), extents, |line| complex_bits(line, BF16, by_groups)),
            K::JaxC32 => lines(data.cast::<[u16; 2]>(), extents, |line| complex_bits(line, F16, by_parts)),
            K::JaxBc32 => lines(data.cast::<[u16; 2]>(), extents, |line| complex_bits(line, BF16, by_parts)),
        }
    }
}

/// Elements shared by the threads, which sort distinct lines.
struct Elements<T>(*mut T);

// SAFETY: see `sort`.
unsafe impl<T> Sync for Elements<T> {}

impl<T> Elements<T> {
    const fn get(&self) -> *mut T {
        self.0
    }
}

/// Has every line sorted of numbers that have keys: short ones side by side.
unsafe fn numbers<T: Key + Default>(data: *mut T, extents: [usize; 3], order: &(impl Order<T> + Sync)) {
    if !columns::suit::<T>(extents) {
        // SAFETY: by the caller's contract.
        return unsafe { lines(data, extents, |line| order.sort(line)) };
    }
    let [outer, extent, inner] = extents;
    let (data, network) = (Elements(data), comparisons(extent));
    let (all, width) = (outer * inner, columns::width::<T>());
    let together = (GRAIN / (extent * width).max(1)).max(1);
    pool::parallel(all.div_ceil(width) as i64, together as i64, &|begin, end| {
        let data = data.get();
        let mut room = Vec::new();
        for first in (begin as usize..end as usize).map(|unit| unit * width) {
            let lines = Lines { first, count: width.min(all - first), extent, inner };
            // SAFETY: the lines of this unit are inside the array, and in no other unit.
            unsafe { lines.sort(data, &mut room, (order, &network)) };
        }
    });
}

/// Has every line sorted.
unsafe fn lines<T: Copy + Default + Send>(data: *mut T, extents: [usize; 3], sort: impl Fn(&mut [T]) + Sync) {
    let [outer, extent, inner] = extents;
    let data = Elements(data);
    let blocks = inner.div_ceil(LINES);
    let unit = extent * inner.min(LINES);
    pool::parallel((outer * blocks) as i64, (GRAIN / unit).max(1) as i64, &|begin, end| {
        let data = data.get();
        let mut gathered = Vec::new();
        for unit in begin as usize..end as usize {
            let (plane, first) = (unit / blocks, unit % blocks * LINES);
            let width = LINES.min(inner - first);
            // SAFETY: the lines of this unit are inside the array, and in no other unit.
            unsafe {
                let start = data.add(plane * extent * inner + first);
                if inner == 1 {
                    sort(std::slice::from_raw_parts_mut(start, extent));
                } else {
                    gather_and_sort(start, [extent, inner, width], &mut gathered, &sort);
                }
            }
        }
    });
}

/// Sorts `width` lines that lie next to each other, by way of `gathered`.
unsafe fn gather_and_sort<T: Copy + Default>(
    start: *mut T,
    [extent, inner, width]: [usize; 3],
    gathered: &mut Vec<T>,
    sort: &impl Fn(&mut [T]),
) {
    gathered.resize(extent * width, T::default());
    for row in 0..extent {
        for line in 0..width {
            // SAFETY: by the caller's contract.
            gathered[line * extent + row] = unsafe { *start.add(row * inner + line) };
        }
    }
    gathered.chunks_exact_mut(extent).for_each(sort);
    for row in 0..extent {
        for line in 0..width {
            // SAFETY: as above.
            unsafe { *start.add(row * inner + line) = gathered[line * extent + row] };
        }
    }
}
