//! Builders of ops and types, for front ends.

use std::any::TypeId;

use pliron::attribute::AttrObj;
use pliron::basic_block::BasicBlock;
use pliron::builtin::attributes::{IntegerAttr, OperandSegmentSizesAttr};
use pliron::builtin::op_interfaces::ATTR_KEY_OPERAND_SEGMENT_SIZES;
use pliron::builtin::ops::FuncOp;
use pliron::builtin::types::{FunctionType, IntegerType};
use pliron::context::{Context, Ptr};
use pliron::identifier::Identifier;
use pliron::location::Location;
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::result::Result;
use pliron::r#type::{TypeHandle, TypedHandle};
use pliron::utils::apint::APInt;
use pliron::value::Value;
use promote_infer::shape::Shape;
use promote_lattice::convert::{Bits, Literal};
use promote_lattice::{DType, Op};

use super::{ByName, Concrete, beside, cf, func, promote, scf};
use crate::attributes::{ARGUMENT_LOCATIONS, ElementsAttr, IndexAttr, LocationsAttr, NumberAttr, VALUE, key};
use crate::types::{Element, IndexType, TensorType, scalar};

/// The ops beside the dialect that are more than a row, by MLIR's names.
const OTHERS: &[ByName] = &[
    ("func.call", func::CallOp::get_concrete_op_info),
    ("func.return", func::ReturnOp::get_concrete_op_info),
    ("cf.br", cf::BrOp::get_concrete_op_info),
    ("cf.cond_br", cf::CondBrOp::get_concrete_op_info),
    ("cf.switch", cf::SwitchOp::get_concrete_op_info),
    ("cf.assert", cf::AssertOp::get_concrete_op_info),
    ("scf.if", scf::IfOp::get_concrete_op_info),
    ("scf.index_switch", scf::IndexSwitchOp::get_concrete_op_info),
    ("scf.execute_region", scf::ExecuteRegionOp::get_concrete_op_info),
    ("scf.for", scf::ForOp::get_concrete_op_info),
    ("scf.while", scf::WhileOp::get_concrete_op_info),
    ("scf.parallel", scf::ParallelOp::get_concrete_op_info),
    ("scf.forall", scf::ForallOp::get_concrete_op_info),
    ("scf.forall.in_parallel", scf::InParallelOp::get_concrete_op_info),
    ("scf.reduce", scf::ReduceOp::get_concrete_op_info),
    ("scf.reduce.return", scf::ReduceReturnOp::get_concrete_op_info),
    ("scf.yield", scf::YieldOp::get_concrete_op_info),
    ("scf.condition", scf::ConditionOp::get_concrete_op_info),
    ("tensor.generate", scf::GenerateOp::get_concrete_op_info),
    ("tensor.yield", scf::GenerateYieldOp::get_concrete_op_info),
];

/// The ops beside the dialect, by MLIR's names.
pub(crate) fn beside() -> impl Iterator<Item = (&'static str, Concrete)> {
    OTHERS.iter().chain(beside::UNIFORM).map(|(name, concrete)| (*name, concrete()))
}

/// The parts of a new op.
#[derive(Clone, Debug, Default)]
pub struct Parts<'a> {
    /// Its own operands.
    pub operands: &'a [Value],
    /// The types of its results.
    pub results: &'a [TypeHandle],
    /// Its attributes by MLIR's names, as `value` and `predicate`.
    pub attributes: Vec<(&'a str, AttrObj)>,
    /// The blocks that it may go on to, and what it passes to each.
    pub successors: &'a [(Ptr<BasicBlock>, Vec<Value>)],
    /// How many regions it has; they have no blocks yet.
    pub regions: usize,
}

/// Makes an op beside the dialect, by MLIR's name, as `scf.for`; in no block yet. `None` if there is none of that name.
pub fn operation(
    context: &mut Context,
    name: &str,
    parts: Parts<'_>,
    location: Location,
) -> Option<Ptr<Operation>> {
    let (_, concrete) = beside().find(|(known, _)| *known == name)?;
    Some(make(context, concrete, parts, location))
}

/// Makes an op of the dialect, in no block yet. Attributes are those of the op's row, by their names there; they are checked by
/// verification, not here.
pub fn op(
    context: &mut Context,
    op: Op,
    operands: &[Value],
    attributes: Vec<(&str, AttrObj)>,
    result: TypeHandle,
    location: Location,
) -> Ptr<Operation> {
    let parts = Parts { operands, results: &[result], attributes, ..Parts::default() };
    make(context, promote::concrete(op), parts, location)
}

pub(crate) fn make(
    context: &mut Context,
    concrete: Concrete,
    parts: Parts<'_>,
    location: Location,
) -> Ptr<Operation> {
    let passed = parts.successors.iter().flat_map(|(_, passed)| passed);
    let operands = parts.operands.iter().chain(passed).copied().collect();
    let successors = parts.successors.iter().map(|(block, _)| *block).collect();
    let made = Operation::new(context, concrete, parts.results.to_vec(), operands, successors, parts.regions);
    let mut operation = made.deref_mut(context);
    operation.set_loc(location);
    let keyed = parts.attributes.into_iter().filter_map(|(name, value)| Some((key(name)?, value)));
    operation.attributes.0.extend(keyed);
    if is_segmented(concrete.1) {
        let of_successors = parts.successors.iter().map(|(_, passed)| passed.len());
        let sizes = std::iter::once(parts.operands.len()).chain(of_successors).map(|size| size as u32);
        let sizes = OperandSegmentSizesAttr(sizes.collect());
        operation.attributes.set(ATTR_KEY_OPERAND_SEGMENT_SIZES.clone(), sizes);
    }
    drop(operation);
    made
}

fn is_segmented(op: TypeId) -> bool {
    [cf::CondBrOp::get_concrete_op_info(), cf::SwitchOp::get_concrete_op_info()]
        .iter()
        .any(|info| info.1 == op)
}

/// The first result of an op that has one.
pub fn result_of(context: &Context, operation: Ptr<Operation>) -> Value {
    operation.deref(context).get_result(0)
}

/// Makes a weak literal: a Python int, float or complex number as an op.
pub fn weak_literal(context: &mut Context, value: Literal, location: Location) -> Ptr<Operation> {
    let dtype = match value {
        Literal::Int(_) => DType::WeakInt,
        Literal::Float(_) => DType::WeakFloat,
        Literal::Complex(..) => DType::WeakComplex,
    };
    let result = tensor(context, dtype, &[]);
    let written = TensorType::get(context, Element::DType(dtype.storage()), &Shape::ranked([]));
    constant_as(context, written, &[value.bits()], result, location).expect("a scalar has one element")
}

/// Makes a constant of elements in row-major order, of which a single one stands for all; its result is of the same type.
/// `None` if the type is not of a dtype and a static shape with as many elements.
pub fn constant(
    context: &mut Context,
    written: TypedHandle<TensorType>,
    elements: &[Bits],
    location: Location,
) -> Option<Ptr<Operation>> {
    constant_as(context, written, elements, written.into(), location)
}

fn constant_as(
    context: &mut Context,
    written: TypedHandle<TensorType>,
    elements: &[Bits],
    result: TypeHandle,
    location: Location,
) -> Option<Ptr<Operation>> {
    let value = ElementsAttr::new(context, written, elements)?;
    let attributes = vec![("value", value.into())];
    Some(op(context, Op::Constant, &[], attributes, result, location))
}

/// Makes `arith.constant` of an index.
pub fn index(context: &mut Context, value: i64, location: Location) -> Ptr<Operation> {
    let result = IndexType::get(context).into();
    scalar_constant(context, IndexAttr(value).into(), result, location)
}

/// Makes `arith.constant` of a dtype, by the bits of the number.
pub fn number(context: &mut Context, dtype: DType, bits: Bits, location: Location) -> Ptr<Operation> {
    let result = scalar(context, dtype);
    let integer = result.deref(context).is::<IntegerType>();
    let value = match TypedHandle::from_handle(result, context).ok().filter(|_| integer) {
        Some(of) => {
            let width = std::num::NonZero::new(dtype.bits() as usize).expect("an integer has bits");
            IntegerAttr::new(of, APInt::from_u128(bits & crate::numbers::mask(dtype), width)).into()
        }
        None => NumberAttr::new(dtype, bits).into(),
    };
    scalar_constant(context, value, result, location)
}

fn scalar_constant(
    context: &mut Context,
    value: AttrObj,
    result: TypeHandle,
    location: Location,
) -> Ptr<Operation> {
    let parts = Parts { results: &[result], ..Parts::default() };
    let made = make(context, beside::arith::ConstantOp::get_concrete_op_info(), parts, location);
    made.deref_mut(context).attributes.0.insert(VALUE, value);
    made
}

/// The tensor of a dtype with these extents, of which [`DYNAMIC`](promote_infer::shape::DYNAMIC) is one that a run knows.
pub fn tensor(context: &Context, dtype: DType, extents: &[i64]) -> TypeHandle {
    TensorType::get(context, Element::DType(dtype), &Shape::ranked(extents)).into()
}

/// The tensor of a dtype of which not even the rank is known.
pub fn unranked(context: &Context, dtype: DType) -> TypeHandle {
    TensorType::get(context, Element::DType(dtype), &Shape::UNRANKED).into()
}

/// The tensor of any elements, with these extents.
pub fn tensor_of(context: &Context, element: Element, extents: &[i64]) -> TypeHandle {
    TensorType::get(context, element, &Shape::ranked(extents)).into()
}

/// `tensor<*x!promote.unknown>`: what a front end writes as the type of a result that inference shall find.
pub fn unknown(context: &Context) -> TypeHandle {
    TensorType::get(context, Element::Unknown, &Shape::UNRANKED).into()
}

/// Makes a function, in no block yet, and its first block.
///
/// # Errors
/// If the name is no identifier.
pub fn function(
    context: &mut Context,
    name: &str,
    inputs: &[TypeHandle],
    results: &[TypeHandle],
    location: Location,
) -> Result<(FuncOp, Ptr<BasicBlock>)> {
    let name = Identifier::try_from(name)?;
    let of = FunctionType::get(context, inputs.to_vec(), results.to_vec());
    let made = FuncOp::new(context, name, of);
    let entry = made.get_entry_block(context);
    made.get_operation().deref_mut(context).set_loc(location.clone());
    entry.deref_mut(context).set_loc(location);
    Ok((made, entry))
}

/// Makes a function that is defined elsewhere: one without blocks.
///
/// # Errors
/// If the name is no identifier.
pub fn declaration(
    context: &mut Context,
    name: &str,
    inputs: &[TypeHandle],
    results: &[TypeHandle],
    location: Location,
) -> Result<FuncOp> {
    let (made, entry) = function(context, name, inputs, results, location)?;
    BasicBlock::erase(entry, context);
    Ok(made)
}

/// Makes the end of a function.
pub fn r#return(context: &mut Context, values: &[Value], location: Location) -> Ptr<Operation> {
    let parts = Parts { operands: values, ..Parts::default() };
    make(context, func::ReturnOp::get_concrete_op_info(), parts, location)
}

/// Says where the arguments of a block come from, each in turn; without that they are where the block is.
pub fn set_argument_locations(context: &Context, block: Ptr<BasicBlock>, locations: Vec<Location>) {
    if !locations.is_empty() {
        block.deref_mut(context).attributes.set(ARGUMENT_LOCATIONS, LocationsAttr(locations));
    }
}
