//! The ops of a unit: those of the dialect with their attributes, calls, and what has no value.

use promote_dialect::attrs::{self, Attrs};
use promote_infer::graph::{BlockId, Known, NewOp, OpId, Type, ValueId};
use promote_infer::literals;
use promote_infer::shape::{DYNAMIC, is_dynamic};
use promote_infer::solve;
use promote_infer::unit::Call;
use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op};

use super::Viewer;
use crate::ir::{Flow, Ir, Kind, Mark, ValueIds};

impl<I: Ir> Viewer<'_, I> {
    pub(super) fn add_operation(&mut self, operation: I::Op, kind: Kind, block: BlockId) {
        match kind {
            Kind::Promote(op) => return self.add_op(op, operation, block),
            Kind::Foreign { op, rule } => return self.add_foreign((op, rule), operation, block),
            Kind::Module
            | Kind::Function
            | Kind::Call
            | Kind::Return
            | Kind::Poison
            | Kind::Flow(_)
            | Kind::Loop
            | Kind::Other => {}
        }
        let ir = self.ir;
        let results: Vec<ValueId> =
            ir.results(operation).map(|result| self.add_value(result, block)).collect();
        match kind {
            Kind::Return if self.view.unit.is_function => {
                let slots: Vec<_> = self.view.unit.results.iter().copied().map(Some).collect();
                self.feed(&slots, operation, 0, block);
            }
            Kind::Flow(flow) => self.add_flow(flow, operation, block),
            Kind::Call => {
                let Some(callee) = ir.callee(operation) else { return };
                let follows_callee = results.iter().any(|result| self.is_stated_in_part(*result));
                let operands = ir.operands(operation).map(|operand| self.operand(operand, block)).collect();
                let call = solve::Call { operands, results, block, after: self.view.graph.position() };
                self.view.unit.calls.push(Call { callee, call, follows_callee });
                self.view.calls.push(operation);
            }
            Kind::Poison => {
                for (value, id) in ir.results(operation).zip(results) {
                    self.is_undefined(value, id);
                }
            }
            Kind::Promote(_)
            | Kind::Foreign { .. }
            | Kind::Module
            | Kind::Function
            | Kind::Return
            | Kind::Loop
            | Kind::Other => {}
        }
    }

    /// Whether inference may find out more about a value than the IR states.
    fn is_stated_in_part(&self, value: ValueId) -> bool {
        let stated = self.view.graph.value(value).stated;
        let shape = self.view.graph.shapes.get(stated.shape);
        let open = shape.dims().is_none_or(|dims| dims.contains(&DYNAMIC));
        stated.dtype == Known::Unknown || matches!(stated.dtype, Known::DType(_)) && open
    }

    /// Records what inference and insertion reported about an op that they created or checked.
    fn note_marks(&mut self, (op, id): (Op, OpId), operation: I::Op, stated: Type) {
        let graph = &self.view.graph;
        let is_open = |value: &ValueId| {
            let dims = graph.shapes.get(graph.value(*value).stated.shape).dims();
            dims.is_none_or(|dims| dims.iter().copied().any(is_dynamic))
        };
        let open = graph.operands(id).iter().any(is_open);
        if open && self.ir.is_marked(operation, Mark::Checked) {
            self.view.graph.checked.insert(id);
        }
        if !self.ir.is_marked(operation, Mark::Implicit) {
            return;
        }
        self.view.graph.implicit.insert(id);
        if !matches!(op, Op::Convert | Op::BroadcastTo) {
            return;
        }
        if matches!(stated.dtype, Known::DType(dtype) if dtype.is_weak()) {
            self.view.graph.weak_edges.insert(id);
        }
        let result = self.ir.result(operation);
        if op == Op::Convert && self.ir.users(result).all(|user| self.is_seen(user, result)) {
            self.view.graph.movable.insert(id);
        }
    }

    /// Whether the graph has what an op does with an operand.
    fn is_seen(&self, operation: I::Op, value: I::Value) -> bool {
        match self.ir.kind(operation) {
            Kind::Promote(_) => true,
            Kind::Foreign { rule, .. } => self.takes_part(rule, operation, value),
            Kind::Other => self.makes_seen_list(operation),
            Kind::Module
            | Kind::Function
            | Kind::Call
            | Kind::Return
            | Kind::Poison
            | Kind::Flow(_)
            | Kind::Loop => self.passes_on(operation, value),
        }
    }

    /// Whether an op lets an operand flow to a slot.
    pub(super) fn passes_on(&self, operation: I::Op, value: I::Value) -> bool {
        match self.ir.kind(operation) {
            Kind::Flow(Flow::Part) => self.is_part(operation, value),
            Kind::Flow(_) => true,
            Kind::Return => self.view.unit.is_function,
            Kind::Promote(_)
            | Kind::Foreign { .. }
            | Kind::Module
            | Kind::Function
            | Kind::Call
            | Kind::Poison
            | Kind::Loop
            | Kind::Other => false,
        }
    }

    fn add_op(&mut self, op: Op, operation: I::Op, block: BlockId) {
        let id = OpId(self.view.ops.len() as u32);
        let attrs = self.attrs(op, operation, id);
        let stated = self.add_op_with(attrs, op, operation, block);
        if op != Op::Constant && self.ir.has_attributes(operation) {
            self.note_marks((op, id), operation, stated);
        }
    }

    /// Adds an op with these attributes; the type that the IR states for its result.
    pub(super) fn add_op_with(
        &mut self,
        attrs: Option<Attrs>,
        op: Op,
        operation: I::Op,
        block: BlockId,
    ) -> Type {
        let ir = self.ir;
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        operands.extend(ir.operands(operation).map(|value| self.operand(value, block)));
        let id = OpId(self.view.ops.len() as u32);
        let result = ir.result(operation);
        let stated = self.type_of(result);
        let constant = if op == Op::Constant { self.constant(operation, id, stated) } else { None };
        let (written, scalar) = constant.map_or((None, None), |(written, scalar)| (Some(written), scalar));
        let used_before = self.ids.get(result);
        let value = self
            .view
            .graph
            .add_op(NewOp { op, operands: &operands, attrs, scalar, written, stated, block }, used_before);
        if used_before.is_none() {
            self.name_value(result, value, stated);
        }
        self.view.ops.push(operation);
        self.operands = operands;
        stated
    }

    fn attrs(&mut self, op: Op, operation: I::Op, id: OpId) -> Option<Attrs> {
        if !self.ir.has_attributes(operation) && op.info().attrs.iter().all(|spec| !spec.required) {
            return None;
        }
        let found = self.ir.attributes(operation);
        match attrs::check(op, found.iter().map(|(name, value)| (name.as_str(), value.clone()))) {
            Ok(attrs) if op.info().attrs.is_empty() => {
                debug_assert_eq!(attrs, Attrs::default());
                None
            }
            Ok(attrs) => Some(attrs),
            Err(problems) => {
                self.view.unit.attr_problems.extend(problems.into_iter().map(|problem| (id, problem)));
                None
            }
        }
    }

    /// Reads a constant's value: the type it is written in, and the number if it is a scalar.
    fn constant(&mut self, operation: I::Op, id: OpId, stated: Type) -> Option<(Type, Option<Literal>)> {
        let ir = self.ir;
        let value_type = ir.written_type(operation)?;
        let written = self.view.types.view(value_type, ir, &mut self.view.graph);
        let (dtype, fits) = match (written.dtype, stated.dtype) {
            (Known::DType(dtype), Known::Unknown) => (dtype, true),
            (Known::DType(dtype), Known::DType(stated)) => (dtype, stated.storage() == dtype),
            _ => (DType::B1, false),
        };
        let shape = self.view.graph.shapes.get(stated.shape).meet(self.view.graph.shapes.get(written.shape));
        if !fits || shape.is_none() {
            let result = ir.type_text(ir.value_type(ir.result(operation)));
            let problem = attrs::Problem::ConstantValue { result, value: ir.type_text(value_type) };
            self.view.unit.attr_problems.push((id, problem));
            return None;
        }
        let scalar = self.view.graph.shapes.get(written.shape).dims().is_some_and(<[i64]>::is_empty);
        let elements = if scalar { ir.elements(operation, dtype) } else { None };
        let literal = elements.and_then(|elements| Some(literals::number(*elements.first()?, dtype)));
        Some((written, literal))
    }
}
