//! Lowering, as far as it is the same for every target.
//!
//! A host reads its IR as [`strong`] code, and [`program`] is what becomes of that: steps on buffers.
//! [`graph`] says what each strong op computes in a few primitives, [`fuse`] partitions a graph of them into kernels, and
//! [`kernel`] is what a kernel is: loops over a space of indices, and expressions to store and to accumulate there. What
//! is computed of an element stands in the crate `promote-scalar`. Nothing here knows an IR.

pub mod canonical;
pub mod flow;
pub mod fuse;
pub mod graph;
pub mod interchange;
pub mod interface;
pub mod kernel;
pub mod ops;
pub mod order;
pub mod program;
pub mod strong;
pub mod symbols;
pub mod target;
mod trace;
pub mod types;
