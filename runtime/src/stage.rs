//! Inputs that lie in memory in another order than code reads them: they are copied run by run as they are read.
//!
//! A loop reads a run of the row-major order of an input for each of its units ([`Order`]). Of an input that lies otherwise, the run
//! of some units is copied at a time, and read while it is in the caches: packing all of it first would write it to memory, and read
//! it again. A thread has a block of each such input, which is larger than [`BLOCK`] only if what a single unit reads is.

use promote_abi::{Body, Status};

use crate::context::Context;
use crate::copy::{self, Strided};
use crate::pool;
use crate::tensor::Placed;

/// An input that is copied as it is read.
#[derive(Clone, Debug)]
pub struct Staged {
    input: Placed,
}

// SAFETY: threads read the input, which lives as long as the call and is not written meanwhile.
unsafe impl Send for Staged {}
// SAFETY: as above.
unsafe impl Sync for Staged {}

/// A line of the cache, in bytes.
const LINE: usize = 64;

/// How many bytes of an input are copied at a time, if there are as many: they stay in the second-level cache.
const BLOCK: usize = 1 << 17;

/// The fewest bytes of an input that is not packed as a whole: less stays in the caches, too.
const SMALLEST: usize = 1 << 18;

/// So many lines of memory are read whole for each run of the source, if it has as many: what is left of lines at both ends is read
/// twice.
const LINES: usize = 4;

/// Pieces of work for each thread, if there are enough units.
const PIECES: i64 = 2;

/// Bytes on both sides of a copy that code may read though it needs nothing of them: the rest of a vector, which is in the same page of
/// the input.
const MARGIN: usize = 1 << 9;

/// How units of work go through the row-major order of what they read.
#[derive(Clone, Debug)]
pub struct Order {
    /// The words of the environment.
    pub words: usize,
    /// How many units read a row, one after the other.
    pub parts: usize,
    /// How many elements each of them reads, but for the last ones.
    pub part: usize,
    /// The elements of a row.
    pub row: usize,
    /// The places of addresses in the environment, and the numbers of the inputs that they are of.
    pub inputs: Vec<(usize, usize)>,
}

impl Order {
    /// As compiled code has it in memory.
    ///
    /// # Safety
    /// The words are those that `promote_rt_stage` takes.
    pub unsafe fn read(words: *const i64) -> Order {
        // SAFETY: by contract.
        let word = |place: usize| usize::try_from(unsafe { words.add(place).read() }).unwrap_or(0);
        let inputs = (0..word(4)).map(|input| (word(5 + 2 * input), word(6 + 2 * input))).collect();
        Order { words: word(0), parts: word(1).max(1), part: word(2), row: word(3), inputs }
    }

    /// The elements that the units from `begin` to below `end`, of which there is one, read.
    fn run(&self, begin: usize, end: usize) -> (usize, usize) {
        let first = |unit: usize, more: usize| {
            unit / self.parts * self.row + (unit % self.parts + more).saturating_mul(self.part).min(self.row)
        };
        (first(begin, 0), first(end - 1, 1))
    }
}

/// Whether an input is copied as it is read, where code allows that, rather than packed: if it is large, and the runs of its memory that
/// a block has are long.
pub fn is_worth_it(input: &Placed) -> bool {
    let axes = input.extents.iter().zip(&input.strides).enumerate();
    let apart = axes.filter(|(_, (extent, stride))| **extent > 1 && **stride != 0);
    let nearest = apart.min_by_key(|(_, (_, stride))| stride.unsigned_abs());
    let needed = nearest.map_or(0, |(axis, (extent, stride))| {
        let inside: usize = input.extents[axis + 1..].iter().product();
        inside.saturating_mul((LINES * LINE / stride.unsigned_abs()).clamp(1, *extent))
    });
    let count: usize = input.extents.iter().product();
    count * input.size >= SMALLEST && needed.saturating_mul(input.size) <= BLOCK
}

impl Staged {
    /// An input.
    pub fn new(input: &Placed) -> Staged {
        Staged { input: input.clone() }
    }

    /// Copies a run of the row-major order of the input: the elements from one to below another.
    ///
    /// # Safety
    /// There are such elements, and as many can be written from `to` on.
    unsafe fn copy(&self, run: (usize, usize), to: *mut u8) {
        let Placed { data, size, extents, strides, .. } = &self.input;
        // SAFETY: by contract.
        unsafe { copy_run((extents, strides), *size, run, (to, *data)) };
    }
}

/// Copies a run of the row-major order of a tensor, next to each other.
///
/// # Safety
/// As [`Staged::copy`], for a tensor of these extents and strides at the second address.
unsafe fn copy_run(
    (extents, strides): (&[usize], &[isize]),
    size: usize,
    (begin, end): (usize, usize),
    (to, from): (*mut u8, *mut u8),
) {
    if begin >= end {
        return;
    }
    let inside: usize = extents.iter().skip(1).product();
    let (first, before) = (begin / inside, begin % inside);
    let (last, after) = (end / inside, end % inside);
    let at = |index: usize| from.wrapping_offset(index as isize * strides.first().copied().unwrap_or(0));
    let within = (extents.get(1..).unwrap_or(&[]), strides.get(1..).unwrap_or(&[]));
    // SAFETY: by contract; what is copied at each step is a part of the run.
    unsafe {
        if first == last && !within.0.is_empty() {
            return copy_run(within, size, (before, after), (to, at(first)));
        }
        // What is left of an index, whole ones, and what there is of another.
        let head = if before > 0 { inside - before } else { 0 };
        copy_run(within, size, (before, before + head), (to, at(first)));
        let first = first + usize::from(before > 0);
        let to = to.add(head * size);
        if first < last {
            let mut whole = extents.to_vec();
            whole[0] = last - first;
            let mut dense = vec![size as isize; whole.len()];
            for axis in (1..whole.len()).rev() {
                dense[axis - 1] = dense[axis] * whole[axis] as isize;
            }
            copy::copy(
                &whole,
                size,
                Strided { data: to, strides: &dense },
                Strided { data: at(first), strides },
            );
        }
        let to = to.add((last - first) * inside * size);
        copy_run(within, size, (0, after), (to, at(last)));
    }
}

/// Runs `body(env, begin, end)` over ranges that together cover `0..count`, as `promote_rt_parallel` does, with copies of what it reads
/// of those inputs of the call that lie in another order.
///
/// # Safety
/// `body` may run on several threads at once, for distinct ranges, with `env` or a copy of it; the order is the one in which it reads.
pub unsafe fn run(context: &Context, body: Body, env: *const i64, (count, grain): (i64, i64), order: &Order) {
    let staged: Vec<(usize, &Staged)> =
        order.inputs.iter().filter_map(|(place, input)| Some((*place, context.staged(*input)?))).collect();
    let env = Environment(env);
    if staged.is_empty() {
        pool::parallel(count, grain, &|begin, end| body(env.get().cast_mut().cast(), begin, end));
        return;
    }
    let units = |staged: &Staged| (BLOCK / staged.input.size).div_ceil(order.part.max(1));
    let least = staged.iter().map(|(_, staged)| units(staged)).min().unwrap_or(1);
    // As many pieces as threads have work for, though smaller ones read some lines twice.
    let share = (count / (pool::threads_here() as i64 * PIECES)).max(1);
    let at_once = i64::try_from(least).unwrap_or(i64::MAX).clamp(1, share);
    pool::parallel(count, grain.max(at_once), &|begin, end| {
        // SAFETY: by contract.
        let mut words = unsafe { std::slice::from_raw_parts(env.get(), order.words) }.to_vec();
        let mut copies: Vec<Vec<u8>> = vec![Vec::new(); staged.len()];
        let mut unit = begin;
        while unit < end {
            let next = end.min(unit.saturating_add(at_once));
            let (first, last) = order.run(unit as usize, next as usize);
            for ((place, staged), copy) in staged.iter().zip(&mut copies) {
                let size = staged.input.size;
                let bytes = (last - first) * size + 2 * MARGIN + LINE;
                if copy.capacity() < bytes && copy.try_reserve_exact(bytes).is_err() {
                    let message = format!("there is no memory for {bytes} bytes of an input");
                    return context.fail(Status::Memory, &message);
                }
                // An element is as far from the beginning of a line as in row-major memory.
                let room = copy.as_mut_ptr().wrapping_add(MARGIN);
                let wanted = first.wrapping_mul(size);
                let to = room.wrapping_add(wanted.wrapping_sub(room.addr()) % LINE);
                // SAFETY: there is room for the run, which units read; the input has its elements.
                unsafe { staged.copy((first, last), to) };
                words[*place] = to.expose_provenance().wrapping_sub(wanted) as i64;
            }
            body(words.as_mut_ptr().cast(), unit, next);
            unit = next;
        }
    });
}

/// The words of an environment, which threads read.
struct Environment(*const i64);

// SAFETY: nobody writes them while the loop runs.
unsafe impl Sync for Environment {}

impl Environment {
    const fn get(&self) -> *const i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_read_one_run_after_the_other() {
        // Rows of 10 elements, in parts of 4: the last one of 2, and one of none.
        let order = Order { words: 0, parts: 4, part: 4, row: 10, inputs: Vec::new() };
        let runs: Vec<(usize, usize)> = (0..8).map(|unit| order.run(unit, unit + 1)).collect();
        let wanted = [(0, 4), (4, 8), (8, 10), (10, 10), (10, 14), (14, 18), (18, 20), (20, 20)];
        assert_eq!(runs, wanted);
        assert_eq!(order.run(1, 6), (4, 18));
    }

    #[test]
    fn any_run_of_a_permuted_tensor_is_copied() {
        let extents = [3, 4, 5];
        let strides = [2, 30, 6_isize];
        let source: Vec<u16> = (0..60).collect();
        let wanted: Vec<u16> =
            (0..60).map(|place| (place / 20 + 15 * (place / 5 % 4) + 3 * (place % 5)) as u16).collect();
        for begin in 0..=60 {
            for end in begin..=60 {
                let mut target = vec![0xffff_u16; end - begin + 1];
                // SAFETY: the run is one of the tensor, and the target has room for it.
                unsafe {
                    let addresses = (target.as_mut_ptr().cast(), source.as_ptr().cast_mut().cast());
                    copy_run((&extents, &strides), 2, (begin, end), addresses);
                }
                assert_eq!(target[..end - begin], wanted[begin..end], "{begin} {end}");
                assert_eq!(target[end - begin], 0xffff);
            }
        }
    }

    #[test]
    fn lines_are_read_whole_or_nothing_is_staged() {
        let is_staged = |extents: &[usize], strides: &[isize]| {
            let input = Placed {
                data: std::ptr::null_mut(),
                size: 4,
                extents: extents.to_vec(),
                strides: strides.iter().map(|stride| stride * 4).collect(),
                low: 0,
                high: 0,
                is_aligned: true,
                in_order: false,
                direct: false,
            };
            is_worth_it(&input)
        };
        // Rows with gaps, planes that are transposed, of which 64 rows are in a block, and a few that lie innermost.
        assert!(is_staged(&[1000, 1000], &[1003, 1]));
        assert!(is_staged(&[9, 300, 512], &[153_600, 1, 300]));
        assert!(!is_staged(&[9, 300, 513], &[153_900, 1, 300]));
        assert!(is_staged(&[100, 3, 50, 200], &[30_000, 1, 3, 150]));
        assert!(!is_staged(&[64, 50, 200], &[1, 64, 3200]));
        // What is small is packed.
        assert!(!is_staged(&[9, 70, 100], &[7000, 1, 70]));
        assert!(!is_staged(&[1, 7], &[1, 0]));
    }
}
