//! Calling compiled functions on DLPack tensors.

use std::ptr::NonNull;

use promote::dlpack::{DLManagedTensorVersioned, DLTensor};

use crate::argument;
use crate::executable::Function;
use crate::failure::{Failure, Refused, guarded};

/// A function, and where its results go: as many places as it returns tensors.
///
/// # Safety
/// The pointers are as the header says; what outputs are before is never read.
pub unsafe fn places_for<'a>(
    function: *const Function,
    outputs: *mut *mut DLManagedTensorVersioned,
    output_count: usize,
) -> Result<(&'a promote::Function, &'a mut [*mut DLManagedTensorVersioned]), Failure> {
    // SAFETY: by contract.
    let (function, outputs) = unsafe {
        let outputs = argument::places("the array of outputs", outputs, output_count)?;
        (&argument::required("function", function)?.function, outputs)
    };
    let (returned, room) = (function.outputs().len(), outputs.len());
    if returned != room {
        let message =
            format!("@{} returns {returned} tensors, and there is room for {room}", function.name());
        return Err(Failure::argument(message));
    }
    Ok((function, outputs))
}

/// Runs a function; the results are in memory of their own.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_call(
    function: *const Function,
    inputs: *const *const DLTensor,
    input_count: usize,
    outputs: *mut *mut DLManagedTensorVersioned,
    output_count: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        let (results, outputs) = unsafe {
            let (function, outputs) = places_for(function, outputs, output_count)?;
            let inputs = argument::elements("the array of inputs", inputs, input_count)?;
            (function.results_of(inputs)?, outputs)
        };
        for (place, result) in outputs.iter_mut().zip(results) {
            let managed = result.into_managed();
            *place = managed.map_err(|_| Failure::internal("a result is borrowed"))?.as_ptr();
        }
        Ok(())
    })
}

/// What a function does with its inputs and with outputs of the caller.
type OnTensors =
    unsafe fn(&promote::Function, &[*const DLTensor], &[*mut DLTensor]) -> Result<(), promote::RunError>;

/// Does something with a function, inputs and outputs, of which none may be null.
///
/// # Safety
/// The arguments are as the header says.
unsafe fn on_tensors(
    act: OnTensors,
    function: *const Function,
    inputs: *const *const DLTensor,
    input_count: usize,
    outputs: *const *mut DLTensor,
    output_count: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        unsafe {
            let function = &argument::required("function", function)?.function;
            let inputs = argument::elements("the array of inputs", inputs, input_count)?;
            let outputs = argument::elements("the array of outputs", outputs, output_count)?;
            Ok(act(function, inputs, outputs)?)
        }
    })
}

/// Runs a function; the results are written to memory of the caller.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_call_into(
    function: *const Function,
    inputs: *const *const DLTensor,
    input_count: usize,
    outputs: *const *mut DLTensor,
    output_count: usize,
) -> i32 {
    // SAFETY: by contract.
    unsafe { on_tensors(promote::Function::call_on, function, inputs, input_count, outputs, output_count) }
}

/// Fills the shapes of the results for inputs.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_call_shapes(
    function: *const Function,
    inputs: *const *const DLTensor,
    input_count: usize,
    outputs: *const *mut DLTensor,
    output_count: usize,
) -> i32 {
    // SAFETY: by contract.
    unsafe { on_tensors(promote::Function::shapes_on, function, inputs, input_count, outputs, output_count) }
}

/// The tensor of a managed one, if it is laid out as is known here.
///
/// # Safety
/// The pointer is that of a managed tensor of any version.
pub unsafe fn known(managed: NonNull<DLManagedTensorVersioned>) -> Result<NonNull<DLTensor>, Failure> {
    // SAFETY: by contract.
    unsafe { DLManagedTensorVersioned::tensor(managed) }
        .map_err(|version| Failure::new(Refused::Abi, version.refused()))
}

/// The tensor of a managed one, if it is laid out as is known here.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_managed_tensor(
    managed: *const DLManagedTensorVersioned,
    tensor: *mut *const DLTensor,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        unsafe {
            let result = argument::result("tensor", tensor, std::ptr::null())?;
            let managed = NonNull::new(managed.cast_mut()).ok_or_else(|| Failure::null("managed"))?;
            *result = known(managed)?.as_ptr();
        }
        Ok(())
    })
}

/// Frees a managed tensor by its own deleter. Null does nothing.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_managed_tensor_free(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: by contract.
    unsafe {
        if let Some(deleter) = managed.as_ref().and_then(|managed| managed.deleter) {
            deleter(managed);
        }
    }
}

/// Spreads the loops of compiled functions over that many threads; 0 or less: as many as there are processors.
#[unsafe(no_mangle)]
pub extern "C" fn promote_set_threads(number: i32) {
    promote::set_threads(usize::try_from(number).unwrap_or(0));
}

/// How many threads loops are spread over.
#[unsafe(no_mangle)]
pub extern "C" fn promote_threads() -> i32 {
    i32::try_from(promote::threads()).unwrap_or(i32::MAX)
}
