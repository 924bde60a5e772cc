//! Calling compiled functions on DLPack tensors, by pointers.
//!
//! Every pointer may be null, which is refused; what a tensor says of itself is checked before anything behind it is read.
//! [`OwnedTensor::into_managed`] hands a result to those who take tensors from others.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::call::{Body, IN_CPU_MEMORY, Purpose, Results, check_count, error, invoke, subject};
use crate::error::RunError;
use crate::rust::{Callable, OwnedTensor};
use crate::tensor::{Subject, View};
use promote_abi::{DLDataType, DLDevice, DLTensor, Function, Status, TensorType};

/// DLPack's number of processors and their memory.
pub const CPU: DLDevice = DLDevice { device_type: 1, device_id: 0 };

/// The version of DLPack that a tensor is laid out by.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Tensors of another major version are laid out otherwise.
    pub major: u32,
    /// Counts what was added.
    pub minor: u32,
}

impl DLPackVersion {
    /// That of the tensors made here.
    pub const OWN: Self = Self { major: 1, minor: 0 };

    /// What there is to say of a tensor of this version, if it is laid out otherwise.
    pub fn refused(self) -> String {
        format!(
            "the tensor is of version {}.{} of DLPack, and {} is known",
            self.major,
            self.minor,
            Self::OWN.major
        )
    }
}

/// A DLPack tensor with an owner.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// How the rest is laid out, if the major version is known.
    pub version: DLPackVersion,
    /// Who made it knows what that is.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor and all it points to; none if there is nothing to free.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// What may be done with it: 1 for memory that may only be read.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

impl DLManagedTensorVersioned {
    /// The tensor of one with an owner, if it is laid out as is known here; else the version that it is of.
    ///
    /// # Errors
    /// The version, if its major part is another one.
    ///
    /// # Safety
    /// The pointer is that of a managed tensor of any version of DLPack that has versions.
    pub unsafe fn tensor(managed: NonNull<Self>) -> Result<NonNull<DLTensor>, DLPackVersion> {
        // SAFETY: by contract; the version stands first in every version.
        let version = unsafe { managed.cast::<DLPackVersion>().read() };
        if version.major != DLPackVersion::OWN.major {
            return Err(version);
        }
        // SAFETY: it is laid out as it is here.
        Ok(unsafe { NonNull::new_unchecked(&raw mut (*managed.as_ptr()).dl_tensor) })
    }
}

/// A DLPack tensor with an owner, as it was before there were versions.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// Who made it knows what that is.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor and all it points to; none if there is nothing to free.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

impl DLManagedTensor {
    /// A tensor of one that has a version, for those who take none. Whoever takes it frees it by its `deleter`, and with it the
    /// other, which is nobody else's any more.
    ///
    /// # Safety
    /// The pointer is that of a managed tensor, which is laid out as is known here, and which the caller owns.
    pub unsafe fn of_versioned(managed: NonNull<DLManagedTensorVersioned>) -> NonNull<Self> {
        unsafe extern "C" fn free(tensor: *mut DLManagedTensor) {
            if tensor.is_null() {
                return;
            }
            // SAFETY: the box was leaked below, and whoever frees it does so once; as does the owner of what it was made of.
            unsafe {
                let managed = Box::from_raw(tensor).manager_ctx.cast::<DLManagedTensorVersioned>();
                if let Some(deleter) = (*managed).deleter {
                    deleter(managed);
                }
            }
        }
        // SAFETY: by contract.
        let tensor = unsafe { std::ptr::read(&raw const (*managed.as_ptr()).dl_tensor) };
        let unversioned =
            Self { dl_tensor: tensor, manager_ctx: managed.as_ptr().cast(), deleter: Some(free) };
        NonNull::from(Box::leak(Box::new(unversioned)))
    }
}

/// A tensor, and all that its DLPack tensor points to.
struct Managed {
    whole: DLManagedTensorVersioned,
    extents: Vec<i64>,
    strides: Vec<i64>,
    _owner: Box<dyn Send>,
}

/// A contiguous tensor as DLPack's, which whoever takes it frees by its `deleter`, on any thread; its owner is dropped then.
pub fn manage(
    owner: Box<dyn Send>,
    data: *mut c_void,
    device: DLDevice,
    dtype: DLDataType,
    extents: Vec<i64>,
) -> NonNull<DLManagedTensorVersioned> {
    let (ndim, none) = (extents.len() as i32, std::ptr::null_mut());
    let tensor = DLTensor { data, device, ndim, dtype, shape: none, strides: none, byte_offset: 0 };
    let mut managed = Box::new(Managed {
        strides: row_major(&extents),
        extents,
        whole: DLManagedTensorVersioned {
            version: DLPackVersion::OWN,
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(free),
            flags: 0,
            dl_tensor: tensor,
        },
        _owner: owner,
    });
    managed.whole.dl_tensor.shape = managed.extents.as_mut_ptr();
    managed.whole.dl_tensor.strides = managed.strides.as_mut_ptr();
    let managed = NonNull::from(Box::leak(managed));
    // SAFETY: the box was just leaked, and nobody else has it.
    unsafe {
        let whole = &raw mut (*managed.as_ptr()).whole;
        (*whole).manager_ctx = managed.as_ptr().cast();
        NonNull::new_unchecked(whole)
    }
}

impl OwnedTensor {
    /// The tensor as DLPack's, which whoever takes it frees by its `deleter`, on any thread.
    pub fn into_managed(mut self) -> NonNull<DLManagedTensorVersioned> {
        // The memory stays where it is, wherever the tensor goes.
        let data = self.data_mut().as_mut_ptr().cast();
        let (dtype, extents) = (self.dtype(), self.shape().to_vec());
        manage(Box::new(self), data, CPU, dtype, extents)
    }
}

/// Strides in elements. Those of a tensor without elements are anything.
fn row_major(extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    for axis in (1..extents.len()).rev() {
        strides[axis - 1] = strides[axis] * extents[axis].max(1);
    }
    strides
}

/// Frees what [`manage`] made.
unsafe extern "C" fn free(tensor: *mut DLManagedTensorVersioned) {
    if tensor.is_null() {
        return;
    }
    // SAFETY: the context is the leaked box, as whoever frees it says once.
    drop(unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Managed>()) });
}

impl Callable<'_> {
    /// Runs the function; the results are written to `outputs`, which hold arbitrary elements after an error.
    ///
    /// # Errors
    /// If the tensors are not what the function takes and returns, or are not in CPU memory, or if it fails.
    ///
    /// # Safety
    /// Each pointer is null or points to a tensor, with as many extents (and strides, if any) as dimensions, and memory for
    /// the elements that it describes, which nobody else writes to meanwhile.
    pub unsafe fn call_on(
        &self,
        inputs: &[*const DLTensor],
        outputs: &[*mut DLTensor],
    ) -> Result<(), RunError> {
        // SAFETY: by contract.
        unsafe {
            let inputs = self.inputs_on(inputs)?;
            let outputs: Vec<*const DLTensor> = outputs.iter().map(|output| output.cast_const()).collect();
            let outputs = views(self.function, None, "output", &outputs, self.function.output_types())?;
            let outputs: Vec<_> = outputs.into_iter().map(Some).collect();
            invoke((self.function, self.body), Purpose::Results, &inputs, &outputs)?;
        }
        Ok(())
    }

    /// Runs the function; the results are in memory of their own.
    ///
    /// # Errors
    /// As [`Callable::call_on`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn results_of(&self, inputs: &[*const DLTensor]) -> Result<Vec<OwnedTensor>, RunError> {
        // SAFETY: by contract.
        let outputs = unsafe {
            let inputs = self.inputs_on(inputs)?;
            let none: Vec<Option<View<'_>>> = self.outputs().iter().map(|_| None).collect();
            invoke((self.function, self.body), Purpose::Results, &inputs, &none)?
        };
        self.owned(outputs)
    }

    /// Runs the body of the function, which keeps the results: they are no memory of this process.
    ///
    /// # Errors
    /// As [`Callable::call_on`].
    ///
    /// # Safety
    /// As there; of tensors where the body [reaches](Body::reaches) them, the memory is that of the device.
    pub unsafe fn keep_on(&self, inputs: &[*const DLTensor]) -> Result<(), RunError> {
        // SAFETY: by contract.
        unsafe {
            let inputs = self.inputs_on(inputs)?;
            let none: Vec<Option<View<'_>>> = self.outputs().iter().map(|_| None).collect();
            invoke((self.function, self.body), Purpose::Kept, &inputs, &none)?;
        }
        Ok(())
    }

    /// The inputs of a call, as far as they can be read.
    unsafe fn inputs_on<'v>(&self, inputs: &[*const DLTensor]) -> Result<Vec<View<'v>>, RunError> {
        // SAFETY: by the caller's contract.
        unsafe { views(self.function, self.body, "input", inputs, self.function.input_types()) }
    }

    /// Fills dtype, `ndim` and shape of each output for these inputs; before, `ndim` says how many extents `shape` has room
    /// for. Where they depend on values, the function is run.
    ///
    /// # Errors
    /// As [`Callable::call_on`], and if there is no room.
    ///
    /// # Safety
    /// As there; of outputs only the shapes are written.
    pub unsafe fn shapes_on(
        &self,
        inputs: &[*const DLTensor],
        outputs: &[*mut DLTensor],
    ) -> Result<(), RunError> {
        let function = self.function;
        // SAFETY: by contract.
        unsafe {
            let inputs = self.inputs_on(inputs)?;
            let tensors: Vec<*const DLTensor> = outputs.iter().map(|output| output.cast_const()).collect();
            check_pointers(function, "output", &tensors, function.output_types())?;
            let room = tensors.iter().zip(function.output_types()).enumerate();
            for (index, (tensor, expected)) in room {
                check_room(&subject(function, "output", index, expected), expected, &**tensor)?;
            }
            let none: Vec<Option<View<'_>>> = tensors.iter().map(|_| None).collect();
            let results = Results(invoke((function, self.body), Purpose::Shapes, &inputs, &none)?);
            for (&tensor, output) in outputs.iter().zip(&results.0) {
                let dims = output.dims.as_deref().unwrap_or(&[]);
                (*tensor).dtype = output.expected.dtype();
                (*tensor).ndim = dims.len() as i32;
                std::ptr::copy_nonoverlapping(dims.as_ptr(), (*tensor).shape, dims.len());
            }
        }
        Ok(())
    }
}

/// A function that a C caller names, and its tensors: as many as it takes and returns.
///
/// # Safety
/// The function is null, or the metadata of a compiled function; the arrays are null, or have that many pointers.
pub unsafe fn request<'a>(
    function: *const Function,
    inputs: *const *const DLTensor,
    outputs: *const *mut DLTensor,
) -> Result<(Callable<'a>, &'a [*const DLTensor], &'a [*mut DLTensor]), RunError> {
    // SAFETY: by contract.
    unsafe {
        let function =
            function.as_ref().ok_or_else(|| RunError::new(Status::Null, "the function is null"))?;
        let inputs = array(function, "input", inputs, function.input_types().len())?;
        let outputs = array(function, "output", outputs, function.output_types().len())?;
        Ok((Callable::new(function), inputs, outputs))
    }
}

unsafe fn array<'a, T>(
    function: &Function,
    role: &'static str,
    tensors: *const T,
    count: usize,
) -> Result<&'a [T], RunError> {
    if count == 0 {
        return Ok(&[]);
    }
    if tensors.is_null() {
        return Err(error(function, Status::Null, &format!("the array of {role}s is null")));
    }
    // SAFETY: by the caller's contract.
    Ok(unsafe { std::slice::from_raw_parts(tensors, count) })
}

/// Checks that an output has room for its extents.
fn check_room(subject: &Subject<'_>, expected: &TensorType, tensor: &DLTensor) -> Result<(), RunError> {
    if tensor.ndim < expected.rank {
        let (rank, room) = (expected.rank, tensor.ndim);
        return Err(
            subject.error(Status::Rank, format!("has {rank} dimensions, and there is room for {room}"))
        );
    }
    if tensor.shape.is_null() && expected.rank > 0 {
        return Err(subject.error(Status::Null, "has a null shape"));
    }
    Ok(())
}

/// Checks that there are as many tensors as there must be, and that none is null.
fn check_pointers(
    function: &Function,
    role: &'static str,
    tensors: &[*const DLTensor],
    expected: &[TensorType],
) -> Result<(), RunError> {
    check_count(function, role, tensors.len(), expected.len())?;
    match tensors.iter().position(|tensor| tensor.is_null()) {
        Some(index) => Err(subject(function, role, index, &expected[index]).error(Status::Null, "is null")),
        None => Ok(()),
    }
}

unsafe fn views<'a>(
    function: &Function,
    body: Option<&dyn Body>,
    role: &'static str,
    tensors: &[*const DLTensor],
    expected: &[TensorType],
) -> Result<Vec<View<'a>>, RunError> {
    check_pointers(function, role, tensors, expected)?;
    (tensors.iter().zip(expected).enumerate())
        // SAFETY: none is null, and by the caller's contract they are tensors.
        .map(|(index, (&tensor, expected))| unsafe {
            view(&subject(function, role, index, expected), body, expected, &*tensor)
        })
        .collect()
}

/// A C caller's tensor, as far as it can be read.
unsafe fn view<'a>(
    subject: &Subject<'_>,
    body: Option<&dyn Body>,
    expected: &TensorType,
    tensor: &DLTensor,
) -> Result<View<'a>, RunError> {
    let place = device_name(tensor.device);
    if let Some(place) = &place {
        let reaches = body.map_or(Err(IN_CPU_MEMORY.to_owned()), |body| body.reaches(tensor.device));
        reaches.map_err(|places| {
            subject.error(Status::Device, format!("must be {places}, but is on {place}"))
        })?;
    }
    subject.check_rank(expected, tensor.dtype, tensor.ndim)?;
    if tensor.ndim > 0 && tensor.shape.is_null() {
        return Err(subject.error(Status::Null, "has a null shape"));
    }
    // Null stays null, whatever the offset.
    let offset = if tensor.data.is_null() { 0 } else { tensor.byte_offset as usize };
    // SAFETY: by the caller's contract there are as many extents and strides as dimensions.
    let list = |list: *mut i64| unsafe { promote_abi::extents(list, tensor.ndim) };
    Ok(View {
        data: tensor.data.cast::<u8>().wrapping_add(offset),
        dtype: tensor.dtype,
        shape: list(tensor.shape),
        strides: (!tensor.strides.is_null()).then(|| list(tensor.strides)),
        is_on_device: place.is_some(),
    })
}

/// DLPack's number of CUDA's devices.
pub const CUDA: i32 = 2;
/// Of OpenCL's.
pub const OPENCL: i32 = 4;
/// Of Vulkan's.
pub const VULKAN: i32 = 7;
/// Of memory that CUDA moves to whichever device or processor uses it.
pub const CUDA_MANAGED: i32 = 13;

/// What messages call a device whose memory this processor cannot read; none for memory that it reads.
pub fn device_name(device: DLDevice) -> Option<String> {
    let kind = match device.device_type {
        // CPU; page-locked memory of CUDA and ROCm.
        1 | 3 | 11 => return None,
        CUDA => "CUDA",
        OPENCL => "OpenCL",
        VULKAN => "Vulkan",
        CUDA_MANAGED => "CUDA (managed memory)",
        8 => "Metal",
        10 => "ROCm",
        14 => "oneAPI",
        15 => "WebGPU",
        other => return Some(format!("a device of DLPack's type {other}")),
    };
    Some(format!("{kind} device {}", device.device_id))
}
