//! Plain Python: `int`, `float` and `complex`, with bool below.
//!
//! The lattice is that of Python's numeric tower, which JEP 9407 begins with. Each type is a weak dtype and, once an array
//! stores it, `i64`, `f64` or `c128`: a program that was promoted under these rules still has them.
//!
//! The rules are those of the operators, the built-in functions and `math`, `cmath`, `statistics` and `itertools`. Bool
//! is an integer in arithmetic. Where Python's type depends on a value, the op has one dtype: `max(1, 2.5)` is of the
//! promoted type; an integer to a power is a float if the exponent is a negative literal, else an integer; and a float to
//! a power is no complex number. What Python says only with several ops (`relu`, `reciprocal`) is refused.

use DType::*;

use super::operand::{Operand, Typing};
use super::refusal::{Accepts, Refusal};
use super::rows::{Compute, OnLattice, Output, Row, Rule, Weakness};
use super::{Defaults, Node, Semantics};
use crate::convert::Numerics;
use crate::dtype::DType;
use crate::lattice::Lattice;
use crate::op::{Class, Op};

const NODES: &[DType] = &[B1, WeakInt, WeakFloat, WeakComplex, I64, F64, C128];

/// `int` → `float` → `complex`, weak and stored.
const EDGES: &[(DType, &[DType])] = &[
    (B1, &[WeakInt]),
    (WeakInt, &[WeakFloat, I64]),
    (WeakFloat, &[WeakComplex, F64]),
    (WeakComplex, &[C128]),
    (I64, &[F64]),
    (F64, &[C128]),
];

/// Bool stands for `int` in arithmetic and for `float` in divisions.
const DEFAULTS: Defaults =
    Defaults { bool_integer: WeakInt, small_float: WeakFloat, ..Defaults::new(I64, F64, C128) };

pub(super) fn python(_: bool) -> Semantics {
    let lattice = Lattice::new(NODES, EDGES).expect("Python's lattice has no cycle, as a test shows");
    let rules = OnLattice::new("python", lattice, DEFAULTS, |dtype| dtype, rule);
    Semantics::on_lattice(rules, NODES.iter().map(|dtype| Node::of(*dtype)).collect(), Numerics::NumPy)
}

const fn row(accepts: Accepts, compute: Compute, output: Output) -> Rule {
    Rule::Together(Row::new(accepts, compute, output, Weakness::Kept))
}

const COPYSIGN: &str = "math.copysign takes the sign of a number over to another";
const EXP: &str = "a program writes it with math.exp";

fn rule(op: Op) -> Rule {
    use Op::*;
    use {Accepts as A, Compute as C, Output as O};
    match op.class() {
        Class::Stated => Rule::Stated,
        Class::Layout => Rule::First,
        Class::Indexing => Rule::Take,
        Class::Joining => Rule::Together(Row::PLAIN),
        Class::Choice => match op {
            Clip => row(A::REAL, C::Join, O::Compute),
            _ => Rule::Where(Row::PLAIN),
        },
        Class::Part => match op {
            Conj => row(A::ANY, C::BoolToInt, O::Compute),
            Angle => row(A::ANY, C::Inexact, O::RealPart),
            _ => row(A::ANY, C::BoolToInt, O::RealPart),
        },
        Class::Sign => match op {
            Abs => row(A::ANY, C::BoolToInt, O::RealPart),
            Sign => Rule::None(COPYSIGN),
            Relu => Rule::None("a program writes max(x, 0)"),
            _ => row(A::ANY, C::BoolToInt, O::Compute),
        },
        Class::Rounding | Class::Index => Rule::Own(integer),
        Class::Function => match op {
            Rsqrt => Rule::None("a program writes 1 / math.sqrt(x)"),
            Sigmoid => Rule::None(EXP),
            Reciprocal => Rule::None("a program writes 1 / x"),
            Sinc => Rule::None("a program writes it with math.sin"),
            // `cmath` does not have these.
            Cbrt | Exp2 | Expm1 | Log2 | Log1p => row(A::REAL, C::Inexact, O::Compute),
            _ => row(A::ANY, C::Inexact, O::Compute),
        },
        Class::SpecialFunction => row(A::REAL, C::Inexact, O::Compute),
        Class::Predicate => match op {
            SignBit => Rule::None(COPYSIGN),
            _ => row(A::ANY, C::Inexact, O::Bool),
        },
        Class::Logical | Class::Truth => row(A::ANY, C::Join, O::Bool),
        Class::Bitwise => match op {
            BitwiseInvert => row(A::BITS, C::BoolToInt, O::Compute),
            _ => row(A::BITS, C::Join, O::Compute),
        },
        Class::Shift | Class::IntegerPair => row(A::BITS, C::BoolToInt, O::Compute),
        Class::Arithmetic => match op {
            Divide => row(A::ANY, C::Inexact, O::Compute),
            FloorDivide | Remainder => row(A::REAL, C::BoolToInt, O::Compute),
            Fmod => row(A::REAL, C::Inexact, O::Compute),
            Pow => Rule::Own(power),
            _ => row(A::ANY, C::BoolToInt, O::Compute),
        },
        Class::Extremum | Class::Order => row(A::REAL, C::Join, O::Compute),
        Class::FloatPair => match op {
            LogAddExp => Rule::None(EXP),
            _ => row(A::REAL, C::Inexact, O::Compute),
        },
        Class::Comparison => match op {
            Equal | NotEqual => row(A::ANY, C::Join, O::Bool),
            _ => row(A::REAL, C::Join, O::Bool),
        },
        Class::Accumulation => row(A::ANY, C::BoolToInt, O::Compute),
        Class::Moment => row(A::REAL, C::Inexact, O::Compute),
        Class::Exponential => Rule::None(EXP),
        Class::Product => Rule::None("no built-in type has the operator @"),
    }
}

/// `**`: an integer to the power of a negative literal is a float; a computed exponent counts as not negative.
fn power(python: &OnLattice, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let negative = operands.get(1).is_some_and(|exponent| exponent.is_negative_literal());
    let compute = if negative { Compute::Inexact } else { Compute::BoolToInt };
    python.together(op, Row { compute, ..Row::PLAIN }, operands)
}

/// The functions that answer with an integer: a rounded number, an index, a count.
fn integer(python: &OnLattice, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let accepts = if op == Op::CountNonzero { Accepts::ANY } else { Accepts::REAL };
    let row = Row { accepts, compute: Compute::BoolToInt, ..Row::PLAIN };
    let typing = python.together(op, row, operands)?;
    Ok(Typing { result: if typing.result.is_weak() { WeakInt } else { I64 }, ..typing })
}
