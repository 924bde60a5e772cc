//! Tracing: the expression that a node is, seen from the index space of a kernel.
//!
//! A node is asked for at [`Coord`]s: for each of its dimensions, how its index follows from the kernel's. Views change
//! coordinates and leave no trace; what is in memory becomes a load with strides.

use promote_lattice::DType;
use rustc_hash::FxHashMap;

use super::graph::{Graph, Index, NodeId, Prim};
use super::kernel::{Access, Code, Expr, ExprId};
use promote_dialect::extent::{Product, Sum};

/// An index: `start + step * index of a dimension of the kernel`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coord {
    /// The dimension of the kernel; `None` if there is none.
    pub dim: Option<usize>,
    /// At its first index.
    pub start: Sum,
    /// From one to the next.
    pub step: Product,
}

impl Coord {
    /// The index of a dimension of the kernel.
    pub fn same(dim: usize) -> Self {
        Self { dim: Some(dim), start: Sum::default(), step: Product::number(1) }
    }

    /// Always the first.
    pub fn first() -> Self {
        Self { dim: None, start: Sum::default(), step: Product::number(0) }
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
                let whole = [&at[..*axis], &[Coord::first()], &at[*axis + rank..]].concat();
                let source = this.args[0];
                let extent = graph.extents.resolve(graph.node(source).shape[*axis]);
                let stride = graph.layout(source)[*axis].clone();
                let access = self.access(graph, source, &whole);
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
        let own = graph.layout(node);
        let mut access =
            Access { buffer: node, strides: vec![Product::number(0); self.rank], offset: Sum::default() };
        for (coord, stride) in at.iter().zip(&own) {
            access.offset = access.offset + coord.start.times(stride);
            if let Some(dim) = coord.dim {
                access.strides[dim] = &coord.step * stride;
            }
        }
        access
    }

    fn index(&self, coord: &Coord) -> Code {
        let mut strides = vec![Product::number(0); self.rank];
        if let Some(dim) = coord.dim {
            strides[dim] = coord.step.clone();
        }
        Code::Index { strides, offset: coord.start.clone() }
    }
}

/// The coordinate of a view's operand.
fn viewed(graph: &Graph, index: &Index, at: &[Coord]) -> Coord {
    let sign = Product::number(if index.down { -1 } else { 1 });
    let start = Sum::default() + Product::from(graph.extents.resolve(index.start));
    match index.dim.map(|dim| &at[dim]) {
        None => Coord { start, ..Coord::first() },
        Some(coord) => {
            let step = &graph.extents.times_step(&coord.step, index.step) * &sign;
            let start =
                start + coord.start.times(&(&Product::from(graph.extents.resolve(index.step)) * &sign));
            let dim = coord.dim.filter(|_| !step.is_zero());
            Coord { dim, start, step }
        }
    }
}
