//! The dialect in pliron, and the ops that programs of it need beside it.
//!
//! [`op`] makes an op of the dialect; its result is [`unknown`] unless the program states a type. [`weak_literal`] makes a
//! number of Python's. Functions are pliron's own, `builtin.func`.
//!
//! The ops of [`promote`](mod@promote) are made from the one op table. Those beside it do what the ops of MLIR do that are called alike, and
//! messages call them so. Their dialects are called `promote_scf`, `promote_cf` and so on in pliron, where the names of dialects are
//! one namespace for all crates of a program and the last crate to register a name gets the text: `cubecl-ir`, for one,
//! has a `scf.for` of its own.
//!
//! ```
//! use pliron::context::Context;
//! use pliron::location::Location;
//! use pliron::builtin::op_interfaces::OneResultInterface;
//! use promote_lattice::convert::Literal;
//! use promote_lattice::{DType, Op};
//! use promote_pliron::dialect::{self, function, r#return, result_of, tensor, unknown};
//!
//! // fn (x: tensor<4xbf16>) -> unknown { return x + 1 }
//! let context = &mut Context::new();
//! let place = Location::Unknown;
//! let (x, result) = (tensor(context, DType::BF16, &[4]), unknown(context));
//! let (func, entry) = function(context, "increment", &[x], &[result], place.clone())?;
//! let x = entry.deref(context).get_argument(0);
//! let one = dialect::weak_literal(context, Literal::Int(1), place.clone());
//! let one_value = result_of(context, one);
//! let sum = dialect::op(context, Op::Add, &[x, one_value], vec![], result, place.clone());
//! let sum_value = result_of(context, sum);
//! let end = r#return(context, &[sum_value], place);
//! for made in [one, sum, end] {
//!     made.insert_at_back(entry, context);
//! }
//! pliron::op::verify_op(&func, context)?;
//! # Ok::<(), pliron::result::Error>(())
//! ```

pub mod beside;
pub mod builder;
pub mod cf;
pub mod func;
pub mod promote;
mod requires;
pub mod scf;

use pliron::context::Ptr;
use pliron::op::OpObj;
use pliron::operation::Operation;

pub use builder::{
    Parts, constant, declaration, function, index, number, op, operation, result_of, r#return,
    set_argument_locations, tensor, tensor_of, unknown, unranked, weak_literal,
};

/// What pliron makes an op of a Rust type of.
pub(crate) type Concrete = (fn(Ptr<Operation>) -> OpObj, std::any::TypeId);

/// An op by MLIR's name.
pub(crate) type ByName = (&'static str, fn() -> Concrete);
