//! What each op of the dialect means in primitives.
//!
//! Composite ops (`mean`, `var`, `softmax`, `logsumexp`, …) are taken apart here, once for all targets. Narrow floats are
//! accumulated in f32, as the libraries do it, and converted back.

mod moments;
mod passes;
mod reductions;
mod views;

use promote_dialect::attrs::Attrs;
use promote_lattice::convert::{Literal, Numerics, literal};
use promote_lattice::op::ShapeRule;
use promote_lattice::{DType, Op};

use self::moments::moment;
use self::reductions::{along, arg, reduction, scan, softmax};
use self::views::{
    broadcast_to, concat, expand, flip, matmul, permute, reshape, slice, squeeze, stretch, take,
};
use super::graph::{Graph, NodeId, Prim};
use promote_dialect::extent::Extent;

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
    /// How many ops read the first operand.
    pub readers: Readers,
}

/// How many ops read the elements of a tensor, or of those that it is computed from element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// One, and each of those is read once.
    One,
    /// Several.
    Several,
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
        Op::Concat => {
            let rank = graph.node(args[0]).shape.len();
            concat(graph, args, axis(attrs.int("axis"), rank))
        }
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
            let (rank, new) = (graph.node(args[0]).shape.len(), attrs.list("axis"));
            expand(graph, args[0], &axes(new, rank + new.len()))
        }
        Op::Squeeze => {
            let rank = graph.node(args[0]).shape.len();
            squeeze(graph, args[0], &axes(attrs.list("axis"), rank))
        }
        Op::Flip => flip(graph, args[0], attrs.axes()),
        Op::Slice => slice(graph, args[0], attrs),
        Op::CumulativeSum | Op::CumulativeProd => scan(graph, call),
        Op::Sort => {
            let (x, axis) = along(graph, args[0], attrs.axes(), false);
            let shape = graph.shape(x);
            graph.push(Prim::Sort(axis), &[x], dtype, shape)
        }
        Op::ArgMax | Op::ArgMin => arg(graph, call),
        Op::Sum | Op::Prod | Op::Max | Op::Min | Op::Any | Op::All | Op::CountNonzero => {
            reduction(graph, call)
        }
        Op::Softmax => softmax(graph, call),
        Op::Mean | Op::Var | Op::Std | Op::LogSumExp => moment(graph, call),
        elementwise => {
            assert_eq!(elementwise.info().shape, ShapeRule::Broadcast, "{elementwise} has no arm of its own");
            map(graph, elementwise, args, dtype)
        }
    }
}

/// An op of elements; its operands' extents are equal.
fn map(graph: &mut Graph, op: Op, args: &[NodeId], dtype: DType) -> NodeId {
    let mut shape = graph.shape(args[0]);
    for arg in &args[1..] {
        for (axis, extent) in graph.shape(*arg).into_iter().enumerate().take(shape.len()) {
            shape[axis] = graph.extents.unify(shape[axis], extent);
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
