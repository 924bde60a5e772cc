//! Calling compiled functions on DLPack tensors.

use promote::dlpack::{DLManagedTensorVersioned, DLPackVersion, DLTensor};

use crate::argument;
use crate::executable::Function;
use crate::failure::{Failure, Refused, guarded};

/// The major version of DLPack whose tensors are known.
const DLPACK: u32 = DLPackVersion::OWN.major;

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
        // SAFETY: by contract; what outputs are before is never read.
        let (function, inputs, outputs) = unsafe {
            let outputs = argument::places("the array of outputs", outputs, output_count)?;
            let function = &argument::required("function", function)?.function;
            (function, argument::elements("the array of inputs", inputs, input_count)?, outputs)
        };
        let (returned, room) = (function.outputs().len(), outputs.len());
        if returned != room {
            let message =
                format!("@{} returns {returned} tensors, and there is room for {room}", function.name());
            return Err(Failure::argument(message));
        }
        // SAFETY: by contract.
        let results = unsafe { function.results_of(inputs) }?;
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
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_managed_tensor(
    managed: *const DLManagedTensorVersioned,
    tensor: *mut *const DLTensor,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract. The version stands first in every version of DLPack's managed tensors.
        unsafe {
            let result = argument::result("tensor", tensor, std::ptr::null())?;
            let version = argument::required("managed", managed.cast::<DLPackVersion>())?;
            if version.major != DLPACK {
                let message = format!(
                    "the tensor is of version {}.{} of DLPack, and {DLPACK} is known",
                    version.major, version.minor
                );
                return Err(Failure::new(Refused::Abi, message));
            }
            *result = &raw const (*managed).dl_tensor;
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
