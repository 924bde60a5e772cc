//! What each op of the dialect means in primitives.
//!
//! Composite ops (`mean`, `var`, `softmax`, `logsumexp`, …) are taken apart here, once for all targets. Narrow floats are
//! accumulated in f32, as the libraries do it, and converted back.

use promote_dialect::attrs::Attrs;
use promote_lattice::convert::{Literal, Numerics, literal};
use promote_lattice::{DType, Kind, Op};

use super::extent::{Extent, Product};
use super::graph::{Cut, Graph, Index, NodeId, Prim, Rule};

/// An op to be added to a graph.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Which op.
    pub op: Op,
    /// Its attributes.
    pub attrs: &'a Attrs,
    /// Its operands.
    pub args: &'a [NodeId],
    /// The dtype of its result.
    pub dtype: DType,
    /// What the type of its result says of its extents.
    pub dims: &'a [Option<i64>],
    /// Whose numbers.
    pub numerics: Numerics,
}

/// Adds what an op computes. `constant` and what an IR has of its own are not ops of arithmetic: the host adds them.
pub fn add(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let result = lower(graph, call);
    graph.refine(result, call.dims);
    result
}

fn lower(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let Call { op, attrs, args, dtype, .. } = call;
    match op {
        Op::Constant | Op::Relax => unreachable!("the host handles {op}"),
        Op::Iota => iota(graph, call),
        Op::Convert => convert(graph, args[0], dtype),
        Op::Concat => concat(graph, args, axis(attrs.int("axis"), graph.node(args[0]).shape.len())),
        Op::Stack => {
            let axis = axis(attrs.int("axis"), graph.node(args[0]).shape.len() + 1);
            let expanded: Vec<_> = args.iter().map(|arg| expand(graph, *arg, &[axis])).collect();
            concat(graph, &expanded, axis)
        }
        Op::Take => take(graph, call),
        Op::Matmul => matmul(graph, args[0], args[1], dtype),
        Op::Reshape => reshape(graph, args[0], attrs.list("shape")),
        Op::PermuteDims => permute(graph, args[0], attrs.list("permutation")),
        Op::BroadcastTo => broadcast_to(graph, call),
        Op::ExpandDims => {
            let rank = graph.node(args[0]).shape.len() + attrs.list("axis").len();
            expand(graph, args[0], &axes(attrs.list("axis"), rank))
        }
        Op::Squeeze => squeeze(graph, args[0], &axes(attrs.list("axis"), graph.node(args[0]).shape.len())),
        Op::Flip => flip(graph, args[0], attrs.axes()),
        Op::Slice => slice(graph, args[0], attrs),
        Op::Sum | Op::Prod | Op::Max | Op::Min | Op::Any | Op::All | Op::CountNonzero => {
            reduction(graph, call)
        }
        Op::Mean | Op::Var | Op::Std | Op::LogSumExp => moment(graph, call),
        Op::ArgMax | Op::ArgMin => arg(graph, call),
        Op::CumulativeSum | Op::CumulativeProd => {
            let (x, axis) = along(graph, args[0], attrs.axes(), true);
            let x = convert(graph, x, dtype);
            let shape = graph.shape(x);
            // XLA adds nothing to a sum of one element, not even a zero, but in the dtypes that it widens.
            let is_kept = call.numerics == Numerics::Jax && op == Op::CumulativeSum && accumulates(dtype);
            if is_kept && shape[axis] == Extent::Fixed(1) {
                return x;
            }
            graph.push(Prim::Scan(op, axis), &[x], dtype, shape)
        }
        Op::Sort => {
            let (x, axis) = along(graph, args[0], attrs.axes(), false);
            let shape = graph.shape(x);
            graph.push(Prim::Sort(axis), &[x], dtype, shape)
        }
        Op::Softmax => softmax(graph, call),
        _ => map(graph, op, args, dtype),
    }
}

/// An op of elements; its operands' extents are equal.
fn map(graph: &mut Graph, op: Op, args: &[NodeId], dtype: DType) -> NodeId {
    let mut shape = graph.shape(args[0]);
    for arg in &args[1..] {
        for (axis, extent) in graph.shape(*arg).into_iter().enumerate().take(shape.len()) {
            shape[axis] = graph.unify(shape[axis], extent);
        }
    }
    graph.push(Prim::Map(op), args, dtype, shape)
}

/// The elements of one of two tensors, by a truth value for each, or by one for all: a tensor without dimensions.
pub fn select(graph: &mut Graph, condition: NodeId, x: NodeId, y: NodeId) -> NodeId {
    let (shape, dtype) = (graph.shape(x), graph.node(x).dtype);
    let is_one = graph.node(condition).shape.is_empty();
    let condition = if is_one { stretch(graph, condition, &shape) } else { condition };
    map(graph, Op::Where, &[condition, x, y], dtype)
}

fn convert(graph: &mut Graph, x: NodeId, dtype: DType) -> NodeId {
    if graph.node(x).dtype == dtype.storage() {
        return x;
    }
    let shape = graph.shape(x);
    graph.push(Prim::Convert, &[x], dtype, shape)
}

fn splat(graph: &mut Graph, number: f64, dtype: DType, shape: Vec<Extent>) -> NodeId {
    let bits = literal(Literal::Float(number), dtype, Numerics::Jax).bits;
    graph.push(Prim::Splat(bits), &[], dtype, shape)
}

fn axis(axis: i64, rank: usize) -> usize {
    (if axis < 0 { axis + rank as i64 } else { axis }) as usize
}

fn axes(list: &[i64], rank: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = list.iter().map(|one| axis(*one, rank)).collect();
    axes.sort_unstable();
    axes
}

/// The wider dtype that sums and products of a dtype are accumulated in.
fn accumulator(dtype: DType) -> DType {
    promote_scalar::accumulator(Op::Sum, dtype)
}

fn iota(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let extent = |known: &Option<i64>| Extent::Fixed(known.unwrap_or(0));
    let shape: Vec<Extent> = call.dims.iter().map(extent).collect();
    let axis = axis(call.attrs.int("axis"), shape.len());
    let index = graph.push(Prim::Iota(axis), &[], DType::I64, shape);
    convert(graph, index, call.dtype)
}

// Views.

fn view(graph: &mut Graph, x: NodeId, indices: Vec<Index>, shape: Vec<Extent>) -> NodeId {
    let dtype = graph.node(x).dtype;
    graph.push(Prim::View(indices), &[x], dtype, shape)
}

fn permute(graph: &mut Graph, x: NodeId, permutation: &[i64]) -> NodeId {
    let own = graph.shape(x);
    let permutation: Vec<usize> = permutation.iter().map(|from| axis(*from, own.len())).collect();
    let mut indices = vec![Index::FIRST; own.len()];
    permutation.iter().enumerate().for_each(|(to, from)| indices[*from] = Index::same(to));
    let shape = permutation.iter().map(|from| own[*from]).collect();
    view(graph, x, indices, shape)
}

/// A 1 at each of `axes` of the result.
fn expand(graph: &mut Graph, x: NodeId, axes: &[usize]) -> NodeId {
    let own = graph.shape(x);
    let rank = own.len() + axes.len();
    let kept: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
    let mut shape = vec![Extent::Fixed(1); rank];
    kept.iter().zip(&own).for_each(|(to, extent)| shape[*to] = *extent);
    view(graph, x, kept.into_iter().map(Index::same).collect(), shape)
}

fn squeeze(graph: &mut Graph, x: NodeId, axes: &[usize]) -> NodeId {
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

fn flip(graph: &mut Graph, x: NodeId, given: Option<&[i64]>) -> NodeId {
    let shape = graph.shape(x);
    let flipped = given.map_or_else(|| (0..shape.len()).collect(), |given| axes(given, shape.len()));
    let index = |axis: usize| {
        let start = if flipped.contains(&axis) { Rule::Last(shape[axis]) } else { return Index::same(axis) };
        Index { start: graph.symbol(start), down: true, ..Index::same(axis) }
    };
    let indices = (0..shape.len()).map(index).collect();
    view(graph, x, indices, shape)
}

fn slice(graph: &mut Graph, x: NodeId, attrs: &Attrs) -> NodeId {
    let own = graph.shape(x);
    let [starts, stops, steps] = ["start", "stop", "step"].map(|name| attrs.list(name));
    let (mut indices, mut shape) = (Vec::new(), Vec::new());
    for (axis, extent) in own.into_iter().enumerate() {
        let (start, stop, step) = (starts[axis], stops[axis], steps[axis]);
        let first = graph.symbol(Rule::SliceStart { extent, start, step });
        let distance = Extent::Fixed(step.saturating_abs());
        indices.push(Index { dim: Some(axis), start: first, step: distance, down: step < 0 });
        shape.push(graph.symbol(Rule::SliceCount { extent, start, stop, step }));
    }
    view(graph, x, indices, shape)
}

/// Stretches `x` to `shape`, whose last dimensions are its own.
fn stretch(graph: &mut Graph, x: NodeId, shape: &[Extent]) -> NodeId {
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
                let step = graph.symbol(Rule::Stretch(*extent));
                Index { step, ..Index::same(axis + missing) }
            }
        });
    }
    view(graph, x, indices, shape.to_vec())
}

fn broadcast_to(graph: &mut Graph, call: Call<'_>) -> NodeId {
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
        let mut found: Vec<Extent> = like.iter().filter_map(|like| of(like)).chain(of(&own)).collect();
        found.retain(|extent| *extent != Extent::Fixed(1));
        found.dedup();
        let known = found.iter().copied().find(|extent| extent.fixed().is_some());
        shape.push(known.unwrap_or_else(|| match found.is_empty() {
            true => Extent::Fixed(1),
            false => graph.symbol(Rule::Broadcast(found)),
        }));
    }
    stretch(graph, call.args[0], &shape)
}

fn reshape(graph: &mut Graph, x: NodeId, target: &[i64]) -> NodeId {
    let own = graph.shape(x);
    let product = |extents: &mut dyn Iterator<Item = Extent>| {
        extents.fold(Product::number(1), |all, extent| &all * &Product::from(extent))
    };
    let count = product(&mut own.iter().copied());
    let fixed =
        product(&mut target.iter().filter(|extent| **extent >= 0).map(|extent| Extent::Fixed(*extent)));
    let rest = graph.symbol(Rule::Quotient(count, fixed));
    let extent = |extent: &i64| if *extent < 0 { rest } else { Extent::Fixed(*extent) };
    let shape: Vec<Extent> = target.iter().map(extent).collect();
    reshaped(graph, x, shape)
}

fn reshaped(graph: &mut Graph, x: NodeId, shape: Vec<Extent>) -> NodeId {
    if graph.shape(x) == shape {
        return x;
    }
    let dtype = graph.node(x).dtype;
    graph.push(Prim::Reshape, &[x], dtype, shape)
}

/// All elements in a row.
fn flattened(graph: &mut Graph, x: NodeId) -> NodeId {
    if graph.node(x).shape.len() == 1 { x } else { reshape(graph, x, &[-1]) }
}

fn concat(graph: &mut Graph, args: &[NodeId], axis: usize) -> NodeId {
    let mut shape = graph.shape(args[0]);
    for arg in &args[1..] {
        for (own, extent) in graph.shape(*arg).into_iter().enumerate().filter(|(own, _)| *own != axis) {
            shape[own] = graph.unify(shape[own], extent);
        }
    }
    let extents = args.iter().map(|arg| graph.shape(*arg)[axis]).collect();
    shape[axis] = graph.symbol(Rule::Total(extents));
    let dtype = graph.node(args[0]).dtype;
    graph.push(Prim::Concat(axis), args, dtype, shape)
}

fn take(graph: &mut Graph, call: Call<'_>) -> NodeId {
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
fn check_indices(graph: &mut Graph, own: &[Extent], at: usize, indices: NodeId) {
    let after = own[at + 1..].iter().fold(Product::number(1), |all, extent| &all * &Product::from(*extent));
    let after = graph.symbol(Rule::Quotient(after, Product::number(1)));
    let at_most_one =
        |graph: &mut Graph, extent| graph.symbol(Rule::SliceCount { extent, start: 0, stop: 1, step: 1 });
    let after = at_most_one(graph, after);
    // 1 if nothing is after.
    let is_asked = graph.symbol(Rule::Stretch(after));
    if is_asked == Extent::Fixed(0) {
        return;
    }
    let line = Product::from(own[at]);
    let line = graph.symbol(Rule::Quotient(&line * &Product::from(is_asked), Product::number(1)));
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

fn matmul(graph: &mut Graph, x: NodeId, y: NodeId, dtype: DType) -> NodeId {
    // Sums of truth values are counted, so that no sum is lost.
    let wide = if dtype == DType::B1 { DType::I64 } else { accumulator(dtype) };
    let (mut x, mut y) = (convert(graph, x, wide), convert(graph, y, wide));
    let (row, column) = (graph.node(x).shape.len() == 1, graph.node(y).shape.len() == 1);
    if row {
        x = expand(graph, x, &[0]);
    }
    if column {
        y = expand(graph, y, &[1]);
    }
    let (of_x, of_y) = (graph.shape(x), graph.shape(y));
    let batch = |shape: &[Extent]| shape[..shape.len() - 2].to_vec();
    let (batch_x, batch_y) = (batch(&of_x), batch(&of_y));
    let rank = batch_x.len().max(batch_y.len());
    let mut shape = Vec::with_capacity(rank + 2);
    for from_last in (1..=rank).rev() {
        let of = |batch: &[Extent]| batch.len().checked_sub(from_last).map(|axis| batch[axis]);
        shape.push(match (of(&batch_x), of(&batch_y)) {
            (Some(Extent::Fixed(1)), Some(other)) | (Some(other), Some(Extent::Fixed(1))) => other,
            (Some(a), Some(b)) => graph.unify(a, b),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Extent::Fixed(1),
        });
    }
    let stretched = |graph: &mut Graph, arg: NodeId, own: &[Extent], batch: &[Extent]| {
        stretch(graph, arg, &[batch, &own[own.len() - 2..]].concat())
    };
    let x = stretched(graph, x, &of_x, &shape);
    let y = stretched(graph, y, &of_y, &shape);
    graph.unify(of_x[of_x.len() - 1], of_y[of_y.len() - 2]);
    shape.extend([of_x[of_x.len() - 2], of_y[of_y.len() - 1]]);
    let product = graph.push(Prim::Matmul, &[x, y], wide, shape);
    let mut ones = Vec::new();
    ones.extend(row.then_some(rank));
    ones.extend(column.then_some(rank + 1));
    let product = if ones.is_empty() { product } else { squeeze(graph, product, &ones) };
    convert(graph, product, dtype)
}

// Reductions.

/// The operand and the axis of an op along one axis: the last one, or, with `flatten`, of all elements, if none is given.
fn along(graph: &mut Graph, x: NodeId, given: Option<&[i64]>, flatten: bool) -> (NodeId, usize) {
    match given {
        Some(list) => (x, axis(list.first().copied().unwrap_or(-1), graph.node(x).shape.len())),
        None if flatten => (flattened(graph, x), 0),
        None => (x, axis(-1, graph.node(x).shape.len())),
    }
}

fn reduced_axes(graph: &Graph, call: Call<'_>) -> Vec<usize> {
    let rank = graph.node(call.args[0]).shape.len();
    call.attrs.axes().map_or_else(|| (0..rank).collect(), |given| axes(given, rank))
}

/// Reduces, and drops the dimensions.
fn reduce(graph: &mut Graph, op: Op, x: NodeId, gone: &[usize]) -> NodeId {
    if gone.is_empty() {
        return x;
    }
    let own = graph.shape(x);
    let shape: Vec<Extent> =
        (0..own.len()).filter(|axis| !gone.contains(axis)).map(|axis| own[axis]).collect();
    let dtype = graph.node(x).dtype;
    match cut(graph, &own, gone) {
        None => graph.push(Prim::Reduce(op, gone.to_vec()), &[x], dtype, shape),
        Some(cut) => {
            let partial = [&[cut.parts], shape.as_slice()].concat();
            let partial = graph.push(Prim::Partial(op, gone.to_vec(), cut), &[x], dtype, partial);
            graph.push(Prim::Reduce(op, vec![0]), &[partial], dtype, shape)
        }
    }
}

/// A reduction with so few results that they do not occupy all processors is cut, if it is or may be long.
fn cut(graph: &mut Graph, own: &[Extent], gone: &[usize]) -> Option<Cut> {
    let cuts = graph.cuts?;
    let is_gone = |axis: &usize| gone.contains(axis);
    let kept = (0..own.len()).filter(|axis| !is_gone(axis));
    let kept = kept.fold(Product::number(1), |all, axis| &all * &Product::from(own[axis])).fixed()?;
    let many =
        if gone.last() == own.len().checked_sub(1).as_ref() { cuts.many_rows } else { cuts.many_columns };
    let axis = *gone.iter().max_by_key(|axis| own[**axis].fixed().unwrap_or(i64::MAX))?;
    let count = own.iter().fold(Product::number(1), |all, extent| &all * &Product::from(*extent));
    if kept >= many || count.fixed().is_some_and(|count| count < 2 * cuts.length) {
        return None;
    }
    let parts = graph.symbol(Rule::Parts(count, cuts));
    let length = graph.symbol(Rule::PartLength(own[axis], parts));
    Some(Cut { axis, parts, length })
}

/// A reduced tensor beside the one that was reduced: its elements again along the dimensions that are gone.
fn spread(graph: &mut Graph, reduced: NodeId, gone: &[usize], like: &[Extent]) -> NodeId {
    let kept = (0..like.len()).filter(|axis| !gone.contains(axis)).map(Index::same).collect();
    view(graph, reduced, kept, like.to_vec())
}

fn keep(graph: &mut Graph, call: Call<'_>, reduced: NodeId, gone: &[usize]) -> NodeId {
    if call.attrs.keepdims() && !gone.is_empty() { expand(graph, reduced, gone) } else { reduced }
}

/// Whether each result of a reduction is of one element, as all know who compile.
fn is_single(graph: &Graph, x: NodeId, gone: &[usize]) -> bool {
    let shape = graph.shape(x);
    gone.iter().all(|axis| shape[*axis] == Extent::Fixed(1))
}

/// Reduces in order of the index, and drops the dimensions.
fn reduce_in_order(graph: &mut Graph, op: Op, x: NodeId, gone: &[usize]) -> NodeId {
    let own = graph.shape(x);
    let kept = (0..own.len()).filter(|axis| !gone.contains(axis)).map(|axis| own[axis]).collect();
    let dtype = graph.node(x).dtype;
    graph.push(Prim::Reduce(op, gone.to_vec()), &[x], dtype, kept)
}

/// Whether XLA adds up in a dtype itself.
fn accumulates(dtype: DType) -> bool {
    dtype == DType::F16 || accumulator(dtype) == dtype.storage()
}

/// Whether elements count as true. JAX's `any` and `all` take the real part of a complex number for the whole.
fn truth(graph: &mut Graph, x: NodeId, numerics: Numerics) -> NodeId {
    let dtype = graph.node(x).dtype;
    let is_part = numerics == Numerics::Jax && dtype.kind() == Kind::Complex;
    let x = if is_part { map(graph, Op::Real, &[x], dtype.real_part()) } else { x };
    convert(graph, x, DType::B1)
}

fn reduction(graph: &mut Graph, call: Call<'_>) -> NodeId {
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
        _ => (call.op, convert(graph, x, accumulator(call.dtype))),
    };
    if call.numerics == Numerics::Jax && matches!(op, Op::Sum | Op::Prod) && is_single(graph, x, &gone) {
        // XLA does nothing to one element.
        let only = if gone.is_empty() { x } else { squeeze(graph, x, &gone) };
        let only = convert(graph, only, call.dtype);
        return keep(graph, call, only, &gone);
    }
    let is_ordered = promote_scalar::depends_on_order(op, graph.node(x).dtype);
    let reduced = match is_ordered && !gone.is_empty() {
        true => reduce_in_order(graph, op, x, &gone),
        false => reduce(graph, op, x, &gone),
    };
    let reduced = convert(graph, reduced, call.dtype);
    keep(graph, call, reduced, &gone)
}

fn arg(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let rank = graph.node(call.args[0]).shape.len();
    let (x, axis) = along(graph, call.args[0], call.attrs.axes(), true);
    let own = graph.shape(x);
    let shape: Vec<Extent> = (0..own.len()).filter(|other| *other != axis).map(|axis| own[axis]).collect();
    let found = graph.push(Prim::Arg(call.op, axis), &[x], DType::I64, shape);
    let found = convert(graph, found, call.dtype);
    match (call.attrs.keepdims(), call.attrs.axes()) {
        (true, Some(_)) => expand(graph, found, &[axis]),
        (true, None) => expand(graph, found, &(0..rank).collect::<Vec<_>>()),
        (false, _) => found,
    }
}

/// How many elements each result of a reduction is of, as a number of `dtype`.
fn count(graph: &mut Graph, own: &[Extent], gone: &[usize], dtype: DType, shape: Vec<Extent>) -> NodeId {
    let product = gone.iter().fold(Product::number(1), |all, axis| &all * &Product::from(own[*axis]));
    let count = graph.push(Prim::Size(product), &[], DType::I64, shape);
    convert(graph, count, dtype)
}

fn mean(graph: &mut Graph, x: NodeId, gone: &[usize]) -> NodeId {
    let sum = reduce(graph, Op::Sum, x, gone);
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

/// With no degrees of freedom left, NumPy and PyTorch divide by zero, and JAX gives NaN.
fn variance(graph: &mut Graph, x: NodeId, gone: &[usize], (correction, numerics): (f64, Numerics)) -> NodeId {
    let (own, dtype) = (graph.shape(x), graph.node(x).dtype);
    let part = dtype.real_part();
    let mean = mean(graph, x, gone);
    let mean = spread(graph, mean, gone, &own);
    let distance = map(graph, Op::Subtract, &[x, mean], dtype);
    let distance = if part == dtype { distance } else { map(graph, Op::Abs, &[distance], part) };
    let square = map(graph, Op::Multiply, &[distance, distance], part);
    let sum = reduce(graph, Op::Sum, square, gone);
    let shape = graph.shape(sum);
    let elements = gone.iter().fold(Product::number(1), |all, axis| &all * &Product::from(own[*axis]));
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

fn moment(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let gone = reduced_axes(graph, call);
    let x = call.args[0];
    let wide = match graph.node(x).dtype.kind() {
        Kind::Float | Kind::Complex => accumulator(graph.node(x).dtype),
        Kind::Bool | Kind::Unsigned | Kind::Signed => accumulator(call.dtype),
    };
    let x = convert(graph, x, wide);
    let correction = call.attrs.number("correction").unwrap_or(0.0);
    let found = match call.op {
        Op::Mean => mean(graph, x, &gone),
        Op::Var => variance(graph, x, &gone, (correction, call.numerics)),
        Op::Std => {
            let variance = variance(graph, x, &gone, (correction, call.numerics));
            let dtype = graph.node(variance).dtype;
            map(graph, Op::Sqrt, &[variance], dtype)
        }
        _ => log_sum_exp(graph, x, &gone),
    };
    let found = convert(graph, found, call.dtype);
    keep(graph, call, found, &gone)
}

fn log_sum_exp(graph: &mut Graph, x: NodeId, gone: &[usize]) -> NodeId {
    let (own, dtype) = (graph.shape(x), graph.node(x).dtype);
    if dtype.kind() == Kind::Complex {
        let exp = map(graph, Op::Exp, &[x], dtype);
        let sum = reduce(graph, Op::Sum, exp, gone);
        return map(graph, Op::Log, &[sum], dtype);
    }
    let largest = reduce(graph, Op::Max, x, gone);
    let finite = map(graph, Op::IsFinite, &[largest], DType::B1);
    let shape = graph.shape(largest);
    let zero = splat(graph, 0.0, dtype, shape);
    let shift = map(graph, Op::Where, &[finite, largest, zero], dtype);
    let spread = spread(graph, shift, gone, &own);
    let distance = map(graph, Op::Subtract, &[x, spread], dtype);
    let exp = map(graph, Op::Exp, &[distance], dtype);
    let sum = reduce(graph, Op::Sum, exp, gone);
    let log = map(graph, Op::Log, &[sum], dtype);
    map(graph, Op::Add, &[log, shift], dtype)
}

fn softmax(graph: &mut Graph, call: Call<'_>) -> NodeId {
    let (x, axis) = along(graph, call.args[0], call.attrs.axes(), false);
    let wide = accumulator(call.dtype);
    let x = convert(graph, x, wide);
    let own = graph.shape(x);
    let distance = match wide.kind() {
        Kind::Complex => x,
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => {
            let largest = reduce(graph, Op::Max, x, &[axis]);
            let largest = spread(graph, largest, &[axis], &own);
            map(graph, Op::Subtract, &[x, largest], wide)
        }
    };
    let exp = map(graph, Op::Exp, &[distance], wide);
    let sum = reduce(graph, Op::Sum, exp, &[axis]);
    let sum = spread(graph, sum, &[axis], &own);
    let quotient = map(graph, Op::Divide, &[exp, sum], wide);
    convert(graph, quotient, call.dtype)
}
