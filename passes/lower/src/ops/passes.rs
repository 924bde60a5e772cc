//! In how many passes reductions are made: one dimension after the other, rows first, or in parts.

use super::Readers;
use crate::graph::{Cut, Graph};
use crate::kernel::Taken;
use crate::order::{BLOCK, SHORT_ROW};
use crate::target::Cuts;
use promote_dialect::extent::{Extent, Product, Rule};

/// What is reduced by less than this is not worth writing and reading once more.
const WORTH_A_PASS: i64 = 32;
/// So many results stay in the caches until lines of memory are whole, in whatever order they are written.
const WORTH_TURNING: i64 = 1 << 17;
/// With fewer results beside each other, reducing a dimension before them by itself takes longer than with those before it.
const WORTH_BESIDE: i64 = 16;

/// Whether the reduced dimensions are the last one, which is shorter than vectors, and others.
pub(super) fn has_short_rows(own: &[Extent], gone: &[usize]) -> bool {
    let [.., before, last] = gone else { return false };
    let is_short = own[*last].fixed().is_some_and(|extent| extent <= SHORT_ROW);
    is_short && last + 1 == own.len() && before + 1 != *last
}

/// The longest run of several reduced dimensions, to be reduced first, and the others as they are counted then: so that loops go along
/// few dimensions, which may be any ones in memory. The last dimensions are a run, as they are in memory; of others that follow each
/// other, a run is as many of the last ones as are worth writing their results. None if no run is.
pub(super) fn one_first(own: &[Extent], gone: &[usize]) -> Option<(Vec<usize>, Vec<usize>)> {
    known(own, gone)?;
    let neighbours = gone.chunk_by(|axis, next| axis + 1 == *next);
    let runs = neighbours.filter_map(|axes| {
        let last = axes.last()? + 1;
        if last == own.len() {
            return Some((axes, known(own, axes)?));
        }
        let beside: Vec<usize> = (last..own.len()).collect();
        let is_wide = known(own, &beside).is_none_or(|beside| beside >= WORTH_BESIDE);
        let suffixes = (0..axes.len()).rev().map(|first| &axes[first..]);
        let mut lengths = suffixes.filter_map(|axes| Some((axes, known(own, axes)?)));
        lengths.find(|(_, length)| *length >= WORTH_A_PASS).filter(|_| is_wide)
    });
    // Of equals the first one: its results are beside each other.
    let runs: Vec<(&[usize], i64)> = runs.filter(|(_, length)| *length >= WORTH_A_PASS).collect();
    let (first, _) = runs.into_iter().rev().max_by_key(|(_, length)| *length)?;
    let rest = others(gone, first);
    (!rest.is_empty()).then(|| (first.to_vec(), rest))
}

/// The dimensions to reduce first and the others, as they are counted then, where so much is read that it is in no cache. What lies in any
/// order in memory is read as it lies along few dimensions, and packed where several count as one. So it is as few of the last dimensions as
/// have long rows, if all or the last ones alone are reduced. Where all are, and all but the first one together have short rows, it is the
/// longest dimension, the first of equals. Where not all are, there must be many such rows, and nothing else may read what is reduced: what is
/// made of the elements and of their sums may be read at once with them. Dimensions of one index do not count.
pub(super) fn far_first(
    cuts: Cuts,
    own: &[Extent],
    gone: &[usize],
    readers: Readers,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let extent = |axis: &usize| own[*axis].fixed();
    let is_long = |axis: &usize| extent(axis) != Some(1);
    let (long, kept): (Vec<usize>, Vec<usize>) =
        (0..own.len()).filter(is_long).partition(|axis| gone.contains(axis));
    let count = known(own, &long)?.saturating_mul(known(own, &kept)?);
    let longest = long.iter().copied().rev().max_by_key(extent);
    let longest = longest.filter(|_| long.len() > 1 && count > cuts.far)?;
    let mut suffixes =
        (1..long.len()).rev().filter_map(|from| Some((&long[from..], known(own, &long[from..])?)));
    let rows = suffixes.find(|(_, length)| *length > SHORT_ROW);
    let is_many = |(_, length): &(&[usize], i64)| count / length >= cuts.most;
    let are_last = kept.iter().all(|axis| *axis < long[0]);
    let first = match (are_all(own, gone), readers) {
        (true, Readers::One | Readers::Several) => rows.map_or(vec![longest], |(axes, _)| axes.to_vec()),
        (false, Readers::One) if are_last => rows.filter(is_many)?.0.to_vec(),
        (false, Readers::One | Readers::Several) => return None,
    };
    let rest = others(gone, &first);
    Some((first, rest))
}

/// Whether a reduction has so many results that those are written faster in the order in which they are computed, and then turned, than each
/// where it belongs.
pub(super) fn are_many_results(own: &[Extent], gone: &[usize]) -> bool {
    let kept: Vec<usize> = (0..own.len()).filter(|axis| !gone.contains(axis)).collect();
    known(own, &kept).is_some_and(|results| results > WORTH_TURNING)
}

/// Whether all dimensions are reduced, but for those of one index.
fn are_all(own: &[Extent], gone: &[usize]) -> bool {
    (0..own.len()).all(|axis| gone.contains(&axis) || own[axis] == Extent::Fixed(1))
}

/// The reduced dimensions but some, as they are counted when those are gone.
fn others(gone: &[usize], first: &[usize]) -> Vec<usize> {
    let rest = gone.iter().filter(|axis| !first.contains(axis));
    rest.map(|axis| axis - first.iter().filter(|gone| *gone < axis).count()).collect()
}

/// How many indices some dimensions have together, if all know it.
fn known(own: &[Extent], axes: &[usize]) -> Option<i64> {
    axes.iter().try_fold(1_i64, |all, axis| Some(all.saturating_mul(own[*axis].fixed()?)))
}

/// The first of several reduced dimensions and the others, if a reduction that would be cut has long rows, and many of them: it reduces
/// those, and then what they are reduced to. So there is much to do at once, in whatever order the rows lie in memory.
pub(super) fn rows_first<'g>(
    graph: &mut Graph,
    own: &[Extent],
    gone: &'g [usize],
) -> Option<(&'g [usize], &'g [usize])> {
    let cuts = graph.cuts?;
    let kept: Vec<usize> = (0..own.len()).filter(|axis| !gone.contains(axis)).collect();
    let kept = known(own, &kept)?;
    let is_enough = |outer: &usize| {
        known(own, &gone[..*outer]).is_some_and(|rows| rows.saturating_mul(kept) >= cuts.most)
    };
    let outer = (1..gone.len()).find(is_enough)?;
    let is_long = known(own, &gone[outer..])? >= cuts.long_row;
    (is_long && cut(graph, own, gone).is_some()).then(|| gone.split_at(outer))
}

/// Whether the last dimension is reduced.
pub(super) fn is_in_rows(own: &[Extent], gone: &[usize]) -> bool {
    gone.last().is_some_and(|last| last + 1 == own.len())
}

/// A reduction with so few results that they do not occupy all processors is cut, if it is or may be long.
pub(super) fn cut(graph: &mut Graph, own: &[Extent], gone: &[usize]) -> Option<Cut> {
    let cuts = graph.cuts?;
    let is_kept = |axis: &usize| !gone.contains(axis);
    let kept = (0..own.len()).filter(is_kept);
    let kept = kept.fold(Product::number(1), |all, axis| &all * &Product::from(own[axis])).fixed()?;
    let many = if is_in_rows(own, gone) { cuts.many_rows } else { cuts.many_columns };
    // Columns stand beside each other; other dimensions before them are as good as rows.
    let columns = (0..own.len()).rev().take_while(is_kept).count();
    let blocks: Vec<usize> = (0..own.len() - columns).filter(is_kept).collect();
    if columns > 0 && known(own, &blocks).is_some_and(|blocks| blocks >= cuts.many_rows) {
        return None;
    }
    // Parts of an outer dimension are the longest runs of memory.
    let is_long = |axis: &&usize| own[**axis].fixed().is_none_or(|extent| extent >= cuts.most);
    let longest = || gone.iter().max_by_key(|axis| own[**axis].fixed().unwrap_or(i64::MAX));
    let axis = *gone.iter().find(is_long).or_else(longest)?;
    let count = own.iter().fold(Product::number(1), |all, extent| &all * &Product::from(*extent));
    let length = cuts.length.max(kept.saturating_mul(cuts.least_terms));
    if kept >= many || count.fixed().is_some_and(|count| count / 2 < length) {
        return None;
    }
    let parts = graph.extents.of(Rule::Parts { count, length, most: cuts.most });
    let length = graph.extents.of(Rule::PartLength { extent: own[axis], parts });
    if let (Extent::Fixed(extent), Extent::Fixed(length @ BLOCK..)) = (own[axis], length)
        && gone.len() == 1
        && !is_in_rows(own, gone)
    {
        // Whole blocks of rows, which are read in squares and begin where lines of the cache do, but no more parts than there may be.
        let nearest = (length + BLOCK / 2) / BLOCK * BLOCK;
        let are_few = extent <= nearest.saturating_mul(cuts.most);
        let length = Extent::Fixed(if are_few { nearest } else { nearest + BLOCK });
        let parts = graph.extents.of(Rule::PartLength { extent: own[axis], parts: length });
        return Some(Cut { axis, parts, length, taken: Taken::Own });
    }
    Some(Cut { axis, parts, length, taken: Taken::Own })
}

/// A cumulative op is cut if it is or may be long, and has too few results beside its axis to occupy all processors.
pub(super) fn cut_of_scan(graph: &mut Graph, own: &[Extent], axis: usize) -> Option<Cut> {
    let cuts = graph.cuts?;
    let others = (0..own.len()).filter(|other| *other != axis);
    let kept = others.fold(Product::number(1), |all, other| &all * &Product::from(own[other])).fixed()?;
    // Rows are cut into runs of memory; columns are cut across it.
    let length = if axis + 1 == own.len() { cuts.scanned } else { cuts.scanned >> kept.max(1).ilog2() };
    if kept >= cuts.many_scans || own[axis].fixed().is_some_and(|extent| extent <= length) {
        return None;
    }
    let length = Extent::Fixed(length);
    // As many parts as there are of that length.
    let parts = graph.extents.of(Rule::PartLength { extent: own[axis], parts: length });
    Some(Cut { axis, parts, length, taken: Taken::Own })
}

#[cfg(test)]
mod tests {
    use super::Readers::{One, Several};
    use super::*;
    use crate::target::Costs;

    #[test]
    fn what_is_far_is_reduced_along_few_dimensions_first() {
        let cuts = Costs::COMMON.cuts.expect("long reductions are cut");
        for (extents, gone, first) in [
            (vec![65_536, 512], vec![0, 1], Some(vec![1])),
            (vec![1 << 18, 33], vec![0, 1], Some(vec![1])),
            (vec![1 << 18, 32], vec![0, 1], None),
            (vec![(1 << 18) + 1, 32], vec![0, 1], Some(vec![0])),
            (vec![31, 1 << 20], vec![0, 1], Some(vec![1])),
            (vec![100_000, 100, 3], vec![0, 1, 2], Some(vec![1, 2])),
            (vec![1000, 1000, 33], vec![0, 1, 2], Some(vec![2])),
            (vec![1000, 1000, 32], vec![0, 1, 2], Some(vec![1, 2])),
            (vec![1000, 33, 1000], vec![0, 1, 2], Some(vec![2])),
            (vec![256, 512, 256], vec![0, 1, 2], Some(vec![2])),
            (vec![63, 8192, 33], vec![0, 1, 2], Some(vec![2])),
            (vec![1_000_000, 4, 5], vec![0, 1, 2], Some(vec![0])),
            // All in one dimension, or not all of it.
            (vec![1, 1 << 25, 1], vec![0, 1, 2], None),
            (vec![100_000, 1, 100], vec![0, 1, 2], Some(vec![2])),
            // Not all, but the last ones.
            (vec![1000, 1000, 1000], vec![1, 2], Some(vec![2])),
            (vec![129, 500, 520], vec![1, 2], Some(vec![2])),
            (vec![1600, 500, 40], vec![1, 2], Some(vec![2])),
            (vec![1600, 500, 32], vec![1, 2], None),
            (vec![100, 1600, 500, 32], vec![1, 2, 3], Some(vec![2, 3])),
            (vec![1000, 1, 1000, 1000, 1], vec![1, 2, 3], Some(vec![3])),
            (vec![3, 21, 1 << 20], vec![1, 2], None),
            (vec![4, 16, 1 << 20], vec![1, 2], Some(vec![2])),
            (vec![128, 256, 256], vec![1, 2], None),
            (vec![1000, 1000, 1000], vec![0, 1], None),
            (vec![1000, 1000, 1000], vec![0, 2], None),
            (vec![1, 4096, 4096], vec![1, 2], Some(vec![2])),
            (vec![4096, 1, 4096], vec![0, 2], Some(vec![2])),
            (vec![1 << 25], vec![0], None),
        ] {
            let own: Vec<Extent> = extents.iter().map(|extent| Extent::Fixed(*extent)).collect();
            let kept = own.len() - gone.len();
            // What others read as well is reduced likewise if all of it is.
            for (readers, first) in [(One, first.clone()), (Several, first.filter(|_| are_all(&own, &gone)))]
            {
                let found = far_first(cuts, &own, &gone, readers);
                let axes = found.as_ref().map(|(first, _)| first.clone());
                assert_eq!(axes, first, "{extents:?}, {gone:?}, {readers:?}");
                let Some((first, rest)) = found else { continue };
                let left = own.len() - first.len();
                assert!(
                    rest.len() + kept == left && rest.iter().all(|axis| *axis < left),
                    "{rest:?} of {extents:?}"
                );
            }
        }
    }

    #[test]
    fn columns_are_cut_into_whole_blocks_and_no_more_parts_than_there_may_be() {
        let cuts = Costs::COMMON.cuts.expect("long reductions are cut");
        for rows in [1 << 14, 18_000, 20_000, 22_000, 33_000, 99_999, 1 << 20] {
            let mut graph = Graph { cuts: Some(cuts), ..Graph::default() };
            let own = [Extent::Fixed(rows), Extent::Fixed(1000)];
            let cut = cut(&mut graph, &own, &[0]).expect("it is long");
            let (length, parts) =
                (cut.length.fixed().expect("it is known"), graph.extents.resolve(cut.parts));
            assert_eq!(length % BLOCK, 0, "{rows}");
            assert_eq!(parts.fixed(), Some((rows + length - 1) / length), "{rows}");
            assert!(parts.fixed().is_some_and(|parts| parts <= cuts.most), "{rows}: {parts:?}");
        }
    }
}
