//! Verification of strong programs: nothing weak, unknown or still implicit.
//!
//! [`verify`] solves a unit anew and plans its conversions: a strong program is one whose plan is empty.

use promote_lattice::{Op, Semantics};

use super::graph::{Graph, Known, OpId, ValueId};
use super::plan::{Edit, Make, Plan, Produced, Use, plan};
use super::report::Reporter;
use super::solve::{Solution, solve};
use super::source::Sources;
use super::unit::Unit;
use promote_diagnostics::{Code, Diagnostic, Location};

const RUN_INFERENCE: &str = "run promote-infer-types and promote-insert-converts first";
const RUN_INSERTION: &str = "run promote-insert-converts first";

/// Everything in a unit that is not strong, in program order.
pub fn verify(
    unit: &Unit,
    graph: &mut Graph,
    sources: &dyn Sources,
    semantics: &Semantics,
) -> Vec<Diagnostic> {
    let weak = weak_values(unit, graph, sources);
    if !weak.is_empty() {
        return weak;
    }
    let solution = solve(graph, semantics);
    let refused = Reporter { unit, graph, solution: &solution, sources }.diagnostics(&[]);
    if !refused.is_empty() {
        return refused;
    }
    let plan = plan(graph, &solution, semantics);
    still_implicit(Reporter { unit, graph, solution: &solution, sources }, &plan)
}

/// The same of a unit with its solution, in which nothing is refused, and with what insertion would do.
pub fn verify_planned(
    unit: &Unit,
    (graph, solution, plan): (&Graph, &Solution, &Plan),
    sources: &dyn Sources,
) -> Vec<Diagnostic> {
    let weak = weak_values(unit, graph, sources);
    if weak.is_empty() { still_implicit(Reporter { unit, graph, solution, sources }, plan) } else { weak }
}

/// What insertion would still do.
fn still_implicit(reporter: Reporter<'_>, plan: &Plan) -> Vec<Diagnostic> {
    let verifier = Verifier { solution: reporter.solution, plan, reporter };
    verifier.implicit().chain(verifier.unchecked()).chain(verifier.reporter.unranked()).collect()
}

/// Values whose type is weak, unknown, or mentions such a type, and relaxes.
fn weak_values(unit: &Unit, graph: &Graph, sources: &dyn Sources) -> Vec<Diagnostic> {
    let is_weak = |value: &ValueId| match graph.value(*value).stated.dtype {
        Known::DType(dtype) => dtype.is_weak(),
        Known::Unknown => true,
        Known::Opaque | Known::Refused => unit.nested.contains(value),
    };
    let weak = graph.value_ids().filter(|value| is_weak(value) && !graph.kept.contains(value)).map(|value| {
        let source = sources.map().value(value);
        let message = format!("a value is still of type {}", source.written);
        let remedy = match graph.value(value).stated.dtype {
            Known::Opaque => {
                "weak and unknown types are inferred in tensors only: extract the tensors from the value first"
            }
            Known::DType(_) | Known::Unknown | Known::Refused => RUN_INFERENCE,
        };
        not_strong(message, source.place.clone()).with_remedy(remedy)
    });
    let relaxes = graph.ops().filter(|op| graph.node(*op).op == Op::Relax);
    let relaxes = relaxes.map(|op| {
        not_strong("a promote.relax remains".to_owned(), sources.map().op(op)).with_remedy(RUN_INFERENCE)
    });
    let mut found: Vec<_> = weak.chain(relaxes).collect();
    if unit.has_weak_signature && found.is_empty() {
        let map = sources.map();
        let message = format!("the function's type is still {}", map.signature);
        found.push(not_strong(message, map.place.clone()).with_remedy(RUN_INFERENCE));
    }
    found
}

fn not_strong(message: String, place: Option<Location>) -> Diagnostic {
    Diagnostic::error(Code::NotStrong, place, message)
}

struct Verifier<'a> {
    reporter: Reporter<'a>,
    solution: &'a Solution,
    plan: &'a Plan,
}

impl Verifier<'_> {
    /// What insertion would still convert or broadcast.
    fn implicit(&self) -> impl Iterator<Item = Diagnostic> {
        self.plan.edits.iter().map(|edit| self.edit(edit))
    }

    fn edit(&self, edit: &Edit) -> Diagnostic {
        let graph = self.reporter.graph;
        let (place, subject, operand) = match edit.place {
            Use::Operand(op, index) => {
                let subject = format!("{} of {}", graph.taken(op, index), graph.name(op));
                (self.reporter.sources.map().op(op), subject, graph.operands(op)[index])
            }
            Use::Feed(slot, index) => {
                let (place, subject) = self.reporter.feed(slot, index);
                (place, subject, graph.slot(slot).sources[index].value)
            }
        };
        let (result, make) = match edit.to {
            Produced::Insert(insert) => {
                let insert = &self.plan.inserts[insert.0 as usize];
                (insert.result, Some(insert.make))
            }
            Produced::Value(converted) => (self.solution.value(converted), None),
        };
        let (code, verb) = match make {
            Some(Make::Broadcast { .. }) => (Code::ImplicitBroadcast, "broadcast"),
            Some(Make::Convert(_) | Make::Literal(..)) | None => (Code::ImplicitPromotion, "converted"),
        };
        let from = self.reporter.found_type(self.solution.value(operand), operand);
        let to = self.reporter.found_type(result, operand);
        let definition = self.reporter.sources.map().definition(operand);
        Diagnostic::error(code, place, format!("{subject}, {from}, would still be {verb} to {to}"))
            .with_note(definition, "the operand is defined here")
            .with_remedy(RUN_INSERTION)
    }

    /// Ops that ask something of extents that is not checked at run time.
    fn unchecked(&self) -> impl Iterator<Item = Diagnostic> {
        let asked = self.plan.checks.iter().map(|check| (check.op, check.condition.to_string()));
        let stated = |(op, _): &(OpId, _)| {
            (*op, "the result states extents that are known at run time only".to_owned())
        };
        let refined = self.plan.refined.iter().map(stated);
        asked.chain(refined).map(|(op, asked)| {
            let message = format!("{} is not checked yet: {asked}", self.reporter.graph.name(op));
            not_strong(message, self.reporter.sources.map().op(op)).with_remedy(RUN_INSERTION)
        })
    }
}
