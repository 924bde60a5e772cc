//! Running a compiled function on a caller's tensors.
//!
//! Every argument is checked; inputs that compiled code cannot read where they are (strided, misaligned) are packed into
//! buffers of the call, or, where code reads them in order, [staged](crate::stage) part by part. Some functions have code for inputs
//! that lie in another order, too: of all codes the one is called for which the least must be copied. Outputs that it cannot write where they are (those, and outputs that share memory with an
//! input or with an earlier output) are staged in buffers and copied at the end, in order.

mod code;

use self::code::{Code, Run, code};
use crate::buffer;
use crate::context::{Context, Output, Target};
use crate::copy::{self, Strided};
use crate::environment::Control;
use crate::error::RunError;
use crate::shape::Shape;
use crate::tensor::{Placed, Subject, View, row_major};
use promote_abi::{DLDevice, Function, Input, Status, TensorType, text};

/// What is run instead of compiled code: it computes the results of a call by other means.
pub trait Body: Sync {
    /// Computes the results, or their shapes alone. What it returns is whether it could; else it has said why.
    fn run(&self, call: &Call<'_>) -> bool;

    /// Whether it reads tensors of a device where they are; if it does not, where they must be.
    ///
    /// # Errors
    /// The places that it reads, as in “in CPU memory”.
    fn reaches(&self, _: DLDevice) -> Result<(), String> {
        Err(IN_CPU_MEMORY.to_owned())
    }
}

/// Where tensors must be that code of this processor reads.
pub const IN_CPU_MEMORY: &str = "in CPU memory";

/// A call, as a [`Body`] sees it: what compiled code asks of the run time, without pointers.
pub struct Call<'a> {
    context: &'a Context,
    purpose: Purpose,
    views: &'a [View<'a>],
    inputs: &'a [Input],
    sizes: &'a [usize],
}

impl Call<'_> {
    /// Whether only the shapes of results are asked for.
    pub fn wants_shapes(&self) -> bool {
        self.purpose == Purpose::Shapes
    }

    /// The extents of an input.
    pub fn dims(&self, input: usize) -> &[i64] {
        self.views[input].shape
    }

    /// Where an input starts that is on a device; none if it is in memory of this process.
    pub fn on_device(&self, input: usize) -> Option<*mut u8> {
        self.views[input].is_on_device.then_some(self.views[input].data)
    }

    /// The elements of an input in memory of this process, contiguous and row-major.
    pub fn data(&self, input: usize) -> &[u8] {
        assert!(!self.views[input].is_on_device, "its elements cannot be read here");
        let count: i64 = self.dims(input).iter().product();
        let bytes = count as usize * self.sizes[input];
        if bytes == 0 {
            return &[];
        }
        // SAFETY: the input was checked, and packed if need be; it lives as long as the call.
        unsafe { std::slice::from_raw_parts(self.inputs[input].data, bytes) }
    }

    /// Has a result written, given its extents, where it must be; whether that was done.
    pub fn output(&self, index: usize, dims: &[i64], write: impl FnOnce(&mut [u8]) -> bool) -> bool {
        // SAFETY: the extents are as many as there are; `asked` compares that.
        let data = unsafe { self.context.output(index as i64, dims.as_ptr()) };
        let size = self.context.output_size(index).filter(|_| !data.is_null());
        let Some(bytes) = size.map(|size| dims.iter().product::<i64>() as usize * size) else { return false };
        if bytes == 0 {
            return write(&mut []);
        }
        // SAFETY: the memory holds that many elements, and is nobody else's meanwhile.
        write(unsafe { std::slice::from_raw_parts_mut(data, bytes) })
    }

    /// Says the extents of a result.
    pub fn shape(&self, index: usize, dims: &[i64]) {
        // SAFETY: the extents are as many as the result has.
        unsafe { self.context.shape(index as i64, dims.as_ptr()) }
    }

    /// Says why the call fails.
    pub fn fail(&self, status: Status, message: &str) {
        self.context.fail(status, message);
    }

    /// Notes an exception, and the op that raised it.
    pub fn trap(&self, trap: promote_abi::Trap, place: &str) {
        self.context.trap(trap as i32, Some(place));
    }
}

/// What to call when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To compute the results.
    Results,
    /// To learn their shapes.
    Shapes,
    /// To have the body compute the results, and keep them; it says their shapes.
    Kept,
}

/// What messages call an argument or result.
pub fn subject<'a>(
    function: &'a Function,
    role: &'static str,
    index: usize,
    expected: &'a TensorType,
) -> Subject<'a> {
    // SAFETY: metadata have NUL-terminated names, or none.
    let name = unsafe { text(expected.name) };
    Subject { function: function.display_name(), role, index, name }
}

pub fn error(function: &Function, status: Status, message: &str) -> RunError {
    RunError::new(status, format!("{}: {message}", function.display_name()))
}

/// Runs a function on tensors, and returns its outputs: with a buffer each where `outputs` has none.
///
/// # Safety
/// `function` is the metadata of a compiled function, or of that of a body; the views are of memory that the call may read or
/// write.
pub unsafe fn invoke(
    (function, body): (&Function, Option<&dyn Body>),
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
    if let Some(code) = code(function, body, purpose, &placed_inputs) {
        let slots = slots(function, (&code, &placed_inputs), outputs, &placed_outputs);
        let context =
            Context::new(function.display_name().to_owned(), slots).staging(code.staged(&placed_inputs));
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

pub fn check_count(function: &Function, role: &str, given: usize, expected: usize) -> Result<(), RunError> {
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

fn statically_shaped(expected: &TensorType) -> Output {
    let dims = Some(expected.extents().to_vec());
    Output { expected: *expected, target: Target::Fresh, dims, buffer: None }
}

/// Decides where each output is written.
fn slots(
    function: &Function,
    (code, inputs): (&Code<'_>, &[Placed]),
    views: &[Option<View<'_>>],
    outputs: &[Option<Placed>],
) -> Vec<Output> {
    let target = |index: usize| {
        let (Some(view), Some(placed)) = (&views[index], &outputs[index]) else { return Target::Fresh };
        let dims = view.shape.to_vec();
        // A packed input was read before anything is written.
        let is_read = |(index, input): (usize, &Placed)| code.reads(index, input) && placed.meets(input);
        let shared = inputs.iter().enumerate().any(is_read)
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
unsafe fn run(
    context: &Context,
    code: Code<'_>,
    views: &[View<'_>],
    placed: &[Placed],
) -> Result<(), RunError> {
    // SAFETY: metadata have a number, or none.
    let need = unsafe { code.stack.as_ref() }.copied().unwrap_or(0);
    if !context.enter(usize::try_from(need).unwrap_or(0), || None) {
        return Err(failure(context));
    }
    let mut inputs = Vec::with_capacity(views.len());
    let strides: Vec<Vec<i64>> = match code.strides {
        Some(_) => placed.iter().enumerate().map(|(index, placed)| code.strides(index, placed)).collect(),
        None => Vec::new(),
    };
    for (index, (view, placed)) in views.iter().zip(placed).enumerate() {
        let is_read = code.reads_tensors || placed.extents.is_empty();
        let data = if code.reads(index, placed) || !is_read {
            placed.data
        } else {
            // SAFETY: by contract.
            unsafe { pack(context, view, placed, &code.packed_strides(index, placed)) }
                .ok_or_else(|| failure(context))?
        };
        let strides = strides.get(index).filter(|strides| !strides.is_empty());
        let strides = strides.map_or(std::ptr::null(), Vec::as_ptr);
        inputs.push(Input { data, dims: view.shape.as_ptr(), strides });
    }
    let returned = {
        let _control = Control::for_call().enter();
        match code.run {
            // SAFETY: the inputs are as the metadata say, and the context lives until the end of the call.
            Run::Compiled(entry) => unsafe { entry(context.handle(), inputs.as_ptr()) },
            Run::Body(body, purpose) => {
                let sizes: Vec<usize> = placed.iter().map(|placed| placed.size).collect();
                let call = Call { context, purpose, views, inputs: &inputs, sizes: &sizes };
                i32::from(!body.run(&call))
            }
        }
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

/// Copies a strided input into a buffer of the call, in the order in which the code reads it.
unsafe fn pack(context: &Context, view: &View<'_>, placed: &Placed, strides: &[isize]) -> Option<*mut u8> {
    let data = context.allocate(view.shape, placed.size as i64)?;
    let to = Strided { data, strides };
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
