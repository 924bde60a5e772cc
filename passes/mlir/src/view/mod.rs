//! The view: one function, or what stands outside functions, as a [`Graph`] with its MLIR handles.

mod ops;
mod slots;

use std::sync::OnceLock;

use mlir_sys::*;
use promote_dialect::mlir::Names;
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::ops::attribute;
use super::flow::{self, Flow};
use super::ids::Ids;
use super::places;
use super::raw::{self, Address};
use super::types::Types;
use promote_infer::graph::{BlockId, Graph, Known, Region, SlotId, Type, ValueId};
use promote_infer::report::Reporter;
use promote_infer::solve::Solution;
use promote_infer::source::{SourceMap, Sources};
use promote_infer::unit::Unit;

/// One unit of inference, with the handle of everything in it. See the [module](self).
#[derive(Debug)]
pub struct View {
    /// The program.
    pub graph: Graph,
    /// What it is beside that.
    pub unit: Unit,
    /// The translation of its types.
    pub types: Types,
    /// The function, or the op whose contents outside functions these are.
    pub root: Address<MlirOperation>,
    /// The handle of each op.
    pub ops: Vec<Address<MlirOperation>>,
    /// The handle of each value.
    pub values: Vec<Address<MlirValue>>,
    /// The handle of each block.
    pub blocks: Vec<Address<MlirBlock>>,
    /// The value that stands for each slot.
    pub targets: Vec<Option<ValueId>>,
    /// For each slot, the op and the operand that each of its sources is.
    pub feeds: Vec<Vec<(Address<MlirOperation>, usize)>>,
    /// The handle of each structured op.
    pub structures: Vec<Address<MlirOperation>>,
    /// The handle of each call.
    pub calls: Vec<Address<MlirOperation>>,
    /// The operands that bring a slot what has no value, `ub.poison` of unknown type: whatever the slot is, that is too.
    pub undefined: Vec<(SlotId, Address<MlirOperation>, usize)>,
    /// Its source map, which diagnostics need.
    pub source: OnceLock<SourceMap>,
}

impl View {
    /// What reports on a solution of this unit.
    pub const fn reporter<'a>(&'a self, solution: &'a Solution) -> Reporter<'a> {
        Reporter { unit: &self.unit, graph: &self.graph, solution, sources: self }
    }
}

impl Sources for View {
    fn map(&self) -> &SourceMap {
        self.source.get_or_init(|| places::source_map(self))
    }
}

/// The mark of a conversion that the program did not write.
pub const IMPLICIT: &str = "promote.implicit";

/// The names of `func`'s ops that inference sees through.
pub const FUNCTION: &str = "func.func";
const RETURN: &str = "func.return";
const CALL: &str = "func.call";
/// A choice between two values, as upstream passes write a condition whose branches only pass values on.
pub const SELECT: &str = "arith.select";
/// What stands where control never comes from, as upstream passes write it.
pub const POISON: &str = "ub.poison";

/// Views `root`: a function's body, or all that stands in `root` outside functions.
pub fn view(root: MlirOperation, names: &Names) -> View {
    let is_function = raw::is_named(root, FUNCTION);
    let mut viewer = Viewer {
        names,
        ids: Ids::default(),
        view: View {
            graph: Graph::default(),
            unit: Unit { is_function, ..Unit::default() },
            types: Types::default(),
            root: Address(root),
            ops: Vec::new(),
            values: Vec::new(),
            blocks: Vec::new(),
            targets: Vec::new(),
            feeds: Vec::new(),
            structures: Vec::new(),
            calls: Vec::new(),
            undefined: Vec::new(),
            source: OnceLock::new(),
        },
        operands: Vec::new(),
        kinds: Kinds::new(raw::context(root)),
        flows: flow::names(raw::context(root)),
        loops: flow::loops(raw::context(root)),
        yields: FxHashMap::default(),
        arguments: FxHashMap::default(),
        entries: FxHashMap::default(),
    };
    if is_function {
        viewer.add_signature(root);
    }
    viewer.walk(root);
    viewer.add_branches();
    viewer.add_bodies();
    if is_function {
        let entry = raw::regions(root).flat_map(raw::blocks).next();
        let arguments = entry.into_iter().flat_map(raw::arguments);
        viewer.view.unit.arguments = arguments.filter_map(|argument| viewer.ids.get(argument)).collect();
    }
    viewer.view
}

/// The ops that inference sees through, as MLIR's uniqued names.
struct Kinds {
    function: usize,
    call: usize,
    r#return: usize,
    poison: usize,
}

impl Kinds {
    fn new(context: MlirContext) -> Self {
        // SAFETY: the context is alive.
        let id = |name| unsafe { mlirIdentifierGet(context, raw::string(name)) }.ptr as usize;
        Self { function: id(FUNCTION), call: id(CALL), r#return: id(RETURN), poison: id(POISON) }
    }
}

pub(crate) struct Viewer<'a> {
    names: &'a Names,
    ids: Ids,
    pub(crate) view: View,
    /// Scratch space for the operands of one op.
    operands: Vec<ValueId>,
    kinds: Kinds,
    /// The ops that pass values on, by MLIR's uniqued names.
    flows: FxHashMap<usize, Flow>,
    /// The ops that run their regions any number of times, in the same way.
    loops: FxHashSet<usize>,
    /// The slots that the yields of a region flow to.
    pub(crate) yields: FxHashMap<Address<MlirRegion>, Vec<Option<SlotId>>>,
    /// The slots that the arguments of a block are.
    pub(crate) arguments: FxHashMap<Address<MlirBlock>, Vec<Option<SlotId>>>,
    /// The first block of each region.
    entries: FxHashMap<Address<MlirRegion>, BlockId>,
}

/// Where the walk stands: the rest of a block, and the blocks after it.
enum Step {
    Region(MlirRegion, Region),
    Block(MlirBlock, Region),
    Ops(MlirOperation, BlockId),
}

fn push_regions(operation: MlirOperation, place: Region, stack: &mut Vec<Step>) {
    let at = stack.len();
    stack.extend(raw::regions(operation).map(|region| Step::Region(region, place)));
    stack[at..].reverse();
}

impl Viewer<'_> {
    /// Visits all ops in program order, with a stack of its own: input may nest deeply.
    fn walk(&mut self, root: MlirOperation) {
        let mut stack: Vec<Step> = Vec::new();
        push_regions(root, Region::Outer, &mut stack);
        while let Some(step) = stack.pop() {
            match step {
                Step::Region(region, place) => {
                    // The first block is the next to be added.
                    let entry = BlockId(self.view.blocks.len() as u32);
                    self.entries.insert(Address(region), entry);
                    let places = std::iter::once(place).chain(std::iter::repeat(Region::Of(entry)));
                    let at = stack.len();
                    stack.extend(
                        raw::blocks(region).zip(places).map(|(block, place)| Step::Block(block, place)),
                    );
                    stack[at..].reverse();
                }
                Step::Block(block, place) => {
                    let id = self.view.graph.add_block(place);
                    self.view.blocks.push(Address(block));
                    for argument in raw::arguments(block) {
                        let argument = self.add_value(argument, id);
                        self.view.graph.define_in(argument, id);
                    }
                    if let Some(first) = raw::operations(block).next() {
                        stack.push(Step::Ops(first, id));
                    }
                }
                Step::Ops(operation, block) => self.walk_ops(operation, block, &mut stack),
            }
        }
    }

    /// Visits ops from `operation` on, up to one with regions, which are visited before what follows.
    fn walk_ops(&mut self, operation: MlirOperation, block: BlockId, stack: &mut Vec<Step>) {
        let mut next = Some(operation);
        while let Some(operation) = next {
            // SAFETY: the operation is alive.
            let after = unsafe { mlirOperationGetNextInBlock(operation) };
            next = (!after.ptr.is_null()).then_some(after);
            // SAFETY: the operation is alive.
            let has_regions = unsafe { mlirOperationGetNumRegions(operation) } > 0;
            let name = raw::name_id(operation);
            if name == self.kinds.function {
                continue;
            }
            self.add_operation(operation, name, block);
            if has_regions {
                stack.extend(next.map(|next| Step::Ops(next, block)));
                let repeats = self.loops.contains(&name);
                push_regions(operation, Region::In { parent: block, repeats }, stack);
                return;
            }
        }
    }

    /// Adds the first blocks of the regions of structured ops. An empty region, as `scf.if` may have, has none.
    fn add_bodies(&mut self) {
        for (structure, operation) in self.view.graph.structures.iter_mut().zip(&self.view.structures) {
            let filled = raw::regions(operation.0).filter(|region| raw::blocks(*region).next().is_some());
            structure.bodies =
                filled.filter_map(|region| self.entries.get(&Address(region)).copied()).collect();
        }
    }

    /// Adds which block leads to which.
    fn add_branches(&mut self) {
        let blocks = || self.view.blocks.iter().enumerate();
        let id = |(index, block): (usize, &Address<MlirBlock>)| (*block, BlockId(index as u32));
        let several = |(_, block): &(usize, &Address<MlirBlock>)| !raw::is_alone(block.0);
        let ids: FxHashMap<Address<MlirBlock>, BlockId> = blocks().filter(several).map(id).collect();
        for (index, block) in blocks().filter(several) {
            for successor in raw::last_operation(block.0).into_iter().flat_map(raw::successors) {
                if let Some(to) = ids.get(&Address(successor)) {
                    self.view.graph.add_branch(BlockId(index as u32), *to);
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
            let arguments: Vec<_> = raw::arguments(self.view.blocks[block.0 as usize].0).collect();
            let slots = self.slots(&arguments, block);
            self.view.graph.gets_undefined.extend(slots.into_iter().flatten());
        }
    }

    fn type_of(&mut self, value: MlirValue) -> Type {
        self.view.types.view(raw::value_type(value), self.names, &mut self.view.graph)
    }

    fn add_value(&mut self, value: MlirValue, block: BlockId) -> ValueId {
        let stated = self.type_of(value);
        if let Some(id) = self.ids.get(value) {
            return id;
        }
        let id = self.view.graph.add_value(stated, block);
        self.name_value(value, id, stated);
        id
    }

    /// Notes the handle of a new value.
    fn name_value(&mut self, value: MlirValue, id: ValueId, stated: Type) {
        let View { types, graph, .. } = &mut self.view;
        if stated.dtype == Known::Opaque && types.is_weak(raw::value_type(value), self.names, graph) {
            self.view.unit.nested.insert(id);
        }
        self.view.values.push(Address(value));
        self.ids.insert(value, id);
    }

    /// The id of an operand. One that is defined further on, as blocks in any order allow, is added as it is stated.
    pub(crate) fn operand(&mut self, value: MlirValue, block: BlockId) -> ValueId {
        match self.ids.get(value) {
            Some(id) => id,
            None => self.add_value(value, block),
        }
    }
}

/// The type of a function.
pub fn function_type(function: MlirOperation) -> Option<MlirType> {
    let attribute = raw::attribute(function, "function_type")?;
    // SAFETY: the attribute is alive and a type.
    unsafe {
        let r#type = mlirAttributeIsAType(attribute).then(|| mlirTypeAttrGetValue(attribute))?;
        mlirTypeIsAFunction(r#type).then_some(r#type)
    }
}
