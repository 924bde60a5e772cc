//! Ops of other dialects on numbers: those of `arith` that the interpreter of modules models too, and constants.

use promote_lower::program::{Foreign, ValueId};
use promote_lower::types::Number as Scalar;

use super::frame::{Frame, Slot};
use super::{Stop, fault};
use crate::Error;
use crate::eval::scalar::{compute, wrap};
use crate::number::Number;
use crate::program::Arith;

/// What an op returns.
pub(super) fn evaluate(
    frame: &Frame<'_>,
    op: &Foreign,
    args: &[ValueId],
    results: &[ValueId],
) -> Result<Vec<Slot>, Stop> {
    let attribute = |name: &str| {
        op.attributes.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value.as_str())
    };
    let [result] = results else { return fault(format!("{} has one result", op.name)) };
    let kind = frame.scalar(*result)?;
    if op.name == "arith.constant" {
        return Ok(vec![constant(attribute("value"), kind)?]);
    }
    let predicate = attribute("predicate").split(':').next().unwrap_or("").trim().parse().ok();
    let Some(arith) = Arith::by_name(&op.name, predicate) else {
        return Err(Error::Unsupported(op.name.clone()).into());
    };
    let slot = match (arith, args) {
        (Arith::Select, [condition, x, y]) => {
            let chosen = if integer(frame, *condition)? != 0 { x } else { y };
            Slot::Number(frame.number(*chosen)?)
        }
        (arith, [x]) => Slot::integer(compute(arith, [integer(frame, *x)?, 0], widths(frame, *x, kind)?)?),
        (arith, [x, y]) => {
            let operands = [integer(frame, *x)?, integer(frame, *y)?];
            Slot::integer(compute(arith, operands, widths(frame, *x, kind)?)?)
        }
        (_, _) => return fault(format!("{} of {} operands", op.name, args.len())),
    };
    Ok(vec![slot])
}

fn integer(frame: &Frame<'_>, value: ValueId) -> Result<i64, Stop> {
    match frame.number(value)? {
        Number::Int(value) => Ok(value as i64),
        other @ (Number::Real(_) | Number::Complex(..)) => fault(format!("{other:?} is no integer")),
    }
}

/// How many bits an operand and the result have.
fn widths(frame: &Frame<'_>, operand: ValueId, result: Scalar) -> Result<(u32, u32), Stop> {
    let width = |kind: Scalar| match kind {
        Scalar::Index => Ok(64),
        Scalar::Int(width @ 1..=64) => Ok(width),
        Scalar::Int(_) | Scalar::Float(_) => {
            Err(Stop::Failed(Error::Unsupported(format!("arithmetic on {kind:?}"))))
        }
    };
    Ok((width(frame.scalar(operand)?)?, width(result)?))
}

/// The number that the attribute of a constant says, as MLIR prints it: `3 : index`, `true`, `1.5 : f32`, or the bits of a
/// float that is not finite.
fn constant(text: &str, kind: Scalar) -> Result<Slot, Stop> {
    let number = text.split(':').next().unwrap_or("").trim();
    let wrong = || Stop::Failed(Error::Unsupported(format!("a constant {text} of {kind:?}")));
    let integer = match number {
        "true" => Some(1),
        "false" => Some(0),
        digits => digits.parse::<i64>().ok(),
    };
    match kind {
        Scalar::Index => integer.map(Slot::integer).ok_or_else(wrong),
        Scalar::Int(width @ 1..=64) => {
            integer.map(|integer| Slot::integer(wrap(integer, width))).ok_or_else(wrong)
        }
        Scalar::Int(_) => Err(wrong()),
        Scalar::Float(dtype) => {
            let float = match number.strip_prefix("0x") {
                Some(bits) => u128::from_str_radix(bits, 16).ok().map(|bits| Number::from_bits(bits, dtype)),
                None => number.parse().ok().map(|value| Number::Real(value).fit(dtype)),
            };
            float.map(Slot::Number).ok_or_else(wrong)
        }
    }
}
