//! `promote-verify-strong`: fails on anything weak, unknown or still implicit.
//!
//! It views and solves the program anew and plans its conversions: a strong program is one whose plan is empty.

use mlir_sys::*;
use promote_lattice::Op;
use rustc_hash::FxHashMap;

use super::checks::told;
use super::raw::{self, Address};
use super::report::{definition_of, place_of};
use super::types::mentions_promote;
use super::units::{self, Shared};
use super::view::{View, function_type, view};
use promote_diagnostics::{Code, Diagnostic};
use promote_infer::graph::{Known, OpId};
use promote_infer::plan::{Edit, Make, Plan, Produced, Use, plan};
use promote_infer::solve::{Solution, solve};

/// Everything in `root` that is not strong, in program order.
pub fn verify_strong(root: MlirOperation, shared: Shared<'_>) -> Vec<Diagnostic> {
    let Shared { names, semantics, .. } = shared;
    let found = shared.map(units::roots(root), |unit| {
        let mut view = view(unit.0, names);
        let weak = weak_values(&view);
        if !weak.is_empty() {
            return weak;
        }
        let solution = solve(&mut view.graph, semantics);
        let refused = view.reporter(&solution).diagnostics(&[]);
        if !refused.is_empty() {
            return refused;
        }
        let plan = plan(&mut view.graph, &solution, semantics);
        let implicit = plan.edits.iter().map(|edit| implicit(&view, &solution, &plan, edit));
        implicit.chain(unchecked(&view, &plan)).chain(view.reporter(&solution).unranked()).collect()
    });
    found.into_iter().flatten().collect()
}

/// Values whose type is weak, unknown, or mentions such a type, and relaxes.
fn weak_values(view: &View) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut mentions: FxHashMap<Address<MlirType>, bool> = FxHashMap::default();
    let mut mentions = |t: MlirType| *mentions.entry(Address(t)).or_insert_with(|| mentions_promote(t));
    for value in view.graph.value_ids() {
        let handle = view.values[value.0 as usize].0;
        let not_strong = match view.graph.value(value).stated.dtype {
            Known::DType(dtype) => dtype.is_weak(),
            Known::Unknown => true,
            Known::Opaque | Known::Refused => mentions(raw::value_type(handle)),
        };
        if not_strong {
            let message = format!("a value is still of type {}", raw::type_text(raw::value_type(handle)));
            let error = Diagnostic::error(Code::NotStrong, definition_of(handle), message);
            found.push(error.with_remedy(match view.graph.value(value).stated.dtype {
                Known::Opaque => {
                    "weak and unknown types are promoted in tensors only: take the value apart first"
                }
                Known::DType(_) | Known::Unknown | Known::Refused => RUN_FIRST,
            }));
        }
    }
    for op in view.graph.ops().filter(|op| view.graph.node(*op).op == Op::Relax) {
        let place = place_of(view.ops[op.0 as usize].0);
        found.push(not_strong_error("a promote.relax is left".to_owned(), place));
    }
    let signature = function_type(view.root.0).filter(|t| view.unit.is_function && mentions(*t));
    if let (Some(signature), true) = (signature, found.is_empty()) {
        let message = format!("the function's type is still {}", raw::type_text(signature));
        found.push(not_strong_error(message, place_of(view.root.0)));
    }
    found
}

fn not_strong_error(message: String, place: Option<promote_diagnostics::Location>) -> Diagnostic {
    Diagnostic::error(Code::NotStrong, place, message).with_remedy(RUN_FIRST)
}

const RUN_FIRST: &str = "run promote-infer-types and promote-insert-converts first";

fn implicit(view: &View, solution: &Solution, plan: &Plan, edit: &Edit) -> Diagnostic {
    let (place, subject, operand) = match edit.place {
        Use::Operand(op, index) => {
            let name = view.graph.node(op).op;
            (view.ops[op.0 as usize], format!("operand {index} of {name}"), view.graph.operands(op)[index])
        }
        Use::Feed(slot, index) => {
            let feed = view.graph.slot(slot).sources[index];
            let (operation, operand) = view.feeds[slot.0 as usize][index];
            (operation, format!("operand {operand} of {}", raw::name(operation.0)), feed.value)
        }
    };
    let value = view.values[operand.0 as usize].0;
    let from = view.reporter(solution).found_type(solution.value(operand), operand);
    let (result, make) = match edit.to {
        Produced::Insert(insert) => {
            let insert = &plan.inserts[insert.0 as usize];
            (insert.result, Some(insert.make))
        }
        Produced::Value(converted) => (solution.value(converted), None),
    };
    let to = view.reporter(solution).found_type(result, operand);
    let (code, verb) = match make {
        Some(Make::Broadcast { .. }) => (Code::ImplicitBroadcast, "broadcast"),
        Some(Make::Convert(_) | Make::Literal(..)) | None => (Code::ImplicitPromotion, "converted"),
    };
    Diagnostic::error(code, place_of(place.0), format!("{subject}, {from}, would still be {verb} to {to}"))
        .with_note(definition_of(value), "the operand is defined here")
        .with_remedy("run promote-insert-converts first")
}

/// Ops that ask something of extents that no run checks.
fn unchecked(view: &View, plan: &Plan) -> Vec<Diagnostic> {
    let asked = plan.checks.iter().map(|check| (check.op, told(&check.condition)));
    let stated = "the result states extents that only a run knows".to_owned();
    let refined = plan.refined.iter().map(|(op, _)| (*op, stated.clone()));
    let not_checked = |(op, told): (OpId, String)| {
        let message = format!("{} is not checked yet: {told}", view.graph.node(op).op);
        Diagnostic::error(Code::NotStrong, place_of(view.ops[op.0 as usize].0), message)
            .with_remedy("run promote-insert-converts first")
    };
    asked.chain(refined).map(not_checked).collect()
}
