//! From findings to located diagnostics: what is wrong with a unit, by the ids of its graph and its source map.

mod explain;
mod history;
mod program;
mod remark;
mod strict;

use promote_dialect::attrs;
use promote_lattice::op::ShapeRule;
use rustc_hash::FxHashSet;

use self::explain::explain;
pub use self::history::Historian;
pub use self::program::{Subject, problems};
pub use self::remark::{Policies, Remarks};
use super::foreign::{Broadcasts, Taken};
use super::graph::{Graph, Known, OpId, ShapeId, SlotId, Type, ValueId};
use super::solve::{Place, Problem, ProblemKind, Solution};
use super::source::{Origin, SourceMap, Sources};
use super::unit::Unit;
use promote_diagnostics::{Code, Diagnostic, Location};

/// The rank of the largest shape that messages write out.
const MAX_WRITTEN: usize = 16;

/// Reports what was found of one unit.
#[derive(Clone, Copy)]
pub struct Reporter<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Its graph.
    pub graph: &'a Graph,
    /// What was found of it.
    pub solution: &'a Solution,
    /// Its source, which is asked for only if there is something to report.
    pub sources: &'a dyn Sources,
}

impl<'a> Reporter<'a> {
    fn map(&self) -> &'a SourceMap {
        self.sources.map()
    }

    /// Everything that is wrong with this unit, in program order. `calls` are the indices of the calls that the solution
    /// knows.
    pub fn diagnostics(&self, calls: &[usize]) -> Vec<Diagnostic> {
        let order = |place: Place| match place {
            Place::Value(value) => (0, value.0),
            Place::Op(op) => (1, op.0),
            Place::Slot(slot) => (2, slot.0),
            Place::Call(call) => (3, call.0),
        };
        let of_attrs = self.unit.attr_problems.iter().map(|(op, problem)| {
            let code = match problem {
                attrs::Problem::Unknown { .. } => Code::UnknownAttribute,
                attrs::Problem::Kind { .. }
                | attrs::Problem::Operands { .. }
                | attrs::Problem::DType { .. }
                | attrs::Problem::List { .. }
                | attrs::Problem::Code { .. }
                | attrs::Problem::ConstantValue { .. }
                | attrs::Problem::Missing { .. } => Code::BadAttribute,
            };
            let diagnostic = Diagnostic::error(code, self.map().op(*op), problem.to_string());
            (order(Place::Op(*op)), diagnostic.with_remedy(problem.remedy()))
        });
        // An op whose attributes are wrong is not asked about its shape as well.
        let bad: FxHashSet<OpId> = self.unit.attr_problems.iter().map(|(op, _)| *op).collect();
        let broken = |place| matches!(place, Place::Op(op) if bad.contains(&op));
        let rest = self.solution.problems.iter().filter(|problem| !broken(problem.place));
        let signature = self.result_diagnostics().chain(self.declaration_diagnostic());
        let mut all: Vec<_> = of_attrs
            .chain(signature)
            .chain(rest.map(|p| (order(p.place), self.diagnostic(p, calls))))
            .collect();
        all.sort_by_key(|(order, diagnostic)| (line_and_column(diagnostic), *order));
        all.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }

    /// What is wrong with the function's results: nothing says their type.
    fn result_diagnostics(&self) -> impl Iterator<Item = ((u32, u32), Diagnostic)> {
        self.unit.results.iter().filter_map(|slot| {
            let sources = &self.graph.slot(*slot).sources;
            if self.solution.slot(*slot).dtype != Known::Unknown {
                return None;
            }
            let (message, remedy) = if self.unit.is_declaration {
                ("a declaration must state its result types", "state them in its signature")
            } else if sources.is_empty() {
                (
                    "this function has no func.return, so its result types cannot be inferred",
                    "state the result types in its signature",
                )
            } else {
                return None;
            };
            let diagnostic = Diagnostic::error(Code::UnknownDtype, self.map().place.clone(), message);
            Some(((2, slot.0), diagnostic.with_remedy(remedy)))
        })
    }

    /// A function without a body whose arguments are unknown: nothing will ever say what they are.
    fn declaration_diagnostic(&self) -> Option<((u32, u32), Diagnostic)> {
        self.unit.declares_unknown_arguments.then(|| {
            let message = "a declaration must state its argument types";
            let diagnostic = Diagnostic::error(Code::UnknownDtype, self.map().place.clone(), message);
            ((2, 0), diagnostic.with_remedy("state them in its signature"))
        })
    }

    /// Ops that look at the shape of an operand without a rank: whether they broadcast, or fit, is unknown.
    pub fn unranked(&self) -> Vec<Diagnostic> {
        let diagnostics = self.graph.ops().filter(|op| self.looks_at_unranked(*op)).map(|op| {
            let message =
                format!("{} needs the ranks of its operands, but not all are known", self.graph.name(op));
            Diagnostic::error(Code::RankNeeded, self.map().op(op), message)
                .with_remedy("state the rank of the operands, as in tensor<?x?xf32>")
        });
        diagnostics.collect()
    }

    fn looks_at_unranked(&self, op: OpId) -> bool {
        let unknown = |value: &ValueId| {
            let found = self.solution.value(*value);
            found.shape == ShapeId::UNRANKED && matches!(found.dtype, Known::DType(_))
        };
        let operands = self.graph.operands(op);
        // An op that broadcasts itself knows what to do.
        let is_asked = self
            .graph
            .foreign(op)
            .is_none_or(|foreign| !foreign.states_shape && foreign.broadcasts != Broadcasts::Itself);
        is_asked
            && operands.iter().any(unknown)
            && match self.graph.node(op).op.info().shape {
                ShapeRule::Broadcast => operands.iter().any(|operand| *operand != operands[0]),
                ShapeRule::Reduce => self.graph.attrs(op).axes().is_some(),
                ShapeRule::Stated | ShapeRule::Same => false,
                ShapeRule::Along
                | ShapeRule::Scan
                | ShapeRule::Matmul
                | ShapeRule::Concat
                | ShapeRule::Stack
                | ShapeRule::Reshape
                | ShapeRule::Permute
                | ShapeRule::BroadcastTo
                | ShapeRule::ExpandDims
                | ShapeRule::Squeeze
                | ShapeRule::Slice
                | ShapeRule::Take => true,
            }
    }

    /// What inference has not written yet: the first value without a type, or else the first number that Python computes.
    pub fn not_inferred(&self) -> Option<Diagnostic> {
        let unknown = |value: &ValueId| self.graph.value(*value).stated.dtype == Known::Unknown;
        let (place, message) = match self.graph.value_ids().find(unknown) {
            Some(value) => {
                let value = self.map().value(value);
                (value.place.clone(), format!("a value is still of type {}", value.written))
            }
            None => {
                let (op, _) = *self.graph.scalars.computed().first()?;
                let message = format!("{} of Python scalars is not evaluated yet", self.graph.node(op).op);
                (self.map().op(op), message)
            }
        };
        let diagnostic = Diagnostic::error(Code::NotStrong, place, message);
        Some(diagnostic.with_remedy("run promote-infer-types first"))
    }

    fn diagnostic(&self, problem: &Problem, calls: &[usize]) -> Diagnostic {
        match problem.place {
            Place::Call(call) => self.call_diagnostic(calls[call.0 as usize], &problem.kind),
            Place::Op(op) => self.op_diagnostic(op, &problem.kind),
            Place::Value(value) => self.unknown_value(value),
            Place::Slot(slot) => self.slot_diagnostic(slot, &problem.kind),
        }
    }

    fn call_diagnostic(&self, index: usize, kind: &ProblemKind) -> Diagnostic {
        let call = &self.unit.calls[index];
        let (code, message, remedy) = explain(kind, &format!("@{}", call.callee));
        let place = self.map().calls[index].clone();
        let diagnostic = Diagnostic::error(code, place, message).with_remedy(remedy);
        self.with_operands(diagnostic, &call.call.operands, Taken::Operand)
    }

    fn op_diagnostic(&self, op: OpId, kind: &ProblemKind) -> Diagnostic {
        let (code, message, remedy) = explain(kind, &self.graph.name(op));
        let diagnostic = Diagnostic::error(code, self.map().op(op), message).with_remedy(remedy);
        match kind {
            ProblemKind::NothingStated | ProblemKind::IotaShape => diagnostic,
            ProblemKind::Refused(_)
            | ProblemKind::Shape(_)
            | ProblemKind::StatedDType { .. }
            | ProblemKind::StatedShape { .. }
            | ProblemKind::Unknown
            | ProblemKind::Opaque { .. }
            | ProblemKind::StatedOpaque
            | ProblemKind::Recursive
            | ProblemKind::Endless
            | ProblemKind::Unsettled => {
                let operands = self.graph.operands(op);
                self.with_operands(diagnostic, operands, |index| self.graph.taken(op, index))
            }
        }
    }

    /// Adds the types of operands, each at its definition.
    fn with_operands(
        &self,
        diagnostic: Diagnostic,
        operands: &[ValueId],
        taken: impl Fn(usize) -> Taken,
    ) -> Diagnostic {
        operands.iter().enumerate().fold(diagnostic, |diagnostic, (index, operand)| {
            let found = self.found_type(self.solution.value(*operand), *operand);
            let taken = taken(index);
            diagnostic.with_note(self.map().definition(*operand), format!("{taken} is {found}"))
        })
    }

    /// What is wrong where several values are joined, located at the first of them.
    fn slot_diagnostic(&self, slot: SlotId, kind: &ProblemKind) -> Diagnostic {
        let sources = &self.graph.slot(slot).sources;
        let feeds = &self.map().feeds[slot.0 as usize];
        let met = self.solution.met(slot);
        let subject = self.slot_name(slot);
        let place = match self.graph.slot(slot).target {
            Some(target) => self.map().definition(target),
            None => feeds.first().and_then(|feed| feed.place.clone()),
        };
        let (code, mut message, mut remedy) = explain(kind, &subject);
        if matches!(kind, ProblemKind::Refused(_) | ProblemKind::Shape(_)) {
            message = format!("{message}; they are joined in {subject}");
            remedy = remedy.replace("the operands", "the joined values");
        }
        let diagnostic = Diagnostic::error(code, place, message).with_remedy(remedy);
        if *kind == ProblemKind::Unsettled {
            return Historian::new(*self).with_history(diagnostic, slot);
        }
        sources.iter().zip(feeds).enumerate().fold(diagnostic, |diagnostic, (index, (feed, operand))| {
            let found = met.get(index).copied().unwrap_or_else(|| self.solution.value(feed.value));
            let r#type = self.found_type(found, feed.value);
            // A loop stands where its carries do: its initial values say more.
            let place =
                if operand.is_own { self.map().definition(feed.value) } else { operand.place.clone() };
            diagnostic.with_note(place, format!("this value is {type}"))
        })
    }

    /// What a place that values flow to is, in words.
    fn slot_name(&self, slot: SlotId) -> String {
        let Some(target) = self.graph.slot(slot).target else {
            let index = self.unit.results.iter().position(|result| *result == slot).unwrap_or(0);
            return format!("result {index} of the function");
        };
        let mut loops = self.graph.structures.iter().zip(&self.map().structures);
        let carry = loops.find_map(|(structure, op)| {
            let index = structure.carries.iter().position(|carry| *carry == Some(slot))?;
            Some(format!("carry {index} of {op}"))
        });
        carry.unwrap_or_else(|| match &self.map().value(target).origin {
            Origin::Result { op, index, .. } => format!("result {index} of {op}"),
            Origin::BlockArgument { index } | Origin::FunctionArgument { index } => {
                format!("argument {index} of this block")
            }
        })
    }

    /// Where what flows to a slot as its n-th is passed on, and which operand it is there.
    pub(crate) fn feed(&self, slot: SlotId, index: usize) -> (Option<Location>, String) {
        let feed = self.map().feed(slot, index);
        (feed.place.clone(), format!("operand {} of {}", feed.index, feed.op))
    }

    /// The type of an operand: as inferred, or else as written.
    pub(crate) fn found_type(&self, found: Type, value: ValueId) -> String {
        match found.dtype {
            Known::DType(_) if self.graph.kept.contains(&value) => {
                self.map().value(value).written.to_string()
            }
            Known::DType(_) => self.type_name(found),
            Known::Unknown | Known::Opaque | Known::Refused => self.map().value(value).written.to_string(),
        }
    }

    /// A type as MLIR writes it.
    fn type_name(&self, found: Type) -> String {
        let Known::DType(dtype) = found.dtype else { return "a value of no known dtype".to_owned() };
        match self.graph.shapes.get(found.shape).dims() {
            Some([]) => format!("tensor<{}>", dtype.mlir()),
            Some(dims) if dims.len() > MAX_WRITTEN => {
                format!("a tensor of {} with {} dimensions", dtype.mlir(), dims.len())
            }
            _ => format!("tensor<{}x{}>", self.graph.shapes.get(found.shape), dtype.mlir()),
        }
    }

    fn unknown_value(&self, value: ValueId) -> Diagnostic {
        let value = self.map().value(value);
        let r#type = &value.written;
        let (code, message, remedy) = match &value.origin {
            Origin::Result { op, has_regions, .. } => (
                if *has_regions { Code::Unsupported } else { Code::UnknownDtype },
                format!("the dtype of the result of {op}, of type {type}, cannot be inferred"),
                unknown_result_remedy(op),
            ),
            Origin::FunctionArgument { .. } => (
                Code::Unsupported,
                format!("the dtype of this argument, of type {type}, cannot be inferred"),
                match self.unit.is_generic(self.graph) {
                    false => {
                        "state the type of the argument: only private functions are specialised for their calls"
                    }
                    true => {
                        "run promote-infer-types on the whole module: a private function is specialised for its calls, unless other functions are nested in it"
                    }
                }
                .to_owned(),
            ),
            Origin::BlockArgument { .. } => (
                Code::UnknownDtype,
                format!("no value of a known dtype is passed to this argument, of type {type}"),
                "state its type, or remove the block if it is unreachable".to_owned(),
            ),
        };
        Diagnostic::error(code, value.place.clone(), message).with_remedy(remedy)
    }
}

/// What to do about a result that nothing is known of.
fn unknown_result_remedy(op: &str) -> String {
    match op {
        "func.call_indirect" => {
            "inference follows direct calls only: call the function by its name, or state its types at its definition and at the call"
                .to_owned()
        }
        _ => format!("state the type of the result of {op}"),
    }
}

/// The order of diagnostics in a file.
pub(crate) fn line_and_column(diagnostic: &Diagnostic) -> Option<(u32, u32)> {
    diagnostic.location.as_ref().map(|Location { line, column, .. }| (*line, *column))
}
