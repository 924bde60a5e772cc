//! The logarithm of the gamma function.
//!
//! For x from 1 to 3, log Γ(x) = (x - 1) (x - 2) g(x - 2) with a polynomial g. Elsewhere below 8 the argument is moved there by
//! Γ(x + 1) = x Γ(x), and one logarithm takes all its factors together. From 8 on it is Stirling's series, and far out on the
//! negative side the reflection Γ(x) Γ(-x) = -π / (x sin(π x)).
//!
//! The sum that the reflection is vanishes twice between two negative integers. Down to -24, where floats come near those
//! zeros, 1 / |Γ(x)| is a product in twice the precision instead: of |x|, |x + 1|, … down to the distance d of x from an
//! integer, and of 1 / Γ(1 ± d), a polynomial.

use super::logarithm::log;
use super::num::Num;
use super::trigonometric::sine_of_turns;
use crate::emit::Emit;

family! {
    /// The logarithm of the absolute value of the gamma function.
    Lgamma lgamma(x) 3 3; // 2.43  2.02
}

/// Coefficients by `tools/coefficients.py`.
struct Constants {
    /// log Γ(2 + v) / (v (v + 1)) on |v| ≤ 1; the error is relative.
    near: &'static [f64],
    /// x (log Γ(x) - (x - 1/2) (log x - 1) - log(2 π) / 2 + 1/2) in 1 / x^2, from 8 up; relative to log Γ(x).
    stirling: &'static [f64],
    /// (1 / Γ(1 + w) - 1) / w in w, on |w| ≤ 1/2: the first coefficients, in two parts.
    inverse: &'static [[f64; 2]],
    /// Those that follow; the error is absolute.
    inverse_tail: &'static [f64],
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
    // 2^-54.7
    inverse: &[[0.5772156715393066, -6.637773442008665e-09], [-0.6558780670166016, -4.503651229725847e-09], [-0.04200263321399689, -1.8201440354914666e-09], [0.16653861105442047, 3.277628168874003e-10], [-0.042197734117507935, -4.3613587741297977e-10], [-0.009621971286833286, -2.3745816424280974e-10], [0.007218943443149328, -2.3218652001055773e-10], [-0.001165167661383748, 1.3350576720527751e-11], [-0.000215241321711801, -3.320060155617699e-12]],
    inverse_tail: &[0.0001280507567571476, -2.0136707462370396e-05, -1.2526969612736139e-06, 1.1381515605535242e-06, -2.0036900139075442e-07],
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
    // 2^-116.2
    inverse: &[[0.5772156649015329, -4.942915152430645e-18], [-0.6558780715202539, 2.1371851970685354e-17], [-0.04200263503409524, 1.4920306285649798e-18], [0.16653861138229148, 1.0189144546843981e-17], [-0.04219773455554433, -3.357999268240533e-18], [-0.009621971527876973, -5.300031371037042e-19], [0.0072189432466631, -3.600653710307986e-19], [-0.0011651675918590652, 5.659949098325169e-20], [-0.00021524167411495098, 2.3758809350467388e-21], [0.0001280502823881162, -9.359536723542898e-21], [-2.013485478078824e-05, 3.024616776402019e-23], [-1.2504934821426706e-06, -1.786880006736599e-23], [1.133027231981696e-06, -4.3056890582119243e-23], [-2.0563384169776084e-07, 4.020306828077162e-24], [6.116095104481388e-09, 8.118831573188186e-26], [5.002007644470468e-09, 1.577021579728145e-25], [-1.181274570486859e-09, 8.227070955431568e-26], [1.0434267116042265e-10, 3.959435762517109e-27]],
    inverse_tail: &[7.78226343933162e-12, -3.696805576202824e-12, 5.100370296159676e-13, -2.058340267693637e-14, -5.348120678658183e-15, 1.2270895744902825e-15, -1.1813792377347996e-16, 7.864925872315773e-19, 1.4357537494845015e-18],
    integers: 4503599627370496.0,
};

/// log(2 π) / 2 - 1/2.
const STIRLING: f64 = 0.4189385332046727;

/// From here on it is Stirling's series.
const FAR: i32 = 8;

/// The reflection is of numbers from here on.
const REFLECTED: i32 = 24;

/// `x` moved to at most 3 by whole steps, from below `FAR`, and the product of what it went through.
fn moved<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 2] {
    (3..FAR).fold([x, x.constant(1.0)], |[x, product], _| {
        let (is_above, less) = (x.gt(3.0), x - 1.0);
        [x.replaced(is_above, less), product.replaced(is_above, product * less)]
    })
}

/// The logarithm is infinite at the poles.
pub(super) fn lgamma<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let a = x.abs();
    let positive = of_positive(a);
    let sine = -log(sine_of_turns(a) * a) - positive;
    let reflected = sine.replaced(a.gt(a.of(&SINGLE, &DOUBLE).integers), f64::INFINITY);
    let usual = positive.replaced(x.lt(0.0), reflected);
    let near_zeros = x.lt(0.0) & a.lt(f64::from(REFLECTED));
    let [value] = x.rarely(near_zeros, [usual], |x| [-log_of_parts(inverse_of_negative(x.abs()))]);
    value
}

fn of_positive<E: Emit>(a: Num<'_, E>) -> Num<'_, E> {
    let c = a.of(&SINGLE, &DOUBLE);
    let (is_small, is_far) = (a.lt(1.0), a.gt(f64::from(FAR)));
    let [within, product] = moved(a);
    // From 1 to 3, less 1: below 1 that is how much the argument is moved up.
    let u = (within - 1.0).replaced(is_small, a);
    let v = u - 1.0;
    let near = u * v * v.polynomial(c.near);
    let factors = log(product.replaced(is_small | is_far, a));
    let inverse = a.constant(1.0) / a;
    let tail = inverse.mul_add((inverse * inverse).polynomial(c.stirling), STIRLING);
    let far = (a - 0.5).mul_add(factors - 1.0, tail);
    (near + factors.replaced(is_small, -factors)).replaced(is_far, far)
}

/// |1 / Γ(-a)| in two parts, for positive `a` below `REFLECTED`.
fn inverse_of_negative<E: Emit>(a: Num<'_, E>) -> [Num<'_, E>; 2] {
    let beyond = a - a.round_even();
    // The factors are exact.
    let product = (1..=REFLECTED).fold([a, a.constant(0.0)], |product, step| {
        let factor = a - f64::from(step);
        scaled(product, factor.replaced(factor.lt(beyond), 1.0))
    });
    let [high, low] = times(product, inverse_near_one(-beyond));
    let is_negative = high.lt(0.0);
    [high.replaced(is_negative, -high), low.replaced(is_negative, -low)]
}

/// 1 / Γ(1 + w) in two parts.
fn inverse_near_one<E: Emit>(w: Num<'_, E>) -> [Num<'_, E>; 2] {
    let c = w.of(&SINGLE, &DOUBLE);
    let tail = [w.polynomial(c.inverse_tail), w.constant(0.0)];
    let coefficients = std::iter::once(&[1.0, 0.0]).chain(c.inverse);
    coefficients.rev().fold(tail, |sum, [high, low]| {
        let [product, rest] = scaled(sum, w);
        let [sum, sum_rest] = plus(product, *high);
        [sum, sum_rest + (rest + *low)]
    })
}

/// The logarithm of the sum of two parts, of which the second is little of the first.
fn log_of_parts<E: Emit>([high, low]: [Num<'_, E>; 2]) -> Num<'_, E> {
    let sum = high + low;
    let rest = (high - sum) + low;
    log(sum) + rest / sum.at_least(sum.format().min_normal)
}

/// `x + y` and what rounding took from it.
fn plus<'m, E: Emit>(x: Num<'m, E>, y: f64) -> [Num<'m, E>; 2] {
    let sum = x + y;
    let of_y = sum - x;
    [sum, (x - (sum - of_y)) + (-of_y + y)]
}

/// A number in two parts times another.
fn scaled<'m, E: Emit>([high, low]: [Num<'m, E>; 2], by: Num<'m, E>) -> [Num<'m, E>; 2] {
    let product = high * by;
    [product, low.mul_add(by, high.fma(by, -product))]
}

/// The product of numbers in two parts.
fn times<'m, E: Emit>(x: [Num<'m, E>; 2], [high, low]: [Num<'m, E>; 2]) -> [Num<'m, E>; 2] {
    let [product, rest] = scaled(x, high);
    [product, x[0].mul_add(low, rest)]
}
