//! The engine's host in MLIR: external passes that work in place.

mod constant;
pub mod fold;
mod ids;
pub mod infer;
pub mod insert;
pub mod pass;
pub mod pipeline;
pub mod print_ir;
pub mod raw;
mod remark;
pub mod report;
pub mod session;
pub mod types;
pub mod units;
pub mod verify;
pub mod view;
