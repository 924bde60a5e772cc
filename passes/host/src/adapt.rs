//! `promote-apply-op-rules`: what the passes made for ops of other dialects becomes what their dialects have for it.
//!
//! ## Algorithm
//! 1. In functions with ops of other dialects, find the implicit converts, the broadcasts and the constants that no op of
//!    ours uses, users first: each is written as the file of its user says.
//! 2. In program order, write them, put the op of the right kind in the place of each op of a family, and fit attributes
//!    that say of which dtype the operands are.
//! 3. Refuse what is left of ours where types are written as no op of ours takes them.

mod fill;

use promote_diagnostics::{Code, Diagnostic};
use promote_lattice::{DType, Op};
use rustc_hash::FxHashMap;

use crate::ir::{Element, Ir, Kind, Mark, Tensor};
use crate::rules::{Fit, Form, Made, OpRule, OpRules, Recipe, RuleId, Rules};
use crate::source::place_of;
use crate::units;
use fill::Filling;

/// Writes what the rule files say in the place of ours in `root`, and returns every finding in program order.
pub fn apply_op_rules<I: Ir>(ir: &mut I, root: I::Op) -> Vec<Diagnostic> {
    let Some(rules) = ir.rules().filter(|rules| !rules.is_empty()).cloned() else { return Vec::new() };
    let mut found = Vec::new();
    for unit in units::roots(ir, root) {
        let mut ops = Vec::new();
        units::walk(ir, unit, &mut |operation| ops.push(operation));
        let (ops, files) = files(ir, &rules, ops);
        let mut writer = Writer { ir, rules: &rules, found: &mut found };
        for operation in ops {
            match (writer.ir.kind(operation), files.get(&operation)) {
                (Kind::Foreign { rule, .. }, _) => writer.adapt(operation, rule),
                (Kind::Promote(op), file) => match (Made::of(op), file) {
                    (Some(made), Some(file)) => writer.replace(operation, made, *file),
                    (Some(_) | None, _) => writer.check(operation, None),
                },
                (
                    Kind::Module
                    | Kind::Function
                    | Kind::Call
                    | Kind::Return
                    | Kind::Poison
                    | Kind::Flow(_)
                    | Kind::Loop
                    | Kind::Other,
                    _,
                ) => writer.check(operation, None),
            }
        }
    }
    found
}

/// The file by which each op that was made for other dialects is written, and all ops. What serves ops of several files is made
/// once for each.
fn files<I: Ir>(ir: &mut I, rules: &Rules, ops: Vec<I::Op>) -> (Vec<I::Op>, FxHashMap<I::Op, usize>) {
    let mut files: FxHashMap<I::Op, usize> = FxHashMap::default();
    let has_foreign = ops.iter().any(|operation| matches!(ir.kind(*operation), Kind::Foreign { .. }));
    let mut all = Vec::with_capacity(ops.len());
    for operation in ops.into_iter().rev() {
        let made = ir.kind(operation).promote().and_then(Made::of);
        let made = made.filter(|made| *made != Made::Convert || ir.is_marked(operation, Mark::Implicit));
        if let Some(made) = made {
            let (mut users, serves_ours) = users_by_file(ir, operation, &files);
            let result = ir.result(operation);
            let of_form = ir.form(ir.value_type(result)).file();
            // What only control flow uses is written as the first file does that can.
            let of_any = || rules.files().iter().position(|file| file.writes(made)).filter(|_| has_foreign);
            let of_user = users.first().map(|(file, _)| *file);
            let file = of_form.or(of_user).or_else(of_any);
            if let Some(file) = file.filter(|_| !serves_ours || of_form.is_some()) {
                files.insert(operation, file);
                // Types of a form are of one file.
                users.retain(|(other, _)| *other != file && of_form.is_none());
                for (other, users) in users {
                    let copy = ir.copy(operation);
                    ir.insert_after(copy, operation);
                    let copied = ir.result(copy);
                    units::replace_in(ir, &users, result, copied);
                    files.insert(copy, other);
                    all.push(copy);
                }
            }
        }
        all.push(operation);
    }
    all.reverse();
    (all, files)
}

/// The files of the users of an op's result, with those users; and whether an op of ours is one.
type Users<I> = (Vec<(usize, Vec<<I as Ir>::Op>)>, bool);

fn users_by_file<I: Ir>(ir: &I, operation: I::Op, files: &FxHashMap<I::Op, usize>) -> Users<I> {
    let (mut users, mut serves_ours): Users<I> = (Vec::new(), false);
    for user in ir.users(ir.result(operation)) {
        let file = match ir.kind(user) {
            Kind::Foreign { rule, .. } => Some(rule.file as usize),
            Kind::Promote(_) => {
                serves_ours |= !files.contains_key(&user);
                files.get(&user).copied()
            }
            Kind::Other => file_of_list(ir, user),
            Kind::Module
            | Kind::Function
            | Kind::Call
            | Kind::Return
            | Kind::Poison
            | Kind::Flow(_)
            | Kind::Loop => None,
        };
        let Some(file) = file else { continue };
        match users.iter_mut().find(|(known, _)| *known == file) {
            Some((_, users)) => users.push(user),
            None => users.push((file, vec![user])),
        }
    }
    (users, serves_ours)
}

/// The file of the op that joins the elements of a list, if an op makes one.
fn file_of_list<I: Ir>(ir: &I, operation: I::Op) -> Option<usize> {
    let list = ir.results(operation).next().filter(|list| ir.is_list(ir.value_type(*list)))?;
    ir.users(list).find_map(|user| {
        let Kind::Foreign { rule, .. } = ir.kind(user) else { return None };
        Some(rule.file as usize)
    })
}

/// Writes into a program.
struct Writer<'a, I: Ir> {
    ir: &'a mut I,
    rules: &'a Rules,
    found: &'a mut Vec<Diagnostic>,
}

impl<I: Ir> Writer<'_, I> {
    fn refuse(&mut self, operation: I::Op, message: String, remedy: String) {
        let place = place_of(self.ir, operation);
        self.found.push(Diagnostic::error(Code::OpRules, place, message).with_remedy(remedy));
    }

    /// The name of an op in the program.
    fn name(&self, operation: I::Op) -> String {
        self.ir.name_text(self.ir.name(operation))
    }

    /// Makes an op the one for the dtype of its operands.
    fn adapt(&mut self, operation: I::Op, id: RuleId) {
        let (file, rule) = (self.rules.file(id), self.rules.rule(id));
        if rule.refuses_broadcasts {
            self.refuse_broadcasts(operation, file);
        }
        let Some(dtype) = self.computed(operation, rule) else { return };
        if !rule.dtypes.is_empty() && !rule.dtypes.iter().any(|group| group.has(dtype)) {
            let message = format!("{} does not compute in {dtype}", self.name(operation));
            let remedy = "convert an operand explicitly, or use another op".to_owned();
            return self.refuse(operation, message, remedy);
        }
        self.fit(operation, dtype, (file, rule));
        self.respell(operation, dtype, (file, rule));
    }

    /// The dtype that an op computes in: that of its last operand that is a tensor, as masks come first.
    fn computed(&self, operation: I::Op, rule: &OpRule) -> Option<DType> {
        let all: Vec<I::Value> = self.ir.operands(operation).collect();
        let taken: Vec<I::Value> = match &rule.operands {
            Some(operands) => operands.iter().filter_map(|index| all.get(*index).copied()).collect(),
            None => all,
        };
        taken.into_iter().rev().find_map(|operand| {
            // The elements of a list are of one dtype.
            let is_list = self.ir.is_list(self.ir.value_type(operand));
            let list = self.ir.defining_op(operand).filter(|_| is_list);
            let operand = list.map_or(Some(operand), |list| self.ir.operands(list).last())?;
            match self.ir.tensor(self.ir.value_type(operand))?.element {
                Element::DType(dtype) => Some(dtype),
                Element::Unknown | Element::Other => None,
            }
        })
    }

    /// Gives attributes that say of which dtype the operands are the values for it.
    fn fit(&mut self, operation: I::Op, dtype: DType, (file, rule): (&OpRules, &OpRule)) {
        for fitted in file.fitted.iter().filter(|fitted| fitted.op == rule.pattern.name) {
            if self.ir.attribute(operation, &fitted.attribute).is_none() {
                continue;
            }
            let fit = fitted.fit(dtype, |pattern| self.ir.is(operation, pattern));
            let refused = match fit {
                Fit::Stays => None,
                Fit::Becomes(value) => self.ir.set_attribute(operation, &fitted.attribute, value).err(),
                Fit::Refused => Some(format!("its value does not fit operands of {dtype}")),
            };
            if let Some(why) = refused {
                let message =
                    format!("the attribute {} of {} cannot stay: {why}", fitted.attribute, fitted.op);
                let remedy = "remove the attribute, or convert an operand explicitly".to_owned();
                self.refuse(operation, message, remedy);
            }
        }
    }

    /// Puts the op of a family that is for the dtype of the operands in the place of another one.
    fn respell(&mut self, operation: I::Op, dtype: DType, (file, rule): (&OpRules, &OpRule)) {
        let Some(family) = rule.family.and_then(|family| file.families.get(family)) else { return };
        // A truth value is a number of one bit to the op that the program has: that is its dialect's business.
        let stays = dtype == DType::B1 && family.member(dtype).is_none();
        match family.member(dtype) {
            Some(pattern) if self.ir.is(operation, pattern) => {}
            Some(pattern) => {
                if let Err(why) = self.ir.respell(operation, &rule.pattern, pattern) {
                    let message = format!("{} cannot become {pattern}: {why}", self.name(operation));
                    let remedy = format!("mend `{}` in the op rules {}", family.name, file.name);
                    self.refuse(operation, message, remedy);
                }
            }
            None if stays => {}
            None => {
                let message = format!(
                    "{} is of the family `{}`, which has no op for {dtype}",
                    self.name(operation),
                    family.name
                );
                let remedy = format!(
                    "convert an operand, or name an op for it in the op rules {}: [by-kind.{}]",
                    file.name, family.name
                );
                self.refuse(operation, message, remedy);
            }
        }
    }

    fn refuse_broadcasts(&mut self, operation: I::Op, file: &OpRules) {
        let operands: Vec<_> = self.ir.operands(operation).collect();
        for (index, operand) in operands.into_iter().enumerate() {
            let definition = self.ir.defining_op(operand);
            if definition.is_some_and(|definition| self.ir.kind(definition) == Kind::Promote(Op::BroadcastTo))
            {
                let message = format!("operand {index} of {} would be broadcast", self.name(operation));
                let remedy = format!("broadcast it explicitly: the op rules {} refuse it", file.name);
                self.refuse(operation, message, remedy);
            }
        }
    }

    /// Writes what a file has for what the passes made.
    fn replace(&mut self, operation: I::Op, made: Made, file: usize) {
        let Some(file) = self.rules.files().get(file) else { return self.check(operation, None) };
        let operand = self.ir.operands(operation).next();
        let of = |ir: &I, value| ir.tensor(ir.value_type(value));
        let from = operand.and_then(|operand| of(self.ir, operand));
        let Some(to) = of(self.ir, self.ir.result(operation)) else { return };
        let recipe = match made {
            Made::Convert => match self.conversion(operation, file, from.as_ref(), &to) {
                Ok(recipe) => recipe,
                Err(()) => return,
            },
            Made::Broadcast => file.broadcast.as_ref(),
            Made::Constant => file.constant.as_ref(),
        };
        match recipe {
            Some(recipe) => self.write(operation, (made, file), recipe, (from, to)),
            None => self.check(operation, Some(file)),
        }
    }

    /// What the file has for a conversion: nothing if ours stays.
    fn conversion<'f>(
        &mut self,
        operation: I::Op,
        file: &'f OpRules,
        from: Option<&Tensor>,
        to: &Tensor,
    ) -> Result<Option<&'f Recipe>, ()> {
        let (Some(Element::DType(from)), Element::DType(to)) = (from.map(|from| from.element), to.element)
        else {
            return Ok(None);
        };
        if file.conversions.is_empty() {
            return Ok(None);
        }
        match file.conversion(from, to) {
            Some(conversion) => Ok(conversion.recipe.as_ref()),
            None => {
                let message = format!("the op rules {} have no conversion from {from} to {to}", file.name);
                let remedy = format!(
                    "convert the operand explicitly, or write \"{from} -> {to}\" in the table [convert]"
                );
                self.refuse(operation, message, remedy);
                Err(())
            }
        }
    }

    /// Writes a recipe in the place of one of our ops.
    fn write(
        &mut self,
        operation: I::Op,
        (made, file): (Made, &OpRules),
        recipe: &Recipe,
        (from, to): (Option<Tensor>, Tensor),
    ) {
        let result = self.ir.result(operation);
        let r#type = self.ir.value_type(result);
        let form = self.ir.form(r#type);
        let operand = self.ir.operands(operation).next();
        let value = self.ir.value_text(operation);
        let filling = Filling { ir: &*self.ir, file, form, from, to, value };
        let written = recipe
            .fill(|hole| filling.hole(hole))
            .and_then(|text| self.ir.write(&text, operand, r#type, operation));
        match written {
            Ok(made) => {
                self.ir.replace_all_uses(result, made);
                // Each op is visited once, and files are not asked about this one again.
                self.ir.erase(operation);
            }
            Err(why) => {
                let message = format!("the op rules {} cannot write this {}: {why}", file.name, made.op());
                let remedy = match made {
                    Made::Broadcast => "broadcast the operand explicitly, or mend the rule `broadcast`",
                    Made::Convert => "convert the operand explicitly, or mend the table [convert]",
                    Made::Constant => "mend the rule `constant`",
                };
                self.refuse(operation, message, remedy.to_owned());
            }
        }
    }

    /// Refuses an op that the passes made, of types that it cannot have.
    fn check(&mut self, operation: I::Op, file: Option<&OpRules>) {
        let is_made = match self.ir.kind(operation) {
            Kind::Promote(_) => true,
            Kind::Other => {
                let name = self.name(operation);
                matches!(name.as_str(), "tensor.cast" | "tensor.dim" | "tensor.rank")
            }
            Kind::Foreign { .. }
            | Kind::Module
            | Kind::Function
            | Kind::Call
            | Kind::Return
            | Kind::Poison
            | Kind::Flow(_)
            | Kind::Loop => false,
        };
        if !is_made {
            return;
        }
        let values = self.ir.operands(operation).chain(self.ir.results(operation));
        let types: Vec<_> = values.map(|value| self.ir.value_type(value)).collect();
        if let Some(r#type) = types.into_iter().find(|r#type| self.ir.form(*r#type) != Form::BUILTIN) {
            let name = file.map_or(String::new(), |file| format!(" {}", file.name));
            let message = format!(
                "the op rules{name} have nothing to write for {} on {}",
                self.name(operation),
                self.ir.type_text(r#type)
            );
            let remedy = "state the types so that none is needed, or write a rule for it";
            self.refuse(operation, message, remedy.to_owned());
        }
    }
}
