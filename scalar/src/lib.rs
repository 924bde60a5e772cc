//! What each op of the dialect computes of one element, written once for every target.
//!
//! An element-wise definition is a function over a code generator, [`Emit`]: it asks for machine instructions and gets
//! values back. A lowering implements [`Emit`] for its IR, with as many lanes a value as it likes, and so computes the same
//! bits as every other one; [`eval`] implements it for numbers, so definitions are tested without any compiler.
//!
//! Elements live in registers: see [`register`] for what holds an element of a dtype between ops.

mod build;
mod convert;
pub mod emit;
pub mod eval;
pub mod math;
mod ops;
mod reduce;
mod storage;

pub use convert::{convert, is_nonzero};
pub use emit::{Binary, Cast, Compare, Element, Emit, Trap, Ty, Unary};
pub use ops::elementwise;
pub use reduce::{accumulator, combine, combine_arg, identity};
pub use storage::{load, memory, memory_size, register, round_to, store};
