//! stub: to be replaced
/// Whose conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numerics { /// jax
 Jax, /// numpy
 NumPy, /// torch
 Torch }
