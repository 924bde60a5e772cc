//! Verification of a program, in time linear in its length.
//!
//! pliron's own looks through a block for each use in it whether the definition stands before, which takes minutes on a block of
//! 100 000 ops. [`verify`] numbers the ops once. It asks what MLIR does of blocks and functions, and pliron does not; all else
//! it leaves to pliron.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::IsolatedFromAboveInterface;
use pliron::common_traits::{Named, Verify};
use pliron::context::{Context, Ptr};
use pliron::graph::dominance::DomInfo;
use pliron::linked_list::ContainsLinkedList;
use pliron::op::op_impls;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::value::{DefiningEntity, Value};
use promote_diagnostics::{Code, Diagnostic};
use rustc_hash::FxHashMap;

use crate::host::places;

mod regions;

/// How deep ops may stand in each other: pliron's functions call themselves for each.
const DEPTH: usize = 256;

/// Whether a program is one that the passes take.
///
/// # Errors
/// What is wrong first, and where.
pub fn verify(context: &Context, root: Ptr<Operation>) -> Result<(), Diagnostic> {
    let order = order(context, root)?;
    // Where a verifier of pliron meets what its authors did not think of, it panics.
    let found = catch_unwind(AssertUnwindSafe(|| root.deref(context).verify(context)));
    match found {
        Ok(Ok(())) => uses(context, &order),
        Ok(Err(error)) => {
            let place = places::location(context, &error.loc);
            Err(Diagnostic::error(Code::Mlir, place, innermost(&*error.err).to_string()))
        }
        Err(_) => Err(Diagnostic::error(Code::Mlir, None, "pliron's verifier panics on the program")),
    }
}

/// What an error of pliron's says without the errors that it stands in.
fn innermost<'a>(error: &'a (dyn std::error::Error + 'static)) -> &'a (dyn std::error::Error + 'static) {
    let mut error = error;
    while let Some(outer) = error.downcast_ref::<pliron::result::Error>() {
        error = &*outer.err;
    }
    error
}

/// The ops of a program, each after the one that it stands in and after those before it in its block, by their numbers.
type Order = Vec<Ptr<Operation>>;

fn order(context: &Context, root: Ptr<Operation>) -> Result<Order, Diagnostic> {
    let (mut order, mut rest) = (Vec::new(), vec![(root, 0)]);
    while let Some((operation, depth)) = rest.pop() {
        order.push(operation);
        let found = operation.deref(context);
        if found.num_regions() == 0 {
            continue;
        }
        if depth == DEPTH {
            let place = places::location(context, found.loc());
            return Err(Diagnostic::error(Code::TooDeep, place, "ops are nested too deeply"));
        }
        let blocks = found.regions().flat_map(|region| region.deref(context).iter(context));
        let at = rest.len();
        for block in blocks {
            rest.extend(block.deref(context).iter(context).map(|inside| (inside, depth + 1)));
        }
        rest[at..].reverse();
    }
    Ok(order)
}

/// Whether each use is dominated by the definition, and each op may have the blocks that it has.
fn uses(context: &Context, order: &Order) -> Result<(), Diagnostic> {
    let numbers = order.iter().enumerate().map(|(number, operation)| (*operation, number)).collect();
    let mut uses = Uses { context, numbers, dominance: DomInfo::default() };
    for operation in order {
        let found = operation.deref(context);
        if found.num_regions() > 0 || found.get_num_successors() > 0 {
            regions::verify(context, *operation)?;
        }
        if let Some(wrong) = found.operands().find(|value| !uses.is_dominated(*operation, *value)) {
            let place = places::location(context, found.loc());
            let message = format!("the operand {} is not defined before", wrong.unique_name(context));
            return Err(Diagnostic::error(Code::Mlir, place, message));
        }
    }
    Ok(())
}

struct Uses<'a> {
    context: &'a Context,
    numbers: FxHashMap<Ptr<Operation>, usize>,
    dominance: DomInfo,
}

impl Uses<'_> {
    fn is_dominated(&mut self, user: Ptr<Operation>, value: Value) -> bool {
        let (of, definition) = match value.defining_entity() {
            DefiningEntity::Op(definition) => {
                (definition.deref(self.context).get_parent_block(), Some(definition))
            }
            DefiningEntity::Block(block) => (Some(block), None),
        };
        let Some(block) = of else { return false };
        let Some(region) = block.deref(self.context).get_parent_region() else { return false };
        let Some((user, at)) = self.in_region(user, region) else { return false };
        if at != block {
            let tree = self.dominance.get_dom_tree(self.context, region);
            // What is never reached is dominated by all.
            return !tree.contains(&at) || tree.contains(&block) && tree.dominates(&block, &at);
        }
        let Some(definition) = definition else { return true };
        let is_before = self.numbers.get(&definition) < self.numbers.get(&user);
        is_before || !region.deref(self.context).has_ssa_dominance(self.context)
    }

    /// The op that stands in a region and has the user in it, or is it, and its block.
    fn in_region(
        &self,
        user: Ptr<Operation>,
        region: Ptr<Region>,
    ) -> Option<(Ptr<Operation>, Ptr<BasicBlock>)> {
        let mut user = user;
        loop {
            let block = user.deref(self.context).get_parent_block()?;
            let found = block.deref(self.context).get_parent_region()?;
            if found == region {
                return Some((user, block));
            }
            user = found.deref(self.context).get_parent_op();
            let parent = Operation::get_op_dyn(user, self.context);
            if op_impls::<dyn IsolatedFromAboveInterface>(&*parent) {
                return None;
            }
        }
    }
}
