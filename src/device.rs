//! From a module to an accelerator: its kernels as code of the device, and the program that launches them.
//!
//! [`compile_for`] makes [`DeviceCode`] of a module; no device is needed for that. [`DeviceCode::load`] loads it on a
//! [device](open), whose functions take tensors in memory of this process, as those of a processor do, or tensors that stay
//! on the device ([`Function::run_on_device`](crate::Function::run_on_device)).

use std::ffi::CString;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use promote_device::{Compiled, Machine};
use promote_devices::{Api, Code, DeviceError, Limits};
use promote_execute::{Argument, Error, Sidecar};
use promote_lower::interface::Interface;
use promote_lower::program::Program;
use promote_lower::symbols::Symbols;
use promote_lower::target::Target;
use promote_lower::types::Type;
use promote_mlir::session::{Module, Session, Verdict};
use promote_mlir::targets::nvptx::{self, Kernels};
use promote_runtime as runtime;
use promote_spirv::{Environment, Features, Needs};

use crate::compile::{CompileError, CompileOptions, TargetError, to_blocks};
use crate::dlpack;
use crate::run::TensorType;
use crate::tensor::RunError;

pub use promote_devices::{Description, list};
pub use promote_execute::{SharedDevice, Tensor as DeviceTensor};
pub use promote_native::Architecture;

/// What code is made for, beside processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceTarget {
    /// Devices with Vulkan 1.2, as SPIR-V.
    Vulkan,
    /// Devices with OpenCL 2.0, as SPIR-V.
    OpenCl,
    /// NVIDIA's devices of an architecture, as PTX. Without one, what is loaded is made for the device, and what is emitted
    /// for [`Architecture::COMMON`].
    Cuda(Option<Architecture>),
}

impl DeviceTarget {
    /// Every kind of target.
    pub const ALL: [Self; 3] = [Self::Vulkan, Self::OpenCl, Self::Cuda(None)];

    /// The interface that drives such devices.
    pub const fn api(self) -> Api {
        match self {
            Self::Vulkan => Api::Vulkan,
            Self::OpenCl => Api::OpenCl,
            Self::Cuda(_) => Api::Cuda,
        }
    }

    /// What code that is emitted is for.
    const fn emitted(self) -> Self {
        match self {
            Self::Cuda(None) => Self::Cuda(Some(Architecture::COMMON)),
            Self::Vulkan | Self::OpenCl | Self::Cuda(Some(_)) => self,
        }
    }
}

/// Its name on the command line.
impl fmt::Display for DeviceTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.api().name())?;
        match self {
            Self::Cuda(Some(architecture)) => write!(f, ":{architecture}"),
            Self::Vulkan | Self::OpenCl | Self::Cuda(None) => Ok(()),
        }
    }
}

/// What is no target.
#[derive(Debug, thiserror::Error)]
pub enum UnknownDevice {
    /// There is no such interface.
    #[error("`{0}` is no device; there are vulkan, opencl and cuda, or cuda:sm_90 for an architecture")]
    Name(String),
    /// There is no such architecture.
    #[error(transparent)]
    Architecture(#[from] TargetError),
}

impl FromStr for DeviceTarget {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        if let Some(architecture) = text.strip_prefix("cuda:") {
            return Ok(Self::Cuda(Some(architecture.parse()?)));
        }
        let found = Self::ALL.into_iter().find(|target| target.to_string() == text);
        found.ok_or_else(|| UnknownDevice::Name(text.to_owned()))
    }
}

/// Opens the first device of a target, or the one that the environment's `PROMOTE_DEVICE` names.
///
/// # Errors
/// If there is none, or no driver.
pub fn open(target: DeviceTarget) -> Result<SharedDevice, DeviceError> {
    Ok(Arc::new(Mutex::new(promote_devices::open(target.api())?)))
}

/// What a program must know of devices.
pub const fn accelerator() -> impl Target {
    Machine
}

/// The words of a module, and the entries that it has.
type WordsOf = (Vec<String>, Vec<u32>);

/// A program as code of a device.
#[derive(Clone, Debug)]
pub struct DeviceCode {
    target: DeviceTarget,
    program: Program,
    compiled: Compiled,
    interfaces: Vec<Interface>,
}

/// Promotes a module and reads it as a program for a device; its control flow becomes blocks.
///
/// # Errors
/// As [`compile()`](crate::compile()).
pub fn compile_for(
    session: &Session,
    module: &mut Module<'_>,
    options: &CompileOptions,
    target: DeviceTarget,
) -> Result<DeviceCode, CompileError> {
    let mut pipeline = options.pipeline.clone();
    pipeline.0.extend(to_blocks().0);
    match session.run(module, &pipeline, &options.passes)? {
        Verdict::Done => DeviceCode::of(module, session.semantics(), target),
        Verdict::Refused => Err(CompileError::Refused(session.take_diagnostics())),
    }
}

impl DeviceCode {
    /// The code of a strong module whose control flow is blocks.
    ///
    /// # Errors
    /// [`CompileError::Refused`], for what no code is made for.
    pub fn of(
        module: &Module<'_>,
        semantics: &promote_lattice::Semantics,
        target: DeviceTarget,
    ) -> Result<Self, CompileError> {
        let program = module.program(semantics, &Machine).map_err(CompileError::Refused)?;
        Ok(Self::of_program(program, target))
    }

    /// The code of a [program](Program), whatever IR it was read from. It must have been made for a
    /// [device](accelerator).
    pub fn of_program(program: Program, target: DeviceTarget) -> Self {
        let (compiled, interfaces) = (Compiled::of(&program), program.interfaces());
        Self { target, program, compiled, interfaces }
    }

    /// What it is for.
    pub const fn target(&self) -> DeviceTarget {
        self.target
    }

    /// The kernels as SPIR-V, for any device of the target; for Vulkan's, if the target's take none.
    pub fn spirv(&self) -> promote_spirv::Module {
        self.spirv_for(Features::default())
    }

    fn spirv_for(&self, features: Features) -> promote_spirv::Module {
        let environment = match self.target {
            DeviceTarget::Vulkan | DeviceTarget::Cuda(_) => Environment::Vulkan,
            DeviceTarget::OpenCl => Environment::OpenCl,
        };
        promote_spirv::compile(&self.program, &self.compiled, environment, features)
    }

    /// The kernels as PTX, for the architecture of the target; for [`Architecture::COMMON`], if it has none.
    ///
    /// # Errors
    /// If LLVM refuses to compile them.
    pub fn ptx(&self) -> Result<String, CompileError> {
        let architecture = match self.target {
            DeviceTarget::Cuda(Some(architecture)) => architecture,
            DeviceTarget::Cuda(None) | DeviceTarget::Vulkan | DeviceTarget::OpenCl => Architecture::COMMON,
        };
        self.ptx_for(architecture)
    }

    fn ptx_for(&self, architecture: Architecture) -> Result<String, CompileError> {
        let features = nvptx::Features { has_bf16: architecture.has_bf16() };
        let kernels = Kernels::new(&self.program, &self.compiled, features);
        // SAFETY: the module is alive, and nobody else has it.
        Ok(unsafe { promote_native::ptx(kernels.to_raw(), architecture) }?)
    }

    /// The program as text, with a comment at each kernel that says how its loops are run.
    pub fn program_text(&self) -> String {
        self.program.with_schedules(&Machine).to_string()
    }

    /// What goes with the kernels: the program that launches them, and how, as JSON.
    pub fn sidecar(&self) -> String {
        Sidecar::new(&self.target.emitted().to_string(), &self.program, &self.compiled).to_json()
    }

    /// Loads the code on a device.
    ///
    /// # Errors
    /// If the device lacks what the code needs, or its driver refuses it.
    pub fn load(&self, device: &SharedDevice) -> Result<crate::Executable, CompileError> {
        let description = {
            let open = device.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            open.description().clone()
        };
        let (program, compiled) = (self.program.clone(), self.compiled.clone());
        let load = |codes: &[_]| promote_execute::Executable::load(device.clone(), codes, program, compiled);
        let loaded = match self.target {
            DeviceTarget::Vulkan | DeviceTarget::OpenCl => {
                let words = self.spirv_of(&description)?;
                let codes = words.iter().map(|(entries, words)| (entries.clone(), Code::SpirV(words)));
                load(&codes.collect::<Vec<_>>())
            }
            DeviceTarget::Cuda(architecture) => {
                let text = self.ptx_of(architecture, &description)?;
                load(&[(self.entries(), Code::Ptx(&text))])
            }
        }?;
        Ok(crate::Executable::on_device(Arc::new(loaded), &self.interfaces))
    }

    /// The names of the kernels.
    fn entries(&self) -> Vec<String> {
        self.compiled.entries().map(|entry| entry.name.clone()).collect()
    }

    /// SPIR-V for a device: modules, with the names of their entries.
    fn spirv_of(&self, Description { limits, name, .. }: &Description) -> Result<Vec<WordsOf>, DeviceError> {
        let features = features(limits);
        let modules = if self.target == DeviceTarget::Vulkan {
            promote_spirv::compile_each(&self.program, &self.compiled, Environment::Vulkan, features)
                .into_iter()
                .map(|(entry, module)| (vec![entry], module))
                .collect()
        } else {
            vec![(self.entries(), self.spirv_for(features))]
        };
        modules
            .into_iter()
            .map(|(entries, module)| {
                check_needs(module.needs, limits, name)?;
                Ok((entries, module.words()))
            })
            .collect()
    }

    /// PTX for a device.
    fn ptx_of(
        &self,
        wanted: Option<Architecture>,
        Description { limits, name, .. }: &Description,
    ) -> Result<String, CompileError> {
        let own = limits.architecture.unwrap_or_default();
        match wanted {
            Some(wanted) if !wanted.runs_on(own) => {
                let feature = format!("code for {wanted}: it is sm_{own}; compile for that");
                Err(DeviceError::Unsupported { device: name.clone(), feature }.into())
            }
            Some(wanted) => self.ptx_for(wanted),
            None => self.ptx_for(Architecture::of_device(own)),
        }
    }
}

/// Refuses code that needs what a device lacks.
fn check_needs(needs: Needs, limits: &Limits, device: &str) -> Result<(), DeviceError> {
    let lacks = [
        (needs.f64 && !limits.has_f64, "numbers of double precision"),
        (needs.i16 && !(limits.has_i16 && limits.has_16bit_storage), "integers of 16 bits"),
        (needs.i8 && !(limits.has_i8 && limits.has_8bit_storage), "integers of 8 bits"),
    ];
    match lacks.into_iter().find(|(lacks, _)| *lacks) {
        Some((_, what)) => {
            let feature = format!("{what}, which the program needs");
            Err(DeviceError::Unsupported { device: device.to_owned(), feature })
        }
        None => Ok(()),
    }
}

/// What a device is known to do with floats.
fn features(limits: &Limits) -> Features {
    let [_, single, double] = limits.floats;
    Features {
        keeps_subnormals_32: single.denorm_preserve,
        keeps_subnormals_64: double.denorm_preserve,
        has_float_controls: [single, double]
            .into_iter()
            .all(|controls| controls.signed_zero_inf_nan_preserve && controls.rounding_mode_rte),
    }
}

/// A public function on a device, and what the run time must know of it to check its arguments.
pub(crate) struct DeviceFunction {
    executable: Arc<promote_execute::Executable>,
    name: String,
    metadata: runtime::Function,
    // What the metadata point to.
    _text: CString,
    _types: Vec<runtime::TensorType>,
    _dims: Vec<Box<[i64]>>,
}

// SAFETY: metadata are constants, as is all they point to.
unsafe impl Send for DeviceFunction {}
// SAFETY: as above.
unsafe impl Sync for DeviceFunction {}

impl DeviceFunction {
    pub(crate) fn new(executable: Arc<promote_execute::Executable>, interface: &Interface) -> Self {
        let Interface { name, inputs, outputs, .. } = interface;
        let types = inputs.iter().chain(outputs);
        let dims: Vec<Box<[i64]>> = types
            .clone()
            .map(|r#type| r#type.dims().iter().map(|extent| extent.unwrap_or(-1)).collect())
            .collect();
        let described = |(r#type, dims): (&Type, &[i64])| {
            let runtime::DLDataType { code, bits, lanes } = dlpack::of(r#type.dtype());
            let rank = dims.len() as i32;
            runtime::TensorType { code, bits, lanes, rank, dims: dims.as_ptr(), name: std::ptr::null() }
        };
        let types: Vec<_> = types.zip(dims.iter().map(|dims| &**dims)).map(described).collect();
        // Symbols are C identifiers.
        let text = CString::new(Symbols::of(name).call).unwrap_or_default();
        let metadata = runtime::Function {
            name: text.as_ptr(),
            inputs: inputs.len() as i32,
            outputs: outputs.len() as i32,
            input_types: types.as_ptr(),
            output_types: types[inputs.len()..].as_ptr(),
            entry: never,
            shape: executable.tells_shapes(name).then_some(never as runtime::Entry),
            entry_stack: std::ptr::null(),
            shape_stack: std::ptr::null(),
            strided_count: 0,
            strided: std::ptr::null(),
        };
        Self { executable, name: name.clone(), metadata, _text: text, _types: types, _dims: dims }
    }

    /// The function as the run time calls it.
    pub(crate) const fn callable(&self) -> runtime::Callable<'_> {
        // SAFETY: the metadata point to what is kept beside them.
        unsafe { runtime::Callable::of_body(&self.metadata, self) }
    }

    /// Runs it on tensors of the device, which are of the types that it takes.
    pub(crate) fn run(&self, arguments: &[Argument<'_>]) -> Result<Vec<DeviceTensor>, Error> {
        self.executable.call(&self.name, arguments)
    }

    /// The device that it runs on.
    pub(crate) fn device(&self) -> &SharedDevice {
        self.executable.device()
    }
}

impl fmt::Debug for DeviceFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceFunction({})", self.name)
    }
}

/// The code of functions that are run by other means.
extern "C" fn never(_: *mut runtime::Context, _: *const runtime::Input) -> i32 {
    1
}

impl runtime::Body for DeviceFunction {
    fn run(&self, call: &runtime::Call<'_>) -> bool {
        match self.answer(call) {
            Ok(done) => done,
            Err(Error::Trap { trap, place }) => {
                call.trap(trap_of(trap), &place);
                false
            }
            Err(error) => {
                call.fail(status(&error), &error.to_string());
                false
            }
        }
    }
}

impl DeviceFunction {
    fn answer(&self, call: &runtime::Call<'_>) -> Result<bool, Error> {
        let count = self.metadata.inputs as usize;
        let only_shapes = call.wants_shapes() && self.metadata.shape.is_some();
        let argument = |input: usize| {
            let dims = call.dims(input);
            // Shapes may depend on numbers, but on no other elements.
            let data = if only_shapes && !dims.is_empty() { &[] } else { call.data(input) };
            Argument::Host(data, dims)
        };
        let arguments: Vec<_> = (0..count).map(argument).collect();
        if only_shapes {
            let shapes = self.executable.shapes(&self.name, &arguments)?.unwrap_or_default();
            shapes.iter().enumerate().for_each(|(index, dims)| call.shape(index, dims));
            return Ok(true);
        }
        let results = self.executable.call(&self.name, &arguments)?;
        for (index, result) in results.iter().enumerate() {
            if call.wants_shapes() {
                call.shape(index, result.dims());
                continue;
            }
            let mut failed = None;
            let read = |to: &mut [u8]| match result.read(to) {
                Ok(()) => true,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            };
            if !call.output(index, result.dims(), read) {
                return failed.map_or(Ok(false), Err);
            }
        }
        Ok(true)
    }
}

const fn trap_of(trap: promote_scalar::Trap) -> runtime::Trap {
    match trap {
        promote_scalar::Trap::DivisionByZero => runtime::Trap::Division,
        promote_scalar::Trap::NegativePower => runtime::Trap::NegativePower,
        promote_scalar::Trap::IndexOutOfRange => runtime::Trap::Index,
    }
}

/// What kind of failure the run time reports.
const fn status(error: &Error) -> runtime::Status {
    match error {
        Error::Device(DeviceError::OutOfMemory { .. } | DeviceError::TooLarge { .. }) => {
            runtime::Status::Memory
        }
        Error::Device(_) => runtime::Status::Device,
        Error::Check(_) => runtime::Status::Check,
        Error::Shape { .. } => runtime::Status::Shape,
        Error::Trap { .. } | Error::NoFunction(_) => runtime::Status::Internal,
    }
}

/// Runs a function on tensors of its device.
pub(crate) fn run(
    function: &DeviceFunction,
    types: &[TensorType],
    inputs: &[&DeviceTensor],
) -> Result<Vec<DeviceTensor>, RunError> {
    let symbol = Symbols::of(&function.name).call;
    let refuse = |status, what: String| RunError { status, message: format!("{symbol}: {what}") };
    if inputs.len() != types.len() {
        let what = format!("must have {} inputs, but has {}", types.len(), inputs.len());
        return Err(refuse(runtime::Status::Rank, what));
    }
    for (index, (input, expected)) in inputs.iter().zip(types).enumerate() {
        if !Arc::ptr_eq(input.device(), function.device()) {
            return Err(refuse(runtime::Status::Device, format!("input {index} is on another device")));
        }
        let fits = |(extent, given): (&Option<i64>, &i64)| extent.is_none_or(|extent| extent == *given);
        let has_shape =
            input.dims().len() == expected.shape.len() && expected.shape.iter().zip(input.dims()).all(fits);
        if input.dtype() != expected.dtype || !has_shape {
            let shape = input.dims().iter().map(|extent| Some(*extent)).collect();
            let given = TensorType { dtype: input.dtype(), shape };
            let what = format!("input {index} must be {expected}, but is {given}");
            return Err(refuse(runtime::Status::Shape, what));
        }
    }
    let arguments: Vec<_> = inputs.iter().map(|input| Argument::Device(input)).collect();
    function.run(&arguments).map_err(|error| match error {
        Error::Trap { trap, .. } => refuse(trap_status(trap), error.to_string()),
        error => refuse(status(&error), error.to_string()),
    })
}

const fn trap_status(trap: promote_scalar::Trap) -> runtime::Status {
    match trap {
        promote_scalar::Trap::DivisionByZero => runtime::Status::Division,
        promote_scalar::Trap::NegativePower => runtime::Status::NegativePower,
        promote_scalar::Trap::IndexOutOfRange => runtime::Status::Index,
    }
}
