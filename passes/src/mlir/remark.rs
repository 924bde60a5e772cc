//! Remarks on converts: why each was inserted and what it can lose, and which of them the policies find.

use promote_lattice::convert::loss;
use promote_lattice::{DType, Policy, Semantics};

use super::pass::{Config, Policies};
use super::report::{definition_of, place_of};
use super::view::View;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::engine::graph::OpId;
use crate::engine::plan::{Insert, Make, Plan, Produced, Use};
use crate::engine::solve::{Solution, typing};

/// A remark for each convert of `plan`, if they are asked for, and what the policies find: at every operand that is
/// promoted, also where a value is converted once for several.
pub fn all(view: &View, solution: &Solution, plan: &Plan, config: &Config) -> Vec<Diagnostic> {
    let Policies { warn, deny } = &config.policies;
    let mut said = Vec::new();
    if config.remarks {
        said.extend(
            plan.inserts.iter().filter_map(|insert| remark(view, solution, insert, &config.semantics)),
        );
    }
    let warned =
        warn.iter().filter(|policy| !deny.contains(policy)).map(|policy| (policy, Severity::Warning));
    let policies: Vec<_> = warned.chain(deny.iter().map(|policy| (policy, Severity::Error))).collect();
    if policies.is_empty() {
        return said;
    }
    for edit in &plan.edits {
        let Use::Operand(op, index) = edit.place else { continue };
        let Some(to) = converted_to(plan, edit.to) else { continue };
        for (policy, severity) in &policies {
            said.extend(finding(view, solution, (op, index, to), **policy, *severity, &config.semantics));
        }
    }
    for (_, severity) in policies.iter().filter(|(policy, _)| **policy == Policy::NoKernel) {
        said.extend(
            view.graph.ops().filter_map(|op| no_kernel(view, solution, op, *severity, &config.semantics)),
        );
    }
    said
}

/// The dtype that a use gets its value in, if it is converted.
fn converted_to(plan: &Plan, mut produced: Produced) -> Option<DType> {
    while let Produced::Insert(id) = produced {
        let insert = &plan.inserts[id.0 as usize];
        match insert.make {
            Make::Convert(dtype) => return Some(dtype),
            Make::Literal(..) => return None,
            Make::Broadcast { .. } => produced = insert.source,
        }
    }
    None
}

/// What a policy finds in the promotion of an operand to a dtype, located at the operand's op.
fn finding(
    view: &View,
    solution: &Solution,
    (op, index, to): (OpId, usize, DType),
    policy: Policy,
    severity: Severity,
    semantics: &Semantics,
) -> Option<Diagnostic> {
    let operands = view.graph.operands(op);
    let from = semantics.strengthen(solution.dtype(operands[index])?);
    let dtypes: Vec<_> = operands.iter().filter_map(|operand| solution.dtype(*operand)).collect();
    let reason = policy.finds(from, to, &dtypes)?;
    let name = view.graph.node(op).op;
    let message = format!("promoting operand {index} of {name} from {from} to {to} {reason}");
    let definition = definition_of(view.values[operands[index].0 as usize].0);
    Some(
        Diagnostic::new(severity, code(policy), place_of(view.ops[op.0 as usize].0), message)
            .with_note(definition, format!("the {from} operand is defined here"))
            .with_remedy("convert an operand with promote.convert, to say that it is meant or to avoid it"),
    )
}

const fn code(policy: Policy) -> Code {
    match policy {
        Policy::PrecisionLoss => Code::PrecisionLoss,
        Policy::MagnitudeLoss => Code::MagnitudeLoss,
        Policy::Widening => Code::Widening,
        Policy::MixedSignedness => Code::MixedSignedness,
        Policy::NoKernel => Code::NoKernel,
    }
}

/// An op whose dtype rule the library has, and no code for it.
fn no_kernel(
    view: &View,
    solution: &Solution,
    op: OpId,
    severity: Severity,
    semantics: &Semantics,
) -> Option<Diagnostic> {
    let typing = typing(&view.graph, semantics, op, |value| solution.value(value)).ok()??;
    if typing.has_kernel {
        return None;
    }
    let dtypes = view.graph.operands(op).iter().filter_map(|operand| solution.dtype(*operand));
    let dtypes: Vec<_> = dtypes.map(DType::name).collect();
    let (library, name) = (semantics.name(), view.graph.node(op).op.name());
    let message = format!(
        "{library}'s dtype rules give {} for {name} of {}, and its CPU build has no code for it",
        typing.result,
        dtypes.join(" and ")
    );
    let place = place_of(view.ops[op.0 as usize].0);
    Some(
        Diagnostic::new(severity, code(Policy::NoKernel), place, message)
            .with_remedy("convert the operands to a dtype that the library computes in with promote.convert"),
    )
}

fn remark(view: &View, solution: &Solution, insert: &Insert, semantics: &Semantics) -> Option<Diagnostic> {
    let (Make::Convert(to), Produced::Value(value)) = (insert.make, insert.source) else { return None };
    let weak_or_strong = solution.dtype(value)?;
    let from = semantics.strengthen(weak_or_strong);
    let (place, why) = match insert.serves {
        Use::Operand(op, index) => {
            let dtypes = view.graph.operands(op).iter().filter_map(|operand| solution.dtype(*operand));
            let dtypes: Vec<_> = dtypes.map(|dtype| dtype.name()).collect();
            let name = view.graph.node(op).op;
            let why =
                format!("operand {index} of {name} ({}) is converted from {from} to {to}", dtypes.join(", "));
            (place_of(view.ops[op.0 as usize].0), why)
        }
        Use::Feed(slot, index) => {
            let result = slot.0;
            (place_of(view.returns[index].0), format!("result {result} is converted from {from} to {to}"))
        }
    };
    // Only a lattice has paths: other rules take a dtype to another at once.
    let path = semantics.order().path(weak_or_strong, to).filter(|_| semantics.is_on_lattice());
    let path = path.map_or(String::new(), |path| {
        let path: Vec<_> = path.iter().map(|dtype| dtype.name()).collect();
        format!(", along {}", path.join(" → "))
    });
    let loss = loss(from, to).map_or("loses nothing".to_owned(), |loss| loss.to_string());
    let diagnostic =
        Diagnostic::new(Severity::Remark, Code::Converted, place, format!("{why}{path}; {loss}"));
    let shape = view.graph.shapes.get(solution.value(value).shape);
    let definition = definition_of(view.values[value.0 as usize].0);
    Some(diagnostic.with_note(definition, format!("the value converted has shape {shape}")))
}
