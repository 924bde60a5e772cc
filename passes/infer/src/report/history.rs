//! The history of a carry: which round of a loop made it which dtype, through which ops.

use rustc_hash::FxHashMap;

use super::Reporter;
use crate::dominance::Dominance;
use crate::graph::{BlockId, SlotId, Source, ValueId};
use crate::solve::Step;
use promote_diagnostics::{Code, Diagnostic, Note, Severity};

/// How many steps of a history are told.
const STEPS: usize = 4;

/// How many types of a cycle are told.
const CYCLE: usize = 8;

/// How many ops between two places are told.
const OPS: usize = 6;

/// How many places a round is counted back through.
const BACK: usize = 64;

/// Tells the histories of one unit.
pub struct Historian<'a> {
    reporter: Reporter<'a>,
    /// The slot that each value stands for.
    slots: FxHashMap<ValueId, SlotId>,
    /// The loop that carries each slot which goes round one: its body, or the first of its blocks.
    loops: FxHashMap<SlotId, BlockId>,
}

impl<'a> Historian<'a> {
    /// A teller of what was found of a unit.
    pub fn new(reporter: Reporter<'a>) -> Self {
        let graph = reporter.graph;
        let targets = graph.slot_ids().filter_map(|slot| Some((graph.slot(slot).target?, slot)));
        let slots: FxHashMap<ValueId, SlotId> = targets.collect();
        let mut loops = FxHashMap::default();
        for structure in &graph.structures {
            let body = structure.bodies.first().copied().unwrap_or(structure.block);
            loops.extend(structure.carries.iter().flatten().map(|slot| (*slot, body)));
        }
        if !graph.branches().is_empty() {
            let tree = Dominance::new(graph);
            for (value, slot) in &slots {
                let block = graph.value(*value).block;
                let comes_back = |from: BlockId| tree.dominates(block, from);
                let is_argument = graph.slot(*slot).sources.iter().all(|feed| feed.is_operand);
                if is_argument && graph.slot(*slot).sources.iter().any(|feed| comes_back(feed.block)) {
                    loops.entry(*slot).or_insert(block);
                }
            }
        }
        Self { reporter, slots, loops }
    }

    /// A remark for each slot that goes round a loop and is not of the type that it begins with.
    pub fn remarks(&self) -> Vec<Diagnostic> {
        let mut carries: Vec<SlotId> = self.loops.keys().copied().collect();
        carries.retain(|slot| self.reporter.solution.history(*slot).len() > 1);
        carries.sort_unstable();
        let remark = |slot: SlotId| {
            let found = self.reporter.type_name(self.reporter.solution.slot(slot));
            let message = format!("{} is {found}, and does not begin as that", self.reporter.slot_name(slot));
            let target = self.reporter.graph.slot(slot).target;
            let place = target.and_then(|target| self.reporter.map().definition(target));
            self.tell(Diagnostic::new(Severity::Remark, Code::Raised, place, message), slot)
        };
        carries.into_iter().map(remark).collect()
    }

    /// Adds how the type of a slot came about: its first types, and those it went round at the end.
    pub fn tell(&self, diagnostic: Diagnostic, slot: SlotId) -> Diagnostic {
        let history = self.reporter.solution.history(slot);
        let told = (0..history.len().min(STEPS)).map(|index| self.step(slot, index));
        let mut diagnostic = told.fold(diagnostic, |diagnostic, Note { location, message }| {
            diagnostic.with_note(location, message)
        });
        let place = |step: &Step| self.reporter.map().feed(slot, step.feed).place.clone();
        if let Some(cycle) = cycle(history) {
            let mut types: Vec<String> =
                cycle.iter().map(|step| self.reporter.type_name(step.found)).collect();
            if types.len() > CYCLE {
                types.splice(CYCLE - 1..types.len() - 1, ["…".to_owned()]);
            }
            let message = format!("and so on, round and round: {}", types.join(" → "));
            diagnostic = diagnostic.with_note(place(&cycle[0]), message);
        } else if history.len() > STEPS {
            let message = format!("and so on: {} steps are not told", history.len() - STEPS);
            diagnostic = diagnostic.with_note(place(&history[history.len() - 1]), message);
        }
        diagnostic
    }

    /// One step of a slot's history, in words.
    fn step(&self, slot: SlotId, index: usize) -> Note {
        let history = self.reporter.solution.history(slot);
        let step = history[index];
        let found = self.reporter.type_name(step.found);
        let ops = self.way(slot, step).0;
        let through = match &ops[..] {
            [] => String::new(),
            [only] => format!(", by {only}"),
            [rest @ .., last] => format!(", by {} and {last}", rest.join(", ")),
        };
        let message = match index.checked_sub(1) {
            None => format!("it begins as {found}{through}"),
            Some(before) => {
                let round = self.round(slot, index, BACK);
                format!(
                    "round {round} makes it {found} of {}{through}",
                    self.reporter.type_name(history[before].found)
                )
            }
        };
        Note { location: self.reporter.map().feed(slot, step.feed).place.clone(), message }
    }

    /// The ops that lead to what makes a step, in order, and what they begin with: a carry of the same loop, or a value that
    /// cannot be followed further back.
    fn way(&self, slot: SlotId, step: Step) -> (Vec<String>, ValueId) {
        let graph = self.reporter.graph;
        let (mut value, mut ops) = (graph.slot(slot).sources[step.feed].value, Vec::new());
        for _ in 0..BACK {
            let next = match graph.value(value).source {
                Source::Op(op) => {
                    let name = graph.node(op).op;
                    if name != promote_lattice::Op::Relax && ops.len() < OPS {
                        ops.push(name.to_string());
                    }
                    let operands = graph.operands(op);
                    let brings = |operand: &&ValueId| {
                        self.reporter.solution.value(**operand).dtype == step.found.dtype
                    };
                    // What comes from outside of the loop has brought it first.
                    let outside = |operand: &&ValueId| brings(operand) && !self.slots.contains_key(operand);
                    operands
                        .iter()
                        .find(outside)
                        .or(operands.iter().find(brings))
                        .or(operands.first())
                        .copied()
                }
                Source::Elsewhere => {
                    let through = self.slots.get(&value);
                    let through = through.filter(|other| self.loops.get(*other) != self.loops.get(&slot));
                    let raised = through.and_then(|through| {
                        let step = self.reporter.solution.history(*through).last()?;
                        Some(graph.slot(*through).sources[step.feed].value)
                    });
                    raised.filter(|_| self.loops.contains_key(&slot))
                }
            };
            match next {
                Some(next) if next != value => value = next,
                _ => break,
            }
        }
        ops.reverse();
        (ops, value)
    }

    /// The round of its loop in which a slot takes a step: the one after that in which what brings it took its own.
    fn round(&self, slot: SlotId, index: usize, budget: usize) -> usize {
        if !self.loops.contains_key(&slot) {
            return index;
        }
        let (_, origin) = self.way(slot, self.reporter.solution.history(slot)[index]);
        match self.slots.get(&origin) {
            Some(carry) if *carry == slot => index,
            Some(carry) if budget > 0 && self.loops.contains_key(carry) => {
                match self.reporter.solution.history(*carry).len() {
                    0 | 1 => 1,
                    steps => 1 + self.round(*carry, steps - 1, budget - 1),
                }
            }
            _ => 1,
        }
    }
}

/// The types that a history goes round at its end, from one to the same again.
fn cycle(history: &[Step]) -> Option<&[Step]> {
    let last = history.last()?;
    let before = history[..history.len() - 1].iter().rposition(|step| step.found == last.found)?;
    Some(&history[before..])
}
