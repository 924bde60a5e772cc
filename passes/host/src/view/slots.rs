//! The slots of a unit: places that several values flow to.

use promote_infer::graph::{BlockId, Known, SlotId, Type, ValueId};

use super::{View, Viewer};
use crate::ir::{Ir, Kind, Signature, Visibility};
use crate::units::blocks;

impl<I: Ir> Viewer<'_, I> {
    /// Adds what a function says of itself: its name, who sees it, and a slot for each result.
    pub(super) fn add_signature(&mut self, function: I::Op) {
        let ir = self.ir;
        let visibility = ir.visibility(function);
        let is_declaration = blocks(ir, function).next().is_none();
        let unit = &mut self.view.unit;
        unit.symbol = ir.symbol(function);
        unit.is_private = visibility == Visibility::Private;
        unit.is_declaration = is_declaration;
        let Some(Signature { inputs, results }) = ir.signature(function) else { return };
        unit.declares_unknown_arguments =
            is_declaration && inputs.iter().any(|input| ir.mentions_unknown(*input));
        let mut types = inputs.iter().chain(&results);
        let View { types: table, graph, unit, .. } = &mut self.view;
        unit.has_weak_signature = types.any(|r#type| table.is_weak(*r#type, ir, graph));
        for result in results {
            let stated = self.view.types.view(result, ir, &mut self.view.graph);
            let slot = self.add_slot(None, stated);
            if visibility == Visibility::Public {
                self.view.graph.fix(slot);
            }
            self.view.unit.results.push(slot);
        }
    }

    fn add_slot(&mut self, target: Option<ValueId>, stated: Type) -> SlotId {
        self.view.feeds.push(Vec::new());
        self.view.targets.push(target);
        self.view.graph.add_slot(target, stated)
    }

    /// Lets the operands of `operation` from `first` on flow to `slots`, one each.
    pub(super) fn feed(&mut self, slots: &[Option<SlotId>], operation: I::Op, first: usize, block: BlockId) {
        for (index, slot) in (first..).zip(slots).filter_map(|(index, slot)| Some((index, (*slot)?))) {
            let value = self.ir.operand(operation, index);
            let id = self.operand(value, block);
            if self.is_undefined(value, id) {
                self.view.graph.gets_undefined.insert(slot);
                self.view.undefined.push((slot, operation, index));
                continue;
            }
            self.view.graph.feed(slot, id, block);
            self.view.feeds[slot.0 as usize].push((operation, index));
        }
    }

    /// Whether something has neither a value nor a known type, and is only passed on.
    pub(super) fn is_undefined(&mut self, value: I::Value, id: ValueId) -> bool {
        let ir = self.ir;
        let is_unknown = self.view.graph.value(id).stated.dtype == Known::Unknown;
        let undefined = is_unknown
            && ir.defining_op(value).is_some_and(|operation| ir.kind(operation) == Kind::Poison)
            && ir.users(value).all(|user| self.passes_on(user, value));
        if undefined {
            self.view.graph.undefined.insert(id);
        }
        undefined
    }

    /// A slot for each of `values` that is promoted.
    pub(super) fn slots(&mut self, values: &[I::Value], block: BlockId) -> Vec<Option<SlotId>> {
        let mut slot = |value: I::Value| {
            let id = self.add_value(value, block);
            let stated = self.view.graph.value(id).stated;
            (stated.dtype != Known::Opaque).then(|| self.add_slot(Some(id), stated))
        };
        values.iter().map(|value| slot(*value)).collect()
    }
}
