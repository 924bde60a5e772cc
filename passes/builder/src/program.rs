//! What a [`Builder`](crate::Builder) records: plain data, which a host turns into ops of its own.

use std::fmt;

use promote_diagnostics::Location;
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Op};

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A tensor.
    Tensor {
        /// The dtype; `None` if it is to be inferred.
        dtype: Option<DType>,
        /// The extents, `None` where a run knows them; no list if not even the rank is known.
        shape: Option<Vec<Option<i64>>>,
    },
    /// An index: a bound of a loop.
    Index,
    /// One bit: what is branched on.
    Bit,
}

impl Type {
    /// A tensor of which nothing is known: what inference finds.
    pub const UNKNOWN: Self = Self::Tensor { dtype: None, shape: None };

    /// A tensor of a dtype with these extents.
    pub fn tensor(dtype: DType, extents: &[Option<i64>]) -> Self {
        Self::Tensor { dtype: Some(dtype), shape: Some(extents.to_vec()) }
    }

    /// Whether it is a tensor of a weak dtype.
    pub(crate) fn is_weak(&self) -> bool {
        matches!(self, Self::Tensor { dtype: Some(dtype), .. } if dtype.is_weak())
    }
}

impl fmt::Display for Type {
    /// As MLIR writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dtype, shape) = match self {
            Self::Tensor { dtype, shape } => (dtype, shape),
            Self::Index => return f.write_str("index"),
            Self::Bit => return f.write_str("i1"),
        };
        f.write_str("tensor<")?;
        match shape {
            None => f.write_str("*x")?,
            Some(extents) => {
                for extent in extents {
                    match extent {
                        Some(extent) => write!(f, "{extent}x")?,
                        None => f.write_str("?x")?,
                    }
                }
            }
        }
        write!(f, "{}>", dtype.map_or("!promote.unknown", DType::mlir))
    }
}

/// A value of a function: an index into [`Function::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(pub usize);

/// The elements of a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elements {
    /// Their dtype, which is strong: that of the [storage](DType::storage) of a weak constant.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<i64>,
    /// The elements in row-major order, of which a single one stands for all.
    pub bits: Vec<Bits>,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// One `i64`.
    Int(i64),
    /// `true` or `false`.
    Flag(bool),
    /// One `f64`.
    Float(f64),
    /// A list of `i64`.
    Ints(Vec<i64>),
    /// The elements of a constant.
    Elements(Elements),
}

impl From<i64> for Attribute {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Attribute {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<f64> for Attribute {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl<const N: usize> From<[i64; N]> for Attribute {
    fn from(values: [i64; N]) -> Self {
        Self::Ints(values.into())
    }
}

impl From<Vec<i64>> for Attribute {
    fn from(values: Vec<i64>) -> Self {
        Self::Ints(values)
    }
}

/// What an op is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An op of the dialect.
    Promote(Op),
    /// `arith.constant` of an index.
    Index(i64),
    /// `tensor.extract`: the one element of a tensor without dimensions.
    Extract,
    /// `func.call` of the function of that name.
    Call(String),
    /// `func.return`.
    Return,
    /// `scf.for`: two bounds, a step and the carries; its body takes the index and the carries.
    For,
    /// `scf.while`: carries; its two bodies take them.
    While,
    /// `scf.if`: a bit; its two bodies take nothing.
    If,
    /// `scf.yield`.
    Yield,
    /// `scf.condition`: a bit and the carries.
    Condition,
}

impl Kind {
    /// MLIR's name of the op.
    pub fn name(&self) -> String {
        let name = match self {
            Self::Promote(op) => return op.to_string(),
            Self::Index(_) => "arith.constant",
            Self::Extract => "tensor.extract",
            Self::Call(_) => "func.call",
            Self::Return => "func.return",
            Self::For => "scf.for",
            Self::While => "scf.while",
            Self::If => "scf.if",
            Self::Yield => "scf.yield",
            Self::Condition => "scf.condition",
        };
        name.to_owned()
    }
}

/// An op.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// What it is.
    pub kind: Kind,
    /// What it takes.
    pub operands: Vec<Id>,
    /// What it defines.
    pub results: Vec<Id>,
    /// Its attributes, if it is of the dialect.
    pub attributes: Vec<(String, Attribute)>,
    /// Its bodies.
    pub bodies: Vec<Body>,
    /// Where it was written.
    pub place: Location,
}

/// The only block of a region.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// What it takes, and where that was written.
    pub arguments: Vec<(Id, Location)>,
    /// Its ops.
    pub operations: Vec<Operation>,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Whether other modules may call it.
    pub is_public: bool,
    /// The types of its values.
    pub types: Vec<Type>,
    /// Its ops.
    pub body: Body,
    /// The types of its results.
    pub results: Vec<Type>,
    /// Where it was written.
    pub place: Location,
}

impl Function {
    /// The type of a value.
    pub fn type_of(&self, value: Id) -> &Type {
        &self.types[value.0]
    }

    /// The types of its arguments.
    pub fn inputs(&self) -> impl Iterator<Item = &Type> {
        self.body.arguments.iter().map(|(argument, _)| self.type_of(*argument))
    }
}

/// A program without errors of its own; whether its types can be promoted, the passes say.
///
/// Its [`Display`](fmt::Display) is MLIR's generic text, places included.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub(crate) functions: Vec<Function>,
}

impl Program {
    /// Its functions, in the order in which they were built.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
}
