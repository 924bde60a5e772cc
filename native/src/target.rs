//! Processors: what code is generated for.

use std::ffi::{CStr, c_char, c_void};

use llvm_sys::core::LLVMDisposeMessage;
use llvm_sys::target_machine::{
    LLVMGetDefaultTargetTriple, LLVMGetHostCPUFeatures, LLVMGetHostCPUName, LLVMNormalizeTargetTriple,
};

use crate::error::Error;
use crate::llvm::{c_text, initialise, promote_llvm_cpus, promote_llvm_has, take_message};

/// A processor of the kind of machine this library was built for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    triple: String,
    cpu: String,
    features: String,
}

impl Target {
    /// The processor this process runs on.
    pub fn host() -> Target {
        initialise();
        // SAFETY: these make messages of their own.
        let (cpu, features) =
            unsafe { (take_message(LLVMGetHostCPUName()), take_message(LLVMGetHostCPUFeatures())) };
        Target { triple: default_triple(), cpu, features }
    }

    /// A processor by LLVM's name (`x86-64-v3`, `sapphirerapids`, `generic`); `native` is [`Target::host`].
    ///
    /// # Errors
    /// If LLVM does not know the name; the error says which known ones look like it.
    pub fn named(name: &str) -> Result<Target, Error> {
        if name == "native" {
            return Ok(Target::host());
        }
        let known = Target::names();
        let triple = default_triple();
        if !known.iter().any(|cpu| cpu == name) {
            return Err(Error::UnknownCpu { name: name.to_owned(), triple, close: close(name, known) });
        }
        Ok(Target { triple, cpu: name.to_owned(), features: String::new() })
    }

    /// The processors that LLVM knows of this kind of machine.
    pub fn names() -> Vec<String> {
        unsafe extern "C" fn add(name: *const c_char, names: *mut c_void) {
            // SAFETY: called below only, with a name and the vector.
            let (name, names) = unsafe { (CStr::from_ptr(name), &mut *names.cast::<Vec<String>>()) };
            names.push(name.to_string_lossy().into_owned());
        }
        initialise();
        let mut names: Vec<String> = Vec::new();
        // SAFETY: the callback gets the vector, and only during the call.
        unsafe { promote_llvm_cpus(c_text(&default_triple()).as_ptr(), add, (&raw mut names).cast()) };
        names
    }

    /// The machine, as LLVM writes it.
    pub fn triple(&self) -> &str {
        &self.triple
    }

    /// The processor's name.
    pub fn cpu(&self) -> &str {
        &self.cpu
    }

    /// Features beyond those of the processor's name, each with `+` or `-`, separated by commas.
    pub fn features(&self) -> &str {
        &self.features
    }

    /// Whether the processor has a feature, by LLVM's name (`avx2`, `f16c`, `fma`).
    pub fn has(&self, feature: &str) -> bool {
        let [triple, cpu, features] = [&self.triple, &self.cpu, &self.features].map(|text| c_text(text));
        let feature = c_text(&format!("+{feature}"));
        // SAFETY: the texts live as long as the call; the CPU is one that LLVM knows.
        unsafe { promote_llvm_has(triple.as_ptr(), cpu.as_ptr(), features.as_ptr(), feature.as_ptr()) }
    }

    /// Whether there are instructions that convert between half and single precision.
    pub fn has_f16c(&self) -> bool {
        cfg!(target_arch = "aarch64") || self.has("f16c") || self.has("avx512f")
    }

    /// Whether there are fused multiply-add instructions.
    pub fn has_fma(&self) -> bool {
        cfg!(target_arch = "aarch64") || self.has("fma") || self.has("avx512f")
    }

    /// The width of the vectors to compute with, in bytes.
    pub fn vector_bytes(&self) -> usize {
        match () {
            () if cfg!(target_arch = "aarch64") => 16,
            () if self.has("avx512f") => 64,
            () if self.has("avx") => 32,
            () => 16,
        }
    }
}

fn default_triple() -> String {
    // SAFETY: both make messages of their own, and the first is disposed of.
    unsafe {
        let triple = LLVMGetDefaultTargetTriple();
        let normal = take_message(LLVMNormalizeTargetTriple(triple));
        LLVMDisposeMessage(triple);
        normal
    }
}

/// The known names most like a name, the best first.
fn close(name: &str, known: Vec<String>) -> Vec<String> {
    const LIKE: f64 = 0.8;
    const MOST: usize = 3;
    let mut scored: Vec<(f64, String)> =
        known.into_iter().map(|known| (strsim::jaro_winkler(name, &known), known)).collect();
    scored.retain(|&(score, _)| score >= LIKE);
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    scored.truncate(MOST);
    scored.into_iter().map(|(_, name)| name).collect()
}
