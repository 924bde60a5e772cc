//! The Array API standard, 2024.12 and 2025.12: what it defines, and nothing else.
//!
//! The standard promotes within a kind: integers with integers, real with real and complex floating-point numbers. What it
//! leaves undefined (bool with numbers, integers with floats, `u64` with signed integers, integers in float functions)
//! libraries answer in different ways, so here it is refused, and a program that passes means the same in all of them.
//!
//! A Python scalar takes the dtype of the array it meets if that is of its kind or a higher one; without an array there is
//! nothing to take. Zero-dimensional arrays are arrays as others.
//!
//! Where `array_api_strict` computes more than the standard defines (`matmul` of different kinds, ordering of a float and a
//! complex scalar), the standard decides.

use DType::*;

use super::operand::{Operand, Origin, Typing, dtypes};
use super::refusal::{Accepts, Refusal};
use super::rows::{Compute, OnLattice, Output, Row, Rule, Weakness};
use super::{Defaults, Node, Rules, Semantics};
use crate::convert::{Literal, Numerics};
use crate::dtype::{DType, Kind};
use crate::lattice::{Lattice, NoJoin};
use crate::op::{Class, Op};

/// The standard's dtypes and Python's scalars.
const NODES: &[DType] =
    &[B1, U8, U16, U32, U64, I8, I16, I32, I64, F32, F64, C64, C128, WeakInt, WeakFloat, WeakComplex];

const EDGES: &[(DType, &[DType])] = &[
    (WeakInt, &[U8, I8, WeakFloat]),
    (WeakFloat, &[F32, WeakComplex]),
    (WeakComplex, &[C64]),
    (U8, &[U16, I16]),
    (U16, &[U32, I32]),
    (U32, &[U64, I64]),
    (I8, &[I16]),
    (I16, &[I32]),
    (I32, &[I64]),
    (F32, &[F64, C64]),
    (F64, &[C128]),
    (C64, &[C128]),
];

pub(super) fn standard(_: bool) -> Semantics {
    let lattice =
        Lattice::new(NODES, EDGES).expect("the standard's promotions have no cycle, as a test shows");
    let defaults = Defaults { unsigned: U64, ..Defaults::new(I64, F64, C128) };
    let rules = ArrayApi(OnLattice::new("array-api", lattice, defaults, |dtype| dtype, rule));
    let (strong, weak) = NODES.split_at(13);
    let of = |dtypes: &[DType]| dtypes.iter().map(|dtype| Node::of(*dtype)).collect::<Vec<_>>();
    let nodes = [of(strong), vec![Node::PYTHON_BOOL], of(weak)].concat();
    let semantics = Semantics::by_rules("array-api".into(), rules, nodes, Numerics::NumPy);
    Semantics { defaults, has_pythons_operators: true, ..semantics }
}

/// Rows on a lattice, which holds only where an array takes part.
#[derive(Debug)]
struct ArrayApi(OnLattice);

const fn row(accepts: Accepts, compute: Compute, output: Output) -> Rule {
    Rule::Together(Row::new(accepts, compute, output, Weakness::Kept))
}

fn rule(op: Op) -> Rule {
    use Op::*;
    use {Accepts as A, Compute as C, Output as O};
    let absent = Rule::None("it is not in the Array API standard");
    match op.class() {
        Class::Stated => Rule::Stated,
        Class::Layout => Rule::First,
        Class::Indexing => Rule::Take,
        Class::Joining => Rule::Together(Row::PLAIN),
        Class::Choice => match op {
            Clip => Rule::Own(clip),
            _ => Rule::Own(where_),
        },
        Class::Part => match op {
            Conj => row(A::NUMBERS, C::Join, O::Compute),
            Imag => row(A::COMPLEX, C::Join, O::RealPart),
            Angle => absent,
            _ => row(A::NUMBERS, C::Join, O::RealPart),
        },
        Class::Sign => match op {
            Abs => row(A::NUMBERS, C::Join, O::RealPart),
            Relu => absent,
            _ => row(A::NUMBERS, C::Join, O::Compute),
        },
        Class::Rounding => match op {
            Round => row(A::NUMBERS, C::Join, O::Compute),
            _ => row(A::REAL_NUMBERS, C::Join, O::Compute),
        },
        Class::Function => match op {
            Cbrt | Rsqrt | Exp2 | Sinc | Sigmoid => absent,
            _ => row(A::INEXACT, C::Join, O::Compute),
        },
        Class::SpecialFunction | Class::IntegerPair | Class::Exponential => absent,
        Class::Predicate => match op {
            SignBit => row(A::FLOATS, C::Join, O::Bool),
            _ => row(A::NUMBERS, C::Join, O::Bool),
        },
        Class::Logical => row(A::BOOL, C::Join, O::Bool),
        Class::Bitwise => row(A::BITS, C::Join, O::Compute),
        Class::Shift => row(A::INTEGERS, C::Join, O::Compute),
        Class::Arithmetic => match op {
            Divide => row(A::INEXACT, C::Join, O::Compute),
            FloorDivide | Remainder => row(A::REAL_NUMBERS, C::Join, O::Compute),
            Pow => Rule::Own(power),
            Fmod => absent,
            _ => row(A::NUMBERS, C::Join, O::Compute),
        },
        Class::Extremum | Class::Order => row(A::REAL_NUMBERS, C::Join, O::Compute),
        Class::FloatPair => row(A::FLOATS, C::Join, O::Compute),
        Class::Comparison => match op {
            Equal | NotEqual => row(A::ANY, C::Join, O::Bool),
            _ => row(A::REAL_NUMBERS, C::Join, O::Bool),
        },
        Class::Accumulation => row(A::NUMBERS, C::Widest, O::Compute),
        Class::Moment => match op {
            Mean => row(A::INEXACT, C::Join, O::Compute),
            _ => row(A::FLOATS, C::Join, O::Compute),
        },
        Class::Truth => row(A::ANY, C::Join, O::Bool),
        Class::Index => match op {
            CountNonzero => row(A::ANY, C::Join, O::Index),
            _ => row(A::REAL_NUMBERS, C::Join, O::Index),
        },
        Class::Product => row(A::NUMBERS, C::Join, O::Compute),
    }
}

/// The condition is bool, and one of the branches an array.
fn where_(standard: &OnLattice, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let [condition, branches @ ..] = operands else { return Err(standard.no_join(operands)) };
    if condition.dtype != B1 {
        let (dtype, accepts) = (condition.dtype, Accepts::BOOL);
        return Err(Refusal::Operand { op, index: 0, dtype, accepts });
    }
    if let [x, ..] = branches
        && branches.iter().all(|branch| branch.is_python())
    {
        return Err(Refusal::Scalar { semantics: standard.name.clone(), op, index: 1, dtype: x.dtype });
    }
    Ok(standard.together(op, Row::PLAIN, branches)?.with(0, B1))
}

/// Integers to a negative power are undefined.
fn power(standard: &OnLattice, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let typing = standard.together(op, Row { accepts: Accepts::NUMBERS, ..Row::PLAIN }, operands)?;
    let negative = operands.get(1).is_some_and(|exponent| exponent.is_negative_literal());
    if negative && typing.result.is_integer() {
        return Err(Refusal::NegativePower { semantics: standard.name.clone(), dtype: typing.result });
    }
    Ok(typing)
}

/// `clip` is of the dtype of what is clipped; bounds are of its kind and stay as wide as they are, since converting them
/// could move them.
fn clip(standard: &OnLattice, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let kind = |dtype: DType| (dtype.is_integer(), dtype.kind() == Kind::Float);
    let Some((x, bounds)) = operands.split_first() else { return Err(standard.no_join(operands)) };
    let row = Row { accepts: Accepts::REAL_NUMBERS, ..Row::PLAIN };
    let compute = standard.compute(op, row, x.dtype)?;
    for bound in bounds {
        standard.compute(op, row, bound.dtype)?;
        if kind(bound.dtype) != kind(compute) && !(bound.dtype == WeakInt && compute.is_inexact()) {
            return Err(standard.no_join(&[*x, *bound]));
        }
    }
    let mut typing = Typing::own(operands, compute);
    for (index, _) in operands.iter().enumerate().filter(|(_, operand)| operand.is_python()) {
        typing = typing.with(index, compute);
    }
    Ok(typing)
}

/// Whether the op takes a Python scalar at this place, if it has an array at another.
const fn takes_scalar(op: Op, index: usize) -> bool {
    match op {
        Op::Where | Op::Clip => index > 0,
        Op::Concat | Op::Stack | Op::Matmul | Op::Take => false,
        _ => true,
    }
}

/// What of the standard leaves these operands undefined.
fn undefined(operands: &[Operand]) -> &'static str {
    let has = |kind: Kind| operands.iter().any(|operand| operand.dtype.kind() == kind);
    if operands.iter().all(|operand| operand.is_python()) {
        "the Array API standard leaves Python scalars without an array undefined"
    } else if has(Kind::Bool) {
        "the Array API standard leaves bool with numbers undefined"
    } else if has(Kind::Float) || has(Kind::Complex) {
        "the Array API standard leaves integers with floating-point numbers undefined"
    } else {
        "the Array API standard leaves u64 with signed integers undefined"
    }
}

impl Rules for ArrayApi {
    fn promote(&self, operands: &[Operand]) -> Result<DType, NoJoin> {
        let undefined = || NoJoin::Undefined { dtypes: dtypes(operands), because: undefined(operands) };
        match operands {
            [_, _, ..] if operands.iter().all(|operand| operand.is_python()) => Err(undefined()),
            _ => self.0.promote(operands).map_err(|reason| match reason {
                NoJoin::NoUpperBound { .. } | NoJoin::Ambiguous { .. } => undefined(),
                NoJoin::NoNode { .. } | NoJoin::Undefined { .. } => reason,
            }),
        }
    }

    fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        match self.0.rules[op as usize] {
            Rule::Stated | Rule::First | Rule::None(_) | Rule::Forbidden(_) => {
                return self.0.infer(op, operands);
            }
            Rule::Together(_) | Rule::Where(_) | Rule::Take | Rule::Own(_) => {}
        }
        self.refuse_scalars(op, operands)?;
        let typing = self.0.infer(op, operands).map_err(|refusal| match refusal {
            Refusal::NoJoin { semantics, dtypes, .. } => {
                let apart: Vec<_> = operands.iter().filter(|o| dtypes.contains(&o.dtype)).copied().collect();
                let reason = NoJoin::Undefined { dtypes: dtypes.clone(), because: undefined(&apart) };
                Refusal::NoJoin { semantics, dtypes, reason }
            }
            other => other,
        })?;
        if let Some(typing) = typing {
            self.refuse_literals_out_of_range(operands, typing)?;
        }
        Ok(typing)
    }
}

impl ArrayApi {
    fn refuse_scalars(&self, op: Op, operands: &[Operand]) -> Result<(), Refusal> {
        let no_array = operands.iter().all(|operand| operand.is_python());
        for (index, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_python()) {
            if no_array || !takes_scalar(op, index) {
                let (semantics, dtype) = (self.0.name.clone(), operand.dtype);
                return Err(Refusal::Scalar { semantics, op, index, dtype });
            }
        }
        Ok(())
    }

    /// An integer must be one of the array's dtype.
    fn refuse_literals_out_of_range(&self, operands: &[Operand], typing: Typing) -> Result<(), Refusal> {
        for (index, operand) in operands.iter().enumerate() {
            let dtype = typing.compute(index);
            if let Origin::Literal(Literal::Int(value)) = operand.origin
                && !dtype.holds_integer(value)
            {
                return Err(Refusal::LiteralRange { semantics: self.0.name.clone(), literal: value, dtype });
            }
        }
        Ok(())
    }
}
