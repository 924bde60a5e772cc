//! Programs: what a run does, step by step, before any target makes code of it.
//!
//! A [`Program`] has functions of [`Block`]s, and a block has [`Step`]s on [buffers](ValueKind::Buffer) and numbers. Which
//! tensors are in memory and for how long, what is computed together, which extents are checked and what ends a run with
//! an error is decided here, by [`build`]; a target decides how a kernel runs on its machine, and nothing else.
//!
//! ## Laws
//! - A value is defined once, and on every path before it is used. No edge leads to the first block of a function.
//! - A buffer is counted. Who makes one has a [reference](Step::Retain) to it: a step that returns a buffer of its own, a
//!   block or a function to which it is passed. Each reference is dropped once on every path that returns: by
//!   [`Step::Release`], or by passing it to a block or to the caller. Arguments of functions, constants and outputs are
//!   not counted: they live longer than the call.
//! - A buffer is contiguous and row-major. It is written by steps between the one that makes it and the first that reads
//!   it; who writes it has the only reference. What is read has been written, and no kernel reads what it writes.
//! - A [cell](Step::Cell) is memory of the function's frame, without references: it is not passed on. [`Step::Copy`] writes one anew,
//!   though it was read.
//! - An argument [with strides](EntryKind::Strided) is neither: kernels alone take it, and read it by those strides.
//! - A public function asks for the memory of each result once on every path that returns, and writes it.
//! - A run that fails stops where it is: the run time frees what the call has allocated.
//!
//! [`Program::verify`] finds what breaks them.

mod arith;
pub mod build;
mod cells;
mod entry;
mod parse;
mod print;
mod registers;
mod sizes;
mod step;
#[cfg(test)]
mod tests;
mod verify;

use promote_lattice::DType;
use promote_lattice::convert::{Bits, Numerics};

pub use self::arith::{Arith, fold, operands};
pub use self::entry::{EntryKind, Layout, Placement, Strides};
pub use self::parse::ParseError;
pub use self::step::{Launch, Literal, Matmul, Panels, Step};
pub use self::verify::{Item, Position, Problem};

use super::kernel::Kernel;
use super::types::{Number, Type};
use promote_diagnostics::Location;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Whose numbers kernels compute.
    pub numerics: Numerics,
    /// Its functions.
    pub functions: Vec<Function>,
    /// What its functions launch, each kernel once. Nodes are numbers of buffers and places, symbols those of extents:
    /// a [launch](Step::Launch) says what they stand for.
    pub kernels: Vec<Kernel>,
    /// Its constant tensors.
    pub constants: Vec<Constant>,
    /// Where steps come from.
    pub places: Vec<Place>,
}

/// A kernel: an index into [`Program::kernels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelId(pub u32);

/// A constant: an index into [`Program::constants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(pub u32);

/// A place: an index into [`Program::places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(pub u32);

/// A value of a function: an index into [`Function::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub u32);

/// A block: an index into [`Function::blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// A constant tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// The dtype of its elements.
    pub dtype: DType,
    /// Its elements, row-major.
    pub elements: Vec<Bits>,
}

/// Where something comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// In a file, if that is known.
    pub location: Option<Location>,
    /// The name of the op.
    pub op: String,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Memory of elements.
    Buffer(DType),
    /// A number in a register. Extents are [`Number::Index`].
    Number(Number),
}

impl ValueKind {
    /// An index: what extents are.
    pub const INDEX: Self = Self::Number(Number::Index);
    /// A truth value.
    pub const TRUTH: Self = Self::Number(Number::Int(1));

    /// What carries values of these types between blocks and functions: numbers themselves; for a tensor its buffer, and the
    /// extents that its type leaves open.
    pub fn carrying(types: &[Type]) -> Vec<Self> {
        let mut kinds = Vec::new();
        for r#type in types {
            match r#type {
                Type::Scalar(number) => kinds.push(Self::Number(*number)),
                Type::Tensor(dtype, dims) => {
                    kinds.push(Self::Buffer(*dtype));
                    kinds.extend(dims.iter().filter(|extent| extent.is_none()).map(|_| Self::INDEX));
                }
            }
        }
        kinds
    }
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name in the source.
    pub name: String,
    /// Who calls it.
    pub entry: EntryKind,
    /// Where it comes from.
    pub place: PlaceId,
    /// What it takes. The [values](Self::parameters) are the parameters of the first block.
    pub inputs: Vec<Type>,
    /// What it returns.
    pub outputs: Vec<Type>,
    /// What each value is.
    pub values: Vec<ValueKind>,
    /// Its blocks, the entry first.
    pub blocks: Vec<Block>,
}

impl Function {
    /// The parameters that an input is: [carried](ValueKind::carrying) as between blocks, and then its strides in elements along the
    /// [dimensions](EntryKind::strided_dims) that have one.
    pub fn parameters(&self, input: usize) -> Vec<ValueKind> {
        let r#type = &self.inputs[input];
        let mut kinds = ValueKind::carrying(std::slice::from_ref(r#type));
        kinds.extend(self.entry.strided_dims(input, r#type).iter().map(|_| ValueKind::INDEX));
        kinds
    }

    /// The inputs: the number of each, its type, and the parameters that it is.
    pub fn taken(&self) -> impl Iterator<Item = (usize, &Type, &[ValueId])> {
        let mut parameters = self.blocks[0].parameters.as_slice();
        self.inputs.iter().enumerate().map(move |(input, r#type)| {
            let (own, others) = parameters.split_at(self.parameters(input).len());
            parameters = others;
            (input, r#type, own)
        })
    }

    /// The buffers of inputs with strides.
    pub fn strided(&self) -> Vec<ValueId> {
        let strided =
            self.taken().filter(|(input, r#type, _)| self.entry.layout(*input, r#type) != Layout::RowMajor);
        strided.map(|(_, _, own)| own[0]).collect()
    }

    /// The parameters that all inputs are.
    pub fn all_parameters(&self) -> Vec<ValueKind> {
        (0..self.inputs.len()).flat_map(|input| self.parameters(input)).collect()
    }

    /// What a value is.
    pub fn kind(&self, value: ValueId) -> ValueKind {
        self.values[value.0 as usize]
    }

    /// The dtype of a buffer.
    ///
    /// # Panics
    /// If the value is a number.
    pub fn dtype(&self, buffer: ValueId) -> DType {
        match self.kind(buffer) {
            ValueKind::Buffer(dtype) => dtype,
            ValueKind::Number(_) => unreachable!("a number has no elements"),
        }
    }

    /// The block of that id.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }
}

/// Steps in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What is passed to it.
    pub parameters: Vec<ValueId>,
    /// Its steps, and where each comes from.
    pub steps: Vec<(Step, PlaceId)>,
    /// Where it goes on.
    pub end: End,
}

/// What a step takes: a value, or a number that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arg<V = ValueId> {
    /// A value.
    Value(V),
    /// An index, or a truth value: 0 or 1; in [arithmetic](Step::Arith) an integer of the type that other operands have.
    Known(i64),
}

impl<V> Arg<V> {
    /// The number, if it is known.
    pub const fn fixed(&self) -> Option<i64> {
        match self {
            Self::Value(_) => None,
            Self::Known(number) => Some(*number),
        }
    }
}

/// Where a block goes on, and what it passes on: its references to those buffers too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The block.
    pub block: BlockId,
    /// The values of its parameters.
    pub args: Vec<Arg>,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Returns: for callers in the program these values, laid out as inputs are; else nothing.
    Return(Vec<Arg>),
    /// Goes on there.
    Jump(Edge),
    /// Goes on in the first block if a truth value holds, else in the second.
    Branch(Arg, Edge, Edge),
    /// Goes on where the case of a number says, else in the last block.
    Switch(ValueId, Vec<(i64, Edge)>, Edge),
}

impl End {
    /// The edges.
    pub fn edges(&self) -> Vec<&Edge> {
        match self {
            Self::Return(_) => Vec::new(),
            Self::Jump(edge) => vec![edge],
            Self::Branch(_, then, otherwise) => vec![then, otherwise],
            Self::Switch(_, cases, default) => {
                cases.iter().map(|(_, edge)| edge).chain(std::iter::once(default)).collect()
            }
        }
    }
}
