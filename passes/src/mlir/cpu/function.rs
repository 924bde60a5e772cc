//! Functions of a program as functions of the LLVM dialect.
//!
//! A buffer is a pointer to its first element, and its owner: what keeps it alive, null for what lives longer than the call.

use mlir_sys::*;
use promote_scalar::{Ty, memory_size};

use super::llvm::{Code, Predicate, block_argument};
use super::{Lowering, names, scalars, signature};
use crate::lower::program::{
    Arg, Arith, Block, Edge, End, EntryKind, Foreign, Function as Source, PlaceId, Step, ValueId, ValueKind,
};
use crate::lower::types::{Number, Type};
use crate::mlir::raw;

/// What a value is in code.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// The first element, and the owner.
    Buffer(MlirValue, MlirValue),
    /// A number, in the type that it has in registers.
    Number(MlirValue),
}

/// A function in the making.
pub struct Function<'l, 'a> {
    /// What the module shares.
    pub lowering: &'l mut Lowering<'a>,
    /// The code.
    pub code: Code,
    /// What it is made of.
    pub source: &'a Source,
    /// The context of the call.
    pub context: MlirValue,
    values: Vec<Option<Value>>,
    blocks: Vec<MlirBlock>,
    /// The block that leaves after a failure.
    failure: Option<MlirBlock>,
}

impl<'l, 'a> Function<'l, 'a> {
    /// Makes a function of that symbol.
    pub fn compile(lowering: &'l mut Lowering<'a>, source: &'a Source, symbol: &str) {
        let types = lowering.setting.types;
        let arguments = match source.entry {
            EntryKind::Public | EntryKind::Shapes => vec![types.pointer, types.pointer],
            EntryKind::Private => {
                let parameters = &source.blocks[0].parameters;
                let carriers =
                    parameters.iter().flat_map(|value| scalars::carriers(&types, source.kind(*value)));
                [types.pointer].into_iter().chain(carriers).chain([types.pointer]).collect()
            }
        };
        let location = lowering.location(source.place);
        let signature = (Some(types.i32), arguments.as_slice());
        let code = Code::function(types, lowering.setting.module, location, symbol, signature);
        let context = code.argument(0);
        let values = vec![None; source.values.len()];
        let mut this =
            Function { lowering, code, source, context, values, blocks: Vec::new(), failure: None };
        this.run();
    }

    fn run(&mut self) {
        // The entry block is kept for what is needed everywhere: the program's first block follows it.
        let entry = self.code.block();
        let source = self.source;
        for (index, block) in source.blocks.iter().enumerate() {
            let types = self.code.types;
            let carriers =
                block.parameters.iter().flat_map(|value| scalars::carriers(&types, source.kind(*value)));
            let carriers: Vec<_> = if index == 0 { Vec::new() } else { carriers.collect() };
            let new = self.code.new_block(&carriers);
            self.blocks.push(new);
        }
        let first = self.code.new_block(&[]);
        self.code.go_to(first);
        match source.entry {
            EntryKind::Public | EntryKind::Shapes => self.take_inputs(),
            EntryKind::Private => self.take_parameters(),
        }
        self.code.branch(self.blocks[0], &[]);
        for index in self.in_order() {
            self.code.go_to(self.blocks[index]);
            self.block(&source.blocks[index], index > 0);
        }
        if let Some(failure) = self.failure {
            self.code.go_to(failure);
            let one = self.code.constant(Ty::I32, 1, 1);
            self.code.give(Some(one));
        }
        self.code.go_to(entry);
        self.code.branch(first, &[]);
    }

    /// The blocks, each after those that dominate it, so that values are made before they are used.
    fn in_order(&self) -> Vec<usize> {
        let successors = |block: usize| -> Vec<usize> {
            self.source.blocks[block].end.edges().iter().map(|edge| edge.block.0 as usize).collect()
        };
        let mut seen = vec![false; self.source.blocks.len()];
        seen[0] = true;
        let mut walk = vec![(0, successors(0))];
        let mut order = Vec::new();
        while let Some((block, rest)) = walk.last_mut() {
            match rest.pop() {
                Some(next) => {
                    if !std::mem::replace(&mut seen[next], true) {
                        walk.push((next, successors(next)));
                    }
                }
                None => {
                    order.push(*block);
                    walk.pop();
                }
            }
        }
        order.reverse();
        order
    }

    fn block(&mut self, block: &'a Block, has_parameters: bool) {
        if has_parameters {
            let own = self.code.block();
            let mut next = 0;
            for value in &block.parameters {
                let mut part = || {
                    next += 1;
                    block_argument(own, next - 1)
                };
                let known = match self.source.kind(*value) {
                    ValueKind::Buffer(_) => Value::Buffer(part(), part()),
                    ValueKind::Number(_) => Value::Number(part()),
                };
                self.set(*value, known);
            }
        }
        for (step, place) in &block.steps {
            self.code.location = self.lowering.location(*place);
            self.step(step, *place);
        }
        self.end(&block.end);
    }

    // Values.

    /// Lets a value be something.
    pub fn set(&mut self, value: ValueId, known: Value) {
        self.values[value.0 as usize] = Some(known);
    }

    fn value(&self, value: ValueId) -> Value {
        match self.values[value.0 as usize] {
            Some(known) => known,
            None => unreachable!("a value is defined before it is used"),
        }
    }

    /// The first element of a buffer, and its owner.
    pub fn buffer(&self, buffer: ValueId) -> (MlirValue, MlirValue) {
        match self.value(buffer) {
            Value::Buffer(data, owner) => (data, owner),
            Value::Number(_) => unreachable!("the value is a buffer"),
        }
    }

    /// A number in a register.
    pub fn number(&self, value: ValueId) -> MlirValue {
        match self.value(value) {
            Value::Number(value) => value,
            Value::Buffer(..) => unreachable!("the value is a number"),
        }
    }

    /// A number, known or not.
    pub fn arg(&mut self, arg: Arg) -> MlirValue {
        match arg {
            Arg::Value(value) => self.number(value),
            Arg::Known(number) => self.code.index(number),
        }
    }

    /// A truth value.
    fn truth(&mut self, arg: Arg) -> MlirValue {
        match arg {
            Arg::Value(value) => self.number(value),
            Arg::Known(truth) => self.code.constant(Ty::I1, truth.cast_unsigned(), 1),
        }
    }

    /// What carries a value between blocks and functions.
    fn carried(&mut self, arg: Arg) -> Vec<MlirValue> {
        match arg {
            Arg::Value(value) => match self.value(value) {
                Value::Buffer(data, owner) => vec![data, owner],
                Value::Number(value) => vec![value],
            },
            Arg::Known(number) => vec![self.code.index(number)],
        }
    }

    // Inputs.

    fn take_parameters(&mut self) {
        let mut next = 1;
        let source = self.source;
        for value in &source.blocks[0].parameters {
            let known = match source.kind(*value) {
                ValueKind::Buffer(_) => {
                    next += 2;
                    Value::Buffer(self.code.argument(next - 2), self.code.argument(next - 1))
                }
                ValueKind::Number(_) => {
                    next += 1;
                    Value::Number(self.code.argument(next - 1))
                }
            };
            self.set(*value, known);
        }
    }

    /// Takes inputs from the run time: for each its data and its extents.
    fn take_inputs(&mut self) {
        let source = self.source;
        let mut parameters = source.blocks[0].parameters.iter();
        let mut parameter = || match parameters.next() {
            Some(value) => *value,
            None => unreachable!("there is a parameter for each input, and for each extent that is open"),
        };
        let pointer = self.code.types.pointer;
        for (index, r#type) in source.inputs.iter().enumerate() {
            let inputs = self.code.argument(1);
            let data = self.word(inputs, 2 * index as i64, pointer);
            let value = parameter();
            match r#type {
                Type::Scalar(number) => {
                    let number = self.read_number(data, *number);
                    self.set(value, Value::Number(number));
                }
                Type::Tensor(_, dims) => {
                    let owner = self.code.null();
                    self.set(value, Value::Buffer(data, owner));
                    let is_open = dims.iter().any(Option::is_none);
                    let extents = is_open.then(|| self.word(inputs, 2 * index as i64 + 1, pointer));
                    let open = (0..).zip(dims).filter(|(_, extent)| extent.is_none());
                    for (axis, extents) in open.filter_map(|(axis, _)| Some((axis, extents?))) {
                        let extent = self.word(extents, axis, self.code.types.i64);
                        self.set(parameter(), Value::Number(extent));
                    }
                }
            }
        }
    }

    /// A word of an array in memory.
    pub fn word(&mut self, base: MlirValue, place: i64, r#type: MlirType) -> MlirValue {
        let place = self.code.index(place);
        let address = self.code.element(base, place, self.code.types.i64, 1);
        self.code.load(address, r#type, 8)
    }

    /// Words in a row on the stack.
    pub fn words(&mut self, words: &[MlirValue]) -> MlirValue {
        let i64 = self.code.types.i64;
        let room = self.code.stack(i64, words.len().max(1) as i64, 8);
        for (place, word) in words.iter().enumerate() {
            let place = self.code.index(place as i64);
            let place = self.code.element(room, place, i64, 1);
            self.code.store(*word, place, 8);
        }
        room
    }

    /// Extents in a row in memory; null if there are none.
    fn dims(&mut self, dims: &[Arg]) -> MlirValue {
        if dims.is_empty() {
            return self.code.null();
        }
        let dims: Vec<MlirValue> = dims.iter().map(|extent| self.arg(*extent)).collect();
        self.words(&dims)
    }

    fn read_number(&mut self, address: MlirValue, number: Number) -> MlirValue {
        let memory = scalars::memory_type(&self.code.types, number);
        let raw = self.code.load(address, memory, memory_size(scalars::dtype(number)));
        scalars::from_memory(&mut self.code, raw, number)
    }

    fn write_number(&mut self, value: ValueId, address: MlirValue) {
        let ValueKind::Number(number) = self.source.kind(value) else {
            unreachable!("the value is a number")
        };
        let value = self.number(value);
        let raw = scalars::to_memory(&mut self.code, value, number);
        self.code.store(raw, address, memory_size(scalars::dtype(number)));
    }

    // Steps.

    fn step(&mut self, step: &Step, place: PlaceId) {
        match step {
            Step::Allocate { buffer, dims } => {
                let size = memory_size(self.source.dtype(*buffer)) as i64;
                let shape = self.dims(dims);
                let (rank, size) = (self.code.index(dims.len() as i64), self.code.index(size));
                let data = self.pointer("promote_rt_new", &[self.context, rank, shape, size]);
                self.set(*buffer, Value::Buffer(data, data));
            }
            Step::Output { buffer, index, dims } => {
                let shape = self.dims(dims);
                let index = self.code.index(*index as i64);
                let data = self.pointer("promote_rt_output", &[self.context, index, shape]);
                let owner = self.code.null();
                self.set(*buffer, Value::Buffer(data, owner));
            }
            Step::Shape { index, dims } => {
                let shape = self.dims(dims);
                let index = self.code.index(*index as i64);
                self.code.call("promote_rt_shape", &[self.context, index, shape], None);
            }
            Step::Constant { buffer, constant } => {
                let symbol = self.lowering.constants[constant.0 as usize].clone();
                let data = self.code.address_of(&symbol);
                let owner = self.code.null();
                self.set(*buffer, Value::Buffer(data, owner));
            }
            Step::Spill { buffer, value } => {
                let bytes = memory_size(self.source.dtype(*buffer));
                let data = self.code.stack(self.code.types.i8, bytes as i64, bytes);
                self.write_number(*value, data);
                let owner = self.code.null();
                self.set(*buffer, Value::Buffer(data, owner));
            }
            Step::Choose { buffer, condition, then, otherwise } => {
                let condition = self.truth(*condition);
                let (x, y) = (self.buffer(*then), self.buffer(*otherwise));
                let data = self.code.select(condition, x.0, y.0);
                let owner = self.code.select(condition, x.1, y.1);
                self.retain(owner);
                self.set(*buffer, Value::Buffer(data, owner));
            }
            Step::Retain(buffer) => self.retain(self.buffer(*buffer).1),
            Step::Release(buffer) => {
                let (_, owner) = self.buffer(*buffer);
                self.code.call("promote_rt_release", &[self.context, owner], None);
            }
            Step::Launch(launch) => self.launch(launch, place),
            Step::Matmul(matmul) => self.matmul(matmul),
            Step::Sort { buffer, outer, extent, inner } => {
                let kind = names::sort_kind(self.source.dtype(*buffer), self.lowering.setting.numerics);
                let kind = self.code.constant(Ty::I32, kind, 1);
                let (data, _) = self.buffer(*buffer);
                let [outer, extent, inner] = [*outer, *extent, *inner].map(|arg| self.arg(arg));
                let arguments = [self.context, kind, data, outer, extent, inner];
                self.code.call("promote_rt_sort", &arguments, None);
            }
            Step::CheckExceptions => self.call_checked("promote_rt_trapped", &[self.context]),
            Step::Read { value, buffer, index } => {
                let ValueKind::Number(number) = self.source.kind(*value) else {
                    unreachable!("a number is read")
                };
                let address = self.address(*buffer, *index);
                let read = self.read_number(address, number);
                self.set(*value, Value::Number(read));
            }
            Step::Write { buffer, index, value } => {
                let address = self.address(*buffer, *index);
                self.write_number(*value, address);
            }
            Step::Arith { value, op, args } => {
                let computed = self.arith(*op, args);
                self.set(*value, Value::Number(computed));
            }
            Step::Foreign { op, args, results } => self.foreign(op, args, results),
            Step::FailIf { condition, message } => {
                let condition = self.truth(*condition);
                self.fail_with(condition, message);
            }
            Step::Call { callee, args, results } => self.call(callee, args, results, place),
        }
    }

    /// Where an element is.
    fn address(&mut self, buffer: ValueId, index: Arg) -> MlirValue {
        let (data, _) = self.buffer(buffer);
        let size = memory_size(self.source.dtype(buffer)) as i64;
        let (index, size) = (self.arg(index), self.code.index(size));
        let bytes = self.code.int("llvm.mul", index, size);
        self.code.element(data, bytes, self.code.types.i8, 1)
    }

    fn arith(&mut self, op: Arith, args: &[Arg]) -> MlirValue {
        let truths = self.code.types.scalar(Ty::I1);
        let int = |function: &mut Self, name: &str| {
            let [x, y] = [args[0], args[1]].map(|arg| function.arg(arg));
            function.code.int(name, x, y)
        };
        let compare = |function: &mut Self, predicate: Predicate| {
            let [x, y] = [args[0], args[1]].map(|arg| function.arg(arg));
            function.code.compare(predicate, x, y)
        };
        match op {
            Arith::Add => int(self, "llvm.add"),
            Arith::Sub => int(self, "llvm.sub"),
            Arith::Mul => int(self, "llvm.mul"),
            Arith::DivS => int(self, "llvm.sdiv"),
            Arith::DivU => int(self, "llvm.udiv"),
            Arith::MinS => int(self, "llvm.intr.smin"),
            Arith::MaxS => int(self, "llvm.intr.smax"),
            Arith::MaxU => int(self, "llvm.intr.umax"),
            Arith::Eq => compare(self, Predicate::Eq),
            Arith::Ne => compare(self, Predicate::Ne),
            Arith::LtU => compare(self, Predicate::Ult),
            Arith::And => {
                let [x, y] = [args[0], args[1]].map(|arg| self.truth(arg));
                self.code.value("llvm.and", &[x, y], truths, &[])
            }
            Arith::Not => {
                let (x, yes) = (self.truth(args[0]), self.code.constant(Ty::I1, 1, 1));
                self.code.value("llvm.xor", &[x, yes], truths, &[])
            }
            Arith::Select => {
                let condition = self.truth(args[0]);
                let [x, y] = [args[1], args[2]].map(|arg| self.arg(arg));
                self.code.select(condition, x, y)
            }
        }
    }

    /// Ops of numbers stay as they are; upstream passes lower them.
    fn foreign(&mut self, op: &Foreign, args: &[ValueId], results: &[ValueId]) {
        let types = self.code.types;
        let kind = |function: &Self, value: ValueId| match function.source.kind(value) {
            ValueKind::Number(number) => number,
            ValueKind::Buffer(_) => unreachable!("such ops are on numbers"),
        };
        let operands: Vec<MlirValue> = args
            .iter()
            .map(|arg| scalars::to_program(&self.code, self.number(*arg), kind(self, *arg)))
            .collect();
        let of_results: Vec<MlirType> =
            results.iter().map(|result| scalars::program_type(&types, kind(self, *result))).collect();
        let attributes: Vec<(&str, MlirAttribute)> =
            op.attributes.iter().map(|(name, text)| (name.as_str(), types.parse(text))).collect();
        let made = self.code.op(&op.name, &operands, &of_results, &attributes);
        for (result, value) in results.iter().zip(raw::results(made)) {
            let number = scalars::from_program(&self.code, value, kind(self, *result));
            self.set(*result, Value::Number(number));
        }
    }

    // Failures.

    /// A pointer that the run time gives; without one it has said why, and the run fails.
    fn pointer(&mut self, function: &str, arguments: &[MlirValue]) -> MlirValue {
        let Some(data) = self.code.call(function, arguments, Some(self.code.types.pointer)) else {
            unreachable!("the function returns a pointer")
        };
        let null = self.code.null();
        let failed = self.code.compare(Predicate::Eq, data, null);
        self.fail_if(failed);
        data
    }

    /// Leaves if a condition holds; somebody has said why.
    fn fail_if(&mut self, condition: MlirValue) {
        let failure = match self.failure {
            Some(failure) => failure,
            None => *self.failure.insert(self.code.new_block(&[])),
        };
        let after = self.code.new_block(&[]);
        self.code.branch_if(condition, (failure, &[]), (after, &[]));
        self.code.go_to(after);
    }

    fn fail_with(&mut self, condition: MlirValue, message: &str) {
        let (failed, after) = (self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(condition, (failed, &[]), (after, &[]));
        self.code.go_to(failed);
        let symbol = self.lowering.text(message);
        let (text, length) = (self.code.address_of(&symbol), self.code.index(message.len() as i64));
        self.code.call("promote_rt_fail", &[self.context, text, length], None);
        let one = self.code.constant(Ty::I32, 1, 1);
        self.code.give(Some(one));
        self.code.go_to(after);
    }

    /// Calls something that returns a status, and leaves if that is not 0.
    fn call_checked(&mut self, symbol: &str, arguments: &[MlirValue]) {
        let Some(status) = self.code.call(symbol, arguments, Some(self.code.types.i32)) else {
            unreachable!("the function returns a status")
        };
        let zero = self.code.constant(Ty::I32, 0, 1);
        let failed = self.code.compare(Predicate::Ne, status, zero);
        self.fail_if(failed);
    }

    fn retain(&mut self, owner: MlirValue) {
        self.code.call("promote_rt_retain", &[owner], None);
    }

    // Calls and the ends of blocks.

    /// Leaves if the stack does not hold a call of a function of the program.
    fn enter(&mut self, callee: &str, place: PlaceId) {
        let place = self.lowering.place(place).location.as_ref();
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        let place = format!("{place}func.call @{callee}");
        let symbol = self.lowering.text(&place);
        let (text, length) = (self.code.address_of(&symbol), self.code.index(place.len() as i64));
        let need = self.code.address_of(&signature::stack_symbol(&Lowering::inner(callee)));
        let need = self.code.load(need, self.code.types.i64, 8);
        self.call_checked("promote_rt_enter", &[self.context, need, text, length]);
    }

    fn call(&mut self, callee: &str, args: &[Arg], results: &[ValueId], place: PlaceId) {
        let mut arguments = vec![self.context];
        for arg in args {
            arguments.extend(self.carried(*arg));
        }
        let types = self.code.types;
        let parts: Vec<Vec<MlirType>> =
            results.iter().map(|result| scalars::carriers(&types, self.source.kind(*result))).collect();
        let count: usize = parts.iter().map(Vec::len).sum();
        let room = self.code.stack(types.i64, count.max(1) as i64, 8);
        arguments.push(room);
        self.enter(callee, place);
        self.call_checked(&Lowering::inner(callee), &arguments);
        self.code.call("promote_rt_leave", &[self.context], None);
        let mut next = 0;
        for (result, parts) in results.iter().zip(parts) {
            let mut read = Vec::new();
            for part in parts {
                read.push(self.word(room, next, part));
                next += 1;
            }
            let known = match read.as_slice() {
                [data, owner] => Value::Buffer(*data, *owner),
                [number] => Value::Number(*number),
                _ => unreachable!("a value is carried by one or two words"),
            };
            self.set(*result, known);
        }
    }

    fn edge(&mut self, edge: &Edge) -> (MlirBlock, Vec<MlirValue>) {
        let args = edge.args.iter().flat_map(|arg| self.carried(*arg)).collect();
        (self.blocks[edge.block.0 as usize], args)
    }

    fn end(&mut self, end: &End) {
        match end {
            End::Return(values) => self.r#return(values),
            End::Jump(edge) => {
                let (block, args) = self.edge(edge);
                self.code.branch(block, &args);
            }
            End::Branch(condition, then, otherwise) => {
                let condition = self.truth(*condition);
                let (then, otherwise) = (self.edge(then), self.edge(otherwise));
                self.code.branch_if(condition, (then.0, &then.1), (otherwise.0, &otherwise.1));
            }
            End::Switch(number, cases, default) => self.switch(*number, cases, default),
        }
    }

    fn r#return(&mut self, values: &[Arg]) {
        if self.source.entry == EntryKind::Private {
            let results = self.code.argument(self.code.argument_count() - 1);
            let words: Vec<MlirValue> = values.iter().flat_map(|value| self.carried(*value)).collect();
            for (place, word) in words.into_iter().enumerate() {
                let place = self.code.index(place as i64);
                let address = self.code.element(results, place, self.code.types.i64, 1);
                self.code.store(word, address, 8);
            }
        }
        let ok = self.code.constant(Ty::I32, 0, 1);
        self.code.give(Some(ok));
    }

    /// Compares with one case after another.
    fn switch(&mut self, number: ValueId, cases: &[(i64, Edge)], default: &Edge) {
        let number = self.number(number);
        let r#type = raw::value_type(number);
        for (case, edge) in cases {
            let case = self.code.types.int(r#type, *case);
            let case = self.code.value("llvm.mlir.constant", &[], r#type, &[("value", case)]);
            let is_it = self.code.compare(Predicate::Eq, number, case);
            let after = self.code.new_block(&[]);
            let (block, args) = self.edge(edge);
            self.code.branch_if(is_it, (block, &args), (after, &[]));
            self.code.go_to(after);
        }
        let (block, args) = self.edge(default);
        self.code.branch(block, &args);
    }
}
