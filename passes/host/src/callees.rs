//! Calls: which function each names.

use std::collections::{HashMap, HashSet};

use promote_infer::program::FunctionId;

use crate::ir::Ir;
use crate::view::View;

/// The functions that calls name.
pub struct Callees<I: Ir>(HashMap<(I::Op, String), FunctionId>);

impl<I: Ir> Callees<I> {
    /// The functions among `views`, which are numbered as they are.
    pub fn new<'a>(ir: &I, views: impl IntoIterator<Item = &'a View<I>>) -> Self
    where
        I: 'a,
    {
        let symbol = |(index, view): (usize, &View<I>)| {
            let name = view.unit.is_function.then(|| view.unit.symbol.clone()).flatten()?;
            Some(((ir.parent(view.root)?, name), FunctionId(index as u32)))
        };
        Self(views.into_iter().enumerate().filter_map(symbol).collect())
    }

    /// The function of that name in the nearest symbol table that contains an op.
    pub fn find(&self, ir: &I, operation: I::Op, name: &str) -> Option<FunctionId> {
        let mut tables = std::iter::successors(ir.parent(operation), |table| ir.parent(*table));
        tables.find_map(|table| self.0.get(&(table, name.to_owned())).copied())
    }

    /// The function that a call of a view names.
    pub fn callee(&self, ir: &I, view: &View<I>, call: usize) -> Option<FunctionId> {
        self.find(ir, view.calls[call], &view.unit.calls[call].callee)
    }
}

/// What links each unit to the others: the functions that its calls name, and whether it is inferred as it is written.
///
/// That are `root`, as who calls it is not seen, and functions that contain others, which would have to be copied too.
pub fn links<I: Ir>(
    ir: &I,
    views: &[View<I>],
    callees: &Callees<I>,
    root: I::Op,
) -> Vec<(Vec<Option<FunctionId>>, bool)> {
    let above = |view: &View<I>| std::iter::successors(ir.parent(view.root), |o| ir.parent(*o));
    let fixed: HashSet<I::Op> =
        views.iter().filter(|view| view.unit.is_function).flat_map(above).chain([root]).collect();
    let links = |view: &View<I>| {
        let callees = (0..view.calls.len()).map(|call| callees.callee(ir, view, call)).collect();
        (callees, fixed.contains(&view.root))
    };
    views.iter().map(links).collect()
}
