//! What the command line tools of Promote are made of.
//!
//! `promote-opt` runs through the modules in this order: [`cli`] reads the command line, [`input`] reads and screens
//! the file, [`sources`] remembers its text for the diagnostics that [`render`] shows, [`output`] writes the result if
//! there is one, and [`expect`] compares the diagnostics with the comments that announce them.
//!
//! Nothing here knows MLIR: the modules work on bytes, text and [`promote_passes::diagnostic::Diagnostic`].

pub mod cli;
pub mod expect;
pub mod input;
pub mod output;
pub mod render;
pub mod sources;
