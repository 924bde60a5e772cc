//! `promote-infer-types`: every value gets its dtype and shape, weak ones still weak; no `unknown`, no `relax` left.
//!
//! ## Algorithm
//! 1. View every function, and what stands outside functions, in parallel.
//! 2. Solve them as one program ([`solve_program`]): recursion to a fixpoint, generic functions for each signature.
//! 3. If nothing is wrong, make the instances of generic functions, and apply all solutions in parallel: result types,
//!    function types; relaxes go.

use std::collections::BTreeMap;

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::Op;

use super::callees::{self, Callees};
use super::checks::{self, Writer};
use super::constant;
use super::edges;
use super::generic::{self, Tables};
use super::pass::Config;
use super::raw::{self, Address};
use super::units::{self, Shared, Units};
use super::view::{POISON, View, function_type, view};
use promote_diagnostics::Diagnostic;
use promote_infer::graph::{Known, Type, ValueId};
use promote_infer::program::solve_program;
use promote_infer::report::{Subject, problems};
use promote_infer::scalars;
use promote_infer::solve::{Solution, Solver};
use promote_infer::specialise::{self, Linked, OtherUse};

/// Infers all types in `root`, and returns every finding in program order. Changes nothing if there is an error.
///
/// The units come back too, if they still show the program: not if a relax, which they have, is gone from it.
pub fn infer_types(
    root: MlirOperation,
    shared: Shared<'_>,
    config: &Config,
) -> (Vec<Diagnostic>, Option<Units>) {
    let mut views: Vec<View> = shared.map(units::roots(root), |unit| view(unit.0, shared.names));
    let callees = Callees::new(&views);
    let links = callees::links(&views, &callees, root);
    let linked = views.iter().zip(&links).map(|(view, (callees, is_fixed))| {
        let View { unit, graph, .. } = view;
        Linked { unit, graph, callees, is_fixed: *is_fixed }
    });
    let (functions, calls) = specialise::functions(&linked.collect::<Vec<_>>());
    shared.map(views.iter_mut().collect(), |view| scalars::compute(&mut view.graph, shared.semantics));
    let graphs = views.iter_mut().map(|view| std::mem::take(&mut view.graph)).collect();
    let strict_carries = config.policies.strict_carries;
    let instances = solve_program(&functions, graphs, shared.semantics, strict_carries, |solvers| {
        shared.map(solvers, Solver::start);
    });

    let other_uses = generic::other_uses(root, &functions, &callees);
    let mut diagnostics: Vec<Diagnostic> = other_uses.into_iter().map(OtherUse::diagnostic).collect();
    let subjects =
        views.iter().zip(&calls).map(|(view, calls)| Subject { unit: &view.unit, sources: view, calls });
    let subjects: Vec<Subject<'_>> = subjects.collect();
    diagnostics.extend(problems(&subjects, &instances));
    if !diagnostics.is_empty() {
        return (diagnostics, None);
    }
    let specialised = specialise::specialise(&subjects, &instances, &Tables(&views));
    diagnostics.extend(specialised.unused.iter().map(|id| specialise::unused(&subjects[id.0 as usize])));
    let mut units = generic::apply(views, &specialised, instances, shared.names);
    for (view, solution) in &units {
        diagnostics.extend(config.remarks(view.reporter(solution)).of_inference());
    }
    let solved = units.iter_mut().collect();
    let apply = |(view, solution): &mut (View, Solution)| apply(view, solution, shared.names);
    let changed = shared.map(solved, apply).contains(&true);
    let callees = Callees::new(units.iter().map(|(view, _)| view));
    let functions: Vec<_> = units.iter().map(|(view, _)| view.root).collect();
    let cast = units.iter().flat_map(|(view, _)| view.calls.iter().enumerate().map(move |call| (view, call)));
    let cast = cast.map(|(view, (index, call))| {
        let callee = callees.callee(view, index);
        callee.map_or(0, |callee| cast_operands(call.0, functions[callee.0 as usize].0))
    });
    let cast: usize = cast.sum();
    (diagnostics, (!changed && cast == 0).then_some(units))
}

/// Writes a solution into the IR; whether ops were made or relaxes erased, which the view does not show.
fn apply(view: &mut View, solution: &Solution, names: &Names) -> bool {
    view.source.take();
    let changed =
        view.graph.value_ids().filter(|value| solution.value(*value) != view.graph.value(*value).stated);
    // The arguments of an instance are stated in the graph alone.
    let stored = stored(view, solution);
    for value in changed.chain(view.unit.arguments.iter().copied()).chain(stored.keys().copied()) {
        let found = stored.get(&value).copied().unwrap_or_else(|| solution.value(value));
        if let Known::DType(dtype) = found.dtype {
            let r#type = view.types.tensor(dtype, found.shape, names, &view.graph);
            raw::set_type(view.values[value.0 as usize].0, r#type);
        }
    }
    // The view lacks the ops that edges take, too.
    let weakened = edges::take_out(view, solution, &stored, names);
    let mut relaxes = edges::settle(view, solution, names) + weakened > 0;
    for op in view.graph.ops().filter(|op| view.graph.node(*op).op == Op::Relax) {
        relaxes = true;
        let result = raw::result(view.ops[op.0 as usize].0);
        let operation = view.ops[op.0 as usize].0;
        // In unreachable code a value may be passed on to itself: such a relax stays, and is refused as not strong.
        if let Some(source) =
            raw::operands(operation).next().filter(|source| Address(*source) != Address(result))
        {
            let stated = raw::value_type(result);
            let passed = match same(raw::value_type(source), stated) {
                true => source,
                false => checks::cast(operation, 0, source, stated),
            };
            raw::replace_all_uses(result, passed);
            // SAFETY: nothing uses it any more, and a view that had a relax is not handed on.
            unsafe { raw::erase(operation) };
        }
    }
    relaxes |= define(view, solution, names);
    let computed = write_scalars(view, names);
    if view.unit.is_function {
        set_function_type(view, solution, names);
    }
    relaxes || computed > 0
}

/// The types of the values that stand for slots and are stored in another type than they have in the program.
fn stored(view: &View, solution: &Solution) -> BTreeMap<ValueId, Type> {
    let stored = view.graph.slot_ids().filter_map(|slot| {
        let (target, stored) = (view.graph.slot(slot).target?, solution.slot(slot));
        let differs = solution.value(target) != stored && matches!(stored.dtype, Known::DType(_));
        differs.then_some((target, stored))
    });
    stored.collect()
}

/// Writes what Python computes of Python scalars as the numbers they are; how many there were.
fn write_scalars(view: &View, names: &Names) -> usize {
    let computed = view.graph.scalars.computed();
    for (op, number) in &computed {
        let operation = view.ops[op.0 as usize].0;
        let result = raw::result(operation);
        let new = constant::of_scalar(*number, operation, names);
        raw::insert_before(new, operation);
        raw::replace_all_uses(result, raw::result(new));
        // SAFETY: nothing uses it any more, and a view that had such an op is not handed on.
        unsafe { raw::erase(operation) };
    }
    computed.len()
}

/// Gives what has no value the type of the slot that it flows to; whether there is such.
fn define(view: &mut View, solution: &Solution, names: &Names) -> bool {
    for (slot, operation, index) in std::mem::take(&mut view.undefined) {
        let found = solution.slot(slot);
        let Known::DType(dtype) = found.dtype else { continue };
        let result = view.types.tensor(dtype, found.shape, names, &view.graph);
        let writer = Writer::new(operation.0, raw::outside_of_combining(operation.0));
        raw::set_operand(operation.0, index, writer.add(POISON, &[], result, &[]));
    }
    for value in &view.graph.undefined {
        let value = view.values[value.0 as usize].0;
        if let Some(operation) = raw::defining_op(value).filter(|_| !raw::is_used(value)) {
            // SAFETY: nothing uses it, and a view that had what has no value is not handed on.
            unsafe { raw::erase(operation) };
        }
    }
    !view.graph.undefined.is_empty()
}

/// Casts operands of a call, whose types are known otherwise than the callee's signature states, to what it states, and
/// checks what it states and is not known; how many there were.
fn cast_operands(operation: MlirOperation, callee: MlirOperation) -> usize {
    let Some(signature) = function_type(callee) else { return 0 };
    let stated = units::inputs(signature).into_iter().zip(raw::operands(operation)).enumerate();
    let differ: Vec<_> =
        stated.filter(|(_, (stated, operand))| !same(*stated, raw::value_type(*operand))).collect();
    for (index, (result, operand)) in &differ {
        raw::set_operand(operation, *index, checks::cast(operation, *index, *operand, *result));
    }
    differ.len()
}

fn same(a: MlirType, b: MlirType) -> bool {
    // SAFETY: types live as long as the context.
    unsafe { mlirTypeEqual(a, b) }
}

/// Gives a function the type of its arguments and of what it returns.
fn set_function_type(view: &mut View, solution: &Solution, names: &Names) {
    let function = view.root.0;
    let Some(old) = function_type(function) else { return };
    let results = view.unit.results.iter().enumerate().map(|(i, slot)| {
        let found = solution.slot(*slot);
        match found.dtype {
            Known::DType(dtype) => view.types.tensor(dtype, found.shape, names, &view.graph),
            // SAFETY: there is a slot for each result of the type.
            Known::Unknown | Known::Opaque | Known::Refused => unsafe {
                mlirFunctionTypeGetResult(old, i as isize)
            },
        }
    });
    let results: Vec<MlirType> = results.collect();
    let arguments = view.unit.arguments.iter().map(|argument| view.values[argument.0 as usize].0);
    let inputs: Option<Vec<MlirType>> =
        (!view.unit.arguments.is_empty()).then(|| arguments.map(raw::value_type).collect());
    units::replace_function_type(function, old, inputs.as_deref(), &results);
}
