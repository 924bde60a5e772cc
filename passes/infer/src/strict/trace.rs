//! Tracing a function as JAX does.
//!
//! ## Algorithm
//! 1. A walk over the blocks in program order types each op anew, and each body as often as JAX would. What a body returns is
//!    kept by the types of all that it takes from outside, so that nests do not cost two to the power of their depth.
//! 2. Slots that no structured op has (arguments of blocks, reductions) are joined, and the walk is repeated until they
//!    settle; they begin unknown, as in [`solve`](super::super::solve).
//! 3. A last walk, in which each body is typed once, with the types of its last iteration, leaves these in every value.

use promote_lattice::Semantics;
use promote_lattice::semantics::Operand;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::graph::{BlockId, Feed, Graph, Known, OpId, SlotId, Type, ValueId};
use super::super::shape::Shape;
use super::super::solve::{self, CallId, Place, Problem, ProblemKind, Solver};
use super::taken::{alternatives, taken};
use super::{Answer, Answers, Kind, Mismatch, Plain, Refused, Structure, Trace};

/// How many walks it may take until the slots settle that no structured op has.
const MAX_WALKS: usize = 64;

/// Traces the graph of `solver`, which has found nothing yet. The values have been solved, `answers` has what calls return.
pub fn trace<'a>(
    solver: Solver<'a>,
    solved: &[Type],
    semantics: &'a Semantics,
    answers: Answers<'_>,
) -> (Solver<'a>, Trace) {
    let mut tracer = Tracer::new(solver, semantics, answers);
    tracer.settle(solved);
    if tracer.trace.pending.is_empty() {
        tracer.walk_last();
    }
    (tracer.solver, tracer.trace)
}

#[derive(Clone, Copy)]
enum Item {
    Op(OpId),
    Structure(usize),
    Call(CallId),
}

/// Where an item stands: after how many ops, blocks and calls.
type Order = (u32, u32, u32);

/// What a structured op returns, by the types of all that it takes.
type Given = FxHashMap<Vec<Type>, Found>;

/// What is found of a structured op.
#[derive(Clone, Default)]
struct Found {
    /// The types that its carries have in the last iteration.
    carried: Vec<Type>,
    /// Those of its results.
    results: Vec<Type>,
}

struct Tracer<'a, 'b> {
    solver: Solver<'a>,
    semantics: &'a Semantics,
    answers: Answers<'b>,
    /// What stands in each block, in order.
    items: Vec<Vec<Item>>,
    /// What each structured op takes from outside.
    taken: Vec<Vec<ValueId>>,
    given: Vec<Given>,
    /// The blocks of each region, by its first one.
    regions: FxHashMap<BlockId, Vec<BlockId>>,
    /// The slots that structured ops have.
    structured: FxHashSet<SlotId>,
    /// The ops that some iteration refuses, with the types of their operands, as first refused.
    refused: FxHashMap<OpId, (ProblemKind, Vec<Type>)>,
    mismatches: FxHashMap<SlotId, Mismatch>,
    /// Whether this is the last walk.
    is_last: bool,
    trace: Trace,
}

impl<'a, 'b> Tracer<'a, 'b> {
    fn new(solver: Solver<'a>, semantics: &'a Semantics, answers: Answers<'b>) -> Self {
        let graph = solver.graph();
        let mut ordered: Vec<Vec<(Order, Item)>> = vec![Vec::new(); graph.blocks().len()];
        for op in graph.ops() {
            ordered[graph.node(op).block.0 as usize].push(((op.0, u32::MAX, 0), Item::Op(op)));
        }
        for (index, structure) in graph.structures.iter().enumerate() {
            let (ops, blocks) = structure.after;
            // A call that stands before as many ops and blocks stands before it, for it has blocks.
            ordered[structure.block.0 as usize].push(((ops, blocks, u32::MAX), Item::Structure(index)));
        }
        for (index, call) in (0..).zip(solver.calls()) {
            let (ops, blocks) = call.after;
            ordered[call.block.0 as usize].push(((ops, blocks, index), Item::Call(CallId(index))));
        }
        let items = ordered.into_iter().map(|mut items| {
            items.sort_by_key(|(order, _)| *order);
            items.into_iter().map(|(_, item)| item).collect()
        });
        let items = items.collect();
        let slots = |structure: &Structure| {
            let Structure { carries, passed, results, .. } = structure;
            carries.iter().chain(passed).chain(results).copied().flatten().collect::<Vec<_>>()
        };
        let mut regions: FxHashMap<BlockId, Vec<BlockId>> = FxHashMap::default();
        for (index, block) in (0..).zip(graph.blocks()) {
            regions.entry(block.entry).or_default().push(BlockId(index));
        }
        Self {
            items,
            regions,
            taken: taken(graph, solver.calls()),
            given: vec![Given::default(); graph.structures.len()],
            structured: graph.structures.iter().flat_map(slots).collect(),
            trace: Trace { targets: vec![None; solver.calls().len()], ..Trace::default() },
            solver,
            semantics,
            answers,
            refused: FxHashMap::default(),
            mismatches: FxHashMap::default(),
            is_last: false,
        }
    }

    fn graph(&self) -> &Graph {
        self.solver.graph()
    }

    /// Walks until nothing changes; what does not settle has the types that were `solved`.
    fn settle(&mut self, solved: &[Type]) {
        for _ in 0..MAX_WALKS {
            self.walk();
            if !self.join_others() {
                return;
            }
        }
        for slot in self.other_slots() {
            if let Some(target) = self.graph().slot(slot).target {
                self.solver.set(target, solved[target.0 as usize]);
            }
        }
        self.walk();
    }

    fn walk(&mut self) {
        self.given.iter_mut().for_each(Given::clear);
        self.refused.clear();
        self.mismatches.clear();
        self.trace.pending.clear();
        self.trace.called.clear();
        self.walk_outermost();
    }

    /// Walks over the blocks that no structured op holds.
    fn walk_outermost(&mut self) {
        let graph = self.graph();
        let held: FxHashSet<BlockId> =
            graph.structures.iter().flat_map(|structure| structure.bodies.iter().copied()).collect();
        let ids = (0..graph.blocks().len() as u32).map(BlockId);
        let outermost: Vec<_> = ids.filter(|block| !held.contains(&graph.block(*block).entry)).collect();
        outermost.into_iter().for_each(|block| self.block(block));
    }

    /// Types what stands in a region, whose first block is `entry`.
    fn region(&mut self, entry: BlockId) {
        for block in self.regions.get(&entry).cloned().unwrap_or_default() {
            self.block(block);
        }
    }

    fn block(&mut self, block: BlockId) {
        for index in 0..self.items[block.0 as usize].len() {
            match self.items[block.0 as usize][index] {
                Item::Op(op) => self.op(op),
                Item::Structure(index) => self.structure(index),
                Item::Call(call) => self.call(call),
            }
        }
    }

    fn op(&mut self, op: OpId) {
        let found = self.solver.infer_anew(op).unwrap_or_else(|kind| {
            self.refuse(op, kind);
            Type::REFUSED
        });
        let result = self.graph().node(op).result;
        self.solver.set(result, found);
    }

    fn refuse(&mut self, op: OpId, kind: ProblemKind) {
        if self.is_last {
            let place = Place::Op(op);
            self.trace.problems.push(Problem { place, kind });
        // What is stated of a result has nothing like it in JAX.
        } else if matches!(kind, ProblemKind::Refused(_) | ProblemKind::Shape(_)) {
            let operands =
                self.graph().operands(op).iter().map(|value| self.solver.type_of(*value)).collect();
            self.refused.entry(op).or_insert((kind, operands));
        }
    }

    fn call(&mut self, call: CallId) {
        let solve::Call { operands, results, .. } = &self.solver.calls()[call.0 as usize];
        let operands: Vec<Plain> = operands.iter().map(|value| self.solver.known(*value)).collect();
        let found = match (self.answers)(call, &operands) {
            Answer::Results(found, target) => {
                self.trace.targets[call.0 as usize] = target;
                self.trace.called.extend(target);
                found
            }
            Answer::Pending => {
                self.trace.pending.push((call, operands));
                Vec::new()
            }
        };
        let mut found = found.into_iter();
        for result in results {
            let (dtype, shape) = found.next().unwrap_or((Known::Unknown, Shape::UNRANKED));
            self.solver.set_plain(*result, dtype, shape);
        }
    }

    fn structure(&mut self, index: usize) {
        let key: Vec<Type> = self.taken[index].iter().map(|value| self.solver.type_of(*value)).collect();
        let known = self.given[index].get(&key).cloned();
        let structure = self.graph().structures[index].clone();
        let found = match known {
            Some(found) if self.is_last => {
                self.iteration(&structure, &found.carried);
                found
            }
            Some(found) => found,
            None => {
                let found = match structure.kind {
                    Kind::For | Kind::While => self.r#loop(&structure),
                    Kind::If | Kind::Switch | Kind::Once | Kind::Select => self.condition(&structure),
                };
                self.given[index].insert(key, found.clone());
                found
            }
        };
        for (slot, found) in structure.results.iter().zip(found.results) {
            self.set_target(*slot, found);
        }
    }

    fn set_target(&mut self, slot: Option<SlotId>, found: Type) {
        if let Some(target) = slot.and_then(|slot| self.graph().slot(slot).target) {
            self.solver.set(target, found);
        }
    }

    /// The types of what flows to slots: the first of each, or the last.
    fn flowing(&self, slots: &[Option<SlotId>], pick: impl Fn(&[Feed]) -> Option<&Feed>) -> Vec<Type> {
        let types = slots.iter().map(|slot| {
            let feed = slot.and_then(|slot| pick(&self.graph().slot(slot).sources));
            feed.map_or(Type::OPAQUE, |feed| self.solver.type_of(feed.value))
        });
        types.collect()
    }

    fn r#loop(&mut self, structure: &Structure) -> Found {
        let inits = self.flowing(&structure.carries, <[Feed]>::first);
        let mut out = self.iteration(structure, &inits);
        let raised: Vec<Option<Type>> =
            inits.iter().zip(&out).map(|(init, out)| self.raised(*init, *out)).collect();
        let carried: Vec<Type> =
            inits.iter().zip(&raised).map(|(init, raised)| raised.unwrap_or(*init)).collect();
        if raised.iter().any(Option::is_some) {
            out = self.iteration(structure, &carried);
        }
        for (index, slot) in structure.carries.iter().enumerate() {
            let (Some(slot), false) = (*slot, self.is_alike(carried[index], out[index])) else { continue };
            let other = self.graph().slot(slot).sources.len() - 1;
            let mismatch =
                Mismatch { slot, first: inits[index], raised: raised[index], other, found: out[index] };
            self.mismatches.entry(slot).or_insert(mismatch);
            out[index] = Type::REFUSED;
        }
        let results = match structure.kind {
            // A loop's results are what its last iteration returns; what a condition passes on is often a carry.
            Kind::While => self.passed_on(structure, &out),
            Kind::For | Kind::If | Kind::Switch | Kind::Once | Kind::Select => out,
        };
        Found { carried, results }
    }

    /// What a weak carry becomes, if it comes out otherwise than it goes in.
    fn raised(&self, carry: Type, out: Type) -> Option<Type> {
        let (Known::DType(dtype), Known::DType(other)) = (carry.dtype, out.dtype) else { return None };
        if !dtype.is_weak() || self.is_alike(carry, out) {
            return None;
        }
        let joined = self.semantics.join_slot(&[Operand::value(dtype), Operand::value(other)]).ok()?;
        Some(Type { dtype: Known::DType(self.semantics.strengthen(joined)), ..carry })
    }

    /// Whether types are equal but for weakness. What is not known, or refused elsewhere, is.
    fn is_alike(&self, a: Type, b: Type) -> bool {
        match (a.dtype, b.dtype) {
            (Known::DType(x), Known::DType(y)) => {
                self.semantics.strengthen(x) == self.semantics.strengthen(y) && a.shape == b.shape
            }
            _ => true,
        }
    }

    /// Types the regions of a structured op once; what comes out of a loop where such carries go in.
    fn iteration(&mut self, structure: &Structure, carried: &[Type]) -> Vec<Type> {
        for (slot, found) in structure.carries.iter().zip(carried) {
            self.set_target(*slot, *found);
        }
        for (index, body) in structure.bodies.iter().enumerate() {
            self.region(*body);
            if index == 0 {
                let passed = self.flowing(&structure.passed, <[Feed]>::first);
                for (slot, found) in structure.passed.iter().zip(passed) {
                    self.set_target(*slot, found);
                }
            }
        }
        self.flowing(&structure.carries, <[Feed]>::last)
    }

    /// What a loop's condition passes on in the end.
    fn passed_on(&self, structure: &Structure, out: &[Type]) -> Vec<Type> {
        let graph = self.graph();
        let passed = structure.passed.iter().map(|slot| {
            let Some(feed) = slot.and_then(|slot| graph.slot(slot).sources.first()) else {
                return Type::OPAQUE;
            };
            let is_it = |carry: &Option<SlotId>| {
                carry.is_some_and(|carry| graph.slot(carry).target == Some(feed.value))
            };
            let carry = structure.carries.iter().position(is_it);
            carry.map_or_else(|| self.solver.type_of(feed.value), |carry| out[carry])
        });
        passed.collect()
    }

    /// The results of a condition: those of the branch whose weakness JAX takes.
    fn condition(&mut self, structure: &Structure) -> Found {
        self.iteration(structure, &[]);
        let mut results = match structure.kind {
            Kind::If => self.flowing(&structure.results, <[Feed]>::last),
            Kind::Select => self.flowing(&structure.results, |feeds| feeds.get(1)),
            Kind::Switch => self.flowing(&structure.results, |feeds| feeds.get(1).or(feeds.first())),
            // JAX has no such op: the values are joined.
            Kind::Once | Kind::For | Kind::While => {
                let slots = structure.results.iter();
                slots.map(|slot| slot.map_or(Type::OPAQUE, |slot| self.joined(slot))).collect()
            }
        };
        if structure.kind == Kind::Once {
            return Found { carried: Vec::new(), results };
        }
        for (slot, result) in structure.results.iter().zip(&mut results) {
            if let Some(mismatch) = slot.and_then(|slot| self.mismatch(slot)) {
                self.mismatches.entry(mismatch.slot).or_insert(mismatch);
                *result = Type::REFUSED;
            }
        }
        Found { carried: Vec::new(), results }
    }

    /// The first of what branches return that is not like the first branch's.
    fn mismatch(&self, slot: SlotId) -> Option<Mismatch> {
        let feeds = alternatives(self.graph(), slot);
        let first = self.solver.type_of(feeds.first()?.value);
        let differs = |feed: &Feed| !self.is_alike(first, self.solver.type_of(feed.value));
        let other = feeds.iter().position(differs)?;
        let found = self.solver.type_of(feeds[other].value);
        Some(Mismatch { slot, first, raised: None, other, found })
    }

    fn joined(&mut self, slot: SlotId) -> Type {
        self.solver.join_anew(slot).unwrap_or(Type::REFUSED)
    }

    /// The slots with a target that no structured op has.
    fn other_slots(&self) -> Vec<SlotId> {
        let graph = self.graph();
        let is_other = |slot: &SlotId| !self.structured.contains(slot) && graph.slot(*slot).target.is_some();
        graph.slot_ids().filter(is_other).collect()
    }

    /// Joins what flows to the slots that no structured op has; whether one has another type by it.
    fn join_others(&mut self) -> bool {
        let mut changed = false;
        for slot in self.other_slots() {
            let found = self.joined(slot);
            if let Some(target) = self.graph().slot(slot).target {
                changed |= self.solver.type_of(target) != found;
                self.solver.set(target, found);
                self.solver.set_slot(slot, found);
            }
        }
        changed
    }

    /// The last walk, which leaves the types that JAX infers.
    fn walk_last(&mut self) {
        self.is_last = true;
        self.walk_outermost();
        self.store();
        let last: FxHashSet<Place> = self.trace.problems.iter().map(|problem| problem.place).collect();
        let ops = self.refused.drain().filter(|(op, _)| !last.contains(&Place::Op(*op)));
        let mut ops: Vec<_> = ops.collect();
        ops.sort_unstable_by_key(|(op, _)| *op);
        let mut mismatches: Vec<_> = self.mismatches.values().copied().collect();
        mismatches.sort_unstable_by_key(|mismatch| mismatch.slot);
        let ops = ops.into_iter().map(|(op, (kind, operands))| Refused::Op { op, kind, operands });
        self.trace.refused = mismatches.into_iter().map(Refused::Mismatch).chain(ops).collect();
        self.trace.values = self.solver.values().to_vec();
        self.trace.slots = self.graph().slot_ids().map(|slot| self.solver.slot(slot)).collect();
    }

    /// Finds what each slot is stored in: the join of its values, and of a loop's result what its carry is stored in.
    fn store(&mut self) {
        let mut slots: FxHashMap<ValueId, SlotId> = FxHashMap::default();
        for slot in self.graph().slot_ids() {
            let source = self.graph().slot(slot).sources.first().copied();
            let followed = source.filter(|feed| !feed.is_operand).and_then(|feed| slots.get(&feed.value));
            let stored = match followed {
                _ if self.mismatches.contains_key(&slot) => Type::REFUSED,
                Some(followed) => self.solver.slot(*followed),
                None => self.solver.join_anew(slot).unwrap_or_else(|kind| {
                    let place = Place::Slot(slot);
                    self.trace.problems.push(Problem { place, kind });
                    Type::REFUSED
                }),
            };
            self.solver.set_slot(slot, stored);
            slots.extend(self.graph().slot(slot).target.map(|target| (target, slot)));
        }
    }
}
