//! Ops of other dialects, on indices and integers, and what they decide.

use super::Frame;
use crate::Error;
use crate::program::{Arith, Kind, Operation, Stated};
use crate::value::Value;

/// An integer cut to `width` bits and sign-extended; one bit is 0 or 1.
pub(crate) fn wrap(value: i64, width: u32) -> i64 {
    match width {
        64.. => value,
        1 => value & 1,
        _ => value << (64 - width) >> (64 - width),
    }
}

fn unsigned(value: i64, width: u32) -> u64 {
    value.cast_unsigned() << (64 - width) >> (64 - width)
}

fn width(stated: &Stated) -> Result<u32, Error> {
    match stated {
        Stated::Integer(width) => Ok(*width),
        other => Err(Error::Unsupported(format!("arithmetic on {other:?}"))),
    }
}

/// What an op of `arith` returns.
pub(super) fn arith(arith: Arith, frame: &Frame<'_>, operation: &Operation) -> Result<Value, Error> {
    let operands = &operation.operands;
    if arith == Arith::Select {
        let chosen = if frame.integer(operands[0])? != 0 { 1 } else { 2 };
        return frame.get(operands[chosen]).cloned();
    }
    let result = width(&frame.function.stated[operation.results[0]])?;
    let bits = width(&frame.function.stated[operands[0]])?;
    let x = frame.integer(operands[0])?;
    let y = operands.get(1).map_or(Ok(0), |y| frame.integer(*y))?;
    compute(arith, [x, y], (bits, result)).map(Value::Integer)
}

/// What an op of `arith` returns of integers of `bits`, as one of `result` bits; casts look at the first alone.
pub(crate) fn compute(arith: Arith, [x, y]: [i64; 2], (bits, result): (u32, u32)) -> Result<i64, Error> {
    let (ux, uy) = (unsigned(x, bits), unsigned(y, bits));
    let no_remainder = || Error::Trap("division by zero".to_owned());
    let value = match arith {
        Arith::Add => x.wrapping_add(y),
        Arith::Subtract => x.wrapping_sub(y),
        Arith::Multiply => x.wrapping_mul(y),
        Arith::RemainderSigned => x.checked_rem(y).ok_or_else(no_remainder)?,
        Arith::RemainderUnsigned => ux.checked_rem(uy).ok_or_else(no_remainder)?.cast_signed(),
        Arith::And => x & y,
        Arith::Or => x | y,
        Arith::Xor => x ^ y,
        Arith::CastSigned if bits == 1 => -x,
        Arith::CastSigned | Arith::Select => x,
        Arith::CastUnsigned => ux.cast_signed(),
        Arith::Compare(predicate) => i64::from(match predicate {
            0 => x == y,
            1 => x != y,
            2 => x < y,
            3 => x <= y,
            4 => x > y,
            5 => x >= y,
            6 => ux < uy,
            7 => ux <= uy,
            8 => ux > uy,
            _ => ux >= uy,
        }),
    };
    Ok(wrap(value, result))
}

/// An element of a tensor of integers.
pub(super) fn extract(frame: &Frame<'_>, operation: &Operation) -> Result<Value, Error> {
    let array = frame.array(operation.operands[0])?;
    let mut index = Vec::new();
    for (at, extent) in operation.operands[1..].iter().zip(&array.shape) {
        let at = frame.integer(*at)?;
        let place = usize::try_from(at).ok().filter(|place| place < extent);
        index.push(place.ok_or_else(|| Error::Trap(format!("element {at} of an extent of {extent}")))?);
    }
    let bits = width(&frame.function.stated[operation.results[0]])?;
    Ok(Value::Integer(wrap(array.at(&index).int() as i64, bits)))
}

/// Which successor a branch takes.
pub(super) fn successor(frame: &Frame<'_>, operation: &Operation) -> Result<usize, Error> {
    let Some(flag) = operation.operands.first() else { return Ok(0) };
    let flag = frame.integer(*flag)?;
    Ok(match &operation.kind {
        Kind::Switch(cases) => chosen(cases, flag),
        _ => usize::from(flag == 0),
    })
}

/// Which region is run once.
pub(super) fn chosen_region(frame: &Frame<'_>, operation: &Operation) -> Result<usize, Error> {
    let Some(flag) = operation.operands.first() else { return Ok(0) };
    let flag = frame.integer(*flag)?;
    Ok(match &operation.kind {
        Kind::IndexSwitch(cases) => chosen(cases, flag),
        _ => usize::from(flag == 0),
    })
}

/// The place of a case, after the default.
fn chosen(cases: &[i64], flag: i64) -> usize {
    cases.iter().position(|case| *case == flag).map_or(0, |place| place + 1)
}
