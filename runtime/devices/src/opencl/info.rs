//! What OpenCL devices are and have.

use std::ffi::c_void;
use std::ptr;

use super::ffi::{self, Handle, Info, OpenCl};
use super::{Found, Input};
use crate::device::{Description, FloatControls, Limits};
use crate::{Api, DeviceError};

/// Every platform; none is no error.
pub(super) fn platforms(cl: &OpenCl) -> Result<Vec<Handle>, DeviceError> {
    // SAFETY: the array has as many places as is said, and is null if that is none.
    handles("clGetPlatformIDs", |count, array, there| unsafe { (cl.get_platform_ids)(count, array, there) })
}

/// Every device of a platform, and where it stands in the order of preference.
pub(super) fn devices(cl: &OpenCl, platform: Handle) -> Result<Vec<(u8, Found)>, DeviceError> {
    let all = ffi::DEVICE_TYPE_ALL;
    // SAFETY: the platform is one that the driver has; the array is as above.
    let devices = handles("clGetDeviceIDs", |count, array, there| unsafe {
        (cl.get_device_ids)(platform, all, count, array, there)
    })?;
    let platform = Asked { get: cl.get_platform_info, of: platform }.text(ffi::PLATFORM_VERSION);
    Ok(devices.into_iter().map(|handle| describe(cl, &platform, handle)).collect())
}

/// Asks for handles twice: how many there are, and which.
fn handles(
    call: &'static str,
    get: impl Fn(u32, *mut Handle, *mut u32) -> ffi::Code,
) -> Result<Vec<Handle>, DeviceError> {
    let failed = |code| DeviceError::NoDevice {
        api: Api::OpenCl,
        why: format!("{call} returned {}", ffi::name(code)),
    };
    let mut count = 0;
    match get(0, ptr::null_mut(), &raw mut count) {
        ffi::SUCCESS => {}
        ffi::DEVICE_NOT_FOUND | ffi::PLATFORM_NOT_FOUND_KHR => return Ok(Vec::new()),
        code => return Err(failed(code)),
    }
    let mut handles = vec![ptr::null_mut(); count as usize];
    match get(count, handles.as_mut_ptr(), ptr::null_mut()) {
        ffi::SUCCESS => Ok(handles),
        code => Err(failed(code)),
    }
}

/// An object that is asked.
struct Asked {
    get: Info,
    of: Handle,
}

impl Asked {
    /// A value as bytes; empty if the driver does not know it.
    fn bytes(&self, what: u32) -> Vec<u8> {
        let mut size = 0;
        // SAFETY: the object is alive; the driver writes the size, and as many bytes as there is place for.
        unsafe {
            if (self.get)(self.of, what, 0, ptr::null_mut(), &raw mut size) != ffi::SUCCESS {
                return Vec::new();
            }
            let mut bytes = vec![0u8; size];
            let to = bytes.as_mut_ptr().cast::<c_void>();
            if (self.get)(self.of, what, size, to, ptr::null_mut()) != ffi::SUCCESS {
                return Vec::new();
            }
            bytes
        }
    }

    fn text(&self, what: u32) -> String {
        let bytes = self.bytes(what);
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().to_owned()
    }

    /// A number of any size; 0 if the driver does not know it.
    fn number(&self, what: u32) -> u64 {
        word(&self.bytes(what))
    }

    /// Numbers of the size of `size_t`.
    fn sizes(&self, what: u32) -> Vec<u64> {
        self.bytes(what).chunks_exact(size_of::<usize>()).map(word).collect()
    }
}

/// A number of up to 8 bytes.
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let size = bytes.len().min(8);
    word[..size].copy_from_slice(&bytes[..size]);
    u64::from_le_bytes(word)
}

fn describe(cl: &OpenCl, platform: &str, handle: Handle) -> (u8, Found) {
    let device = Asked { get: cl.get_device_info, of: handle };
    let description = Description {
        api: Api::OpenCl,
        index: 0,
        name: device.text(ffi::DEVICE_NAME),
        driver: format!("{platform} {}", device.text(ffi::DRIVER_VERSION)),
        limits: limits(&device),
    };
    let kind = device.number(ffi::DEVICE_TYPE);
    let preference = match kind {
        _ if kind & ffi::DEVICE_TYPE_GPU != 0 => 0,
        _ if kind & ffi::DEVICE_TYPE_CPU != 0 => 2,
        _ => 1,
    };
    let input = input(cl, &device, platform);
    (preference, Found { handle, description, input })
}

fn input(cl: &OpenCl, device: &Asked, platform: &str) -> Input {
    let takes_il = device.text(ffi::DEVICE_IL_VERSION).contains("SPIR-V");
    if takes_il && cl.create_program_with_il.is_some() {
        return Input::SpirV;
    }
    let takes_spir = device.text(ffi::DEVICE_EXTENSIONS).split(' ').any(|name| name == "cl_khr_spir");
    match llvm_version(platform) {
        Some(llvm) if takes_spir => Input::Bitcode { llvm },
        _ => Input::Nothing,
    }
}

/// The version of LLVM in a platform's version: `15` in `OpenCL 3.0 PoCL 3.1+debian  Linux, SPIR, LLVM 15.0.6, SLEEF`.
fn llvm_version(platform: &str) -> Option<String> {
    let (_, llvm) = platform.split_once("PoCL")?.1.split_once("LLVM ")?;
    let version: String = llvm.chars().take_while(char::is_ascii_digit).collect();
    (!version.is_empty()).then_some(version)
}

fn limits(device: &Asked) -> Limits {
    let small = |what| u32::try_from(device.number(what)).unwrap_or(u32::MAX);
    let in_x = device.sizes(ffi::DEVICE_MAX_WORK_ITEM_SIZES).first().copied().unwrap_or(1);
    let in_x = u32::try_from(in_x).unwrap_or(u32::MAX);
    let floats = [ffi::DEVICE_HALF_FP_CONFIG, ffi::DEVICE_SINGLE_FP_CONFIG, ffi::DEVICE_DOUBLE_FP_CONFIG]
        .map(|config| device.number(config));
    Limits {
        architecture: None,
        has_f64: floats[2] != 0,
        has_f16: floats[0] != 0,
        // OpenCL has integers of all sizes, wherever there are 64-bit addresses.
        has_i64: true,
        has_i16: true,
        has_i8: true,
        has_16bit_storage: true,
        has_8bit_storage: true,
        floats: [float_controls(floats[0]), float_controls(floats[1]), double_controls(floats[2])],
        subgroup_threads: 1,
        has_shuffles: false,
        shared_bytes: small(ffi::DEVICE_LOCAL_MEM_SIZE),
        group_threads: small(ffi::DEVICE_MAX_WORK_GROUP_SIZE).min(in_x),
        groups: if device.number(ffi::DEVICE_ADDRESS_BITS) == 64 { [u32::MAX; 3] } else { [0; 3] },
        multiprocessors: small(ffi::DEVICE_MAX_COMPUTE_UNITS).max(1),
        loop_iterations: None,
        memory_bytes: device.number(ffi::DEVICE_GLOBAL_MEM_SIZE),
        allocation_bytes: device.number(ffi::DEVICE_MAX_MEM_ALLOC_SIZE),
        unified_memory: device.number(ffi::DEVICE_HOST_UNIFIED_MEMORY) != 0,
    }
}

fn float_controls(config: u64) -> FloatControls {
    let has = |bit| config & bit != 0;
    FloatControls {
        denorm_preserve: has(ffi::FP_DENORM),
        signed_zero_inf_nan_preserve: has(ffi::FP_INF_NAN),
        rounding_mode_rte: has(ffi::FP_ROUND_TO_NEAREST),
        rounded_division: has(ffi::FP_CORRECTLY_ROUNDED_DIVIDE_SQRT),
        rounded_fma: has(ffi::FP_FMA),
    }
}

/// Division and square roots of 64-bit floats are rounded correctly wherever there are any.
fn double_controls(config: u64) -> FloatControls {
    FloatControls { rounded_division: config != 0, ..float_controls(config) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_names_its_llvm() {
        let debian = "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 15.0.6, SLEEF";
        assert_eq!(llvm_version(debian).as_deref(), Some("15"));
        assert_eq!(llvm_version("OpenCL 3.0 CUDA 12.4"), None);
        assert_eq!(llvm_version("OpenCL 2.0 LLVM 9.0"), None);
    }
}
