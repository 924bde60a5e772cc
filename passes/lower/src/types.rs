//! The types of values that code is made for: tensors, and numbers outside of tensors.

use promote_lattice::DType;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A tensor: its dtype, and its extents as far as they are known.
    Tensor(DType, Vec<Option<i64>>),
    /// A number: an index, an integer or a float.
    Scalar(Number),
}

/// The type of a number outside of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// `index`: 64 bits.
    Index,
    /// A signless integer of so many bits.
    Int(u32),
    /// A float.
    Float(DType),
}

/// The most dimensions of a tensor that code is made for. A kernel may have a few more than its tensors, and keeps a set of
/// them in a word.
pub const MAX_RANK: usize = 60;

impl Type {
    /// The extents; none for numbers.
    pub fn dims(&self) -> &[Option<i64>] {
        match self {
            Self::Tensor(_, dims) => dims,
            Self::Scalar(_) => &[],
        }
    }

    /// The dtype of elements in memory.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Tensor(dtype, _) => *dtype,
            Self::Scalar(number) => number.dtype().unwrap_or(DType::I64),
        }
    }

    /// Whether it is a tensor's.
    pub const fn is_tensor(&self) -> bool {
        matches!(self, Self::Tensor(..))
    }
}

impl Number {
    /// The number that an element of a dtype is in a register, if there is one that keeps it as it is.
    pub fn of(dtype: DType) -> Option<Self> {
        let numbers = [1, 8, 16, 32, 64].map(Self::Int).into_iter().chain([Self::Float(dtype)]);
        numbers.into_iter().find(|number| number.dtype() == Some(dtype))
    }

    /// The dtype of the tensor without dimensions that carries it over the boundary of a function; `None` for a number that
    /// no code is made for.
    pub const fn dtype(self) -> Option<DType> {
        Some(match self {
            Self::Index | Self::Int(64) => DType::I64,
            Self::Int(32) => DType::I32,
            Self::Int(16) => DType::I16,
            Self::Int(8) => DType::I8,
            Self::Int(1) => DType::B1,
            Self::Float(dtype @ (DType::F16 | DType::BF16 | DType::F32 | DType::F64)) => dtype,
            Self::Int(_) | Self::Float(_) => return None,
        })
    }
}
