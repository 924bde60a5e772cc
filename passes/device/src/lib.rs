//! Kernels on accelerators: how groups of threads divide the work, written once for every instruction set.
//!
//! A target implements [`Code`]: the [instructions](promote_scalar::Emit) of elements, and memory, threads, barriers and
//! structured control flow. [`Compiled`] then makes code of what a [program](promote_lower::program) launches, and says of each
//! piece of it how it is launched ([`Entry`]). What runs on the device is decided here, for PTX and SPIR-V alike; the
//! steps between launches the run time executes.
//!
//! ## Laws
//! - The order in which elements are combined is that of [`order`](promote_lower::order) for vectors of [`VECTOR_BYTES`]: a
//!   reduction has the bits of a CPU with vectors as wide, however many threads and groups run it.
//! - Threads that have nothing to do repeat what another does, up to the same stores of the same values, where all must meet at
//!   a barrier.

mod accumulators;
mod build;
mod code;
mod elements;
mod entry;
mod kernel;
mod matmul;
mod schedule;
mod sort;
mod target;
mod tiles;
mod wide;

pub use code::{Code, Loop, Parameter, TRAPS, trap_number, trap_of};
pub use entry::{Entry, Geometry, Loops, Slot};
pub use matmul::{Factors, Product, TensorCores, Tile};
pub use schedule::{Schedule, Teams};
pub use sort::{RUN, Sort, runs};
pub use target::{Compiled, Dtypes, Machine};
pub use tiles::Tiles;

/// How wide the vectors are whose order reductions have: those of AVX-512.
pub const VECTOR_BYTES: usize = 64;
