//! StableHLO's ops, by name: those of elements, of numbers and of shapes.

use promote_lattice::convert::Literal;
use promote_lattice::{DType, Kind};

use super::builder::{Builder, Direction, Tensor};

impl Builder<'_> {
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
        let format = x.dtype.props().format.filter(|_| x.dtype.bits() < 32 && !self.excess_precision());
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
