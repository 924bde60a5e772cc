//! Processors: what code is generated for.

use std::ffi::{CStr, c_char, c_void};

use llvm_sys::target_machine::{
    LLVMGetDefaultTargetTriple, LLVMGetHostCPUFeatures, LLVMGetHostCPUName, LLVMNormalizeTargetTriple,
};

use crate::error::Error;
use crate::llvm::{
    c_text, initialise, promote_llvm_cpus, promote_llvm_features, promote_llvm_has, promote_llvm_memory,
    take_message,
};
use crate::ptx::Architecture;

/// A processor: a target triple, a CPU of it, and features beside those of the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    triple: String,
    cpu: String,
    features: String,
}

/// The machine of NVIDIA's devices.
pub(crate) const CUDA: &str = "nvptx64-nvidia-cuda";

/// A family of processors, as far as the choice of instructions asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    X86,
    Aarch64,
    Riscv,
    PowerPc,
    LoongArch,
    Cuda,
    /// One of whose vectors nothing is known: LLVM makes what it has of those of 16 bytes.
    Other,
}

impl Target {
    /// The processor this process runs on.
    pub fn host() -> Target {
        initialise();
        // SAFETY: these make messages of their own.
        let (cpu, features) =
            unsafe { (take_message(LLVMGetHostCPUName()), take_message(LLVMGetHostCPUFeatures())) };
        Target { triple: host_triple(), cpu, features }
    }

    /// A processor of this kind of machine, by LLVM's name (`x86-64-v3`, `sapphirerapids`, `generic`); `native` is
    /// [`Target::host`].
    ///
    /// # Errors
    /// If LLVM does not know the name; the error says which known ones look like it.
    pub fn named(cpu: &str) -> Result<Target, Error> {
        Self::new(None, Some(cpu), "")
    }

    /// The processor of a triple, as LLVM writes it (`aarch64-linux-gnu`), or of this machine; with a CPU's name (by default
    /// this processor's, or with a triple what all processors of its operating system have), and features to add or to leave
    /// out, as `+fma,-avx512f`.
    ///
    /// # Errors
    /// If LLVM does not know one of them; if memory is laid out otherwise there than compiled code takes for granted; if the
    /// triple is no processor's.
    pub fn new(triple: Option<&str>, cpu: Option<&str>, features: &str) -> Result<Target, Error> {
        initialise();
        let host = Self::host();
        let given = triple.map(normalised);
        let triple = given.clone().unwrap_or_else(|| host.triple.clone());
        check_machine(&triple)?;
        let (cpu, own) = match cpu {
            None if given.is_none() => (host.cpu, host.features),
            Some("native") if is_same_machine(&triple, &host.triple) => (host.cpu, host.features),
            Some("native") => return Err(Error::NotThisMachine { triple, host: host.triple }),
            None => {
                let (cpu, features) = any_cpu(&triple);
                (cpu.to_owned(), features.to_owned())
            }
            Some(name) => {
                let known = cpus(&triple);
                if !known.iter().any(|cpu| cpu == name) {
                    let close = close(name, known);
                    return Err(Error::UnknownCpu { name: name.to_owned(), triple, close });
                }
                (name.to_owned(), String::new())
            }
        };
        let known = names_of(&triple, promote_llvm_features);
        let given = || features.split(',').filter(|feature| !feature.is_empty());
        for feature in given() {
            let Some(name) = feature.strip_prefix(['+', '-']) else {
                return Err(Error::NoSign { name: feature.to_owned() });
            };
            if !known.iter().any(|known| known == name) {
                let close = close(name, known);
                return Err(Error::UnknownFeature { name: feature.to_owned(), triple, close });
            }
        }
        let features = own.split(',').filter(|feature| !feature.is_empty()).chain(given());
        let features = features.collect::<Vec<_>>().join(",");
        let target = Target { triple, cpu, features };
        target.check_features()?;
        Ok(target)
    }

    /// A device of NVIDIA's.
    pub(crate) fn cuda(architecture: Architecture) -> Target {
        initialise();
        Target { triple: CUDA.to_owned(), cpu: architecture.to_string(), features: String::new() }
    }

    /// Refuses processors without what code takes for granted of their family: LLVM would end the process.
    fn check_features(&self) -> Result<(), Error> {
        let (needed, excluded): (&[&str], &[&str]) = match self.family() {
            Family::X86 => (&["64bit", "64bit-mode", "sse2"], &["soft-float", "32bit-mode", "16bit-mode"]),
            Family::Aarch64 => (&["neon"], &[]),
            Family::Riscv => (&["64bit"], &["e"]),
            Family::LoongArch => (&["64bit"], &[]),
            Family::PowerPc | Family::Cuda | Family::Other => (&[], &[]),
        };
        let missing =
            needed.iter().find(|name| !self.has(name)).map(|name| format!("lacks the feature {name}"));
        let unwanted =
            excluded.iter().find(|name| self.has(name)).map(|name| format!("has the feature {name}"));
        missing.or(unwanted).map_or(Ok(()), |what| {
            let why = format!("its processor {} {what}, which is not supported", self.cpu);
            Err(Error::UnsuitableTarget { triple: self.triple.clone(), why })
        })
    }

    /// The processors that LLVM knows of this kind of machine.
    pub fn names() -> Vec<String> {
        cpus(&host_triple())
    }

    /// The processors that LLVM knows of this target's kind of machine.
    pub fn cpus(&self) -> Vec<String> {
        cpus(&self.triple)
    }

    /// Whether code for this target can run in this process, as far as the kind of machine determines it.
    pub fn is_native(&self) -> bool {
        is_same_machine(&self.triple, &host_triple())
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

    fn family(&self) -> Family {
        match self.triple.split('-').next().unwrap_or_default() {
            "x86_64" | "amd64" => Family::X86,
            "aarch64" | "arm64" | "arm64e" => Family::Aarch64,
            "riscv64" => Family::Riscv,
            "powerpc64le" | "ppc64le" => Family::PowerPc,
            "loongarch64" => Family::LoongArch,
            "nvptx64" => Family::Cuda,
            _ => Family::Other,
        }
    }

    /// Whether there are instructions that convert between half and single precision.
    pub fn has_f16c(&self) -> bool {
        match self.family() {
            Family::X86 => self.has("f16c") || self.has("avx512f"),
            Family::Aarch64 | Family::Cuda => true,
            Family::Riscv | Family::PowerPc | Family::LoongArch | Family::Other => false,
        }
    }

    /// Whether there are fused multiply-add instructions.
    pub fn has_fma(&self) -> bool {
        match self.family() {
            Family::X86 => self.has("fma") || self.has("avx512f"),
            Family::Aarch64 | Family::Cuda => true,
            Family::Riscv | Family::LoongArch => self.has("d"),
            Family::PowerPc => self.has("vsx"),
            Family::Other => false,
        }
    }

    /// Whether there are instructions that add four products of bytes to each element of [the widest vectors](Self::vector_bytes),
    /// which are x86's of 64 bytes.
    pub fn has_vnni(&self) -> bool {
        self.family() == Family::X86 && self.has("avx512vnni")
    }

    /// Whether there are instructions that add up two products of words of 16 bits in each element of [the widest vectors](Self::vector_bytes).
    pub fn has_products_of_words(&self) -> bool {
        self.family() == Family::X86
            && match self.vector_bytes() {
                64 => self.has("avx512bw"),
                32 => self.has("avx2"),
                16 => true,
                _ => false,
            }
    }

    /// Whether there are instructions that add two products of `bf16` to each element of the widest vectors.
    pub fn has_bf16(&self) -> bool {
        self.family() == Family::X86 && self.has("avx512bf16")
    }

    /// The narrowest elements, in bits, that an instruction chooses by their places in two of the widest vectors; none if there is no such
    /// instruction.
    pub fn narrowest_chosen(&self) -> Option<u32> {
        let has_any = self.family() == Family::X86 && self.vector_bytes() == 64 && self.has("avx512bw");
        has_any.then(|| if self.has("avx512vbmi") { 8 } else { 16 })
    }

    /// Whether there is an instruction that chooses bytes by their places in a register of 16.
    pub fn chooses_bytes(&self) -> bool {
        self.family() == Family::X86 && self.has("ssse3")
    }

    /// Whether the processor is known to have as many misses of its first-level cache under way as reading memory at its full speed
    /// takes. On one thread Zen 5 reads 38 GB/s so, which is all that memory gives; Zen 4, which has 24 misses, 13 GB/s, and 34 without.
    pub fn has_many_misses(&self) -> bool {
        self.family() == Family::X86 && self.cpu == "znver5"
    }

    /// The width of the vectors to compute with, in bytes.
    pub fn vector_bytes(&self) -> usize {
        match self.family() {
            Family::X86 if self.has("avx512f") => 64,
            Family::X86 if self.has("avx") => 32,
            Family::LoongArch if self.has("lasx") => 32,
            Family::X86
            | Family::Aarch64
            | Family::Riscv
            | Family::PowerPc
            | Family::LoongArch
            | Family::Cuda
            | Family::Other => 16,
        }
    }

    /// How many vector registers there are.
    pub fn vector_registers(&self) -> usize {
        match self.family() {
            Family::X86 if !self.has("avx512f") => 16,
            Family::X86
            | Family::Aarch64
            | Family::Riscv
            | Family::PowerPc
            | Family::LoongArch
            | Family::Cuda
            | Family::Other => 32,
        }
    }

    /// Whether callers and callees of C agree that integers of 32 bits are extended to registers by their sign.
    pub(crate) fn extends_int(&self) -> bool {
        !matches!(self.family(), Family::X86 | Family::Aarch64 | Family::Cuda)
    }
}

/// What a triple must be for its code to be right: compiled code has pointers and indices of 64 bits, and constants whose
/// least significant byte is first.
fn check_machine(triple: &str) -> Result<(), Error> {
    const NO_PROCESSORS: [&str; 6] = ["nvptx", "amdgcn", "r600", "spirv", "bpf", "ve"];
    let refused = |why: &str| Err(Error::UnsuitableTarget { triple: triple.to_owned(), why: why.to_owned() });
    let architecture = triple.split('-').next().unwrap_or_default();
    if NO_PROCESSORS.iter().any(|name| architecture.starts_with(name)) {
        return refused("it is not a processor that runs programs of an operating system");
    }
    let (mut pointer_bits, mut is_little_endian, mut message) = (0, false, std::ptr::null_mut());
    // SAFETY: the text lives as long as the call, the places are ours, and so is the message.
    let (known, message) = unsafe {
        let known = promote_llvm_memory(
            c_text(triple).as_ptr(),
            &raw mut pointer_bits,
            &raw mut is_little_endian,
            &raw mut message,
        );
        (known, take_message(message))
    };
    match (known, pointer_bits, is_little_endian) {
        (false, ..) => Err(Error::NoTarget { triple: triple.to_owned(), message }),
        (true, 64, true) => Ok(()),
        (true, 64, false) => refused("it stores the most significant byte first"),
        (true, bits, _) => refused(&format!("its pointers have {bits} bits, and 64 are needed")),
    }
}

/// Whether two triples are of one kind of machine: vendors do not matter.
fn is_same_machine(one: &str, other: &str) -> bool {
    let parts = |triple: &str| {
        triple
            .split('-')
            .enumerate()
            .filter(|(at, _)| *at != 1)
            .map(|(_, part)| part.to_owned())
            .collect::<Vec<_>>()
    };
    parts(one) == parts(other)
}

/// What LLVM calls the processor that all others of a machine are compatible with, and features that operating systems take
/// for granted beside it.
fn any_cpu(triple: &str) -> (&'static str, &'static str) {
    match triple.split('-').next().unwrap_or_default() {
        "x86_64" | "amd64" => ("x86-64", ""),
        "riscv64" => ("generic-rv64", "+m,+a,+f,+d,+c"),
        "loongarch64" => ("loongarch64", ""),
        "powerpc64le" | "ppc64le" => ("ppc64le", ""),
        "mips64el" => ("mips64r2", ""),
        _ => ("generic", ""),
    }
}

pub(crate) fn cpus(triple: &str) -> Vec<String> {
    names_of(triple, promote_llvm_cpus)
}

/// What a function of LLVM calls back with.
fn names_of(
    triple: &str,
    list: unsafe extern "C" fn(*const c_char, unsafe extern "C" fn(*const c_char, *mut c_void), *mut c_void),
) -> Vec<String> {
    unsafe extern "C" fn add(name: *const c_char, names: *mut c_void) {
        // SAFETY: called below only, with a name and the vector.
        let (name, names) = unsafe { (CStr::from_ptr(name), &mut *names.cast::<Vec<String>>()) };
        names.push(name.to_string_lossy().into_owned());
    }
    initialise();
    let mut names: Vec<String> = Vec::new();
    // SAFETY: the callback gets the vector, and only during the call.
    unsafe { list(c_text(triple).as_ptr(), add, (&raw mut names).cast()) };
    names
}

fn host_triple() -> String {
    // SAFETY: makes a message of its own.
    normalised(&unsafe { take_message(LLVMGetDefaultTargetTriple()) })
}

fn normalised(triple: &str) -> String {
    let text = c_text(triple);
    // SAFETY: the text lives as long as the call, which makes a message of its own.
    unsafe { take_message(LLVMNormalizeTargetTriple(text.as_ptr())) }
}

/// The known names most like a name, the best first.
pub(crate) fn close(name: &str, known: Vec<String>) -> Vec<String> {
    const LIKE: f64 = 0.8;
    const MOST: usize = 3;
    let mut scored: Vec<(f64, String)> =
        known.into_iter().map(|known| (strsim::jaro_winkler(name, &known), known)).collect();
    scored.retain(|&(score, _)| score >= LIKE);
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    scored.truncate(MOST);
    scored.into_iter().map(|(_, name)| name).collect()
}
