//! Remarks on converts: why each was inserted and what it can lose, and which of them the policies find.

use promote_lattice::convert::loss;
use promote_lattice::{DType, Policy, Semantics};

use super::pass::{Config, Policies};
use super::raw;
use super::report::{definition_of, place_of};
use super::view::{IMPLICIT, View};
use promote_diagnostics::{Code, Diagnostic, Location, Severity};
use promote_infer::graph::{OpId, SlotId, ValueId};
use promote_infer::plan::{Insert, Make, Plan, Produced, Role, Use};
use promote_infer::solve::{Solution, typing};

/// A remark for each convert of `plan`, if they are asked for, and what the policies find: at every operand that is
/// promoted, also where a value is converted once for several. Promotions that the library has no code for are warned of
/// unasked: it refuses them.
pub fn all(view: &View, solution: &Solution, plan: &Plan, config: &Config) -> Vec<Diagnostic> {
    let semantics = &*config.semantics;
    let mut diagnostics = Vec::new();
    if config.remarks {
        diagnostics
            .extend(plan.inserts.iter().filter_map(|insert| remark(view, solution, insert, semantics)));
    }
    let policies = severities(&config.policies);
    if !policies.is_empty() {
        for edit in &plan.edits {
            let Use::Operand(op, index) = edit.place else { continue };
            // What inference converts was found there.
            if raw::attribute(view.ops[op.0 as usize].0, IMPLICIT).is_some() {
                continue;
            }
            let Some(make) = made(plan, edit.to) else { continue };
            let finding = |(policy, severity)| {
                finding(view, solution, (op, index), make, policy, semantics)
                    .map(|found| Diagnostic { severity, ..found })
            };
            diagnostics.extend(policies.iter().copied().filter_map(finding));
        }
    }
    if semantics.lacks_kernels() {
        let asked =
            policies.iter().find(|(policy, _)| *policy == Policy::NoKernel).map(|(_, severity)| *severity);
        let ops: Vec<OpId> = match asked {
            Some(_) => view.graph.ops().collect(),
            None => converted_ops(plan),
        };
        let severity = asked.unwrap_or(Severity::Warning);
        diagnostics
            .extend(ops.into_iter().filter_map(|op| no_kernel(view, solution, op, severity, semantics)));
    }
    diagnostics
}

/// The ops of which an operand is converted, each once.
fn converted_ops(plan: &Plan) -> Vec<OpId> {
    let converted = plan.edits.iter().filter(|edit| matches!(made(plan, edit.to), Some(Make::Convert(_))));
    let mut ops: Vec<OpId> = converted
        .filter_map(|edit| match edit.place {
            Use::Operand(op, _) => Some(op),
            Use::Feed(..) => None,
        })
        .collect();
    ops.dedup();
    ops
}

/// What is done to the value of a use beside broadcasting it.
fn made(plan: &Plan, mut produced: Produced) -> Option<Make> {
    while let Produced::Insert(id) = produced {
        let insert = &plan.inserts[id.0 as usize];
        match insert.make {
            Make::Convert(_) | Make::Literal(..) => return Some(insert.make),
            Make::Broadcast { .. } => produced = insert.source,
        }
    }
    None
}

/// What a policy finds in the promotion of an operand, located at the operand's op.
fn finding(
    view: &View,
    solution: &Solution,
    (op, index): (OpId, usize),
    make: Make,
    policy: Policy,
    semantics: &Semantics,
) -> Option<Diagnostic> {
    let operands = view.graph.operands(op);
    let value = operands[index];
    let from = semantics.strengthen(solution.dtype(value)?);
    let (what, to, reason) = match make {
        Make::Convert(to) => {
            let dtypes: Vec<_> = operands.iter().filter_map(|operand| solution.dtype(*operand)).collect();
            (format!(" from {from}"), to, policy.finds(from, to, &dtypes)?)
        }
        // A bound takes the end of the range, which bounds as well.
        Make::Literal(_, Role::Bound) | Make::Broadcast { .. } => return None,
        Make::Literal(to, Role::Number | Role::Exponent(_)) => {
            let literal = view.graph.value(value).literal?;
            let reason = policy.finds_literal(literal, to, semantics.numerics())?;
            (format!(", the literal {literal},"), to, reason)
        }
    };
    let name = view.graph.node(op).op;
    let message = format!("promoting operand {index} of {name}{what} to {to} {reason}");
    let definition = definition_of(view.values[value.0 as usize].0);
    Some(
        Diagnostic::new(Severity::Warning, code(policy), place_of(view.ops[op.0 as usize].0), message)
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
        "{library}'s dtype rules give {} for {name} of {}, which it refuses to run on a CPU",
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
    let dtype = solution.dtype(value)?;
    let (operation, subject) = match insert.serves {
        Use::Operand(op, index) => {
            let dtypes = view.graph.operands(op).iter().filter_map(|operand| solution.dtype(*operand));
            let dtypes: Vec<_> = dtypes.map(|dtype| dtype.name()).collect();
            let subject = format!("operand {index} of {} ({})", view.graph.node(op).op, dtypes.join(", "));
            (view.ops[op.0 as usize], subject)
        }
        Use::Feed(slot, index) => {
            let (operation, operand) = view.feeds[slot.0 as usize][index];
            (operation, format!("operand {operand} of {}", raw::name(operation.0)))
        }
    };
    Some(converted(view, solution, value, (dtype, to), (place_of(operation.0), &subject), semantics))
}

/// The remark that a value is converted as a `subject`.
fn converted(
    view: &View,
    solution: &Solution,
    value: ValueId,
    (dtype, to): (DType, DType),
    (place, subject): (Option<Location>, &str),
    semantics: &Semantics,
) -> Diagnostic {
    let from = semantics.strengthen(dtype);
    // Only a lattice has paths: other rules take a dtype to another at once.
    let path = semantics.order().path(dtype, to).filter(|_| semantics.is_on_lattice());
    let path = path.map_or(String::new(), |path| {
        let path: Vec<_> = path.iter().map(|dtype| dtype.name()).collect();
        format!(", along {}", path.join(" → "))
    });
    let loss = loss(from, to).map_or("loses nothing".to_owned(), |loss| loss.to_string());
    let message = format!("{subject} is converted from {from} to {to}{path}; {loss}");
    let shape = view.graph.shapes.get(solution.value(value).shape);
    let definition = definition_of(view.values[value.0 as usize].0);
    Diagnostic::new(Severity::Remark, Code::Converted, place, message)
        .with_note(definition, format!("the value converted has shape {shape}"))
}

/// What [`all`] says of operands, of the values that flow to slots: inference converts them.
pub fn edges(view: &View, solution: &Solution, config: &Config) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for slot in view.graph.slot_ids() {
        let Some(to) = solution.slot_dtype(slot) else { continue };
        let mut dtypes = None;
        for (index, feed) in
            view.graph.slot(slot).sources.iter().enumerate().filter(|(_, feed)| feed.is_operand)
        {
            if solution.dtype(feed.value).is_some_and(|dtype| dtype != to) {
                let dtypes = dtypes.get_or_insert_with(|| flowing(view, solution, slot));
                diagnostics.extend(edge(view, solution, (slot, index), (to, dtypes), config));
            }
        }
    }
    diagnostics
}

/// The dtypes that flow to a slot, each once.
fn flowing(view: &View, solution: &Solution, slot: SlotId) -> Vec<DType> {
    let sources = &view.graph.slot(slot).sources;
    let mut dtypes: Vec<DType> = sources.iter().filter_map(|feed| solution.dtype(feed.value)).collect();
    dtypes.sort_unstable();
    dtypes.dedup();
    dtypes
}

fn edge(
    view: &View,
    solution: &Solution,
    (slot, index): (SlotId, usize),
    (to, dtypes): (DType, &[DType]),
    config: &Config,
) -> Vec<Diagnostic> {
    let semantics = &*config.semantics;
    let value = view.graph.slot(slot).sources[index].value;
    let Some(dtype) = solution.dtype(value) else { return Vec::new() };
    let (from, to) = (semantics.strengthen(dtype), semantics.strengthen(to));
    let literal = view.graph.value(value).literal.filter(|_| dtype.is_weak());
    let (operation, operand) = view.feeds[slot.0 as usize][index];
    let (place, subject) =
        (place_of(operation.0), format!("operand {operand} of {}", raw::name(operation.0)));
    let mut diagnostics = Vec::new();
    if config.remarks && literal.is_none() && from != to {
        diagnostics.push(converted(view, solution, value, (dtype, to), (place.clone(), &subject), semantics));
    }
    for (policy, severity) in severities(&config.policies) {
        let (what, reason) = match literal {
            Some(literal) => {
                (format!(", the literal {literal},"), policy.finds_literal(literal, to, semantics.numerics()))
            }
            None => (format!(" from {from}"), policy.finds(from, to, dtypes)),
        };
        let Some(reason) = reason.filter(|_| literal.is_some() || from != to) else { continue };
        let message = format!("promoting {subject}{what} to {to} {reason}");
        diagnostics.push(
            Diagnostic::new(severity, code(policy), place.clone(), message)
                .with_note(
                    definition_of(view.values[value.0 as usize].0),
                    format!("the {from} value is defined here"),
                )
                .with_remedy("convert it with promote.convert, to say that it is meant or to avoid it"),
        );
    }
    diagnostics
}

/// The policies that are asked for, each once, as what is found by them.
fn severities(Policies { warn, deny, .. }: &Policies) -> Vec<(Policy, Severity)> {
    let warned =
        warn.iter().filter(|policy| !deny.contains(policy)).map(|policy| (*policy, Severity::Warning));
    warned.chain(deny.iter().map(|policy| (*policy, Severity::Error))).collect()
}
