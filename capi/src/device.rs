//! Devices: opened, compiled for, and called with tensors that lie there.

use std::ffi::{CString, c_char};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use promote::device::{self, DeviceTarget, DeviceTensor, SharedDevice};
use promote::dlpack::{DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use promote::{CompileOptions, Status, Tensor};

use crate::argument;
use crate::call::{known, places_for};
use crate::diagnostics::List;
use crate::executable::{Executable, Function, compiled};
use crate::failure::{Failure, c_text, guarded};
use crate::module::Module;

/// What there is to know of a device.
#[repr(C)]
pub struct Info {
    target: *const c_char,
    name: *const c_char,
    driver: *const c_char,
    dlpack: DLDevice,
    memory: u64,
    stream: u64,
}

/// An open device, as C holds it.
pub struct Device {
    device: SharedDevice,
    target: DeviceTarget,
    info: Info,
    _texts: [CString; 3],
}

// SAFETY: what is pointed to belongs to the device, and is never changed.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    fn new(device: SharedDevice, target: DeviceTarget) -> Self {
        let (description, stream) = {
            let open = device.lock().unwrap_or_else(PoisonError::into_inner);
            (open.description().clone(), open.stream())
        };
        let texts = [target.to_string(), description.name, description.driver].map(|text| c_text(&text));
        let [of_target, name, driver] = texts.each_ref().map(|text| text.as_ptr());
        let info = Info {
            target: of_target,
            name,
            driver,
            dlpack: device::dlpack_device(&device),
            memory: description.limits.memory_bytes,
            stream: stream.unwrap_or(0),
        };
        Self { device, target, info, _texts: texts }
    }
}

/// A device that may be open still, by what DLPack calls it.
type Perhaps = ((i32, i32), Weak<Mutex<Box<dyn device::Device>>>);

/// What is open. Who opens a device that is open gets that one: its tensors are in one order of work.
static OPEN: Mutex<Vec<Perhaps>> = Mutex::new(Vec::new());

/// The same device, if it is open already.
fn shared(opened: SharedDevice) -> SharedDevice {
    let DLDevice { device_type, device_id } = device::dlpack_device(&opened);
    let key = (device_type, device_id);
    // Nobody waits here for a device that is at work.
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|(_, device)| device.strong_count() > 0);
    let known = open.iter().find(|(own, _)| *own == key).and_then(|(_, device)| device.upgrade());
    known.unwrap_or_else(|| {
        open.push((key, Arc::downgrade(&opened)));
        opened
    })
}

/// Opens a device.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_device_open(
    target: *const c_char,
    name: *const c_char,
    device: *mut *mut Device,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        let (result, target, name) = unsafe {
            let result = argument::result("device", device, std::ptr::null_mut())?;
            (result, argument::text("target", target)?, argument::optional_text("name", name)?)
        };
        let target: DeviceTarget = target.parse().map_err(|error| Failure::argument(format!("{error}")))?;
        let opened = match name {
            Some(name) => device::open_named(target, name),
            None => device::open(target),
        };
        let opened = opened.map_err(|error| Failure::status(Status::Device, error.to_string()))?;
        *result = argument::handle(Device::new(shared(opened), target));
        Ok(())
    })
}

/// Frees a device. What was made on it keeps it open. Null does nothing.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_device_free(device: *mut Device) {
    // SAFETY: by contract.
    unsafe { argument::free(device) }
}

/// What there is to know of a device; null for null.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_device_describe(device: *const Device) -> *const Info {
    // SAFETY: by contract.
    unsafe { device.as_ref() }.map_or(std::ptr::null(), |device| &raw const device.info)
}

/// Waits for everything that the device was asked to do.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_device_synchronize(device: *const Device) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        let device = unsafe { argument::required("device", device) }?;
        let mut open = device.device.lock().unwrap_or_else(PoisonError::into_inner);
        open.synchronize().map_err(|error| Failure::status(Status::Device, error.to_string()))
    })
}

/// Promotes and compiles a module for a device, and loads it there; the module stays as it is.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_compile_for(
    module: *const Module,
    device: *const Device,
    executable: *mut *mut Executable,
    diagnostics: *mut *mut List,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        unsafe {
            compiled(module, executable, diagnostics, || {
                let device = argument::required("device", device)?;
                Ok(move |session: &promote::Session, mut module: promote::Module<'_>| {
                    let options = CompileOptions::default();
                    let code = device::compile_for(session, &mut module, &options, device.target)?;
                    code.load(&device.device)
                })
            })
        }
    })
}

/// A tensor on a device for C.
fn handed_out(tensor: DeviceTensor) -> *mut DLManagedTensorVersioned {
    device::into_managed(tensor).as_ptr()
}

/// Runs a function; the results stay on its device.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_call_on_device(
    function: *const Function,
    inputs: *const *const DLTensor,
    input_count: usize,
    outputs: *mut *mut DLManagedTensorVersioned,
    output_count: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract; what outputs are before is never read.
        let results = unsafe {
            let (function, outputs) = places_for(function, outputs, output_count)?;
            let inputs = argument::elements("the array of inputs", inputs, input_count)?;
            let results = function.results_on_device(inputs).ok_or_else(|| {
                let name = function.name();
                Failure::argument(format!("@{name} was compiled for a processor: promote_call calls it"))
            })??;
            outputs.iter_mut().zip(results)
        };
        results.for_each(|(place, result)| *place = handed_out(result));
        Ok(())
    })
}

/// Does something with a tensor, of which a new one comes.
///
/// # Safety
/// The pointers are as the header says.
unsafe fn copied(
    device: *const Device,
    tensor: *const DLTensor,
    copy: *mut *mut DLManagedTensorVersioned,
    make: impl FnOnce(&SharedDevice, &DLTensor) -> Result<*mut DLManagedTensorVersioned, Failure>,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        let (result, device, tensor) = unsafe {
            let result = argument::result("copy", copy, std::ptr::null_mut())?;
            (result, argument::required("device", device)?, argument::required("tensor", tensor)?)
        };
        *result = make(&device.device, tensor)?;
        Ok(())
    })
}

/// Copies a tensor from memory of the process to a device.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_copy_to_device(
    device: *const Device,
    tensor: *const DLTensor,
    copy: *mut *mut DLManagedTensorVersioned,
) -> i32 {
    let make = |device: &SharedDevice, tensor: &DLTensor| {
        // SAFETY: by contract.
        Ok(handed_out(unsafe { device::from_host(device, tensor) }?))
    };
    // SAFETY: by contract.
    unsafe { copied(device, tensor, copy, make) }
}

/// Copies a tensor from a device to memory of the process.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_copy_to_host(
    device: *const Device,
    tensor: *const DLTensor,
    copy: *mut *mut DLManagedTensorVersioned,
) -> i32 {
    let make = |device: &SharedDevice, tensor: &DLTensor| {
        // SAFETY: by contract; it is read before the caller has it back.
        let tensor = unsafe { device::borrowed(device, tensor) }?;
        let mut host = Tensor::zeros(tensor.dtype(), tensor.dims())
            .map_err(|error| Failure::memory(error.to_string()))?;
        let bytes = host.bytes_mut().ok_or_else(|| Failure::internal("a tensor of zeros is borrowed"))?;
        tensor.read(bytes).map_err(|error| Failure::status(Status::Device, error.to_string()))?;
        let managed = host.into_managed().map_err(|_| Failure::internal("a tensor of zeros is borrowed"))?;
        Ok(managed.as_ptr())
    };
    // SAFETY: by contract.
    unsafe { copied(device, tensor, copy, make) }
}

/// A managed tensor in the layout from before there were versions, which owns it from then on.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_managed_tensor_unversioned(
    managed: *mut DLManagedTensorVersioned,
    unversioned: *mut *mut DLManagedTensor,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        unsafe {
            let result = argument::result("unversioned", unversioned, std::ptr::null_mut())?;
            let managed = NonNull::new(managed).ok_or_else(|| Failure::null("managed"))?;
            known(managed)?;
            *result = DLManagedTensor::of_versioned(managed).as_ptr();
        }
        Ok(())
    })
}
