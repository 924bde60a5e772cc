//! `promote-fold-converts`: converts that do nothing, or that one convert can do, go. No bit of any result changes.

use mlir_sys::*;

use super::constant;
use super::insert;
use super::raw::{self, Address};
use super::units::{self, Shared};
use super::view::{View, view};
use promote_infer::fold::{Step, fold};
use promote_infer::graph::OpId;

/// Removes converts in `root` that can be removed without changing any bit of any result. The views of its units, if they
/// still show the program.
pub fn fold_converts(root: MlirOperation, shared: Shared<'_>) -> Option<Vec<View>> {
    let views = shared.map(units::roots(root), |unit| {
        let mut view = view(unit.0, shared.names);
        let steps = fold(&view.graph, &view, shared.semantics);
        if steps.is_empty() {
            return Some(view);
        }
        steps.iter().for_each(|step| apply(&mut view, step));
        // A convert of another value may stand better elsewhere, or be there already.
        let is_moved = |step: &Step| matches!(step, Step::Replace(..) | Step::Shorten(..));
        let moved = steps.iter().any(is_moved);
        moved.then(|| insert::place_again(unit.0, shared.names, shared.semantics)).flatten()
    });
    views.into_iter().collect()
}

/// Does one step in the program, and notes what stands for its ids.
fn apply(view: &mut View, step: &Step) {
    let operation = |op: &OpId| view.ops[op.0 as usize].0;
    match step {
        Step::Replace(convert, with) => {
            let convert = operation(convert);
            raw::replace_all_uses(raw::result(convert), view.values[with.0 as usize].0);
            // SAFETY: nothing uses it any more, and no step after this one names a convert that is gone.
            unsafe { raw::erase(convert) };
        }
        Step::Shorten(convert, source) => {
            raw::set_operand(operation(convert), 0, view.values[source.0 as usize].0);
        }
        Step::Constant { convert: op, of, dtype, elements } => {
            let (convert, of) = (operation(op), operation(of));
            let result = raw::result(convert);
            let new = constant::in_place_of(of, elements, *dtype, raw::value_type(result));
            raw::insert_after(new, of);
            raw::replace_all_uses(result, raw::result(new));
            // SAFETY: nothing uses it any more, and its ids stand for the constant from here on.
            unsafe { raw::erase(convert) };
            let value = view.graph.node(*op).result;
            view.ops[op.0 as usize] = Address(new);
            view.values[value.0 as usize] = Address(raw::result(new));
        }
        Step::Drop(op) => {
            let operation = operation(op);
            if !raw::is_used(raw::result(operation)) {
                // SAFETY: nothing uses it, and the steps after this one drop others: an op is dropped once.
                unsafe { raw::erase(operation) };
            }
        }
    }
}
