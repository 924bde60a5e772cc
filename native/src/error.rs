//! What can go wrong on the way from the LLVM dialect to code.

use std::path::PathBuf;

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The processor's name is not known.
    #[error("unknown CPU '{name}' for {triple}{}", suggestion(close))]
    UnknownCpu {
        /// The name that was given.
        name: String,
        /// The machine whose processors were searched.
        triple: String,
        /// Names that look like it.
        close: Vec<String>,
    },
    /// Kernels need what the architecture does not have.
    #[error(
        "no code is made for {name}: kernels exchange numbers between the threads of a warp by shfl.sync, which LLVM has from {least} on"
    )]
    TooOld {
        /// The architecture that was given.
        name: String,
        /// The first one that code is made for.
        least: String,
    },
    /// The feature's name is not known.
    #[error("unknown feature '{name}' of {triple}{}", suggestion(close))]
    UnknownFeature {
        /// The name that was given, with its sign if it had one.
        name: String,
        /// The machine whose features were searched.
        triple: String,
        /// Names that look like it.
        close: Vec<String>,
    },
    /// A feature has no sign that says whether the processor has it.
    #[error("the feature '{name}' needs a sign: '+{name}' if the processor has it, '-{name}' if it lacks it")]
    NoSign {
        /// The feature as it was given.
        name: String,
    },
    /// This processor was asked for on another kind of machine.
    #[error("the CPU 'native' is this machine's ({host}), not one of {triple}")]
    NotThisMachine {
        /// The machine that was asked for.
        triple: String,
        /// This machine.
        host: String,
    },
    /// Code for the machine would be wrong.
    #[error("{triple} is not a supported target: {why}")]
    UnsuitableTarget {
        /// The machine.
        triple: String,
        /// What is against it.
        why: String,
    },
    /// Code for another machine cannot be linked or loaded here.
    #[error("code for {triple} cannot be linked or loaded on this machine")]
    ForeignObject {
        /// The machine.
        triple: String,
    },
    /// LLVM has no code generator for the machine.
    #[error("no code generator for {triple}: {message}")]
    NoTarget {
        /// The machine.
        triple: String,
        /// What LLVM says.
        message: String,
    },
    /// The module holds something that cannot be translated to LLVM IR.
    #[error("the module cannot be translated to LLVM IR: {0}")]
    Translate(String),
    /// LLVM's verifier refuses the module.
    #[error("the LLVM IR is invalid: {0}")]
    Invalid(String),
    /// LLVM refuses to optimise the module or to write code for it.
    #[error("LLVM cannot compile the module: {0}")]
    Compile(String),
    /// LLVM met what it has no code for, where it would end the process.
    #[error("LLVM gave up: {0}")]
    Fatal(String),
    /// The object cannot be loaded into memory.
    #[error("the object cannot be loaded: {0}")]
    Load(String),
    /// The system's linker failed.
    #[error("the linker failed: {command}\n{output}")]
    Link {
        /// The command as it was run.
        command: String,
        /// What it printed.
        output: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

fn suggestion(close: &[String]) -> String {
    match close {
        [] => String::new(),
        names => format!(
            "; did you mean {}?",
            names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or ")
        ),
    }
}
