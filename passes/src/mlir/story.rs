//! The story of a carry: which round of a loop made it which dtype, through which ops.

use super::report::{definition_of, explain, place_of};
use super::view::View;
use crate::diagnostic::{Code, Diagnostic, Note, Severity};
use crate::engine::graph::{SlotId, Source, Type, ValueId};
use crate::engine::solve::{Solution, Step};
use crate::engine::strict::{Mismatch, Refused};

/// How many steps of a story are told.
const STEPS: usize = 4;

/// How many types of a cycle are told.
const CYCLE: usize = 8;

/// How many ops between two places are told, and how many slots a round is counted back through.
const OPS: usize = 6;

impl View {
    /// A remark for each carry of a loop whose dtype or shape is not that of its initial value.
    pub fn stories<'a>(&'a self, solution: &'a Solution) -> impl Iterator<Item = Diagnostic> + 'a {
        let loops = self.graph.structures.iter().zip(&self.structures);
        let carries = loops.flat_map(|(structure, operation)| {
            structure.carries.iter().flatten().map(|slot| (*operation, *slot))
        });
        carries.filter(|(_, slot)| solution.story(*slot).len() > 1).map(|(operation, slot)| {
            let found = self.type_name(solution.slot(slot));
            let message = format!("{} is {found}, which it does not begin as", self.slot_name(slot));
            let place = place_of(operation.0);
            let remark = Diagnostic::new(Severity::Remark, Code::Raised, place, message);
            self.with_story(remark, slot, solution)
        })
    }

    /// Adds how the type of a slot came about: its first types, and those it went round at the end.
    pub fn with_story(&self, diagnostic: Diagnostic, slot: SlotId, solution: &Solution) -> Diagnostic {
        let story = solution.story(slot);
        let told = (0..story.len().min(STEPS)).map(|index| self.step(slot, index, solution));
        let mut diagnostic = told.fold(diagnostic, |diagnostic, Note { location, message }| {
            diagnostic.with_note(location, message)
        });
        if let Some(cycle) = cycle(story) {
            let mut types: Vec<String> = cycle.iter().map(|step| self.type_name(step.found)).collect();
            if types.len() > CYCLE {
                types.splice(CYCLE - 1..types.len() - 1, ["…".to_owned()]);
            }
            let operation = self.feeds[slot.0 as usize][cycle[0].feed].0;
            let message = format!("and so on, round and round: {}", types.join(" → "));
            diagnostic = diagnostic.with_note(place_of(operation.0), message);
        } else if story.len() > STEPS {
            let operation = self.feeds[slot.0 as usize][story[story.len() - 1].feed].0;
            let message = format!("and so on: {} steps are not told", story.len() - STEPS);
            diagnostic = diagnostic.with_note(place_of(operation.0), message);
        }
        diagnostic
    }

    /// One step of a slot's story, in words.
    fn step(&self, slot: SlotId, index: usize, solution: &Solution) -> Note {
        let story = solution.story(slot);
        let step = story[index];
        let (operation, _) = self.feeds[slot.0 as usize][step.feed];
        let found = self.type_name(step.found);
        let ops = self.way(self.graph.slot(slot).sources[step.feed].value, step.found, solution).0;
        let through = match &ops[..] {
            [] => String::new(),
            [only] => format!(", by {only}"),
            [rest @ .., last] => format!(", by {} and {last}", rest.join(", ")),
        };
        let message = match index.checked_sub(1) {
            None => format!("it begins as {found}{through}"),
            Some(before) => {
                let round = self.round(slot, index, solution, OPS);
                format!("round {round} makes it {found} of {}{through}", self.type_name(story[before].found))
            }
        };
        Note { location: place_of(operation.0), message }
    }

    /// The ops that lead to a value from where they cannot be followed further back, in order, and that origin.
    fn way(&self, value: ValueId, found: Type, solution: &Solution) -> (Vec<String>, ValueId) {
        let (mut value, mut ops) = (value, Vec::new());
        while let (Source::Op(op), true) = (self.graph.value(value).source, ops.len() < OPS) {
            let name = self.graph.node(op).op;
            if name != promote_lattice::Op::Relax {
                ops.push(name.to_string());
            }
            let operands = self.graph.operands(op);
            let brings = |operand: &&ValueId| solution.value(**operand).dtype == found.dtype;
            let Some(next) = operands.iter().find(brings).or(operands.first()) else { break };
            if *next == value {
                break;
            }
            value = *next;
        }
        ops.reverse();
        (ops, value)
    }

    /// The round of its loop in which a slot takes a step: the one after that in which what brings it took its own.
    fn round(&self, slot: SlotId, index: usize, solution: &Solution, budget: usize) -> usize {
        let step = solution.story(slot)[index];
        let source = self.graph.slot(slot).sources[step.feed].value;
        let (_, origin) = self.way(source, step.found, solution);
        let carries =
            || self.graph.structures.iter().flat_map(|structure| structure.carries.iter().flatten());
        let mut brought = carries().filter(|carry| self.graph.slot(**carry).target == Some(origin));
        match brought.next() {
            _ if !carries().any(|carry| *carry == slot) => index,
            Some(carry) if *carry == slot => index,
            Some(carry) if budget > 0 && solution.story(*carry).len() > 1 => {
                1 + self.round(*carry, solution.story(*carry).len() - 1, solution, budget - 1)
            }
            _ => 1,
        }
    }

    /// What JAX refuses.
    pub fn strict_diagnostic(&self, refused: &Refused) -> Diagnostic {
        match refused {
            Refused::Mismatch(mismatch) => self.mismatch_diagnostic(*mismatch),
            Refused::Op(op, kind) => {
                let (_, message, remedy) = explain(kind, &self.graph.node(*op).op.to_string());
                let message = format!("{message}, in a round that is not the last");
                Diagnostic::error(Code::StrictCarry, self.op_place(*op), message).with_remedy(remedy)
            }
        }
    }

    fn mismatch_diagnostic(&self, mismatch: Mismatch) -> Diagnostic {
        let Mismatch { slot, first, other, found } = mismatch;
        let (first, found) = (self.type_name(first), self.type_name(found));
        let place = |index: usize| place_of(self.feeds[slot.0 as usize][index].0.0);
        let subject = self.slot_name(slot);
        let (message, begins) = if self.graph.slot(slot).is_carry {
            let init = self.values[self.graph.slot(slot).sources[0].value.0 as usize].0;
            (format!("{subject} goes in as {first} and comes out as {found}"), definition_of(init))
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

/// The types that a story goes round at its end, from one to the same again.
fn cycle(story: &[Step]) -> Option<&[Step]> {
    let last = story.last()?;
    let before = story[..story.len() - 1].iter().rposition(|step| step.found == last.found)?;
    Some(&story[before..])
}
