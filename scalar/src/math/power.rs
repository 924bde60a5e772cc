//! Powers and roots.

use super::exponential::{self, Whole};
use super::logarithm;
use super::num::Num;
use crate::emit::{Cast, Emit, Ty};

family! {
    /// The cube root.
    Cbrt cbrt(x) 1 1; // 0.73  0.71
    /// 1 over the square root.
    Rsqrt rsqrt(x) 2 2; // 1.48  1.38
    /// x to the power of y.
    Pow pow(x, y) 1 1; // 0.50  0.79
    /// The length of the vector with the coordinates x and y.
    Hypot hypot(x, y) 1 1; // 0.87  0.86
}

pub(super) fn rsqrt<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    x.constant(1.0) / x.sqrt()
}

/// x = 2^3k m with m from 1 to 8. A polynomial near m^(-1/3) (by `tools/coefficients.py`, error 2^-7.2 relative) is refined by
/// steps that make an error δ one of 14/3 δ^3, then m^(1/3) by a step of Newton.
pub(super) fn cbrt<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    const START: [f64; 5] = [
        1.337380290031433,
        -0.4404078423976898,
        0.10833346098661423,
        -0.01295995432883501,
        0.0005838712095282972,
    ];
    let format = x.format();
    let a = x.abs();
    let small = a.lt(format.min_normal);
    // A multiple of 3 that makes subnormal numbers normal.
    let lift = x.of(24, 54);
    let bits = a.replaced(small, a * (1i64 << lift) as f64).bits();
    let e = (bits >> format.fraction).small_to_float(x) - format.bias as f64;
    // e is 3 k, 3 k + 1 or 3 k + 2, so (e - 1) / 3 is nearest to k.
    let third = Whole::nearest(e - 1.0, 1.0 / 3.0, 1, 0).0.power();
    let shifted = third.bits() - (format.bias << format.fraction);
    let m = (bits - (shifted + shifted + shifted)).as_float(x);
    let mut r = m.polynomial(&START);
    for _ in 0..x.of(1, 2) {
        let error = (r * r * r).fma(-m, 1.0);
        r = (r * error).fma(error.fma(2.0 / 9.0, 1.0 / 3.0), r);
    }
    let root = m * r * r;
    let rest = (root * root).fma(-root, m);
    let root = (rest * (r * r)).fma(1.0 / 3.0, root);
    let root = root * third;
    let root = root.replaced(small, root * x.of(2f64.powi(-8), 2f64.powi(-18)));
    let unchanged = a.equals(0.0) | !a.lt(f64::INFINITY);
    root.copysign(x).replaced(unchanged, x)
}

/// The greater scaled to where its square is a normal number and finite.
pub(super) fn hypot<'m, E: Emit>(x: Num<'m, E>, y: Num<'m, E>) -> Num<'m, E> {
    let (a, b) = (x.abs(), y.abs());
    let swap = a.lt(b);
    let (most, least) = (swap.select(b, a), swap.select(a, b));
    let (large, small) = (x.of(2f64.powi(60), 2f64.powi(500)), x.of(2f64.powi(-50), 2f64.powi(-460)));
    let (down, up) = (x.of(2f64.powi(-68), 2f64.powi(-600)), x.of(2f64.powi(100), 2f64.powi(600)));
    let (is_large, is_small) = (most.gt(large), most.lt(small));
    let one = x.constant(1.0);
    let scale = one.replaced(is_large, down).replaced(is_small, up);
    let back = one.replaced(is_large, 1.0 / down).replaced(is_small, 1.0 / up);
    let (most, least) = (most * scale, least * scale);
    let length = most.mul_add(most, least * least).sqrt() * back;
    length.replaced(a.equals(f64::INFINITY) | b.equals(f64::INFINITY), f64::INFINITY)
}

/// A number in two parts, the second below the last place of the first.
struct Pair<'m, E: Emit> {
    high: Num<'m, E>,
    low: Num<'m, E>,
}

impl<'m, E: Emit> Pair<'m, E> {
    fn times(&self, y: &Self) -> Self {
        let high = self.high * y.high;
        let error = self.high.fma(y.high, -high);
        Self { high, low: error + self.high.fma(y.low, self.low * y.high) }
    }

    /// The sum with a constant, in two parts, that is greater.
    fn plus(&self, greater: [f64; 2]) -> Self {
        let high = self.high + greater[0];
        let error = (-high + greater[0]) + self.high;
        Self { high, low: error + (self.low + greater[1]) }
    }
}

/// log2 of a positive number of double precision, the relative error about 2^-41.
///
/// Coefficients by `tools/coefficients.py`.
fn log2_rough<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    const SLOPE: [f64; 15] = [
        1.4426950408888763,
        -0.7213475204704876,
        0.480898347064292,
        -0.3606737515575496,
        0.2885389889477319,
        -0.240450006423719,
        0.20610067441474939,
        -0.1803017245918329,
        0.16025093044453906,
        -0.14502556201794423,
        0.1320699511505153,
        -0.11164490680275774,
        0.10155837515744229,
        -0.15080465889464661,
        0.14460915247177691,
    ];
    let (e, m) = logarithm::split_any(x);
    let f = m - 1.0;
    f.fma(f.polynomial(&SLOPE), e)
}

/// log2 of a positive number of double precision in two parts, the relative error about 2^-65.
///
/// With s = (m - 1) / (m + 1), log2 m = 2 / ln 2 (s + s^3 / 3 + s^5 / 5 …). The tail's coefficients are by
/// `tools/coefficients.py`, on |s| ≤ 1/5, error 2^-69 relative.
fn log2_fine<E: Emit>(x: Num<'_, E>) -> Pair<'_, E> {
    const FIRST: [f64; 2] = [2.8853900817779268, 4.0710547481862066e-17];
    const THIRD: [f64; 2] = [0.9617966939259756, 5.0577616648125907e-17];
    const TAIL: [f64; 8] = [
        0.5770780163555814,
        0.4121985831132656,
        0.3205988975302701,
        0.26230823737202924,
        0.22195007658238966,
        0.19247193553974792,
        0.16724324004172034,
        0.18136514113502544,
    ];
    let (e, m) = logarithm::split_any(x);
    let (f, below) = (m - 1.0, m + 1.0);
    let below_low = m - (below - 1.0);
    let inverse = x.constant(1.0) / below;
    let high = f * inverse;
    let rest = below_low.fma(-high, below.fma(-high, f));
    let s = Pair { high, low: rest * inverse };
    let z = s.times(&s);
    let tail = z.high * z.high.polynomial(&TAIL);
    let factor = Pair { high: tail, low: x.constant(0.0) }.plus(THIRD);
    let log = z.times(&factor).plus(FIRST).times(&s);
    let high = e + log.high;
    Pair { high, low: ((e - high) + log.high) + log.low }
}

/// 2 to a power in two parts; beyond what overflows or vanishes by much the result has no meaning.
fn exp2_of<'m, E: Emit>(power: Pair<'m, E>, coefficients: &[f64]) -> Num<'m, E> {
    let (whole, n) = Whole::nearest(power.high, 1.0, 2, 0);
    let r = (power.high - n) + power.low;
    whole.scale(r.polynomial(coefficients).fma(r, 1.0))
}

/// |x|^y of double precision, x neither 0 nor infinite, and y log2 |x|.
fn magnitude<'m, E: Emit>(a: Num<'m, E>, y: Num<'m, E>, rough: bool) -> [Num<'m, E>; 2] {
    // Error 2^-34 relative, by `tools/coefficients.py`.
    const ROUGH: [f64; 7] = [
        0.6931471807029487,
        0.240226510661078,
        0.05550410370900229,
        0.00961803818151949,
        0.0013333930896847342,
        0.0001546674244926745,
        1.519714099401248e-05,
    ];
    if rough {
        let power = log2_rough(a) * y;
        let zero = power.constant(0.0);
        [exp2_of(Pair { high: power, low: zero }, &ROUGH), power]
    } else {
        let log = log2_fine(a);
        let high = log.high * y;
        let low = log.high.fma(y, -high) + log.low * y;
        [exp2_of(Pair { high, low }, exponential::constants(a).exp2_tail), high]
    }
}

/// Of single precision computed in double precision.
pub(super) fn pow<'m, E: Emit>(x: Num<'m, E>, y: Num<'m, E>) -> Num<'m, E> {
    match x.ty() {
        Ty::F32 => {
            let wide = |x: Num<'m, E>| x.cast(Cast::FExt, Ty::F64);
            pow_double(wide(x), wide(y), true).cast(Cast::FTruncate, Ty::F32)
        }
        Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16 | Ty::F64 => pow_double(x, y, false),
    }
}

/// C's rules, Annex F.
fn pow_double<'m, E: Emit>(x: Num<'m, E>, y: Num<'m, E>, rough: bool) -> Num<'m, E> {
    let a = x.abs();
    let [usual, power] = magnitude(a, y, rough);
    let (is_zero, is_infinite) = (a.equals(0.0), a.equals(f64::INFINITY));
    let power = power.replaced(is_zero, -y).replaced(is_infinite, y);
    let extreme = is_zero | is_infinite;
    let overflows = power.gt(1025.0) | (extreme & power.gt(0.0));
    let vanishes = power.lt(-1080.0) | (extreme & power.lt(0.0));
    let result = usual.replaced(overflows, f64::INFINITY).replaced(vanishes, 0.0);
    let result = result.replaced(a.equals(1.0), 1.0);
    let whole = y.trunc().equals(y);
    let half = y * 0.5;
    let odd = whole & half.trunc().differs(half);
    let result = result.replaced(odd, result.copysign(x));
    let result = result.replaced(x.lt(0.0) & !whole & !is_infinite, f64::NAN);
    let result = result.replaced(x.unordered(y), f64::NAN);
    result.replaced(y.equals(0.0) | x.equals(1.0), 1.0)
}
