//! erf.

use super::exponential::{Whole, constants as exponential_constants};
use super::num::Num;
use crate::emit::Emit;

family! {
    /// The error function.
    Erf erf(x) 2 1; // 1.14* 0.99
}

/// Coefficients by `tools/coefficients.py`; errors are relative to erf x.
struct Constants {
    /// (erf x - x) / x in x^2, for x up to 1.
    near: &'static [f64],
    /// -log2(1 - erf x) from 1 to `one`.
    far: &'static [f64],
    /// erf x rounds to 1 from here on.
    one: f64,
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
};

pub(super) fn erf<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let c = x.of(&SINGLE, &DOUBLE);
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
