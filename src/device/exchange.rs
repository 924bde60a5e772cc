//! Tensors of devices as DLPack's, exchanged with other libraries of the process.
//!
//! With CUDA, a tensor is its device pointer, whoever made it. Vulkan and OpenCL have nothing of the kind: DLPack agrees on no
//! meaning of a pointer of Vulkan's, and a `cl_mem` is good in one context only, which DLPack does not tell. There, what
//! [`into_managed`] makes is a handle, which other libraries may keep and hand back, and which is known again here.
//!
//! # Laws
//! - A tensor that is handed out keeps its memory, and the device, until its deleter runs.
//! - The deleter of a tensor that is taken runs once the device has done what it was asked to before the last use ended.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use promote_devices::{Api, DeviceError};
use promote_execute::Error;
use promote_lattice::DType;
use promote_runtime::{self as runtime, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor};

use super::function::{never, status};
use super::{DeviceTensor, SharedDevice, locked};
use crate::dlpack;
use crate::run::TensorType;
use crate::tensor::{RunError, Status};

/// What DLPack calls a device: the number of its kind, and its place among those of the interface.
pub fn dlpack_device(device: &SharedDevice) -> DLDevice {
    let open = locked(device);
    let description = open.description();
    let device_type = match description.api {
        Api::Cuda => runtime::CUDA,
        Api::Vulkan => runtime::VULKAN,
        Api::OpenCl => runtime::OPENCL,
    };
    DLDevice { device_type, device_id: i32::try_from(description.index).unwrap_or(i32::MAX) }
}

/// Whether a tensor of one device may be an argument on another; if not, where it must be.
pub(super) fn reaches(own: DLDevice, given: DLDevice) -> Result<(), String> {
    // Every device reads managed memory; that it is such, the driver knows.
    let is_managed = own.device_type == runtime::CUDA && given.device_type == runtime::CUDA_MANAGED;
    let is_own = (given.device_type, given.device_id) == (own.device_type, own.device_id);
    if is_own || is_managed {
        return Ok(());
    }
    let name = runtime::device_name(own).unwrap_or_default();
    Err(format!("in CPU memory or on {name}"))
}

/// The tensors of Vulkan's and OpenCL's devices that were handed out, by DLPack's number of the interface and their handle.
type HandedOut = BTreeMap<(i32, usize), Weak<DeviceTensor>>;

fn handed_out() -> MutexGuard<'static, HandedOut> {
    static ALL: Mutex<HandedOut> = Mutex::new(BTreeMap::new());
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What stands for a tensor of so many bytes where none has an address that others could use. Handles are farther apart than that, so
/// that no place within a tensor, which another library may point to, is another one. It is the address of nothing in the process.
fn new_handle(bytes: usize) -> usize {
    const APART: usize = 256;
    static NEXT: AtomicUsize = AtomicUsize::new(1 << (usize::BITS - 1));
    NEXT.fetch_add(bytes.next_multiple_of(APART) + APART, Ordering::Relaxed)
}

/// Keeps a tensor alive that was handed out.
struct Exported {
    key: Option<(i32, usize)>,
    _tensor: Arc<DeviceTensor>,
}

impl Drop for Exported {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            handed_out().remove(&key);
        }
    }
}

/// The tensor as DLPack's, which whoever takes it frees by its `deleter`, on any thread.
///
/// Its elements are there once the device has done what it was asked to so far. With CUDA, work in the default stream waits for
/// that; another stream has to wait for [`Device::stream`](promote_devices::Device::stream). Memory that was freed is used anew
/// after what the default stream was given before; what another stream does to it must be done when the deleter runs.
pub fn into_managed(tensor: DeviceTensor) -> NonNull<DLManagedTensorVersioned> {
    let (place, dtype, dims) = (dlpack_device(tensor.device()), tensor.dtype(), tensor.dims().to_vec());
    let is_cuda = place.device_type == runtime::CUDA;
    let data = match tensor.address().filter(|_| is_cuda) {
        Some(address) => address as usize,
        None => new_handle(tensor.byte_count()),
    };
    let tensor = Arc::new(tensor);
    let key = (!is_cuda).then_some((place.device_type, data));
    if let Some(key) = key {
        handed_out().insert(key, Arc::downgrade(&tensor));
    }
    let owner = Box::new(Exported { key, _tensor: tensor });
    runtime::manage(owner, std::ptr::without_provenance_mut(data), place, dlpack::of(dtype), dims)
}

/// The tensor of a device that DLPack's `data` points to.
///
/// # Safety
/// With CUDA, the pointer is that of as many elements, contiguous and row-major, which live as [`DeviceTensor::import`] says.
pub(super) unsafe fn at(
    device: &SharedDevice,
    (dtype, dims): (DType, &[i64]),
    data: *mut u8,
) -> Result<DeviceTensor, Error> {
    let (place, pointer) = (dlpack_device(device), data as u64);
    if place.device_type == runtime::CUDA {
        // SAFETY: by contract.
        return unsafe { DeviceTensor::import(device, dtype, dims, pointer) };
    }
    let known = handed_out().get(&(place.device_type, pointer as usize)).and_then(Weak::upgrade);
    let why = match known {
        None => {
            let name = locked(device).description().api;
            format!(
                "no tensor that was handed out starts there, and {name} shares no memory between libraries; pass a \
                 tensor as it was handed out, or one in CPU memory"
            )
        }
        Some(tensor) if !Arc::ptr_eq(tensor.device(), device) => {
            "it is a tensor of a device that was opened another time".to_owned()
        }
        Some(tensor) if tensor.dtype() != dtype || tensor.dims() != dims => {
            let was = TensorType::of_tensor(tensor.dtype(), tensor.dims());
            format!("{was} was handed out, and not {}", TensorType::of_tensor(dtype, dims))
        }
        Some(tensor) => return Ok(DeviceTensor::share(&tensor)),
    };
    let device = locked(device).description().name.clone();
    Err(DeviceError::Foreign { device, pointer, why }.into())
}

/// Takes a tensor to a device, in place of the body of a function that takes it.
struct Import<'d> {
    device: &'d SharedDevice,
    dtype: DType,
    /// Whether it may be on the device already.
    takes_own: bool,
    taken: Mutex<Option<DeviceTensor>>,
}

impl runtime::Body for Import<'_> {
    fn run(&self, call: &runtime::Call<'_>) -> bool {
        let dims = call.dims(0);
        let taken = match call.on_device(0) {
            // SAFETY: the caller of `import` says so of what it passes.
            Some(data) => unsafe { at(self.device, (self.dtype, dims), data) },
            None => DeviceTensor::from_bytes(self.device, self.dtype, dims, call.data(0)),
        };
        match taken {
            Ok(tensor) => {
                *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(tensor);
                true
            }
            Err(error) => {
                call.fail(status(&error), &format!("input 0: {error}"));
                false
            }
        }
    }

    fn reaches(&self, given: DLDevice) -> Result<(), String> {
        if self.takes_own {
            reaches(dlpack_device(self.device), given)
        } else {
            Err(runtime::IN_CPU_MEMORY.to_owned())
        }
    }
}

/// A tensor on a device, of one that lies there or in memory of this process, checked as the input of a function is.
unsafe fn import(
    name: &CStr,
    device: &SharedDevice,
    tensor: &DLTensor,
    takes_own: bool,
) -> Result<DeviceTensor, RunError> {
    let refuse = |status, what: &str| {
        let message = format!("{}: input 0 {what}", name.to_string_lossy());
        RunError { status, message }
    };
    let dtype = dlpack::dtype(tensor.dtype)
        .ok_or_else(|| refuse(Status::Dtype, &format!("is {}, which is no dtype", tensor.dtype)))?;
    let rank = usize::try_from(tensor.ndim).map_err(|_| refuse(Status::Rank, "has a negative rank"))?;
    let runtime::DLDataType { code, bits, lanes } = tensor.dtype;
    // Of any extents.
    let dims = vec![-1; rank];
    let r#type = runtime::TensorType {
        code,
        bits,
        lanes,
        rank: tensor.ndim,
        dims: dims.as_ptr(),
        name: std::ptr::null(),
    };
    let metadata = runtime::Function {
        name: name.as_ptr(),
        inputs: 1,
        outputs: 0,
        input_types: &raw const r#type,
        output_types: std::ptr::null(),
        entry: never,
        shape: None,
        entry_stack: std::ptr::null(),
        shape_stack: std::ptr::null(),
        in_any_order: 0,
        strided_count: 0,
        strided: std::ptr::null(),
    };
    let body = Import { device, dtype, takes_own, taken: Mutex::default() };
    // SAFETY: the metadata point to what is above; the tensor is as the caller says.
    unsafe { runtime::Callable::of_body(&metadata, &body).keep_on(&[tensor]) }?;
    let taken = body.taken.into_inner().unwrap_or_else(PoisonError::into_inner);
    taken.ok_or_else(|| refuse(Status::Internal, "was not taken"))
}

/// Copies a tensor from memory of this process to a device.
///
/// # Errors
/// If it is elsewhere, or of no dtype, or does not fit.
///
/// # Safety
/// It is a tensor, with as many extents (and strides, if any) as dimensions, and memory for the elements that it describes, which
/// nobody writes to meanwhile.
pub unsafe fn from_host(device: &SharedDevice, tensor: &DLTensor) -> Result<DeviceTensor, RunError> {
    // SAFETY: by contract.
    unsafe { import(c"from_host", device, tensor, false) }
}

/// A tensor of a device for as long as its owner lets it be: without a copy if it is there, and else by one.
///
/// # Errors
/// If it is on another device, not row-major there, or of no dtype.
///
/// # Safety
/// As [`from_host`]; of a tensor on the device the memory is there, and as [`DeviceTensor::import`] says.
pub unsafe fn borrowed(device: &SharedDevice, tensor: &DLTensor) -> Result<DeviceTensor, RunError> {
    // SAFETY: by contract.
    unsafe { import(c"from_dlpack", device, tensor, true) }
}

/// A DLPack tensor with an owner, of either layout.
struct Owner {
    managed: NonNull<c_void>,
    delete: unsafe fn(NonNull<c_void>),
}

// SAFETY: deleters may be called on any thread.
unsafe impl Send for Owner {}
// SAFETY: it is only used to be dropped.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: it is the tensor that the function is for, which is ours.
        unsafe { (self.delete)(self.managed) }
    }
}

/// Takes a tensor of another library: without a copy if it is on the device, and else by one. Its deleter runs when the last use has
/// ended: once the tensor that is returned was dropped, and the device has done what it was asked to before that.
///
/// With CUDA, what was done to the elements in the default stream is waited for. Another stream has to be waited for before by
/// [`Device::stream`](promote_devices::Device::stream), which producers take as `__dlpack__(stream=…)`.
///
/// # Errors
/// If it is of another major version of DLPack, on another device, not row-major there, or of no dtype. It is the caller's still.
///
/// # Safety
/// The pointer is that of a managed tensor, which the caller owns, and whose elements nobody changes while it is used here. It is as
/// [`from_host`] wants it.
pub unsafe fn from_managed(
    device: &SharedDevice,
    managed: NonNull<DLManagedTensorVersioned>,
) -> Result<DeviceTensor, RunError> {
    unsafe fn delete(managed: NonNull<c_void>) {
        let managed = managed.cast::<DLManagedTensorVersioned>();
        // SAFETY: the owner has checked which layout it has.
        unsafe {
            if let Some(deleter) = managed.as_ref().deleter {
                deleter(managed.as_ptr());
            }
        }
    }
    // SAFETY: by contract.
    let taken = unsafe {
        let tensor = DLManagedTensorVersioned::tensor(managed).map_err(dlpack::unknown_version)?;
        borrowed(device, tensor.as_ref())
    }?;
    Ok(taken.with_owner(Box::new(Owner { managed: managed.cast(), delete })))
}

/// The same for a tensor of the layout from before there were versions.
///
/// # Errors
/// As [`from_managed`].
///
/// # Safety
/// As there.
pub unsafe fn from_managed_unversioned(
    device: &SharedDevice,
    managed: NonNull<DLManagedTensor>,
) -> Result<DeviceTensor, RunError> {
    unsafe fn delete(managed: NonNull<c_void>) {
        let managed = managed.cast::<DLManagedTensor>();
        // SAFETY: the pointer is that of such a tensor.
        unsafe {
            if let Some(deleter) = managed.as_ref().deleter {
                deleter(managed.as_ptr());
            }
        }
    }
    // SAFETY: by contract.
    let taken = unsafe { borrowed(device, &managed.as_ref().dl_tensor) }?;
    Ok(taken.with_owner(Box::new(Owner { managed: managed.cast(), delete })))
}
