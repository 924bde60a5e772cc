//! Tensor programs in primitives: what remains of the dialect's ops in their simplest form.
//!
//! A [`Graph`] is a list of [`Node`]s in topological order. [`ops`](super::ops) adds to it what an op of the dialect
//! means; a lowering reads it. Shapes may have extents that only a run knows: those are [`Symbol`]s, each with a rule
//! that computes it from others.
//!
//! ## Laws
//! - The operands of [`Prim::Map`] have one shape: nothing is broadcast but by a [`Prim::View`].
//! - A node's dtype is strong.
//! - Reductions drop their dimensions, and accumulate in the dtype of their operand.

use promote_lattice::convert::Bits;
use promote_lattice::{DType, Op};

use super::extent::{Extent, Product, Symbol};
use super::target::Cuts;

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
    /// The operand's elements in their order, in another shape.
    Reshape,
    /// `sum`, `prod`, `max`, `min`, `any` or `all` over these dimensions, sorted.
    Reduce(Op, Vec<usize>),
    /// The same of parts: one of the dimensions is cut, and the parts are the first dimension of the result.
    Partial(Op, Vec<usize>, Cut),
    /// `argmax` or `argmin` along a dimension.
    Arg(Op, usize),
    /// `cumulative_sum` or `cumulative_prod` along a dimension.
    Scan(Op, usize),
    /// Sorted along a dimension.
    Sort(usize),
    /// Elements of the first operand at indices along a dimension, which the second operand holds.
    Take(usize),
    /// Operands one after the other along a dimension.
    Concat(usize),
    /// Batches of `[m, k]` by `[k, n]`, the batch dimensions equal.
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

/// How a run computes a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The extent of a dimension of a source.
    Source(NodeId, usize),
    /// The index of the last of so many elements.
    Last(Extent),
    /// The first index of a Python slice.
    SliceStart {
        /// The extent sliced.
        extent: Extent,
        /// As written.
        start: i64,
        /// As written.
        step: i64,
    },
    /// How many elements a Python slice has.
    SliceCount {
        /// The extent sliced.
        extent: Extent,
        /// As written.
        start: i64,
        /// As written.
        stop: i64,
        /// As written.
        step: i64,
    },
    /// Extents added up.
    Total(Vec<Extent>),
    /// The product of extents divided by others': what -1 means in `reshape`.
    Quotient(Product, Product),
    /// Of several extents the first that is not 1, else 1.
    Broadcast(Vec<Extent>),
    /// 0 if the extent is 1, else 1: the step of a dimension that may be stretched.
    Stretch(Extent),
    /// Into how many parts a reduction of so many elements is cut.
    Parts(Product, Cuts),
    /// How many indices each of some parts of an extent has.
    PartLength(Extent, Extent),
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Its nodes, each after its operands.
    pub nodes: Vec<Node>,
    /// How each symbol is computed, each after those it needs.
    pub symbols: Vec<Rule>,
    /// Nodes that are computed for the exceptions that they may raise alone.
    pub checked: Vec<NodeId>,
    /// How long reductions are cut, if they are.
    pub cuts: Option<Cuts>,
    /// What symbols are known to be equal to, if to something else.
    equal: Vec<Option<Extent>>,
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
            None => self.symbol(Rule::Source(id, axis)),
        };
        let shape = dims.iter().enumerate().map(extent).collect();
        self.nodes[id.0 as usize].shape = shape;
        id
    }

    /// The extent that a rule gives.
    pub fn symbol(&mut self, rule: Rule) -> Extent {
        if let Some(extent) = simple(&rule) {
            return extent;
        }
        let known = self.symbols.iter().rposition(|own| *own == rule);
        let index = known.unwrap_or_else(|| {
            self.symbols.push(rule);
            self.equal.push(None);
            self.symbols.len() - 1
        });
        self.resolve(Extent::Of(Symbol(index as u32)))
    }

    /// The simplest extent that is known to be equal.
    pub fn resolve(&self, extent: Extent) -> Extent {
        match extent {
            Extent::Of(Symbol(index)) => {
                self.equal[index as usize].map_or(extent, |other| self.resolve(other))
            }
            Extent::Fixed(_) => extent,
        }
    }

    /// Takes note that two extents are equal in every run that gets here.
    pub fn unify(&mut self, a: Extent, b: Extent) -> Extent {
        let (a, b) = (self.resolve(a), self.resolve(b));
        match (a, b) {
            _ if a == b => a,
            (Extent::Of(Symbol(old)), Extent::Fixed(_)) => {
                self.equal[old as usize] = Some(b);
                b
            }
            (Extent::Fixed(_), Extent::Of(Symbol(old))) => {
                self.equal[old as usize] = Some(a);
                a
            }
            (Extent::Of(Symbol(x)), Extent::Of(Symbol(y))) => {
                let (old, new) = (x.max(y), x.min(y));
                self.equal[old as usize] = Some(Extent::Of(Symbol(new)));
                Extent::Of(Symbol(new))
            }
            // Contradictory types have no run.
            (Extent::Fixed(_), Extent::Fixed(_)) => a,
        }
    }

    /// The shape of a node with what became known since.
    pub fn shape(&self, id: NodeId) -> Vec<Extent> {
        self.node(id).shape.iter().map(|extent| self.resolve(*extent)).collect()
    }

    /// Takes note of what the type of a value says of its extents.
    pub fn refine(&mut self, id: NodeId, stated: &[Option<i64>]) {
        for (axis, known) in stated.iter().enumerate() {
            if let (Some(known), Some(extent)) = (known, self.node(id).shape.get(axis).copied()) {
                let extent = self.unify(extent, Extent::Fixed(*known));
                self.nodes[id.0 as usize].shape[axis] = extent;
            }
        }
    }

    /// A product with what is known of its symbols.
    pub fn simplify(&self, product: &Product) -> Product {
        let number = Product::number(product.number);
        product.symbols.iter().fold(number, |all, symbol| &all * &self.resolve(Extent::Of(*symbol)).into())
    }

    /// Steps one within the other. A dimension that is stretched is 1 long, and so is what was stretched to it: the
    /// innermost of such steps says it all, so chains of broadcasts have steps of one symbol.
    pub fn times_step(&self, outer: &Product, step: Extent) -> Product {
        let step = self.resolve(step);
        let mut outer = outer.clone();
        if let Extent::Of(symbol) = step
            && let Rule::Stretch(stretched) = self.rule(symbol)
        {
            let stretched = self.resolve(*stretched);
            outer.symbols.retain(|symbol| !self.stretches_at_most(*symbol, stretched));
        }
        &outer * &step.into()
    }

    /// Whether a symbol is 0 only where this extent is 1.
    fn stretches_at_most(&self, symbol: Symbol, extent: Extent) -> bool {
        let Rule::Stretch(stretched) = self.rule(symbol) else { return false };
        let stretched = self.resolve(*stretched);
        if let Extent::Of(other) = stretched
            && let Rule::Broadcast(extents) = self.rule(other)
        {
            return stretched == extent || extents.iter().any(|own| self.resolve(*own) == extent);
        }
        stretched == extent
    }

    /// How a symbol is computed.
    fn rule(&self, symbol: Symbol) -> &Rule {
        &self.symbols[symbol.0 as usize]
    }

    /// The strides of a contiguous tensor of this shape, in elements.
    pub fn strides(&self, shape: &[Extent]) -> Vec<Product> {
        let mut strides = vec![Product::number(1); shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = &strides[axis] * &self.resolve(shape[axis]).into();
        }
        strides
    }
}

/// What a rule gives if all that it needs is known.
fn simple(rule: &Rule) -> Option<Extent> {
    let fixed = |extents: &[Extent]| extents.iter().map(|extent| extent.fixed()).collect::<Option<Vec<_>>>();
    Some(Extent::Fixed(match rule {
        Rule::Source(..) => return None,
        Rule::Last(extent) => extent.fixed()? - 1,
        Rule::SliceStart { extent, start, step } => slice_start(extent.fixed()?, *start, *step),
        Rule::SliceCount { extent, start, stop, step } => slice_count(extent.fixed()?, *start, *stop, *step),
        Rule::Total(extents) => fixed(extents)?.iter().sum(),
        Rule::Quotient(product, by) => match (product.fixed()?, by.fixed()?) {
            (_, 0) => 0,
            (product, by) => product / by,
        },
        Rule::Broadcast(extents) => match extents.as_slice() {
            [extent] => return Some(*extent),
            _ => fixed(extents)?.into_iter().find(|extent| *extent != 1).unwrap_or(1),
        },
        Rule::Stretch(extent) => (extent.fixed()? != 1).into(),
        Rule::Parts(count, cuts) => cuts.parts(count.fixed()?),
        Rule::PartLength(extent, parts) => part_length(extent.fixed()?, parts.fixed()?),
    }))
}

/// How many indices each of some parts of an extent has.
pub const fn part_length(extent: i64, parts: i64) -> i64 {
    (extent + parts - 1) / parts
}

/// Where a Python slice of `extent` elements starts.
pub fn slice_start(extent: i64, start: i64, step: i64) -> i64 {
    bound(extent, start, step)
}

/// How many elements a Python slice of `extent` elements has.
pub fn slice_count(extent: i64, start: i64, stop: i64, step: i64) -> i64 {
    let (first, stop) = (i128::from(bound(extent, start, step)), i128::from(bound(extent, stop, step)));
    let step = i128::from(step);
    let distance = if step < 0 { first - stop } else { stop - first };
    let count = (distance.max(0) + step.abs() - 1) / step.abs().max(1);
    // It is at most the extent.
    count as i64
}

fn bound(extent: i64, at: i64, step: i64) -> i64 {
    let (low, high) = if step < 0 { (-1, extent - 1) } else { (0, extent) };
    let from_start = if at < 0 { at.saturating_add(extent) } else { at };
    from_start.clamp(low, high.max(low))
}
