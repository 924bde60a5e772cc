//! The ops of other dialects that follow rules of ours.

use std::sync::Arc;

use promote_dialect::attrs::{self, Attrs, Value};
use promote_infer::foreign::{Foreign, Taken};
use promote_infer::graph::{BlockId, Known, NewOp, OpId, Type, ValueId};
use promote_infer::shape::Shape;
use promote_lattice::op::{AttrKind, Class};
use promote_lattice::{DType, Op};

use super::Viewer;
use crate::ir::{Ir, ValueIds};
use crate::rules::{Constants, Held, OpRule, OpRules, RuleId};

impl<I: Ir> Viewer<'_, I> {
    /// Whether a value is an operand of a foreign op only where the rule looks at it.
    pub(super) fn takes_part(&self, rule: RuleId, operation: I::Op, value: I::Value) -> bool {
        let Some(OpRule { operands: Some(operands), joins, .. }) =
            self.ir.rules().map(|rules| rules.rule(rule))
        else {
            return true;
        };
        let mut uses = self.ir.operands(operation).enumerate().filter(|(_, operand)| *operand == value);
        uses.all(|(index, _)| {
            operands.contains(&index) || joins.as_ref().is_some_and(|joins| joins.contains(&index))
        })
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
        let (mut taken, mut operands) = self.foreign_operands((op, id), file, &name, &positions, &all, block);
        let joins = rule.joins.as_ref().map(|_| operands.len());
        for index in rule.joins.iter().flatten().copied().filter(|index| *index < all.len()) {
            if !self.is_none(&file.constants, all[index]) {
                taken.push(Taken::Operand(index));
                operands.push(self.foreign_operand(all[index], block));
            }
        }
        // Other results are what the program says they are.
        for other in ir.results(operation).skip(1) {
            self.add_value(other, block);
        }
        let states_shape = rule.states_shape || self.has_attribute_at_run_time((file, rule), &all);
        let attrs = if states_shape { None } else { self.foreign_attrs(op, (file, rule), operation, id) };
        let dtype = rule.dtype.and_then(|index| self.told((file, index), &all, id, &name));
        let result = ir.result(operation);
        let stated = self.type_of(result);
        let foreign = Foreign {
            name,
            operands: taken.into(),
            joins,
            broadcasts: rule.broadcasts,
            states_shape,
            dtype,
            accumulates: rule.accumulates,
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

    /// The operands that take part, as many as the rule asks for, with what they are in the program. An op that joins takes the
    /// elements of a list, and any number of operands.
    fn foreign_operands(
        &mut self,
        (op, id): (Op, OpId),
        file: &OpRules,
        name: &str,
        positions: &[usize],
        all: &[I::Value],
        block: BlockId,
    ) -> (Vec<Taken>, Vec<ValueId>) {
        let (arity, mut found) = (op.info().arity, positions.len());
        let (mut taken, mut operands) = (Vec::new(), Vec::new());
        for index in positions {
            let value = all[*index];
            if op.class() == Class::Joining && self.ir.is_list(self.ir.value_type(value)) {
                let list = self.list((id, name, *index), file, value);
                found = arity.required;
                let elements: Vec<I::Value> =
                    list.into_iter().flat_map(|list| self.ir.operands(list)).collect();
                for (element, place) in elements.iter().zip(0..) {
                    taken.push(Taken::Element { index: place, list: *index });
                    operands.push(self.foreign_operand(*element, block));
                }
                if elements.is_empty() {
                    // What is wrong with the list is said: nothing else is of an op on nothing.
                    taken.push(Taken::Operand(*index));
                    operands.push(self.add_refused(value, block));
                }
            } else {
                taken.push(Taken::Operand(*index));
                operands.push(self.foreign_operand(value, block));
            }
        }
        let is_too_many = found > arity.required + arity.optional && op.class() != Class::Joining;
        if found < arity.required || is_too_many {
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
        (taken, operands)
    }

    /// An operand that takes part.
    fn foreign_operand(&mut self, value: I::Value, block: BlockId) -> ValueId {
        match self.ir.scalar(self.ir.value_type(value)) {
            Some(dtype) => self.add_scalar(value, dtype, block),
            None => self.operand(value, block),
        }
    }

    /// A value in the place of operands of which nothing is known because of something that is reported.
    fn add_refused(&mut self, value: I::Value, block: BlockId) -> ValueId {
        self.view.values.push(value);
        self.view.graph.add_value(Type::REFUSED, block)
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

    /// Whether an attribute of ours is an operand that is known at run time only.
    fn has_attribute_at_run_time(&self, (file, rule): (&OpRules, &OpRule), all: &[I::Value]) -> bool {
        let constant =
            |index: usize| all.get(index).and_then(|value| self.integer(&file.constants, *value)).is_some();
        rule.attributes.iter().any(|(_, held)| matches!(held, Held::Operand(index) if !constant(*index)))
    }

    /// Our attributes, as the rule says where the dialect has them; what else it has is its own business.
    fn foreign_attrs(
        &mut self,
        op: Op,
        (file, rule): (&OpRules, &OpRule),
        operation: I::Op,
        id: OpId,
    ) -> Option<Attrs> {
        let specs = op.info().attrs;
        if specs.is_empty() {
            return None;
        }
        let ours = specs.iter().filter_map(|spec| {
            let held = rule.attributes.iter().find(|(ours, _)| ours == spec.name);
            let value = match held {
                None => self.ir.attribute(operation, spec.name)?,
                Some((_, Held::Attribute(theirs))) => self.ir.attribute(operation, theirs)?,
                Some((_, Held::Operand(index))) => {
                    let value = self.integer(&file.constants, self.ir.operand(operation, *index))?;
                    if spec.kind == AttrKind::Ints { Value::Ints([value].into()) } else { Value::Int(value) }
                }
            };
            Some((spec.name, value))
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
