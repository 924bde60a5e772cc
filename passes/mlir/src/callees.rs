//! Calls: which function each names, and the functions as a program of the engine.

use std::collections::{HashMap, HashSet};

use mlir_sys::MlirOperation;

use super::raw::{self, Address};
use super::view::View;
use promote_infer::program::{Function, FunctionId};
use promote_infer::unit::Call;

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

/// The functions of the engine's program, and for each the indices in its view of the calls that it has there.
///
/// Not generic are `root`, as who calls it is not seen, and functions that contain others, which would have to be copied too.
pub fn functions(views: &[View], callees: &Callees, root: MlirOperation) -> (Vec<Function>, Vec<Vec<usize>>) {
    let above =
        |view: &View| std::iter::successors(raw::parent(view.root.0), |o| raw::parent(*o)).map(Address);
    let parent: HashSet<Address<MlirOperation>> =
        views.iter().filter(|view| view.unit.is_function).flat_map(above).chain([Address(root)]).collect();
    let generic: Vec<bool> =
        views.iter().map(|view| view.unit.is_generic(&view.graph) && !parent.contains(&view.root)).collect();
    let function = |(view, is_generic): (&View, &bool)| {
        let followed = |(index, call): (usize, &Call)| {
            let callee = callees.callee(view, index)?;
            (call.follows_callee || generic[callee.0 as usize]).then_some((index, callee))
        };
        let (calls, callees): (Vec<usize>, Vec<FunctionId>) =
            view.unit.calls.iter().enumerate().filter_map(followed).unzip();
        let function = Function {
            arguments: view.unit.arguments.clone(),
            results: view.unit.results.clone(),
            calls: calls.iter().map(|index| view.unit.calls[*index].call.clone()).collect(),
            callees,
            is_generic: *is_generic,
        };
        (function, calls)
    };
    views.iter().zip(&generic).map(function).unzip()
}
