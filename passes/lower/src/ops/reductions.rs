//! Reductions, and what is composed of them.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};
use rustc_hash::FxHashSet;

use super::passes::{
    are_many_results, cut, cut_of_scan, far_first, has_short_rows, is_in_rows, one_first, rows_first,
};
use super::views::{expand, flattened, permute, squeeze, view};
use super::{Call, Readers, accumulator, axes, axis, convert, map, splat};
use crate::graph::{Cut, Graph, Index, NodeId, Prim};
use crate::kernel::{SHORT_COLUMNS, Taken};
use crate::order::{has_any_order, has_free_order};
use promote_dialect::extent::{Extent, Product};

/// Sums and products of all elements up to each.
pub(super) fn scan(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let Call { op, attrs, args, dtype, .. } = call;
    let (x, axis) = along(graph, args[0], attrs.axes(), true);
    let x = convert(graph, x, dtype);
    let shape = graph.shape(x);
    // XLA adds nothing to a sum of one element, not even a zero, but in the dtypes that it widens.
    // Products begin with one, which changes no real number.
    let is_kept_sum = op == Op::CumulativeSum && call.numerics == Numerics::Jax && accumulates(dtype);
    let is_kept = is_kept_sum || op == Op::CumulativeProd && dtype.kind() != Kind::Complex;
    if is_kept && shape[axis] == Extent::Fixed(1) {
        return x;
    }
    let cut = cut_of_scan(graph, &shape, axis).filter(|_| has_any_order(op, dtype, call.numerics));
    let Some(cut) = cut else { return graph.push(Prim::Scan(op, axis, None), &[x], dtype, shape) };
    // Each part goes on from what those before it add up to.
    let kept = (0..shape.len()).filter(|other| *other != axis).map(|other| shape[other]);
    let of_parts: Vec<Extent> = [cut.parts].into_iter().chain(kept).collect();
    let before = Prim::Partial(op, vec![axis], Cut { taken: Taken::Before, ..cut });
    let totals = graph.push(before, &[x], dtype, of_parts.clone());
    let starts = graph.push(Prim::Scan(op, 0, None), &[totals], dtype, of_parts);
    graph.push(Prim::Scan(op, axis, Some(cut)), &[x, starts], dtype, shape)
}

/// The operand and the axis of an op along one axis: the last one, or, with `flatten`, of all elements, if none is given.
pub(super) fn along(graph: &mut Graph, x: NodeId, given: Option<&[i64]>, flatten: bool) -> (NodeId, usize) {
    match given {
        Some(list) => (x, axis(list.first().copied().unwrap_or(-1), graph.node(x).shape.len())),
        None if flatten => (flattened(graph, x), 0),
        None => (x, axis(-1, graph.node(x).shape.len())),
    }
}

pub(super) fn reduced_axes(graph: &Graph, call: Call<'_>) -> Vec<usize> {
    let rank = graph.node(call.args[0]).shape.len();
    call.attrs.axes().map_or_else(|| (0..rank).collect(), |given| axes(given, rank))
}

/// Reduces, and drops the dimensions.
pub(super) fn reduce(graph: &mut Graph, op: Op, x: NodeId, gone: &[usize], readers: Readers) -> NodeId {
    if gone.is_empty() {
        return x;
    }
    if is_single(graph, x, gone)
        && let Some(only) = reduced_alone(graph, op, x, gone)
    {
        return only;
    }
    // Of complex numbers a maximum depends on the order.
    let is_free = gone.len() == 1 || graph.node(x).dtype.kind() != Kind::Complex;
    let dtype = graph.node(x).dtype;
    if is_free && let Some((source, places)) = permuted_argument(graph, x) {
        return over_source(graph, &places, gone, |graph, gone| reduce(graph, op, source, gone, readers));
    }
    // An argument that is not row-major is read as it lies, where that makes no difference.
    if has_free_order(op, dtype)
        && let Some((source, places)) = permuted(graph, x)
    {
        let reduced =
            over_source(graph, &places, gone, |graph, gone| reduce(graph, op, source, gone, readers));
        return copied(graph, reduced);
    }
    let own = graph.shape(x);
    let shape: Vec<Extent> =
        (0..own.len()).filter(|axis| !gone.contains(axis)).map(|axis| own[axis]).collect();
    // What may be combined in any order is best read as it lies, but for short rows.
    let is_apart = !has_free_order(op, dtype) || graph.is_reversed || has_short_rows(&own, gone);
    if is_apart && let Some((first, rest)) = one_first(&own, gone) {
        let reduced = reduce(graph, op, x, &first, readers);
        return reduce(graph, op, reduced, &rest, readers);
    }
    // Of whatever op, so that several share what they read.
    if let Some((first, rest)) = graph.cuts.and_then(|cuts| far_first(cuts, &own, gone, readers)) {
        let reduced = reduce(graph, op, x, &first, readers);
        return reduce(graph, op, reduced, &rest, readers);
    }
    if let Some((outer, rows)) = rows_first(graph, &own, gone) {
        let reduced = reduce(graph, op, x, rows, readers);
        return reduce(graph, op, reduced, outer, readers);
    }
    if !has_free_order(op, dtype)
        && let Some(order) = as_it_lies(graph, x, gone, readers)
    {
        return over_turned(graph, op, x, gone, &order);
    }
    let cut = cut(graph, &own, gone);
    in_parts(graph, op, x, gone.to_vec(), cut, shape)
}

/// What one element is reduced to, if that takes no reduction: the element, but zero in the place of -0, as sums of floats begin with zero.
fn reduced_alone(graph: &mut Graph, op: Op, x: NodeId, gone: &[usize]) -> Option<NodeId> {
    let dtype = graph.node(x).dtype;
    let is_changed = match (op, dtype.kind()) {
        (Op::Any | Op::All, _) => false,
        // One times a complex number is another one if a part is infinite, its extreme with what is less than all may be that, and -0 may be
        // a part of it.
        (_, Kind::Complex) => return None,
        (Op::Sum, Kind::Float) => true,
        (Op::Sum | Op::Prod | Op::Max | Op::Maximum | Op::Min | Op::Minimum, _) => false,
        (op, _) => unreachable!("{op} reduces nothing"),
    };
    let only = squeeze(graph, x, gone);
    if !is_changed {
        return Some(only);
    }
    // XLA takes a sum with zero for the other term.
    let shape = graph.shape(only);
    let zero = splat(graph, 0.0, dtype, shape);
    let is_zero = map(graph, Op::Equal, &[only, zero], DType::B1);
    Some(map(graph, Op::Where, &[is_zero, zero, only], dtype))
}

/// Reduces in parts, if it is cut, and these.
fn in_parts(
    graph: &mut Graph,
    op: Op,
    x: NodeId,
    gone: Vec<usize>,
    cut: Option<Cut>,
    shape: Vec<Extent>,
) -> NodeId {
    let dtype = graph.node(x).dtype;
    let Some(cut) = cut else { return graph.push(Prim::Reduce(op, gone), &[x], dtype, shape) };
    let partial = [&[cut.parts], shape.as_slice()].concat();
    let partial = graph.push(Prim::Partial(op, gone, cut), &[x], dtype, partial);
    graph.push(Prim::Reduce(op, vec![0]), &[partial], dtype, shape)
}

/// What a node is a permutation of, and which of its dimensions each of that one's is.
pub(super) fn permuted(graph: &mut Graph, x: NodeId) -> Option<(NodeId, Vec<usize>)> {
    let node = graph.node(x);
    if node.prim == Prim::Convert {
        let (operand, dtype) = (node.args[0], node.dtype);
        let (source, places) = permuted(graph, operand)?;
        return Some((convert(graph, source, dtype), places));
    }
    let Prim::View(indices) = &node.prim else { return None };
    let place_of = |index: &Index| (0..node.shape.len()).find(|place| *index == Index::same(*place));
    let places: Vec<usize> = indices.iter().map(place_of).collect::<Option<_>>()?;
    let (own, source) = (graph.shape(x), graph.shape(node.args[0]));
    // The first elements of a dimension are not all of it.
    let is_whole = places.iter().zip(&source).all(|(place, extent)| own[*place] == *extent);
    let has_all = places.len() == own.len() && (0..own.len()).all(|place| places.contains(&place));
    (is_whole && has_all).then(|| (node.args[0], places))
}

/// The same, where what an argument is that is not row-major counts as the argument: sums go through all arguments in the order of
/// row-major ones.
pub(super) fn permuted_argument(graph: &mut Graph, x: NodeId) -> Option<(NodeId, Vec<usize>)> {
    let (source, places) = permuted(graph, x)?;
    let node = graph.node(source);
    let is_converted = node.prim == Prim::Convert;
    let (of, dtype) = (if is_converted { node.args[0] } else { source }, is_converted.then_some(node.dtype));
    let Some((argument, order)) = graph.arguments.get(&of).cloned() else { return Some((source, places)) };
    let place_of = |axis: usize| order.iter().position(|own| *own == axis).map(|place| places[place]);
    let places: Vec<usize> = (0..order.len()).map(place_of).collect::<Option<_>>()?;
    let argument = dtype.map_or(argument, |dtype| convert(graph, argument, dtype));
    (!places.is_sorted()).then_some((argument, places))
}

/// Reduces the source of a permutation over the same elements, in the order in which they lie in memory; then permutes what is left.
pub(super) fn over_source(
    graph: &mut Graph,
    places: &[usize],
    gone: &[usize],
    reduce: impl FnOnce(&mut Graph, &[usize]) -> NodeId,
) -> NodeId {
    let (gone, kept): (Vec<usize>, Vec<usize>) =
        (0..places.len()).partition(|axis| gone.contains(&places[*axis]));
    let reduced = reduce(graph, &gone);
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_by_key(|axis| places[kept[*axis]]);
    if order.is_sorted() {
        return reduced;
    }
    let order: Vec<i64> = order.into_iter().map(|axis| axis as i64).collect();
    permute(graph, reduced, &order)
}

/// The dimensions in the order in which arguments lie, but for those of rows, which stay last, so that elements are combined in the order of
/// rows. None if they stand so. Where they are not known to lie in reverse order, it is that of the argument that a tensor is made of, if results
/// would be written across memory that are many, or of short rows of columns, which may be one in that order; and if nothing else reads the
/// tensor, and might do so at once.
fn as_it_lies(graph: &Graph, x: NodeId, gone: &[usize], readers: Readers) -> Option<Vec<usize>> {
    let own = graph.shape(x);
    let is_kept = |axis: &usize| !gone.contains(axis);
    let is_in_rows = is_in_rows(&own, gone);
    let lies: Vec<usize> = if graph.is_reversed {
        (0..own.len()).rev().collect()
    } else if readers == Readers::One && (!is_in_rows || are_many_results(&own, gone)) {
        let lies = order_of_argument(graph, x)?;
        let is_short = |axis: &usize| own[*axis].fixed().is_some_and(|extent| extent < SHORT_COLUMNS);
        let has_short = !is_in_rows && lies.last().is_some_and(is_short);
        Some(lies).filter(|_| has_short || are_many_results(&own, gone))?
    } else {
        return None;
    };
    let kept = lies.iter().copied().filter(is_kept);
    let order: Vec<usize> = match (is_in_rows, gone) {
        (true, _) => kept.clone().chain(gone.iter().copied()).collect(),
        // Columns are not the innermost dimension.
        (false, [0]) => gone.iter().copied().chain(kept.clone()).collect(),
        (false, [axis]) if lies.last() != Some(axis) => lies.clone(),
        (false, _) => return None,
    };
    (!kept.is_sorted()).then_some(order)
}

/// The order in which the dimensions of an argument lie that is not row-major, if a tensor is made of it element by element.
fn order_of_argument(graph: &Graph, x: NodeId) -> Option<Vec<usize>> {
    if graph.arguments.is_empty() {
        return None;
    }
    let (mut seen, mut rest) = (FxHashSet::default(), vec![x]);
    while let Some(id) = rest.pop() {
        let node = graph.node(id);
        match node.prim {
            Prim::Map(_) | Prim::Convert => {
                rest.extend(node.args.iter().rev().copied().filter(|arg| seen.insert(*arg)))
            }
            Prim::View(_) => {
                let of = graph.arguments.get(&node.args[0]).filter(|(argument, _)| *argument == id);
                if let Some((_, order)) = of {
                    return Some(order.clone());
                }
            }
            Prim::Source(_)
            | Prim::Splat(_)
            | Prim::Dense(_)
            | Prim::Size(_)
            | Prim::Iota(_)
            | Prim::Split(..)
            | Prim::Reduce(..)
            | Prim::Partial(..)
            | Prim::Arg(..)
            | Prim::Scan(..)
            | Prim::Sort(_)
            | Prim::Take(_)
            | Prim::Concat(_)
            | Prim::Reshape
            | Prim::Matmul => {}
        }
    }
    None
}

/// Reduces with the dimensions in another order, as many parts as in their own; what is left has them in its own.
fn over_turned(graph: &mut Graph, op: Op, x: NodeId, gone: &[usize], order: &[usize]) -> NodeId {
    let own = graph.shape(x);
    let cut = cut(graph, &own, gone);
    let to: Vec<i64> = order.iter().map(|axis| *axis as i64).collect();
    let turned = permute(graph, x, &to);
    let place = |axis: usize| order.iter().position(|own| *own == axis).unwrap_or(axis);
    let places: Vec<usize> = gone.iter().map(|axis| place(*axis)).collect();
    let left: Vec<usize> = order.iter().copied().filter(|axis| !gone.contains(axis)).collect();
    let shape: Vec<Extent> = left.iter().map(|axis| own[*axis]).collect();
    let cut = cut.map(|cut| Cut { axis: place(cut.axis), ..cut });
    let reduced = in_parts(graph, op, turned, places, cut, shape);
    if left.is_sorted() {
        return reduced;
    }
    let mut back: Vec<i64> = (0..left.len() as i64).collect();
    back.sort_by_key(|place| left[*place as usize]);
    let turned = permute(graph, reduced, &back);
    copied(graph, turned)
}

/// A copy of what was permuted because of how an argument lies, so that sums of it go through it as where arguments are row-major.
fn copied(graph: &mut Graph, x: NodeId) -> NodeId {
    if !matches!(graph.node(x).prim, Prim::View(_)) {
        return x;
    }
    let (dtype, shape) = (graph.node(x).dtype, graph.shape(x));
    graph.push(Prim::Concat(0), &[x], dtype, shape)
}

/// A reduced tensor beside the one that was reduced: its elements again along the dimensions that are gone.
pub(super) fn spread(graph: &mut Graph, reduced: NodeId, gone: &[usize], like: &[Extent]) -> NodeId {
    let kept = (0..like.len()).filter(|axis| !gone.contains(axis)).map(Index::same).collect();
    view(graph, reduced, kept, like.to_vec())
}

pub(super) fn keep(graph: &mut Graph, call: Call<'_>, reduced: NodeId, gone: &[usize]) -> NodeId {
    if call.attrs.keepdims() && !gone.is_empty() { expand(graph, reduced, gone) } else { reduced }
}

/// The element that each sum, product or mean is of, if it is known to be one, where that is what the reduction returns: XLA does
/// nothing to one element.
pub(super) fn only_element(graph: &mut Graph, call: Call<'_>, x: NodeId, gone: &[usize]) -> Option<NodeId> {
    if call.numerics != Numerics::Jax || !is_single(graph, x, gone) {
        return None;
    }
    Some(if gone.is_empty() { x } else { squeeze(graph, x, gone) })
}

/// Whether each result of a reduction is of one element, as all know who compile.
fn is_single(graph: &Graph, x: NodeId, gone: &[usize]) -> bool {
    let shape = graph.shape(x);
    gone.iter().all(|axis| shape[*axis] == Extent::Fixed(1))
}

/// Reduces without cutting anything, and drops the dimensions.
pub(super) fn reduce_whole(graph: &mut Graph, op: Op, x: NodeId, gone: &[usize]) -> NodeId {
    if gone.is_empty() {
        return x;
    }
    let own = graph.shape(x);
    let kept = (0..own.len()).filter(|axis| !gone.contains(axis)).map(|axis| own[axis]).collect();
    let dtype = graph.node(x).dtype;
    graph.push(Prim::Reduce(op, gone.to_vec()), &[x], dtype, kept)
}

/// Whether XLA adds up in a dtype itself.
pub(super) fn accumulates(dtype: DType) -> bool {
    dtype == DType::F16 || accumulator(dtype) == dtype.storage()
}

/// Whether elements count as true. JAX's `any` and `all` take the real part of a complex number for the whole.
pub(super) fn truth(graph: &mut Graph, x: NodeId, numerics: Numerics) -> NodeId {
    let dtype = graph.node(x).dtype;
    let is_part = numerics == Numerics::Jax && dtype.kind() == Kind::Complex;
    let x = if is_part { map(graph, Op::Real, &[x], dtype.real_part()) } else { x };
    convert(graph, x, DType::B1)
}

pub(super) fn reduction(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let gone = reduced_axes(graph, call);
    let x = call.args[0];
    let (op, x) = match call.op {
        Op::Any | Op::All => (call.op, truth(graph, x, call.numerics)),
        Op::CountNonzero => {
            let truth = convert(graph, x, DType::B1);
            (Op::Sum, convert(graph, truth, call.dtype))
        }
        // Extremes are elements: nothing is rounded.
        Op::Max | Op::Min => (call.op, x),
        Op::Sum | Op::Prod => (call.op, convert(graph, x, accumulator(call.dtype))),
        op => unreachable!("{op} is no such reduction"),
    };
    if matches!(op, Op::Sum | Op::Prod)
        && let Some(element) = only_element(graph, call, x, &gone)
    {
        let converted = convert(graph, element, call.dtype);
        return keep(graph, call, converted, &gone);
    }
    let is_ordered = promote_scalar::depends_on_order(op, graph.node(x).dtype);
    let reduced = match is_ordered {
        true => reduce_whole(graph, op, x, &gone),
        false => reduce(graph, op, x, &gone, call.readers),
    };
    let reduced = convert(graph, reduced, call.dtype);
    keep(graph, call, reduced, &gone)
}

pub(super) fn arg(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let rank = graph.node(call.args[0]).shape.len();
    let (x, axis) = along(graph, call.args[0], call.attrs.axes(), true);
    let own = graph.shape(x);
    let shape: Vec<Extent> = (0..own.len()).filter(|other| *other != axis).map(|axis| own[axis]).collect();
    let found = match is_single(graph, x, &[axis]) {
        // There is one index.
        true => splat(graph, 0.0, DType::I64, shape),
        false => graph.push(Prim::Arg(call.op, axis), &[x], DType::I64, shape),
    };
    let found = convert(graph, found, call.dtype);
    match (call.attrs.keepdims(), call.attrs.axes()) {
        (true, Some(_)) => expand(graph, found, &[axis]),
        (true, None) => expand(graph, found, &(0..rank).collect::<Vec<_>>()),
        (false, _) => found,
    }
}

/// How many elements each result of a reduction is of, as a number of `dtype`.
pub(super) fn count(
    graph: &mut Graph,
    own: &[Extent],
    gone: &[usize],
    dtype: DType,
    shape: Vec<Extent>,
) -> NodeId {
    let product = gone.iter().fold(Product::number(1), |all, axis| &all * &Product::from(own[*axis]));
    let count = graph.push(Prim::Size(product), &[], DType::I64, shape);
    convert(graph, count, dtype)
}

/// The largest elements, to be subtracted before `exp`: it does not matter which zero one is.
fn peak(graph: &mut Graph, x: NodeId, gone: &[usize]) -> NodeId {
    reduce(graph, Op::Maximum, x, gone, Readers::Several)
}

pub(super) fn log_sum_exp(graph: &mut Graph, x: NodeId, gone: &[usize]) -> NodeId {
    let (own, dtype) = (graph.shape(x), graph.node(x).dtype);
    if dtype.kind() == Kind::Complex {
        let exp = map(graph, Op::Exp, &[x], dtype);
        let sum = reduce(graph, Op::Sum, exp, gone, Readers::Several);
        return map(graph, Op::Log, &[sum], dtype);
    }
    let largest = peak(graph, x, gone);
    let finite = map(graph, Op::IsFinite, &[largest], DType::B1);
    let shape = graph.shape(largest);
    let zero = splat(graph, 0.0, dtype, shape);
    let shift = map(graph, Op::Where, &[finite, largest, zero], dtype);
    let spread = spread(graph, shift, gone, &own);
    let distance = map(graph, Op::Subtract, &[x, spread], dtype);
    let exp = map(graph, Op::Exp, &[distance], dtype);
    let sum = reduce(graph, Op::Sum, exp, gone, Readers::Several);
    let log = map(graph, Op::Log, &[sum], dtype);
    map(graph, Op::Add, &[log, shift], dtype)
}

pub(super) fn softmax(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let (x, axis) = along(graph, call.args[0], call.attrs.axes(), false);
    let wide = accumulator(call.dtype);
    let x = convert(graph, x, wide);
    let own = graph.shape(x);
    let distance = match wide.kind() {
        Kind::Complex => x,
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => {
            let largest = peak(graph, x, &[axis]);
            let largest = spread(graph, largest, &[axis], &own);
            map(graph, Op::Subtract, &[x, largest], wide)
        }
    };
    let exp = map(graph, Op::Exp, &[distance], wide);
    let sum = reduce(graph, Op::Sum, exp, &[axis], Readers::Several);
    let sum = spread(graph, sum, &[axis], &own);
    let quotient = map(graph, Op::Divide, &[exp, sum], wide);
    convert(graph, quotient, call.dtype)
}
