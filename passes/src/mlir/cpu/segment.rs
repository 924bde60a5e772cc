//! Straight-line code: tensors as nodes of a graph, until somebody needs them in memory.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_scalar::memory_size;
use rustc_hash::{FxHashMap, FxHashSet};

use super::function::Function;
use super::kernel::{self, Compiled, Slot};
use super::llvm::Predicate;
use super::matmul::{self, Environment, Tile};
use super::names;
use crate::lower::canonical::{Canonical, Names};
use crate::lower::extent::{Extent, Product, Sum, Symbol};
use crate::lower::fuse::{self, Step, fuse};
use crate::lower::graph::{Graph, Index, MAX_PARTS, NodeId, PART, Prim, Rule};
use crate::lower::kernel::{Code as What, Kernel};
use crate::mlir::raw::{self, Address};
use crate::mlir::report::place_of;

/// A tensor in memory: contiguous, row-major.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its first element.
    pub data: MlirValue,
    /// What keeps it alive; null for what lives longer than the call.
    pub owner: MlirValue,
    /// Its extents.
    pub dims: Vec<MlirValue>,
}

/// The graph of the code since tensors were last needed.
#[derive(Default)]
pub struct Segment {
    /// The graph.
    pub graph: Graph,
    /// The tensors that are its sources.
    pub sources: Vec<Stored>,
    /// The symbols of its constant tensors.
    pub constants: Vec<String>,
    /// What each value is.
    pub nodes: FxHashMap<Address<MlirValue>, NodeId>,
    /// The op that each node is made for.
    pub origins: Vec<MlirOperation>,
    symbols: FxHashMap<Symbol, MlirValue>,
}

impl Segment {
    /// A new one.
    pub fn new() -> Self {
        let mut segment = Self::default();
        segment.graph.cuts_reductions = true;
        segment
    }
}

/// Elements that are worth a thread.
const GRAIN: i64 = 1 << 15;
/// A kernel of fewer elements is called in place.
const SMALL: i64 = 1 << 13;

impl Function<'_, '_> {
    /// The number that an extent is.
    pub fn extent(&mut self, extent: Extent) -> MlirValue {
        match self.segment.graph.resolve(extent) {
            Extent::Fixed(extent) => self.code.index(extent),
            Extent::Of(symbol) => self.symbol(symbol),
        }
    }

    /// The extents of a node.
    pub fn dims(&mut self, node: NodeId) -> Vec<MlirValue> {
        let shape = self.segment.graph.shape(node);
        shape.into_iter().map(|extent| self.extent(extent)).collect()
    }

    fn symbol(&mut self, symbol: Symbol) -> MlirValue {
        if let Some(known) = self.segment.symbols.get(&symbol) {
            return *known;
        }
        let value = match self.segment.graph.symbols[symbol.0 as usize].clone() {
            Rule::Source(node, axis) => match self.segment.graph.node(node).prim {
                Prim::Source(number) => self.segment.sources[number as usize].dims[axis],
                _ => unreachable!("a source's extents are a source's"),
            },
            Rule::Last(extent) => {
                let (extent, one) = (self.extent(extent), self.code.index(1));
                self.code.int("llvm.sub", extent, one)
            }
            Rule::SliceStart { extent, start, step } => {
                let extent = self.extent(extent);
                self.bound(extent, start, step)
            }
            Rule::SliceCount { extent, start, stop, step } => {
                let extent = self.extent(extent);
                let (first, last) = (self.bound(extent, start, step), self.bound(extent, stop, step));
                let (from, to) = if step < 0 { (last, first) } else { (first, last) };
                let distance = self.code.int("llvm.sub", to, from);
                let (zero, size) = (self.code.index(0), self.code.index(step.saturating_abs()));
                let less = self.code.index(step.saturating_abs() - 1);
                let distance = self.code.int("llvm.intr.smax", distance, zero);
                let rounded = self.code.int("llvm.add", distance, less);
                self.code.int("llvm.udiv", rounded, size)
            }
            Rule::Total(extents) => {
                let first = self.code.index(0);
                extents.into_iter().fold(first, |sum, extent| {
                    let extent = self.extent(extent);
                    self.code.int("llvm.add", sum, extent)
                })
            }
            Rule::Quotient(product, by) => {
                let (product, by, one) = (self.product(&product), self.product(&by), self.code.index(1));
                // Where the divisor is zero, so is the dividend.
                let by = self.code.int("llvm.intr.umax", by, one);
                self.code.int("llvm.udiv", product, by)
            }
            Rule::Broadcast(extents) => {
                let one = self.code.index(1);
                extents.into_iter().rev().fold(one, |rest, extent| {
                    let extent = self.extent(extent);
                    let is_one = self.code.compare(Predicate::Eq, extent, one);
                    self.code.select(is_one, rest, extent)
                })
            }
            Rule::Stretch(extent) => {
                let (extent, zero, one) = (self.extent(extent), self.code.index(0), self.code.index(1));
                let is_one = self.code.compare(Predicate::Eq, extent, one);
                self.code.select(is_one, zero, one)
            }
            Rule::Parts(count) => {
                let (count, part) = (self.product(&count), self.code.index(PART));
                let (one, most) = (self.code.index(1), self.code.index(MAX_PARTS));
                let parts = self.code.int("llvm.sdiv", count, part);
                let parts = self.code.int("llvm.intr.smax", parts, one);
                self.code.int("llvm.intr.smin", parts, most)
            }
            Rule::PartLength(extent, parts) => {
                let (extent, parts, one) = (self.extent(extent), self.extent(parts), self.code.index(1));
                let less = self.code.int("llvm.sub", parts, one);
                let rounded = self.code.int("llvm.add", extent, less);
                self.code.int("llvm.sdiv", rounded, parts)
            }
        };
        self.segment.symbols.insert(symbol, value);
        value
    }

    /// Where a bound of a Python slice lies.
    fn bound(&mut self, extent: MlirValue, at: i64, step: i64) -> MlirValue {
        let (zero, one) = (self.code.index(0), self.code.index(1));
        let (low, high) = if step < 0 {
            (self.code.index(-1), self.code.int("llvm.sub", extent, one))
        } else {
            (zero, extent)
        };
        let number = self.code.index(at);
        let place = if at < 0 { self.code.int("llvm.add", number, extent) } else { number };
        let place = self.code.int("llvm.intr.smax", place, low);
        self.code.int("llvm.intr.smin", place, high)
    }

    fn product(&mut self, product: &Product) -> MlirValue {
        let product = self.segment.graph.simplify(product);
        let number = self.code.index(product.number);
        product.symbols.iter().fold(number, |all, symbol| {
            let factor = self.extent(Extent::Of(*symbol));
            self.code.int("llvm.mul", all, factor)
        })
    }

    fn sum(&mut self, sum: &Sum) -> MlirValue {
        if let Some(fixed) = sum.fixed() {
            return self.code.index(fixed);
        }
        let zero = self.code.index(0);
        sum.0.iter().fold(zero, |all, product| {
            let product = self.product(product);
            self.code.int("llvm.add", all, product)
        })
    }

    /// Computes nodes, those of `outputs` into the results of these numbers, and starts a new segment. What every needed
    /// node is then; a new buffer belongs to the caller.
    pub fn flush(&mut self, needed: &[NodeId], outputs: &[(NodeId, usize)]) -> FxHashMap<NodeId, Stored> {
        let mut wanted = needed.to_vec();
        let mut places: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut given = Vec::new();
        for (node, output) in outputs {
            // What has no buffer of its own, or has one already, is copied.
            let is_new = !matches!(
                self.segment.graph.node(*node).prim,
                Prim::Source(_) | Prim::Dense(_) | Prim::Reshape
            ) && !places.contains_key(node)
                && !needed.contains(node);
            let target = if is_new { *node } else { self.copy(*node) };
            places.insert(target, *output);
            wanted.push(target);
            given.push((*output, target));
        }
        let checked =
            if self.is_shape { Vec::new() } else { std::mem::take(&mut self.segment.graph.checked) };
        wanted.extend(checked.iter().filter(|node| !wanted.contains(node)).copied().collect::<Vec<_>>());
        for node in &wanted {
            // Extents are computed in any case, even where nothing else is.
            self.dims(*node);
        }
        let stored = if self.is_shape { self.hollow(&wanted) } else { self.compute(&wanted, &places) };
        for node in checked {
            self.release(stored[&node].owner);
        }
        for (output, target) in given {
            if self.is_shape {
                self.tell_shape(output, &stored[&target]);
            }
        }
        self.segment = Segment::new();
        stored
    }

    /// Stands for tensors of which only the shape is asked.
    fn hollow(&mut self, wanted: &[NodeId]) -> FxHashMap<NodeId, Stored> {
        let null = self.code.null();
        wanted
            .iter()
            .map(|node| (*node, Stored { data: null, owner: null, dims: self.dims(*node) }))
            .collect()
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

    fn compute(&mut self, wanted: &[NodeId], places: &FxHashMap<NodeId, usize>) -> FxHashMap<NodeId, Stored> {
        let plan = fuse(&self.segment.graph, wanted);
        let mut stored: FxHashMap<NodeId, Stored> = FxHashMap::default();
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
        for (index, step) in plan.steps.iter().enumerate() {
            for node in &steps[index].1 {
                if !stored.contains_key(node) {
                    let made = self.allocate(*node, places.get(node).copied());
                    stored.insert(*node, made);
                }
            }
            for node in &steps[index].0 {
                self.find(*node, &mut stored);
            }
            self.step(step, &mut stored);
            let touched: FxHashSet<NodeId> = steps[index].0.iter().chain(&steps[index].1).copied().collect();
            let mut done: Vec<NodeId> = touched
                .into_iter()
                .filter(|node| buffers.contains(node) && !is_wanted.contains(node) && last_use[node] == index)
                .collect();
            done.sort_unstable();
            for node in done {
                self.release(stored[&node].owner);
            }
        }
        if self.lowering.setting.numerics != Numerics::Jax && !plan.steps.is_empty() {
            self.check_traps();
        }
        for node in wanted {
            self.find(*node, &mut stored);
        }
        // A buffer of which only another shape is wanted: who takes that holds a reference of its own.
        let floating = is_wanted.into_iter().filter(|node| buffers.contains(node) && !wanted.contains(node));
        let mut floating: Vec<NodeId> = floating.collect();
        floating.sort_unstable();
        self.floating.extend(floating.into_iter().map(|node| stored[&node].owner));
        stored
    }

    /// A new buffer for a node, or the buffer of a result.
    fn allocate(&mut self, node: NodeId, output: Option<usize>) -> Stored {
        let dims = self.dims(node);
        let shape = self.dims_in_memory(&dims);
        let types = self.code.types;
        let (data, owner) = match output {
            Some(output) => {
                let index = self.code.index(output as i64);
                let arguments = [self.context, index, shape];
                (self.code.call("promote_rt_output", &arguments, Some(types.pointer)), self.code.null())
            }
            None => {
                let data = self.fresh(&dims, memory_size(self.segment.graph.node(node).dtype));
                (Some(data), data)
            }
        };
        let Some(data) = data else { unreachable!("the function gives a pointer") };
        if output.is_some() {
            self.fail_if_null(data);
        }
        Stored { data, owner, dims }
    }

    /// A new buffer of this shape, for elements of this size.
    pub fn fresh(&mut self, dims: &[MlirValue], element_size: usize) -> MlirValue {
        let shape = self.dims_in_memory(dims);
        let (rank, size) = (self.code.index(dims.len() as i64), self.code.index(element_size as i64));
        let arguments = [self.context, rank, shape, size];
        let Some(data) = self.code.call("promote_rt_new", &arguments, Some(self.code.types.pointer)) else {
            unreachable!("the function gives a pointer")
        };
        self.fail_if_null(data);
        data
    }

    /// Leaves if the run time gave no buffer: it has said why.
    pub fn fail_if_null(&mut self, data: MlirValue) {
        let null = self.code.null();
        let failed = self.code.compare(Predicate::Eq, data, null);
        self.fail_if(failed);
    }

    /// Extents in a row in memory.
    pub fn dims_in_memory(&mut self, dims: &[MlirValue]) -> MlirValue {
        if dims.is_empty() {
            return self.code.null();
        }
        let i64 = self.code.types.i64;
        let room = self.code.stack(i64, dims.len() as i64, 8);
        for (axis, extent) in dims.iter().enumerate() {
            let place = self.code.index(axis as i64);
            let place = self.code.element(room, place, i64, 1);
            self.code.store(*extent, place, 8);
        }
        room
    }

    /// Where a node is that some step wrote, or that was there before.
    fn find(&mut self, node: NodeId, stored: &mut FxHashMap<NodeId, Stored>) {
        if stored.contains_key(&node) {
            return;
        }
        let found = match self.segment.graph.node(node).prim.clone() {
            Prim::Source(number) => self.segment.sources[number as usize].clone(),
            Prim::Dense(number) => {
                let name = self.segment.constants[number as usize].clone();
                let data = self.code.address_of(&name);
                Stored { data, owner: self.code.null(), dims: self.dims(node) }
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

    fn step(&mut self, step: &Step, stored: &mut FxHashMap<NodeId, Stored>) {
        match step {
            Step::Kernel(kernel) => self.kernel(kernel, stored),
            Step::Matmul(node) => {
                for arg in self.segment.graph.node(*node).args.clone() {
                    self.find(arg, stored);
                }
                if self.is_large(*node) {
                    self.matmul(*node, stored);
                } else {
                    let kernel = fuse::matmul(&self.segment.graph, *node);
                    self.kernel(&kernel, stored);
                }
            }
            Step::Sort(node, axis) => self.sort(*node, *axis, &stored[node].clone()),
        }
    }

    /// Whether packing the operands of a product is worth it: their elements are used often.
    fn is_large(&self, node: NodeId) -> bool {
        let graph = &self.segment.graph;
        let (x, shape) = (graph.node(node).args[0], graph.shape(node));
        let (rank, inner) = (shape.len(), graph.shape(x));
        let is_float = matches!(graph.node(node).dtype, DType::F32 | DType::F64);
        let extents =
            [shape[rank - 2], shape[rank - 1], inner[rank - 1]].map(|extent| extent.fixed().unwrap_or(64));
        let count = extents.iter().fold(1i64, |all, extent| all.saturating_mul(*extent));
        is_float && extents.iter().all(|extent| *extent >= 8) && count >= 1 << 15
    }

    fn matmul(&mut self, node: NodeId, stored: &FxHashMap<NodeId, Stored>) {
        let graph = &self.segment.graph;
        let (x, y, dtype) = (graph.node(node).args[0], graph.node(node).args[1], graph.node(node).dtype);
        let (setting, ty) = (self.lowering.setting, promote_scalar::register(dtype));
        let tile = Tile::new(&setting, ty);
        let (left, right, product) = (stored[&x].clone(), stored[&y].clone(), stored[&node].clone());
        let rank = product.dims.len();
        let (rows, columns, inner) = (product.dims[rank - 2], product.dims[rank - 1], left.dims[rank - 1]);
        let one = self.code.index(1);
        let batch =
            product.dims[..rank - 2].iter().fold(one, |all, extent| self.code.int("llvm.mul", all, *extent));
        let panels = self.rounded_up(columns, tile.columns);
        let blocks = self.rounded_up(rows, tile.rows);
        let width = self.code.index(tile.columns);
        let packed = self.fresh(&[batch, panels, inner, width], memory_size(dtype));
        let environment = Environment {
            left: left.data,
            right: right.data,
            packed,
            product: product.data,
            extents: [rows, inner, columns],
            counts: [panels, blocks],
        };
        let environment = environment.write(&mut self.code);
        let origin = self.segment.origins[node.0 as usize];
        // SAFETY: the op is alive.
        let location = unsafe { mlirOperationGetLocation(origin) };
        let [pack, multiply] = match self.lowering.products.get(&ty) {
            Some(known) => known.clone(),
            None => {
                let names = [(); 2].map(|()| self.lowering.kernel_name(self.name));
                matmul::pack(setting, &names[0], location, ty);
                matmul::multiply(setting, &names[1], location, ty);
                self.lowering.products.insert(ty, names.clone());
                names
            }
        };
        for (name, units) in [(pack, panels), (multiply, blocks)] {
            let count = self.code.int("llvm.mul", batch, units);
            let body = self.code.address_of(&name);
            self.code.call("promote_rt_parallel", &[self.context, body, environment, count, one], None);
        }
        self.release(packed);
    }

    fn rounded_up(&mut self, extent: MlirValue, by: i64) -> MlirValue {
        let (less, by) = (self.code.index(by - 1), self.code.index(by));
        let sum = self.code.int("llvm.add", extent, less);
        self.code.int("llvm.sdiv", sum, by)
    }

    fn sort(&mut self, node: NodeId, axis: usize, stored: &Stored) {
        let one = self.code.index(1);
        let count =
            |dims: &[MlirValue]| dims.iter().fold(one, |all, extent| self.code.int("llvm.mul", all, *extent));
        let (outer, inner) = (count(&stored.dims[..axis]), count(&stored.dims[axis + 1..]));
        let kind = names::sort_kind(self.segment.graph.node(node).dtype, self.lowering.setting.numerics);
        let kind = self.code.constant(promote_scalar::Ty::I32, kind, 1);
        let arguments = [self.context, kind, stored.data, outer, stored.dims[axis], inner];
        self.code.call("promote_rt_sort", &arguments, None);
    }

    /// Compiles a kernel and runs it. Where operands may be stretched, which only a run knows, there is one for runs in
    /// which none is: it goes through memory in order.
    fn kernel(&mut self, kernel: &Kernel, stored: &mut FxHashMap<NodeId, Stored>) {
        let symbols = &self.segment.graph.symbols;
        let is_stretch = |symbol: Symbol| matches!(symbols[symbol.0 as usize], Rule::Stretch(_));
        let Some((plain, ones)) = kernel.with_ones(is_stretch) else {
            return self.run_kernel(kernel, stored);
        };
        for buffer in kernel.exprs.iter().filter_map(|expr| expr.code.buffer()) {
            self.find(buffer, stored);
        }
        let (yes, one) = (self.code.constant(promote_scalar::Ty::I1, 1, 1), self.code.index(1));
        let bits = self.code.types.scalar(promote_scalar::Ty::I1);
        let is_plain = ones.into_iter().fold(yes, |all, symbol| {
            let step = self.extent(Extent::Of(symbol));
            let is_one = self.code.compare(Predicate::Eq, step, one);
            self.code.value("llvm.and", &[all, is_one], bits, &[])
        });
        let blocks = [(); 3].map(|()| self.code.new_block(&[]));
        self.code.branch_if(is_plain, (blocks[0], &[]), (blocks[1], &[]));
        for (block, kernel) in blocks.iter().zip([&plain, kernel]) {
            self.code.go_to(*block);
            // What is computed on one way is not known on the other.
            let known = self.segment.symbols.clone();
            self.run_kernel(kernel, stored);
            self.segment.symbols = known;
            self.code.branch(blocks[2], &[]);
        }
        self.code.go_to(blocks[2]);
    }

    /// Compiles a kernel, and runs it on all units.
    fn run_kernel(&mut self, kernel: &Kernel, stored: &mut FxHashMap<NodeId, Stored>) {
        let (name, compiled) = self.compiled(kernel);
        if let Some((op, dtype)) = compiled.missing {
            self.not_computed(op, dtype);
        }
        let env = self.environment(&compiled, stored);
        let count = self.units(&compiled);
        let zero = self.code.index(0);
        let total = compiled.units.iter().fold(compiled.work.clone(), |all, extent| &all * extent);
        let tiles =
            compiled.tiles.as_ref().map_or(Some(1), |(extent, tile)| Some(extent.fixed()? / tile + 1));
        let is_small =
            total.fixed().zip(tiles).is_some_and(|(total, tiles)| total.saturating_mul(tiles) <= SMALL);
        if is_small {
            self.code.call(&name, &[env, zero, count], None);
            return;
        }
        let grain = match self.segment.graph.simplify(&compiled.work).fixed() {
            Some(work) => self.code.index((GRAIN / work.max(1)).max(1)),
            None => {
                let (work, one, all) =
                    (self.product(&compiled.work), self.code.index(1), self.code.index(GRAIN));
                let work = self.code.int("llvm.intr.smax", work, one);
                let grain = self.code.int("llvm.sdiv", all, work);
                self.code.int("llvm.intr.smax", grain, one)
            }
        };
        let body = self.code.address_of(&name);
        let arguments = [self.context, body, env, count, grain];
        self.code.call("promote_rt_parallel", &arguments, None);
    }

    /// The code of a kernel, and its name. Equal kernels of a module share one, unless it tells the places of ops.
    fn compiled(&mut self, kernel: &Kernel) -> (String, Compiled) {
        let Canonical { kernel, names } = Canonical::new(kernel);
        let places = self.places(&kernel, &names);
        if let Some((name, compiled)) = self.lowering.kernels.get(&kernel).filter(|_| places.is_empty()) {
            return (name.clone(), compiled.clone().named(&names));
        }
        let name = self.lowering.kernel_name(self.name);
        let origin = self.segment.origins[names.node(kernel.anchors[0].node).0 as usize];
        // SAFETY: the op is alive.
        let location = unsafe { mlirOperationGetLocation(origin) };
        let compiled = kernel::compile(self.lowering.setting, &kernel, &name, location, &places);
        if places.is_empty() && compiled.missing.is_none() {
            self.lowering.kernels.insert(kernel, (name.clone(), compiled.clone()));
        }
        (name, compiled.named(&names))
    }

    /// Texts that tell the ops of a canonical kernel that may raise exceptions.
    fn places(&mut self, kernel: &Kernel, names: &Names) -> FxHashMap<NodeId, (String, usize)> {
        let mut places = FxHashMap::default();
        if self.lowering.setting.numerics == Numerics::Jax {
            return places;
        }
        for expr in &kernel.exprs {
            let raises = match &expr.code {
                What::Take { .. } => true,
                What::Map(op, _) => {
                    matches!(op, Op::FloorDivide | Op::Remainder | Op::Fmod | Op::Pow | Op::Reciprocal)
                        && !expr.dtype.is_inexact()
                }
                _ => false,
            };
            if raises && !places.contains_key(&expr.node) {
                let origin = self.segment.origins[names.node(expr.node).0 as usize];
                let place = place_of(origin).map(|place| format!("{place}: ")).unwrap_or_default();
                let text = format!("{place}{}", raw::name(origin));
                places.insert(expr.node, (self.lowering.text(&text), text.len()));
            }
        }
        places
    }

    fn units(&mut self, compiled: &Compiled) -> MlirValue {
        let one = self.code.index(1);
        let mut count = compiled.units.iter().fold(one, |all, extent| {
            let extent = self.product(extent);
            self.code.int("llvm.mul", all, extent)
        });
        if let Some((extent, tile)) = &compiled.tiles {
            let extent = self.product(extent);
            let (less, size) = (self.code.index(tile - 1), self.code.index(*tile));
            let rounded = self.code.int("llvm.add", extent, less);
            let tiles = self.code.int("llvm.sdiv", rounded, size);
            count = self.code.int("llvm.mul", count, tiles);
        }
        count
    }

    fn environment(&mut self, compiled: &Compiled, stored: &mut FxHashMap<NodeId, Stored>) -> MlirValue {
        let i64 = self.code.types.i64;
        let room = self.code.stack(i64, compiled.slots.len().max(1) as i64, 8);
        for (index, slot) in compiled.slots.iter().enumerate() {
            let value = match slot {
                Slot::Context => self.context,
                Slot::Number(sum) => self.sum(sum),
                Slot::Address(node, offset) => {
                    self.find(*node, stored);
                    let data = stored[node].data;
                    if offset.fixed() == Some(0) {
                        data
                    } else {
                        let size = memory_size(self.segment.graph.node(*node).dtype) as i64;
                        let (offset, size) = (self.sum(offset), self.code.index(size));
                        let bytes = self.code.int("llvm.mul", offset, size);
                        self.code.element(data, bytes, self.code.types.i8, 1)
                    }
                }
            };
            let place = self.code.index(index as i64);
            let place = self.code.element(room, place, i64, 1);
            self.code.store(value, place, 8);
        }
        room
    }
}
