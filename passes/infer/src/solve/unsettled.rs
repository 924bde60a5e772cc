//! What does not settle: a loop that gives another type in every iteration is given up, with all that depends on it, and the
//! rest of the graph is solved as if that had been refused.

use rustc_hash::FxHashSet;

use super::super::graph::{SlotId, Type, ValueId};
use super::{Place, Problem, ProblemKind, Solver};

impl Solver<'_> {
    /// Gives up a slot that does not settle. That is reported; what was found of its types on the way is not, nor of what
    /// depends on them.
    pub(super) fn give_up(&mut self, slot: SlotId) {
        let place = Place::Slot(slot);
        for place in self.dependents(place) {
            self.problems.remove(&place);
            if let Place::Call(call) = place {
                self.stirred.insert(call);
            }
            self.given_up.insert(place);
        }
        self.problems.insert(place, Problem { place, kind: ProblemKind::Unsettled });
        self.refuse_given_up();
    }

    /// Whether what stands at a place was given up, so that nothing is to be found there.
    pub(super) fn is_given_up(&self, place: Place) -> bool {
        !self.given_up.is_empty() && self.given_up.contains(&place)
    }

    /// Lets everything be refused that was given up.
    pub(super) fn refuse_given_up(&mut self) {
        for place in &self.given_up {
            if let Place::Slot(slot) = *place {
                self.slots[slot.0 as usize] = Type::REFUSED;
            }
            for value in self.made_at(*place) {
                self.values[value.0 as usize] = Type::REFUSED;
            }
        }
    }

    /// A place, and all to which something flows from there.
    fn dependents(&self, place: Place) -> FxHashSet<Place> {
        let mut found = FxHashSet::from_iter([place]);
        let mut rest = vec![place];
        while let Some(place) = rest.pop() {
            let users = self.users.iter().flat_map(|users| {
                self.made_at(place).into_iter().flat_map(|value| &users.0[value.0 as usize])
            });
            rest.extend(users.copied().filter(|user| found.insert(*user)));
        }
        found
    }

    /// The values that a place makes.
    fn made_at(&self, place: Place) -> Vec<ValueId> {
        match place {
            Place::Op(op) => vec![self.graph.node(op).result],
            Place::Slot(slot) => self.graph.slot(slot).target.into_iter().collect(),
            Place::Call(call) => self.calls[call.0 as usize].results.clone(),
            Place::Value(value) => vec![value],
        }
    }
}
