//! What ops are to the passes, by their Rust types.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::LazyLock;

use pliron::builtin::op_interfaces::{BranchOpInterface, RegionBranchOpInterface};
use pliron::builtin::ops::{FuncOp, ModuleOp};
use pliron::context::{Context, Ptr};
use pliron::op::{Op as _, op_cast};
use pliron::operation::Operation;
use promote_host::ir::{Flow, KINDS, Kind};
use promote_lattice::Op;
use rustc_hash::FxBuildHasher;

use crate::dialect::builder::beside;
use crate::dialect::promote::concrete;

/// An op that this crate knows.
pub struct Known {
    /// What it is to the passes.
    pub kind: Kind,
    /// What messages call it: what it is called in MLIR.
    pub name: String,
}

/// Ops by their Rust types.
pub type Table = HashMap<TypeId, Known, FxBuildHasher>;

/// The ops that this crate knows.
pub static KNOWN: LazyLock<Table> = LazyLock::new(|| {
    let promote =
        Op::ALL.iter().map(|op| (concrete(*op).1, Known { kind: Kind::Promote(*op), name: op.to_string() }));
    let beside = beside().map(|(name, concrete)| (concrete.1, named(name)));
    // Modules and functions are pliron's own. Messages call them what MLIR does, so that they are the same in both hosts.
    let function = (FuncOp::get_concrete_op_info().1, named("func.func"));
    let module = (ModuleOp::get_concrete_op_info().1, named("builtin.module"));
    promote.chain(beside).chain([function, module]).collect()
});

fn named(name: &str) -> Known {
    let kind = KINDS.iter().find(|(known, _)| *known == name).map_or(Kind::Other, |(_, kind)| *kind);
    Known { kind, name: name.to_owned() }
}

/// The Rust type of an op.
pub fn type_of(context: &Context, operation: Ptr<Operation>) -> TypeId {
    Operation::get_op_dyn(operation, context).as_any().type_id()
}

/// What an op of another crate is to the passes: pliron's interfaces say.
pub fn foreign(context: &Context, operation: Ptr<Operation>) -> Kind {
    let found = Operation::get_op_dyn(operation, context);
    if let Some(branch) = op_cast::<dyn BranchOpInterface>(&*found) {
        return own_operands(context, branch).map_or(Kind::Other, |own| Kind::Flow(Flow::Branch(own)));
    }
    match op_cast::<dyn RegionBranchOpInterface>(&*found) {
        Some(structured) if repeats(context, structured) => Kind::Loop,
        Some(_) | None => Kind::Other,
    }
}

/// How many operands of a branch are its own, if those of its successors follow in turn, as many as each is given.
fn own_operands(context: &Context, branch: &dyn BranchOpInterface) -> Option<usize> {
    branch.verify_successor_operand_layout(context).ok()?;
    let operation = branch.get_operation().deref(context);
    let mut next = None;
    let mut own = operation.get_num_operands();
    for (index, block) in operation.successors().enumerate() {
        let range = branch.successor_operand_range(context, index);
        own = own.min(range.start);
        let follows = next.is_none_or(|next| next == range.start);
        if !follows || range.len() != block.deref(context).get_num_arguments() {
            return None;
        }
        next = Some(range.end);
    }
    Some(own)
}

fn repeats(context: &Context, structured: &dyn RegionBranchOpInterface) -> bool {
    structured.verify_region_edges_layout(context).is_ok()
        && structured
            .get_operation()
            .deref(context)
            .regions()
            .any(|region| structured.is_repetitive_region(context, region))
}
