//! `promote-infer-types`: every value gets its dtype and shape, weak ones still weak; no `unknown`, no `relax` left.
//!
//! ## Algorithm
//! 1. View every function, and what stands outside functions, in parallel.
//! 2. Solve the units, callees whose result types are unknown before their callers, the others in parallel.
//! 3. If no unit has an error, apply all solutions in parallel: result types, function types; relaxes go.

use std::collections::HashMap;

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::Op;

use super::edges;
use super::raw::{self, Address, NewOp};
use super::report;
use super::units::{self, Shared, Units};
use super::view::{Call, View, function_type, view};
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::graph::{Known, Type, ValueId};
use crate::engine::shape::Shape;
use crate::engine::solve::{Solution, solve};

/// Infers all types in `root`, and gives every finding in program order. Changes nothing if there is an error.
///
/// The units come back too, if they still show the program: not if a relax, which they have, is gone from it.
pub fn infer_types(root: MlirOperation, shared: Shared<'_>) -> (Vec<Diagnostic>, Option<Units>) {
    let mut views: Vec<View> = shared.map(units::roots(root), |unit| view(unit.0, shared.names));
    let (solutions, mut diagnostics) = solve_all(&mut views, shared);
    for (view, solution) in views.iter().zip(&solutions) {
        diagnostics.extend(view.diagnostics(solution));
    }
    if !diagnostics.is_empty() {
        return (diagnostics, None);
    }
    let callees = Callees::new(&views);
    let solved = views.iter_mut().zip(&solutions).collect();
    let relaxed = shared.map(solved, |(view, solution)| apply(view, solution, shared.names)).contains(&true);
    let cast = views.iter().flat_map(|view| &view.calls).map(|call| cast_operands(call, &callees));
    let current = !relaxed && cast.sum::<usize>() == 0;
    (diagnostics, current.then(|| views.into_iter().zip(solutions).collect()))
}

/// Solves units in the order in which they need each other's result types: those that need none in parallel, then
/// callers as the last of their callees is solved.
fn solve_all(views: &mut [View], shared: Shared<'_>) -> (Vec<Solution>, Vec<Diagnostic>) {
    let callees = Callees::new(views);
    let mut solutions: Vec<Option<Solution>> = views.iter().map(|_| None).collect();
    let mut diagnostics = Vec::new();
    let (mut missing, callers) = dependencies(views, &callees);
    let alone = views.iter_mut().zip(&mut solutions).zip(&missing).filter(|(_, missing)| **missing == 0);
    shared.map(alone.collect(), |((view, solution), _)| {
        *solution = Some(solve(&mut view.graph, shared.semantics));
    });

    let mut solved: Vec<usize> = (0..views.len()).filter(|unit| missing[*unit] == 0).collect();
    // What is left when no unit is solved any more calls itself: each is solved with what is stated, and reported.
    let mut left = 0..views.len();
    loop {
        let (unit, cyclic) = match solved.pop() {
            Some(unit) => (unit, false),
            None => match left.find(|unit| solutions[*unit].is_none()) {
                Some(unit) => (unit, true),
                None => break,
            },
        };
        if solutions[unit].is_none() {
            diagnostics.extend(state_calls(unit, views, &solutions, &callees, cyclic));
            solutions[unit] = Some(solve(&mut views[unit].graph, shared.semantics));
        }
        for caller in &callers[unit] {
            missing[*caller] = missing[*caller].saturating_sub(1);
            if missing[*caller] == 0 && solutions[*caller].is_none() {
                solved.push(*caller);
            }
        }
    }
    (solutions.into_iter().flatten().collect(), diagnostics)
}

/// For each unit, how many calls in it wait for their callee, and, for each unit, the callers of those calls.
fn dependencies(views: &[View], callees: &Callees) -> (Vec<usize>, Vec<Vec<usize>>) {
    let (mut missing, mut callers) = (vec![0; views.len()], vec![Vec::new(); views.len()]);
    for (unit, view) in views.iter().enumerate() {
        for call in view.calls.iter().filter(|call| call.follows_callee) {
            if let Some(callee) = callees.find(call) {
                missing[unit] += 1;
                callers[callee.unit].push(unit);
            }
        }
    }
    (missing, callers)
}

/// The functions that calls name.
struct Callees(HashMap<(Address<MlirOperation>, String), Callee>);

/// A function that may be called.
#[derive(Clone, Copy)]
struct Callee {
    unit: usize,
    function: Address<MlirOperation>,
}

impl Callees {
    fn new(views: &[View]) -> Self {
        let symbol = |(index, view): (usize, &View)| {
            let function = view.root.0;
            let name = view.is_function.then(|| raw::string_attribute(function, "sym_name")).flatten()?;
            Some(((Address(raw::parent(function)?), name), Callee { unit: index, function: view.root }))
        };
        Self(views.iter().enumerate().filter_map(symbol).collect())
    }

    /// The function of that name in the nearest symbol table around the call.
    fn find(&self, call: &Call) -> Option<Callee> {
        let mut around = raw::parent(call.operation.0);
        while let Some(table) = around {
            if let Some(callee) = self.0.get(&(Address(table), call.callee.clone())) {
                return Some(*callee);
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
    for call in views[index].calls.iter().filter(|call| call.follows_callee) {
        let callee = callees.find(call);
        match callee.and_then(|callee| Some((&views[callee.unit], solutions[callee.unit].as_ref()?))) {
            Some((callee, solution)) => {
                let found = callee.results.iter().map(|slot| solution.slot(*slot));
                stated.extend(call.results.iter().zip(found).map(|(value, found)| {
                    // What is unknown there is reported there.
                    let dtype = if found.dtype == Known::Unknown { Known::Refused } else { found.dtype };
                    (*value, dtype, callee.graph.shapes.get(found.shape).clone())
                }));
            }
            None if cyclic && callee.is_some() && views[index].has_unknown_results(call) => {
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

/// Writes a solution into the IR; whether ops were made or relaxes erased, which the view does not show.
fn apply(view: &mut View, solution: &Solution, names: &Names) -> bool {
    let changed =
        view.graph.value_ids().filter(|value| solution.value(*value) != view.graph.value(*value).stated);
    let following = view.calls.iter().filter(|call| call.follows_callee);
    let called = following.flat_map(|call| call.results.iter().copied());
    for value in changed.chain(called) {
        let found = solution.value(value);
        if let Known::DType(dtype) = found.dtype {
            let r#type = view.types.tensor(dtype, found.shape, names, &view.graph);
            raw::set_type(view.values[value.0 as usize].0, r#type);
        }
    }
    // The view lacks the ops that edges take, too.
    let mut relaxes = edges::settle(view, solution, names) > 0;
    for op in view.graph.ops().filter(|op| view.graph.node(*op).op == Op::Relax) {
        relaxes = true;
        let result = raw::result(view.ops[op.0 as usize].0);
        let operation = view.ops[op.0 as usize].0;
        // In unreachable code a value may be passed on to itself: such a relax stays, and is refused as not strong.
        if let Some(source) =
            raw::operands(operation).next().filter(|source| Address(*source) != Address(result))
        {
            raw::replace_all_uses(result, source);
            raw::erase(operation);
        }
    }
    if view.is_function {
        set_function_type(view, solution, names);
    }
    relaxes
}

/// Casts operands of a call, whose types are known better than the callee's signature states, to what it states; how
/// many there were.
fn cast_operands(call: &Call, callees: &Callees) -> usize {
    let signature = callees.find(call).and_then(|callee| function_type(callee.function.0));
    let Some(signature) = signature else { return 0 };
    let operation = call.operation.0;
    let stated = units::inputs(signature).into_iter().zip(raw::operands(operation)).enumerate();
    let differ: Vec<_> =
        stated.filter(|(_, (stated, operand))| !same(*stated, raw::value_type(*operand))).collect();
    for (index, (result, operand)) in &differ {
        // SAFETY: the call is alive.
        let location = unsafe { mlirOperationGetLocation(operation) };
        let (name, operands, result) = ("tensor.cast", &[*operand], *result);
        let cast = raw::create(&NewOp { name, location, operands, result, attributes: &[] });
        raw::insert_before(cast, operation);
        raw::set_operand(operation, *index, raw::result(cast));
    }
    differ.len()
}

fn same(a: MlirType, b: MlirType) -> bool {
    // SAFETY: types live as long as the context.
    unsafe { mlirTypeEqual(a, b) }
}

impl View {
    fn has_unknown_results(&self, call: &Call) -> bool {
        call.results.iter().any(|result| self.graph.value(*result).stated.dtype == Known::Unknown)
    }
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
