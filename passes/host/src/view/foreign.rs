//! The ops of other dialects that follow rules of ours.

use std::sync::Arc;

use promote_dialect::attrs::{self, Attrs, Value};
use promote_infer::foreign::Foreign;
use promote_infer::graph::{BlockId, Known, NewOp, OpId, Type, ValueId};
use promote_infer::shape::Shape;
use promote_lattice::semantics::MAX_OPERANDS;
use promote_lattice::{DType, Op};

use super::Viewer;
use crate::ir::{Ir, ValueIds};
use crate::rules::{Constants, OpRule, OpRules, RuleId};

impl<I: Ir> Viewer<'_, I> {
    /// Whether a value is an operand of a foreign op only where the rule looks at it.
    pub(super) fn takes_part(&self, rule: RuleId, operation: I::Op, value: I::Value) -> bool {
        let Some(OpRule { operands: Some(operands), .. }) = self.ir.rules().map(|rules| rules.rule(rule))
        else {
            return true;
        };
        let mut uses = self.ir.operands(operation).enumerate().filter(|(_, operand)| *operand == value);
        uses.all(|(index, _)| operands.contains(&index))
    }

    pub(super) fn add_foreign(&mut self, (op, rule): (Op, RuleId), operation: I::Op, block: BlockId) {
        let ir = self.ir;
        let Some((file, rule)) = ir.rules().map(|rules| (rules.file(rule), rules.rule(rule))) else { return };
        let all: Vec<I::Value> = ir.operands(operation).collect();
        let mut positions: Vec<usize> = match &rule.operands {
            Some(operands) => operands.iter().copied().filter(|index| *index < all.len()).collect(),
            None => (0..all.len()).collect(),
        };
        if op == Op::Clip {
            self.without_none(file, &mut positions, &all);
        }
        let id = OpId(self.view.ops.len() as u32);
        let name: Arc<str> = ir.name_text(ir.name(operation)).into();
        let operands = self.foreign_operands((op, id), &name, &positions, &all, block);
        // Other results are what the program says they are.
        for other in ir.results(operation).skip(1) {
            self.add_value(other, block);
        }
        let attrs = if rule.states_shape { None } else { self.foreign_attrs(op, rule, operation, id) };
        let dtype = rule.dtype.and_then(|index| self.told((file, index), &all, id, &name));
        let result = ir.result(operation);
        let stated = self.type_of(result);
        let foreign = Foreign {
            name,
            operands: positions.into(),
            broadcasts: rule.broadcasts,
            states_shape: rule.states_shape,
            dtype,
            ranks: rule.ranks.as_deref().map(Into::into),
        };
        self.view.graph.foreign.insert(id, foreign);
        let used_before = self.ids.get(result);
        let new = NewOp { op, operands: &operands, attrs, scalar: None, written: None, stated, block };
        let value = self.view.graph.add_op(new, used_before);
        if used_before.is_none() {
            self.name_value(result, value, stated);
        }
        self.view.ops.push(operation);
    }

    /// Whether a value stands for an operand that is left out.
    fn is_none(&self, constants: &Constants, value: I::Value) -> bool {
        let none = constants.none.as_deref();
        none.is_some_and(|none| self.ir.type_text(self.ir.value_type(value)) == none)
    }

    /// Lets the other bound stand for one that is left out: what is said twice counts once.
    fn without_none(&self, file: &OpRules, positions: &mut [usize], all: &[I::Value]) {
        let [_, low, high] = positions else { return };
        let is_none = |index: usize| self.is_none(&file.constants, all[index]);
        match (is_none(*low), is_none(*high)) {
            (true, false) => *low = *high,
            (false, true) => *high = *low,
            (true, true) | (false, false) => {}
        }
    }

    /// The dtype that an operand says the result is of; nothing if it is left out.
    fn told(
        &mut self,
        (file, index): (&OpRules, usize),
        all: &[I::Value],
        id: OpId,
        name: &str,
    ) -> Option<DType> {
        let value = all.get(index).copied();
        if value.is_some_and(|value| self.is_none(&file.constants, value)) {
            return None;
        }
        let problem = match value.and_then(|value| self.integer(&file.constants, value)) {
            Some(code) => match file.coded(code) {
                Some(dtype) => return Some(dtype),
                None => attrs::Problem::Code { name: name.to_owned(), operand: index, code },
            },
            None => {
                let constant = file.constants.integer.clone().unwrap_or_default();
                attrs::Problem::DType { name: name.to_owned(), operand: index, constant }
            }
        };
        self.view.unit.attr_problems.push((id, problem));
        None
    }

    /// The integer that a value is, if it is a constant of the dialect.
    fn integer(&self, constants: &Constants, value: I::Value) -> Option<i64> {
        let ir = self.ir;
        let made = ir.defining_op(value)?;
        if Some(ir.name_text(ir.name(made))) != constants.integer {
            return None;
        }
        match ir.attribute(made, "value")? {
            Value::Int(value) => Some(value),
            Value::Ints(_) | Value::Flag(_) | Value::Float(_) | Value::Elements | Value::Other => None,
        }
    }

    /// The operands that take part, as many as the rule asks for.
    fn foreign_operands(
        &mut self,
        (op, id): (Op, OpId),
        name: &str,
        positions: &[usize],
        all: &[I::Value],
        block: BlockId,
    ) -> Vec<ValueId> {
        let (arity, found) = (op.info().arity, positions.len());
        let mut operands: Vec<ValueId> = positions
            .iter()
            .take(MAX_OPERANDS)
            .map(|index| match self.ir.scalar(self.ir.value_type(all[*index])) {
                Some(dtype) => self.add_scalar(all[*index], dtype, block),
                None => self.operand(all[*index], block),
            })
            .collect();
        if !(arity.required..=arity.required + arity.optional).contains(&found) {
            let required = match arity.optional {
                0 => arity.required.to_string(),
                optional => format!("{} to {}", arity.required, arity.required + optional),
            };
            let problem = attrs::Problem::Operands { name: name.to_owned(), op, found, required };
            self.view.unit.attr_problems.push((id, problem));
            operands.truncate(arity.required + arity.optional);
            let first = operands.first().copied();
            operands.extend(first.into_iter().cycle().take(arity.required.saturating_sub(operands.len())));
        }
        operands
    }

    /// A scalar of the dialect's language, which counts where it is used and is not converted. It is another value at each
    /// use: elsewhere it is what the program says.
    fn add_scalar(&mut self, value: I::Value, dtype: DType, block: BlockId) -> ValueId {
        let shape = self.view.graph.shapes.id(Shape::ranked([]));
        let id = self.view.graph.add_value(Type { dtype: Known::DType(dtype), shape }, block);
        self.view.values.push(value);
        self.view.graph.kept.insert(id);
        id
    }

    /// Our attributes, as the rule says what the dialect calls them; what else it has is its own business.
    fn foreign_attrs(&mut self, op: Op, rule: &OpRule, operation: I::Op, id: OpId) -> Option<Attrs> {
        let specs = op.info().attrs;
        if specs.is_empty() {
            return None;
        }
        let ours = specs.iter().filter_map(|spec| {
            let renamed = rule.attributes.iter().find(|(ours, _)| ours == spec.name);
            let theirs = renamed.map_or(spec.name, |(_, theirs)| theirs);
            Some((spec.name, self.ir.attribute(operation, theirs)?))
        });
        match attrs::check(op, ours) {
            Ok(attrs) => Some(attrs),
            Err(problems) => {
                self.view.unit.attr_problems.extend(problems.into_iter().map(|problem| (id, problem)));
                None
            }
        }
    }
}
