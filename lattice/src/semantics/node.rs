//! The rows and columns of promotion tables.

use super::Operand;
use crate::dtype::DType;

/// A row or column of a promotion table: an operand, and how the library's tables write it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// How it is written.
    pub name: &'static str,
    /// What it is.
    pub operand: Operand,
}

impl Node {
    /// A dtype under its own name: an array, or a Python scalar if it is weak.
    pub(super) const fn of(dtype: DType) -> Self {
        Self { name: dtype.name(), operand: Operand::of(dtype) }
    }

    /// A Python bool.
    pub(super) const PYTHON_BOOL: Self = Self { name: "b*", operand: Operand::literal(DType::B1) };
}
