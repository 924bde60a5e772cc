//! Calls by TVM-FFI's convention: arguments are tagged, results are objects of its library, and errors are raised by it.
//!
//! A function takes its inputs, and then either its outputs, to which it writes, or nothing: then it returns new tensors. Its
//! tensors may be views or objects; a number stands for an input without dimensions, as a Python scalar does in a program: an
//! integer for integers, floats and complex numbers, a float for floats and complex numbers.
//!
//! Nothing is linked with TVM-FFI's library: who calls by its convention has loaded it, and [`library`] looks it up when an
//! error is raised or a tensor returned. So compiled code also loads where there is none.

mod library;
mod scalar;

use std::ffi::CStr;

use promote_abi::{DLTensor, Function, Status, TensorType, TvmAny};

use crate::call::subject;
use crate::error::RunError;
use crate::rust::{Callable, OwnedTensor};
use library::Object;
use scalar::Number;

/// The tags of arguments, and of results.
mod tag {
    pub const NONE: i32 = 0;
    pub const INT: i32 = 1;
    pub const BOOL: i32 = 2;
    pub const FLOAT: i32 = 3;
    pub const VIEW: i32 = 7;
    pub const TENSOR: i32 = 70;
    pub const ARRAY: i32 = 71;
}

/// Bytes of what precedes the tensor in an object.
const HEADER: usize = 24;

/// Runs a function on arguments; if it fails, raises an error. 0 if it succeeded, else -1.
///
/// # Safety
/// `function` is the metadata of a compiled function. The arguments are as many as `count` says, and what their tags say; views
/// and objects are as [`Callable::call_on`] wants tensors.
pub unsafe fn call(function: &Function, arguments: &[TvmAny], result: &mut TvmAny) -> Result<(), RunError> {
    *result = TvmAny { type_index: tag::NONE, padding: 0, value: 0 };
    // SAFETY: by contract.
    let callable = unsafe { Callable::new(function) };
    let (takes, returns) = (callable.inputs().len(), callable.outputs().len());
    let is_given_outputs = arguments.len() == takes + returns;
    if !is_given_outputs && arguments.len() != takes {
        return Err(count(function, takes, returns, arguments.len()));
    }
    let (inputs, outputs) = arguments.split_at(takes);
    let mut numbers: Vec<scalar::Stored> = Vec::with_capacity(takes);
    let mut tensors: Vec<*const DLTensor> = Vec::with_capacity(takes);
    for (index, (argument, expected)) in inputs.iter().zip(callable.inputs()).enumerate() {
        let wrong = |what: &str| subject(function, "input", index, expected).error(Status::Dtype, what);
        tensors.push(match tensor(argument) {
            Some(tensor) => tensor,
            None => {
                let number = number(argument, expected).map_err(|what| wrong(&what))?;
                numbers.push(number);
                // The vector does not grow beyond its capacity, so that its numbers stay where they are.
                numbers.last_mut().map_or(std::ptr::null(), scalar::Stored::tensor)
            }
        });
    }
    if is_given_outputs {
        let outputs = (outputs.iter().zip(callable.outputs()).enumerate())
            .map(|(index, (argument, expected))| {
                let subject = subject(function, "output", index, expected);
                let is = || format!("must be a tensor, but is {}", described(argument));
                tensor(argument).ok_or_else(|| subject.error(Status::Dtype, is()))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let outputs: Vec<*mut DLTensor> = outputs.into_iter().map(<*const DLTensor>::cast_mut).collect();
        // SAFETY: by contract.
        return unsafe { callable.call_on(&tensors, &outputs) };
    }
    // SAFETY: by contract.
    let results = unsafe { callable.results_of(&tensors) }?;
    *result = returned(function, results)?;
    Ok(())
}

/// That there are more or fewer arguments.
fn count(function: &Function, takes: usize, returns: usize, given: usize) -> RunError {
    let all = takes + returns;
    let message = format!(
        "{}: takes {takes} arguments, or {all} with the tensors to write results to, but was given {given}",
        function.display_name()
    );
    RunError::new(Status::Dtype, message)
}

/// The tensor that an argument is, if it is one.
fn tensor(argument: &TvmAny) -> Option<*const DLTensor> {
    let address = argument.value as usize as *const u8;
    match argument.type_index {
        tag::VIEW => Some(address.cast()),
        tag::TENSOR if !address.is_null() => Some(address.wrapping_add(HEADER).cast()),
        _ => None,
    }
}

/// The tensor that stands for a number.
fn number(argument: &TvmAny, expected: &TensorType) -> Result<scalar::Stored, String> {
    let number = match argument.type_index {
        tag::INT => Number::Int(argument.value),
        tag::BOOL => Number::Bool(argument.value != 0),
        tag::FLOAT => Number::Float(f64::from_bits(argument.value.cast_unsigned())),
        _ => return Err(format!("must be a tensor, but is {}", described(argument))),
    };
    if expected.rank != 0 {
        return Err(format!(
            "must be a tensor of {} dimensions, but is {}",
            expected.rank,
            described(argument)
        ));
    }
    scalar::store(number, expected.dtype())
}

/// What messages call an argument.
fn described(argument: &TvmAny) -> String {
    match argument.type_index {
        tag::NONE => "None".to_owned(),
        tag::INT => "an int".to_owned(),
        tag::BOOL => "a bool".to_owned(),
        tag::FLOAT => "a float".to_owned(),
        tag::VIEW | tag::TENSOR => "a tensor".to_owned(),
        other => format!("a value of TVM-FFI's type {other}"),
    }
}

/// Results as TVM-FFI has them: nothing, a tensor, or an array of tensors.
fn returned(function: &Function, results: Vec<OwnedTensor>) -> Result<TvmAny, RunError> {
    let failed = |what: &str| RunError::new(Status::Internal, format!("{}: {what}", function.display_name()));
    let mut objects = results
        .into_iter()
        .map(|result| Object::tensor(result).ok_or_else(|| failed("TVM-FFI's library makes no tensors")))
        .collect::<Result<Vec<_>, _>>()?;
    match objects.len() {
        0 => Ok(TvmAny { type_index: tag::NONE, padding: 0, value: 0 }),
        1 => Ok(objects.remove(0).into_any(tag::TENSOR)),
        _ => Object::array(&objects).ok_or_else(|| failed("TVM-FFI's library makes no arrays")),
    }
}

/// Raises an error in TVM-FFI's library, if it is there.
pub fn raise(status: Status, message: &CStr) {
    let kind = match status {
        Status::Null | Status::Dtype => c"TypeError",
        Status::Rank
        | Status::Shape
        | Status::Strides
        | Status::Device
        | Status::Check
        | Status::NegativePower => c"ValueError",
        Status::Memory => c"MemoryError",
        Status::Division => c"ZeroDivisionError",
        Status::Index => c"IndexError",
        Status::Ok | Status::Internal => c"RuntimeError",
    };
    library::raise(kind, message);
}

const _: () = assert!(size_of::<TvmAny>() == 16, "arguments are as large as TVM-FFI has them");
