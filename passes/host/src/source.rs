//! Places in the source, and the source map of a view.

use std::sync::Arc;

use promote_diagnostics::Location;
use promote_infer::source::{OperandSource, Origin, SourceMap, ValueSource};
use rustc_hash::FxHashMap;

use crate::ir::Ir;
use crate::view::View;

/// The place of an op, or, if it has none, of its parents.
pub fn place_of<I: Ir>(ir: &I, operation: I::Op) -> Option<Location> {
    let mut parents = std::iter::successors(Some(operation), |operation| ir.parent(*operation));
    parents.find_map(|operation| ir.location(operation))
}

/// The place where a value is defined.
pub fn definition_of<I: Ir>(ir: &I, value: I::Value) -> Option<Location> {
    match ir.defining_op(value) {
        Some(operation) => place_of(ir, operation),
        None => ir.location_of_argument(value),
    }
}

/// The source map of a view, whose program must be as it was viewed.
pub fn source_map<I: Ir>(view: &View<I>, ir: &I) -> SourceMap {
    let mut builder = MapBuilder { view, ir, types: FxHashMap::default(), names: FxHashMap::default() };
    let places = |ops: &[I::Op]| ops.iter().map(|op| place_of(ir, *op)).collect();
    SourceMap {
        place: place_of(ir, view.root),
        signature: ir.signature_text(view.root),
        ops: places(&view.ops),
        values: view.values.iter().map(|value| builder.value(*value)).collect(),
        feeds: (0..view.feeds.len()).map(|slot| builder.feeds(slot)).collect(),
        structures: view.structures.iter().map(|op| builder.name(*op)).collect(),
        calls: places(&view.calls),
    }
}

/// Makes a source map, with each text once.
struct MapBuilder<'a, I: Ir> {
    view: &'a View<I>,
    ir: &'a I,
    types: FxHashMap<I::Type, Arc<str>>,
    names: FxHashMap<I::Name, Arc<str>>,
}

impl<I: Ir> MapBuilder<'_, I> {
    fn name(&mut self, operation: I::Op) -> Arc<str> {
        let name = self.ir.name(operation);
        Arc::clone(self.names.entry(name).or_insert_with(|| self.ir.name_text(name).into()))
    }

    fn value(&mut self, value: I::Value) -> ValueSource {
        let r#type = self.ir.value_type(value);
        let text = || self.ir.type_text(r#type).into();
        let written = Arc::clone(self.types.entry(r#type).or_insert_with(text));
        ValueSource { place: definition_of(self.ir, value), written, origin: self.origin(value) }
    }

    fn origin(&mut self, value: I::Value) -> Origin {
        let Some(operation) = self.ir.defining_op(value) else {
            let index = self.ir.argument_number(value);
            return match self.is_argument_of_function(value) {
                true => Origin::FunctionArgument { index },
                false => Origin::BlockArgument { index },
            };
        };
        let index = self.ir.results(operation).position(|result| result == value);
        let has_regions = self.ir.has_regions(operation);
        Origin::Result { op: self.name(operation), index: index.unwrap_or(0), has_regions }
    }

    fn is_argument_of_function(&self, value: I::Value) -> bool {
        let block = self.ir.argument_block(value);
        let is_entry = self.ir.blocks(self.ir.region(block)).next() == Some(block);
        self.view.unit.is_function && is_entry && self.ir.parent_of_block(block) == self.view.root
    }

    fn feeds(&mut self, slot: usize) -> Vec<OperandSource> {
        let view = self.view;
        let own = view.targets[slot].map(|target| view.value(target)).map(|target| {
            let parent = || self.ir.parent_of_block(self.ir.argument_block(target));
            self.ir.defining_op(target).unwrap_or_else(parent)
        });
        let feeds = view.feeds[slot].iter().map(|(operation, index)| OperandSource {
            place: place_of(self.ir, *operation),
            op: self.name(*operation),
            index: *index,
            is_own: own == Some(*operation),
        });
        feeds.collect()
    }
}
