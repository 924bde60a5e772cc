//! Steps as code.

use mlir_sys::*;
use promote_abi::Runtime;
use promote_scalar::{Cast, Emit, Ty, arith, load, memory, memory_size};

use super::function::{Function, Value};
use super::{Lowering, names, runtime, scalars, signature};
use crate::targets::llvm::Predicate;
use crate::targets::llvm::Register;
use promote_lower::program::{Arg, Arith, Literal, PlaceId, Step, ValueId, ValueKind, operands};
use promote_lower::types::Number;

impl Function<'_, '_> {
    pub(super) fn step(&mut self, step: &Step, place: PlaceId) {
        match step {
            Step::Allocate { buffer, dims } => {
                let size = memory_size(self.source.dtype(*buffer)) as i64;
                let shape = self.dims(dims);
                let (rank, size) = (self.code.index(dims.len() as i64), self.code.index(size));
                let data = self.pointer(Runtime::New, &[self.context, rank, shape, size]);
                self.set(*buffer, Value::Buffer(data, Some(data)));
            }
            Step::Output { buffer, index, dims } => {
                let shape = self.dims(dims);
                let index = self.code.index(*index as i64);
                let data = self.pointer(Runtime::Output, &[self.context, index, shape]);
                self.set(*buffer, Value::Buffer(data, None));
            }
            Step::Shape { index, dims } => {
                let shape = self.dims(dims);
                let index = self.code.index(*index as i64);
                runtime::call(&self.code, Runtime::Shape, &[self.context, index, shape]);
            }
            Step::Constant { buffer, constant } => {
                let symbol = self.lowering.constants[constant.0 as usize].clone();
                let data = self.code.address_of(&symbol);
                self.set(*buffer, Value::Buffer(data, None));
            }
            Step::Spill { buffer, value } => {
                let bytes = memory_size(self.source.dtype(*buffer));
                let data = self.code.stack(self.code.types.i8, bytes as i64, bytes);
                self.write_number(*value, data);
                self.set(*buffer, Value::Buffer(data, None));
            }
            Step::Cell { buffer, count } => {
                let size = memory_size(self.source.dtype(*buffer));
                let bytes = count * size as i64;
                // Like a vector, where it has as many elements.
                let vector = self.lowering.setting.machine.vector_bytes;
                let alignment = (bytes as usize).next_power_of_two().min(vector).max(size);
                let data = self.code.stack(self.code.types.i8, bytes, alignment);
                self.set(*buffer, Value::Buffer(data, None));
            }
            Step::Copy { from, to, count } => {
                let bytes = count * memory_size(self.source.dtype(*from)) as i64;
                let (from, to) = (self.data(*from), self.data(*to));
                self.code.copy(from, to, bytes);
            }
            Step::Choose { buffer, condition, then, otherwise } => {
                let condition = self.truth(*condition);
                let data = self.code.select(condition, self.data(*then), self.data(*otherwise));
                let owner = match (self.owner(*then), self.owner(*otherwise)) {
                    (None, None) => None,
                    (x, y) => {
                        let [x, y] = [x, y].map(|owner| owner.unwrap_or_else(|| self.code.null()));
                        Some(self.code.select(condition, x, y))
                    }
                };
                self.set(*buffer, Value::Buffer(data, owner));
                self.retain(*buffer);
            }
            Step::Retain(buffer) => self.retain(*buffer),
            Step::Release(buffer) => {
                if let Some(owner) = self.owner(*buffer) {
                    runtime::call(&self.code, Runtime::Release, &[self.context, owner]);
                }
            }
            Step::Launch(launch) => self.launch(launch, place),
            Step::Matmul(matmul) => self.matmul(matmul),
            Step::Sort { buffer, outer, extent, inner } => {
                let kind = names::sort_kind(self.source.dtype(*buffer), self.lowering.setting.numerics);
                let kind = self.code.constant(Ty::I32, kind as u64, 1);
                let data = self.data(*buffer);
                let [outer, extent, inner] = [*outer, *extent, *inner].map(|arg| self.arg(arg));
                let arguments = [self.context, kind, data, outer, extent, inner];
                runtime::call(&self.code, Runtime::Sort, &arguments);
            }
            Step::CheckExceptions => self.run_checked(Runtime::Trapped, &[self.context]),
            Step::Read { value, buffer, index } => {
                let number = self.number_type(*value);
                let address = self.address(*buffer, *index);
                let read = self.read_number(address, number);
                self.set(*value, Value::Number(read));
            }
            Step::Write { buffer, index, value } => {
                let address = self.address(*buffer, *index);
                self.write_number(*value, address);
            }
            Step::Arith { value, op, args } => {
                let computed = self.arith(*value, *op, args);
                self.set(*value, Value::Number(computed));
            }
            Step::Number { value, number } => {
                let number = self.literal(*value, *number);
                self.set(*value, Value::Number(number));
            }
            Step::FailIf { condition, message } => {
                let condition = self.truth(*condition);
                self.fail_with(condition, message);
            }
            Step::Call { callee, args, results } => self.call(callee, args, results, place),
        }
    }

    /// Where an element is.
    fn address(&mut self, buffer: ValueId, index: Arg) -> MlirValue {
        let data = self.data(buffer);
        let size = memory_size(self.source.dtype(buffer)) as i64;
        let (index, size) = (self.arg(index), self.code.index(size));
        let bytes = self.code.int("llvm.mul", index, size);
        self.code.element(data, bytes, self.code.types.i8, 1)
    }

    fn literal(&mut self, value: ValueId, literal: Literal) -> MlirValue {
        let number = self.number_type(value);
        match literal {
            Literal::Int(known) => {
                let ty = scalars::register_type(number);
                self.lane().int(ty, known).value
            }
            Literal::Float(bits) => {
                let dtype = scalars::dtype(number);
                let mut lane = self.lane();
                let raw = match memory(dtype) {
                    ty @ (Ty::F32 | Ty::F64) => {
                        let code = lane.int(ty.bits_type(), bits as i64);
                        lane.cast(Cast::Bitcast, code, ty)
                    }
                    ty => lane.int(ty, bits as i64),
                };
                load(&mut lane, dtype, raw).value
            }
        }
    }

    fn arith(&mut self, value: ValueId, op: Arith, args: &[Arg]) -> MlirValue {
        let stated: Vec<Option<Number>> = args
            .iter()
            .map(|arg| match arg {
                Arg::Value(value) => Some(self.number_type(*value)),
                Arg::Known(_) => None,
            })
            .collect();
        let result = self.number_type(value);
        let Some(numbers) = operands(op, &stated, result) else {
            unreachable!("the verifier lets arithmetic pass that takes such numbers")
        };
        let registers: Vec<Register> = args
            .iter()
            .zip(&numbers)
            .map(|(arg, number)| {
                let ty = scalars::register_type(*number);
                match arg {
                    Arg::Value(value) => Register { value: self.number(*value), ty },
                    Arg::Known(known) => self.lane().int(ty, *known),
                }
            })
            .collect();
        let dtypes: Vec<_> = numbers.into_iter().map(scalars::dtype).collect();
        let numerics = self.lowering.setting.numerics;
        arith(&mut self.lane(), op, numerics, (&dtypes, scalars::dtype(result)), &registers).value
    }

    /// The type of a number.
    fn number_type(&self, value: ValueId) -> Number {
        match self.source.kind(value) {
            ValueKind::Number(number) => number,
            ValueKind::Buffer(_) => unreachable!("the value is a number"),
        }
    }

    // Failures.

    /// A pointer that the run time returns; if it is null, the run time has recorded why, and the function fails.
    pub(super) fn pointer(&mut self, function: Runtime, arguments: &[MlirValue]) -> MlirValue {
        let Some(data) = runtime::call(&self.code, function, arguments) else {
            unreachable!("the function returns a pointer")
        };
        let null = self.code.null();
        let failed = self.code.compare(Predicate::Eq, data, null);
        self.fail_if(failed);
        data
    }

    /// Leaves if a condition holds; the reason is recorded already.
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
        runtime::call(&self.code, Runtime::Fail, &[self.context, text, length]);
        let one = self.code.constant(Ty::I32, 1, 1);
        self.code.r#return(Some(one));
        self.code.go_to(after);
    }

    /// Calls a function of the run time that returns a status, and leaves if that is not 0.
    fn run_checked(&mut self, function: Runtime, arguments: &[MlirValue]) {
        let status = runtime::call(&self.code, function, arguments);
        self.check(status);
    }

    /// Leaves if a status is not 0.
    fn check(&mut self, status: Option<MlirValue>) {
        let Some(status) = status else { unreachable!("the function returns a status") };
        let zero = self.code.constant(Ty::I32, 0, 1);
        let failed = self.code.compare(Predicate::Ne, status, zero);
        self.fail_if(failed);
    }

    fn retain(&mut self, buffer: ValueId) {
        if let Some(owner) = self.owner(buffer) {
            runtime::call(&self.code, Runtime::Retain, &[owner]);
        }
    }

    // Calls.

    /// Leaves if the stack does not hold a call of a function of the program.
    fn enter(&mut self, callee: &str, place: PlaceId) {
        let place = self.lowering.place(place).location.as_ref();
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        let place = format!("{place}func.call @{callee}");
        let symbol = self.lowering.text(&place);
        let (text, length) = (self.code.address_of(&symbol), self.code.index(place.len() as i64));
        let need = self.code.address_of(&signature::stack_symbol(&Lowering::inner(callee)));
        let need = self.code.load(need, self.code.types.i64, 8);
        self.run_checked(Runtime::Enter, &[self.context, need, text, length]);
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
        let status = self.code.call(&Lowering::inner(callee), &arguments, Some(types.i32));
        self.check(status);
        runtime::call(&self.code, Runtime::Leave, &[self.context]);
        let mut next = 0;
        for (result, parts) in results.iter().zip(parts) {
            let mut read = Vec::new();
            for part in parts {
                read.push(self.word(room, next, part));
                next += 1;
            }
            let known = match read.as_slice() {
                [data, owner] => Value::Buffer(*data, Some(*owner)),
                [number] => Value::Number(*number),
                _ => unreachable!("a value is carried by one or two words"),
            };
            self.set(*result, known);
        }
    }
}
