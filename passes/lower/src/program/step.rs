//! Steps, and what they take.

use promote_lattice::convert::Bits;
use rustc_hash::FxHashSet;

use super::{Arg, Arith, ConstantId, KernelId, PlaceId, ValueId};
use crate::graph::NodeId;

/// A number that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// An index or an integer; a truth value is 0 or 1.
    Int(i64),
    /// The bits of a float.
    Float(Bits),
}

/// The matrices of a product, contiguous, and their extents. Elements of the operands are converted to the dtype of the product,
/// which holds them all, and multiplied and added up in that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matmul {
    /// `[batch, rows, inner]`.
    pub left: ValueId,
    /// `[batch, inner, columns]`.
    pub right: ValueId,
    /// `[batch, rows, columns]`.
    pub product: ValueId,
    /// Memory to pack the right matrix in, if the target asked for it.
    pub workspace: Option<Panels>,
    /// How many of each.
    pub batch: Arg,
    /// The rows of the product.
    pub rows: Arg,
    /// What is summed over.
    pub inner: Arg,
    /// The columns of the product.
    pub columns: Arg,
}

impl Matmul {
    /// What it accesses.
    pub fn buffers(&self) -> Vec<ValueId> {
        let workspace = self.workspace.map(|panels| panels.buffer);
        [self.left, self.right, self.product].into_iter().chain(workspace).collect()
    }

    /// The batch, the rows, what is summed over, and the columns.
    pub const fn extents(&self) -> [Arg; 4] {
        [self.batch, self.rows, self.inner, self.columns]
    }
}

/// Memory for a matrix in panels: some columns each, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panels {
    /// `[batch, panels, inner, columns]`.
    pub buffer: ValueId,
    /// How many columns a panel has.
    pub columns: i64,
}

/// What is launched, and on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel.
    pub kernel: KernelId,
    /// For each node of the kernel, its buffer if the kernel accesses it.
    pub buffers: Vec<Option<ValueId>>,
    /// For each node of the kernel, where it comes from.
    pub places: Vec<PlaceId>,
    /// For each symbol of the kernel, its number.
    pub extents: Vec<Arg>,
}

impl Launch {
    /// The buffer of a node that the kernel accesses.
    ///
    /// # Panics
    /// If it is not one of them.
    pub fn buffer(&self, node: NodeId) -> ValueId {
        match self.buffers[node.0 as usize] {
            Some(buffer) => buffer,
            None => unreachable!("a launch has the buffers that its kernel accesses"),
        }
    }

    /// Whether the kernel accesses one of these buffers.
    pub fn accesses_any(&self, buffers: &FxHashSet<ValueId>) -> bool {
        self.buffers.iter().flatten().any(|buffer| buffers.contains(buffer))
    }
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// New memory for elements of these extents.
    Allocate {
        /// The buffer.
        buffer: ValueId,
        /// Its extents.
        dims: Vec<Arg>,
    },
    /// Memory for a result, which the caller provides or is given.
    Output {
        /// The buffer.
        buffer: ValueId,
        /// Which result.
        index: usize,
        /// Its extents.
        dims: Vec<Arg>,
    },
    /// Tells the caller the shape of a result.
    Shape {
        /// Which result.
        index: usize,
        /// Its extents.
        dims: Vec<Arg>,
    },
    /// A constant in memory.
    Constant {
        /// The buffer.
        buffer: ValueId,
        /// Which constant.
        constant: ConstantId,
    },
    /// A number in memory until the function returns.
    Spill {
        /// The buffer: a tensor without dimensions.
        buffer: ValueId,
        /// The number.
        value: ValueId,
    },
    /// Memory of a few elements until the function returns, without references.
    Cell {
        /// The buffer.
        buffer: ValueId,
        /// How many elements.
        count: i64,
    },
    /// Writes all elements of a buffer, as they are in another. A [cell](Step::Cell) may be read before: what it held is no more.
    Copy {
        /// The buffer that is read.
        from: ValueId,
        /// The buffer that is written.
        to: ValueId,
        /// How many elements both have.
        count: i64,
    },
    /// One of two buffers, and a reference to it.
    Choose {
        /// The buffer.
        buffer: ValueId,
        /// A truth value.
        condition: Arg,
        /// The buffer if it holds.
        then: ValueId,
        /// The buffer if not.
        otherwise: ValueId,
    },
    /// A reference more.
    Retain(ValueId),
    /// A reference less; without one the buffer is gone.
    Release(ValueId),
    /// Runs a kernel.
    Launch(Launch),
    /// Multiplies large matrices.
    Matmul(Matmul),
    /// Sorts a buffer along a dimension, in the order that the library has.
    Sort {
        /// The buffer.
        buffer: ValueId,
        /// How many indices the dimensions before it have.
        outer: Arg,
        /// Its extent.
        extent: Arg,
        /// How many indices the dimensions after it have.
        inner: Arg,
    },
    /// Fails if a kernel raised an exception since the last one.
    CheckExceptions,
    /// Reads an element.
    Read {
        /// The number.
        value: ValueId,
        /// Of what.
        buffer: ValueId,
        /// Which element.
        index: Arg,
    },
    /// Writes an element.
    Write {
        /// Of what.
        buffer: ValueId,
        /// Which element.
        index: Arg,
        /// The number.
        value: ValueId,
    },
    /// A number that is known.
    Number {
        /// The value.
        value: ValueId,
        /// The number.
        number: Literal,
    },
    /// [Arithmetic](Arith) on numbers. A divisor is not zero.
    Arith {
        /// The result.
        value: ValueId,
        /// What is computed.
        op: Arith,
        /// Of what.
        args: Vec<Arg>,
    },
    /// Fails with a message if a truth value holds.
    FailIf {
        /// The truth value.
        condition: Arg,
        /// The message.
        message: String,
    },
    /// Calls a [private](super::EntryKind::Private) function of the program, if the stack holds it; fails if it fails.
    Call {
        /// Its name.
        callee: String,
        /// What it takes, laid out as its parameters.
        args: Vec<Arg>,
        /// What it returns.
        results: Vec<ValueId>,
    },
}

impl Step {
    /// What it defines.
    pub fn defines(&self) -> &[ValueId] {
        match self {
            Self::Allocate { buffer, .. }
            | Self::Output { buffer, .. }
            | Self::Constant { buffer, .. }
            | Self::Spill { buffer, .. }
            | Self::Cell { buffer, .. }
            | Self::Choose { buffer, .. } => std::slice::from_ref(buffer),
            Self::Read { value, .. } | Self::Number { value, .. } | Self::Arith { value, .. } => {
                std::slice::from_ref(value)
            }
            Self::Call { results, .. } => results,
            Self::Shape { .. }
            | Self::Retain(_)
            | Self::Release(_)
            | Self::Launch(_)
            | Self::Matmul(_)
            | Self::Sort { .. }
            | Self::Copy { .. }
            | Self::CheckExceptions
            | Self::Write { .. }
            | Self::FailIf { .. } => &[],
        }
    }
}
