//! The view: one function, or what stands outside functions, as a [`Graph`] with the host's handles.

mod converts;
mod flow;
mod foreign;
mod lists;
mod ops;
mod slots;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use promote_infer::fold::Constants;
use promote_infer::graph::{BlockId, Graph, Known, OpId, Region, SlotId, Type, ValueId};
use promote_infer::report::Reporter;
use promote_infer::solve::Solution;
use promote_infer::source::{SourceMap, Sources};
use promote_infer::unit::Unit;
use promote_lattice::convert::Bits;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{Ir, Kind, ValueIds};
use crate::source;
use crate::types::Types;
use crate::units::blocks;

pub use converts::{Converts, converts};

/// One unit of inference, with the handle of everything in it. See the [module](self).
pub struct View<I: Ir> {
    /// The program.
    pub graph: Graph,
    /// What it is beside that.
    pub unit: Unit,
    /// The translation of its types.
    pub types: Types<I>,
    /// The function, or the op whose contents outside functions these are.
    pub root: I::Op,
    /// The handle of each op.
    pub ops: Vec<I::Op>,
    /// The handle of each value.
    pub values: Vec<I::Value>,
    /// The handle of each block.
    pub blocks: Vec<I::Block>,
    /// The value that stands for each slot.
    pub targets: Vec<Option<ValueId>>,
    /// For each slot, the op and the operand that each of its sources is.
    pub feeds: Vec<Vec<(I::Op, usize)>>,
    /// The handle of each structured op.
    pub structures: Vec<I::Op>,
    /// The handle of each call.
    pub calls: Vec<I::Op>,
    /// For an op and the operand of it that is a list: the op that makes the list, of the elements that the graph has.
    pub lists: BTreeMap<(OpId, usize), I::Op>,
    /// The operands that bring a slot what has no value, `ub.poison` of unknown type: whatever the slot is, that is too.
    pub undefined: Vec<(SlotId, I::Op, usize)>,
    /// Its source map, which diagnostics need.
    pub source: OnceLock<SourceMap>,
}

impl<I: Ir> View<I> {
    /// The handle of an op.
    pub fn op(&self, op: OpId) -> I::Op {
        self.ops[op.0 as usize]
    }

    /// The handle of a value.
    pub fn value(&self, value: ValueId) -> I::Value {
        self.values[value.0 as usize]
    }

    /// The view beside the program that it is of.
    pub const fn seen<'a>(&'a self, ir: &'a I) -> Seen<'a, I> {
        Seen { view: self, ir }
    }
}

/// A view beside the program that it is of, which must be as it was viewed.
pub struct Seen<'a, I: Ir> {
    view: &'a View<I>,
    ir: &'a I,
}

impl<'a, I: Ir> Seen<'a, I> {
    /// What reports on a solution of this unit.
    pub const fn reporter(&'a self, solution: &'a Solution) -> Reporter<'a> {
        Reporter { unit: &self.view.unit, graph: &self.view.graph, solution, sources: self }
    }
}

impl<I: Ir> Sources for Seen<'_, I> {
    fn map(&self) -> &SourceMap {
        self.view.source.get_or_init(|| source::source_map(self.view, self.ir))
    }
}

impl<I: Ir> Constants for Seen<'_, I> {
    fn elements(&self, op: OpId) -> Option<Vec<Bits>> {
        let Known::DType(dtype) = self.view.graph.written(op)?.dtype else { return None };
        self.ir.elements(self.view.op(op), dtype)
    }
}

/// Views `root`: a function's body, or all that stands in `root` outside functions.
pub fn view<I: Ir>(root: I::Op, ir: &I) -> View<I> {
    view_about(root, ir, 0)
}

/// The same with room for about that many ops of the dialect.
pub fn view_about<I: Ir>(root: I::Op, ir: &I, ops: usize) -> View<I> {
    let is_function = ir.kind(root) == Kind::Function;
    let mut viewer = Viewer::new(root, ir, ops);
    viewer.view.unit.is_function = is_function;
    if is_function {
        viewer.add_signature(root);
    }
    viewer.walk(root);
    viewer.add_branches();
    viewer.add_bodies();
    if is_function {
        let entry = blocks(ir, root).next();
        let arguments = entry.into_iter().flat_map(|entry| ir.arguments(entry));
        viewer.view.unit.arguments = arguments.filter_map(|argument| viewer.ids.get(argument)).collect();
    }
    viewer.view
}

struct Viewer<'a, I: Ir> {
    ir: &'a I,
    ids: I::Ids,
    view: View<I>,
    /// Scratch space for the operands of one op.
    operands: Vec<ValueId>,
    /// The slots that the yields of a region flow to.
    yields: FxHashMap<I::Region, Vec<Option<SlotId>>>,
    /// The slots that the arguments of a block are.
    arguments: FxHashMap<I::Block, Vec<Option<SlotId>>>,
    /// The first block of each region.
    entries: FxHashMap<I::Region, BlockId>,
}

/// Where the walk stands: the rest of a block, and the blocks after it.
enum Step<I: Ir> {
    Region(I::Region, Region),
    Block(I::Block, Region),
    Ops(I::Op, BlockId),
}

impl<'a, I: Ir> Viewer<'a, I> {
    /// A view of nothing yet, with room for about that many ops of the dialect.
    fn new(root: I::Op, ir: &'a I, ops: usize) -> Self {
        Viewer {
            ir,
            ids: I::Ids::default(),
            view: View {
                graph: Graph::with_capacity(ops),
                unit: Unit::default(),
                types: Types::default(),
                root,
                ops: Vec::with_capacity(ops),
                values: Vec::with_capacity(ops),
                blocks: Vec::new(),
                targets: Vec::new(),
                feeds: Vec::new(),
                structures: Vec::new(),
                calls: Vec::new(),
                lists: BTreeMap::new(),
                undefined: Vec::new(),
                source: OnceLock::new(),
            },
            operands: Vec::new(),
            yields: FxHashMap::default(),
            arguments: FxHashMap::default(),
            entries: FxHashMap::default(),
        }
    }

    fn push_regions(&self, operation: I::Op, place: Region, stack: &mut Vec<Step<I>>) {
        let at = stack.len();
        stack.extend(self.ir.regions(operation).map(|region| Step::Region(region, place)));
        stack[at..].reverse();
    }

    /// Visits all ops in program order, with a stack of its own: input may nest deeply.
    fn walk(&mut self, root: I::Op) {
        let ir = self.ir;
        let mut stack: Vec<Step<I>> = Vec::new();
        self.push_regions(root, Region::Outer, &mut stack);
        while let Some(step) = stack.pop() {
            match step {
                Step::Region(region, place) => {
                    // The first block is the next to be added.
                    let entry = BlockId(self.view.blocks.len() as u32);
                    self.entries.insert(region, entry);
                    let places = std::iter::once(place).chain(std::iter::repeat(Region::Of(entry)));
                    let at = stack.len();
                    stack.extend(
                        ir.blocks(region).zip(places).map(|(block, place)| Step::Block(block, place)),
                    );
                    stack[at..].reverse();
                }
                Step::Block(block, place) => {
                    let id = self.view.graph.add_block(place);
                    self.view.blocks.push(block);
                    for argument in ir.arguments(block) {
                        let argument = self.add_value(argument, id);
                        self.view.graph.define_in(argument, id);
                    }
                    if let Some(first) = ir.operations(block).next() {
                        stack.push(Step::Ops(first, id));
                    }
                }
                Step::Ops(operation, block) => self.walk_ops(operation, block, &mut stack),
            }
        }
    }

    /// Visits ops from `operation` on, up to one with regions, which are visited before what follows.
    fn walk_ops(&mut self, operation: I::Op, block: BlockId, stack: &mut Vec<Step<I>>) {
        let mut next = Some(operation);
        while let Some(operation) = next {
            next = self.ir.next(operation);
            let kind = self.ir.kind(operation);
            if kind == Kind::Function {
                continue;
            }
            self.add_operation(operation, kind, block);
            if self.ir.has_regions(operation) {
                stack.extend(next.map(|next| Step::Ops(next, block)));
                let repeats = kind.repeats();
                self.push_regions(operation, Region::In { parent: block, repeats }, stack);
                return;
            }
        }
    }

    /// Adds the first blocks of the regions of structured ops. An empty region, as `scf.if` may have, has none.
    fn add_bodies(&mut self) {
        let ir = self.ir;
        for (structure, operation) in self.view.graph.structures.iter_mut().zip(&self.view.structures) {
            let filled = ir.regions(*operation).filter(|region| ir.blocks(*region).next().is_some());
            structure.bodies = filled.filter_map(|region| self.entries.get(&region).copied()).collect();
        }
    }

    /// Adds which block leads to which.
    fn add_branches(&mut self) {
        let ir = self.ir;
        let several: Vec<(BlockId, I::Block)> = (0..)
            .map(BlockId)
            .zip(self.view.blocks.iter().copied())
            .filter(|(_, block)| !ir.is_alone(*block))
            .collect();
        let ids: FxHashMap<I::Block, BlockId> = several.iter().map(|(id, block)| (*block, *id)).collect();
        for (from, block) in several {
            for successor in ir.last(block).into_iter().flat_map(|last| ir.successors(last)) {
                if let Some(to) = ids.get(&successor) {
                    self.view.graph.add_branch(from, *to);
                }
            }
        }
        self.add_unreached_arguments();
    }

    /// The arguments of blocks that nothing branches to are slots too, to which nothing flows.
    fn add_unreached_arguments(&mut self) {
        let reached: FxHashSet<BlockId> = self.view.graph.branches().iter().map(|(_, to)| *to).collect();
        let blocks =
            self.view.graph.blocks().iter().zip(0..).map(|(block, index)| (block.entry, BlockId(index)));
        let unreached = blocks.filter(|(entry, block)| entry != block && !reached.contains(block));
        for (_, block) in unreached.collect::<Vec<_>>() {
            let arguments: Vec<_> = self.ir.arguments(self.view.blocks[block.0 as usize]).collect();
            let slots = self.slots(&arguments, block);
            self.view.graph.gets_undefined.extend(slots.into_iter().flatten());
        }
    }

    fn type_of(&mut self, value: I::Value) -> Type {
        self.view.types.view(self.ir.value_type(value), self.ir, &mut self.view.graph)
    }

    fn add_value(&mut self, value: I::Value, block: BlockId) -> ValueId {
        let stated = self.type_of(value);
        if let Some(id) = self.ids.get(value) {
            return id;
        }
        let id = self.view.graph.add_value(stated, block);
        self.name_value(value, id, stated);
        id
    }

    /// Notes the handle of a new value.
    fn name_value(&mut self, value: I::Value, id: ValueId, stated: Type) {
        let View { types, graph, .. } = &mut self.view;
        if stated.dtype == Known::Opaque && types.is_weak(self.ir.value_type(value), self.ir, graph) {
            self.view.unit.nested.insert(id);
        }
        self.view.values.push(value);
        self.ids.insert(value, id);
    }

    /// The id of an operand. One that is defined further on, as blocks in any order allow, is added as it is stated.
    fn operand(&mut self, value: I::Value, block: BlockId) -> ValueId {
        match self.ids.get(value) {
            Some(id) => id,
            None => self.add_value(value, block),
        }
    }
}
