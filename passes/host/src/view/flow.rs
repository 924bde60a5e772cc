//! How values flow: through branches of `cf`, and the loops and conditions of `scf`.
//!
//! The arguments of a block, the carries of a loop and the results of a condition are slots: places that several values
//! flow to. Each op below feeds the slots of what it passes values to; ops of other dialects feed none, and what they
//! pass has the type it has.

use promote_infer::graph::{BlockId, Counts, SlotId};
use promote_infer::strict::{Kind, Structure};

use super::Viewer;
use crate::ir::{self, Flow, Ir};

impl<I: Ir> Viewer<'_, I> {
    /// Whether a value is what `tensor.parallel_insert_slice` writes to an output, which is an argument of the body.
    pub(super) fn is_part(&self, operation: I::Op, value: I::Value) -> bool {
        let [part, output] = [0, 1].map(|index| self.ir.operand(operation, index));
        part == value && output != value && self.ir.defining_op(output).is_none()
    }

    /// Adds what `operation`, which stands in `block`, passes on.
    pub(super) fn add_flow(&mut self, flow: Flow, operation: I::Op, block: BlockId) {
        match flow {
            Flow::Branch(own) => self.add_branch(operation, own, block),
            Flow::Condition(kind) => {
                let results: Vec<_> = self.ir.results(operation).collect();
                let slots = self.slots(&results, block);
                for region in self.ir.regions(operation) {
                    self.yields.insert(region, slots.clone());
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

    fn add_branch(&mut self, operation: I::Op, own: usize, block: BlockId) {
        let mut first = own;
        for successor in self.ir.successors(operation) {
            let slots = self.argument_slots(successor, 0, block);
            self.feed(&slots, operation, first, block);
            first += slots.len();
        }
    }

    fn add_for(&mut self, operation: I::Op, block: BlockId) {
        let Some(region) = self.ir.regions(operation).next() else { return };
        let Some(body) = self.ir.blocks(region).next() else { return };
        let carries = self.argument_slots(body, 1, block);
        let bounds = self.ir.operands(operation).len().saturating_sub(carries.len());
        self.feed(&carries, operation, bounds, block);
        self.yields.insert(region, carries.clone());
        let results = self.follow(operation, &carries, block);
        self.add_structure(Kind::For, operation, block, [carries, Vec::new(), results]);
    }

    fn add_while(&mut self, operation: I::Op, block: BlockId) {
        let regions: Vec<_> = self.ir.regions(operation).collect();
        let blocks: Vec<_> = regions.iter().filter_map(|region| self.ir.blocks(*region).next()).collect();
        let ([before, after], [first, second]) = (&regions[..], &blocks[..]) else { return };
        let carries = self.argument_slots(*first, 0, block);
        self.feed(&carries, operation, 0, block);
        let passed = self.argument_slots(*second, 0, block);
        self.yields.insert(*before, passed.clone());
        self.yields.insert(*after, carries.clone());
        let results = self.follow(operation, &passed, block);
        self.add_structure(Kind::While, operation, block, [carries, passed, results]);
    }

    fn add_forall(&mut self, operation: I::Op, block: BlockId) {
        let body = self.ir.regions(operation).next().and_then(|region| self.ir.blocks(region).next());
        let Some(body) = body else { return };
        let outputs = self.ir.results(operation).len();
        let indices = self.ir.arguments(body).len().saturating_sub(outputs);
        let slots = self.argument_slots(body, indices, block);
        self.feed(&slots, operation, self.ir.operands(operation).len().saturating_sub(outputs), block);
        self.follow(operation, &slots, block);
    }

    /// Upstream passes write a condition whose branches only pass values on as `arith.select`.
    fn add_select(&mut self, operation: I::Op, block: BlockId) {
        let results: Vec<_> = self.ir.results(operation).collect();
        let slots = self.slots(&results, block);
        let [Some(slot)] = slots[..] else { return };
        self.feed(&slots, operation, 1, block);
        self.feed(&slots, operation, 2, block);
        let condition = self.ir.operand(operation, 0);
        if self.ir.tensor(self.ir.value_type(condition)).is_some() {
            let mask = self.operand(condition, block);
            self.view.graph.feed_counting(slot, mask, block, Counts::Shape);
            self.view.feeds[slot.0 as usize].push((operation, 0));
        }
        self.add_structure(Kind::Select, operation, block, [Vec::new(), Vec::new(), slots]);
    }

    /// What is written to a part of an output gives it its dtype, not its shape.
    fn add_part(&mut self, operation: I::Op, block: BlockId) {
        let (part, output) = (self.ir.operand(operation, 0), self.ir.operand(operation, 1));
        if !self.is_part(operation, part) {
            return;
        }
        let of = self.ir.argument_block(output);
        let Some(slots) = self.arguments.get(&of) else { return };
        let index = (self.ir.argument_number(output) + slots.len()).checked_sub(self.ir.arguments(of).len());
        if let Some(slot) = index.and_then(|index| slots.get(index).copied().flatten()) {
            let part = self.operand(part, block);
            self.view.graph.feed_counting(slot, part, block, Counts::DType);
            self.view.feeds[slot.0 as usize].push((operation, 0));
        }
    }

    /// One slot for each reduction: the left argument of its region, which the right one and the result of the loop follow.
    fn add_parallel(&mut self, operation: I::Op, block: BlockId) {
        let Some(region) = self.ir.regions(operation).next() else { return };
        let body = self.ir.blocks(region).next();
        let Some(reduce) = body
            .and_then(|body| self.ir.last(body))
            .filter(|last| self.ir.kind(*last) == ir::Kind::Flow(Flow::Reduce))
        else {
            return;
        };
        let mut carries = Vec::new();
        for region in self.ir.regions(reduce) {
            let arguments: Vec<_> =
                self.ir.blocks(region).next().into_iter().flat_map(|body| self.ir.arguments(body)).collect();
            let slots = self.slots(&arguments, block);
            let (left, right) = (slots.first().copied().flatten(), slots.get(1).copied().flatten());
            let carried = left.and_then(|left| self.view.graph.slot(left).target);
            if let (Some(right), Some(carried)) = (right, carried) {
                self.view.graph.follow(right, carried, block);
                self.view.feeds[right.0 as usize].push((operation, 0));
            }
            self.yields.insert(region, vec![left]);
            carries.push(left);
        }
        let first = self.ir.operands(operation).len().saturating_sub(carries.len());
        self.feed(&carries, operation, first, block);
        self.yields.insert(region, carries.clone());
        self.follow(operation, &carries, block);
    }

    /// Lets the results of a loop be what its carries are.
    fn follow(
        &mut self,
        operation: I::Op,
        carries: &[Option<SlotId>],
        block: BlockId,
    ) -> Vec<Option<SlotId>> {
        let results: Vec<_> = self.ir.results(operation).collect();
        let slots = self.slots(&results, block);
        for (slot, carry) in slots.iter().copied().zip(carries) {
            let carried = carry.and_then(|carry| self.view.graph.slot(carry).target);
            if let (Some(slot), Some(carried)) = (slot, carried) {
                self.view.graph.follow(slot, carried, block);
                self.view.feeds[slot.0 as usize].push((operation, 0));
            }
        }
        slots
    }

    /// Adds a structured op; its bodies come when they are walked.
    fn add_structure(
        &mut self,
        kind: Kind,
        operation: I::Op,
        block: BlockId,
        [carries, passed, results]: [Vec<Option<SlotId>>; 3],
    ) {
        let (after, bodies) = (self.view.graph.position(), Vec::new());
        self.view.graph.add_structure(Structure { kind, block, after, bodies, carries, passed, results });
        self.view.structures.push(operation);
    }

    /// Ends a region whose operands after a number of its own are yielded.
    fn end(&mut self, operation: I::Op, own: usize, block: BlockId) {
        let region = self.ir.region(self.ir.block(operation));
        if let Some(slots) = self.yields.get(&region).cloned() {
            self.feed(&slots, operation, own, block);
        }
    }

    /// The slots of a block's arguments after the first `own`, made when first asked for.
    fn argument_slots(&mut self, of: I::Block, own: usize, block: BlockId) -> Vec<Option<SlotId>> {
        if let Some(slots) = self.arguments.get(&of) {
            return slots.clone();
        }
        let arguments: Vec<_> = self.ir.arguments(of).skip(own).collect();
        let slots = self.slots(&arguments, block);
        self.arguments.insert(of, slots.clone());
        slots
    }
}
