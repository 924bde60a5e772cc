//! What is known of a graph once it is solved.

use promote_lattice::DType;
use rustc_hash::FxHashMap;

use super::super::graph::{Known, SlotId, Type, ValueId};
use super::{Problem, ProblemKind};

/// A type that a slot has had on the way to the fixpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The type.
    pub found: Type,
    /// Which of its sources raised it to that.
    pub feed: usize,
}

/// The answer of [`solve`](super::solve).
#[derive(Clone, Debug)]
pub struct Solution {
    pub(super) values: Vec<Type>,
    pub(super) slots: Vec<Type>,
    pub(super) histories: FxHashMap<SlotId, Vec<Step>>,
    pub(super) refused: FxHashMap<SlotId, Refused>,
    /// What was found wrong, in program order.
    pub problems: Vec<Problem>,
}

impl Solution {
    /// Replaces what was found, but for what has no type now; the histories stay.
    pub(in super::super) fn replace(
        &mut self,
        mut values: Vec<Type>,
        mut slots: Vec<Type>,
        problems: Vec<Problem>,
    ) {
        let both = [(&mut values, &self.values), (&mut slots, &self.slots)];
        for (new, old) in both.into_iter().flat_map(|(new, old)| new.iter_mut().zip(old)) {
            if new.dtype == Known::Unknown {
                *new = *old;
            }
        }
        *self = Self {
            histories: std::mem::take(&mut self.histories),
            values,
            slots,
            problems,
            refused: FxHashMap::default(),
        };
    }

    /// The type of a value.
    pub fn value(&self, value: ValueId) -> Type {
        self.values[value.0 as usize]
    }

    /// The dtype of a value, if it is promoted and was not refused.
    pub fn dtype(&self, value: ValueId) -> Option<DType> {
        match self.value(value).dtype {
            Known::DType(dtype) => Some(dtype),
            Known::Unknown | Known::Opaque | Known::Refused => None,
        }
    }

    /// The types that a slot with a target has had, in turn: the history of a loop's carry.
    pub fn history(&self, slot: SlotId) -> &[Step] {
        self.histories.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// The types of what flows to a refused slot, as they were when they did not meet.
    pub fn met(&self, slot: SlotId) -> &[Type] {
        self.refused.get(&slot).map_or(&[], |refused| &refused.met)
    }

    /// The dtype of a slot, if it is promoted and was not refused.
    pub fn slot_dtype(&self, slot: SlotId) -> Option<DType> {
        match self.slot(slot).dtype {
            Known::DType(dtype) => Some(dtype),
            Known::Unknown | Known::Opaque | Known::Refused => None,
        }
    }

    /// The type of a slot.
    pub fn slot(&self, slot: SlotId) -> Type {
        self.slots[slot.0 as usize]
    }
}

/// What a slot refused. If it comes a second time, the slot stays refused: what it refuses is what becomes of its own
/// type in a loop.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub kind: ProblemKind,
    pub again: bool,
    /// The types of its sources the first time.
    pub met: Vec<Type>,
}
