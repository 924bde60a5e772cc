//! The ops that passes make.

use pliron::attribute::AttrObj;
use pliron::builtin::attributes::{StringAttr, UnitAttr};
use pliron::builtin::types::{IntegerType, Signedness};
use pliron::context::{Context, Ptr};
use pliron::identifier::Identifier;
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::r#type::{TypeHandle, TypedHandle};
use pliron::value::Value;
use promote_host::ir::{Mark, New};
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Op};

use crate::attributes::{ElementsAttr, IndexAttr, IntsAttr, MESSAGE, PREDICATE, SHAPE, VALUE, integer, mark};
use crate::dialect::beside::{arith, tensor, ub};
use crate::dialect::builder::{Parts, make};
use crate::dialect::promote::concrete;
use crate::dialect::{Concrete, cf};
use crate::types::IndexType;

/// Numbers of the predicates of `arith.cmpi`.
const EQUAL: i64 = 0;
const NOT_EQUAL: i64 = 1;

/// Makes an op, in no block yet.
pub fn create(
    context: &mut Context,
    new: New<'_>,
    operands: &[Value],
    result: Option<TypeHandle>,
    made_for: Ptr<Operation>,
) -> Ptr<Operation> {
    let truth = || IntegerType::get(context, 1, Signedness::Signless).into();
    let index = || IndexType::get(context).into();
    let (concrete, says): (Concrete, Option<TypeHandle>) = match new {
        New::Convert => (concrete(Op::Convert), None),
        New::Broadcast { .. } => (concrete(Op::BroadcastTo), None),
        New::Cast => (tensor::CastOp::get_concrete_op_info(), None),
        New::Poison => (ub::PoisonOp::get_concrete_op_info(), None),
        New::Dim => (tensor::DimOp::get_concrete_op_info(), Some(index())),
        New::Rank => (tensor::RankOp::get_concrete_op_info(), Some(index())),
        New::Index(_) => (arith::ConstantOp::get_concrete_op_info(), Some(index())),
        New::Equal | New::NotEqual => (arith::CmpiOp::get_concrete_op_info(), Some(truth())),
        New::Or => (arith::OriOp::get_concrete_op_info(), Some(truth())),
        New::Multiply => (arith::MuliOp::get_concrete_op_info(), Some(index())),
        New::Remainder => (arith::RemsiOp::get_concrete_op_info(), Some(index())),
        New::Assert(_) => (cf::AssertOp::get_concrete_op_info(), None),
    };
    let results: Vec<_> = says.or(result).into_iter().collect();
    let location = made_for.deref(context).loc().clone();
    let made = make(context, concrete, Parts { operands, results: &results, ..Parts::default() }, location);
    let stated = attribute(context, new);
    let mut operation = made.deref_mut(context);
    operation.attributes.0.extend(stated);
    for of in marks(new) {
        operation.attributes.set(mark(of), UnitAttr);
    }
    drop(operation);
    made
}

/// What an op states in an attribute.
fn attribute(context: &Context, new: New<'_>) -> Option<(Identifier, AttrObj)> {
    match new {
        New::Broadcast { shape, .. } => Some((SHAPE, IntsAttr(shape.into()).into())),
        New::Index(value) => Some((VALUE, IndexAttr(value).into())),
        New::Equal => Some((PREDICATE, integer(context, EQUAL))),
        New::NotEqual => Some((PREDICATE, integer(context, NOT_EQUAL))),
        New::Assert(message) => Some((MESSAGE, StringAttr::new(message.to_owned()).into())),
        New::Convert
        | New::Cast
        | New::Poison
        | New::Dim
        | New::Rank
        | New::Or
        | New::Multiply
        | New::Remainder => None,
    }
}

fn marks(new: New<'_>) -> impl Iterator<Item = Mark> {
    let (is_implicit, is_checked) = match new {
        New::Convert => (true, false),
        New::Broadcast { is_implicit, is_checked, .. } => (is_implicit, is_checked),
        New::Cast
        | New::Poison
        | New::Dim
        | New::Rank
        | New::Index(_)
        | New::Equal
        | New::NotEqual
        | New::Or
        | New::Multiply
        | New::Remainder
        | New::Assert(_) => (false, false),
    };
    is_implicit.then_some(Mark::Implicit).into_iter().chain(is_checked.then_some(Mark::Checked))
}

/// Makes a constant with the place of another op and its attributes but the value.
pub fn create_constant(
    context: &mut Context,
    elements: (&[Bits], DType),
    written: TypeHandle,
    result: TypeHandle,
    like: Ptr<Operation>,
) -> Ptr<Operation> {
    let (location, mut attributes) = {
        let like = like.deref(context);
        (like.loc().clone(), like.attributes.clone())
    };
    attributes.set(VALUE, value(context, elements, written));
    let made =
        make(context, concrete(Op::Constant), Parts { results: &[result], ..Parts::default() }, location);
    made.deref_mut(context).attributes = attributes;
    made
}

/// Lets a constant have other elements and another type.
pub fn rewrite(
    context: &Context,
    elements: (&[Bits], DType),
    written: TypeHandle,
    result: TypeHandle,
    constant: Ptr<Operation>,
) {
    let value = value(context, elements, written);
    let old = {
        let mut constant = constant.deref_mut(context);
        constant.attributes.set(VALUE, value);
        constant.get_result(0)
    };
    old.set_type(context, result);
}

fn value(context: &Context, (elements, _): (&[Bits], DType), written: TypeHandle) -> ElementsAttr {
    let written = TypedHandle::from_handle(written, context).expect("a constant is written in a tensor type");
    let value = ElementsAttr::new(context, written, elements);
    value.expect("the type in which a constant is written has its elements")
}
