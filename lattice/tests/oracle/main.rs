//! The semantics against what the libraries do. The data are facts recorded from the libraries themselves.

mod array_api;
mod jax;
mod jep9407;
mod numpy;
mod properties;
mod python;
mod scalars;
mod support;
mod tensorflow;
mod torch;
