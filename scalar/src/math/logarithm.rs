//! Functions made of log x.
//!
//! x = 2^e (1 + f) with 1 + f between 2/3 and 4/3; then log x = e log 2 + log(1 + f), and log(1 + f) is a polynomial.

use std::f64::consts::LN_2;

use promote_lattice::Op;

use super::{exponential, num::Num};
use crate::emit::Emit;

family! {
    /// The natural logarithm.
    Log log(x) 1 1; // 0.88* 0.74
    /// The logarithm to base 2.
    Log2 log2(x) 2 2; // 1.43* 1.14
    /// The logarithm to base 10.
    Log10 log10(x) 2 2; // 1.63  0.78
    /// The natural logarithm of 1 + x.
    Log1p log1p(x) 2 2; // 1.60  1.26
    /// Inverse hyperbolic sine.
    Asinh asinh(x) 3 3; // 2.02+ 1.45
    /// Inverse hyperbolic cosine.
    Acosh acosh(x) 3 3; // 2.15+ 1.57
    /// Inverse hyperbolic tangent.
    Atanh atanh(x) 2 2; // 1.98+ 1.56
    /// log(e^x + e^y).
    LogAddExp logaddexp(x, y) 2 2; // 1.47  1.62
}

/// A base and precision: log(1 + f) = slope f + tail(f) f^2. Coefficients by `tools/coefficients.py`, on |f| ≤ 1/3; the
/// errors are relative.
pub(super) struct Base {
    /// log 2 in two parts.
    two: [f64; 2],
    /// log e in two parts.
    slope: [f64; 2],
    tail: &'static [f64],
}

const E_SINGLE: Base = Base {
    two: [0.6931471824645996, -1.9046542121259336e-09],
    slope: [1.0, 0.0],
    // 2^-27.6
    tail: &[
        -0.5,
        0.3333320915699005,
        -0.24999824166297913,
        0.2001071274280548,
        -0.1667938381433487,
        0.1400166153907776,
        -0.1219865158200264,
        0.1400250941514969,
        -0.12832026183605194,
    ],
};

const E_DOUBLE: Base = Base {
    two: [std::f64::consts::LN_2, 2.3190468138462996e-17],
    slope: [1.0, 0.0],
    // 2^-59.3
    tail: &[
        -0.5,
        0.33333333333333154,
        -0.24999999999999536,
        0.20000000000077764,
        -0.16666666666822733,
        0.1428571427404413,
        -0.12499999980293615,
        0.1111111197731516,
        -0.10000001287433824,
        0.09090872232455456,
        -0.08333283715867809,
        0.07693274193070436,
        -0.07144058709253552,
        0.06650562208514431,
        -0.06231251239187927,
        0.06052451713484614,
        -0.05742895866315464,
        0.04172605359331356,
        -0.03855266629143764,
        0.08504615165814994,
        -0.08307154617753712,
    ],
};

const TWO_SINGLE: Base = Base {
    two: [1.0, 0.0],
    slope: [1.4426950216293335, 1.925963033500011e-08],
    // 2^-27.5
    tail: &[
        -0.7213475108146667,
        0.480896532535553,
        -0.3606720566749573,
        0.2886946201324463,
        -0.24061013758182526,
        0.20198634266853333,
        -0.1762290596961975,
        0.20207931101322174,
        -0.18424637615680695,
    ],
};

const TWO_DOUBLE: Base = Base {
    two: [1.0, 0.0],
    slope: [std::f64::consts::LOG2_E, 2.0355273740931033e-17],
    // 2^-59.2
    tail: &[
        -0.7213475204444817,
        0.4808983469629852,
        -0.3606737602222386,
        0.2885390081789116,
        -0.24044917348306874,
        0.20609929138751382,
        -0.18033687987761549,
        0.1602994614675743,
        -0.1442695204724537,
        0.1311535633953633,
        -0.1202239292993295,
        0.11099047517652814,
        -0.10306598599547759,
        0.09594745247309988,
        -0.0899088044929431,
        0.08731753285969339,
        -0.0827791207627454,
        0.060201590063248274,
        -0.055899508208754514,
        0.12268935982489122,
        -0.11938665920284793,
    ],
};

const TEN_SINGLE: Base = Base {
    two: [0.3010300099849701, -1.432098883924482e-08],
    slope: [0.4342944920063019, -1.0103049952192578e-08],
    // 2^-27.7
    tail: &[
        -0.21714724600315094,
        0.14476428925991058,
        -0.10857241600751877,
        0.08690536767244339,
        -0.07244961708784103,
        0.060809120535850525,
        -0.05284973606467247,
        0.06080949306488037,
        -0.0562032125890255,
    ],
};

const TEN_DOUBLE: Base = Base {
    two: [std::f64::consts::LOG10_2, -2.8037281277851704e-18],
    slope: [std::f64::consts::LOG10_E, 1.098319650216765e-17],
    // 2^-59.1
    tail: &[
        -0.2171472409516259,
        0.14476482730108317,
        -0.10857362047581334,
        0.08685889638098587,
        -0.0723824136508566,
        0.062042068792870365,
        -0.05428681017955163,
        0.04825494618316147,
        -0.04342945260851804,
        0.039481156849809705,
        -0.03619102259382432,
        0.0334114578491753,
        -0.031025720513965495,
        0.028883114181792287,
        -0.027067784881818626,
        0.02628480913393421,
        -0.024901854016503605,
        0.018124062395299557,
        -0.016892785289527958,
        0.03693043207833889,
        -0.035831489958289775,
    ],
};

/// The bits of 2/3, rounded down.
fn two_thirds<'m, E: Emit>(like: Num<'m, E>) -> i64 {
    like.of(0x3f2a_aaaa, 0x3fe5_5555_5555_5555)
}

/// log(1 + f) and e log 2.
fn sum<'m, E: Emit>(f: Num<'m, E>, e: Num<'m, E>, base: &Base) -> Num<'m, E> {
    // No base has both parts 0.
    let small = match (base.two[1], base.slope[1]) {
        (two, 0.0) => e * two,
        (0.0, slope) => f * slope,
        (two, slope) => e.mul_add(two, f * slope),
    };
    let rest = (f * f).mul_add(f.polynomial(base.tail), small);
    e.mul_add(base.two[0], f.mul_add(base.slope[0], rest))
}

/// e, as an integer shifted to where exponents are, and 1 + f, of a positive normal number.
pub(super) fn split<E: Emit>(x: Num<'_, E>) -> (Num<'_, E>, Num<'_, E>) {
    let low = (1 << x.format().fraction) - 1;
    let above = x.bits() - two_thirds(x);
    let fraction = above & low;
    (above ^ fraction, (fraction + two_thirds(x)).as_float(x))
}

/// e as a float, of what [`split`] returns.
fn exponent<'m, E: Emit>(shifted: Num<'m, E>, like: Num<'m, E>) -> Num<'m, E> {
    shifted.shift_signed(like.format().fraction).small_to_float(like)
}

/// e and 1 + f, also of a subnormal number.
pub(super) fn split_any<E: Emit>(x: Num<'_, E>) -> (Num<'_, E>, Num<'_, E>) {
    let format = x.format();
    let scale = format.fraction + 1;
    let small = x.lt(format.min_normal);
    let (shifted, m) = split(x.replaced(small, x * (1i64 << scale) as f64));
    let e = exponent(shifted, x);
    (e.replaced(small, e - scale as f64), m)
}

/// What a logarithm of x is where x is not a positive number, and `y` elsewhere.
fn special<'m, E: Emit>(y: Num<'m, E>, x: Num<'m, E>) -> Num<'m, E> {
    let y = y.replaced(!x.lt(f64::INFINITY), x);
    let y = y.replaced(x.equals(0.0), f64::NEG_INFINITY);
    y.replaced(x.lt(0.0), f64::NAN)
}

fn logarithm<'m, E: Emit>(x: Num<'m, E>, base: &Base) -> Num<'m, E> {
    let (e, m) = split_any(x);
    special(sum(m - 1.0, e, base), x)
}

pub(super) fn log<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    logarithm(x, x.of(&E_SINGLE, &E_DOUBLE))
}

pub(super) fn log2<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    logarithm(x, x.of(&TWO_SINGLE, &TWO_DOUBLE))
}

pub(super) fn log10<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    logarithm(x, x.of(&TEN_SINGLE, &TEN_DOUBLE))
}

/// log(1 + x) + `doublings` log 2 for x from 0 up, or above -1.
///
/// e is that of 1 + x rounded, and f = 2^-e x + (2^-e - 1) is rounded once: near 0 it is x.
fn log1p_core<'m, E: Emit>(x: Num<'m, E>, doublings: Option<Num<'m, E>>) -> Num<'m, E> {
    if let Some(log) = x.native(Op::Log1p) {
        return doublings.map_or(log, |more| more.mul_add(LN_2, log));
    }
    let format = x.format();
    let (shifted, m) = split(x + 1.0);
    let scale = (x.int(shifted.ty(), format.bias << format.fraction) - shifted).as_float(x);
    // 2^-e is no normal number for the greatest x, to which 1 is nothing.
    let f = x.mul_add(scale, scale - 1.0).replaced(x.gt(x.of(f64::from(1u32 << 30), 2f64.powi(60))), m - 1.0);
    let e = exponent(shifted, x);
    sum(f, doublings.map_or(e, |more| e + more), x.of(&E_SINGLE, &E_DOUBLE))
}

pub(super) fn log1p<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let y = log1p_core(x, None).copysign(x);
    let y = y.replaced(!x.lt(f64::INFINITY), x);
    let y = y.replaced(x.equals(-1.0), f64::NEG_INFINITY);
    y.replaced(x.lt(-1.0), f64::NAN)
}

/// A number whose square does not overflow, and to which 1 is nothing.
fn huge<E: Emit>(x: Num<'_, E>) -> f64 {
    x.of(2f64.powi(60), 2f64.powi(500))
}

/// log1p(|x| + x^2 / (1 + sqrt(1 + x^2))); for huge x log(2 |x|).
pub(super) fn asinh<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let a = x.abs();
    let square = a * a;
    let big = a.gt(huge(x));
    let argument = (square / ((square + 1.0).sqrt() + 1.0) + a).replaced(big, a);
    let y = log1p_core(argument, Some(x.constant(0.0).replaced(big, 1.0)));
    y.replaced(!a.lt(f64::INFINITY), a).copysign(x)
}

/// log1p(t + sqrt(t (t + 2))) with t = x - 1; for huge x log(2 x).
pub(super) fn acosh<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let t = x - 1.0;
    let big = x.gt(huge(x));
    let argument = (t + t.mul_add(t, t + t).sqrt()).replaced(big, x);
    let y = log1p_core(argument, Some(x.constant(0.0).replaced(big, 1.0)));
    let y = y.replaced(!x.lt(f64::INFINITY), x);
    y.replaced(x.lt(1.0), f64::NAN)
}

/// log1p(2 |x| + 2 x^2 / (1 - |x|)) / 2.
pub(super) fn atanh<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let a = x.abs();
    let twice = a + a;
    let y = log1p_core(a.mul_add(twice / (-a + 1.0), twice), None) * 0.5;
    let y = y.replaced(!a.lt(1.0), f64::NAN);
    y.replaced(a.equals(1.0), f64::INFINITY).copysign(x)
}

/// The greater plus log1p(e^-d) with the difference d, in two parts.
pub(super) fn logaddexp<'m, E: Emit>(x: Num<'m, E>, y: Num<'m, E>) -> Num<'m, E> {
    let swap = x.lt(y);
    let (high, low) = (swap.select(y, x), swap.select(x, y));
    let d = low - high;
    // What rounding took from the difference; not of infinities.
    let back = d - low;
    let rest = (low - (d - back)) - (high + back);
    let finite = d.gt(f64::NEG_INFINITY);
    let d = d.replaced(low.equals(high), 0.0);
    let e = d.native(Op::Exp).unwrap_or_else(|| exponential::exp(d));
    let e = finite.select(e.mul_add(rest, e), e);
    high + log1p_core(e, None)
}
