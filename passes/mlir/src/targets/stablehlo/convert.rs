//! `promote.convert`: each conversion as the semantics' library does it.
//!
//! StableHLO leaves open what a float becomes in an integer dtype that does not hold it, so it is never asked for: what is out
//! of range is selected. Integers are cut to narrower ones by `stablehlo.convert`, which wraps in XLA.

use promote_lattice::convert::{Bits, Literal, Numerics};
use promote_lattice::{DType, Kind};

use super::bits::signed_dtype;
use super::builder::{Builder, Direction, Tensor};

/// 2 to the power of `exponent`.
fn power_of_two(exponent: u32) -> f64 {
    2f64.powi(exponent.cast_signed())
}

/// Whether a float dtype has every number of another.
fn holds(dtype: DType, other: DType) -> bool {
    dtype.bits() > other.bits() && dtype.bits() >= 32
}

impl Builder<'_> {
    /// `x` in another dtype.
    pub fn convert(&mut self, x: Tensor, to: DType) -> Tensor {
        if x.dtype == to {
            return x;
        }
        match (x.kind(), to.kind()) {
            (_, Kind::Bool) => self.is_true(x),
            (Kind::Complex, Kind::Complex) => {
                let (re, im) = self.parts(x);
                let (re, im) = (self.convert(re, to.real_part()), self.convert(im, to.real_part()));
                self.complex(re, im)
            }
            (Kind::Complex, _) => {
                let re = self.part("stablehlo.real", x);
                self.convert(re, to)
            }
            (_, Kind::Complex) => {
                let re = self.convert(x, to.real_part());
                let im = self.zero(re);
                self.complex(re, im)
            }
            (Kind::Bool, Kind::Float) => {
                // XLA makes a selection of a product with a converted truth value, and 0 of infinity times false.
                let like = self.splat(to, &x.shape(), Literal::Float(0.0));
                let one = self.real(like, 1.0);
                self.select(x, one, like)
            }
            (Kind::Bool, _) => self.cast(x, to),
            (Kind::Unsigned | Kind::Signed, Kind::Unsigned | Kind::Signed) => self.integer_to_integer(x, to),
            (Kind::Unsigned | Kind::Signed, Kind::Float) => {
                // All libraries round an integer to f32 first where the dtype is narrower.
                let wide = if to.bits() < 32 { self.cast(x, DType::F32) } else { x };
                self.rounded(wide, to)
            }
            (Kind::Float, Kind::Float) => self.float_to_float(x, to),
            (Kind::Float, Kind::Unsigned | Kind::Signed) => self.float_to_integer(x, to),
        }
    }

    fn integer_to_integer(&mut self, x: Tensor, to: DType) -> Tensor {
        let fills_with_sign = x.kind() == Kind::Signed && to.kind() == Kind::Unsigned;
        if x.dtype.bits() == to.bits() {
            self.bitcast(x, to)
        } else if fills_with_sign && to.bits() > x.dtype.bits() {
            let wide = self.cast(x, signed_dtype(to));
            self.bitcast(wide, to)
        } else {
            self.cast(x, to)
        }
    }

    /// From f64 to bf16 all go by way of f32, and PyTorch also to f16.
    fn float_to_float(&mut self, x: Tensor, to: DType) -> Tensor {
        let by_f32 = x.dtype == DType::F64
            && (to == DType::BF16 || to == DType::F16 && self.numerics() == Numerics::Torch);
        let x = if by_f32 { self.cast(x, DType::F32) } else { x };
        if holds(to, x.dtype) { self.cast(x, to) } else { self.rounded(x, to) }
    }

    fn float_to_integer(&mut self, x: Tensor, to: DType) -> Tensor {
        let from = x.dtype;
        let x = if from.bits() < 32 { self.cast(x, DType::F32) } else { x };
        let is_signed = to.kind() == Kind::Signed;
        match self.numerics() {
            Numerics::Jax => self.saturate(x, to),
            Numerics::Torch if to == DType::U8 => self.cut(x, DType::I64, to),
            Numerics::NumPy | Numerics::Torch => match to.bits() {
                ..32 => self.cut(x, DType::I32, to),
                32 if !is_signed && from == DType::F16 => self.cut(x, DType::I64, to),
                _ if is_signed => self.signed_instruction(x, to),
                _ => self.unsigned_of_instructions(x, to),
            },
        }
    }

    /// The nearest integer that the dtype holds towards zero; 0 of NaN.
    fn saturate(&mut self, x: Tensor, to: DType) -> Tensor {
        let width = to.bits();
        let is_signed = to.kind() == Kind::Signed;
        let (low, high) = match is_signed {
            true => (-power_of_two(width - 1), power_of_two(width - 1)),
            false => (0.0, power_of_two(width)),
        };
        let (low, high) = (self.real(x, low), self.real(x, high));
        let is_low = self.compare(x, Direction::Lt, low);
        let is_high = self.compare(x, Direction::Ge, high);
        let (_, whole) = self.whole_if_in_range(x, low, high, to);
        let all: Bits = Bits::MAX >> (Bits::BITS - width);
        let (least, largest) = match is_signed {
            true => (1 << (width - 1), all >> 1),
            false => (0, all),
        };
        let (least, largest) = (self.bits(whole, least), self.bits(whole, largest));
        let found = self.select(is_high, largest, whole);
        self.select(is_low, least, found)
    }

    /// Where `x` is in a range, and its whole part there, 0 elsewhere.
    fn whole_if_in_range(&mut self, x: Tensor, low: Tensor, high: Tensor, to: DType) -> (Tensor, Tensor) {
        let (above, below) = (self.compare(x, Direction::Ge, low), self.compare(x, Direction::Lt, high));
        let in_range = self.and(above, below);
        let zero = self.real(x, 0.0);
        let safe = self.select(in_range, x, zero);
        (in_range, self.cast(safe, to))
    }

    /// What x86's instruction makes of a float: the least integer of all that it cannot hold.
    fn signed_instruction(&mut self, x: Tensor, to: DType) -> Tensor {
        let bound = power_of_two(to.bits() - 1);
        let (low, high) = (self.real(x, -bound), self.real(x, bound));
        let (in_range, whole) = self.whole_if_in_range(x, low, high, to);
        let least = self.bits(whole, 1 << (to.bits() - 1));
        self.select(in_range, whole, least)
    }

    /// The low bits of what x86's instruction for the wide dtype makes of a float.
    fn cut(&mut self, x: Tensor, wide: DType, to: DType) -> Tensor {
        let whole = self.signed_instruction(x, wide);
        self.integer_to_integer(whole, to)
    }

    /// What compilers make of the signed instruction: below half of the range it, above it that of the rest.
    fn unsigned_of_instructions(&mut self, x: Tensor, to: DType) -> Tensor {
        let signed = signed_dtype(to);
        let half = self.real(x, power_of_two(to.bits() - 1));
        let is_high = self.compare(x, Direction::Ge, half);
        let rest = self.sub(x, half);
        let (low, high) = (self.signed_instruction(x, signed), self.signed_instruction(rest, signed));
        let sign = self.splat_bits(signed, &x.shape(), 1 << (to.bits() - 1));
        let high = self.xor(high, sign);
        let found = self.select(is_high, high, low);
        self.bitcast(found, to)
    }
}
