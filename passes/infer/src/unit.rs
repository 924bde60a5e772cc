//! Units: what is inferred at a time, a function or what stands in a program outside of functions, beside its graph.

use promote_dialect::attrs;
use rustc_hash::FxHashSet;

use super::graph::{Graph, Known, OpId, SlotId, ValueId};
use super::solve;

/// A direct call of a function.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name of the function it calls.
    pub callee: String,
    /// What it passes and gets back, and where it stands.
    pub call: solve::Call,
    /// Whether the types of its results are those of the callee, once that is inferred: the IR states them in part.
    pub follows_callee: bool,
}

/// What a host says of a unit beside its graph. All ids are the graph's.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Whether it is a function, and not what is outside of functions.
    pub is_function: bool,
    /// Whether it is a function that nothing outside of its module calls.
    pub is_private: bool,
    /// Whether it is a function without a body.
    pub is_declaration: bool,
    /// Whether it is a function without a body whose signature mentions the unknown type in an argument.
    pub declares_unknown_arguments: bool,
    /// The name of the function.
    pub symbol: Option<String>,
    /// The arguments of the function.
    pub arguments: Vec<ValueId>,
    /// A slot for each result of the function.
    pub results: Vec<SlotId>,
    /// The direct calls in it.
    pub calls: Vec<Call>,
    /// The values that are no tensors of a dtype, and whose types mention a weak or unknown one, as a tuple's may.
    pub nested: FxHashSet<ValueId>,
    /// Whether it is a function whose signature mentions a weak or unknown type.
    pub has_weak_signature: bool,
    /// What is wrong with attributes.
    pub attr_problems: Vec<(OpId, attrs::Problem)>,
}

impl Unit {
    /// Whether this is a private function with arguments of unknown dtype: if nothing stands against it, it is inferred
    /// for each signature it is called with.
    pub fn is_generic(&self, graph: &Graph) -> bool {
        let is_unknown = |argument: &ValueId| graph.value(*argument).stated.dtype == Known::Unknown;
        self.is_function && self.is_private && self.arguments.iter().any(is_unknown)
    }
}
