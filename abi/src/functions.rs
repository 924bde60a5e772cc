//! The functions: names, parameters and results.

use std::ffi::{c_char, c_void};

use crate::kinds::{Declared, Kind, Kinded, Type, type_of};
use crate::structures::{Context, DLTensor, Function, Input, TvmAny};

/// A compiled function: 0 if it succeeded; else the context holds a message or a trap.
pub type Entry = unsafe extern "C" fn(context: *mut Context, inputs: *const Input) -> i32;

/// The body of a loop that threads share: the indices from `begin` to below `end`.
pub type Body = extern "C" fn(env: *mut u8, begin: i64, end: i64);

macro_rules! callbacks {
    ($($ty:ty: $c:literal;)*) => {
        $(
            impl Kinded for $ty {
                const KIND: Option<Kind> = Some(Kind::Pointer);
            }

            impl Declared for $ty {
                fn declare(qualifier: &str, declarator: &str) -> String {
                    format!("{} *{qualifier}{declarator}", $c)
                }
            }
        )*
    };
}

callbacks! {
    Entry: "promote_rt_entry";
    Option<Entry>: "promote_rt_entry";
    Body: "promote_rt_body";
}

/// A function of the table.
#[derive(Clone, Copy, Debug)]
pub struct Prototype {
    /// Its symbol.
    pub name: &'static str,
    /// What it is for, by lines.
    pub docs: &'static [&'static str],
    /// What it takes.
    pub parameters: &'static [Parameter],
    /// What it returns.
    pub result: Option<Type>,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: Type,
}

macro_rules! functions {
    ($(
        $(#[doc = $group_doc:literal])*
        $group:ident {
            $(
                $(#[doc = $doc:literal])*
                $variant:ident = $name:ident($($parameter:ident: $ty:ty),* $(,)?)
                    $(-> $result:ty $(as $c:literal)?)?;
            )*
        }
    )*) => {
        $(
            $(#[doc = $group_doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum $group {
                $($(#[doc = $doc])* $variant,)*
            }

            impl $group {
                /// All of them.
                pub const ALL: &'static [$group] = &[$($group::$variant),*];

                /// The row of the table.
                pub const fn prototype(self) -> &'static Prototype {
                    match self {
                        $($group::$variant => &const { Prototype {
                            name: stringify!($name),
                            docs: &[$($doc),*],
                            parameters: &[$(Parameter { name: stringify!($parameter), ty: type_of!($ty) }),*],
                            result: functions!(@result $($result $(, $c)?)?),
                        } },)*
                    }
                }

                /// The symbol.
                pub const fn name(self) -> &'static str {
                    self.prototype().name
                }
            }
        )*

        /// All functions of the table.
        pub fn prototypes() -> Vec<&'static Prototype> {
            vec![$($($group::$variant.prototype()),*),*]
        }

        /// The functions as a run time has them. A field that is left out, or whose function has another signature, does not
        /// compile.
        #[derive(Clone, Copy, Debug)]
        pub struct Exports {
            $($($(#[doc = $doc])* pub $name: unsafe extern "C" fn($($ty),*) $(-> $result)?,)*)*
        }

        impl Exports {
            /// Symbols, and where they are.
            pub fn addresses(&self) -> Vec<(&'static str, *const c_void)> {
                vec![$($((stringify!($name), self.$name as *const c_void)),*),*]
            }
        }
    };
    (@result) => { None };
    (@result $result:ty $(, $c:literal)?) => { Some(type_of!($result $(, $c)?)) };
}

functions! {
    /// The functions that compiled code calls.
    Runtime {
        /// A buffer for a row-major tensor of that shape, with one owner, aligned to 64 bytes; null, with an error kept in the
        /// context, if there is none. Shapes without elements have a buffer too. Contents are arbitrary.
        New = promote_rt_new(context: *mut Context, rank: i64, dims: *const i64, element_size: i64) -> *mut u8;
        /// Adds an owner to a buffer of `promote_rt_new`. Null does nothing.
        Retain = promote_rt_retain(owner: *mut u8);
        /// Takes an owner from a buffer of `promote_rt_new`, and frees it after the last. Null does nothing.
        Release = promote_rt_release(context: *mut Context, owner: *mut u8);
        /// Where output `index` must be written, row-major, given its extents; null, with an error kept in the context, if the
        /// caller's tensor has another shape or there is no memory. Not reference-counted.
        Output = promote_rt_output(context: *mut Context, index: i64, dims: *const i64) -> *mut u8;
        /// Sets the extents of output `index`; called by code that computes shapes.
        Shape = promote_rt_shape(context: *mut Context, index: i64, dims: *const i64);
        /// Runs `body(env, begin, end)` over ranges that together cover 0 to below `count`, possibly on several threads at once.
        /// Ranges start at multiples of `grain` and are at least that long, except a single one; inside a parallel body
        /// everything is one range.
        Parallel = promote_rt_parallel(context: *mut Context, body: Body, env: *mut u8, count: i64, grain: i64);
        /// The same, in ranges that start and end anywhere, for a body that reads inputs of the call in the order of row-major
        /// memory. Those of them that lie in another order are copied as they are read, and the body finds the address of such a
        /// copy in its environment, as if all of the input lay around it. `order` points to the number of words in the environment,
        /// of units that read a row one after the other, of elements that each of them reads, and of elements of a row; to a
        /// number of inputs; and, for each, to its place in the environment and its number. Of a row, the last units may read
        /// fewer elements, or none.
        Stage = promote_rt_stage(
            context: *mut Context,
            body: Body,
            env: *mut u8,
            count: i64,
            grain: i64,
            order: *const i64,
        );
        /// How many threads a loop that starts here is spread over, at most.
        Threads = promote_rt_threads() -> i64;
        /// A function of the program calls another, which takes `need` bytes of stack: 0 if that may be, else the code returns
        /// non-zero, and an error is kept. `place` describes the op that calls, in `length` bytes;
        /// null if that is not known.
        Enter = promote_rt_enter(context: *mut Context, need: i64, place: *const u8, length: i64) -> i32;
        /// A function of the program returns to another.
        Leave = promote_rt_leave(context: *mut Context);
        /// A check made while running did not hold: keeps the message, of `length` bytes, unless there is one. The code then
        /// returns non-zero.
        Fail = promote_rt_fail(context: *mut Context, message: *const u8, length: i64);
        /// Notes that something happened which the semantics refuse, unless something has; `code` is a number of `Trap`. The call
        /// fails even if its entry returns 0. `place` describes the op, in `length` bytes; null if that is not
        /// known.
        Trap = promote_rt_trap(context: *mut Context, code: i32, place: *const u8, length: i64);
        /// The first trap of the call, or 0.
        Trapped = promote_rt_trapped(context: *mut Context) -> i32;
        /// Sorts a contiguous `[outer, extent, inner]` array in place along its middle axis, ascending and stable, NaNs last;
        /// `kind` is a number of `SortKind`.
        Sort = promote_rt_sort(context: *mut Context, kind: i32, data: *mut u8, outer: i64, extent: i64, inner: i64);
        /// Copies the elements of a tensor, of `element_size` bytes each, to one that shares no memory with it. Strides are in
        /// elements; those of `from` may be zero or negative.
        Copy = promote_rt_copy(
            context: *mut Context,
            rank: i64,
            dims: *const i64,
            element_size: i64,
            to: *mut u8,
            to_strides: *const i64,
            from: *const u8,
            from_strides: *const i64,
        );
        /// Runs a compiled function on DLPack tensors in CPU memory, and returns a status.
        Call = promote_rt_call(
            function: *const Function,
            inputs: *const *const DLTensor,
            outputs: *const *mut DLTensor,
        ) -> i32;
        /// Fills dtype, `ndim` and shape of each output that a call would need for these inputs, and returns a status.
        Shapes = promote_rt_shapes(
            function: *const Function,
            inputs: *const *const DLTensor,
            outputs: *const *mut DLTensor,
        ) -> i32;
        /// Runs a compiled function on `count` arguments by TVM-FFI's convention; 0, or -1 and an error that TVM-FFI's library
        /// has been told.
        Tvm = promote_rt_tvm(
            function: *const Function,
            args: *const TvmAny,
            count: i32,
            result: *mut TvmAny,
        ) -> i32;
    }

    /// The functions that every library shows beside those of its program.
    Library {
        /// The message of this thread's last call that returned an error; empty if it succeeded. Valid until the next call.
        LastError = promote_last_error() -> *const c_char as "const char *";
        /// Spreads loops over that many threads, the caller's included; 0: as many as the environment's PROMOTE_NUM_THREADS
        /// says, or as there are processors.
        SetNumThreads = promote_set_num_threads(number: i32);
        /// How many threads loops are spread over.
        GetNumThreads = promote_get_num_threads() -> i32;
        /// Whether calls treat denormal numbers as zero; else that is as their caller has it.
        SetFlushDenormals = promote_set_flush_denormals(flush: bool);
    }

    /// The functions that LLVM calls for what a processor lacks, and that not every compiler's library has.
    Builtin {
        /// Single precision to bfloat16, which is returned where a float is.
        TruncateF32 = __truncsfbf2(value: f32) -> f32;
        /// Double precision to bfloat16, rounded once, which is returned where a float is.
        TruncateF64 = __truncdfbf2(value: f64) -> f32;
    }
}
