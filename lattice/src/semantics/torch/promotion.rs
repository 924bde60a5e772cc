//! How PyTorch promotes dtypes: categories, and operands on three levels.
//!
//! The operands of the highest category (bool, integer, float, complex) decide and, among these, those of the highest
//! level: arrays with dimensions, then arrays without, then Python scalars, which stand for the default dtypes.
//!
//! PyTorch has this rule twice. [`result_type`] is `torch.result_type`, which CPU code promotes with: it joins u16, u32
//! and u64 with floats only. [`elementwise_dtype`] is `elementwise_dtypes`, which the meta device and the compiler ask for
//! the dtypes of an op: it joins them with all but one another. Where both have an answer, it is the same.

use std::cmp::Reverse;

use DType::*;

use super::super::operand::{Operand, Rank, dtypes};
use super::{COMPLEX, DEFAULTS, FLOATS, HALF_COMPLEX, NARROW, WIDE_UNSIGNED};
use crate::dtype::{DType, Kind};
use crate::lattice::NoJoin;

/// The order of promotion: a dtype lies below those of the rungs after its own, and two of one rung meet in the first
/// dtype of the next. A float meets a complex dtype as its own complex dtype.
const LADDER: &[&[DType]] =
    &[&[B1], &[U8, I8], &[I16], &[I32], &[I64], &[F16, BF16], &[F32], &[F64], &[C32, BC32], &[C64], &[C128]];

/// How two dtypes of one level are promoted.
type Pair = fn(DType, DType) -> Option<DType>;

/// `c10::promoteTypes`.
fn promote_types(a: DType, b: DType) -> Option<DType> {
    let complex = a.kind() == Kind::Complex || b.kind() == Kind::Complex;
    let on_ladder = |dtype| {
        let dtype = if complex { complex_of(dtype).unwrap_or(dtype) } else { dtype };
        LADDER.iter().position(|rung| rung.contains(&dtype)).map(|rung| (rung, dtype))
    };
    // What u16, u32 and u64 are promoted to: of the floats of one byte, PyTorch forgets to refuse the pair of f4e2m1fn.
    let absorbs_wide = |dtype| (FLOATS.contains(&dtype) || dtype == F4E2M1FN).then_some(dtype);
    match (on_ladder(a), on_ladder(b)) {
        _ if a == b => Some(a),
        (Some((low, a)), Some((high, b))) if low < high || a == b => Some(b),
        (Some((high, a)), Some((low, _))) if low < high => Some(a),
        (Some((rung, _)), Some(_)) => LADDER.get(rung + 1).map(|next| next[0]),
        _ if is_wide_unsigned(a) => absorbs_wide(b),
        _ if is_wide_unsigned(b) => absorbs_wide(a),
        _ => None,
    }
}

/// `get_higher_dtype` among dtypes of the highest category: as [`promote_types`], but the unsigned integers that this
/// refuses absorb bool and the other integers, and are absorbed by complex dtypes.
fn higher_dtype(a: DType, b: DType) -> Option<DType> {
    let with_wide = |wide: DType, other: DType| match other.kind() {
        Kind::Bool | Kind::Unsigned | Kind::Signed => Some(wide),
        Kind::Float => None,
        Kind::Complex => Some(other),
    };
    promote_types(a, b).or_else(|| match (is_wide_unsigned(a), is_wide_unsigned(b)) {
        (true, false) => with_wide(a, b),
        (false, true) => with_wide(b, a),
        (true, true) | (false, false) => None,
    })
}

fn is_wide_unsigned(dtype: DType) -> bool {
    WIDE_UNSIGNED.contains(&dtype)
}

/// The complex dtype whose parts are of `dtype`, or `dtype` if it is complex.
fn complex_of(dtype: DType) -> Option<DType> {
    match dtype.kind() {
        Kind::Complex => Some(dtype),
        Kind::Float => [COMPLEX, HALF_COMPLEX]
            .into_iter()
            .flatten()
            .copied()
            .find(|complex| complex.real_part() == dtype),
        Kind::Bool | Kind::Unsigned | Kind::Signed => None,
    }
}

/// The category of a dtype: bool, integer, float, complex.
const fn category(dtype: DType) -> u8 {
    match dtype.kind() {
        Kind::Bool => 0,
        Kind::Unsigned | Kind::Signed => 1,
        Kind::Float => 2,
        Kind::Complex => 3,
    }
}

/// The level of an operand, the highest being 0.
const fn level(operand: &Operand) -> usize {
    match operand.rank {
        _ if operand.is_python() => 2,
        Rank::Zero => 1,
        Rank::One | Rank::Two | Rank::More | Rank::Unknown => 0,
    }
}

/// The dtype of operands of a `higher` level, given that of those below.
fn over(higher: DType, lower: DType, pair: Pair) -> Option<DType> {
    match (higher.kind(), lower.kind()) {
        _ if category(lower) <= category(higher) => Some(higher),
        (Kind::Float, Kind::Complex) => complex_of(higher),
        (_, Kind::Complex) => Some(lower),
        _ => pair(higher, lower),
    }
}

/// The dtype of `operands`, whose levels are joined by `pair` and then put one over the other.
fn promoted<'a>(operands: impl Iterator<Item = &'a Operand>, pair: Pair) -> Option<DType> {
    let mut levels = [None; 3];
    for operand in operands {
        let (level, dtype) = (&mut levels[level(operand)], DEFAULTS.strengthen(operand.dtype));
        *level = Some(level.map_or(Some(dtype), |joined| pair(joined, dtype))?);
    }
    let mut lowest_first = levels.into_iter().flatten().rev();
    let lowest = lowest_first.next()?;
    lowest_first.try_fold(lowest, |lower, higher| over(higher, lower, pair))
}

/// `torch.result_type`, in which the order of the operands counts for whether there is a result.
pub(super) fn result_type(operands: &[Operand]) -> Option<DType> {
    promoted(operands.iter(), promote_types)
}

/// `elementwise_dtypes`, in which only operands of the highest category count, so they are joined first.
pub(super) fn elementwise_dtype(operands: &[Operand]) -> Option<DType> {
    let mut highest_first: Vec<_> = operands.iter().collect();
    highest_first.sort_by_key(|operand| Reverse(category(operand.dtype)));
    promoted(highest_first.into_iter(), higher_dtype)
}

/// Why [`result_type`] or [`elementwise_dtype`] has no answer.
pub(super) fn no_join(operands: &[Operand]) -> NoJoin {
    let dtypes = dtypes(operands);
    let because = if dtypes.iter().any(|dtype| NARROW.contains(dtype)) {
        "PyTorch promotes floats of 8 bits and fewer with no other arrays"
    } else if dtypes.iter().any(|dtype| is_wide_unsigned(*dtype)) {
        "PyTorch promotes arrays of u16, u32 and u64 with floats only"
    } else {
        return NoJoin::NoUpperBound { dtypes };
    };
    NoJoin::Undefined { dtypes, because }
}
