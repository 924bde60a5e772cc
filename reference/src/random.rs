//! Random programs, and arguments to run them on.
//!
//! [`generate`] makes a module from a seed: a public function `@main` and private helpers, some of them generic, some
//! recursive. Control flow of all sorts nests in them, values of several dtypes flow through unknown slots by
//! `promote.relax`, and Python scalars and weakly typed arguments meet them. Most of them are accepted by the semantics
//! that they are made for: the shapes all broadcast with each other, and ops get the sort of numbers that they take.
//!
//! [`graph`] makes a function of any ops of the table on tensors of any shape, mostly with dynamic extents.
//!
//! The same [`Choices`] and [`Options`] make the same program. Choices come from a seed, or from bytes that a fuzzer mutates.

mod arguments;
mod attributes;
mod body;
mod choices;
mod every;
mod flow;
mod functions;
mod graph;
mod ops;
mod precision;

use crate::value::Value;

pub use body::Precision;
pub use choices::{Choices, FRAME};

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

/// What dynamic extents are at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dynamic {
    /// Those that meet are equal.
    Equal,
    /// Those that meet may also be 1 and another one, or be incompatible, which fails at run time.
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
    generate_from(Choices::of_seed(seed), options)
}

/// The program that choices make.
///
/// # Panics
/// If there is no such semantics.
pub fn generate_from(choices: Choices, options: &Options) -> Generated {
    functions::module(choices, options)
}

/// A function, and what to run it on.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The public function, as text of the dialect.
    pub text: String,
    /// Its arguments.
    pub arguments: Vec<Value>,
    /// How near each of its results is to the interpreter's.
    pub precision: Vec<Precision>,
}

/// The function `@name` that choices make. [`Options::dynamic`] does not matter: its dynamic extents are anything that fits.
///
/// # Panics
/// If there is no such semantics.
pub fn graph(choices: Choices, options: &Options, name: &str) -> Graph {
    graph::function(choices, options, name)
}
