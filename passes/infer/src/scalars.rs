//! Python scalars that Python computes before the library sees them: `0.5 * 2` in a program of PyTorch's is the number 1.
//!
//! [`compute`] finds them in a graph, for semantics whose operators between Python scalars are
//! [Python's](Semantics::has_pythons_operators). What they are is written into the program as one number, a Python scalar
//! as those it is made of; so it takes the dtype of what it meets, and is rounded once.

use promote_lattice::convert::{Literal, is_exact};
use promote_lattice::scalar::{self, Scalar};
use promote_lattice::semantics::{Operand, Refusal, Typing};
use promote_lattice::{Op, Semantics};
use rustc_hash::FxHashMap;

use super::graph::{Graph, Known, OpId, Source, ValueId};

/// The Python scalars of a graph.
#[derive(Clone, Debug, Default)]
pub struct Scalars {
    /// Those whose numbers are known.
    numbers: FxHashMap<ValueId, Scalar>,
    /// What Python makes of ops on them.
    outcomes: FxHashMap<OpId, Result<Scalar, Refusal>>,
}

impl Scalars {
    /// The number that a value is known to be.
    pub fn number(&self, value: ValueId) -> Option<Scalar> {
        self.numbers.get(&value).copied()
    }

    /// What Python makes of an op, if it computes it.
    pub fn outcome(&self, op: OpId) -> Option<&Result<Scalar, Refusal>> {
        self.outcomes.get(&op)
    }

    /// The ops that Python computes, with their numbers, in program order.
    pub fn computed(&self) -> Vec<(OpId, Scalar)> {
        let numbers = self.outcomes.iter().filter_map(|(op, outcome)| Some((*op, *outcome.as_ref().ok()?)));
        let mut numbers: Vec<_> = numbers.collect();
        numbers.sort_unstable_by_key(|(op, _)| *op);
        numbers
    }
}

/// Lets Python compute what it computes of the numbers that `graph` states.
pub fn compute(graph: &mut Graph, semantics: &Semantics) {
    if !semantics.has_pythons_operators() {
        return;
    }
    loop {
        let known = graph.scalars.numbers.len();
        for op in graph.ops() {
            visit(graph, op, semantics);
        }
        // An operand may be defined further on.
        if !graph.has_late_definitions || graph.scalars.numbers.len() == known {
            return;
        }
    }
}

fn visit(graph: &mut Graph, op: OpId, semantics: &Semantics) {
    let node = *graph.node(op);
    let number = match node.op {
        Op::Constant => written(graph, node.result),
        Op::Relax => graph.operands(op).first().and_then(|value| graph.scalars.number(*value)),
        operator => {
            let operands: Option<Vec<Scalar>> =
                graph.operands(op).iter().map(|value| graph.scalars.number(*value)).collect();
            let outcome = operands.and_then(|operands| scalar::compute(operator, &operands));
            let outcome = outcome.map(|outcome| {
                let semantics = semantics.name().into();
                outcome.map_err(|because| Refusal::Uncomputed { semantics, op: operator, because })
            });
            let number = outcome.as_ref().and_then(|outcome| outcome.as_ref().ok().copied());
            graph.scalars.outcomes.extend(outcome.map(|outcome| (op, outcome)));
            number
        }
    };
    if let Some(number) = number {
        graph.scalars.numbers.insert(node.result, number);
        graph.set_literal(node.result, number.literal());
    }
}

/// The Python scalar that a constant is.
fn written(graph: &Graph, constant: ValueId) -> Option<Scalar> {
    let value = graph.value(constant);
    match value.stated.dtype {
        Known::DType(dtype) if dtype.is_weak() => value.literal.map(Scalar::from),
        Known::DType(_) | Known::Unknown | Known::Opaque | Known::Refused => None,
    }
}

/// The operands of an op that are bools of Python's, with their numbers.
pub(super) fn bools(graph: &Graph, op: OpId) -> Vec<(usize, Literal)> {
    if graph.scalars.numbers.is_empty() {
        return Vec::new();
    }
    let number = |(index, value): (usize, &ValueId)| match graph.scalars.number(*value)? {
        bool @ Scalar::Bool(_) => Some((index, bool.literal())),
        Scalar::Int(_) | Scalar::Float(_) | Scalar::Complex(..) => None,
    };
    graph.operands(op).iter().enumerate().filter_map(number).collect()
}

/// Why an op is refused whose operands are Python scalars, if it is one that Python computes: one of them is known to a run
/// only.
pub(super) fn unknown(graph: &Graph, op: OpId, semantics: &Semantics) -> Option<Refusal> {
    let operator = graph.node(op).op;
    if !semantics.has_pythons_operators() || !scalar::is_pythons(operator) {
        return None;
    }
    let index = graph.operands(op).iter().position(|value| graph.scalars.number(*value).is_none())?;
    Some(Refusal::UnknownScalar { semantics: semantics.name().into(), op: operator, index })
}

/// Why an op is refused that computes in more digits than a Python scalar is kept in. What flows to a place is kept in the
/// default dtype of its kind; Python's own numbers are 64 bits wide.
pub(super) fn kept_narrow(
    graph: &Graph,
    op: OpId,
    semantics: &Semantics,
    (operands, typing): (&[Operand], &Typing),
) -> Option<Refusal> {
    if !semantics.has_pythons_operators() {
        return None;
    }
    let of_values = operands.iter().zip(graph.operands(op)).enumerate();
    let found = of_values.into_iter().find_map(|(index, (operand, value))| {
        let (kept, computed) =
            (semantics.strengthen(operand.dtype), semantics.strengthen(typing.compute(index)));
        let is_unknown = operand.dtype.is_weak() && !operand.is_literal() && flows_together(graph, *value);
        (is_unknown && !is_exact(computed, kept) && is_exact(kept, computed))
            .then_some((index, kept, computed))
    });
    let (index, kept, computed) = found?;
    let operator = graph.node(op).op;
    Some(Refusal::KeptNarrow { semantics: semantics.name().into(), op: operator, index, kept, computed })
}

/// Whether a value is that of a place that others flow to, perhaps relaxed.
fn flows_together(graph: &Graph, value: ValueId) -> bool {
    match graph.value(value).source {
        Source::Op(op) if graph.node(op).op == Op::Relax => flows_together(graph, graph.operands(op)[0]),
        Source::Op(_) => false,
        Source::Elsewhere => graph.slot_ids().any(|slot| graph.slot(slot).target == Some(value)),
    }
}
