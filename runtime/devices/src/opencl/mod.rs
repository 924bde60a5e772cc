//! Devices driven by OpenCL: one context and one in-order queue for each.
//!
//! Programs are SPIR-V, handed over by `clCreateProgramWithIL`. A PoCL that takes none (as Debian's) gets
//! [LLVM bitcode](bitcode) made of it.

mod bitcode;
mod driver;
mod ffi;
mod info;

use std::sync::{Mutex, PoisonError};

use crate::checked::Checked;
use crate::select::{Wanted, select};
use crate::{Api, Description, Device, DeviceError};
use driver::Queue;
use ffi::Handle;

/// A device that was found, not opened.
struct Found {
    handle: Handle,
    description: Description,
    input: Input,
}

/// What code a device takes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    /// SPIR-V.
    SpirV,
    /// LLVM bitcode of a PoCL that was built with LLVM of this version.
    Bitcode {
        /// The number before the first dot.
        llvm: String,
    },
    /// None of these.
    Nothing,
}

/// Every device of every platform, graphics cards before processors.
fn devices() -> Result<Vec<Found>, DeviceError> {
    // PoCL makes its devices when it is first asked for them, and tells whoever asks meanwhile that there are none.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _asking = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let cl = ffi::load()?;
    let mut devices = Vec::new();
    for platform in info::platforms(cl)? {
        devices.extend(info::devices(cl, platform)?);
    }
    devices.sort_by_key(|(preference, _)| *preference);
    let mut devices: Vec<Found> = devices.into_iter().map(|(_, device)| device).collect();
    devices.iter_mut().enumerate().for_each(|(index, device)| device.description.index = index);
    Ok(devices)
}

pub(crate) fn list() -> Result<Vec<Description>, DeviceError> {
    Ok(devices()?.into_iter().map(|device| device.description).collect())
}

pub(crate) fn open(wanted: Wanted<'_>) -> Result<Box<dyn Device>, DeviceError> {
    let devices = devices()?;
    let chosen = select(Api::OpenCl, devices.iter().map(|device| device.description.name.as_str()), wanted)?;
    let device = devices.into_iter().nth(chosen.unwrap_or(0)).ok_or_else(|| DeviceError::NoDevice {
        api: Api::OpenCl,
        why: "there is an OpenCL loader, but no driver below it has a device; install the driver of yours"
            .to_owned(),
    })?;
    Ok(Box::new(Checked::new(Queue::new(ffi::load()?, device)?)))
}
