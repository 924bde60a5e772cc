//! What is wrong with a program: with each instance of each function, at the places of the function.

use super::{Reporter, line_and_column};
use crate::graph::Graph;
use crate::program::Instance;
use crate::source::Sources;
use crate::unit::Unit;
use promote_diagnostics::Diagnostic;

/// A function of a program as diagnostics describe it.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Its source.
    pub sources: &'a dyn Sources,
    /// The indices of the calls that its instances know.
    pub calls: &'a [usize],
}

/// What is wrong with the instances of `functions`; with one of a generic function, the call that it was made for.
pub fn problems(functions: &[Subject<'_>], instances: &[Instance]) -> Vec<Diagnostic> {
    let problems = |instance: &Instance| {
        let found = of_instance(functions, instance);
        match instance.made_for {
            Some((caller, call)) if !found.is_empty() => {
                let caller = functions[instances[caller].function.0 as usize];
                let place = &caller.sources.map().calls[caller.calls[call.0 as usize]];
                let note = signature(functions, instance);
                found.into_iter().map(|found| found.with_note(place.clone(), note.clone())).collect()
            }
            _ => found,
        }
    };
    instances.iter().flat_map(problems).collect()
}

fn reporter<'a>(functions: &[Subject<'a>], instance: &'a Instance) -> Reporter<'a> {
    let Subject { unit, sources, .. } = functions[instance.function.0 as usize];
    Reporter { unit, graph: &instance.graph, solution: &instance.solution, sources }
}

fn of_instance(functions: &[Subject<'_>], instance: &Instance) -> Vec<Diagnostic> {
    let reporter = reporter(functions, instance);
    let mut found = reporter.diagnostics(functions[instance.function.0 as usize].calls);
    if !instance.refused.is_empty() {
        found.extend(instance.refused.iter().map(|refused| reporter.strict_diagnostic(refused)));
        found.sort_by_key(line_and_column);
    }
    found
}

/// Which instance of a generic function this is, for a note at the call that it was made for.
fn signature(functions: &[Subject<'_>], instance: &Instance) -> String {
    let reporter = reporter(functions, instance);
    let graph: &Graph = reporter.graph;
    let found = |argument| reporter.found_type(graph.value(argument).stated, argument);
    let arguments: Vec<_> = reporter.unit.arguments.iter().copied().map(found).collect();
    let name = reporter.unit.symbol.as_deref().unwrap_or_default();
    format!("in @{name} as it is called here, with ({})", arguments.join(", "))
}
