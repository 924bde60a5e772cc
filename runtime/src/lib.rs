//! What compiled code calls: buffers, threads, sorting, the DLPack interface, errors.
//!
//! Compiled functions are LLVM code with the signature [`Entry`]; they come with a constant [`Function`] that says what
//! they take and return. Whoever calls one does so by [`promote_rt_call`] (DLPack tensors, from C) or by [`Callable`] (slices, from
//! Rust): these check every argument, pack what is strided, run the entry, and free what it left. The entry
//! itself calls the `promote_rt_*` functions of [`mod@exports`] with the [`Context`] it was given. [`symbols`] lists them for
//! a loader that links code in memory.
//!
//! This crate uses the standard library only, so that it can also be compiled by `rustc` alone into the archive that
//! is linked into shared libraries made ahead of time.
//!
//! # Layout of what code generators write down (64-bit targets)
//! | type | LLVM type | size | fields at |
//! |---|---|---|---|
//! | [`Input`] | `{ptr, ptr}` | 16 | data 0, dims 8 |
//! | [`TensorType`] | `{i8, i8, i16, i32, ptr, ptr}` | 24 | code 0, bits 1, lanes 2, rank 4, dims 8, name 16 |
//! | [`Function`] | `{ptr, i32, i32, ptr, ptr, ptr, ptr, ptr, ptr}` | 64 | name 0, inputs 8, outputs 12, input_types 16, output_types 24, entry 32, shape 40, entry_stack 48, shape_stack 56 |
//!
//! # Laws
//! - No input makes a call crash: what cannot be computed is a [`Status`] and a message. That a stack is too small is one.
//! - Nothing allocated during a call outlives it, whether it succeeds or not.
//! - A process may be forked at any time; its child calls functions as its parent does.
//! - A call computes the same whatever the number of threads, and however its tensors are strided.

mod abi;
mod buffer;
mod builtins;
mod call;
mod context;
mod copy;
mod dtype;
mod environment;
mod error;
pub mod exports;
#[cfg(unix)]
mod fork;
mod pool;
mod rust;
mod sort;
mod stack;
mod tensor;

pub use abi::{DLDataType, DLDevice, DLTensor, Entry, Function, Input, Status, TensorType};
pub use context::Context;
pub use dtype::DTYPE_NAMES;
pub use environment::with_flushed_denormals;
pub use error::RunError;
pub use exports::{
    promote_get_num_threads, promote_last_error, promote_rt_call, promote_rt_shapes,
    promote_set_flush_denormals, promote_set_num_threads, symbols,
};
pub use pool::{num_threads, parallel, set_num_threads};
pub use rust::{Callable, OutputView, OwnedTensor, TensorView};
pub use sort::SortKind;
