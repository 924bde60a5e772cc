//! Straight-line code: tensors as nodes of a graph, until somebody needs them in memory.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_scalar::is_defined;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Builder;
use super::strided::Lies;
use crate::canonical::Canonical;
use crate::fuse::{self, fuse};
use crate::graph::{Graph, Index, NodeId, Prim};
use crate::kernel::Kernel;
use crate::order::{Traversal, combines_in_any_order};
use crate::program::{Arg, Arith, ConstantId, Edge, End, Launch, PlaceId, Step, ValueId, ValueKind};
use crate::strong::Value;
use crate::target::Costs;
use promote_dialect::extent::{Arithmetic, Extent, Product, Rule, Symbol};

/// A tensor in memory.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its elements.
    pub buffer: ValueId,
    /// Its extents.
    pub dims: Vec<Arg>,
}

/// The graph of the code since tensors were last needed.
#[derive(Debug, Default)]
pub struct Segment {
    /// The graph.
    pub graph: Graph,
    /// The tensors that are its sources.
    pub sources: Vec<Stored>,
    /// Its constant tensors.
    pub constants: Vec<ConstantId>,
    /// What each value is.
    pub nodes: FxHashMap<Value, NodeId>,
    /// Where each node comes from.
    pub origins: Vec<PlaceId>,
    /// The numbers that symbols are.
    pub symbols: FxHashMap<Symbol, Arg>,
}

impl Segment {
    /// A new one.
    pub fn new(costs: &Costs) -> Self {
        let mut segment = Self::default();
        segment.graph.cuts = costs.cuts;
        segment
    }
}

/// Whether a node of this kind is in memory without being computed.
pub(super) const fn is_there(prim: &Prim) -> bool {
    match prim {
        Prim::Source(_) | Prim::Dense(_) | Prim::Reshape => true,
        Prim::Splat(_)
        | Prim::Size(_)
        | Prim::Iota(_)
        | Prim::Map(_)
        | Prim::Convert
        | Prim::View(_)
        | Prim::Split(..)
        | Prim::Reduce(..)
        | Prim::Partial(..)
        | Prim::Arg(..)
        | Prim::Scan(..)
        | Prim::Sort(_)
        | Prim::Take(_)
        | Prim::Concat(_)
        | Prim::Matmul => false,
    }
}

/// Where nodes are.
pub(super) type Places = FxHashMap<NodeId, Stored>;

impl Builder<'_, '_> {
    /// Brings tensors into memory, with all that is used after the current op.
    pub(super) fn settle(&mut self, tensors: &[Value]) {
        let is_wanted = |value: &Value| tensors.contains(value) || self.live.is_needed_after(self.at, *value);
        let mut wanted: Vec<Value> = self.segment.nodes.keys().copied().filter(is_wanted).collect();
        wanted.sort_unstable();
        self.bring(&wanted, &[]);
    }

    /// Brings tensors into memory: the block owns a reference to each. The nodes of `outputs` go to results.
    pub(super) fn bring(&mut self, wanted: &[Value], outputs: &[(NodeId, usize)]) {
        let nodes: Vec<(Value, NodeId)> =
            wanted.iter().map(|value| (*value, self.segment.nodes[value])).collect();
        let are_there: Vec<bool> =
            nodes.iter().map(|(_, node)| is_there(&self.segment.graph.node(*node).prim)).collect();
        let needed: Vec<NodeId> = nodes.iter().map(|(_, node)| *node).collect();
        let stored = self.flush(&needed, outputs);
        let mut passed = FxHashSet::default();
        for ((value, node), is_there) in nodes.into_iter().zip(are_there) {
            // A source stays what it is.
            if self.values.contains_key(&value) {
                continue;
            }
            let tensor = stored[&node].clone();
            if is_there || !passed.insert(node) {
                self.retain(tensor.buffer);
            }
            self.own(value, tensor);
        }
        let floating = std::mem::take(&mut self.floating);
        floating.into_iter().for_each(|buffer| self.release(buffer));
    }

    /// Computes nodes, those of `outputs` into the results of these numbers, and starts a new segment. Where every needed
    /// node is then; a new buffer belongs to the caller.
    fn flush(&mut self, needed: &[NodeId], outputs: &[(NodeId, usize)]) -> Places {
        let mut wanted = needed.to_vec();
        let mut places: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut results = Vec::new();
        for (node, output) in outputs {
            // What has no buffer of its own, or has one already, is copied.
            let is_new = !is_there(&self.segment.graph.node(*node).prim)
                && !places.contains_key(node)
                && !needed.contains(node);
            let target = if is_new { *node } else { self.copy(*node) };
            places.insert(target, *output);
            wanted.push(target);
            results.push((*output, target));
        }
        let checked =
            if self.is_shape() { Vec::new() } else { std::mem::take(&mut self.segment.graph.checked) };
        wanted.extend(checked.iter().filter(|node| !wanted.contains(node)).copied().collect::<Vec<_>>());
        for node in &wanted {
            // Extents are computed in any case, even where nothing else is.
            self.dims(*node);
        }
        let stored =
            if self.is_shape() { self.shapes_alone(&wanted) } else { self.compute(&wanted, &places) };
        for node in checked {
            self.release(stored[&node].buffer);
        }
        if self.is_shape() {
            for (index, target) in results {
                let dims = stored[&target].dims.clone();
                self.push(Step::Shape { index, dims });
            }
        }
        self.segment = Segment::new(&self.context.target.costs());
        stored
    }

    /// Stands for tensors of which only the shape is asked: their buffers are not used.
    fn shapes_alone(&mut self, wanted: &[NodeId]) -> Places {
        let place = |builder: &mut Self, node: NodeId| {
            let dtype = builder.segment.graph.node(node).dtype;
            let buffer = builder.new_value(ValueKind::Buffer(dtype));
            Stored { buffer, dims: builder.dims(node) }
        };
        wanted.iter().map(|node| (*node, place(self, *node))).collect()
    }

    fn copy(&mut self, node: NodeId) -> NodeId {
        let shape = self.segment.graph.shape(node);
        let dtype = self.segment.graph.node(node).dtype;
        let indices = (0..shape.len()).map(Index::same).collect();
        let copied = self.segment.graph.push(Prim::View(indices), &[node], dtype, shape);
        let origin = self.segment.origins[node.0 as usize];
        self.segment.origins.resize(self.segment.graph.nodes.len(), origin);
        copied
    }

    fn compute(&mut self, wanted: &[NodeId], places: &FxHashMap<NodeId, usize>) -> Places {
        self.skip_converts();
        let (target, numerics) = (self.context.target, self.context.program.numerics);
        let reads_across = |kernel: &Kernel| target.reads_across(kernel, numerics);
        let plan = fuse(&self.segment.graph, wanted, &target.costs(), &reads_across);
        let mut stored = Places::default();
        let buffers: FxHashSet<NodeId> = plan.buffers.iter().copied().collect();
        let steps: Vec<(Vec<NodeId>, Vec<NodeId>)> =
            plan.steps.iter().map(|step| (step.reads(&self.segment.graph), step.writes())).collect();
        let mut last_use: FxHashMap<NodeId, usize> = FxHashMap::default();
        for (index, (reads, writes)) in steps.iter().enumerate() {
            for node in reads.iter().chain(writes) {
                last_use.insert(*node, index);
            }
        }
        let is_wanted: FxHashSet<NodeId> = wanted.iter().map(|node| self.segment.graph.base(*node)).collect();
        for (index, (step, (reads, writes))) in plan.steps.iter().zip(&steps).enumerate() {
            for node in writes {
                if !stored.contains_key(node) {
                    let made = self.allocate(*node, places.get(node).copied());
                    stored.insert(*node, made);
                }
            }
            for node in reads {
                self.find(*node, &mut stored);
            }
            self.step(step, &mut stored);
            let is_done = |node: &NodeId| {
                buffers.contains(node) && !is_wanted.contains(node) && last_use[node] == index
            };
            let mut done: Vec<NodeId> = reads.iter().chain(writes).copied().filter(is_done).collect();
            done.sort_unstable();
            done.dedup();
            for node in done {
                self.release(stored[&node].buffer);
            }
        }
        if self.context.program.numerics != Numerics::Jax && !plan.steps.is_empty() {
            self.push(Step::CheckExceptions);
        }
        for node in wanted {
            self.find(*node, &mut stored);
        }
        // A buffer of which another shape alone is wanted: who takes that holds a reference of its own.
        let floating = is_wanted.into_iter().filter(|node| buffers.contains(node) && !wanted.contains(node));
        let mut floating: Vec<NodeId> = floating.collect();
        floating.sort_unstable();
        self.floating.extend(floating.into_iter().map(|node| stored[&node].buffer));
        stored
    }

    /// A new buffer for a node, or the buffer of a result.
    fn allocate(&mut self, node: NodeId, output: Option<usize>) -> Stored {
        let dims = self.dims(node);
        let buffer = self.new_value(ValueKind::Buffer(self.segment.graph.node(node).dtype));
        self.push(match output {
            Some(index) => Step::Output { buffer, index, dims: dims.clone() },
            None => Step::Allocate { buffer, dims: dims.clone() },
        });
        Stored { buffer, dims }
    }

    /// Finds where a node is that some step wrote, or that was there before.
    pub(super) fn find(&mut self, node: NodeId, stored: &mut Places) {
        if stored.contains_key(&node) {
            return;
        }
        let found = match self.segment.graph.node(node).prim.clone() {
            Prim::Source(number) => self.segment.sources[number as usize].clone(),
            Prim::Dense(number) => {
                let constant = self.segment.constants[number as usize];
                let buffer = self.new_value(ValueKind::Buffer(self.segment.graph.node(node).dtype));
                self.push(Step::Constant { buffer, constant });
                Stored { buffer, dims: self.dims(node) }
            }
            Prim::Reshape => {
                let arg = self.segment.graph.node(node).args[0];
                self.find(arg, stored);
                Stored { dims: self.dims(node), ..stored[&arg].clone() }
            }
            prim => unreachable!("{prim:?} is written before it is read"),
        };
        stored.insert(node, found);
    }

    fn step(&mut self, step: &fuse::Step, stored: &mut Places) {
        match step {
            fuse::Step::Kernel(kernel, dims) => {
                let traversal = Traversal::of(kernel, dims, self.context.program.numerics);
                self.traversals.extend(traversal);
                self.kernel(kernel, stored);
            }
            fuse::Step::Matmul(node) => self.matmul(*node, stored),
            fuse::Step::Sort(node, axis) => {
                let Stored { buffer, dims } = stored[node].clone();
                let (outer, inner) = (self.product_of(&dims[..*axis]), self.product_of(&dims[*axis + 1..]));
                self.push(Step::Sort { buffer, outer, extent: dims[*axis], inner });
            }
        }
    }

    /// Appends steps that come from where a node comes from.
    pub(super) fn at_node(&mut self, node: NodeId, append: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.place, self.segment.origins[node.0 as usize]);
        append(self);
        self.place = before;
    }

    /// Launches a kernel. Where operands may be stretched, which is known at run time only, there is another for runs in
    /// which none is: it goes through memory in order.
    pub(super) fn kernel(&mut self, kernel: &Kernel, stored: &mut Places) {
        let extents = &self.segment.graph.extents;
        let is_stretch = |symbol: Symbol| matches!(extents.rule(symbol), Rule::Stretch(_));
        let Some((plain, ones)) = kernel.with_ones(is_stretch) else {
            return self.launch_dense(kernel, stored);
        };
        let plain = self.unstretched(plain, &ones);
        self.traversals.extend((!combines_in_any_order(kernel)).then_some(Traversal::Open));
        let mut are_ones: Vec<Arg> = ones.into_iter().map(|symbol| self.is(symbol, 1)).collect();
        are_ones.retain(|is_one| *is_one != Arg::Known(1));
        let both = |this: &mut Self, all: Arg, one: Arg| this.arith(Arith::And, &[all, one]);
        let first = if are_ones.is_empty() { Arg::Known(1) } else { are_ones.remove(0) };
        let is_plain = are_ones.into_iter().fold(first, |all, one| both(self, all, one));
        self.launch_either(is_plain, [&plain, kernel], stored, Self::launch_by_multiples);
    }

    /// A kernel in which no operand is stretched: the extents of operands that are not 1 are those of the result.
    fn unstretched(&self, mut plain: Kernel, steps: &[Symbol]) -> Kernel {
        let extents = &self.segment.graph.extents;
        for step in steps {
            let Rule::Stretch(stretched) = extents.rule(*step) else { continue };
            let Extent::Of(own) = extents.resolve(*stretched) else { continue };
            let all = plain.dims.iter().flat_map(|dim| &dim.symbols).copied();
            let whole = all
                .filter(|symbol| *symbol != own)
                .find(|symbol| extents.is_part(Extent::Of(own), Extent::Of(*symbol)));
            if let Some(whole) = whole {
                plain = plain.replaced(own, &Extent::Of(whole).into());
            }
        }
        plain.collapse();
        plain
    }

    fn is(&mut self, symbol: Symbol, number: i64) -> Arg {
        let value = self.extent(Extent::Of(symbol));
        self.arith(Arith::Eq, &[value, Arg::Known(number)])
    }

    /// Launches a kernel, and another for runs in which its columns lie in memory as one row, though they have several dimensions.
    fn launch_dense(&mut self, kernel: &Kernel, stored: &mut Places) {
        let Some((stride, number, dense)) = kernel.dense_columns() else {
            return self.launch_by_multiples(kernel, stored);
        };
        let is_dense = self.is(stride, number);
        self.launch_either(is_dense, [&dense, kernel], stored, Self::launch_by_multiples);
    }

    /// Launches a kernel, and another for runs in which an extent is a multiple of a number that the target has faster code for.
    fn launch_by_multiples(&mut self, kernel: &Kernel, stored: &mut Places) {
        let numerics = self.context.program.numerics;
        let Some((symbol, number)) = self.context.target.faster_multiple(kernel, numerics) else {
            return self.launch(kernel, stored);
        };
        let (all, of_one) = (Extent::Of(symbol).into(), Product::number(number));
        let Extent::Of(count) = self.segment.graph.extents.of(Rule::Quotient(all, of_one)) else {
            unreachable!("a quotient of a symbol is none that is known")
        };
        let multiple = Product { number, symbols: vec![count] };
        let extent = self.extent(Extent::Of(symbol));
        let rest = self.arith(Arith::RemU, &[extent, Arg::Known(number)]);
        let is_multiple = self.arith(Arith::Eq, &[rest, Arg::Known(0)]);
        self.launch_either(is_multiple, [&kernel.replaced(symbol, &multiple), kernel], stored, Self::launch);
    }

    /// Launches one of two kernels, which access the same buffers. The paths meet again with what was known before them: buffers
    /// are found before the branch, and numbers that only one path computes are forgotten.
    fn launch_either(
        &mut self,
        is_first: Arg,
        kernels: [&Kernel; 2],
        stored: &mut Places,
        launch: fn(&mut Self, &Kernel, &mut Places),
    ) {
        for buffer in kernels[1].exprs.iter().filter_map(|expr| expr.code.buffer()) {
            self.find(buffer, stored);
        }
        let blocks = [(); 3].map(|()| self.new_block());
        let [then, otherwise, after] = blocks.map(|block| Edge { block, args: Vec::new() });
        self.end(End::Branch(is_first, then, otherwise));
        for (block, kernel) in blocks.iter().zip(kernels) {
            self.block = *block;
            // What is computed on one path is not known on the other.
            let known = self.segment.symbols.clone();
            launch(self, kernel, stored);
            self.segment.symbols = known;
            self.end(End::Jump(after.clone()));
        }
        self.block = after.block;
    }

    fn launch(&mut self, kernel: &Kernel, stored: &mut Places) {
        let Canonical { kernel: canonical, names } = Canonical::new(kernel);
        let extents: Vec<Arg> =
            names.symbols().iter().map(|symbol| self.extent(Extent::Of(*symbol))).collect();
        let accessed: FxHashSet<NodeId> = kernel.accessed().collect();
        let mut buffers = Vec::new();
        for node in names.nodes() {
            buffers.push(accessed.contains(node).then(|| {
                self.find(*node, stored);
                stored[node].buffer
            }));
        }
        let places = names.nodes().iter().map(|node| self.segment.origins[node.0 as usize]).collect();
        let kernel_id = self.context.kernel(canonical);
        self.at_node(kernel.roots[0].node, |builder| {
            builder.push(Step::Launch(Launch { kernel: kernel_id, buffers, places, extents }));
        });
    }

    /// The node of a tensor in memory.
    pub(super) fn source(&mut self, stored: Stored, dtype: DType, dims: &[Option<i64>]) -> NodeId {
        let number = self.segment.sources.len() as u32;
        let lies = self.strided.get(&stored.buffer);
        self.segment.sources.push(stored);
        match lies {
            None => self.segment.graph.source(number, dtype, dims),
            Some(Lies { layout, strides }) => {
                let has_stride = |axis: usize| strides.contains_key(&axis);
                self.segment.graph.strided_source(number, dtype, dims, (*layout, &has_stride))
            }
        }
    }

    /// Lets a value be a node. What was added to the graph since the last one comes from the op at hand.
    pub(super) fn bind(&mut self, value: Value, node: NodeId) {
        if let Some((op, dtype)) = self.undefined(self.segment.origins.len()) {
            self.context.undefined(self.place, op, dtype);
        }
        self.segment.nodes.insert(value, node);
        self.segment.origins.resize(self.segment.graph.nodes.len(), self.place);
    }

    /// The first op of elements, from a node on, that is not defined for the dtypes of its operands, and that of the first.
    fn undefined(&self, from: usize) -> Option<(Op, DType)> {
        let (graph, numerics) = (&self.segment.graph, self.context.program.numerics);
        graph.nodes[from..].iter().find_map(|node| {
            let Prim::Map(op) = node.prim else { return None };
            let dtypes: Vec<DType> = node.args.iter().map(|arg| graph.node(*arg).dtype).collect();
            (!is_defined(op, numerics, &dtypes, node.dtype)).then_some((op, dtypes[0]))
        })
    }
}
