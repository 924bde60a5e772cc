//! `promote-scf-to-cf`: structured control flow as branches between blocks.
//!
//! The blocks and ops are those of upstream's `convert-scf-to-cf`, in the same order, but that an index is switched on with 64
//! bits, not 32. So are their places: branches have that of the op that is lowered, but those of an `scf.while` and out of the
//! regions of an `scf.index_switch`, which have that of the end of the region. What stands in an op that wants single blocks,
//! as `tensor.generate` and `scf.forall`, stays as it is.
//!
//! The ops of a block are taken from the last to the first: what follows one is moved to a block of its own, and so each op is
//! moved once.

use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::SingleBlockRegionInterface;
use pliron::builtin::types::{IntegerType, Signedness};
use pliron::context::{Context, Ptr};
use pliron::input_err;
use pliron::irbuild::IRStatus;
use pliron::linked_list::{ContainsLinkedList, LinkedList};
use pliron::location::Location;
use pliron::op::{Op, op_impls};
use pliron::operation::Operation;
use pliron::pass::{AnalysisManager, Pass, PassResult};
use pliron::region::Region;
use pliron::result::Result;
use pliron::r#type::TypeHandle;
use pliron::value::Value;

use crate::attributes::{CASES, IntsAttr, integer};
use crate::dialect::beside::arith::{AddiOp, CmpiOp, IndexCastOp};
use crate::dialect::builder::{Parts, make};
use crate::dialect::cf::{BrOp, CondBrOp, SwitchOp};
use crate::dialect::scf::{
    ConditionOp, ExecuteRegionOp, ForOp, IfOp, IndexSwitchOp, ParallelOp, WhileOp, YieldOp,
};
use crate::pass::Refused;
use crate::verify::verify;

mod nest;

/// The number of the predicate `slt` of `arith.cmpi`.
const SIGNED_LESS: i64 = 2;

/// The pass of pliron.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScfToCf;

impl Pass for ScfToCf {
    fn name(&self) -> &str {
        "promote-scf-to-cf"
    }

    fn run(
        &mut self,
        root: Ptr<Operation>,
        context: &mut Context,
        _: &mut AnalysisManager,
    ) -> Result<PassResult> {
        if let Err(wrong) = verify(context, root) {
            return input_err!(Location::Unknown, Refused(wrong));
        }
        let mut result = PassResult::default();
        if scf_to_cf(context, root) {
            result.ir_changed = IRStatus::Changed;
        }
        Ok(result)
    }
}

/// Writes the structured ops in an op, which is verified, as branches; whether there were such.
pub fn scf_to_cf(context: &mut Context, root: Ptr<Operation>) -> bool {
    let mut rest = blocks_in(context, root);
    let mut has_changed = false;
    while let Some(block) = rest.pop() {
        let inside: Vec<_> =
            block.deref(context).iter(context).filter(|op| op.deref(context).num_regions() > 0).collect();
        for operation in inside.into_iter().rev() {
            if let Some(kind) = Kind::of(context, operation) {
                rest.extend(kind.lower(context, operation));
                has_changed = true;
            } else if !op_impls::<dyn SingleBlockRegionInterface>(&*Operation::get_op_dyn(operation, context))
            {
                rest.extend(blocks_in(context, operation));
            }
        }
    }
    has_changed
}

fn blocks_in(context: &Context, operation: Ptr<Operation>) -> Vec<Ptr<BasicBlock>> {
    let regions = operation.deref(context);
    regions.regions().flat_map(|region| blocks(context, region)).collect()
}

fn blocks(context: &Context, region: Ptr<Region>) -> Vec<Ptr<BasicBlock>> {
    region.deref(context).iter(context).collect()
}

/// What is lowered.
#[derive(Clone, Copy)]
enum Kind {
    If,
    IndexSwitch,
    ExecuteRegion,
    For,
    While,
    Parallel,
}

impl Kind {
    fn of(context: &Context, operation: Ptr<Operation>) -> Option<Self> {
        if Operation::is_op::<IfOp>(operation, context) {
            Some(Self::If)
        } else if Operation::is_op::<IndexSwitchOp>(operation, context) {
            Some(Self::IndexSwitch)
        } else if Operation::is_op::<ExecuteRegionOp>(operation, context) {
            Some(Self::ExecuteRegion)
        } else if Operation::is_op::<ForOp>(operation, context) {
            Some(Self::For)
        } else if Operation::is_op::<WhileOp>(operation, context) {
            Some(Self::While)
        } else if Operation::is_op::<ParallelOp>(operation, context) {
            Some(Self::Parallel)
        } else {
            None
        }
    }

    /// Lowers an op. The blocks that come of it, between the one that it stood in and the one of what follows.
    fn lower(self, context: &mut Context, operation: Ptr<Operation>) -> Vec<Ptr<BasicBlock>> {
        let operation = match self {
            Self::Parallel => nest::write(context, operation),
            Self::If | Self::IndexSwitch | Self::ExecuteRegion | Self::For | Self::While => operation,
        };
        let structured = Structured::new(context, operation);
        let results = match self {
            Self::If => structured.condition(context),
            Self::IndexSwitch => structured.switch(context),
            Self::ExecuteRegion => structured.execute_region(context),
            Self::For | Self::Parallel => structured.for_loop(context),
            Self::While => structured.while_loop(context),
        };
        let old: Vec<_> = operation.deref(context).results().collect();
        for (old, new) in old.into_iter().zip(results) {
            old.replace_all_uses_with(context, &new);
        }
        Operation::erase(operation, context);
        let next = |block: &Ptr<BasicBlock>| block.deref(context).get_next();
        let made = std::iter::successors(next(&structured.before), next);
        made.take_while(|block| *block != structured.after).collect()
    }
}

/// Where a branch out of a region is placed.
#[derive(Clone, Copy)]
enum At {
    /// At the op that is lowered.
    Op,
    /// At the end of the region.
    End,
}

/// An op that is lowered, which is the last of its block.
struct Structured {
    operation: Ptr<Operation>,
    location: Location,
    operands: Vec<Value>,
    results: Vec<TypeHandle>,
    regions: Vec<Ptr<Region>>,
    /// The block that it stands in.
    before: Ptr<BasicBlock>,
    /// The block of what stood after it.
    after: Ptr<BasicBlock>,
}

impl Structured {
    fn new(context: &mut Context, operation: Ptr<Operation>) -> Self {
        let (before, following) = {
            let found = operation.deref(context);
            let block = found.get_parent_block().expect("what is lowered stands in a block");
            let following = std::iter::successors(found.get_next(), |op| op.deref(context).get_next());
            (block, following.collect::<Vec<_>>())
        };
        let after = BasicBlock::new(context, None, Vec::new());
        after.insert_after(context, before);
        for op in following {
            op.unlink(context);
            op.insert_at_back(after, context);
        }
        let found = operation.deref(context);
        after.deref_mut(context).set_loc(found.loc().clone());
        Self {
            operation,
            location: found.loc().clone(),
            operands: found.operands().collect(),
            results: found.result_types().collect(),
            regions: found.regions().collect(),
            before,
            after,
        }
    }

    /// `scf.if`.
    fn condition(&self, context: &mut Context) -> Vec<Value> {
        let joined = if self.results.is_empty() { self.after } else { self.joined(context) };
        let entries: Vec<_> =
            self.regions.iter().map(|region| self.leave(context, *region, joined, At::Op)).collect();
        let successors = entries.into_iter().map(|entry| (entry.unwrap_or(joined), Vec::new()));
        self.branch_on(context, self.before, self.operands[0], successors.collect());
        joined.deref(context).arguments().collect()
    }

    /// A block that is given the results, before the one of what follows.
    fn joined(&self, context: &mut Context) -> Ptr<BasicBlock> {
        let joined = BasicBlock::new(context, None, self.results.clone());
        joined.deref_mut(context).set_loc(self.location.clone());
        joined.insert_before(context, self.after);
        self.branch(context, joined, self.after, Vec::new());
        joined
    }

    /// `scf.index_switch`.
    fn switch(&self, context: &mut Context) -> Vec<Value> {
        let results = self.give(context);
        let cases = self.operation.deref(context).attributes.get::<IntsAttr>(&CASES).cloned();
        let (default, others) = self.regions.split_first().expect("a switch has a region for other values");
        let mut entries: Vec<_> =
            others.iter().map(|region| self.leave(context, *region, self.after, At::End)).collect();
        entries.insert(0, self.leave(context, *default, self.after, At::End));
        let successors: Vec<_> =
            entries.into_iter().map(|entry| (entry.unwrap_or(self.after), Vec::new())).collect();
        let wide = IntegerType::get(context, 64, Signedness::Signless).into();
        let parts = Parts { operands: &self.operands, results: &[wide], ..Parts::default() };
        let index = self.append(context, self.before, IndexCastOp::get_concrete_op_info(), parts);
        let index = index.deref(context).get_result(0);
        let attributes = cases.map(|cases| ("cases", cases.into())).into_iter().collect();
        let parts = Parts { operands: &[index], attributes, successors: &successors, ..Parts::default() };
        self.append(context, self.before, SwitchOp::get_concrete_op_info(), parts);
        results
    }

    /// `scf.execute_region`.
    fn execute_region(&self, context: &mut Context) -> Vec<Value> {
        let results = self.give(context);
        let entry = self.leave(context, self.regions[0], self.after, At::Op);
        self.branch(context, self.before, entry.unwrap_or(self.after), Vec::new());
        results
    }

    /// `scf.for`.
    fn for_loop(&self, context: &mut Context) -> Vec<Value> {
        let head = blocks(context, self.regions[0])[0];
        let arguments: Vec<Value> = head.deref(context).arguments().collect();
        let (index, [first, limit, step]) = (arguments[0], [0, 1, 2].map(|bound| self.operands[bound]));
        let body = self.behind_arguments(context, head);
        let end = body.deref(context).get_tail().expect("the body of a loop has an end");
        let yielded: Vec<Value> = end.deref(context).operands().collect();
        Operation::erase(end, context);
        let parts =
            Parts { operands: &[index, step], results: &[self.type_of(context, index)], ..Parts::default() };
        let next =
            self.append(context, body, AddiOp::get_concrete_op_info(), parts).deref(context).get_result(0);
        self.branch(context, body, head, [vec![next], yielded].concat());
        for block in [head, body] {
            move_before(context, block, self.after);
        }
        self.branch(context, self.before, head, [&[first], &self.operands[3..]].concat());
        let truth = IntegerType::get(context, 1, Signedness::Signless).into();
        let attributes = vec![("predicate", integer(context, SIGNED_LESS))];
        let parts = Parts { operands: &[index, limit], results: &[truth], attributes, ..Parts::default() };
        let holds =
            self.append(context, head, CmpiOp::get_concrete_op_info(), parts).deref(context).get_result(0);
        self.branch_on(context, head, holds, vec![(body, Vec::new()), (self.after, Vec::new())]);
        arguments[1..].to_vec()
    }

    /// A block of the ops of another, which keeps its arguments.
    fn behind_arguments(&self, context: &mut Context, head: Ptr<BasicBlock>) -> Ptr<BasicBlock> {
        let body = BasicBlock::new(context, None, Vec::new());
        body.deref_mut(context).set_loc(head.deref(context).loc().clone());
        body.insert_after(context, head);
        let ops: Vec<_> = head.deref(context).iter(context).collect();
        for op in ops {
            op.unlink(context);
            op.insert_at_back(body, context);
        }
        body
    }

    /// `scf.while`.
    fn while_loop(&self, context: &mut Context) -> Vec<Value> {
        let [test, body] = [self.regions[0], self.regions[1]].map(|region| blocks(context, region)[0]);
        let passes_on = only_passes_on(context, body);
        move_before(context, test, self.after);
        self.branch(context, self.before, test, self.operands.clone());
        let end = test.deref(context).get_tail().expect("the test of a loop has an end");
        debug_assert!(Operation::is_op::<ConditionOp>(end, context), "verified");
        let condition: Vec<Value> = end.deref(context).operands().collect();
        let place = end.deref(context).loc().clone();
        Operation::erase(end, context);
        let (holds, passed) = condition.split_first().expect("the test of a loop says whether it goes on");
        // A body that does nothing is left out: the test goes on to itself.
        let again = if passes_on { test } else { body };
        let successors = [(again, passed.to_vec()), (self.after, Vec::new())];
        let parts = Parts { operands: &[*holds], successors: &successors, ..Parts::default() };
        make(context, CondBrOp::get_concrete_op_info(), parts, place).insert_at_back(test, context);
        if !passes_on {
            move_before(context, body, self.after);
            self.yield_to(context, body, test, At::End);
        }
        passed.to_vec()
    }

    /// Arguments of the block of what follows, in place of the results.
    fn give(&self, context: &Context) -> Vec<Value> {
        for result in &self.results {
            BasicBlock::push_argument(self.after, context, *result);
        }
        self.after.deref(context).arguments().collect()
    }

    /// Moves the blocks of a region before what follows, and lets what they yield go on to a block. The first of them, if there
    /// is one.
    fn leave(
        &self,
        context: &mut Context,
        region: Ptr<Region>,
        to: Ptr<BasicBlock>,
        at: At,
    ) -> Option<Ptr<BasicBlock>> {
        let blocks = blocks(context, region);
        for block in &blocks {
            self.yield_to(context, *block, to, at);
            // A joining block stands before what follows.
            move_before(context, *block, to);
        }
        blocks.first().copied()
    }

    /// Lets a block that ends with a yield go on to another.
    fn yield_to(&self, context: &mut Context, block: Ptr<BasicBlock>, to: Ptr<BasicBlock>, at: At) {
        let end = block.deref(context).get_tail().filter(|end| Operation::is_op::<YieldOp>(*end, context));
        if let Some(end) = end {
            let yielded = end.deref(context).operands().collect();
            let place = match at {
                At::Op => self.location.clone(),
                At::End => end.deref(context).loc().clone(),
            };
            Operation::erase(end, context);
            let parts = Parts { successors: &[(to, yielded)], ..Parts::default() };
            make(context, BrOp::get_concrete_op_info(), parts, place).insert_at_back(block, context);
        }
    }

    fn branch(&self, context: &mut Context, from: Ptr<BasicBlock>, to: Ptr<BasicBlock>, passed: Vec<Value>) {
        let parts = Parts { successors: &[(to, passed)], ..Parts::default() };
        self.append(context, from, BrOp::get_concrete_op_info(), parts);
    }

    fn branch_on(
        &self,
        context: &mut Context,
        from: Ptr<BasicBlock>,
        holds: Value,
        successors: Vec<(Ptr<BasicBlock>, Vec<Value>)>,
    ) {
        let parts = Parts { operands: &[holds], successors: &successors, ..Parts::default() };
        self.append(context, from, CondBrOp::get_concrete_op_info(), parts);
    }

    /// Puts a new op at the end of a block.
    fn append(
        &self,
        context: &mut Context,
        block: Ptr<BasicBlock>,
        concrete: crate::dialect::Concrete,
        parts: Parts<'_>,
    ) -> Ptr<Operation> {
        let made = make(context, concrete, parts, self.location.clone());
        made.insert_at_back(block, context);
        made
    }

    fn type_of(&self, context: &Context, value: Value) -> TypeHandle {
        pliron::r#type::Typed::get_type(&value, context)
    }
}

fn move_before(context: &Context, block: Ptr<BasicBlock>, other: Ptr<BasicBlock>) {
    block.unlink(context);
    block.insert_before(context, other);
}

/// Whether a block passes its arguments on as they are and does nothing else.
fn only_passes_on(context: &Context, block: Ptr<BasicBlock>) -> bool {
    let found = block.deref(context);
    let first = found.get_head();
    first.is_some_and(|first| {
        Operation::is_op::<YieldOp>(first, context) && first.deref(context).operands().eq(found.arguments())
    })
}
