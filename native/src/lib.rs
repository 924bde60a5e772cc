//! The LLVM back end: from the LLVM dialect to objects, shared libraries, and code in memory.
//!
//! [`Target`] names a processor. [`translate`] turns a module of the LLVM dialect into LLVM IR for it, [`Translated::optimise`]
//! compiles that ([`compile`] does both), and [`Compiled`] gives IR, assembly or an object. [`Image`] loads an object into
//! this process, where `promote_rt_*` are the functions of [`promote_runtime`]; [`shared_library`] links it with a copy of the
//! run time for programs without Rust or LLVM; [`header`] declares what such a library has. [`ptx`] makes code for NVIDIA's
//! devices.
//!
//! Nothing here knows the promote dialect. LLVM's errors are [`Error`]s; what would make LLVM end the process is found
//! before it is asked.

mod compile;
mod contained;
mod error;
mod frames;
mod header;
mod image;
mod library;
mod llvm;
mod ptx;
mod target;
mod units;

pub use compile::{Compiled, OptLevel, Translated, compile, translate};
pub use error::Error;
pub use header::{Argument, Signature, header};
pub use image::Image;
pub use library::{RUNTIME_OBJECT, shared_library, shared_library_bytes, shared_library_bytes_in};
pub use ptx::{Architecture, ptx};
pub use target::Target;
pub use units::load;
