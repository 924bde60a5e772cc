//! Strict carries: refuses the loops and conditions that JAX refuses.
//!
//! JAX traces a body with the types of the initial values, and asks that each carry comes out with the type that it went
//! in with, but for weakness. A weak initial value whose dtype differs is made strong, in the dtype that both promote to,
//! once; then the body is traced a second time, and no third. What branches give must be alike in the same way.
//! [`check`] does as JAX does, on a graph that inference has solved; the rules are those of JAX 0.10.2
//! (`lax.scan`, `fori_loop`, `while_loop`, `cond` and `switch`), compared with recorded runs of it.
//!
//! ## Algorithm
//! A walk over the blocks in program order, which types each op anew, and each body as often as JAX would. What a body
//! gives is kept by the types of all that it takes from outside, so that nests do not cost two to the power of their
//! depth.

use promote_lattice::Semantics;
use promote_lattice::semantics::Operand;
use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::{BlockId, Counts, Feed, Graph, Known, OpId, SlotId, Type, ValueId};
use super::solve::{ProblemKind, Solution, Solver};

/// An op whose regions pass values on in a structured way.
#[derive(Clone, Debug)]
pub struct Structure {
    /// What sort of op it is.
    pub kind: Kind,
    /// The block it stands in.
    pub block: BlockId,
    /// How many ops, and how many blocks, stand before it.
    pub after: (u32, u32),
    /// The first blocks of its regions.
    pub bodies: Vec<BlockId>,
    /// For a loop, what goes round it: the first that flows there is the initial value, the last what a body gives.
    pub carries: Vec<Option<SlotId>>,
    /// For a loop of two regions, what the first passes to the second.
    pub passed: Vec<Option<SlotId>>,
    /// Its results.
    pub results: Vec<Option<SlotId>>,
}

/// What sort of op a [`Structure`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A loop with one body.
    For,
    /// A loop with a condition and a body.
    While,
    /// A condition with a region for yes and one for no.
    If,
    /// A switch: a default, then cases.
    Switch,
    /// A region that is run once.
    Once,
    /// A choice between two values, without regions.
    Select,
}

/// What JAX would refuse.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// A carry, or what branches give.
    Mismatch(Mismatch),
    /// An op, with the types of a round that is not the last.
    Op(OpId, ProblemKind),
}

/// Types that should be equal but for weakness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch {
    /// The slot: a carry, or a result of a condition.
    pub slot: SlotId,
    /// The type it has at first: of a carry that goes in, or of the branch that counts.
    pub first: Type,
    /// Which of what flows there differs.
    pub other: usize,
    /// And its type.
    pub found: Type,
}

/// What JAX refuses in a graph, and the graph.
pub fn check(graph: Graph, solution: &Solution, semantics: &Semantics) -> (Graph, Vec<Refused>) {
    if graph.structures.is_empty() {
        return (graph, Vec::new());
    }
    let mut tracer = Tracer::new(graph, solution, semantics);
    for block in tracer.outermost() {
        if tracer.trace(block).is_none() {
            break;
        }
    }
    let Tracer { solver, found, .. } = tracer;
    (solver.into_graph(), found)
}

#[derive(Clone, Copy)]
enum Item {
    Op(OpId),
    Structure(usize),
}

/// What a structured op gives, by the types of all that it takes.
type Given = FxHashMap<Vec<Type>, Option<Vec<Type>>>;

struct Tracer<'a> {
    solver: Solver<'a>,
    semantics: &'a Semantics,
    /// What stands in each block, in order.
    items: Vec<Vec<Item>>,
    /// What each structured op takes from outside.
    taken: Vec<Vec<ValueId>>,
    given: Vec<Given>,
    found: Vec<Refused>,
}

impl<'a> Tracer<'a> {
    fn new(graph: Graph, solution: &Solution, semantics: &'a Semantics) -> Self {
        let mut ordered: Vec<Vec<((u32, u32), Item)>> = vec![Vec::new(); graph.blocks().len()];
        for op in graph.ops() {
            ordered[graph.node(op).block.0 as usize].push(((op.0, u32::MAX), Item::Op(op)));
        }
        for (index, structure) in graph.structures.iter().enumerate() {
            ordered[structure.block.0 as usize].push((structure.after, Item::Structure(index)));
        }
        let items = ordered.into_iter().map(|mut items| {
            items.sort_by_key(|(order, _)| *order);
            items.into_iter().map(|(_, item)| item).collect()
        });
        let items = items.collect();
        let taken = taken(&graph);
        let given = vec![Given::default(); graph.structures.len()];
        let solver = Solver::solved(graph, semantics, solution);
        Self { solver, semantics, items, taken, given, found: Vec::new() }
    }

    /// The blocks that no structured op holds.
    fn outermost(&self) -> Vec<BlockId> {
        let graph = self.solver.graph();
        let held: FxHashSet<BlockId> =
            graph.structures.iter().flat_map(|s| s.bodies.iter().copied()).collect();
        let ids = (0..graph.blocks().len() as u32).map(BlockId);
        ids.filter(|block| !held.contains(&graph.block(*block).entry)).collect()
    }

    /// Types what stands in a block; `None` once something is refused.
    fn trace(&mut self, block: BlockId) -> Option<()> {
        for index in 0..self.items[block.0 as usize].len() {
            match self.items[block.0 as usize][index] {
                Item::Op(op) => {
                    let result = self.solver.graph().node(op).result;
                    let found = match self.solver.infer_anew(op) {
                        Ok(found) => found,
                        Err(kind @ (ProblemKind::Refused(_) | ProblemKind::Shape(_))) => {
                            self.found.push(Refused::Op(op, kind));
                            return None;
                        }
                        // What is stated of the result, which JAX has nothing like.
                        Err(_) => Type::REFUSED,
                    };
                    self.solver.set(result, found);
                }
                Item::Structure(index) => self.structure(index)?,
            }
        }
        Some(())
    }

    fn structure(&mut self, index: usize) -> Option<()> {
        let key: Vec<Type> = self.taken[index].iter().map(|value| self.solver.type_of(*value)).collect();
        let given = match self.given[index].get(&key) {
            Some(given) => given.clone(),
            None => {
                let structure = self.solver.graph().structures[index].clone();
                let given = match structure.kind {
                    Kind::For | Kind::While => self.r#loop(&structure),
                    Kind::If | Kind::Switch | Kind::Once | Kind::Select => self.condition(&structure),
                };
                self.given[index].insert(key, given.clone());
                given
            }
        }?;
        let results = self.solver.graph().structures[index].results.clone();
        for (slot, found) in results.into_iter().zip(given) {
            self.set_target(slot, found);
        }
        Some(())
    }

    fn set_target(&mut self, slot: Option<SlotId>, found: Type) {
        if let Some(target) = slot.and_then(|slot| self.solver.graph().slot(slot).target) {
            self.solver.set(target, found);
        }
    }

    /// The types of what flows to slots: the first of each, or the last.
    fn flowing(&self, slots: &[Option<SlotId>], pick: impl Fn(&[Feed]) -> Option<&Feed>) -> Vec<Type> {
        let types = slots.iter().map(|slot| {
            let feed = slot.and_then(|slot| pick(&self.solver.graph().slot(slot).sources));
            feed.map_or(Type::OPAQUE, |feed| self.solver.type_of(feed.value))
        });
        types.collect()
    }

    /// The results of a loop.
    fn r#loop(&mut self, structure: &Structure) -> Option<Vec<Type>> {
        let mut carried = self.flowing(&structure.carries, <[Feed]>::first);
        let mut out = self.round(structure, &carried)?;
        let mut raised = false;
        for (carry, out) in carried.iter_mut().zip(&out) {
            if let Some(strong) = self.raised(*carry, *out) {
                *carry = strong;
                raised = true;
            }
        }
        if raised {
            out = self.round(structure, &carried)?;
        }
        for (index, slot) in structure.carries.iter().enumerate() {
            let (Some(slot), false) = (*slot, self.is_alike(carried[index], out[index])) else { continue };
            let other = self.solver.graph().slot(slot).sources.len() - 1;
            let mismatch = Mismatch { slot, first: carried[index], other, found: out[index] };
            self.found.push(Refused::Mismatch(mismatch));
        }
        if !self.found.is_empty() {
            return None;
        }
        Some(match structure.kind {
            // A loop's results are what its last round gives; what a condition passes on is often a carry.
            Kind::While => self.passed_on(structure, &out),
            Kind::For | Kind::If | Kind::Switch | Kind::Once | Kind::Select => out,
        })
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

    /// One round of a loop: what comes out where such carries go in.
    fn round(&mut self, structure: &Structure, carried: &[Type]) -> Option<Vec<Type>> {
        for (slot, found) in structure.carries.iter().zip(carried) {
            self.set_target(*slot, *found);
        }
        let mut bodies = structure.bodies.iter();
        if structure.kind == Kind::While {
            self.trace(*bodies.next()?)?;
            let passed = self.flowing(&structure.passed, <[Feed]>::first);
            for (slot, found) in structure.passed.iter().zip(passed) {
                self.set_target(*slot, found);
            }
        }
        self.trace(*bodies.next()?)?;
        Some(self.flowing(&structure.carries, <[Feed]>::last))
    }

    /// What a loop's condition passes on in the end.
    fn passed_on(&self, structure: &Structure, out: &[Type]) -> Vec<Type> {
        let graph = self.solver.graph();
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
    fn condition(&mut self, structure: &Structure) -> Option<Vec<Type>> {
        for body in &structure.bodies {
            self.trace(*body)?;
        }
        for slot in structure.results.iter().copied().flatten() {
            let feeds = alternatives(self.solver.graph(), slot);
            let Some(first) = feeds.first().map(|feed| self.solver.type_of(feed.value)) else { continue };
            let differs = |feed: &Feed| !self.is_alike(first, self.solver.type_of(feed.value));
            if let Some(other) = feeds.iter().position(differs) {
                let found = self.solver.type_of(feeds[other].value);
                self.found.push(Refused::Mismatch(Mismatch { slot, first, other, found }));
            }
        }
        if !self.found.is_empty() {
            return None;
        }
        Some(self.flowing(&structure.results, |feeds| match structure.kind {
            Kind::If => feeds.last(),
            Kind::Select => feeds.get(1),
            Kind::Switch => feeds.get(1).or(feeds.first()),
            Kind::For | Kind::While | Kind::Once => feeds.first(),
        }))
    }
}

/// What flows to a result of a condition, but for the mask of a choice.
fn alternatives(graph: &Graph, slot: SlotId) -> &[Feed] {
    let feeds = &graph.slot(slot).sources;
    let masked = feeds.last().is_some_and(|feed| feed.counts == Counts::Shape);
    &feeds[..feeds.len() - usize::from(masked)]
}

/// For each structured op, the values that it takes from outside, each once.
fn taken(graph: &Graph) -> Vec<Vec<ValueId>> {
    // The structured ops around a block, the innermost last.
    let mut holder: FxHashMap<BlockId, usize> = FxHashMap::default();
    for (index, structure) in graph.structures.iter().enumerate() {
        holder.extend(structure.bodies.iter().map(|body| (*body, index)));
    }
    let around = |block: BlockId| {
        let mut next = Some(block);
        std::iter::from_fn(move || {
            let block = next?;
            let info = graph.block(block);
            next = info.around;
            Some(info.entry)
        })
    };
    let holders = |block: BlockId| around(block).filter_map(|entry| holder.get(&entry).copied()).collect();
    let mut taken: Vec<FxHashSet<ValueId>> = vec![FxHashSet::default(); graph.structures.len()];
    let mut take = |value: ValueId, block: BlockId| {
        let defined: FxHashSet<usize> =
            around(graph.value(value).block).filter_map(|entry| holder.get(&entry).copied()).collect();
        let holders: Vec<usize> = holders(block);
        for index in holders.into_iter().filter(|index| !defined.contains(index)) {
            taken[index].insert(value);
        }
    };
    for op in graph.ops() {
        for value in graph.operands(op) {
            take(*value, graph.node(op).block);
        }
    }
    for slot in graph.slot_ids() {
        for feed in graph.slot(slot).sources.iter().filter(|feed| feed.is_operand) {
            take(feed.value, feed.block);
        }
    }
    for (index, structure) in graph.structures.iter().enumerate() {
        // A choice has no region that would take them.
        let chosen = structure.results.iter().filter(|_| structure.kind == Kind::Select);
        for slot in chosen.copied().flatten() {
            taken[index].extend(alternatives(graph, slot).iter().map(|feed| feed.value));
        }
        for slot in structure.carries.iter().copied().flatten() {
            taken[index].extend(graph.slot(slot).sources.first().map(|feed| feed.value));
        }
    }
    let sorted = taken.into_iter().map(|values| {
        let mut values: Vec<ValueId> = values.into_iter().collect();
        values.sort_unstable();
        values
    });
    sorted.collect()
}
