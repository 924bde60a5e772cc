//! What the command line tools of Promote are made of.
//!
//! `promote-opt` runs through the modules in this order: [`cli`] reads the command line, [`input`] reads and screens
//! the file, [`sources`] remembers its text for the diagnostics that [`render`] shows, [`output`] writes the result if
//! there is one, and [`expect`] compares the diagnostics with the comments that announce them. [`semantics`] finds the
//! promotion rules, among them those in files of the user's own.
//!
//! Those modules know no MLIR, but for the names of targets on the command line: they work on bytes, text and
//! [`promote::diagnostic::Diagnostic`]. [`opt`] joins them
//! to the compiler, and [`supervise`] sees to it that a crash of MLIR's is an error like any other, and
//! that [`leftovers`] of a run that is killed are removed. [`run`] is `promote-run`; what
//! it shares with `promote-opt` is in [`flags`], [`report`] and [`compiler`].
//!
//! [`lattice`] is the whole of `promote-lattice`, which needs no MLIR.

#[cfg(feature = "mlir")]
pub mod cli;
#[cfg(feature = "mlir")]
pub mod compiler;
#[cfg(feature = "mlir")]
mod devices;
pub mod expect;
pub mod flags;
pub mod input;
pub mod lattice;
pub mod leftovers;
#[cfg(feature = "mlir")]
pub mod op_rules;
#[cfg(feature = "mlir")]
pub mod opt;
pub mod output;
pub mod render;
pub mod report;
#[cfg(feature = "mlir")]
pub mod run;
pub mod semantics;
pub mod sources;
pub mod supervise;
