//! `promote-infer-types`: every value gets its dtype and shape, weak ones still weak; no `unknown`, no `relax` left.
//!
//! ## Algorithm
//! 1. View every function, and what stands outside functions, in parallel.
//! 2. Solve the units, callees whose result types are unknown before their callers, the others in parallel.
//! 3. If no unit has an error, apply all solutions in parallel: result types, function types; relaxes go.

use std::collections::HashMap;

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::{Op, Semantics};
use rayon::prelude::*;

use super::raw::{self, Address};
use super::report;
use super::units::{self, Units};
use super::view::{View, function_type, view};
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::graph::{Known, Type, ValueId};
use crate::engine::shape::Shape;
use crate::engine::solve::{Solution, solve};

/// Infers all types in `root`, and gives every finding in program order. Changes nothing if there is an error.
///
/// The units come back too, if they still show the program: not if a relax, which they have, is gone from it.
pub fn infer_types(
    root: MlirOperation,
    names: &Names,
    semantics: &Semantics,
) -> (Vec<Diagnostic>, Option<Units>) {
    let roots = units::roots(root);
    let mut views: Vec<View> = roots.par_iter().map(|unit| view(unit.0, names)).collect();
    let (solutions, mut diagnostics) = solve_all(&mut views, semantics);
    for (view, solution) in views.iter().zip(&solutions) {
        diagnostics.extend(view.diagnostics(solution));
    }
    if !diagnostics.is_empty() {
        return (diagnostics, None);
    }
    let relaxes = views.par_iter_mut().zip(&solutions).map(|(view, solution)| apply(view, solution, names));
    let current = !relaxes.reduce(|| false, |a, b| a | b);
    (diagnostics, current.then(|| views.into_iter().zip(solutions).collect()))
}

/// Solves units in the order in which they need each other's result types.
fn solve_all(views: &mut [View], semantics: &Semantics) -> (Vec<Solution>, Vec<Diagnostic>) {
    let mut solutions: Vec<Option<Solution>> = views.iter().map(|_| None).collect();
    let mut diagnostics = Vec::new();
    let mut waiting: Vec<usize> = Vec::new();
    let callees = Callees::new(views);
    for (index, view) in views.iter().enumerate() {
        if !view.calls.is_empty() {
            waiting.push(index);
        }
    }
    let solve_one =
        |(view, slot): (&mut View, &mut Option<Solution>)| *slot = Some(solve(&mut view.graph, semantics));
    views.par_iter_mut().zip(&mut solutions).filter(|(view, _)| view.calls.is_empty()).for_each(solve_one);
    while !waiting.is_empty() {
        let ready = |index: &usize| {
            views[*index]
                .calls
                .iter()
                .all(|call| callees.find(call).is_none_or(|callee| solutions[callee].is_some()))
        };
        let (now, later): (Vec<usize>, Vec<usize>) = waiting.iter().partition(|index| ready(index));
        // A cycle of calls: state what is known, so that each is reported once and the rest goes on.
        let (now, later, cyclic) =
            if now.is_empty() { (later, Vec::new(), true) } else { (now, later, false) };
        for index in now {
            diagnostics.extend(state_calls(index, views, &solutions, &callees, cyclic));
            solve_one((&mut views[index], &mut solutions[index]));
        }
        waiting = later;
    }
    let solved = solutions
        .into_iter()
        .zip(views)
        .map(|(s, view)| s.unwrap_or_else(|| solve(&mut view.graph, semantics)));
    (solved.collect(), diagnostics)
}

/// Which unit is the function that a call names.
struct Callees(HashMap<(Address<MlirOperation>, String), usize>);

impl Callees {
    fn new(views: &[View]) -> Self {
        let symbol = |(index, view): (usize, &View)| {
            let function = view.root.0;
            let name = view.is_function.then(|| raw::string_attribute(function, "sym_name")).flatten()?;
            Some(((Address(raw::parent(function)?), name), index))
        };
        Self(views.iter().enumerate().filter_map(symbol).collect())
    }

    /// The function of that name in the nearest symbol table around the call.
    fn find(&self, call: &super::view::Call) -> Option<usize> {
        let mut around = raw::parent(call.operation.0);
        while let Some(table) = around {
            if let Some(index) = self.0.get(&(Address(table), call.callee.clone())) {
                return Some(*index);
            }
            around = raw::parent(table);
        }
        None
    }
}

/// Lets the results of the calls in unit `index` have the types that their callees' solutions give.
fn state_calls(
    index: usize,
    views: &mut [View],
    solutions: &[Option<Solution>],
    callees: &Callees,
    cyclic: bool,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut stated: Vec<(ValueId, Known, Shape)> = Vec::new();
    for call in &views[index].calls {
        let callee = callees.find(call);
        match callee.and_then(|callee| Some((&views[callee], solutions[callee].as_ref()?))) {
            Some((callee, solution)) => {
                let found = callee.results.iter().map(|slot| solution.slot(*slot));
                stated.extend(call.results.iter().zip(found).map(|(value, found)| {
                    // What is unknown there is reported there.
                    let dtype = if found.dtype == Known::Unknown { Known::Refused } else { found.dtype };
                    (*value, dtype, callee.graph.shapes.get(found.shape).clone())
                }));
            }
            None if cyclic && callee.is_some() => {
                let place = report::place_of(call.operation.0);
                let message = format!("the result types of @{} depend on this call itself", call.callee);
                let remedy = "state the result types of a recursive function in its signature";
                diagnostics.push(Diagnostic::error(Code::Unsupported, place, message).with_remedy(remedy));
                stated.extend(call.results.iter().map(|value| (*value, Known::Refused, Shape::UNRANKED)));
            }
            None => {}
        }
    }
    let graph = &mut views[index].graph;
    for (value, dtype, shape) in stated {
        let shape = graph.shapes.id(shape);
        graph.restate(value, Type { dtype, shape });
    }
    diagnostics
}

/// Writes a solution into the IR; whether relaxes were erased, which leaves the view with ops that are gone.
fn apply(view: &mut View, solution: &Solution, names: &Names) -> bool {
    let changed =
        view.graph.value_ids().filter(|value| solution.value(*value) != view.graph.value(*value).stated);
    let called = view.calls.iter().flat_map(|call| call.results.iter().copied());
    for value in changed.chain(called) {
        let found = solution.value(value);
        if let Known::DType(dtype) = found.dtype {
            let r#type = view.types.tensor(dtype, found.shape, names, &view.graph);
            raw::set_type(view.values[value.0 as usize].0, r#type);
        }
    }
    let mut relaxes = false;
    for op in view.graph.ops().filter(|op| view.graph.node(*op).op == Op::Relax) {
        relaxes = true;
        let operation = view.ops[op.0 as usize].0;
        if let Some(source) = raw::operands(operation).next() {
            raw::replace_all_uses(raw::result(operation), source);
        }
        raw::erase(operation);
    }
    if view.is_function {
        set_function_type(view, solution, names);
    }
    relaxes
}

/// Gives a function the type of its arguments and of what it returns.
fn set_function_type(view: &mut View, solution: &Solution, names: &Names) {
    let function = view.root.0;
    let Some(old) = function_type(function) else { return };
    let results = view.results.iter().enumerate().map(|(i, slot)| {
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
    units::replace_function_type(function, old, None, &results);
}
