//! Edges: what flows to one place has one type once inference has written it.
//!
//! MLIR asks that a branch, a yield or a return passes values of the very types of what they flow to, so the conversions
//! that a join needs are written with the types: before the op that passes the value on.

use mlir_sys::*;
use promote_dialect::mlir::Names;

use super::raw::{self, NewOp};
use super::view::View;
use crate::engine::graph::{Graph, Known, Type};
use crate::engine::shape::DYNAMIC;
use crate::engine::solve::Solution;

/// What a value lacks to be of the type of the place it flows to, beside the dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Nothing.
    Fits,
    /// A cast: what is known of the extents differs.
    Cast,
    /// A broadcast.
    Broadcast,
    /// A broadcast to extents that are not known.
    Open,
}

/// What a value of type `own` lacks to flow to a place of type `found`.
pub fn edge(graph: &Graph, own: Type, found: Type) -> Edge {
    let known = |t: Type| matches!(t.dtype, Known::DType(_));
    if own.shape == found.shape || !known(own) || !known(found) {
        return Edge::Fits;
    }
    let dims = |t: Type| graph.shapes.get(t.shape).dims();
    match (dims(own), dims(found)) {
        (Some(own), Some(found)) => {
            let alike = |(own, found): (&i64, &i64)| own == found || *own == DYNAMIC || *found == DYNAMIC;
            match own.len() == found.len() && own.iter().zip(found).all(alike) {
                true => Edge::Cast,
                false if found.contains(&DYNAMIC) => Edge::Open,
                false => Edge::Broadcast,
            }
        }
        (None, _) | (_, None) => Edge::Cast,
    }
}

/// Gives every value that flows somewhere the type of where it flows to; how many ops that took.
pub fn settle(view: &mut View, solution: &Solution, names: &Names) -> usize {
    let mut made = 0;
    for slot in view.graph.slot_ids() {
        let found = solution.slot(slot);
        let Known::DType(dtype) = found.dtype else { continue };
        for index in 0..view.graph.slot(slot).sources.len() {
            let feed = view.graph.slot(slot).sources[index];
            let own = solution.value(feed.value);
            if !feed.is_operand || own == found {
                continue;
            }
            let (operation, operand) = view.feeds[slot.0 as usize][index];
            let mut writer = Writer { before: operation.0, operand, made: 0 };
            if own.dtype != found.dtype {
                let result = view.types.tensor(dtype, own.shape, names, &view.graph);
                writer.convert(result);
            }
            let result = view.types.tensor(dtype, found.shape, names, &view.graph);
            match edge(&view.graph, own, found) {
                Edge::Fits | Edge::Open => {}
                Edge::Cast => writer.add("tensor.cast", result, &[]),
                Edge::Broadcast => {
                    let dims = view.graph.shapes.get(found.shape).dims().unwrap_or_default();
                    writer.broadcast(result, dims);
                }
            }
            made += writer.made;
        }
    }
    made
}

/// Puts ops between an op and one of its operands.
struct Writer {
    before: MlirOperation,
    operand: usize,
    made: usize,
}

impl Writer {
    fn convert(&mut self, result: MlirType) {
        let context = raw::context(self.before);
        // SAFETY: the context is alive.
        let unit = unsafe { mlirUnitAttrGet(context) };
        self.add("promote.convert", result, &[raw::named(context, "promote.implicit", unit)]);
    }

    fn broadcast(&mut self, result: MlirType, dims: &[i64]) {
        let context = raw::context(self.before);
        // SAFETY: the context is alive, and MLIR copies the list.
        let shape = unsafe { mlirDenseI64ArrayGet(context, dims.len() as isize, dims.as_ptr()) };
        self.add("promote.broadcast_to", result, &[raw::named(context, "shape", shape)]);
    }

    fn add(&mut self, name: &str, result: MlirType, attributes: &[MlirNamedAttribute]) {
        let Some(value) = raw::operands(self.before).nth(self.operand) else { return };
        // SAFETY: the op is alive.
        let location = unsafe { mlirOperationGetLocation(self.before) };
        let operation = raw::create(&NewOp { name, location, operands: &[value], result, attributes });
        raw::insert_before(operation, self.before);
        raw::set_operand(self.before, self.operand, raw::result(operation));
        self.made += 1;
    }
}
