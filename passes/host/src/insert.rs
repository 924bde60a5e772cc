//! `promote-insert-converts`: weak values become strong, implicit promotions become converts, implicit broadcasts
//! `broadcast_to`.
//!
//! The engine plans ([`plan`]); this module writes the plan into the IR, unit by unit, in parallel:
//! weak values get their strong types in place, inserts are made and uses edited, weak literals become the first constant
//! that is made of them in place where all their uses are known, the others go, and function types follow.

use promote_diagnostics::Diagnostic;
use promote_infer::fold::Constants;
use promote_infer::foreign::Taken;
use promote_infer::graph::{BlockId, Known, OpId, ShapeId, Source, ValueId};
use promote_infer::literals;
use promote_infer::plan::{
    Edit, Insert, InsertId, Make, Plan, Position, Produced, Role, Use, is_weak_literal, plan,
};
use promote_infer::scalars;
use promote_infer::solve::{Solution, solve};
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Op, Semantics};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checks::{self, Place, Writer as Checks};
use crate::ir::{Element, Ir, Mark, New, Signature, Tensor};
use crate::pass::Settings;
use crate::rewrites::Rewrites;
use crate::source;
use crate::units::{self, Units};
use crate::verify::Planned;
use crate::view::{View, view_about};

/// Views and solves the units of `root`, whose types are inferred.
///
/// # Errors
/// Every finding, if they are not, or do not fit.
pub fn solved<I: Ir>(ir: &mut I, root: I::Op, semantics: &Semantics) -> Result<Units<I>, Vec<Diagnostic>> {
    let sized = units::sized(ir, root);
    let units: Units<I> = ir.map(sized, |ir, (unit, ops)| {
        let mut view = view_about(unit, ir, ops);
        scalars::compute(&mut view.graph, semantics);
        let solution = solve(&mut view.graph, semantics);
        (view, solution)
    });
    let mut found = Vec::new();
    for (view, solution) in &units {
        let seen = view.seen(ir);
        let reporter = seen.reporter(solution);
        let refused = reporter.diagnostics(&[]);
        found.extend(if refused.is_empty() {
            reporter.not_inferred().into_iter().collect()
        } else {
            refused
        });
    }
    if found.is_empty() { Ok(units) } else { Err(found) }
}

/// Makes every conversion in `units` explicit, and returns every finding in program order.
pub fn insert_converts<I: Ir>(ir: &mut I, mut units: Units<I>, settings: &Settings<'_>) -> Vec<Diagnostic> {
    let semantics = settings.semantics;
    let mut unranked = Vec::new();
    for (view, solution) in &units {
        unranked.extend(view.seen(ir).reporter(solution).unranked());
    }
    if !unranked.is_empty() {
        return unranked;
    }
    let diagnostics = ir.map(units.iter_mut().collect(), |ir, (view, solution): &mut (View<I>, Solution)| {
        let plan = plan(&mut view.graph, solution, semantics);
        let diagnostics = settings.remarks(view.seen(ir).reporter(solution)).of_plan(&plan);
        let mut writer = Writer::new(ir, view, solution, &plan, semantics);
        writer.diagnostics = diagnostics;
        writer.write();
        writer.diagnostics
    });
    let mut diagnostics: Vec<Diagnostic> = diagnostics.into_iter().flatten().collect();
    diagnostics.sort_by_key(|diagnostic| diagnostic.location.as_ref().map(|l| (l.line, l.column)));
    diagnostics
}

/// Moves and merges the implicit converts of a unit of about that many ops, if its program is strong; what there is to know of
/// it, if nothing had to be done.
pub fn place_again<I: Ir>(ir: &mut I, root: I::Op, ops: usize, semantics: &Semantics) -> Option<Planned<I>> {
    let mut view = view_about(root, ir, ops);
    if view.graph.movable.is_empty() {
        return None;
    }
    let solution = solve(&mut view.graph, semantics);
    let seen = view.seen(ir);
    let reporter = seen.reporter(&solution);
    if !reporter.diagnostics(&[]).is_empty() || reporter.not_inferred().is_some() {
        return None;
    }
    let plan = plan(&mut view.graph, &solution, semantics);
    if plan.moves.is_empty() && plan.merged.is_empty() {
        return Some(Planned { view, solution, plan });
    }
    Writer::new(ir, &mut view, &solution, &plan, semantics).place();
    None
}

struct Writer<'a, I: Ir> {
    ir: &'a mut I,
    view: &'a mut View<I>,
    solution: &'a Solution,
    plan: &'a Plan,
    semantics: &'a Semantics,
    /// The op made for each insert.
    made: Vec<I::Op>,
    /// The weak literals that become constants in place.
    rewrites: Rewrites<I>,
    /// The last op put after something.
    tails: FxHashMap<I::Op, I::Op>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a, I: Ir> Writer<'a, I> {
    fn new(
        ir: &'a mut I,
        view: &'a mut View<I>,
        solution: &'a Solution,
        plan: &'a Plan,
        semantics: &'a Semantics,
    ) -> Self {
        Self {
            ir,
            view,
            solution,
            plan,
            semantics,
            made: Vec::with_capacity(plan.inserts.len()),
            rewrites: Rewrites::default(),
            tails: FxHashMap::default(),
            diagnostics: Vec::new(),
        }
    }

    fn write(&mut self) {
        self.move_lists();
        self.strengthen_values();
        self.r#move();
        for check in &self.plan.checks {
            checks::write(self.ir, self.view, check);
        }
        for op in &self.plan.checked {
            self.ir.mark(self.view.op(*op), Mark::Checked);
        }
        for (op, shape) in &self.plan.refined {
            self.refine(*op, *shape);
        }
        self.rewrites = Rewrites::new(self.ir, self.view, self.solution, self.plan, self.semantics);
        // What a use takes is made when it is edited: mostly that is in front of it.
        for edit in &self.plan.edits {
            if let Produced::Insert(insert) = edit.to {
                self.make_up_to(insert.0 as usize + 1);
            }
            if !self.rewrites.has_done(&self.view.graph, edit) {
                self.edit(edit);
            }
        }
        self.make_up_to(self.plan.inserts.len());
        self.merge();
        self.retype_lists();
        self.settle_literals();
        if self.view.unit.is_function {
            self.strengthen_function_type();
        }
    }

    /// Moves and merges the converts that are there.
    fn place(&mut self) {
        self.move_lists();
        self.r#move();
        self.merge();
    }

    fn r#move(&mut self) {
        for (op, position) in &self.plan.moves {
            if let Ok(before) = self.anchor(*position) {
                self.ir.move_before(self.view.op(*op), before);
            }
        }
    }

    fn merge(&mut self) {
        for edit in &self.plan.merges {
            self.edit(edit);
        }
        for op in &self.plan.merged {
            let operation = self.view.op(*op);
            if !self.ir.is_used(self.ir.result(operation)) {
                // What is written after merging reads literals alone, and the view ends with that.
                self.ir.erase(operation);
            }
        }
    }

    /// Puts lists of which elements change right before the ops that take them: what is placed before such an op, and is an
    /// element, is before its list, too.
    fn move_lists(&mut self) {
        if self.view.lists.is_empty() {
            return;
        }
        let edits = self.plan.edits.iter().chain(&self.plan.merges);
        let edited: FxHashSet<OpId> = edits
            .filter_map(|edit| match edit.place {
                Use::Operand(op, _) => Some(op),
                Use::Feed(..) => None,
            })
            .collect();
        let graph = &self.view.graph;
        let moved: FxHashSet<ValueId> =
            self.plan.moves.iter().map(|(op, _)| graph.node(*op).result).collect();
        for ((op, _), list) in &self.view.lists {
            if edited.contains(op) || graph.operands(*op).iter().any(|value| moved.contains(value)) {
                self.ir.move_before(*list, self.view.op(*op));
            }
        }
    }

    /// Lists that say of which dtype their elements are say what they became.
    fn retype_lists(&mut self) {
        for list in self.view.lists.values() {
            let (element, result) = (self.ir.operands(*list).next(), self.ir.result(*list));
            let tensor = element.and_then(|element| self.ir.tensor(self.ir.value_type(element)));
            if let Some(Tensor { element: Element::DType(dtype), .. }) = tensor
                && let Some(retyped) = self.ir.retyped_list(self.ir.value_type(result), dtype)
            {
                self.ir.set_type(result, retyped);
            }
        }
    }

    fn edit(&mut self, edit: &Edit) {
        let (operation, index) = self.user(edit.place);
        let value = self.value(edit.to);
        self.ir.set_operand(operation, index, value);
    }

    /// Computed weak values take the default dtype of their kind, in place.
    fn strengthen_values(&mut self) {
        for value in self.view.graph.value_ids() {
            let Some(dtype) = self.solution.dtype(value) else { continue };
            let stays = is_weak_literal(&self.view.graph, value) || self.view.graph.kept.contains(&value);
            if !dtype.is_weak() || stays {
                continue;
            }
            let (target, shape) = (self.view.value(value), self.solution.value(value).shape);
            let strong = self.tensor(self.semantics.strengthen(dtype), shape, target);
            self.ir.set_type(target, strong);
        }
    }

    /// The tensor type of a dtype and a shape, written as that of a value is.
    fn tensor(&mut self, dtype: DType, shape: ShapeId, like: I::Value) -> I::Type {
        let form = self.ir.form_of(like);
        self.view.types.tensor(dtype, shape, form, (self.ir, &self.view.graph))
    }

    fn value(&self, produced: Produced) -> I::Value {
        match produced {
            Produced::Value(value) => self.view.value(value),
            Produced::Insert(id) => self.ir.result(self.made[id.0 as usize]),
        }
    }

    /// The op and the operand of a use.
    fn user(&self, place: Use) -> (I::Op, usize) {
        match place {
            Use::Operand(op, index) => match self.view.graph.taken(op, index) {
                Taken::Operand(index) => (self.view.op(op), index),
                Taken::Element { index, list } => (self.view.lists[&(op, list)], index),
            },
            Use::Feed(slot, index) => self.view.feeds[slot.0 as usize][index],
        }
    }

    /// Makes the ops of the first inserts, so many, that are not made yet.
    fn make_up_to(&mut self, count: usize) {
        while let (true, Some(insert)) = (self.made.len() < count, self.plan.inserts.get(self.made.len())) {
            let made = self.make(InsertId(self.made.len() as u32), insert);
            self.made.push(made);
        }
    }

    /// Makes the op of an insert, and puts it where it stands.
    fn make(&mut self, id: InsertId, insert: &Insert) -> I::Op {
        let (user, _) = self.user(insert.serves);
        let Known::DType(dtype) = insert.result.dtype else { unreachable!("an insert has a dtype") };
        let source = self.value(insert.source);
        let result = self.tensor(dtype, insert.result.shape, source);
        let made = match insert.make {
            Make::Convert(_) => self.ir.create(New::Convert, &[source], Some(result), user),
            Make::Literal(dtype, role) => {
                let Produced::Value(literal) = insert.source else {
                    unreachable!("a literal is a value of the program")
                };
                let (op, elements) = self.literal(literal, (dtype, role), user);
                if self.rewrites.has(literal, id) {
                    self.rewrites.note(id, (elements, dtype, result));
                    return op;
                }
                self.ir.create_constant((&elements, dtype), result, result, op)
            }
            Make::Broadcast { shape, like, checked } => {
                let like = like.map(|like| self.value(Produced::Value(like)));
                let operands: Vec<_> = std::iter::once(source).chain(like).collect();
                let shape = self.view.graph.shapes.get(shape).dims().unwrap_or_default();
                let new = New::Broadcast { shape, is_implicit: false, is_checked: checked };
                self.ir.create(new, &operands, Some(result), user)
            }
        };
        self.put(made, insert.position);
        made
    }

    /// Lets an op have the type that is known of its result, and its users what the program states, once that is checked.
    fn refine(&mut self, op: OpId, shape: ShapeId) {
        let result = self.view.graph.node(op).result;
        let Some(dtype) = self.solution.dtype(result) else { return };
        let (operation, value) = (self.view.op(op), self.view.value(result));
        let to = self.ir.value_type(value);
        let known = self.tensor(self.semantics.strengthen(dtype), shape, value);
        self.ir.set_type(value, known);
        let users: Vec<_> = self.ir.users(value).collect();
        let mut writer = Checks::new(self.ir, operation, Place::After(operation));
        writer.assert_stated(value, to);
        let cast = writer.add(New::Cast, &[value], Some(to));
        units::replace_in(self.ir, &users, value, cast);
        self.view.values[result.0 as usize] = cast;
    }

    /// The op of a weak literal, and its elements in the dtype that `user` uses.
    fn literal(&mut self, literal: ValueId, used: (DType, Role), user: I::Op) -> (I::Op, Vec<Bits>) {
        let Source::Op(op) = self.view.graph.value(literal).source else {
            unreachable!("a weak literal is the result of a constant")
        };
        let weak = self.solution.dtype(literal).unwrap_or(DType::WeakInt);
        let elements = self.view.seen(self.ir).elements(op).unwrap_or_default();
        let (elements, out_of_range) = literals::in_dtype(elements, weak, used, self.semantics);
        self.diagnostics.extend(out_of_range.map(|found| {
            let definition = source::definition_of(self.ir, self.view.value(literal));
            found.diagnostic(source::place_of(self.ir, user), definition)
        }));
        (self.view.op(op), elements)
    }

    fn put(&mut self, operation: I::Op, position: Position) {
        match self.anchor(position) {
            Ok(before) => self.ir.insert_before(operation, before),
            Err(definition) => {
                let tail = self.tails.insert(definition, operation).unwrap_or(definition);
                self.ir.insert_after(operation, tail);
            }
        }
    }

    /// The op that a position is in front of, or else the one that it is after.
    fn anchor(&self, position: Position) -> Result<I::Op, I::Op> {
        let block = |block: BlockId| self.view.blocks[block.0 as usize];
        match position {
            Position::Before(place) => Ok(self.ir.outside_of_combining(self.user(place).0)),
            Position::BeforeParent(first) => Ok(self.ir.parent_of_block(block(first))),
            Position::AtEnd(at) => Ok(self.ir.last(block(at)).expect("what uses it is in the block")),
            Position::Behind(literal) => {
                let definition = self.ir.defining_op(self.view.value(literal));
                Err(definition.expect("a literal is the result of an op"))
            }
        }
    }

    /// Weak literals are written anew, or become constants of the default dtype where another dialect's op still uses them; the
    /// others go.
    fn settle_literals(&mut self) {
        let literals = self.plan.inserts.iter().zip(&self.made).filter_map(|(insert, made)| {
            match (insert.source, insert.make) {
                (Produced::Value(value), Make::Literal(dtype, Role::Number))
                    if !self.rewrites.is_rewritten(value) =>
                {
                    Some(((value, dtype), *made))
                }
                _ => None,
            }
        });
        let literals = literals.collect();
        for op in self.view.graph.ops() {
            let node = *self.view.graph.node(op);
            if node.op == Op::Constant && is_weak_literal(&self.view.graph, node.result) {
                self.settle_literal(op, node.result, &literals);
            }
        }
    }

    fn settle_literal(&mut self, op: OpId, value: ValueId, literals: &FxHashMap<(ValueId, DType), I::Op>) {
        let operation = self.view.op(op);
        if let Some((elements, dtype, r#type)) = self.rewrites.take(value) {
            return self.ir.rewrite_constant((&elements, dtype), r#type, r#type, operation);
        }
        let old = self.ir.result(operation);
        if let (true, Some(dtype)) = (self.ir.is_used(old), self.solution.dtype(value)) {
            let strong = self.semantics.strengthen(dtype);
            let new = match literals.get(&(value, strong)) {
                Some(made) => *made,
                None => {
                    let r#type = self.tensor(strong, self.solution.value(value).shape, old);
                    let (_, elements) = self.literal(value, (strong, Role::Number), operation);
                    let new = self.ir.create_constant((&elements, strong), r#type, r#type, operation);
                    self.ir.insert_after(new, operation);
                    new
                }
            };
            self.ir.replace_all_uses(old, self.ir.result(new));
        }
        // Each literal is settled once, at the end.
        self.ir.erase(operation);
    }

    fn strengthen_function_type(&mut self) {
        let function = self.view.root;
        let Some(old) = self.ir.signature(function) else { return };
        let mut strong = |r#type: &I::Type| {
            let found = self.view.types.view(*r#type, self.ir, &mut self.view.graph);
            match found.dtype {
                Known::DType(dtype) if dtype.is_weak() => {
                    let dtype = self.semantics.strengthen(dtype);
                    self.view.types.tensor(
                        dtype,
                        found.shape,
                        self.ir.form(*r#type),
                        (self.ir, &self.view.graph),
                    )
                }
                Known::DType(_) | Known::Unknown | Known::Opaque | Known::Refused => *r#type,
            }
        };
        let inputs = old.inputs.iter().map(&mut strong).collect();
        let results = old.results.iter().map(&mut strong).collect();
        let new = Signature { inputs, results };
        if new != old {
            self.ir.set_signature(function, &new);
        }
    }
}
