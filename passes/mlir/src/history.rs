//! The history of a carry: which round of a loop made it which dtype, through which ops.

use rustc_hash::FxHashMap;

use super::report::{definition_of, explain, place_of};
use super::view::View;
use promote_diagnostics::{Code, Diagnostic, Note, Severity};
use promote_infer::dominance::Dominance;
use promote_infer::graph::{BlockId, SlotId, Source, ValueId};
use promote_infer::solve::{Solution, Step};
use promote_infer::strict::{Mismatch, Refused};

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
    view: &'a View,
    solution: &'a Solution,
    /// The slot that each value stands for.
    slots: FxHashMap<ValueId, SlotId>,
    /// The loop that carries each slot which goes round one: its body, or the first of its blocks.
    loops: FxHashMap<SlotId, BlockId>,
}

impl<'a> Historian<'a> {
    /// A teller of what was found of a unit.
    pub fn new(view: &'a View, solution: &'a Solution) -> Self {
        let graph = &view.graph;
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
        Self { view, solution, slots, loops }
    }

    /// A remark for each slot that goes round a loop and is not of the type that it begins with.
    pub fn remarks(&self) -> Vec<Diagnostic> {
        let mut carries: Vec<SlotId> = self.loops.keys().copied().collect();
        carries.retain(|slot| self.solution.history(*slot).len() > 1);
        carries.sort_unstable();
        let remark = |slot: SlotId| {
            let found = self.view.type_name(self.solution.slot(slot));
            let message = format!("{} is {found}, and does not begin as that", self.view.slot_name(slot));
            let target = self.view.graph.slot(slot).target;
            let place = target.and_then(|target| definition_of(self.view.values[target.0 as usize].0));
            self.tell(Diagnostic::new(Severity::Remark, Code::Raised, place, message), slot)
        };
        carries.into_iter().map(remark).collect()
    }

    /// Adds how the type of a slot came about: its first types, and those it went round at the end.
    pub fn tell(&self, diagnostic: Diagnostic, slot: SlotId) -> Diagnostic {
        let history = self.solution.history(slot);
        let told = (0..history.len().min(STEPS)).map(|index| self.step(slot, index));
        let mut diagnostic = told.fold(diagnostic, |diagnostic, Note { location, message }| {
            diagnostic.with_note(location, message)
        });
        let place = |step: &Step| place_of(self.view.feeds[slot.0 as usize][step.feed].0.0);
        if let Some(cycle) = cycle(history) {
            let mut types: Vec<String> = cycle.iter().map(|step| self.view.type_name(step.found)).collect();
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
        let history = self.solution.history(slot);
        let step = history[index];
        let (operation, _) = self.view.feeds[slot.0 as usize][step.feed];
        let found = self.view.type_name(step.found);
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
                    self.view.type_name(history[before].found)
                )
            }
        };
        Note { location: place_of(operation.0), message }
    }

    /// The ops that lead to what makes a step, in order, and what they begin with: a carry of the same loop, or a value that
    /// cannot be followed further back.
    fn way(&self, slot: SlotId, step: Step) -> (Vec<String>, ValueId) {
        let graph = &self.view.graph;
        let (mut value, mut ops) = (graph.slot(slot).sources[step.feed].value, Vec::new());
        for _ in 0..BACK {
            let next = match graph.value(value).source {
                Source::Op(op) => {
                    let name = graph.node(op).op;
                    if name != promote_lattice::Op::Relax && ops.len() < OPS {
                        ops.push(name.to_string());
                    }
                    let operands = graph.operands(op);
                    let brings =
                        |operand: &&ValueId| self.solution.value(**operand).dtype == step.found.dtype;
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
                        let step = self.solution.history(*through).last()?;
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
        let (_, origin) = self.way(slot, self.solution.history(slot)[index]);
        match self.slots.get(&origin) {
            Some(carry) if *carry == slot => index,
            Some(carry) if budget > 0 && self.loops.contains_key(carry) => {
                match self.solution.history(*carry).len() {
                    0 | 1 => 1,
                    steps => 1 + self.round(*carry, steps - 1, budget - 1),
                }
            }
            _ => 1,
        }
    }
}

impl View {
    /// What JAX refuses.
    pub fn strict_diagnostic(&self, refused: &Refused) -> Diagnostic {
        match refused {
            Refused::Mismatch(mismatch) => self.mismatch_diagnostic(*mismatch),
            Refused::Op { op, kind, operands } => {
                let (_, message, remedy) = explain(kind, &self.graph.node(*op).op.to_string());
                let message = format!("{message}, in a round that is not the last");
                let diagnostic = Diagnostic::error(Code::StrictCarry, self.op_place(*op), message);
                let operands = self.graph.operands(*op).iter().zip(operands).enumerate();
                let diagnostic = operands.fold(diagnostic, |diagnostic, (index, (operand, found))| {
                    let value = self.values[operand.0 as usize].0;
                    let message = format!("operand {index} is {}", self.found_type(*found, value));
                    diagnostic.with_note(definition_of(value), message)
                });
                diagnostic.with_remedy(remedy)
            }
        }
    }

    fn mismatch_diagnostic(&self, mismatch: Mismatch) -> Diagnostic {
        let Mismatch { slot, first, raised, other, found } = mismatch;
        let (first, found) = (self.type_name(first), self.type_name(found));
        let raised = raised.map_or(String::new(), |raised| format!(", is made {}", self.type_name(raised)));
        let place = |index: usize| place_of(self.feeds[slot.0 as usize][index].0.0);
        let subject = self.slot_name(slot);
        let (message, begins) = if self.graph.slot(slot).is_carry {
            let init = self.values[self.graph.slot(slot).sources[0].value.0 as usize].0;
            (format!("{subject} goes in as {first}{raised} and comes out as {found}"), definition_of(init))
        } else {
            (format!("{subject} is {first} in one branch and {found} in another"), place(0))
        };
        Diagnostic::error(Code::StrictCarry, place(0), message)
            .with_note(begins, format!("{first} comes from here"))
            .with_note(place(other), format!("{found} comes from here"))
            .with_remedy(
                "convert one of them, with promote.convert or promote.broadcast_to; without --strict-carries both are \
                 promoted",
            )
    }
}

/// The types that a history goes round at its end, from one to the same again.
fn cycle(history: &[Step]) -> Option<&[Step]> {
    let last = history.last()?;
    let before = history[..history.len() - 1].iter().rposition(|step| step.found == last.found)?;
    Some(&history[before..])
}
