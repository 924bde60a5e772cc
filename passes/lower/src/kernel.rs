//! Kernels: loops over a space of indices, and what they store and accumulate there.
//!
//! A [`Kernel`] has dimensions, expressions over them, and [`Root`]s: the expressions whose values leave the loops, into
//! memory or into a reduction. How the loops are run, on which machine and how many lanes at a time, a target decides.
//!
//! ## Laws
//! - The first dimensions are parallel: no two of their indices write to one place.
//! - Reductions are over the dimensions after them ([`Form::Rows`]), or over some in the middle ([`Form::Columns`]).
//! - Expressions come after their operands. One of stage `n + 1` needs a reduction of stage `n`.
//! - What a kernel writes it does not read.
//! - Each op that it computes of elements is defined for the dtypes of its operands.

use promote_lattice::convert::Bits;
use promote_lattice::op::Class;
use promote_lattice::{DType, Op};

mod merge;

pub(crate) use merge::SHORT_COLUMNS;

use super::graph::NodeId;
use promote_dialect::extent::{Extent, Product, Sum, Symbol};

/// An expression: an index into [`Kernel::exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// Elements in memory: `offset` and, for each dimension of the kernel, a stride, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The node whose buffer it is.
    pub buffer: NodeId,
    /// One a dimension.
    pub strides: Vec<Product>,
    /// Of the first element.
    pub offset: Sum,
}

impl Access {
    fn for_each_product(&mut self, change: impl FnMut(&mut Product)) {
        self.strides.iter_mut().chain(&mut self.offset.0).for_each(change);
    }
}

/// What an expression computes at an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A number.
    Splat(Bits),
    /// A product of extents, an i64.
    Size(Product),
    /// `offset` and the strides times the indices, an i64.
    Index {
        /// One a dimension.
        strides: Vec<Product>,
        /// At the first index.
        offset: Sum,
    },
    /// An element.
    Load(Access),
    /// An element at an index that is an expression: `stride` times the index further. Negative indices count from the end
    /// of `extent`; what an index out of range is, the semantics says.
    Take {
        /// The first of the elements.
        access: Access,
        /// The index, an integer.
        index: ExprId,
        /// From one to the next.
        stride: Product,
        /// How many there are.
        extent: Extent,
    },
    /// An op of elements.
    Map(Op, Vec<ExprId>),
    /// A conversion.
    Convert(ExprId),
    /// The result of the reduction that is the root of this number.
    Reduced(usize),
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expr {
    /// The node that it is of.
    pub node: NodeId,
    /// What it computes.
    pub code: Code,
    /// Of which dtype.
    pub dtype: DType,
    /// The dimensions that it depends on: a bit each.
    pub dims: u64,
    /// How many reductions must be done one after another before it can be computed.
    pub stage: usize,
}

impl Expr {
    /// About how many instructions it takes where its operands are there.
    pub fn cost(&self) -> u32 {
        match self.code {
            Code::Map(op, _) => cost(op),
            Code::Convert(_) | Code::Take { .. } => 1,
            Code::Splat(_) | Code::Size(_) | Code::Index { .. } | Code::Load(_) | Code::Reduced(_) => 0,
        }
    }
}

/// What is done with the values of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// They are stored.
    Store,
    /// They are reduced over the reduced dimensions; the result may be stored.
    Reduce(Op),
    /// The index of the extreme one is found.
    Arg(Op),
    /// They are accumulated, and each step is stored.
    Scan(Op),
}

/// An expression whose values leave the loops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    /// The node that it is.
    pub node: NodeId,
    /// The expression.
    pub expr: ExprId,
    /// What is done with it.
    pub role: Role,
    /// What a cumulative op goes on from, if it does not begin: an expression over the parallel dimensions.
    pub start: Option<ExprId>,
    /// Where the values, or the results, are stored.
    pub sinks: Vec<Access>,
}

/// How the dimensions of a kernel stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// All are parallel.
    Map,
    /// The last `reduced` ones are reduced.
    Rows {
        /// How many.
        reduced: usize,
    },
    /// `reduced` ones after the first `outer` ones are reduced, the last ones are parallel again.
    Columns {
        /// How many stand before them.
        outer: usize,
        /// How many.
        reduced: usize,
    },
}

/// A reduced dimension of which each index of a parallel one takes a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// The reduced dimension.
    pub dim: usize,
    /// The parallel one.
    pub by: usize,
    /// How many indices a part has; the last ones may have fewer, or none.
    pub length: Extent,
    /// Which of them an index takes.
    pub taken: Taken,
}

/// Which part an index takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taken {
    /// Its own.
    Own,
    /// The one before it; the first index takes none.
    Before,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// How many indices each dimension has.
    pub dims: Vec<Product>,
    /// How they stand.
    pub form: Form,
    /// Whether the dimensions of a row count as one, the last one fastest, in the order in which elements are combined. Targets keep
    /// that order of kernels that they [read along memory](crate::target::Target::reads_in_order).
    pub as_one: bool,
    /// The dimension that is cut into parts, if one is.
    pub chunk: Option<Chunk>,
    /// The expressions.
    pub exprs: Vec<Expr>,
    /// What leaves the loops, each after what it needs.
    pub roots: Vec<Root>,
}

/// Elements that a kernel moves.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'k> {
    /// Where they are.
    pub from: &'k Access,
    /// Where they go.
    pub to: &'k Access,
    /// Their dtype.
    pub dtype: DType,
}

impl Kernel {
    /// The expression of that id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// How many elements are combined as those of one row: where its dimensions count as one, those of all of them, else those of the
    /// innermost dimension alone.
    pub fn length(&self) -> Product {
        let all =
            if self.as_one { self.reduced() } else { self.dims.len().saturating_sub(1)..self.dims.len() };
        self.dims[all].iter().fold(Product::number(1), |all, extent| &all * extent)
    }

    /// The nodes whose buffers it reads or writes.
    pub fn accessed(&self) -> impl Iterator<Item = NodeId> + '_ {
        let read = self.exprs.iter().filter_map(|expr| expr.code.buffer());
        let sinks = self.roots.iter().flat_map(|root| &root.sinks);
        read.chain(sinks.map(|sink| sink.buffer))
    }

    /// The reduced dimensions.
    pub fn reduced(&self) -> std::ops::Range<usize> {
        match self.form {
            Form::Map => self.dims.len()..self.dims.len(),
            Form::Rows { reduced } => self.dims.len() - reduced..self.dims.len(),
            Form::Columns { outer, reduced } => outer..outer + reduced,
        }
    }

    /// Whether a root has something to do at each index of the reduced dimensions, not only once for them.
    pub fn is_full(&self, root: usize) -> bool {
        let root = &self.roots[root];
        match root.role {
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => true,
            Role::Store => {
                root.sinks.iter().any(|sink| self.reduced().any(|dim| !sink.strides[dim].is_zero()))
            }
        }
    }

    /// What the kernel moves, if it does nothing else.
    pub fn moved(&self) -> Option<Moved<'_>> {
        let ([expr], [root]) = (self.exprs.as_slice(), self.roots.as_slice()) else { return None };
        let (Code::Load(from), [to]) = (&expr.code, root.sinks.as_slice()) else { return None };
        let moves = self.form == Form::Map && root.role == Role::Store;
        moves.then_some(Moved { from, to, dtype: expr.dtype })
    }

    /// The dimensions of what uses each expression.
    pub fn users(&self) -> Vec<u64> {
        let mut users = vec![0u64; self.exprs.len()];
        for (index, expr) in self.exprs.iter().enumerate() {
            for operand in self.operands(ExprId(index as u32)) {
                users[operand.0 as usize] |= expr.dims;
            }
        }
        for root in &self.roots {
            let own = match root.role {
                Role::Store => self.expr(root.expr).dims,
                Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => u64::MAX,
            };
            let stored = root.sinks.iter().flat_map(|sink| sink.strides.iter().enumerate());
            let stored =
                stored.filter(|(_, stride)| !stride.is_zero()).fold(0, |all, (dim, _)| all | 1 << dim);
            users[root.expr.0 as usize] |= own | stored;
            if let Some(start) = root.start {
                users[start.0 as usize] |= self.expr(start).dims;
            }
        }
        users
    }

    /// About how many instructions an index takes.
    pub fn cost(&self) -> u32 {
        self.exprs.iter().map(Expr::cost).sum()
    }

    /// The operands of an expression.
    pub fn operands(&self, id: ExprId) -> &[ExprId] {
        match &self.expr(id).code {
            Code::Map(_, operands) => operands,
            Code::Convert(operand) | Code::Take { index: operand, .. } => std::slice::from_ref(operand),
            Code::Splat(_) | Code::Size(_) | Code::Index { .. } | Code::Load(_) | Code::Reduced(_) => &[],
        }
    }

    /// The kernel with a product in the place of a symbol, but where that is an extent by itself.
    pub fn replaced(&self, symbol: Symbol, by: &Product) -> Self {
        let mut kernel = self.clone();
        kernel.for_each_product(|product| {
            let count = product.symbols.iter().filter(|other| **other == symbol).count();
            product.symbols.retain(|other| *other != symbol);
            *product = (0..count).fold(product.clone(), |product, _| &product * by);
        });
        // Terms may be alike now.
        kernel.for_each_offset(|offset| {
            let terms = std::mem::take(offset);
            *offset = terms.0.into_iter().fold(Sum::default(), |sum, term| sum + term);
        });
        kernel
    }

    /// The kernel for runs in which some symbols are 1, if any of them is in its strides.
    pub fn with_ones(&self, ones: impl Fn(Symbol) -> bool) -> Option<(Self, Vec<Symbol>)> {
        let mut kernel = self.clone();
        let mut found = Vec::new();
        let mut simplify = |strides: &mut Vec<Product>| {
            for stride in strides {
                found.extend(stride.symbols.iter().copied().filter(|symbol| ones(*symbol)));
                stride.symbols.retain(|symbol| !ones(*symbol));
            }
        };
        kernel.for_each_strides(&mut simplify);
        found.sort_unstable();
        found.dedup();
        kernel.collapse();
        (!found.is_empty()).then_some((kernel, found))
    }

    fn is_cut(&self, dim: usize) -> bool {
        self.chunk.is_some_and(|chunk| chunk.dim == dim || chunk.by == dim)
    }

    /// Changes all extents, strides and offsets that are products.
    fn for_each_product(&mut self, mut change: impl FnMut(&mut Product)) {
        self.dims.iter_mut().for_each(&mut change);
        for expr in &mut self.exprs {
            match &mut expr.code {
                Code::Size(product) => change(product),
                Code::Index { strides, offset } => {
                    strides.iter_mut().chain(&mut offset.0).for_each(&mut change)
                }
                Code::Load(access) => access.for_each_product(&mut change),
                Code::Take { access, index: _, stride, extent: _ } => {
                    access.for_each_product(&mut change);
                    change(stride);
                }
                Code::Splat(_) | Code::Map(..) | Code::Convert(_) | Code::Reduced(_) => {}
            }
        }
        let sinks = self.roots.iter_mut().flat_map(|root| &mut root.sinks);
        sinks.for_each(|sink| sink.for_each_product(&mut change));
    }

    /// Changes the offsets of all that is read, counted or written.
    fn for_each_offset(&mut self, mut change: impl FnMut(&mut Sum)) {
        for expr in &mut self.exprs {
            match &mut expr.code {
                Code::Index { offset, .. } => change(offset),
                Code::Load(access) | Code::Take { access, .. } => change(&mut access.offset),
                Code::Splat(_) | Code::Size(_) | Code::Map(..) | Code::Convert(_) | Code::Reduced(_) => {}
            }
        }
        self.roots.iter_mut().flat_map(|root| &mut root.sinks).for_each(|sink| change(&mut sink.offset));
    }

    /// Changes the strides of all that is read, counted or written.
    pub(crate) fn for_each_strides(&mut self, mut change: impl FnMut(&mut Vec<Product>)) {
        self.exprs.iter_mut().filter_map(|expr| expr.code.strides_mut()).for_each(&mut change);
        self.roots.iter_mut().flat_map(|root| &mut root.sinks).for_each(|sink| change(&mut sink.strides));
    }

    /// Finds which dimensions each expression depends on.
    fn find_dims(&mut self) {
        let reduced = self.reduced();
        let parallel = (0..self.dims.len()).filter(|dim| !reduced.contains(dim));
        let of_reduced = parallel.fold(0u64, |all, dim| all | 1 << dim);
        for index in 0..self.exprs.len() {
            let id = ExprId(index as u32);
            let of_operands = self.operands(id).iter().fold(0, |all, operand| all | self.expr(*operand).dims);
            let own = match &self.expr(id).code {
                Code::Reduced(_) => of_reduced,
                code => code.strides().map_or(0, |strides| {
                    (0..strides.len())
                        .filter(|dim| !strides[*dim].is_zero())
                        .fold(0, |all, dim| all | 1 << dim)
                }),
            };
            self.exprs[index].dims = of_operands | own;
        }
    }

    fn strides(&self) -> impl Iterator<Item = &Vec<Product>> {
        let sinks = self.roots.iter().flat_map(|root| root.sinks.iter().map(|sink| &sink.strides));
        self.exprs.iter().filter_map(|expr| expr.code.strides()).chain(sinks)
    }
}

impl Code {
    /// The strides of what it reads or counts, if it does.
    pub const fn strides(&self) -> Option<&Vec<Product>> {
        match self {
            Self::Load(access) | Self::Take { access, .. } => Some(&access.strides),
            Self::Index { strides, .. } => Some(strides),
            Self::Splat(_) | Self::Size(_) | Self::Map(..) | Self::Convert(_) | Self::Reduced(_) => None,
        }
    }

    /// What it reads, if it does.
    pub const fn access(&self) -> Option<&Access> {
        match self {
            Self::Load(access) | Self::Take { access, .. } => Some(access),
            Self::Splat(_)
            | Self::Size(_)
            | Self::Index { .. }
            | Self::Map(..)
            | Self::Convert(_)
            | Self::Reduced(_) => None,
        }
    }

    /// The node whose buffer it reads, if it does.
    pub fn buffer(&self) -> Option<NodeId> {
        self.access().map(|access| access.buffer)
    }

    const fn strides_mut(&mut self) -> Option<&mut Vec<Product>> {
        match self {
            Self::Load(access) | Self::Take { access, .. } => Some(&mut access.strides),
            Self::Index { strides, .. } => Some(strides),
            Self::Splat(_) | Self::Size(_) | Self::Map(..) | Self::Convert(_) | Self::Reduced(_) => None,
        }
    }
}

/// About how many instructions an op of elements takes.
pub const fn cost(op: Op) -> u32 {
    const ARITHMETIC: u32 = 1;
    const DIVISION: u32 = 4;
    const SHORT_FUNCTION: u32 = 12;
    const FUNCTION: u32 = 30;
    match op.class() {
        Class::Part => match op {
            Op::Angle => FUNCTION,
            _ => 0,
        },
        Class::Sign => match op {
            Op::Positive => 0,
            _ => ARITHMETIC,
        },
        Class::Function => match op {
            Op::Sqrt | Op::Reciprocal | Op::Rsqrt => DIVISION,
            Op::Exp | Op::Exp2 | Op::Log | Op::Log2 | Op::Sigmoid | Op::Tanh => SHORT_FUNCTION,
            _ => FUNCTION,
        },
        Class::SpecialFunction | Class::IntegerPair => FUNCTION,
        Class::Arithmetic => match op {
            Op::Divide => DIVISION,
            Op::FloorDivide | Op::Remainder | Op::Fmod | Op::Pow => FUNCTION,
            _ => ARITHMETIC,
        },
        Class::FloatPair => match op {
            Op::CopySign | Op::NextAfter => ARITHMETIC,
            _ => FUNCTION,
        },
        Class::Stated
        | Class::Layout
        | Class::Indexing
        | Class::Joining
        | Class::Choice
        | Class::Rounding
        | Class::Predicate
        | Class::Logical
        | Class::Bitwise
        | Class::Shift
        | Class::Extremum
        | Class::Comparison
        | Class::Accumulation
        | Class::Moment
        | Class::Order
        | Class::Truth
        | Class::Index
        | Class::Exponential
        | Class::Product => ARITHMETIC,
    }
}
