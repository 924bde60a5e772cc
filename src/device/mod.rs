//! From a module to an accelerator: its kernels as code of the device, and the program that launches them.
//!
//! [`compile_for`] makes [`DeviceCode`] of a module; no device is needed for that. [`DeviceCode::load`] loads it on a
//! [device](open), and [`load_emitted`] what was written to files before: an executable, whose functions take tensors in memory
//! of this process, as those of a processor do, or tensors that stay on the device
//! ([`Function::run_on_device`](crate::Function::run_on_device)). [`from_managed`] and [`into_managed`] exchange
//! these with other libraries.

mod emitted;
mod exchange;
mod function;

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use promote_device::TensorCores;
use promote_device::{Compiled, Machine};
use promote_devices::{Api, DeviceError, Limits};
use promote_execute::Sidecar;
use promote_lower::interface::Interface;
use promote_lower::program::Program;
use promote_lower::target::Target;
use promote_mlir::session::{Module, Session, Verdict};
use promote_mlir::targets::nvptx::{self, Kernels};
use promote_spirv::{Environment, Features, Needs};

use crate::compile::{CompileError, CompileOptions, TargetError, to_blocks};

pub use emitted::{EmittedError, load_emitted};
pub use exchange::{
    borrowed, dlpack_device, from_host, from_managed, from_managed_unversioned, into_managed,
};
pub(crate) use function::{DeviceFunction, run};
pub use promote_devices::{Code, Description, Device, list};
pub use promote_execute::{SharedDevice, SidecarError, Tensor as DeviceTensor};
pub use promote_native::Architecture;

/// What code is made for, beside processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceTarget {
    /// Devices with Vulkan 1.2, as SPIR-V.
    Vulkan,
    /// Devices with OpenCL 2.0, as SPIR-V.
    OpenCl,
    /// NVIDIA's devices of an architecture, as PTX. Without one, what is loaded is made for the device, and what is emitted
    /// for [`Architecture::COMMON`]. What the device has is [known](DeviceTarget::on) only if it is open.
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

    /// What the tensor cores of such devices are used for, if they may be for that.
    const fn uses(self, cores: TensorCores) -> TensorCores {
        match self {
            Self::Vulkan | Self::OpenCl => TensorCores::Unused,
            Self::Cuda(Some(architecture)) if !architecture.has_tensor_cores() => TensorCores::Unused,
            Self::Cuda(_) => cores,
        }
    }

    /// What code is for that this device is to run: the device's own architecture, if none was named.
    ///
    /// # Errors
    /// If the device does not run code for the architecture, or is too old for any.
    pub fn on(self, device: &SharedDevice) -> Result<Self, DeviceError> {
        match self {
            Self::Vulkan | Self::OpenCl => Ok(self),
            Self::Cuda(wanted) => {
                let architecture = architecture_for(wanted, locked(device).description())?;
                Ok(Self::Cuda(Some(architecture)))
            }
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

/// Opens the first device of a target, or the one that the environment's `PROMOTE_DEVICE` names. One that is opened twice has two
/// orders of work, which know nothing of each other: clone what is returned instead.
///
/// # Errors
/// If there is none, or no driver.
pub fn open(target: DeviceTarget) -> Result<SharedDevice, DeviceError> {
    Ok(Arc::new(Mutex::new(promote_devices::open(target.api())?)))
}

/// Opens a device of a target by its index among [those of the interface](list), or by a part of its name in any case.
///
/// # Errors
/// As [`open`], and if no device is called so.
pub fn open_named(target: DeviceTarget, name: &str) -> Result<SharedDevice, DeviceError> {
    Ok(Arc::new(Mutex::new(promote_devices::open_named(target.api(), name)?)))
}

/// The device; what panicked with it has left it as its driver does.
fn locked(device: &SharedDevice) -> MutexGuard<'_, Box<dyn Device>> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a program must know of devices whose tensor cores are used so.
pub const fn accelerator(cores: TensorCores) -> impl Target {
    Machine { cores }
}

/// The words of a module, and the entries that it has.
type WordsOf = (Vec<String>, Vec<u32>);

/// A program as code of a device.
#[derive(Clone, Debug)]
pub struct DeviceCode {
    target: DeviceTarget,
    cores: TensorCores,
    program: Program,
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
        Verdict::Done => DeviceCode::of(module, session.semantics(), target, options.tensor_cores),
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
        cores: TensorCores,
    ) -> Result<Self, CompileError> {
        let cores = target.uses(cores);
        let program = module.program(semantics, &accelerator(cores)).map_err(CompileError::Refused)?;
        Ok(Self::of_program(program, target, cores))
    }

    /// The code of a [program](Program), whatever IR it was read from. It must have been made for a
    /// [device](accelerator) whose tensor cores are used so.
    pub fn of_program(program: Program, target: DeviceTarget, cores: TensorCores) -> Self {
        let interfaces = program.interfaces();
        Self { target, cores: target.uses(cores), program, interfaces }
    }

    /// What it is for.
    pub const fn target(&self) -> DeviceTarget {
        self.target
    }

    /// What is launched on devices of a target.
    fn compiled(&self, target: DeviceTarget) -> Compiled {
        Compiled::of(&self.program, target.uses(self.cores))
    }

    /// The kernels as SPIR-V, for any device of the target; for Vulkan's, if the target's take none.
    pub fn spirv(&self) -> promote_spirv::Module {
        let target = match self.target {
            DeviceTarget::Vulkan | DeviceTarget::Cuda(_) => DeviceTarget::Vulkan,
            DeviceTarget::OpenCl => DeviceTarget::OpenCl,
        };
        let environment =
            if target == DeviceTarget::OpenCl { Environment::OpenCl } else { Environment::Vulkan };
        promote_spirv::compile(&self.program, &self.compiled(target), environment, Features::default())
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
        self.ptx_for(architecture, &self.compiled(DeviceTarget::Cuda(Some(architecture))))
    }

    fn ptx_for(&self, architecture: Architecture, compiled: &Compiled) -> Result<String, CompileError> {
        let features = nvptx::Features { has_bf16: architecture.has_bf16() };
        let kernels = Kernels::new(&self.program, compiled, features);
        // SAFETY: the module is alive, and nobody else has it.
        Ok(unsafe { promote_native::ptx(kernels.to_raw(), architecture) }?)
    }

    /// The program as text, with a comment at each kernel that says how its loops are run.
    pub fn program_text(&self) -> String {
        self.program.with_schedules(&accelerator(self.cores)).to_string()
    }

    /// What goes with the kernels: the program that launches them, and how, as JSON.
    pub fn sidecar(&self) -> String {
        let target = self.target.emitted();
        Sidecar::new(&target.to_string(), &self.program, &self.compiled(target)).to_json()
    }

    /// Loads the code on a device.
    ///
    /// # Errors
    /// If the device lacks what the code needs, or its driver refuses it.
    pub fn load(&self, device: &SharedDevice) -> Result<crate::Executable, CompileError> {
        let description = locked(device).description().clone();
        let load = |codes: &[_], compiled: Compiled| {
            promote_execute::Executable::load(device.clone(), codes, self.program.clone(), compiled)
        };
        let loaded = match self.target {
            DeviceTarget::Vulkan | DeviceTarget::OpenCl => {
                let compiled = self.compiled(self.target);
                let words = self.spirv_of(&compiled, &description)?;
                let codes = words.iter().map(|(entries, words)| (entries.clone(), Code::SpirV(words)));
                load(&codes.collect::<Vec<_>>(), compiled)
            }
            DeviceTarget::Cuda(wanted) => {
                let architecture = architecture_for(wanted, &description)?;
                let compiled = self.compiled(DeviceTarget::Cuda(Some(architecture)));
                let text = self.ptx_for(architecture, &compiled)?;
                load(&[(names(&compiled), Code::Ptx(&text))], compiled)
            }
        }?;
        Ok(crate::Executable::on_device(Arc::new(loaded), &self.interfaces))
    }

    /// SPIR-V for a device: modules, with the names of their entries.
    fn spirv_of(
        &self,
        compiled: &Compiled,
        Description { limits, name, .. }: &Description,
    ) -> Result<Vec<WordsOf>, DeviceError> {
        let features = features(limits);
        let modules = if self.target == DeviceTarget::Vulkan {
            promote_spirv::compile_each(&self.program, compiled, Environment::Vulkan, features)
                .into_iter()
                .map(|(entry, module)| (vec![entry], module))
                .collect()
        } else {
            let module = promote_spirv::compile(&self.program, compiled, Environment::OpenCl, features);
            vec![(names(compiled), module)]
        };
        modules
            .into_iter()
            .map(|(entries, module)| {
                check_needs(module.needs, limits, name)?;
                Ok((entries, module.words()))
            })
            .collect()
    }
}

/// The names of kernels.
fn names(compiled: &Compiled) -> Vec<String> {
    compiled.entries().map(|entry| entry.name.clone()).collect()
}

/// What PTX is made for that a device is to run.
fn architecture_for(
    wanted: Option<Architecture>,
    Description { limits, name, .. }: &Description,
) -> Result<Architecture, DeviceError> {
    let own = limits.architecture.unwrap_or_default();
    let unsupported = |feature: String| DeviceError::Unsupported { device: name.clone(), feature };
    match wanted {
        Some(wanted) if wanted.runs_on(own) => Ok(wanted),
        Some(wanted) => Err(unsupported(format!("code for {wanted}: it is sm_{own}; compile for that"))),
        None => Architecture::of_device(own).ok_or_else(|| {
            let least = Architecture::LEAST;
            unsupported(format!("kernels: it is sm_{own}, and they are made for {least} and newer"))
        }),
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
