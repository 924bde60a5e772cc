//! What strong programs are lowered to, a folder each, and the registry of them.
//!
//! [`cpu`] compiles [programs](promote_lower::program) of kernels to the LLVM dialect, and [`nvptx`] their kernels for NVIDIA's
//! devices; both are made of `llvm`. `linalg` and `stablehlo` hand
//! strong code on to other compilers, op by op: they know neither kernels nor buffers.
//!
//! A new target is its folder, its line in [`ALL`] (and one in [`Options`], if it has any), and a device in
//! `promote-runtime` if it needs one. What it hands on ([`Emitted`]) is a value of `promote-opt --emit` by that.

pub mod cpu;
pub(crate) mod linalg;
mod llvm;
pub mod nvptx;
pub(crate) mod stablehlo;
pub(crate) mod switches;

pub use self::stablehlo::Options as StableHloOptions;

use std::fmt;
use std::hash::{Hash, Hasher};

use melior::dialect::DialectHandle;
use mlir_sys::MlirOperation;
use promote_diagnostics::Diagnostic;

use crate::pass::Config;
use crate::units::Shared;

/// Options of targets, one field for each.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The processor that code is made for.
    pub cpu: cpu::Machine,
    /// What XLA may do.
    pub stablehlo: StableHloOptions,
}

/// A pass that lowers strong programs to a target.
pub struct TargetPass {
    /// What it is called in a pipeline.
    pub name: &'static str,
    /// What it promises, in one line.
    pub description: &'static str,
    /// The dialects of the ops that it makes, beside those of checks and casts.
    pub(crate) dialects: fn() -> Vec<DialectHandle>,
    /// Lowers an op in place; its diagnostics.
    pub(crate) run: fn(MlirOperation, Shared<'_>, &Config) -> Vec<Diagnostic>,
    /// What `--emit` hands on to other compilers, if what the pass makes is that.
    pub emitted: Option<Emitted>,
}

/// What a target hands on to other compilers: MLIR text.
#[derive(Clone, Copy, Debug)]
pub struct Emitted {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Upstream passes that run before the target's, on strong code.
    pub(crate) prepared_by: &'static [&'static str],
}

/// All of them.
pub static ALL: &[&TargetPass] = &[&linalg::PASS, &stablehlo::PASS, &cpu::PASS, &switches::PASS];

impl fmt::Debug for TargetPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for TargetPass {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TargetPass {}

impl Hash for TargetPass {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
