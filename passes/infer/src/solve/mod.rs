//! Inference: the dtype and shape of every value, as the least fixpoint of the op rules over the graph.
//!
//! [`solve`] takes a [`Graph`] and a [`Semantics`] and returns a [`Solution`]: a type for every value and slot, and
//! every [`Problem`] found, in program order.
//!
//! ## Algorithm
//! 1. Every value starts as what the IR states, or unknown (the bottom).
//! 2. Ops are visited in program order. An op whose operands are known gets its result from its rules; its result
//!    only ever rises in the lattice. In straight-line code that is all.
//! 3. Slots join what flows to them. Where a slot changed the type of its target, or an op stands before the definition
//!    of its operand, the users of what changed are visited again, until nothing changes: a sparse worklist.
//! 4. Some rules are not monotone: in JAX, sqrt of i32 is f32, but sqrt of f16 is f16, though i32 promotes to f16. A loop might
//!    keep such an f32 that nothing gives any more. So an op that took back what it had given has the whole start again,
//!    and waits until everything else is settled.
//!
//! ## Laws
//! Deterministic, and independent of the order of ops that do not depend on each other; it ends on a lattice after at most
//! its height in visits of each op, and of each op that waits. Every cycle of values
//! leads through a slot, and the bound [`MAX_CHANGES`] makes it end on any rules, and where shapes grow for ever: what depends on
//! such a slot is given up, and the rest is solved. A refused op is reported once, and nothing that depends on it.

mod anew;
mod problem;
mod rules;
mod solution;
mod undefined;
mod unsettled;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use promote_lattice::Semantics;
use promote_lattice::semantics::Operand;
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::problem::{Call, CallId, Place, Problem, ProblemKind};
pub use self::rules::typing;
use self::solution::Refused;
pub use self::solution::{Solution, Step};
use super::graph::{Feed, Graph, Known, OpId, ShapeId, Slot, SlotId, Source, Type, ValueId};
use super::shape::Shape;

/// More changes of one slot than the height of a lattice of dtypes, and of shapes, can ask for.
pub const MAX_CHANGES: u32 = 256;

/// How often a start again may find more ops that must wait.
const MAX_STARTS: u32 = 8;

/// Infers the types of all values of `graph`. See the [module](self).
pub fn solve(graph: &mut Graph, semantics: &Semantics) -> Solution {
    let mut solver = Solver::new(std::mem::take(graph), semantics, &[]);
    solver.start();
    let (solved, solution) = solver.finish();
    *graph = solved;
    solution
}

/// Who uses each value: ops, slots it flows to, calls.
#[derive(Debug)]
struct Users(Vec<Vec<Place>>);

impl Users {
    fn new(graph: &Graph, calls: &[Call]) -> Self {
        let mut users = vec![Vec::new(); graph.value_ids().len()];
        let mut add = |value: ValueId, place| users[value.0 as usize].push(place);
        for op in graph.ops() {
            graph.operands(op).iter().for_each(|value| add(*value, Place::Op(op)));
        }
        for slot in graph.slot_ids() {
            graph.slot(slot).sources.iter().for_each(|feed| add(feed.value, Place::Slot(slot)));
        }
        for (index, call) in calls.iter().enumerate() {
            call.operands.iter().for_each(|value| add(*value, Place::Call(CallId(index as u32))));
        }
        Self(users)
    }
}

/// The solving of one graph, which may go on when more is known of what it calls.
#[derive(Debug)]
pub struct Solver<'a> {
    graph: Graph,
    semantics: &'a Semantics,
    calls: &'a [Call],
    values: Vec<Type>,
    slots: Vec<Type>,
    histories: FxHashMap<SlotId, Vec<Step>>,
    /// The last refusal of each slot that had one.
    refused: FxHashMap<SlotId, Refused>,
    /// What is wrong, in program order.
    problems: BTreeMap<Place, Problem>,
    /// Broadcasts of two shapes, each computed once.
    broadcasts: FxHashMap<(ShapeId, ShapeId), ShapeId>,
    /// Who uses each value, once that matters.
    users: Option<Users>,
    /// What is to be visited, in program order.
    queue: BTreeSet<(u32, Place)>,
    /// How often the type of each slot has changed.
    changes: FxHashMap<SlotId, u32>,
    /// The calls of which an operand has changed.
    stirred: BTreeSet<CallId>,
    /// What calls have given that do not depend on the graph.
    answered: FxHashMap<ValueId, Type>,
    /// Whether everything was started again since that was last asked.
    forgot: bool,
    /// The ops that took back what they had given.
    fickle: BTreeSet<OpId>,
    /// Those of them that wait until everything else is settled.
    waiting: BTreeSet<OpId>,
    /// How often everything was started again.
    starts: u32,
    /// What does not settle, and what depends on that.
    given_up: FxHashSet<Place>,
}

/// What is found, or what is wrong.
type Outcome<T> = Result<T, ProblemKind>;

impl<'a> Solver<'a> {
    /// A solver that has visited nothing yet. `calls` are those whose results are what their callees' are.
    pub fn new(graph: Graph, semantics: &'a Semantics, calls: &'a [Call]) -> Self {
        Self {
            values: graph.value_ids().map(|value| graph.value(value).stated).collect(),
            slots: graph.slot_ids().map(|slot| graph.slot(slot).stated).collect(),
            graph,
            semantics,
            calls,
            histories: FxHashMap::default(),
            refused: FxHashMap::default(),
            problems: BTreeMap::new(),
            broadcasts: FxHashMap::default(),
            users: None,
            queue: BTreeSet::new(),
            changes: FxHashMap::default(),
            stirred: BTreeSet::new(),
            answered: FxHashMap::default(),
            forgot: false,
            fickle: BTreeSet::new(),
            waiting: BTreeSet::new(),
            starts: 0,
            given_up: FxHashSet::default(),
        }
    }

    /// Visits everything a first time, and what changes by it until nothing does.
    ///
    /// If only functions' results are slots, every operand is defined before its use, and nothing is called, that is one
    /// visit of each op and slot.
    pub fn start(&mut self) {
        for op in self.graph.ops() {
            self.visit(op);
        }
        let targets = self.graph.slot_ids().any(|slot| self.graph.slot(slot).target.is_some());
        if !targets && !self.graph.has_late_definitions && self.calls.is_empty() {
            for slot in self.graph.slot_ids() {
                self.visit_slot(slot);
            }
            return;
        }
        self.users = Some(Users::new(&self.graph, self.calls));
        let slots = self.graph.slot_ids().map(Place::Slot);
        let ops = self.graph.ops().filter(|_| self.graph.has_late_definitions).map(Place::Op);
        self.queue = slots.chain(ops).map(|place| (self.position(place), place)).collect();
        self.stirred = (0..self.calls.len() as u32).map(CallId).collect();
        self.settle();
    }

    /// Where a place stands in the program: visits in this order see what was visited before.
    fn position(&self, place: Place) -> u32 {
        match place {
            Place::Op(op) => op.0,
            Place::Slot(slot) => match self.graph.slot(slot).target {
                Some(target) => self.graph.block(self.graph.value(target).block).after,
                None => u32::MAX,
            },
            Place::Value(_) | Place::Call(_) => u32::MAX,
        }
    }

    /// Visits what is queued, and the users of what changes, until nothing does; then what waits.
    fn settle(&mut self) {
        loop {
            let found = self.fickle.len();
            self.settle_queued();
            if self.fickle.len() > found && self.starts < MAX_STARTS {
                self.start_again();
            } else if !self.calls.is_empty() || !self.release() {
                return;
            }
        }
    }

    /// Lets the ops be asked that wait until everything else is settled, in all that this graph calls and that calls it;
    /// whether there are such.
    pub fn release(&mut self) -> bool {
        let waiting = std::mem::take(&mut self.waiting);
        let any = !waiting.is_empty();
        self.queue.extend(waiting.into_iter().map(|op| (op.0, Place::Op(op))));
        any
    }

    /// Forgets what was found, but for what calls returned and which ops must wait.
    fn start_again(&mut self) {
        self.starts += 1;
        self.forgot = true;
        self.waiting = self.fickle.clone();
        self.values = self.graph.value_ids().map(|value| self.graph.value(value).stated).collect();
        self.slots = self.graph.slot_ids().map(|slot| self.graph.slot(slot).stated).collect();
        for (value, found) in &self.answered {
            self.values[value.0 as usize] = *found;
        }
        self.histories.retain(|slot, _| self.given_up.contains(&Place::Slot(*slot)));
        self.refused.clear();
        self.problems.retain(|place, problem| {
            matches!(place, Place::Call(_)) || problem.kind == ProblemKind::Unsettled
        });
        self.refuse_given_up();
        self.changes.clear();
        let ops = self.graph.ops().map(Place::Op);
        let slots = self.graph.slot_ids().map(Place::Slot);
        self.queue = ops.chain(slots).map(|place| (self.position(place), place)).collect();
    }

    fn settle_queued(&mut self) {
        while let Some((_, place)) = self.queue.pop_first() {
            if self.is_given_up(place) {
                continue;
            }
            let changed = match place {
                Place::Op(op) => self.visit(op),
                Place::Slot(slot) => self.visit_slot(slot),
                Place::Value(_) | Place::Call(_) => None,
            };
            if let (Some(_), Place::Slot(slot)) = (changed, place) {
                let changes = self.changes.entry(slot).or_insert(0);
                *changes += 1;
                if *changes > MAX_CHANGES {
                    self.give_up(slot);
                    continue;
                }
            }
            if let Some(changed) = changed {
                self.queue_users(changed);
            }
        }
    }

    fn queue_users(&mut self, value: ValueId) {
        let Some(users) = &self.users else { return };
        for user in &users.0[value.0 as usize] {
            match *user {
                Place::Call(call) => {
                    self.stirred.insert(call);
                }
                Place::Slot(slot) if self.adds_nothing(value, slot) => {}
                place => {
                    self.queue.insert((self.position(place), place));
                }
            }
        }
    }

    /// Whether `value` flowing to `slot` leaves it as it is: on a lattice, a type joined with itself.
    fn adds_nothing(&self, value: ValueId, slot: SlotId) -> bool {
        let found = self.values[value.0 as usize];
        let same = matches!(found.dtype, Known::DType(_)) && found == self.slots[slot.0 as usize];
        same && self.semantics.is_on_lattice() && self.graph.value(value).literal.is_none()
    }

    /// Lets the results of a call be of these types. What depends on the graph itself, by recursion, does not last when it is
    /// started again.
    pub fn answer(&mut self, call: CallId, results: &[(Known, Shape)], lasts: bool) {
        if self.is_given_up(Place::Call(call)) {
            return;
        }
        let calls = self.calls;
        for (value, (dtype, shape)) in calls[call.0 as usize].results.iter().zip(results) {
            if *dtype == Known::Unknown {
                continue;
            }
            let found = Type { dtype: *dtype, shape: self.graph.shapes.id(shape.clone()) };
            if lasts {
                self.answered.insert(*value, found);
            }
            if let Some(changed) = self.update(*value, found) {
                self.queue_users(changed);
            }
        }
    }

    /// Whether everything was started again since this was last asked: then what depends on itself must be answered anew.
    pub fn forgot(&mut self) -> bool {
        std::mem::take(&mut self.forgot)
    }

    /// Goes on after answers; the calls of which operands have changed since they were last asked for.
    pub fn stirred(&mut self) -> BTreeSet<CallId> {
        self.settle();
        std::mem::take(&mut self.stirred)
    }

    /// The type of a value, as known so far, without an id of this graph.
    pub fn known(&self, value: ValueId) -> (Known, Shape) {
        self.plain(self.values[value.0 as usize])
    }

    /// A type without an id of this graph.
    pub(super) fn plain(&self, Type { dtype, shape }: Type) -> (Known, Shape) {
        (dtype, self.graph.shapes.get(shape).clone())
    }

    /// The type of a slot, as known so far, without an id of this graph.
    pub fn known_slot(&self, slot: SlotId) -> (Known, Shape) {
        self.plain(self.slots[slot.0 as usize])
    }

    /// Whether nothing was found wrong so far.
    pub(super) fn has_no_problems(&self) -> bool {
        self.problems.is_empty()
    }

    /// Reports a problem of a call.
    pub fn refuse_call(&mut self, call: CallId, kind: ProblemKind) {
        let place = Place::Call(call);
        self.problems.insert(place, Problem { place, kind });
    }

    /// The graph with what was found.
    pub fn finish(mut self) -> (Graph, Solution) {
        self.define();
        self.report_unknown();
        let problems = self.problems.into_values().collect();
        let Self { graph, values, slots, histories, refused, .. } = self;
        (graph, Solution { values, slots, histories, refused, problems })
    }

    /// Infers the result of an op; the value whose type changed by it, if one did.
    fn visit(&mut self, op: OpId) -> Option<ValueId> {
        if self.waiting.contains(&op) {
            return None;
        }
        let inferred = self.infer(op);
        let inferred = self.note(Place::Op(op), inferred);
        let result = self.graph.node(op).result;
        let before = self.values[result.0 as usize].dtype;
        if before != inferred.dtype && self.takes_back(before, inferred.dtype) {
            self.fickle.insert(op);
        }
        self.update(result, inferred)
    }

    /// Whether what an op returns now is not what it returned before, promoted.
    fn takes_back(&self, before: Known, now: Known) -> bool {
        let (Known::DType(before), Known::DType(now)) = (before, now) else { return false };
        self.semantics.join_slot(&[Operand::value(before), Operand::value(now)]) != Ok(now)
    }

    /// Joins what flows to a slot; the value whose type changed by it, if one did.
    fn visit_slot(&mut self, slot: SlotId) -> Option<ValueId> {
        let joined = match self.refused.get(&slot) {
            Some(Refused { kind, again: true, .. }) => Err(kind.clone()),
            _ => self.join(slot),
        };
        if let Err(kind) = &joined {
            let sources = &self.graph.slot(slot).sources;
            let met = sources.iter().map(|feed| self.values[feed.value.0 as usize]).collect();
            let new = Refused { kind: kind.clone(), again: false, met };
            match self.refused.entry(slot) {
                Entry::Occupied(mut old) if old.get().kind == *kind => old.get_mut().again = true,
                Entry::Occupied(mut old) => drop(old.insert(new)),
                Entry::Vacant(none) => drop(none.insert(new)),
            }
        }
        let joined = self.note(Place::Slot(slot), joined);
        let before = std::mem::replace(&mut self.slots[slot.0 as usize], joined);
        let changed = self.graph.slot(slot).target.and_then(|target| self.update(target, joined))?;
        if let Known::DType(_) = joined.dtype {
            let feed = self.raised_by(slot, before);
            self.histories.entry(slot).or_default().push(Step { found: joined, feed });
        }
        Some(changed)
    }

    /// Which source of a slot brought something that the slot, of type `before`, did not have.
    fn raised_by(&self, slot: SlotId, before: Type) -> usize {
        let Slot { sources, stated, .. } = self.graph.slot(slot);
        let found = |feed: &Feed| self.values[feed.value.0 as usize];
        let known = |feed: &Feed| matches!(found(feed).dtype, Known::DType(_));
        let new = |feed: &Feed| known(feed) && (before == *stated || found(feed) != before);
        let by = if before == *stated { sources.iter().position(new) } else { sources.iter().rposition(new) };
        by.unwrap_or(0)
    }

    fn update(&mut self, value: ValueId, found: Type) -> Option<ValueId> {
        let old = std::mem::replace(&mut self.values[value.0 as usize], found);
        (old != found).then_some(value)
    }

    /// Keeps what is wrong at a place, as of its last visit.
    fn note(&mut self, place: Place, outcome: Outcome<Type>) -> Type {
        match outcome {
            Ok(found) => {
                if !self.problems.is_empty() {
                    self.problems.remove(&place);
                }
                found
            }
            Err(kind) => {
                self.problems.insert(place, Problem { place, kind });
                Type::REFUSED
            }
        }
    }

    /// Reports values that stayed unknown, at their root: not what the dialect's ops would have made of them, nor what
    /// flows on from them. Where all depend on each other, as unreachable code allows, the first is the root. What comes
    /// of a call is not reported here: its callee's is.
    fn report_unknown(&mut self) {
        let undefined = |value: &ValueId| self.graph.undefined.contains(value);
        let unknown =
            |value: &ValueId| self.values[value.0 as usize].dtype == Known::Unknown && !undefined(value);
        let Some(first) = self.graph.value_ids().find(unknown) else { return };
        let fed =
            self.graph.slot_ids().map(|slot| self.graph.slot(slot)).filter(|slot| !slot.sources.is_empty());
        let mut derived: FxHashSet<ValueId> = fed.filter_map(|slot| slot.target).collect();
        derived.extend(self.calls.iter().flat_map(|call| &call.results));
        let elsewhere = |value: &ValueId| self.graph.value(*value).source == Source::Elsewhere;
        let root = |value: &ValueId| unknown(value) && elsewhere(value) && !derived.contains(value);
        let mut roots: Vec<ValueId> = self.graph.value_ids().filter(root).collect();
        let called = self.calls.iter().flat_map(|call| &call.results).any(unknown);
        if roots.is_empty() && self.problems.is_empty() && !called {
            roots.push(first);
        }
        let problem =
            |value| (Place::Value(value), Problem { place: Place::Value(value), kind: ProblemKind::Unknown });
        self.problems.extend(roots.into_iter().map(problem));
    }
}
