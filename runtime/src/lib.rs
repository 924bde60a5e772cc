//! What compiled code calls: buffers, threads, sorting, the DLPack interface, errors.
//!
//! Compiled functions are LLVM code with the signature [`Entry`]; they come with a constant [`Function`] that says what
//! they take and return. Whoever calls one does so by [`promote_rt_call`] (DLPack tensors, from C) or by [`Callable`] (slices, from
//! Rust): these check every argument, pack what is strided, run the entry, and free what it left. The entry
//! itself calls the `promote_rt_*` functions of [`mod@exports`] with the [`Context`] that it got. [`symbols`] lists them for
//! a loader that links code in memory.
//!
//! The interface stands in [`promote_abi`]: structures, numbers, and the signatures of the functions here.
//!
//! This crate uses the standard library and that one only, so that it can also be compiled by `rustc` alone into the archive that
//! is linked into shared libraries made ahead of time.
//!
//! # Laws
//! - No input makes a call crash: what cannot be computed is a [`Status`] and a message. That a stack is too small is one.
//! - Nothing allocated during a call outlives it, whether it succeeds or not.
//! - A process may be forked at any time; its child calls functions as its parent does.
//! - A call computes the same whatever the number of threads, and however its tensors are strided.

mod buffer;
mod builtins;
mod call;
mod context;
mod copy;
mod dlpack;
mod environment;
mod error;
pub mod exports;
#[cfg(unix)]
mod fork;
mod pool;
mod rust;
mod shape;
mod sort;
mod stack;
mod stage;
mod tensor;
mod tvm;

pub use call::{Body, Call, IN_CPU_MEMORY};
pub use dlpack::{
    CPU, CUDA, CUDA_MANAGED, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, OPENCL, VULKAN,
    device_name, manage,
};
pub use environment::with_flushed_denormals;
pub use error::RunError;
pub use exports::{
    promote_get_num_threads, promote_last_error, promote_rt_call, promote_rt_shapes,
    promote_set_flush_denormals, promote_set_num_threads, symbols,
};
pub use pool::{num_threads, parallel, set_num_threads};
pub use promote_abi::{
    Context, DLDataType, DLDevice, DLTensor, Entry, Function, Input, SortKind, Status, Strided, TensorType,
    Trap, TvmAny,
};
pub use rust::{Callable, OutputView, OwnedTensor, TensorView};
