//! The engine on graphs built by hand, without an IR.

mod builder;
mod fold;
mod report;
mod solve;
mod specialise;
mod verify;
