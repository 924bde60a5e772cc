//! The engine's host in MLIR: external passes that work in place.
//!
//! [`session`] is the way in for a program that has no context of its own, [`pass`] for one that has. The other modules
//! are private: they hold raw handles, whose owners the passes keep alive.

/// The version of melior whose contexts, modules and passes the API takes and makes.
pub use melior;

mod attributes;
mod constant;
mod external;
mod foreign;
mod ids;
mod interface;
mod ir;
mod made;
mod messages;
mod names;
pub mod pass;
pub mod pipeline;
mod places;
pub mod print_ir;
mod program;
mod raw;
pub mod session;
mod strong;
pub mod targets;
mod types;
mod units;
mod unread;
mod unverified;
