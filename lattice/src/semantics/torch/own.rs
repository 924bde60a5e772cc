//! The ops of PyTorch that do not fit a row of its table.

use DType::*;

use super::super::operand::{Bound, Operand, Origin, Rank, Typing, dtypes};
use super::super::refusal::{Accepts, Refusal};
use super::super::rows::Output;
use super::promotion::result_type;
use super::{Compute, FLOATS, NAME, Row, Scalars, check_scalars, kernels, refused, together};
use crate::convert::Literal;
use crate::dtype::DType;
use crate::op::Op;

/// What indices may be.
const INDICES: &[DType] = &[I32, I64];

/// `x - y` refuses two bool arrays, and on a CPU bool altogether.
pub(super) fn subtract(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let both = |is: fn(&Operand) -> bool| operands.iter().all(is);
    if both(|operand| operand.dtype == B1 && !operand.is_python()) {
        return Err(Refusal::Dtype { semantics: NAME.into(), op, dtype: B1, accepts: Accepts::NUMBERS });
    }
    let row = Row { scalars: Scalars::NotAll, kernels: kernels::WITH_C32, ..Row::PLAIN };
    let typing = together(op, row, operands)?;
    Ok(Typing { has_kernel: typing.has_kernel && both(|operand| operand.dtype != B1), ..typing })
}

/// `x / y`; a Python scalar is divided by multiplying with the reciprocal, which CPU code of c32 has.
pub(super) fn divide(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let of_scalar = operands.first().is_some_and(|operand| operand.is_python());
    let kernels = if of_scalar { kernels::INEXACT.with(C32) } else { kernels::INEXACT };
    together(op, Row { scalars: Scalars::NotAll, compute: Compute::Float, kernels, ..Row::PLAIN }, operands)
}

/// `x ** y`; powers of 1, and to 0 or 1, are no arithmetic, so they have CPU code for every dtype and bool stays bool.
pub(super) fn power(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let kernels = kernels::NUMBERS.with(C32);
    let row = Row { scalars: Scalars::NotAll, compute: Compute::BoolToInteger, kernels, ..Row::PLAIN };
    let typing = together(op, row, operands)?;
    let [base, exponent] = operands else { return Err(refused(operands)) };
    if exponent.is_negative_literal() && typing.result.is_integer() {
        return Err(Refusal::NegativePower { semantics: NAME.into(), dtype: base.dtype });
    }
    match result_type(operands) {
        Some(dtype) if is(exponent, 0.0) || is(exponent, 1.0) => Ok(Typing::uniform(dtype, dtype)),
        Some(_) if base.dtype == WeakInt && is(base, 1.0) => Ok(Typing { has_kernel: true, ..typing }),
        Some(B1) => Ok(Typing { has_kernel: false, ..typing }),
        Some(_) | None => Ok(typing),
    }
}

fn is(operand: &Operand, number: f64) -> bool {
    match operand.origin {
        Origin::Literal(Literal::Int(value)) => value as f64 == number,
        Origin::Literal(Literal::Float(value)) => value == number,
        Origin::Literal(Literal::Complex(real, imaginary)) => real == number && imaginary == 0.0,
        Origin::Constant(_) | Origin::Value => false,
    }
}

/// `x << y` and `x >> y`. Bool arrays are shifted only where CPU code promotes them to integers. With `x` a Python scalar
/// the meta device also shifts floats; that is an oversight of its rule, which no code follows, and is refused.
pub(super) fn shift(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let of_scalar = operands.first().is_some_and(|operand| operand.is_python());
    let row =
        Row { scalars: Scalars::NotAll, accepts: Accepts::BITS, kernels: kernels::INTEGER, ..Row::PLAIN };
    let typing = together(op, row, operands)?;
    let bool_array = operands.iter().position(|operand| operand.dtype == B1 && !operand.is_python());
    match bool_array {
        Some(index) if !typing.has_kernel && !of_scalar => {
            Err(Refusal::Operand { op, index, dtype: B1, accepts: Accepts::INTEGERS })
        }
        Some(_) | None => Ok(typing),
    }
}

/// `torch.maximum` and `torch.minimum` take arrays; with a number written in the program they are `torch.clamp` with one
/// bound, which is how PyTorch programs say that.
pub(super) fn extremum(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let is_number = |operand: &Operand| operand.is_literal() && operand.dtype.is_weak();
    let is_bound = matches!(operands, [x, bound] | [bound, x] if is_number(bound) && !x.is_python());
    let scalars = if is_bound { Scalars::NotAll } else { Scalars::None };
    let typing = together(op, Row { scalars, kernels: kernels::REAL_WITH_UNSIGNED, ..Row::PLAIN }, operands)?;
    let bound = if op == Op::Maximum { Bound::Lower } else { Bound::Upper };
    let bounds: Vec<_> = operands.iter().map(|operand| (operand, bound)).collect();
    bounded(typing, &bounds)
}

/// An integer bound that leaves nothing of the dtype's range is refused.
fn bounded(typing: Typing, bounds: &[(&Operand, Bound)]) -> Result<Typing, Refusal> {
    let dtype = typing.result;
    typing.bounded(bounds).map_err(|literal| Refusal::LiteralRange { semantics: NAME.into(), literal, dtype })
}

/// `torch.where`: a mask, which may be u8 as it was before there was bool, and branches that `torch.result_type` promotes.
pub(super) fn where_(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let [mask, branches @ ..] = operands else { return Err(refused(operands)) };
    check_scalars(op, Scalars::AfterFirst, operands)?;
    if !matches!(mask.dtype, B1 | U8) {
        return Err(Refusal::Operand { op, index: 0, dtype: mask.dtype, accepts: Accepts::BOOL });
    }
    let dtype = result_type(branches).ok_or_else(|| refused(branches))?;
    Ok(Typing::uniform(dtype, dtype).with(0, B1))
}

/// `torch.clamp`: both bounds are arrays, promoted with the first operand, or both are Python scalars, for which a float
/// stays what it is.
pub(super) fn clip(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let [x, lo, hi] = operands else { return Err(refused(operands)) };
    let by_scalars = lo.is_python() && hi.is_python();
    let scalars = if by_scalars { Scalars::AfterFirst } else { Scalars::None };
    let row = Row { scalars, kernels: kernels::REAL_NUMBERS_WITH_UNSIGNED, ..Row::PLAIN };
    let typing = together(op, row, operands)?;
    let kept = by_scalars && FLOATS.contains(&x.dtype);
    let typing = if kept { Typing::uniform(x.dtype, x.dtype) } else { typing };
    bounded(typing, &[(lo, Bound::Lower), (hi, Bound::Upper)])
}

/// `torch.matmul` promotes nothing: its CPU code refuses operands that differ. The meta device only looks at the dtypes
/// of two vectors and of batches; it promotes a matrix and a vector, and returns the dtype of what is multiplied with a matrix.
pub(super) fn matmul(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let typing = together(op, Row { kernels: kernels::NUMBERS, ..Row::PLAIN }, operands);
    let without_kernel = |typing: Typing| Typing { has_kernel: false, ..typing };
    match operands {
        [x, y] if x.dtype == y.dtype || x.is_python() || y.is_python() => typing,
        [Operand { rank: Rank::Two | Rank::More, .. }, Operand { rank: Rank::One, .. }] => {
            typing.map(without_kernel)
        }
        [x, Operand { rank: Rank::Two, .. }] => Ok(without_kernel(Typing::uniform(x.dtype, x.dtype))),
        _ => Err(Refusal::Differ { semantics: NAME.into(), op, dtypes: dtypes(operands) }),
    }
}

/// `torch.any` and `torch.all` of u8 are u8, as they were before there was bool.
pub(super) fn truth(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let row = Row { output: Output::Bool, kernels: kernels::WITH_UNSIGNED, ..Row::PLAIN };
    let typing = together(op, row, operands)?;
    Ok(if typing.compute(0) == U8 { Typing { result: U8, ..typing } } else { typing })
}

/// `torch.index_select`, and `torch.take`.
pub(super) fn take(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    check_scalars(op, Scalars::None, operands)?;
    let [x, indices] = operands else { return Err(refused(operands)) };
    if !INDICES.contains(&indices.dtype) {
        return Err(Refusal::Index { semantics: NAME.into(), dtype: indices.dtype, accepts: INDICES });
    }
    Ok(Typing::own(operands, x.dtype))
}
