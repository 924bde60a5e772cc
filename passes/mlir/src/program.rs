//! Strong modules of MLIR as programs.

use mlir_sys::*;
use promote_diagnostics::Diagnostic;
use promote_host::strong::program::{Source, program};
use promote_lower::program::Program;
use promote_lower::target::Target;

use crate::ir::Mlir;
use crate::raw::Address;
use crate::units::Shared;

/// Reads a strong module as a program for a target.
///
/// # Errors
/// What no code is made for.
pub(crate) fn read(
    root: MlirOperation,
    shared: Shared<'_>,
    target: &dyn Target,
) -> Result<Source<Mlir>, Vec<Diagnostic>> {
    program(&mut shared.ir.clone(), Address(root), shared.semantics, target)
}

/// The program that a module is, for a target.
///
/// # Errors
/// What no code is made for.
pub(crate) fn of_module(
    root: MlirOperation,
    shared: Shared<'_>,
    target: &dyn Target,
) -> Result<Program, Vec<Diagnostic>> {
    read(root, shared, target).map(|source| source.program)
}
