//! The semantics against what the libraries do. The data are facts recorded from the libraries themselves.

mod jax;
mod properties;
mod support;
