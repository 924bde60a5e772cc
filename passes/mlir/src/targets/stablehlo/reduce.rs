//! Reductions, and what goes along an axis.
//!
//! Narrow floats are added up and multiplied in f32, as the libraries do, and rounded once, but in each step of what is
//! cumulative.

use promote_dialect::attrs::Attrs;
use promote_lattice::convert::{Bits, Literal, Numerics};
use promote_lattice::{DType, Kind, Op};

use super::builder::{Builder, Direction, Made, Tensor, refuse};
use super::layout::{axes_of, axis_of};

/// A reduction of `x`; its result has `result`'s dtype once converted, and its shape.
pub fn reduce(b: &mut Builder<'_>, op: Op, attrs: &Attrs, x: Tensor, result: (DType, &[i64])) -> Made {
    let axes = axes_of(attrs, x.shape().len());
    let wide = widened(b, op, x);
    let count: i64 = axes.iter().map(|axis| x.shape()[*axis as usize]).product();
    let found = match op {
        Op::Sum => sum(b, wide, &axes),
        Op::Prod if is_first(b, count) && wide.kind() == Kind::Complex => one_by(b, wide),
        Op::Prod => {
            let one = b.splat(wide.dtype, &[], Literal::one(wide.dtype));
            b.reduce(&[wide], &[one], &axes, |b, so_far, next| vec![b.mul(so_far[0], next[0])])[0]
        }
        Op::Mean => mean(b, wide, &axes, count),
        Op::Var => variance(b, wide, &axes, count, attrs),
        Op::Std => {
            let variance = variance(b, wide, &axes, count, attrs);
            let rounded = b.cast(variance, result.0);
            let wide = b.cast(rounded, variance.dtype);
            b.sqrt(wide)
        }
        Op::Max => extreme(b, wide, &axes, Direction::Gt),
        Op::Min => extreme(b, wide, &axes, Direction::Lt),
        Op::Any => {
            let (truth, init) = (truth(b, x), b.splat_bits(DType::B1, &[], 0));
            b.reduce(&[truth], &[init], &axes, |b, so_far, next| vec![b.or(so_far[0], next[0])])[0]
        }
        Op::All => {
            let (truth, init) = (truth(b, x), b.splat_bits(DType::B1, &[], 1));
            b.reduce(&[truth], &[init], &axes, |b, so_far, next| vec![b.and(so_far[0], next[0])])[0]
        }
        Op::CountNonzero => {
            let truth = b.is_true(x);
            let ones = b.cast(truth, result.0);
            sum(b, ones, &axes)
        }
        Op::ArgMax => place_of_extreme(b, x, &axes, Direction::Gt, result.0),
        Op::ArgMin => place_of_extreme(b, x, &axes, Direction::Lt, result.0),
        Op::LogSumExp => log_sum_exp(b, wide, &axes),
        op => return refuse(format!("StableHLO has no {op}"), "write it with other ops"),
    };
    Ok(b.reshape(found, result.1))
}

/// Whether elements count as true. JAX's `any` and `all` take the real part of a complex number for the whole.
fn truth(b: &mut Builder<'_>, x: Tensor) -> Tensor {
    let is_part = b.numerics() == Numerics::Jax && x.kind() == Kind::Complex;
    let x = if is_part { b.part("stablehlo.real", x) } else { x };
    b.is_true(x)
}

/// In the dtype in which the op adds up. Floats that know no infinity are compared in f32, too.
fn widened(b: &mut Builder<'_>, op: Op, x: Tensor) -> Tensor {
    let least = if matches!(op, Op::Max | Op::Min) { 16 } else { 32 };
    if x.kind() == Kind::Float && x.dtype.bits() < least { b.cast(x, DType::F32) } else { x }
}

/// Whether so many elements are the one that NumPy adds to 0 or multiplies by 1, which XLA leaves out.
fn is_first(b: &Builder<'_>, count: i64) -> bool {
    b.numerics() == Numerics::NumPy && count == 1
}

/// Complex numbers, multiplied by 1: where a part is infinite, the other becomes NaN.
fn one_by(b: &mut Builder<'_>, z: Tensor) -> Tensor {
    let (re, im) = b.parts(z);
    let zero = b.zero(re);
    let (of_re, of_im) = (b.mul(zero, re), b.mul(zero, im));
    let (re, im) = (b.sub(re, of_im), b.add(im, of_re));
    b.complex(re, im)
}

/// Floats, added to 0: -0 becomes 0.
fn zero_and(b: &mut Builder<'_>, x: Tensor) -> Tensor {
    match x.kind() {
        Kind::Float => {
            let zero = b.zero(x);
            let is_zero = b.compare(x, Direction::Eq, zero);
            b.select(is_zero, zero, x)
        }
        Kind::Complex => {
            let (re, im) = b.parts(x);
            let (re, im) = (zero_and(b, re), zero_and(b, im));
            b.complex(re, im)
        }
        Kind::Bool | Kind::Unsigned | Kind::Signed => x,
    }
}

fn sum(b: &mut Builder<'_>, x: Tensor, axes: &[i64]) -> Tensor {
    let count = axes.iter().map(|axis| x.shape()[*axis as usize]).product();
    let x = if is_first(b, count) { zero_and(b, x) } else { x };
    let zero = b.splat(x.dtype, &[], Literal::Int(0));
    b.reduce(&[x], &[zero], axes, |b, so_far, next| vec![b.add(so_far[0], next[0])])[0]
}

fn mean(b: &mut Builder<'_>, x: Tensor, axes: &[i64], count: i64) -> Tensor {
    let sum = sum(b, x, axes);
    b.divide_by(sum, count as f64)
}

/// What was reduced, repeated along the axes that went.
fn repeated(b: &mut Builder<'_>, reduced: Tensor, axes: &[i64], shape: &[i64]) -> Tensor {
    let kept: Vec<i64> = (0..shape.len() as i64).filter(|axis| !axes.contains(axis)).collect();
    b.stretch(reduced, &kept, shape)
}

fn variance(b: &mut Builder<'_>, x: Tensor, axes: &[i64], count: i64, attrs: &Attrs) -> Tensor {
    let mean = mean(b, x, axes, count);
    let mean = repeated(b, mean, axes, &x.shape());
    let distance = b.sub(x, mean);
    let square = if x.kind() == Kind::Complex {
        let (re, im) = b.parts(distance);
        let (re, im) = (b.mul(re, re), b.mul(im, im));
        b.add(re, im)
    } else {
        b.mul(distance, distance)
    };
    let sum = sum(b, square, axes);
    let freedom = count as f64 - attrs.number("correction").unwrap_or(0.0);
    b.divide_by(
        sum,
        match b.numerics() {
            _ if freedom > 0.0 => freedom,
            Numerics::Jax => f64::NAN,
            Numerics::NumPy | Numerics::Torch => 0.0,
        },
    )
}

/// The number of `dtype` that every other one replaces, as the bits of its parts.
fn furthest(dtype: DType, direction: Direction) -> Literal {
    let infinity = if direction == Direction::Gt { f64::NEG_INFINITY } else { f64::INFINITY };
    match dtype.kind() {
        Kind::Bool => Literal::Int((direction == Direction::Lt).into()),
        Kind::Unsigned | Kind::Signed => Literal::Int(0),
        Kind::Float => Literal::Float(infinity),
        Kind::Complex => Literal::Complex(infinity, infinity),
    }
}

/// The start of a search for the largest or the smallest.
fn start(b: &mut Builder<'_>, dtype: DType, direction: Direction) -> Tensor {
    let all: Bits = Bits::MAX >> (Bits::BITS - dtype.bits());
    let bits = match (dtype.kind(), direction) {
        (Kind::Unsigned, Direction::Gt) => 0,
        (Kind::Unsigned, _) => all,
        (Kind::Signed, Direction::Gt) => 1 << (dtype.bits() - 1),
        (Kind::Signed, _) => all >> 1,
        (Kind::Bool | Kind::Float | Kind::Complex, _) => {
            return b.splat(dtype, &[], furthest(dtype, direction));
        }
    };
    b.splat_bits(dtype, &[], bits)
}

fn extreme(b: &mut Builder<'_>, x: Tensor, axes: &[i64], direction: Direction) -> Tensor {
    let init = start(b, x.dtype, direction);
    b.reduce(&[x], &[init], axes, |b, so_far, next| vec![b.extreme(so_far[0], direction, next[0])])[0]
}

/// The place of the first extreme element, or of the first NaN.
fn place_of_extreme(
    b: &mut Builder<'_>,
    x: Tensor,
    axes: &[i64],
    direction: Direction,
    places: DType,
) -> Tensor {
    // Several axes count as one.
    let shape = x.shape();
    let kept: Vec<i64> = (0..shape.len() as i64).filter(|axis| !axes.contains(axis)).collect();
    let turned = b.transpose(x, &[kept.as_slice(), axes].concat());
    let mut flat: Vec<i64> = kept.iter().map(|axis| shape[*axis as usize]).collect();
    let axis = flat.len() as i64;
    flat.push(axes.iter().map(|axis| shape[*axis as usize]).product());
    let turned = b.reshape(turned, &flat);
    // XLA wants what is reduced in step to lie in memory alike, which elements narrower than a byte do not.
    let turned = match turned.kind() {
        Kind::Float if turned.dtype.bits() < 16 => b.cast(turned, DType::F32),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float | Kind::Complex => b.in_bytes(turned),
    };
    let place = b.iota(places, &flat, axis);
    let (init, first) = (start(b, turned.dtype, direction), b.splat(places, &[], Literal::Int(0)));
    b.reduce(&[turned, place], &[init, first], &[axis], |b, so_far, next| {
        let beyond = b.holds(next[0], direction, so_far[0]);
        let (was_nan, is_nan) = (b.is_nan(so_far[0]), b.is_nan(next[0]));
        let was_number = b.not(was_nan);
        let first_nan = b.and(is_nan, was_number);
        let better = b.or(beyond, first_nan);
        let better = b.and(better, was_number);
        let (equal, both_nan) = (b.compare(next[0], Direction::Eq, so_far[0]), b.and(was_nan, is_nan));
        let alike = b.or(equal, both_nan);
        let earlier = b.compare(next[1], Direction::Lt, so_far[1]);
        let first_of_alike = b.and(alike, earlier);
        let takes_next = b.or(better, first_of_alike);
        vec![b.select(takes_next, next[0], so_far[0]), b.select(takes_next, next[1], so_far[1])]
    })[1]
}

/// The logarithm of a sum of powers of e, the largest taken out of it if that is finite.
fn log_sum_exp(b: &mut Builder<'_>, x: Tensor, axes: &[i64]) -> Tensor {
    let is_complex = x.kind() == Kind::Complex;
    let real = if is_complex { b.part("stablehlo.real", x) } else { x };
    let largest = extreme(b, real, axes, Direction::Gt);
    let zero = b.zero(largest);
    let is_finite = b.op("stablehlo.is_finite", &[largest], (DType::B1, &largest.shape()), &[]);
    let shift = b.select(is_finite, largest, zero);
    let shift = if is_complex { b.complex(shift, zero) } else { shift };
    let repeated = repeated(b, shift, axes, &x.shape());
    let exponent = b.sub(x, repeated);
    let power = b.exp(exponent);
    let sum = sum(b, power, axes);
    let log = b.log(sum);
    b.add(log, shift)
}

/// What a cumulative sum begins with: NumPy's begins with the first element, of which -0 changes nothing.
const fn nothing(numerics: Numerics, dtype: DType) -> Literal {
    match (numerics, dtype.kind()) {
        (Numerics::NumPy, Kind::Float) => Literal::Float(-0.0),
        (Numerics::NumPy, Kind::Complex) => Literal::Complex(-0.0, -0.0),
        _ => Literal::Int(0),
    }
}

/// Products of complex numbers that begin with the first one: multiplied by 1, infinite ones would become NaN. What is
/// before it is no number, which a truth value beside each says.
fn products_from_first(b: &mut Builder<'_>, x: Tensor, axis: usize) -> Tensor {
    let one = b.splat(x.dtype, &[], Literal::one(x.dtype));
    let (is_there, is_not) = (b.truth(x, true), b.splat_bits(DType::B1, &[], 0));
    b.running(&[x, is_there], &[one, is_not], axis, |b, so_far, next| {
        let product = b.mul(so_far[0], next[0]);
        let second = b.select(next[1], product, so_far[0]);
        vec![b.select(so_far[1], second, next[0]), b.or(so_far[1], next[1])]
    })
}

/// Something along one axis; of all elements in a row, if the shape says so.
pub fn along(b: &mut Builder<'_>, op: Op, attrs: &Attrs, x: Tensor, shape: &[i64]) -> Made {
    let x = b.reshape(x, shape);
    let rank = shape.len();
    if rank == 0 || shape.contains(&0) {
        return match (op, rank) {
            (Op::Softmax, 0) => Ok(b.real(x, 1.0)),
            _ => Ok(x),
        };
    }
    let axis = attrs.axes().and_then(<[i64]>::first).map_or(rank - 1, |axis| axis_of(*axis, rank));
    let found = match op {
        // Each step is rounded.
        Op::CumulativeSum => {
            let zero = b.splat(x.dtype, &[], nothing(b.numerics(), x.dtype));
            b.running(&[x], &[zero], axis, |b, so_far, next| vec![b.add(so_far[0], next[0])])
        }
        Op::CumulativeProd if b.numerics() == Numerics::NumPy && x.kind() == Kind::Complex => {
            products_from_first(b, x, axis)
        }
        Op::CumulativeProd => {
            let one = b.splat(x.dtype, &[], Literal::one(x.dtype));
            b.running(&[x], &[one], axis, |b, so_far, next| vec![b.mul(so_far[0], next[0])])
        }
        Op::Sort => {
            let wide = b.in_bytes(x);
            let sorted = b.sort(wide, axis as i64, |b, x, y| b.is_before(x, y));
            b.cast(sorted, x.dtype)
        }
        Op::Softmax => {
            let (wide, axes) = (widened(b, op, x), [axis as i64]);
            let largest = extreme(b, wide, &axes, Direction::Gt);
            let largest = repeated(b, largest, &axes, shape);
            let exponent = b.sub(wide, largest);
            let power = b.exp(exponent);
            let sum = sum(b, power, &axes);
            let sum = repeated(b, sum, &axes, shape);
            b.div(power, sum)
        }
        op => return refuse(format!("StableHLO has no {op}"), "write it with other ops"),
    };
    Ok(found)
}
