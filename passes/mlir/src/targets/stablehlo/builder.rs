//! Makes StableHLO ops.
//!
//! The dialect is not linked in: its ops are made under their names, as ops of an unregistered dialect, and its
//! attributes from text. MLIR prints both in the generic form, which StableHLO's own parser reads.
//!
//! A [`Builder`] appends to one block at a time; [`Builder::region`] moves it into a new block for as long as its body is
//! built. What is made carries the location of the op that it stands for.

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::convert::{Bits, Literal, Numerics, literal};
use promote_lattice::{DType, Kind};
use rustc_hash::FxHashMap;

use super::outline::Outlined;
use crate::constant::dense;
use crate::raw::{self, Address};
use crate::types;
use promote_infer::shape::Shape;

/// Why StableHLO cannot express something, and what to do about it.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Why.
    pub message: String,
    /// What to do.
    pub remedy: &'static str,
}

/// What was made, or why it cannot be.
pub type Made<T = Tensor> = Result<T, Refusal>;

/// Refuses.
pub fn refuse<T>(message: impl Into<String>, remedy: &'static str) -> Made<T> {
    Err(Refusal { message: message.into(), remedy })
}

/// A value of the new program, and the dtype of its elements.
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// The value.
    pub value: MlirValue,
    /// The dtype.
    pub dtype: DType,
}

impl Tensor {
    /// The sort of its numbers.
    pub const fn kind(self) -> Kind {
        self.dtype.kind()
    }

    /// Its extents.
    pub fn shape(self) -> Vec<i64> {
        // The types of all values were found to be static before.
        raw::extents(raw::value_type(self.value)).map(|extent| extent.unwrap_or(0)).collect()
    }
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Equal.
    Eq,
    /// Not equal; true of NaN.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl Direction {
    /// Its attribute, as text.
    pub const fn attribute(self) -> &'static str {
        match self {
            Self::Eq => "#stablehlo<comparison_direction EQ>",
            Self::Ne => "#stablehlo<comparison_direction NE>",
            Self::Lt => "#stablehlo<comparison_direction LT>",
            Self::Le => "#stablehlo<comparison_direction LE>",
            Self::Gt => "#stablehlo<comparison_direction GT>",
            Self::Ge => "#stablehlo<comparison_direction GE>",
        }
    }
}

/// The constants of a block, by type and bits.
type Constants = FxHashMap<(Address<MlirType>, Bits), MlirValue>;

/// An op that is to be made.
pub struct Parts<'p> {
    /// Its operands.
    pub operands: &'p [MlirValue],
    /// The types of its results.
    pub results: &'p [MlirType],
    /// Its attributes.
    pub attributes: &'p [(&'p str, MlirAttribute)],
    /// Its regions, which it owns from then on.
    pub regions: &'p [MlirRegion],
}

/// A region that is being built, and what was left for it.
pub struct Opened {
    region: MlirRegion,
    parent: Option<MlirBlock>,
    constants: Constants,
}

impl Opened {
    /// The arguments of its block.
    pub fn arguments(&self) -> Vec<MlirValue> {
        raw::blocks(self.region).flat_map(raw::arguments).collect()
    }
}

/// Makes ops. See the [module](self).
pub struct Builder<'a> {
    names: &'a Names,
    context: MlirContext,
    numerics: Numerics,
    excess_precision: bool,
    location: MlirLocation,
    block: Option<MlirBlock>,
    /// Of the block: bodies of reductions see no others than their own.
    constants: Constants,
    outlined: Outlined<'a>,
}

impl<'a> Builder<'a> {
    /// A builder that stands in no block yet.
    ///
    /// `excess_precision` says whether roundings to narrow floats may be left out.
    pub fn new(
        names: &'a Names,
        numerics: Numerics,
        excess_precision: bool,
        location: MlirLocation,
        outlined: Outlined<'a>,
    ) -> Self {
        // SAFETY: the location is alive.
        let context = unsafe { mlirLocationGetContext(location) };
        Self {
            names,
            context,
            numerics,
            excess_precision,
            location,
            block: None,
            constants: Constants::default(),
            outlined,
        }
    }

    /// The place of the source that what is made stands at.
    pub const fn location(&self) -> MlirLocation {
        self.location
    }

    /// The functions of expansions.
    pub const fn outlines(&mut self) -> &mut Outlined<'a> {
        &mut self.outlined
    }

    /// Whether roundings to narrow floats may be left out.
    pub const fn excess_precision(&self) -> bool {
        self.excess_precision
    }

    /// Whose numbers.
    pub const fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// Lets what is made from now on stand at a place of the source.
    pub fn set_location(&mut self, location: MlirLocation) {
        self.location = location;
    }

    /// Appends an op.
    pub fn append(&mut self, name: &str, parts: &Parts<'_>) -> MlirOperation {
        let named = parts.attributes.iter().map(|(name, value)| raw::named(self.context, name, *value));
        let named: Vec<_> = named.collect();
        // SAFETY: all handles are alive, the regions are in no op yet, and MLIR copies what the arrays hold.
        unsafe {
            let mut state = mlirOperationStateGet(raw::string(name), self.location);
            let count = |length: usize| length as isize;
            mlirOperationStateAddOperands(
                &raw mut state,
                count(parts.operands.len()),
                parts.operands.as_ptr(),
            );
            mlirOperationStateAddAttributes(&raw mut state, count(named.len()), named.as_ptr());
            mlirOperationStateAddResults(&raw mut state, count(parts.results.len()), parts.results.as_ptr());
            mlirOperationStateAddOwnedRegions(
                &raw mut state,
                count(parts.regions.len()),
                parts.regions.as_ptr(),
            );
            let operation = mlirOperationCreate(&raw mut state);
            self.append_made(operation);
            operation
        }
    }

    /// Appends an op that is made already.
    pub fn append_made(&mut self, operation: MlirOperation) {
        let Some(block) = self.block else { unreachable!("ops are made in regions") };
        // SAFETY: both are alive, and the op is in no block.
        unsafe { mlirBlockAppendOwnedOperation(block, operation) }
    }

    /// Appends an op without regions that has one result of this dtype and shape.
    pub fn op(
        &mut self,
        name: &str,
        operands: &[Tensor],
        (dtype, shape): (DType, &[i64]),
        attributes: &[(&str, MlirAttribute)],
    ) -> Tensor {
        let operands: Vec<_> = operands.iter().map(|operand| operand.value).collect();
        let results = [self.tensor_type(dtype, shape)];
        let parts = Parts { operands: &operands, results: &results, attributes, regions: &[] };
        Tensor { value: raw::result(self.append(name, &parts)), dtype }
    }

    /// Moves into the one block of a new region, with arguments of these types.
    pub fn open(&mut self, arguments: &[MlirType]) -> Opened {
        let locations = vec![self.location; arguments.len()];
        // SAFETY: the types and locations are alive, and the region takes the block.
        let (region, block) = unsafe {
            let region = mlirRegionCreate();
            let block = mlirBlockCreate(arguments.len() as isize, arguments.as_ptr(), locations.as_ptr());
            mlirRegionAppendOwnedBlock(region, block);
            (region, block)
        };
        let parent = self.block.replace(block);
        Opened { region, parent, constants: std::mem::take(&mut self.constants) }
    }

    /// Moves back out of a region, which an op is to take.
    pub fn close(&mut self, opened: Opened) -> MlirRegion {
        self.block = opened.parent;
        self.constants = opened.constants;
        opened.region
    }

    /// Builds a region of one block with arguments of these types.
    pub fn region(
        &mut self,
        arguments: &[MlirType],
        body: impl FnOnce(&mut Self, &[MlirValue]),
    ) -> MlirRegion {
        let opened = self.open(arguments);
        body(self, &opened.arguments());
        self.close(opened)
    }

    /// Ends the block of a region.
    pub fn end(&mut self, values: &[MlirValue]) {
        let parts = Parts { operands: values, results: &[], attributes: &[], regions: &[] };
        self.append("stablehlo.return", &parts);
    }

    /// A value of the new program, which is a tensor of a dtype.
    pub fn tensor(&self, value: MlirValue) -> Tensor {
        // SAFETY: the value is alive and of tensor type.
        let element = unsafe { mlirShapedTypeGetElementType(raw::value_type(value)) };
        let Some(dtype) = self.names.dtype(element) else {
            unreachable!("values of the new program have dtypes")
        };
        Tensor { value, dtype }
    }

    /// The type of tensors of a dtype and shape.
    pub fn tensor_type(&self, dtype: DType, shape: &[i64]) -> MlirType {
        types::tensor(self.names.element(dtype), &Shape::ranked(shape.to_vec()))
    }

    /// An attribute, from text that is known to be one.
    pub fn attribute(&self, text: &str) -> MlirAttribute {
        // SAFETY: the context is alive, and MLIR copies the text.
        unsafe { mlirAttributeParseGet(self.context, raw::string(text)) }
    }

    /// `array<i64: …>`.
    pub fn list(&self, list: &[i64]) -> MlirAttribute {
        // SAFETY: the context is alive, and MLIR copies the list.
        unsafe { mlirDenseI64ArrayGet(self.context, list.len() as isize, list.as_ptr()) }
    }

    /// An `i64`.
    pub fn int(&self, value: i64) -> MlirAttribute {
        // SAFETY: the context is alive.
        unsafe { mlirIntegerAttrGet(mlirIntegerTypeGet(self.context, 64), value) }
    }

    /// `dense<…>` of these elements, or of one for all.
    pub fn dense(&self, dtype: DType, shape: &[i64], bits: &[Bits]) -> MlirAttribute {
        dense(bits, dtype, self.tensor_type(dtype, shape))
    }

    /// A constant of an attribute with its elements.
    pub fn constant(&mut self, value: MlirAttribute, dtype: DType, shape: &[i64]) -> Tensor {
        self.op("stablehlo.constant", &[], (dtype, shape), &[("value", value)])
    }

    /// A tensor with the same bits everywhere.
    pub fn splat_bits(&mut self, dtype: DType, shape: &[i64], bits: Bits) -> Tensor {
        let key = (Address(self.tensor_type(dtype, shape)), bits);
        if let Some(value) = self.constants.get(&key) {
            return Tensor { value: *value, dtype };
        }
        let value = self.dense(dtype, shape, &[bits]);
        let constant = self.constant(value, dtype, shape);
        self.constants.insert(key, constant.value);
        constant
    }

    /// A tensor with the same number everywhere.
    pub fn splat(&mut self, dtype: DType, shape: &[i64], number: Literal) -> Tensor {
        self.splat_bits(dtype, shape, literal(number, dtype, Numerics::NumPy).bits)
    }

    /// A real number of the dtype and shape of `x`.
    pub fn real(&mut self, x: Tensor, number: f64) -> Tensor {
        self.splat(x.dtype, &x.shape(), Literal::Float(number))
    }

    /// An integer of the dtype and shape of `x`.
    pub fn whole(&mut self, x: Tensor, number: i64) -> Tensor {
        self.splat(x.dtype, &x.shape(), Literal::Int(number))
    }

    /// A truth value of the shape of `x`.
    pub fn truth(&mut self, x: Tensor, truth: bool) -> Tensor {
        self.splat_bits(DType::B1, &x.shape(), truth.into())
    }
}
