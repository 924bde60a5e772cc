//! sin, cos, tan and sinc.
//!
//! x = q π/2 + r with an integer q and |r| at most π/4. r comes in two parts; sin r and cos r are polynomials, and q says
//! which is meant, with what sign. Below the limit π/2 in three parts is taken away q times. Above, where that would not be
//! exact, x times 2/π is worked out in integers, with as many bits of 2/π as count (Payne and Hanek).
//!
//! sinc x = sin(π x) / (π x) needs no π at all: sin(π x) is ± sin(π d), where d is how far x is from an integer, which is
//! exact, and sin(π d) / (π d) is a polynomial.

use super::num::Num;
use crate::emit::{Cast, Emit, Ty};

family! {
    /// Sine of radians.
    Sin sin(x) 1 1; // 0.84  0.71
    /// Cosine of radians.
    Cos cos(x) 1 1; // 0.84  0.75
    /// Tangent of radians.
    Tan tan(x) 2 1; // 1.12  0.97
    /// sin(π x) / (π x).
    Sinc sinc(x) 3 3; // 2.01  1.53
}

/// Coefficients by `tools/coefficients.py`, on |r| ≤ 1.005 π/4; the errors are relative.
struct Constants {
    two_over_pi: f64,
    /// π/2 in three parts.
    half_pi: [f64; 3],
    limit: f64,
    /// (sin r - r) / r^3 in r^2.
    sin_tail: &'static [f64],
    /// (cos r - 1 + r^2 / 2) / r^4 in r^2.
    cos_tail: &'static [f64],
    /// (sinc d - 1) / d^2 in d^2, on |d| ≤ 1/2.
    sinc_tail: &'static [f64],
}

const SINGLE: Constants = Constants {
    two_over_pi: 0.6366197466850281,
    half_pi: [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15],
    limit: 131072.0,
    // 2^-27.8
    sin_tail: &[-0.16666653752326965, 0.008332114666700363, -0.00019509669800754637],
    // 2^-32.9
    cos_tail: &[0.04166664555668831, -0.001388730714097619, 2.4431850761175156e-05],
    // 2^-33.8
    sinc_tail: &[
        -1.644934058189392,
        0.8117420673370361,
        -0.1907465159893036,
        0.026111427694559097,
        -0.0022279703989624977,
    ],
};

const DOUBLE: Constants = Constants {
    two_over_pi: std::f64::consts::FRAC_2_PI,
    half_pi: [std::f64::consts::FRAC_PI_2, HALF_PI_LOW, -1.4973849048591691e-33],
    limit: 1099511627776.0,
    // 2^-62.9
    sin_tail: &[
        -0.16666666666666666,
        0.0083333333333331,
        -0.00019841269841057422,
        2.755731912966464e-06,
        -2.5052086134695767e-08,
        1.6056277455774974e-10,
        -7.486651276009433e-13,
    ],
    // 2^-63.9
    cos_tail: &[
        0.04166666666666659,
        -0.0013888888888872193,
        2.4801587288301244e-05,
        -2.755731401715683e-07,
        2.087567840706002e-09,
        -1.1357356045644982e-11,
    ],
    // 2^-63.1
    sinc_tail: &[
        -1.6449340668482264,
        0.8117424252833506,
        -0.19075182412197206,
        0.02614784781555154,
        -0.002346081012921537,
        0.0001484286488023793,
        -6.975325610165118e-06,
        2.5196683180410256e-07,
        -6.207283609582824e-09,
    ],
};

const HALF_PI_LOW: f64 = 6.123233995736766e-17;

/// The bits of 2/π after the point, after 64 zeros, as many as the greatest number needs.
const TWO_OVER_PI: [u64; 20] = [
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
];

/// r in two parts, and an integer whose two low bits are those of q.
fn reduce<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 3] {
    let c = x.of(&SINGLE, &DOUBLE);
    let magic = x.format().magic;
    let shifted = x.fma(c.two_over_pi, magic);
    let n = shifted - magic;
    // Exact, as x is not far from n times the first part.
    let first = n.fma(-c.half_pi[0], x);
    let second = n * -c.half_pi[1];
    let high = first + second;
    // What rounding took from the sum, and from the product.
    let from_second = high - first;
    let error = (first - (high - from_second)) + (second - from_second);
    let low = n.fma(-c.half_pi[2], error + n.fma(-c.half_pi[1], -second));
    let a = x.abs();
    let huge = a.gt(c.limit) & a.lt(f64::INFINITY);
    x.rarely(huge, [high, low, shifted.bits()], reduce_huge)
}

/// The same for a number from the limit up.
fn reduce_huge<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 3] {
    match x.ty() {
        Ty::F64 => reduce_huge_double(x),
        Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16 | Ty::F32 => {
            let [high, low, q] = reduce_huge_double(x.cast(Cast::FExt, Ty::F64));
            let rounded = high.cast(Cast::FTruncate, Ty::F32);
            let rest = (high - rounded.cast(Cast::FExt, Ty::F64)) + low;
            [rounded, rest.cast(Cast::FTruncate, Ty::F32), q.cast(Cast::Truncate, Ty::I32)]
        }
    }
}

/// |x| = m 2^e with an integer m of 53 bits. Bits of 2/π that give multiples of 4 do not count; m times the next 192 gives
/// q in two bits and r in 126.
fn reduce_huge_double<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 3] {
    let bits = x.bits();
    let m = (bits & ((1 << 52) - 1)) | (1 << 52);
    // The exponent field is e + 1075; the first bit that counts is number e - 2, counted from 0.
    let at = ((bits >> 52) & 0x7ff) - (1075 + 2 - 64);
    let [first, second, third] = window(at);
    let low = m * second + multiply_high(m, third);
    let carry = low.below(m * second).cast(Cast::ZExt, Ty::I64);
    let high = m * first + multiply_high(m, second) + carry;
    let q = (high + (1 << 61)) >> 62;
    let [r, rest] = quarters(high - (q << 62), low);
    let negative = x.lt(0.0);
    let zero = x.int(Ty::I64, 0);
    [r.replaced(negative, -r), rest.replaced(negative, -rest), q.replaced(negative, zero - q)]
}

/// 192 bits of 2/π from bit number `at`, the most significant first: the words that are too far are left out, by halves.
fn window<E: Emit>(at: Num<'_, E>) -> [Num<'_, E>; 3] {
    let mut words: Vec<_> = TWO_OVER_PI.iter().map(|word| at.int(Ty::I64, *word as i64)).collect();
    for step in [16, 8, 4, 2, 1] {
        let far = (at & (64 * step as i64)).differs(0);
        let left = words.len().min(step + 3);
        words =
            (0..left).map(|i| words.get(i + step).map_or(words[i], |w| far.select(*w, words[i]))).collect();
    }
    let shift = at & 63;
    std::array::from_fn(|i| (words[i] << shift) | ((words[i + 1] >> 1) >> (shift ^ 63)))
}

/// The high 64 bits of a product of unsigned integers.
fn multiply_high<'m, E: Emit>(x: Num<'m, E>, y: Num<'m, E>) -> Num<'m, E> {
    let low = (1 << 32) - 1;
    let ([x1, x0], [y1, y0]) = ([x >> 32, x & low], [y >> 32, y & low]);
    let (first, second) = (x1 * y0, x0 * y1);
    let middle = ((x0 * y0) >> 32) + (first & low) + (second & low);
    x1 * y1 + (first >> 32) + (second >> 32) + (middle >> 32)
}

/// π/2 times a signed number of 2^-62, and 64 bits after it, in two parts.
fn quarters<'m, E: Emit>(high: Num<'m, E>, low: Num<'m, E>) -> [Num<'m, E>; 2] {
    let float = |bits: Num<'m, E>, unit: f64| bits.cast(Cast::SToF, Ty::F64) * unit;
    let mask = (1 << 32) - 1;
    let (first, second) = (float(high.shift_signed(32), 2f64.powi(-30)), float(high & mask, 2f64.powi(-62)));
    let after = float(low >> 32, 2f64.powi(-94)) + float(low & mask, 2f64.powi(-126));
    // Each sum takes the lesser part second, and what rounding took goes on.
    let sum = first + second;
    let rest = (first - sum) + second + after;
    let turns = sum + rest;
    let rest = (sum - turns) + rest;
    let r = turns * std::f64::consts::FRAC_PI_2;
    let product = turns.fma(std::f64::consts::FRAC_PI_2, -r);
    [r, product + turns.fma(HALF_PI_LOW, rest * std::f64::consts::FRAC_PI_2)]
}

/// sin r, what it lacks, cos r, what it lacks, and q.
fn parts<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 5] {
    let c = x.of(&SINGLE, &DOUBLE);
    let [r, rest, q] = reduce(x);
    let z = r * r;
    let sin_rest = (r * z).fma(z.polynomial(c.sin_tail), rest);
    let sin = r + sin_rest;
    let half = z * 0.5;
    let near = -half + 1.0;
    // What rounding took from 1 - z / 2 comes back.
    let cos_rest = z.fma(z * z.polynomial(c.cos_tail), ((-near + 1.0) - half) - r * rest);
    let cos = near + cos_rest;
    [sin, (r - sin) + sin_rest, cos, (near - cos) + cos_rest, q]
}

/// `x` with its sign flipped where bit 1 of `q` is set.
fn signed<'m, E: Emit>(x: Num<'m, E>, q: Num<'m, E>) -> Num<'m, E> {
    let width = i64::from(x.ty().bits());
    (x.bits() ^ ((q & 2) << (width - 2))).as_float(x)
}

pub(super) fn sin<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let [sin, _, cos, _, q] = parts(x);
    signed(sin.replaced((q & 1).differs(0), cos), q).replaced(x.equals(0.0), x)
}

pub(super) fn cos<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let [sin, _, cos, _, q] = parts(x);
    signed(cos.replaced((q & 1).differs(0), sin), q + 1)
}

/// sin / cos, or -cos / sin in the odd quadrants. What the quotient lacks is found by a step of Newton, for which
/// 1 / cos^2 = 1 + tan^2, and 1 / sin^2 likewise.
pub(super) fn tan<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let [sin, sin_rest, cos, cos_rest, q] = parts(x);
    let odd = (q & 1).differs(0);
    let (over, over_rest) = (sin.replaced(odd, cos), sin_rest.replaced(odd, cos_rest));
    let (under, under_rest) = (cos.replaced(odd, sin), cos_rest.replaced(odd, sin_rest));
    let quotient = over / under;
    let lacks = under.fma(-quotient, over) + under_rest.fma(-quotient, over_rest);
    let quotient_more = (lacks * under).fma(quotient.fma(quotient, 1.0), quotient);
    signed(quotient_more, q << 1).replaced(x.equals(0.0), x)
}

/// How far a number that is not negative is from the nearest integer, and whether sin(π x) is negative.
fn beyond_integer<E: Emit>(x: Num<'_, E>) -> [Num<'_, E>; 2] {
    let turned = x - (x * 0.5).trunc() * 2.0;
    let is_negative = turned.gt(1.0);
    let half_turned = turned.replaced(is_negative, turned - 1.0);
    [half_turned.replaced(half_turned.gt(0.5), -half_turned + 1.0), is_negative]
}

/// sin(π d) / π for d up to 1/2.
fn sine_of_part<E: Emit>(d: Num<'_, E>) -> Num<'_, E> {
    let z = d * d;
    (d * z).mul_add(z.polynomial(d.of(&SINGLE, &DOUBLE).sinc_tail), d)
}

/// |sin(π x)| / π of a number that is not negative.
pub(super) fn sine_of_turns<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let [d, _] = beyond_integer(x);
    sine_of_part(d)
}

/// 0 at the integers but 0, NaN at the infinities.
pub(super) fn sinc<E: Emit>(x: Num<'_, E>) -> Num<'_, E> {
    let a = x.abs();
    let [d, is_negative] = beyond_integer(a);
    let y = sine_of_part(d) / a;
    y.replaced(is_negative, -y).replaced(a.equals(0.0), 1.0)
}
