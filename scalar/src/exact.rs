//! Instructions that some machines do not have, computed exactly of those that all have.
//!
//! | function | instead of | of |
//! |---|---|---|
//! | [`fma_in_parts`] | [`Emit::fma`] | products and sums: nearly always rounded as once |
//! | [`fma_exact`] | [`Emit::fma`] | single precision: of double precision; double precision: of integers |
//! | [`remainder_exact`] | [`Binary::FRem`] | integers |

use crate::build::Build;
use crate::emit::{Binary, Cast, Compare, Emit, Ty, Unary};

/// How a float type is laid out.
#[derive(Clone, Copy)]
struct Layout {
    ty: Ty,
    /// The bits of the mantissa that are stored.
    mantissa: u32,
    /// The exponent field of infinities and NaNs.
    special: i64,
}

const SINGLE: Layout = Layout { ty: Ty::F32, mantissa: 23, special: 0xff };
const DOUBLE: Layout = Layout { ty: Ty::F64, mantissa: 52, special: 0x7ff };

/// A finite number that is not zero: `mantissa * 2^exponent`, the hidden bit the highest of the mantissa. Zero has the mantissa 0.
struct Number<V> {
    /// The sign bit, in place.
    sign: V,
    exponent: V,
    mantissa: V,
    /// Whether the exponent field is that of infinities and NaNs.
    is_special: V,
    is_zero: V,
}

/// The bits of the mantissa of a float that are stored.
pub(crate) fn mantissa_bits(float: Ty) -> u32 {
    Layout::of(float).mantissa
}

impl Layout {
    fn of(ty: Ty) -> Self {
        match ty {
            Ty::F32 => SINGLE,
            Ty::F64 => DOUBLE,
            Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16 => {
                unreachable!("{ty:?} is computed in single precision, or is no float")
            }
        }
    }

    const fn sign(self) -> i64 {
        match self.ty {
            Ty::F32 => 1 << 31,
            _ => i64::MIN,
        }
    }

    /// The bits of a number, in 64.
    fn bits<E: Emit>(self, e: &mut E, x: E::Value) -> E::Value {
        let bits = e.to_bits(x);
        if self.ty == Ty::F64 { bits } else { e.cast(Cast::ZExt, bits, Ty::I64) }
    }

    fn number<E: Emit>(self, e: &mut E, bits: E::Value) -> E::Value {
        let bits = if self.ty == Ty::F64 { bits } else { e.cast(Cast::Truncate, bits, Ty::I32) };
        e.cast(Cast::Bitcast, bits, self.ty)
    }

    fn unpack<E: Emit>(self, e: &mut E, bits: E::Value) -> Number<E::Value> {
        let sign = e.masked(bits, self.sign());
        let field = e.shift(Binary::ShrU, bits, self.mantissa);
        let field = e.masked(field, self.special);
        let stored = e.masked(bits, (1 << self.mantissa) - 1);
        let is_special = e.is(Compare::Eq, field, self.special as f64);
        let is_subnormal = e.is(Compare::Eq, field, 0.0);
        let hidden = e.bits(stored, 1 << self.mantissa);
        let normal = e.or(stored, hidden);
        // A subnormal number is shifted until it has the hidden bit.
        let zeros = e.unary(Unary::LeadingZeros, stored);
        let above = e.int(Ty::I64, i64::from(63 - self.mantissa));
        let by = e.sub(zeros, above);
        let is_zero = e.is(Compare::Eq, stored, 0.0);
        let is_zero = e.and(is_zero, is_subnormal);
        let none = e.int(Ty::I64, 0);
        let by = e.select(is_zero, none, by);
        let by = e.select(is_subnormal, by, none);
        let shifted = e.binary(Binary::Shl, stored, by);
        let mantissa = e.select(is_subnormal, shifted, normal);
        let one = e.int(Ty::I64, 1);
        let least = e.sub(one, by);
        let exponent = e.select(is_subnormal, least, field);
        Number { sign, exponent, mantissa, is_special, is_zero }
    }
}

/// 128 bits.
#[derive(Clone, Copy)]
struct Wide<V> {
    high: V,
    low: V,
}

impl<V: Copy> Wide<V> {
    fn select<E: Emit<Value = V>>(e: &mut E, condition: V, x: Self, y: Self) -> Self {
        Self { high: e.select(condition, x.high, y.high), low: e.select(condition, x.low, y.low) }
    }

    fn add<E: Emit<Value = V>>(e: &mut E, x: Self, y: Self) -> Self {
        let low = e.add(x.low, y.low);
        let carries = e.compare(Compare::LtU, low, x.low);
        let carry = e.cast(Cast::ZExt, carries, Ty::I64);
        let high = e.add(x.high, y.high);
        Self { high: e.add(high, carry), low }
    }

    fn sub<E: Emit<Value = V>>(e: &mut E, x: Self, y: Self) -> Self {
        let low = e.sub(x.low, y.low);
        let borrows = e.compare(Compare::LtU, x.low, y.low);
        let borrow = e.cast(Cast::ZExt, borrows, Ty::I64);
        let high = e.sub(x.high, y.high);
        Self { high: e.sub(high, borrow), low }
    }

    fn is_less<E: Emit<Value = V>>(e: &mut E, x: Self, y: Self) -> V {
        let high = e.compare(Compare::LtU, x.high, y.high);
        let level = e.compare(Compare::Eq, x.high, y.high);
        let low = e.compare(Compare::LtU, x.low, y.low);
        let low = e.and(level, low);
        e.or(high, low)
    }

    /// The low bits that a shift to the right by less than 64 takes out of the high half.
    fn crossing<E: Emit<Value = V>>(e: &mut E, high: V, by: V) -> V {
        // Two shifts: one by 64 has no result.
        let sixty_three = e.int(Ty::I64, 63);
        let rest = e.sub(sixty_three, by);
        let once = e.shift(Binary::Shl, high, 1);
        e.binary(Binary::Shl, once, rest)
    }

    /// Shifted to the right by a number that is not negative; the lowest bit says whether any was lost.
    fn shifted_right<E: Emit<Value = V>>(e: &mut E, x: Self, by: V) -> Self {
        let (zero, most) = (e.int(Ty::I64, 0), e.int(Ty::I64, 127));
        let is_beyond = e.compare(Compare::GtS, by, most);
        let by = e.select(is_beyond, most, by);
        let within = e.masked(by, 63);
        let is_far = e.is(Compare::GeS, by, 64.0);
        // By 64 first, then by less.
        let far = Self { high: zero, low: x.high };
        let first = Self::select(e, is_far, far, x);
        let lost_far = e.select(is_far, x.low, zero);
        let crossing = Self::crossing(e, first.high, within);
        let low = e.binary(Binary::ShrU, first.low, within);
        let lost_low = Self::lost(e, first.low, within);
        let low = e.or(low, crossing);
        let high = e.binary(Binary::ShrU, first.high, within);
        let lost = e.or(lost_far, lost_low);
        let is_lost = e.is(Compare::Ne, lost, 0.0);
        let sticky = e.cast(Cast::ZExt, is_lost, Ty::I64);
        Self { high, low: e.or(low, sticky) }
    }

    /// The bits that a shift to the right by less than 64 loses.
    fn lost<E: Emit<Value = V>>(e: &mut E, x: V, by: V) -> V {
        let one = e.int(Ty::I64, 1);
        let power = e.binary(Binary::Shl, one, by);
        let mask = e.sub(power, one);
        e.and(x, mask)
    }

    /// Shifted to the left by less than 128.
    fn shifted_left<E: Emit<Value = V>>(e: &mut E, x: Self, by: V) -> Self {
        let zero = e.int(Ty::I64, 0);
        let is_far = e.is(Compare::GeS, by, 64.0);
        let far = Self { high: x.low, low: zero };
        let first = Self::select(e, is_far, far, x);
        let within = e.masked(by, 63);
        let sixty_three = e.int(Ty::I64, 63);
        let rest = e.sub(sixty_three, within);
        let once = e.shift(Binary::ShrU, first.low, 1);
        let crossing = e.binary(Binary::ShrU, once, rest);
        let high = e.binary(Binary::Shl, first.high, within);
        Self { high: e.or(high, crossing), low: e.binary(Binary::Shl, first.low, within) }
    }

    fn leading_zeros<E: Emit<Value = V>>(e: &mut E, x: Self) -> V {
        let is_low = e.is(Compare::Eq, x.high, 0.0);
        let (high, low) = (e.unary(Unary::LeadingZeros, x.high), e.unary(Unary::LeadingZeros, x.low));
        let low = e.offset(low, 64.0);
        e.select(is_low, low, high)
    }
}

/// The product of two numbers of 53 bits.
fn product<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> Wide<E::Value> {
    let halves = |e: &mut E, x| (e.shift(Binary::ShrU, x, 32), e.masked(x, 0xffff_ffff));
    let ((xh, xl), (yh, yl)) = (halves(e, x), halves(e, y));
    let [high, left, right, low] = [(xh, yh), (xh, yl), (xl, yh), (xl, yl)].map(|(x, y)| e.mul(x, y));
    // Of numbers of 53 bits the sum of the two in the middle has 54.
    let middle = e.add(left, right);
    let ends = Wide { high, low };
    let middle_high = e.shift(Binary::ShrU, middle, 32);
    let middle_low = e.shift(Binary::Shl, middle, 32);
    Wide::add(e, ends, Wide { high: middle_high, low: middle_low })
}

/// [`Emit::fma`] for a machine that has no instruction for it, in operations that round twice.
///
/// Of single precision it is computed in double precision, where the product is exact; the sum is rounded twice. Of double
/// precision product and sum are found with their errors (Dekker 1971, Knuth's two-sum). Either is at most 2^-24 of a unit of
/// the last place further from the exact result than a result rounded once, if no part overflows or is subnormal.
pub fn fma_in_parts<E: Emit>(e: &mut E, x: E::Value, y: E::Value, z: E::Value) -> E::Value {
    if e.ty(x) == Ty::F32 {
        let [x, y, z] = [x, y, z].map(|part| e.refloat(part, Ty::F64));
        let product = e.mul(x, y);
        let sum = e.add(product, z);
        return e.refloat(sum, Ty::F32);
    }
    let (product, lost) = exact_product(e, x, y);
    let (sum, rest) = exact_sum(e, product, z);
    let rest = e.add(rest, lost);
    e.add(sum, rest)
}

/// A product, and what rounding took from it.
fn exact_product<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> (E::Value, E::Value) {
    let mut halves = |x| {
        // 27 bits above the last 26.
        let scaled = e.scale(x, f64::from((1 << 27) + 1));
        let above = e.sub(scaled, x);
        let high = e.sub(scaled, above);
        (high, e.sub(x, high))
    };
    let ((xh, xl), (yh, yl)) = (halves(x), halves(y));
    let product = e.mul(x, y);
    let [high, left, right, low] = [(xh, yh), (xh, yl), (xl, yh), (xl, yl)].map(|(x, y)| e.mul(x, y));
    let lost = e.sub(high, product);
    let lost = e.add(lost, left);
    let lost = e.add(lost, right);
    (product, e.add(lost, low))
}

/// A sum, and what rounding took from it.
fn exact_sum<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> (E::Value, E::Value) {
    let sum = e.add(x, y);
    let of_y = e.sub(sum, x);
    let of_x = e.sub(sum, of_y);
    let (x_rest, y_rest) = (e.sub(x, of_x), e.sub(y, of_y));
    (sum, e.add(x_rest, y_rest))
}

/// [`Emit::fma`], rounded once, for a machine that has no such instruction.
///
/// Of single precision the product is exact in double precision; the sum is rounded to odd there (Boldo and Melquiond 2008), so that
/// rounding it to single precision is as rounding once. Double precision is computed in integers.
pub fn fma_exact<E: Emit>(e: &mut E, x: E::Value, y: E::Value, z: E::Value) -> E::Value {
    if e.ty(x) == Ty::F32 { fma_single(e, x, y, z) } else { fma_double(e, x, y, z) }
}

fn fma_single<E: Emit>(e: &mut E, x: E::Value, y: E::Value, z: E::Value) -> E::Value {
    let [x, y, z] = [x, y, z].map(|part| e.refloat(part, Ty::F64));
    let product = e.mul(x, y);
    let (sum, rest) = exact_sum(e, product, z);
    let bits = e.to_bits(sum);
    let zero = e.float(Ty::F64, 0.0);
    let (is_above, is_below) = (e.compare(Compare::FGt, rest, zero), e.compare(Compare::FLt, rest, zero));
    // Neither where the sum is exact, or is no number.
    let is_inexact = e.or(is_above, is_below);
    let last = e.masked(bits, 1);
    let is_even = e.is(Compare::Eq, last, 0.0);
    let is_adjusted = e.and(is_inexact, is_even);
    let is_negative = e.is(Compare::LtS, bits, 0.0);
    // Away from zero if what is missing has the sign of the sum.
    let is_away = e.xor(is_negative, is_above);
    let (up, down) = (e.int(Ty::I64, 1), e.int(Ty::I64, -1));
    let step = e.select(is_away, up, down);
    let odd = e.add(bits, step);
    let bits = e.select(is_adjusted, odd, bits);
    let sum = e.cast(Cast::Bitcast, bits, Ty::F64);
    e.refloat(sum, Ty::F32)
}

fn fma_double<E: Emit>(e: &mut E, x: E::Value, y: E::Value, z: E::Value) -> E::Value {
    /// The place of the highest bit of both terms, at most.
    const TOP: u32 = 125;
    let layout = DOUBLE;
    let [of_x, of_y, of_z] = [x, y, z].map(|number| {
        let bits = layout.bits(e, number);
        layout.unpack(e, bits)
    });
    let mantissa = product(e, of_x.mantissa, of_y.mantissa);
    // A product has its highest bit at 105 or below, the other term at 52.
    let by = e.int(Ty::I64, i64::from(TOP - 105));
    let of_product = Wide::shifted_left(e, mantissa, by);
    let high = e.shift(Binary::Shl, of_z.mantissa, TOP - 64 - 52 - 1);
    let zero = e.int(Ty::I64, 0);
    let of_sum = Wide { high, low: zero };
    // The exponents of bit 0, but for what both share: a product is `m * 2^(ex + ey - 2 * 1075)`, shifted by 20.
    let exponent = e.add(of_x.exponent, of_y.exponent);
    let exponent = e.offset(exponent, -1075.0 - 20.0);
    let other = e.offset(of_z.exponent, -72.0);
    let far = e.int(Ty::I64, -100_000);
    let other = e.select(of_z.is_zero, far, other);
    let distance = e.sub(exponent, other);
    let is_product = e.is(Compare::GeS, distance, 0.0);
    let minus = e.sub(zero, distance);
    let distance = e.select(is_product, distance, minus);
    let large = Wide::select(e, is_product, of_product, of_sum);
    let small = Wide::select(e, is_product, of_sum, of_product);
    let exponent = e.select(is_product, exponent, other);
    let small = Wide::shifted_right(e, small, distance);
    let sign = e.xor(of_x.sign, of_y.sign);
    let differs = e.xor(sign, of_z.sign);
    let differs = e.is(Compare::Ne, differs, 0.0);
    let sum = Wide::add(e, large, small);
    let is_reversed = Wide::is_less(e, large, small);
    let (first, second) =
        (Wide::select(e, is_reversed, small, large), Wide::select(e, is_reversed, large, small));
    let difference = Wide::sub(e, first, second);
    let all = Wide::select(e, differs, difference, sum);
    let sign_of_large = e.select(is_product, sign, of_z.sign);
    let flip = e.int(Ty::I64, i64::MIN);
    let flipped = e.xor(sign_of_large, flip);
    let is_flipped = e.and(differs, is_reversed);
    let sign_of_all = e.select(is_flipped, flipped, sign_of_large);
    let rounded = pack(e, all, exponent, sign_of_all);
    // What is infinite or no number, and products of zero, is as if rounded twice; but not a product that overflows only then.
    let product = e.mul(x, y);
    let simple = e.add(product, z);
    let factors = [of_x.is_special, of_y.is_special, of_x.is_zero, of_y.is_zero];
    let is_simple = factors.into_iter().reduce(|x, y| e.or(x, y)).unwrap_or(of_x.is_special);
    let quiet = e.add(z, z);
    let special = e.select(of_z.is_special, quiet, rounded);
    e.select(is_simple, simple, special)
}

/// The number of double precision nearest to `magnitude * 2^(exponent - 1075)`.
fn pack<E: Emit>(e: &mut E, magnitude: Wide<E::Value>, exponent: E::Value, sign: E::Value) -> E::Value {
    let zeros = Wide::leading_zeros(e, magnitude);
    let zero = e.int(Ty::I64, 0);
    let nothing = e.or(magnitude.high, magnitude.low);
    let is_nothing = e.is(Compare::Eq, nothing, 0.0);
    let most = e.int(Ty::I64, 127);
    let zeros = e.select(is_nothing, most, zeros);
    // The highest bit at 127: then 53 bits are kept, and 75 are rounded off.
    let normal = Wide::shifted_left(e, magnitude, zeros);
    let exponent = e.sub(exponent, zeros);
    let exponent = e.offset(exponent, 75.0);
    // Less than the least exponent: the number is shifted further.
    let one = e.int(Ty::I64, 1);
    let missing = e.sub(one, exponent);
    let is_small = e.is(Compare::GtS, missing, 0.0);
    let missing = e.select(is_small, missing, zero);
    let kept = Wide::shifted_right(e, normal, missing);
    let field = e.select(is_small, zero, exponent);
    // 11 bits of the high half are rounded off, and all of the low one.
    let high = e.shift(Binary::ShrU, kept.high, 11);
    let rest = e.masked(kept.high, (1 << 11) - 1);
    let sticky = e.is(Compare::Ne, kept.low, 0.0);
    let sticky = e.cast(Cast::ZExt, sticky, Ty::I64);
    let rest = e.shift(Binary::Shl, rest, 1);
    let rest = e.or(rest, sticky);
    let half = e.int(Ty::I64, 1 << 11);
    let is_above = e.compare(Compare::GtU, rest, half);
    let is_tie = e.compare(Compare::Eq, rest, half);
    let odd = e.masked(high, 1);
    let is_odd = e.is(Compare::Ne, odd, 0.0);
    let to_even = e.and(is_tie, is_odd);
    let goes_up = e.or(is_above, to_even);
    let up = e.cast(Cast::ZExt, goes_up, Ty::I64);
    // A normal number has its hidden bit, which counts once more in the exponent.
    let less = e.sub(field, one);
    let field = e.select(is_small, zero, less);
    let exponent_bits = e.shift(Binary::Shl, field, 52);
    let bits = e.add(exponent_bits, high);
    let bits = e.add(bits, up);
    let is_large = e.is(Compare::GeS, field, 2046.0);
    let infinity = e.int(Ty::I64, 0x7ff << 52);
    let is_infinite = e.compare(Compare::GeU, bits, infinity);
    let is_infinite = e.or(is_large, is_infinite);
    let bits = e.select(is_infinite, infinity, bits);
    let signed = e.or(bits, sign);
    let bits = e.select(is_nothing, zero, signed);
    e.cast(Cast::Bitcast, bits, Ty::F64)
}

/// [`Binary::FRem`], C's `fmod`, for a machine that has no such instruction: exact, of the sign of the first operand.
pub fn remainder_exact<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> E::Value {
    let layout = Layout::of(e.ty(x));
    // A remainder times a power of two up to this one fits in 64 bits.
    let most = 63 - i64::from(layout.mantissa) - 1;
    let [x_bits, y_bits] = [x, y].map(|number| layout.bits(e, number));
    let (of_x, of_y) = (layout.unpack(e, x_bits), layout.unpack(e, y_bits));
    // By zero nothing is divided here.
    let one = e.int(Ty::I64, 1);
    let divisor = e.select(of_y.is_zero, one, of_y.mantissa);
    let distance = e.sub(of_x.exponent, of_y.exponent);
    let zero = e.int(Ty::I64, 0);
    let is_special = e.or(of_x.is_special, of_y.is_special);
    let is_less = e.is(Compare::LtS, distance, 0.0);
    let is_simple = e.or(is_special, is_less);
    let distance = e.select(is_simple, zero, distance);
    let first = e.binary(Binary::RemU, of_x.mantissa, divisor);
    let state = e.repeat(
        &[first, distance],
        |e, state| e.is(Compare::GtS, state[1], 0.0),
        |e, state| {
            let most = e.int(Ty::I64, most);
            let is_far = e.compare(Compare::GtS, state[1], most);
            let by = e.select(is_far, most, state[1]);
            let shifted = e.binary(Binary::Shl, state[0], by);
            let rest = e.binary(Binary::RemU, shifted, divisor);
            vec![rest, e.sub(state[1], by)]
        },
    );
    // The remainder is `state[0] * 2^(exponent of y)`.
    let rest = state[0];
    let is_nothing = e.is(Compare::Eq, rest, 0.0);
    let zeros = e.unary(Unary::LeadingZeros, rest);
    let above = e.int(Ty::I64, i64::from(63 - layout.mantissa));
    let by = e.sub(zeros, above);
    let by = e.select(is_nothing, zero, by);
    let exponent = e.sub(of_y.exponent, by);
    let is_small = e.is(Compare::LtS, exponent, 1.0);
    // A subnormal remainder is shifted as far as the least exponent lets it: it may even go to the right, exactly.
    let least = e.sub(of_y.exponent, one);
    let is_right = e.is(Compare::LtS, least, 0.0);
    let minus = e.sub(zero, least);
    let back = e.select(is_right, minus, zero);
    let forth = e.select(is_right, zero, least);
    let forth = e.select(is_small, forth, by);
    let none = e.select(is_small, back, zero);
    let mantissa = e.binary(Binary::Shl, rest, forth);
    let mantissa = e.binary(Binary::ShrU, mantissa, none);
    let less = e.sub(exponent, one);
    let field = e.select(is_small, zero, less);
    let field = e.shift(Binary::Shl, field, layout.mantissa);
    let bits = e.add(field, mantissa);
    let bits = e.select(is_nothing, zero, bits);
    let bits = e.or(bits, of_x.sign);
    let remainder = layout.number(e, bits);
    // Less than the divisor, or divided by an infinity, a number stays as it is.
    let x_magnitude = e.masked(x_bits, !layout.sign());
    let y_magnitude = e.masked(y_bits, !layout.sign());
    let is_within = e.compare(Compare::LtU, x_magnitude, y_magnitude);
    let kept = e.select(is_within, x, remainder);
    // NaN of what is NaN, of infinities, and of divisors that are zero.
    let y_is_nan = e.is_nan(y);
    let undefined = e.or(of_x.is_special, of_y.is_zero);
    let undefined = e.or(undefined, y_is_nan);
    let product = e.mul(x, y);
    let nan = e.div(product, product);
    e.select(undefined, nan, kept)
}
