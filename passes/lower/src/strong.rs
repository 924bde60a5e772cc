//! Strong code as a host reads it: functions of blocks, in which every type is known, with ids instead of an IR's handles.
//!
//! A host makes a [`Module`] of its IR; [`program::build`](super::program::build) makes a program of that.

use promote_dialect::attrs::Attrs;
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Op};

use super::program::{Arith, Literal, Place, PlaceId};
use super::types::Type;

/// A module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Its functions, those with a body.
    pub functions: Vec<Function>,
    /// Where ops come from.
    pub places: Vec<Place>,
}

/// A value of a function: an index into [`Function::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where it is defined.
    pub place: PlaceId,
    /// Whether callers outside see it.
    pub is_public: bool,
    /// What it takes.
    pub inputs: Vec<Type>,
    /// What it returns.
    pub outputs: Vec<Type>,
    /// Its blocks, the entry first. None of them is unreachable, and each stands after those that dominate it.
    pub blocks: Vec<Block>,
    /// The type of each value; `None` for one that no code is made for.
    pub types: Vec<Option<Type>>,
}

/// A block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its arguments.
    pub arguments: Vec<Value>,
    /// Its ops, the last of which is the only terminator.
    pub operations: Vec<Operation>,
}

/// A block: an index into [`Function::blocks`].
pub type BlockIndex = usize;

/// An op.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// Its operands, but for what a terminator passes on.
    pub operands: Vec<Value>,
    /// Its results.
    pub results: Vec<Value>,
    /// Where it comes from.
    pub place: PlaceId,
}

/// Where a terminator goes, and what it passes on.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The block.
    pub block: BlockIndex,
    /// The values of its arguments.
    pub values: Vec<Value>,
}

/// What an op does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An op of the dialect on tensors.
    Promote(Op, Attrs),
    /// A constant tensor: one element for all, or each in row-major order.
    Constant(DType, Vec<Bits>),
    /// Any tensor will do.
    Poison,
    /// The extent of a tensor along a dimension: the second operand, or this number.
    Dim(Option<i64>),
    /// The rank of a tensor.
    Rank,
    /// The same tensor, of which the type says more or less.
    Cast,
    /// An element, at indices after the tensor.
    Extract,
    /// A tensor of numbers.
    FromElements,
    /// One of two tensors, by a truth value or by a tensor of them.
    Select,
    /// A number that is known.
    Number(Literal),
    /// Arithmetic on numbers.
    Arith(Arith),
    /// Ends the run with a message unless a truth value holds.
    Assert(String),
    /// Calls a function of the module.
    Call(String),
    /// Returns the operands.
    Return,
    /// Goes on elsewhere.
    Branch(Edge),
    /// Goes on in one of two blocks, by a truth value.
    BranchIf(Edge, Edge),
    /// Goes on where the case of a number's value says; the first edge is that of no case.
    Switch(Edge, Vec<(i64, Edge)>),
    /// Something that no code is made for, and why.
    Unsupported(String),
}

impl Kind {
    /// Whether all that an op does is to compute its results from its operands.
    pub(crate) const fn computes(&self) -> bool {
        match self {
            Self::Promote(..)
            | Self::Constant(..)
            | Self::Poison
            | Self::Dim(_)
            | Self::Rank
            | Self::Cast
            | Self::Extract
            | Self::FromElements
            | Self::Select
            | Self::Number(_)
            | Self::Arith(_) => true,
            Self::Assert(_)
            | Self::Call(_)
            | Self::Return
            | Self::Branch(_)
            | Self::BranchIf(..)
            | Self::Switch(..)
            | Self::Unsupported(_) => false,
        }
    }

    /// The edges of a terminator, in the order of the op's successors.
    pub fn edges(&self) -> Vec<&Edge> {
        match self {
            Self::Branch(edge) => vec![edge],
            Self::BranchIf(then, otherwise) => vec![then, otherwise],
            Self::Switch(default, cases) => {
                std::iter::once(default).chain(cases.iter().map(|(_, edge)| edge)).collect()
            }
            Self::Promote(..)
            | Self::Constant(..)
            | Self::Poison
            | Self::Dim(_)
            | Self::Rank
            | Self::Cast
            | Self::Extract
            | Self::FromElements
            | Self::Select
            | Self::Number(_)
            | Self::Arith(_)
            | Self::Assert(_)
            | Self::Call(_)
            | Self::Return
            | Self::Unsupported(_) => Vec::new(),
        }
    }
}

impl Function {
    /// The type of a value that code is made for.
    pub fn r#type(&self, value: Value) -> Option<&Type> {
        self.types[value.0 as usize].as_ref()
    }

    /// Whether a value is a tensor.
    pub fn is_tensor(&self, value: Value) -> bool {
        self.r#type(value).is_some_and(Type::is_tensor)
    }

    /// Whether the shapes of its results follow from its arguments' shapes alone: nothing is read of a tensor, and nothing
    /// is called, on the one path that there is.
    pub fn tells_shape(&self) -> bool {
        let is_known = |value: &Value| {
            self.r#type(*value).is_some_and(|r#type| r#type.dims().iter().all(Option::is_some))
        };
        let depends = |operation: &Operation| match operation.kind {
            Kind::Call(_) | Kind::Extract => true,
            Kind::Select => !operation.results.iter().all(is_known),
            Kind::Promote(..)
            | Kind::Constant(..)
            | Kind::Poison
            | Kind::Dim(_)
            | Kind::Rank
            | Kind::Cast
            | Kind::FromElements
            | Kind::Number(_)
            | Kind::Arith(_)
            | Kind::Assert(_)
            | Kind::Return
            | Kind::Branch(_)
            | Kind::BranchIf(..)
            | Kind::Switch(..)
            | Kind::Unsupported(_) => false,
        };
        self.blocks.len() == 1 && !self.blocks[0].operations.iter().any(depends)
    }
}
