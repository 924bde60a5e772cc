//! The library's tests: one binary, because each one links MLIR.

mod builders;
mod calls;
mod control_flow;
mod dynamic_shapes;
mod equivalence;
mod flow_support;
mod jax_control_flow;
mod laws;
mod oracle_programs;
mod semantics;
mod snapshots_by_concern;
mod stories;
mod support;
