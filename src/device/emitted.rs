//! Code that was emitted before, loaded with its sidecar.

use std::sync::Arc;

use promote_devices::{Code, DeviceError};
use promote_execute::{Sidecar, SidecarError};

use super::{DeviceTarget, SharedDevice, UnknownDevice, locked, names};

/// Why code that was emitted cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum EmittedError {
    /// The sidecar cannot be used.
    #[error("the sidecar: {0}")]
    Sidecar(#[from] SidecarError),
    /// The sidecar names a target that there is not.
    #[error("the sidecar: {0}")]
    Target(#[from] UnknownDevice),
    /// The code is not for this device, or its driver refuses it.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Loads code that was emitted as [PTX](super::DeviceCode::ptx) or [SPIR-V](super::DeviceCode::spirv), with the text of its
/// [sidecar](super::DeviceCode::sidecar). Nothing is compiled: neither MLIR nor LLVM has a part in it.
///
/// # Safety
/// The code was emitted with the sidecar. Its kernels access memory as the program in the sidecar says; others would access
/// any memory of the device.
///
/// # Errors
/// If the sidecar is not one of this version, or the code is not for this device.
pub unsafe fn load_emitted(
    device: &SharedDevice,
    code: Code<'_>,
    sidecar: &str,
) -> Result<crate::Executable, EmittedError> {
    let sidecar = Sidecar::from_json(sidecar)?;
    let target: DeviceTarget = sidecar.target.parse()?;
    let (program, compiled) = sidecar.program()?;
    let (api, name) = {
        let open = locked(device);
        (open.description().api, open.description().name.clone())
    };
    if target.api() != api {
        let feature = format!("code for {target}: it is opened by {api}");
        return Err(DeviceError::Unsupported { device: name, feature }.into());
    }
    target.on(device)?;
    let interfaces = program.interfaces();
    let codes = [(names(&compiled), code)];
    let loaded = promote_execute::Executable::load(device.clone(), &codes, program, compiled)?;
    Ok(crate::Executable::on_device(Arc::new(loaded), &interfaces))
}
