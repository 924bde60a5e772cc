//! `promote-fold-converts`: converts that do nothing, or that one convert can do, go. No bit of any result changes.

use promote_infer::fold::{Step, fold};
use promote_lattice::Semantics;

use crate::insert;
use crate::ir::Ir;
use crate::units;
use crate::verify::Planned;
use crate::view::{Converts, View, converts};

/// Removes converts in `root` that can be removed without changing any bit of any result. Of its units in turn, what verifying
/// them has to know, where that is known.
pub fn fold_converts<I: Ir>(ir: &mut I, root: I::Op, semantics: &Semantics) -> Vec<Option<Planned<I>>> {
    let sized = units::sized(ir, root);
    ir.map(sized, |ir, (unit, ops)| {
        let Converts { mut view, any_implicit } = converts(unit, ir);
        let steps = fold(&view.graph, &view.seen(ir), semantics);
        steps.iter().for_each(|step| apply(ir, &mut view, step));
        // A convert of another value may stand better elsewhere, or be there already.
        let is_moved = |step: &Step| matches!(step, Step::Replace(..) | Step::Shorten(..));
        let moved = any_implicit && steps.iter().any(is_moved);
        // Its memory is the next one's.
        drop(view);
        moved.then(|| insert::place_again(ir, unit, ops, semantics)).flatten()
    })
}

/// Does one step in the program, and notes what stands for its ids.
fn apply<I: Ir>(ir: &mut I, view: &mut View<I>, step: &Step) {
    match step {
        Step::Replace(convert, with) => {
            let convert = view.op(*convert);
            ir.replace_all_uses(ir.result(convert), view.value(*with));
            // No step after this one names a convert that is gone.
            ir.erase(convert);
        }
        Step::Shorten(convert, source) => ir.set_operand(view.op(*convert), 0, view.value(*source)),
        Step::Constant { convert: op, of, dtype, elements } => {
            let (convert, of) = (view.op(*op), view.op(*of));
            let result = ir.result(convert);
            let r#type = ir.value_type(result);
            let new = ir.create_constant((elements, *dtype), r#type, r#type, of);
            ir.insert_after(new, of);
            ir.replace_all_uses(result, ir.result(new));
            // Its ids stand for the constant from here on.
            ir.erase(convert);
            let value = view.graph.node(*op).result;
            view.ops[op.0 as usize] = new;
            view.values[value.0 as usize] = ir.result(new);
        }
        Step::Drop(op) => {
            let operation = view.op(*op);
            if !ir.is_used(ir.result(operation)) {
                // The steps after this one drop others: an op is dropped once.
                ir.erase(operation);
            }
        }
    }
}
