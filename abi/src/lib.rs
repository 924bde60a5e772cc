//! The interface between compiled code, those who call it, and the run time: one table, from which everything else that
//! spells the interface is made.
//!
//! | of the table | what is made from it |
//! |---|---|
//! | [functions](Runtime) | the signatures that the run time's exports must have ([`Exports`]), declarations in MLIR, the symbols that a loader defines, the linker's lists, names that functions of programs must not have, prototypes in C |
//! | [structures](Structure) | the structures in Rust, the constants that code generators write ([`fields`]), declarations in C |
//! | [numbers](Status) | enumerations in Rust and C |
//!
//! To add a function, add its row and define it in the run time; nothing else needs to know of it. What the run time lacks or
//! defines otherwise, and a call of what is not in the table, does not compile.
//!
//! This crate uses the standard library only, as does the run time, which is also compiled by `rustc` alone.
//!
//! # Laws
//! - Integers of 32 bits are the only values shorter than a register that compiled code passes or gets: a code generator extends
//!   them where the calling convention of C wants that.
//! - Structures have their fields in order, each at the next multiple of its size: the layout of C and of LLVM on every machine
//!   with pointers of 64 bits.

pub mod c;
mod dtype;
mod functions;
mod kinds;
mod numbers;
mod structures;

pub use dtype::extents;
pub use functions::{Body, Builtin, Entry, Exports, Library, Parameter, Prototype, Runtime, prototypes};
pub use kinds::{Declared, Kind, Kinded, Type};
pub use numbers::{SortKind, Status, Trap, TypeCode};
pub use structures::{
    ANYHOW, Context, DLDataType, DLDevice, DLTensor, Field, Function, IN_PIECES, Input, Layout,
    MOST_IN_ANY_ORDER, Placement, REVERSED, Strided, Strides, Structure, TensorType, TvmAny, fields,
    shortest_run, text,
};
