//! The semantics against what the libraries do. The data are facts recorded from the libraries themselves.

mod jax;
mod numpy;
mod support;
mod torch;
