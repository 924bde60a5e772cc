//! erf and what it lacks of 1.
//!
//! For x from 3/4 on erfc x = e^-x^2 f(x) / (1 + 2 x), where f lies between 1 and 1.3: a polynomial in (x - c) / (x + c), which
//! is between -1 and 1 for all x. The square comes in two parts, so that what rounding took from it counts in the power.

use super::exponential::{Whole, constants as exponential_constants};
use super::num::Num;
use crate::emit::Emit;

family! {
    /// The error function.
    Erf erf(x) 2 1; // 1.14* 0.99
    /// The complementary error function, 1 - erf x.
    Erfc erfc(x) 2 2; // 1.78  1.59
}

/// Coefficients by `tools/coefficients.py`; errors are relative to erf x.
struct Constants {
    /// (erf x - x) / x in x^2, for x up to 1.
    near: &'static [f64],
    /// -log2(1 - erf x) from 1 to `one`.
    far: &'static [f64],
    /// erf x rounds to 1 from here on.
    one: f64,
    /// (1 + 2 x) e^x^2 erfc x - 1 in (x - c) / (x + c), from 3/4 to where erfc x vanishes; relative to erfc x.
    complement: &'static [f64],
    /// c.
    centre: f64,
    /// erfc x rounds to 0 from here on.
    zero: f64,
    /// log2 e in two parts.
    log2_e: [f64; 2],
}

const SINGLE: Constants = Constants {
    // 2^-29.3
    near: &[
        0.12837916612625122,
        -0.3761262595653534,
        0.1128358319401741,
        -0.026853691786527634,
        0.005188073962926865,
        -0.0008007878786884248,
        7.846114749554545e-05,
    ],
    // 2^-29.7
    far: &[
        0.0004630766052287072,
        1.6261626482009888,
        0.9204607009887695,
        0.14890944957733154,
        -0.03157881647348404,
        0.0042702737264335155,
        -0.0002706350351218134,
    ],
    one: 3.93,
    // 2^-27.2
    complement: &[
        0.27697837352752686,
        -0.09276379644870758,
        -0.1660298854112625,
        0.1640494167804718,
        -0.05422842130064964,
        -0.00800293404608965,
        0.008767527528107166,
        0.0010736377444118261,
        -0.001487718429416418,
    ],
    centre: 2.0,
    zero: 10.1,
    log2_e: [1.4426950216293335, 1.925963033500011e-08],
};

const DOUBLE: Constants = Constants {
    // 2^-56.3
    near: &[
        0.1283791670955126,
        -0.37612638903183876,
        0.11283791670958751,
        -0.026866170645622044,
        0.005223977629125665,
        -0.0008548327191537187,
        0.00012055337853024192,
        -1.4925740383893803e-05,
        1.6463117936096428e-06,
        -1.6370969047338063e-07,
        1.4788781843444122e-08,
        -1.1839210131524913e-09,
        6.699331523828357e-11,
    ],
    // 2^-59.4
    far: &[
        2.3733180270158592e-07,
        1.6279045899646574,
        0.9184597959903031,
        0.14823567712979854,
        -0.02752928627612724,
        -0.00039699430436942735,
        0.002543707512040465,
        -0.0009177976282844878,
        5.9770127336202724e-05,
        0.00010416228194441367,
        -6.611633421009316e-05,
        2.4216859029055957e-05,
        -6.349241264977602e-06,
        1.2497326220472774e-06,
        -1.8501226874037327e-07,
        2.00948625330504e-08,
        -1.5157432982663814e-09,
        7.102935395697507e-11,
        -1.5579743139768687e-12,
    ],
    one: 5.93,
    // 2^-56.9
    complement: &[
        0.2329951186255525,
        -0.13962111684056247,
        0.015379652102621322,
        0.06809705425468572,
        -0.10103906603637565,
        0.0937328349986714,
        -0.06633036581078278,
        0.03716751553071547,
        -0.016197734073130424,
        0.00503197005601745,
        -0.0007577731953326157,
        -0.0001992572365114671,
        0.00015062135808169982,
        -2.4396838207440582e-05,
        -1.1221543920745607e-05,
        5.703052776170014e-06,
        2.9411921295179545e-07,
        -8.135803338931415e-07,
        7.218667551063287e-08,
        9.756567137549706e-08,
        -1.4314736454497653e-08,
        -7.31874862238149e-09,
    ],
    centre: 4.0,
    zero: 27.3,
    log2_e: [std::f64::consts::LOG2_E, 2.0355273740931033e-17],
};

fn constants<E: Emit>(x: Num<'_, E>) -> &'static Constants {
    x.of(&SINGLE, &DOUBLE)
}

pub(super) fn erf<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let c = constants(x);
    let a = x.abs().at_most(c.one);
    let z = a * a;
    let near = a.mul_add(z.polynomial(c.near), a);
    let power = -a.polynomial(c.far);
    let (whole, n) = Whole::nearest(power, 1.0, 1, 0);
    let r = power - n;
    let exp2 = r.polynomial(exponential_constants(x).exp2_tail).mul_add(r, 1.0);
    let far = (-exp2).mul_add(whole.power(), 1.0);
    near.replaced(a.gt(1.0), far).copysign(x)
}

pub(super) fn erfc<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let a = x.abs();
    // 1 - x is exact where the result is small.
    let near = x.mul_add(-(x * x).polynomial(constants(x).near), -x + 1.0);
    let beyond = complement(a);
    let far = beyond.replaced(x.lt(0.0), -beyond + 2.0);
    near.replaced(a.gt(0.75), far)
}

/// erfc x for x from 3/4 up.
fn complement<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let c = constants(x);
    let x = x.at_most(c.zero);
    let square = x * x;
    let rest = x.fma(x, -square);
    let (whole, n) = Whole::nearest(square, -c.log2_e[0], 2, 0);
    let r = rest.mul_add(-c.log2_e[0], square.fma(-c.log2_e[0], -n));
    let r = square.mul_add(-c.log2_e[1], r);
    // 2^r - 1 and f - 1 are small, so their product with both ones is rounded once.
    let power = r * r.polynomial(exponential_constants(x).exp2_tail);
    let f = ((x - c.centre) / (x + c.centre)).polynomial(c.complement);
    let beyond_one = power.mul_add(f, power) + f;
    let product = beyond_one + 1.0;
    let divisor = x.mul_add(2.0, 1.0);
    // What rounding took from both is a little of the quotient.
    let product_rest = beyond_one - (product - 1.0);
    let divisor_rest = -(divisor - x * 2.0) + 1.0;
    let inverse = x.constant(1.0) / divisor;
    let quotient = product * inverse;
    let rest = quotient.fma(-divisor, product) + quotient.mul_add(-divisor_rest, product_rest);
    whole.scale(rest.mul_add(inverse, quotient))
}
