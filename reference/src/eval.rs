//! Runs: control flow and calls, and how values get into ops and slots.

mod promote;
pub(crate) mod scalar;

use promote_lattice::{DType, Semantics};

use crate::Error;
use crate::program::{Function, Kind, Operation, Program, Region, Stated, ValueId};
use crate::types::{self, Instance, Type, Types};
use crate::value::{Array, Value};

/// The most ops that a run executes.
const MAX_STEPS: u64 = 1_000_000;

/// The deepest that calls nest.
const MAX_DEPTH: usize = 64;

/// What a run returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The results of the function.
    pub results: Vec<Value>,
    /// How many `promote.convert` ops were executed, but for those of constants.
    pub converts: u64,
    /// How many operands were converted or stretched without an op that says so.
    pub implicit: u64,
    /// How many of them were converted, but for weak constants: each is a convert where a compiler makes one at each use.
    pub promoted: u64,
}

impl Program {
    /// Infers the types of the program and runs one of its functions. A weak argument is an array of the default dtype of its kind.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(&self, semantics: &Semantics, function: &str, arguments: &[Value]) -> Result<Outcome, Error> {
        let program = self.clone().with_pythons_numbers(semantics);
        program.run_typed(&types::infer(&program, semantics)?, semantics, function, arguments)
    }

    /// Runs one of its functions, given the types of the program.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run_typed(
        &self,
        types: &Types,
        semantics: &Semantics,
        function: &str,
        arguments: &[Value],
    ) -> Result<Outcome, Error> {
        let unknown = || Error::Arguments(format!("there is no @{function} that states its arguments"));
        let index = *self.names.get(function).ok_or_else(unknown)?;
        let instance = types.instances.iter().position(|instance| instance.function == index);
        let instance = instance.filter(|_| !self.functions[index].is_generic).ok_or_else(unknown)?;
        check_arguments(&self.functions[index], &types.instances[instance], semantics, arguments)?;
        let mut machine = Machine {
            program: self,
            semantics,
            types,
            steps: 0,
            depth: 0,
            converts: 0,
            implicit: 0,
            promoted: 0,
        };
        let results = machine.call(instance, arguments.to_vec())?;
        let Machine { converts, implicit, promoted, .. } = machine;
        Ok(Outcome { results, converts, implicit, promoted })
    }
}

fn check_arguments(
    function: &Function,
    instance: &Instance,
    semantics: &Semantics,
    arguments: &[Value],
) -> Result<(), Error> {
    let fits = |(index, value): (usize, &Value)| match (value, instance.arguments.get(index)) {
        (Value::Array(array), Some(Some(stated))) => {
            array.dtype == semantics.strengthen(stated.dtype) && has_shape(array, stated)
        }
        (Value::Integer(_), Some(None)) => true,
        _ => false,
    };
    match arguments.iter().enumerate().position(|argument| !fits(argument)) {
        Some(index) => Err(Error::Arguments(format!("argument {index} of @{}", function.name))),
        None if arguments.len() == instance.arguments.len() => Ok(()),
        None => Err(Error::Arguments(format!("@{} takes {}", function.name, instance.arguments.len()))),
    }
}

fn has_shape(array: &Array, known: &Type) -> bool {
    let alike = |(own, known): (&usize, &Option<usize>)| known.is_none_or(|known| known == *own);
    array.shape.len() == known.shape.len() && array.shape.iter().zip(&known.shape).all(alike)
}

/// How control leaves a region.
enum Exit {
    /// By a yield or a return, with values.
    Yield(Vec<Value>),
    /// By the condition of a `while`.
    Condition(bool, Vec<Value>),
}

impl Exit {
    fn values(self) -> Vec<Value> {
        match self {
            Self::Yield(values) | Self::Condition(_, values) => values,
        }
    }
}

/// Where control goes after an op.
enum Next {
    /// To the op after it.
    Op,
    /// To a block of the region, with arguments.
    Block(usize, Vec<Value>),
    /// Out of the region.
    Exit(Exit),
}

struct Machine<'a> {
    program: &'a Program,
    semantics: &'a Semantics,
    types: &'a Types,
    steps: u64,
    depth: usize,
    converts: u64,
    implicit: u64,
    promoted: u64,
}

/// A call that is being executed.
struct Frame<'a> {
    function: &'a Function,
    instance: &'a Instance,
    values: Vec<Option<Value>>,
}

impl Frame<'_> {
    fn get(&self, value: ValueId) -> Result<&Value, Error> {
        let missing = || Error::Unsupported("a value that was not computed".to_owned());
        self.values[value].as_ref().ok_or_else(missing)
    }

    fn integer(&self, value: ValueId) -> Result<i64, Error> {
        match self.get(value)? {
            Value::Integer(value) => Ok(*value),
            Value::Array(_) => Err(Error::Unsupported("a tensor where an integer is meant".to_owned())),
        }
    }

    fn array(&self, value: ValueId) -> Result<&Array, Error> {
        match self.get(value)? {
            Value::Array(array) => Ok(array),
            Value::Integer(_) => Err(Error::Unsupported("an integer where a tensor is meant".to_owned())),
        }
    }

    fn set(&mut self, values: &[ValueId], to: Vec<Value>) {
        values.iter().zip(to).for_each(|(value, to)| self.values[*value] = Some(to));
    }

    fn known(&self, value: ValueId) -> Result<&Type, Error> {
        let missing = || Error::Refused("the type of a value is never known".to_owned());
        self.instance.values[value].as_ref().ok_or_else(missing)
    }
}

impl<'a> Machine<'a> {
    /// Runs an instance on arguments that are of its types.
    fn call(&mut self, index: usize, arguments: Vec<Value>) -> Result<Vec<Value>, Error> {
        let instance = &self.types.instances[index];
        let function = &self.program.functions[instance.function];
        if self.depth == MAX_DEPTH {
            return Err(Error::Limit);
        }
        if function.body.blocks.is_empty() {
            return Err(Error::Unsupported(format!("@{} has no body", function.name)));
        }
        self.depth += 1;
        let mut frame = Frame { function, instance, values: vec![None; function.stated.len()] };
        let returned = self.region(&mut frame, &function.body, arguments)?.values();
        self.depth -= 1;
        let results = returned.into_iter().zip(&instance.results);
        results.map(|(value, known)| self.fit(value, known.as_ref())).collect()
    }

    fn region(
        &mut self,
        frame: &mut Frame<'a>,
        region: &'a Region,
        arguments: Vec<Value>,
    ) -> Result<Exit, Error> {
        let (mut block, mut arguments) = (0, arguments);
        loop {
            frame.set(&region.blocks[block].arguments, arguments);
            let mut next = Next::Op;
            for operation in &region.blocks[block].operations {
                self.steps += 1;
                if self.steps > MAX_STEPS {
                    return Err(Error::Limit);
                }
                next = self.operation(frame, region, operation)?;
            }
            match next {
                Next::Block(to, values) => (block, arguments) = (to, values),
                Next::Exit(exit) => return Ok(exit),
                Next::Op => return Ok(Exit::Yield(Vec::new())),
            }
        }
    }

    fn operation(
        &mut self,
        frame: &mut Frame<'a>,
        region: &'a Region,
        operation: &'a Operation,
    ) -> Result<Next, Error> {
        let operands = &operation.operands;
        let results = match &operation.kind {
            Kind::Constant(array) => vec![Value::Array(array.clone())],
            Kind::Promote(op, attributes) => {
                vec![Value::Array(self.promote(frame, operation, *op, attributes)?)]
            }
            Kind::Integer(value) => vec![Value::Integer(*value)],
            Kind::Arith(arith) => vec![scalar::arith(*arith, frame, operation)?],
            Kind::Dim => {
                let (shape, axis) = (&frame.array(operands[0])?.shape, frame.integer(operands[1])?);
                let extent = usize::try_from(axis).ok().and_then(|axis| shape.get(axis));
                let extent = extent.ok_or_else(|| Error::Trap(format!("there is no dimension {axis}")))?;
                vec![Value::Integer(*extent as i64)]
            }
            Kind::Rank => vec![Value::Integer(frame.array(operands[0])?.shape.len() as i64)],
            Kind::Cast => vec![self.cast(frame, operation)?],
            Kind::Select => vec![self.select(frame, operation)?],
            Kind::Poison => vec![self.poison(frame, operation.results[0])?],
            Kind::Extract => vec![scalar::extract(frame, operation)?],
            Kind::Assert(message) if frame.integer(operands[0])? == 0 => {
                return Err(Error::Trap(message.clone()));
            }
            Kind::Assert(_) => Vec::new(),
            Kind::Branch | Kind::Switch(_) => {
                let (block, passed) = &operation.successors[scalar::successor(frame, operation)?];
                let targets = &region.blocks[*block].arguments;
                return Ok(Next::Block(*block, self.flow(frame, passed, targets)?));
            }
            Kind::If | Kind::IndexSwitch(_) | Kind::Execute => {
                match operation.regions.get(scalar::chosen_region(frame, operation)?) {
                    Some(chosen) if !chosen.blocks.is_empty() => {
                        let yielded = self.region(frame, chosen, Vec::new())?.values();
                        self.fit_all(frame, yielded, &operation.results)?
                    }
                    _ => Vec::new(),
                }
            }
            Kind::For => self.run_for(frame, operation)?,
            Kind::While => self.run_while(frame, operation)?,
            Kind::Call(_) => self.run_call(frame, operation)?,
            Kind::Condition => {
                let goes_on = frame.integer(operands[0])? != 0;
                return Ok(Next::Exit(Exit::Condition(goes_on, values(frame, &operands[1..])?)));
            }
            Kind::Yield | Kind::Return => return Ok(Next::Exit(Exit::Yield(values(frame, operands)?))),
            Kind::Other(name) => return Err(Error::Unsupported(name.clone())),
        };
        frame.set(&operation.results, results);
        Ok(Next::Op)
    }

    fn run_for(&mut self, frame: &mut Frame<'a>, operation: &'a Operation) -> Result<Vec<Value>, Error> {
        let [at, end, step] = [0, 1, 2].map(|bound| frame.integer(operation.operands[bound]));
        let (mut at, end, step) = (at?, end?, step?);
        if step <= 0 {
            return Err(Error::Trap(format!("a loop with step {step}")));
        }
        let body = &operation.regions[0];
        let carries = &body.blocks[0].arguments[1..];
        let mut carried = self.flow(frame, &operation.operands[3..], carries)?;
        while at < end {
            let arguments = std::iter::once(Value::Integer(at)).chain(carried).collect();
            let yielded = self.region(frame, body, arguments)?.values();
            carried = self.fit_all(frame, yielded, carries)?;
            at = at.saturating_add(step);
        }
        self.fit_all(frame, carried, &operation.results)
    }

    fn run_while(&mut self, frame: &mut Frame<'a>, operation: &'a Operation) -> Result<Vec<Value>, Error> {
        let [before, after] = [0, 1].map(|region| &operation.regions[region]);
        let (carries, passed) = (&before.blocks[0].arguments, &after.blocks[0].arguments);
        let mut carried = self.flow(frame, &operation.operands, carries)?;
        loop {
            let Exit::Condition(goes_on, values) = self.region(frame, before, carried)? else {
                return Err(Error::Unsupported("a while loop without a condition".to_owned()));
            };
            let values = self.fit_all(frame, values, passed)?;
            if !goes_on {
                return self.fit_all(frame, values, &operation.results);
            }
            let yielded = self.region(frame, after, values)?.values();
            carried = self.fit_all(frame, yielded, carries)?;
        }
    }

    fn run_call(&mut self, frame: &Frame<'a>, operation: &Operation) -> Result<Vec<Value>, Error> {
        let target = frame.instance.targets[operation.id]
            .ok_or_else(|| Error::Refused("a call with arguments of types never known".to_owned()))?;
        let known = &self.types.instances[target].arguments;
        let arguments = operation.operands.iter().zip(known);
        let arguments = arguments.map(|(value, known)| self.fit(frame.get(*value)?.clone(), known.as_ref()));
        let arguments = arguments.collect::<Result<_, _>>()?;
        let results = self.call(target, arguments)?;
        self.fit_all(frame, results, &operation.results)
    }

    /// Values that flow to slots.
    fn flow(
        &mut self,
        frame: &Frame<'a>,
        sources: &[ValueId],
        targets: &[ValueId],
    ) -> Result<Vec<Value>, Error> {
        let values = values(frame, sources)?;
        self.fit_all(frame, values, targets)
    }

    fn fit_all(
        &mut self,
        frame: &Frame<'a>,
        values: Vec<Value>,
        targets: &[ValueId],
    ) -> Result<Vec<Value>, Error> {
        let fitted = values.into_iter().zip(targets);
        fitted.map(|(value, target)| self.fit(value, frame.instance.values[*target].as_ref())).collect()
    }

    /// Counts a conversion that no op says, if `dtype` is another one than the array has.
    fn note_promotion(&mut self, array: &Array, dtype: DType) {
        let converted = u64::from(array.dtype != dtype);
        self.implicit += converted;
        self.promoted += if array.dtype.is_weak() { 0 } else { converted };
    }

    /// A value as a slot of type `known` takes it.
    fn fit(&mut self, value: Value, known: Option<&Type>) -> Result<Value, Error> {
        let (Value::Array(array), Some(known)) = (&value, known) else { return Ok(value) };
        let dtype = self.semantics.strengthen(known.dtype);
        let missing = known.shape.len().checked_sub(array.shape.len());
        let Some(missing) = missing else {
            return Err(Error::Trap(format!("rank {} flows to {:?}", array.shape.len(), known.shape)));
        };
        let own = std::iter::repeat_n(1, missing).chain(array.shape.iter().copied());
        let extent = |(own, wanted): (usize, &Option<usize>)| match *wanted {
            Some(wanted) if own == 1 || own == wanted => Ok(wanted),
            Some(wanted) => Err(Error::Trap(format!("an extent of {own} flows to {wanted}"))),
            None => Ok(own),
        };
        let shape = own.zip(&known.shape).map(extent).collect::<Result<Vec<_>, _>>()?;
        self.implicit += u64::from(array.shape != shape);
        self.note_promotion(array, dtype);
        Ok(Value::Array(array.converted(dtype, self.semantics.numerics()).broadcast(&shape)))
    }

    /// One of two tensors, or their elements by those of the condition.
    fn select(&mut self, frame: &Frame<'a>, operation: &Operation) -> Result<Value, Error> {
        let target = operation.results[0];
        let known = frame.known(target)?;
        let mask = match frame.get(operation.operands[0])? {
            Value::Integer(flag) => {
                let chosen = if *flag != 0 { 1 } else { 2 };
                return self.fit(frame.get(operation.operands[chosen])?.clone(), Some(known));
            }
            Value::Array(mask) => Value::Array(mask.clone()),
        };
        let of_mask = Type { dtype: DType::B1, shape: known.shape.clone() };
        let mask = self.fit(mask, Some(&of_mask))?;
        let chosen = self.flow(frame, &operation.operands[1..], &[target, target])?;
        let (Value::Array(mask), [Value::Array(x), Value::Array(y)]) = (mask, &chosen[..]) else {
            return Err(Error::Unsupported("a choice by element of what is no tensor".to_owned()));
        };
        if mask.shape != x.shape || x.shape != y.shape {
            let shapes = [&mask.shape, &x.shape, &y.shape];
            return Err(Error::Trap(format!("a choice by element among the shapes {shapes:?}")));
        }
        let elements = mask.elements.iter().zip(x.elements.iter().zip(&y.elements));
        let elements = elements.map(|(flag, (x, y))| if flag.is_true() { *x } else { *y }).collect();
        Ok(Value::Array(Array { elements, ..x.clone() }))
    }

    /// Zeros, which are as good as any.
    fn poison(&mut self, frame: &Frame<'a>, target: ValueId) -> Result<Value, Error> {
        let zero = Value::Array(Array::of_ints(DType::B1, &[], &[0]));
        match &frame.function.stated[target] {
            Stated::Tensor { .. } => self.fit(zero, frame.instance.values[target].as_ref()),
            Stated::Integer(_) => Ok(Value::Integer(0)),
            Stated::Other(other) => Err(Error::Unsupported(format!("values of {other}"))),
        }
    }

    fn cast(&self, frame: &Frame<'a>, operation: &Operation) -> Result<Value, Error> {
        let array = frame.array(operation.operands[0])?;
        let array = array.converted(self.semantics.strengthen(array.dtype), self.semantics.numerics());
        match &frame.function.stated[operation.results[0]] {
            Stated::Tensor { shape: None, .. } => Ok(Value::Array(array)),
            Stated::Tensor { shape: Some(shape), .. }
                if has_shape(&array, &Type { dtype: array.dtype, shape: shape.clone() }) =>
            {
                Ok(Value::Array(array))
            }
            stated => Err(Error::Trap(format!("{:?} is cast to {stated:?}", array.shape))),
        }
    }
}

fn values(frame: &Frame<'_>, sources: &[ValueId]) -> Result<Vec<Value>, Error> {
    sources.iter().map(|value| frame.get(*value).cloned()).collect()
}
