//! What the rules see of an operand, and what they answer.

use super::refusal::{Accepts, Refusal};
use crate::convert::Literal;
use crate::dtype::DType;
use crate::op::Op;

/// An operand as the rules see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    /// Its dtype.
    pub dtype: DType,
    /// Whether it has dimensions. PyTorch and NumPy 1 let arrays with dimensions decide.
    pub rank: Rank,
    /// Where it comes from.
    pub origin: Origin,
}

/// What is known of an operand's number of dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// It has none.
    Zero,
    /// It has one. PyTorch's products distinguish vectors from matrices.
    One,
    /// It has two.
    Two,
    /// It has three or more.
    More,
    /// Nothing.
    Unknown,
}

/// What the rules need to know of where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// Computed, or passed in.
    Value,
    /// A number written in the program as a constant of a strong dtype and no dimensions: an array scalar, whose value
    /// NumPy 1 looks at.
    Constant(Literal),
    /// A Python scalar written in the program: a weak literal, or a bool.
    Literal(Literal),
}

impl Operand {
    /// A computed array of `dtype`, with a dimension.
    pub const fn value(dtype: DType) -> Self {
        Self { dtype, rank: Rank::One, origin: Origin::Value }
    }

    /// A computed array of `dtype` without dimensions.
    pub const fn zero_dim(dtype: DType) -> Self {
        Self { dtype, rank: Rank::Zero, origin: Origin::Value }
    }

    /// What the promotion tables mean by `dtype`: a computed array, or a Python scalar if it is weak.
    pub const fn of(dtype: DType) -> Self {
        if dtype.is_weak() { Self::literal(dtype) } else { Self::value(dtype) }
    }

    /// The Python scalar 1 of `dtype`, which is weak or bool.
    pub const fn literal(dtype: DType) -> Self {
        Self { dtype, rank: Rank::Zero, origin: Origin::Literal(Literal::one(dtype)) }
    }

    /// The Python scalar that `literal` is.
    pub const fn python(literal: Literal) -> Self {
        Self { dtype: literal.dtype(), rank: Rank::Zero, origin: Origin::Literal(literal) }
    }

    /// Whether the program writes it as a Python scalar.
    pub const fn is_literal(self) -> bool {
        matches!(self.origin, Origin::Literal(_))
    }

    /// Whether it is a Python scalar, written in the program or not: NumPy, PyTorch and others have no other weak values.
    pub const fn is_python(self) -> bool {
        self.dtype.is_weak() || self.is_literal()
    }

    /// Whether it is an integer literal below zero.
    pub const fn is_negative_literal(self) -> bool {
        matches!(self.origin, Origin::Literal(Literal::Int(value)) if value < 0)
    }
}

/// The dtypes of some operands.
pub(super) fn dtypes(operands: &[Operand]) -> Vec<DType> {
    operands.iter().map(|operand| operand.dtype).collect()
}

/// The most operands an op of the table has.
pub const MAX_OPERANDS: usize = 8;

/// How the dtype of the result follows from the dtype computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// The same.
    Compute,
    /// Bool.
    Bool,
    /// The real part of a complex dtype, else the same.
    RealPart,
    /// The dtype of indices.
    Index,
}

impl Output {
    /// The dtype of the result, given what is computed in and what indices are.
    pub(super) const fn of(self, compute: DType, index: DType) -> DType {
        match self {
            Self::Compute => compute,
            Self::Bool => DType::B1,
            Self::RealPart => compute.real_part(),
            Self::Index => index,
        }
    }
}

/// `take`: the dtype of what is taken from; indices are integers.
pub(super) fn take(op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let accepts = Accepts::INTEGERS;
    match operands {
        [x, indices] if indices.dtype.is_integer() => Ok(Typing::own(operands, x.dtype)),
        [.., indices] => Err(Refusal::Operand { op, index: 1, dtype: indices.dtype, accepts }),
        [] => Err(Refusal::Operand { op, index: 1, dtype: DType::B1, accepts }),
    }
}

/// Which end of a range a bound is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Nothing is below it.
    Lower,
    /// Nothing is above it.
    Upper,
}

/// What an op does to dtypes: the answer of [`Semantics::infer`](super::Semantics::infer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typing {
    pub(super) compute: [DType; MAX_OPERANDS],
    /// The dtype of the result, weak if the result is weakly typed.
    pub result: DType,
    /// Whether the library can run the op on a CPU. PyTorch's dtype rules also say what ops return that it has no code for.
    pub has_kernel: bool,
    /// Whether integer literals that the dtype does not hold become the end of its range, as bounds may: they wrap if not.
    pub saturates: bool,
}

impl Typing {
    /// The dtype that operand `index` must have when the op runs: where it differs from the operand's own, a
    /// conversion is due. Weak where the operand's number is only known to be of that kind. What joins more than
    /// [`MAX_OPERANDS`], as the elements of a list, converts them all to one dtype.
    pub const fn compute(&self, index: usize) -> DType {
        self.compute[if index < MAX_OPERANDS { index } else { MAX_OPERANDS - 1 }]
    }

    /// All operands are converted to `compute`.
    pub(super) const fn uniform(compute: DType, result: DType) -> Self {
        Self { compute: [compute; MAX_OPERANDS], result, has_kernel: true, saturates: false }
    }

    /// Every operand computes as it is.
    pub(super) fn own(operands: &[Operand], result: DType) -> Self {
        let mut typing = Self::uniform(DType::B1, result);
        for (slot, operand) in typing.compute.iter_mut().zip(operands) {
            *slot = operand.dtype;
        }
        typing
    }

    /// The typing of an op that bounds integers of `result`, given which of the `bounds` is a lower one. A literal beyond the
    /// range bounds nothing, or leaves nothing, which is `Err` with that literal.
    pub(super) fn bounded(self, bounds: &[(&Operand, Bound)]) -> Result<Self, i64> {
        for (operand, bound) in bounds {
            if let Origin::Literal(Literal::Int(literal)) = operand.origin
                && !self.result.holds_integer(literal)
                && (literal < 0) == matches!(bound, Bound::Upper)
            {
                return Err(literal);
            }
        }
        Ok(Self { saturates: true, ..self })
    }

    /// The same, with operand `index` converted to `dtype`.
    pub(super) const fn with(mut self, index: usize, dtype: DType) -> Self {
        self.compute[index] = dtype;
        self
    }
}
