//! Calls, as the solver sees them, and what can be wrong with a program's types.

use promote_lattice::DType;
use promote_lattice::semantics::Refusal;

use super::super::foreign::Taken;
use super::super::graph::{BlockId, OpId, SlotId, ValueId};
use super::super::shape::{Shape, ShapeError};

/// A dense id of a call in one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// A call whose results are what its callee's are.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is passed.
    pub operands: Vec<ValueId>,
    /// What comes back.
    pub results: Vec<ValueId>,
    /// The block it stands in.
    pub block: BlockId,
    /// How many ops, and how many blocks, stand before it.
    pub after: (u32, u32),
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What it is about.
    pub place: Place,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What a [`Problem`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// An op of the dialect.
    Op(OpId),
    /// A place that values flow to.
    Slot(SlotId),
    /// A value that no op of the dialect makes.
    Value(ValueId),
    /// A call of another function of the program.
    Call(CallId),
}

/// What can be wrong with a program's types.
#[derive(Clone, Debug, PartialEq)]
pub enum ProblemKind {
    /// The semantics refuses the dtypes.
    Refused(Refusal),
    /// The shapes do not fit.
    Shape(ShapeError),
    /// The IR states a dtype that the rules do not infer.
    StatedDType {
        /// What is stated.
        stated: DType,
        /// What the rules return.
        inferred: DType,
    },
    /// The IR states a shape that the rules do not infer.
    StatedShape {
        /// What is stated.
        stated: Shape,
        /// What the rules return.
        inferred: Shape,
    },
    /// The dtype of a value is never known.
    Unknown,
    /// An operand is no tensor of a promotable dtype.
    Opaque {
        /// Which operand.
        operand: Taken,
    },
    /// The IR states a type for the result that no array has.
    StatedOpaque,
    /// The op must state a dtype, which is not weak for a convert, and states none.
    NothingStated,
    /// An iota must state all extents of its result.
    IotaShape,
    /// The results of a call depend on themselves alone.
    Recursive,
    /// A call makes ever new signatures of the function that it stands in.
    Endless,
    /// The type of a slot had not settled after [`MAX_CHANGES`](super::MAX_CHANGES) changes.
    Unsettled,
}
