//! The ops of a unit: those of the dialect with their attributes, calls, and what has no value.

use mlir_sys::*;
use promote_dialect::attrs::{self, Attrs, Value as AttrValue};
use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op};

use super::{IMPLICIT, Viewer};
use crate::checks;
use crate::constant;
use crate::flow::{self, Flow};
use crate::raw::{self, Address};
use promote_infer::graph::{BlockId, Known, NewOp, OpId, Type, ValueId};
use promote_infer::literals;
use promote_infer::shape::{DYNAMIC, is_dynamic};
use promote_infer::solve;
use promote_infer::unit::Call;

impl Viewer<'_> {
    pub(super) fn add_operation(&mut self, operation: MlirOperation, name: usize, block: BlockId) {
        // SAFETY: the operation is alive.
        if let Some(op) = unsafe { self.names.op(operation) } {
            self.add_op(op, operation, block);
            return;
        }
        let results: Vec<ValueId> =
            raw::results(operation).map(|result| self.add_value(result, block)).collect();
        if name == self.kinds.r#return && self.view.unit.is_function {
            let slots: Vec<_> = self.view.unit.results.iter().copied().map(Some).collect();
            self.feed(&slots, operation, 0, block);
        } else if let Some(flow) = self.flows.get(&name) {
            self.add_flow(*flow, operation, block);
        } else if name == self.kinds.call
            && let Some(callee) = raw::attribute(operation, "callee").and_then(raw::symbol)
        {
            let follows_callee = results.iter().any(|result| self.is_stated_in_part(*result));
            let operands = raw::operands(operation).map(|operand| self.operand(operand, block)).collect();
            let call = solve::Call { operands, results, block, after: self.view.graph.position() };
            self.view.unit.calls.push(Call { callee, call, follows_callee });
            self.view.calls.push(Address(operation));
        } else if name == self.kinds.poison {
            for (value, id) in raw::results(operation).zip(results) {
                self.is_undefined(value, id);
            }
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
    fn note_marks(
        &mut self,
        (op, id): (Op, OpId),
        operation: MlirOperation,
        operands: &[ValueId],
        stated: Type,
    ) {
        let graph = &self.view.graph;
        let is_open = |value: &ValueId| {
            let dims = graph.shapes.get(graph.value(*value).stated.shape).dims();
            dims.is_none_or(|dims| dims.iter().copied().any(is_dynamic))
        };
        let open = operands.iter().any(is_open);
        if open && raw::attribute(operation, checks::CHECKED).is_some() {
            self.view.graph.checked.insert(id);
        }
        if raw::attribute(operation, IMPLICIT).is_none() {
            return;
        }
        self.view.graph.implicit.insert(id);
        if !matches!(op, Op::Convert | Op::BroadcastTo) {
            return;
        }
        if matches!(stated.dtype, Known::DType(dtype) if dtype.is_weak()) {
            self.view.graph.weak_edges.insert(id);
        }
        let result = raw::result(operation);
        if op == Op::Convert && raw::users(result).all(|user| self.is_seen(user, result)) {
            self.view.graph.movable.insert(id);
        }
    }

    /// Whether the graph has what an op does with an operand.
    fn is_seen(&self, operation: MlirOperation, value: MlirValue) -> bool {
        // SAFETY: the operation is alive.
        let ours = unsafe { self.names.op(operation) }.is_some();
        ours || self.passes_on(operation, value)
    }

    /// Whether an op lets an operand flow to a slot.
    pub(super) fn passes_on(&self, operation: MlirOperation, value: MlirValue) -> bool {
        let name = raw::name_id(operation);
        match self.flows.get(&name) {
            Some(Flow::Part) => flow::is_part(operation, value),
            Some(_) => true,
            None => name == self.kinds.r#return && self.view.unit.is_function,
        }
    }

    fn add_op(&mut self, op: Op, operation: MlirOperation, block: BlockId) {
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        operands.extend(raw::operands(operation).map(|value| self.operand(value, block)));
        let id = OpId(self.view.ops.len() as u32);
        let attrs = self.attrs(op, operation, id);
        let result = raw::result(operation);
        let stated = self.type_of(result);
        let constant = if op == Op::Constant { self.constant(operation, id, stated) } else { None };
        let (written, scalar) = constant.map_or((None, None), |(written, scalar)| (Some(written), scalar));
        // SAFETY: the operation is alive.
        let attributed = unsafe { mlirOperationGetNumAttributes(operation) } > 0;
        if attributed && op != Op::Constant {
            self.note_marks((op, id), operation, &operands, stated);
        }
        let used_before = self.ids.get(result);
        let value = self
            .view
            .graph
            .add_op(NewOp { op, operands: &operands, attrs, scalar, written, stated, block }, used_before);
        if used_before.is_none() {
            self.name_value(result, value, stated);
        }
        self.view.ops.push(Address(operation));
        self.operands = operands;
    }

    fn attrs(&mut self, op: Op, operation: MlirOperation, id: OpId) -> Option<Attrs> {
        // SAFETY: the operation is alive.
        let none = unsafe { mlirOperationGetNumAttributes(operation) } == 0;
        if none && op.info().attrs.iter().all(|spec| !spec.required) {
            return None;
        }
        let found: Vec<_> =
            raw::attributes(operation).map(|(name, value)| (name, attribute(value))).collect();
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
    fn constant(
        &mut self,
        operation: MlirOperation,
        id: OpId,
        stated: Type,
    ) -> Option<(Type, Option<Literal>)> {
        let value = raw::attribute(operation, "value")?;
        // SAFETY: the attribute is alive, and checked to be one with elements.
        let value_type = unsafe {
            if !mlirAttributeIsADenseElements(value) {
                return None;
            }
            mlirAttributeGetType(value)
        };
        let written = self.view.types.view(value_type, self.names, &mut self.view.graph);
        let (dtype, fits) = match (written.dtype, stated.dtype) {
            (Known::DType(dtype), Known::Unknown) => (dtype, true),
            (Known::DType(dtype), Known::DType(stated)) => (dtype, stated.storage() == dtype),
            _ => (DType::B1, false),
        };
        let shape = self.view.graph.shapes.get(stated.shape).meet(self.view.graph.shapes.get(written.shape));
        if !fits || shape.is_none() {
            let result = raw::type_text(raw::value_type(raw::result(operation)));
            let problem = attrs::Problem::ConstantValue { result, value: raw::type_text(value_type) };
            self.view.unit.attr_problems.push((id, problem));
            return None;
        }
        let scalar = self.view.graph.shapes.get(written.shape).dims().is_some_and(<[i64]>::is_empty);
        let elements = if scalar { constant::elements(value, dtype) } else { None };
        let literal = elements.and_then(|elements| Some(literals::number(*elements.first()?, dtype)));
        Some((written, literal))
    }
}

/// An attribute's value.
pub fn attribute(value: MlirAttribute) -> AttrValue {
    // SAFETY: the attribute is alive, and each accessor is called on an attribute of its kind.
    unsafe {
        if mlirAttributeIsABool(value) {
            AttrValue::Flag(mlirBoolAttrGetValue(value))
        } else if mlirAttributeIsAInteger(value) {
            let r#type = mlirAttributeGetType(value);
            let signless = mlirTypeIsAInteger(r#type) && mlirIntegerTypeIsSignless(r#type);
            match signless && mlirIntegerTypeGetWidth(r#type) == 64 {
                true => AttrValue::Int(mlirIntegerAttrGetValueInt(value)),
                false => AttrValue::Other,
            }
        } else if mlirAttributeIsAFloat(value) && mlirTypeIsAF64(mlirAttributeGetType(value)) {
            AttrValue::Float(mlirFloatAttrGetValueDouble(value))
        } else if mlirAttributeIsADenseI64Array(value) {
            let count = mlirDenseArrayGetNumElements(value);
            AttrValue::Ints((0..count).map(|i| mlirDenseI64ArrayGetElement(value, i)).collect())
        } else if mlirAttributeIsADenseElements(value) {
            AttrValue::Elements
        } else {
            AttrValue::Other
        }
    }
}
