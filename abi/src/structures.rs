//! The structures that compiled code, C callers and the run time share.

use std::ffi::{CStr, c_char, c_void};

use crate::dtype::extents;
use crate::functions::Entry;
use crate::kinds::{Declared, Kind, Kinded, Type, type_of};

/// A call in progress: only the run time knows what it is; compiled code passes the pointer on.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    _private: [u8; 0],
}

impl Declared for Context {
    fn declare(qualifier: &str, declarator: &str) -> String {
        format!("{qualifier}promote_rt_context {declarator}")
    }
}

/// A structure of the table.
pub trait Structure {
    /// What C calls it.
    const NAME: &'static str;
    /// What it is for, by lines.
    const DOCS: &'static [&'static str];
    /// Its fields, in order.
    const FIELDS: &'static [Field];
}

/// A field of a structure.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it is for, by lines.
    pub docs: &'static [&'static str],
    /// Its type.
    pub ty: Type,
    /// Bytes from the start of the structure.
    pub offset: usize,
}

macro_rules! structures {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $c_name:literal $(derive $($derive:ident)+)? {
            $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty $(as $c:literal)?,)*
        }
    )*) => {
        $(
            $(#[doc = $doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug $($(, $derive)+)?)]
            pub struct $name {
                $($(#[doc = $field_doc])* pub $field: $ty,)*
            }

            impl Structure for $name {
                const NAME: &'static str = $c_name;
                const DOCS: &'static [&'static str] = &[$($doc),*];
                const FIELDS: &'static [Field] = &[$(Field {
                    name: stringify!($field),
                    docs: &[$($field_doc),*],
                    ty: type_of!($ty $(, $c)?),
                    offset: std::mem::offset_of!($name, $field),
                }),*];
            }

            impl Kinded for $name {
                const KIND: Option<Kind> = None;
            }

            impl Declared for $name {
                fn declare(qualifier: &str, declarator: &str) -> String {
                    format!("{qualifier}{} {declarator}", $c_name)
                }
            }

            // Fields are where C and LLVM have them: each at the next multiple of its alignment. Compiled code has pointers of 64
            // bits; a compiler that is itself compiled for others, as WebAssembly's, never calls it.
            #[cfg(target_pointer_width = "64")]
            const _: () = {
                let mut end: usize = 0;
                $(
                    let start = end.next_multiple_of(align_of::<$ty>());
                    assert!(start == std::mem::offset_of!($name, $field));
                    if let Some(kind) = <$ty as Kinded>::KIND {
                        assert!(kind.size() == size_of::<$ty>() && kind.size() == align_of::<$ty>());
                    }
                    end = start + size_of::<$ty>();
                )*
                assert!(size_of::<$name>() == end.next_multiple_of(align_of::<$name>()));
            };
        )*

        /// What code generators write into the structures: a value for each field, whatever values are to them.
        pub mod fields {
            $(
                #[doc = concat!("Values for the fields of [`", stringify!($name), "`](super::", stringify!($name), ").")]
                #[derive(Clone, Copy, Debug)]
                pub struct $name<T> {
                    $($(#[doc = $field_doc])* pub $field: T,)*
                }

                impl<T> $name<T> {
                    /// The values in the order of the fields.
                    pub fn in_order(self) -> Vec<T> {
                        vec![$(self.$field),*]
                    }
                }
            )*
        }
    };
}

structures! {
    /// One argument as compiled code sees it: contiguous, row-major, unless code is called that takes strides.
    Input "promote_rt_input" {
        /// The elements. Aligned to an element; may dangle if there are none.
        data: *const u8,
        /// As many extents as the metadata's rank.
        dims: *const i64,
        /// As many strides, in elements; null if it is contiguous and row-major.
        strides: *const i64,
    }

    /// Code that computes the same of arguments that lie in memory in another order.
    ///
    /// An argument of two or more dimensions has its elements side by side along the dimension that comes `before` dimensions
    /// before the last, if it has that one, and strides along the others. Where `before` is -1, an argument of one or more
    /// dimensions has strides along all of them; where it is -2, one of two or more dimensions is contiguous with its dimensions in
    /// reverse order, and has no strides; -3 is like -1, for strides of any kind. Any other argument is contiguous and row-major.
    /// Of several dimensions, `dense` tells which lie one in another; code and run time are of one version.
    Strided "promote_rt_strided" {
        /// How many dimensions come after the one along which elements lie side by side; -1 if there is no such dimension, -2 if
        /// they are in reverse order, -3 if all that is read is moved, and the order is of no account.
        before: i64,
        /// Whether the others lie one in another, as those of a row-major tensor do: 0 or 1; 2 if those that come first, and the one along
        /// which elements lie side by side, are one piece of memory so, and only those that come after it have strides.
        dense: i64,
        /// The one argument that lies so, counted from 0, where all others are contiguous and row-major; -1 if all lie so.
        input: i64,
        /// The code.
        entry: Entry,
        /// Bytes of stack that `entry` takes, and the loops that it runs; null if that is not known.
        entry_stack: *const i64,
    }

    /// The dtype and shape of an argument or result.
    ///
    /// `code`, `bits` and `lanes` are DLPack's; `lanes` is 1. Elements narrower than a byte (`bits` < 8, as `int4` and
    /// `float4_e2m1fn`) are stored one in each byte, in its low bits.
    TensorType "promote_rt_tensor_type" {
        /// DLPack's type code.
        code: u8,
        /// Width of an element in bits; of both parts of a complex number.
        bits: u8,
        /// 1.
        lanes: u16,
        /// Number of extents.
        rank: i32,
        /// `rank` extents; -1 for one that is known only by running. May be null for rank 0.
        dims: *const i64,
        /// What messages call the argument; NUL-terminated, or null.
        name: *const c_char as "const char *",
    }

    /// What a compiled function takes and returns.
    Function "promote_rt_function" {
        /// What messages call the function, NUL-terminated: the name of its symbol.
        name: *const c_char as "const char *",
        /// Number of arguments.
        inputs: i32,
        /// Number of results.
        outputs: i32,
        /// As many types as arguments.
        input_types: *const TensorType,
        /// As many types as results.
        output_types: *const TensorType,
        /// The code.
        entry: Entry,
        /// Code that sets the results' shapes (by `promote_rt_shape`) without computing the results; none if they depend on
        /// values. Of its inputs it reads numbers without dimensions and the extents of others, whose data may be strided and misaligned.
        shape: Option<Entry>,
        /// Bytes of stack that `entry` takes, and the loops that it runs; null if that is not known.
        entry_stack: *const i64,
        /// The same of `shape`.
        shape_stack: *const i64,
        /// A bit for each of the first 63 arguments: whether `entry` takes it in any order in memory, reading it by `promote_rt_stage`
        /// alone.
        in_any_order: i64,
        /// Number of codes for arguments that lie in memory in another order.
        strided_count: i64,
        /// As many codes; may be null if there are none.
        strided: *const Strided,
    }

    /// An argument or result of a call by TVM-FFI's convention, as its library lays them out.
    TvmAny "promote_rt_any" {
        /// What it is: TVM-FFI's number of a type.
        type_index: i32,
        /// 0.
        padding: i32,
        /// A number, the bits of a float, or an address.
        value: i64,
    }

    /// Where a tensor is: DLPack's device.
    DLDevice "DLDevice" {
        /// DLPack's number of a kind of device; 1 is the CPU.
        device_type: i32,
        /// Which one of that kind.
        device_id: i32,
    }

    /// DLPack's data type.
    DLDataType "DLDataType" derive PartialEq Eq {
        /// The sort of number.
        code: u8,
        /// Width in bits; elements narrower than 8 bits take a byte each.
        bits: u8,
        /// Numbers an element: 1.
        lanes: u16,
    }

    /// DLPack's tensor.
    DLTensor "DLTensor" {
        /// Start of the memory; the first element is `byte_offset` past it.
        data: *mut c_void,
        /// Where the memory is.
        device: DLDevice,
        /// Number of extents.
        ndim: i32,
        /// The element type.
        dtype: DLDataType,
        /// `ndim` extents; may be null if there are none.
        shape: *mut i64,
        /// `ndim` strides in elements, or null: contiguous, row-major.
        strides: *mut i64,
        /// From `data` to the first element.
        byte_offset: u64,
    }
}

// SAFETY: a function is constant data and code that may run on any thread; nobody writes through its pointers.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    /// What messages call the function.
    pub fn display_name(&self) -> &str {
        // SAFETY: metadata have a NUL-terminated name, or none.
        unsafe { text(self.name) }.unwrap_or("the function")
    }

    /// The types of the arguments.
    pub fn input_types(&self) -> &[TensorType] {
        // SAFETY: metadata have that many.
        unsafe { types(self.input_types, self.inputs) }
    }

    /// The types of the results.
    pub fn output_types(&self) -> &[TensorType] {
        // SAFETY: metadata have that many.
        unsafe { types(self.output_types, self.outputs) }
    }

    /// The codes for arguments that lie in memory in another order.
    pub fn strided(&self) -> &[Strided] {
        match usize::try_from(self.strided_count) {
            // SAFETY: metadata have that many, which live as long as they do.
            Ok(count) if count > 0 && !self.strided.is_null() => unsafe {
                std::slice::from_raw_parts(self.strided, count)
            },
            _ => &[],
        }
    }
}

/// As many types as a pointer points to.
///
/// # Safety
/// The pointer is null or points to that many types, which live as long as they are used.
unsafe fn types<'a>(types: *const TensorType, count: i32) -> &'a [TensorType] {
    match usize::try_from(count) {
        // SAFETY: by contract.
        Ok(count) if count > 0 && !types.is_null() => unsafe { std::slice::from_raw_parts(types, count) },
        _ => &[],
    }
}

/// How the arguments of a code lie in memory: `promote_rt_strided`'s fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Strides {
    /// How the elements of an argument lie.
    pub elements: Placement,
    /// The one argument whose elements lie so, where all others are contiguous and row-major; all lie so if there is none.
    pub input: Option<usize>,
}

/// How the elements of an argument with strides lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// Side by side along a dimension.
    SideBySide {
        /// How many dimensions come after it.
        before: usize,
        /// Whether the other dimensions lie one in another, as those of a row-major tensor do: they have the stride of the last of
        /// them alone.
        is_dense: bool,
    },
    /// Side by side along a dimension, in pieces of memory that hold the dimensions that come first, up to that one, as a row-major tensor
    /// does; with strides along those that come after it.
    InPieces {
        /// How many dimensions come after it.
        before: usize,
    },
    /// Apart along all dimensions.
    Apart,
    /// Contiguous, with the dimensions in reverse order, as in Fortran.
    Reversed,
    /// In any order: the code only moves them, which takes as long as packing them, or takes a few of many.
    Anyhow,
}

/// How an argument lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Contiguous and row-major.
    RowMajor,
    /// With its elements side by side along a dimension, and strides along the others.
    Along(usize),
    /// The same, but that the dimensions up to that one are one piece of memory, as of a row-major tensor.
    InPieces(usize),
    /// With strides along all dimensions.
    Apart,
    /// Contiguous, with the dimensions in reverse order.
    Reversed,
}

impl Layout {
    /// The dimensions of an argument that has so many, in the order in which they lie, as far as that is known: the outermost first.
    pub fn order(self, rank: usize) -> Vec<usize> {
        match self {
            Self::RowMajor | Self::Apart => (0..rank).collect(),
            Self::Along(along) => (0..rank).filter(|axis| *axis != along).chain([along]).collect(),
            Self::InPieces(along) => (along + 1..rank).chain(0..=along).collect(),
            Self::Reversed => (0..rank).rev().collect(),
        }
    }
}

impl Strides {
    /// How an argument lies, given its number and how many dimensions it has.
    pub fn layout(self, input: usize, rank: usize) -> Layout {
        if self.input.is_some_and(|only| only != input) {
            return Layout::RowMajor;
        }
        match self.elements {
            Placement::SideBySide { before, is_dense: _ } if rank >= 2 && before < rank => {
                Layout::Along(rank - before - 1)
            }
            Placement::InPieces { before } if rank >= 2 && before < rank => {
                Layout::InPieces(rank - before - 1)
            }
            Placement::SideBySide { .. } | Placement::InPieces { .. } => Layout::RowMajor,
            Placement::Apart | Placement::Anyhow if rank > 0 => Layout::Apart,
            Placement::Apart | Placement::Anyhow => Layout::RowMajor,
            Placement::Reversed if rank >= 2 => Layout::Reversed,
            Placement::Reversed => Layout::RowMajor,
        }
    }
}

/// The fewest elements side by side along a dimension, but for the last one, of an argument of so many dimensions that are read where they
/// are, unless code was made for fewer: beginning with each of many shorter runs takes longer than packing them. Of two dimensions memory
/// is read along the one or the other as far as it goes.
pub const fn shortest_run(rank: usize) -> usize {
    if rank == 2 { 8 } else { 16 }
}

/// How many arguments [`Function::in_any_order`] has a bit for.
pub const MOST_IN_ANY_ORDER: usize = 63;

/// What [`Strided`] has in the place of a number of dimensions for [`Placement::Reversed`].
pub const REVERSED: i64 = -2;

/// What it has in the place of whether the others are dense for [`Placement::InPieces`].
pub const IN_PIECES: i64 = 2;

/// What it has in the place of a number of dimensions for [`Placement::Anyhow`].
pub const ANYHOW: i64 = -3;

impl Strided {
    /// How the arguments lie.
    pub fn strides(&self) -> Strides {
        let number = |field: i64| usize::try_from(field).ok();
        let side_by_side = |before| match self.dense {
            IN_PIECES => Placement::InPieces { before },
            dense => Placement::SideBySide { before, is_dense: dense != 0 },
        };
        let elements = match number(self.before) {
            Some(before) => side_by_side(before),
            None if self.before == REVERSED => Placement::Reversed,
            None if self.before == ANYHOW => Placement::Anyhow,
            None => Placement::Apart,
        };
        Strides { elements, input: number(self.input) }
    }
}

impl TensorType {
    /// The extents; -1 for one that is known only by running.
    pub fn extents(&self) -> &[i64] {
        // SAFETY: metadata have as many extents as their rank.
        unsafe { extents(self.dims, self.rank) }
    }

    /// The element type.
    pub const fn dtype(&self) -> DLDataType {
        DLDataType { code: self.code, bits: self.bits, lanes: self.lanes }
    }
}

/// The text that a pointer points to; none if it is null or not UTF-8.
///
/// # Safety
/// The text is null or NUL-terminated, and lives as long as it is used.
pub unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    // SAFETY: by contract.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().ok()).flatten()
}
