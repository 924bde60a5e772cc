//! Programs of steps: what lowering makes of a module, run step by step.
//!
//! [`Interpreter::run`] runs a public function, [`Interpreter::shapes`] the one that computes the shapes of its results.
//! Elements are computed as the rest of this crate computes them; nothing here is shared with the code generators. Kernels
//! are plain loops over their index spaces, in order of the index.
//!
//! ## Faults
//! The laws of [`passes::lower::program`](promote_lower::program) are checked in the run. What breaks one is a
//! fault of the compiler, not of the program that it compiled, so it is a panic, which names the function, the block and
//! the step:
//! - a value that was not defined, or is of another kind than the function states;
//! - a buffer used after its release, a reference released that the call does not have, or one left when it returns;
//! - a write to a buffer that is not the writer's alone, or was read already; a place written twice in one step;
//! - an index outside of a buffer, an element read that was never written, a result that is not complete;
//! - a kernel that reads what it writes, or uses the result of a reduction before it is done;
//! - an exception that no step asks for before its function returns.
//!
//! What the program itself runs into is an [`Error`], and the run stops where it is.

mod arith;
mod execute;
mod fold;
mod frame;
mod kernel;
mod matrix;
mod memory;
mod space;

use std::collections::BTreeMap;

use promote_lattice::DType;
use promote_lower::program::{Arg, Edge, End, EntryKind, Function, Layout, Program, ValueKind};
use promote_lower::types::{Number as Scalar, Type};

use self::frame::{At, Frame, Slot};
use self::memory::{BufferId, Heap, Lifetime};
use crate::eval::scalar::wrap;
use crate::number::Number;
use crate::value::{Array, Value};
use crate::{Error, indices};

/// The most steps that a run executes.
const MAX_STEPS: u64 = 1_000_000;

/// The most expressions that the kernels of a run compute.
const MAX_WORK: u64 = 1 << 26;

/// The deepest that calls nest.
const MAX_DEPTH: usize = 64;

/// Runs a public function of a program: its results, a number as [`Value::Integer`], or as an array without dimensions if
/// it is a float.
///
/// # Errors
/// See [`Error`].
///
/// # Panics
/// If the program breaks a law of programs.
pub fn run(program: &Program, function: &str, arguments: &[Value]) -> Result<Vec<Value>, Error> {
    Interpreter::new(program).run(function, arguments)
}

/// The shapes that a public function of a program says its results have. Of the arguments only the shapes count.
///
/// # Errors
/// See [`Error`].
///
/// # Panics
/// If the program breaks a law of programs.
pub fn shapes(program: &Program, function: &str, arguments: &[Value]) -> Result<Vec<Vec<usize>>, Error> {
    Interpreter::new(program).shapes(function, arguments)
}

/// A program whose functions are found by name: make one to run a program more than once.
#[derive(Clone, Debug)]
pub struct Interpreter<'p> {
    program: &'p Program,
    functions: BTreeMap<(&'p str, EntryKind), &'p Function>,
}

impl<'p> Interpreter<'p> {
    /// Of a program.
    #[must_use]
    pub fn new(program: &'p Program) -> Self {
        let named = |function: &'p Function| ((function.name.as_str(), function.entry), function);
        Self { program, functions: program.functions.iter().map(named).collect() }
    }

    /// Whether a function can be asked for the shapes of its results.
    #[must_use]
    pub fn tells_shapes(&self, function: &str) -> bool {
        self.functions.contains_key(&(function, EntryKind::Shapes))
    }

    /// As [`run`].
    ///
    /// # Errors
    /// See [`Error`].
    ///
    /// # Panics
    /// If the program breaks a law of programs.
    pub fn run(&self, function: &str, arguments: &[Value]) -> Result<Vec<Value>, Error> {
        self.results(function, EntryKind::Public, arguments)
    }

    /// As [`run`], of each function of the name that takes arguments [with strides](EntryKind::Strided): they lie in memory with
    /// gaps, which nothing may read.
    ///
    /// # Errors
    /// See [`Error`].
    ///
    /// # Panics
    /// If the program breaks a law of programs.
    pub fn run_strided(
        &self,
        function: &str,
        arguments: &[Value],
    ) -> impl Iterator<Item = Result<Vec<Value>, Error>> {
        let entries = self.functions.keys().filter(move |(name, _)| *name == function);
        let strided = entries.filter(|(_, entry)| matches!(entry, EntryKind::Strided(_)));
        strided.map(move |(name, entry)| self.results(name, *entry, arguments))
    }

    fn results(&self, function: &str, entry: EntryKind, arguments: &[Value]) -> Result<Vec<Value>, Error> {
        let (machine, function) = self.enter(function, entry, arguments)?;
        let results = machine.results.iter().zip(&function.outputs).map(|(made, r#type)| match made {
            Some(Made::Buffer(id, shape)) => machine.result(*id, shape, r#type),
            Some(Made::Shape(_)) | None => Err(Stop::Fault("a result was not made".to_owned())),
        });
        let results = results.collect::<Result<_, _>>();
        results.map_err(|stop| stop.at(&format!("@{}", function.name)))
    }

    /// As [`shapes`].
    ///
    /// # Errors
    /// See [`Error`].
    ///
    /// # Panics
    /// If the program breaks a law of programs.
    pub fn shapes(&self, function: &str, arguments: &[Value]) -> Result<Vec<Vec<usize>>, Error> {
        let (machine, function) = self.enter(function, EntryKind::Shapes, arguments)?;
        let shapes = machine.results.into_iter().map(|made| match made {
            Some(Made::Shape(shape)) => Ok(shape),
            Some(Made::Buffer(..)) | None => Err(Stop::Fault("a shape was not returned".to_owned())),
        });
        let shapes = shapes.collect::<Result<_, _>>();
        shapes.map_err(|stop| stop.at(&format!("the shapes of @{}", function.name)))
    }

    fn enter(
        &self,
        name: &str,
        entry: EntryKind,
        arguments: &[Value],
    ) -> Result<(Machine<'_>, &Function), Error> {
        let unknown = || Error::Arguments(format!("there is no such entry of @{name}"));
        let function = *self.functions.get(&(name, entry)).ok_or_else(unknown)?;
        let mut machine = Machine {
            interpreter: self,
            heap: Heap::default(),
            constants: BTreeMap::new(),
            results: vec![None; function.outputs.len()],
            exception: None,
            steps: 0,
            work: 0,
            depth: 0,
        };
        let slots = machine.arguments(function, arguments)?;
        machine.call(function, &slots)?;
        Ok((machine, function))
    }
}

/// Why a run stops.
enum Stop {
    /// As the program says.
    Failed(Error),
    /// The program breaks a law.
    Fault(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    /// The error with which the run ends.
    ///
    /// # Panics
    /// On a fault, with the place of it.
    fn at(self, place: &str) -> Error {
        match self {
            Self::Failed(error) => error,
            Self::Fault(what) => panic!("{place}: {what}"),
        }
    }
}

/// A fault.
fn fault<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fault(what.into()))
}

/// What a result is so far.
#[derive(Clone, Debug)]
enum Made {
    Buffer(BufferId, Vec<usize>),
    Shape(Vec<usize>),
}

/// A run.
struct Machine<'r> {
    interpreter: &'r Interpreter<'r>,
    heap: Heap,
    /// The buffers of the constants that were asked for.
    constants: BTreeMap<u32, BufferId>,
    results: Vec<Option<Made>>,
    /// The first exception that a kernel raised and no step asked for yet.
    exception: Option<String>,
    steps: u64,
    work: u64,
    depth: usize,
}

/// Where control goes.
enum Next {
    Block(u32, Vec<Slot>),
    Return(Vec<Slot>),
}

/// The strides of a tensor as an entry takes it, whose elements lie side by side along a dimension, or two apart, with gaps: the others
/// stand in memory the other way round unless they lie one in another, or are a piece of memory with it. None if it takes a tensor that is row-major.
fn strides(shape: &[usize], layout: Layout, entry: EntryKind) -> Option<Vec<usize>> {
    let is_dense = entry.is_dense();
    let (along, step) = match layout {
        Layout::RowMajor => return None,
        Layout::Along(along) | Layout::InPieces(along) => (along, 1),
        Layout::Apart => (shape.len() - 1, 2),
        Layout::Reversed => {
            let before = |axis: usize| shape[..axis].iter().product();
            return Some((0..shape.len()).map(before).collect());
        }
    };
    let (mut strides, mut next) = (vec![step; shape.len()], shape[along] * step + 3);
    let mut others: Vec<usize> = (0..shape.len()).filter(|axis| *axis != along).collect();
    if is_dense {
        others.reverse();
    }
    if matches!(layout, Layout::InPieces(_)) {
        let pieces = others.partition_point(|axis| *axis < along);
        next = shape[along];
        for axis in others.drain(..pieces).rev() {
            strides[axis] = next;
            next *= shape[axis];
        }
        next += 3;
    }
    for axis in others {
        strides[axis] = next;
        next = next * shape[axis] + usize::from(!is_dense);
    }
    Some(strides)
}

/// The elements of an array where strides put them; there is nothing in the gaps.
fn scattered(array: &Array, strides: &[usize]) -> Vec<Option<Number>> {
    let place = |index: &[usize]| index.iter().zip(strides).map(|(index, stride)| index * stride).sum();
    let places: Vec<usize> = indices(&array.shape).map(|index| place(&index)).collect();
    let mut elements = vec![None; places.iter().max().map_or(0, |last| last + 1)];
    for (place, element) in places.into_iter().zip(&array.elements) {
        elements[place] = Some(*element);
    }
    elements
}

/// Whether a type allows for a shape.
fn has_shape(r#type: &Type, shape: &[usize]) -> bool {
    let alike = |(own, stated): (&usize, &Option<i64>)| stated.is_none_or(|stated| stated == *own as i64);
    shape.len() == r#type.dims().len() && shape.iter().zip(r#type.dims()).all(alike)
}

impl<'r> Machine<'r> {
    /// The parameters that the arguments of a call from outside are.
    fn arguments(&mut self, function: &Function, arguments: &[Value]) -> Result<Vec<Slot>, Error> {
        if arguments.len() != function.inputs.len() {
            return Err(Error::Arguments(format!("@{} takes {}", function.name, function.inputs.len())));
        }
        let mut slots = Vec::new();
        for (index, (r#type, value)) in function.inputs.iter().zip(arguments).enumerate() {
            let unfit = || Error::Arguments(format!("argument {index} of @{}", function.name));
            match (r#type, value) {
                (Type::Tensor(dtype, dims), Value::Array(array))
                    if array.dtype.storage() == dtype.storage() && has_shape(r#type, &array.shape) =>
                {
                    let origin = format!("argument {index}");
                    let layout = function.entry.layout(index, r#type);
                    let strides = strides(&array.shape, layout, function.entry);
                    let elements = match &strides {
                        Some(strides) => scattered(array, strides),
                        None => array.elements.iter().copied().map(Some).collect(),
                    };
                    let filled = self.heap.filled(*dtype, elements.into_iter(), Lifetime::Constant, origin);
                    slots.push(Slot::Buffer(filled.map_err(|stop| stop.at(&function.name))?));
                    let open = array.shape.iter().zip(dims).filter(|(_, stated)| stated.is_none());
                    let open = open.map(|(extent, _)| *extent);
                    let strided = function.entry.strided_dims(index, r#type).into_iter();
                    let strides = strided.filter_map(|axis| Some(strides.as_ref()?[axis]));
                    slots.extend(open.chain(strides).map(|number| Slot::Number(Number::Int(number as i128))));
                }
                (Type::Scalar(Scalar::Float(dtype)), Value::Array(array))
                    if array.dtype == *dtype && array.shape.is_empty() =>
                {
                    slots.push(Slot::Number(array.elements[0]));
                }
                (Type::Scalar(Scalar::Index), Value::Integer(value)) => slots.push(Slot::integer(*value)),
                (Type::Scalar(Scalar::Int(width)), Value::Integer(value))
                    if wrap(*value, *width) == *value =>
                {
                    slots.push(Slot::integer(*value));
                }
                (Type::Tensor(..) | Type::Scalar(_), Value::Array(_) | Value::Integer(_)) => {
                    return Err(unfit());
                }
            }
        }
        Ok(slots)
    }

    /// A result as callers see it.
    fn result(&self, id: BufferId, shape: &[usize], r#type: &Type) -> Result<Value, Stop> {
        let elements = self.heap.all(id)?;
        Ok(match r#type {
            Type::Scalar(Scalar::Index | Scalar::Int(_)) => Value::Integer(elements[0].int() as i64),
            Type::Scalar(Scalar::Float(_)) | Type::Tensor(..) => {
                Value::Array(Array { dtype: r#type.dtype(), shape: shape.to_vec(), elements })
            }
        })
    }

    /// Calls a function with the values of its parameters; what it returns.
    fn call(&mut self, function: &'r Function, arguments: &[Slot]) -> Result<Vec<Slot>, Error> {
        if self.depth == MAX_DEPTH {
            return Err(Error::Limit);
        }
        self.depth += 1;
        let mut frame = Frame::new(function);
        let (mut block, mut passed) = (0, arguments.to_vec());
        let returned = loop {
            frame.go_to(block);
            let entered = self.enter_block(&mut frame, &passed);
            entered.map_err(|stop| stop.at(&frame.place(self.interpreter.program)))?;
            for (index, (step, _)) in frame.block().steps.iter().enumerate() {
                frame.at = At::Step(index);
                let done = self.tick().and_then(|()| self.step(&mut frame, step));
                done.map_err(|stop| stop.at(&frame.place(self.interpreter.program)))?;
            }
            frame.at = At::End;
            let next = self.tick().and_then(|()| self.end(&mut frame));
            match next.map_err(|stop| stop.at(&frame.place(self.interpreter.program)))? {
                Next::Block(to, slots) => (block, passed) = (to, slots),
                Next::Return(slots) => break slots,
            }
        };
        self.depth -= 1;
        Ok(returned)
    }

    fn tick(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Error::Limit.into()) } else { Ok(()) }
    }

    /// Sets the parameters of a block.
    fn enter_block(&self, frame: &mut Frame<'r>, passed: &[Slot]) -> Result<(), Stop> {
        let parameters = &frame.block().parameters;
        if parameters.len() != passed.len() {
            return fault(format!("{} values are passed to {}", passed.len(), parameters.len()));
        }
        if frame.is_entry() {
            let kinds: Vec<ValueKind> = parameters.iter().map(|value| frame.function.kind(*value)).collect();
            if kinds != frame.function.all_parameters() {
                return fault("the parameters are not laid out as the inputs");
            }
        }
        parameters.iter().zip(passed).try_for_each(|(value, slot)| frame.set(*value, *slot, &self.heap))
    }

    fn end(&mut self, frame: &mut Frame<'r>) -> Result<Next, Stop> {
        let edge = match &frame.block().end {
            End::Return(values) => return self.r#return(frame, values),
            End::Jump(edge) => edge,
            End::Branch(condition, then, otherwise) => {
                if frame.truth(*condition)? {
                    then
                } else {
                    otherwise
                }
            }
            End::Switch(value, cases, default) => {
                let number = frame.index(Arg::Value(*value))?;
                let found = cases.iter().find(|(case, _)| *case == number);
                found.map_or(default, |(_, edge)| edge)
            }
        };
        self.edge(frame, edge)
    }

    /// What is passed along an edge: with each buffer a reference, which the call keeps in another block.
    fn edge(&self, frame: &Frame<'r>, edge: &Edge) -> Result<Next, Stop> {
        let slots = self.passed(frame, &edge.args)?;
        let mut own = frame.references.clone();
        for id in slots.iter().filter_map(Slot::buffer) {
            if !own.remove(id) {
                return Err(self.heap.fault(id, "is passed to a block without a reference"));
            }
        }
        if edge.block.0 as usize >= frame.function.blocks.len() {
            return fault("there is no such block");
        }
        Ok(Next::Block(edge.block.0, slots))
    }

    /// The values of arguments; their buffers are there.
    fn passed(&self, frame: &Frame<'r>, args: &[Arg]) -> Result<Vec<Slot>, Stop> {
        let slots = args.iter().map(|arg| frame.get(*arg)).collect::<Result<Vec<_>, _>>()?;
        for id in slots.iter().filter_map(Slot::buffer) {
            self.heap.len(id)?;
        }
        Ok(slots)
    }

    fn r#return(&mut self, frame: &mut Frame<'r>, values: &[Arg]) -> Result<Next, Stop> {
        let kinds = match frame.function.entry {
            EntryKind::Public | EntryKind::Strided(_) | EntryKind::Shapes => Vec::new(),
            EntryKind::Private => ValueKind::carrying(&frame.function.outputs),
        };
        let slots = self.passed(frame, values)?;
        if slots.len() != kinds.len() {
            return fault(format!("{} values are returned, not {}", slots.len(), kinds.len()));
        }
        for (slot, kind) in slots.iter().zip(kinds) {
            frame::check_kind(*slot, kind, &self.heap)?;
            if let Slot::Buffer(id) = slot
                && !frame.references.remove(*id)
            {
                return Err(self.heap.fault(*id, "is returned without a reference"));
            }
        }
        if let Some(id) = frame.references.left() {
            return Err(self.heap.fault(id, "leaks: a reference to it is left when the function returns"));
        }
        frame.spills.values().try_for_each(|id| self.heap.end_spill(*id))?;
        match &self.exception {
            Some(exception) => fault(format!("no step asked for an exception: {exception}")),
            None => Ok(Next::Return(slots)),
        }
    }

    /// The dtype that a number has in memory.
    fn memory_dtype(number: Scalar) -> Result<DType, Stop> {
        let none = || Stop::Failed(Error::Unsupported(format!("numbers of {number:?}")));
        number.dtype().ok_or_else(none)
    }
}
