//! `promote.convert`: each conversion as the semantics' library does it.
//!
//! StableHLO leaves open what a float becomes in an integer dtype that does not hold it, so it is never asked for: what is out
//! of range is selected, as the scalar definitions say. Integers are cut to narrower ones by `stablehlo.convert`, which wraps in XLA.

use promote_lattice::convert::{Literal, Numerics};
use promote_lattice::{DType, Kind};

use super::bits::signed_dtype;
use super::builder::{Builder, Tensor};
use super::emit::Machine;

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

    /// By the scalar definition: each library does what its machine does where the dtype does not hold the number.
    fn float_to_integer(&mut self, x: Tensor, to: DType) -> Tensor {
        let (numerics, wide) = (self.numerics(), self.at_least_single(x));
        let mut machine = Machine::new(self, x.shape());
        let number = machine.load(wide);
        let whole = promote_scalar::convert(&mut machine, x.dtype, to, numerics, number);
        machine.store(to, whole)
    }
}
