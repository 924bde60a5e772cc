//! Random programs, and arguments to run them on.
//!
//! [`generate`] makes a module from a seed: a public function `@main` and private helpers, some of them generic, some
//! recursive. Control flow of all sorts nests in them, values of several dtypes flow through unknown slots by
//! `promote.relax`, and Python scalars and weakly typed arguments meet them. Most of them are accepted by the semantics
//! that they are made for: the shapes all broadcast with each other, and ops get the sort of numbers that they take.
//!
//! The same seed and [`Options`] make the same program.

mod arguments;
mod body;
mod flow;
mod functions;
mod ops;

use crate::value::Value;

/// What programs are made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose rules they shall mostly keep to.
    pub semantics: String,
    /// Whether JAX has 64-bit dtypes.
    pub x64: bool,
    /// What dynamic extents are.
    pub dynamic: Dynamic,
}

/// What dynamic extents are in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dynamic {
    /// Those that meet are equal.
    Equal,
    /// Those that meet may also be 1 and another one, or not fit, which fails in a run.
    Free,
}

/// A program and what to run it on.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The module.
    pub text: String,
    /// The arguments of `@main`.
    pub arguments: Vec<Value>,
}

/// The program of a seed.
///
/// # Panics
/// If there is no such semantics.
pub fn generate(seed: u64, options: &Options) -> Generated {
    functions::module(fastrand::Rng::with_seed(seed), options)
}
