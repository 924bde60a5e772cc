//! Running a compiled function on a caller's tensors.
//!
//! Every argument is checked; inputs that compiled code cannot read where they are (strided, misaligned) are packed into
//! buffers of the call, and outputs that it cannot write where they are (those, and outputs that share memory with an
//! input or with an earlier output) are staged in buffers and copied at the end, in order.

use crate::buffer;
use crate::context::{Context, Output, Target};
use crate::copy::{self, Strided};
use crate::environment::Control;
use crate::error::RunError;
use crate::shape::Shape;
use crate::tensor::{Placed, Subject, View, row_major};
use promote_abi::{DLDevice, DLTensor, Entry, Function, Input, Status, TensorType, text};

/// What to call when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To compute the results.
    Results,
    /// To learn their shapes.
    Shapes,
}

/// What messages call an argument or result.
fn subject<'a>(
    function: &'a Function,
    role: &'static str,
    index: usize,
    expected: &'a TensorType,
) -> Subject<'a> {
    // SAFETY: metadata have NUL-terminated names, or none.
    let name = unsafe { text(expected.name) };
    Subject { function: function.display_name(), role, index, name }
}

fn error(function: &Function, status: Status, message: &str) -> RunError {
    RunError::new(status, format!("{}: {message}", function.display_name()))
}

/// Runs a function on tensors, and returns its outputs: with a buffer each where `outputs` has none.
///
/// # Safety
/// `function` is the metadata of a compiled function, and the views are of memory that the call may read or write.
pub unsafe fn invoke(
    function: &Function,
    purpose: Purpose,
    inputs: &[View<'_>],
    outputs: &[Option<View<'_>>],
) -> Result<Vec<Output>, RunError> {
    check_count(function, "input", inputs.len(), function.input_types().len())?;
    check_count(function, "output", outputs.len(), function.output_types().len())?;
    let placed_inputs = (inputs.iter().zip(function.input_types()).enumerate())
        .map(|(index, (view, expected))| subject(function, "input", index, expected).check(expected, view))
        .collect::<Result<Vec<_>, _>>()?;
    let placed_outputs = (outputs.iter().zip(function.output_types()).enumerate())
        .map(|(index, (view, expected))| check_output(function, index, expected, view.as_ref()))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(code) = code(function, purpose) {
        let slots = slots(function, &placed_inputs, outputs, &placed_outputs);
        let context = Context::new(function.display_name().to_owned(), slots);
        // SAFETY: by contract; every view was checked.
        unsafe {
            run(&context, code, inputs, &placed_inputs)?;
            let outputs = context.take_outputs();
            write_back(&outputs, &placed_outputs);
            Ok(outputs)
        }
    } else {
        Ok(function.output_types().iter().map(statically_shaped).collect())
    }
}

fn check_count(function: &Function, role: &str, given: usize, expected: usize) -> Result<(), RunError> {
    if given == expected {
        return Ok(());
    }
    let message =
        format!("must have {expected} {role}{}, but has {given}", if expected == 1 { "" } else { "s" });
    Err(error(function, Status::Rank, &message))
}

fn check_output(
    function: &Function,
    index: usize,
    expected: &TensorType,
    view: Option<&View<'_>>,
) -> Result<Option<Placed>, RunError> {
    let Some(view) = view else { return Ok(None) };
    let subject = subject(function, "output", index, expected);
    let placed = subject.check(expected, view)?;
    if !placed.is_injective() {
        let strides = Shape::of(view.strides.unwrap_or(&[]));
        let what = format!("has strides that put several elements in one place: {strides}");
        return Err(subject.error(Status::Strides, what));
    }
    Ok(Some(placed))
}

/// Code to run.
#[derive(Clone, Copy)]
struct Code {
    entry: Entry,
    /// Bytes of stack that it takes; null if that is not known.
    stack: *const i64,
    /// Whether it reads tensors, and not only numbers without dimensions.
    reads_tensors: bool,
}

/// What to run; nothing if the metadata have the answer.
fn code(function: &Function, purpose: Purpose) -> Option<Code> {
    let is_static = |expected: &TensorType| expected.extents().iter().all(|&extent| extent >= 0);
    let whole = Code { entry: function.entry, stack: function.entry_stack, reads_tensors: true };
    match (purpose, function.shape) {
        (Purpose::Results, _) => Some(whole),
        (Purpose::Shapes, Some(entry)) => {
            Some(Code { entry, stack: function.shape_stack, reads_tensors: false })
        }
        (Purpose::Shapes, None) if function.output_types().iter().all(is_static) => None,
        (Purpose::Shapes, None) => Some(whole),
    }
}

fn statically_shaped(expected: &TensorType) -> Output {
    let dims = Some(expected.extents().to_vec());
    Output { expected: *expected, target: Target::Fresh, dims, buffer: None }
}

/// Decides where each output is written.
fn slots(
    function: &Function,
    inputs: &[Placed],
    views: &[Option<View<'_>>],
    outputs: &[Option<Placed>],
) -> Vec<Output> {
    let target = |index: usize| {
        let (Some(view), Some(placed)) = (&views[index], &outputs[index]) else { return Target::Fresh };
        let dims = view.shape.to_vec();
        // A packed input was read before anything is written.
        let shared = inputs.iter().any(|input| input.direct && placed.meets(input))
            || outputs[..index].iter().flatten().any(|earlier| placed.meets(earlier));
        if !placed.direct || shared {
            return Target::Staged { dims };
        }
        // Compiled code takes null for failure.
        let data = if placed.data.is_null() { std::ptr::dangling_mut::<u128>().cast() } else { placed.data };
        Target::Direct { data, dims }
    };
    (function.output_types().iter().enumerate())
        .map(|(index, expected)| Output {
            expected: *expected,
            target: target(index),
            dims: None,
            buffer: None,
        })
        .collect()
}

/// Packs the inputs that the code reads, and runs it, if the stack holds that.
///
/// # Safety
/// `placed` says how the views lie, in memory that may be read.
unsafe fn run(context: &Context, code: Code, views: &[View<'_>], placed: &[Placed]) -> Result<(), RunError> {
    // SAFETY: metadata have a number, or none.
    let need = unsafe { code.stack.as_ref() }.copied().unwrap_or(0);
    if !context.enter(usize::try_from(need).unwrap_or(0), || None) {
        return Err(failure(context));
    }
    let mut inputs = Vec::with_capacity(views.len());
    for (view, placed) in views.iter().zip(placed) {
        let is_read = code.reads_tensors || placed.extents.is_empty();
        let data = if placed.direct || !is_read {
            placed.data
        } else {
            // SAFETY: by contract.
            unsafe { pack(context, view, placed) }.ok_or_else(|| failure(context))?
        };
        inputs.push(Input { data, dims: view.shape.as_ptr() });
    }
    let returned = {
        let _control = Control::for_call().enter();
        // SAFETY: the inputs are as the metadata say, and the context lives until the end of the call.
        unsafe { (code.entry)(context.handle(), inputs.as_ptr()) }
    };
    context.outcome(returned)
}

/// The error that the context has.
fn failure(context: &Context) -> RunError {
    context
        .outcome(1)
        .err()
        .unwrap_or_else(|| context.error(Status::Internal, "an input could not be packed"))
}

/// Copies a strided input into a buffer of the call.
unsafe fn pack(context: &Context, view: &View<'_>, placed: &Placed) -> Option<*mut u8> {
    let data = context.allocate(view.shape, placed.size as i64)?;
    let strides = row_major(&placed.extents, placed.size);
    let to = Strided { data, strides: &strides };
    let from = Strided { data: placed.data, strides: &placed.strides };
    // SAFETY: the buffer is fresh and large enough; the caller says that the view may be read.
    unsafe { copy::copy(&placed.extents, placed.size, to, from) };
    Some(data)
}

/// Copies staged outputs to where the caller wants them, and frees their buffers.
unsafe fn write_back(outputs: &[Output], placed: &[Option<Placed>]) {
    for (output, placed) in outputs.iter().zip(placed) {
        let (Some(placed), Some(block)) = (placed, output.buffer) else { continue };
        let strides = row_major(&placed.extents, placed.size);
        let to = Strided { data: placed.data, strides: &placed.strides };
        let from = Strided { data: buffer::data(block), strides: &strides };
        // SAFETY: the buffer has the caller's shape, which `Context::output` compared, and is nobody's any more.
        unsafe {
            copy::copy(&placed.extents, placed.size, to, from);
            buffer::free(block);
        }
    }
}

/// [`promote_rt_call`](crate::promote_rt_call), with an error that can be kept.
///
/// # Safety
/// See there.
pub unsafe fn call(
    function: *const Function,
    inputs: *const *const DLTensor,
    outputs: *const *mut DLTensor,
) -> Result<(), RunError> {
    // SAFETY: by contract.
    unsafe {
        let function = required(function)?;
        let inputs = views(function, "input", inputs, function.input_types())?;
        let outputs = views(function, "output", outputs.cast(), function.output_types())?;
        let outputs: Vec<_> = outputs.into_iter().map(Some).collect();
        invoke(function, Purpose::Results, &inputs, &outputs)?;
    }
    Ok(())
}

/// [`promote_rt_shapes`](crate::promote_rt_shapes), with an error that can be kept.
///
/// # Safety
/// See there.
pub unsafe fn shapes(
    function: *const Function,
    inputs: *const *const DLTensor,
    outputs: *const *mut DLTensor,
) -> Result<(), RunError> {
    // SAFETY: by contract.
    unsafe {
        let function = required(function)?;
        let inputs = views(function, "input", inputs, function.input_types())?;
        let tensors = pointers(function, "output", outputs.cast(), function.output_types())?;
        let room = tensors.iter().zip(function.output_types()).enumerate();
        for (index, (tensor, expected)) in room {
            check_room(&subject(function, "output", index, expected), expected, &**tensor)?;
        }
        let none: Vec<Option<View<'_>>> = tensors.iter().map(|_| None).collect();
        let results = Results(invoke(function, Purpose::Shapes, &inputs, &none)?);
        for (tensor, output) in tensors.iter().zip(&results.0) {
            let tensor = tensor.cast_mut();
            let dims = output.dims.as_deref().unwrap_or(&[]);
            (*tensor).dtype = output.expected.dtype();
            (*tensor).ndim = dims.len() as i32;
            std::ptr::copy_nonoverlapping(dims.as_ptr(), (*tensor).shape, dims.len());
        }
    }
    Ok(())
}

/// Outputs of which only the shapes are wanted; their buffers are freed.
pub struct Results(pub Vec<Output>);

impl Results {
    /// The extents of each.
    pub fn dims(mut self) -> Vec<Vec<i64>> {
        self.0.iter_mut().map(Output::take_dims).collect()
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        for block in self.0.iter().filter_map(|output| output.buffer) {
            // SAFETY: the call is over, and the buffer is ours.
            unsafe { buffer::free(block) };
        }
    }
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

unsafe fn required<'a>(function: *const Function) -> Result<&'a Function, RunError> {
    // SAFETY: by the caller's contract.
    unsafe { function.as_ref() }.ok_or_else(|| RunError::new(Status::Null, "the function is null"))
}

/// The tensors behind an array of pointers; none of them is null.
unsafe fn pointers<'a>(
    function: &Function,
    role: &'static str,
    tensors: *const *const DLTensor,
    expected: &[TensorType],
) -> Result<&'a [*const DLTensor], RunError> {
    if expected.is_empty() {
        return Ok(&[]);
    }
    if tensors.is_null() {
        return Err(error(function, Status::Null, &format!("the array of {role}s is null")));
    }
    // SAFETY: by the caller's contract.
    let tensors = unsafe { std::slice::from_raw_parts(tensors, expected.len()) };
    match tensors.iter().position(|tensor| tensor.is_null()) {
        Some(index) => Err(subject(function, role, index, &expected[index]).error(Status::Null, "is null")),
        None => Ok(tensors),
    }
}

unsafe fn views<'a>(
    function: &Function,
    role: &'static str,
    tensors: *const *const DLTensor,
    expected: &[TensorType],
) -> Result<Vec<View<'a>>, RunError> {
    // SAFETY: by the caller's contract.
    let tensors = unsafe { pointers(function, role, tensors, expected) }?;
    (tensors.iter().zip(expected).enumerate())
        // SAFETY: none is null, and by the caller's contract they are tensors.
        .map(|(index, (&tensor, expected))| unsafe {
            view(&subject(function, role, index, expected), expected, &*tensor)
        })
        .collect()
}

/// A C caller's tensor, as far as it can be read.
unsafe fn view<'a>(
    subject: &Subject<'_>,
    expected: &TensorType,
    tensor: &DLTensor,
) -> Result<View<'a>, RunError> {
    if let Some(place) = elsewhere(tensor.device) {
        return Err(subject.error(Status::Device, format!("must be in CPU memory, but is on {place}")));
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
    })
}

/// What messages call a device whose memory this processor cannot read.
fn elsewhere(device: DLDevice) -> Option<String> {
    let kind = match device.device_type {
        // CPU; page-locked memory of CUDA and ROCm.
        1 | 3 | 11 => return None,
        2 => "CUDA",
        4 => "OpenCL",
        7 => "Vulkan",
        8 => "Metal",
        10 => "ROCm",
        14 => "oneAPI",
        15 => "WebGPU",
        other => return Some(format!("a device of DLPack's type {other}")),
    };
    Some(format!("{kind} device {}", device.device_id))
}
