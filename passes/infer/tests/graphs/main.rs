//! The engine on graphs built by hand, without an IR.

mod builder;
mod report;
mod solve;
mod verify;
