//! The slots of a unit: places that several values flow to.

use mlir_sys::*;

use super::{View, Viewer, function_type};
use crate::raw::{self, Address};
use crate::units;
use promote_infer::graph::{BlockId, Known, SlotId, Type, ValueId};

impl Viewer<'_> {
    /// Adds what a function says of itself: its name, who sees it, and a slot for each result.
    pub(super) fn add_signature(&mut self, function: MlirOperation) {
        let visibility = raw::string_attribute(function, "sym_visibility");
        let is_public = visibility.as_deref().is_none_or(|visibility| visibility == "public");
        let is_declaration = raw::regions(function).flat_map(raw::blocks).next().is_none();
        let unit = &mut self.view.unit;
        unit.symbol = raw::string_attribute(function, "sym_name");
        unit.is_private = visibility.as_deref() == Some("private");
        unit.is_declaration = is_declaration;
        let Some(r#type) = function_type(function) else { return };
        let is_unknown = |input: &MlirType| raw::type_text(*input).contains("!promote.unknown");
        unit.declares_unknown_arguments = is_declaration && units::inputs(r#type).iter().any(is_unknown);
        let mut types = units::inputs(r#type).into_iter().chain(units::results(r#type));
        let View { types: table, graph, unit, .. } = &mut self.view;
        unit.has_weak_signature = types.any(|r#type| table.is_weak(r#type, self.names, graph));
        for result in units::results(r#type) {
            let stated = self.view.types.view(result, self.names, &mut self.view.graph);
            let slot = self.add_slot(None, stated);
            if is_public {
                self.view.graph.fix(slot);
            }
            self.view.unit.results.push(slot);
        }
    }

    pub(crate) fn add_slot(&mut self, target: Option<ValueId>, stated: Type) -> SlotId {
        self.view.feeds.push(Vec::new());
        self.view.targets.push(target);
        self.view.graph.add_slot(target, stated)
    }

    /// Lets the operands of `operation` from `first` on flow to `slots`, one each.
    pub(crate) fn feed(
        &mut self,
        slots: &[Option<SlotId>],
        operation: MlirOperation,
        first: usize,
        block: BlockId,
    ) {
        for (index, slot) in (first..).zip(slots).filter_map(|(index, slot)| Some((index, (*slot)?))) {
            let value = raw::operand(operation, index);
            let id = self.operand(value, block);
            if self.is_undefined(value, id) {
                self.view.graph.gets_undefined.insert(slot);
                self.view.undefined.push((slot, Address(operation), index));
                continue;
            }
            self.view.graph.feed(slot, id, block);
            self.view.feeds[slot.0 as usize].push((Address(operation), index));
        }
    }

    /// Whether something has neither a value nor a known type, and is only passed on.
    pub(super) fn is_undefined(&mut self, value: MlirValue, id: ValueId) -> bool {
        let is_unknown = self.view.graph.value(id).stated.dtype == Known::Unknown;
        let undefined = is_unknown
            && raw::defining_op(value).is_some_and(|operation| raw::name_id(operation) == self.kinds.poison)
            && raw::users(value).all(|user| self.passes_on(user, value));
        if undefined {
            self.view.graph.undefined.insert(id);
        }
        undefined
    }

    /// A slot for each of `values` that is promoted.
    pub(crate) fn slots(&mut self, values: &[MlirValue], block: BlockId) -> Vec<Option<SlotId>> {
        let mut slot = |value: MlirValue| {
            let id = self.add_value(value, block);
            let stated = self.view.graph.value(id).stated;
            (stated.dtype != Known::Opaque).then(|| self.add_slot(Some(id), stated))
        };
        values.iter().map(|value| slot(*value)).collect()
    }
}
