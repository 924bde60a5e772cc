//! Floats.

use super::Arith;
use crate::build::Build;
use crate::emit::{Binary, Compare, Emit, Unary};
use crate::ops::zeros_in_order;

pub(super) fn same<E: Emit>(e: &mut E, op: Arith, args: &[E::Value]) -> E::Value {
    match (op, args) {
        (Arith::AddF, [x, y]) => e.add(*x, *y),
        (Arith::SubF, [x, y]) => e.sub(*x, *y),
        (Arith::MulF, [x, y]) => e.mul(*x, *y),
        (Arith::DivF, [x, y]) => e.div(*x, *y),
        (Arith::RemF, [x, y]) => e.binary(Binary::FRem, *x, *y),
        (Arith::NegF, [x]) => e.neg(*x),
        (Arith::Round, [x]) => {
            let magnitude = e.fabs(*x);
            let whole = e.unary(Unary::Trunc, magnitude);
            let rest = e.sub(magnitude, whole);
            let (is_half, up) = (e.is(Compare::FGe, rest, 0.5), e.offset(whole, 1.0));
            let rounded = e.select(is_half, up, whole);
            e.copysign(rounded, *x)
        }
        (Arith::Fma, [x, y, z]) => e.fma(*x, *y, *z),
        (Arith::MinF | Arith::MinNumF, [x, y]) => extreme(e, op == Arith::MinNumF, Compare::FLt, *x, *y),
        (Arith::MaxF | Arith::MaxNumF, [x, y]) => extreme(e, op == Arith::MaxNumF, Compare::FGt, *x, *y),
        (op, args) => unreachable!("{} of {} floats", op.name(), args.len()),
    }
}

/// The lesser or the greater of two floats. Zeros are told from each other by their signs.
fn extreme<E: Emit>(e: &mut E, passes_nan: bool, first: Compare, x: E::Value, y: E::Value) -> E::Value {
    let is_first = e.compare(first, x, y);
    let chosen = e.select(is_first, x, y);
    let chosen = zeros_in_order(e, first == Compare::FLt, x, y, chosen);
    if passes_nan {
        // A comparison with NaN chooses the second; that is to be the other one.
        let is_nan = e.is_nan(y);
        return e.select(is_nan, x, chosen);
    }
    let (is_nan, nan) = (e.compare(Compare::FUnordered, x, y), e.add(x, y));
    e.select(is_nan, nan, chosen)
}

/// What is asked of one float.
pub(super) fn ask<E: Emit>(e: &mut E, op: Arith, x: E::Value) -> E::Value {
    let magnitude = e.fabs(x);
    match op {
        Arith::IsNan => e.is_nan(x),
        Arith::IsInf => e.is(Compare::FEq, magnitude, f64::INFINITY),
        Arith::IsFinite => e.is(Compare::FLt, magnitude, f64::INFINITY),
        op => unreachable!("{} asks nothing of one float", op.name()),
    }
}

pub(super) fn test<E: Emit>(e: &mut E, op: Arith, x: E::Value, y: E::Value) -> E::Value {
    let (x, y) = (e.compared(x), e.compared(y));
    let (compare, is_inverted) = match op {
        Arith::Oeq => (Compare::FEq, false),
        Arith::Ogt => (Compare::FGt, false),
        Arith::Oge => (Compare::FGe, false),
        Arith::Olt => (Compare::FLt, false),
        Arith::Ole => (Compare::FLe, false),
        Arith::Une => (Compare::FNe, false),
        Arith::Uno => (Compare::FUnordered, false),
        Arith::Ord => (Compare::FUnordered, true),
        Arith::Ugt => (Compare::FLe, true),
        Arith::Uge => (Compare::FLt, true),
        Arith::Ult => (Compare::FGe, true),
        Arith::Ule => (Compare::FGt, true),
        Arith::One | Arith::Ueq => {
            let (is_less, is_greater) = (e.compare(Compare::FLt, x, y), e.compare(Compare::FGt, x, y));
            let differ = e.or(is_less, is_greater);
            return if op == Arith::One { differ } else { e.not(differ) };
        }
        op => unreachable!("{} compares no floats", op.name()),
    };
    let holds = e.compare(compare, x, y);
    if is_inverted { e.not(holds) } else { holds }
}
