//! Edges: what flows to one place has one type once inference has written it.
//!
//! A host asks that a branch, a yield or a return passes values of exactly the types of the slots, so the conversions
//! that a join needs are written with the types: before the op that passes the value on.

use std::collections::BTreeMap;
use std::rc::Rc;

use promote_infer::graph::{Counts, Graph, Known, ShapeId, SlotId, Type, ValueId};
use promote_infer::shape::{DYNAMIC, Shape, broadcast, is_dynamic};
use promote_infer::solve::Solution;
use promote_lattice::DType;

use crate::checks::{self, Place, Writer};
use crate::ir::{Ir, New};
use crate::units;
use crate::view::View;

/// Gives every value that flows somewhere the type of where it flows to; how many ops that took.
pub fn settle<I: Ir>(ir: &mut I, view: &mut View<I>, solution: &Solution) -> usize {
    let mut made = 0;
    for slot in view.graph.slot_ids() {
        let found = solution.slot(slot);
        let Known::DType(dtype) = found.dtype else { continue };
        let mut known = None;
        for index in 0..view.graph.slot(slot).sources.len() {
            let feed = view.graph.slot(slot).sources[index];
            let own = solution.value(feed.value);
            let (dtype, found) = match feed.counts {
                Counts::Type => (dtype, found),
                Counts::DType => (dtype, Type { shape: own.shape, ..found }),
                Counts::Shape => (DType::B1, Type { dtype: Known::DType(DType::B1), ..found }),
            };
            if !feed.is_operand || own == found || !matches!(own.dtype, Known::DType(_)) {
                continue;
            }
            let (operation, operand) = view.feeds[slot.0 as usize][index];
            let fed = known.get_or_insert_with(|| Rc::new(fed(&view.graph, solution, slot)));
            let wanted = Wanted { dtype, shape: found.shape, fed: Rc::clone(fed) };
            made += Edge { ir, operation, operand, made: 0 }.settle(view, own, &wanted);
        }
    }
    made
}

/// Gives the users of what is `stored` in another type the type that it has in the program, which differs in weakness; how
/// many ops that took.
pub fn take_out<I: Ir>(
    ir: &mut I,
    view: &mut View<I>,
    solution: &Solution,
    stored: &BTreeMap<ValueId, Type>,
) -> usize {
    for value in stored.keys() {
        let found = solution.value(*value);
        let Known::DType(dtype) = found.dtype else { continue };
        let target = view.value(*value);
        let result = view.types.tensor(dtype, found.shape, ir.form_of(target), (ir, &view.graph));
        let definition = ir.defining_op(target);
        let parent = definition.unwrap_or_else(|| ir.parent_of_block(ir.argument_block(target)));
        let users: Vec<_> = ir.users(target).collect();
        let convert = ir.create(New::Convert, &[target], Some(result), parent);
        match definition {
            Some(definition) => ir.insert_after(convert, definition),
            None => {
                let first = ir.operations(ir.argument_block(target)).next();
                ir.insert_before(convert, first.expect("a block ends with an op"));
            }
        }
        let converted = ir.result(convert);
        units::replace_in(ir, &users, target, converted);
    }
    stored.len()
}

/// The type that a value must have to flow to a slot.
struct Wanted {
    dtype: DType,
    shape: ShapeId,
    /// What the static extents that flow there broadcast to.
    fed: Rc<Shape>,
}

/// What the static extents of all that flows to a slot broadcast to.
fn fed(graph: &Graph, solution: &Solution, slot: SlotId) -> Shape {
    let shapes =
        graph.slot(slot).sources.iter().map(|feed| graph.shapes.get(solution.value(feed.value).shape));
    let extent = |extent: &i64| if is_dynamic(*extent) { 1 } else { *extent };
    let known = shapes.filter_map(|shape| Some(shape.dims()?.iter().map(extent).collect::<Vec<_>>()));
    let mut known = known.map(Shape::ranked);
    known.try_fold(Shape::ranked([]), |a, b| broadcast(&a, &b)).unwrap_or(Shape::UNRANKED)
}

/// An operand that a value flows through.
struct Edge<'a, I: Ir> {
    ir: &'a mut I,
    operation: I::Op,
    operand: usize,
    /// How many ops were put before the op.
    made: usize,
}

impl<I: Ir> Edge<'_, I> {
    /// Gives the operand, of type `own`, the type that is wanted. How many ops that took.
    fn settle(mut self, view: &mut View<I>, own: Type, wanted: &Wanted) -> usize {
        let (dtype, form) = (wanted.dtype, self.ir.form_of(self.value()));
        if own.dtype != Known::DType(dtype) {
            let result = view.types.tensor(dtype, own.shape, form, (self.ir, &view.graph));
            self.add(New::Convert, result);
        }
        let dims = |shape: ShapeId, view: &View<I>| view.graph.shapes.get(shape).dims().map(<[i64]>::to_vec);
        if let Some(to) = dims(wanted.shape, view) {
            let from = dims(own.shape, view).unwrap_or_else(|| {
                let open = vec![DYNAMIC; to.len()];
                let id = view.graph.shapes.id(Shape::ranked(open.clone()));
                checks::rank(self.ir, self.operation, self.operand, to.len());
                let result = view.types.tensor(dtype, id, form, (self.ir, &view.graph));
                self.add(New::Cast, result);
                open
            });
            let shape = broadcast_shape(&from, &to);
            if shape != from {
                let is_checked = self.check(&from, &shape, &wanted.fed);
                let id = view.graph.shapes.id(Shape::ranked(shape.clone()));
                let result = view.types.tensor(dtype, id, form, (self.ir, &view.graph));
                // Not every semantics lets a broadcast keep weakness: this one does.
                let is_implicit = dtype.is_weak();
                self.add(New::Broadcast { shape: &shape, is_implicit, is_checked }, result);
            }
        }
        let result = view.types.tensor(dtype, wanted.shape, form, (self.ir, &view.graph));
        if self.ir.value_type(self.value()) != result {
            self.add(New::Cast, result);
        }
        self.made
    }

    /// Checks what the operand's extents must be at run time; whether there is something to check. Where something of a static
    /// extent flows to the slot, another may be 1; one that is only stated may not.
    fn check(&mut self, from: &[i64], to: &[i64], fed: &Shape) -> bool {
        let missing = to.len() - from.len();
        let of_fed = |axis: usize| {
            let dims = fed.dims().unwrap_or_default();
            (axis + dims.len()).checked_sub(to.len()).map(|axis| dims[axis])
        };
        let mut checked = false;
        for (axis, own) in from.iter().enumerate().filter(|(axis, own)| **own != to[axis + missing]) {
            if is_dynamic(*own) {
                let extent = to[axis + missing];
                let may_be_1 = of_fed(axis + missing) == Some(extent);
                checks::extent(self.ir, (self.operation, self.operand), axis, extent, may_be_1);
                checked = true;
            }
        }
        checked
    }

    fn value(&self) -> I::Value {
        self.ir.operand(self.operation, self.operand)
    }

    fn add(&mut self, new: New<'_>, result: I::Type) {
        let (value, before) = (self.value(), self.ir.outside_of_combining(self.operation));
        let made =
            Writer::new(self.ir, self.operation, Place::Before(before)).add(new, &[value], Some(result));
        self.ir.set_operand(self.operation, self.operand, made);
        self.made += 1;
    }
}

/// What a shape is broadcast to, to flow to a slot: a dynamic extent of the slot requires nothing but a
/// dimension.
fn broadcast_shape(from: &[i64], to: &[i64]) -> Vec<i64> {
    let missing = to.len().saturating_sub(from.len());
    let own = |axis: usize| axis.checked_sub(missing).map_or(1, |axis| from[axis]);
    to.iter().enumerate().map(|(axis, to)| if is_dynamic(*to) { own(axis) } else { *to }).collect()
}
