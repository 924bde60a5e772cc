//! Functions that call each other: in which order they are solved, and what is wrong with those that never end.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::super::graph::Known;
use super::super::solve::{Call, CallId, Place, Problem, ProblemKind};
use super::{Function, FunctionId, Instance};

/// Reports the first call whose results are never known: nothing else is wrong, so they depend on themselves. A function
/// that returns nowhere, as a declaration does, is reported by itself.
pub(super) fn report_recursion(functions: &[Function], instances: &mut [Instance]) {
    let returns = |instance: &Instance| {
        let results = &functions[instance.function.0 as usize].results;
        results.iter().all(|slot| !instance.graph.slot(*slot).sources.is_empty())
    };
    if !instances.iter().all(returns) {
        return;
    }
    for Instance { function, solution, .. } in instances {
        let calls = &functions[function.0 as usize].calls;
        let unknown =
            |call: &Call| call.results.iter().any(|result| solution.value(*result).dtype == Known::Unknown);
        if let Some(call) = calls.iter().position(unknown) {
            let place = Place::Call(CallId(call as u32));
            solution.problems.push(Problem { place, kind: ProblemKind::Recursive });
            return;
        }
    }
}

/// The functions, callees before their callers but for those that call each other, which get the same number.
pub(super) fn order(functions: &[Function]) -> (Vec<FunctionId>, Vec<u32>) {
    let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(functions.len(), functions.len());
    functions.iter().for_each(|_| {
        graph.add_node(());
    });
    for (index, function) in functions.iter().enumerate() {
        for callee in &function.callees {
            graph.add_edge(NodeIndex::new(index), NodeIndex::new(callee.0 as usize), ());
        }
    }
    let mut components = vec![0; functions.len()];
    let mut order = Vec::with_capacity(functions.len());
    for (number, members) in kosaraju_scc(&graph).into_iter().enumerate() {
        for member in members {
            components[member.index()] = number as u32;
            order.push(FunctionId(member.index() as u32));
        }
    }
    (order, components)
}
