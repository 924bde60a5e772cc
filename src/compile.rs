//! From a module to code: promote, lower, compile.
//!
//! [`compile`] runs the passes on a module, whose functions become a [`Compiled`]: LLVM IR, assembly, an object, a shared
//! library with its C header, or an [`Executable`](crate::Executable) in this process.

use std::path::Path;
use std::sync::Arc;

use promote_diagnostics::{Code, Diagnostic};
use promote_lattice::Semantics;
use promote_lower::interface::Interface;
use promote_lower::program::Program;
use promote_lower::symbols::{self, Symbols};
use promote_mlir::pipeline::{Pipeline, PipelineError};
use promote_mlir::session::{Module, NotLoaded, Options as SessionOptions, RunOptions, Session, Verdict};
use promote_mlir::targets::cpu::{Machine, Type};
use promote_native::{self as native, Argument, Signature};

use crate::device::TensorCores;
use crate::dlpack;
use crate::run::Executable;
pub use promote_native::{Error as TargetError, OptLevel, RUNTIME_OBJECT, Target};

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
    /// What tensor cores are used for, of [devices](crate::device) that have any.
    pub tensor_cores: TensorCores,
    /// How the passes are run.
    pub passes: RunOptions,
}

/// What a run makes of denormal numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Denormals {
    /// What the processor is set to do by the calling thread: to keep them, unless the program has changed it.
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
            tensor_cores: TensorCores::default(),
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
    /// The device lacks what the code needs, or its driver refused it.
    #[error(transparent)]
    Device(#[from] promote_devices::DeviceError),
}

fn first_error(diagnostics: &[Diagnostic]) -> String {
    use promote_diagnostics::Severity;
    let error = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
    let Some(error) = error else { return "the module was refused".to_owned() };
    let place = error.location.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    format!("{place}{}", error.message)
}

/// The passes that turn a strong module into one of the LLVM dialect.
pub fn lowering() -> Pipeline {
    Pipeline::parse(LOWERING).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The passes after which the control flow of a module is blocks, as [`read_program`] reads it.
pub fn to_blocks() -> Pipeline {
    Pipeline::parse(TO_BLOCKS).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The [program](Program) that a strong module is, whose control flow is blocks, for a processor.
///
/// # Errors
/// [`CompileError::Refused`], for what no code is made for.
pub fn read_program(
    module: &Module<'_>,
    semantics: &Semantics,
    target: &Target,
) -> Result<Program, CompileError> {
    module.program(semantics, &processor(target)).map_err(CompileError::Refused)
}

/// A program as text, with a comment at each kernel that says how the target runs its loops.
pub fn program_text(program: &Program, target: &Target) -> String {
    program.with_schedules(&processor(target)).to_string()
}

const TO_BLOCKS: &str = "promote-number-switches,lower-affine,convert-scf-to-cf";
const LOWERING: &str = "promote-number-switches,lower-affine,convert-scf-to-cf,promote-to-llvm";

/// What the passes must know of a processor.
pub fn processor(target: &Target) -> Machine {
    Machine {
        vector_bytes: target.vector_bytes(),
        vector_registers: target.vector_registers(),
        has_f16: target.has_f16c(),
        has_fma: target.has_fma(),
        has_vnni: target.has_vnni(),
        has_products_of_words: target.has_products_of_words(),
        has_bf16: target.has_bf16(),
        narrowest_chosen: target.narrowest_chosen(),
        chooses_bytes: target.chooses_bytes(),
        has_many_misses: target.has_many_misses(),
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
    let mut passes = options.passes.clone();
    passes.targets.cpu = processor(&options.target);
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
    lowered(session, module, options)?;
    translate(module, options)
}

/// Lowers a module that must not be refused.
fn lowered(session: &Session, module: &mut Module<'_>, options: &CompileOptions) -> Result<(), CompileError> {
    match lower(session, module, options)? {
        Verdict::Done => Ok(()),
        Verdict::Refused => Err(CompileError::Refused(session.take_diagnostics())),
    }
}

/// Promotes, lowers and compiles a module, and loads the code into this process; LLVM compiles large modules on several threads.
pub(crate) fn load(
    session: &Session,
    module: &mut Module<'_>,
    options: &CompileOptions,
) -> Result<Executable, CompileError> {
    lowered(session, module, options)?;
    // SAFETY: the module is alive; it and its session are used by this thread only.
    let image = unsafe { native::load(module.melior().to_raw(), &options.target, options.level) }?;
    let interfaces = module.interfaces().map_err(CompileError::Refused)?;
    Ok(Executable::new(image, &interfaces, options.denormals))
}

/// Compiles a [program](Program) for a processor, whatever IR it was read from. It must have been made for
/// [`processor`], and `semantics` says what its numbers are.
///
/// # Errors
/// If no code is made for it, or LLVM refuses it.
pub fn compile_program(
    program: &Program,
    semantics: &Arc<Semantics>,
    options: &CompileOptions,
) -> Result<Compiled, CompileError> {
    let session = SessionOptions { threads: false, ..SessionOptions::new(Arc::clone(semantics)) };
    let not_loaded = |error: NotLoaded| vec![Diagnostic::error(Code::Internal, None, error.to_string())];
    let session = Session::new(&session).map_err(|error| CompileError::Refused(not_loaded(error)))?;
    let module = session.code_of(program, processor(&options.target)).map_err(CompileError::Refused)?;
    translate(&module, options)
}

/// Compiles a module of the LLVM dialect, as [`lower`] leaves it.
///
/// # Errors
/// If it holds anything else, or LLVM refuses it.
pub fn translate(module: &Module<'_>, options: &CompileOptions) -> Result<Compiled, CompileError> {
    // SAFETY: the module is alive; it and its session are used by this thread only.
    let code = unsafe { native::compile(module.melior().to_raw(), &options.target, options.level) }?;
    let interfaces = module.interfaces().map_err(CompileError::Refused)?;
    Ok(Compiled { code, interfaces, denormals: options.denormals })
}

/// The C header of the public functions of a module, which has been promoted or lowered. No code is made.
///
/// # Errors
/// If a function takes or returns what no code is made for.
pub fn header(module: &Module<'_>) -> Result<String, CompileError> {
    module.interfaces().map(|interfaces| declared(&interfaces)).map_err(CompileError::Refused)
}

fn declared(interfaces: &[Interface]) -> String {
    native::header(&interfaces.iter().map(signature).collect::<Vec<_>>())
}

/// How a C header declares a function.
fn signature(interface: &Interface) -> Signature {
    let argument = |r#type: &Type| Argument {
        name: None,
        dtype: dlpack::of(r#type.dtype()),
        shape: r#type.dims().iter().map(|extent| extent.unwrap_or(-1)).collect(),
    };
    let Interface { name, inputs, outputs, .. } = interface;
    let Symbols { call, shape, .. } = Symbols::of(name);
    Signature {
        title: (!symbols::is_plain(name)).then(|| format!("@{}", symbols::in_mlir(name))),
        symbol: call,
        shape,
        inputs: inputs.iter().map(argument).collect(),
        outputs: outputs.iter().map(argument).collect(),
    }
}

/// Functions in code for a processor.
pub struct Compiled {
    code: native::Compiled,
    interfaces: Vec<Interface>,
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
        let object = self.code.native_object()?;
        Ok(native::shared_library(&object, &self.exports(), path)?)
    }

    /// The bytes of a shared library, as [`Compiled::write_library`] writes it.
    ///
    /// # Errors
    /// As there.
    pub fn library(&self) -> Result<Vec<u8>, CompileError> {
        let object = self.code.native_object()?;
        Ok(native::shared_library_bytes(&object, &self.exports())?)
    }

    /// The bytes of a shared library, linked in a directory, which the caller removes with all that is in it.
    ///
    /// # Errors
    /// As [`Compiled::write_library`].
    pub fn library_in(&self, directory: &Path) -> Result<Vec<u8>, CompileError> {
        let object = self.code.native_object()?;
        Ok(native::shared_library_bytes_in(&object, &self.exports(), directory)?)
    }

    /// The C header of an object or library.
    pub fn header(&self) -> String {
        declared(&self.interfaces)
    }

    /// Loads the code into this process. The processor it was compiled for must be this one, or a lesser one.
    ///
    /// # Errors
    /// If it cannot be loaded.
    pub fn load(&self) -> Result<Executable, CompileError> {
        let image = native::Image::load(&self.code.native_object()?)?;
        Ok(Executable::new(image, &self.interfaces, self.denormals))
    }

    /// The symbols that programs call.
    fn exports(&self) -> Vec<String> {
        let symbols = self.interfaces.iter().flat_map(|interface| {
            let Symbols { call, shape, tvm, metadata: _ } = Symbols::of(&interface.name);
            [call, shape, tvm]
        });
        symbols.collect()
    }
}
