//! The compiler as the tools start it: a session for the rules that are asked for, and what it says with names of files.

use std::sync::Arc;

use promote::diagnostic::{Code, Diagnostic, Location};
use promote::{CompileError, Options, PipelineError, Policies, Semantics, Session, Target, TargetError};

use crate::flags::{Diagnostics, Processor, Rules};
use crate::input::Input;
use crate::report::Stop;
use crate::semantics;
use crate::supervise::{SMALL_STACK, is_address_space_free};

/// The options of a session.
pub fn options(
    semantics: Arc<Semantics>,
    rules: &Rules,
    diagnostics: &Diagnostics,
    threads: bool,
) -> Options {
    let policies = Policies {
        warn: diagnostics.warn.clone(),
        deny: diagnostics.deny.clone(),
        strict_carries: rules.strict_carries,
    };
    Options { threads, remarks: diagnostics.remarks, policies, ..Options::new(semantics) }
}

/// The rules that are asked for.
pub fn semantics(rules: &Rules) -> Result<Arc<Semantics>, Stop> {
    Ok(Arc::new(semantics::load(&rules.semantics, rules.x64)?))
}

/// Starts a session.
pub fn session(options: &Options) -> Result<Session, Stop> {
    Session::new(options).map_err(|error| Stop::internal(error.to_string()))
}

/// Starts the threads that the passes share work with; one, if they are not to. They recurse over types, too, so they get
/// a bigger stack than rayon gives them where there is room for it.
pub fn start_helpers(threads: bool) {
    let helpers = rayon::ThreadPoolBuilder::new().num_threads(usize::from(!threads));
    let helpers = if is_address_space_free() { helpers.stack_size(SMALL_STACK) } else { helpers };
    // Where they cannot be had, the passes' first use of them says so.
    let _ = helpers.build_global();
}

/// What the session has to say. MLIR calls text `-`, and the reader knows it by its name.
pub fn take_diagnostics(session: &Session, input: &Input) -> Vec<Diagnostic> {
    let mut diagnostics = session.take_diagnostics();
    rename(&mut diagnostics, input);
    diagnostics
}

/// Gives text the name that the reader knows it by.
pub fn rename(diagnostics: &mut [Diagnostic], input: &Input) {
    let rename = |location: &mut Option<Location>| {
        if let Some(location) = location.as_mut().filter(|location| location.file == "-") {
            location.file.clone_from(&input.name);
        }
    };
    for diagnostic in diagnostics {
        rename(&mut diagnostic.location);
        diagnostic.notes.iter_mut().for_each(|note| rename(&mut note.location));
    }
}

/// The error for a pipeline that does not exist.
pub fn pipeline_error(error: &PipelineError) -> Diagnostic {
    Diagnostic::error(Code::Pipeline, None, error.to_string())
        .with_remedy("--list-passes shows the passes of promote; `mlir-opt-22 --help` shows upstream's")
}

impl From<PipelineError> for Stop {
    fn from(error: PipelineError) -> Self {
        Self::misused(pipeline_error(&error))
    }
}

/// The processor that `--target-cpu` and `--target-features` name, of a machine, or of this one.
pub fn target(triple: Option<&str>, processor: &Processor) -> Result<Target, Stop> {
    Target::new(triple, processor.target_cpu.as_deref(), &processor.target_features).map_err(no_target)
}

fn no_target(error: TargetError) -> Stop {
    let remedy = match error {
        TargetError::UnknownCpu { .. } => "--target-cpu=help lists the names",
        TargetError::UnknownFeature { .. } | TargetError::NoSign { .. } => {
            "write +NAME or -NAME, separated by commas, with LLVM's names: `llc-22 -mtriple=TRIPLE -mattr=help` lists them"
        }
        TargetError::NotThisMachine { .. } => "name a processor of that machine, or leave out --target-cpu",
        _ => {
            "name a 64-bit, little-endian machine that LLVM generates code for, as x86_64-linux-gnu or aarch64-linux-gnu"
        }
    };
    Stop::misused(Diagnostic::error(Code::Native, None, error.to_string()).with_remedy(remedy))
}

/// The processors that `--target-cpu` knows of a machine, for `--target-cpu=help`.
pub fn target_help(triple: Option<&str>) -> Result<String, Stop> {
    let machine = Target::new(triple, None, "").map_err(no_target)?;
    let mut text = String::new();
    if machine.is_native() {
        text = format!("native (this machine: {})\n", Target::host().cpu());
    }
    for name in machine.cpus() {
        text.push_str(&name);
        text.push('\n');
    }
    Ok(text)
}

/// What is wrong with a module that cannot be compiled: all that the passes say, or one error.
pub fn compile_error(error: CompileError, input: &Input) -> Result<Vec<Diagnostic>, Stop> {
    match error {
        CompileError::Refused(mut diagnostics) => {
            rename(&mut diagnostics, input);
            Ok(diagnostics)
        }
        CompileError::Pipeline(error) => Err(error.into()),
        error @ CompileError::Native(_) => {
            Err(Diagnostic::error(Code::Native, None, error.to_string()).into())
        }
        error @ CompileError::Device(_) => {
            Err(Diagnostic::error(Code::Device, None, error.to_string()).into())
        }
    }
}
