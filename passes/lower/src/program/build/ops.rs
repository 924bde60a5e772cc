//! Ops, but for those that end a block.

use promote_dialect::attrs::Attrs;
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Op};

use super::segment::Stored;
use super::{Builder, Lowered};
use crate::graph::{NodeId, Prim};
use crate::ops::{self, Readers};
use crate::program::{Arg, Arith, Constant, Literal, Step, ValueId, ValueKind};
use crate::strong::{Kind, Operation, Value};
use crate::types::Type;
use promote_dialect::extent::{Arithmetic, Extent};

impl Builder<'_, '_> {
    pub(super) fn operation(&mut self, operation: &Operation) {
        match &operation.kind {
            Kind::Promote(op, attrs) => self.promote(operation, *op, attrs),
            Kind::Constant(dtype, elements) => self.constant(operation, *dtype, elements),
            Kind::Poison => self.poison(operation),
            Kind::Dim(axis) => self.dim(operation, *axis),
            Kind::Rank => self.rank(operation),
            Kind::Cast => self.cast(operation),
            Kind::Extract => self.extract(operation),
            Kind::FromElements => self.tensor_of_elements(operation),
            Kind::Select => self.select(operation),
            Kind::Number(number) => self.literal(operation, *number),
            Kind::Arith(op) => self.arithmetic(operation, *op),
            Kind::Assert(message) => {
                let condition = Arg::Value(self.number(operation.operands[0]));
                let fails = self.arith(Arith::Not, &[condition]);
                self.fail_with(fails, message.clone());
            }
            Kind::Call(callee) => self.call(operation, callee),
            Kind::Return => self.r#return(operation),
            Kind::Branch(_) | Kind::BranchIf(..) | Kind::Switch(..) => self.branch(operation),
            Kind::Unsupported(why) => self.unsupported(operation, why),
        }
    }

    // Values.

    fn known(&self, value: Value) -> &Lowered {
        match self.values.get(&value) {
            Some(known) => known,
            None => unreachable!("values are made before they are used, and tensors come into memory"),
        }
    }

    /// What a value is now, in memory or in a register.
    pub(super) fn value(&self, value: Value) -> Lowered {
        self.known(value).clone()
    }

    /// A tensor that is in memory.
    pub(super) fn stored(&self, value: Value) -> Stored {
        match self.known(value) {
            Lowered::Tensor(stored) => stored.clone(),
            Lowered::Number(_) => unreachable!("the type of the value is a tensor's"),
        }
    }

    /// Lets a value be a tensor in memory, to which the block owns a reference.
    pub(super) fn own(&mut self, value: Value, stored: Stored) {
        self.values.insert(value, Lowered::Tensor(stored));
        self.owned.push(value);
    }

    /// A number.
    pub(super) fn number(&self, value: Value) -> ValueId {
        match self.known(value) {
            Lowered::Number(value) => *value,
            Lowered::Tensor(_) => unreachable!("the type of the value is a number's"),
        }
    }

    /// The node that a tensor is.
    pub(super) fn node(&mut self, value: Value) -> NodeId {
        if let Some(known) = self.segment.nodes.get(&value) {
            return *known;
        }
        let source = self.source;
        let Some(Type::Tensor(dtype, dims)) = source.r#type(value) else {
            unreachable!("the operands of tensor ops are tensors")
        };
        let node = self.source(self.stored(value), *dtype, dims);
        self.bind(value, node);
        node
    }

    /// The dtype and the extents of the only result, if it is a tensor's.
    fn tensor_result(&self, operation: &Operation) -> Option<(DType, Vec<Option<i64>>)> {
        match self.source.r#type(operation.results[0])? {
            Type::Tensor(dtype, dims) => Some((*dtype, dims.clone())),
            Type::Scalar(_) => None,
        }
    }

    /// Lets the only result be a number.
    fn set_number(&mut self, operation: &Operation, number: Arg) {
        let value = match number {
            Arg::Value(value) => value,
            Arg::Known(number) => {
                let value = self.new_value(ValueKind::INDEX);
                self.push(Step::Number { value, number: Literal::Int(number) });
                value
            }
        };
        self.values.insert(operation.results[0], Lowered::Number(value));
    }

    // Tensors.

    fn promote(&mut self, operation: &Operation, op: Op, attrs: &Attrs) {
        let Some((dtype, dims)) = self.tensor_result(operation) else {
            return self.unsupported(operation, "its result is not a ranked tensor");
        };
        let args: Vec<NodeId> = operation.operands.iter().map(|operand| self.node(*operand)).collect();
        let numerics = self.context.program.numerics;
        let first = operation.operands.first();
        let readers = first.map_or(Readers::Several, |operand| self.readers.of(*operand));
        let call = ops::Call { op, attrs, args: &args, dtype, dims: &dims, numerics, readers };
        let node = ops::add(&mut self.segment.graph, call);
        self.bind(operation.results[0], node);
    }

    fn constant(&mut self, operation: &Operation, dtype: DType, elements: &[Bits]) {
        let Some((_, dims)) = self.tensor_result(operation) else {
            return self.unsupported(operation, "its result is not a ranked tensor");
        };
        let shape: Vec<_> = dims.iter().map(|extent| Extent::Fixed(extent.unwrap_or(0))).collect();
        let prim = match elements {
            [one] => Prim::Splat(*one),
            [] => Prim::Splat(0),
            all => {
                let constant = self.context.constant(Constant { dtype, elements: all.to_vec() });
                self.segment.constants.push(constant);
                Prim::Dense((self.segment.constants.len() - 1) as u32)
            }
        };
        let node = self.segment.graph.push(prim, &[], dtype, shape);
        self.bind(operation.results[0], node);
    }

    /// Any value will do; an extent of 1 fits where others are asked for.
    fn poison(&mut self, operation: &Operation) {
        let Some((dtype, dims)) = self.tensor_result(operation) else {
            return self.unsupported(operation, "its result is not a ranked tensor of the dialect's dtypes");
        };
        let shape = dims.iter().map(|extent| Extent::Fixed(extent.unwrap_or(1))).collect();
        let node = self.segment.graph.push(Prim::Splat(0), &[], dtype, shape);
        self.bind(operation.results[0], node);
    }

    /// The same tensor; what the new type says more is checked.
    fn cast(&mut self, operation: &Operation) {
        let (from, to) = (operation.operands[0], operation.results[0]);
        let Some((_, stated)) = self.tensor_result(operation).filter(|_| self.source.is_tensor(from)) else {
            return self.unsupported(operation, "the rank of a tensor must be known");
        };
        let node = self.node(from);
        for (extent, stated) in self.segment.graph.shape(node).into_iter().zip(&stated) {
            if let (None, Some(stated)) = (extent.fixed(), stated) {
                let extent = self.extent(extent);
                let differ = self.arith(Arith::Ne, &[extent, Arg::Known(*stated)]);
                self.fail_if(differ, "tensor.cast: the tensor has another shape");
            }
        }
        self.segment.graph.refine(node, &stated);
        self.bind(to, node);
    }

    fn tensor_of_elements(&mut self, operation: &Operation) {
        let Some((dtype, known)) = self.tensor_result(operation) else {
            return self.unsupported(operation, "its result is not a ranked tensor");
        };
        let elements = &operation.operands;
        let is_number = |value: &Value| matches!(self.source.r#type(*value), Some(Type::Scalar(_)));
        if !elements.first().is_some_and(is_number) {
            return self.unsupported(operation, "its elements are not numbers");
        }
        let dims: Vec<Arg> = known.iter().map(|extent| Arg::Known(extent.unwrap_or(0))).collect();
        let buffer = self.new_value(ValueKind::Buffer(dtype));
        if !self.is_shape() {
            self.push(Step::Allocate { buffer, dims: dims.clone() });
            for (index, element) in elements.iter().enumerate() {
                let value = self.number(*element);
                self.push(Step::Write { buffer, index: Arg::Known(index as i64), value });
            }
        }
        self.own(operation.results[0], Stored { buffer, dims });
    }

    // Numbers.

    fn dim(&mut self, operation: &Operation, axis: Option<i64>) {
        let node = self.node(operation.operands[0]);
        let dims = self.dims(node);
        let extent = match axis.map(usize::try_from) {
            Some(Ok(axis)) if axis < dims.len() => dims[axis],
            Some(_) => return self.unsupported(operation, "there is no such dimension"),
            None => {
                let axis = Arg::Value(self.number(operation.operands[1]));
                let is_inside = self.arith(Arith::LtU, &[axis, Arg::Known(dims.len() as i64)]);
                let is_outside = self.arith(Arith::Not, &[is_inside]);
                self.fail_if(is_outside, "tensor.dim: there is no such dimension");
                dims.iter().enumerate().fold(Arg::Known(0), |found, (place, extent)| {
                    let is_it = self.arith(Arith::Eq, &[axis, Arg::Known(place as i64)]);
                    self.arith(Arith::Select, &[is_it, *extent, found])
                })
            }
        };
        self.set_number(operation, extent);
    }

    fn rank(&mut self, operation: &Operation) {
        let node = self.node(operation.operands[0]);
        let rank = self.segment.graph.node(node).shape.len();
        self.set_number(operation, Arg::Known(rank as i64));
    }

    fn extract(&mut self, operation: &Operation) {
        let (tensor, result) = (operation.operands[0], operation.results[0]);
        let number = match self.source.r#type(result) {
            Some(Type::Scalar(number)) if self.source.is_tensor(tensor) => *number,
            _ => return self.unsupported(operation, "code is made for extracting booleans, signless integers of 8 to 64 bits, and floats of 16 to 64 bits"),
        };
        self.settle(&[tensor]);
        let stored = self.stored(tensor);
        let mut place = Arg::Known(0);
        for (index, extent) in operation.operands[1..].iter().zip(&stored.dims) {
            let index = Arg::Value(self.number(*index));
            let is_inside = self.arith(Arith::LtU, &[index, *extent]);
            let is_outside = self.arith(Arith::Not, &[is_inside]);
            self.fail_if(is_outside, "tensor.extract: the index is out of range");
            place = self.arith(Arith::Mul, &[place, *extent]);
            place = self.arith(Arith::Add, &[place, index]);
        }
        let value = self.new_value(ValueKind::Number(number));
        self.push(Step::Read { value, buffer: stored.buffer, index: place });
        self.set_number(operation, Arg::Value(value));
    }

    fn literal(&mut self, operation: &Operation, number: Literal) {
        let value = self.number_result(operation);
        self.literals.insert(value, number);
        self.push(Step::Number { value, number });
    }

    /// Arithmetic on numbers; what divides by zero fails.
    fn arithmetic(&mut self, operation: &Operation, op: Arith) {
        let args: Vec<ValueId> = operation.operands.iter().map(|operand| self.number(*operand)).collect();
        if op.divides() {
            self.check_divisor(operation, args[1]);
        }
        let value = self.number_result(operation);
        self.push(Step::Arith { value, op, args: args.into_iter().map(Arg::Value).collect() });
    }

    fn check_divisor(&mut self, operation: &Operation, divisor: ValueId) {
        if matches!(self.literals.get(&divisor), Some(Literal::Int(1..) | Literal::Int(..=-1))) {
            return;
        }
        let is_zero = self.arith(Arith::Eq, &[Arg::Value(divisor), Arg::Known(0)]);
        let message = format!("{}: division by zero", self.context.place(operation.place).op);
        self.fail_if(is_zero, &message);
    }

    /// The only result, a number.
    fn number_result(&mut self, operation: &Operation) -> ValueId {
        let result = operation.results[0];
        let Some(Type::Scalar(number)) = self.source.r#type(result) else {
            unreachable!("the host reads such ops on numbers alone")
        };
        let value = self.new_value(ValueKind::Number(*number));
        self.values.insert(result, Lowered::Number(value));
        value
    }

    /// Takes note that no code is made for an op; its results stand for nothing.
    pub(super) fn unsupported(&mut self, operation: &Operation, why: &str) {
        self.context.unsupported(operation.place, why);
        let source = self.source;
        for result in &operation.results {
            if let Some(r#type) = source.r#type(*result) {
                let (known, _) = self.parts(r#type);
                self.values.insert(*result, known);
            }
        }
    }
}
