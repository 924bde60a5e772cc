//! Asking the rules again, with other types than a solver has found: what a trace does with each iteration of a loop.

use super::super::graph::{Graph, Known, OpId, SlotId, Type, ValueId};
use super::super::shape::Shape;
use super::{Call, Outcome, Solver};

impl<'a> Solver<'a> {
    /// A solver that has found nothing yet, with the graph of this one until that is [given back](Self::give_back).
    pub(in super::super) fn fresh(&mut self) -> Self {
        Self::new(std::mem::take(&mut self.graph), self.semantics, self.calls)
    }

    /// Takes the graph back.
    pub(in super::super) fn give_back(&mut self, other: Self) {
        self.graph = other.graph;
    }

    pub(in super::super) const fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(in super::super) const fn calls(&self) -> &'a [Call] {
        self.calls
    }

    /// The types of all values, by their ids.
    pub(in super::super) fn values(&self) -> &[Type] {
        &self.values
    }

    /// The type of a value.
    pub(in super::super) fn type_of(&self, value: ValueId) -> Type {
        self.values[value.0 as usize]
    }

    /// Lets a value be of a type.
    pub(in super::super) fn set(&mut self, value: ValueId, found: Type) {
        self.values[value.0 as usize] = found;
    }

    /// Lets a value be of a type without an id of this graph.
    pub(in super::super) fn set_plain(&mut self, value: ValueId, dtype: Known, shape: Shape) {
        let shape = self.graph.shapes.id(shape);
        self.set(value, Type { dtype, shape });
    }

    /// The type of a slot.
    pub(in super::super) fn slot(&self, slot: SlotId) -> Type {
        self.slots[slot.0 as usize]
    }

    /// Lets a slot be of a type.
    pub(in super::super) fn set_slot(&mut self, slot: SlotId, found: Type) {
        self.slots[slot.0 as usize] = found;
    }

    /// The type of an op's result, with the types that its operands have now.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(in super::super) fn infer_anew(&mut self, op: OpId) -> Outcome<Type> {
        self.infer(op)
    }

    /// The join of what flows to a slot, with the types that this has now.
    ///
    /// # Errors
    /// Why it has none.
    pub(in super::super) fn join_anew(&mut self, slot: SlotId) -> Outcome<Type> {
        self.join(slot)
    }
}
