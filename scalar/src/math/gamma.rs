//! The logarithm of the gamma function.
//!
//! For x from 1 to 3, log Γ(x) = (x - 1) (x - 2) g(x - 2) with a polynomial g. Elsewhere below 8 the argument is moved there by
//! Γ(x + 1) = x Γ(x), and one logarithm takes all its factors together. From 8 on it is Stirling's series, and for negative
//! x the reflection Γ(x) Γ(-x) = -π / (x sin(π x)).

use super::logarithm::log;
use super::num::Num;
use super::trigonometric::{beyond_integer, sine_rest};
use crate::emit::Emit;

family! {
    /// The logarithm of the absolute value of the gamma function.
    Lgamma lgamma(x) 4 3; // 3.21  2.09
}

/// Coefficients by `tools/coefficients.py`.
struct Constants {
    /// log Γ(2 + v) / (v (v + 1)) on |v| ≤ 1; the error is relative.
    near: &'static [f64],
    /// x (log Γ(x) - (x - 1/2) (log x - 1) - log(2 π) / 2 + 1/2) in 1 / x^2, from 8 up; relative to log Γ(x).
    stirling: &'static [f64],
    /// Greater numbers are integers.
    integers: f64,
}

const SINGLE: Constants = Constants {
    // 2^-25.7
    near: &[
        0.42278432846069336,
        -0.10031726956367493,
        0.032965149730443954,
        -0.012385024689137936,
        0.00499785365536809,
        -0.002101833699271083,
        0.0009160909103229642,
        -0.00042602853500284255,
        0.00018648503464646637,
        -5.200316081754863e-05,
        2.77046474366216e-05,
        -3.88752123399172e-05,
        1.7013951946864836e-05,
    ],
    // 2^-33.5
    stirling: &[0.08333323895931244, -0.002759822178632021],
    integers: 8388608.0,
};

const DOUBLE: Constants = Constants {
    // 2^-56.2
    near: &[
        0.42278433509846713,
        -0.1003173016743539,
        0.03296500062115722,
        -0.012384192193374027,
        0.004998641164614578,
        -0.002108130833837211,
        0.0009153769242708166,
        -0.000405707399838486,
        0.00018255261302170411,
        -8.309510068139854e-05,
        3.816909155923147e-05,
        -1.7661852015868037e-05,
        8.221172669275896e-06,
        -3.846525232463667e-06,
        1.8115638170059488e-06,
        -8.554574701393179e-07,
        3.9555922214661946e-07,
        -1.8616904163055964e-07,
        1.0465144342612729e-07,
        -5.199819580877152e-08,
        5.505422961525753e-09,
        -8.159575240495715e-10,
        1.6431899830015525e-08,
        -8.937670495466132e-09,
        -4.393813629650264e-09,
        2.4653905114093833e-09,
        1.5870010560990849e-09,
        -8.18501657289106e-10,
    ],
    // 2^-63.2
    stirling: &[
        0.08333333333333245,
        -0.0027777777768038946,
        0.000793650418551868,
        -0.0005951698389222468,
        0.0008353193455260724,
        -0.0016090029039172653,
    ],
    integers: 4503599627370496.0,
};

/// log(2 π) / 2 - 1/2.
const STIRLING: f64 = 0.4189385332046727;

/// From here on it is Stirling's series.
const FAR: i32 = 8;

/// `x` moved to at most 3 by whole steps, from below `FAR`, and the product of what it went through.
fn moved<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 2] {
    (3..FAR).fold([x, x.constant(1.0)], |[x, product], _| {
        let (is_above, less) = (x.gt(3.0), x - 1.0);
        [x.replaced(is_above, less), product.replaced(is_above, product * less)]
    })
}

/// The logarithm is infinite at the poles.
pub(super) fn lgamma<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let c = x.of(&SINGLE, &DOUBLE);
    let a = x.abs();
    let (is_negative, is_small, is_far) = (x.lt(0.0), a.lt(1.0), a.gt(f64::from(FAR)));
    let [within, product] = moved(a);
    // From 1 to 3, less 1: below 1 that is how much the argument is moved up.
    let u = (within - 1.0).replaced(is_small, a);
    let v = u - 1.0;
    let near = u * v * v.polynomial(c.near);
    // What is divided by where x is small is a factor of the reflection too.
    let divisor = a.replaced(is_negative, 1.0);
    let factor = product.replaced(is_small, divisor).replaced(is_far, a);
    let factors = log(factor);
    let inverse = x.constant(1.0) / a;
    let tail = inverse.mul_add((inverse * inverse).polynomial(c.stirling), STIRLING);
    let far = (a - 0.5).mul_add(factors - 1.0, tail);
    let positive = (near + factors.replaced(is_small, -factors)).replaced(is_far, far);
    let reflected = (-log_sine(a, is_small) - positive).replaced(a.gt(c.integers), f64::INFINITY);
    positive.replaced(is_negative, reflected)
}

/// log(a |sin(π a)| / π), or without the factor a where `is_small`.
fn log_sine<'m, E: Emit>(a: Num<'m, E>, is_small: Num<'m, E>) -> Num<'m, E> {
    let [d, _] = beyond_integer(a);
    let [cube, tail] = sine_rest(d);
    let sine = cube.mul_add(tail, d);
    let factor = a.replaced(is_small, 1.0);
    let product = sine * factor;
    // What rounding took from both counts where the logarithm is small.
    let rest = cube.mul_add(tail, d - sine).mul_add(factor, sine.fma(factor, -product));
    log(product) + rest / product.at_least(a.format().min_normal)
}
