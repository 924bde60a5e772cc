//! The type history of a carry: in which iteration of a loop it became which type, through which ops.

use rustc_hash::FxHashMap;

use super::Reporter;
use crate::dominance::Dominance;
use crate::graph::{BlockId, SlotId, Source, ValueId};
use crate::solve::Step;
use promote_diagnostics::{Code, Diagnostic, Note, Severity};

/// How many steps of a history are shown.
const STEPS: usize = 4;

/// How many types of a cycle are shown.
const CYCLE: usize = 8;

/// How many ops between two places are shown.
const OPS: usize = 6;

/// How many places an iteration is traced back through.
const BACK: usize = 64;

/// Describes the type histories of one unit.
pub struct Historian<'a> {
    reporter: Reporter<'a>,
    /// The slot that each value stands for.
    slots: FxHashMap<ValueId, SlotId>,
    /// The loop that carries each slot: its body, or the first of its blocks.
    loops: FxHashMap<SlotId, BlockId>,
}

impl<'a> Historian<'a> {
    /// For the types that were inferred in a unit.
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

    /// A remark for each slot that a loop carries and whose type is not that of its initial value.
    pub fn remarks(&self) -> Vec<Diagnostic> {
        let mut carries: Vec<SlotId> = self.loops.keys().copied().collect();
        carries.retain(|slot| self.reporter.solution.history(*slot).len() > 1);
        carries.sort_unstable();
        let remark = |slot: SlotId| {
            let found = self.reporter.type_name(self.reporter.solution.slot(slot));
            let message = format!(
                "the type of {} is {found}, which is not the type of its initial value",
                self.reporter.slot_name(slot)
            );
            let target = self.reporter.graph.slot(slot).target;
            let place = target.and_then(|target| self.reporter.map().definition(target));
            self.with_history(Diagnostic::new(Severity::Remark, Code::Raised, place, message), slot)
        };
        carries.into_iter().map(remark).collect()
    }

    /// Adds how the type of a slot was inferred: its first types, and those that it cycles through in the end.
    pub fn with_history(&self, diagnostic: Diagnostic, slot: SlotId) -> Diagnostic {
        let history = self.reporter.solution.history(slot);
        let shown = (0..history.len().min(STEPS)).map(|index| self.step(slot, index));
        let mut diagnostic = shown.fold(diagnostic, |diagnostic, Note { location, message }| {
            diagnostic.with_note(location, message)
        });
        let place = |step: &Step| self.reporter.map().feed(slot, step.feed).place.clone();
        if let Some(cycle) = cycle(history) {
            let mut types: Vec<String> =
                cycle.iter().map(|step| self.reporter.type_name(step.found)).collect();
            if types.len() > CYCLE {
                types.splice(CYCLE - 1..types.len() - 1, ["…".to_owned()]);
            }
            let message = format!("then the types repeat: {}", types.join(" → "));
            diagnostic = diagnostic.with_note(place(&cycle[0]), message);
        } else if history.len() > STEPS {
            let message = format!("{} more steps are not shown", history.len() - STEPS);
            diagnostic = diagnostic.with_note(place(&history[history.len() - 1]), message);
        }
        diagnostic
    }

    /// One step of a slot's history, in words.
    fn step(&self, slot: SlotId, index: usize) -> Note {
        let history = self.reporter.solution.history(slot);
        let step = history[index];
        let found = self.reporter.type_name(step.found);
        let ops = self.path(slot, step).0;
        let through = match &ops[..] {
            [] => String::new(),
            [only] => format!(", through {only}"),
            [rest @ .., last] => format!(", through {} and {last}", rest.join(", ")),
        };
        let message = match index.checked_sub(1) {
            None => format!("the initial value is {found}{through}"),
            Some(before) => {
                let iteration = self.iteration(slot, index, BACK);
                let before = self.reporter.type_name(history[before].found);
                format!("iteration {iteration} changes it from {before} to {found}{through}")
            }
        };
        Note { location: self.reporter.map().feed(slot, step.feed).place.clone(), message }
    }

    /// The ops that lead to a step, in order, and the value that they start from: a carry of the same loop, or a value that
    /// cannot be followed further back.
    fn path(&self, slot: SlotId, step: Step) -> (Vec<String>, ValueId) {
        let graph = self.reporter.graph;
        let (mut value, mut ops) = (graph.slot(slot).sources[step.feed].value, Vec::new());
        for _ in 0..BACK {
            let next = match graph.value(value).source {
                Source::Op(op) => {
                    if graph.node(op).op != promote_lattice::Op::Relax && ops.len() < OPS {
                        ops.push(graph.name(op));
                    }
                    let operands = graph.operands(op);
                    let causes = |operand: &&ValueId| {
                        self.reporter.solution.value(**operand).dtype == step.found.dtype
                    };
                    // What comes from outside of the loop caused it first.
                    let outside = |operand: &&ValueId| causes(operand) && !self.slots.contains_key(operand);
                    operands
                        .iter()
                        .find(outside)
                        .or(operands.iter().find(causes))
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

    /// The iteration of its loop in which a slot takes a step: the one after the iteration in which the carry that causes it
    /// took its own.
    fn iteration(&self, slot: SlotId, index: usize, budget: usize) -> usize {
        if !self.loops.contains_key(&slot) {
            return index;
        }
        let (_, origin) = self.path(slot, self.reporter.solution.history(slot)[index]);
        match self.slots.get(&origin) {
            Some(carry) if *carry == slot => index,
            Some(carry) if budget > 0 && self.loops.contains_key(carry) => {
                match self.reporter.solution.history(*carry).len() {
                    0 | 1 => 1,
                    steps => 1 + self.iteration(*carry, steps - 1, budget - 1),
                }
            }
            _ => 1,
        }
    }
}

/// The types that a history cycles through at its end, from one to the same again.
fn cycle(history: &[Step]) -> Option<&[Step]> {
    let last = history.last()?;
    let before = history[..history.len() - 1].iter().rposition(|step| step.found == last.found)?;
    Some(&history[before..])
}
