//! Edges: what flows to one place has one type once inference has written it.
//!
//! MLIR asks that a branch, a yield or a return passes values of exactly the types of the slots, so the conversions
//! that a join needs are written with the types: before the op that passes the value on.

use std::collections::BTreeMap;
use std::rc::Rc;

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::DType;

use super::checks::{self, CHECKED, Writer};
use super::raw::{self, NewOp};
use super::view::{IMPLICIT, View};
use promote_infer::graph::{Counts, Graph, Known, ShapeId, SlotId, Type, ValueId};
use promote_infer::shape::{DYNAMIC, Shape, broadcast, is_dynamic};
use promote_infer::solve::Solution;

/// Gives every value that flows somewhere the type of where it flows to; how many ops that took.
pub fn settle(view: &mut View, solution: &Solution, names: &Names) -> usize {
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
            made += Edge { operation: operation.0, operand, made: 0 }.settle(view, own, &wanted, names);
        }
    }
    made
}

/// Gives the users of what is `stored` in another type the type that it has in the program, which differs in weakness; how
/// many ops that took.
pub fn take_out(
    view: &mut View,
    solution: &Solution,
    stored: &BTreeMap<ValueId, Type>,
    names: &Names,
) -> usize {
    for value in stored.keys() {
        let found = solution.value(*value);
        let Known::DType(dtype) = found.dtype else { continue };
        let target = view.values[value.0 as usize].0;
        let result = view.types.tensor(dtype, found.shape, names, &view.graph);
        let definition = raw::defining_op(target);
        let parent =
            definition.or_else(|| raw::parent_of_argument(target)).expect("it is a result or an argument");
        let convert = raw::create(&NewOp {
            name: "promote.convert",
            // SAFETY: the op is alive.
            location: unsafe { mlirOperationGetLocation(parent) },
            operands: &[target],
            results: &[result],
            attributes: &[raw::mark(raw::context(parent), IMPLICIT)],
        });
        match definition {
            Some(definition) => raw::insert_after(convert, definition),
            None => {
                let block = raw::argument_block(target);
                let first = raw::operations(block).next().expect("a block ends with an op");
                raw::insert_before(convert, first);
            }
        }
        raw::replace_all_uses(target, raw::result(convert));
        raw::set_operand(convert, 0, target);
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
struct Edge {
    operation: MlirOperation,
    operand: usize,
    /// How many ops were put before the op.
    made: usize,
}

impl Edge {
    /// Gives the operand, of type `own`, the type that is wanted. How many ops that took.
    fn settle(mut self, view: &mut View, own: Type, wanted: &Wanted, names: &Names) -> usize {
        let tensor =
            |shape: ShapeId, view: &mut View| view.types.tensor(wanted.dtype, shape, names, &view.graph);
        if own.dtype != Known::DType(wanted.dtype) {
            let result = tensor(own.shape, view);
            self.add("promote.convert", result, &[raw::mark(raw::context(self.operation), IMPLICIT)]);
        }
        let dims = |shape: ShapeId, view: &View| view.graph.shapes.get(shape).dims().map(<[i64]>::to_vec);
        if let Some(to) = dims(wanted.shape, view) {
            let from = dims(own.shape, view).unwrap_or_else(|| {
                let open = vec![DYNAMIC; to.len()];
                let id = view.graph.shapes.id(Shape::ranked(open.clone()));
                checks::rank(self.operation, self.operand, to.len());
                let result = tensor(id, view);
                self.add("tensor.cast", result, &[]);
                open
            });
            let shape = broadcast_shape(&from, &to);
            if shape != from {
                let checked = self.check(&from, &shape, &wanted.fed);
                let id = view.graph.shapes.id(Shape::ranked(shape.clone()));
                let result = tensor(id, view);
                let context = raw::context(self.operation);
                // SAFETY: the context is alive, and MLIR copies the list.
                let list = unsafe { mlirDenseI64ArrayGet(context, shape.len() as isize, shape.as_ptr()) };
                let mut attributes = vec![raw::named(context, "shape", list)];
                // Not every semantics lets a broadcast keep weakness: this one does.
                attributes.extend(wanted.dtype.is_weak().then(|| raw::mark(context, IMPLICIT)));
                attributes.extend(checked.then(|| raw::mark(context, CHECKED)));
                self.add("promote.broadcast_to", result, &attributes);
            }
        }
        let result = tensor(wanted.shape, view);
        let value = self.value();
        // SAFETY: types live as long as the context.
        if !unsafe { mlirTypeEqual(raw::value_type(value), result) } {
            self.add("tensor.cast", result, &[]);
        }
        self.made
    }

    /// Checks what the operand's extents must be at run time; whether there is something to check. Where something of a static
    /// extent flows to the slot, another may be 1; one that is only stated may not.
    fn check(&self, from: &[i64], to: &[i64], fed: &Shape) -> bool {
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
                checks::extent(self.operation, self.operand, axis, extent, may_be_1);
                checked = true;
            }
        }
        checked
    }

    fn value(&self) -> MlirValue {
        raw::operand(self.operation, self.operand)
    }

    fn add(&mut self, name: &str, result: MlirType, attributes: &[MlirNamedAttribute]) {
        let writer = Writer::new(self.operation, raw::outside_of_combining(self.operation));
        let made = writer.add(name, &[self.value()], result, attributes);
        raw::set_operand(self.operation, self.operand, made);
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
