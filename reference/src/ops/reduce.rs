//! Reductions, and what goes along an axis and keeps its shape.

use std::cmp::Ordering;

use num_complex::Complex64;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};

use super::{Call, Element, binary, unary, unsupported};
use crate::Error;
use crate::number::{Number, convert};
use crate::shape;
use crate::value::{Array, indices};

/// A reduction over the axes that the attributes name.
pub(super) fn reduce(call: Call<'_>, x: &Array, shape: Vec<usize>) -> Result<Array, Error> {
    let rank = x.shape.len();
    let gone = shape::reduced_axes(call.attributes, rank).map_err(Error::Trap)?;
    let extents: Vec<usize> =
        (0..rank).map(|axis| if gone.contains(&axis) { x.shape[axis] } else { 1 }).collect();
    let starts: Vec<usize> =
        (0..rank).map(|axis| if gone.contains(&axis) { 1 } else { x.shape[axis] }).collect();
    let mut elements = Vec::new();
    for start in indices(&starts) {
        let inner = indices(&extents);
        let lane: Vec<Number> = inner
            .map(|inner| x.at(&inner.iter().zip(&start).map(|(a, b)| a + b).collect::<Vec<_>>()))
            .collect();
        elements.push(fold(call, &lane, x.dtype)?);
    }
    Ok(Array::new(call.result, shape, elements))
}

/// Something along one axis; of all elements in a row, if the shape says so.
pub(super) fn scan(call: Call<'_>, x: &Array, shape: Vec<usize>) -> Result<Array, Error> {
    let flat = Array { shape: shape.clone(), ..x.clone() };
    let axis = shape::along(call.attributes, shape.len()).map_err(Error::Trap)?;
    let mut result = Array { dtype: call.result, ..flat.clone() };
    let mut starts = shape.clone();
    starts[axis] = 1;
    for start in indices(&starts) {
        let place = |i: usize| {
            let mut index = start.clone();
            index[axis] = i;
            index.iter().zip(&shape).fold(0, |flat, (i, extent)| flat * extent + i)
        };
        let lane: Vec<Number> = (0..shape[axis]).map(|i| flat.elements[place(i)]).collect();
        for (i, number) in lane_of(call, lane, x.dtype)?.into_iter().enumerate() {
            result.elements[place(i)] = number.fit(call.result);
        }
    }
    Ok(result)
}

/// One step of arithmetic in `dtype`.
fn step(call: Call<'_>, op: Op, x: Number, y: Number, dtype: DType) -> Element {
    Ok(binary::binary(op, x, y, dtype, call.numerics)?.fit(dtype))
}

fn total(call: Call<'_>, op: Op, lane: &[Number], dtype: DType) -> Element {
    let start = Number::Int((op == Op::Multiply).into()).fit(dtype);
    lane.iter().try_fold(start, |all, next| step(call, op, all, *next, dtype))
}

fn mean(call: Call<'_>, lane: &[Number], dtype: DType) -> Element {
    if let ([only @ (Number::Real(_) | Number::Complex(..))], Numerics::Jax) = (lane, call.numerics) {
        return Ok(*only);
    }
    let sum = total(call, Op::Add, lane, dtype)?;
    if let (Number::Int(sum), false) = (sum, lane.is_empty()) {
        // TensorFlow's mean of integers is the whole part, of all their digits.
        return Ok(Number::Int(sum / lane.len() as i128));
    }
    step(call, Op::Divide, sum, Number::Real(lane.len() as f64), dtype)
}

fn fold(call: Call<'_>, lane: &[Number], dtype: DType) -> Element {
    match call.op {
        // XLA does nothing to one element.
        Op::Sum | Op::Prod if lane.len() == 1 && call.numerics == Numerics::Jax => Ok(lane[0]),
        Op::Sum => total(call, Op::Add, lane, dtype),
        Op::Prod => total(call, Op::Multiply, lane, dtype),
        Op::Mean => mean(call, lane, dtype),
        Op::Var => variance(call, lane, dtype),
        Op::Std => Ok(Number::Real(variance(call, lane, dtype)?.fit(call.result).real().sqrt())),
        Op::Max => Ok(chosen(lane, binary::larger, call.numerics)),
        Op::Min => Ok(chosen(lane, binary::smaller, call.numerics)),
        Op::Any => Ok(Number::truth(lane.iter().any(|number| is_true(*number, call.numerics)))),
        Op::All => Ok(Number::truth(lane.iter().all(|number| is_true(*number, call.numerics)))),
        // JAX does not order complex numbers there: the places are NumPy's.
        Op::ArgMax => Ok(extreme(lane, binary::maximum)),
        Op::ArgMin => Ok(extreme(lane, binary::minimum)),
        // What counts is what a conversion to bool makes true.
        Op::CountNonzero => {
            let is_counted = |number: &&Number| convert(**number, dtype, DType::B1, call.numerics).is_true();
            Ok(Number::Int(lane.iter().filter(is_counted).count() as i128))
        }
        Op::LogSumExp if dtype.kind() == Kind::Complex => {
            let sum = lane.iter().map(|number| power_of_e(*number)).sum::<Complex64>().ln();
            Ok(Number::Complex(sum.re, sum.im))
        }
        Op::LogSumExp => {
            let largest = lane.iter().fold(f64::NEG_INFINITY, |all, next| all.max(next.real()));
            let shift = if largest.is_finite() { largest } else { 0.0 };
            let sum: f64 = lane.iter().map(|number| (number.real() - shift).exp()).sum();
            Ok(Number::Real(sum.ln() + shift))
        }
        op => Err(unsupported(op)),
    }
}

/// Chooses one of two numbers.
pub(crate) type Choose = fn(Number, Number, Numerics) -> Number;

fn chosen(lane: &[Number], choose: Choose, numerics: Numerics) -> Number {
    lane[1..].iter().fold(lane[0], |all, next| choose(all, *next, numerics))
}

/// Whether a number counts as true: JAX's `any` and `all` take the real part of a complex number for the whole.
fn is_true(number: Number, numerics: Numerics) -> bool {
    match (number, numerics) {
        (Number::Complex(real, _), Numerics::Jax) => Number::Real(real).is_true(),
        _ => number.is_true(),
    }
}

/// The place of the first extreme element, or of the first NaN.
pub(crate) fn extreme(lane: &[Number], choose: Choose) -> Number {
    let found = chosen(lane, choose, Numerics::NumPy);
    let place =
        lane.iter().position(|number| if found.is_nan() { number.is_nan() } else { *number == found });
    Number::Int(place.unwrap_or(0) as i128)
}

fn power_of_e(number: Number) -> Complex64 {
    let (re, im) = number.parts();
    Complex64::new(re, im).exp()
}

fn variance(call: Call<'_>, lane: &[Number], dtype: DType) -> Element {
    let mean = mean(call, lane, dtype)?;
    let part = dtype.real_part();
    let mut sum = Number::zero(part);
    for number in lane {
        let distance =
            unary::unary(Op::Abs, step(call, Op::Subtract, *number, mean, dtype)?, dtype, call.numerics)?;
        let square = step(call, Op::Multiply, distance.fit(part), distance.fit(part), part)?;
        sum = step(call, Op::Add, sum, square, part)?;
    }
    let freedom = match lane.len() as f64 - call.attributes.correction {
        freedom if freedom > 0.0 => freedom,
        _ if call.numerics == Numerics::Jax => return Ok(Number::Real(f64::NAN)),
        _ => 0.0,
    };
    step(call, Op::Divide, sum, Number::Real(freedom), part)
}

/// The order of `sort`: NaN is larger than all others. Of complex numbers JAX compares the real parts so, then the imaginary
/// ones; NumPy puts those with a NaN in the imaginary part after the others, and those with one in the real part last.
pub(crate) fn order(x: Number, y: Number, numerics: Numerics) -> Ordering {
    if let (Number::Int(x), Number::Int(y)) = (x, y) {
        return x.cmp(&y);
    }
    let part = |x: f64, y: f64| match (x.is_nan(), y.is_nan()) {
        (false, false) => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
        (x_is_nan, y_is_nan) => x_is_nan.cmp(&y_is_nan),
    };
    let ((a, b), (c, d)) = (x.parts(), y.parts());
    let by_parts = part(a, c).then_with(|| part(b, d));
    match numerics {
        Numerics::Jax => by_parts,
        Numerics::NumPy | Numerics::Torch => {
            a.is_nan().cmp(&c.is_nan()).then(b.is_nan().cmp(&d.is_nan())).then(by_parts)
        }
    }
}

fn lane_of(call: Call<'_>, mut lane: Vec<Number>, dtype: DType) -> Result<Vec<Number>, Error> {
    match call.op {
        Op::CumulativeSum | Op::CumulativeProd => {
            let op = if call.op == Op::CumulativeSum { Op::Add } else { Op::Multiply };
            // NumPy begins with the first element, and XLA adds nothing to a sum of one.
            let is_kept = match call.numerics {
                Numerics::NumPy => true,
                Numerics::Jax => {
                    let is_widened = dtype.kind() == Kind::Float && dtype.bits() < 32 && dtype != DType::F16;
                    op == Op::Add && lane.len() == 1 && !is_widened
                }
                Numerics::Torch => false,
            };
            if let (Some(first), false) = (lane.first_mut(), is_kept) {
                *first = total(call, op, &[*first], dtype)?;
            }
            for i in 1..lane.len() {
                lane[i] = step(call, op, lane[i - 1], lane[i], dtype)?;
            }
        }
        Op::Sort => {
            lane.sort_by(|x, y| order(*x, *y, call.numerics));
        }
        Op::Softmax if dtype.kind() == Kind::Complex => {
            let powers: Vec<Complex64> = lane.iter().map(|number| power_of_e(*number)).collect();
            let sum: Complex64 = powers.iter().sum();
            let quotients = powers.into_iter().map(|power| power / sum);
            lane = quotients.map(|quotient| Number::Complex(quotient.re, quotient.im)).collect();
        }
        Op::Softmax => {
            let largest = lane.iter().fold(f64::NEG_INFINITY, |all, next| all.max(next.real()));
            let powers: Vec<f64> = lane.iter().map(|number| (number.real() - largest).exp()).collect();
            let sum: f64 = powers.iter().sum();
            lane = powers.into_iter().map(|power| Number::Real(power / sum)).collect();
        }
        op => return Err(unsupported(op)),
    }
    Ok(lane)
}
