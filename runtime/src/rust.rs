//! Calling compiled functions from Rust: on slices, without pointers.

use std::fmt;
use std::ptr::NonNull;

use crate::buffer::{self, Header, Refusal};
use crate::call::{Body, Purpose, Results, invoke};
use crate::context::{Extents, Output, byte_count};
use crate::error::RunError;
use crate::shape::Shape;
use crate::tensor::View;
use promote_abi::{DLDataType, Function, Status, TensorType};

/// A compiled function that can be called, from any thread.
#[derive(Clone, Copy)]
pub struct Callable<'a> {
    pub(crate) function: &'a Function,
    pub(crate) body: Option<&'a dyn Body>,
}

/// A tensor to read.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    /// The element type.
    pub dtype: DLDataType,
    /// The extents.
    pub shape: &'a [i64],
    /// Strides in elements; none: row-major.
    pub strides: Option<&'a [i64]>,
    /// The memory.
    pub data: &'a [u8],
    /// Where in the memory the first element is, in bytes.
    pub offset: usize,
}

/// A tensor to write.
#[derive(Debug)]
pub struct OutputView<'a> {
    /// The element type.
    pub dtype: DLDataType,
    /// The extents.
    pub shape: &'a [i64],
    /// Strides in elements; none: row-major.
    pub strides: Option<&'a [i64]>,
    /// The memory.
    pub data: &'a mut [u8],
    /// Where in the memory the first element is, in bytes.
    pub offset: usize,
}

/// A result, row-major, in memory aligned to 64 bytes.
pub struct OwnedTensor {
    dtype: DLDataType,
    shape: Vec<i64>,
    bytes: usize,
    block: NonNull<Header>,
}

// SAFETY: the tensor owns its buffer.
unsafe impl Send for OwnedTensor {}
// SAFETY: as above; it changes only through a mutable reference.
unsafe impl Sync for OwnedTensor {}

impl<'a> TensorView<'a> {
    /// A row-major tensor.
    pub const fn new(dtype: DLDataType, shape: &'a [i64], data: &'a [u8]) -> TensorView<'a> {
        TensorView { dtype, shape, strides: None, data, offset: 0 }
    }
}

impl<'a> OutputView<'a> {
    /// A row-major tensor.
    pub const fn new(dtype: DLDataType, shape: &'a [i64], data: &'a mut [u8]) -> OutputView<'a> {
        OutputView { dtype, shape, strides: None, data, offset: 0 }
    }
}

impl OwnedTensor {
    /// A tensor of zeros.
    ///
    /// # Errors
    /// If the shape has a negative extent, or is larger than the memory that is left.
    pub fn zeros(dtype: DLDataType, shape: &[i64]) -> Result<OwnedTensor, RunError> {
        let is = Shape::of(shape);
        let bytes = byte_count(shape, dtype.size() as i64).map_err(|wrong| match wrong {
            Extents::Negative => RunError::new(Status::Shape, format!("{dtype}{is} has a negative extent")),
            Extents::Overflow => {
                RunError::new(Status::Shape, format!("{dtype}{is} is larger than any memory"))
            }
        })?;
        let block = buffer::allocate(bytes).map_err(|refusal| {
            let why = match refusal {
                Refusal::TooLarge => "is larger than the memory of this machine",
                Refusal::Exhausted => "does not fit in the available memory",
            };
            RunError::new(Status::Memory, format!("{dtype}{is} {why}"))
        })?;
        // SAFETY: the buffer has that many bytes, and is nobody else's.
        unsafe { buffer::data(block).write_bytes(0, bytes) };
        Ok(OwnedTensor { dtype, shape: shape.to_vec(), bytes, block })
    }

    fn new(mut output: Output) -> Option<OwnedTensor> {
        let block = output.buffer.take()?;
        let (dtype, shape) = (output.expected.dtype(), output.dims.take()?);
        let bytes = shape.iter().product::<i64>() as usize * dtype.size();
        Some(OwnedTensor { dtype, shape, bytes, block })
    }

    /// The element type.
    pub const fn dtype(&self) -> DLDataType {
        self.dtype
    }

    /// The extents.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The elements.
    pub const fn data(&self) -> &[u8] {
        // SAFETY: the buffer has that many bytes, and compiled code has written them.
        unsafe { std::slice::from_raw_parts(buffer::data(self.block), self.bytes) }
    }

    /// The elements, to change.
    pub const fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the reference is unique.
        unsafe { std::slice::from_raw_parts_mut(buffer::data(self.block), self.bytes) }
    }

    /// The tensor as an input of another call.
    pub fn view(&self) -> TensorView<'_> {
        TensorView::new(self.dtype, &self.shape, self.data())
    }
}

impl fmt::Debug for OwnedTensor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "OwnedTensor({}{:?})", self.dtype, self.shape)
    }
}

impl Drop for OwnedTensor {
    fn drop(&mut self) {
        // SAFETY: the tensor owns its buffer.
        unsafe { buffer::free(self.block) };
    }
}

impl<'a> Callable<'a> {
    /// A function, to be called.
    ///
    /// # Safety
    /// `function` is the metadata of a compiled function: its pointers are as its documentation says, its code reads inputs
    /// and writes outputs of exactly the types it tells, and both live as long as `'a`.
    pub const unsafe fn new(function: &'a Function) -> Callable<'a> {
        Callable { function, body: None }
    }

    /// A function that is run by other means than its code.
    ///
    /// # Safety
    /// `function` is the metadata of a function: its pointers are as its documentation says, and live as long as `'a`. Its code is
    /// not run.
    pub const unsafe fn of_body(function: &'a Function, body: &'a dyn Body) -> Callable<'a> {
        Callable { function, body: Some(body) }
    }

    /// What messages call the function.
    pub fn name(&self) -> &'a str {
        self.function.display_name()
    }

    /// The types of the arguments.
    pub fn inputs(&self) -> &'a [TensorType] {
        self.function.input_types()
    }

    /// The types of the results.
    pub fn outputs(&self) -> &'a [TensorType] {
        self.function.output_types()
    }

    /// Runs the function; the results are in memory of their own.
    ///
    /// # Errors
    /// If the inputs are not what the function takes, or if it fails.
    pub fn run(&self, inputs: &[TensorView<'_>]) -> Result<Vec<OwnedTensor>, RunError> {
        let inputs = self.views(inputs)?;
        let none: Vec<Option<View<'_>>> = self.outputs().iter().map(|_| None).collect();
        // SAFETY: the function is what it says, and the views lie in their slices.
        let outputs = unsafe { invoke((self.function, self.body), Purpose::Results, &inputs, &none) }?;
        self.owned(outputs)
    }

    /// The outputs of a call, which have a buffer each.
    pub(crate) fn owned(&self, outputs: Vec<Output>) -> Result<Vec<OwnedTensor>, RunError> {
        outputs.into_iter().map(|output| OwnedTensor::new(output).ok_or_else(|| self.no_buffer())).collect()
    }

    /// Runs the function; the results are written to `outputs`, which hold arbitrary elements after an error.
    ///
    /// # Errors
    /// If the inputs are not what the function takes, the outputs not what it returns, or if it fails.
    pub fn run_into(
        &self,
        inputs: &[TensorView<'_>],
        outputs: &mut [OutputView<'_>],
    ) -> Result<(), RunError> {
        let inputs = self.views(inputs)?;
        let targets = (outputs.iter_mut().enumerate())
            .map(|(index, output)| {
                let OutputView { dtype, shape, strides, ref mut data, offset } = *output;
                let memory = Memory { start: data.as_mut_ptr(), length: data.len(), offset };
                self.view("output", index, memory, (dtype, shape, strides)).map(Some)
            })
            .collect::<Result<Vec<_>, _>>()?;
        // SAFETY: as above.
        unsafe { invoke((self.function, self.body), Purpose::Results, &inputs, &targets) }?;
        Ok(())
    }

    /// The shapes that the results would have for these inputs. Where they depend on values, the function is run.
    ///
    /// # Errors
    /// As [`Callable::run`].
    pub fn shapes(&self, inputs: &[TensorView<'_>]) -> Result<Vec<Vec<i64>>, RunError> {
        let inputs = self.views(inputs)?;
        let none: Vec<Option<View<'_>>> = self.outputs().iter().map(|_| None).collect();
        // SAFETY: as above.
        let outputs = unsafe { invoke((self.function, self.body), Purpose::Shapes, &inputs, &none) }?;
        Ok(Results(outputs).dims())
    }

    fn no_buffer(&self) -> RunError {
        RunError::new(Status::Internal, format!("{}: a result has no buffer", self.name()))
    }

    fn views<'v>(&self, inputs: &[TensorView<'v>]) -> Result<Vec<View<'v>>, RunError> {
        (inputs.iter().enumerate())
            .map(|(index, &TensorView { dtype, shape, strides, data, offset })| {
                let memory = Memory { start: data.as_ptr().cast_mut(), length: data.len(), offset };
                self.view("input", index, memory, (dtype, shape, strides))
            })
            .collect()
    }

    /// A view, if all its elements lie in its memory.
    fn view<'v>(
        &self,
        role: &str,
        index: usize,
        memory: Memory,
        (dtype, shape, strides): (DLDataType, &'v [i64], Option<&'v [i64]>),
    ) -> Result<View<'v>, RunError> {
        let error =
            |status, what: &str| RunError::new(status, format!("{}: {role} {index} {what}", self.name()));
        if strides.is_some_and(|strides| strides.len() != shape.len()) {
            return Err(error(Status::Strides, "has a different number of strides than of extents"));
        }
        if !memory.holds(dtype.size(), shape, strides) {
            return Err(error(Status::Shape, "reaches beyond its memory"));
        }
        let data = memory.start.wrapping_add(memory.offset);
        Ok(View { data, dtype, shape, strides, is_on_device: false })
    }
}

/// A slice's memory, and where in it a tensor starts.
struct Memory {
    start: *mut u8,
    length: usize,
    offset: usize,
}

impl Memory {
    /// Whether all elements lie in it. Negative extents do: they are refused later, with more to say.
    fn holds(&self, size: usize, shape: &[i64], strides: Option<&[i64]>) -> bool {
        if shape.iter().any(|&extent| extent <= 0) {
            return true;
        }
        let (mut low, mut high) = (self.offset as i128, self.offset as i128 + size as i128);
        let mut row_major = size as i128;
        for axis in (0..shape.len()).rev() {
            let steps = i128::from(shape[axis] - 1);
            let stride = strides.map_or(row_major, |strides| i128::from(strides[axis]) * size as i128);
            let reach = steps.saturating_mul(stride);
            if reach < 0 {
                low = low.saturating_add(reach)
            } else {
                high = high.saturating_add(reach)
            }
            row_major = row_major.saturating_mul(i128::from(shape[axis]));
        }
        low >= 0 && high <= self.length as i128
    }
}
