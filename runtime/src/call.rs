//! Running a compiled function on a caller's tensors.
//!
//! Every argument is checked; inputs that compiled code cannot read where they are (strided, misaligned) are packed into
//! buffers of the call. Some functions have code for inputs that lie in another order, too: of all codes the one is called for
//! which the least must be packed. Outputs that it cannot write where they are (those, and outputs that share memory with an
//! input or with an earlier output) are staged in buffers and copied at the end, in order.

use crate::buffer;
use crate::context::{Context, Output, Target};
use crate::copy::{self, Strided};
use crate::environment::Control;
use crate::error::RunError;
use crate::shape::Shape;
use crate::tensor::{Placed, Subject, View, row_major};
use promote_abi::{DLDevice, Entry, Function, Input, Layout, Placement, Status, Strides, TensorType, text};

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

/// What is run.
#[derive(Clone, Copy)]
enum Run<'a> {
    Compiled(Entry),
    Body(&'a dyn Body, Purpose),
}

/// Code to run.
#[derive(Clone, Copy)]
struct Code<'a> {
    run: Run<'a>,
    /// Bytes of stack that it takes; null if that is not known.
    stack: *const i64,
    /// Whether it reads tensors, and not only numbers without dimensions.
    reads_tensors: bool,
    /// How inputs lie in memory; none if they are contiguous and row-major.
    strides: Option<Strides>,
}

/// The fewest elements side by side along the last dimension of an input that is read where it is: beginning with each of many shorter
/// runs takes longer than packing them.
const SHORTEST_RUN: usize = 4;
/// The same along the first dimension of two: kernels read across the other one then.
const SHORTEST_ACROSS: usize = 8;
/// The same of more dimensions, along none of which memory is read as far as it goes.
const SHORTEST_BETWEEN: usize = 16;

/// The fewest elements of an input along its last dimension that are read where they are though they lie apart.
const SHORTEST_APART: usize = 64;
/// The fewest bytes of such an element: code reads them one by one, as fast as memory only where they are wide.
const NARROWEST_APART: usize = 4;

impl Code<'_> {
    /// How an input lies.
    fn layout(&self, index: usize, input: &Placed) -> Layout {
        self.strides.map_or(Layout::RowMajor, |strides| strides.layout(index, input.extents.len()))
    }

    /// Whether it reads an input where it is.
    fn reads(&self, index: usize, input: &Placed) -> bool {
        let is_empty = input.low == input.high;
        match self.layout(index, input) {
            Layout::RowMajor => input.direct,
            Layout::Along(along) => {
                let is_forward = input.strides.iter().all(|stride| *stride >= 0);
                let is_side_by_side = input.strides[along] == input.size as isize;
                let is_last = along + 1 == input.extents.len();
                let shortest = match input.extents.len() {
                    _ if is_last => SHORTEST_RUN,
                    2 => SHORTEST_ACROSS,
                    _ => SHORTEST_BETWEEN,
                };
                input.direct && is_last
                    || is_empty
                    || input.is_aligned
                        && is_forward
                        && is_side_by_side
                        && self.lies_one_in_another(input, along)
                        && input.extents[along] >= shortest
            }
            Layout::Apart => input.direct || is_empty || input.is_aligned && is_along_memory(input),
            Layout::Reversed => is_empty || input.is_aligned && is_reversed(input),
        }
    }

    /// Whether the dimensions of an input but for one lie one in another, if the code asks for that.
    fn lies_one_in_another(&self, input: &Placed, along: usize) -> bool {
        let others = (0..input.extents.len()).filter(|axis| *axis != along && input.extents[*axis] != 1);
        let others: Vec<(usize, isize)> =
            others.map(|axis| (input.extents[axis], input.strides[axis])).collect();
        let is_in = |pair: &[(usize, isize)]| pair[0].1 == pair[1].1.wrapping_mul(pair[1].0 as isize);
        let is_free = |strides: Strides| match strides.elements {
            Placement::SideBySide { is_dense, .. } => !is_dense,
            Placement::Apart | Placement::Reversed => true,
        };
        self.strides.is_some_and(|strides| is_free(strides) || others.windows(2).all(is_in))
    }

    /// The strides in bytes in which an input is packed that it does not read where it is.
    fn packed_strides(&self, index: usize, input: &Placed) -> Vec<isize> {
        let rank = input.extents.len();
        let order: Vec<usize> = match self.layout(index, input) {
            Layout::Along(along) => (0..rank).filter(|axis| *axis != along).chain([along]).collect(),
            Layout::RowMajor | Layout::Apart => (0..rank).collect(),
            Layout::Reversed => (0..rank).rev().collect(),
        };
        let extents: Vec<usize> = order.iter().map(|axis| input.extents[*axis]).collect();
        let mut strides = vec![0; rank];
        for (axis, stride) in order.into_iter().zip(row_major(&extents, input.size)) {
            strides[axis] = stride;
        }
        strides
    }

    /// The strides of an input in elements, as it is read where it is or packed; none if it is contiguous and row-major.
    fn strides(&self, index: usize, input: &Placed) -> Vec<i64> {
        if self.layout(index, input) == Layout::RowMajor {
            return Vec::new();
        }
        let mut bytes =
            if self.reads(index, input) { input.strides.clone() } else { self.packed_strides(index, input) };
        self.skip_ones(index, input, &mut bytes);
        bytes.into_iter().map(|stride| (stride / input.size as isize) as i64).collect()
    }

    /// Where dimensions lie one in another, their one stride is that of the last of more than one index: those of others mean nothing.
    fn skip_ones(&self, index: usize, input: &Placed, strides: &mut [isize]) {
        let (
            Layout::Along(along),
            Some(Strides { elements: Placement::SideBySide { is_dense: true, .. }, .. }),
        ) = (self.layout(index, input), self.strides)
        else {
            return;
        };
        let mut others = (0..strides.len()).rev().filter(|axis| *axis != along);
        let Some(last) = others.clone().next() else { return };
        if let Some(own) = others.find(|axis| input.extents[*axis] != 1) {
            strides[last] = strides[own];
        }
    }

    /// How much longer a call takes, in bytes, than with inputs that are contiguous: what is packed is written and read again, and what
    /// is read as if it lay apart takes longer.
    fn cost(&self, inputs: &[Placed]) -> usize {
        let of = |(index, input): (usize, &Placed)| {
            let bytes = input.extents.iter().product::<usize>() * input.size;
            match (self.reads(index, input), self.layout(index, input)) {
                (false, _) => bytes.saturating_mul(2),
                (true, Layout::Apart) if input.direct => bytes,
                (true, Layout::RowMajor | Layout::Along(_) | Layout::Apart | Layout::Reversed) => 0,
            }
        };
        inputs.iter().enumerate().map(of).fold(0, usize::saturating_add)
    }
}

/// Whether elements that lie apart are wide and many, and no further from each other along the last dimension than along any other that
/// they are not read along again and again.
fn is_along_memory(input: &Placed) -> bool {
    let Some((step, others)) = input.strides.split_last() else { return false };
    let extents = input.extents.iter();
    let is_further = |(stride, extent): (&isize, &usize)| {
        *extent == 1 || *stride == 0 || stride.unsigned_abs() >= step.unsigned_abs()
    };
    input.size >= NARROWEST_APART
        && *step != 0
        && input.extents.last().is_some_and(|extent| *extent >= SHORTEST_APART)
        && others.iter().zip(extents).all(is_further)
}

/// Whether an input is contiguous with its dimensions in reverse order.
fn is_reversed(input: &Placed) -> bool {
    let mut next = input.size as isize;
    input.extents.iter().zip(&input.strides).all(|(extent, stride)| {
        let lies = *extent == 1 || *stride == next;
        next = next.wrapping_mul(*extent as isize);
        lies
    })
}

/// What to run; nothing if the metadata have the answer.
fn code<'a>(
    function: &Function,
    body: Option<&'a dyn Body>,
    purpose: Purpose,
    inputs: &[Placed],
) -> Option<Code<'a>> {
    let is_static = |expected: &TensorType| expected.extents().iter().all(|&extent| extent >= 0);
    let compiled = |entry: Entry, stack: *const i64| Code {
        run: body.map_or(Run::Compiled(entry), |body| Run::Body(body, purpose)),
        stack,
        reads_tensors: true,
        strides: None,
    };
    let whole = compiled(function.entry, function.entry_stack);
    match (purpose, function.shape) {
        // What runs instead of compiled code takes contiguous inputs.
        (Purpose::Results | Purpose::Kept, _)
            if body.is_some() || inputs.iter().all(|input| input.direct) =>
        {
            Some(whole)
        }
        (Purpose::Results | Purpose::Kept, _) => {
            let others = function.strided().iter().map(|strided| Code {
                strides: Some(strided.strides()),
                ..compiled(strided.entry, strided.entry_stack)
            });
            std::iter::once(whole).chain(others).min_by_key(|code| code.cost(inputs))
        }
        (Purpose::Shapes, Some(entry)) => {
            Some(Code { reads_tensors: false, ..compiled(entry, function.shape_stack) })
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
