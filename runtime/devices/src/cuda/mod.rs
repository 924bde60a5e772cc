//! Devices driven by CUDA's driver interface: the primary context, which other libraries of the process share, and one
//! stream of our own.
//!
//! The stream waits for the default stream and the other way round (it is created without `CU_STREAM_NON_BLOCKING`), so memory
//! that a library wrote in its default stream is ready when it is imported.

mod driver;
mod ffi;
mod ptx;

use std::ffi::CStr;

use crate::checked::Checked;
use crate::device::{Description, FloatControls, Limits};
use crate::select::{Wanted, select};
use crate::{Api, Device, DeviceError};
use driver::Cuda;
use ffi::Functions;

/// A device that was found, not opened.
struct Found {
    /// `CUdevice`.
    handle: i32,
    description: Description,
}

fn devices() -> Result<Vec<Found>, DeviceError> {
    let cuda = ffi::load()?;
    let none = |call: &str, code| DeviceError::NoDevice {
        api: Api::Cuda,
        why: format!("{call} returned {}", cuda.name(code)),
    };
    let mut count = 0;
    // SAFETY: the driver is initialised; the count is written where it is said to be.
    match unsafe { (cuda.device_get_count)(&raw mut count) } {
        ffi::SUCCESS => {}
        code => return Err(none("cuDeviceGetCount", code)),
    }
    let mut devices = Vec::new();
    for ordinal in 0..count {
        let mut handle = 0;
        // SAFETY: as above.
        match unsafe { (cuda.device_get)(&raw mut handle, ordinal) } {
            ffi::SUCCESS => {
                devices.push(Found { handle, description: describe(cuda, handle, devices.len()) })
            }
            code => return Err(none("cuDeviceGet", code)),
        }
    }
    Ok(devices)
}

pub(crate) fn list() -> Result<Vec<Description>, DeviceError> {
    Ok(devices()?.into_iter().map(|device| device.description).collect())
}

pub(crate) fn open(wanted: Wanted<'_>) -> Result<Box<dyn Device>, DeviceError> {
    let devices = devices()?;
    let chosen = select(Api::Cuda, devices.iter().map(|device| device.description.name.as_str()), wanted)?;
    let device = devices.into_iter().nth(chosen.unwrap_or(0)).ok_or_else(|| DeviceError::NoDevice {
        api: Api::Cuda,
        why: "the CUDA driver finds none (or CUDA_VISIBLE_DEVICES hides them all)".to_owned(),
    })?;
    Ok(Box::new(Checked::new(Cuda::new(ffi::load()?, device)?)))
}

fn describe(cuda: &Functions, device: i32, index: usize) -> Description {
    let mut name = [0; 256];
    let mut version = 0;
    let mut memory = 0usize;
    // SAFETY: the device is one that the driver has; the name has place for as many bytes as is said, and ends with a zero
    // byte whatever the driver does.
    let name = unsafe {
        (cuda.device_get_name)(name.as_mut_ptr(), 255, device);
        (cuda.driver_get_version)(&raw mut version);
        (cuda.device_total_mem)(&raw mut memory, device);
        CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
    };
    Description {
        api: Api::Cuda,
        index,
        name,
        driver: format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        limits: limits(cuda, device, memory as u64),
    }
}

fn limits(cuda: &Functions, device: i32, memory_bytes: u64) -> Limits {
    let get = |attribute| {
        let mut value = 0;
        // SAFETY: the device is one that the driver has; it writes the value, or nothing if it does not know the attribute.
        unsafe { (cuda.device_get_attribute)(&raw mut value, attribute, device) };
        u32::try_from(value).unwrap_or(0)
    };
    let every = FloatControls {
        denorm_preserve: true,
        signed_zero_inf_nan_preserve: true,
        rounding_mode_rte: true,
        rounded_division: true,
        rounded_fma: true,
    };
    Limits {
        architecture: Some(
            get(ffi::ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 + get(ffi::ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        ),
        has_f64: true,
        has_f16: true,
        has_i64: true,
        has_i16: true,
        has_i8: true,
        has_16bit_storage: true,
        has_8bit_storage: true,
        floats: [every; 3],
        subgroup_threads: get(ffi::ATTRIBUTE_WARP_SIZE).max(1),
        has_shuffles: true,
        shared_bytes: get(ffi::ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        group_threads: get(ffi::ATTRIBUTE_MAX_THREADS_PER_BLOCK).min(get(ffi::ATTRIBUTE_MAX_BLOCK_DIM_X)),
        groups: [
            get(ffi::ATTRIBUTE_MAX_GRID_DIM_X),
            get(ffi::ATTRIBUTE_MAX_GRID_DIM_Y),
            get(ffi::ATTRIBUTE_MAX_GRID_DIM_Z),
        ],
        multiprocessors: get(ffi::ATTRIBUTE_MULTIPROCESSOR_COUNT).max(1),
        loop_iterations: None,
        memory_bytes,
        allocation_bytes: memory_bytes,
        unified_memory: get(ffi::ATTRIBUTE_INTEGRATED) != 0,
    }
}
