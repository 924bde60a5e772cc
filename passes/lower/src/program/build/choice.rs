//! Choices between tensors: what upstream passes make of a condition whose branches only pass values on.
//!
//! Where both are in memory already, a choice between two is one of their buffers. Else it is computed with what uses it,
//! by element: then both have one shape.

use promote_dialect::extent::Arithmetic;
use promote_lattice::DType;

use super::Builder;
use super::segment::{Stored, is_there};
use crate::graph::{NodeId, Prim};
use crate::ops;
use crate::program::{Arg, Arith, Step, ValueKind};
use crate::strong::{Operation, Value};
use crate::types::{Number, Type};

impl Builder<'_, '_> {
    /// A choice between tensors, by a number or by element.
    pub(super) fn select(&mut self, operation: &Operation) {
        let [condition, x, y] = [0, 1, 2].map(|index| operation.operands[index]);
        match self.source.r#type(condition) {
            Some(Type::Scalar(Number::Int(1))) => self.select_one(operation, condition, (x, y)),
            Some(Type::Tensor(..)) => {
                let mask = self.node(condition);
                let (x, y) = (self.node(x), self.node(y));
                [x, y].into_iter().for_each(|node| self.refuse_other_shapes(mask, node));
                self.bind_choice(operation, mask, (x, y));
            }
            _ => self.unsupported(operation, "its condition is neither i1 nor a tensor of i1"),
        }
    }

    fn select_one(&mut self, operation: &Operation, condition: Value, (x, y): (Value, Value)) {
        let (first, second) = (self.node(x), self.node(y));
        let graph = &self.segment.graph;
        let one_shape = graph.shape(first) == graph.shape(second);
        if one_shape && !(self.is_in_memory(first) && self.is_in_memory(second)) {
            let flag = self.flag(condition);
            return self.bind_choice(operation, flag, (first, second));
        }
        self.settle(&[x, y]);
        let condition = Arg::Value(self.number(condition));
        let (x, y) = (self.stored(x), self.stored(y));
        let dims = x.dims.iter().zip(&y.dims);
        let dims = dims.map(|(x, y)| self.arith(Arith::Select, &[condition, *x, *y])).collect();
        let buffer = self.new_value(ValueKind::Buffer(self.function.dtype(x.buffer)));
        if !self.is_shape() {
            self.push(Step::Choose { buffer, condition, then: x.buffer, otherwise: y.buffer });
        }
        self.own(operation.results[0], Stored { buffer, dims });
    }

    fn bind_choice(&mut self, operation: &Operation, condition: NodeId, (x, y): (NodeId, NodeId)) {
        let node = ops::select(&mut self.segment.graph, condition, x, y);
        let result = operation.results[0];
        if let Some(Type::Tensor(_, stated)) = self.source.r#type(result) {
            self.segment.graph.refine(node, stated);
        }
        self.bind(result, node);
    }

    /// Whether a node is there without being computed.
    fn is_in_memory(&self, node: NodeId) -> bool {
        let node = self.segment.graph.node(node);
        match node.prim {
            Prim::Reshape => self.is_in_memory(node.args[0]),
            ref prim => is_there(prim),
        }
    }

    /// A truth value as a tensor without dimensions, for the rest of the block.
    fn flag(&mut self, condition: Value) -> NodeId {
        let buffer = self.new_value(ValueKind::Buffer(DType::B1));
        let value = self.number(condition);
        if !self.is_shape() {
            self.push(Step::Spill { buffer, value });
        }
        self.source(Stored { buffer, dims: Vec::new() }, DType::B1, &[])
    }

    /// Fails if the extents of two tensors that are taken element by element differ.
    fn refuse_other_shapes(&mut self, mask: NodeId, other: NodeId) {
        let pairs = self.segment.graph.shape(mask).into_iter().zip(self.segment.graph.shape(other));
        for (a, b) in pairs.filter(|(a, b)| a != b).collect::<Vec<_>>() {
            let (a, b) = (self.extent(a), self.extent(b));
            let differ = self.arith(Arith::Ne, &[a, b]);
            self.fail_if(differ, "arith.select: the operands have different shapes");
        }
    }
}
