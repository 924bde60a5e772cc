//! Places in the source, and the source map of a view.

use std::sync::Arc;

use mlir_sys::*;
use rustc_hash::FxHashMap;

use super::raw::{self, Address};
use super::view::{View, function_type};
use promote_diagnostics::Location;
use promote_infer::source::{OperandSource, Origin, SourceMap, ValueSource};

/// The place in a file that an MLIR location leads to, through names, calls and fusions: the first that is in a file.
pub fn location(location: MlirLocation) -> Option<Location> {
    let mut rest = vec![location];
    while let Some(location) = rest.pop() {
        // SAFETY: locations live as long as the context; each accessor is called on a location of its kind.
        unsafe {
            if mlirLocationIsAFileLineColRange(location) {
                let number = |n: i32| u32::try_from(n).unwrap_or(0);
                return Some(Location {
                    file: raw::text(mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location))),
                    line: number(mlirLocationFileLineColRangeGetStartLine(location)),
                    column: number(mlirLocationFileLineColRangeGetStartColumn(location)),
                });
            }
            if mlirLocationIsAName(location) {
                rest.push(mlirLocationNameGetChildLoc(location));
            } else if mlirLocationIsACallSite(location) {
                rest.push(mlirLocationCallSiteGetCallee(location));
            } else if mlirLocationIsAFused(location) {
                let mut parts = vec![location; mlirLocationFusedGetNumLocations(location) as usize];
                mlirLocationFusedGetLocations(location, parts.as_mut_ptr());
                rest.extend(parts.into_iter().rev());
            }
        }
    }
    None
}

/// The place of an op, or, if it has none, of its parents.
pub fn place_of(operation: MlirOperation) -> Option<Location> {
    let parent = std::iter::successors(Some(operation), |operation| raw::parent(*operation));
    // SAFETY: the operations are alive.
    parent.into_iter().find_map(|operation| location(unsafe { mlirOperationGetLocation(operation) }))
}

/// The place where a value is defined.
pub fn definition_of(value: MlirValue) -> Option<Location> {
    match raw::defining_op(value) {
        Some(operation) => place_of(operation),
        // SAFETY: a value that no op defines is a block argument.
        None => location(unsafe { mlirValueGetLocation(value) }),
    }
}

/// The source map of a view, whose program must be as it was viewed.
pub fn source_map(view: &View) -> SourceMap {
    let mut builder = MapBuilder { view, types: FxHashMap::default(), names: FxHashMap::default() };
    let places = |ops: &[Address<MlirOperation>]| ops.iter().map(|op| place_of(op.0)).collect();
    SourceMap {
        place: place_of(view.root.0),
        signature: function_type(view.root.0).map_or_else(String::new, raw::type_text),
        ops: places(&view.ops),
        values: view.values.iter().map(|value| builder.value(value.0)).collect(),
        feeds: (0..view.feeds.len()).map(|slot| builder.feeds(slot)).collect(),
        structures: view.structures.iter().map(|op| builder.name(op.0)).collect(),
        calls: places(&view.calls),
    }
}

/// Makes a source map, with each text once.
struct MapBuilder<'a> {
    view: &'a View,
    types: FxHashMap<Address<MlirType>, Arc<str>>,
    /// By MLIR's uniqued names.
    names: FxHashMap<usize, Arc<str>>,
}

impl MapBuilder<'_> {
    fn name(&mut self, operation: MlirOperation) -> Arc<str> {
        let name = || raw::name(operation).into();
        Arc::clone(self.names.entry(raw::name_id(operation)).or_insert_with(name))
    }

    fn value(&mut self, value: MlirValue) -> ValueSource {
        let r#type = raw::value_type(value);
        let text = || raw::type_text(r#type).into();
        let written = Arc::clone(self.types.entry(Address(r#type)).or_insert_with(text));
        ValueSource { place: definition_of(value), written, origin: self.origin(value) }
    }

    fn origin(&mut self, value: MlirValue) -> Origin {
        let Some(operation) = raw::defining_op(value) else {
            let index = raw::argument_number(value);
            return match self.is_argument_of_function(value) {
                true => Origin::FunctionArgument { index },
                false => Origin::BlockArgument { index },
            };
        };
        let index = raw::results(operation).position(|result| Address(result) == Address(value));
        let has_regions = raw::regions(operation).next().is_some();
        Origin::Result { op: self.name(operation), index: index.unwrap_or(0), has_regions }
    }

    fn is_argument_of_function(&self, value: MlirValue) -> bool {
        let parent = raw::parent_of_argument(value).filter(|_| raw::is_entry_argument(value));
        self.view.unit.is_function && parent.map(Address) == Some(self.view.root)
    }

    fn feeds(&mut self, slot: usize) -> Vec<OperandSource> {
        let view = self.view;
        let target = view.targets[slot].map(|target| view.values[target.0 as usize].0);
        let own =
            target.and_then(|target| raw::defining_op(target).or_else(|| raw::parent_of_argument(target)));
        let feeds = view.feeds[slot].iter().map(|(operation, index)| OperandSource {
            place: place_of(operation.0),
            op: self.name(operation.0),
            index: *index,
            is_own: own.is_some_and(|own| Address(own) == *operation),
        });
        feeds.collect()
    }
}
