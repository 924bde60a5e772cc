//! Types: the dtype and shape of every value, before anything runs.
//!
//! [`infer`] starts with everything unknown and computes all ops and slots of all instances from the types that are known,
//! again and again, until a round changes nothing. An *instance* is a function with the types of its arguments: a generic
//! function has one for each list of types that a call passes, in one table that all rounds go through.

use promote_lattice::semantics::{Operand, Origin, Rank, Typing};
use promote_lattice::{DType, Op, Semantics};

use crate::Error;
use crate::program::{Attributes, Function, Kind, Operation, Program, Region, Slot, Stated, Target, ValueId};
use crate::shape::{self, Shape};

/// More rounds than any program of a sensible size takes, if its types settle at all.
const MAX_ROUNDS: usize = 2000;

/// More instances than any program of a sensible size has, if its calls settle at all.
const MAX_INSTANCES: usize = 600;

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Its dtype, weak if the value is.
    pub dtype: DType,
    /// What is known of its extents.
    pub shape: Shape,
}

/// A function with the types of its arguments, inferred.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Which function.
    pub function: usize,
    /// The types of its arguments; `None` for those that are no tensors.
    pub arguments: Vec<Option<Type>>,
    /// The type of each value, once it is known.
    pub values: Vec<Option<Type>>,
    /// The type of each result, once it is known.
    pub results: Vec<Option<Type>>,
    /// For each op, in which dtypes it computes, if the dtype rules say that.
    pub typings: Vec<Option<Typing>>,
    /// For each call, the instance that it calls.
    pub targets: Vec<Option<usize>>,
    /// What was refused in the last round.
    pub refused: Option<String>,
}

/// The instances of a program; those of functions that are not generic stand first, in the order of the functions.
#[derive(Clone, Debug)]
pub struct Types {
    /// The instances.
    pub instances: Vec<Instance>,
}

/// Infers all types of `program`.
///
/// # Errors
/// [`Error::Refused`] if the semantics refuses it, or a type is never known.
pub fn infer(program: &Program, semantics: &Semantics) -> Result<Types, Error> {
    let mut table = Table { program, semantics, instances: Vec::new() };
    for (index, function) in program.functions.iter().enumerate() {
        if !function.is_generic {
            let arguments = function.arguments().iter().map(|value| complete(&function.stated[*value]));
            table.add(index, arguments.collect());
        }
    }
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        let mut index = 0;
        while index < table.instances.len() {
            changed |= table.round(index);
            index += 1;
        }
        if table.instances.len() > MAX_INSTANCES {
            return Err(Error::Refused("calls make ever new signatures".to_owned()));
        }
        if !changed {
            return table.finish();
        }
    }
    Err(Error::Refused("types do not settle".to_owned()))
}

/// The type that is stated, if nothing of it is left open.
fn complete(stated: &Stated) -> Option<Type> {
    match stated {
        Stated::Tensor { dtype: Some(dtype), shape: Some(shape) } => {
            Some(Type { dtype: *dtype, shape: shape.clone() })
        }
        _ => None,
    }
}

struct Table<'a> {
    program: &'a Program,
    semantics: &'a Semantics,
    instances: Vec<Instance>,
}

impl Table<'_> {
    fn add(&mut self, function: usize, arguments: Vec<Option<Type>>) -> usize {
        let body = &self.program.functions[function];
        let values = body.stated.len();
        self.instances.push(Instance {
            function,
            arguments,
            values: vec![None; values],
            results: vec![None; body.results.len()],
            typings: vec![None; body.operations()],
            targets: vec![None; body.operations()],
            refused: None,
        });
        self.instances.len() - 1
    }

    /// Computes every op and slot of an instance once; whether anything changed.
    fn round(&mut self, index: usize) -> bool {
        let before = self.instances[index].clone();
        let program = self.program;
        let function = &program.functions[before.function];
        self.instances[index].refused = None;
        for (value, known) in function.arguments().iter().zip(&before.arguments) {
            self.instances[index].values[*value] = known.clone();
        }
        self.region(index, function, &function.body);
        for slot in &function.slots {
            self.slot(index, function, slot);
        }
        self.instances[index] != before
    }

    fn region(&mut self, index: usize, function: &Function, region: &Region) {
        for operation in region.blocks.iter().flat_map(|block| &block.operations) {
            if let Err(refused) = self.operation(index, function, operation) {
                let message = format!("{:?}: {refused}", operation.kind);
                self.instances[index].refused.get_or_insert(message);
                operation.results.iter().for_each(|value| self.instances[index].values[*value] = None);
            }
            operation.regions.iter().for_each(|region| self.region(index, function, region));
        }
    }

    fn operation(&mut self, index: usize, function: &Function, operation: &Operation) -> Result<(), String> {
        match &operation.kind {
            Kind::Constant(array) => {
                let found = Type { dtype: array.dtype, shape: shape::known(&array.shape) };
                self.instances[index].values[operation.results[0]] = Some(found);
            }
            Kind::Promote(op, attributes) => {
                let found = self.promote(index, function, operation, *op, attributes)?;
                self.instances[index].values[operation.results[0]] = found;
            }
            Kind::Call(callee) => self.call(index, operation, callee)?,
            Kind::Cast => {
                let stated = complete(&function.stated[operation.results[0]]);
                self.instances[index].values[operation.results[0]] = stated;
            }
            _ => {}
        }
        Ok(())
    }

    /// The type of the result of an op of the dialect, if those of its operands are known.
    fn promote(
        &mut self,
        index: usize,
        function: &Function,
        operation: &Operation,
        op: Op,
        attributes: &Attributes,
    ) -> Result<Option<Type>, String> {
        let known = |value: &ValueId| self.instances[index].values[*value].clone();
        let Some(types) = operation.operands.iter().map(known).collect::<Option<Vec<Type>>>() else {
            return Ok(None);
        };
        let stated = &function.stated[operation.results[0]];
        let operands: Vec<Operand> =
            operation.operands.iter().zip(&types).map(|(value, t)| operand(function, *value, t)).collect();
        let typing = self.semantics.infer(op, &operands).map_err(|refusal| refusal.to_string())?;
        self.instances[index].typings[operation.id] = typing;
        let dtype = typing.map(|typing| typing.result);
        let shapes: Vec<Shape> = types.into_iter().map(|known| known.shape).collect();
        let shape = match op {
            Op::Iota => None,
            _ => Some(shape::result(op, attributes, &shapes)?),
        };
        confront(stated, dtype, shape).map(Some)
    }

    fn call(&mut self, index: usize, operation: &Operation, callee: &str) -> Result<(), String> {
        let Some(&function) = self.program.names.get(callee) else {
            return Err(format!("there is no @{callee}"));
        };
        let called = &self.program.functions[function];
        let mut arguments = Vec::new();
        for (value, argument) in operation.operands.iter().zip(called.arguments()) {
            let stated = &called.stated[*argument];
            arguments.push(match (stated, &self.instances[index].values[*value]) {
                (Stated::Tensor { .. }, None) => return Ok(()),
                (Stated::Tensor { .. }, found) if called.is_generic => found.clone(),
                (stated, _) => complete(stated),
            });
        }
        let same = |other: &Instance| other.function == function && other.arguments == arguments;
        let target = match self.instances.iter().position(same) {
            Some(target) => target,
            None => self.add(function, arguments),
        };
        self.instances[index].targets[operation.id] = Some(target);
        for (result, value) in operation.results.iter().enumerate() {
            self.instances[index].values[*value] = self.instances[target].results[result].clone();
        }
        Ok(())
    }

    /// Joins what flows to a slot, as far as it is known.
    fn slot(&mut self, index: usize, function: &Function, slot: &Slot) {
        let stated = match slot.target {
            Target::Value(value) => &function.stated[value],
            Target::Result(result) => &function.results[result],
        };
        if !matches!(stated, Stated::Tensor { .. }) {
            return;
        }
        let instance = &self.instances[index];
        let known = slot.sources.iter().filter_map(|value| Some((*value, instance.values[*value].clone()?)));
        let known: Vec<(ValueId, Type)> = known.collect();
        let joined = if known.is_empty() { Ok(None) } else { self.join(function, stated, &known).map(Some) };
        let instance = &mut self.instances[index];
        let joined = joined.unwrap_or_else(|refused| {
            instance.refused.get_or_insert(format!("what flows to {:?}: {refused}", slot.target));
            None
        });
        match slot.target {
            Target::Value(value) => instance.values[value] = joined,
            Target::Result(result) => instance.results[result] = joined,
        }
    }

    fn join(
        &self,
        function: &Function,
        stated: &Stated,
        sources: &[(ValueId, Type)],
    ) -> Result<Type, String> {
        let operands: Vec<Operand> =
            sources.iter().map(|(value, known)| operand(function, *value, known)).collect();
        let alike = sources.iter().all(|(_, known)| known.dtype == sources[0].1.dtype);
        let dtype = match alike {
            true => sources[0].1.dtype,
            false => self.semantics.join_slot(&operands).map_err(|refusal| refusal.to_string())?,
        };
        let shapes = sources.iter().map(|(_, known)| &known.shape);
        let shape = shapes.skip(1).try_fold(sources[0].1.shape.clone(), |all, next| {
            shape::broadcast(&all, next)
        })?;
        confront(stated, Some(dtype), Some(shape))
    }

    fn finish(self) -> Result<Types, Error> {
        let mut reached = vec![false; self.instances.len()];
        let mut rest: Vec<usize> = (0..self.instances.len())
            .filter(|index| !self.program.functions[self.instances[*index].function].is_generic)
            .collect();
        while let Some(index) = rest.pop() {
            if std::mem::replace(&mut reached[index], true) {
                continue;
            }
            if let Some(refused) = &self.instances[index].refused {
                return Err(Error::Refused(refused.clone()));
            }
            rest.extend(self.instances[index].targets.iter().copied().flatten());
        }
        Ok(Types { instances: self.instances })
    }
}

/// A value as the dtype rules see it.
fn operand(function: &Function, value: ValueId, known: &Type) -> Operand {
    let origin = match function.literals[value] {
        None => Origin::Value,
        Some(literal) if known.dtype.is_weak() => Origin::Literal(literal),
        Some(literal) => Origin::Constant(literal),
    };
    let rank = match known.shape.len() {
        0 => Rank::Zero,
        1 => Rank::One,
        2 => Rank::Two,
        _ => Rank::More,
    };
    Operand { dtype: known.dtype, rank, origin }
}

/// What is stated and what was inferred, as one type.
fn confront(stated: &Stated, dtype: Option<DType>, inferred: Option<Shape>) -> Result<Type, String> {
    let Stated::Tensor { dtype: stated_dtype, shape: stated_shape } = stated else {
        return Err(format!("{stated:?} is no tensor"));
    };
    let dtype = match (*stated_dtype, dtype) {
        (Some(stated), Some(inferred)) if stated != inferred => {
            return Err(format!("{stated} is stated, and {inferred} inferred"));
        }
        (Some(dtype), _) | (None, Some(dtype)) => dtype,
        (None, None) => return Err("no dtype is stated".to_owned()),
    };
    let shape = match (stated_shape, inferred) {
        (Some(stated), Some(inferred)) => shape::meet(stated, &inferred)?,
        (Some(shape), None) => shape.clone(),
        (None, Some(shape)) => shape,
        (None, None) => return Err("no shape is stated".to_owned()),
    };
    Ok(Type { dtype, shape })
}
