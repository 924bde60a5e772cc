//! What is done to the bits of numbers: shifts, signs, neighbours.

use promote_lattice::convert::{Bits, Literal};
use promote_lattice::dtype::Specials;
use promote_lattice::{DType, Kind};

use super::builder::{Builder, Direction, Tensor};

/// The unsigned integer of the width of a real dtype.
pub const fn bits_dtype(dtype: DType) -> DType {
    match dtype.bits() {
        0..=2 => DType::U2,
        3..=4 => DType::U4,
        5..=8 => DType::U8,
        9..=16 => DType::U16,
        17..=32 => DType::U32,
        _ => DType::U64,
    }
}

/// The signed integer of the width of a real dtype.
pub const fn signed_dtype(dtype: DType) -> DType {
    match dtype.bits() {
        0..=2 => DType::I2,
        3..=4 => DType::I4,
        5..=8 => DType::I8,
        9..=16 => DType::I16,
        17..=32 => DType::I32,
        _ => DType::I64,
    }
}

const fn sign_bit(dtype: DType) -> Bits {
    1 << (dtype.bits() - 1)
}

/// Whether numbers of a dtype have a sign: those of the float that is an exponent alone have none.
fn has_sign(dtype: DType) -> bool {
    match dtype.props().format {
        Some(format) => format.specials != Specials::ExponentOnly,
        None => dtype.kind() == Kind::Signed,
    }
}

impl Builder<'_> {
    /// Whether the sign bit is set.
    pub fn sign_is_set(&mut self, x: Tensor) -> Tensor {
        if !has_sign(x.dtype) {
            return self.truth(x, false);
        }
        let bits = self.bitcast(x, signed_dtype(x.dtype));
        let zero = self.zero(bits);
        self.compare(bits, Direction::Lt, zero)
    }

    /// The float `x` with the sign of `y`.
    pub fn copysign(&mut self, x: Tensor, y: Tensor) -> Tensor {
        if !has_sign(x.dtype) {
            return x;
        }
        let unsigned = bits_dtype(x.dtype);
        let (magnitude, sign) = (self.bitcast(x, unsigned), self.bitcast(y, unsigned));
        let sign_mask = self.bits(sign, sign_bit(unsigned));
        let rest_mask = self.bits(sign, sign_bit(unsigned) - 1);
        let (magnitude, sign) = (self.and(magnitude, rest_mask), self.and(sign, sign_mask));
        let both = self.or(magnitude, sign);
        self.bitcast(both, x.dtype)
    }

    /// `x` shifted left by `y` bits; 0 if that is all of them or more, or less than none.
    pub fn shift_left(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let in_range = self.is_shift(y);
        let (zero, none) = (self.zero(x), self.zero(y));
        let by = self.select(in_range, y, none);
        let shifted = self.binary("stablehlo.shift_left", x, by);
        self.select(in_range, shifted, zero)
    }

    /// `x` shifted right by `y` bits, filled with its sign; all sign if those are all bits or more, or less than none.
    pub fn shift_right(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let in_range = self.is_shift(y);
        if x.kind() == Kind::Signed {
            let most = self.whole(y, i64::from(x.dtype.bits()) - 1);
            let by = self.select(in_range, y, most);
            return self.binary("stablehlo.shift_right_arithmetic", x, by);
        }
        let (zero, none) = (self.zero(x), self.zero(y));
        let by = self.select(in_range, y, none);
        let shifted = self.binary("stablehlo.shift_right_logical", x, by);
        self.select(in_range, shifted, zero)
    }

    /// Whether numbers of bits are less than all.
    fn is_shift(&mut self, y: Tensor) -> Tensor {
        let unsigned = self.bitcast(y, bits_dtype(y.dtype));
        let width = self.whole(unsigned, i64::from(y.dtype.bits()));
        self.compare(unsigned, Direction::Lt, width)
    }

    /// The next float after `x` towards `y`, found among the integers that order floats as they are ordered, so that
    /// subnormal numbers count on machines that take them for zero.
    pub fn next_after(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let next = if has_sign(x.dtype) { self.next_signed(x, y) } else { self.next_unsigned(x, y) };
        let nan = self.splat(x.dtype, &x.shape(), Literal::Float(f64::NAN));
        let (x_is, y_is) = (self.is_nan(x), self.is_nan(y));
        let is_nan = self.or(x_is, y_is);
        self.select(is_nan, nan, next)
    }

    /// The next number, of a format whose bits are in the order of its numbers.
    fn next_unsigned(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let unsigned = bits_dtype(x.dtype);
        let (from, to) = (self.bitcast(x, unsigned), self.bitcast(y, unsigned));
        let one = self.whole(from, 1);
        let (up, down) = (self.add(from, one), self.sub(from, one));
        let rises = self.compare(from, Direction::Lt, to);
        let next = self.select(rises, up, down);
        let stays = self.compare(from, Direction::Eq, to);
        let bits = self.select(stays, from, next);
        self.bitcast(bits, x.dtype)
    }

    /// The next number, of a format with a sign bit.
    fn next_signed(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let signed = signed_dtype(x.dtype);
        let (x_bits, y_bits) = (self.bitcast(x, signed), self.bitcast(y, signed));
        let (from, to) = (self.rank_of(x_bits), self.rank_of(y_bits));
        let (up, down) = (self.whole(from, 1), self.whole(from, -1));
        let rises = self.compare(from, Direction::Lt, to);
        let step = self.select(rises, up, down);
        let next = self.add(from, step);
        // Ranks become bits as bits become ranks. Zero that is reached from below is the negative one, if there is one.
        let bits = self.rank_of(next);
        let (zero, least) = (self.zero(from), self.bits(from, sign_bit(signed)));
        let (is_zero, was_below) =
            (self.compare(next, Direction::Eq, zero), self.compare(from, Direction::Lt, zero));
        let is_negative_zero = self.and(is_zero, was_below);
        let has_negative_zero =
            x.dtype.props().format.is_some_and(|format| format.specials != Specials::NanIsNegativeZero);
        let negative_zero = if has_negative_zero { least } else { zero };
        let bits = self.select(is_negative_zero, negative_zero, bits);
        let stays = self.compare(from, Direction::Eq, to);
        let bits = self.select(stays, y_bits, bits);
        self.bitcast(bits, x.dtype)
    }

    /// The bits of floats as integers in the order of the floats, both zeros 0; and those as bits again.
    fn rank_of(&mut self, bits: Tensor) -> Tensor {
        let (zero, least) = (self.zero(bits), self.bits(bits, sign_bit(bits.dtype)));
        let negative = self.compare(bits, Direction::Lt, zero);
        let mirrored = self.sub(least, bits);
        self.select(negative, mirrored, bits)
    }
}
