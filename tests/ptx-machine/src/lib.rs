//! A driver of CUDA that executes PTX on a processor: `libcuda.so.1` for tests of code for NVIDIA's devices where there is none.
//!
//! The library has those functions of the driver's interface that Promote loads ([`mod@driver`]). A module is parsed
//! (`parse`) and resolved to register numbers (`code`) when it is loaded; what is not known of it is refused, with its line. A
//! launch executes blocks on all cores, and in a block one warp after the other (`warp`): an instruction for all threads of a
//! warp that are at it, of which those go first that are behind, until they wait where threads meet.
//!
//! What PTX leaves undefined ends the launch with an error that says where ([`LaunchError`]): accesses beyond what was
//! allocated, registers and shared memory that nothing wrote, races for shared memory, copies to it that are not waited for,
//! bytes of global memory that one block writes and another one accesses, threads that wait for others in vain. Not seen are races for
//! global memory between threads of a block, and global memory that nothing wrote. The results of instructions are those of
//! the PTX ISA, as understood here; nothing is said of how long a device would take.

#![warn(clippy::undocumented_unsafe_blocks)]

mod block;
mod code;
pub mod driver;
mod floats;
mod lanes;
mod launch;
mod matrix;
mod meet;
mod memory;
mod parse;
mod resolve;
mod settings;
mod table;
mod text;
mod warp;

pub use launch::{Launch, LaunchError, Module};
pub use memory::{Allocations, Limits};

/// Why a module is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct PtxError {
    /// The line of the text, from 1.
    pub line: u32,
    /// What is wrong, or not known.
    pub why: String,
}

impl PtxError {
    fn new(line: u32, why: impl Into<String>) -> Self {
        Self { line, why: why.into() }
    }
}

/// Something that a thread did which PTX does not define, or which never ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The thread of the warp.
    pub(crate) lane: u32,
    pub(crate) what: String,
}

impl Fault {
    #[cold]
    pub(crate) fn new(lane: u32, what: impl Into<String>) -> Box<Self> {
        Box::new(Self { lane, what: what.into() })
    }
}
