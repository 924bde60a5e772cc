//! Programs compiled for this machine's processor, and run.

mod elementwise;
mod functions;
mod graphs;
mod random;
mod recorded;
pub mod support;
mod sweep;
mod threads;
