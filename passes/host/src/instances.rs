//! Instances of generic functions as functions of the module.

use promote_infer::program::{Function, FunctionId, Instance};
use promote_infer::specialise::{OtherUse, Scopes, Specialised};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callees::Callees;
use crate::ir::Ir;
use crate::source::place_of;
use crate::units::{self, Units};
use crate::view::{View, view};

/// Everything but a call that names a generic function of `functions`.
pub fn other_uses<I: Ir>(ir: &I, root: I::Op, functions: &[Function], callees: &Callees<I>) -> Vec<OtherUse> {
    if functions.iter().all(|function| !function.is_generic) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut visit = |operation: I::Op| {
        for symbol in ir.symbols_named(operation) {
            let callee = callees.find(ir, operation, &symbol);
            if callee.is_some_and(|callee| functions[callee.0 as usize].is_generic) {
                let op = ir.name_text(ir.name(operation));
                found.push(OtherUse { symbol, op, place: place_of(ir, operation) });
            }
        }
    };
    units::roots(ir, root).into_iter().for_each(|unit| units::walk(ir, unit, &mut visit));
    found
}

/// The symbol tables of units.
pub struct Tables<'a, I: Ir> {
    ir: &'a I,
    /// The table that each unit stands in.
    tables: Vec<Option<I::Op>>,
    /// The tables, by number.
    numbers: FxHashMap<I::Op, usize>,
}

impl<'a, I: Ir> Tables<'a, I> {
    /// Those that the units of `views` stand in.
    pub fn new(ir: &'a I, views: &[View<I>]) -> Self {
        let tables: Vec<_> = views.iter().map(|view| ir.parent(view.root)).collect();
        let mut numbers = FxHashMap::default();
        for table in tables.iter().flatten() {
            let next = numbers.len();
            numbers.entry(*table).or_insert(next);
        }
        Self { ir, tables, numbers }
    }
}

impl<I: Ir> Scopes for Tables<'_, I> {
    fn table(&self, function: FunctionId) -> Option<usize> {
        self.tables[function.0 as usize].map(|table| self.numbers[&table])
    }

    fn symbols(&self, function: FunctionId) -> FxHashSet<String> {
        let table = self.tables[function.0 as usize];
        let blocks = table.into_iter().flat_map(|table| units::blocks(self.ir, table));
        let operations = blocks.flat_map(|block| self.ir.operations(block));
        operations.filter_map(|operation| self.ir.symbol(operation)).collect()
    }

    fn like(&self, name: String) -> String {
        self.ir.symbol_like(name)
    }
}

/// Makes the functions of `instances`, in place of the generic ones of `views`; the units in program order.
pub fn apply<I: Ir>(
    ir: &mut I,
    views: Vec<View<I>>,
    specialised: &Specialised,
    instances: Vec<Instance>,
) -> Units<I> {
    let mut views: Vec<Option<View<I>>> = views.into_iter().map(Some).collect();
    for unused in &specialised.unused {
        if let Some(view) = views[unused.0 as usize].take() {
            // Nothing that is kept calls the function, and its view, which has the handles, is gone with it.
            ir.erase(view.root);
        }
    }
    let mut units: Units<I> = Vec::with_capacity(instances.len());
    for (made, instance) in specialised.made.iter().zip(instances) {
        let original = &mut views[made.function.0 as usize];
        let view = match made.is_copy {
            true => original.as_ref().map(|original| copy(ir, original)),
            false => original.take(),
        };
        let Some(mut view) = view else { unreachable!("the last instance is the function itself") };
        view.graph = instance.graph;
        if let Some(name) = &made.name {
            ir.set_symbol(view.root, name);
            view.unit.symbol = Some(name.to_owned());
        }
        units.push((view, instance.solution));
    }
    for (instance, call, symbol) in &specialised.calls {
        ir.set_callee(units[*instance].0.calls[*call], symbol);
    }
    units
}

/// A copy of a function, before it.
fn copy<I: Ir>(ir: &mut I, of: &View<I>) -> View<I> {
    let copy = ir.copy(of.root);
    ir.insert_before(copy, of.root);
    view(copy, ir)
}
