//! Functions on a device: what the run time must know to check their arguments, and how they are called.

use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use promote_devices::DeviceError;
use promote_execute::{Argument, Error};
use promote_lower::interface::Interface;
use promote_lower::symbols::Symbols;
use promote_lower::types::Type;
use promote_runtime::{self as runtime, DLDevice, DLTensor};

use super::exchange;
use super::{DeviceTensor, SharedDevice};
use crate::dlpack;
use crate::run::TensorType;
use crate::tensor::RunError;

/// A public function on a device, and what the run time must know of it to check its arguments.
pub(crate) struct DeviceFunction {
    executable: Arc<promote_execute::Executable>,
    name: String,
    metadata: runtime::Function,
    place: DLDevice,
    // What the metadata point to.
    _text: CString,
    types: Vec<runtime::TensorType>,
    _dims: Vec<Box<[i64]>>,
}

// SAFETY: metadata are constants, as is all they point to.
unsafe impl Send for DeviceFunction {}
// SAFETY: as above.
unsafe impl Sync for DeviceFunction {}

impl DeviceFunction {
    pub(crate) fn new(executable: Arc<promote_execute::Executable>, interface: &Interface) -> Self {
        let Interface { name, inputs, outputs, .. } = interface;
        let types = inputs.iter().chain(outputs);
        let dims: Vec<Box<[i64]>> = types
            .clone()
            .map(|r#type| r#type.dims().iter().map(|extent| extent.unwrap_or(-1)).collect())
            .collect();
        let described = |(r#type, dims): (&Type, &[i64])| {
            let runtime::DLDataType { code, bits, lanes } = dlpack::of(r#type.dtype());
            let rank = dims.len() as i32;
            runtime::TensorType { code, bits, lanes, rank, dims: dims.as_ptr(), name: std::ptr::null() }
        };
        let types: Vec<_> = types.zip(dims.iter().map(|dims| &**dims)).map(described).collect();
        // Symbols are C identifiers.
        let text = CString::new(Symbols::of(name).call).unwrap_or_default();
        let metadata = runtime::Function {
            name: text.as_ptr(),
            inputs: inputs.len() as i32,
            outputs: outputs.len() as i32,
            input_types: types.as_ptr(),
            output_types: types[inputs.len()..].as_ptr(),
            entry: never,
            shape: executable.tells_shapes(name).then_some(never as runtime::Entry),
            entry_stack: std::ptr::null(),
            shape_stack: std::ptr::null(),
            in_any_order: 0,
            strided_count: 0,
            strided: std::ptr::null(),
        };
        let place = exchange::dlpack_device(executable.device());
        Self { executable, name: name.clone(), metadata, place, _text: text, types, _dims: dims }
    }

    /// The function as the run time calls it.
    pub(crate) const fn callable(&self) -> runtime::Callable<'_> {
        // SAFETY: the metadata point to what is kept beside them.
        unsafe { runtime::Callable::of_body(&self.metadata, self) }
    }

    /// Runs it on tensors of the device, which are of the types that it takes.
    fn run_on(&self, arguments: &[Argument<'_>]) -> Result<Vec<DeviceTensor>, Error> {
        self.executable.call(&self.name, arguments)
    }

    /// The device that it runs on.
    fn device(&self) -> &SharedDevice {
        self.executable.device()
    }
}

impl fmt::Debug for DeviceFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceFunction({})", self.name)
    }
}

/// The code of functions that are run by other means.
pub(super) extern "C" fn never(_: *mut runtime::Context, _: *const runtime::Input) -> i32 {
    1
}

impl runtime::Body for DeviceFunction {
    fn run(&self, call: &runtime::Call<'_>) -> bool {
        Self::told(call, self.answer(call))
    }

    fn reaches(&self, given: DLDevice) -> Result<(), String> {
        exchange::reaches(self.place, given)
    }
}

/// A function whose results stay on its device.
struct Keeping<'f> {
    function: &'f DeviceFunction,
    kept: Mutex<Vec<DeviceTensor>>,
}

impl runtime::Body for Keeping<'_> {
    fn run(&self, call: &runtime::Call<'_>) -> bool {
        let Some(given) = self.function.given(call, false) else { return false };
        let results = self.function.run_on(&DeviceFunction::arguments(call, &given, false));
        let done = results.map(|results| {
            results.iter().enumerate().for_each(|(index, result)| call.shape(index, result.dims()));
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = results;
            true
        });
        DeviceFunction::told(call, done)
    }

    fn reaches(&self, given: DLDevice) -> Result<(), String> {
        self.function.reaches(given)
    }
}

impl DeviceFunction {
    /// Runs it on DLPack tensors, in memory of this process or on the device; the results stay on the device.
    ///
    /// # Safety
    /// As [`Function::results_on_device`](crate::Function::results_on_device) says.
    pub(crate) unsafe fn keep_on(&self, inputs: &[*const DLTensor]) -> Result<Vec<DeviceTensor>, RunError> {
        let body = Keeping { function: self, kept: Mutex::default() };
        // SAFETY: the metadata point to what is kept beside them; the inputs are as the caller says.
        unsafe { runtime::Callable::of_body(&self.metadata, &body).keep_on(inputs) }?;
        Ok(body.kept.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the run time how a call has ended.
    fn told(call: &runtime::Call<'_>, done: Result<bool, Error>) -> bool {
        match done {
            Ok(done) => done,
            Err(Error::Trap { trap, place }) => {
                call.trap(trap_of(trap), &place);
                false
            }
            Err(error) => {
                call.fail(status(&error), &error.to_string());
                false
            }
        }
    }

    /// The inputs of a call that are on the device; none in the place of those in memory of this process, and of those that are not
    /// read. If one cannot be used, nothing, and the call has been told why.
    fn given(&self, call: &runtime::Call<'_>, only_shapes: bool) -> Option<Vec<Option<DeviceTensor>>> {
        let types = self.types.iter().take(self.metadata.inputs as usize);
        let tensor = |(input, r#type): (usize, &runtime::TensorType)| {
            let dims = call.dims(input);
            let (Some(data), Some(dtype)) = (call.on_device(input), dlpack::dtype(r#type.dtype())) else {
                return Some(None);
            };
            if only_shapes && !dims.is_empty() {
                return Some(None);
            }
            // SAFETY: whoever has called says that the tensor is there until the call is over, and that what is done to it after that
            // waits for the device.
            let tensor = unsafe { exchange::at(self.device(), (dtype, dims), data) };
            let told = |error: &Error| call.fail(status(error), &format!("input {input}: {error}"));
            tensor.inspect_err(told).ok().map(Some)
        };
        types.enumerate().map(tensor).collect()
    }

    /// The arguments of a call.
    fn arguments<'a>(
        call: &'a runtime::Call<'_>,
        given: &'a [Option<DeviceTensor>],
        only_shapes: bool,
    ) -> Vec<Argument<'a>> {
        let argument = |(input, given): (usize, &'a Option<DeviceTensor>)| {
            let dims = call.dims(input);
            match given {
                Some(tensor) => Argument::Device(tensor),
                // Shapes may depend on numbers, but on no other elements.
                None if only_shapes && !dims.is_empty() => Argument::Host(&[], dims),
                None => Argument::Host(call.data(input), dims),
            }
        };
        given.iter().enumerate().map(argument).collect()
    }

    fn answer(&self, call: &runtime::Call<'_>) -> Result<bool, Error> {
        let only_shapes = call.wants_shapes() && self.metadata.shape.is_some();
        let Some(given) = self.given(call, only_shapes) else { return Ok(false) };
        let arguments = Self::arguments(call, &given, only_shapes);
        if only_shapes {
            let shapes = self.executable.shapes(&self.name, &arguments)?.unwrap_or_default();
            shapes.iter().enumerate().for_each(|(index, dims)| call.shape(index, dims));
            return Ok(true);
        }
        let results = self.run_on(&arguments)?;
        for (index, result) in results.iter().enumerate() {
            if call.wants_shapes() {
                call.shape(index, result.dims());
                continue;
            }
            let mut failed = None;
            let read = |to: &mut [u8]| match result.read(to) {
                Ok(()) => true,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            };
            if !call.output(index, result.dims(), read) {
                return failed.map_or(Ok(false), Err);
            }
        }
        Ok(true)
    }
}

const fn trap_of(trap: promote_scalar::Trap) -> runtime::Trap {
    match trap {
        promote_scalar::Trap::DivisionByZero => runtime::Trap::Division,
        promote_scalar::Trap::NegativePower => runtime::Trap::NegativePower,
        promote_scalar::Trap::IndexOutOfRange => runtime::Trap::Index,
    }
}

/// What kind of failure the run time reports.
pub(super) const fn status(error: &Error) -> runtime::Status {
    match error {
        Error::Device(DeviceError::OutOfMemory { .. } | DeviceError::TooLarge { .. }) => {
            runtime::Status::Memory
        }
        Error::Device(_) => runtime::Status::Device,
        Error::Check(_) => runtime::Status::Check,
        Error::Shape { .. } => runtime::Status::Shape,
        Error::Trap { .. } | Error::NoFunction(_) => runtime::Status::Internal,
    }
}

/// Runs a function on tensors of its device.
pub(crate) fn run(
    function: &DeviceFunction,
    types: &[TensorType],
    inputs: &[&DeviceTensor],
) -> Result<Vec<DeviceTensor>, RunError> {
    let symbol = Symbols::of(&function.name).call;
    let refuse = |status, what: String| RunError { status, message: format!("{symbol}: {what}") };
    if inputs.len() != types.len() {
        let what = format!("must have {} inputs, but has {}", types.len(), inputs.len());
        return Err(refuse(runtime::Status::Rank, what));
    }
    for (index, (input, expected)) in inputs.iter().zip(types).enumerate() {
        if !Arc::ptr_eq(input.device(), function.device()) {
            return Err(refuse(runtime::Status::Device, format!("input {index} is on another device")));
        }
        let fits = |(extent, given): (&Option<i64>, &i64)| extent.is_none_or(|extent| extent == *given);
        let has_shape =
            input.dims().len() == expected.shape.len() && expected.shape.iter().zip(input.dims()).all(fits);
        if input.dtype() != expected.dtype || !has_shape {
            let given = TensorType::of_tensor(input.dtype(), input.dims());
            let what = format!("input {index} must be {expected}, but is {given}");
            return Err(refuse(runtime::Status::Shape, what));
        }
    }
    let arguments: Vec<_> = inputs.iter().map(|input| Argument::Device(input)).collect();
    function.run_on(&arguments).map_err(|error| match error {
        Error::Trap { trap, .. } => refuse(trap_status(trap), error.to_string()),
        error => refuse(status(&error), error.to_string()),
    })
}

const fn trap_status(trap: promote_scalar::Trap) -> runtime::Status {
    match trap {
        promote_scalar::Trap::DivisionByZero => runtime::Status::Division,
        promote_scalar::Trap::NegativePower => runtime::Status::NegativePower,
        promote_scalar::Trap::IndexOutOfRange => runtime::Status::Index,
    }
}
