//! What reductions and cumulative ops do with the elements that they are given one after another.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};

use super::{Stop, fault};
use crate::number::Number;
use crate::ops::{Element, element, extreme, larger, maximum, minimum, smaller};

/// What a reduction begins with.
#[derive(Clone, Copy)]
enum Start {
    /// A number.
    Number(i128),
    /// The least element.
    Least,
    /// The largest element.
    Largest,
}

/// Each reduction, the step that takes in an element, and what it begins with. `max` and `min` have steps of their own, which
/// order zeros.
const REDUCTIONS: [(Op, Op, Start); 8] = [
    (Op::Sum, Op::Add, Start::Number(0)),
    (Op::CumulativeSum, Op::Add, Start::Number(0)),
    (Op::Prod, Op::Multiply, Start::Number(1)),
    (Op::Max, Op::Max, Start::Least),
    (Op::Maximum, Op::Maximum, Start::Least),
    (Op::Min, Op::Min, Start::Largest),
    (Op::Any, Op::LogicalOr, Start::Number(0)),
    (Op::All, Op::LogicalAnd, Start::Number(1)),
];

/// The cumulative ops in the same way.
const SCANS: [(Op, Op, Start); 2] =
    [(Op::CumulativeSum, Op::Add, Start::Number(0)), (Op::CumulativeProd, Op::Multiply, Start::Number(1))];

/// A reduction, or a cumulative op.
#[derive(Clone, Copy)]
pub(super) struct Fold {
    step: Op,
    start: Number,
    numerics: Numerics,
    dtype: DType,
}

impl Fold {
    /// Of a reduction of elements of `dtype`.
    pub(super) fn reduction(op: Op, numerics: Numerics, dtype: DType) -> Result<Self, Stop> {
        Self::find(&REDUCTIONS, op, numerics, dtype)
    }

    /// Of a cumulative op.
    pub(super) fn scan(op: Op, numerics: Numerics, dtype: DType) -> Result<Self, Stop> {
        Self::find(&SCANS, op, numerics, dtype)
    }

    fn find(table: &[(Op, Op, Start)], op: Op, numerics: Numerics, dtype: DType) -> Result<Self, Stop> {
        let Some((_, step, start)) = table.iter().find(|(own, ..)| *own == op) else {
            return fault(format!("{op} does not go on from element to element"));
        };
        // NumPy's cumulative sums begin with what changes no zero.
        let is_negative = op == Op::CumulativeSum && numerics == Numerics::NumPy;
        let start = match start {
            Start::Number(_) if is_negative && dtype.kind() == Kind::Float => Number::Real(-0.0),
            Start::Number(_) if is_negative && dtype.kind() == Kind::Complex => Number::Complex(-0.0, -0.0),
            Start::Number(number) => Number::Int(*number).fit(dtype),
            Start::Least => end(dtype, true),
            Start::Largest => end(dtype, false),
        };
        Ok(Self { step: *step, start, numerics, dtype })
    }

    /// What the reduction of no elements is.
    pub(super) fn start(self) -> Number {
        self.start
    }

    /// One element more.
    pub(super) fn take(self, all: Number, next: Number) -> Element {
        match self.step {
            Op::Max => Ok(larger(all, next, self.numerics)),
            Op::Min => Ok(smaller(all, next, self.numerics)),
            step => element(step, self.numerics, self.dtype, self.dtype, &[all, next]),
        }
    }

    /// The first element of a cumulative op: NumPy begins with it.
    pub(super) fn take_first(self, next: Number) -> Element {
        match self.numerics {
            Numerics::NumPy => Ok(next),
            Numerics::Jax | Numerics::Torch => self.take(self.start, next),
        }
    }
}

/// The place of the element that `argmax` or `argmin` finds; of nothing the largest place that there is.
pub(super) fn arg(op: Op, lane: &[Number]) -> Result<Number, Stop> {
    let choose = match [(Op::ArgMax, true), (Op::ArgMin, false)].iter().find(|(own, _)| *own == op) {
        Some((_, true)) => maximum,
        Some((_, false)) => minimum,
        None => return fault(format!("{op} does not find a place")),
    };
    Ok(if lane.is_empty() { Number::Int(i64::MAX.into()) } else { extreme(lane, choose) })
}

/// The least element of a dtype, or the largest.
fn end(dtype: DType, least: bool) -> Number {
    let bits = dtype.bits();
    match dtype.kind() {
        Kind::Bool => Number::truth(!least),
        Kind::Unsigned if least => Number::Int(0),
        Kind::Unsigned => Number::Int(-1).fit(dtype),
        Kind::Signed if least => Number::Int(-1 << (bits - 1)),
        Kind::Signed => Number::Int((1 << (bits - 1)) - 1),
        Kind::Float => Number::Real(float_end(dtype, least)),
        Kind::Complex => {
            let part = float_end(dtype.real_part(), least);
            Number::Complex(part, part)
        }
    }
}

/// An infinity, or what is nearest to it in a format of few numbers.
fn float_end(dtype: DType, least: bool) -> f64 {
    let infinity = if least { f64::NEG_INFINITY } else { f64::INFINITY };
    if dtype.bits() > 8 {
        return infinity;
    }
    let numbers = (0..1 << dtype.bits()).map(|code| Number::from_bits(code, dtype).real());
    let numbers = numbers.filter(|number| !number.is_nan());
    let found = if least { numbers.min_by(f64::total_cmp) } else { numbers.max_by(f64::total_cmp) };
    found.unwrap_or(infinity)
}
