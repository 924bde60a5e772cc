//! The dialect in MLIR: registration, types, builders.
//!
//! [`register`] makes a melior context know the dialect (safe to call twice). [`Names`] translates between MLIR's
//! uniqued objects and [`Op`]s and [`DType`]s. [`operation`] builds an op; its result type is what a front end
//! writes before inference, [`unknown`], unless it states one.

use melior::Context;
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::operation::OperationBuilder;
use melior::ir::{Attribute, Identifier, Location, Module, Operation, Type, Value};
use mlir_sys::{
    MlirContext, MlirOperation, MlirStringRef, MlirType, mlirIdentifierGet, mlirOperationGetName,
    mlirTypeParseGet,
};
use promote_lattice::{DType, Op};
use rustc_hash::FxHashMap;

use crate::irdl;

/// The dialect could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "MLIR did not take the promote dialect's definition: the dialect `irdl` must be registered in the context"
)]
pub struct NotLoaded;

/// Makes `context` know the dialect. The upstream dialect `irdl` must be in the context's registry.
///
/// # Errors
/// [`NotLoaded`] if MLIR does not read the definition.
pub fn register(context: &Context) -> Result<(), NotLoaded> {
    // MLIR crashes on a dialect that is loaded twice.
    if context.is_registered_operation("promote.add") {
        return Ok(());
    }
    let module = Module::parse(context, irdl::TEXT).ok_or(NotLoaded)?;
    if melior::utility::load_irdl_dialects(&module) { Ok(()) } else { Err(NotLoaded) }
}

/// MLIR's objects for ops and dtypes, looked up once: MLIR uniques them, so they compare by address.
#[derive(Debug)]
pub struct Names {
    ops: FxHashMap<usize, Op>,
    dtypes: FxHashMap<usize, DType>,
    elements: Vec<MlirType>,
    unknown: MlirType,
}

// SAFETY: types are immutable and owned by the context, which outlives the table and may be read from all threads.
unsafe impl Send for Names {}
// SAFETY: as above.
unsafe impl Sync for Names {}

impl Names {
    /// The objects of `context`, which must know the dialect.
    ///
    /// # Safety
    /// `context` must be alive, and outlive the table.
    ///
    /// # Errors
    /// [`NotLoaded`] if it does not know the dialect.
    pub unsafe fn new(context: MlirContext) -> Result<Self, NotLoaded> {
        let string = |text: &str| MlirStringRef { data: text.as_ptr().cast(), length: text.len() };
        let identifier = |op: &Op| {
            // SAFETY: the context is alive and the string outlives the call.
            unsafe { mlirIdentifierGet(context, string(&op.to_string())) }.ptr as usize
        };
        let parse = |text: &str| {
            // SAFETY: the context is alive and the string outlives the call.
            let element = unsafe { mlirTypeParseGet(context, string(text)) };
            if element.ptr.is_null() { Err(NotLoaded) } else { Ok(element) }
        };
        let elements = DType::ALL.iter().map(|dtype| parse(dtype.mlir())).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            ops: Op::ALL.iter().map(|op| (identifier(op), *op)).collect(),
            dtypes: elements.iter().zip(DType::ALL).map(|(t, dtype)| (t.ptr as usize, *dtype)).collect(),
            elements,
            unknown: parse("!promote.unknown")?,
        })
    }

    /// The op of the dialect that `operation` is, if it is one.
    ///
    /// # Safety
    /// `operation` must be alive.
    pub unsafe fn op(&self, operation: MlirOperation) -> Option<Op> {
        // SAFETY: the operation is alive.
        let name = unsafe { mlirOperationGetName(operation) };
        self.ops.get(&(name.ptr as usize)).copied()
    }

    /// The dtype that an element type stands for.
    pub fn dtype(&self, element: MlirType) -> Option<DType> {
        self.dtypes.get(&(element.ptr as usize)).copied()
    }

    /// Whether an element type is `!promote.unknown`.
    pub fn is_unknown(&self, element: MlirType) -> bool {
        element.ptr == self.unknown.ptr
    }

    /// The element type of a dtype.
    pub fn element(&self, dtype: DType) -> MlirType {
        self.elements[dtype as usize]
    }

    /// The element type `!promote.unknown`.
    pub const fn unknown(&self) -> MlirType {
        self.unknown
    }
}

/// `tensor<*x!promote.unknown>`: what a front end writes as the type of a result that inference shall find.
///
/// # Errors
/// [`NotLoaded`] if the context does not know the dialect.
pub fn unknown<'c>(context: &'c Context) -> Result<Type<'c>, NotLoaded> {
    Type::parse(context, "tensor<*x!promote.unknown>").ok_or(NotLoaded)
}

/// Builds an op of the dialect.
///
/// `attributes` are those of the op's row; `concat` and `stack` get their `operandSegmentSizes` here. Attributes are
/// checked by the passes, not here.
///
/// # Errors
/// melior's, if MLIR does not build the op.
pub fn operation<'c>(
    context: &'c Context,
    op: Op,
    operands: &[Value<'c, '_>],
    attributes: &[(&str, Attribute<'c>)],
    result: Type<'c>,
    location: Location<'c>,
) -> Result<Operation<'c>, melior::Error> {
    let mut named: Vec<_> =
        attributes.iter().map(|(name, value)| (Identifier::new(context, name), *value)).collect();
    let slots = op.info().arity.required + op.info().arity.optional;
    if op.info().arity.optional > 1 {
        let sizes: Vec<i32> = (0..slots).map(|slot| i32::from(slot < operands.len())).collect();
        let sizes = melior::ir::attribute::DenseI32ArrayAttribute::new(context, &sizes);
        named.push((Identifier::new(context, "operandSegmentSizes"), sizes.into()));
    }
    OperationBuilder::new(&op.to_string(), location)
        .add_operands(operands)
        .add_attributes(&named)
        .add_results(&[result])
        .build()
}

/// Builds a weak literal: a Python int, float or complex number as an op.
///
/// # Errors
/// melior's, if MLIR does not build the op.
pub fn weak_literal<'c>(
    context: &'c Context,
    value: promote_lattice::convert::Literal,
    location: Location<'c>,
) -> Result<Operation<'c>, melior::Error> {
    use promote_lattice::convert::Literal;
    let (text, dtype) = match value {
        Literal::Int(v) => (format!("dense<{v}> : tensor<i64>"), DType::WeakInt),
        Literal::Float(v) => (format!("dense<{:#x}> : tensor<f64>", v.to_bits()), DType::WeakFloat),
        Literal::Complex(re, im) => (
            format!("dense<({:#x}, {:#x})> : tensor<complex<f64>>", re.to_bits(), im.to_bits()),
            DType::WeakComplex,
        ),
    };
    let attribute = Attribute::parse(context, &text).ok_or(melior::Error::AttributeParse(text.clone()))?;
    let attribute = DenseElementsAttribute::try_from(attribute)?;
    let result = format!("tensor<{}>", dtype.mlir());
    let result = Type::parse(context, &result).ok_or(melior::Error::TypeExpected("a weak tensor", result))?;
    operation(context, Op::Constant, &[], &[("value", attribute.into())], result, location)
}
