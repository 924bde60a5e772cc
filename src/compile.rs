//! From a module to code: promote, lower, compile.
//!
//! [`compile`] runs the passes on a module, whose functions become a [`Compiled`]: LLVM IR, assembly, an object, a shared
//! library with its C header, or an [`Executable`](crate::Executable) in this process.

use std::path::Path;

use promote_native as native;
use promote_passes::diagnostic::Diagnostic;
use promote_passes::mlir::cpu::Machine;
use promote_passes::mlir::pipeline::{Pipeline, PipelineError};
use promote_passes::mlir::session::{Module, RunOptions, Session, Verdict};

use crate::run::Executable;
pub use promote_native::{OptLevel, RUNTIME_OBJECT, Target};

/// How a module is compiled.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The passes to run before lowering; the default ones promote. A module that is strong already needs none.
    pub pipeline: Pipeline,
    /// The processor.
    pub target: Target,
    /// How much LLVM optimises.
    pub level: OptLevel,
    /// What a run makes of denormal numbers.
    pub denormals: Denormals,
    /// How the passes are run.
    pub passes: RunOptions,
}

/// What a run makes of denormal numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Denormals {
    /// What the processor is set to do by the calling thread: to keep them, unless the program has said otherwise.
    #[default]
    Keep,
    /// To read and write them as zero.
    Flush,
}

impl Default for CompileOptions {
    /// Promotes by the default passes, for this machine's processor, optimised as far as LLVM can.
    fn default() -> Self {
        Self {
            pipeline: Pipeline::default(),
            target: Target::host(),
            level: OptLevel::default(),
            denormals: Denormals::default(),
            passes: RunOptions::default(),
        }
    }
}

/// Why a module cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A pass refused it. The diagnostics say why, remarks and warnings among them.
    #[error("{}", first_error(.0))]
    Refused(Vec<Diagnostic>),
    /// There is no such pipeline.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// LLVM or the system's linker refused it.
    #[error(transparent)]
    Native(#[from] native::Error),
    /// A function's name is none that C has.
    #[error(
        "the function `{0}` cannot be declared in C: its name has other characters than letters, digits and _"
    )]
    Name(String),
}

fn first_error(diagnostics: &[Diagnostic]) -> String {
    use promote_passes::diagnostic::Severity;
    let error = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
    let Some(error) = error else { return "the module was refused".to_owned() };
    let place = error.location.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    format!("{place}{}", error.message)
}

/// The passes that turn a strong module into one of the LLVM dialect.
pub fn lowering() -> Pipeline {
    Pipeline::parse(LOWERING).unwrap_or_else(|error| unreachable!("{error}"))
}

const LOWERING: &str = "lower-affine,convert-scf-to-cf,promote-to-llvm,convert-math-to-llvm,convert-arith-to-llvm,\
                        convert-index-to-llvm,reconcile-unrealized-casts";

/// What the passes must know of a processor.
pub fn machine(target: &Target) -> Machine {
    let wide = cfg!(target_arch = "aarch64") || target.has("avx512f");
    Machine {
        vector_bytes: target.vector_bytes(),
        vector_registers: if wide { 32 } else { 16 },
        has_f16: target.has_f16c(),
        has_fma: target.has_fma(),
    }
}

/// Runs the passes of `options` and then those that lower, on a module in place.
///
/// # Errors
/// [`PipelineError`] if there is no such pipeline. What passes refuse is a [`Verdict`], and in the session's diagnostics.
pub fn lower(
    session: &Session,
    module: &mut Module<'_>,
    options: &CompileOptions,
) -> Result<Verdict, PipelineError> {
    let mut pipeline = options.pipeline.clone();
    pipeline.0.extend(lowering().0);
    let passes = RunOptions { machine: machine(&options.target), ..options.passes.clone() };
    session.run(module, &pipeline, &passes)
}

/// Promotes, lowers and compiles a module; its functions become those of the LLVM dialect.
///
/// # Errors
/// [`CompileError`]. With [`CompileError::Refused`] the session's diagnostics are taken; after success, those that are no
/// errors are left for [`Session::take_diagnostics`].
pub fn compile(
    session: &Session,
    module: &mut Module<'_>,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    match lower(session, module, options)? {
        Verdict::Done => translate(module, options),
        Verdict::Refused => Err(CompileError::Refused(session.take_diagnostics())),
    }
}

/// Compiles a module of the LLVM dialect, as [`lower`] leaves it.
///
/// # Errors
/// If it holds anything else, or LLVM refuses it.
pub fn translate(module: &Module<'_>, options: &CompileOptions) -> Result<Compiled, CompileError> {
    // SAFETY: the module is alive; it and its session are used by this thread only.
    let code = unsafe { native::compile(module.to_raw(), &options.target, options.level) }?;
    Ok(Compiled { code, denormals: options.denormals })
}

/// Functions in code for a processor.
pub struct Compiled {
    code: native::Compiled,
    denormals: Denormals,
}

impl Compiled {
    /// The optimised LLVM IR.
    pub fn ir_text(&self) -> String {
        self.code.ir_text()
    }

    /// The code as assembly.
    ///
    /// # Errors
    /// If LLVM cannot write it.
    pub fn assembly(&self) -> Result<String, CompileError> {
        Ok(self.code.assembly()?)
    }

    /// The code as a relocatable object. It needs the functions of [`RUNTIME_OBJECT`].
    ///
    /// # Errors
    /// If LLVM cannot write it.
    pub fn object(&self) -> Result<Vec<u8>, CompileError> {
        Ok(self.code.object()?)
    }

    /// Writes a shared library with the run time in it, linked by the system's `cc` (or the environment's `CC`).
    ///
    /// # Errors
    /// If the linker fails, or the file cannot be written.
    pub fn write_library(&self, path: &Path) -> Result<(), CompileError> {
        let object = self.code.object()?;
        let exports = self.symbols(&object)?;
        Ok(native::shared_library(&object, &exports, path)?)
    }

    /// The bytes of a shared library, as [`Compiled::write_library`] writes it.
    ///
    /// # Errors
    /// As there.
    pub fn library(&self) -> Result<Vec<u8>, CompileError> {
        let object = self.code.object()?;
        let exports = self.symbols(&object)?;
        Ok(native::shared_library_bytes(&object, &exports)?)
    }

    /// The C header of an object or library.
    ///
    /// # Errors
    /// If a function's name is none that C has.
    pub fn header(&self) -> Result<String, CompileError> {
        let executable = self.load()?;
        let signatures = executable.functions().map(|function| {
            let is_word = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if is_word(function.name()) {
                Ok(function.signature())
            } else {
                Err(CompileError::Name(function.name().to_owned()))
            }
        });
        Ok(native::header(&signatures.collect::<Result<Vec<_>, _>>()?))
    }

    /// Loads the code into this process. The processor it was compiled for must be this one, or a lesser one.
    ///
    /// # Errors
    /// If it cannot be loaded.
    pub fn load(&self) -> Result<Executable, CompileError> {
        self.load_object(&self.code.object()?)
    }

    fn load_object(&self, object: &[u8]) -> Result<Executable, CompileError> {
        Executable::new(native::Image::load(object)?, self.denormals)
    }

    /// The symbols that programs call; the object's metadata know them.
    fn symbols(&self, object: &[u8]) -> Result<Vec<String>, CompileError> {
        let executable = self.load_object(object)?;
        let symbols = executable.functions().flat_map(|function| {
            let symbol = function.signature().symbol;
            [format!("{symbol}_shape"), symbol]
        });
        Ok(symbols.collect())
    }
}
