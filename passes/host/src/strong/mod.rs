//! Strong programs as data: what code is made of.
//!
//! [`program`](program::program) reads a module of any host as a [`Program`](promote_lower::program::Program), which every target takes.

mod numbers;
mod read;

pub mod interface;
pub mod placement;
pub mod program;

use promote_infer::shape::is_dynamic;
use promote_lower::program::Literal;
use promote_lower::types::{MAX_RANK, Number, Type};

use crate::ir::{Element, Ir};

/// What reading strong programs needs of an IR beyond what the passes do: numbers outside of tensors, and ops of `arith`,
/// `index`, `math`, `tensor` and `cf`, which have the names that MLIR gives them.
pub trait Strong: Ir {
    /// The number that a type is, as far as MLIR's index, signless integers and floats go; also one that no code is made for.
    fn number_type(&self, r#type: Self::Type) -> Option<Number>;

    /// The value of a constant of this type of number, in the attribute `value`.
    fn number(&self, op: Self::Op, r#type: Number) -> Option<Literal>;

    /// An attribute that is an integer.
    fn integer(&self, op: Self::Op, name: &str) -> Option<i64>;

    /// The cases of `cf.switch`, in the order of its successors after the first.
    fn cases(&self, op: Self::Op) -> Vec<i64>;

    /// An attribute that is text.
    fn string(&self, op: Self::Op, name: &str) -> Option<String>;

    /// An attribute as MLIR prints it.
    fn attribute_text(&self, op: Self::Op, name: &str) -> Option<String>;
}

/// Reads a program of whatever host has it.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Reads what is in `root`.
    fn visit<I: Strong>(self, ir: &I, root: I::Op) -> Self::Output;
}

/// What a type means; `None` for one that no code is made for.
pub fn type_of<I: Strong>(ir: &I, r#type: I::Type) -> Option<Type> {
    match ir.tensor(r#type) {
        Some(tensor) => {
            let dims = tensor.shape.dims().filter(|dims| dims.len() <= MAX_RANK)?;
            let Element::DType(dtype) = tensor.element else { return None };
            Some(Type::Tensor(
                dtype,
                dims.iter().map(|extent| (!is_dynamic(*extent)).then_some(*extent)).collect(),
            ))
        }
        None => ir.number_type(r#type).filter(|number| number.dtype().is_some()).map(Type::Scalar),
    }
}
