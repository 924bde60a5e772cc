//! asin, acos, atan and atan2.

use super::num::Num;
use crate::emit::Emit;

family! {
    /// Inverse sine.
    Asin asin(x) 2 2; // 1.15  1.04
    /// Inverse cosine.
    Acos acos(x) 2 2; // 1.12  1.05
    /// Inverse tangent.
    Atan atan(x) 2 2; // 1.36  1.35
    /// The angle of the point with the ordinate y and the abscissa x.
    Atan2 atan2(y, x) 2 2; // 1.19  1.17
}

/// Coefficients by `tools/coefficients.py`; the errors are relative.
struct Constants {
    /// What π/2 rounded to the precision lacks.
    half_pi_low: f64,
    /// (asin s - s) / s^3 in s^2, for s up to 1/2.
    asin_tail: &'static [f64],
    /// (atan t - t) / t^3 in t^2, for t up to 1.
    atan_tail: &'static [f64],
}

const SINGLE: Constants = Constants {
    half_pi_low: -4.371138828673793e-08,
    // 2^-27.6
    asin_tail: &[
        0.16666752099990845,
        0.0749531164765358,
        0.04546865448355675,
        0.024188103154301643,
        0.04215141013264656,
    ],
    // 2^-28.5
    atan_tail: &[
        -0.33333298563957214,
        0.1999853551387787,
        -0.14264127612113953,
        0.10951672494411469,
        -0.08402134478092194,
        0.05793748423457146,
        -0.03115970268845558,
        0.010905686765909195,
        -0.0017917805816978216,
    ],
};

const DOUBLE: Constants = Constants {
    half_pi_low: 6.123233995736766e-17,
    // 2^-59.9
    asin_tail: &[
        0.1666666666666676,
        0.07499999999970891,
        0.04464285717452341,
        0.030381942712044186,
        0.022372214868896064,
        0.017351614100597847,
        0.01398079625838492,
        0.011399104172657453,
        0.010779217023883904,
        0.0037101688280769193,
        0.021698659360481428,
        -0.020987113881329268,
        0.032621438076180995,
    ],
    // 2^-57.6
    atan_tail: &[
        -0.3333333333333307,
        0.19999999999951773,
        -0.14285714282589926,
        0.11111111007402028,
        -0.0909090700890881,
        0.07692279902143405,
        -0.06666404532467934,
        0.0588053045997967,
        -0.052535296871145054,
        0.04722358223770583,
        -0.042192693814861744,
        0.03664368408195992,
        -0.029906574792731462,
        0.02198808845100433,
        -0.013903522137711151,
        0.007198546671230673,
        -0.002885945439677123,
        0.0008316765281527083,
        -0.00015223610180257888,
        1.323246355262595e-05,
    ],
};

fn constants<E: Emit>(x: Num<'_, E>) -> &'static Constants {
    x.of(&SINGLE, &DOUBLE)
}

/// π/2 rounded to the precision.
fn half_pi<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    x.constant(std::f64::consts::FRAC_PI_2)
}

/// Where |x| is above 1/2, and s and asin s - s. There s is sqrt((1 - |x|) / 2), and asin |x| is π/2 - 2 asin s; elsewhere s
/// is |x|.
fn arc<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 3] {
    let a = x.abs();
    let far = a.gt(0.5);
    let z = far.select(a.mul_add(-0.5, 0.5), a * a);
    let s = far.select(z.sqrt(), a);
    [far, s, s * z * z.polynomial(constants(x).asin_tail)]
}

pub(super) fn asin<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let [far, s, rest] = arc(x);
    let high = s.mul_add(-2.0, half_pi(x));
    let taken = s.mul_add(-2.0, half_pi(x) - high);
    let from_end = high + (taken - rest.mul_add(2.0, -constants(x).half_pi_low));
    (s + rest).replaced(far, from_end).copysign(x)
}

/// Twice the arc, or π less it, where x is far from 0; else π/2 - asin x.
pub(super) fn acos<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let [far, s, rest] = arc(x);
    let arc = (s + rest).copysign(x);
    let (zero, low) = (x.constant(0.0), constants(x).half_pi_low);
    let end = x.lt(0.0).select(half_pi(x) * 2.0, zero);
    let end_low = x.lt(0.0).select(2.0 * low, zero);
    let base = half_pi(x).replaced(far, end);
    let base_low = x.constant(low).replaced(far, end_low);
    base + ((-arc).replaced(far, arc + arc) + base_low)
}

/// atan of a number from 0 to 1.
fn arctangent<E: Emit>(t: Num<'_, E>) -> Num<'_, E> {
    let z = t * t;
    (t * z).mul_add(z.polynomial(constants(t).atan_tail), t)
}

pub(super) fn atan<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let a = x.abs();
    let far = a.gt(1.0);
    let arc = arctangent(a.replaced(far, a.constant(1.0) / a));
    let from_end = half_pi(x) - (arc - constants(x).half_pi_low);
    arc.replaced(far, from_end).copysign(x)
}

/// The arc whose tangent is the lesser of |x| and |y| by the greater, taken from the nearest axis.
pub(super) fn atan2<'m, E: Emit>(y: Num<'m, E>, x: Num<'m, E>) -> Num<'m, E> {
    let (a, b) = (y.abs(), x.abs());
    let steep = a.gt(b);
    let (least, most) = (steep.select(b, a), steep.select(a, b));
    // Of two zeros the quotient is 0, of two infinities 1.
    let same = least.equals(most);
    let one = most.equals(0.0).select(0.0, x.constant(1.0));
    let arc = arctangent((least / most).replaced(same, one));
    let left = x.bits().lt(0);
    let zero = x.constant(0.0);
    let low = constants(x).half_pi_low;
    let flat = left.select(half_pi(x) * 2.0, zero);
    let base = flat.replaced(steep, half_pi(x));
    let base_low = left.select(2.0 * low, zero).replaced(steep, low);
    let signed = arc.replaced(steep ^ left, -arc);
    (base + (signed + base_low)).copysign(y)
}
