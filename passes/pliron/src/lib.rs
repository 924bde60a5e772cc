//! Promote in [pliron](https://docs.rs/pliron), an IR in the way of MLIR that is all Rust.
//!
//! [`dialect`] is the dialect: types, attributes and ops, made from the same op table as the dialect of MLIR. [`host`] lets
//! the passes of `promote-host` work on a pliron program. [`text`] reads and writes programs.

pub mod attributes;
pub mod built;
pub mod dialect;
pub mod host;
pub mod import;
pub mod pass;
pub mod scf_to_cf;
pub mod text;
pub mod types;
pub mod verify;

mod numbers;
mod reader;

/// The page of the book, whose code is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/pliron.md")]
pub struct Page;
