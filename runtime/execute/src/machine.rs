//! Runs functions, step by step.

use promote_device::{TRAPS, trap_of};
use promote_devices::{Device, Memory};
use promote_lattice::DType;
use promote_lattice::convert::Bits;
use promote_lower::program::{
    Arg, Arith, Block, Constant, ConstantId, Edge, End, EntryKind, Launch, Literal, Step, ValueId, operands,
};
use promote_lower::types::{Number, Type};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{arith, load, memory, memory_size, store};
use rustc_hash::FxHashMap;

use crate::frame::{Frame, Slot, dtype, register_type};
use crate::heap::{BufferId, Heap, byte_count};
use crate::{Argument, Error, Executable, Tensor, lock};

/// How deep functions may call each other.
const MAX_DEPTH: usize = 100_000;

/// Runs a public function; its results.
pub fn run(
    executable: &Executable,
    function: (&str, EntryKind),
    arguments: &[Argument<'_>],
) -> Result<Vec<Tensor>, Error> {
    let mut device = lock(&executable.device);
    let mut machine = Machine::new(executable, device.as_mut());
    let outcome = machine.all(function, arguments);
    let results = outcome.map(|()| machine.take_results());
    machine.heap.clear(machine.device);
    drop(device);
    let tensors = results?.into_iter();
    Ok(tensors
        .map(|(memory, dtype, dims)| Tensor::new(executable.device.clone(), memory, dtype, dims))
        .collect())
}

/// The shapes of the results of a function.
pub fn shapes(
    executable: &Executable,
    function: &str,
    arguments: &[Argument<'_>],
) -> Result<Vec<Vec<i64>>, Error> {
    let mut device = lock(&executable.device);
    let mut machine = Machine::new(executable, device.as_mut());
    let outcome = machine.all((function, EntryKind::Shapes), arguments);
    machine.heap.clear(machine.device);
    outcome?;
    Ok(machine.results.into_iter().map(|(_, dims)| dims).collect())
}

/// A run of a function.
pub struct Machine<'p, 'd> {
    pub executable: &'p Executable,
    pub device: &'d mut dyn Device,
    pub heap: Heap,
    /// Each result, and its extents.
    results: Vec<(Option<BufferId>, Vec<i64>)>,
    output_types: Vec<DType>,
    /// The constants that the run has used.
    constants: FxHashMap<ConstantId, BufferId>,
    /// Where exceptions are noted, once a kernel may raise some.
    pub exceptions: Option<BufferId>,
    /// The launches since the last check that may have raised exceptions, and the numbers that theirs begin with.
    pub raising: Vec<(u32, &'p Launch)>,
}

impl<'p, 'd> Machine<'p, 'd> {
    fn new(executable: &'p Executable, device: &'d mut dyn Device) -> Self {
        Self {
            executable,
            device,
            heap: Heap::default(),
            results: Vec::new(),
            output_types: Vec::new(),
            constants: FxHashMap::default(),
            exceptions: None,
            raising: Vec::new(),
        }
    }

    fn all(&mut self, (name, entry): (&str, EntryKind), arguments: &[Argument<'_>]) -> Result<(), Error> {
        let found = self.executable.functions.get(&(name.to_owned(), entry));
        let Some(index) = found else { return Err(Error::NoFunction(name.to_owned())) };
        let function = &self.executable.program.functions[*index];
        self.results = function.outputs.iter().map(|_| (None, Vec::new())).collect();
        self.output_types = function.outputs.iter().map(|r#type| r#type.dtype().storage()).collect();
        let mut frame = Frame::new(function, &[]);
        let reads_tensors = entry == EntryKind::Public;
        self.take_inputs(&mut frame, arguments, reads_tensors)?;
        let mut frames = vec![frame];
        while let Some(frame) = frames.last_mut() {
            let block: &'p Block = frame.function.block(frame.block);
            match block.steps.get(frame.step) {
                Some((Step::Call { callee, args, results }, _)) => {
                    frame.step += 1;
                    let called = self.enter(frame, callee, args, results);
                    if frames.len() >= MAX_DEPTH {
                        return Err(Error::Check(format!("calls are nested more than {MAX_DEPTH} deep")));
                    }
                    frames.push(called);
                }
                Some((step, _)) => {
                    frame.step += 1;
                    self.step(frame, step)?;
                }
                None => {
                    if let Some(returned) = self.end(frame, &block.end) {
                        let Some(done) = frames.pop() else { unreachable!("a frame returns") };
                        done.own.iter().for_each(|(_, buffer)| self.heap.forget(self.device, *buffer));
                        if let Some(caller) = frames.last_mut() {
                            let results = done.results.iter().zip(returned);
                            results.for_each(|(result, slot)| caller.set(*result, slot));
                        }
                    }
                }
            }
        }
        self.check_exceptions()
    }

    /// The results, as memory of the caller's.
    fn take_results(&mut self) -> Vec<(Memory, DType, Vec<i64>)> {
        let heap = &mut self.heap;
        let results = std::mem::take(&mut self.results).into_iter().zip(&self.output_types);
        results
            .map(|((buffer, dims), dtype)| {
                let Some(buffer) = buffer else {
                    unreachable!("a function that returns has made its results")
                };
                (heap.take(buffer), *dtype, dims)
            })
            .collect()
    }

    fn take_inputs(
        &mut self,
        frame: &mut Frame<'p>,
        arguments: &[Argument<'_>],
        reads_tensors: bool,
    ) -> Result<(), Error> {
        let function = frame.function;
        let mut parameters = function.blocks[0].parameters.iter();
        let mut parameter = || match parameters.next() {
            Some(value) => *value,
            None => unreachable!("there is a parameter for each input, and for each extent that is open"),
        };
        for (r#type, argument) in function.inputs.iter().zip(arguments) {
            let value = parameter();
            match r#type {
                Type::Scalar(number) => {
                    let number = self.input_number(argument, *number)?;
                    frame.set(value, Slot::Number(number));
                }
                Type::Tensor(_, dims) => {
                    let is_read = reads_tensors || dims.is_empty();
                    let buffer = match argument {
                        Argument::Device(tensor) => self.heap.outside(tensor.memory()),
                        Argument::Host(bytes, _) if is_read => {
                            let buffer = self.allocate(bytes.len() as u64)?;
                            self.device.write(self.heap.memory(buffer), 0, bytes)?;
                            buffer
                        }
                        // Shapes do not depend on it.
                        Argument::Host(..) => self.allocate(0)?,
                    };
                    frame.set(value, Slot::Buffer(buffer));
                    for (extent, given) in dims.iter().zip(argument.dims()) {
                        if extent.is_none() {
                            let extent = Value::new(promote_scalar::Ty::I64, given.cast_unsigned());
                            frame.set(parameter(), Slot::Number(extent));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn input_number(&mut self, argument: &Argument<'_>, number: Number) -> Result<Value, Error> {
        match argument {
            Argument::Host(bytes, _) => Ok(from_bytes(bytes, dtype(number))),
            Argument::Device(tensor) => self.read(tensor.memory(), 0, number),
        }
    }

    /// Memory until the end of the call.
    pub fn allocate(&mut self, bytes: u64) -> Result<BufferId, Error> {
        let memory = self.device.allocate(bytes)?;
        Ok(self.heap.of_call(memory))
    }

    fn enter(&self, frame: &Frame<'p>, callee: &str, args: &[Arg], results: &'p [ValueId]) -> Frame<'p> {
        let executable = self.executable;
        let Some(index) = executable.functions.get(&(callee.to_owned(), EntryKind::Private)) else {
            unreachable!("the verifier has seen that @{callee} is there")
        };
        let function = &executable.program.functions[*index];
        let mut called = Frame::new(function, results);
        for (parameter, arg) in function.blocks[0].parameters.iter().zip(args) {
            called.set(*parameter, frame.passed(*arg, function.kind(*parameter)));
        }
        called
    }

    // Ends of blocks.

    /// Goes on where a block ends; the values that are returned, if it returns.
    fn end(&self, frame: &mut Frame<'p>, end: &'p End) -> Option<Vec<Slot>> {
        let edge = match end {
            End::Return(args) => {
                let kinds: Vec<_> = frame
                    .function
                    .outputs
                    .iter()
                    .flat_map(|output| {
                        promote_lower::program::ValueKind::carrying(std::slice::from_ref(output))
                    })
                    .collect();
                return Some(args.iter().zip(kinds).map(|(arg, kind)| frame.passed(*arg, kind)).collect());
            }
            End::Jump(edge) => edge,
            End::Branch(condition, then, otherwise) => {
                if frame.truth(*condition) {
                    then
                } else {
                    otherwise
                }
            }
            End::Switch(value, cases, default) => {
                let number = frame.number(*value).to_signed();
                cases.iter().find(|(case, _)| *case == number).map_or(default, |(_, edge)| edge)
            }
        };
        self.follow(frame, edge);
        None
    }

    fn follow(&self, frame: &mut Frame<'p>, Edge { block, args }: &'p Edge) {
        let parameters = &frame.function.block(*block).parameters;
        let function = frame.function;
        let passed = parameters.iter().zip(args);
        let passed: Vec<Slot> =
            passed.map(|(parameter, arg)| frame.passed(*arg, function.kind(*parameter))).collect();
        for (parameter, slot) in parameters.iter().zip(passed) {
            frame.set(*parameter, slot);
        }
        frame.block = *block;
        frame.step = 0;
    }

    // Steps.

    fn step(&mut self, frame: &mut Frame<'p>, step: &'p Step) -> Result<(), Error> {
        match step {
            Step::Allocate { buffer, dims } => {
                let bytes = byte_count(&frame.dims(dims), memory_size(frame.function.dtype(*buffer)))?;
                let memory = self.device.allocate(bytes)?;
                let id = self.heap.counted(memory);
                frame.set(*buffer, Slot::Buffer(id));
            }
            Step::Output { buffer, index, dims } => {
                let dims = frame.dims(dims);
                let id = self.allocate(byte_count(&dims, memory_size(frame.function.dtype(*buffer)))?)?;
                self.results[*index] = (Some(id), dims);
                frame.set(*buffer, Slot::Buffer(id));
            }
            Step::Shape { index, dims } => self.results[*index].1 = frame.dims(dims),
            Step::Constant { buffer, constant } => {
                let id = self.constant_buffer(*constant)?;
                frame.set(*buffer, Slot::Buffer(id));
            }
            Step::Spill { buffer, value } => {
                let bytes = to_bytes(frame.number(*value), dtype(frame.number_type(*value)));
                let id = self.own(frame, *buffer, bytes.len() as u64)?;
                self.device.write(self.heap.memory(id), 0, &bytes)?;
            }
            Step::Cell { buffer, count } => {
                let bytes = byte_count(&[*count], memory_size(frame.function.dtype(*buffer)))?;
                self.own(frame, *buffer, bytes)?;
            }
            Step::Copy { from, to, count } => {
                let bytes = byte_count(&[*count], memory_size(frame.function.dtype(*from)))?;
                let [from, to] = [from, to].map(|buffer| self.heap.memory(frame.buffer(*buffer)));
                self.device.copy((from, 0), (to, 0), bytes)?;
            }
            Step::Choose { buffer, condition, then, otherwise } => {
                let chosen = if frame.truth(*condition) { then } else { otherwise };
                let id = frame.buffer(*chosen);
                self.heap.retain(id);
                frame.set(*buffer, Slot::Buffer(id));
            }
            Step::Retain(buffer) => self.heap.retain(frame.buffer(*buffer)),
            Step::Release(buffer) => self.heap.release(self.device, frame.buffer(*buffer)),
            Step::Launch(launch) => self.launch(frame, launch)?,
            Step::Matmul(matmul) => self.matmul(frame, matmul)?,
            Step::Sort { buffer, outer, extent, inner } => {
                let extents = [*outer, *extent, *inner].map(|arg| frame.index(arg));
                self.sort(frame.buffer(*buffer), frame.function.dtype(*buffer), extents)?;
            }
            Step::CheckExceptions => self.check_exceptions()?,
            Step::Read { value, buffer, index } => {
                let memory = self.heap.memory(frame.buffer(*buffer));
                let number = self.read(memory, frame.index(*index), frame.number_type(*value))?;
                frame.set(*value, Slot::Number(number));
            }
            Step::Write { buffer, index, value } => {
                let bytes = to_bytes(frame.number(*value), dtype(frame.number_type(*value)));
                let offset = frame.index(*index) as u64 * bytes.len() as u64;
                self.device.write(self.heap.memory(frame.buffer(*buffer)), offset, &bytes)?;
            }
            Step::Number { value, number } => {
                let number = literal(*number, frame.number_type(*value));
                frame.set(*value, Slot::Number(number));
            }
            Step::Arith { value, op, args } => {
                let number = self.arith(frame, *value, *op, args);
                frame.set(*value, Slot::Number(number));
            }
            Step::FailIf { condition, message } => {
                if frame.truth(*condition) {
                    return Err(Error::Check(message.clone()));
                }
            }
            Step::Call { .. } => unreachable!("calls are entered"),
        }
        Ok(())
    }

    /// Memory that goes with a frame. A step that is run again has the memory of before.
    fn own(&mut self, frame: &mut Frame<'p>, buffer: ValueId, bytes: u64) -> Result<BufferId, Error> {
        let id = match frame.own.iter().find(|(value, _)| *value == buffer) {
            Some((_, id)) => *id,
            None => {
                let id = self.allocate(bytes)?;
                frame.own.push((buffer, id));
                id
            }
        };
        frame.set(buffer, Slot::Buffer(id));
        Ok(id)
    }

    /// The buffer of a constant, of which a run has one.
    fn constant_buffer(&mut self, id: ConstantId) -> Result<BufferId, Error> {
        if let Some(known) = self.constants.get(&id) {
            return Ok(*known);
        }
        let memory = self.constant(id)?;
        let buffer = self.heap.outside(memory);
        self.constants.insert(id, buffer);
        Ok(buffer)
    }

    fn constant(&mut self, id: ConstantId) -> Result<Memory, Error> {
        let constants = &self.executable.constants;
        let mut constants = constants.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = constants.get(&id) {
            return Ok(*known);
        }
        let Constant { dtype, elements } = &self.executable.program.constants[id.0 as usize];
        let size = memory_size(*dtype);
        let bytes: Vec<u8> =
            elements.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(size)).collect();
        let memory = self.device.allocate(bytes.len() as u64)?;
        if let Err(error) = self.device.write(memory, 0, &bytes) {
            self.device.free(memory);
            return Err(error.into());
        }
        constants.insert(id, memory);
        Ok(memory)
    }

    fn read(&mut self, memory: Memory, index: i64, number: Number) -> Result<Value, Error> {
        let dtype = dtype(number);
        let size = memory_size(dtype);
        let mut bytes = [0; 16];
        self.device.read(memory, index as u64 * size as u64, &mut bytes[..size])?;
        Ok(from_bytes(&bytes[..size], dtype))
    }

    fn arith(&self, frame: &Frame<'p>, value: ValueId, op: Arith, args: &[Arg]) -> Value {
        let stated: Vec<Option<Number>> = args
            .iter()
            .map(|arg| match arg {
                Arg::Value(value) => Some(frame.number_type(*value)),
                Arg::Known(_) => None,
            })
            .collect();
        let result = frame.number_type(value);
        let Some(numbers) = operands(op, &stated, result) else {
            unreachable!("the verifier lets arithmetic pass that takes such numbers")
        };
        let registers: Vec<Value> = args
            .iter()
            .zip(&numbers)
            .map(|(arg, number)| match arg {
                Arg::Value(value) => frame.number(*value),
                Arg::Known(known) => Value::new(register_type(*number), known.cast_unsigned()),
            })
            .collect();
        let dtypes: Vec<DType> = numbers.into_iter().map(dtype).collect();
        let numerics = self.executable.program.numerics;
        arith(&mut Eval::default(), op, numerics, (&dtypes, dtype(result)), &registers)
    }

    /// Fails with the first exception that a kernel has raised, if any has.
    pub fn check_exceptions(&mut self) -> Result<(), Error> {
        let (Some(noted), false) = (self.exceptions, self.raising.is_empty()) else { return Ok(()) };
        let mut bytes = [0; 4];
        self.device.read(self.heap.memory(noted), 0, &mut bytes)?;
        let raising = std::mem::take(&mut self.raising);
        let number = u32::from_le_bytes(bytes);
        let Some((base, launch)) = raising.iter().rev().find(|(base, _)| *base <= number) else {
            return Ok(());
        };
        let within = number - base;
        let place = launch.places.get((within / TRAPS) as usize);
        let (Some(place), Some(trap)) = (place, trap_of(within % TRAPS)) else { return Ok(()) };
        let place = &self.executable.program.places[place.0 as usize];
        let at = place.location.as_ref().map(|location| format!("{location}: ")).unwrap_or_default();
        Err(Error::Trap { trap, place: format!("{at}{}", place.op) })
    }
}

/// A number as its bytes in memory.
fn to_bytes(number: Value, dtype: DType) -> Vec<u8> {
    let raw = store(&mut Eval::default(), dtype, number);
    raw.bits.to_le_bytes()[..memory_size(dtype)].to_vec()
}

fn from_bytes(bytes: &[u8], dtype: DType) -> Value {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    load(&mut Eval::default(), dtype, Value::new(memory(dtype), u64::from_le_bytes(word)))
}

fn literal(literal: Literal, number: Number) -> Value {
    match literal {
        Literal::Int(known) => Value::new(register_type(number), known.cast_unsigned()),
        Literal::Float(bits) => from_literal(bits, dtype(number)),
    }
}

fn from_literal(bits: Bits, dtype: DType) -> Value {
    from_bytes(&bits.to_le_bytes()[..memory_size(dtype)], dtype)
}
