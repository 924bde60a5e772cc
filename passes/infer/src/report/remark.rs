//! Remarks on converts: why each was inserted and what it can lose, and which of them the policies find.

use promote_lattice::convert::loss;
use promote_lattice::{DType, Policy, Semantics};

use super::{Historian, Reporter};
use crate::graph::{OpId, SlotId, ValueId};
use crate::plan::{Insert, Make, Plan, Produced, Role, Use};
use crate::solve::typing;
use promote_diagnostics::{Code, Diagnostic, Location, Severity};

/// Which implicit promotions to warn of and which to refuse, and what else.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// A warning for each.
    pub warn: Vec<Policy>,
    /// An error for each.
    pub deny: Vec<Policy>,
    /// Whether the carries of loops and the branches of conditions that JAX refuses are errors.
    pub strict_carries: bool,
}

impl Policies {
    /// Those that are asked for, each once, as what is found by them.
    fn severities(&self) -> Vec<(Policy, Severity)> {
        let Self { warn, deny, strict_carries: _ } = self;
        let warned =
            warn.iter().filter(|policy| !deny.contains(policy)).map(|policy| (*policy, Severity::Warning));
        warned.chain(deny.iter().map(|policy| (*policy, Severity::Error))).collect()
    }
}

/// Explains the conversions of one unit, as far as that is asked for.
#[derive(Clone, Copy)]
pub struct Remarks<'a> {
    /// The unit.
    pub reporter: Reporter<'a>,
    /// Whose rules.
    pub semantics: &'a Semantics,
    /// Whether a remark is made for each conversion.
    pub all: bool,
    /// Which of them are found.
    pub policies: &'a Policies,
}

impl Remarks<'_> {
    /// A remark for each convert of `plan`, if they are asked for, and what the policies find: at every operand that is
    /// promoted, also where a value is converted once for several. Promotions that the library has no code for are warned of
    /// unasked: it refuses them.
    pub fn of_plan(&self, plan: &Plan) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        if self.all {
            diagnostics.extend(plan.inserts.iter().filter_map(|insert| self.remark(insert)));
        }
        let policies = self.policies.severities();
        if !policies.is_empty() {
            for edit in &plan.edits {
                let Use::Operand(op, index) = edit.place else { continue };
                // What inference converts was found there.
                if self.reporter.graph.implicit.contains(&op) {
                    continue;
                }
                let Some(make) = made(plan, edit.to) else { continue };
                let finding = |(policy, severity)| {
                    self.finding((op, index), make, policy).map(|found| Diagnostic { severity, ..found })
                };
                diagnostics.extend(policies.iter().copied().filter_map(finding));
            }
        }
        if self.semantics.lacks_kernels() {
            let mut asked = policies.iter().filter(|(policy, _)| *policy == Policy::NoKernel);
            let asked = asked.next().map(|(_, severity)| *severity);
            let ops: Vec<OpId> = match asked {
                Some(_) => self.reporter.graph.ops().collect(),
                None => converted_ops(plan),
            };
            let severity = asked.unwrap_or(Severity::Warning);
            diagnostics.extend(ops.into_iter().filter_map(|op| self.no_kernel(op, severity)));
        }
        diagnostics
    }

    /// What inference has to say: what [`Self::of_plan`] says of operands, of the values that flow to slots, which inference
    /// converts; and the histories of carries.
    pub fn of_inference(&self) -> Vec<Diagnostic> {
        let mut diagnostics = self.edges();
        if self.all {
            diagnostics.extend(Historian::new(self.reporter).remarks());
        }
        diagnostics
    }

    /// The dtypes of the operands of an op.
    fn dtypes(&self, op: OpId) -> impl Iterator<Item = DType> {
        let operands = self.reporter.graph.operands(op).iter();
        operands.filter_map(|operand| self.reporter.solution.dtype(*operand))
    }

    /// What a policy finds in the promotion of an operand, located at the operand's op.
    fn finding(&self, (op, index): (OpId, usize), make: Make, policy: Policy) -> Option<Diagnostic> {
        let Reporter { graph, solution, .. } = self.reporter;
        let value = graph.operands(op)[index];
        let from = self.semantics.strengthen(solution.dtype(value)?);
        let (what, to, reason) = match make {
            Make::Convert(to) => {
                let dtypes: Vec<_> = self.dtypes(op).collect();
                (format!(" from {from}"), to, policy.finds(from, to, &dtypes)?)
            }
            // A bound takes the end of the range, which bounds as well.
            Make::Literal(_, Role::Bound) | Make::Broadcast { .. } => return None,
            Make::Literal(to, Role::Number | Role::Exponent(_)) => {
                let literal = graph.value(value).literal?;
                let reason = policy.finds_literal(literal, to, self.semantics.numerics())?;
                (format!(", the literal {literal},"), to, reason)
            }
        };
        let (name, taken) = (graph.name(op), graph.taken(op, index));
        let message = format!("promoting {taken} of {name}{what} to {to} {reason}");
        let map = self.reporter.map();
        Some(
            Diagnostic::new(Severity::Warning, code(policy), map.op(op), message)
                .with_note(map.definition(value), format!("the {from} operand is defined here"))
                .with_remedy("convert an operand with promote.convert explicitly, or avoid the conversion"),
        )
    }

    /// An op whose dtype rule the library has, and no code for it.
    fn no_kernel(&self, op: OpId, severity: Severity) -> Option<Diagnostic> {
        let Reporter { graph, solution, .. } = self.reporter;
        let typing = typing(graph, self.semantics, op, |value| solution.value(value)).ok()??;
        if typing.has_kernel {
            return None;
        }
        let dtypes: Vec<_> = self.dtypes(op).map(DType::name).collect();
        let (library, name) = (self.semantics.name(), graph.node(op).op.name());
        let message = format!(
            "{library}'s dtype rules return {} for {name} of {}, but {library} cannot run it on a CPU",
            typing.result,
            dtypes.join(" and ")
        );
        let place = self.reporter.map().op(op);
        Some(
            Diagnostic::new(severity, code(Policy::NoKernel), place, message).with_remedy(
                "convert the operands to a dtype that the library computes in with promote.convert",
            ),
        )
    }

    fn remark(&self, insert: &Insert) -> Option<Diagnostic> {
        let (Make::Convert(to), Produced::Value(value)) = (insert.make, insert.source) else { return None };
        let dtype = self.reporter.solution.dtype(value)?;
        let (place, subject) = match insert.serves {
            Use::Operand(op, index) => {
                let dtypes: Vec<_> = self.dtypes(op).map(DType::name).collect();
                let graph = self.reporter.graph;
                let (name, taken) = (graph.name(op), graph.taken(op, index));
                let subject = format!("{taken} of {name} ({})", dtypes.join(", "));
                (self.reporter.map().op(op), subject)
            }
            Use::Feed(slot, index) => self.reporter.feed(slot, index),
        };
        Some(self.converted(value, (dtype, to), (place, &subject)))
    }

    /// The remark that a value is converted as a `subject`.
    fn converted(
        &self,
        value: ValueId,
        (dtype, to): (DType, DType),
        (place, subject): (Option<Location>, &str),
    ) -> Diagnostic {
        let Reporter { graph, solution, .. } = self.reporter;
        let from = self.semantics.strengthen(dtype);
        // Only a lattice has paths: other rules take a dtype to another at once.
        let path = self.semantics.order().path(dtype, to).filter(|_| self.semantics.is_on_lattice());
        let path = path.map_or(String::new(), |path| {
            let path: Vec<_> = path.iter().map(|dtype| dtype.name()).collect();
            format!(", along {}", path.join(" → "))
        });
        let loss = loss(from, to).map_or("loses nothing".to_owned(), |loss| loss.to_string());
        let message = format!("{subject} is converted from {from} to {to}{path}; {loss}");
        let shape = graph.shapes.get(solution.value(value).shape);
        let definition = self.reporter.map().definition(value);
        Diagnostic::new(Severity::Remark, Code::Converted, place, message)
            .with_note(definition, format!("the value converted has shape {shape}"))
    }

    fn edges(&self) -> Vec<Diagnostic> {
        let Reporter { graph, solution, .. } = self.reporter;
        let policies = self.policies.severities();
        if policies.is_empty() && !self.all {
            return Vec::new();
        }
        let mut diagnostics = Vec::new();
        for slot in graph.slot_ids() {
            let Some(to) = solution.slot_dtype(slot) else { continue };
            let mut dtypes = None;
            for (index, feed) in
                graph.slot(slot).sources.iter().enumerate().filter(|(_, feed)| feed.is_operand)
            {
                let Some(from) = solution.dtype(feed.value).filter(|dtype| *dtype != to) else { continue };
                let dtypes = dtypes.get_or_insert_with(|| self.flowing(slot));
                let edge = Edge { slot, index, value: feed.value, from, to, dtypes };
                diagnostics.extend(self.edge(&edge, &policies));
            }
        }
        diagnostics
    }

    /// The dtypes that flow to a slot, each once.
    fn flowing(&self, slot: SlotId) -> Vec<DType> {
        let sources = &self.reporter.graph.slot(slot).sources;
        let dtypes = sources.iter().filter_map(|feed| self.reporter.solution.dtype(feed.value));
        let mut dtypes: Vec<DType> = dtypes.collect();
        dtypes.sort_unstable();
        dtypes.dedup();
        dtypes
    }

    fn edge(&self, edge: &Edge<'_>, policies: &[(Policy, Severity)]) -> Vec<Diagnostic> {
        let Edge { slot, index, value, from: dtype, to, dtypes } = *edge;
        let (from, to) = (self.semantics.strengthen(dtype), self.semantics.strengthen(to));
        let literal = self.reporter.graph.value(value).literal.filter(|_| dtype.is_weak());
        let (place, subject) = self.reporter.feed(slot, index);
        let mut diagnostics = Vec::new();
        if self.all && literal.is_none() && from != to {
            diagnostics.push(self.converted(value, (dtype, to), (place.clone(), &subject)));
        }
        for (policy, severity) in policies {
            let (what, reason) = match literal {
                Some(literal) => (
                    format!(", the literal {literal},"),
                    policy.finds_literal(literal, to, self.semantics.numerics()),
                ),
                None => (format!(" from {from}"), policy.finds(from, to, dtypes)),
            };
            let Some(reason) = reason.filter(|_| literal.is_some() || from != to) else { continue };
            let message = format!("promoting {subject}{what} to {to} {reason}");
            let definition = self.reporter.map().definition(value);
            diagnostics.push(
                Diagnostic::new(*severity, code(*policy), place.clone(), message)
                    .with_note(definition, format!("the {from} value is defined here"))
                    .with_remedy("convert it with promote.convert explicitly, or avoid the conversion"),
            );
        }
        diagnostics
    }
}

/// A value that flows to a slot of another dtype.
#[derive(Clone, Copy)]
struct Edge<'a> {
    slot: SlotId,
    index: usize,
    value: ValueId,
    from: DType,
    to: DType,
    /// The dtypes that flow to the slot.
    dtypes: &'a [DType],
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

const fn code(policy: Policy) -> Code {
    match policy {
        Policy::PrecisionLoss => Code::PrecisionLoss,
        Policy::MagnitudeLoss => Code::MagnitudeLoss,
        Policy::Widening => Code::Widening,
        Policy::MixedSignedness => Code::MixedSignedness,
        Policy::NoKernel => Code::NoKernel,
    }
}
