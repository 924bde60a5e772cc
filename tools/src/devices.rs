//! What promote-opt makes for devices, of which targets it is made, and what it may use.

use clap::ValueEnum;
use promote::CompileError;
use promote::device::{DeviceCode, DeviceTarget, TensorCores, UnknownDevice};
use promote::diagnostic::{Code, Diagnostic};

use crate::cli::{Args, Emit};

/// What NVIDIA's devices may compute with.
#[derive(Clone, Debug, clap::Args)]
pub struct Accelerator {
    /// What tensor cores multiply on NVIDIA's devices [default: exact]
    #[arg(long, value_name = "WHAT")]
    tensor_cores: Option<Multiplied>,
}

/// What tensor cores multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Multiplied {
    /// Nothing
    None,
    /// Integers of 8 bits, whose sums are exact
    Exact,
    /// Also floats of 16 bits and fewer, added up in f32: not the bits of a processor
    All,
}

impl Accelerator {
    /// What tensor cores are used for.
    pub const fn tensor_cores(&self) -> TensorCores {
        match self.tensor_cores {
            Some(Multiplied::None) => TensorCores::Unused,
            None | Some(Multiplied::Exact) => TensorCores::Exact,
            Some(Multiplied::All) => TensorCores::All,
        }
    }

    /// Refuses what other targets do not have.
    pub fn check(&self, target: Option<DeviceTarget>) -> Result<(), Diagnostic> {
        self.check_or(target, "add --target=cuda, or leave it out")
    }

    /// The same, with what to do instead.
    fn check_or(&self, target: Option<DeviceTarget>, remedy: &str) -> Result<(), Diagnostic> {
        match target {
            Some(DeviceTarget::Cuda(_)) => Ok(()),
            None | Some(DeviceTarget::Vulkan | DeviceTarget::OpenCl) if self.tensor_cores.is_none() => Ok(()),
            None | Some(DeviceTarget::Vulkan | DeviceTarget::OpenCl) => {
                let message = "--tensor-cores is for NVIDIA's devices".to_owned();
                Err(Diagnostic::error(Code::Native, None, message).with_remedy(remedy.to_owned()))
            }
        }
    }
}

/// The device that code is made for: if none was asked for, one that runs code of that kind.
pub fn device_of(args: &Args) -> DeviceTarget {
    let default = if args.emit() == Emit::Ptx { DeviceTarget::Cuda(None) } else { DeviceTarget::Vulkan };
    args.promotion.device().unwrap_or(default)
}

/// What is made of a program for a device.
pub fn kernels(code: &DeviceCode, kind: Emit) -> Result<Vec<u8>, CompileError> {
    Ok(match kind {
        Emit::Ptx => code.ptx()?.into_bytes(),
        Emit::Spirv => code.spirv().bytes(),
        Emit::SpirvAsm => code.spirv().text().into_bytes(),
        Emit::Sidecar => code.sidecar().into_bytes(),
        Emit::Mlir
        | Emit::Bytecode
        | Emit::Dot
        | Emit::HandedOn(_)
        | Emit::Program
        | Emit::Llvm
        | Emit::LlvmIr
        | Emit::Asm
        | Emit::Obj
        | Emit::So
        | Emit::Header
        | Emit::Runtime => Vec::new(),
    })
}

/// Refuses code that the target does not run.
pub fn check_device(args: &Args) -> Result<(), Diagnostic> {
    let (emit, promotion) = (args.emit(), &args.promotion);
    if let Some(unknown) = promotion.unknown_device() {
        let error = Diagnostic::error(Code::Native, None, unknown.to_string());
        return Err(match unknown {
            UnknownDevice::Name(_) => error.with_remedy("name one of these"),
            UnknownDevice::Architecture(_) => {
                error.with_remedy("name an architecture as cuda:sm_80, cuda:sm_90 or cuda:sm_100")
            }
        });
    }
    let name = emit.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let wrong = |target: &str, remedy: &str| {
        let message = format!("--emit={name} is not made for {target}");
        Err(Diagnostic::error(Code::Native, None, message).with_remedy(remedy.to_owned()))
    };
    let processor = &promotion.processor;
    if let Some(target) = promotion.device()
        && (processor.target_cpu.is_some() || !processor.target_features.is_empty())
    {
        let message = format!("{target} is a device, and --target-cpu and --target-features name processors");
        return Err(Diagnostic::error(Code::Native, None, message).with_remedy("leave them out"));
    }
    if emit.is_for_devices() || emit == Emit::Program {
        promotion.accelerator.check(Some(device_of(args)))?;
    } else {
        promotion.accelerator.check_or(None, "emit ptx, sidecar or program, or leave it out")?;
    }
    match (promotion.device(), emit) {
        (Some(target @ DeviceTarget::Cuda(_)), Emit::Spirv | Emit::SpirvAsm) => {
            wrong(&target.to_string(), "use --target=vulkan or --target=opencl, or emit ptx")
        }
        (Some(target @ (DeviceTarget::Vulkan | DeviceTarget::OpenCl)), Emit::Ptx) => {
            wrong(&target.to_string(), "use --target=cuda, or emit spirv")
        }
        (Some(target), _) if emit.is_lowered() || emit == Emit::Header => wrong(
            &target.to_string(),
            "emit ptx, spirv, spirv-asm, sidecar or program, or leave out --target",
        ),
        (None, _) if emit.is_for_devices() && !promotion.has_default_target() => {
            let targets = if emit == Emit::Ptx { "cuda" } else { "vulkan or --target=opencl" };
            wrong("processors", &format!("use --target={targets}"))
        }
        _ => Ok(()),
    }
}
