//! `promote-infer-types`: every value gets its dtype and shape, weak ones still weak; no `unknown`, no `relax` left.
//!
//! ## Algorithm
//! 1. View every function, and what stands outside functions, in parallel.
//! 2. Solve them as one program ([`solve_program`]): recursion to a fixpoint, generic functions for each signature.
//! 3. If nothing is wrong, make the instances of generic functions, and apply all solutions in parallel: result types,
//!    function types; relaxes go.

use std::collections::BTreeMap;

use promote_diagnostics::Diagnostic;
use promote_infer::graph::{Known, Type, ValueId};
use promote_infer::program::solve_program;
use promote_infer::report::{Subject, problems};
use promote_infer::scalars;
use promote_infer::shape::Shape;
use promote_infer::solve::{Solution, Solver};
use promote_infer::specialise::{self, Linked, OtherUse};
use promote_lattice::Op;

use crate::callees::{self, Callees};
use crate::checks::{self, Place, Writer};
use crate::edges;
use crate::instances::{self, Tables};
use crate::ir::{Ir, New};
use crate::pass::Settings;
use crate::units::{self, Units};
use crate::view::{View, view_about};

/// Infers all types in `root`, and returns every finding in program order. Changes nothing if there is an error.
///
/// The units come back too, if they still show the program: not if a relax, which they have, is gone from it.
pub fn infer_types<I: Ir>(
    ir: &mut I,
    root: I::Op,
    settings: &Settings<'_>,
) -> (Vec<Diagnostic>, Option<Units<I>>) {
    let semantics = settings.semantics;
    let sized = units::sized(ir, root);
    let mut views: Vec<View<I>> = ir.map(sized, |ir, (unit, ops)| view_about(unit, ir, ops));
    let callees = Callees::new(ir, &views);
    let links = callees::links(ir, &views, &callees, root);
    let linked = views.iter().zip(&links).map(|(view, (callees, is_fixed))| {
        let View { unit, graph, .. } = view;
        Linked { unit, graph, callees, is_fixed: *is_fixed }
    });
    let (functions, calls) = specialise::functions(&linked.collect::<Vec<_>>());
    ir.map(views.iter_mut().collect(), |_, view| scalars::compute(&mut view.graph, semantics));
    let graphs = views.iter_mut().map(|view| std::mem::take(&mut view.graph)).collect();
    let strict_carries = settings.policies.strict_carries;
    let instances = solve_program(&functions, graphs, semantics, strict_carries, |solvers| {
        ir.map(solvers, |_, solver| Solver::start(solver));
    });

    let other_uses = instances::other_uses(ir, root, &functions, &callees);
    let mut diagnostics: Vec<Diagnostic> = other_uses.into_iter().map(OtherUse::diagnostic).collect();
    let seen: Vec<_> = views.iter().map(|view| view.seen(ir)).collect();
    let subjects = views.iter().zip(&seen).zip(&calls);
    let subjects = subjects.map(|((view, sources), calls)| Subject { unit: &view.unit, sources, calls });
    let subjects: Vec<Subject<'_>> = subjects.collect();
    diagnostics.extend(problems(&subjects, &instances));
    if !diagnostics.is_empty() {
        return (diagnostics, None);
    }
    let specialised = specialise::specialise(&subjects, &instances, &Tables::new(ir, &views));
    diagnostics.extend(specialised.unused.iter().map(|id| specialise::unused(&subjects[id.0 as usize])));
    let mut units = instances::apply(ir, views, &specialised, instances);
    for (view, solution) in &units {
        diagnostics.extend(settings.remarks(view.seen(ir).reporter(solution)).of_inference());
    }
    let solved = units.iter_mut().collect();
    let changed = ir.map(solved, |ir, (view, solution): &mut (View<I>, Solution)| apply(ir, view, solution));
    let changed = changed.contains(&true);
    let callees = Callees::new(ir, units.iter().map(|(view, _)| view));
    let functions: Vec<_> = units.iter().map(|(view, _)| view.root).collect();
    let mut cast = 0;
    for (view, _) in &units {
        for (index, call) in view.calls.iter().enumerate() {
            if let Some(callee) = callees.callee(ir, view, index) {
                cast += cast_operands(ir, *call, functions[callee.0 as usize]);
            }
        }
    }
    (diagnostics, (!changed && cast == 0).then_some(units))
}

/// Writes a solution into the IR; whether ops were made or relaxes erased, which the view does not show.
fn apply<I: Ir>(ir: &mut I, view: &mut View<I>, solution: &Solution) -> bool {
    view.source.take();
    let changed =
        view.graph.value_ids().filter(|value| solution.value(*value) != view.graph.value(*value).stated);
    // The arguments of an instance are stated in the graph alone.
    let stored = stored(view, solution);
    for value in changed.chain(view.unit.arguments.iter().copied()).chain(stored.keys().copied()) {
        let found = stored.get(&value).copied().unwrap_or_else(|| solution.value(value));
        if let Known::DType(dtype) = found.dtype {
            let target = view.value(value);
            let r#type = view.types.tensor(dtype, found.shape, ir.form_of(target), (ir, &view.graph));
            ir.set_type(target, r#type);
        }
    }
    // The view lacks the ops that edges take, too.
    let weakened = edges::take_out(ir, view, solution, &stored);
    let mut relaxes = edges::settle(ir, view, solution) + weakened > 0;
    for op in view.graph.ops().filter(|op| view.graph.node(*op).op == Op::Relax) {
        relaxes = true;
        let operation = view.op(op);
        let (result, source) = (ir.result(operation), ir.operands(operation).next());
        // In unreachable code a value may be passed on to itself: such a relax stays, and is refused as not strong.
        if let Some(source) = source.filter(|source| *source != result) {
            let stated = ir.value_type(result);
            let passed = match ir.value_type(source) == stated {
                true => source,
                false => checks::cast(ir, operation, 0, source, stated),
            };
            ir.replace_all_uses(result, passed);
            // A view that had a relax is not handed on.
            ir.erase(operation);
        }
    }
    relaxes |= define(ir, view, solution);
    let computed = write_scalars(ir, view);
    if view.unit.is_function {
        set_function_type(ir, view, solution);
    }
    relaxes || computed > 0
}

/// The types of the values that stand for slots and are stored in another type than they have in the program.
fn stored<I: Ir>(view: &View<I>, solution: &Solution) -> BTreeMap<ValueId, Type> {
    let stored = view.graph.slot_ids().filter_map(|slot| {
        let (target, stored) = (view.graph.slot(slot).target?, solution.slot(slot));
        let differs = solution.value(target) != stored && matches!(stored.dtype, Known::DType(_));
        differs.then_some((target, stored))
    });
    stored.collect()
}

/// Writes what Python computes of Python scalars as the numbers they are; how many there were.
fn write_scalars<I: Ir>(ir: &mut I, view: &View<I>) -> usize {
    let computed = view.graph.scalars.computed();
    for (op, number) in &computed {
        let operation = view.op(*op);
        let scalar = Shape::ranked([]);
        let (dtype, storage) = (number.dtype(), number.dtype().storage());
        let (written, result) = (ir.tensor_type(storage, &scalar), ir.tensor_type(dtype, &scalar));
        let new = ir.create_constant((&[number.literal().bits()], storage), written, result, operation);
        ir.insert_before(new, operation);
        ir.replace_all_uses(ir.result(operation), ir.result(new));
        // A view that had such an op is not handed on.
        ir.erase(operation);
    }
    computed.len()
}

/// Gives what has no value the type of the slot that it flows to; whether there is such.
fn define<I: Ir>(ir: &mut I, view: &mut View<I>, solution: &Solution) -> bool {
    for (slot, operation, index) in std::mem::take(&mut view.undefined) {
        let found = solution.slot(slot);
        let Known::DType(dtype) = found.dtype else { continue };
        let form = ir.form_of(ir.operand(operation, index));
        let result = view.types.tensor(dtype, found.shape, form, (ir, &view.graph));
        let before = ir.outside_of_combining(operation);
        let made = Writer::new(ir, operation, Place::Before(before)).add(New::Poison, &[], Some(result));
        ir.set_operand(operation, index, made);
    }
    for value in &view.graph.undefined {
        let value = view.value(*value);
        if let Some(operation) = ir.defining_op(value).filter(|_| !ir.is_used(value)) {
            // A view that had what has no value is not handed on.
            ir.erase(operation);
        }
    }
    !view.graph.undefined.is_empty()
}

/// Casts operands of a call, whose types are known otherwise than the callee's signature states, to what it states, and
/// checks what it states and is not known; how many there were.
fn cast_operands<I: Ir>(ir: &mut I, operation: I::Op, callee: I::Op) -> usize {
    let Some(signature) = ir.signature(callee) else { return 0 };
    let stated = signature.inputs.into_iter().zip(ir.operands(operation)).enumerate();
    let differ: Vec<_> = stated.filter(|(_, (stated, operand))| *stated != ir.value_type(*operand)).collect();
    for (index, (result, operand)) in &differ {
        let cast = checks::cast(ir, operation, *index, *operand, *result);
        ir.set_operand(operation, *index, cast);
    }
    differ.len()
}

/// Gives a function the type of its arguments and of what it returns.
fn set_function_type<I: Ir>(ir: &mut I, view: &mut View<I>, solution: &Solution) {
    let function = view.root;
    let Some(old) = ir.signature(function) else { return };
    let mut new = old.clone();
    for (result, slot) in new.results.iter_mut().zip(&view.unit.results) {
        let found = solution.slot(*slot);
        if let Known::DType(dtype) = found.dtype {
            *result = view.types.tensor(dtype, found.shape, ir.form(*result), (ir, &view.graph));
        }
    }
    // The unit of a declaration has no arguments.
    for (input, argument) in new.inputs.iter_mut().zip(&view.unit.arguments) {
        *input = ir.value_type(view.value(*argument));
    }
    if new != old {
        ir.set_signature(function, &new);
    }
}
