//! From the engine's findings to located diagnostics.

use mlir_sys::*;
use promote_dialect::attrs;
use promote_lattice::DType;
use promote_lattice::op::ShapeRule;
use promote_lattice::semantics::Refusal;
use rustc_hash::FxHashSet;

use super::history::Historian;
use super::raw::{self, Address};
use super::units;
use super::view::{Call, View, function_type};
use promote_diagnostics::{Code, Diagnostic, Location};
use promote_infer::graph::{Known, OpId, ShapeId, SlotId, Type, ValueId};
use promote_infer::solve::{Place, Problem, ProblemKind, Solution};

/// The rank of the largest shape that messages write out.
const MAX_WRITTEN: usize = 16;

/// The place in a file that an MLIR location leads to, through names, calls and fusions: the first that is in a file.
pub fn location(location: MlirLocation) -> Option<Location> {
    let mut rest = vec![location];
    while let Some(location) = rest.pop() {
        // SAFETY: locations live as long as the context; each accessor is called on a location of its kind.
        unsafe {
            if mlirLocationIsAFileLineColRange(location) {
                let number = |n: i32| u32::try_from(n).unwrap_or(0);
                return Some(Location {
                    file: raw::text(mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location))),
                    line: number(mlirLocationFileLineColRangeGetStartLine(location)),
                    column: number(mlirLocationFileLineColRangeGetStartColumn(location)),
                });
            }
            if mlirLocationIsAName(location) {
                rest.push(mlirLocationNameGetChildLoc(location));
            } else if mlirLocationIsACallSite(location) {
                rest.push(mlirLocationCallSiteGetCallee(location));
            } else if mlirLocationIsAFused(location) {
                let mut parts = vec![location; mlirLocationFusedGetNumLocations(location) as usize];
                mlirLocationFusedGetLocations(location, parts.as_mut_ptr());
                rest.extend(parts.into_iter().rev());
            }
        }
    }
    None
}

/// The place of an op, or, if it has none, of its parents.
pub fn place_of(operation: MlirOperation) -> Option<Location> {
    let parent = std::iter::successors(Some(operation), |operation| raw::parent(*operation));
    // SAFETY: the operations are alive.
    parent.into_iter().find_map(|operation| location(unsafe { mlirOperationGetLocation(operation) }))
}

/// The place where a value is defined.
pub fn definition_of(value: MlirValue) -> Option<Location> {
    match raw::defining_op(value) {
        Some(operation) => place_of(operation),
        // SAFETY: a value that no op defines is a block argument.
        None => location(unsafe { mlirValueGetLocation(value) }),
    }
}

impl View {
    /// Everything that is wrong with this unit, in program order. `calls` are the indices of the calls that the solution
    /// knows.
    pub fn diagnostics(&self, solution: &Solution, calls: &[usize]) -> Vec<Diagnostic> {
        let order = |place: Place| match place {
            Place::Value(value) => (0, value.0),
            Place::Op(op) => (1, op.0),
            Place::Slot(slot) => (2, slot.0),
            Place::Call(call) => (3, call.0),
        };
        let of_attrs = self.attr_problems.iter().map(|(op, problem)| {
            let code = match problem {
                attrs::Problem::Unknown { .. } => Code::UnknownAttribute,
                attrs::Problem::Kind { .. }
                | attrs::Problem::ConstantValue { .. }
                | attrs::Problem::Missing { .. } => Code::BadAttribute,
            };
            let diagnostic = Diagnostic::error(code, self.op_place(*op), problem.to_string());
            (order(Place::Op(*op)), diagnostic.with_remedy(problem.remedy()))
        });
        // An op whose attributes are wrong is not asked about its shape as well.
        let bad: FxHashSet<OpId> = self.attr_problems.iter().map(|(op, _)| *op).collect();
        let broken = |place| matches!(place, Place::Op(op) if bad.contains(&op));
        let rest = solution.problems.iter().filter(|problem| !broken(problem.place));
        let signature = self.result_diagnostics(solution).chain(self.declaration_diagnostic());
        let mut all: Vec<_> = of_attrs
            .chain(signature)
            .chain(rest.map(|p| (order(p.place), self.diagnostic(p, solution, calls))))
            .collect();
        all.sort_by_key(|(order, diagnostic)| {
            (diagnostic.location.as_ref().map(|l| (l.line, l.column)), *order)
        });
        all.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }

    /// What is wrong with the function's results: nothing says their type.
    fn result_diagnostics(&self, solution: &Solution) -> impl Iterator<Item = ((u32, u32), Diagnostic)> {
        self.results.iter().filter_map(|slot| {
            let found = solution.slot(*slot);
            let sources = &self.graph.slot(*slot).sources;
            let declared = raw::regions(self.root.0).flat_map(raw::blocks).next().is_none();
            if declared && found.dtype == Known::Unknown {
                let message = "a function without a body must state its result types";
                let diagnostic = Diagnostic::error(Code::UnknownDtype, place_of(self.root.0), message);
                return Some(((2, slot.0), diagnostic.with_remedy("write them in its signature")));
            }
            if sources.is_empty() && found.dtype == Known::Unknown {
                let message =
                    "no func.return gives this function its results, so their type cannot be inferred";
                let diagnostic = Diagnostic::error(Code::UnknownDtype, place_of(self.root.0), message);
                return Some((
                    (2, slot.0),
                    diagnostic.with_remedy("state the result types in its signature"),
                ));
            }
            None
        })
    }

    /// A function without a body whose arguments are unknown: nothing will ever say what they are.
    fn declaration_diagnostic(&self) -> Option<((u32, u32), Diagnostic)> {
        let declared = self.is_function && raw::regions(self.root.0).flat_map(raw::blocks).next().is_none();
        let signature = function_type(self.root.0).filter(|_| declared)?;
        let unknown = |input: &MlirType| raw::type_text(*input).contains("!promote.unknown");
        units::inputs(signature).iter().any(unknown).then(|| {
            let message = "a function without a body must state its argument types";
            let diagnostic = Diagnostic::error(Code::UnknownDtype, place_of(self.root.0), message);
            ((2, 0), diagnostic.with_remedy("write them in its signature"))
        })
    }

    /// Ops that look at the shape of an operand without a rank: whether they broadcast, or fit, cannot be told.
    pub fn unranked(&self, solution: &Solution) -> Vec<Diagnostic> {
        let unknown = |value: &ValueId| {
            let found = solution.value(*value);
            found.shape == ShapeId::UNRANKED && matches!(found.dtype, Known::DType(_))
        };
        let looks = |op: &OpId| {
            let operands = self.graph.operands(*op);
            operands.iter().any(unknown)
                && match self.graph.node(*op).op.info().shape {
                    ShapeRule::Broadcast => operands.iter().any(|operand| *operand != operands[0]),
                    ShapeRule::Reduce => self.graph.attrs(*op).axes().is_some(),
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
        };
        let diagnostics = self.graph.ops().filter(looks).map(|op| {
            let message =
                format!("{} needs the ranks of its operands, and not all are known", self.graph.node(op).op);
            Diagnostic::error(Code::RankNeeded, self.op_place(op), message)
                .with_remedy("state the rank of the operands, as in tensor<?x?xf32>")
        });
        diagnostics.collect()
    }

    pub(super) fn op_place(&self, op: OpId) -> Option<Location> {
        place_of(self.ops[op.0 as usize].0)
    }

    fn diagnostic(&self, problem: &Problem, solution: &Solution, calls: &[usize]) -> Diagnostic {
        match problem.place {
            Place::Call(call) => {
                self.call_diagnostic(&self.calls[calls[call.0 as usize]], &problem.kind, solution)
            }
            Place::Op(op) => self.op_diagnostic(op, &problem.kind, solution),
            Place::Value(value) => self.unknown_value(self.values[value.0 as usize]),
            Place::Slot(slot) => self.slot_diagnostic(slot, &problem.kind, solution),
        }
    }

    fn call_diagnostic(&self, call: &Call, kind: &ProblemKind, solution: &Solution) -> Diagnostic {
        let (code, message, remedy) = explain(kind, &format!("@{}", call.callee));
        let diagnostic = Diagnostic::error(code, place_of(call.operation.0), message).with_remedy(remedy);
        let operands = call.operands.iter().enumerate();
        operands.fold(diagnostic, |diagnostic, (index, operand)| {
            let value = self.values[operand.0 as usize].0;
            let r#type = self.found_type(solution.value(*operand), value);
            diagnostic.with_note(definition_of(value), format!("operand {index} is {type}"))
        })
    }

    /// Which instance of a generic function this is, for a note at the call that it was made for.
    pub fn signature_note(&self) -> String {
        let arguments = self.arguments.iter().map(|argument| {
            let value = self.values[argument.0 as usize].0;
            self.found_type(self.graph.value(*argument).stated, value)
        });
        let arguments: Vec<_> = arguments.collect();
        let name = self.symbol().unwrap_or_default();
        format!("in @{name} as it is called here, with ({})", arguments.join(", "))
    }

    /// What is wrong where several values meet, located at the first that flows there.
    fn slot_diagnostic(&self, slot: SlotId, kind: &ProblemKind, solution: &Solution) -> Diagnostic {
        let (sources, feeds) = (&self.graph.slot(slot).sources, &self.feeds[slot.0 as usize]);
        let met = solution.met(slot);
        let target = self.graph.slot(slot).target.map(|target| self.values[target.0 as usize].0);
        let subject = self.slot_name(slot);
        let place = match target {
            Some(target) => definition_of(target),
            None => feeds.first().and_then(|(operation, _)| place_of(operation.0)),
        };
        let (code, mut message, mut remedy) = explain(kind, &subject);
        if matches!(kind, ProblemKind::Refused(_) | ProblemKind::Shape(_)) {
            message = format!("{message}; they flow to {subject}");
            remedy = remedy.replace("the operands", "what flows there");
        }
        let diagnostic = Diagnostic::error(code, place, message).with_remedy(remedy);
        if *kind == ProblemKind::Unsettled {
            return Historian::new(self, solution).tell(diagnostic, slot);
        }
        let parent =
            target.and_then(|target| raw::defining_op(target).or_else(|| raw::parent_of_argument(target)));
        sources.iter().zip(feeds).enumerate().fold(
            diagnostic,
            |diagnostic, (index, (feed, (operation, _)))| {
                let value = self.values[feed.value.0 as usize].0;
                let found = met.get(index).copied().unwrap_or_else(|| solution.value(feed.value));
                let r#type = self.found_type(found, value);
                // A loop stands where its carries do: its initial values say more.
                let is_parent = parent.is_some_and(|parent| Address(parent) == *operation);
                let place = if is_parent { definition_of(value) } else { place_of(operation.0) };
                diagnostic.with_note(place, format!("{type} comes from here"))
            },
        )
    }

    /// What a place that values flow to is, in words.
    pub(super) fn slot_name(&self, slot: SlotId) -> String {
        let Some(target) = self.graph.slot(slot).target else {
            let index = self.results.iter().position(|result| *result == slot).unwrap_or(0);
            return format!("result {index} of the function");
        };
        let loops = self.graph.structures.iter().zip(&self.structures);
        let mut carries = loops.filter_map(|(structure, operation)| {
            let index = structure.carries.iter().position(|carry| *carry == Some(slot))?;
            Some(format!("carry {index} of {}", raw::name(operation.0)))
        });
        if let Some(carry) = carries.next() {
            return carry;
        }
        let value = self.values[target.0 as usize].0;
        match raw::defining_op(value) {
            Some(operation) => {
                let index = raw::results(operation).position(|result| Address(result) == Address(value));
                format!("result {} of {}", index.unwrap_or(0), raw::name(operation))
            }
            None => format!("argument {} of this block", raw::argument_number(value)),
        }
    }

    fn op_diagnostic(&self, op: OpId, kind: &ProblemKind, solution: &Solution) -> Diagnostic {
        let name = self.graph.node(op).op;
        let (code, message, remedy) = explain(kind, &name.to_string());
        let diagnostic = Diagnostic::error(code, self.op_place(op), message).with_remedy(remedy);
        if matches!(kind, ProblemKind::NothingStated | ProblemKind::IotaShape) {
            return diagnostic;
        }
        let operands = self.graph.operands(op).iter().enumerate();
        operands.fold(diagnostic, |diagnostic, (index, operand)| {
            let value = self.values[operand.0 as usize].0;
            let r#type = self.found_type(solution.value(*operand), value);
            diagnostic.with_note(definition_of(value), format!("operand {index} is {type}"))
        })
    }

    /// The type of an operand: as inferred, or else as written.
    pub fn found_type(&self, found: Type, value: MlirValue) -> String {
        match found.dtype {
            Known::DType(_) => self.type_name(found),
            Known::Unknown | Known::Opaque | Known::Refused => raw::type_text(raw::value_type(value)),
        }
    }

    /// A type as MLIR writes it.
    pub(super) fn type_name(&self, found: Type) -> String {
        let Known::DType(dtype) = found.dtype else { return "a value of no known dtype".to_owned() };
        match self.graph.shapes.get(found.shape).dims() {
            Some([]) => format!("tensor<{}>", dtype.mlir()),
            Some(dims) if dims.len() > MAX_WRITTEN => {
                format!("a tensor of {} with {} dimensions", dtype.mlir(), dims.len())
            }
            _ => format!("tensor<{}x{}>", self.graph.shapes.get(found.shape), dtype.mlir()),
        }
    }

    fn is_argument_of_function(&self, value: MlirValue) -> bool {
        let parent = raw::parent_of_argument(value).filter(|_| raw::is_entry_argument(value));
        self.is_function && parent.map(Address) == Some(self.root)
    }

    fn unknown_value(&self, value: Address<MlirValue>) -> Diagnostic {
        let place = definition_of(value.0);
        let r#type = raw::type_text(raw::value_type(value.0));
        match raw::defining_op(value.0) {
            Some(operation) => {
                let name = raw::name(operation);
                let code = if raw::regions(operation).next().is_some() {
                    Code::Unsupported
                } else {
                    Code::UnknownDtype
                };
                Diagnostic::error(
                    code,
                    place,
                    format!("{name} gives a value of type {type}, and its dtype cannot be inferred"),
                )
                .with_remedy(match &name[..] {
                    "func.call_indirect" => {
                        "only direct calls are seen through: call the function by its name, or state its types where \
                         it is defined and where it is called"
                            .to_owned()
                    }
                    _ => format!("state the type of the result of {name}"),
                })
            }
            None if self.is_argument_of_function(value.0) => Diagnostic::error(
                Code::Unsupported,
                place,
                format!("the dtype of this argument, of type {type}, cannot be inferred"),
            )
            .with_remedy(match self.is_generic() {
                    false => "state the type of the argument: only private functions are inferred for what they are called with",
                    true => "run promote-infer-types on the whole module: a private function is inferred for what it is called with, if \
                             it is not around other functions",
                }),
            None => Diagnostic::error(
                Code::UnknownDtype,
                place,
                format!("nothing of a known dtype flows to this argument, of type {type}"),
            )
            .with_remedy("state its type, or remove the block if nothing reaches it"),
        }
    }
}

/// What to write where another dtype is stated than the rules give.
fn stated_remedy(stated: DType, inferred: DType) -> String {
    let written = inferred.mlir();
    match stated.is_weak() {
        true => format!(
            "write {written} or !promote.unknown: only literals and arguments begin weakly typed, and nothing is converted to \
             that"
        ),
        false => format!(
            "write {written} or !promote.unknown, and convert the result with promote.convert if {stated} is meant"
        ),
    }
}

/// Code, message and remedy of a finding about `subject`.
pub(super) fn explain(kind: &ProblemKind, subject: &str) -> (Code, String, String) {
    match kind {
        ProblemKind::Refused(refusal) => {
            let code = match refusal {
                Refusal::NoJoin { .. } | Refusal::Differ { .. } | Refusal::UnknownKind { .. } => {
                    Code::NoCommonDtype
                }
                Refusal::Dtype { .. }
                | Refusal::NoNode { .. }
                | Refusal::NoOp { .. }
                | Refusal::Forbidden { .. }
                | Refusal::Beyond { .. }
                | Refusal::Operand { .. }
                | Refusal::Index { .. }
                | Refusal::Scalar { .. }
                | Refusal::Uncomputed { .. }
                | Refusal::UnknownScalar { .. }
                | Refusal::KeptNarrow { .. }
                | Refusal::Kernel { .. }
                | Refusal::WeakTooWide { .. } => Code::RefusedDtype,
                Refusal::Rank { .. } => Code::RankNeeded,
                Refusal::LiteralRange { .. } => Code::LiteralRange,
                Refusal::NegativePower { .. } => Code::NegativePower,
            };
            (code, refusal.to_string(), refusal.remedy())
        }
        ProblemKind::Shape(error) => (Code::Shape, error.to_string(), error.remedy()),
        ProblemKind::StatedDType { stated, inferred } => (
            Code::StatedType,
            format!("{subject} is written with dtype {stated}, and the rules give {inferred}"),
            stated_remedy(*stated, *inferred),
        ),
        ProblemKind::StatedShape { stated, inferred } => (
            Code::StatedType,
            format!("{subject} is written with shape {stated}, and its operands give {inferred}"),
            "write tensor<*x…> to have the shape inferred".to_owned(),
        ),
        ProblemKind::Unknown => {
            (Code::UnknownDtype, format!("the dtype of {subject} cannot be inferred"), "state it".to_owned())
        }
        ProblemKind::Opaque { operand } => (
            Code::NotATensor,
            format!("operand {operand} of {subject} is no tensor of a dtype that can be promoted"),
            "make it a tensor first, for example with tensor.from_elements".to_owned(),
        ),
        ProblemKind::StatedOpaque => (
            Code::StatedType,
            format!(
                "the result of {subject} must be a tensor of a dtype that can be promoted, without an encoding"
            ),
            "write tensor<*x!promote.unknown> to have the type inferred".to_owned(),
        ),
        ProblemKind::NothingStated => (
            Code::UnknownDtype,
            format!("{subject} must state the dtype of its result, and a strong one if it converts"),
            "write it in the result type, as in -> tensor<*xf32>".to_owned(),
        ),
        ProblemKind::IotaShape => (
            Code::UnknownDtype,
            format!("{subject} must state the shape of its result"),
            "write every extent in the result type, as in -> tensor<4xi32>".to_owned(),
        ),
        ProblemKind::Recursive => (
            Code::UnknownDtype,
            format!("the result types of {subject} depend on this call itself, and on nothing else"),
            "state the result types in its signature".to_owned(),
        ),
        ProblemKind::Endless => (
            Code::Unsupported,
            format!("{subject} calls itself with other types each time, without end"),
            "give what is passed one dtype, with promote.convert, and one shape, or state the argument types in its signature"
                .to_owned(),
        ),
        ProblemKind::Unsettled => (
            Code::Unsupported,
            format!("the type of {subject} does not settle: it changes with every round of the loop"),
            "give it one dtype, with promote.convert, and one shape where it is passed on".to_owned(),
        ),
    }
}
