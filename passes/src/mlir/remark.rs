//! Remarks on converts: why each was inserted and what it can lose, and which of them the policies find.

use promote_lattice::convert::loss;
use promote_lattice::{Policy, Semantics};

use super::pass::{Config, Policies};
use super::report::{definition_of, place_of};
use super::view::View;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::engine::plan::{Insert, Make, Plan, Produced, Use};
use crate::engine::solve::Solution;

/// A remark for each convert of `plan`, if they are asked for, and what the policies find.
pub fn all(view: &View, solution: &Solution, plan: &Plan, config: &Config) -> Vec<Diagnostic> {
    let Policies { warn, deny } = &config.policies;
    if !config.remarks && warn.is_empty() && deny.is_empty() {
        return Vec::new();
    }
    let mut said = Vec::new();
    for insert in &plan.inserts {
        let severities = warn.iter().map(|policy| (policy, Severity::Warning));
        let severities = severities.filter(|(policy, _)| !deny.contains(policy));
        for (policy, severity) in severities.chain(deny.iter().map(|policy| (policy, Severity::Error))) {
            said.extend(finding(view, solution, insert, *policy, severity, &config.semantics));
        }
        if config.remarks {
            said.extend(remark(view, solution, insert, &config.semantics));
        }
    }
    said
}

/// What a policy finds in the convert that an insert is, located at the operand's op.
fn finding(
    view: &View,
    solution: &Solution,
    insert: &Insert,
    policy: Policy,
    severity: Severity,
    semantics: &Semantics,
) -> Option<Diagnostic> {
    let (Make::Convert(to), Produced::Value(value)) = (insert.make, insert.source) else { return None };
    let Use::Operand(op, index) = insert.serves else { return None };
    let from = semantics.strengthen(solution.dtype(value)?);
    let dtypes: Vec<_> =
        view.graph.operands(op).iter().filter_map(|operand| solution.dtype(*operand)).collect();
    let reason = policy.finds(from, to, &dtypes)?;
    let code = match policy {
        Policy::PrecisionLoss => Code::PrecisionLoss,
        Policy::MagnitudeLoss => Code::MagnitudeLoss,
        Policy::Widening => Code::Widening,
        Policy::MixedSignedness => Code::MixedSignedness,
    };
    let name = view.graph.node(op).op;
    let message = format!("promoting operand {index} of {name} from {from} to {to} {reason}");
    let definition = definition_of(view.values[value.0 as usize].0);
    Some(
        Diagnostic::new(severity, code, place_of(view.ops[op.0 as usize].0), message)
            .with_note(definition, format!("the {from} operand is defined here"))
            .with_remedy("convert an operand with promote.convert, to say that it is meant or to avoid it"),
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
    let path = semantics.order().path(weak_or_strong, to).map_or(String::new(), |path| {
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
