//! Types: the dtype and shape of every value, before anything runs.
//!
//! An *instance* is a function with the types of its arguments: a generic function has one for each list of types that a
//! call passes. [`infer`] keeps a table of them all, with the types of their results, unknown at first. A round solves each
//! instance anew: with all its values unknown, it lets the types that are known flow through the slots as far as they go, and
//! then computes every op, again and again, until nothing changes; calls take the results that the table has. Rounds go on
//! until the table does not change.
//!
//! Not all dtype rules are monotone (in JAX, `i32 ≤ f*`, and yet `sin` of `i32` is `f32` and of `f*` is `f*`), so the order
//! matters: what an op makes of a type that a slot has only for a while must not be kept in a loop.

use promote_lattice::semantics::{Operand, Origin, Rank, Typing};
use promote_lattice::{DType, Op, Semantics};

use crate::Error;
use crate::program::{Attributes, Function, Kind, Operation, Program, Region, Slot, Stated, Target, ValueId};
use crate::shape::{self, Shape};

/// More rounds than any program of a sensible size takes, if its types settle at all.
const MAX_ROUNDS: usize = 60;

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
    /// What was refused in the last iteration.
    pub refused: Option<String>,
    /// Whether nothing changed any more in it.
    pub settled: bool,
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
        for index in table.reached() {
            let solved = table.solve(index);
            changed |= !solved.settled || solved != table.instances[index];
            table.instances[index] = solved;
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
    /// The instance of a function, of which nothing but its arguments is known.
    fn unsolved(&self, function: usize, arguments: Vec<Option<Type>>) -> Instance {
        let body = &self.program.functions[function];
        let mut values = vec![None; body.stated.len()];
        body.arguments().iter().zip(&arguments).for_each(|(value, known)| values[*value] = known.clone());
        Instance {
            function,
            arguments,
            values,
            results: vec![None; body.results.len()],
            typings: vec![None; body.operations()],
            targets: vec![None; body.operations()],
            refused: None,
            settled: false,
        }
    }

    fn add(&mut self, function: usize, arguments: Vec<Option<Type>>) -> usize {
        let instance = self.unsolved(function, arguments);
        self.instances.push(instance);
        self.instances.len() - 1
    }

    /// Solves an instance with the results that the table has for what it calls.
    fn solve(&mut self, index: usize) -> Instance {
        let program = self.program;
        let known = &self.instances[index];
        let function = &program.functions[known.function];
        let mut instance = self.unsolved(known.function, known.arguments.clone());
        for _ in 0..MAX_ROUNDS {
            let before = instance.clone();
            self.flow(&mut instance, function);
            self.region(&mut instance, function, &function.body);
            if instance == before {
                instance.settled = true;
                break;
            }
        }
        instance
    }

    /// Lets types flow through the slots, all unknown at first, until nothing changes.
    fn flow(&self, instance: &mut Instance, function: &Function) {
        for slot in &function.slots {
            match slot.target {
                Target::Value(value) => instance.values[value] = None,
                Target::Result(result) => instance.results[result] = None,
            }
        }
        for _ in 0..MAX_ROUNDS {
            let before = (instance.values.clone(), instance.results.clone());
            instance.refused = None;
            function.slots.iter().for_each(|slot| self.slot(instance, function, slot));
            if before == (instance.values.clone(), instance.results.clone()) {
                return;
            }
        }
    }

    fn region(&mut self, instance: &mut Instance, function: &Function, region: &Region) {
        for operation in region.blocks.iter().flat_map(|block| &block.operations) {
            if let Err(refused) = self.operation(instance, function, operation) {
                instance.refused.get_or_insert(format!("{:?}: {refused}", operation.kind));
                operation.results.iter().for_each(|value| instance.values[*value] = None);
            }
            operation.regions.iter().for_each(|region| self.region(instance, function, region));
        }
    }

    fn operation(
        &mut self,
        instance: &mut Instance,
        function: &Function,
        operation: &Operation,
    ) -> Result<(), String> {
        match &operation.kind {
            Kind::Constant(array) => {
                let found = Type { dtype: array.dtype, shape: shape::known(&array.shape) };
                instance.values[operation.results[0]] = Some(found);
            }
            Kind::Promote(op, attributes) => {
                let found = self.promote(instance, function, operation, *op, attributes)?;
                instance.values[operation.results[0]] = found;
            }
            Kind::Call(callee) => self.call(instance, operation, callee)?,
            Kind::Cast | Kind::Poison => {
                instance.values[operation.results[0]] = complete(&function.stated[operation.results[0]]);
            }
            _ => {}
        }
        Ok(())
    }

    /// The type of the result of an op of the dialect, if those of its operands are known.
    fn promote(
        &self,
        instance: &mut Instance,
        function: &Function,
        operation: &Operation,
        op: Op,
        attributes: &Attributes,
    ) -> Result<Option<Type>, String> {
        let known = |value: &ValueId| instance.values[*value].clone();
        let Some(types) = operation.operands.iter().map(known).collect::<Option<Vec<Type>>>() else {
            return Ok(None);
        };
        let operands: Vec<Operand> =
            operation.operands.iter().zip(&types).map(|(value, t)| operand(function, *value, t)).collect();
        let typing = self.semantics.infer(op, &operands).map_err(|refusal| refusal.to_string())?;
        instance.typings[operation.id] = typing;
        let shapes: Vec<Shape> = types.into_iter().map(|known| known.shape).collect();
        let shape = match op {
            Op::Iota => None,
            _ => Some(shape::result(op, attributes, &shapes)?),
        };
        let stated = &function.stated[operation.results[0]];
        confront(stated, typing.map(|typing| typing.result), shape).map(Some)
    }

    fn call(&mut self, instance: &mut Instance, operation: &Operation, callee: &str) -> Result<(), String> {
        let program = self.program;
        let function = *program.names.get(callee).ok_or_else(|| format!("there is no @{callee}"))?;
        let called = &program.functions[function];
        let mut arguments = Vec::new();
        for (value, argument) in operation.operands.iter().zip(called.arguments()) {
            let stated = &called.stated[*argument];
            arguments.push(match (stated, &instance.values[*value]) {
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
        instance.targets[operation.id] = Some(target);
        for (value, result) in operation.results.iter().zip(&self.instances[target].results) {
            // While nothing is known of a new instance, the results are those of the one before.
            if result.is_some() {
                instance.values[*value] = result.clone();
            }
        }
        Ok(())
    }

    /// Joins what flows to a slot, as far as it is known.
    fn slot(&self, instance: &mut Instance, function: &Function, slot: &Slot) {
        let stated = match slot.target {
            Target::Value(value) => &function.stated[value],
            Target::Result(result) => &function.results[result],
        };
        if !matches!(stated, Stated::Tensor { .. }) {
            return;
        }
        let known = slot.sources.iter().filter_map(|value| Some((*value, instance.values[*value].clone()?)));
        let known: Vec<(ValueId, Type)> = known.collect();
        let mask = slot.mask.and_then(|mask| instance.values[mask].clone());
        let joined = match known.is_empty() {
            true => Ok(None),
            false => self.join(function, stated, &known, mask).map(Some),
        };
        let init = instance.values[slot.sources[0]].as_ref().filter(|_| slot.is_carry);
        let joined = joined.map(|joined| match (joined, init) {
            (Some(Type { dtype, shape }), Some(init)) => {
                Some(Type { dtype: self.semantics.join_carry(init.dtype, dtype), shape })
            }
            (joined, _) => joined,
        });
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
        mask: Option<Type>,
    ) -> Result<Type, String> {
        let operands: Vec<Operand> =
            sources.iter().map(|(value, known)| operand(function, *value, known)).collect();
        let alike = sources.iter().all(|(_, known)| known.dtype == sources[0].1.dtype);
        let dtype = match alike {
            true => sources[0].1.dtype,
            false => self.semantics.join_slot(&operands).map_err(|refusal| refusal.to_string())?,
        };
        let mut shapes =
            sources.iter().map(|(_, known)| &known.shape).chain(mask.as_ref().map(|mask| &mask.shape));
        let shape = shapes.try_fold(Vec::new(), |all, next| shape::broadcast(&all, next))?;
        confront(stated, Some(dtype), Some(shape))
    }

    /// The instances that may be run, as far as is known: those of functions that are not generic, and what they call.
    /// Others were made on the way, for types that a value no longer has.
    fn reached(&self) -> Vec<usize> {
        let generic = |instance: &Instance| self.program.functions[instance.function].is_generic;
        let mut reached: Vec<usize> =
            (0..self.instances.len()).filter(|index| !generic(&self.instances[*index])).collect();
        let mut next = 0;
        while let Some(index) = reached.get(next) {
            let called = self.instances[*index].targets.iter().copied().flatten();
            for target in called {
                if !reached.contains(&target) {
                    reached.push(target);
                }
            }
            next += 1;
        }
        reached
    }

    fn finish(self) -> Result<Types, Error> {
        match self.reached().into_iter().find_map(|index| self.instances[index].refused.clone()) {
            Some(refused) => Err(Error::Refused(refused)),
            None => Ok(Types { instances: self.instances }),
        }
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
