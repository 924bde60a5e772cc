//! Kernels as SPIR-V, for Vulkan and OpenCL.
//!
//! [`compile`] makes a module of what a [program](promote_lower::program) launches. Both environments get the same
//! instructions; what differs is how a kernel finds what it takes, and the functions that SPIR-V leaves to them
//! ([`Environment`]).
//!
//! ## Laws
//! - Numbers are those of [`Emit`](promote_scalar::Emit): nothing is contracted, signed zeros and NaNs are kept. Where an
//!   environment promises less of an instruction, it is computed of others.
//! - Module and entry names are the same from run to run.

mod control;
mod instructions;
mod math;
mod memory;
mod module;

pub use module::{Environment, Features, Module, Needs};

use promote_device::{Compiled, Entry};
use promote_lower::program::Program;

/// Makes a module of what a program launches.
pub fn compile(
    program: &Program,
    compiled: &Compiled,
    environment: Environment,
    features: Features,
) -> Module {
    let mut emitter = module::Emitter::new(environment, features);
    compiled.emit(&mut emitter, program);
    emitter.finish()
}

/// The same as a module for each kernel, by its name: drivers of Vulkan read the whole module for each of its kernels.
pub fn compile_each(
    program: &Program,
    compiled: &Compiled,
    environment: Environment,
    features: Features,
) -> Vec<(String, Module)> {
    let one = |entry: &Entry| {
        let mut emitter = module::Emitter::new(environment, features);
        compiled.emit_one(&mut emitter, program, entry);
        (entry.name.clone(), emitter.finish())
    };
    compiled.entries().map(one).collect()
}
