//! Tensor programs in primitives: what remains of the dialect's ops in their simplest form.
//!
//! A [`Graph`] is a list of [`Node`]s in topological order. [`ops`](super::ops) adds to it what an op of the dialect
//! means; a lowering reads it. Shapes may have extents that are known at run time only: symbols of a table,
//! [`Extents`], in which each has a rule that computes it from others.
//!
//! ## Laws
//! - The operands of [`Prim::Map`] have one shape: nothing is broadcast but by a [`Prim::View`].
//! - A node's dtype is strong.
//! - Reductions drop their dimensions, and accumulate in the dtype of their operand.

use promote_abi::Layout;
use promote_lattice::convert::{Bits, is_exact};
use promote_lattice::{DType, Op};
use rustc_hash::FxHashMap;

use super::kernel::Taken;
use super::target::Cuts;
use promote_dialect::extent::{Extent, Extents, Product, Rule};

/// A node of a graph: an index into [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Where an index into the operand of a view comes from: `start + step * index of dimension dim of the result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Index {
    /// A dimension of the result; `None` for one that the result does not have.
    pub dim: Option<usize>,
    /// The first index.
    pub start: Extent,
    /// From one index to the next.
    pub step: Extent,
    /// Whether indices go down instead of up.
    pub down: bool,
}

impl Index {
    /// The indices of dimension `dim` as they are.
    pub const fn same(dim: usize) -> Self {
        Self { dim: Some(dim), start: Extent::Fixed(0), step: Extent::Fixed(1), down: false }
    }

    /// Always the first element.
    pub const FIRST: Self = Self { dim: None, start: Extent::Fixed(0), step: Extent::Fixed(0), down: false };
}

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Prim {
    /// A tensor that is there; the number is the lowering's.
    Source(u32),
    /// A constant tensor; the number is the lowering's.
    Dense(u32),
    /// One number everywhere.
    Splat(Bits),
    /// The product of extents, everywhere.
    Size(Product),
    /// The index along a dimension.
    Iota(usize),
    /// An op of elements.
    Map(Op),
    /// A conversion, as the semantics does it.
    Convert,
    /// The operand's elements elsewhere: one index for each dimension of the operand.
    View(Vec<Index>),
    /// A dimension of the operand as two: of parts, each of so many indices, and of the indices in a part. Indices that are left after
    /// the last whole part are not in the result.
    Split(usize, i64),
    /// The operand's elements in their order, in another shape.
    Reshape,
    /// `sum`, `prod`, `max`, `min`, `any` or `all` over these dimensions, sorted.
    Reduce(Op, Vec<usize>),
    /// The same of parts, and `cumulative_sum` for all that a part adds: one of the dimensions is cut, and the parts are the first
    /// dimension of the result.
    Partial(Op, Vec<usize>, Cut),
    /// `argmax` or `argmin` along a dimension.
    Arg(Op, usize),
    /// `cumulative_sum` or `cumulative_prod` along a dimension. Where that is cut, each part goes on from an element of the second
    /// operand, whose first dimension are the parts.
    Scan(Op, usize, Option<Cut>),
    /// Sorted along a dimension.
    Sort(usize),
    /// Elements of the first operand at indices along a dimension, which the second operand holds.
    Take(usize),
    /// Operands one after the other along a dimension.
    Concat(usize),
    /// Batches of `[m, k]` by `[k, n]`: the batch dimensions are equal, or the right operand has none and is the same for all. The
    /// operands are of its dtype, or of dtypes whose values it holds.
    Matmul,
}

/// How a dimension is cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// The dimension.
    pub axis: usize,
    /// How many parts.
    pub parts: Extent,
    /// How many indices a part has; the last ones may have fewer, or none.
    pub length: Extent,
    /// Which of them an index takes.
    pub taken: Taken,
}

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it computes.
    pub prim: Prim,
    /// Of what.
    pub args: Vec<NodeId>,
    /// The dtype of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<Extent>,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Its nodes, each after its operands.
    pub nodes: Vec<Node>,
    /// Its symbols. The axes are those of sources, named by their nodes: after those of its extents the ones of its strides.
    pub extents: Extents,
    /// The strides of the sources that are not contiguous, in elements.
    pub strided: FxHashMap<NodeId, Vec<Product>>,
    /// For each of those sources the view of it that is the argument, and which dimension of the argument each of its own is.
    pub arguments: FxHashMap<NodeId, (NodeId, Vec<usize>)>,
    /// Whether the sources that are not row-major have their dimensions in reverse order.
    pub is_reversed: bool,
    /// Nodes that are computed for the exceptions that they may raise alone.
    pub checked: Vec<NodeId>,
    /// How long reductions are cut, if they are.
    pub cuts: Option<Cuts>,
}

impl Graph {
    /// The node of that id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The node whose buffer a node is in: other shapes of a buffer have none of their own.
    pub fn base(&self, id: NodeId) -> NodeId {
        let node = self.node(id);
        if node.prim == Prim::Reshape { self.base(node.args[0]) } else { id }
    }

    /// What a node is converted from without loss, if it is converted.
    pub fn before_converts(&self, id: NodeId) -> NodeId {
        let node = self.node(id);
        match (&node.prim, node.args.as_slice()) {
            (Prim::Convert, [arg]) if is_exact(self.node(*arg).dtype, node.dtype) => {
                self.before_converts(*arg)
            }
            _ => id,
        }
    }

    /// Adds a node.
    pub fn push(&mut self, prim: Prim, args: &[NodeId], dtype: DType, shape: Vec<Extent>) -> NodeId {
        self.nodes.push(Node { prim, args: args.to_vec(), dtype: dtype.storage(), shape });
        NodeId((self.nodes.len() - 1) as u32)
    }

    /// A tensor that is there, whose extents are known (`Some`) or not.
    pub fn source(&mut self, number: u32, dtype: DType, dims: &[Option<i64>]) -> NodeId {
        let id = self.push(Prim::Source(number), &[], dtype, Vec::new());
        let extent = |(axis, known): (usize, &Option<i64>)| match known {
            Some(known) => Extent::Fixed(*known),
            None => self.extents.of(Rule::Axis(id.0, axis)),
        };
        let shape = dims.iter().enumerate().map(extent).collect();
        self.nodes[id.0 as usize].shape = shape;
        id
    }

    /// A tensor that is there, and not row-major. A run alone knows its strides along those dimensions that have one; in the rest the
    /// dimensions lie one in another. The source has the dimensions in the order in which they lie, the one along which elements lie
    /// side by side last; the node that is returned, a view of it, has them as they are given. Kernels alone read a view, so all else
    /// finds a contiguous copy.
    pub fn strided_source(
        &mut self,
        number: u32,
        dtype: DType,
        dims: &[Option<i64>],
        (layout, has_stride): (Layout, &dyn Fn(usize) -> bool),
    ) -> NodeId {
        let rank = dims.len();
        let source = self.push(Prim::Source(number), &[], dtype, Vec::new());
        let mut axis = |axis: usize| self.extents.of(Rule::Axis(source.0, axis));
        let mut shape = Vec::with_capacity(rank);
        for (place, known) in dims.iter().enumerate() {
            shape.push(known.map_or_else(|| axis(place), Extent::Fixed));
        }
        let order = layout.order(rank);
        self.is_reversed |= layout == Layout::Reversed;
        let mut strides = vec![Product::number(1); rank];
        for place in (0..rank - usize::from(layout != Layout::Apart)).rev() {
            strides[place] = match has_stride(order[place]) {
                true => axis(rank + order[place]).into(),
                false => &strides[place + 1] * &shape[order[place + 1]].into(),
            };
        }
        self.nodes[source.0 as usize].shape = order.iter().map(|axis| shape[*axis]).collect();
        self.strided.insert(source, strides);
        let indices = order.iter().copied().map(Index::same).collect();
        let argument = self.push(Prim::View(indices), &[source], dtype, shape);
        self.arguments.insert(source, (argument, order));
        argument
    }

    /// The shape of a node with what became known since.
    pub fn shape(&self, id: NodeId) -> Vec<Extent> {
        self.node(id).shape.iter().map(|extent| self.extents.resolve(*extent)).collect()
    }

    /// Takes note of what the type of a value says of its extents.
    pub fn refine(&mut self, id: NodeId, stated: &[Option<i64>]) {
        for (axis, known) in stated.iter().enumerate() {
            if let (Some(known), Some(extent)) = (known, self.node(id).shape.get(axis).copied()) {
                let extent = self.extents.unify(extent, Extent::Fixed(*known));
                self.nodes[id.0 as usize].shape[axis] = extent;
            }
        }
    }

    /// The strides in which a node is in memory, in elements.
    pub fn layout(&self, id: NodeId) -> Vec<Product> {
        self.strided.get(&id).cloned().unwrap_or_else(|| self.strides(&self.node(id).shape))
    }

    /// The strides of a contiguous tensor of this shape, in elements.
    fn strides(&self, shape: &[Extent]) -> Vec<Product> {
        let mut strides = vec![Product::number(1); shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = &strides[axis] * &self.extents.resolve(shape[axis]).into();
        }
        strides
    }
}
