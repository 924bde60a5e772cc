//! Functions made of e^x.
//!
//! x = n ln 2 + r with an integer n and |r| at most ln 2 / 2; then e^x = 2^n e^r, and e^r is a polynomial.

use super::num::Num;
use crate::emit::Emit;

family! {
    /// e to the power of x.
    Exp exp(x) 1 1; // 0.89* 0.83
    /// 2 to the power of x.
    Exp2 exp2(x) 1 1; // 0.88* 0.77
    /// e to the power of x, less 1.
    Expm1 expm1(x) 2 2; // 1.44* 1.62
    /// Hyperbolic sine.
    Sinh sinh(x) 2 2; // 1.45* 1.58
    /// Hyperbolic cosine.
    Cosh cosh(x) 2 2; // 1.83* 1.16
    /// Hyperbolic tangent.
    Tanh tanh(x) 2 2; // 1.50* 1.23
    /// 1 / (1 + e^-x).
    Sigmoid sigmoid(x) 2 2; // 2.00* 1.93
}

/// What depends on the precision. Coefficients by `tools/coefficients.py`, on |r| ≤ ln 2 / 2; the errors are relative.
pub(super) struct Constants {
    log2_e: f64,
    /// ln 2 in two parts; the first has so few bits that its product with n is exact.
    ln2: [f64; 2],
    /// e^x overflows above, and is 0 below, and so for 2^x, e^x - 1 (which is -1 below), 1 / (1 + e^-x) (1 above).
    exp: [f64; 2],
    exp2: [f64; 2],
    expm1: [f64; 2],
    sigmoid: [f64; 2],
    /// cosh x overflows from here on, where x / ln 2 rounds to one more than the greatest exponent.
    cosh: f64,
    /// tanh is 1 from half of this.
    tanh: f64,
    /// (e^r - 1 - r) / r^2.
    exp_tail: &'static [f64],
    /// (e^r - 1 - r) / r^2 with the error relative to e^r - 1.
    expm1_tail: &'static [f64],
    /// (sinh r - r) / r^3 in r^2.
    sinh_tail: &'static [f64],
    /// (cosh r - 1) / r^2 in r^2.
    cosh_tail: &'static [f64],
    /// (tanh x - x) / x^3 in x^2 for x up to 0.55.
    tanh_tail: &'static [f64],
    /// (2^r - 1) / r on |r| ≤ 1/2.
    pub(super) exp2_tail: &'static [f64],
}

const SINGLE: Constants = Constants {
    log2_e: std::f64::consts::LOG2_E,
    ln2: [0.693359375, -0.00021219444],
    exp: [-104.0, 89.0],
    exp2: [-151.0, 129.0],
    expm1: [-18.0, 89.0],
    sigmoid: [-104.0, 20.0],
    cosh: 89.7,
    tanh: 20.0,
    // 2^-28.2
    exp_tail: &[
        0.4999999403953552,
        0.1666651964187622,
        0.041668228805065155,
        0.008368834853172302,
        0.0013824207708239555,
    ],
    // 2^-30.5
    expm1_tail: &[
        0.5,
        0.166666641831398,
        0.04166647419333458,
        0.008333912119269371,
        0.001393407117575407,
        0.00019555294420570135,
    ],
    // 2^-34.2
    sinh_tail: &[0.1666666716337204, 0.008333191275596619, 0.0001995935890590772],
    // 2^-33.2
    cosh_tail: &[0.5, 0.04166645556688309, 0.0013935762690380216],
    // 2^-29.7
    tanh_tail: &[
        -0.33333316445350647,
        0.13332557678222656,
        -0.05384987220168114,
        0.02106310985982418,
        -0.006263594143092632,
    ],
    // 2^-27.9
    exp2_tail: &[
        0.6931471824645996,
        0.24022643268108368,
        0.055503588169813156,
        0.009619000367820263,
        0.0013391301035881042,
        0.0001519749639555812,
    ],
};

const DOUBLE: Constants = Constants {
    log2_e: std::f64::consts::LOG2_E,
    ln2: [0.6931471803691238, 1.9082149292705877e-10],
    exp: [-746.0, 710.0],
    exp2: [-1076.0, 1025.0],
    expm1: [-38.0, 710.0],
    sigmoid: [-746.0, 40.0],
    cosh: 710.7,
    tanh: 40.0,
    // 2^-57.9
    exp_tail: &[
        0.5000000000000011,
        0.16666666666666433,
        0.041666666666527095,
        0.008333333333482094,
        0.0013888888944294689,
        0.0001984126953245749,
        2.480149250659503e-05,
        2.7557563944543696e-06,
        2.7630434830360017e-07,
        2.5006976282422274e-08,
    ],
    // 2^-61.5
    expm1_tail: &[
        0.5,
        0.16666666666666677,
        0.04166666666666661,
        0.008333333333321416,
        0.0013888888888923712,
        0.00019841269886693735,
        2.4801587237868347e-05,
        2.755724360852682e-06,
        2.755735245116034e-07,
        2.5109257452292925e-08,
        2.088969196296866e-09,
    ],
    // 2^-61.7
    sinh_tail: &[
        0.16666666666666677,
        0.008333333333321417,
        0.000198412698866829,
        2.7557243626356802e-06,
        2.510924901958128e-08,
    ],
    // 2^-58.0
    cosh_tail: &[
        0.5000000000000013,
        0.04166666666651141,
        0.0013888888947963319,
        2.4801489015549675e-05,
        2.7631601654291776e-07,
    ],
    // 2^-60.6
    tanh_tail: &[
        -0.333333333333333,
        0.1333333333332659,
        -0.05396825396374601,
        0.02186948838547452,
        -0.008863232595551012,
        0.00359209197344934,
        -0.001455542491696624,
        0.0005884430758516547,
        -0.0002333780854921359,
        8.331160772527405e-05,
        -1.9491787757276996e-05,
    ],
    // 2^-57.4
    exp2_tail: &[
        std::f64::consts::LN_2,
        0.2402265069591013,
        0.0555041086648223,
        0.009618129107594386,
        0.001333355814637145,
        0.00015403530456817747,
        1.5252733814119997e-05,
        1.3215435414555242e-06,
        1.017808336224574e-07,
        7.0737623978769125e-09,
        4.4504429902541293e-10,
    ],
};

pub(super) fn constants<E: Emit>(x: Num<'_, E>) -> &'static Constants {
    x.of(&SINGLE, &DOUBLE)
}

/// An integer in the low bits of another, as wide as a float; what is above has no meaning.
pub(super) struct Whole<'m, E: Emit> {
    bits: Num<'m, E>,
    like: Num<'m, E>,
}

impl<'m, E: Emit> Whole<'m, E> {
    /// `x * scale` to the nearest integer, as a float too. `biases` times the exponent's bias, and `more`, is added in the bits.
    pub(super) fn nearest(x: Num<'m, E>, scale: f64, biases: i64, more: i64) -> (Self, Num<'m, E>) {
        let format = x.format();
        let added = biases * format.bias + more;
        if !x.keeps_sums() {
            let n = (x * scale).round_even();
            // Of what is far out or NaN no bits are asked for that mean something.
            let known = n.abs().lt(f64::from(1 << 20)).select(n, x.constant(0.0));
            let bits = known.to_signed() + added;
            return (Self { bits, like: x }, n);
        }
        let shift = format.magic + added as f64;
        let shifted = x.mul_add(scale, shift);
        (Self { bits: shifted.bits(), like: x }, shifted - shift)
    }

    /// 2 to the power of the bits' integer less one bias, which is a normal number.
    pub(super) fn power(&self) -> Num<'m, E> {
        (self.bits << self.like.format().fraction).as_float(self.like)
    }

    /// Two numbers whose product is 2 to the power of the bits' integer less two biases, though that may not be a normal
    /// number.
    pub(super) fn halves(&self) -> [Num<'m, E>; 2] {
        let half = self.bits >> 1;
        [half, self.bits - half].map(|part| (part << self.like.format().fraction).as_float(self.like))
    }

    /// `x` times 2 to that power; rounded once.
    pub(super) fn scale(&self, x: Num<'m, E>) -> Num<'m, E> {
        let [first, second] = self.halves();
        x * first * second
    }
}

/// n, also as a float, and r.
fn reduce<'m, E: Emit>(x: Num<'m, E>, biases: i64, more: i64) -> (Whole<'m, E>, Num<'m, E>, Num<'m, E>) {
    let c = constants(x);
    let (whole, n) = Whole::nearest(x, c.log2_e, biases, more);
    let r = n.mul_add(-c.ln2[1], n.mul_add(-c.ln2[0], x));
    (whole, n, r)
}

/// e^r.
fn near_one<E: Emit>(r: Num<'_, E>) -> Num<'_, E> {
    r.polynomial(constants(r).exp_tail).mul_add(r, 1.0).mul_add(r, 1.0)
}

/// e^r - 1.
fn near_zero<E: Emit>(r: Num<'_, E>) -> Num<'_, E> {
    (r * r).mul_add(r.polynomial(constants(r).expm1_tail), r)
}

fn within<'m, E: Emit>(x: Num<'m, E>, [low, high]: [f64; 2]) -> Num<'m, E> {
    x.at_most(high).at_least(low)
}

pub(super) fn exp<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let (whole, _, r) = reduce(within(x, constants(x).exp), 2, 0);
    whole.scale(near_one(r))
}

pub(super) fn exp2<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let x = within(x, constants(x).exp2);
    let (whole, n) = Whole::nearest(x, 1.0, 2, 0);
    let r = x - n;
    whole.scale(r.polynomial(constants(x).exp2_tail).mul_add(r, 1.0))
}

/// With 2^(n-1) instead of 2^n, which may overflow before the result does.
pub(super) fn expm1<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let (whole, n, r) = reduce(within(x, constants(x).expm1), 1, -1);
    let half = whole.power();
    let less_one = near_zero(r);
    let halved = less_one.mul_add(half, half - 0.5);
    // Half a subnormal number is rounded.
    (halved + halved).replaced(n.equals(0.0), less_one).copysign(x)
}

/// n, 2^(n-2) + 2^(-n-2) and 2^(n-2) - 2^(-n-2), a quarter of 2 cosh(n ln 2) and 2 sinh(n ln 2), sinh r, and cosh r - 1.
fn hyperbolic<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 5] {
    let (c, format) = (constants(x), x.format());
    let (whole, n, r) = reduce(x.abs().at_most(c.cosh), 1, -2);
    let grown = whole.power();
    // Exponents of n - 2 and -n - 2 sum to -4; what would be subnormal does not count.
    let exponents = x.int(grown.bits().ty(), (2 * format.bias - 4) << format.fraction);
    let shrunk = (exponents - grown.bits()).max_signed(0).as_float(x);
    let z = r * r;
    let sinh = (r * z).mul_add(z.polynomial(c.sinh_tail), r);
    let cosh_less_one = z * z.polynomial(c.cosh_tail);
    [n, grown + shrunk, grown - shrunk, sinh, cosh_less_one]
}

pub(super) fn sinh<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let [n, sum, difference, sinh, cosh_less_one] = hyperbolic(x);
    let halved = difference + sinh.mul_add(sum, cosh_less_one * difference);
    // Half a subnormal number is rounded.
    (halved + halved).replaced(n.equals(0.0), sinh).copysign(x)
}

pub(super) fn cosh<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let [_, sum, difference, sinh, cosh_less_one] = hyperbolic(x);
    let halved = sum + cosh_less_one.mul_add(sum, sinh * difference);
    halved + halved
}

/// 1 - 2 e^-2|x| / (1 + e^-2|x|), or a polynomial where that would cancel.
pub(super) fn tanh<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let c = constants(x);
    let a = x.abs();
    let (whole, _, r) = reduce((a * -2.0).at_least(-c.tanh), 1, 0);
    let power = near_one(r) * whole.power();
    let far = (power / (power + 1.0)).mul_add(-2.0, 1.0);
    let z = a * a;
    let near = (a * z).mul_add(z.polynomial(c.tanh_tail), a);
    far.replaced(a.lt(0.55), near).copysign(x)
}

/// 2^n / (2^n + e^-r), so that neither part overflows.
pub(super) fn sigmoid<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let (whole, _, r) = reduce(within(x, constants(x).sigmoid), 2, 0);
    let [first, second] = whole.halves();
    first * (second / (first.mul_add(second, near_zero(-r)) + 1.0))
}
