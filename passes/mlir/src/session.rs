//! A context with everything in it: parse, run a pipeline, print; every message a [`Diagnostic`].

use std::ffi::c_void;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use melior::Context;
use melior::dialect::{DialectHandle, DialectRegistry};
use melior::ir::operation::OperationLike;
use melior::ir::{Location, Module as MlirModule};
use melior::pass::PassManager;
use mlir_sys::*;
use promote_lattice::Semantics;

use super::ir::{Mlir, Vocabulary};
use super::messages::translate;
use super::pass::Config;
pub use super::pass::Options;
use super::pipeline::{Pipeline, PipelineError};
use super::print_ir::{PrintIr, printer};
use super::raw::{self, Address};
use super::units::Shared;
use crate::targets;
use crate::targets::cpu::{Machine, put_program};
use promote_host::outline::outline;
use promote_host::strong::Visit;
use promote_lower::interface::Interface;

use crate::{unread, unverified};
use promote_diagnostics::{Code, Diagnostic, Severity};
use promote_lower::program::Program;
use promote_lower::target::Target;

/// How a pipeline is run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Verify the IR after each pass.
    pub verify_each: bool,
    /// Print how long each pass took to standard error.
    pub timing: bool,
    /// Print the IR before and after passes to standard error.
    pub print: PrintIr,
    /// Options of targets.
    pub targets: targets::Options,
}

/// Whether a module got through a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It did.
    Done,
    /// It was refused: the diagnostics say why.
    Refused,
}

/// How a module is printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// All ops in generic form.
    pub generic: bool,
    /// Locations too.
    pub debug_info: bool,
}

/// What is said of a module that was made in another session.
const OTHER_CONTEXT: &str = "the module is of another context than the session's";

/// The dialects of MLIR 22 and this one.
const DIALECTS: &[&str] = &[
    "acc",
    "affine",
    "amdgpu",
    "amx",
    "arith",
    "arm_neon",
    "arm_sme",
    "arm_sve",
    "async",
    "bufferization",
    "builtin",
    "cf",
    "complex",
    "dlti",
    "emitc",
    "func",
    "gpu",
    "index",
    "irdl",
    "linalg",
    "llvm",
    "math",
    "memref",
    "ml_program",
    "mpi",
    "nvgpu",
    "nvvm",
    "omp",
    "pdl",
    "pdl_interp",
    "promote",
    "ptr",
    "quant",
    "rocdl",
    "scf",
    "shape",
    "shard",
    "smt",
    "sparse_tensor",
    "spirv",
    "tensor",
    "tosa",
    "transform",
    "ub",
    "vector",
    "wasmssa",
    "x86vector",
    "xegpu",
    "xevm",
];

type Diagnostics = Arc<Mutex<Vec<Diagnostic>>>;

/// A context in which modules are parsed, promoted and printed.
pub struct Session {
    context: Context,
    config: Config,
    diagnostics: Diagnostics,
}

/// A module of a [`Session`].
pub struct Module<'s>(MlirModule<'s>);

/// Where a module is read from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A file, text or bytecode; its name is kept in locations.
    File(&'a Path),
    /// Text without NUL bytes; locations call it `-`.
    Text(&'a str),
    /// Bytecode, from a trusted source: damaged bytecode can crash MLIR.
    Bytecode(&'a [u8]),
}

/// The promote dialect could not be loaded.
pub use promote_dialect::mlir::NotLoaded;

impl Session {
    /// A session with all upstream dialects and the promote dialect.
    ///
    /// # Errors
    /// [`NotLoaded`] if MLIR does not take the promote dialect's definition.
    pub fn new(options: &Options) -> Result<Self, NotLoaded> {
        let registry = DialectRegistry::new();
        melior::utility::register_all_dialects(&registry);
        let context = Context::new_with_registry(&registry, options.threads);
        context.set_allow_unregistered_dialects(true);
        promote_dialect::mlir::register(&context)?;
        let diagnostics = Diagnostics::default();
        let (heard, sink) = (Arc::clone(&diagnostics), Arc::clone(&diagnostics));
        context.attach_diagnostic_handler(move |diagnostic| {
            lock(&heard).push(translate(&diagnostic));
            true
        });
        let config = Config::new(options.clone(), move |diagnostic| lock(&sink).push(diagnostic));
        Ok(Self { context, config, diagnostics })
    }

    /// The melior context, for those who build modules themselves. [`adopt`](Self::adopt) takes what they built.
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// What it was made with.
    pub fn options(&self) -> Options {
        self.config.options()
    }

    /// The rules that its passes follow.
    pub fn semantics(&self) -> &Semantics {
        &self.config.semantics
    }

    /// The names of the dialects that are registered.
    pub fn dialects(&self) -> Vec<&'static str> {
        // MLIR's C API cannot list its registry, but says of a name whether it is there.
        let known = |name: &&str| {
            // SAFETY: the context is alive; MLIR returns null for a name it does not know.
            let dialect = unsafe { mlirContextGetOrLoadDialect(self.context.to_raw(), raw::string(name)) };
            !dialect.ptr.is_null()
        };
        DIALECTS.iter().copied().filter(known).collect()
    }

    /// The diagnostics since the last call, of the passes and of MLIR, in the order of the source.
    pub fn take_diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = std::mem::take(&mut *lock(&self.diagnostics));
        diagnostics
            .sort_by(|a, b| (a.location.is_none(), &a.location).cmp(&(b.location.is_none(), &b.location)));
        diagnostics
    }

    /// Parses and verifies a module. `None` if MLIR refuses it, or a name in it; why is in the diagnostics. Ops that follow op
    /// rules are not verified: their dialects would refuse operands that are not promoted yet.
    pub fn parse(&self, source: Source<'_>) -> Option<Module<'_>> {
        let before = lock(&self.diagnostics).len();
        let context = self.context.to_raw();
        let bytes = |bytes: &[u8]| MlirStringRef { data: bytes.as_ptr().cast(), length: bytes.len() };
        // SAFETY: the context is alive, and the strings outlive the calls. MLIR wants text to end before a NUL byte,
        // which a copy with one more byte guarantees.
        let module = unsafe {
            match source {
                _ if unverified::has_rules(context, &self.config.op_rules) => {
                    unverified::parse(context, &source, &self.config.op_rules)
                }
                Source::File(path) => {
                    mlirModuleCreateParseFromFile(context, raw::string(&path.to_string_lossy()))
                }
                Source::Text(text) => {
                    let mut terminated = Vec::with_capacity(text.len() + 1);
                    terminated.extend_from_slice(text.as_bytes());
                    terminated.push(0);
                    mlirModuleCreateParse(context, bytes(&terminated[..text.len()]))
                }
                Source::Bytecode(data) => mlirModuleCreateParse(context, bytes(data)),
            }
        };
        if module.ptr.is_null() {
            if !self.has_error_since(before) {
                lock(&self.diagnostics).push(unread::explain(&source));
            }
            return None;
        }
        // SAFETY: the module was just made in this context, and is owned by the result.
        self.named(unsafe { MlirModule::from_raw(module) })
    }

    /// Verifies a module that was built in the session's [context](Self::context), and takes it. `None` if it is of another
    /// context, if MLIR refuses it, or a name in it; why is in the diagnostics. As in [`parse`](Self::parse), ops that follow op
    /// rules are not verified.
    pub fn adopt<'s>(&'s self, module: MlirModule<'s>) -> Option<Module<'s>> {
        if !self.is_ours(&module) {
            return None;
        }
        let rules = &self.config.op_rules;
        let is_valid = match unverified::has_rules(self.context.to_raw(), rules) {
            true => unverified::is_valid(module.to_raw(), rules),
            false => module.as_operation().verify(),
        };
        if is_valid { self.named(module) } else { None }
    }

    /// Whether a module is of the session's context; says so if it is not.
    fn is_ours(&self, module: &MlirModule<'_>) -> bool {
        let ours = module.context() == self.context;
        if !ours {
            lock(&self.diagnostics).push(Diagnostic::error(Code::Pipeline, None, OTHER_CONTEXT));
        }
        ours
    }

    /// Whether there is an error beyond the first so many diagnostics.
    fn has_error_since(&self, before: usize) -> bool {
        let diagnostics = lock(&self.diagnostics);
        diagnostics.iter().skip(before).any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// A module, if its names are such as the passes take.
    fn named<'s>(&'s self, module: MlirModule<'s>) -> Option<Module<'s>> {
        let wrong = super::names::check(module.as_operation().to_raw());
        let is_named = wrong.is_empty();
        lock(&self.diagnostics).extend(wrong);
        is_named.then_some(Module(module))
    }

    /// The module of the LLVM dialect that `promote-to-llvm` makes of a program, whatever IR that was read from.
    ///
    /// # Errors
    /// If no code is made for it.
    pub fn code_of(&self, program: &Program, machine: Machine) -> Result<Module<'_>, Vec<Diagnostic>> {
        let context: &Context = &self.context;
        for dialect in [DialectHandle::llvm(), DialectHandle::arith(), DialectHandle::cf()] {
            dialect.load_dialect(context);
        }
        let module = MlirModule::new(Location::unknown(context));
        let refused = put_program(&module, program, self.config.semantics.numerics(), machine);
        if refused.is_empty() { Ok(Module(module)) } else { Err(refused) }
    }

    /// Runs a pipeline on a module. What it found is in the diagnostics; a module of another session is refused.
    ///
    /// # Errors
    /// [`PipelineError`] if there is no such pipeline; nothing was run.
    pub fn run(
        &self,
        module: &mut Module<'_>,
        pipeline: &Pipeline,
        options: &RunOptions,
    ) -> Result<Verdict, PipelineError> {
        if !self.is_ours(&module.0) {
            return Ok(Verdict::Refused);
        }
        let before = lock(&self.diagnostics).len();
        // SAFETY: the context outlives the manager, which melior owns from here on; it has no name for timing.
        let manager = unsafe {
            let manager = mlirPassManagerCreate(self.context.to_raw());
            if options.timing {
                mlirPassManagerEnableTiming(manager);
            }
            PassManager::from_raw(manager)
        };
        manager.enable_verifier(options.verify_each);
        let around = |name: &str, moment| printer(&options.print, name, moment);
        let alone = options.print.prints_all();
        let config = Config { targets: options.targets.clone(), ..self.config.clone() };
        pipeline.add_around(manager.as_operation_pass_manager(), &config, &around)?;
        if alone {
            // MLIR asks for it where it prints the whole module, and dumps of threads would mix.
            self.context.enable_multi_threading(false);
            options.print.enable(&manager);
        }
        let ok = manager.run(&mut module.0).is_ok();
        self.context.enable_multi_threading(self.config.threads);
        if !ok && !self.has_error_since(before) {
            let message = format!("the pipeline {pipeline} failed");
            lock(&self.diagnostics).push(Diagnostic::error(Code::Pipeline, None, message));
        }
        Ok(if self.has_error_since(before) { Verdict::Refused } else { Verdict::Done })
    }

    /// The graph of a module in Graphviz's language: its ops with the types of their results, and what is converted.
    ///
    /// # Errors
    /// If the module is of another session, the context does not know the dialect, or MLIR does not read what an op rule says.
    pub fn dot(&self, module: &Module<'_>) -> Result<String, String> {
        if module.0.context() != self.context {
            return Err(OTHER_CONTEXT.to_owned());
        }
        // SAFETY: the context outlives the table.
        let vocabulary = unsafe { Vocabulary::with_rules(self.context.to_raw(), &self.config.op_rules) }?;
        let ir = Mlir { vocabulary: Arc::new(vocabulary), threads: self.config.threads };
        let roots = promote_host::units::roots(&ir, Address(module.0.as_operation().to_raw()));
        let programs = roots.into_iter().map(|root| {
            let mut view = promote_host::view::view(root, &ir);
            let solution = promote_infer::solve::solve(&mut view.graph, &self.config.semantics);
            let name = raw::string_attribute(root.0, "sym_name").unwrap_or_default();
            (name, view.graph, solution)
        });
        let programs: Vec<_> = programs.filter(|(_, graph, _)| graph.ops().len() > 0).collect();
        let mut text = String::new();
        promote_infer::dot::write(&mut text, &programs, &self.config.semantics);
        Ok(text)
    }
}

fn lock(diagnostics: &Mutex<Vec<Diagnostic>>) -> std::sync::MutexGuard<'_, Vec<Diagnostic>> {
    diagnostics.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'s> Module<'s> {
    /// The module as melior has it, for those who go on from here by themselves.
    pub const fn melior(&self) -> &MlirModule<'s> {
        &self.0
    }

    /// A copy of the module, in the same session.
    pub fn duplicate(&self) -> Self {
        // SAFETY: the module is alive, and the copy is owned by the result.
        Self(unsafe {
            let copy = mlirOperationClone(self.0.as_operation().to_raw());
            MlirModule::from_raw(mlirModuleFromOperation(copy))
        })
    }

    /// Whether MLIR's verifier accepts the module; if not, why is in the diagnostics.
    pub fn verify(&self) -> bool {
        self.0.as_operation().verify()
    }

    /// Lets `print` write the module while another thread verifies it: both only read it. Gives what `print` returns, and
    /// whether the verifier accepts the module; if not, why is in the diagnostics, and what was written is worth nothing.
    /// The context must be multi-threaded.
    pub fn verify_while<T>(&self, print: impl FnOnce(&Self) -> T) -> (T, bool) {
        let operation = Address(self.0.as_operation().to_raw());
        let verify = move || {
            let operation = operation;
            // SAFETY: the module outlives the thread, and nothing changes it meanwhile.
            unsafe { mlirOperationVerify(operation.0) }
        };
        std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, verify) {
            Ok(verifier) => (print(self), verifier.join().unwrap_or(false)),
            Err(_) => (print(self), self.verify()),
        })
    }

    /// The public functions, strong or lowered, as callers outside see them.
    ///
    /// # Errors
    /// If one of them takes or returns what no code is made for.
    pub fn interfaces(&self) -> Result<Vec<Interface>, Vec<Diagnostic>> {
        crate::interface::interfaces(self.0.as_operation().to_raw(), &self.ir()?)
    }

    /// The program that the module is for a target; its control flow must be blocks.
    ///
    /// # Errors
    /// What no code is made for.
    pub fn program(&self, semantics: &Semantics, target: &dyn Target) -> Result<Program, Vec<Diagnostic>> {
        let shared = Shared { ir: &self.ir()?, semantics };
        crate::program::of_module(self.0.as_operation().to_raw(), shared, target)
    }

    /// Lets another host read the module.
    ///
    /// # Errors
    /// If the context does not know the dialect.
    pub fn visit<V: Visit>(&self, visitor: V) -> Result<V::Output, Vec<Diagnostic>> {
        Ok(visitor.visit(&self.ir()?, Address(self.0.as_operation().to_raw())))
    }

    /// The outline of the module: text that is the same for the same program in any host's IR.
    ///
    /// # Errors
    /// If the context does not know the dialect.
    pub fn outline(&self) -> Result<String, Vec<Diagnostic>> {
        Ok(outline(&self.ir()?, Address(self.0.as_operation().to_raw())))
    }

    /// The module as the passes see it.
    fn ir(&self) -> Result<Mlir, Vec<Diagnostic>> {
        // SAFETY: the context outlives the table.
        let vocabulary = unsafe { Vocabulary::new(raw::context(self.0.as_operation().to_raw())) };
        let vocabulary =
            vocabulary.map_err(|error| vec![Diagnostic::error(Code::Internal, None, error.to_string())])?;
        Ok(Mlir { vocabulary: Arc::new(vocabulary), threads: false })
    }

    /// Prints the module as text. It must be valid, as the verifier says.
    ///
    /// # Errors
    /// The writer's.
    pub fn print(&self, out: &mut dyn Write, options: PrintOptions) -> io::Result<()> {
        // SAFETY: the module is alive; the flags are destroyed after their last use.
        write_with(out, |callback, data| unsafe {
            let flags = mlirOpPrintingFlagsCreate();
            mlirOpPrintingFlagsAssumeVerified(flags);
            if options.generic {
                mlirOpPrintingFlagsPrintGenericOpForm(flags);
            }
            if options.debug_info {
                mlirOpPrintingFlagsEnableDebugInfo(flags, true, false);
            }
            mlirOperationPrintWithFlags(self.0.as_operation().to_raw(), flags, callback, data);
            mlirOpPrintingFlagsDestroy(flags);
        })?;
        out.write_all(b"\n")
    }

    /// Writes the module as bytecode.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_bytecode(&self, out: &mut dyn Write) -> io::Result<()> {
        // SAFETY: the module is alive.
        write_with(out, |callback, data| unsafe {
            mlirOperationWriteBytecode(self.0.as_operation().to_raw(), callback, data);
        })
    }
}

/// Lets MLIR print to a writer.
fn write_with(out: &mut dyn Write, print: impl FnOnce(MlirStringCallback, *mut c_void)) -> io::Result<()> {
    struct State<'a> {
        out: &'a mut dyn Write,
        result: io::Result<()>,
    }
    unsafe extern "C" fn write(part: MlirStringRef, state: *mut c_void) {
        // SAFETY: the state is the one below, and MLIR's string is valid for its length.
        let (state, bytes) = unsafe {
            let bytes = if part.length == 0 {
                &[]
            } else {
                std::slice::from_raw_parts(part.data.cast(), part.length)
            };
            (&mut *state.cast::<State<'_>>(), bytes)
        };
        if state.result.is_ok() {
            state.result = state.out.write_all(bytes);
        }
    }
    let mut state = State { out, result: Ok(()) };
    print(Some(write), (&raw mut state).cast());
    state.result
}
