//! Calls: which function each names.

use std::collections::{HashMap, HashSet};

use mlir_sys::MlirOperation;

use super::raw::{self, Address};
use super::view::View;
use promote_infer::program::FunctionId;

/// The functions that calls name.
pub struct Callees(HashMap<(Address<MlirOperation>, String), FunctionId>);

impl Callees {
    /// The functions among `views`, which are numbered as they are.
    pub fn new<'a>(views: impl IntoIterator<Item = &'a View>) -> Self {
        let symbol = |(index, view): (usize, &View)| {
            let name = view.unit.is_function.then(|| view.unit.symbol.clone()).flatten()?;
            Some(((Address(raw::parent(view.root.0)?), name), FunctionId(index as u32)))
        };
        Self(views.into_iter().enumerate().filter_map(symbol).collect())
    }

    /// The function of that name in the nearest symbol table that contains an op.
    pub fn find(&self, parent: MlirOperation, name: &str) -> Option<FunctionId> {
        let mut tables = std::iter::successors(raw::parent(parent), |table| raw::parent(*table));
        tables.find_map(|table| self.0.get(&(Address(table), name.to_owned())).copied())
    }

    /// The function that a call of a view names.
    pub fn callee(&self, view: &View, call: usize) -> Option<FunctionId> {
        self.find(view.calls[call].0, &view.unit.calls[call].callee)
    }
}

/// What links each unit to the others: the functions that its calls name, and whether it is inferred as it is written.
///
/// That are `root`, as who calls it is not seen, and functions that contain others, which would have to be copied too.
pub fn links(views: &[View], callees: &Callees, root: MlirOperation) -> Vec<(Vec<Option<FunctionId>>, bool)> {
    let above =
        |view: &View| std::iter::successors(raw::parent(view.root.0), |o| raw::parent(*o)).map(Address);
    let fixed: HashSet<Address<MlirOperation>> =
        views.iter().filter(|view| view.unit.is_function).flat_map(above).chain([Address(root)]).collect();
    let links = |view: &View| {
        let callees = (0..view.calls.len()).map(|call| callees.callee(view, call)).collect();
        (callees, fixed.contains(&view.root))
    };
    views.iter().map(links).collect()
}
