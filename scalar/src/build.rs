//! Instructions by short names, so that definitions read as formulas.

use crate::emit::{Binary, Cast, Compare, Emit, Ty, Unary};

/// What every [`Emit`] can be asked for, in few words.
pub(crate) trait Build: Emit {
    /// A constant of the type of `x`: of a float the nearest, of an integer the low bits.
    fn constant(&mut self, x: Self::Value, value: f64) -> Self::Value {
        match self.ty(x) {
            ty if ty.is_float() => self.float(ty, value),
            ty => self.int(ty, value as i64),
        }
    }

    /// An integer constant of the type of `x`.
    fn bits(&mut self, x: Self::Value, value: i64) -> Self::Value {
        let ty = self.ty(x);
        self.int(ty, value)
    }

    fn add(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        let op = if self.ty(x).is_float() { Binary::FAdd } else { Binary::Add };
        self.binary(op, x, y)
    }

    fn sub(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        let op = if self.ty(x).is_float() { Binary::FSub } else { Binary::Sub };
        self.binary(op, x, y)
    }

    fn mul(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        let op = if self.ty(x).is_float() { Binary::FMul } else { Binary::Mul };
        self.binary(op, x, y)
    }

    /// A quotient of floats.
    fn div(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::FDiv, x, y)
    }

    /// A product with a constant.
    fn scale(&mut self, x: Self::Value, by: f64) -> Self::Value {
        let by = self.constant(x, by);
        self.mul(x, by)
    }

    /// A sum with a constant.
    fn offset(&mut self, x: Self::Value, by: f64) -> Self::Value {
        let by = self.constant(x, by);
        self.add(x, by)
    }

    fn and(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::And, x, y)
    }

    fn or(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::Or, x, y)
    }

    fn xor(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::Xor, x, y)
    }

    /// The bits of an integer that `mask` has.
    fn masked(&mut self, x: Self::Value, mask: i64) -> Self::Value {
        let mask = self.bits(x, mask);
        self.and(x, mask)
    }

    /// All bits flipped.
    fn not(&mut self, x: Self::Value) -> Self::Value {
        let ones = self.bits(x, -1);
        self.xor(x, ones)
    }

    /// A shift by a constant that is less than the width.
    fn shift(&mut self, op: Binary, x: Self::Value, places: u32) -> Self::Value {
        if places == 0 {
            return x;
        }
        let places = self.bits(x, places.into());
        self.binary(op, x, places)
    }

    fn neg(&mut self, x: Self::Value) -> Self::Value {
        if self.ty(x).is_float() {
            return self.unary(Unary::FNeg, x);
        }
        let zero = self.bits(x, 0);
        self.sub(zero, x)
    }

    /// The absolute value of a float.
    fn fabs(&mut self, x: Self::Value) -> Self::Value {
        self.unary(Unary::FAbs, x)
    }

    fn sqrt(&mut self, x: Self::Value) -> Self::Value {
        self.unary(Unary::Sqrt, x)
    }

    fn copysign(&mut self, x: Self::Value, sign: Self::Value) -> Self::Value {
        self.binary(Binary::CopySign, x, sign)
    }

    /// A comparison with a constant.
    fn is(&mut self, compare: Compare, x: Self::Value, value: f64) -> Self::Value {
        let value = self.constant(x, value);
        self.compare(compare, x, value)
    }

    fn is_nan(&mut self, x: Self::Value) -> Self::Value {
        self.compare(Compare::FUnordered, x, x)
    }

    /// Whether the sign bit of a float is set.
    fn is_negative(&mut self, x: Self::Value) -> Self::Value {
        let bits = self.to_bits(x);
        let zero = self.bits(bits, 0);
        self.compare(Compare::LtS, bits, zero)
    }

    /// The larger of two floats; `y` if they are equal or one is NaN.
    fn fmax(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        let larger = self.compare(Compare::FGt, x, y);
        self.select(larger, x, y)
    }

    /// The smaller of two floats; `y` if they are equal or one is NaN.
    fn fmin(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        let smaller = self.compare(Compare::FLt, x, y);
        self.select(smaller, x, y)
    }

    /// The bits of a float, as an integer.
    fn to_bits(&mut self, x: Self::Value) -> Self::Value {
        let ty = self.ty(x).bits_type();
        self.cast(Cast::Bitcast, x, ty)
    }

    /// An integer with more or fewer bits; `signed` says how it is extended.
    fn resize(&mut self, x: Self::Value, to: Ty, signed: bool) -> Self::Value {
        let (from, extend) = (self.ty(x).bits(), if signed { Cast::SExt } else { Cast::ZExt });
        match to.bits() {
            width if width == from => x,
            width if width > from => self.cast(extend, x, to),
            _ => self.cast(Cast::Truncate, x, to),
        }
    }

    /// A float in another width.
    fn refloat(&mut self, x: Self::Value, to: Ty) -> Self::Value {
        match (self.ty(x), to) {
            (from, to) if from == to => x,
            (Ty::F64, _) | (Ty::F32, Ty::F16) => self.cast(Cast::FTruncate, x, to),
            _ => self.cast(Cast::FExt, x, to),
        }
    }
}

impl<E: Emit> Build for E {}

/// `2^exponent`.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    2_f64.powi(exponent)
}
