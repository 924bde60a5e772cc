//! A function that is being built: its arguments, constants, calls, loops and branches.

use std::cell::{RefCell, RefMut};
use std::ops::Range;
use std::panic::Location as Caller;
use std::rc::Rc;

use promote_diagnostics::Location;
use promote_lattice::convert::{self, Literal, Numerics};
use promote_lattice::{DType, Op};

use crate::error::Problem;
use crate::program::{Attribute, Body, Elements, Id, Kind, Type};
use crate::recorder::Recorder;
use crate::value::{Operand as _, Value};

/// A function that is being built. Clones are the same function.
#[derive(Clone, Debug)]
pub struct Func {
    pub(crate) recorder: Rc<RefCell<Recorder>>,
}

/// A function that can be called: what [`Builder::function`](crate::Builder::function) returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Callee {
    pub(crate) name: String,
    pub(crate) inputs: Vec<Type>,
    pub(crate) results: Vec<Type>,
}

/// What flows through a loop or comes out of a branch: a value, several in an array or a vector, or `()`.
pub trait Values: Clone {
    /// The values, in order.
    fn values(&self) -> Vec<Value>;

    /// As many values, each made of one.
    fn map(&self, each: impl FnMut(&Value) -> Value) -> Self;
}

impl Values for () {
    fn values(&self) -> Vec<Value> {
        Vec::new()
    }

    fn map(&self, _: impl FnMut(&Value) -> Value) -> Self {}
}

impl Values for Value {
    fn values(&self) -> Vec<Value> {
        vec![self.clone()]
    }

    fn map(&self, mut each: impl FnMut(&Value) -> Value) -> Self {
        each(self)
    }
}

impl<const N: usize> Values for [Value; N] {
    fn values(&self) -> Vec<Value> {
        self.to_vec()
    }

    fn map(&self, each: impl FnMut(&Value) -> Value) -> Self {
        self.each_ref().map(each)
    }
}

impl Values for Vec<Value> {
    fn values(&self) -> Vec<Value> {
        self.clone()
    }

    fn map(&self, each: impl FnMut(&Value) -> Value) -> Self {
        self.iter().map(each).collect()
    }
}

impl Func {
    pub(crate) fn new() -> Self {
        Self { recorder: Rc::new(RefCell::new(Recorder::new())) }
    }

    /// The recorder. It is held for no longer than an op takes, and for no closure.
    pub(crate) fn recorder(&self) -> RefMut<'_, Recorder> {
        self.recorder.borrow_mut()
    }

    pub(crate) fn value(&self, id: Id) -> Value {
        Value { func: self.clone(), id }
    }

    pub(crate) fn place(&self, caller: &Caller<'_>) -> Location {
        self.recorder().place(caller)
    }

    /// Says where what is built next was written, as in the source of a front end; `None`: where the call in Rust is.
    pub fn set_place(&self, place: Option<Location>) {
        self.recorder().set_place(place);
    }

    /// The next argument: a tensor of a dtype, which may be weak, with these extents, `None` where a run knows them.
    #[track_caller]
    pub fn argument(&self, dtype: DType, extents: &[Option<i64>]) -> Value {
        let place = self.place(Caller::caller());
        let r#type = self.tensor(dtype, extents, &place);
        self.argument_of(r#type, place)
    }

    /// The next argument, of whatever type the calls of the function have. The function must be
    /// [private](crate::Builder::private).
    #[track_caller]
    pub fn generic(&self) -> Value {
        self.argument_of(Type::UNKNOWN, self.place(Caller::caller()))
    }

    fn argument_of(&self, r#type: Type, place: Location) -> Value {
        let id = self.recorder().define_argument(r#type, place);
        self.value(id)
    }

    pub(crate) fn tensor(&self, dtype: DType, extents: &[Option<i64>], place: &Location) -> Type {
        if let Some(negative) = extents.iter().flatten().find(|extent| **extent < 0) {
            self.recorder().refuse(place, Problem::Extent(*negative));
        }
        Type::tensor(dtype, extents)
    }

    /// A number as Python has it, which takes the dtype of what it meets. A number beside an operator is one anyway.
    #[track_caller]
    pub fn literal(&self, literal: Literal) -> Value {
        self.weak(literal, &self.place(Caller::caller()))
    }

    /// A tensor of a strong dtype, of which the elements are given in row-major order, rounded to the dtype. A single one stands
    /// for all.
    #[track_caller]
    pub fn constant(&self, dtype: DType, shape: &[i64], elements: &[Literal]) -> Value {
        let place = self.place(Caller::caller());
        let extents: Vec<_> = shape.iter().copied().map(Some).collect();
        let result = self.tensor(dtype, &extents, &place);
        let found = elements.len();
        let expected = count(shape);
        if expected.is_none_or(|expected| found != expected && (found != 1 || expected == 0)) {
            self.recorder().refuse(&place, Problem::Elements { shape: shape.to_vec(), found });
        }
        let bits = elements.iter().map(|literal| self.element(*literal, dtype, &place)).collect();
        let elements = Elements { dtype: dtype.storage(), shape: shape.to_vec(), bits };
        let value = vec![("value".to_owned(), Attribute::Elements(elements))];
        self.record(Op::Constant, &[], value, result, Caller::caller())
    }

    fn element(&self, literal: Literal, dtype: DType, place: &Location) -> convert::Bits {
        let made = convert::literal(literal, dtype.storage(), Numerics::NumPy);
        if !made.in_range {
            self.recorder().refuse(place, Problem::Range { literal, dtype });
        }
        made.bits
    }

    /// The index of each element along a dimension, as a tensor of a strong dtype.
    #[track_caller]
    pub fn iota(&self, dtype: DType, extents: &[Option<i64>], axis: i64) -> Value {
        let place = self.place(Caller::caller());
        let result = self.tensor(dtype, extents, &place);
        self.record(Op::Iota, &[], vec![("axis".to_owned(), axis.into())], result, Caller::caller())
    }

    /// Any op of the dialect, by its row of the op table. Its result is [`Type::UNKNOWN`], unless the op must state it.
    #[track_caller]
    pub fn op(&self, op: Op, operands: &[&Value], attributes: &[(&str, Attribute)], result: Type) -> Value {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        self.record(op, operands, attributes.collect(), result, Caller::caller())
    }

    /// Calls a function of the program.
    #[track_caller]
    pub fn call(&self, callee: &Callee, arguments: &[&Value]) -> Vec<Value> {
        let place = self.place(Caller::caller());
        let arguments = self.ids(arguments.iter().copied(), &place);
        let mut recorder = self.recorder();
        let (expected, found) = (callee.inputs.len(), arguments.len());
        if expected != found {
            let problem = Problem::Arguments { callee: callee.name.clone(), expected, found };
            recorder.refuse(&place, problem);
        }
        let taken = arguments.iter().zip(&callee.inputs);
        let operands = taken.map(|(value, r#type)| recorder.relaxed(*value, r#type, &place)).collect();
        let kind = Kind::Call(callee.name.clone());
        let results = recorder.add(kind, operands, callee.results.clone(), Vec::new(), &place);
        drop(recorder);
        results.into_iter().map(|id| self.value(id)).collect()
    }

    /// A loop over a range, as Python's `for i in range(…)`: the body takes the index, a Python int, and the carries, and
    /// returns the carries of the next iteration.
    ///
    /// A carry has the join of the types that flow to it. A vector must have as many values as went in.
    #[track_caller]
    pub fn for_range<C: Values>(
        &self,
        range: Range<i64>,
        carries: C,
        body: impl FnOnce(&Value, C) -> C,
    ) -> C {
        let place = self.place(Caller::caller());
        self.recorder().open();
        let (counter, index) = {
            let mut recorder = self.recorder();
            (recorder.define(Type::Index), recorder.define(Type::UNKNOWN))
        };
        let (taken, inner) = self.taken(&carries);
        let yielded = body(&self.value(index), inner).values();
        let mut yielded = self.yielded(&yielded, taken.len(), &place);
        // The index is a carry like others, but for a body that does not look at it.
        let is_used = self.recorder().is_used(index);
        if is_used {
            let value = self.value(index);
            let next = value.func.record_at(Op::Add, &[&value, &1.beside(&value, &place)], &place);
            yielded.push(self.recorder().relaxed(next.id, &Type::UNKNOWN, &place));
        }
        let mut block = self.close(Kind::Yield, yielded, &place);
        let indices = [counter].into_iter().chain(taken).chain(is_used.then_some(index));
        block.arguments = indices.map(|id| (id, place.clone())).collect();

        let mut operands: Vec<_> =
            [range.start, range.end.max(range.start), 1].map(|bound| self.bound(bound, &place)).into();
        operands.extend(self.relaxed(&carries, &place));
        if is_used {
            let first = self.weak(Literal::Int(range.start), &place);
            operands.push(self.recorder().relaxed(first.id, &Type::UNKNOWN, &place));
        }
        let results = vec![Type::UNKNOWN; operands.len() - 3];
        let results = self.recorder().add(Kind::For, operands, results, vec![block], &place);
        self.results(&carries, &results)
    }

    /// A loop: as long as the condition holds, which takes the carries, the body makes new carries of them.
    #[track_caller]
    pub fn while_<C: Values>(
        &self,
        carries: C,
        condition: impl FnOnce(C) -> Value,
        body: impl FnOnce(C) -> C,
    ) -> C {
        let place = self.place(Caller::caller());
        let operands = self.relaxed(&carries, &place);

        self.recorder().open();
        let (taken, inner) = self.taken(&carries);
        let holds = self.bit(&condition(inner), &place);
        let mut passed = vec![holds];
        passed.extend(&taken);
        let mut before = self.close(Kind::Condition, passed, &place);
        before.arguments = taken.into_iter().map(|id| (id, place.clone())).collect();

        self.recorder().open();
        let (taken, inner) = self.taken(&carries);
        let yielded = self.yielded(&body(inner).values(), taken.len(), &place);
        let mut after = self.close(Kind::Yield, yielded, &place);
        after.arguments = taken.into_iter().map(|id| (id, place.clone())).collect();

        let results = vec![Type::UNKNOWN; operands.len()];
        let results = self.recorder().add(Kind::While, operands, results, vec![before, after], &place);
        self.results(&carries, &results)
    }

    /// What one of two closures returns: the first if the condition holds, which is a number, true unless it is zero.
    #[track_caller]
    pub fn if_<C: Values>(
        &self,
        condition: &Value,
        then: impl FnOnce() -> C,
        otherwise: impl FnOnce() -> C,
    ) -> C {
        let place = self.place(Caller::caller());
        let condition = self.bit(condition, &place);
        self.recorder().open();
        let returned = then();
        let count = returned.values().len();
        let yielded = self.yielded(&returned.values(), count, &place);
        let then = self.close(Kind::Yield, yielded, &place);
        self.recorder().open();
        let yielded = self.yielded(&otherwise().values(), count, &place);
        let otherwise = self.close(Kind::Yield, yielded, &place);
        let results = vec![Type::UNKNOWN; count];
        let results = self.recorder().add(Kind::If, vec![condition], results, vec![then, otherwise], &place);
        self.results(&returned, &results)
    }

    /// An op of the dialect at a place.
    fn record_at(&self, op: Op, operands: &[&Value], place: &Location) -> Value {
        let operands = self.ids(operands.iter().copied(), place);
        let id = self.recorder().op(op, operands, Vec::new(), Type::UNKNOWN, place);
        self.value(id)
    }

    fn bound(&self, value: i64, place: &Location) -> Id {
        self.recorder().value(Kind::Index(value), Vec::new(), Type::Index, place)
    }

    /// What is branched on: whether a number is not zero.
    fn bit(&self, condition: &Value, place: &Location) -> Id {
        let condition = self.own(condition, place);
        let mut recorder = self.recorder();
        let bool = Type::tensor(DType::B1, &[]);
        let truth = match *recorder.type_of(condition) == bool {
            true => condition,
            false => recorder.op(Op::Convert, vec![condition], Vec::new(), bool, place),
        };
        recorder.value(Kind::Extract, vec![truth], Type::Bit, place)
    }

    /// New values for what a body takes.
    fn taken<C: Values>(&self, carries: &C) -> (Vec<Id>, C) {
        let mut taken = Vec::new();
        let inner = carries.map(|_| {
            let id = self.recorder().define(Type::UNKNOWN);
            taken.push(id);
            self.value(id)
        });
        (taken, inner)
    }

    /// Values as what flows to slots of unknown type.
    fn relaxed<C: Values>(&self, values: &C, place: &Location) -> Vec<Id> {
        let ids = self.ids(&values.values(), place);
        ids.into_iter().map(|id| self.recorder().relaxed(id, &Type::UNKNOWN, place)).collect()
    }

    /// What a body returns.
    fn yielded(&self, values: &Vec<Value>, expected: usize, place: &Location) -> Vec<Id> {
        if values.len() != expected {
            let problem = Problem::Results { expected, found: values.len() };
            self.recorder().refuse(place, problem);
        }
        self.relaxed(values, place)
    }

    fn close(&self, terminator: Kind, operands: Vec<Id>, place: &Location) -> Body {
        let mut recorder = self.recorder();
        recorder.add(terminator, operands, Vec::new(), Vec::new(), place);
        recorder.close()
    }

    /// The results of a loop or branch, in the form of what went in.
    fn results<C: Values>(&self, like: &C, results: &[Id]) -> C {
        let mut results = results.iter();
        // There are as many as values in `like`, of which they were counted.
        like.map(|value| results.next().map_or_else(|| value.clone(), |id| self.value(*id)))
    }
}

/// How many elements a tensor has, if there can be one of the shape.
fn count(shape: &[i64]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |all, extent| all.checked_mul(usize::try_from(*extent).ok()?))
}
