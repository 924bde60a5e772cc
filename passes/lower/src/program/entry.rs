//! Who calls functions, and how the tensors lie in memory that they are called with.

use promote_abi::Strided;

use crate::types::Type;

/// Who calls a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// Callers outside of the program: results go into memory that [`Step::Output`](super::Step::Output) asks for.
    Public,
    /// The same, whose tensors lie in memory in another order. It computes the same as the public function of its name, bit for
    /// bit.
    Strided(Strides),
    /// The same as public, who ask for the shapes of results alone.
    Shapes,
    /// Functions of the program: results are returned.
    Private,
}

impl EntryKind {
    /// The same for tensors that are contiguous and row-major.
    pub const fn row_major(self) -> Self {
        match self {
            Self::Public | Self::Strided(_) => Self::Public,
            Self::Shapes => Self::Shapes,
            Self::Private => Self::Private,
        }
    }

    /// The dimension along which the elements of an input lie side by side, if the input has strides.
    pub fn along(self, input: &Type) -> Option<usize> {
        match self {
            Self::Strided(strides) => Strided::along(strides.before, input.dims().len()),
            Self::Public | Self::Shapes | Self::Private => None,
        }
    }

    /// The dimensions of an input of which the function takes the strides.
    pub fn strided_dims(self, input: &Type) -> Vec<usize> {
        let (Self::Strided(strides), Some(along)) = (self, self.along(input)) else { return Vec::new() };
        let mut others: Vec<usize> = (0..input.dims().len()).filter(|axis| *axis != along).collect();
        others.drain(..if strides.is_dense { others.len() - 1 } else { 0 });
        others
    }
}

/// How an input of two or more dimensions lies in memory: its elements are side by side along a dimension, if it has that one, and
/// it has strides along the others that a run alone knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Strides {
    /// How many dimensions come after the one along which elements lie side by side.
    pub before: usize,
    /// Whether the other dimensions lie one in another, as those of a row-major tensor do: they have the stride of the last of them
    /// alone.
    pub is_dense: bool,
}
