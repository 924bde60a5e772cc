//! What ops do to how near a tensor is to the interpreter's.
//!
//! The interpreter computes functions by other formulas than compiled code, and adds up in another order. What is made of
//! its results by steps, comparisons and the like may be anything then, so that only dtype and shape are compared.

use promote_lattice::op::Class;
use promote_lattice::op::ShapeRule;
use promote_lattice::{DType, Op};

use super::body::{Precision, Tensor};

/// How an op rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounding {
    /// It passes elements on, or what differs as little as they do.
    Moves,
    /// It gives the one result that is nearest.
    Exact,
    /// It is exact on integers.
    ExactOnIntegers,
    /// A function of other formulas.
    Function,
}

/// How near the result of `op` is, which has this dtype, if that is known.
pub(super) fn of(op: Op, operands: &[&Tensor], dtype: Option<DType>) -> Precision {
    let worst = operands.iter().map(|operand| operand.precision).max().unwrap_or(Precision::Exact);
    let is_exact = |dtype: Option<DType>| dtype.is_some_and(|dtype| !dtype.is_inexact());
    let is_complex = |dtype: Option<DType>| dtype.is_none_or(|dtype| dtype.real_part() != dtype);
    let of_integers = is_exact(dtype) && operands.iter().all(|operand| is_exact(operand.dtype));
    let complex = is_complex(dtype) || operands.iter().any(|operand| is_complex(operand.dtype));
    let chooses = matches!(op, Op::Where) && operands[0].precision != Precision::Exact
        || matches!(op, Op::Take) && operands[1].precision != Precision::Exact
        || matches!(op, Op::Convert) && is_exact(dtype) && worst != Precision::Exact;
    let mut near = operands.iter().filter(|operand| operand.precision == Precision::Near);
    let is_rescaled = near.any(|operand| dtype.is_none() || operand.dtype != dtype);
    match (rounding(op), worst) {
        _ if chooses => Precision::Loose,
        // Units in the last place are those of the dtype that they were made in.
        (Rounding::Moves, Precision::Near) if is_rescaled => Precision::Loose,
        (Rounding::Moves, worst) => worst,
        (Rounding::Exact, Precision::Exact) if !complex => Precision::Exact,
        (Rounding::ExactOnIntegers, Precision::Exact) if of_integers => Precision::Exact,
        (Rounding::Function, Precision::Exact) if !complex => Precision::Near,
        (Rounding::Exact | Rounding::ExactOnIntegers | Rounding::Function, _) => Precision::Loose,
    }
}

/// Whether an op gives what it takes, only elsewhere.
pub(super) fn is_move(op: Op) -> bool {
    match op.info().shape {
        ShapeRule::Stated | ShapeRule::Broadcast => op == Op::Where,
        ShapeRule::Reduce | ShapeRule::Scan | ShapeRule::Matmul => false,
        ShapeRule::Along => op != Op::Softmax,
        ShapeRule::Same
        | ShapeRule::Concat
        | ShapeRule::Stack
        | ShapeRule::Reshape
        | ShapeRule::Permute
        | ShapeRule::BroadcastTo
        | ShapeRule::ExpandDims
        | ShapeRule::Squeeze
        | ShapeRule::Slice
        | ShapeRule::Take => true,
    }
}

/// Whether an op returns truth values.
pub(super) fn is_predicate(op: Op) -> bool {
    matches!(op.class(), Class::Predicate | Class::Logical | Class::Comparison | Class::Truth)
}

fn rounding(op: Op) -> Rounding {
    use Op::*;
    match op.class() {
        Class::Stated
        | Class::Layout
        | Class::Indexing
        | Class::Joining
        | Class::Choice
        | Class::Extremum
        | Class::Order => Rounding::Moves,
        Class::Part => match op {
            Angle => Rounding::Function,
            _ => Rounding::Moves,
        },
        Class::Sign => match op {
            Sign | Square => Rounding::Exact,
            _ => Rounding::Moves,
        },
        Class::Function => match op {
            Sqrt => Rounding::Exact,
            _ => Rounding::Function,
        },
        Class::SpecialFunction => Rounding::Function,
        Class::Predicate => match op {
            // Which sign a computed NaN has is the processor's choice.
            SignBit => Rounding::ExactOnIntegers,
            _ => Rounding::Exact,
        },
        Class::Arithmetic => match op {
            FloorDivide | Remainder | Pow => Rounding::ExactOnIntegers,
            _ => Rounding::Exact,
        },
        Class::FloatPair => match op {
            NextAfter => Rounding::Exact,
            CopySign => Rounding::ExactOnIntegers,
            _ => Rounding::Function,
        },
        Class::Rounding
        | Class::Logical
        | Class::Bitwise
        | Class::Shift
        | Class::IntegerPair
        | Class::Comparison
        | Class::Truth
        | Class::Index => Rounding::Exact,
        Class::Accumulation | Class::Moment | Class::Exponential | Class::Product => {
            Rounding::ExactOnIntegers
        }
    }
}
