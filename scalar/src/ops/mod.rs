//! Ops of one element each: what every element-wise op computes in every dtype.
//!
//! Where the libraries differ, [`Numerics`] decides. Floats narrower than `f32` are computed in `f32` and rounded once;
//! complex numbers are computed in their parts.
//!
//! # Laws
//! - Operands are of one dtype, but for the condition of `where`, an exponent that is an integer, integers of different
//!   signedness that are compared, and what `clip` takes; other operands of another dtype are converted to the result's.
//! - Sums, products, quotients and square roots of real numbers are rounded correctly; functions that are not algebraic are
//!   as near as [`math`](crate::math) comes, and functions of complex numbers a few units in the last place off.
//! - A NaN that an op computes has any sign and payload.

#[macro_use]
mod groups;

mod choice;
mod comparison;
mod complex;
mod division;
mod float;
mod integer;
mod power;

pub use choice::{filler, is_before, select};
pub(crate) use choice::{maximum, minimum, takes_first, zeros_in_order};
pub(crate) use division::divide_signed;

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};

use crate::convert::{convert, is_nonzero};
use crate::emit::{Element, Emit, Ty};
use crate::eval::Eval;

/// `op` of one element of each operand; `dtypes` are the operands' and `result` is the result's. `None` if the op is not
/// element-wise, or not defined for these dtypes.
pub fn elementwise<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtypes: &[DType],
    result: DType,
    args: &[Element<E::Value>],
) -> Option<Element<E::Value>> {
    let result = result.storage();
    let operand = |index: usize| {
        let (dtype, arg) = (dtypes.get(index)?, args.get(index)?);
        Some((dtype.storage(), *arg))
    };
    let (first, x) = operand(0)?;
    let (computed, value) = match op {
        Op::Where => {
            let [(on_true, x), (on_false, y)] = [operand(1)?, operand(2)?];
            let condition = is_nonzero(e, first, args[0]);
            let x = convert(e, on_true, result, numerics, x);
            let y = convert(e, on_false, result, numerics, y);
            (result, choice::select(e, condition, x, y))
        }
        Op::Clip => choice::clip(e, numerics, result, (first, x), operand(1)?, operand(2)?),
        predicates!() => (DType::B1, unary(e, op, numerics, first, x)?),
        real_results!() => (first.real_part(), unary(e, op, numerics, first, x)?),
        functions!() | same_results!() => (first, unary(e, op, numerics, first, x)?),
        Op::Pow => {
            let (second, y) = operand(1)?;
            (first, power::power(e, numerics, (first, x), (second, y))?)
        }
        comparisons!() => {
            let ((second, y), predicate) = (operand(1)?, comparison::predicate(op)?);
            let truth = if first != second && first.is_integer() && second.is_integer() {
                comparison::compare_mixed(e, predicate, (first, x), (second, y))
            } else {
                let y = convert(e, second, first, numerics, y);
                comparison::compare(e, predicate, numerics, first, x, y)
            };
            (DType::B1, truth)
        }
        Op::Maximum | Op::Minimum | pairs!() => {
            let (second, y) = operand(1)?;
            let common = if first == second { first } else { result };
            let x = convert(e, first, common, numerics, x);
            let y = convert(e, second, common, numerics, y);
            (common, binary(e, op, numerics, common, x, y)?)
        }
        not_elementwise!() => return None,
        // The functions of statistics and physics, which no pattern names.
        special => (first, unary(e, special, numerics, first, x)?),
    };
    Some(convert(e, computed, result, numerics, value))
}

/// Whether [`elementwise`] computes an op of operands of these dtypes: whether it does so of ones, with numbers for a machine.
pub fn is_defined(op: Op, numerics: Numerics, dtypes: &[DType], result: DType) -> bool {
    let e = &mut Eval::default();
    let one = |dtype: &DType| {
        let truth = Element::Real(e.int(Ty::I1, 1));
        convert(e, DType::B1, dtype.storage(), numerics, truth)
    };
    let args: Vec<_> = dtypes.iter().map(one).collect();
    elementwise(e, op, numerics, dtypes, result, &args).is_some()
}

fn unary<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtype: DType,
    x: Element<E::Value>,
) -> Option<Element<E::Value>> {
    match (dtype.kind(), x) {
        (Kind::Complex, Element::Complex(re, im)) => complex::unary(e, op, numerics, dtype, (re, im)),
        (Kind::Bool, x) => integer::unary_of_bool(e, op, x.real()).map(Element::Real),
        (Kind::Unsigned | Kind::Signed, x) => {
            integer::unary(e, op, numerics, dtype, x.real()).map(Element::Real)
        }
        (Kind::Float | Kind::Complex, x) => float::unary(e, op, numerics, dtype, x.real()).map(Element::Real),
    }
}

fn binary<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtype: DType,
    x: Element<E::Value>,
    y: Element<E::Value>,
) -> Option<Element<E::Value>> {
    match (op, dtype.kind(), x, y) {
        (Op::Maximum, ..) => Some(maximum(e, numerics, dtype, x, y)),
        (Op::Minimum, ..) => Some(minimum(e, numerics, dtype, x, y)),
        (_, Kind::Complex, Element::Complex(a, b), Element::Complex(c, d)) => {
            complex::binary(e, op, dtype, (a, b), (c, d))
        }
        (_, Kind::Bool, x, y) => {
            integer::binary_of_bool(e, op, numerics, x.real(), y.real()).map(Element::Real)
        }
        (_, Kind::Unsigned | Kind::Signed, x, y) => {
            integer::binary(e, op, numerics, dtype, x.real(), y.real()).map(Element::Real)
        }
        (_, Kind::Float | Kind::Complex, x, y) => {
            float::binary(e, op, numerics, dtype, x.real(), y.real()).map(Element::Real)
        }
    }
}
