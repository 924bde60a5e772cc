//! How values flow: through branches of `cf`, and the loops and conditions of `scf`.
//!
//! The arguments of a block, the carries of a loop and the results of a condition are slots: places that several values
//! flow to. Each op below feeds the slots of what it passes values to; ops of other dialects feed none, and what they
//! pass has the type it has.

use mlir_sys::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::raw::{self, Address};
use super::view::{SELECT, Viewer};
use promote_infer::graph::{BlockId, Counts, SlotId};
use promote_infer::strict::{Kind, Structure};

/// What an op passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// After a number of operands of its own, those of each successor in turn.
    Branch(usize),
    /// `scf.if` and the like: the results are what the regions yield.
    Condition(Kind),
    /// `scf.for` and `affine.for`: the carries begin as the last operands, after the bounds.
    For,
    /// `scf.while`: two regions, the first of which passes on what its condition has.
    While,
    /// `scf.parallel`: what each reduction begins with, is given and makes has one type.
    Parallel,
    /// `scf.forall`: the results are its outputs.
    Forall,
    /// `arith.select`: the result is one of two values, or made of elements of both.
    Select,
    /// `tensor.parallel_insert_slice`, by which a body of `forall` writes to a part of an output.
    Part,
    /// `scf.condition`, which ends the first region of a `while`.
    EndOfCondition,
    /// `scf.yield`, which ends the others, `affine.yield` and `scf.reduce.return`.
    Yield,
    /// `scf.reduce`, which ends the body of a `parallel`.
    Reduce,
}

const NAMES: &[(&str, Flow)] = &[
    ("cf.br", Flow::Branch(0)),
    ("cf.cond_br", Flow::Branch(1)),
    ("cf.switch", Flow::Branch(1)),
    ("scf.if", Flow::Condition(Kind::If)),
    ("scf.index_switch", Flow::Condition(Kind::Switch)),
    ("scf.execute_region", Flow::Condition(Kind::Once)),
    ("affine.if", Flow::Condition(Kind::If)),
    (SELECT, Flow::Select),
    ("scf.for", Flow::For),
    ("affine.for", Flow::For),
    ("scf.while", Flow::While),
    ("scf.parallel", Flow::Parallel),
    ("scf.forall", Flow::Forall),
    ("tensor.parallel_insert_slice", Flow::Part),
    ("scf.condition", Flow::EndOfCondition),
    ("scf.yield", Flow::Yield),
    ("affine.yield", Flow::Yield),
    ("scf.reduce", Flow::Reduce),
    ("scf.reduce.return", Flow::Yield),
];

/// The ops that run their regions any number of times.
const LOOPS: &[&str] = &[
    "scf.for",
    "scf.while",
    "scf.forall",
    "scf.parallel",
    "affine.for",
    "affine.parallel",
    "tensor.generate",
];

/// The ops that pass values on, by MLIR's uniqued names.
pub fn names(context: MlirContext) -> FxHashMap<usize, Flow> {
    // SAFETY: the context is alive.
    let id = |name| unsafe { mlirIdentifierGet(context, raw::string(name)) }.ptr as usize;
    NAMES.iter().map(|(name, flow)| (id(name), *flow)).collect()
}

/// The ops that run their regions any number of times, by MLIR's uniqued names.
pub fn loops(context: MlirContext) -> FxHashSet<usize> {
    // SAFETY: the context is alive.
    let id = |name| unsafe { mlirIdentifierGet(context, raw::string(name)) }.ptr as usize;
    LOOPS.iter().map(|name| id(name)).collect()
}

/// Whether a value is what `tensor.parallel_insert_slice` writes to an output, which is an argument of the body.
pub fn is_part(operation: MlirOperation, value: MlirValue) -> bool {
    let (part, output) = (raw::operand(operation, 0), raw::operand(operation, 1));
    Address(part) == Address(value) && Address(output) != Address(value) && raw::defining_op(output).is_none()
}

impl Viewer<'_> {
    /// Adds what `operation`, which stands in `block`, passes on.
    pub(super) fn add_flow(&mut self, flow: Flow, operation: MlirOperation, block: BlockId) {
        match flow {
            Flow::Branch(own) => self.add_branch(operation, own, block),
            Flow::Condition(kind) => {
                let results: Vec<_> = raw::results(operation).collect();
                let slots = self.slots(&results, block);
                for region in raw::regions(operation) {
                    self.yields.insert(Address(region), slots.clone());
                }
                self.add_structure(kind, operation, block, [Vec::new(), Vec::new(), slots]);
            }
            Flow::For => self.add_for(operation, block),
            Flow::While => self.add_while(operation, block),
            Flow::Forall => self.add_forall(operation, block),
            Flow::Select => self.add_select(operation, block),
            Flow::Part => self.add_part(operation, block),
            Flow::Parallel => self.add_parallel(operation, block),
            Flow::Reduce => self.end(operation, 0, block),
            Flow::EndOfCondition => self.end(operation, 1, block),
            Flow::Yield => self.end(operation, 0, block),
        }
    }

    fn add_branch(&mut self, operation: MlirOperation, own: usize, block: BlockId) {
        let mut first = own;
        for successor in raw::successors(operation) {
            let slots = self.argument_slots(successor, 0, block);
            self.feed(&slots, operation, first, block);
            first += slots.len();
        }
    }

    fn add_for(&mut self, operation: MlirOperation, block: BlockId) {
        let Some(region) = raw::regions(operation).next() else { return };
        let Some(body) = raw::blocks(region).next() else { return };
        let carries = self.argument_slots(body, 1, block);
        let bounds = raw::operands(operation).len().saturating_sub(carries.len());
        self.feed(&carries, operation, bounds, block);
        self.yields.insert(Address(region), carries.clone());
        let results = self.follow(operation, &carries, block);
        self.add_structure(Kind::For, operation, block, [carries, Vec::new(), results]);
    }

    fn add_while(&mut self, operation: MlirOperation, block: BlockId) {
        let regions: Vec<_> = raw::regions(operation).collect();
        let blocks: Vec<_> = regions.iter().filter_map(|region| raw::blocks(*region).next()).collect();
        let ([before, after], [first, second]) = (&regions[..], &blocks[..]) else { return };
        let carries = self.argument_slots(*first, 0, block);
        self.feed(&carries, operation, 0, block);
        let passed = self.argument_slots(*second, 0, block);
        self.yields.insert(Address(*before), passed.clone());
        self.yields.insert(Address(*after), carries.clone());
        let results = self.follow(operation, &passed, block);
        self.add_structure(Kind::While, operation, block, [carries, passed, results]);
    }

    fn add_forall(&mut self, operation: MlirOperation, block: BlockId) {
        let body = raw::regions(operation).next().and_then(|region| raw::blocks(region).next());
        let Some(body) = body else { return };
        let outputs = raw::results(operation).len();
        let indices = raw::arguments(body).len().saturating_sub(outputs);
        let slots = self.argument_slots(body, indices, block);
        self.feed(&slots, operation, raw::operands(operation).len().saturating_sub(outputs), block);
        self.follow(operation, &slots, block);
    }

    /// Upstream passes write a condition whose branches only pass values on as `arith.select`.
    fn add_select(&mut self, operation: MlirOperation, block: BlockId) {
        let results: Vec<_> = raw::results(operation).collect();
        let slots = self.slots(&results, block);
        let [Some(slot)] = slots[..] else { return };
        self.feed(&slots, operation, 1, block);
        self.feed(&slots, operation, 2, block);
        let condition = raw::operand(operation, 0);
        if raw::is_tensor(raw::value_type(condition)) {
            let mask = self.operand(condition, block);
            self.view.graph.feed_counting(slot, mask, block, Counts::Shape);
            self.view.feeds[slot.0 as usize].push((Address(operation), 0));
        }
        self.add_structure(Kind::Select, operation, block, [Vec::new(), Vec::new(), slots]);
    }

    /// What is written to a part of an output gives it its dtype, not its shape.
    fn add_part(&mut self, operation: MlirOperation, block: BlockId) {
        let (part, output) = (raw::operand(operation, 0), raw::operand(operation, 1));
        if !is_part(operation, part) {
            return;
        }
        let of = raw::argument_block(output);
        let Some(slots) = self.arguments.get(&Address(of)) else { return };
        let index = (raw::argument_number(output) + slots.len()).checked_sub(raw::arguments(of).len());
        if let Some(slot) = index.and_then(|index| slots.get(index).copied().flatten()) {
            let part = self.operand(part, block);
            self.view.graph.feed_counting(slot, part, block, Counts::DType);
            self.view.feeds[slot.0 as usize].push((Address(operation), 0));
        }
    }

    /// One slot for each reduction: the left argument of its region, which the right one and the result of the loop follow.
    fn add_parallel(&mut self, operation: MlirOperation, block: BlockId) {
        let Some(region) = raw::regions(operation).next() else { return };
        let body = raw::blocks(region).next();
        let Some(reduce) =
            body.and_then(raw::last_operation).filter(|last| raw::is_named(*last, "scf.reduce"))
        else {
            return;
        };
        let mut carries = Vec::new();
        for region in raw::regions(reduce) {
            let arguments: Vec<_> = raw::blocks(region).next().into_iter().flat_map(raw::arguments).collect();
            let slots = self.slots(&arguments, block);
            let (left, right) = (slots.first().copied().flatten(), slots.get(1).copied().flatten());
            let carried = left.and_then(|left| self.view.graph.slot(left).target);
            if let (Some(right), Some(carried)) = (right, carried) {
                self.view.graph.follow(right, carried, block);
                self.view.feeds[right.0 as usize].push((Address(operation), 0));
            }
            self.yields.insert(Address(region), vec![left]);
            carries.push(left);
        }
        let first = raw::operands(operation).len().saturating_sub(carries.len());
        self.feed(&carries, operation, first, block);
        self.yields.insert(Address(region), carries.clone());
        self.follow(operation, &carries, block);
    }

    /// Lets the results of a loop be what its carries are.
    fn follow(
        &mut self,
        operation: MlirOperation,
        carries: &[Option<SlotId>],
        block: BlockId,
    ) -> Vec<Option<SlotId>> {
        let results: Vec<_> = raw::results(operation).collect();
        let slots = self.slots(&results, block);
        for (slot, carry) in slots.iter().copied().zip(carries) {
            let carried = carry.and_then(|carry| self.view.graph.slot(carry).target);
            if let (Some(slot), Some(carried)) = (slot, carried) {
                self.view.graph.follow(slot, carried, block);
                self.view.feeds[slot.0 as usize].push((Address(operation), 0));
            }
        }
        slots
    }

    /// Adds a structured op; its bodies come when they are walked.
    fn add_structure(
        &mut self,
        kind: Kind,
        operation: MlirOperation,
        block: BlockId,
        [carries, passed, results]: [Vec<Option<SlotId>>; 3],
    ) {
        let (after, bodies) = (self.view.graph.position(), Vec::new());
        self.view.graph.add_structure(Structure { kind, block, after, bodies, carries, passed, results });
        self.view.structures.push(Address(operation));
    }

    /// Ends a region whose operands after a number of its own are yielded.
    fn end(&mut self, operation: MlirOperation, own: usize, block: BlockId) {
        // SAFETY: the operation is alive, and stands in a block of a region.
        let region = unsafe { mlirBlockGetParentRegion(mlirOperationGetBlock(operation)) };
        if let Some(slots) = self.yields.get(&Address(region)).cloned() {
            self.feed(&slots, operation, own, block);
        }
    }

    /// The slots of a block's arguments after the first `own`, made when first asked for.
    fn argument_slots(&mut self, of: MlirBlock, own: usize, block: BlockId) -> Vec<Option<SlotId>> {
        if let Some(slots) = self.arguments.get(&Address(of)) {
            return slots.clone();
        }
        let arguments: Vec<_> = raw::arguments(of).skip(own).collect();
        let slots = self.slots(&arguments, block);
        self.arguments.insert(Address(of), slots.clone());
        slots
    }
}
