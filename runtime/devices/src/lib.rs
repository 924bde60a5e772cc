//! Accelerators behind one trait, [`Device`]: memory, code and launches, by CUDA, Vulkan and OpenCL.
//!
//! [`open`] opens the first device of an interface, or the one that the environment variable `PROMOTE_DEVICE` names: by its index in
//! [`list`], or by a part of its name (in any case). Drivers are loaded when they are asked for: a program that uses this
//! crate starts on machines without any. This crate knows nothing of programs, dtypes or compilers.
//!
//! Drivers implement a narrower trait below checks that all of them share: stale handles, ranges, limits, a
//! pool of freed memory, a device that was lost. Adding one is a folder and a line in [`Api`].
//!
//! # Arguments
//! How kernels get what [`Launch::arguments`] says:
//!
//! | interface | code | memory | word |
//! |---|---|---|---|
//! | CUDA | PTX | a 64-bit parameter: the device pointer | a 64-bit parameter |
//! | OpenCL | SPIR-V, `Kernel` | a pointer to `CrossWorkgroup` memory | a `ulong` |
//! | Vulkan | SPIR-V, `GLCompute` | an address in the argument block | a word in the argument block |
//!
//! A Vulkan kernel has one push constant, 8 bytes at offset 0: the device address (`PhysicalStorageBuffer`) of its argument block,
//! one 64-bit word an argument. It has no descriptor sets.
//!
//! # Laws
//! - No call is undefined behaviour for valid code, whatever the handles, ranges and sizes. What valid code does with the
//!   addresses that it was given is its maker's.
//! - Everything happens in the order of calls.
//! - After an error other than [`DeviceError::Lost`], a device is as it was before.
//! - At most a quarter of a device's memory, in at most 256 buffers, is kept after it was freed; all of it is given back
//!   before an allocation fails.

mod checked;
mod cuda;
mod device;
mod error;
mod opencl;
mod pool;
mod select;
mod slots;
mod spirv;
mod vulkan;

pub use device::{Argument, Code, Description, Device, FloatControls, Launch, Limits, Memory, ModuleId};
pub use error::DeviceError;

use std::fmt;
use std::str::FromStr;

use select::Wanted;

/// An interface that devices are driven by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// NVIDIA's driver interface.
    Cuda,
    /// Vulkan compute, 1.2 or newer.
    Vulkan,
    /// OpenCL.
    OpenCl,
}

impl Api {
    /// Every interface.
    pub const ALL: [Api; 3] = [Api::Cuda, Api::Vulkan, Api::OpenCl];

    /// Its name in options: `cuda`, `vulkan`, `opencl`.
    pub fn name(self) -> &'static str {
        match self {
            Api::Cuda => "cuda",
            Api::Vulkan => "vulkan",
            Api::OpenCl => "opencl",
        }
    }
}

/// As people write it: `CUDA`, `Vulkan`, `OpenCL`.
impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Api::Cuda => "CUDA",
            Api::Vulkan => "Vulkan",
            Api::OpenCl => "OpenCL",
        })
    }
}

/// A name that no interface has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no interface to devices; there are cuda, vulkan and opencl")]
pub struct UnknownApi(String);

/// By its [`name`](Api::name), in any case.
impl FromStr for Api {
    type Err = UnknownApi;

    fn from_str(text: &str) -> Result<Self, UnknownApi> {
        Self::ALL
            .into_iter()
            .find(|api| api.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownApi(text.to_owned()))
    }
}

/// Opens the first device of an interface, or the one that the environment variable `PROMOTE_DEVICE` names.
///
/// # Errors
/// [`DeviceError::NoDriver`] and [`DeviceError::NoDevice`] where there is none, [`DeviceError::Unsupported`] if it lacks
/// what kernels need.
pub fn open(api: Api) -> Result<Box<dyn Device>, DeviceError> {
    let wanted = select::of_user();
    open_wanted(api, wanted.as_deref().map_or(Wanted::First, Wanted::ByUser))
}

/// Opens a device of an interface by its index in [`list`](list()), or by a part of its name in any case.
///
/// # Errors
/// As [`open`], and [`DeviceError::NoDevice`] if no device is called so.
pub fn open_named(api: Api, name: &str) -> Result<Box<dyn Device>, DeviceError> {
    open_wanted(api, Wanted::ByCaller(name))
}

fn open_wanted(api: Api, wanted: Wanted<'_>) -> Result<Box<dyn Device>, DeviceError> {
    match api {
        Api::Cuda => cuda::open(wanted),
        Api::Vulkan => vulkan::open(wanted),
        Api::OpenCl => opencl::open(wanted),
    }
}

/// Every device of an interface, in the order of their indices.
///
/// # Errors
/// [`DeviceError::NoDriver`] where there is no driver, [`DeviceError::NoDevice`] if the driver finds it cannot work here.
pub fn list(api: Api) -> Result<Vec<Description>, DeviceError> {
    match api {
        Api::Cuda => cuda::list(),
        Api::Vulkan => vulkan::list(),
        Api::OpenCl => opencl::list(),
    }
}
