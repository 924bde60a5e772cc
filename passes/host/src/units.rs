//! Units: the functions of a module, each inferred and rewritten on its own, and the rest around them.

use promote_infer::solve::Solution;

use crate::ir::{Ir, Kind};
use crate::view::View;

/// Units with their solutions.
pub type Units<I> = Vec<(View<I>, Solution)>;

/// The units in `root`: `root` itself, for all that stands in it outside functions nested in it, and those functions.
pub fn roots<I: Ir>(ir: &I, root: I::Op) -> Vec<I::Op> {
    sized(ir, root).into_iter().map(|(unit, _)| unit).collect()
}

/// The same, each with how many ops it has.
pub fn sized<I: Ir>(ir: &I, root: I::Op) -> Vec<(I::Op, usize)> {
    let mut units = vec![(root, 0)];
    let mut stack: Vec<(I::Block, usize)> = blocks(ir, root).map(|block| (block, 0)).collect();
    stack.reverse();
    while let Some((block, unit)) = stack.pop() {
        let at = stack.len();
        for operation in ir.operations(block) {
            units[unit].1 += 1;
            if ir.has_regions(operation) {
                let mut inner = unit;
                if ir.kind(operation) == Kind::Function {
                    inner = units.len();
                    units.push((operation, 0));
                }
                stack.extend(blocks(ir, operation).map(|block| (block, inner)));
            }
        }
        stack[at..].reverse();
    }
    units
}

/// The blocks of all regions of an op.
pub fn blocks<I: Ir>(ir: &I, operation: I::Op) -> impl Iterator<Item = I::Block> {
    ir.regions(operation).flat_map(|region| ir.blocks(region))
}

/// Visits every op in `root` outside functions nested in it, in program order, with a stack of its own.
pub fn walk<I: Ir>(ir: &I, root: I::Op, visit: &mut impl FnMut(I::Op)) {
    let mut stack: Vec<I::Op> = Vec::new();
    let push_contents = |operation, stack: &mut Vec<I::Op>| {
        let at = stack.len();
        stack.extend(blocks(ir, operation).filter_map(|block| ir.operations(block).next()));
        stack[at..].reverse();
    };
    push_contents(root, &mut stack);
    while let Some(operation) = stack.pop() {
        stack.extend(ir.next(operation));
        visit(operation);
        if ir.has_regions(operation) && ir.kind(operation) != Kind::Function {
            push_contents(operation, &mut stack);
        }
    }
}

/// Lets these users of a value use another one.
pub fn replace_in<I: Ir>(ir: &mut I, users: &[I::Op], of: I::Value, with: I::Value) {
    for user in users {
        let count = ir.operands(*user).len();
        for index in 0..count {
            if ir.operand(*user, index) == of {
                ir.set_operand(*user, index, with);
            }
        }
    }
}
