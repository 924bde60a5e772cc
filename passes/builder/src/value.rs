//! Values, what stands for one, and the operators on them.

use std::ops;
use std::panic::Location as Caller;
use std::rc::Rc;

use promote_diagnostics::Location;
use promote_lattice::convert::Literal;
use promote_lattice::{DType, Op};

use crate::error::Problem;
use crate::func::Func;
use crate::program::{Attribute, Elements, Id, Type};

/// A value of a function that is being built. It is a name for what an op computes: clones are the same value.
///
/// Each op of the dialect is a method, made from the op table; `+ - * / % & | ^ << >>`, unary `-` and `!` (of bits, hence of
/// bools) are operators, in which a number of Rust may stand on either side. A number is a weak literal, as a number in
/// Python is: it takes the dtype of what it meets.
#[derive(Clone, Debug)]
pub struct Value {
    pub(crate) func: Func,
    pub(crate) id: Id,
}

/// What may be an operand beside a value: a value, or a number.
pub trait Operand {
    /// The value, made at `place` in the function of `beside` if it is a number.
    fn beside(&self, beside: &Value, place: &Location) -> Value;
}

impl Operand for Value {
    fn beside(&self, _: &Value, _: &Location) -> Value {
        self.clone()
    }
}

impl<T: Operand> Operand for &T {
    fn beside(&self, beside: &Value, place: &Location) -> Value {
        (*self).beside(beside, place)
    }
}

impl Operand for Literal {
    fn beside(&self, beside: &Value, place: &Location) -> Value {
        beside.func.weak(*self, place)
    }
}

impl Operand for bool {
    fn beside(&self, beside: &Value, place: &Location) -> Value {
        beside.func.scalar(DType::B1, u128::from(*self), place)
    }
}

/// Which dimensions an op is of: `0`, `[0, -1]`, a vector, or `()` for what the op does without the attribute.
#[derive(Clone, Debug, Default)]
pub struct Axes(Option<Vec<i64>>);

impl From<()> for Axes {
    fn from((): ()) -> Self {
        Self(None)
    }
}

impl From<i64> for Axes {
    fn from(axis: i64) -> Self {
        Self(Some(vec![axis]))
    }
}

impl<const N: usize> From<[i64; N]> for Axes {
    fn from(axes: [i64; N]) -> Self {
        Self(Some(axes.into()))
    }
}

impl From<Vec<i64>> for Axes {
    fn from(axes: Vec<i64>) -> Self {
        Self(Some(axes))
    }
}

impl Value {
    /// Its type so far: what the program states, or [`Type::UNKNOWN`].
    pub fn type_of(&self) -> Type {
        self.func.recorder().type_of(self.id).clone()
    }

    /// The value in a dtype, explicitly. The dtype must be strong.
    #[track_caller]
    pub fn convert(&self, dtype: DType) -> Value {
        let result = match self.type_of() {
            Type::Tensor { shape, .. } => Type::Tensor { dtype: Some(dtype), shape },
            Type::Index | Type::Bit => Type::UNKNOWN,
        };
        self.func.record(Op::Convert, &[self], Vec::new(), result, Caller::caller())
    }

    /// The same value, of which the program states the type: the passes refuse it if it is another.
    #[track_caller]
    pub fn stated(&self, dtype: DType, extents: &[Option<i64>]) -> Value {
        let place = self.func.place(Caller::caller());
        let result = self.func.tensor(dtype, extents, &place);
        self.func.record(Op::Relax, &[self], Vec::new(), result, Caller::caller())
    }

    /// Gives the op that defines the value an attribute: `x.sum(0).with("keepdims", true)`.
    #[track_caller]
    pub fn with(self, name: &str, attribute: impl Into<Attribute>) -> Value {
        let place = self.func.place(Caller::caller());
        self.func.recorder().set_attribute(self.id, name, attribute.into(), &place);
        self
    }

    /// An op of the value and other operands; attributes that are not given are left out.
    fn apply(
        &self,
        op: Op,
        others: &[&dyn Operand],
        attributes: Vec<(&str, Option<Attribute>)>,
        caller: &Caller<'_>,
    ) -> Value {
        let place = self.func.place(caller);
        let others: Vec<_> = others.iter().map(|other| other.beside(self, &place)).collect();
        let operands: Vec<_> = std::iter::once(self).chain(&others).collect();
        let given = attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        self.func.record(op, &operands, given.collect(), Type::UNKNOWN, caller)
    }
}

include!(concat!(env!("OUT_DIR"), "/methods.rs"));

macro_rules! numbers {
    ($($number:ty => $literal:expr;)*) => { $(
        impl Operand for $number {
            fn beside(&self, beside: &Value, place: &Location) -> Value {
                let literal: fn($number) -> Literal = $literal;
                beside.func.weak(literal(*self), place)
            }
        }
    )* };
}

numbers! {
    i32 => |number| Literal::Int(number.into());
    i64 => Literal::Int;
    f32 => |number| Literal::Float(number.into());
    f64 => Literal::Float;
}

/// Numbers on the left: one type of integers and one of floats, so that Rust knows which a number without a suffix is.
macro_rules! numbers_on_the_left {
    ($($op:ident $method:ident $operator:ident;)*) => {
        $(numbers_on_the_left! { @ $op $method $operator i64 f64 })*
    };
    (@ $op:ident $method:ident $operator:ident $($number:ty)*) => { $(
        impl ops::$operator<&Value> for $number {
            type Output = Value;

            #[track_caller]
            fn $method(self, value: &Value) -> Value {
                let place = value.func.place(Caller::caller());
                self.beside(value, &place).apply(Op::$op, &[value], Vec::new(), Caller::caller())
            }
        }

        impl ops::$operator<Value> for $number {
            type Output = Value;

            #[track_caller]
            fn $method(self, value: Value) -> Value {
                ops::$operator::$method(self, &value)
            }
        }
    )* };
}

numbers_on_the_left! {
    Add add Add;
    Subtract sub Sub;
    Multiply mul Mul;
    Divide div Div;
    Remainder rem Rem;
    BitwiseAnd bitand BitAnd;
    BitwiseOr bitor BitOr;
    BitwiseXor bitxor BitXor;
}

macro_rules! operators {
    ($($op:ident $method:ident $operator:ident;)*) => { $(
        impl<T: Operand> ops::$operator<T> for &Value {
            type Output = Value;

            #[track_caller]
            fn $method(self, other: T) -> Value {
                self.apply(Op::$op, &[&other], Vec::new(), Caller::caller())
            }
        }

        impl<T: Operand> ops::$operator<T> for Value {
            type Output = Value;

            #[track_caller]
            fn $method(self, other: T) -> Value {
                self.apply(Op::$op, &[&other], Vec::new(), Caller::caller())
            }
        }
    )* };
}

operators! {
    Add add Add;
    Subtract sub Sub;
    Multiply mul Mul;
    Divide div Div;
    Remainder rem Rem;
    BitwiseAnd bitand BitAnd;
    BitwiseOr bitor BitOr;
    BitwiseXor bitxor BitXor;
    BitwiseLeftShift shl Shl;
    BitwiseRightShift shr Shr;
}

macro_rules! prefixes {
    ($($op:ident $method:ident $operator:ident;)*) => { $(
        impl ops::$operator for &Value {
            type Output = Value;

            #[track_caller]
            fn $method(self) -> Value {
                self.apply(Op::$op, &[], Vec::new(), Caller::caller())
            }
        }

        impl ops::$operator for Value {
            type Output = Value;

            #[track_caller]
            fn $method(self) -> Value {
                self.apply(Op::$op, &[], Vec::new(), Caller::caller())
            }
        }
    )* };
}

prefixes! {
    Negative neg Neg;
    BitwiseInvert not Not;
}

impl Func {
    /// The dialect's op on values of the function, of which the ids are recorded.
    pub(crate) fn record(
        &self,
        op: Op,
        operands: &[&Value],
        attributes: Vec<(String, Attribute)>,
        result: Type,
        caller: &Caller<'_>,
    ) -> Value {
        let place = self.place(caller);
        let operands = self.ids(operands.iter().copied(), &place);
        let id = self.recorder().op(op, operands, attributes, result, &place);
        self.value(id)
    }

    /// The ids of values, of which those of other functions are refused.
    pub(crate) fn ids<'a>(&self, values: impl IntoIterator<Item = &'a Value>, place: &Location) -> Vec<Id> {
        values.into_iter().map(|value| self.own(value, place)).collect()
    }

    /// The id of a value; of another function's, that of one that stands for it in a program that is refused.
    pub(crate) fn own(&self, value: &Value, place: &Location) -> Id {
        if Rc::ptr_eq(&self.recorder, &value.func.recorder) {
            return value.id;
        }
        let mut recorder = self.recorder();
        recorder.refuse(place, Problem::OtherFunction);
        recorder.define(Type::UNKNOWN)
    }

    /// A weak literal.
    pub(crate) fn weak(&self, literal: Literal, place: &Location) -> Value {
        let elements = (literal.dtype().storage(), literal.bits());
        self.constant_of(elements, literal.dtype(), place)
    }

    /// A number of a strong dtype.
    fn scalar(&self, dtype: DType, bits: u128, place: &Location) -> Value {
        self.constant_of((dtype, bits), dtype, place)
    }

    fn constant_of(&self, (dtype, bits): (DType, u128), result: DType, place: &Location) -> Value {
        let elements = Elements { dtype, shape: Vec::new(), bits: vec![bits] };
        let attributes = vec![("value".to_owned(), Attribute::Elements(elements))];
        let result = Type::tensor(result, &[]);
        let id = self.recorder().op(Op::Constant, Vec::new(), attributes, result, place);
        self.value(id)
    }
}
