//! Code for NVIDIA's devices: PTX, which their driver compiles.

use std::ffi::CStr;
use std::fmt;
use std::str::FromStr;

use mlir_sys::MlirModule;

use crate::compile::{OptLevel, translate};
use crate::contained::contained;
use crate::error::Error;
use crate::target::{CUDA, Target, close, cpus};

/// How kernels are optimised: what LLVM does to functions by default, but for what changes vectors. Its `vector-combine` would
/// load the elements of a vector one by one.
const PASSES: &CStr = c"function(nvvm-intr-range,simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,\
    simplifycfg,reassociate,loop-mssa(loop-rotate,licm),correlated-propagation,instcombine<no-verify-fixpoint>,\
    loop(indvars,loop-deletion),gvn,bdce,correlated-propagation,instcombine<no-verify-fixpoint>,loop-unroll<O3>,\
    instcombine<no-verify-fixpoint>,gvn,loop-mssa(licm),simplifycfg,div-rem-pairs)";

/// A kind of NVIDIA's devices: `sm_90`. What is made for one runs on those of higher numbers, but for the kinds with a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Architecture {
    number: u32,
    /// `a`: instructions that no other kind has. `f`: those of a family of kinds.
    letter: Option<char>,
}

impl Architecture {
    /// What code is made for where nothing else is said: devices since 2020.
    pub const COMMON: Self = Self { number: 80, letter: None };

    /// The first that code is made for: for older ones LLVM writes PTX of versions before 6.0, which have no `shfl.sync`.
    pub const LEAST: Self = Self { number: 70, letter: None };

    /// The one that a device is best served with, of those that code is made for, if there is one; its number is ten times the compute capability.
    pub fn of_device(number: u32) -> Option<Self> {
        let known = Self::all().into_iter().filter(|known| known.letter.is_none() && known.number <= number);
        known.max()
    }

    /// Whether a device of such a number runs what is made for this architecture.
    pub const fn runs_on(self, number: u32) -> bool {
        match self.letter {
            None => self.number <= number,
            Some('f') => self.number <= number && self.number / 10 == number / 10,
            Some(_) => self.number == number,
        }
    }

    /// Whether there is an instruction that rounds to `bf16`.
    pub const fn has_bf16(self) -> bool {
        self.number >= 80
    }

    /// Whether its tensor cores multiply `bf16`, and matrices as large as those of today.
    pub const fn has_tensor_cores(self) -> bool {
        self.number >= 80
    }

    /// Those that code is made for: LLVM knows them, and they are not too old.
    pub fn all() -> Vec<Self> {
        Self::known().filter(|known| *known >= Self::LEAST).collect()
    }

    /// Those that LLVM knows.
    fn known() -> impl Iterator<Item = Self> {
        cpus(CUDA).into_iter().filter_map(|name| Self::read(&name))
    }

    fn read(name: &str) -> Option<Self> {
        let name = name.strip_prefix("sm_")?;
        let letter = name.chars().last().filter(char::is_ascii_lowercase);
        let digits = letter.map_or(name, |letter| name.trim_end_matches(letter));
        Some(Self { number: digits.parse().ok()?, letter })
    }
}

/// As NVIDIA and LLVM write it.
impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.letter.map_or(Ok(()), |letter| write!(f, "{letter}"))
    }
}

impl FromStr for Architecture {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match Self::known().find(|known| known.to_string() == name) {
            Some(found) if found < Self::LEAST => {
                Err(Error::TooOld { name: name.to_owned(), least: Self::LEAST.to_string() })
            }
            Some(found) => Ok(found),
            None => {
                let names: Vec<String> = Self::all().iter().map(Self::to_string).collect();
                let close = close(name, names);
                Err(Error::UnknownCpu { name: name.to_owned(), triple: CUDA.to_owned(), close })
            }
        }
    }
}

/// Compiles kernels of the LLVM dialect to PTX.
///
/// # Errors
/// If the module holds anything else, or LLVM refuses it.
///
/// # Safety
/// The module is alive, and no other thread changes it or its context meanwhile.
pub unsafe fn ptx(module: MlirModule, architecture: Architecture) -> Result<String, Error> {
    // SAFETY: by contract.
    let translated = unsafe { translate(module, &Target::cuda(architecture)) }?;
    contained(move || translated.optimise_by(PASSES, OptLevel::Aggressive)?.assembly())
}
