//! Short lines, sorted side by side: a lane of a vector is a line, and what is compared are whole vectors.
//!
//! The comparisons are those of Batcher's odd-even merge sort, which are the same for all lines of a length (K. E. Batcher, "Sorting
//! networks and their applications", 1968).

use super::keys::{Key, Pass};
use super::order::Order;

/// The bytes of a row of elements, one of each line: two vectors of AVX-512.
const ROW: usize = 128;

/// The longest lines that are sorted so. Those of a unit stay in the first-level cache; of longer ones there are more comparisons than
/// a quicksort in registers takes.
const LONGEST: usize = 256;

/// The same of lines whose elements lie side by side: they are transposed before and after.
const LONGEST_TRANSPOSED: usize = 48;

/// The same of elements of one or two bytes.
const LONGEST_TRANSPOSED_NARROW: usize = 64;

/// The same where the processor has no wide vectors of such elements.
const LONGEST_IN_NARROW: usize = 32;

/// How many lines are sorted side by side.
pub(super) const fn width<T>() -> usize {
    ROW / size_of::<T>()
}

/// Whether lines of an `[outer, extent, inner]` array are sorted so: short ones that fill half of a unit.
pub(super) fn suit<T: Key>([outer, extent, inner]: [usize; 3]) -> bool {
    let longest = match () {
        () if T::BYTES > 1 && T::few() == 0 => LONGEST_IN_NARROW,
        () if inner == 1 && T::BYTES <= 2 => LONGEST_TRANSPOSED_NARROW,
        () if inner == 1 => LONGEST_TRANSPOSED,
        () => LONGEST,
    };
    extent <= longest && outer * inner >= width::<T>() / 2
}

/// Places of a line that are compared: each of some with the one as far behind it, so that the lesser element goes to the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    /// The first place.
    first: usize,
    /// What it is compared with.
    second: usize,
    /// How many places from both on: `first + count <= second`.
    count: usize,
}

/// All comparisons that sort a line, in this order.
pub(super) fn comparisons(length: usize) -> Vec<Comparison> {
    let mut all: Vec<Comparison> = Vec::new();
    let powers = |from: usize| std::iter::successors(Some(from), |power| Some(power * 2));
    for run in powers(1).take_while(|run| *run < length) {
        for far in powers(1).take_while(|far| *far <= run).collect::<Vec<_>>().into_iter().rev() {
            let firsts = (far % run..length.saturating_sub(far)).step_by(2 * far);
            let pairs =
                firsts.flat_map(|first| (first..(first + far).min(length - far)).map(|x| (x, x + far)));
            for (first, second) in pairs.filter(|(x, y)| x / (2 * run) == y / (2 * run)) {
                match all.last_mut() {
                    Some(last) if (first, second) == (last.first + last.count, last.second + last.count) => {
                        last.count += 1;
                    }
                    _ => all.push(Comparison { first, second, count: 1 }),
                }
            }
        }
    }
    all
}

/// The lines of a unit.
pub(super) struct Lines {
    /// The first of them.
    pub first: usize,
    /// How many there are.
    pub count: usize,
    /// The elements of each.
    pub extent: usize,
    /// How far these are apart.
    pub inner: usize,
}

impl Lines {
    /// Has elements moved between the array and rows that have one of each line: `by` gets the places in both, and how many elements lie
    /// side by side in both.
    #[inline(always)]
    fn each(&self, width: usize, by: impl Fn(usize, usize, usize)) {
        let Self { first, count, extent, inner } = *self;
        if inner == 1 {
            for line in 0..count {
                for row in 0..extent {
                    by((first + line) * extent + row, row * width + line, 1);
                }
            }
            return;
        }
        let mut line = 0;
        while line < count {
            let (plane, place) = ((first + line) / inner, (first + line) % inner);
            let run = (inner - place).min(count - line);
            for row in 0..extent {
                by((plane * extent + row) * inner + place, row * width + line, run);
            }
            line += run;
        }
    }

    /// Sorts the lines of an array, by way of `rows`: one by one if there is a NaN among them, or zeros of both signs, whose order keys
    /// do not tell.
    ///
    /// # Safety
    /// `data` points to the array, which nobody else reads or writes where the lines are.
    pub unsafe fn sort<T: Key>(
        &self,
        data: *mut T,
        rows: &mut Vec<T>,
        (order, comparisons): (&impl Order<T>, &[Comparison]),
    ) {
        let width = width::<T>();
        rows.clear();
        rows.resize(self.extent * width, T::ZERO);
        let there = rows.as_mut_ptr();
        // SAFETY: by contract; as many elements are in the array and in the rows.
        self.each(width, |here, row, count| unsafe { copy(data.add(here), there.add(row), count) });
        // What is not there is as the first line is.
        if self.count < width {
            for row in rows.chunks_exact_mut(width) {
                let first = row[0];
                row[self.count..].fill(first);
            }
        }
        let are_keys = order.to_keys(rows);
        if are_keys {
            T::widely(&Comparisons(comparisons), rows);
        }
        order.to_values(rows);
        if !are_keys {
            self.sort_one_by_one(rows, order);
        }
        let there = rows.as_ptr();
        // SAFETY: as above.
        self.each(width, |here, row, count| unsafe { copy(there.add(row), data.add(here), count) });
    }

    /// Sorts the columns of rows one by one.
    fn sort_one_by_one<T: Key>(&self, rows: &mut [T], order: &impl Order<T>) {
        let width = width::<T>();
        let mut line = vec![T::ZERO; self.extent];
        for column in 0..self.count {
            let places = (column..rows.len()).step_by(width);
            line.iter_mut().zip(places.clone()).for_each(|(element, place)| *element = rows[place]);
            order.sort(&mut line);
            line.iter().zip(places).for_each(|(element, place)| rows[place] = *element);
        }
    }
}

/// Copies elements, one of which is copied at once.
///
/// # Safety
/// As of [`std::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copy<T: Copy>(from: *const T, to: *mut T, count: usize) {
    // SAFETY: by contract.
    unsafe {
        match count {
            1 => *to = *from,
            _ => std::ptr::copy_nonoverlapping(from, to, count),
        }
    }
}

/// Makes comparisons in all columns of some rows.
struct Comparisons<'a>(&'a [Comparison]);

impl<T: Key> Pass<T> for Comparisons<'_> {
    #[inline(always)]
    fn over(&self, rows: &mut [T]) {
        let width = width::<T>();
        for Comparison { first, second, count } in self.0 {
            let (before, from) = rows.split_at_mut(second * width);
            let (firsts, seconds) =
                (&mut before[first * width..][..count * width], &mut from[..count * width]);
            for (first, second) in firsts.iter_mut().zip(seconds) {
                (*first, *second) = ((*first).min(*second), (*first).max(*second));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that sorts all zeros and ones sorts everything.
    #[test]
    fn comparisons_sort_all_lines_of_zeros_and_ones() {
        for length in 0..=18 {
            let comparisons = comparisons(length);
            for ones in 0_u32..1 << length {
                let mut bits = ones;
                for Comparison { first, second, count } in &comparisons {
                    assert!(first + count <= *second, "the lesser element goes first");
                    for (x, y) in (0..*count).map(|place| (first + place, second + place)) {
                        let is_turned = bits >> x & 1 > bits >> y & 1;
                        bits ^= u32::from(is_turned) * (1 << x | 1 << y);
                    }
                }
                let sorted = ((1 << ones.count_ones()) - 1) << (length as u32 - ones.count_ones());
                assert_eq!(bits, sorted, "{ones:b} of {length}");
            }
        }
    }
}
