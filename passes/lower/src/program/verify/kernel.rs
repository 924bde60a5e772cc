//! Kernels: that they keep the [laws](crate::kernel) of kernels, and are numbered for launches.

use std::collections::BTreeMap;
use std::fmt::Display;

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_scalar::is_defined;
use rustc_hash::FxHashSet;

use crate::graph::NodeId;
use crate::kernel::{Access, Chunk, Code, Expr, ExprId, Form, Kernel, Role, Root, Taken};
use promote_dialect::extent::{Extent, Product, Sum, Symbol};

/// What a launch of a kernel must provide.
#[derive(Debug, Default)]
pub(super) struct Interface {
    /// How many nodes it has.
    pub nodes: usize,
    /// How many symbols it has.
    pub symbols: usize,
    /// The nodes whose buffers it reads, and the dtype of their elements.
    pub reads: BTreeMap<NodeId, DType>,
    /// The nodes whose buffers it writes.
    pub writes: BTreeMap<NodeId, DType>,
}

/// What a kernel needs, and what is wrong with it.
pub(super) fn verify(kernel: &Kernel, numerics: Numerics) -> (Interface, Vec<String>) {
    let mut verifier = Verifier {
        kernel,
        numerics,
        nodes: FxHashSet::default(),
        symbols: FxHashSet::default(),
        interface: Interface::default(),
        problems: Vec::new(),
    };
    verifier.space();
    // All else needs to know which dimensions are reduced.
    if verifier.problems.is_empty() {
        let mut needs = Vec::new();
        for (index, expr) in kernel.exprs.iter().enumerate() {
            let need = verifier.expr(index, expr, &needs);
            needs.push(need);
        }
        for (index, root) in kernel.roots.iter().enumerate() {
            verifier.root(index, root, &needs);
        }
        verifier.numbers();
    }
    (verifier.interface, verifier.problems)
}

struct Verifier<'k> {
    kernel: &'k Kernel,
    numerics: Numerics,
    nodes: FxHashSet<NodeId>,
    symbols: FxHashSet<Symbol>,
    interface: Interface,
    problems: Vec<String>,
}

/// What an expression needs.
#[derive(Clone, Copy, Debug, Default)]
struct Need {
    /// How many of the first fusion roots.
    roots: usize,
    /// How many reductions one after another.
    stage: usize,
    /// The dimensions that it depends on.
    dims: u64,
}

impl Need {
    fn and(self, other: Self) -> Self {
        Self {
            roots: self.roots.max(other.roots),
            stage: self.stage.max(other.stage),
            dims: self.dims | other.dims,
        }
    }
}

impl Verifier<'_> {
    fn report(&mut self, message: impl Into<String>) {
        self.problems.push(message.into());
    }

    fn rank(&self) -> usize {
        self.kernel.dims.len()
    }

    // The space of indices.

    fn space(&mut self) {
        let Kernel { dims, form, as_one, chunk, .. } = self.kernel;
        let rank = dims.len();
        let fits = match form {
            Form::Map => true,
            Form::Rows { reduced } => *reduced > 0 && *reduced <= rank,
            Form::Columns { outer, reduced } => *reduced > 0 && *outer <= rank && *reduced <= rank - outer,
        };
        if rank > u64::BITS as usize {
            return self.report(format!("there are more than {} dimensions", u64::BITS));
        }
        if !fits {
            return self.report(format!("the form is {form}, and there are {rank} dimensions"));
        }
        let is_one = match form {
            Form::Rows { reduced } => {
                *reduced > 1 && chunk.is_none_or(|chunk| !self.kernel.reduced().contains(&chunk.dim))
            }
            Form::Map | Form::Columns { .. } => false,
        };
        if *as_one && !is_one {
            self.report("the dimensions of a row count as one, and are not several whole ones");
        }
        dims.iter().for_each(|extent| self.product(extent));
        if let Some(Chunk { dim, by, length, taken: _ }) = chunk {
            self.extent(length);
            let reduced = self.kernel.reduced();
            if !reduced.contains(dim) {
                self.report(format!("d{dim} is cut into parts, and is no reduced dimension"));
            }
            if *by >= rank || reduced.contains(by) {
                self.report(format!("d{by} counts parts, and is no parallel dimension"));
            }
        }
    }

    /// The parallel dimensions: a bit each.
    fn parallel(&self) -> u64 {
        let reduced = self.kernel.reduced();
        (0..self.rank()).filter(|dim| !reduced.contains(dim)).fold(0, |all, dim| all | 1 << dim)
    }

    // Extents.

    fn symbol(&mut self, symbol: Symbol) {
        self.symbols.insert(symbol);
    }

    fn extent(&mut self, extent: &Extent) {
        match extent {
            Extent::Fixed(_) => {}
            Extent::Of(symbol) => self.symbol(*symbol),
        }
    }

    fn product(&mut self, product: &Product) {
        product.symbols.iter().for_each(|symbol| self.symbol(*symbol));
        if !product.symbols.is_sorted() || product.is_zero() && !product.symbols.is_empty() {
            self.report(format!("{product} is not in normal form"));
        }
    }

    fn sum(&mut self, sum: &Sum) {
        sum.0.iter().for_each(|product| self.product(product));
        let mut terms = FxHashSet::default();
        if !sum.0.iter().all(|product| !product.is_zero() && terms.insert(&product.symbols)) {
            self.report("an offset has terms that are zero or alike");
        }
    }

    /// Strides, an offset, and the dimensions that they make a difference in.
    fn affine(&mut self, name: &dyn Display, strides: &[Product], offset: &Sum) -> u64 {
        strides.iter().for_each(|stride| self.product(stride));
        self.sum(offset);
        let rank = self.rank();
        if strides.len() != rank {
            self.report(format!("{name} has {} strides, and there are {rank} dimensions", strides.len()));
        }
        let strides = strides.iter().take(rank).enumerate();
        strides.filter(|(_, stride)| !stride.is_zero()).fold(0, |all, (dim, _)| all | 1 << dim)
    }

    fn access(&mut self, name: &dyn Display, access: &Access) -> u64 {
        self.nodes.insert(access.buffer);
        self.affine(name, &access.strides, &access.offset)
    }

    fn read(&mut self, name: &dyn Display, access: &Access, dtype: DType) -> u64 {
        let known = *self.interface.reads.entry(access.buffer).or_insert(dtype);
        if known != dtype {
            let buffer = access.buffer.0;
            self.report(format!("{name} reads {dtype} of b{buffer}, of which {known} is read elsewhere"));
        }
        self.access(name, access)
    }

    // Expressions.

    /// Checks an expression; what it needs.
    fn expr(&mut self, index: usize, expr: &Expr, needs: &[Need]) -> Need {
        let name = ExprId(index as u32);
        self.nodes.insert(expr.node);
        let mut need = Need::default();
        for operand in self.kernel.operands(name) {
            match needs.get(operand.0 as usize) {
                Some(operand) => need = need.and(*operand),
                None => self.report(format!("{name} needs {operand}, which does not stand before it")),
            }
        }
        match &expr.code {
            Code::Splat(_) | Code::Convert(_) => {}
            Code::Size(product) => {
                self.product(product);
                self.is_i64(name, expr.dtype);
            }
            Code::Index { strides, offset } => {
                need.dims |= self.affine(&name, strides, offset);
                self.is_i64(name, expr.dtype);
            }
            Code::Load(access) => need.dims |= self.read(&name, access, expr.dtype),
            Code::Take { access, index, stride, extent } => {
                need.dims |= self.read(&name, access, expr.dtype);
                self.product(stride);
                self.extent(extent);
                let dtype = self.kernel.exprs.get(index.0 as usize).map(|expr| expr.dtype);
                if dtype.is_some_and(|dtype| !dtype.is_integer()) {
                    self.report(format!("{name}: the index {index} is no integer"));
                }
            }
            Code::Map(op, operands) => self.map(name, *op, operands, expr.dtype),
            Code::Reduced(root) => need = need.and(self.reduced(name, *root, expr.dtype, needs)),
        }
        if (expr.stage, expr.dims) != (need.stage, need.dims) {
            let (stage, dims) = (need.stage, dims(need.dims));
            self.report(format!("{name} is over {dims} in stage {stage}, and another is stated"));
        }
        need
    }

    fn is_i64(&mut self, name: ExprId, dtype: DType) {
        if dtype != DType::I64 {
            self.report(format!("{name} computes an i64, not {dtype}"));
        }
    }

    fn map(&mut self, name: ExprId, op: Op, operands: &[ExprId], result: DType) {
        let (arity, count) = (op.info().arity, operands.len());
        if count < arity.required || count > arity.required + arity.optional {
            return self.report(format!("{name}: {op} does not take {count} operands"));
        }
        let dtype = |operand: &ExprId| Some(self.kernel.exprs.get(operand.0 as usize)?.dtype);
        let Some(dtypes) = operands.iter().map(dtype).collect::<Option<Vec<DType>>>() else { return };
        if !is_defined(op, self.numerics, &dtypes, result) {
            let dtypes: Vec<String> = dtypes.iter().map(DType::to_string).collect();
            self.report(format!("{name}: {op} of {} is not defined", dtypes.join(", ")));
        }
    }

    /// What the result of a reduction needs.
    fn reduced(&mut self, name: ExprId, index: usize, dtype: DType, needs: &[Need]) -> Need {
        let Some(root) = self.kernel.roots.get(index) else {
            self.report(format!("{name} needs r{index}, which is not there"));
            return Need::default();
        };
        match root.role {
            Role::Reduce(_) | Role::Arg(_) => {}
            Role::Store | Role::Scan(_) => self.report(format!("{name}: r{index} has no one result")),
        }
        let Some(reduced) = needs.get(root.expr.0 as usize) else {
            self.report(format!("{name} needs r{index}, whose expression does not stand before it"));
            return Need::default();
        };
        if self.result(root).is_some_and(|result| result != dtype) {
            self.report(format!("{name}: r{index} is no {dtype}"));
        }
        Need { roots: index + 1, stage: reduced.stage + 1, dims: self.parallel() }
    }

    // Fusion roots.

    /// The dtype of what a fusion root stores.
    fn result(&self, root: &Root) -> Option<DType> {
        match root.role {
            Role::Arg(_) => Some(DType::I64),
            Role::Store | Role::Reduce(_) | Role::Scan(_) => {
                self.kernel.exprs.get(root.expr.0 as usize).map(|expr| expr.dtype)
            }
        }
    }

    fn root(&mut self, index: usize, root: &Root, needs: &[Need]) {
        self.nodes.insert(root.node);
        self.role(index, root.role);
        match needs.get(root.expr.0 as usize) {
            None => self.report(format!("r{index} needs {}, which is not there", root.expr)),
            Some(need) if need.roots > index => {
                self.report(format!("r{index} needs r{}, which does not stand before it", need.roots - 1));
            }
            Some(_) => {}
        }
        if let Some(start) = root.start {
            self.start(index, (root, start), needs);
        }
        if self.kernel.chunk.is_some() && root.start.is_none() && matches!(root.role, Role::Scan(_)) {
            self.report(format!("r{index} goes on from part to part, and does not say from what"));
        }
        for sink in &root.sinks {
            self.sink(index, root, sink);
        }
    }

    /// What a cumulative op goes on from.
    fn start(&mut self, index: usize, (root, start): (&Root, ExprId), needs: &[Need]) {
        let Some(need) = needs.get(start.0 as usize) else {
            return self.report(format!("r{index} needs {start}, which is not there"));
        };
        let (name, inside) = (format!("r{index}"), need.dims & !self.parallel());
        if !matches!(root.role, Role::Scan(_)) {
            self.report(format!("{name} goes on from {start}, and is not cumulative"));
        }
        if need.roots > 0 {
            self.report(format!("{name} goes on from {start}, which needs what is reduced"));
        }
        if inside != 0 {
            self.report(format!("{name} goes on from {start}, which depends on {}", dims(inside)));
        }
        let dtype = self.kernel.expr(start).dtype;
        if self.result(root).is_some_and(|result| result != dtype) {
            self.report(format!("{name} goes on from {start}, a {dtype}"));
        }
    }

    fn role(&mut self, index: usize, role: Role) {
        let reduced = self.kernel.reduced().len();
        let fits = match role {
            Role::Store => true,
            Role::Reduce(op) => {
                let chooses = matches!(op, Op::Max | Op::Maximum | Op::Min | Op::Minimum);
                let combines = chooses || matches!(op, Op::Sum | Op::Prod | Op::Any | Op::All);
                reduced > 0 && (combines || op == Op::CumulativeSum)
            }
            Role::Arg(op) => reduced == 1 && matches!(op, Op::ArgMax | Op::ArgMin),
            Role::Scan(op) => reduced == 1 && matches!(op, Op::CumulativeSum | Op::CumulativeProd),
        };
        if !fits {
            self.report(format!("r{index} does not {role} over {reduced} reduced dimensions"));
        }
    }

    fn sink(&mut self, index: usize, root: &Root, sink: &Access) {
        let name = format!("r{index}");
        let (buffer, differs) = (sink.buffer.0, self.access(&name, sink));
        if self.interface.reads.contains_key(&sink.buffer) {
            self.report(format!("{name} writes b{buffer}, which the kernel reads"));
        }
        if let Some(dtype) = self.result(root) {
            let known = *self.interface.writes.entry(sink.buffer).or_insert(dtype);
            if known != dtype {
                self.report(format!(
                    "{name} writes {dtype} to b{buffer}, to which {known} is written elsewhere"
                ));
            }
        }
        // Parts of a dimension are written apart where that is.
        let bit = |dim: usize| if dim < self.rank() { 1 << dim } else { 0 };
        let apart = match self.kernel.chunk {
            Some(Chunk { dim, by, taken: Taken::Own, .. }) if differs & bit(dim) != 0 => bit(by),
            Some(_) | None => 0,
        };
        let alike = self.parallel() & !differs & !apart & self.several();
        if alike != 0 {
            let dims = dims(alike);
            self.report(format!("{name} writes to one place of b{buffer} for all indices of {dims}"));
        }
        let is_one = match root.role {
            Role::Reduce(_) | Role::Arg(_) => true,
            Role::Store | Role::Scan(_) => false,
        };
        if is_one && differs & !self.parallel() != 0 {
            self.report(format!("{name} has one result for all indices of the reduced dimensions"));
        }
    }

    /// The dimensions of more than one index; none if the kernel has no index at all.
    fn several(&self) -> u64 {
        let extents = || self.kernel.dims.iter().map(Product::fixed);
        if extents().any(|extent| extent == Some(0)) {
            return 0;
        }
        extents().enumerate().filter(|(_, extent)| *extent != Some(1)).fold(0, |all, (dim, _)| all | 1 << dim)
    }

    // Numbers.

    /// Nodes and symbols must be numbered without gaps: a launch says what each is.
    fn numbers(&mut self) {
        let last = |numbers: &mut dyn Iterator<Item = u32>| numbers.max().map_or(0, |last| last as usize + 1);
        let nodes = last(&mut self.nodes.iter().map(|node| node.0));
        let symbols = last(&mut self.symbols.iter().map(|symbol| symbol.0));
        if nodes != self.nodes.len() {
            self.report("its nodes are not numbered from 0 on");
        }
        if symbols != self.symbols.len() {
            self.report("its extents are not numbered from s0 on");
        }
        (self.interface.nodes, self.interface.symbols) = (nodes, symbols);
    }
}

/// The names of dimensions.
fn dims(mask: u64) -> String {
    let dims = (0..u64::BITS).filter(|dim| mask >> dim & 1 == 1).map(|dim| format!("d{dim}"));
    format!("[{}]", dims.collect::<Vec<_>>().join(", "))
}
