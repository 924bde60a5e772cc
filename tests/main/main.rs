//! The library's tests: one binary, because each one links MLIR.

/// LLVM allocates by it as well, and the tests compile thousands of programs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod batches;
mod bounds;
mod branches;
mod builder;
mod builders;
mod calculator;
mod calls;
mod calls_in_loops;
mod cases;
mod control_flow;
mod device_ops;
mod dynamic_shapes;
mod edges;
mod equivalence;
mod executables;
mod execution;
mod files;
mod fixpoints;
mod flow_support;
mod hosts;
mod jax_control_flow;
mod laws;
mod linalg;
mod located;
mod loops;
#[allow(dead_code, reason = "some of it is for the tests of the tools only")]
#[path = "../support/needed.rs"]
mod needed;
mod npy;
mod numbers;
mod op_rules;
mod oracle_programs;
mod placement;
mod program_page;
mod ptx;
mod refusals;
mod relaxes;
mod remedies;
mod semantics;
mod sessions;
mod spirv;
mod stablehlo;
mod support;
mod type_histories;
mod upstream;
