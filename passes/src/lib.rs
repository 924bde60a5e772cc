//! Type inference and explicit conversions.
//!
//! [`engine`] infers dtypes and shapes and plans conversions over a flat graph, and knows no IR; with the feature
//! `mlir`, the module `mlir` hosts it as MLIR passes. [`symbols`] says what functions are called outside of a program.

pub mod diagnostic;
pub mod engine;
pub mod lower;
#[cfg(feature = "mlir")]
pub mod mlir;
pub mod symbols;
