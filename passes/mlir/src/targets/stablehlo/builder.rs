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

/// Why something cannot be said in StableHLO, and what to do about it.
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
    const fn attribute(self) -> &'static str {
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

    /// Bits of the dtype and shape of `x`.
    pub fn bits(&mut self, x: Tensor, bits: Bits) -> Tensor {
        self.splat_bits(x.dtype, &x.shape(), bits)
    }

    /// A truth value of the shape of `x`.
    pub fn truth(&mut self, x: Tensor, truth: bool) -> Tensor {
        self.splat_bits(DType::B1, &x.shape(), truth.into())
    }

    /// An op of one operand, whose result is of its type.
    pub fn unary(&mut self, name: &str, x: Tensor) -> Tensor {
        self.op(name, &[x], (x.dtype, &x.shape()), &[])
    }

    /// An op of two operands of one type, whose result is of that type.
    pub fn binary(&mut self, name: &str, x: Tensor, y: Tensor) -> Tensor {
        self.op(name, &[x, y], (x.dtype, &x.shape()), &[])
    }

    /// The real part of a complex tensor, or the imaginary one, as the name of the op says.
    pub fn part(&mut self, name: &str, x: Tensor) -> Tensor {
        self.op(name, &[x], (x.dtype.real_part(), &x.shape()), &[])
    }

    /// The real and the imaginary part of a complex tensor.
    pub fn parts(&mut self, x: Tensor) -> (Tensor, Tensor) {
        (self.part("stablehlo.real", x), self.part("stablehlo.imag", x))
    }

    /// The complex tensor with these parts, which are f32 or f64.
    pub fn complex(&mut self, real: Tensor, imaginary: Tensor) -> Tensor {
        let dtype = if real.dtype == DType::F32 { DType::C64 } else { DType::C128 };
        self.op("stablehlo.complex", &[real, imaginary], (dtype, &real.shape()), &[])
    }

    /// StableHLO's own conversion, which is defined only where the number is in the range of the dtype, but for floats that
    /// are rounded to floats.
    pub fn cast(&mut self, x: Tensor, dtype: DType) -> Tensor {
        if x.dtype == dtype { x } else { self.op("stablehlo.convert", &[x], (dtype, &x.shape()), &[]) }
    }

    /// A float in another float dtype, of which the rounding survives.
    ///
    /// XLA may compute narrow floats in wider ones and leave out the roundings between ops. What it may not leave out is
    /// `reduce_precision`, here to as many bits as the dtype has and to any exponent: numbers of the dtype stay as they are,
    /// subnormal ones, too, which an exponent of the dtype's width would take for zero.
    pub fn rounded(&mut self, x: Tensor, dtype: DType) -> Tensor {
        let narrow = self.cast(x, dtype);
        if x.dtype == dtype { x } else { self.kept(narrow) }
    }

    /// A float as it was rounded: see [`rounded`](Self::rounded).
    pub fn kept(&mut self, x: Tensor) -> Tensor {
        let format = x.dtype.props().format.filter(|_| x.dtype.bits() < 32 && !self.excess_precision);
        // XLA's processors take some numbers of f8e5m2fnuz for zero there; its conversions stay in any case.
        let Some(format) = format.filter(|_| x.dtype != DType::F8E5M2FNUZ) else { return x };
        let bits = |b: &Self, bits: u32| b.attribute(&format!("{bits} : i32"));
        let attributes =
            [("exponent_bits", bits(self, 8)), ("mantissa_bits", bits(self, format.mantissa_bits))];
        self.op("stablehlo.reduce_precision", &[x], (x.dtype, &x.shape()), &attributes)
    }

    /// Integers narrower than a byte as those of a byte, which hold them: XLA's processors order, join, multiply and select
    /// those of 2 bits wrongly or not at all.
    pub fn in_bytes(&mut self, x: Tensor) -> Tensor {
        match x.kind() {
            Kind::Unsigned if x.dtype.bits() < 8 => self.cast(x, DType::U8),
            Kind::Signed if x.dtype.bits() < 8 => self.cast(x, DType::I8),
            Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float | Kind::Complex => x,
        }
    }

    /// Floats narrower than f32 as those, which hold them.
    pub fn at_least_single(&mut self, x: Tensor) -> Tensor {
        let is_narrow = x.kind() == Kind::Float && x.dtype.bits() < 32;
        if is_narrow { self.cast(x, DType::F32) } else { x }
    }

    /// The same bits, read as another dtype of the same width.
    pub fn bitcast(&mut self, x: Tensor, dtype: DType) -> Tensor {
        if x.dtype == dtype {
            x
        } else {
            self.op("stablehlo.bitcast_convert", &[x], (dtype, &x.shape()), &[])
        }
    }

    /// Compares. Complex numbers have no order here.
    pub fn compare(&mut self, x: Tensor, direction: Direction, y: Tensor) -> Tensor {
        let direction = self.attribute(direction.attribute());
        let attributes = [("comparison_direction", direction)];
        self.op("stablehlo.compare", &[x, y], (DType::B1, &x.shape()), &attributes)
    }

    /// `x` where `condition`, else `y`.
    pub fn select(&mut self, condition: Tensor, x: Tensor, y: Tensor) -> Tensor {
        self.op("stablehlo.select", &[condition, x, y], (x.dtype, &x.shape()), &[])
    }

    /// The same elements in another shape.
    pub fn reshape(&mut self, x: Tensor, shape: &[i64]) -> Tensor {
        if x.shape() == shape { x } else { self.op("stablehlo.reshape", &[x], (x.dtype, shape), &[]) }
    }

    /// The axes of `x` in another order.
    pub fn transpose(&mut self, x: Tensor, order: &[i64]) -> Tensor {
        if order.iter().copied().eq(0..order.len() as i64) {
            return x;
        }
        let from = x.shape();
        let shape: Vec<_> = order.iter().map(|axis| from[*axis as usize]).collect();
        let permutation = self.list(order);
        self.op("stablehlo.transpose", &[x], (x.dtype, &shape), &[("permutation", permutation)])
    }

    /// `x` repeated to `shape`, of which its axes are the ones named; an extent of 1 is stretched.
    pub fn stretch(&mut self, x: Tensor, axes: &[i64], shape: &[i64]) -> Tensor {
        if x.shape() == shape {
            return x;
        }
        let axes = self.list(axes);
        self.op("stablehlo.broadcast_in_dim", &[x], (x.dtype, shape), &[("broadcast_dimensions", axes)])
    }

    /// `x` broadcast as NumPy does: its axes are the last of `shape`.
    pub fn broadcast(&mut self, x: Tensor, shape: &[i64]) -> Tensor {
        let (rank, own) = (shape.len() as i64, x.shape().len() as i64);
        let axes: Vec<_> = (rank - own..rank).collect();
        self.stretch(x, &axes, shape)
    }

    /// The index along an axis.
    pub fn iota(&mut self, dtype: DType, shape: &[i64], axis: i64) -> Tensor {
        let axis = self.int(axis);
        self.op("stablehlo.iota", &[], (dtype, shape), &[("iota_dimension", axis)])
    }
}

/// Methods that make an op of two operands.
macro_rules! binaries {
    ($($(#[$doc:meta])* $name:ident $op:literal;)*) => {
        impl Builder<'_> { $(
            $(#[$doc])*
            pub fn $name(&mut self, x: Tensor, y: Tensor) -> Tensor {
                self.binary($op, x, y)
            }
        )* }
    };
}

binaries! {
    /// The sum; of truth values whether one is true.
    add "stablehlo.add";
    /// The difference.
    sub "stablehlo.subtract";
    /// The product; of truth values whether both are true.
    mul "stablehlo.multiply";
    /// The quotient; of integers its whole part, where there is one.
    div "stablehlo.divide";
    /// The larger number, or NaN.
    max "stablehlo.maximum";
    /// The smaller number, or NaN.
    min "stablehlo.minimum";
    /// Both bits.
    and "stablehlo.and";
    /// One of the bits.
    or "stablehlo.or";
    /// Not both of the bits.
    xor "stablehlo.xor";
    /// The angle of a point, given by `y` and `x`.
    atan2 "stablehlo.atan2";
}

/// Methods that make an op of one operand.
macro_rules! unaries {
    ($($(#[$doc:meta])* $name:ident $op:literal;)*) => {
        impl Builder<'_> { $(
            $(#[$doc])*
            pub fn $name(&mut self, x: Tensor) -> Tensor {
                self.unary($op, x)
            }
        )* }
    };
}

unaries! {
    /// Its negative.
    neg "stablehlo.negate";
    /// The bits flipped.
    not "stablehlo.not";
}

impl Builder<'_> {
    /// Whether it is not zero; NaN is not.
    pub fn is_true(&mut self, x: Tensor) -> Tensor {
        if x.kind() == Kind::Bool {
            return x;
        }
        let zero = self.zero(x);
        self.compare(x, Direction::Ne, zero)
    }

    /// Zeros of the dtype and shape of `x`.
    pub fn zero(&mut self, x: Tensor) -> Tensor {
        self.splat(x.dtype, &x.shape(), Literal::Int(0))
    }

    /// The distance from zero: of a complex number a real one, of others of their dtype.
    pub fn abs(&mut self, x: Tensor) -> Tensor {
        match x.kind() {
            Kind::Bool | Kind::Unsigned => x,
            Kind::Signed | Kind::Float => self.unary("stablehlo.abs", x),
            Kind::Complex => self.part("stablehlo.abs", x),
        }
    }
}
