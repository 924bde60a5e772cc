//! The library's tests: one binary, because each one links MLIR.

mod branches;
mod builders;
mod calls;
mod calls_in_loops;
mod control_flow;
mod dynamic_shapes;
mod edges;
mod equivalence;
mod executables;
mod execution;
mod fixpoints;
mod flow_support;
mod jax_control_flow;
mod laws;
mod linalg;
mod loops;
mod npy;
mod oracle_programs;
mod placement;
mod refusals;
mod relaxes;
mod semantics;
mod snapshots_by_concern;
mod stablehlo;
mod stories;
mod support;
