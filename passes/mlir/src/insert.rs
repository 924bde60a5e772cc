//! `promote-insert-converts`: weak values become strong, implicit promotions become converts, implicit broadcasts
//! `broadcast_to`.
//!
//! The engine plans ([`plan`]); this module writes the plan into the IR, unit by unit, in parallel:
//! weak values get their strong types in place, inserts are made and uses edited, weak literals that nothing uses any
//! more go, and function types follow.

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::{DType, Op, Semantics};
use rustc_hash::FxHashMap;

use super::checks::{self, Writer as Checks};
use super::constant;
use super::pass::Config;
use super::places;
use super::raw::{self, Address, NewOp};
use super::units::{self, Shared, Units};
use super::view::{IMPLICIT, View, function_type, view};
use promote_diagnostics::Diagnostic;
use promote_infer::fold::Constants;
use promote_infer::graph::{BlockId, Known, OpId, ShapeId, Source, ValueId};
use promote_infer::literals;
use promote_infer::plan::{Edit, Insert, Make, Plan, Position, Produced, Role, Use, is_weak_literal, plan};
use promote_infer::scalars;
use promote_infer::solve::{Solution, solve};

/// Views and solves the units of `root`, whose types are inferred.
///
/// # Errors
/// Every finding, if they are not, or do not fit.
pub fn solved(root: MlirOperation, shared: Shared<'_>) -> Result<Units, Vec<Diagnostic>> {
    let units: Units = shared.map(units::roots(root), |unit| {
        let mut view = view(unit.0, shared.names);
        scalars::compute(&mut view.graph, shared.semantics);
        let solution = solve(&mut view.graph, shared.semantics);
        (view, solution)
    });
    let refused = units.iter().flat_map(|(view, solution)| {
        let reporter = view.reporter(solution);
        let refused = reporter.diagnostics(&[]);
        if refused.is_empty() { reporter.not_inferred().into_iter().collect() } else { refused }
    });
    let refused: Vec<_> = refused.collect();
    if refused.is_empty() { Ok(units) } else { Err(refused) }
}

/// Makes every conversion in `units` explicit, and returns every finding in program order.
pub fn insert_converts(mut units: Units, shared: Shared<'_>, config: &Config) -> Vec<Diagnostic> {
    let Shared { names, semantics, .. } = shared;
    let unranked: Vec<_> =
        units.iter().flat_map(|(view, solution)| view.reporter(solution).unranked()).collect();
    if !unranked.is_empty() {
        return unranked;
    }
    let diagnostics = shared.map(units.iter_mut().collect(), |(view, solution)| {
        let plan = plan(&mut view.graph, solution, semantics);
        let diagnostics = config.remarks(view.reporter(solution)).of_plan(&plan);
        let mut writer = Writer::new(view, solution, &plan, names, semantics);
        writer.diagnostics = diagnostics;
        writer.write();
        writer.diagnostics
    });
    let mut diagnostics: Vec<Diagnostic> = diagnostics.into_iter().flatten().collect();
    diagnostics.sort_by_key(|diagnostic| diagnostic.location.as_ref().map(|l| (l.line, l.column)));
    diagnostics
}

/// Moves and merges the implicit converts of a unit, if its program is strong; its view, if nothing had to be done.
pub fn place_again(root: MlirOperation, names: &Names, semantics: &Semantics) -> Option<View> {
    let mut view = view(root, names);
    if view.graph.movable.is_empty() {
        return Some(view);
    }
    let solution = solve(&mut view.graph, semantics);
    let reporter = view.reporter(&solution);
    if !reporter.diagnostics(&[]).is_empty() || reporter.not_inferred().is_some() {
        return Some(view);
    }
    let plan = plan(&mut view.graph, &solution, semantics);
    if plan.moves.is_empty() && plan.merged.is_empty() {
        return Some(view);
    }
    Writer::new(&mut view, &solution, &plan, names, semantics).place();
    None
}

struct Writer<'a> {
    view: &'a mut View,
    solution: &'a Solution,
    plan: &'a Plan,
    names: &'a Names,
    semantics: &'a Semantics,
    context: MlirContext,
    /// The op made for each insert.
    made: Vec<MlirOperation>,
    /// The last op put after something.
    tails: FxHashMap<Address<MlirOperation>, MlirOperation>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Writer<'a> {
    fn new(
        view: &'a mut View,
        solution: &'a Solution,
        plan: &'a Plan,
        names: &'a Names,
        semantics: &'a Semantics,
    ) -> Self {
        let context = raw::context(view.root.0);
        Self {
            view,
            solution,
            plan,
            names,
            semantics,
            context,
            made: Vec::with_capacity(plan.inserts.len()),
            tails: FxHashMap::default(),
            diagnostics: Vec::new(),
        }
    }

    fn write(&mut self) {
        self.strengthen_values();
        self.r#move();
        for check in &self.plan.checks {
            checks::write(self.view, check);
        }
        for op in &self.plan.checked {
            let mark = raw::mark(self.context, checks::CHECKED).attribute;
            raw::set_attribute(self.view.ops[op.0 as usize].0, checks::CHECKED, mark);
        }
        for (op, shape) in &self.plan.refined {
            self.refine(*op, *shape);
        }
        for insert in &self.plan.inserts {
            let operation = self.make(insert);
            self.put(operation, insert.position);
            self.made.push(operation);
        }
        for edit in &self.plan.edits {
            self.edit(edit);
        }
        self.merge();
        self.settle_literals();
        if self.view.unit.is_function {
            self.strengthen_function_type();
        }
    }

    /// Moves and merges the converts that are there.
    fn place(&self) {
        self.r#move();
        self.merge();
    }

    fn r#move(&self) {
        for (op, position) in &self.plan.moves {
            if let Ok(before) = self.anchor(*position) {
                raw::move_before(self.view.ops[op.0 as usize].0, before);
            }
        }
    }

    fn merge(&self) {
        for edit in &self.plan.merges {
            self.edit(edit);
        }
        for op in &self.plan.merged {
            let operation = self.view.ops[op.0 as usize].0;
            if !raw::is_used(raw::result(operation)) {
                // SAFETY: nothing uses it. What is written after merging reads literals alone, and the view ends with that.
                unsafe { raw::erase(operation) };
            }
        }
    }

    fn edit(&self, edit: &Edit) {
        let (operation, index) = self.user(edit.place);
        raw::set_operand(operation, index, self.value(edit.to));
    }

    /// Computed weak values take the default dtype of their kind, in place.
    fn strengthen_values(&mut self) {
        for value in self.view.graph.value_ids() {
            let Some(dtype) = self.solution.dtype(value) else { continue };
            if !dtype.is_weak() || is_weak_literal(&self.view.graph, value) {
                continue;
            }
            let shape = self.solution.value(value).shape;
            let strong = self.semantics.strengthen(dtype);
            let r#type = self.view.types.tensor(strong, shape, self.names, &self.view.graph);
            raw::set_type(self.view.values[value.0 as usize].0, r#type);
        }
    }

    fn value(&self, produced: Produced) -> MlirValue {
        match produced {
            Produced::Value(value) => self.view.values[value.0 as usize].0,
            Produced::Insert(id) => raw::result(self.made[id.0 as usize]),
        }
    }

    /// The op and the operand of a use.
    fn user(&self, place: Use) -> (MlirOperation, usize) {
        match place {
            Use::Operand(op, index) => (self.view.ops[op.0 as usize].0, index),
            Use::Feed(slot, index) => {
                let (operation, operand) = self.view.feeds[slot.0 as usize][index];
                (operation.0, operand)
            }
        }
    }

    fn make(&mut self, insert: &Insert) -> MlirOperation {
        let (user, _) = self.user(insert.serves);
        // SAFETY: the op served is alive.
        let location = unsafe { mlirOperationGetLocation(user) };
        let Known::DType(dtype) = insert.result.dtype else { unreachable!("an insert has a dtype") };
        let result = self.view.types.tensor(dtype, insert.result.shape, self.names, &self.view.graph);
        let source = self.value(insert.source);
        match insert.make {
            Make::Convert(_) => {
                let attributes = [raw::mark(self.context, IMPLICIT)];
                let (name, operands) = ("promote.convert", &[source]);
                raw::create(&NewOp { name, location, operands, results: &[result], attributes: &attributes })
            }
            Make::Literal(dtype, role) => {
                let Produced::Value(literal) = insert.source else {
                    unreachable!("a literal is a value of the program")
                };
                self.literal(literal, (dtype, role), result, user)
            }
            Make::Broadcast { shape, like, checked } => {
                let dims = self.view.graph.shapes.get(shape).dims().unwrap_or_default();
                // SAFETY: the context is alive, and MLIR copies the list.
                let dims = unsafe { mlirDenseI64ArrayGet(self.context, dims.len() as isize, dims.as_ptr()) };
                let mut attributes = vec![raw::named(self.context, "shape", dims)];
                attributes.extend(checked.then(|| raw::mark(self.context, checks::CHECKED)));
                let like = like.map(|like| self.value(Produced::Value(like)));
                let operands: Vec<_> = std::iter::once(source).chain(like).collect();
                let name = "promote.broadcast_to";
                raw::create(&NewOp {
                    name,
                    location,
                    operands: &operands,
                    results: &[result],
                    attributes: &attributes,
                })
            }
        }
    }

    /// Lets an op have the type that is known of its result, and its users what the program states, once that is checked.
    fn refine(&mut self, op: OpId, shape: ShapeId) {
        let result = self.view.graph.node(op).result;
        let value = self.value(Produced::Value(result));
        let Some(dtype) = self.solution.dtype(result) else { return };
        let dtype = self.semantics.strengthen(dtype);
        let operation = self.view.ops[op.0 as usize].0;
        let to = raw::value_type(value);
        // SAFETY: the op is alive, and ends no block.
        let after = unsafe { mlirOperationGetNextInBlock(operation) };
        raw::set_type(value, self.view.types.tensor(dtype, shape, self.names, &self.view.graph));
        let users: Vec<_> = raw::users(value).map(Address).collect();
        let writer = Checks::new(operation, after);
        writer.assert_stated(value, to);
        let cast = writer.add("tensor.cast", &[value], to, &[]);
        for user in users {
            for (index, _) in raw::operands(user.0).enumerate().filter(|(_, v)| Address(*v) == Address(value))
            {
                raw::set_operand(user.0, index, cast);
            }
        }
        self.view.values[result.0 as usize] = Address(cast);
    }

    /// Makes the constant that a weak literal is in the dtype that `user` uses, in no block yet.
    fn literal(
        &mut self,
        literal: ValueId,
        used: (DType, Role),
        result: MlirType,
        user: MlirOperation,
    ) -> MlirOperation {
        let Source::Op(op) = self.view.graph.value(literal).source else {
            unreachable!("a weak literal is the result of a constant")
        };
        let weak = self.solution.dtype(literal).unwrap_or(DType::WeakInt);
        let elements = self.view.elements(op).unwrap_or_default();
        let (elements, out_of_range) = literals::in_dtype(elements, weak, used, self.semantics);
        self.diagnostics.extend(out_of_range.map(|found| {
            let definition = places::definition_of(self.view.values[literal.0 as usize].0);
            found.diagnostic(places::place_of(user), definition)
        }));
        constant::in_place_of(self.view.ops[op.0 as usize].0, &elements, used.0, result)
    }

    fn put(&mut self, operation: MlirOperation, position: Position) {
        match self.anchor(position) {
            Ok(before) => raw::insert_before(operation, before),
            Err(definition) => {
                let tail = self.tails.insert(Address(definition), operation).unwrap_or(definition);
                raw::insert_after(operation, tail);
            }
        }
    }

    /// The op that a position is in front of, or else the one that it is after.
    fn anchor(&self, position: Position) -> Result<MlirOperation, MlirOperation> {
        let block = |block: BlockId| self.view.blocks[block.0 as usize].0;
        match position {
            Position::Before(place) => Ok(raw::outside_of_combining(self.user(place).0)),
            Position::BeforeParent(first) => Ok(raw::parent_of_block(block(first))),
            Position::AtEnd(at) => Ok(raw::last_operation(block(at)).expect("what uses it is in the block")),
            Position::Behind(literal) => {
                let definition = raw::defining_op(self.view.values[literal.0 as usize].0);
                Err(definition.expect("a literal is the result of an op"))
            }
        }
    }

    /// Weak literals that another dialect's op still uses become constants of the default dtype; the others go.
    fn settle_literals(&mut self) {
        let literals = self.plan.inserts.iter().zip(&self.made).filter_map(|(insert, made)| {
            match (insert.source, insert.make) {
                (Produced::Value(value), Make::Literal(dtype, Role::Number)) => Some(((value, dtype), *made)),
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

    fn settle_literal(
        &mut self,
        op: OpId,
        value: ValueId,
        literals: &FxHashMap<(ValueId, DType), MlirOperation>,
    ) {
        let operation = self.view.ops[op.0 as usize].0;
        let old = raw::result(operation);
        if let (true, Some(dtype)) = (raw::is_used(old), self.solution.dtype(value)) {
            let strong = self.semantics.strengthen(dtype);
            if let Some(made) = literals.get(&(value, strong)) {
                raw::replace_all_uses(old, raw::result(*made));
                // SAFETY: nothing uses it any more, and each literal is settled once, at the end.
                return unsafe { raw::erase(operation) };
            }
            let shape = self.solution.value(value).shape;
            let r#type = self.view.types.tensor(strong, shape, self.names, &self.view.graph);
            let new = self.literal(value, (strong, Role::Number), r#type, operation);
            raw::insert_after(new, operation);
            raw::replace_all_uses(old, raw::result(new));
        }
        // SAFETY: as above.
        unsafe { raw::erase(operation) };
    }

    fn strengthen_function_type(&mut self) {
        let function = self.view.root.0;
        let Some(old) = function_type(function) else { return };
        let mut strong = |r#type: MlirType| {
            let found = self.view.types.view(r#type, self.names, &mut self.view.graph);
            match found.dtype {
                Known::DType(dtype) if dtype.is_weak() => {
                    let dtype = self.semantics.strengthen(dtype);
                    self.view.types.tensor(dtype, found.shape, self.names, &self.view.graph)
                }
                _ => r#type,
            }
        };
        let inputs: Vec<_> = units::inputs(old).into_iter().map(&mut strong).collect();
        let results: Vec<_> = units::results(old).into_iter().map(&mut strong).collect();
        units::replace_function_type(function, old, Some(&inputs), &results);
    }
}
