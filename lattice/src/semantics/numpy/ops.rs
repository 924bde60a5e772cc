//! The ops that are no plain ufuncs of NumPy's.

use DType::*;

use super::super::operand::{self, Bound, Operand, Origin, Output, Typing};
use super::super::refusal::{Accepts, Refusal};
use super::{DEFAULTS, NumPy, Ufunc, Version};
use crate::convert::Literal;
use crate::dtype::{DType, Kind};
use crate::op::Op;

type Outcome = Result<Typing, Refusal>;

/// A reduction or the like of one operand, which is computed in what `compute` makes of its dtype.
fn of_one(operands: &[Operand], compute: impl Fn(DType) -> DType) -> Typing {
    let compute = compute(operands.first().map_or(B1, |operand| DEFAULTS.strengthen(operand.dtype)));
    Typing::uniform(compute, compute)
}

/// Integers become the default float.
const fn float(dtype: DType) -> DType {
    if dtype.is_inexact() { dtype } else { F64 }
}

/// As it is, a Python scalar too.
pub(super) fn relax(_: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    Ok(Typing::own(operands, operands.first().map_or(B1, |operand| operand.dtype)))
}

/// The same dtype; a Python scalar becomes an array.
pub(super) fn same(_: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    let dtype = of_one(operands, |dtype| dtype).result;
    Ok(Typing::own(operands, dtype).with(0, dtype))
}

/// NumPy 1 casts indices to `i64` safely.
pub(super) fn take(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    let typing = operand::take(op, operands)?;
    let unsafe_index = operands.get(1).map(|indices| indices.dtype).filter(|dtype| *dtype == U64);
    if let (Version::One, Some(dtype)) = (numpy.version, unsafe_index) {
        let accepts = &[U8, U16, U32, I8, I16, I32, I64];
        return Err(Refusal::Index { semantics: numpy.name.clone(), dtype, accepts });
    }
    let dtype = DEFAULTS.strengthen(typing.result);
    Ok(Typing { result: dtype, ..typing }.with(0, dtype))
}

/// Integers and bools are themselves, and floats before NumPy 2.
pub(super) fn truncate(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    let loops = if numpy.version == Version::One { Accepts::FLOATS } else { Accepts::REAL };
    numpy.ufunc(op, operands, Ufunc::of(loops))
}

/// Integers are rounded to themselves, bools to halves.
pub(super) fn round(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    match operands.iter().all(|operand| operand.dtype == B1) {
        true => Ok(Typing::uniform(F16, F16)),
        false => numpy.ufunc(op, operands, Ufunc::of(Accepts::NUMBERS)),
    }
}

/// The real or imaginary part; that of a Python scalar is one.
pub(super) fn part(_: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    Ok(match operands.first() {
        Some(x) if x.is_literal() && x.dtype == B1 => Typing::uniform(WeakInt, WeakInt),
        x => Typing::own(operands, x.map_or(B1, |x| x.dtype.real_part())),
    })
}

/// The angle of a real `x` is `atan2(0, x)`.
pub(super) fn angle(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    if operands.iter().any(|operand| operand.dtype.kind() == Kind::Complex) {
        return numpy.ufunc(op, operands, Ufunc::of(Accepts::INEXACT).giving(Output::RealPart));
    }
    let with_zero: Vec<_> = operands.iter().copied().chain([Operand::python(Literal::Int(0))]).collect();
    numpy.ufunc(op, &with_zero, Ufunc::of(Accepts::FLOATS))
}

/// `sin(y) / y` with `y = pi * x`, where NumPy 1 replaces zeros before it multiplies. CuPy's is a ufunc.
pub(super) fn sinc(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    let with = |x: Operand, number| vec![x, Operand::python(Literal::Float(number))];
    let product = |x| numpy.ufunc(op, &with(x, std::f64::consts::PI), Ufunc::of(Accepts::ANY).promoting());
    let x = operands.first().copied().unwrap_or(Operand::value(B1));
    match numpy.version {
        Version::CuPy => numpy.ufunc(op, operands, Ufunc::of(Accepts::INEXACT).without_bf16()),
        Version::Two => product(x),
        Version::One => {
            let dtype = numpy.join(&with(x, 1e-20))?;
            product(Operand { dtype, origin: Origin::Value, ..x })
        }
    }
}

/// The quotient of integers is of the default float.
pub(super) fn divide(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    match operands.iter().any(|operand| operand.dtype.is_inexact()) {
        true => numpy.ufunc(op, operands, Ufunc::of(Accepts::INEXACT)),
        false => Ok(Typing::uniform(F64, F64)),
    }
}

/// Integers are not raised to a negative literal.
pub(super) fn pow(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    let typing = numpy.ufunc(op, operands, Ufunc::of(Accepts::NUMBERS))?;
    let negative = operands.last().is_some_and(|exponent| exponent.is_negative_literal());
    if negative && typing.result.is_integer() {
        return Err(Refusal::NegativePower { semantics: numpy.name.clone(), dtype: typing.result });
    }
    Ok(typing)
}

/// Where a Python integer is outside the range of the integers it meets, both are compared in a dtype that holds them;
/// signed and unsigned 64-bit integers are compared as they are. Either way the comparison is exact.
pub(super) fn comparison(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    let typing = numpy.ufunc(op, operands, Ufunc::of(Accepts::ANY).promoting().giving(Output::Bool))?;
    let compute = typing.compute(0);
    if compute == F64 && operands.iter().all(|operand| operand.dtype.is_integer()) {
        return Ok(Typing::own(operands, B1));
    }
    let outside = |operand: &Operand| match operand.origin {
        Origin::Literal(Literal::Int(number)) => !compute.holds_integer(number),
        Origin::Literal(_) | Origin::Constant(_) | Origin::Value => false,
    };
    if numpy.version == Version::One || !operands.iter().any(outside) {
        return Ok(typing);
    }
    // A negative number is below all of u64, in f64 too.
    Ok(Typing::uniform(if compute == U64 { F64 } else { I64 }, B1))
}

/// The first operand is a condition; the others are promoted without a loop. NumPy 1 makes array scalars of numbers first.
pub(super) fn where_(numpy: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    let array_scalar = |operand: &Operand| match operand.origin {
        Origin::Literal(literal) if numpy.version == Version::One => {
            let dtype = DEFAULTS.strengthen(operand.dtype);
            Operand { dtype, origin: Origin::Constant(literal), ..*operand }
        }
        Origin::Literal(_) | Origin::Constant(_) | Origin::Value => *operand,
    };
    let branches: Vec<_> = operands.iter().skip(1).map(array_scalar).collect();
    let compute = numpy.join(&branches)?;
    Ok(Typing::uniform(compute, compute).with(0, B1))
}

/// A bound beyond the range of the integers it bounds is dropped, which a literal that is brought into the range amounts
/// to; one that leaves nothing is refused. What is clipped is an array, the bounds may be Python scalars.
pub(super) fn clip(numpy: &NumPy, op: Op, operands: &[Operand]) -> Outcome {
    let weak = numpy.version != Version::One;
    // Beside bools there is no range to be beyond of.
    let drops = weak && operands.first().is_some_and(|x| x.dtype.is_integer());
    let array =
        |x: Operand| if weak && x.is_python() { Operand::value(DEFAULTS.strengthen(x.dtype)) } else { x };
    let bound = |bound: Operand| match bound.origin {
        Origin::Literal(Literal::Int(_)) if drops => Operand::literal(bound.dtype),
        Origin::Literal(_) | Origin::Constant(_) | Origin::Value => bound,
    };
    let arrays: Vec<_> =
        operands.iter().enumerate().map(|(i, x)| if i == 0 { array(*x) } else { bound(*x) }).collect();
    let typing = numpy.ufunc(op, &arrays, Ufunc::of(Accepts::ANY).without_bf16().promoting())?;
    if !drops {
        return Ok(typing);
    }
    let bounds: Vec<_> = operands.iter().skip(1).zip([Bound::Lower, Bound::Upper]).collect();
    typing.bounded(&bounds).map_err(|literal| {
        let (semantics, dtype) = (numpy.name.clone(), typing.result);
        Refusal::LiteralRange { semantics, literal, dtype }
    })
}

/// The operands are arrays, and promoted without a loop.
pub(super) fn join(numpy: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    let arrays: Vec<_> =
        operands.iter().map(|operand| Operand::value(DEFAULTS.strengthen(operand.dtype))).collect();
    let compute = numpy.join(&arrays)?;
    Ok(Typing::uniform(compute, compute))
}

/// Integers become the widest of their signedness.
pub(super) fn sum(_: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    Ok(of_one(operands, |dtype| match dtype.kind() {
        Kind::Bool | Kind::Signed => I64,
        Kind::Unsigned => U64,
        Kind::Float | Kind::Complex => dtype,
    }))
}

pub(super) fn mean(_: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    Ok(of_one(operands, float))
}

pub(super) fn variance(_: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    let typing = of_one(operands, float);
    Ok(Typing { result: typing.result.real_part(), ..typing })
}

pub(super) fn truth(_: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    Ok(Typing { result: B1, ..of_one(operands, |dtype| dtype) })
}

pub(super) fn index(_: &NumPy, _: Op, operands: &[Operand]) -> Outcome {
    Ok(Typing { result: I64, ..of_one(operands, |dtype| dtype) })
}
