//! The view: one function, or what stands outside functions, as a [`Graph`] with its MLIR handles.

use mlir_sys::*;
use promote_dialect::attrs::{self, Attrs, Value as AttrValue};
use promote_dialect::mlir::Names;
use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::checks;
use super::constant;
use super::flow::{self, Flow};
use super::ids::Ids;
use super::raw::{self, Address};
use super::types::Types;
use promote_infer::graph::{BlockId, Graph, Known, NewOp, OpId, Region, SlotId, Type, ValueId};
use promote_infer::shape::{DYNAMIC, is_dynamic};

/// A direct call of a function.
#[derive(Debug)]
pub struct Call {
    /// The op.
    pub operation: Address<MlirOperation>,
    /// The name of the function it calls.
    pub callee: String,
    /// What it passes.
    pub operands: Vec<ValueId>,
    /// Its results.
    pub results: Vec<ValueId>,
    /// The block it stands in.
    pub block: BlockId,
    /// How many ops of the graph, and how many blocks, stand before it.
    pub after: (u32, u32),
    /// Whether the types of its results are those of the callee, once that is inferred: the IR states them in part.
    pub follows_callee: bool,
}

/// One unit of inference. See the [module](self).
#[derive(Debug)]
pub struct View {
    /// The program.
    pub graph: Graph,
    /// The translation of its types.
    pub types: Types,
    /// The function, or the op whose contents outside functions these are.
    pub root: Address<MlirOperation>,
    /// Whether `root` is a function with a body.
    pub is_function: bool,
    /// The handle of each op.
    pub ops: Vec<Address<MlirOperation>>,
    /// The handle of each value.
    pub values: Vec<Address<MlirValue>>,
    /// The handle of each block.
    pub blocks: Vec<Address<MlirBlock>>,
    /// The arguments of the function.
    pub arguments: Vec<ValueId>,
    /// A slot for each result of the function.
    pub results: Vec<SlotId>,
    /// For each slot, the op and the operand that each of its sources is.
    pub feeds: Vec<Vec<(Address<MlirOperation>, usize)>>,
    /// The handle of each structured op.
    pub structures: Vec<Address<MlirOperation>>,
    /// The direct calls in it.
    pub calls: Vec<Call>,
    /// The operands that bring a slot what has no value, `ub.poison` of unknown type: whatever the slot is, that is too.
    pub undefined: Vec<(SlotId, Address<MlirOperation>, usize)>,
    /// What is wrong with attributes.
    pub attr_problems: Vec<(OpId, attrs::Problem)>,
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
            types: Types::default(),
            root: Address(root),
            is_function,
            ops: Vec::new(),
            values: Vec::new(),
            blocks: Vec::new(),
            arguments: Vec::new(),
            results: Vec::new(),
            feeds: Vec::new(),
            structures: Vec::new(),
            calls: Vec::new(),
            undefined: Vec::new(),
            attr_problems: Vec::new(),
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
        viewer.add_result_slots(root);
    }
    viewer.walk(root);
    viewer.add_branches();
    viewer.add_bodies();
    if is_function {
        let entry = raw::regions(root).flat_map(raw::blocks).next();
        let arguments = entry.into_iter().flat_map(raw::arguments);
        viewer.view.arguments = arguments.filter_map(|argument| viewer.ids.get(argument)).collect();
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

pub(super) struct Viewer<'a> {
    names: &'a Names,
    ids: Ids,
    pub(super) view: View,
    /// Scratch space for the operands of one op.
    operands: Vec<ValueId>,
    kinds: Kinds,
    /// The ops that pass values on, by MLIR's uniqued names.
    flows: FxHashMap<usize, Flow>,
    /// The ops that run their regions any number of times, in the same way.
    loops: FxHashSet<usize>,
    /// The slots that the yields of a region flow to.
    pub(super) yields: FxHashMap<Address<MlirRegion>, Vec<Option<SlotId>>>,
    /// The slots that the arguments of a block are.
    pub(super) arguments: FxHashMap<Address<MlirBlock>, Vec<Option<SlotId>>>,
    /// The first block of each region.
    entries: FxHashMap<Address<MlirRegion>, BlockId>,
}

/// The name of an op, as MLIR has it once.
fn name_of(operation: MlirOperation) -> usize {
    // SAFETY: the operation is alive.
    unsafe { mlirOperationGetName(operation) }.ptr as usize
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
            let name = name_of(operation);
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
        self.view.values.push(Address(value));
        self.ids.insert(value, id);
        id
    }

    /// The id of an operand. One that is defined further on, as blocks in any order allow, is added as it is stated.
    pub(super) fn operand(&mut self, value: MlirValue, block: BlockId) -> ValueId {
        match self.ids.get(value) {
            Some(id) => id,
            None => self.add_value(value, block),
        }
    }

    fn add_operation(&mut self, operation: MlirOperation, name: usize, block: BlockId) {
        // SAFETY: the operation is alive.
        if let Some(op) = unsafe { self.names.op(operation) } {
            self.add_op(op, operation, block);
            return;
        }
        let results: Vec<ValueId> =
            raw::results(operation).map(|result| self.add_value(result, block)).collect();
        if name == self.kinds.r#return && self.view.is_function {
            let slots: Vec<_> = self.view.results.iter().copied().map(Some).collect();
            self.feed(&slots, operation, 0, block);
        } else if let Some(flow) = self.flows.get(&name) {
            self.add_flow(*flow, operation, block);
        } else if name == self.kinds.call
            && let Some(callee) = raw::attribute(operation, "callee").and_then(raw::symbol)
        {
            let follows_callee = results.iter().any(|result| self.is_stated_in_part(*result));
            let operands = raw::operands(operation).map(|operand| self.operand(operand, block)).collect();
            let (operation, after) = (Address(operation), self.view.graph.position());
            self.view.calls.push(Call { operation, callee, operands, results, block, after, follows_callee });
        } else if name == self.kinds.poison {
            for (value, id) in raw::results(operation).zip(results) {
                self.is_undefined(value, id);
            }
        }
    }

    /// Whether inference may find out more about a value than the IR states.
    fn is_stated_in_part(&self, value: ValueId) -> bool {
        let stated = self.view.graph.value(value).stated;
        let shape = self.view.graph.shapes.get(stated.shape);
        let open = shape.dims().is_none_or(|dims| dims.contains(&DYNAMIC));
        stated.dtype == Known::Unknown || matches!(stated.dtype, Known::DType(_)) && open
    }

    /// Notes what inference and insertion said of an op that they made or checked.
    fn note_marks(
        &mut self,
        (op, id): (Op, OpId),
        operation: MlirOperation,
        operands: &[ValueId],
        stated: Type,
    ) {
        let graph = &self.view.graph;
        let is_open = |value: &ValueId| {
            let dims = graph.shapes.get(graph.value(*value).stated.shape).dims();
            dims.is_none_or(|dims| dims.iter().copied().any(is_dynamic))
        };
        let open = operands.iter().any(is_open);
        if open && raw::attribute(operation, checks::CHECKED).is_some() {
            self.view.graph.checked.insert(id);
        }
        if !matches!(op, Op::Convert | Op::BroadcastTo) || raw::attribute(operation, IMPLICIT).is_none() {
            return;
        }
        if matches!(stated.dtype, Known::DType(dtype) if dtype.is_weak()) {
            self.view.graph.weak_edges.insert(id);
        }
        let result = raw::result(operation);
        if op == Op::Convert && raw::users(result).all(|user| self.is_seen(user, result)) {
            self.view.graph.movable.insert(id);
        }
    }

    /// Whether the graph has what an op does with an operand.
    fn is_seen(&self, operation: MlirOperation, value: MlirValue) -> bool {
        // SAFETY: the operation is alive.
        let ours = unsafe { self.names.op(operation) }.is_some();
        ours || self.passes_on(operation, value)
    }

    /// Whether an op lets an operand flow to a slot.
    fn passes_on(&self, operation: MlirOperation, value: MlirValue) -> bool {
        let name = name_of(operation);
        match self.flows.get(&name) {
            Some(Flow::Part) => flow::is_part(operation, value),
            Some(_) => true,
            None => name == self.kinds.r#return && self.view.is_function,
        }
    }

    fn add_op(&mut self, op: Op, operation: MlirOperation, block: BlockId) {
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        operands.extend(raw::operands(operation).map(|value| self.operand(value, block)));
        let id = OpId(self.view.ops.len() as u32);
        let attrs = self.attrs(op, operation, id);
        let result = raw::result(operation);
        let stated = self.type_of(result);
        let constant = if op == Op::Constant { self.constant(operation, id, stated) } else { None };
        let (written, scalar) = constant.map_or((None, None), |(written, scalar)| (Some(written), scalar));
        // SAFETY: the operation is alive.
        let attributed = unsafe { mlirOperationGetNumAttributes(operation) } > 0;
        if attributed && op != Op::Constant {
            self.note_marks((op, id), operation, &operands, stated);
        }
        let used_before = self.ids.get(result);
        let value = self
            .view
            .graph
            .add_op(NewOp { op, operands: &operands, attrs, scalar, written, stated, block }, used_before);
        if used_before.is_none() {
            self.view.values.push(Address(result));
            self.ids.insert(result, value);
        }
        self.view.ops.push(Address(operation));
        self.operands = operands;
    }

    fn attrs(&mut self, op: Op, operation: MlirOperation, id: OpId) -> Option<Attrs> {
        // SAFETY: the operation is alive.
        let none = unsafe { mlirOperationGetNumAttributes(operation) } == 0;
        if none && op.info().attrs.iter().all(|spec| !spec.required) {
            return None;
        }
        let found: Vec<_> =
            raw::attributes(operation).map(|(name, value)| (name, attribute(value))).collect();
        match attrs::check(op, found.iter().map(|(name, value)| (name.as_str(), value.clone()))) {
            Ok(attrs) if op.info().attrs.is_empty() => {
                debug_assert_eq!(attrs, Attrs::default());
                None
            }
            Ok(attrs) => Some(attrs),
            Err(problems) => {
                self.view.attr_problems.extend(problems.into_iter().map(|problem| (id, problem)));
                None
            }
        }
    }

    /// Reads a constant's value: the type it is written in, and the number if it is a scalar.
    fn constant(
        &mut self,
        operation: MlirOperation,
        id: OpId,
        stated: Type,
    ) -> Option<(Type, Option<Literal>)> {
        let value = raw::attribute(operation, "value")?;
        // SAFETY: the attribute is alive, and checked to be one with elements.
        let value_type = unsafe {
            if !mlirAttributeIsADenseElements(value) {
                return None;
            }
            mlirAttributeGetType(value)
        };
        let written = self.view.types.view(value_type, self.names, &mut self.view.graph);
        let (dtype, fits) = match (written.dtype, stated.dtype) {
            (Known::DType(dtype), Known::Unknown) => (dtype, true),
            (Known::DType(dtype), Known::DType(stated)) => (dtype, stated.storage() == dtype),
            _ => (DType::B1, false),
        };
        let shape = self.view.graph.shapes.get(stated.shape).meet(self.view.graph.shapes.get(written.shape));
        if !fits || shape.is_none() {
            let result = raw::type_text(raw::value_type(raw::result(operation)));
            let problem = attrs::Problem::ConstantValue { result, value: raw::type_text(value_type) };
            self.view.attr_problems.push((id, problem));
            return None;
        }
        let scalar = self.view.graph.shapes.get(written.shape).dims().is_some_and(<[i64]>::is_empty);
        let literal = if scalar { constant::scalar(value, dtype) } else { None };
        Some((written, literal))
    }

    fn add_result_slots(&mut self, function: MlirOperation) {
        let Some(r#type) = function_type(function) else { return };
        let visibility = raw::string_attribute(function, "sym_visibility");
        let is_public = visibility.is_none_or(|visibility| visibility == "public");
        // SAFETY: the type is a function type and the indices are in range.
        let results = unsafe {
            (0..mlirFunctionTypeGetNumResults(r#type)).map(move |i| mlirFunctionTypeGetResult(r#type, i))
        };
        for result in results {
            let stated = self.view.types.view(result, self.names, &mut self.view.graph);
            let slot = self.add_slot(None, stated);
            if is_public {
                self.view.graph.fix(slot);
            }
            self.view.results.push(slot);
        }
    }

    pub(super) fn add_slot(&mut self, target: Option<ValueId>, stated: Type) -> SlotId {
        self.view.feeds.push(Vec::new());
        self.view.graph.add_slot(target, stated)
    }

    /// Lets the operands of `operation` from `first` on flow to `slots`, one each.
    pub(super) fn feed(
        &mut self,
        slots: &[Option<SlotId>],
        operation: MlirOperation,
        first: usize,
        block: BlockId,
    ) {
        for (index, slot) in (first..).zip(slots).filter_map(|(index, slot)| Some((index, (*slot)?))) {
            let value = raw::operand(operation, index);
            let id = self.operand(value, block);
            if self.is_undefined(value, id) {
                self.view.graph.gets_undefined.insert(slot);
                self.view.undefined.push((slot, Address(operation), index));
                continue;
            }
            self.view.graph.feed(slot, id, block);
            self.view.feeds[slot.0 as usize].push((Address(operation), index));
        }
    }

    /// Whether something has neither a value nor a known type, and is only passed on.
    fn is_undefined(&mut self, value: MlirValue, id: ValueId) -> bool {
        let is_unknown = self.view.graph.value(id).stated.dtype == Known::Unknown;
        let undefined = is_unknown
            && raw::defining_op(value).is_some_and(|operation| name_of(operation) == self.kinds.poison)
            && raw::users(value).all(|user| self.passes_on(user, value));
        if undefined {
            self.view.graph.undefined.insert(id);
        }
        undefined
    }

    /// A slot for each of `values` that takes part in promotion.
    pub(super) fn slots(&mut self, values: &[MlirValue], block: BlockId) -> Vec<Option<SlotId>> {
        let mut slot = |value: MlirValue| {
            let id = self.add_value(value, block);
            let stated = self.view.graph.value(id).stated;
            (stated.dtype != Known::Opaque).then(|| self.add_slot(Some(id), stated))
        };
        values.iter().map(|value| slot(*value)).collect()
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

/// An attribute's value as the checks read it.
/// An attribute's value.
pub fn attribute(value: MlirAttribute) -> AttrValue {
    // SAFETY: the attribute is alive, and each accessor is called on an attribute of its kind.
    unsafe {
        if mlirAttributeIsABool(value) {
            AttrValue::Flag(mlirBoolAttrGetValue(value))
        } else if mlirAttributeIsAInteger(value) {
            let r#type = mlirAttributeGetType(value);
            let signless = mlirTypeIsAInteger(r#type) && mlirIntegerTypeIsSignless(r#type);
            match signless && mlirIntegerTypeGetWidth(r#type) == 64 {
                true => AttrValue::Int(mlirIntegerAttrGetValueInt(value)),
                false => AttrValue::Other,
            }
        } else if mlirAttributeIsAFloat(value) && mlirTypeIsAF64(mlirAttributeGetType(value)) {
            AttrValue::Float(mlirFloatAttrGetValueDouble(value))
        } else if mlirAttributeIsADenseI64Array(value) {
            let count = mlirDenseArrayGetNumElements(value);
            AttrValue::Ints((0..count).map(|i| mlirDenseI64ArrayGetElement(value, i)).collect())
        } else if mlirAttributeIsADenseElements(value) {
            AttrValue::Elements
        } else {
            AttrValue::Other
        }
    }
}
