//! libpromote: Promote for programs in C, and in languages that call C.
//!
//! `include/promote.h` is the interface and its documentation; this crate is what stands behind it, and adds no rule: it
//! checks pointers, holds handles, and calls the crate `promote`. `docs/c.md` shows how it is used.
//!
//! # Laws
//! - Nothing unwinds into C, and nothing that C passes makes the library crash, as long as pointers point to what they say:
//!   null, text that is no UTF-8 and wrong lengths are a status and a message.
//! - Every handle may be used by several threads at once. What MLIR wants to be done by one thread at a time is done under a
//!   lock of its context.
//! - MLIR's recursive parser and printer run on a stack of this library's, not on the caller's.
//! - The library exports the functions of the header, and nothing else.

mod argument;
mod buffer;
mod call;
mod context;
mod device;
mod diagnostics;
mod dtype;
mod executable;
mod failure;
mod module;
mod rules;
mod session;
mod version;
