//! Ops that move elements, look them up, or multiply matrices of them.

use promote_dialect::attrs::Attrs;
use promote_lattice::DType;
use promote_lattice::convert::Numerics;

use super::{Call, accumulator, axes, axis, convert, splat};
use crate::graph::{Graph, Index, Node, NodeId, Prim};
use promote_dialect::extent::{Extent, Product, Rule};

pub(super) fn view(graph: &mut Graph, x: NodeId, indices: Vec<Index>, shape: Vec<Extent>) -> NodeId {
    let dtype = graph.node(x).dtype;
    graph.push(Prim::View(indices), &[x], dtype, shape)
}

pub(super) fn permute(graph: &mut Graph, x: NodeId, permutation: &[i64]) -> NodeId {
    let own = graph.shape(x);
    let permutation: Vec<usize> = permutation.iter().map(|from| axis(*from, own.len())).collect();
    let mut indices = vec![Index::FIRST; own.len()];
    permutation.iter().enumerate().for_each(|(to, from)| indices[*from] = Index::same(to));
    let shape = permutation.iter().map(|from| own[*from]).collect();
    view(graph, x, indices, shape)
}

/// A 1 at each of `axes` of the result.
pub(super) fn expand(graph: &mut Graph, x: NodeId, axes: &[usize]) -> NodeId {
    let own = graph.shape(x);
    let rank = own.len() + axes.len();
    let kept: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
    let mut shape = vec![Extent::Fixed(1); rank];
    kept.iter().zip(&own).for_each(|(to, extent)| shape[*to] = *extent);
    view(graph, x, kept.into_iter().map(Index::same).collect(), shape)
}

pub(super) fn squeeze(graph: &mut Graph, x: NodeId, axes: &[usize]) -> NodeId {
    let own = graph.shape(x);
    let mut next = 0;
    let index = |axis: usize| {
        if axes.contains(&axis) {
            return Index::FIRST;
        }
        next += 1;
        Index::same(next - 1)
    };
    let indices = (0..own.len()).map(index).collect();
    let shape = (0..own.len()).filter(|axis| !axes.contains(axis)).map(|axis| own[axis]).collect();
    view(graph, x, indices, shape)
}

pub(super) fn flip(graph: &mut Graph, x: NodeId, given: Option<&[i64]>) -> NodeId {
    let shape = graph.shape(x);
    let flipped = given.map_or_else(|| (0..shape.len()).collect(), |given| axes(given, shape.len()));
    let index = |axis: usize| {
        let start = if flipped.contains(&axis) { Rule::Last(shape[axis]) } else { return Index::same(axis) };
        Index { start: graph.extents.of(start), down: true, ..Index::same(axis) }
    };
    let indices = (0..shape.len()).map(index).collect();
    view(graph, x, indices, shape)
}

pub(super) fn slice(graph: &mut Graph, x: NodeId, attrs: &Attrs) -> NodeId {
    let own = graph.shape(x);
    let [starts, stops, steps] = ["start", "stop", "step"].map(|name| attrs.list(name));
    let (mut indices, mut shape) = (Vec::new(), Vec::new());
    for (axis, extent) in own.into_iter().enumerate() {
        let (start, stop, step) = (starts[axis], stops[axis], steps[axis]);
        let first = graph.extents.of(Rule::SliceStart { extent, start, step });
        let distance = Extent::Fixed(step.saturating_abs());
        indices.push(Index { dim: Some(axis), start: first, step: distance, down: step < 0 });
        shape.push(graph.extents.of(Rule::SliceCount { extent, start, stop, step }));
    }
    view(graph, x, indices, shape)
}

/// Stretches `x` to `shape`, whose last dimensions are its own.
pub(super) fn stretch(graph: &mut Graph, x: NodeId, shape: &[Extent]) -> NodeId {
    let own = graph.shape(x);
    if own == shape {
        return x;
    }
    let missing = shape.len() - own.len();
    let mut indices = Vec::with_capacity(own.len());
    for (axis, extent) in own.iter().enumerate() {
        let wanted = shape[axis + missing];
        indices.push(match (extent, wanted) {
            (Extent::Fixed(1), _) => Index::FIRST,
            _ if *extent == wanted => Index::same(axis + missing),
            (Extent::Of(_), Extent::Fixed(1)) => Index::FIRST,
            (Extent::Fixed(_), _) => Index::same(axis + missing),
            (Extent::Of(_), _) => {
                let step = graph.extents.of(Rule::Stretch(*extent));
                Index { step, ..Index::same(axis + missing) }
            }
        });
    }
    view(graph, x, indices, shape.to_vec())
}

pub(super) fn broadcast_to(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let own = graph.shape(call.args[0]);
    let like = call.args.get(1).map(|like| graph.shape(*like));
    let target = call.attrs.list("shape");
    let mut shape = Vec::with_capacity(target.len());
    for (axis, extent) in target.iter().enumerate() {
        if *extent >= 0 {
            shape.push(Extent::Fixed(*extent));
            continue;
        }
        // A dynamic extent is that of the operands' shapes broadcast; shapes are aligned at their last dimensions.
        let from_last = target.len() - axis;
        let of = |shape: &[Extent]| shape.len().checked_sub(from_last).map(|axis| shape[axis]);
        let found = like.iter().filter_map(|like| of(like)).chain(of(&own)).collect();
        shape.push(graph.extents.of(Rule::Broadcast(found)));
    }
    stretch(graph, call.args[0], &shape)
}

pub(super) fn reshape(graph: &mut Graph, x: NodeId, target: &[i64]) -> NodeId {
    let own = graph.shape(x);
    let product = |extents: &mut dyn Iterator<Item = Extent>| {
        extents.fold(Product::number(1), |all, extent| &all * &Product::from(extent))
    };
    let count = product(&mut own.iter().copied());
    let fixed =
        product(&mut target.iter().filter(|extent| **extent >= 0).map(|extent| Extent::Fixed(*extent)));
    let rest = graph.extents.of(Rule::Quotient(count, fixed));
    let extent = |extent: &i64| if *extent < 0 { rest } else { Extent::Fixed(*extent) };
    let shape: Vec<Extent> = target.iter().map(extent).collect();
    reshaped(graph, x, shape)
}

pub(super) fn reshaped(graph: &mut Graph, x: NodeId, shape: Vec<Extent>) -> NodeId {
    if graph.shape(x) == shape {
        return x;
    }
    let dtype = graph.node(x).dtype;
    graph.push(Prim::Reshape, &[x], dtype, shape)
}

/// All elements in a row.
pub(super) fn flattened(graph: &mut Graph, x: NodeId) -> NodeId {
    if graph.node(x).shape.len() == 1 { x } else { reshape(graph, x, &[-1]) }
}

pub(super) fn concat(graph: &mut Graph, args: &[NodeId], axis: usize) -> NodeId {
    let mut shape = graph.shape(args[0]);
    for arg in &args[1..] {
        for (own, extent) in graph.shape(*arg).into_iter().enumerate().filter(|(own, _)| *own != axis) {
            shape[own] = graph.extents.unify(shape[own], extent);
        }
    }
    let extents = args.iter().map(|arg| graph.shape(*arg)[axis]).collect();
    shape[axis] = graph.extents.of(Rule::Total(extents));
    let dtype = graph.node(args[0]).dtype;
    graph.push(Prim::Concat(axis), args, dtype, shape)
}

pub(super) fn take(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let (x, indices) = (call.args[0], call.args[1]);
    let own = graph.shape(x);
    let at = axis(call.attrs.int("axis"), own.len());
    let shape = [&own[..at], &graph.shape(indices), &own[at + 1..]].concat();
    match call.numerics {
        Numerics::NumPy => check_indices(graph, &own, at, indices),
        Numerics::Jax | Numerics::Torch => {}
    }
    let dtype = graph.node(x).dtype;
    graph.push(Prim::Take(at), &[x, indices], dtype, shape)
}

/// NumPy looks at the indices of `take` once for each index of the dimensions before the one that it takes from, also where
/// those after it leave nothing to take. Then they are asked for in a tensor of truth values, which holds nothing that is
/// needed.
pub(super) fn check_indices(graph: &mut Graph, own: &[Extent], at: usize, indices: NodeId) {
    let after = own[at + 1..].iter().fold(Product::number(1), |all, extent| &all * &Product::from(*extent));
    let after = graph.extents.of(Rule::Quotient(after, Product::number(1)));
    let at_most_one =
        |graph: &mut Graph, extent| graph.extents.of(Rule::SliceCount { extent, start: 0, stop: 1, step: 1 });
    let after = at_most_one(graph, after);
    // 1 if nothing is after.
    let is_asked = graph.extents.of(Rule::Stretch(after));
    if is_asked == Extent::Fixed(0) {
        return;
    }
    let line = Product::from(own[at]);
    let line = graph.extents.of(Rule::Quotient(&line * &Product::from(is_asked), Product::number(1)));
    let line = splat(graph, 0.0, DType::B1, vec![line]);
    let places = graph.shape(indices);
    let taken = graph.push(Prim::Take(0), &[line, indices], DType::B1, places.clone());
    let before = own[..at].iter().map(|extent| at_most_one(graph, *extent)).collect::<Vec<_>>();
    let shape = [&[is_asked], before.as_slice(), &places].concat();
    let first = shape.len() - places.len();
    let kept = (first..shape.len()).map(Index::same).collect();
    let asked = view(graph, taken, kept, shape);
    graph.checked.push(asked);
}

pub(super) fn matmul(graph: &mut Graph, x: NodeId, y: NodeId, dtype: DType) -> NodeId {
    // Sums of truth values are counted, so that no sum is lost.
    let wide = if dtype == DType::B1 { DType::I64 } else { accumulator(dtype) };
    let (x, y) = (narrowed(graph, x), narrowed(graph, y));
    let (own_x, own_y) = (graph.shape(x), graph.shape(y));
    let (is_row, is_column) = (own_x.len() == 1, own_y.len() == 1);
    let one = Extent::Fixed(1);
    let of_x = if is_row { vec![one, own_x[0]] } else { own_x };
    let of_y = if is_column { vec![own_y[0], one] } else { own_y };
    let (batch_x, matrix_x) = of_x.split_at(of_x.len() - 2);
    let (batch_y, matrix_y) = of_y.split_at(of_y.len() - 2);
    let rank = batch_x.len().max(batch_y.len());
    let mut shape = Vec::with_capacity(rank + 2);
    for from_last in (1..=rank).rev() {
        let of = |batch: &[Extent]| batch.len().checked_sub(from_last).map(|axis| batch[axis]);
        let both = [of(batch_x), of(batch_y)].into_iter().flatten().collect();
        shape.push(graph.extents.of(Rule::Broadcast(both)));
    }
    let is_one = |batch: &[Extent]| batch.iter().all(|extent| *extent == one);
    let x = before_convert(graph, x, |graph, x| {
        let wanted = [&shape, matrix_x].concat();
        if is_one(&shape) {
            return reshaped(graph, x, wanted);
        }
        let x = reshaped(graph, x, of_x.clone());
        stretch(graph, x, &wanted)
    });
    let y = before_convert(graph, y, |graph, y| {
        // One matrix on the right is the same for all batches.
        if is_one(batch_y) {
            return reshaped(graph, y, matrix_y.to_vec());
        }
        match one_matrix(graph, y) {
            Some(one) => one,
            None => stretch(graph, y, &[&shape, matrix_y].concat()),
        }
    });
    let (x, y) = (convert(graph, x, wide), convert(graph, y, wide));
    graph.extents.unify(matrix_x[1], matrix_y[0]);
    shape.extend([matrix_x[0], matrix_y[1]]);
    let product = graph.push(Prim::Matmul, &[x, y], wide, shape.clone());
    if is_column {
        shape.remove(rank + 1);
    }
    if is_row {
        shape.remove(rank);
    }
    let product = reshaped(graph, product, shape);
    convert(graph, product, dtype)
}

/// An operand whose elements come from what is converted without loss, and are moved then, with the conversion last: a target
/// that takes narrower operands needs no more memory for them.
fn narrowed(graph: &mut Graph, x: NodeId) -> NodeId {
    let narrow = before_moved_converts(graph, x);
    let dtype = graph.node(x).dtype;
    if narrow == graph.before_converts(x) { x } else { convert(graph, narrow, dtype) }
}

/// The same without the conversion.
fn before_moved_converts(graph: &mut Graph, x: NodeId) -> NodeId {
    let narrow = graph.before_converts(x);
    let Node { prim: Prim::View(indices), args, shape, .. } = graph.node(narrow).clone() else {
        return narrow;
    };
    match before_moved_converts(graph, args[0]) {
        source if source == args[0] => narrow,
        source => view(graph, source, indices, shape),
    }
}

/// The matrix that all batches of `y` are, if a broadcast made them of one.
fn one_matrix(graph: &mut Graph, y: NodeId) -> Option<NodeId> {
    let Node { prim: Prim::View(indices), args, shape, .. } = graph.node(y).clone() else { return None };
    let own = graph.shape(args[0]);
    let (batch, matrix) = (own.len().checked_sub(2)?, shape.len().checked_sub(2)?);
    let is_one = own[batch..] == shape[matrix..]
        && indices[batch..] == [Index::same(matrix), Index::same(matrix + 1)]
        && own[..batch].iter().all(|extent| *extent == Extent::Fixed(1));
    is_one.then(|| reshaped(graph, args[0], own[batch..].to_vec()))
}

/// The elements of `x` elsewhere, if they move. What `x` is converted from without loss is moved instead: a target that takes
/// narrower operands than `x` needs no more memory for them then.
fn before_convert(graph: &mut Graph, x: NodeId, moved: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> NodeId {
    let narrow = graph.before_converts(x);
    let placed = moved(graph, narrow);
    if placed == narrow { x } else { placed }
}
