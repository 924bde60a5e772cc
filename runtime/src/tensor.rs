//! A caller's tensor, checked against what a function takes or returns.

use std::fmt;

use crate::context::{Extents, byte_count};
use crate::error::RunError;
use crate::shape::Shape;
use promote_abi::{DLDataType, Status, TensorType};

/// A tensor in the caller's memory.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The first element (that of index 0 along every axis); may be null if there are no elements.
    pub data: *mut u8,
    /// The element type.
    pub dtype: DLDataType,
    /// The extents.
    pub shape: &'a [i64],
    /// Strides in elements; none: row-major.
    pub strides: Option<&'a [i64]>,
    /// Whether the memory is that of a device, which only the body of a function can read.
    pub is_on_device: bool,
}

/// Which tensor of a call a message is about.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The function's name.
    pub function: &'a str,
    /// `input` or `output`.
    pub role: &'static str,
    /// Which one, from 0.
    pub index: usize,
    /// What the function calls it.
    pub name: Option<&'a str>,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} {}", self.function, self.role, self.index)?;
        match self.name {
            Some(name) => write!(formatter, " ({name})"),
            None => Ok(()),
        }
    }
}

impl Subject<'_> {
    /// An error about this tensor.
    pub fn error(&self, status: Status, what: impl fmt::Display) -> RunError {
        RunError::new(status, format!("{self} {what}"))
    }

    /// Checks the rank of a tensor whose extents are not read yet: with another rank they may be no extents at all.
    pub fn check_rank(&self, expected: &TensorType, dtype: DLDataType, rank: i32) -> Result<(), RunError> {
        if rank == expected.rank {
            return Ok(());
        }
        let (must, pattern) = (expected.dtype(), Shape::pattern(expected.extents()));
        Err(if dtype == must {
            self.error(Status::Rank, format!("must be {must}{pattern}, but has rank {rank}"))
        } else {
            let is = format!("{dtype} of rank {rank}");
            self.error(Status::Dtype, format!("must be {must}{pattern}, but is {is}"))
        })
    }

    /// Checks a tensor against its metadata, and finds out how it lies in memory.
    pub fn check(&self, expected: &TensorType, view: &View<'_>) -> Result<Placed, RunError> {
        let dims = expected.extents();
        let (must, is) = (expected.dtype(), view.dtype);
        let found = Shape::of(view.shape);
        let differs = |(&must, &is): (&i64, &i64)| must != -1 && must != is;
        let status = if must != is {
            Status::Dtype
        } else if dims.len() != view.shape.len() {
            Status::Rank
        } else if dims.iter().zip(view.shape).any(differs) {
            Status::Shape
        } else {
            Status::Ok
        };
        if status != Status::Ok {
            let pattern = Shape::pattern(dims);
            return Err(self.error(status, format!("must be {must}{pattern}, but is {is}{found}")));
        }
        let bytes = byte_count(view.shape, is.size() as i64).map_err(|wrong| match wrong {
            Extents::Negative => self.error(Status::Shape, format!("has a negative extent: {is}{found}")),
            Extents::Overflow => self.error(Status::Shape, format!("is larger than any memory: {is}{found}")),
        })?;
        if bytes > 0 && view.data.is_null() {
            return Err(self.error(Status::Null, format!("has null data: {is}{found}")));
        }
        let wrong = |what: &str| {
            let strides = Shape::of(view.strides.unwrap_or(&[]));
            self.error(Status::Strides, format!("{what}: {is}{found} {strides}"))
        };
        let placed =
            Placed::new(view, bytes).ok_or_else(|| wrong("has strides that exceed the address space"))?;
        if view.is_on_device && !placed.in_order {
            let what =
                "is on a device, and must be row-major there, but has other strides; make it contiguous";
            return Err(wrong(what));
        }
        Ok(placed)
    }
}

/// How a tensor lies in memory.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The first element.
    pub data: *mut u8,
    /// Bytes of an element.
    pub size: usize,
    /// The extents.
    pub extents: Vec<usize>,
    /// Strides in bytes.
    pub strides: Vec<isize>,
    /// The lowest address in use.
    pub low: usize,
    /// The first address past those in use; equal to `low` without elements.
    pub high: usize,
    /// Whether the first element is aligned.
    pub is_aligned: bool,
    /// Whether it is row-major.
    pub in_order: bool,
    /// Whether it is row-major and each element aligned, so that compiled code may use it where it is.
    pub direct: bool,
}

impl Placed {
    /// None if the strides leave the address space. `bytes` is the size of the elements together.
    fn new(view: &View<'_>, bytes: usize) -> Option<Placed> {
        let size = view.dtype.size();
        let extents: Vec<usize> = view.shape.iter().map(|&extent| extent as usize).collect();
        if bytes == 0 {
            let strides = vec![0; extents.len()];
            let data = view.data;
            let (low, high, is_aligned, in_order, direct) = (0, 0, true, true, true);
            return Some(Placed { data, size, extents, strides, low, high, is_aligned, in_order, direct });
        }
        let contiguous = row_major(&extents, size);
        let strides = match view.strides {
            None => contiguous.clone(),
            Some(strides) => {
                let bytes = |&stride: &i64| isize::try_from(stride).ok()?.checked_mul(size as isize);
                strides.iter().map(bytes).collect::<Option<Vec<isize>>>()?
            }
        };
        let start = view.data as usize;
        let (mut low, mut high) = (start, start.checked_add(size)?);
        for (&extent, &stride) in extents.iter().zip(&strides) {
            let reach = stride.checked_mul(isize::try_from(extent - 1).ok()?)?;
            (low, high) = if reach < 0 {
                (low.checked_add_signed(reach)?, high)
            } else {
                (low, high.checked_add_signed(reach)?)
            };
        }
        let in_order = (extents.iter().zip(strides.iter().zip(&contiguous)))
            .all(|(&extent, (stride, contiguous))| extent == 1 || stride == contiguous);
        // A device has rules of its own, and what is at an address of its is not packed here.
        let is_aligned = view.is_on_device || start.is_multiple_of(view.dtype.align());
        let (data, direct) = (view.data, in_order && is_aligned);
        Some(Placed { data, size, extents, strides, low, high, is_aligned, in_order, direct })
    }

    /// Whether the two share memory, or may: their ranges of addresses meet.
    pub const fn meets(&self, other: &Placed) -> bool {
        self.low < other.high && other.low < self.high
    }

    /// Whether each element surely has a place of its own.
    pub fn is_injective(&self) -> bool {
        if self.low == self.high {
            return true;
        }
        let mut axes: Vec<(usize, usize)> = (self.extents.iter().zip(&self.strides))
            .filter(|&(&extent, _)| extent > 1)
            .map(|(&extent, stride)| (stride.unsigned_abs(), extent))
            .collect();
        axes.sort_unstable();
        let mut reach = self.size;
        axes.into_iter().all(|(stride, extent)| {
            let apart = stride >= reach;
            reach += stride * (extent - 1);
            apart
        })
    }
}

/// The strides in bytes of a row-major tensor with at least one element.
pub fn row_major(extents: &[usize], size: usize) -> Vec<isize> {
    let mut strides = vec![0; extents.len()];
    let mut stride = size as isize;
    for (place, &extent) in strides.iter_mut().zip(extents).rev() {
        *place = stride;
        stride *= extent as isize;
    }
    strides
}
