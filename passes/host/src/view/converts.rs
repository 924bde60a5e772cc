//! The converts of a unit, and the constants that they convert: all that folding looks at.

use promote_infer::graph::{BlockId, Region};
use promote_lattice::Op;
use rustc_hash::FxHashMap;

use super::{View, Viewer};
use crate::ir::{Ir, Kind, Mark, ValueIds};
use crate::units;

/// The converts of a unit.
pub struct Converts<I: Ir> {
    /// The unit as if it had no other ops than its converts and the constants that they convert. Blocks do not nest.
    pub view: View<I>,
    /// Whether inference or insertion made some of them.
    pub any_implicit: bool,
}

/// Views the converts in `root`: a function's body, or all that stands in `root` outside functions.
pub fn converts<I: Ir>(root: I::Op, ir: &I) -> Converts<I> {
    let mut viewer = Viewer::new(root, ir, 0);
    let mut blocks = FxHashMap::default();
    let mut any_implicit = false;
    units::walk(ir, root, &mut |operation| {
        if ir.kind(operation) == Kind::Promote(Op::Convert) {
            any_implicit |= ir.is_marked(operation, Mark::Implicit);
            viewer.add_convert(operation, &mut blocks);
        }
    });
    Converts { view: viewer.view, any_implicit }
}

impl<I: Ir> Viewer<'_, I> {
    fn add_convert(&mut self, convert: I::Op, blocks: &mut FxHashMap<I::Block, BlockId>) {
        let ir = self.ir;
        for operand in ir.operands(convert) {
            let definition = ir.defining_op(operand).filter(|_| self.ids.get(operand).is_none());
            if let Some(constant) = definition.filter(|op| ir.kind(*op) == Kind::Promote(Op::Constant)) {
                self.add_folded(Op::Constant, constant, blocks);
            }
        }
        self.add_folded(Op::Convert, convert, blocks);
    }

    fn add_folded(&mut self, op: Op, operation: I::Op, blocks: &mut FxHashMap<I::Block, BlockId>) {
        let graph = &mut self.view.graph;
        let block = blocks.entry(self.ir.block(operation)).or_insert_with(|| graph.add_block(Region::Outer));
        self.add_op_with(None, op, operation, *block);
    }
}
