//! Real functions that StableHLO lacks, of those that it has.
//!
//! They work in f32 and f64; narrower floats come as f32. Each holds for infinities, NaN and both zeros what C's function of
//! that name does. Constants are in double precision, and rounded to the dtype.

use std::f64::consts::{LN_2, LN_10, PI};

use promote_lattice::DType;
use promote_lattice::convert::Numerics;

use super::builder::{Builder, Direction, Tensor};

/// erf(x) / x for |x| < 1, in powers of x², the highest first; of f32. Least deviation: 1.3e-9.
const ERF_SMALL_F32: &[f64] = &[
    7.875875062685488e-05,
    -0.000801686428716587,
    0.005189087423433974,
    -0.026854212010626412,
    0.11283594715160218,
    -0.37612626666720334,
    1.1283791658483509,
];

/// The same of f64. Least deviation: 1.3e-19.
#[expect(clippy::approx_constant, reason = "fitted, and not the constant that it is close to")]
const ERF_SMALL_F64: &[f64] = &[
    5.957176147748911e-11,
    -1.1372848856791674e-09,
    1.4659775274047436e-08,
    -1.6350312701054695e-07,
    1.6461000484121368e-06,
    -1.4925595266831182e-05,
    0.0001205533111164271,
    -0.000854832698083379,
    0.0052239776248180145,
    -0.026866170645076792,
    0.11283791670954879,
    -0.3761263890318375,
    1.1283791670955126,
];

/// erfc(x) exp(x²) for 1 ≤ x ≤ 6.2, in powers of 1 / (x + 2), the highest first; of f32. Least deviation: 2.9e-10.
const ERFC_SCALED_F32: &[f64] = &[
    12.231634320147808,
    -8.696289697144152,
    -9.792193916500414,
    8.233136078666313,
    1.256223336324367,
    2.232793155187472,
    1.1029125001282882,
    0.5655864987168939,
    -3.2854951589984817e-05,
];

/// The same of f64. Least deviation: 3.5e-19.
const ERFC_SCALED_F64: &[f64] = &[
    6887.418999173738,
    -31665.049492137023,
    66852.92243714168,
    -85369.36578292472,
    73014.87074506388,
    -43778.68103620653,
    18841.61853327222,
    -5998.004267480178,
    1511.849925929411,
    -311.62177503999254,
    39.10433416180516,
    -5.974382209643536,
    3.22543950379656,
    2.7809417113685817,
    1.9768328350435298,
    1.1282971826695984,
    0.564191511978408,
    -2.1256899384485024e-08,
];

/// Beyond this, in both formats, the square of a number added to 1 is the square, and e to the power of its negative is
/// nothing beside e to its power.
const LARGE: f64 = 20.0;
/// Beyond this, in both formats, 1 more than a square is the square, and the square is no infinity.
const SQUARES: f64 = 268_435_456.0;

impl Builder<'_> {
    fn polynomial(&mut self, x: Tensor, coefficients: &[f64]) -> Tensor {
        let mut value = self.real(x, coefficients[0]);
        for coefficient in &coefficients[1..] {
            let product = self.mul(value, x);
            let coefficient = self.real(x, *coefficient);
            value = self.add(product, coefficient);
        }
        value
    }

    /// `size`, which is not negative, with the sign of `x`; 0 where `x` is, with its sign.
    fn with_sign(&mut self, size: Tensor, x: Tensor) -> Tensor {
        let sign = self.unary("stablehlo.sign", x);
        self.mul(size, sign)
    }

    fn times(&mut self, x: Tensor, factor: f64) -> Tensor {
        let factor = self.real(x, factor);
        self.mul(x, factor)
    }

    fn plus(&mut self, x: Tensor, summand: f64) -> Tensor {
        let summand = self.real(x, summand);
        self.add(x, summand)
    }

    /// Half of e to the power of `x`, which is no infinity before that is.
    fn half_exp(&mut self, x: Tensor) -> Tensor {
        let half = self.times(x, 0.5);
        let root = self.exp(half);
        let half = self.times(root, 0.5);
        self.mul(half, root)
    }

    /// The hyperbolic sine.
    pub fn sinh(&mut self, x: Tensor) -> Tensor {
        let size = self.abs(x);
        let less_1 = self.expm1(size);
        let power = self.plus(less_1, 1.0);
        let quotient = self.div(less_1, power);
        let sum = self.add(less_1, quotient);
        let near = self.times(sum, 0.5);
        let far = self.half_exp(size);
        let large = self.real(x, LARGE);
        let is_near = self.compare(size, Direction::Lt, large);
        let found = self.select(is_near, near, far);
        self.with_sign(found, x)
    }

    /// The hyperbolic cosine.
    pub fn cosh(&mut self, x: Tensor) -> Tensor {
        let size = self.abs(x);
        let power = self.exp(size);
        let half = self.real(x, 0.5);
        let (rising, falling) = (self.mul(half, power), self.div(half, power));
        let near = self.add(rising, falling);
        let far = self.half_exp(size);
        let large = self.real(x, LARGE);
        let is_near = self.compare(size, Direction::Lt, large);
        self.select(is_near, near, far)
    }

    /// The square root of 1 - x².
    fn co_square(&mut self, x: Tensor) -> Tensor {
        let one = self.real(x, 1.0);
        let (less, more) = (self.sub(one, x), self.add(one, x));
        let product = self.mul(less, more);
        self.sqrt(product)
    }

    /// The angle of a sine.
    pub fn asin(&mut self, x: Tensor) -> Tensor {
        let cosine = self.co_square(x);
        let adjacent = self.plus(cosine, 1.0);
        let half = self.atan2(x, adjacent);
        self.times(half, 2.0)
    }

    /// The angle of a cosine.
    pub fn acos(&mut self, x: Tensor) -> Tensor {
        let one = self.real(x, 1.0);
        let (less, more) = (self.sub(one, x), self.add(one, x));
        let (opposite, adjacent) = (self.sqrt(less), self.sqrt(more));
        let half = self.atan2(opposite, adjacent);
        self.times(half, 2.0)
    }

    /// The angle of a tangent.
    pub fn atan(&mut self, x: Tensor) -> Tensor {
        let one = self.real(x, 1.0);
        self.atan2(x, one)
    }

    /// The number whose hyperbolic sine is `x`.
    pub fn asinh(&mut self, x: Tensor) -> Tensor {
        let size = self.abs(x);
        let square = self.mul(size, size);
        let sum = self.plus(square, 1.0);
        let root = self.sqrt(sum);
        let divisor = self.plus(root, 1.0);
        let quotient = self.div(square, divisor);
        let summand = self.add(size, quotient);
        let near = self.log1p(summand);
        let found = self.near_or_log(size, near);
        self.with_sign(found, x)
    }

    /// `near`, but where `size` is large the logarithm of twice it.
    fn near_or_log(&mut self, size: Tensor, near: Tensor) -> Tensor {
        let log = self.log(size);
        let far = self.plus(log, LN_2);
        let large = self.real(size, SQUARES);
        let is_near = self.compare(size, Direction::Lt, large);
        self.select(is_near, near, far)
    }

    /// The number that is not negative and whose hyperbolic cosine is `x`.
    pub fn acosh(&mut self, x: Tensor) -> Tensor {
        let beyond = self.plus(x, -1.0);
        let (square, double) = (self.mul(beyond, beyond), self.times(beyond, 2.0));
        let sum = self.add(square, double);
        let root = self.sqrt(sum);
        let summand = self.add(beyond, root);
        let near = self.log1p(summand);
        let found = self.near_or_log(x, near);
        let (one, nan) = (self.real(x, 1.0), self.real(x, f64::NAN));
        let is_none = self.compare(x, Direction::Lt, one);
        self.select(is_none, nan, found)
    }

    /// The number whose hyperbolic tangent is `x`.
    pub fn atanh(&mut self, x: Tensor) -> Tensor {
        let size = self.abs(x);
        let one = self.real(x, 1.0);
        let (double, rest) = (self.times(size, 2.0), self.sub(one, size));
        let quotient = self.div(double, rest);
        let log = self.log1p(quotient);
        let half = self.times(log, 0.5);
        self.with_sign(half, x)
    }

    /// 2 to the power of `x`.
    pub fn exp2(&mut self, x: Tensor) -> Tensor {
        let two = self.real(x, 2.0);
        self.binary("stablehlo.power", two, x)
    }

    /// The logarithm to the base 2.
    pub fn log2(&mut self, x: Tensor) -> Tensor {
        let (log, base) = (self.log(x), self.real(x, LN_2));
        self.div(log, base)
    }

    /// The logarithm to the base 10.
    pub fn log10(&mut self, x: Tensor) -> Tensor {
        let (log, base) = (self.log(x), self.real(x, LN_10));
        self.div(log, base)
    }

    /// The error function.
    pub fn erf(&mut self, x: Tensor) -> Tensor {
        let (small, scaled) = if x.dtype == DType::F64 {
            (ERF_SMALL_F64, ERFC_SCALED_F64)
        } else {
            (ERF_SMALL_F32, ERFC_SCALED_F32)
        };
        let square = self.mul(x, x);
        let ratio = self.polynomial(square, small);
        let near = self.mul(x, ratio);
        // From 6 on it is 1 in both formats, and so is what stands here for 6.
        let (size, six, one) = (self.abs(x), self.real(x, 6.0), self.real(x, 1.0));
        let size = self.min(size, six);
        let shifted = self.plus(size, 2.0);
        let inverse = self.div(one, shifted);
        let scaled = self.polynomial(inverse, scaled);
        let square = self.mul(size, size);
        let exponent = self.neg(square);
        let power = self.exp(exponent);
        let rest = self.mul(power, scaled);
        let far = self.sub(one, rest);
        let far = self.with_sign(far, x);
        let is_near = self.compare(size, Direction::Lt, one);
        self.select(is_near, near, far)
    }

    /// The angle of a real number: 0, or π where it is negative. PyTorch takes negative zero for zero.
    pub fn angle(&mut self, x: Tensor) -> Tensor {
        let zero = self.zero(x);
        match self.numerics() {
            Numerics::Jax | Numerics::NumPy => self.atan2(zero, x),
            Numerics::Torch => {
                let pi = self.real(x, PI);
                let is_negative = self.compare(x, Direction::Lt, zero);
                let angle = self.select(is_negative, pi, zero);
                let is_nan = self.is_nan(x);
                self.select(is_nan, x, angle)
            }
        }
    }

    /// The length of a vector: an infinity if a part is one, even if the other is NaN.
    pub fn hypot(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let (x, y) = (self.abs(x), self.abs(y));
        let (longer, shorter) = (self.max(x, y), self.min(x, y));
        let (zero, infinity) = (self.zero(x), self.real(x, f64::INFINITY));
        let is_zero = self.compare(longer, Direction::Eq, zero);
        let ratio = self.div(shorter, longer);
        let square = self.mul(ratio, ratio);
        let sum = self.plus(square, 1.0);
        let root = self.sqrt(sum);
        let length = self.mul(longer, root);
        let length = self.select(is_zero, zero, length);
        let (x_is, y_is) =
            (self.compare(x, Direction::Eq, infinity), self.compare(y, Direction::Eq, infinity));
        let is_infinite = self.or(x_is, y_is);
        self.select(is_infinite, infinity, length)
    }

    /// The logarithm of the sum of two powers of e.
    pub fn logaddexp(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let (larger, distance) = (self.max(x, y), self.sub(x, y));
        let distance = self.abs(distance);
        let exponent = self.neg(distance);
        let power = self.exp(exponent);
        let log = self.log1p(power);
        let sum = self.add(larger, log);
        // Equal infinities are no distance apart.
        let alike = self.compare(x, Direction::Eq, y);
        let doubled = self.plus(x, LN_2);
        self.select(alike, doubled, sum)
    }

    /// The quotient, rounded down: what NumPy makes of what the remainder leaves.
    pub fn floor_divide_reals(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let (zero, one, half) = (self.zero(x), self.real(x, 1.0), self.real(x, 0.5));
        let rest = self.rem(x, y);
        let whole = self.sub(x, rest);
        let quotient = self.div(whole, y);
        let leaves = self.compare(rest, Direction::Ne, zero);
        let (rest_is, y_is) = (self.compare(rest, Direction::Lt, zero), self.compare(y, Direction::Lt, zero));
        let apart = self.xor(rest_is, y_is);
        let is_below = self.and(leaves, apart);
        let below = self.sub(quotient, one);
        let quotient = self.select(is_below, below, quotient);
        // The quotient is whole but for rounding.
        let floor = self.unary("stablehlo.floor", quotient);
        let over = self.sub(quotient, floor);
        let is_above = self.compare(over, Direction::Gt, half);
        let above = self.add(floor, one);
        let rounded = self.select(is_above, above, floor);
        let exact = self.div(x, y);
        let signed_zero = self.copysign(zero, exact);
        let is_zero = self.compare(quotient, Direction::Eq, zero);
        let rounded = self.select(is_zero, signed_zero, rounded);
        let by_zero = self.compare(y, Direction::Eq, zero);
        self.select(by_zero, exact, rounded)
    }

    /// What the quotient, rounded down, leaves: of the sign of `y`. NumPy lets a zero have it, too.
    pub fn remainder_of_reals(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let zero = self.zero(x);
        let rest = self.rem(x, y);
        let (rest_is, y_is) = (self.compare(rest, Direction::Lt, zero), self.compare(y, Direction::Lt, zero));
        let leaves = self.compare(rest, Direction::Ne, zero);
        let apart = self.xor(rest_is, y_is);
        let is_below = self.and(leaves, apart);
        let above = self.add(rest, y);
        let found = self.select(is_below, above, rest);
        match self.numerics() {
            Numerics::Jax | Numerics::Torch => found,
            Numerics::NumPy => {
                let signed_zero = self.copysign(zero, y);
                let is_zero = self.compare(rest, Direction::Eq, zero);
                self.select(is_zero, signed_zero, found)
            }
        }
    }

    /// A float to the power of an integer, of which no bit is lost: whether it is odd says the sign.
    pub fn real_to_integer(&mut self, x: Tensor, n: Tensor) -> Tensor {
        let exponent = self.cast(n, x.dtype);
        let size = self.abs(x);
        let power = self.binary("stablehlo.power", size, exponent);
        let (lowest, none) = (self.whole(n, 1), self.zero(n));
        let parity = self.and(n, lowest);
        let is_odd = self.compare(parity, Direction::Ne, none);
        let is_negative = self.sign_is_set(x);
        let negates = self.and(is_odd, is_negative);
        let negative = self.neg(power);
        self.select(negates, negative, power)
    }
}
