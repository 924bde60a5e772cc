//! The engine's host in MLIR: external passes that work in place.
//!
//! [`session`] is the way in for a program that has no context of its own, [`pass`] for one that has. The other modules
//! are private: they hold raw handles, whose owners the passes keep alive.

mod callees;
mod checks;
mod constant;
mod edges;
mod flow;
mod fold;
mod generic;
mod ids;
mod infer;
mod insert;
mod messages;
mod names;
mod numbers;
pub mod pass;
pub mod pipeline;
mod placement;
mod places;
pub mod print_ir;
mod raw;
pub mod session;
mod strong;
pub mod targets;
mod types;
mod units;
mod unread;
mod verify;
mod view;
