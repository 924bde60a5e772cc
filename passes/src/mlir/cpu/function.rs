//! Functions: their blocks, and who owns the buffers of tensors.
//!
//! A tensor between blocks is a pointer, its owner and its extents. Owners are counted: a block owns one reference to each
//! tensor that comes into it alive, or as an argument, and to each that it makes; it passes one on with every tensor that
//! it branches with, and drops those that nobody needs behind it. Arguments of functions belong to the caller.

use mlir_sys::*;
use promote_dialect::attrs;
use promote_lattice::{DType, Op};
use promote_scalar::{Ty, memory_size};
use rustc_hash::{FxHashMap, FxHashSet};

use super::liveness::{Liveness, Name, in_order, liveness};
use super::llvm::{Code, Predicate, block_argument};
use super::segment::{Segment, Stored};
use super::signature::{self, Number, Type};
use super::{Lowering, scalars};
use crate::diagnostic::{Code as Id, Diagnostic};
use crate::lower::extent::Extent;
use crate::lower::graph::{NodeId, Prim};
use crate::lower::ops;
use crate::mlir::raw::{self, Address};
use crate::mlir::report::place_of;

/// What a value of the program is now.
#[derive(Clone, Debug)]
enum Value {
    Tensor(Stored),
    Scalar(MlirValue),
}

/// What kind of function is made of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// For callers outside: takes inputs from the run time and puts results where it says.
    Entry,
    /// The same, but only tells the shapes of results.
    Shape,
    /// For callers in the module.
    Inner,
}

/// A function in the making.
pub struct Function<'l, 'a> {
    /// What the module shares.
    pub lowering: &'l mut Lowering<'a>,
    /// The code.
    pub code: Code,
    /// The name of the program's function.
    pub name: &'l str,
    /// The context of the call.
    pub context: MlirValue,
    /// Whether only shapes are asked for.
    pub is_shape: bool,
    /// The tensors that are not in memory yet.
    pub segment: Segment,
    /// The owners of buffers that are in use as another shape only.
    pub floating: Vec<MlirValue>,
    face: Face,
    values: FxHashMap<Name, Value>,
    blocks: FxHashMap<Address<MlirBlock>, MlirBlock>,
    live: Liveness,
    /// The tensors to which the block at hand owns a reference.
    owned: Vec<Name>,
    /// The block that leaves after a failure.
    failure: Option<MlirBlock>,
    operation: MlirOperation,
}

impl<'l, 'a> Function<'l, 'a> {
    /// Makes a function of `function`.
    pub fn lower(
        lowering: &'l mut Lowering<'a>,
        function: MlirOperation,
        name: &'l str,
        face: Face,
        symbol: &str,
        inputs: &[Type],
    ) {
        let types = lowering.setting.types;
        let arguments = match face {
            Face::Entry | Face::Shape => vec![types.pointer, types.pointer],
            Face::Inner => {
                let mut all = vec![types.pointer];
                inputs.iter().for_each(|input| all.extend(carriers(&types, input)));
                all.push(types.pointer);
                all
            }
        };
        // SAFETY: the op is alive.
        let location = unsafe { mlirOperationGetLocation(function) };
        let code =
            Code::function(types, lowering.setting.module, location, symbol, (Some(types.i32), &arguments));
        let context = code.argument(0);
        let Some(region) = raw::regions(function).next() else { unreachable!("a function has a region") };
        let blocks = in_order(region);
        let names = lowering.names;
        let is_tensor =
            |value: MlirValue| matches!(Type::of(raw::value_type(value), names), Some(Type::Tensor(..)));
        let mut this = Function {
            lowering,
            code,
            name,
            context,
            is_shape: face == Face::Shape,
            segment: Segment::new(),
            floating: Vec::new(),
            face,
            values: FxHashMap::default(),
            blocks: FxHashMap::default(),
            live: liveness(&blocks, is_tensor),
            owned: Vec::new(),
            failure: None,
            operation: function,
        };
        this.run(&blocks, inputs);
    }

    fn run(&mut self, blocks: &[MlirBlock], inputs: &[Type]) {
        // The entry block is kept for what is needed everywhere: the program's first block follows it.
        let entry = self.code.block();
        for block in blocks {
            let carriers: Vec<_> = match self.blocks.is_empty() {
                true => Vec::new(),
                false => raw::arguments(*block)
                    .filter_map(|argument| Type::of(raw::value_type(argument), self.lowering.names))
                    .flat_map(|r#type| carriers(&self.code.types, &r#type))
                    .collect(),
            };
            let new = self.code.new_block(&carriers);
            self.blocks.insert(Address(*block), new);
        }
        let first = self.code.new_block(&[]);
        self.code.go_to(first);
        self.take_arguments(blocks[0], inputs);
        self.code.branch(self.blocks[&Address(blocks[0])], &[]);
        let borrowed: FxHashSet<Name> = raw::arguments(blocks[0]).map(Address).collect();
        for (index, block) in blocks.iter().enumerate() {
            self.code.go_to(self.blocks[&Address(*block)]);
            self.owned.clear();
            let at_start = self.live.at_start.get(&Address(*block)).cloned().unwrap_or_default();
            self.owned.extend(at_start.into_iter().filter(|name| !borrowed.contains(name)));
            self.owned.sort_unstable_by_key(|name| name.0.ptr as usize);
            if index > 0 {
                self.take_block_arguments(*block);
            }
            self.block(*block);
        }
        if let Some(failure) = self.failure {
            self.code.go_to(failure);
            let one = self.code.constant(Ty::I32, 1, 1);
            self.code.give(Some(one));
        }
        self.code.go_to(entry);
        self.code.branch(first, &[]);
    }

    // Arguments.

    fn take_arguments(&mut self, block: MlirBlock, inputs: &[Type]) {
        let mut next = 1;
        for (index, (argument, r#type)) in raw::arguments(block).zip(inputs).enumerate() {
            let value = match self.face {
                Face::Inner => {
                    let (carriers, rest) = (carriers(&self.code.types, r#type).len(), next);
                    next += carriers;
                    let parts: Vec<_> = (rest..next).map(|part| self.code.argument(part)).collect();
                    self.read_carriers(&parts, r#type, argument)
                }
                Face::Entry | Face::Shape => self.take_input(index, r#type, argument),
            };
            self.values.insert(Address(argument), value);
        }
    }

    /// An input that the run time gives.
    fn take_input(&mut self, index: usize, r#type: &Type, argument: MlirValue) -> Value {
        let types = self.code.types;
        let word = |maker: &mut Self, base: MlirValue, place: i64, r#type: MlirType| {
            let place = maker.code.index(place);
            let address = maker.code.element(base, place, types.i64, 1);
            maker.code.load(address, r#type, 8)
        };
        let inputs = self.code.argument(1);
        let data = word(self, inputs, 2 * index as i64, types.pointer);
        match r#type {
            Type::Scalar(number) => {
                let value = self.read_scalar(data, *number);
                Value::Scalar(scalars::to_program(&self.code, value, *number, raw::value_type(argument)))
            }
            Type::Tensor(_, known) => {
                let extents = known
                    .iter()
                    .any(Option::is_none)
                    .then(|| word(self, inputs, 2 * index as i64 + 1, types.pointer));
                let dims = known.iter().enumerate().map(|(axis, known)| match (known, extents) {
                    (Some(known), _) => self.code.index(*known),
                    (None, Some(extents)) => word(self, extents, axis as i64, types.i64),
                    (None, None) => unreachable!("extents are read where one is not known"),
                });
                let dims = dims.collect();
                Value::Tensor(Stored { data, owner: self.code.null(), dims })
            }
        }
    }

    fn read_scalar(&mut self, address: MlirValue, number: Number) -> MlirValue {
        let dtype = number.dtype().unwrap_or(DType::I64);
        let size = memory_size(dtype);
        let memory = scalars::memory_type(&self.code.types, number);
        let raw = self.code.load(address, memory, size);
        scalars::from_memory(&mut self.code, raw, number)
    }

    fn take_block_arguments(&mut self, block: MlirBlock) {
        let own = self.blocks[&Address(block)];
        let mut next = 0;
        for argument in raw::arguments(block) {
            let Some(r#type) = Type::of(raw::value_type(argument), self.lowering.names) else { continue };
            let count = carriers(&self.code.types, &r#type).len();
            let parts: Vec<_> = (next..next + count).map(|part| block_argument(own, part)).collect();
            next += count;
            let value = self.read_carriers(&parts, &r#type, argument);
            if let Value::Tensor(_) = value {
                self.owned.push(Address(argument));
            }
            self.values.insert(Address(argument), value);
        }
    }

    fn read_carriers(&mut self, parts: &[MlirValue], r#type: &Type, value: MlirValue) -> Value {
        match r#type {
            Type::Scalar(number) => {
                Value::Scalar(scalars::to_program(&self.code, parts[0], *number, raw::value_type(value)))
            }
            Type::Tensor(_, known) => {
                let mut unknown = parts[2..].iter();
                let dims = known.iter().map(|known| match known {
                    Some(known) => self.code.index(*known),
                    None => match unknown.next() {
                        Some(extent) => *extent,
                        None => unreachable!("each unknown extent is carried"),
                    },
                });
                let dims = dims.collect();
                Value::Tensor(Stored { data: parts[0], owner: parts[1], dims })
            }
        }
    }

    /// What carries a value between blocks and functions.
    fn carried(&mut self, value: &Value, r#type: &Type) -> Vec<MlirValue> {
        match (value, r#type) {
            (Value::Tensor(stored), Type::Tensor(_, known)) => {
                let unknown = known.iter().zip(&stored.dims).filter(|(known, _)| known.is_none());
                let unknown = unknown.map(|(_, extent)| *extent);
                [stored.data, stored.owner].into_iter().chain(unknown).collect()
            }
            (Value::Scalar(value), Type::Scalar(number)) => {
                vec![scalars::from_program(&self.code, *value, *number)]
            }
            _ => unreachable!("a value is of its type"),
        }
    }

    // Values.

    fn value(&self, value: MlirValue) -> Value {
        match self.values.get(&Address(value)) {
            Some(known) => known.clone(),
            None => unreachable!("values are made before they are used, and tensors come into memory"),
        }
    }

    /// A tensor that is in memory.
    pub fn stored(&self, value: MlirValue) -> Stored {
        match self.value(value) {
            Value::Tensor(stored) => stored,
            Value::Scalar(_) => unreachable!("the type of the value is a tensor's"),
        }
    }

    /// Lets a value be a tensor in memory, to which the block owns a reference.
    pub fn own(&mut self, value: MlirValue, stored: Stored) {
        self.values.insert(Address(value), Value::Tensor(stored));
        self.owned.push(Address(value));
    }

    pub fn scalar(&self, value: MlirValue) -> MlirValue {
        match self.value(value) {
            Value::Scalar(value) => value,
            Value::Tensor(_) => unreachable!("the type of the value is a scalar's"),
        }
    }

    /// What a value is to code, if it is something.
    pub fn r#type(&self, value: MlirValue) -> Option<Type> {
        Type::of(raw::value_type(value), self.lowering.names)
    }

    /// The node that a tensor is.
    pub fn node(&mut self, value: MlirValue) -> NodeId {
        if let Some(known) = self.segment.nodes.get(&Address(value)) {
            return *known;
        }
        let (Value::Tensor(stored), Some(Type::Tensor(dtype, dims))) =
            (self.value(value), self.r#type(value))
        else {
            unreachable!("the operands of tensor ops are tensors")
        };
        let node = self.source(stored, dtype, &dims);
        self.bind(value, node);
        node
    }

    /// The node of a tensor in memory.
    pub fn source(&mut self, stored: Stored, dtype: DType, dims: &[Option<i64>]) -> NodeId {
        let number = self.segment.sources.len() as u32;
        self.segment.sources.push(stored);
        self.segment.graph.source(number, dtype, dims)
    }

    /// Lets a value be a node.
    pub fn bind(&mut self, value: MlirValue, node: NodeId) {
        self.segment.nodes.insert(Address(value), node);
        self.segment.origins.resize(self.segment.graph.nodes.len(), self.operation);
    }

    // Ops.

    fn block(&mut self, block: MlirBlock) {
        for operation in raw::operations(block) {
            self.operation = operation;
            // SAFETY: the op is alive.
            self.code.location = unsafe { mlirOperationGetLocation(operation) };
            // SAFETY: as above.
            match unsafe { self.lowering.names.op(operation) } {
                Some(op) => self.promote(op, operation),
                None => self.foreign(operation),
            }
        }
    }

    fn promote(&mut self, op: Op, operation: MlirOperation) {
        let result = raw::result(operation);
        let Some(Type::Tensor(dtype, dims)) = self.r#type(result) else {
            return self.unsupported(operation, "its result is no ranked tensor");
        };
        if op == Op::Constant {
            return self.constant(operation, dtype, &dims);
        }
        let found: Vec<_> = raw::attributes(operation)
            .map(|(name, value)| (name, super::super::view::attribute(value)))
            .collect();
        let found = found.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let Ok(attrs) = attrs::check(op, found) else {
            unreachable!("strong programs have the attributes that their ops need")
        };
        let args: Vec<NodeId> = raw::operands(operation).map(|operand| self.node(operand)).collect();
        let numerics = self.lowering.setting.numerics;
        let call = ops::Call { op, attrs: &attrs, args: &args, dtype, dims: &dims, numerics };
        let node = ops::add(&mut self.segment.graph, call);
        self.bind(result, node);
    }

    fn constant(&mut self, operation: MlirOperation, dtype: DType, dims: &[Option<i64>]) {
        let elements = raw::attribute(operation, "value")
            .and_then(|value| super::super::constant::elements(value, dtype));
        let Some(elements) = elements else {
            return self.unsupported(operation, "its value cannot be read");
        };
        let shape: Vec<_> = dims.iter().map(|extent| Extent::Fixed(extent.unwrap_or(0))).collect();
        let node = match elements.as_slice() {
            [one] => self.segment.graph.push(Prim::Splat(*one), &[], dtype, shape),
            [] => self.segment.graph.push(Prim::Splat(0), &[], dtype, shape),
            all => {
                let symbol = self.lowering.global(all, dtype);
                let number = self.segment.constants.len() as u32;
                self.segment.constants.push(symbol);
                self.segment.graph.push(Prim::Dense(number), &[], dtype, shape)
            }
        };
        self.bind(raw::result(operation), node);
    }

    fn foreign(&mut self, operation: MlirOperation) {
        match raw::name(operation).as_str() {
            "func.return" => self.give(operation),
            "func.call" => self.call(operation),
            "cf.br" | "cf.cond_br" | "cf.switch" => self.branch(operation),
            "cf.assert" => self.assert(operation),
            "tensor.dim" => self.dim(operation),
            "tensor.rank" => self.rank(operation),
            "tensor.cast" => self.cast(operation),
            "tensor.extract" => self.extract(operation),
            "tensor.from_elements" => self.tensor_of_elements(operation),
            name @ ("arith.constant" | "arith.select" | "ub.poison")
                if raw::is_tensor(raw::value_type(raw::result(operation))) =>
            {
                self.tensor_of_upstream(name, operation);
            }
            name if name.starts_with("scf.") || name.starts_with("affine.") => {
                self.unsupported(
                    operation,
                    "control flow must be blocks: run lower-affine and convert-scf-to-cf first",
                );
            }
            _ => self.clone_scalar(operation),
        }
    }

    /// Ops of other dialects that upstream passes write on tensors.
    fn tensor_of_upstream(&mut self, name: &str, operation: MlirOperation) {
        let result = raw::result(operation);
        let Some(Type::Tensor(dtype, dims)) = self.r#type(result) else {
            return self.unsupported(operation, "its result is no ranked tensor of the dialect's dtypes");
        };
        match name {
            "arith.constant" => self.constant(operation, dtype, &dims),
            "arith.select" => self.choose(operation),
            // Any value will do; an extent of 1 fits where others are asked for.
            _ => {
                let shape = dims.iter().map(|extent| Extent::Fixed(extent.unwrap_or(1))).collect();
                let node = self.segment.graph.push(Prim::Splat(0), &[], dtype, shape);
                self.bind(result, node);
            }
        }
    }

    /// Ops of numbers stay as they are; upstream passes lower them.
    fn clone_scalar(&mut self, operation: MlirOperation) {
        let values = raw::operands(operation).chain(raw::results(operation));
        let all_scalar = values.into_iter().all(|value| {
            matches!(Type::of(raw::value_type(value), self.lowering.names), Some(Type::Scalar(_)))
        });
        if !all_scalar || raw::regions(operation).next().is_some() || raw::successors(operation).len() > 0 {
            return self
                .unsupported(operation, "it is an op of another dialect on something other than numbers");
        }
        // SAFETY: the op is alive; the copy is owned by the block that takes it.
        unsafe {
            let copy = mlirOperationClone(operation);
            for (index, operand) in raw::operands(operation).enumerate() {
                raw::set_operand(copy, index, self.scalar(operand));
            }
            mlirBlockAppendOwnedOperation(self.code.block(), copy);
            for (old, new) in raw::results(operation).zip(raw::results(copy)) {
                self.values.insert(Address(old), Value::Scalar(new));
            }
        }
    }

    fn set(&mut self, value: MlirValue, number: MlirValue) {
        if let Some(Type::Scalar(kind)) = self.r#type(value) {
            let number = scalars::to_program(&self.code, number, kind, raw::value_type(value));
            self.values.insert(Address(value), Value::Scalar(number));
        }
    }

    fn index_of(&mut self, value: MlirValue) -> MlirValue {
        let scalar = self.scalar(value);
        scalars::from_program(&self.code, scalar, Number::Index)
    }

    fn dim(&mut self, operation: MlirOperation) {
        let (tensor, axis) = (raw::operand(operation, 0), raw::operand(operation, 1));
        let node = self.node(tensor);
        let dims = self.dims(node);
        let constant = raw::defining_op(axis)
            .filter(|defining| raw::is_named(*defining, "arith.constant"))
            .and_then(|defining| raw::attribute(defining, "value"));
        // SAFETY: the attribute is alive, and an integer's.
        let known = constant.map(|value| unsafe { mlirIntegerAttrGetValueInt(value) });
        let extent = match known.map(usize::try_from) {
            Some(Ok(axis)) if axis < dims.len() => dims[axis],
            Some(_) => return self.unsupported(operation, "there is no such dimension"),
            None => {
                let (room, axis) = (self.dims_in_memory(&dims), self.index_of(axis));
                let count = self.code.index(dims.len() as i64);
                let outside = self.code.compare(Predicate::Uge, axis, count);
                self.refuse_if(outside, "tensor.dim: there is no such dimension");
                let place = self.code.element(room, axis, self.code.types.i64, 1);
                self.code.load(place, self.code.types.i64, 8)
            }
        };
        self.set(raw::result(operation), extent);
    }

    fn rank(&mut self, operation: MlirOperation) {
        let node = self.node(raw::operand(operation, 0));
        let rank = self.segment.graph.node(node).shape.len();
        let rank = self.code.index(rank as i64);
        self.set(raw::result(operation), rank);
    }

    /// The same tensor; what the new type says more is checked.
    fn cast(&mut self, operation: MlirOperation) {
        let (from, to) = (raw::operand(operation, 0), raw::result(operation));
        let (Some(Type::Tensor(..)), Some(Type::Tensor(_, stated))) = (self.r#type(from), self.r#type(to))
        else {
            return self.unsupported(operation, "the rank of a tensor must be known");
        };
        let node = self.node(from);
        for (extent, stated) in self.segment.graph.shape(node).into_iter().zip(&stated) {
            if let (None, Some(stated)) = (extent.fixed(), stated) {
                let (extent, stated) = (self.extent(extent), self.code.index(*stated));
                let differ = self.code.compare(Predicate::Ne, extent, stated);
                self.refuse_if(differ, "tensor.cast: the tensor has another shape");
            }
        }
        self.segment.graph.refine(node, &stated);
        self.bind(to, node);
    }

    fn extract(&mut self, operation: MlirOperation) {
        let tensor = raw::operand(operation, 0);
        let (Some(Type::Tensor(dtype, _)), Some(Type::Scalar(number))) =
            (self.r#type(tensor), self.r#type(raw::result(operation)))
        else {
            return self.unsupported(operation, "only numbers that are not complex can be extracted");
        };
        self.settle(&[tensor]);
        let stored = self.stored(tensor);
        let mut place = self.code.index(0);
        for (index, extent) in raw::operands(operation).skip(1).zip(&stored.dims) {
            let index = self.index_of(index);
            let outside = self.code.compare(Predicate::Uge, index, *extent);
            self.refuse_if(outside, "tensor.extract: the index is out of range");
            place = self.code.int("llvm.mul", place, *extent);
            place = self.code.int("llvm.add", place, index);
        }
        let size = self.code.index(memory_size(dtype) as i64);
        let bytes = self.code.int("llvm.mul", place, size);
        let address = self.code.element(stored.data, bytes, self.code.types.i8, 1);
        let value = self.read_scalar(address, number);
        self.set(raw::result(operation), value);
    }

    fn tensor_of_elements(&mut self, operation: MlirOperation) {
        let result = raw::result(operation);
        let (Some(Type::Tensor(dtype, known)), elements) =
            (self.r#type(result), raw::operands(operation).collect::<Vec<_>>())
        else {
            return self.unsupported(operation, "its result is no ranked tensor");
        };
        let scalar = elements.first().and_then(|element| self.r#type(*element));
        let Some(Type::Scalar(number)) = scalar else {
            return self.unsupported(operation, "its elements are no numbers");
        };
        let dims: Vec<MlirValue> = known.iter().map(|extent| self.code.index(extent.unwrap_or(0))).collect();
        let data = self.fresh(&dims, memory_size(dtype));
        let memory = scalars::memory_type(&self.code.types, number);
        for (index, element) in elements.iter().enumerate() {
            let scalar = self.scalar(*element);
            let value = scalars::from_program(&self.code, scalar, number);
            let value = scalars::to_memory(&mut self.code, value, number);
            let place = self.code.index(index as i64);
            let address = self.code.element(data, place, memory, 1);
            self.code.store(value, address, memory_size(dtype));
        }
        self.own(result, Stored { data, owner: data, dims });
    }

    // Failures.

    /// Leaves if a condition holds; somebody has said why.
    pub fn fail_if(&mut self, condition: MlirValue) {
        let failure = match self.failure {
            Some(failure) => failure,
            None => *self.failure.insert(self.code.new_block(&[])),
        };
        let behind = self.code.new_block(&[]);
        self.code.branch_if(condition, (failure, &[]), (behind, &[]));
        self.code.go_to(behind);
    }

    /// Leaves with a message if a condition holds.
    pub fn refuse_if(&mut self, condition: MlirValue, message: &str) {
        let place = place_of(self.operation).map(|place| format!("{place}: ")).unwrap_or_default();
        self.refuse_with(condition, &format!("{place}{message}"));
    }

    fn refuse_with(&mut self, condition: MlirValue, message: &str) {
        let (refused, behind) = (self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(condition, (refused, &[]), (behind, &[]));
        self.code.go_to(refused);
        let symbol = self.lowering.text(message);
        let (text, length) = (self.code.address_of(&symbol), self.code.index(message.len() as i64));
        self.code.call("promote_rt_fail", &[self.context, text, length], None);
        let one = self.code.constant(Ty::I32, 1, 1);
        self.code.give(Some(one));
        self.code.go_to(behind);
    }

    fn assert(&mut self, operation: MlirOperation) {
        let condition = self.scalar(raw::operand(operation, 0));
        let message = raw::string_attribute(operation, "msg").unwrap_or_default();
        let yes = self.code.constant(Ty::I1, 1, 1);
        let fails = self.code.value("llvm.xor", &[condition, yes], self.code.types.scalar(Ty::I1), &[]);
        self.refuse_with(fails, &message);
    }

    /// Calls something that gives a status, and leaves if that is not 0.
    fn call_checked(&mut self, symbol: &str, arguments: &[MlirValue]) {
        let Some(status) = self.code.call(symbol, arguments, Some(self.code.types.i32)) else {
            unreachable!("the function gives a status")
        };
        let zero = self.code.constant(Ty::I32, 0, 1);
        let failed = self.code.compare(Predicate::Ne, status, zero);
        self.fail_if(failed);
    }

    /// Leaves if an exception was raised.
    pub fn check_traps(&mut self) {
        self.call_checked("promote_rt_trapped", &[self.context]);
    }

    /// Says that no code is made for an op.
    pub fn unsupported(&mut self, operation: MlirOperation, why: &str) {
        let message = format!("{} is not lowered to the CPU: {why}", raw::name(operation));
        self.lowering.said.push(Diagnostic::error(Id::NotLowered, place_of(operation), message));
        for result in raw::results(operation) {
            // What follows is not run.
            match self.r#type(result) {
                Some(Type::Tensor(_, dims)) => {
                    let (null, zero) = (self.code.null(), self.code.index(0));
                    let dims = vec![zero; dims.len()];
                    self.values
                        .insert(Address(result), Value::Tensor(Stored { data: null, owner: null, dims }));
                }
                Some(Type::Scalar(_)) | None => {
                    let poison = self.code.poison(raw::value_type(result));
                    self.values.insert(Address(result), Value::Scalar(poison));
                }
            }
        }
    }

    /// Says that an op has no definition for a dtype.
    pub fn not_computed(&mut self, op: Op, dtype: DType) {
        let graph = &self.segment.graph;
        let is_it = |index: &usize| {
            let node = &graph.nodes[*index];
            node.prim == Prim::Map(op) && node.args.first().is_some_and(|arg| graph.node(*arg).dtype == dtype)
        };
        let found = (0..graph.nodes.len()).find(is_it);
        let place = found.map_or(self.operation, |index| self.segment.origins[index]);
        let message = format!("{op} of {dtype} is not lowered to the CPU");
        let error = Diagnostic::error(Id::NotLowered, place_of(place), message);
        self.lowering.said.push(error.with_remedy("convert the operands with promote.convert"));
    }

    // Ownership.

    /// Adds a reference.
    pub fn retain(&mut self, owner: MlirValue) {
        self.code.call("promote_rt_retain", &[owner], None);
    }

    /// Drops a reference.
    pub fn release(&mut self, owner: MlirValue) {
        self.code.call("promote_rt_release", &[self.context, owner], None);
    }

    fn release_value(&mut self, name: Name) {
        if let Value::Tensor(stored) = self.value(name.0) {
            self.release(stored.owner);
        }
    }

    /// Brings tensors into memory, with all that is used behind the current op.
    pub fn settle(&mut self, tensors: &[MlirValue]) {
        let is_new = |maker: &Self, value: MlirValue| maker.segment.nodes.contains_key(&Address(value));
        let mut wanted: Vec<MlirValue> =
            tensors.iter().copied().filter(|value| is_new(self, *value)).collect();
        let block = raw::block_of(self.operation);
        let at_end = self.live.at_end.get(&Address(block)).cloned().unwrap_or_default();
        let mut later: Vec<MlirValue> = at_end.into_iter().map(|name| name.0).collect();
        let mut next = Some(self.operation);
        while let Some(operation) = next {
            // SAFETY: the op is alive; MLIR returns null at the end.
            let behind = unsafe { mlirOperationGetNextInBlock(operation) };
            next = (!behind.ptr.is_null()).then_some(behind);
            if let Some(operation) = next {
                later.extend(raw::operands(operation));
            }
        }
        wanted.extend(later.into_iter().filter(|value| is_new(self, *value)));
        let mut seen = FxHashSet::default();
        wanted.retain(|value| seen.insert(Address(*value)));
        self.bring(&wanted, &[]);
    }

    /// Brings tensors into memory: the block owns a reference to each. The nodes of `outputs` go to results.
    fn bring(&mut self, wanted: &[MlirValue], outputs: &[(NodeId, usize)]) {
        let nodes: Vec<(MlirValue, NodeId)> =
            wanted.iter().map(|value| (*value, self.segment.nodes[&Address(*value)])).collect();
        let prims: FxHashMap<NodeId, bool> = nodes
            .iter()
            .map(|(_, node)| {
                let prim = &self.segment.graph.node(*node).prim;
                (*node, matches!(prim, Prim::Source(_) | Prim::Dense(_) | Prim::Reshape))
            })
            .collect();
        let needed: Vec<NodeId> = nodes.iter().map(|(_, node)| *node).collect();
        let stored = self.flush(&needed, outputs);
        let mut given = FxHashSet::default();
        for (value, node) in nodes {
            let tensor = stored[&node].clone();
            let is_known = matches!(self.values.get(&Address(value)), Some(Value::Tensor(_)));
            if is_known {
                // A source stays what it is.
                continue;
            }
            if prims[&node] || !given.insert(node) {
                self.retain(tensor.owner);
            }
            self.values.insert(Address(value), Value::Tensor(tensor));
            self.owned.push(Address(value));
        }
        let floating = std::mem::take(&mut self.floating);
        floating.into_iter().for_each(|owner| self.release(owner));
    }

    // Terminators and calls.

    fn branch(&mut self, operation: MlirOperation) {
        let successors: Vec<MlirBlock> = raw::successors(operation).collect();
        let tensors: Vec<MlirValue> = raw::operands(operation)
            .filter(|operand| matches!(self.r#type(*operand), Some(Type::Tensor(..))))
            .collect();
        self.settle(&tensors);
        let (flag, passed) = self.passed(operation, successors.len());
        self.drop_dead(&successors, &passed.iter().flatten().copied().map(Address).collect());
        let is_only = successors.len() == 1;
        let edges: Vec<(MlirBlock, Vec<MlirValue>)> = successors
            .iter()
            .zip(&passed)
            .map(|(successor, values)| self.edge(*successor, values, is_only))
            .collect();
        match (raw::name(operation).as_str(), edges.as_slice()) {
            ("cf.br", [(block, arguments)]) => self.code.branch(*block, arguments),
            ("cf.cond_br", [(then, then_arguments), (otherwise, otherwise_arguments)]) => {
                let Some(flag) = flag else { unreachable!("a conditional branch has a condition") };
                let condition = self.scalar(flag);
                self.code.branch_if(condition, (*then, then_arguments), (*otherwise, otherwise_arguments));
            }
            _ => self.switch(operation, flag, &edges),
        }
    }

    /// The flag of a branch, and what it passes to each successor.
    fn passed(&self, operation: MlirOperation, count: usize) -> (Option<MlirValue>, Vec<Vec<MlirValue>>) {
        let operands: Vec<MlirValue> = raw::operands(operation).collect();
        let name = raw::name(operation);
        if name == "cf.br" {
            return (None, vec![operands]);
        }
        let ints = |attribute: MlirAttribute| -> Vec<usize> {
            // SAFETY: the attribute is alive, and an array of 32-bit integers.
            unsafe {
                (0..mlirDenseArrayGetNumElements(attribute))
                    .map(|i| mlirDenseI32ArrayGetElement(attribute, i) as usize)
                    .collect()
            }
        };
        let segments = raw::attribute(operation, "operandSegmentSizes").map(ints).unwrap_or_default();
        let mut sizes: Vec<usize> = segments[1..].to_vec();
        if name == "cf.switch" {
            let of_cases = raw::attribute(operation, "case_operand_segments").map(ints).unwrap_or_default();
            sizes.truncate(1);
            sizes.extend(of_cases);
        }
        sizes.resize(count, 0);
        let mut rest = &operands[1..];
        let passed = sizes.into_iter().map(|size| {
            let (own, others) = rest.split_at(size);
            rest = others;
            own.to_vec()
        });
        (Some(operands[0]), passed.collect())
    }

    /// Compares with one case after another.
    fn switch(
        &mut self,
        operation: MlirOperation,
        flag: Option<MlirValue>,
        edges: &[(MlirBlock, Vec<MlirValue>)],
    ) {
        let Some(flag) = flag else { unreachable!("a switch has a flag") };
        let (flag_type, flag) = (raw::value_type(flag), self.scalar(flag));
        let cases = raw::attribute(operation, "case_values");
        for (index, (block, arguments)) in edges[1..].iter().enumerate() {
            let Some(cases) = cases else { unreachable!("a switch of cases has their values") };
            // SAFETY: the attribute is alive, and has a value a case.
            let value = unsafe { mlirElementsAttrGetValue(cases, 1, [index as u64].as_mut_ptr()) };
            let case = self.code.value("llvm.mlir.constant", &[], flag_type, &[("value", value)]);
            let is_it = self.code.compare(Predicate::Eq, flag, case);
            let behind = self.code.new_block(&[]);
            self.code.branch_if(is_it, (*block, arguments), (behind, &[]));
            self.code.go_to(behind);
        }
        self.code.branch(edges[0].0, &edges[0].1);
    }

    /// Drops what no successor needs, and what is not passed to one.
    fn drop_dead(&mut self, successors: &[MlirBlock], passed: &FxHashSet<Name>) {
        let live = |name: &Name| {
            passed.contains(name)
                || successors.iter().any(|next| {
                    self.live.at_start.get(&Address(*next)).is_some_and(|at_start| at_start.contains(name))
                })
        };
        let (kept, dead): (Vec<Name>, Vec<Name>) =
            std::mem::take(&mut self.owned).into_iter().partition(live);
        dead.into_iter().for_each(|name| self.release_value(name));
        self.owned = kept;
    }

    /// The way to a successor, and what it is passed. The block's reference to a passed tensor goes to the successor where
    /// it is not needed for anything else there; other tensors that are passed get a reference more, and what only other
    /// successors need loses the block's. That is done on this way alone: in a block between, unless it is the only way.
    fn edge(
        &mut self,
        successor: MlirBlock,
        values: &[MlirValue],
        is_only: bool,
    ) -> (MlirBlock, Vec<MlirValue>) {
        let target = self.blocks[&Address(successor)];
        let empty = FxHashSet::default();
        let at_start = self.live.at_start.get(&Address(successor)).unwrap_or(&empty);
        let mut dead: FxHashSet<Name> =
            self.owned.iter().copied().filter(|name| !at_start.contains(name)).collect();
        let (mut arguments, mut retained) = (Vec::new(), Vec::new());
        for (value, argument) in values.iter().zip(raw::arguments(successor)) {
            let Some(r#type) = self.r#type(argument) else { continue };
            let known = self.value(*value);
            if let Value::Tensor(stored) = &known
                && !dead.remove(&Address(*value))
            {
                retained.push(stored.owner);
            }
            arguments.extend(self.carried(&known, &r#type));
        }
        let dead: Vec<Name> = self.owned.iter().copied().filter(|name| dead.contains(name)).collect();
        if dead.is_empty() && retained.is_empty() {
            return (target, arguments);
        }
        let here = self.code.block();
        let between = (!is_only).then(|| self.code.new_block(&[]));
        between.into_iter().for_each(|between| self.code.go_to(between));
        retained.into_iter().for_each(|owner| self.retain(owner));
        dead.into_iter().for_each(|name| self.release_value(name));
        let Some(between) = between else { return (target, arguments) };
        self.code.branch(target, &arguments);
        self.code.go_to(here);
        (between, Vec::new())
    }

    fn give(&mut self, operation: MlirOperation) {
        let operands: Vec<MlirValue> = raw::operands(operation).collect();
        let is_tensor =
            |maker: &Self, value: MlirValue| matches!(maker.r#type(value), Some(Type::Tensor(..)));
        match self.face {
            Face::Entry | Face::Shape => {
                let mut outputs = Vec::new();
                for (index, value) in operands.iter().enumerate() {
                    if is_tensor(self, *value) {
                        outputs.push((self.node(*value), index));
                    }
                }
                self.bring(&[], &outputs);
                for (index, value) in operands.iter().enumerate() {
                    if let Some(Type::Scalar(number)) = self.r#type(*value) {
                        self.give_scalar(index, *value, number);
                    }
                }
            }
            Face::Inner => {
                let tensors: Vec<MlirValue> =
                    operands.iter().copied().filter(|value| is_tensor(self, *value)).collect();
                self.settle(&tensors);
                let mut place = 0;
                for value in &operands {
                    let Some(r#type) = self.r#type(*value) else { continue };
                    let known = self.value(*value);
                    if let Value::Tensor(stored) = &known {
                        self.retain(stored.owner);
                    }
                    for part in self.carried(&known, &r#type) {
                        self.put_result(place, part);
                        place += 1;
                    }
                }
            }
        }
        self.drop_dead(&[], &FxHashSet::default());
        let ok = self.code.constant(Ty::I32, 0, 1);
        self.code.give(Some(ok));
    }

    fn give_scalar(&mut self, index: usize, value: MlirValue, number: Number) {
        let (number_index, null) = (self.code.index(index as i64), self.code.null());
        if self.is_shape {
            self.code.call("promote_rt_shape", &[self.context, number_index, null], None);
            return;
        }
        let arguments = [self.context, number_index, null];
        let place = self.code.call("promote_rt_output", &arguments, Some(self.code.types.pointer));
        let Some(place) = place else { unreachable!("the function gives a pointer") };
        self.fail_if_null(place);
        let scalar = self.scalar(value);
        let raw = scalars::from_program(&self.code, scalar, number);
        let raw = scalars::to_memory(&mut self.code, raw, number);
        self.code.store(raw, place, memory_size(number.dtype().unwrap_or(DType::I64)));
    }

    /// Tells the shape of a result.
    pub fn tell_shape(&mut self, output: usize, stored: &Stored) {
        let (index, dims) = (self.code.index(output as i64), self.dims_in_memory(&stored.dims));
        self.code.call("promote_rt_shape", &[self.context, index, dims], None);
    }

    fn put_result(&mut self, place: usize, part: MlirValue) {
        let results = self.code.argument(self.code.argument_count() - 1);
        let place = self.code.index(place as i64);
        let address = self.code.element(results, place, self.code.types.i64, 1);
        self.code.store(part, address, 8);
    }

    /// Leaves if the stack does not hold a call of a function of the program.
    fn enter(&mut self, operation: MlirOperation, callee: &str) {
        let place = place_of(operation).map(|place| format!("{place}: ")).unwrap_or_default();
        let place = format!("{place}func.call @{callee}");
        let symbol = self.lowering.text(&place);
        let (text, length) = (self.code.address_of(&symbol), self.code.index(place.len() as i64));
        let need = self.code.address_of(&signature::stack_symbol(&Lowering::inner(callee)));
        let need = self.code.load(need, self.code.types.i64, 8);
        self.call_checked("promote_rt_enter", &[self.context, need, text, length]);
    }

    fn call(&mut self, operation: MlirOperation) {
        let Some(callee) = raw::attribute(operation, "callee").and_then(raw::symbol) else {
            return self.unsupported(operation, "it names no function");
        };
        if !self.lowering.has_body(&callee) {
            return self.unsupported(operation, "the function that it calls has no body");
        }
        let operands: Vec<MlirValue> = raw::operands(operation).collect();
        let is_tensor =
            |maker: &Self, value: &MlirValue| matches!(maker.r#type(*value), Some(Type::Tensor(..)));
        let tensors: Vec<MlirValue> =
            operands.iter().copied().filter(|value| is_tensor(self, value)).collect();
        self.settle(&tensors);
        let mut arguments = vec![self.context];
        for operand in &operands {
            let Some(r#type) = self.r#type(*operand) else { continue };
            let known = self.value(*operand);
            arguments.extend(self.carried(&known, &r#type));
        }
        let results: Vec<(MlirValue, Type)> =
            raw::results(operation).filter_map(|result| Some((result, self.r#type(result)?))).collect();
        let types = self.code.types;
        let parts: Vec<Vec<MlirType>> = results.iter().map(|(_, r#type)| carriers(&types, r#type)).collect();
        let count: usize = parts.iter().map(Vec::len).sum();
        let room = self.code.stack(types.i64, count.max(1) as i64, 8);
        arguments.push(room);
        let symbol = Lowering::inner(&callee);
        self.enter(operation, &callee);
        self.call_checked(&symbol, &arguments);
        self.code.call("promote_rt_leave", &[self.context], None);
        let mut place = 0;
        for ((result, r#type), parts) in results.iter().zip(parts) {
            let mut read = Vec::new();
            for part in parts {
                let at = self.code.index(place);
                let address = self.code.element(room, at, types.i64, 1);
                read.push(self.code.load(address, part, 8));
                place += 1;
            }
            let value = self.read_carriers(&read, r#type, *result);
            if let Value::Tensor(_) = value {
                self.owned.push(Address(*result));
            }
            self.values.insert(Address(*result), value);
        }
    }
}

/// The types that carry a value: a number, or a tensor's data, owner and extents that are not known.
fn carriers(types: &super::llvm::Types, r#type: &Type) -> Vec<MlirType> {
    match r#type {
        Type::Scalar(number) => vec![scalars::register_type(types, *number)],
        Type::Tensor(_, dims) => {
            let unknown = dims.iter().filter(|extent| extent.is_none()).count();
            [types.pointer, types.pointer]
                .into_iter()
                .chain(std::iter::repeat_n(types.i64, unknown))
                .collect()
        }
    }
}
