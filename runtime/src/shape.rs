//! Shapes in messages.

use std::fmt;

/// A shape in messages, as `[4,3]`, or `[4,?]` where -1 stands for any extent.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    /// The extents.
    pub extents: &'a [i64],
    /// Whether -1 stands for any extent.
    pub pattern: bool,
}

impl Shape<'_> {
    /// A shape that a tensor has.
    pub const fn of(extents: &[i64]) -> Shape<'_> {
        Shape { extents, pattern: false }
    }

    /// A shape that a tensor must have.
    pub const fn pattern(extents: &[i64]) -> Shape<'_> {
        Shape { extents, pattern: true }
    }
}

impl fmt::Display for Shape<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (index, &extent) in self.extents.iter().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            if self.pattern && extent == -1 {
                formatter.write_str("?")?;
            } else {
                write!(formatter, "{extent}")?;
            }
        }
        formatter.write_str("]")
    }
}
