//! Arithmetic on numbers outside of tensors, by the definitions of its ops.

use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::program::Arith;
use promote_lower::types::Number as Scalar;

use super::{Stop, fault};
use crate::Error;
use crate::number::Number;
use crate::ops::element;

/// What an op makes of numbers of these types, as one of type `result`.
pub(super) fn evaluate(
    op: Arith,
    numerics: Numerics,
    args: &[(Number, Scalar)],
    result: Scalar,
) -> Result<Number, Stop> {
    if let (Arith::Select, [(condition, _), (then, _), (otherwise, _)]) = (op, args) {
        return Ok(if condition.is_true() { *then } else { *otherwise });
    }
    if let (Arith::ConvertS | Arith::ConvertU | Arith::Bitcast, [(number, from)]) = (op, args) {
        return Ok(convert(op, *number, *from, result));
    }
    let Some((_, operand)) = args.first() else { return fault(format!("{op:?} of nothing")) };
    let numbers: Vec<Number> = args.iter().map(|(number, _)| *number).collect();
    match operand {
        Scalar::Float(dtype) => floats(op, numerics, *dtype, &numbers),
        Scalar::Index | Scalar::Int(_) => {
            let numbers: Vec<i128> = numbers.into_iter().map(Number::int).collect();
            let computed = integers(op, &numbers, width(*operand))?;
            Ok(Number::Int(wrap(computed, width(result))))
        }
    }
}

fn width(number: Scalar) -> u32 {
    match number {
        Scalar::Index => 64,
        Scalar::Int(width) => width,
        Scalar::Float(dtype) => dtype.bits(),
    }
}

/// An integer of so many bits, with its sign; one bit is 0 or 1.
fn wrap(value: i128, width: u32) -> i128 {
    let low = unsigned(value, width);
    if width > 1 && low >> (width - 1) == 1 { low - (1 << width) } else { low }
}

fn unsigned(value: i128, width: u32) -> i128 {
    value.rem_euclid(1 << width)
}

/// One bit that is set is -1.
fn signed(value: i128, width: u32) -> i128 {
    if width == 1 { -value } else { value }
}

fn integers(op: Arith, args: &[i128], width: u32) -> Result<i128, Stop> {
    let wrong = || Stop::Fault(format!("{op:?} of {args:?}"));
    let [x, y] = match args {
        [x, y] => [*x, *y],
        [x] => [*x, 0],
        _ => return Err(wrong()),
    };
    let ([ux, uy], [sx, sy]) = ([x, y].map(|it| unsigned(it, width)), [x, y].map(|it| signed(it, width)));
    if op.divides() && y == 0 {
        return Err(wrong());
    }
    let places = u32::try_from(uy).ok().filter(|places| *places < width);
    Ok(match op {
        Arith::Add => x + y,
        Arith::Sub => x - y,
        Arith::Mul => x * y,
        Arith::DivU => ux / uy,
        Arith::DivS => sx / sy,
        Arith::CeilDivU => (ux + uy - 1) / uy,
        Arith::CeilDivS => -(-sx * sy.signum()).div_euclid(sy.abs()),
        Arith::FloorDivS => (sx * sy.signum()).div_euclid(sy.abs()),
        Arith::RemU => ux % uy,
        Arith::RemS => sx % sy,
        Arith::MinU => ux.min(uy),
        Arith::MinS => sx.min(sy),
        Arith::MaxU => ux.max(uy),
        Arith::MaxS => sx.max(sy),
        Arith::And => ux & uy,
        Arith::Or => ux | uy,
        Arith::Xor => ux ^ uy,
        Arith::Shl => places.map_or(0, |places| x << places),
        Arith::ShrU => places.map_or(0, |places| ux >> places),
        Arith::ShrS => sx >> places.unwrap_or(width),
        Arith::Abs => sx.abs(),
        Arith::LeadingZeros => (0..width).take_while(|bit| ux >> (width - 1 - bit) & 1 == 0).count() as i128,
        Arith::TrailingZeros => (0..width).take_while(|bit| ux >> bit & 1 == 0).count() as i128,
        Arith::Ones => ux.count_ones().into(),
        Arith::Not => 1 - x,
        Arith::Eq => (x == y).into(),
        Arith::Ne => (x != y).into(),
        Arith::LtS => (sx < sy).into(),
        Arith::LeS => (sx <= sy).into(),
        Arith::GtS => (sx > sy).into(),
        Arith::GeS => (sx >= sy).into(),
        Arith::LtU => (ux < uy).into(),
        Arith::LeU => (ux <= uy).into(),
        Arith::GtU => (ux > uy).into(),
        Arith::GeU => (ux >= uy).into(),
        _ => return Err(wrong()),
    })
}

fn floats(op: Arith, numerics: Numerics, dtype: DType, args: &[Number]) -> Result<Number, Stop> {
    if let Arith::Function(op) = op {
        return element(op, numerics, dtype, dtype, args).map_err(Stop::Failed);
    }
    let wrong = || Stop::Failed(Error::Unsupported(format!("{op:?} of {args:?}")));
    let reals: Vec<f64> = args.iter().map(|arg| arg.real()).collect();
    let [x, y] = match reals.as_slice() {
        [x, y] | [x, y, _] => [*x, *y],
        [x] => [*x, 0.0],
        _ => return Err(wrong()),
    };
    let holds = |value: bool| Ok(Number::truth(value));
    let is_unordered = x.is_nan() || y.is_nan();
    let computed = match op {
        Arith::AddF => x + y,
        Arith::SubF => x - y,
        Arith::MulF => x * y,
        Arith::DivF => x / y,
        Arith::RemF => x % y,
        Arith::Round => x.round(),
        Arith::IsNan => return holds(x.is_nan()),
        Arith::IsInf => return holds(x.is_infinite()),
        Arith::IsFinite => return holds(x.is_finite()),
        Arith::NegF => return Ok(Number::Real(-x)),
        Arith::Fma if dtype == DType::F32 => {
            f64::from((x as f32).mul_add(y as f32, reals.get(2).copied().ok_or_else(wrong)? as f32))
        }
        Arith::Fma => x.mul_add(y, reals.get(2).copied().ok_or_else(wrong)?),
        Arith::MinF | Arith::MaxF if is_unordered => f64::NAN,
        Arith::MinNumF | Arith::MaxNumF if x.is_nan() => y,
        Arith::MinNumF | Arith::MaxNumF if y.is_nan() => x,
        // All numbers are ordered here, -0 below 0.
        Arith::MinF | Arith::MinNumF => {
            if x.total_cmp(&y).is_lt() {
                x
            } else {
                y
            }
        }
        Arith::MaxF | Arith::MaxNumF => {
            if x.total_cmp(&y).is_gt() {
                x
            } else {
                y
            }
        }
        Arith::Oeq => return holds(x == y),
        Arith::Ogt => return holds(x > y),
        Arith::Oge => return holds(x >= y),
        Arith::Olt => return holds(x < y),
        Arith::Ole => return holds(x <= y),
        Arith::One => return holds(!is_unordered && x != y),
        Arith::Ord => return holds(!is_unordered),
        Arith::Ueq => return holds(is_unordered || x == y),
        Arith::Ugt => return holds(is_unordered || x > y),
        Arith::Uge => return holds(is_unordered || x >= y),
        Arith::Ult => return holds(is_unordered || x < y),
        Arith::Ule => return holds(is_unordered || x <= y),
        Arith::Une => return holds(x != y),
        Arith::Uno => return holds(is_unordered),
        _ => return Err(wrong()),
    };
    Ok(Number::Real(computed).fit(dtype))
}

/// A number as one of another type.
fn convert(op: Arith, number: Number, from: Scalar, to: Scalar) -> Number {
    let of_bits = |bits: u128, number: Scalar| match number {
        Scalar::Float(dtype) => Number::from_bits(bits, dtype),
        Scalar::Index | Scalar::Int(_) => Number::Int(wrap(bits.cast_signed(), width(number))),
    };
    let integer = |value: i128| match op {
        Arith::ConvertS => signed(value, width(from)),
        _ => unsigned(value, width(from)),
    };
    match (op, number, to) {
        (Arith::Bitcast, Number::Int(value), to) => of_bits(unsigned(value, width(from)).cast_unsigned(), to),
        (Arith::Bitcast, number, to) => match from {
            Scalar::Float(dtype) => of_bits(number.bits(dtype), to),
            Scalar::Index | Scalar::Int(_) => number,
        },
        (_, Number::Int(value), Scalar::Float(dtype)) => Number::of_integer(integer(value), dtype),
        (_, Number::Int(value), to) => Number::Int(wrap(integer(value), width(to))),
        (_, number, Scalar::Float(dtype)) => number.nearest(dtype),
        // The nearest integer of the type; NaN is 0.
        (_, number, to) => {
            let (places, whole) = (width(to), number.real() as i128);
            // A float to one bit goes by way of eight.
            let places = places.max(8);
            let (least, greatest) = match op {
                Arith::ConvertS => (-(1 << (places - 1)), (1 << (places - 1)) - 1),
                _ => (0, (1 << places) - 1),
            };
            Number::Int(wrap(whole.clamp(least, greatest), width(to)))
        }
    }
}
