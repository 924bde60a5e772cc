//! Means, variances, standard deviations, and `logsumexp`, which is reduced like them.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};

use super::reductions::{
    count, keep, log_sum_exp, only_element, over_source, permuted_argument, reduce, reduce_whole,
    reduced_axes, spread,
};
use super::views::view;
use super::{Call, Readers, accumulator, convert, map, splat};
use crate::graph::{Graph, Index, NodeId, Prim};
use crate::target::Cuts;
use promote_dialect::extent::{Extent, Product};

pub(super) fn moment(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let gone = reduced_axes(graph, call);
    let x = call.args[0];
    let wide = match graph.node(x).dtype.kind() {
        Kind::Float | Kind::Complex => accumulator(graph.node(x).dtype),
        Kind::Bool | Kind::Unsigned | Kind::Signed => accumulator(call.dtype),
    };
    let x = convert(graph, x, wide);
    let found = match permuted_argument(graph, x) {
        Some((source, places)) => {
            over_source(graph, &places, &gone, |graph, gone| moment_of(graph, call, source, gone))
        }
        None => moment_of(graph, call, x, &gone),
    };
    let found = convert(graph, found, call.dtype);
    keep(graph, call, found, &gone)
}

fn moment_of(graph: &mut Graph, call: Call<'_>, x: NodeId, gone: &[usize]) -> NodeId {
    let correction = call.attrs.number("correction").unwrap_or(0.0);
    match call.op {
        Op::Mean => only_element(graph, call, x, gone).unwrap_or_else(|| mean(graph, x, gone, call.readers)),
        Op::Var => variance(graph, x, gone, (correction, call.numerics)),
        Op::Std => {
            let variance = variance(graph, x, gone, (correction, call.numerics));
            let dtype = graph.node(variance).dtype;
            map(graph, Op::Sqrt, &[variance], dtype)
        }
        Op::LogSumExp => log_sum_exp(graph, x, gone),
        op => unreachable!("{op} is no moment"),
    }
}

fn mean(graph: &mut Graph, x: NodeId, gone: &[usize], readers: Readers) -> NodeId {
    let sum = reduce(graph, Op::Sum, x, gone, readers);
    let (own, shape, dtype) = (graph.shape(x), graph.shape(sum), graph.node(x).dtype);
    let count = count(graph, &own, gone, dtype, shape);
    if dtype.is_inexact() {
        return map(graph, Op::Divide, &[sum, count], dtype);
    }
    // TensorFlow's mean of integers is the whole part.
    let rest = map(graph, Op::Fmod, &[sum, count], dtype);
    let multiple = map(graph, Op::Subtract, &[sum, rest], dtype);
    map(graph, Op::FloorDivide, &[multiple, count], dtype)
}

/// With no degrees of freedom left, NumPy and PyTorch divide by zero, and JAX returns NaN.
fn variance(graph: &mut Graph, x: NodeId, gone: &[usize], (correction, numerics): (f64, Numerics)) -> NodeId {
    let (own, part) = (graph.shape(x), graph.node(x).dtype.real_part());
    let elements = gone.iter().fold(Product::number(1), |all, axis| &all * &Product::from(own[*axis]));
    let sum = match (parts(graph, x, gone), elements.fixed()) {
        (Some(parts), Some(elements)) => squares_of_parts(graph, parts, elements as f64),
        (Some(_) | None, _) => {
            let mean = mean(graph, x, gone, Readers::Several);
            let distances = distances(graph, x, mean, gone);
            let squares = squares(graph, distances);
            reduce(graph, Op::Sum, squares, gone, Readers::Several)
        }
    };
    let shape = graph.shape(sum);
    let is_enough = elements.fixed().is_some_and(|elements| elements as f64 > correction);
    let count = count(graph, &own, gone, part, shape.clone());
    let correction = splat(graph, correction, part, shape.clone());
    let freedom = map(graph, Op::Subtract, &[count, correction], part);
    if is_enough {
        return map(graph, Op::Divide, &[sum, freedom], part);
    }
    let none = splat(graph, 0.0, part, shape.clone());
    let freedom = map(graph, Op::Maximum, &[freedom, none], part);
    let quotient = map(graph, Op::Divide, &[sum, freedom], part);
    match numerics {
        Numerics::NumPy | Numerics::Torch => quotient,
        Numerics::Jax => {
            let is_some = map(graph, Op::Greater, &[freedom, none], DType::B1);
            let nan = splat(graph, f64::NAN, part, shape);
            map(graph, Op::Where, &[is_some, quotient, nan], part)
        }
    }
}

/// The distances from means, which lack the dimensions that are `gone`.
fn distances(graph: &mut Graph, x: NodeId, mean: NodeId, gone: &[usize]) -> NodeId {
    let (own, dtype) = (graph.shape(x), graph.node(x).dtype);
    let mean = spread(graph, mean, gone, &own);
    map(graph, Op::Subtract, &[x, mean], dtype)
}

fn squares(graph: &mut Graph, distances: NodeId) -> NodeId {
    let dtype = graph.node(distances).dtype;
    let part = dtype.real_part();
    let lengths = if part == dtype { distances } else { map(graph, Op::Abs, &[distances], part) };
    map(graph, Op::Square, &[lengths], part)
}

/// Some of the elements of a tensor, in parts, all of so many elements.
struct Parts {
    x: NodeId,
    /// The dimensions of a part.
    within: Vec<usize>,
    /// The dimensions of what the parts are reduced to, along which they belong to one result.
    across: Vec<usize>,
    /// How many elements a part has.
    count: f64,
}

/// What is known of parts.
struct Moments {
    sum: NodeId,
    /// About the mean: the sum divided by the number of elements.
    center: NodeId,
    /// The sums of the distances from the center, and of their squares.
    distances: NodeId,
    squares: NodeId,
    /// How many elements a part has.
    count: f64,
    across: Vec<usize>,
}

impl Moments {
    fn new(graph: &mut Graph, Parts { x, within, across, count }: Parts) -> Self {
        let sum = reduce_whole(graph, Op::Sum, x, &within);
        let center = divided(graph, sum, count);
        let from_center = distances(graph, x, center, &within);
        let distances = reduce_whole(graph, Op::Sum, from_center, &within);
        let squares = squares(graph, from_center);
        let squares = reduce_whole(graph, Op::Sum, squares, &within);
        Self { sum, center, distances, squares, count, across }
    }

    /// The sums of the distances from a number, and of their squares, over all parts. The center is as far from the mean of a part as
    /// `distances / count`: the squares of that are too much, and those of the distance of the mean from the number are missing.
    ///
    /// Where the number is not finite, the squares from the center alone, which say whether elements are.
    fn from(&self, graph: &mut Graph, (number, is_finite): (NodeId, NodeId)) -> (NodeId, NodeId) {
        let (dtype, part) = (graph.node(self.sum).dtype, graph.node(self.squares).dtype);
        // Two nodes: fusion would store one of that cost which is used twice, and start another kernel for that.
        let [of_center, again] = [(); 2].map(|()| distances(graph, self.center, number, &self.across));
        let in_part = divided(graph, self.distances, self.count);
        let of_mean = map(graph, Op::Add, &[of_center, in_part], dtype);
        let [missing, surplus] = [of_mean, in_part].map(|distances| squares(graph, distances));
        let change = less(graph, missing, surplus);
        let change = multiplied(graph, change, self.count);
        let changed = map(graph, Op::Add, &[self.squares, change], part);
        let shape = graph.shape(changed);
        let is_finite = spread(graph, is_finite, &self.across, &shape);
        let squares = map(graph, Op::Where, &[is_finite, changed, self.squares], part);
        let [of_center, from_center, squares] =
            [again, self.distances, squares].map(|terms| reduce_whole(graph, Op::Sum, terms, &self.across));
        let of_center = multiplied(graph, of_center, self.count);
        (map(graph, Op::Add, &[of_center, from_center], dtype), squares)
    }
}

/// A sum of squares less another, if that is finite: infinite squares less infinite ones stay infinite, and do not become NaN.
fn less(graph: &mut Graph, squares: NodeId, other: NodeId) -> NodeId {
    let (shape, dtype) = (graph.shape(other), graph.node(other).dtype);
    let is_finite = map(graph, Op::IsFinite, &[other], DType::B1);
    let zero = splat(graph, 0.0, dtype, shape);
    let other = map(graph, Op::Where, &[is_finite, other, zero], dtype);
    map(graph, Op::Subtract, &[squares, other], dtype)
}

fn divided(graph: &mut Graph, x: NodeId, number: f64) -> NodeId {
    let (shape, dtype) = (graph.shape(x), graph.node(x).dtype);
    let number = splat(graph, number, dtype, shape);
    map(graph, Op::Divide, &[x, number], dtype)
}

fn multiplied(graph: &mut Graph, x: NodeId, number: f64) -> NodeId {
    let (shape, dtype) = (graph.shape(x), graph.node(x).dtype);
    let number = splat(graph, number, dtype, shape);
    map(graph, Op::Multiply, &[x, number], dtype)
}

/// The sum of the squares of the distances from the mean, for which memory is read once: a part is in the caches when it is read
/// again. Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance: Analysis and Recommendations" (1983), say how
/// those of parts are added up, and that distances from about the mean have sums, too, which say how far it is. Each result is of
/// `count` elements.
fn squares_of_parts(graph: &mut Graph, parts: Vec<Parts>, count: f64) -> NodeId {
    let moments: Vec<Moments> = parts.into_iter().map(|parts| Moments::new(graph, parts)).collect();
    let sums: Vec<NodeId> =
        moments.iter().map(|of| reduce_whole(graph, Op::Sum, of.sum, &of.across)).collect();
    let sum = total(graph, &sums);
    let mean = divided(graph, sum, count);
    let is_finite = map(graph, Op::IsFinite, &[mean], DType::B1);
    let (distances, squares): (Vec<NodeId>, Vec<NodeId>) =
        moments.iter().map(|of| of.from(graph, (mean, is_finite))).unzip();
    let (distances, all) = (total(graph, &distances), total(graph, &squares));
    // The mean is rounded, too. What is left of nothing may be less than that; the mean of finite elements is infinite if their sum is,
    // and so is the variance.
    let part = graph.node(all).dtype;
    let surplus = divided(graph, distances, count);
    let surplus = self::squares(graph, surplus);
    let surplus = multiplied(graph, surplus, count);
    let exact = less(graph, all, surplus);
    let shape = graph.shape(exact);
    let zero = splat(graph, 0.0, part, shape);
    let exact = map(graph, Op::Maximum, &[exact, zero], part);
    let infinite = self::squares(graph, mean);
    let infinite = map(graph, Op::Add, &[all, infinite], part);
    map(graph, Op::Where, &[is_finite, exact, infinite], part)
}

/// The sum of the results of all parts, of which there are some.
fn total(graph: &mut Graph, parts: &[NodeId]) -> NodeId {
    let dtype = graph.node(parts[0]).dtype;
    parts[1..].iter().fold(parts[0], |all, part| map(graph, Op::Add, &[all, *part], dtype))
}

/// A tensor in parts, if a reduction is worth that.
fn parts(graph: &mut Graph, x: NodeId, gone: &[usize]) -> Option<Vec<Parts>> {
    let extents: Vec<i64> = graph.shape(x).iter().map(|extent| extent.fixed()).collect::<Option<_>>()?;
    let Part { first, length } = Part::new(&graph.cuts?, &extents, gone)?;
    let (axis, extent) = (gone[first], extents[gone[first]]);
    let (outer, within) = (gone[..first].to_vec(), gone[first..].to_vec());
    let inner: f64 = gone[first + 1..].iter().map(|axis| extents[*axis] as f64).product();
    if length == extent {
        return Some(vec![Parts { x, within, across: outer, count: inner * extent as f64 }]);
    }
    let dtype = graph.node(x).dtype;
    let mut shape = graph.shape(x);
    shape.splice(axis..=axis, [extent / length, length].map(Extent::Fixed));
    let mut parts = vec![Parts {
        x: graph.push(Prim::Split(axis, length), &[x], dtype, shape),
        within: within.iter().map(|axis| axis + 1).collect(),
        across: [outer.as_slice(), &[axis]].concat(),
        count: inner * length as f64,
    }];
    let rest = extent % length;
    if rest > 0 {
        let mut shape = graph.shape(x);
        shape[axis] = Extent::Fixed(rest);
        let mut indices: Vec<Index> = (0..shape.len()).map(Index::same).collect();
        indices[axis].start = Extent::Fixed(extent - rest);
        let x = view(graph, x, indices, shape);
        parts.push(Parts { x, within, across: outer, count: inner * rest as f64 });
    }
    Some(parts)
}

/// The parts of a reduction.
struct Part {
    /// The first reduced dimension that a part has elements along: all of the later ones are in a part.
    first: usize,
    /// How many.
    length: i64,
}

impl Part {
    /// `None` if that is not worth it: what is reduced stays in the caches as it is, or parts would not, or would be too many.
    fn new(cuts: &Cuts, extents: &[i64], gone: &[usize]) -> Option<Self> {
        let count = |extents: &[i64]| extents.iter().fold(1_i64, |all, extent| all.saturating_mul(*extent));
        let after = |place: usize| count(&extents[gone[place] + 1..]);
        if count(extents) < cuts.reread {
            return None;
        }
        let first = (0..gone.len()).find(|place| after(*place) <= cuts.part).or(gone.len().checked_sub(1))?;
        let terms = gone[first + 1..].iter().fold(1_i64, |all, axis| all.saturating_mul(extents[*axis]));
        let (extent, inside) = (extents[gone[first]], after(first));
        let least = 1 + (cuts.least_terms - 1) / terms;
        let length = least.max(cuts.part / inside);
        let length = match extent / 2 < length {
            true => extent,
            // Of a length that divides the extent nothing is left.
            false => {
                (least.max(length / 2)..=length).rev().find(|length| extent % length == 0).unwrap_or(length)
            }
        };
        let is_whole = first == 0 && length == extent;
        let is_worth_it = length >= least && length.saturating_mul(inside) <= cuts.reread;
        let beside = inside / terms;
        (!is_whole && is_worth_it && !(2..cuts.few).contains(&beside)).then_some(Self { first, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Costs;

    fn part(extents: &[i64], gone: &[usize]) -> Option<(usize, i64)> {
        let cuts = Costs::COMMON.cuts.expect("reductions are cut");
        Part::new(&cuts, extents, gone).map(|part| (part.first, part.length))
    }

    #[test]
    fn parts_stay_in_the_caches_and_are_no_more_than_they_must_be() {
        assert_eq!(part(&[1_000_000, 64], &[0]), Some((0, 500)));
        assert_eq!(part(&[999_983, 64], &[0]), Some((0, 512)));
        assert_eq!(part(&[1 << 25], &[0]), Some((0, 1 << 15)));
        // A length that divides the extent is no excuse for parts of a few terms.
        assert_eq!(part(&[20_000, 1024], &[0]), Some((0, 64)));
        assert_eq!(part(&[20_011, 1024], &[0]), Some((0, 64)));
        assert_eq!(part(&[64, 256, 56, 56], &[0, 2, 3]), Some((1, 56)));
        assert_eq!(part(&[64, 56, 56, 256], &[0, 1, 2]), Some((1, 2)));
    }

    #[test]
    fn what_is_small_or_has_no_small_parts_is_whole() {
        assert_eq!(part(&[1000, 1000], &[0]), None);
        assert_eq!(part(&[4096, 4096], &[1]), None);
        assert_eq!(part(&[128, 1 << 17], &[0]), None);
        assert_eq!(part(&[1 << 22, 3], &[0]), None);
        assert_eq!(part(&[64, 1 << 20, 3], &[0, 2]), None);
        assert_eq!(part(&[0, 1 << 30], &[0]), None);
    }
}
