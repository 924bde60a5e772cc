//! Tracing: the expression that a node is, seen from the index space of a kernel.
//!
//! A node is asked for at [`Coord`]s: for each of its dimensions, how its index follows from the kernel's. Views change
//! coordinates and leave no trace; what is in memory becomes a load with strides.

use promote_lattice::DType;
use rustc_hash::FxHashMap;

use super::graph::{Graph, Index, NodeId, Prim};
use super::kernel::{Access, Code, Expr, ExprId};
use promote_dialect::extent::{Product, Sum};

/// An index: `start`, and for each dimension of the kernel that it depends on `step * index of that dimension`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Coord {
    /// At the first indices.
    pub start: Sum,
    /// The dimensions of the kernel, each once, with the distance from one index to the next, which is not zero.
    pub steps: Vec<(usize, Product)>,
}

impl Coord {
    /// The index of a dimension of the kernel.
    pub fn same(dim: usize) -> Self {
        Self { start: Sum::default(), steps: vec![(dim, Product::number(1))] }
    }

    /// Always the first.
    pub fn first() -> Self {
        Self::default()
    }

    /// The index of an element whose part has this index, and which has the other one in a part of `length`.
    fn in_part(&self, within: &Self, length: i64) -> Self {
        let is_other = |(dim, _): &(usize, Product)| within.steps.iter().all(|(other, _)| dim != other);
        debug_assert!(self.steps.iter().all(is_other), "parts and what is in them are other dimensions");
        let length = Product::number(length);
        let to_parts = self.steps.iter().map(|(dim, step)| (*dim, step * &length));
        Self {
            start: self.start.times(&length) + within.start.clone(),
            steps: to_parts.chain(within.steps.iter().cloned()).collect(),
        }
    }
}

/// What a tracer finds in the place of a node.
pub enum Found {
    /// It is in memory.
    Stored,
    /// It is computed in the kernel, as this expression at these coordinates.
    Here(ExprId, Vec<Coord>),
    /// It is the result of a reduction of the kernel, which only these coordinates may ask for.
    Reduced(usize, Vec<Coord>),
    /// The kernel writes it to memory, where a later one may read it.
    Later,
    /// It is computed where it is needed.
    Inline,
}

/// Why an expression cannot be part of a kernel: it needs what the kernel returns, at other places than it gives it.
#[derive(Debug)]
pub struct Elsewhere;

impl Tracer {
    /// For a kernel of so many dimensions.
    pub fn new(rank: usize) -> Self {
        Self { rank, ..Self::default() }
    }
}

/// The expressions of a kernel, as far as they are known.
#[derive(Debug, Default)]
pub struct Tracer {
    /// How many dimensions the kernel has.
    pub rank: usize,
    /// The expressions.
    pub exprs: Vec<Expr>,
    known: FxHashMap<(NodeId, Vec<Coord>), ExprId>,
    /// What became known, in order.
    log: Vec<(NodeId, Vec<Coord>)>,
}

impl Tracer {
    /// A mark to go back to.
    pub fn mark(&self) -> (usize, usize) {
        (self.exprs.len(), self.log.len())
    }

    /// Forgets what came after a mark.
    pub fn undo(&mut self, (exprs, log): (usize, usize)) {
        self.exprs.truncate(exprs);
        for key in self.log.drain(log..) {
            self.known.remove(&key);
        }
    }

    /// The expression of `node` at `at`. `find` says where nodes are, `stages` the
    /// stage of each root.
    ///
    /// # Errors
    /// [`Elsewhere`]; what was traced so far must be undone.
    pub fn trace(
        &mut self,
        graph: &Graph,
        node: NodeId,
        at: Vec<Coord>,
        find: &mut impl FnMut(NodeId) -> Found,
        stages: &[usize],
    ) -> Result<ExprId, Elsewhere> {
        let key = (node, at);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let (dtype, at) = (graph.node(node).dtype, &key.1);
        let found = match find(node) {
            Found::Stored => self.push(node, Code::Load(self.access(graph, node, at)), dtype, 0),
            Found::Here(expr, own) if own == *at => expr,
            Found::Reduced(root, own) if own == *at => {
                self.push(node, Code::Reduced(root), dtype, stages[root] + 1)
            }
            Found::Reduced(..) | Found::Later => return Err(Elsewhere),
            Found::Here(..) | Found::Inline => self.inline(graph, node, at.clone(), find, stages)?,
        };
        self.known.insert(key.clone(), found);
        self.log.push(key);
        Ok(found)
    }

    fn inline(
        &mut self,
        graph: &Graph,
        node: NodeId,
        at: Vec<Coord>,
        find: &mut impl FnMut(NodeId) -> Found,
        stages: &[usize],
    ) -> Result<ExprId, Elsewhere> {
        let this = graph.node(node);
        let dtype = this.dtype;
        let (code, stage) = match &this.prim {
            Prim::Splat(bits) => (Code::Splat(*bits), 0),
            Prim::Size(product) => (Code::Size(graph.extents.simplify(product)), 0),
            Prim::Iota(axis) => (self.index(&at[*axis]), 0),
            Prim::View(indices) => {
                let at = indices.iter().map(|index| viewed(graph, index, &at)).collect();
                return self.trace(graph, this.args[0], at, find, stages);
            }
            Prim::Split(axis, length) => {
                let split = at[*axis].in_part(&at[axis + 1], *length);
                let at = [&at[..*axis], &[split], &at[axis + 2..]].concat();
                return self.trace(graph, this.args[0], at, find, stages);
            }
            Prim::Convert => {
                let operand = self.trace(graph, this.args[0], at, find, stages)?;
                (Code::Convert(operand), self.stage(operand))
            }
            Prim::Map(op) => {
                let mut operands = Vec::with_capacity(this.args.len());
                for arg in &this.args {
                    operands.push(self.trace(graph, *arg, at.clone(), find, stages)?);
                }
                let stage = operands.iter().map(|operand| self.stage(*operand)).max().unwrap_or(0);
                (Code::Map(*op, operands), stage)
            }
            Prim::Take(axis) => {
                let rank = graph.node(this.args[1]).shape.len();
                let index = at[*axis..*axis + rank].to_vec();
                let index = self.trace(graph, this.args[1], index, find, stages)?;
                let extent = graph.extents.resolve(graph.node(this.args[0]).shape[*axis]);
                // As if the kernel went through the taken axis, too, in a dimension after its own.
                let mut place = [&at[..*axis], &[Coord::same(self.rank)], &at[*axis + rank..]].concat();
                let mut source = this.args[0];
                while let (Found::Inline, Prim::View(indices)) = (find(source), &graph.node(source).prim) {
                    place = indices.iter().map(|index| viewed(graph, index, &place)).collect();
                    source = graph.node(source).args[0];
                }
                let mut access = accessed(graph, source, &place, self.rank + 1);
                let stride = access.strides.pop().unwrap_or_else(|| Product::number(0));
                (Code::Take { access, index, stride, extent }, self.stage(index))
            }
            prim => unreachable!("{prim:?} is stored or reduced"),
        };
        Ok(self.push(node, code, dtype, stage))
    }

    /// The stage of an expression.
    pub fn stage(&self, expr: ExprId) -> usize {
        self.exprs[expr.0 as usize].stage
    }

    fn push(&mut self, node: NodeId, code: Code, dtype: DType, stage: usize) -> ExprId {
        self.exprs.push(Expr { node, code, dtype, dims: 0, stage });
        ExprId((self.exprs.len() - 1) as u32)
    }

    /// Where the elements of a stored node are.
    pub fn access(&self, graph: &Graph, node: NodeId, at: &[Coord]) -> Access {
        accessed(graph, node, at, self.rank)
    }

    fn index(&self, coord: &Coord) -> Code {
        let mut strides = vec![Product::number(0); self.rank];
        for (dim, step) in &coord.steps {
            strides[*dim] = step.clone();
        }
        Code::Index { strides, offset: coord.start.clone() }
    }
}

/// Where the elements of a stored node are, for so many dimensions.
fn accessed(graph: &Graph, node: NodeId, at: &[Coord], rank: usize) -> Access {
    let own = graph.layout(node);
    let mut access = Access { buffer: node, strides: vec![Product::number(0); rank], offset: Sum::default() };
    for (coord, stride) in at.iter().zip(&own) {
        access.offset = access.offset + coord.start.times(stride);
        for (dim, step) in &coord.steps {
            debug_assert!(access.strides[*dim].is_zero(), "an axis has dimensions of its own");
            access.strides[*dim] = step * stride;
        }
    }
    access
}

/// The coordinate of a view's operand.
fn viewed(graph: &Graph, index: &Index, at: &[Coord]) -> Coord {
    let start = Sum::default() + Product::from(graph.extents.resolve(index.start));
    let Some(coord) = index.dim.map(|dim| &at[dim]) else { return Coord { start, steps: Vec::new() } };
    let sign = Product::number(if index.down { -1 } else { 1 });
    let stepped = |step: &Product| &graph.extents.times_step(step, index.step) * &sign;
    let steps = coord.steps.iter().map(|(dim, step)| (*dim, stepped(step)));
    Coord {
        start: start + coord.start.times(&(&Product::from(graph.extents.resolve(index.step)) * &sign)),
        steps: steps.filter(|(_, step)| !step.is_zero()).collect(),
    }
}
