//! Who calls functions, and how the tensors lie in memory that they are called with.

pub use promote_abi::{Layout, Placement, Strides};

use crate::types::Type;

/// Who calls a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// Callers outside of the program: results go into memory that [`Step::Output`](super::Step::Output) asks for.
    Public,
    /// The same, whose tensors lie in memory in another order. It computes the same as the public function of its name, bit for
    /// bit, but for the sign and payload of a NaN where several meet.
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

    /// How an input lies in memory, given its number.
    pub fn layout(self, input: usize, r#type: &Type) -> Layout {
        match self {
            Self::Strided(strides) => strides.layout(input, r#type.dims().len()),
            Self::Public | Self::Shapes | Self::Private => Layout::RowMajor,
        }
    }

    /// Whether the dimensions along which the elements of inputs do not lie side by side lie one in another.
    pub const fn is_dense(self) -> bool {
        match self {
            Self::Strided(Strides { elements: Placement::SideBySide { is_dense, .. }, .. }) => is_dense,
            Self::Strided(Strides {
                elements:
                    Placement::InPieces { .. } | Placement::Apart | Placement::Reversed | Placement::Anyhow,
                ..
            })
            | Self::Public
            | Self::Shapes
            | Self::Private => false,
        }
    }

    /// The dimensions of an input of which the function takes the strides.
    pub fn strided_dims(self, input: usize, r#type: &Type) -> Vec<usize> {
        let all = 0..r#type.dims().len();
        match self.layout(input, r#type) {
            Layout::RowMajor | Layout::Reversed => Vec::new(),
            Layout::Apart => all.collect(),
            Layout::InPieces(along) => (along + 1..all.end).collect(),
            Layout::Along(along) => {
                let mut others: Vec<usize> = all.filter(|axis| *axis != along).collect();
                others.drain(..if self.is_dense() { others.len() - 1 } else { 0 });
                others
            }
        }
    }
}
