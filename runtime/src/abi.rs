//! The types that compiled code, C callers and this crate share: their layout is the interface.

use std::ffi::{c_char, c_void};

use crate::context::Context;

/// One argument as compiled code sees it: contiguous, row-major.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// The elements. Aligned to an element; may dangle if there are none.
    pub data: *const u8,
    /// As many extents as the metadata's rank.
    pub dims: *const i64,
}

/// A compiled function: 0 if it succeeded; else the context holds a message or a trap.
pub type Entry = unsafe extern "C" fn(context: *mut Context, inputs: *const Input) -> i32;

/// The dtype and shape of an argument or result.
///
/// `code`, `bits` and `lanes` are DLPack's; `lanes` is 1. Elements narrower than a byte (`bits` < 8, as `int4` and
/// `float4_e2m1fn`) are stored one in each byte, in its low bits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TensorType {
    /// DLPack's type code.
    pub code: u8,
    /// Width of an element in bits; of both parts of a complex number.
    pub bits: u8,
    /// 1.
    pub lanes: u16,
    /// Number of extents.
    pub rank: i32,
    /// `rank` extents; -1 for one that is known only by running. May be null for rank 0.
    pub dims: *const i64,
    /// What messages call the argument; NUL-terminated, or null.
    pub name: *const c_char,
}

/// What a compiled function takes and returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// What messages call the function, NUL-terminated: the name of its symbol.
    pub name: *const c_char,
    /// Number of arguments.
    pub inputs: i32,
    /// Number of results.
    pub outputs: i32,
    /// As many types as arguments.
    pub input_types: *const TensorType,
    /// As many types as results.
    pub output_types: *const TensorType,
    /// The code.
    pub entry: Entry,
    /// Code that tells the results' shapes (by `promote_rt_shape`) without computing them; none if only a run can tell. Of its
    /// inputs it reads numbers without dimensions and the extents of others, whose data may be strided and misaligned.
    pub shape: Option<Entry>,
    /// Bytes of stack that `entry` takes, and the loops that it runs; null if that is not known.
    pub entry_stack: *const i64,
    /// The same of `shape`.
    pub shape_stack: *const i64,
}

// SAFETY: a function is constant data and code that may run on any thread; nobody writes through its pointers.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// Where a tensor is: DLPack's device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLDevice {
    /// DLPack's number of a kind of device; 1 is the CPU.
    pub device_type: i32,
    /// Which one of that kind.
    pub device_id: i32,
}

/// DLPack's data type.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// The sort of number.
    pub code: u8,
    /// Width in bits.
    pub bits: u8,
    /// Numbers an element.
    pub lanes: u16,
}

/// DLPack's tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// Start of the memory; the first element is `byte_offset` past it.
    pub data: *mut c_void,
    /// Where the memory is.
    pub device: DLDevice,
    /// Number of extents.
    pub ndim: i32,
    /// The element type.
    pub dtype: DLDataType,
    /// `ndim` extents; may be null if there are none.
    pub shape: *mut i64,
    /// `ndim` strides in elements, or null: contiguous, row-major.
    pub strides: *mut i64,
    /// From `data` to the first element.
    pub byte_offset: u64,
}

macro_rules! statuses {
    ($($(#[$doc:meta])* $variant:ident $name:literal = $code:literal,)*) => {
        /// How a call ended: what functions of the C interface return.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Status { $($(#[$doc])* $variant = $code,)* }

        impl Status {
            /// All of them, in order of their numbers.
            pub const ALL: &'static [Status] = &[$(Status::$variant),*];

            /// The name in the C header.
            pub const fn name(self) -> &'static str { match self { $(Status::$variant => $name,)* } }
        }
    };
}

statuses! {
    /// It succeeded.
    Ok "PROMOTE_OK" = 0,
    /// A pointer that must not be null is.
    Null "PROMOTE_NULL" = 1,
    /// A tensor is not in CPU memory.
    Device "PROMOTE_DEVICE" = 2,
    /// A tensor has another dtype than the function takes or gives.
    Dtype "PROMOTE_DTYPE" = 3,
    /// A tensor has another number of dimensions.
    Rank "PROMOTE_RANK" = 4,
    /// A tensor has another shape, a negative extent, or more elements than memory.
    Shape "PROMOTE_SHAPE" = 5,
    /// The strides of an output put several elements in one place, or the strides of a tensor leave the address space.
    Strides "PROMOTE_STRIDES" = 6,
    /// Memory could not be had.
    Memory "PROMOTE_MEMORY" = 7,
    /// A check made while running did not hold, for example that two extents agree.
    Check "PROMOTE_CHECK" = 8,
    /// An integer was divided by zero where the semantics refuse that.
    Division "PROMOTE_DIVISION" = 9,
    /// An integer was raised to a negative power.
    NegativePower "PROMOTE_NEGATIVE_POWER" = 10,
    /// An index was out of range where the semantics refuse that.
    Index "PROMOTE_INDEX" = 11,
    /// A fault of compiled code or of this library.
    Internal "PROMOTE_INTERNAL" = 12,
}

const _: () = {
    assert!(size_of::<Input>() == 16 && size_of::<TensorType>() == 24 && size_of::<Function>() == 64);
    assert!(std::mem::offset_of!(TensorType, rank) == 4 && std::mem::offset_of!(TensorType, dims) == 8);
    assert!(std::mem::offset_of!(Function, input_types) == 16 && std::mem::offset_of!(Function, entry) == 32);
    assert!(
        std::mem::offset_of!(Function, entry_stack) == 48
            && std::mem::offset_of!(Function, shape_stack) == 56
    );
    assert!(size_of::<DLTensor>() == 48 && std::mem::offset_of!(DLTensor, shape) == 24);
};
