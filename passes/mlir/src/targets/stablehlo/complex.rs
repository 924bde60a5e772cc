//! Functions of complex numbers that StableHLO lacks, of those that it has.
//!
//! Inverse functions go by W. Kahan's formulas, "Branch Cuts for Complex Elementary Functions" (1987), in real arithmetic:
//! they keep their accuracy near the branch points, and signed zeros say on which side of a cut a number is.

use std::f64::consts::{LN_2, LN_10, PI};

use promote_lattice::convert::Literal;

use super::builder::{Builder, Direction, Tensor};

impl Builder<'_> {
    /// The conjugate.
    pub fn conjugate(&mut self, z: Tensor) -> Tensor {
        let (re, im) = self.parts(z);
        let im = self.neg(im);
        self.complex(re, im)
    }

    /// `i` times a number.
    fn turned(&mut self, z: Tensor) -> Tensor {
        let (re, im) = self.parts(z);
        let re_of = self.neg(im);
        self.complex(re_of, re)
    }

    /// `-i` times a number.
    fn turned_back(&mut self, z: Tensor) -> Tensor {
        let (re, im) = self.parts(z);
        let im_of = self.neg(re);
        self.complex(im, im_of)
    }

    fn scaled(&mut self, z: Tensor, factor: f64) -> Tensor {
        let (re, im) = self.parts(z);
        let factor = self.real(re, factor);
        let (re, im) = (self.mul(re, factor), self.mul(im, factor));
        self.complex(re, im)
    }

    fn over(&mut self, z: Tensor, divisor: f64) -> Tensor {
        let (re, im) = self.parts(z);
        let divisor = self.real(re, divisor);
        let (re, im) = (self.div(re, divisor), self.div(im, divisor));
        self.complex(re, im)
    }

    /// The angle.
    pub fn complex_angle(&mut self, z: Tensor) -> Tensor {
        let (re, im) = self.parts(z);
        self.atan2(im, re)
    }

    /// 2 to the power of `z`.
    pub fn complex_exp2(&mut self, z: Tensor) -> Tensor {
        let exponent = self.scaled(z, LN_2);
        self.exp(exponent)
    }

    /// The logarithm to the base 2.
    pub fn complex_log2(&mut self, z: Tensor) -> Tensor {
        let log = self.log(z);
        self.over(log, LN_2)
    }

    /// The logarithm to the base 10.
    pub fn complex_log10(&mut self, z: Tensor) -> Tensor {
        let log = self.log(z);
        self.over(log, LN_10)
    }

    /// The root that is the power of a third.
    pub fn complex_cbrt(&mut self, z: Tensor) -> Tensor {
        let (size, angle) = (self.abs(z), self.complex_angle(z));
        let (size, three) = (self.unary("stablehlo.cbrt", size), self.real(angle, 3.0));
        let angle = self.div(angle, three);
        let (cosine, sine) = (self.unary("stablehlo.cosine", angle), self.unary("stablehlo.sine", angle));
        let (re, im) = (self.mul(size, cosine), self.mul(size, sine));
        self.complex(re, im)
    }

    /// The hyperbolic sine.
    pub fn complex_sinh(&mut self, z: Tensor) -> Tensor {
        let (re, im) = self.parts(z);
        let (sinh, cosh) = (self.sinh(re), self.cosh(re));
        let (sine, cosine) = (self.unary("stablehlo.sine", im), self.unary("stablehlo.cosine", im));
        let (re, im) = (self.mul(sinh, cosine), self.mul(cosh, sine));
        self.complex(re, im)
    }

    /// The hyperbolic cosine.
    pub fn complex_cosh(&mut self, z: Tensor) -> Tensor {
        let (re, im) = self.parts(z);
        let (sinh, cosh) = (self.sinh(re), self.cosh(re));
        let (sine, cosine) = (self.unary("stablehlo.sine", im), self.unary("stablehlo.cosine", im));
        let (re, im) = (self.mul(cosh, cosine), self.mul(sinh, sine));
        self.complex(re, im)
    }

    /// The roots of 1 - z and of 1 + z.
    fn roots_around_one(&mut self, z: Tensor) -> (Tensor, Tensor) {
        let (re, im) = self.parts(z);
        let one = self.real(re, 1.0);
        let (less, more, opposite) = (self.sub(one, re), self.add(one, re), self.neg(im));
        let (less, more) = (self.complex(less, opposite), self.complex(more, im));
        (self.sqrt(less), self.sqrt(more))
    }

    /// The real and imaginary part of the conjugate of `a` times `b`.
    fn conjugate_product(&mut self, a: Tensor, b: Tensor) -> (Tensor, Tensor) {
        let ((ar, ai), (br, bi)) = (self.parts(a), self.parts(b));
        let (rr, ii, ri, ir) = (self.mul(ar, br), self.mul(ai, bi), self.mul(ar, bi), self.mul(ai, br));
        (self.add(rr, ii), self.sub(ri, ir))
    }

    /// The angle of a sine.
    pub fn complex_asin(&mut self, z: Tensor) -> Tensor {
        let (less, more) = self.roots_around_one(z);
        let (re, _) = self.parts(z);
        let ((lr, li), (mr, mi)) = (self.parts(less), self.parts(more));
        let (product, other) = (self.mul(lr, mr), self.mul(li, mi));
        let adjacent = self.sub(product, other);
        let re_of = self.atan2(re, adjacent);
        let (_, height) = self.conjugate_product(less, more);
        let im_of = self.asinh(height);
        self.complex(re_of, im_of)
    }

    /// The angle of a cosine.
    pub fn complex_acos(&mut self, z: Tensor) -> Tensor {
        let (less, more) = self.roots_around_one(z);
        let (lr, mr) = (self.part("stablehlo.real", less), self.part("stablehlo.real", more));
        let half = self.atan2(lr, mr);
        let two = self.real(half, 2.0);
        let re_of = self.mul(half, two);
        let (_, height) = self.conjugate_product(more, less);
        let im_of = self.asinh(height);
        self.complex(re_of, im_of)
    }

    /// The number whose hyperbolic cosine is `z`.
    pub fn complex_acosh(&mut self, z: Tensor) -> Tensor {
        let (re, im) = self.parts(z);
        let one = self.real(re, 1.0);
        let (less, more) = (self.sub(re, one), self.add(re, one));
        let (less, more) = (self.complex(less, im), self.complex(more, im));
        let (less, more) = (self.sqrt(less), self.sqrt(more));
        let (width, _) = self.conjugate_product(less, more);
        let re_of = self.asinh(width);
        let (opposite, adjacent) = (self.part("stablehlo.imag", less), self.part("stablehlo.real", more));
        let half = self.atan2(opposite, adjacent);
        let two = self.real(half, 2.0);
        let im_of = self.mul(half, two);
        self.complex(re_of, im_of)
    }

    /// The number whose hyperbolic sine is `z`.
    pub fn complex_asinh(&mut self, z: Tensor) -> Tensor {
        let turned = self.turned(z);
        let angle = self.complex_asin(turned);
        self.turned_back(angle)
    }

    /// The number whose hyperbolic tangent is `z`.
    pub fn complex_atanh(&mut self, z: Tensor) -> Tensor {
        let (re, im) = self.parts(z);
        let (one, four, quarter) = (self.real(re, 1.0), self.real(re, 4.0), self.real(re, 0.25));
        let (half, two) = (self.real(re, 0.5), self.real(re, 2.0));
        let (less, more, height) = (self.sub(one, re), self.add(one, re), self.mul(im, im));
        let square = self.mul(less, less);
        let divisor = self.add(square, height);
        let dividend = self.mul(re, four);
        let ratio = self.div(dividend, divisor);
        let log = self.log1p(ratio);
        let re_of = self.mul(log, quarter);
        let product = self.mul(less, more);
        let (opposite, adjacent) = (self.mul(im, two), self.sub(product, height));
        let angle = self.atan2(opposite, adjacent);
        let im_of = self.mul(angle, half);
        self.complex(re_of, im_of)
    }

    /// The angle of a tangent.
    pub fn complex_atan(&mut self, z: Tensor) -> Tensor {
        let turned = self.turned(z);
        let found = self.complex_atanh(turned);
        self.turned_back(found)
    }

    /// The logarithm of the sum of two powers of e: that of the larger one, and what the other one adds.
    pub fn complex_logaddexp(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let (xr, yr) = (self.part("stablehlo.real", x), self.part("stablehlo.real", y));
        let y_is_larger = self.compare(xr, Direction::Lt, yr);
        let (larger, other) = (self.select(y_is_larger, y, x), self.select(y_is_larger, x, y));
        let distance = self.sub(other, larger);
        let power = self.exp(distance);
        let log = self.log1p(power);
        let sum = self.add(larger, log);
        let sum = self.principal(sum);
        // Nothing is added to an infinity, and two that are zero are none.
        let real = self.part("stablehlo.real", larger);
        let size = self.abs(real);
        let infinity = self.real(size, f64::INFINITY);
        let is_infinite = self.compare(size, Direction::Eq, infinity);
        self.select(is_infinite, larger, sum)
    }

    /// The same logarithm with an angle between -π and π.
    fn principal(&mut self, log: Tensor) -> Tensor {
        let (re, im) = self.parts(log);
        let turn = self.real(im, 2.0 * PI);
        let turns = self.div(im, turn);
        let turns = self.unary("stablehlo.round_nearest_even", turns);
        let turned = self.mul(turns, turn);
        let im = self.sub(im, turned);
        self.complex(re, im)
    }

    /// A number to the power of another; 1 if that is zero, and 0 of zero if its real part is positive.
    pub fn complex_power(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let power = self.binary("stablehlo.power", x, y);
        let (zero, one) = (self.zero(y), self.splat(x.dtype, &x.shape(), Literal::one(x.dtype)));
        let y_is_zero = self.compare(y, Direction::Eq, zero);
        let x_is_zero = self.compare(x, Direction::Eq, zero);
        let real = self.part("stablehlo.real", y);
        let nothing = self.zero(real);
        let is_positive = self.compare(real, Direction::Gt, nothing);
        let vanishes = self.and(x_is_zero, is_positive);
        let power = self.select(vanishes, zero, power);
        self.select(y_is_zero, one, power)
    }
}
