//! `promote-fold-converts`: converts that do nothing, or that one convert can do, go. No bit of any result changes.

use promote_infer::fold::{Step, fold};
use promote_lattice::Semantics;

use crate::insert;
use crate::ir::Ir;
use crate::units;
use crate::view::{View, view};

/// Removes converts in `root` that can be removed without changing any bit of any result. The views of its units, if they
/// still show the program.
pub fn fold_converts<I: Ir>(ir: &mut I, root: I::Op, semantics: &Semantics) -> Option<Vec<View<I>>> {
    let roots = units::roots(ir, root);
    let views = ir.map(roots, |ir, unit| {
        let mut view = view(unit, ir);
        let steps = fold(&view.graph, &view.seen(ir), semantics);
        if steps.is_empty() {
            return Some(view);
        }
        steps.iter().for_each(|step| apply(ir, &mut view, step));
        // A convert of another value may stand better elsewhere, or be there already.
        let is_moved = |step: &Step| matches!(step, Step::Replace(..) | Step::Shorten(..));
        let moved = steps.iter().any(is_moved);
        let count = view.ops.len();
        // Its memory is the next one's.
        drop(view);
        moved.then(|| insert::place_again(ir, unit, count, semantics)).flatten()
    });
    views.into_iter().collect()
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
