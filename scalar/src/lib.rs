//! What each op of the dialect computes of one element, written once for every target.
//!
//! An element-wise definition is a function over a code generator, [`Emit`]: it asks for machine instructions and gets
//! values back. A lowering implements [`Emit`] for its IR, with as many lanes a value as it likes, and so computes the same
//! bits as every other one; [`eval`] implements it for numbers, so definitions are tested without any compiler.
//!
//! Elements live in registers: see [`register`] for what holds an element of a dtype between ops. A kernel [loads](load) its
//! operands, [converts](convert()) and [computes](elementwise()) as the program says, and [stores](store) what comes of it;
//! reductions [combine] elements.
//!
//! ```
//! use promote_lattice::{DType::BF16, Op, convert::Numerics};
//! use promote_scalar::{Element, Ty, elementwise, load, store, eval::{Eval, Value}};
//!
//! let e = &mut Eval::default();
//! let args = [0x3fc0, 0x4000].map(|bits| Element::Real(load(e, BF16, Value::new(Ty::I16, bits))));
//! let sum = elementwise(e, Op::Add, Numerics::Jax, &[BF16, BF16], BF16, &args).expect("floats are added");
//! assert_eq!(store(e, BF16, sum.real()).bits, 0x4060);
//! ```

mod arith;
mod build;
mod convert;
pub mod emit;
pub mod eval;
mod exact;
pub mod math;
mod ops;
mod reduce;
mod storage;

pub use arith::{Arith, Domain, Form, arith};
pub use convert::{convert, is_nonzero};
pub use emit::{Binary, Cast, Compare, Element, Emit, Trap, Ty, Unary};
pub use exact::{fma_exact, fma_in_parts, remainder_exact};
pub use ops::{elementwise, filler, is_before, is_defined, select};
pub use reduce::{
    Ranks, accumulator, combine, combine_arg, combine_next_arg, combiner, depends_on_order, identity,
    keeps_first,
};
pub use storage::{load, memory, memory_size, register, round_to, store};
