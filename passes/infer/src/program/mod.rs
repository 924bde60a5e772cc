//! Programs: functions that call each other, each inferred once, or once for each signature that it is called with.
//!
//! ## Algorithm
//! An *instance* is a function with the types of its arguments. A function whose argument types are stated is one
//! instance; one that leaves some unknown is *generic*, and has an instance for each distinct list of dtypes (weak ones
//! are others than strong ones) and shapes that a call passes for them, as if it were inlined there.
//!
//! 1. Functions that call nothing are solved at once, in parallel if the host likes.
//! 2. The others follow, callees first. A call takes the results that its callee's instance has so far; where an operand
//!    of a call of a generic function becomes known, or changes, its instance is found or made.
//! 3. An instance whose results have changed answers its callers again, until nothing changes: recursion ends at the least
//!    fixpoint, and the work is linear in calls and changes, without recursion of our own.
//!
//! With strict carries, an instance with loops or conditions is [traced](super::strict) before its callers are answered.
//!
//! A recursive function whose calls never stop making new signatures is refused after
//! [`MAX_RECURSIVE`] of them.

mod recursion;
mod strict;

use std::collections::BTreeSet;

use promote_lattice::{DType, Semantics};
use rustc_hash::FxHashMap;

use super::graph::{Graph, Known, SlotId, Type, ValueId};
use super::shape::Shape;
use super::solve::{Call, CallId, ProblemKind, Solution, Solver};
use super::strict::{Refused, Trace};
use recursion::{order, report_recursion};

/// How many instances of a function a call from outside of its recursion may lead to.
pub const MAX_RECURSIVE: u32 = 64;

/// A dense id of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// A function, beside its graph.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its arguments.
    pub arguments: Vec<ValueId>,
    /// Its results.
    pub results: Vec<SlotId>,
    /// The calls in it whose results are what their callees' are, or whose callees are generic.
    pub calls: Vec<Call>,
    /// What each of them calls.
    pub callees: Vec<FunctionId>,
    /// Whether it is inferred for each signature that it is called with.
    pub is_generic: bool,
}

/// An instance, solved.
#[derive(Debug)]
pub struct Instance {
    /// What it is an instance of.
    pub function: FunctionId,
    /// The function's graph, of this instance.
    pub graph: Graph,
    /// What was found.
    pub solution: Solution,
    /// What JAX refuses of its loops and conditions, if that is asked for.
    pub refused: Vec<Refused>,
    /// The arguments that the function leaves unknown, which are of known types in this graph.
    pub inferred_arguments: Vec<ValueId>,
    /// For each call, the instance that it calls, as an index into the list of instances.
    pub targets: Vec<Option<usize>>,
    /// For an instance of a generic function: the call that it was made for.
    pub made_for: Option<(usize, CallId)>,
}

/// Infers all functions of a program; the instances that it runs, those of a function side by side, in order. With
/// `strict_carries`, loops and conditions have the types that JAX infers for them.
///
/// `graphs` are those of `functions`. `start` is to call [`Solver::start`] of each that it gets, in any order.
pub fn solve_program<'a>(
    functions: &'a [Function],
    graphs: Vec<Graph>,
    semantics: &'a Semantics,
    strict_carries: bool,
    start: impl FnOnce(Vec<&mut Solver<'a>>),
) -> Vec<Instance> {
    let mut program = Program::new(functions, graphs, semantics);
    program.strict_carries = strict_carries;
    let alone = program.states.iter_mut().filter(|state| functions[state.function()].calls.is_empty());
    let alone = alone.map(|state| {
        state.started = true;
        &mut state.solver
    });
    start(alone.collect());
    for index in 0..program.states.len() {
        if program.states[index].started && program.trace(index) {
            program.publish(index);
        }
    }
    for function in program.order.clone() {
        if let Some(index) = program.sole[function.0 as usize] {
            program.run(index);
        }
    }
    program.finish()
}

/// An instance that is being solved.
struct State<'a> {
    id: FunctionId,
    solver: Solver<'a>,
    started: bool,
    targets: Vec<Option<usize>>,
    /// The calls that wait for its results.
    callers: Vec<(usize, CallId)>,
    /// The types of its results that its callers know.
    published: Vec<(Known, Shape)>,
    /// Whether they have been reported.
    has_published: bool,
    /// The types that JAX infers, as far as they were asked for.
    traced: Option<Trace>,
    /// The instances that a trace waits for.
    awaited: Vec<usize>,
    made_for: Option<(usize, CallId)>,
    /// The instance that this recursion began with: itself, if it was called from outside.
    origin: usize,
}

impl State<'_> {
    fn function(&self) -> usize {
        self.id.0 as usize
    }

    /// The instance that each call calls.
    fn targets(&self) -> impl Iterator<Item = Option<usize>> {
        self.traced.as_ref().map_or(&self.targets, |trace| &trace.targets).iter().copied()
    }

    /// The instances that some iteration of a loop calls.
    fn called(&self) -> impl Iterator<Item = Option<usize>> {
        let called = self.traced.iter().flat_map(|trace| &trace.called);
        self.targets().chain(called.copied().map(Some))
    }

    /// Whether something is wrong with it.
    fn is_refused(&self) -> bool {
        let traced = |trace: &Trace| trace.problems.is_empty() && trace.refused.is_empty();
        !self.traced.as_ref().map_or_else(|| self.solver.has_no_problems(), traced)
    }

    /// The type of a result, without an id of the graph.
    fn result(&self, slot: SlotId) -> (Known, Shape) {
        match &self.traced {
            Some(trace) => self.solver.plain(trace.slots[slot.0 as usize]),
            None => self.solver.known_slot(slot),
        }
    }
}

/// What is known of an argument that a function leaves unknown.
type Signature = Vec<(DType, Shape)>;

struct Program<'a> {
    strict_carries: bool,
    functions: &'a [Function],
    semantics: &'a Semantics,
    states: Vec<State<'a>>,
    /// The graphs of generic functions, as written.
    generic: Vec<Option<Graph>>,
    /// The instance of each function that is not generic.
    sole: Vec<Option<usize>>,
    /// The instances of generic functions.
    known: FxHashMap<(FunctionId, Signature), usize>,
    /// How many instances of a function a recursion has made, by the instance that it began with.
    recursive: FxHashMap<(usize, FunctionId), u32>,
    /// The functions, callees first where that is possible.
    order: Vec<FunctionId>,
    /// Functions that call each other have the same number.
    components: Vec<u32>,
    /// Whether a function calls itself, perhaps through others.
    calls_itself: Vec<bool>,
    /// The instances to go on with, the last first.
    stack: Vec<usize>,
}

impl<'a> Program<'a> {
    fn new(functions: &'a [Function], graphs: Vec<Graph>, semantics: &'a Semantics) -> Self {
        let (order, components) = order(functions);
        let calls_itself = |(index, function): (usize, &Function)| {
            function.callees.iter().any(|callee| components[callee.0 as usize] == components[index])
        };
        let calls_itself = functions.iter().enumerate().map(calls_itself).collect();
        let mut program = Self {
            strict_carries: false,
            functions,
            semantics,
            states: Vec::new(),
            generic: Vec::new(),
            sole: Vec::new(),
            known: FxHashMap::default(),
            recursive: FxHashMap::default(),
            order,
            components,
            calls_itself,
            stack: Vec::new(),
        };
        for (index, (function, graph)) in functions.iter().zip(graphs).enumerate() {
            let generic = function.is_generic;
            let (graph, kept) = if generic { (None, Some(graph)) } else { (Some(graph), None) };
            let id = FunctionId(index as u32);
            let sole = graph.map(|graph| program.add(id, graph, None, None));
            program.sole.push(sole);
            program.generic.push(kept);
        }
        program
    }

    fn add(
        &mut self,
        id: FunctionId,
        graph: Graph,
        made_for: Option<(usize, CallId)>,
        origin: Option<usize>,
    ) -> usize {
        let function = &self.functions[id.0 as usize];
        let origin = origin.unwrap_or(self.states.len());
        self.states.push(State {
            id,
            solver: Solver::new(graph, self.semantics, &function.calls),
            started: false,
            targets: vec![None; function.calls.len()],
            callers: Vec::new(),
            published: Vec::new(),
            has_published: false,
            traced: None,
            awaited: Vec::new(),
            made_for,
            origin,
        });
        self.states.len() - 1
    }

    /// Starts an instance, or goes on with it, and with all that depends on it.
    fn run(&mut self, index: usize) {
        self.stack.push(index);
        let mut waiting = BTreeSet::new();
        while let Some(index) = self.stack.pop().or_else(|| self.release(&mut waiting)) {
            if !self.states[index].started {
                self.start(index);
            }
            loop {
                let stirred: BTreeSet<CallId> = self.states[index].solver.stirred();
                if stirred.is_empty() {
                    break;
                }
                stirred.into_iter().for_each(|call| self.call(index, call));
            }
            if self.states[index].solver.forgot() {
                waiting.insert(index);
                self.answer_again(index);
            }
            if self.trace(index) {
                self.publish(index);
            }
        }
    }

    /// Lets what an instance returns be as of the start, and its calls return again what others in its recursion do.
    fn answer_again(&mut self, index: usize) {
        self.states[index].published.clear();
        for call in 0..self.states[index].targets.len() {
            let target = self.states[index].targets[call];
            if let Some(target) =
                target.filter(|target| *target != index && self.is_recursive(index, *target))
            {
                let results = self.states[target].published.clone();
                self.states[index].solver.answer(CallId(call as u32), &results, false);
                self.stack.push(index);
            }
        }
    }

    /// The next instance in which ops wait until everything else is settled, and may go on.
    fn release(&mut self, waiting: &mut BTreeSet<usize>) -> Option<usize> {
        while let Some(index) = waiting.pop_first() {
            if self.states[index].solver.release() {
                return Some(index);
            }
        }
        None
    }

    /// Starts an instance with what is known of its callees.
    fn start(&mut self, index: usize) {
        let function = &self.functions[self.states[index].function()];
        for (call, callee) in function.callees.iter().enumerate() {
            if let Some(target) = self.sole[callee.0 as usize] {
                self.link(index, CallId(call as u32), target);
            }
        }
        let state = &mut self.states[index];
        state.started = true;
        state.solver.start();
    }

    /// Finds the instance that a call of a generic function calls, of which operands have changed.
    fn call(&mut self, index: usize, call: CallId) {
        let function = &self.functions[self.states[index].function()];
        let callee = function.callees[call.0 as usize];
        if !self.functions[callee.0 as usize].is_generic {
            return;
        }
        let operands = &function.calls[call.0 as usize].operands;
        let operands: Vec<_> =
            operands.iter().map(|operand| self.states[index].solver.known(*operand)).collect();
        let signature = match self.signature(callee, &operands) {
            Ok(signature) => signature,
            Err(Known::Unknown) => return,
            Err(_) => return self.refuse(index, call),
        };
        let target = match self.known.get(&(callee, signature.clone())) {
            Some(target) => *target,
            None => match self.instantiate(callee, signature, (index, call)) {
                Some(made) => made,
                None => {
                    self.states[index].solver.refuse_call(call, ProblemKind::Endless);
                    return self.refuse(index, call);
                }
            },
        };
        if self.states[index].targets[call.0 as usize] != Some(target) {
            self.link(index, call, target);
        }
    }

    /// The types that a call passes for what `callee` leaves unknown.
    ///
    /// # Errors
    /// What its results are, if one of them is not known, or refused.
    fn signature(&self, callee: FunctionId, operands: &[(Known, Shape)]) -> Result<Signature, Known> {
        let operands = self.generic_arguments(callee).map(|(position, _)| operands.get(position));
        let dtypes = operands.map(|operand| match operand {
            Some((Known::DType(dtype), shape)) => Ok((*dtype, shape.clone())),
            Some((Known::Unknown, _)) | None => Err(Known::Unknown),
            Some((Known::Opaque | Known::Refused, _)) => Err(Known::Refused),
        });
        dtypes.collect()
    }

    /// The arguments that a generic function leaves unknown, with their positions.
    fn generic_arguments(&self, id: FunctionId) -> impl Iterator<Item = (usize, ValueId)> {
        let graph = self.generic[id.0 as usize].as_ref();
        let arguments = self.functions[id.0 as usize].arguments.iter().copied().enumerate();
        arguments.filter(move |(_, argument)| {
            graph.is_some_and(|graph| graph.value(*argument).stated.dtype == Known::Unknown)
        })
    }

    fn instantiate(
        &mut self,
        id: FunctionId,
        signature: Signature,
        made_for: (usize, CallId),
    ) -> Option<usize> {
        let caller = &self.states[made_for.0];
        let component = |id: FunctionId| self.components[id.0 as usize];
        let origin = (component(caller.id) == component(id)).then_some(caller.origin);
        if let Some(origin) = origin {
            let made = self.recursive.entry((origin, id)).or_insert(0);
            *made += 1;
            if *made > MAX_RECURSIVE {
                return None;
            }
        }
        let mut graph = self.generic[id.0 as usize].clone()?;
        for ((_, argument), (dtype, shape)) in self.generic_arguments(id).zip(&signature) {
            let shape = graph.shapes.id(shape.clone());
            graph.restate(argument, Type { dtype: Known::DType(*dtype), shape });
        }
        let made = self.add(id, graph, Some(made_for), origin);
        self.known.insert((id, signature), made);
        self.stack.push(made);
        Some(made)
    }

    /// Lets a call have the results of an instance, from now on.
    fn link(&mut self, index: usize, call: CallId, target: usize) {
        self.states[index].targets[call.0 as usize] = Some(target);
        self.states[target].callers.push((index, call));
        let results = self.states[target].published.clone();
        let lasts = !self.is_recursive(index, target);
        self.states[index].solver.answer(call, &results, lasts);
    }

    /// Whether what an instance returns may depend on what one that calls it returns.
    fn is_recursive(&self, caller: usize, callee: usize) -> bool {
        let component = |index: usize| self.components[self.states[index].id.0 as usize];
        component(caller) == component(callee)
    }

    /// Lets the results of a call be refused.
    fn refuse(&mut self, index: usize, call: CallId) {
        let results = self.functions[self.states[index].function()].calls[call.0 as usize].results.len();
        let refused = vec![(Known::Refused, Shape::UNRANKED); results];
        self.states[index].targets[call.0 as usize] = None;
        self.states[index].solver.answer(call, &refused, true);
    }

    /// Tells the callers of an instance what its results are, if they have changed.
    fn publish(&mut self, index: usize) {
        let state = &self.states[index];
        let results = self.functions[state.function()].results.iter();
        let found: Vec<_> = results.map(|slot| state.result(*slot)).collect();
        let is_awaited = self.strict_carries && !self.states[index].has_published;
        self.states[index].has_published = true;
        if found == self.states[index].published && !is_awaited {
            return;
        }
        let callers = std::mem::take(&mut self.states[index].callers);
        for (caller, call) in &callers {
            let lasts = !self.is_recursive(*caller, index);
            let state = &mut self.states[*caller];
            let is_target = state.targets[call.0 as usize] == Some(index);
            if is_target {
                state.solver.answer(*call, &found, lasts);
            }
            if state.started && (is_target || self.strict_carries) {
                self.stack.push(*caller);
            }
        }
        let state = &mut self.states[index];
        state.callers.extend(callers);
        state.published = found;
    }

    /// Whether each instance is reached by calls from those that are no generic function's.
    fn reached<'s, I: Iterator<Item = Option<usize>> + 's>(
        &'s self,
        calls: fn(&'s State<'a>) -> I,
    ) -> Vec<bool> {
        let mut reached = vec![false; self.states.len()];
        let mut rest: Vec<usize> = self.sole.iter().copied().flatten().collect();
        while let Some(index) = rest.pop() {
            if !std::mem::replace(&mut reached[index], true) {
                rest.extend(calls(&self.states[index]).flatten());
            }
        }
        reached
    }

    /// The instances that are run, with what is unknown because of recursion alone reported.
    fn finish(mut self) -> Vec<Instance> {
        let used = self.reached(State::targets);
        // What only rounds before the last call is not in the program, but may be why it is refused.
        let traced = self.reached(State::called);
        let is_kept = |index: &usize| used[*index] || traced[*index] && self.states[*index].is_refused();
        let mut kept: Vec<usize> = (0..self.states.len()).filter(is_kept).collect();
        kept.sort_by_key(|index| self.states[*index].id);
        let mut place = vec![None; self.states.len()];
        kept.iter().enumerate().for_each(|(new, old)| place[*old] = Some(new));

        let mut instances: Vec<Option<Instance>> = kept.iter().map(|_| None).collect();
        for (index, state) in std::mem::take(&mut self.states).into_iter().enumerate() {
            let Some(new) = place[index] else { continue };
            let targets: Vec<_> = state.targets().collect();
            let targets = targets.into_iter();
            let (graph, mut solution) = state.solver.finish();
            let targets = targets.map(|target| target.and_then(|old| place[old])).collect();
            let refused = match state.traced {
                Some(trace) => strict::adopt(&mut solution, trace),
                None => Vec::new(),
            };
            let made_for = state.made_for.and_then(|(caller, call)| Some((place[caller]?, call)));
            let function = state.id;
            let inferred_arguments = self.generic_arguments(function).map(|(_, argument)| argument).collect();
            let instance =
                Instance { function, graph, solution, refused, inferred_arguments, targets, made_for };
            instances[new] = Some(instance);
        }
        let mut instances: Vec<Instance> = instances.into_iter().flatten().collect();
        if instances.iter().all(|instance| instance.solution.problems.is_empty()) {
            report_recursion(self.functions, &mut instances);
        }
        instances
    }
}
