//! Tensors that compiled functions read and write.
//!
//! A [`Tensor`] owns its elements or borrows them from the caller, with any strides. A [`TensorMut`] is memory of the caller
//! that results are written to. Both say their [`DType`]; the elements are bytes, which [`Tensor::elements`] shows as Rust's
//! numbers where Rust has them.
//!
//! Elements narrower than a byte (`i4`, `f4e2m1fn`, …) take a byte each, in its low bits, as in `ml_dtypes`; bools are 0 or
//! 1; complex numbers are a real and an imaginary part.

use std::fmt;
use std::ptr::NonNull;

use promote_lattice::DType;
use promote_runtime::{DLManagedTensorVersioned, OutputView, OwnedTensor, TensorView};

use crate::dlpack;
pub use promote_runtime::{RunError, Status};

/// A tensor to read: an argument or a result.
#[derive(Debug)]
pub struct Tensor<'a> {
    dtype: DType,
    data: Data<'a>,
}

#[derive(Debug)]
enum Data<'a> {
    Owned(OwnedTensor),
    Borrowed { layout: Layout, bytes: &'a [u8] },
}

/// Memory of the caller that a result is written to.
#[derive(Debug)]
pub struct TensorMut<'a> {
    dtype: DType,
    layout: Layout,
    bytes: &'a mut [u8],
}

/// How a tensor lies in borrowed memory.
#[derive(Clone, Debug)]
struct Layout {
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    offset: usize,
}

/// Why there is no such tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The dtype is weak: elements in memory have a strong one.
    #[error("a tensor in memory cannot be of the weak dtype {0}")]
    Weak(DType),
    /// An extent is negative, or the elements together are larger than any memory.
    #[error("there is no tensor of shape {0:?}")]
    Shape(Vec<i64>),
    /// There are more or fewer elements than the shape says.
    #[error("{dtype} of shape {shape:?} has {expected} bytes, not {found}")]
    Size {
        /// The element type.
        dtype: DType,
        /// The extents.
        shape: Vec<i64>,
        /// Bytes that such a tensor has.
        expected: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// There are more or fewer strides than extents.
    #[error("there are {strides} strides for {rank} dimensions")]
    Strides {
        /// How many strides.
        strides: usize,
        /// How many extents.
        rank: usize,
    },
    /// Memory could not be had.
    #[error("{0}")]
    Memory(#[from] RunError),
}

impl Layout {
    fn row_major(dtype: DType, shape: &[i64], found: usize) -> Result<Layout, TensorError> {
        let expected = byte_count(dtype, shape)?;
        if expected != found {
            return Err(TensorError::Size { dtype, shape: shape.to_vec(), expected, found });
        }
        Ok(Layout { shape: shape.to_vec(), strides: None, offset: 0 })
    }

    fn strided(dtype: DType, shape: &[i64], strides: &[i64], offset: usize) -> Result<Layout, TensorError> {
        byte_count(dtype, shape)?;
        if strides.len() != shape.len() {
            return Err(TensorError::Strides { strides: strides.len(), rank: shape.len() });
        }
        Ok(Layout { shape: shape.to_vec(), strides: Some(strides.to_vec()), offset })
    }
}

/// Bytes of a row-major tensor.
pub(crate) fn byte_count(dtype: DType, shape: &[i64]) -> Result<usize, TensorError> {
    if dtype.is_weak() {
        return Err(TensorError::Weak(dtype));
    }
    let wrong = || TensorError::Shape(shape.to_vec());
    let extents = shape.iter().map(|&extent| usize::try_from(extent).map_err(|_| wrong()));
    let extents = extents.collect::<Result<Vec<usize>, _>>()?;
    if extents.contains(&0) {
        return Ok(0);
    }
    let bytes = extents.iter().try_fold(dlpack::size(dtype), |bytes, &extent| bytes.checked_mul(extent));
    bytes.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(wrong)
}

impl<'a> Tensor<'a> {
    /// A row-major tensor in memory of the caller.
    ///
    /// # Errors
    /// If the dtype is weak, or the bytes are not those of such a tensor.
    pub fn new(dtype: DType, shape: &[i64], bytes: &'a [u8]) -> Result<Tensor<'a>, TensorError> {
        let layout = Layout::row_major(dtype, shape, bytes.len())?;
        Ok(Tensor { dtype, data: Data::Borrowed { layout, bytes } })
    }

    /// A tensor in memory of the caller, with `strides` in elements; its first element is `offset` bytes past the start.
    /// Whether all elements lie in the memory is checked when it is used.
    ///
    /// # Errors
    /// If the dtype is weak, there is no such shape, or there are not as many strides as extents.
    pub fn strided(
        dtype: DType,
        shape: &[i64],
        strides: &[i64],
        bytes: &'a [u8],
        offset: usize,
    ) -> Result<Tensor<'a>, TensorError> {
        let layout = Layout::strided(dtype, shape, strides, offset)?;
        Ok(Tensor { dtype, data: Data::Borrowed { layout, bytes } })
    }

    /// A row-major tensor of Rust numbers, in memory of the caller.
    ///
    /// # Errors
    /// If there are not as many elements as the shape says.
    pub fn of<T: Element>(elements: &'a [T], shape: &[i64]) -> Result<Tensor<'a>, TensorError> {
        Tensor::new(T::DTYPE, shape, bytes_of(elements))
    }

    /// A tensor of zeros with memory of its own, to be filled by [`Tensor::bytes_mut`].
    ///
    /// # Errors
    /// If the dtype is weak, there is no such shape, or not enough memory.
    pub fn zeros(dtype: DType, shape: &[i64]) -> Result<Tensor<'static>, TensorError> {
        byte_count(dtype, shape)?;
        let tensor = OwnedTensor::zeros(dlpack::of(dtype), shape)?;
        Ok(Tensor { dtype, data: Data::Owned(tensor) })
    }

    /// A tensor without dimensions.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn scalar<T: Element>(value: T) -> Result<Tensor<'static>, TensorError> {
        let mut tensor = Tensor::zeros(T::DTYPE, &[])?;
        if let Some(bytes) = tensor.bytes_mut() {
            bytes.copy_from_slice(bytes_of(std::slice::from_ref(&value)));
        }
        Ok(tensor)
    }

    /// A result of the run time.
    pub(crate) const fn from_owned(dtype: DType, tensor: OwnedTensor) -> Tensor<'static> {
        Tensor { dtype, data: Data::Owned(tensor) }
    }

    /// The element type.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn shape(&self) -> &[i64] {
        match &self.data {
            Data::Owned(tensor) => tensor.shape(),
            Data::Borrowed { layout, .. } => &layout.shape,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        // The constructors have checked that the bytes can be counted.
        byte_count(self.dtype, self.shape()).unwrap_or(0) / dlpack::size(self.dtype)
    }

    /// Bytes of an element.
    pub const fn element_size(&self) -> usize {
        dlpack::size(self.dtype)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements in row-major order; none if they are strided in memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.data {
            Data::Owned(tensor) => Some(tensor.data()),
            Data::Borrowed { layout, bytes } => layout.strides.is_none().then_some(*bytes),
        }
    }

    /// The elements in row-major order, to change; none if they are borrowed.
    pub const fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.data {
            Data::Owned(tensor) => Some(tensor.data_mut()),
            Data::Borrowed { .. } => None,
        }
    }

    /// The elements as Rust's numbers, in row-major order; none if they are of another type, strided, or misaligned.
    pub fn elements<T: Element>(&self) -> Option<&[T]> {
        if T::DTYPE != self.dtype {
            return None;
        }
        // SAFETY: every pattern of bits is a `T`: `Element` is implemented for such types only.
        let (before, elements, after) = unsafe { self.bytes()?.align_to::<T>() };
        (before.is_empty() && after.is_empty()).then_some(elements)
    }

    /// A tensor with memory of its own as DLPack's, which whoever takes it frees by its `deleter`, on any thread.
    ///
    /// # Errors
    /// The tensor itself, if its elements are borrowed.
    pub fn into_managed(self) -> Result<NonNull<DLManagedTensorVersioned>, Self> {
        match self.data {
            Data::Owned(tensor) => Ok(tensor.into_managed()),
            Data::Borrowed { .. } => Err(self),
        }
    }

    /// The tensor as the run time reads it.
    pub(crate) fn view(&self) -> TensorView<'_> {
        match &self.data {
            Data::Owned(tensor) => tensor.view(),
            Data::Borrowed { layout, bytes } => TensorView {
                dtype: dlpack::of(self.dtype),
                shape: &layout.shape,
                strides: layout.strides.as_deref(),
                data: bytes,
                offset: layout.offset,
            },
        }
    }
}

impl<'a> TensorMut<'a> {
    /// A row-major tensor in memory of the caller.
    ///
    /// # Errors
    /// If the dtype is weak, or the bytes are not those of such a tensor.
    pub fn new(dtype: DType, shape: &[i64], bytes: &'a mut [u8]) -> Result<TensorMut<'a>, TensorError> {
        let layout = Layout::row_major(dtype, shape, bytes.len())?;
        Ok(TensorMut { dtype, layout, bytes })
    }

    /// A tensor in memory of the caller, as [`Tensor::strided`]. No two elements may lie in one place.
    ///
    /// # Errors
    /// As there.
    pub fn strided(
        dtype: DType,
        shape: &[i64],
        strides: &[i64],
        bytes: &'a mut [u8],
        offset: usize,
    ) -> Result<TensorMut<'a>, TensorError> {
        let layout = Layout::strided(dtype, shape, strides, offset)?;
        Ok(TensorMut { dtype, layout, bytes })
    }

    /// A row-major tensor of Rust numbers, in memory of the caller.
    ///
    /// # Errors
    /// If there are not as many elements as the shape says.
    pub fn of<T: Element>(elements: &'a mut [T], shape: &[i64]) -> Result<TensorMut<'a>, TensorError> {
        let length = size_of_val(elements);
        // SAFETY: the bytes are those of the elements, and every pattern of bits is a `T`.
        let bytes = unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), length) };
        TensorMut::new(T::DTYPE, shape, bytes)
    }

    /// The tensor as the run time writes it.
    pub(crate) fn view(&mut self) -> OutputView<'_> {
        OutputView {
            dtype: dlpack::of(self.dtype),
            shape: &self.layout.shape,
            strides: self.layout.strides.as_deref(),
            data: self.bytes,
            offset: self.layout.offset,
        }
    }
}

fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: elements have no padding: `Element` is implemented for such types only.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

mod sealed {
    pub trait Sealed {}
}

/// A type of Rust that is a dtype: a number, or a pair of floats for a complex number. (Rust's `bool` is none, for its bytes
/// may only be 0 and 1: bools are read and written as bytes.)
pub trait Element: Copy + fmt::Debug + sealed::Sealed {
    /// The dtype.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($element:ty => $dtype:ident),* $(,)?) => { $(
        impl sealed::Sealed for $element {}
        impl Element for $element { const DTYPE: DType = DType::$dtype; }
    )* };
}

// Without padding, and every pattern of bits is a value.
elements! {
    u8 => U8, u16 => U16, u32 => U32, u64 => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    f32 => F32, f64 => F64, [f32; 2] => C64, [f64; 2] => C128,
}
