//! Kernels for NVIDIA's devices, as a module of the LLVM dialect, of which LLVM makes PTX.
//!
//! [`Kernels::new`] makes the module of what a [program](promote_lower::program) launches; how threads divide the work is
//! [decided](promote_device) for all devices. The instructions are those of the CPU's target (`llvm`), in one
//! lane.
//!
//! ## Laws
//! - A kernel has a 64-bit parameter for each of its [slots](promote_device::Slot).
//! - Numbers are those of [`Emit`](promote_scalar::Emit): nothing is contracted, subnormal numbers are kept.

mod code;
mod instructions;

use melior::Context;
use melior::dialect::DialectHandle;
use mlir_sys::*;
use promote_device::Compiled;
use promote_lower::program::Program;

use self::instructions::Emitter;
use crate::raw;

/// What devices have that not all do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// An instruction that rounds to `bf16`.
    pub has_bf16: bool,
}

/// Kernels as a module of the LLVM dialect, in a context of its own.
pub struct Kernels {
    module: MlirModule,
    _context: Context,
}

impl Kernels {
    /// The kernels of a program, for devices of some features.
    pub fn new(program: &Program, compiled: &Compiled, features: Features) -> Self {
        let context = Context::new();
        context.enable_multi_threading(false);
        DialectHandle::llvm().load_dialect(&context);
        // SAFETY: the context is alive, and is kept with the module.
        let module = unsafe { mlirModuleCreateEmpty(mlirLocationUnknownGet(context.to_raw())) };
        let mut emitter = Emitter::new(module, features);
        compiled.emit(&mut emitter, program);
        // SAFETY: the module is alive.
        let is_valid = unsafe { mlirOperationVerify(mlirModuleGetOperation(module)) };
        assert!(is_valid, "the code of kernels is valid MLIR");
        Self { module, _context: context }
    }

    /// The module, as long as this lives.
    pub const fn to_raw(&self) -> MlirModule {
        self.module
    }
}

/// The module as text.
impl std::fmt::Display for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: the module is alive.
        let text = raw::printed(|callback, data| unsafe {
            mlirOperationPrint(mlirModuleGetOperation(self.module), callback, data);
        });
        f.write_str(&text)
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        // SAFETY: the module is ours, and its context outlives it.
        unsafe { mlirModuleDestroy(self.module) };
    }
}
