//! Instances of generic functions as functions of the module.

use mlir_sys::*;
use promote_dialect::mlir::Names;
use rustc_hash::FxHashSet;

use super::callees::Callees;
use super::places::place_of;
use super::raw;
use super::units::{self, Units};
use super::view::{View, view};
use promote_infer::program::{Function, FunctionId, Instance};
use promote_infer::specialise::{OtherUse, Scopes, Specialised};

/// Everything but a call that names a generic function of `functions`.
pub fn other_uses(root: MlirOperation, functions: &[Function], callees: &Callees) -> Vec<OtherUse> {
    if functions.iter().all(|function| !function.is_generic) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut visit = |operation: MlirOperation| {
        for (name, value) in raw::attributes(operation) {
            let Some(symbol) = raw::symbol(value) else { continue };
            let callee = callees.find(operation, &symbol);
            let generic = callee.is_some_and(|callee| functions[callee.0 as usize].is_generic);
            if generic && !(raw::is_named(operation, "func.call") && name == "callee") {
                found.push(OtherUse { symbol, op: raw::name(operation), place: place_of(operation) });
            }
        }
    };
    units::roots(root).into_iter().for_each(|unit| units::walk(unit.0, &mut visit));
    found
}

/// The symbol tables of units.
pub struct Tables<'a>(pub &'a [View]);

impl Tables<'_> {
    fn table_of(&self, function: FunctionId) -> Option<MlirOperation> {
        raw::parent(self.0[function.0 as usize].root.0)
    }
}

impl Scopes for Tables<'_> {
    fn table(&self, function: FunctionId) -> Option<usize> {
        self.table_of(function).map(|table| table.ptr.addr())
    }

    fn symbols(&self, function: FunctionId) -> FxHashSet<String> {
        let regions = self.table_of(function).into_iter().flat_map(raw::regions);
        let operations = regions.flat_map(raw::blocks).flat_map(raw::operations);
        operations.filter_map(|operation| raw::string_attribute(operation, "sym_name")).collect()
    }
}

/// Makes the functions of `instances`, in place of the generic ones of `views`; the units in program order.
pub fn apply(views: Vec<View>, specialised: &Specialised, instances: Vec<Instance>, names: &Names) -> Units {
    let mut views: Vec<Option<View>> = views.into_iter().map(Some).collect();
    for unused in &specialised.unused {
        if let Some(view) = views[unused.0 as usize].take() {
            // SAFETY: nothing that is kept calls the function, and its view, which has the handles, is gone with it.
            unsafe { raw::erase(view.root.0) };
        }
    }
    let mut units: Units = Vec::with_capacity(instances.len());
    for (made, instance) in specialised.made.iter().zip(instances) {
        let original = &mut views[made.function.0 as usize];
        let view = match made.is_copy {
            true => original.as_ref().map(|original| copy(original, names)),
            false => original.take(),
        };
        let Some(mut view) = view else { unreachable!("the last instance is the function itself") };
        view.graph = instance.graph;
        if let Some(name) = &made.name {
            rename(&mut view, name);
        }
        units.push((view, instance.solution));
    }
    for (instance, call, symbol) in &specialised.calls {
        let operation = units[*instance].0.calls[*call].0;
        raw::set_attribute(operation, "callee", raw::symbol_reference(operation, symbol));
    }
    units
}

/// A copy of a function, before it.
fn copy(of: &View, names: &Names) -> View {
    // SAFETY: the function is alive, and the copy is in no block yet.
    let copy = unsafe { mlirOperationClone(of.root.0) };
    raw::insert_before(copy, of.root.0);
    view(copy, names)
}

fn rename(function: &mut View, name: &str) {
    let root = function.root.0;
    // SAFETY: the context is alive, and MLIR copies the name.
    let value = unsafe { mlirStringAttrGet(raw::context(root), raw::string(name)) };
    raw::set_attribute(root, "sym_name", value);
    function.unit.symbol = Some(name.to_owned());
}
