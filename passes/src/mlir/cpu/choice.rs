//! `arith.select` of tensors: what upstream passes make of a condition whose branches only pass values on.
//!
//! Where both are in memory already, a choice between two is one of their buffers. Else it is computed with what uses it,
//! by element: then both have one shape.

use mlir_sys::*;
use promote_lattice::DType;

use super::function::Function;
use super::llvm::Predicate;
use super::segment::Stored;
use super::signature::{Number, Type};
use crate::lower::graph::{NodeId, Prim};
use crate::lower::ops;
use crate::mlir::raw;

impl Function<'_, '_> {
    /// A choice between tensors, by a number or by element.
    pub fn choose(&mut self, operation: MlirOperation) {
        let [condition, x, y] = [0, 1, 2].map(|index| raw::operand(operation, index));
        match self.r#type(condition) {
            Some(Type::Scalar(Number::Int(1))) => self.choose_one(operation, condition, (x, y)),
            Some(Type::Tensor(..)) => {
                let mask = self.node(condition);
                let (x, y) = (self.node(x), self.node(y));
                [x, y].into_iter().for_each(|node| self.refuse_other_shapes(mask, node));
                self.bind_choice(operation, mask, (x, y));
            }
            _ => self.unsupported(operation, "its condition is neither a truth value nor a tensor of them"),
        }
    }

    fn choose_one(&mut self, operation: MlirOperation, condition: MlirValue, (x, y): (MlirValue, MlirValue)) {
        let (first, second) = (self.node(x), self.node(y));
        let graph = &self.segment.graph;
        let one_shape = graph.shape(first) == graph.shape(second);
        if one_shape && !(self.is_in_memory(first) && self.is_in_memory(second)) {
            let flag = self.flag(condition);
            return self.bind_choice(operation, flag, (first, second));
        }
        self.settle(&[x, y]);
        let condition = self.scalar(condition);
        let (x, y) = (self.stored(x), self.stored(y));
        let dims = x.dims.iter().zip(&y.dims).map(|(x, y)| self.code.select(condition, *x, *y)).collect();
        let data = self.code.select(condition, x.data, y.data);
        let owner = self.code.select(condition, x.owner, y.owner);
        self.retain(owner);
        self.own(raw::result(operation), Stored { data, owner, dims });
    }

    fn bind_choice(&mut self, operation: MlirOperation, condition: NodeId, (x, y): (NodeId, NodeId)) {
        let node = ops::select(&mut self.segment.graph, condition, x, y);
        let result = raw::result(operation);
        if let Some(Type::Tensor(_, stated)) = self.r#type(result) {
            self.segment.graph.refine(node, &stated);
        }
        self.bind(result, node);
    }

    /// Whether a node is there without being computed.
    fn is_in_memory(&self, node: NodeId) -> bool {
        let node = self.segment.graph.node(node);
        match node.prim {
            Prim::Source(_) | Prim::Dense(_) => true,
            Prim::Reshape => self.is_in_memory(node.args[0]),
            Prim::Splat(_)
            | Prim::Size(_)
            | Prim::Iota(_)
            | Prim::Map(_)
            | Prim::Convert
            | Prim::View(_)
            | Prim::Reduce(..)
            | Prim::Partial(..)
            | Prim::Arg(..)
            | Prim::Scan(..)
            | Prim::Sort(_)
            | Prim::Take(_)
            | Prim::Concat(_)
            | Prim::Matmul => false,
        }
    }

    /// A truth value as a tensor without dimensions, for the rest of the block.
    fn flag(&mut self, condition: MlirValue) -> NodeId {
        let byte = self.code.types.i8;
        let data = self.code.stack(byte, 1, 1);
        let condition = self.scalar(condition);
        let value = self.code.value("llvm.zext", &[condition], byte, &[]);
        self.code.store(value, data, 1);
        let owner = self.code.null();
        self.source(Stored { data, owner, dims: Vec::new() }, DType::B1, &[])
    }

    /// Leaves if the extents of two tensors that are taken element by element differ.
    fn refuse_other_shapes(&mut self, mask: NodeId, other: NodeId) {
        let pairs = self.segment.graph.shape(mask).into_iter().zip(self.segment.graph.shape(other));
        for (a, b) in pairs.filter(|(a, b)| a != b).collect::<Vec<_>>() {
            let (a, b) = (self.extent(a), self.extent(b));
            let differ = self.code.compare(Predicate::Ne, a, b);
            self.refuse_if(differ, "arith.select: the operands have different shapes");
        }
    }
}
