//! When two conversions in a row are as good as one.
//!
//! # How it works
//!
//! Both ways from `a` to `c`, direct and by way of `b`, are lists of [`Hop`]s that start from the values of `a`. What a
//! hop does to a number depends on the number, the target and the [`Treatment`], not on the dtype that the number is
//! spelt in. So the two ways agree on every value if the lists are the same once three kinds of hop are left out that
//! change nothing in the end:
//!
//! 1. an integer wrap before a wrap to the same width or less (as in `i64 → u32 → i16`);
//! 2. the first hops, as long as they keep every value of `a` (as in `i8 → i32 → f32`);
//! 3. a first hop before `b1` that makes no zeros (as in `i64 → f32 → b1`).
//!
//! Lists that differ may still agree by luck: the answer is then `false`.

use super::loss::{Values, is_exact};
use super::number::lowest_normal;
use super::{Hop, Numerics, flush, hops};
use crate::dtype::{DType, FloatFormat, Kind, Specials};

/// Whether converting from `a` to `b` and on to `c` returns the same bits as converting from `a` to `c`, whatever the value.
/// If `c` is `a`: whether the two conversions return every value bit for bit, and so may both go.
///
/// A NaN counts with its payload. On the way there and back a payload may be lost, so no IEEE format is given back bit for
/// bit: [`collapses_but_for_nan`] is for those who do not care which NaN they get.
///
/// ```
/// use promote_lattice::DType::{BF16, F16, F32, F64, I8, I32};
/// use promote_lattice::convert::{Numerics, collapses, collapses_but_for_nan};
///
/// assert!(collapses(I8, I32, F32, Numerics::Jax));
/// assert!(collapses(F64, F32, BF16, Numerics::Jax) && !collapses(F64, F32, F16, Numerics::Jax));
/// assert!(!collapses(F16, F32, F16, Numerics::Jax) && collapses_but_for_nan(F16, F32, F16, Numerics::Jax));
/// ```
pub fn collapses(a: DType, b: DType, c: DType, numerics: Numerics) -> bool {
    let [from, through, to] = [a, b, c].map(|dtype| dtype.storage().real_part());
    let loses_payload = from == to && from != through && has_nan_payloads(from);
    !loses_payload && collapses_but_for_nan(a, b, c, numerics)
}

/// Whether [`collapses`] holds for all values that are not NaN, and NaN becomes NaN either way or neither way.
pub fn collapses_but_for_nan(a: DType, b: DType, c: DType, numerics: Numerics) -> bool {
    let [a, b, c] = [a, b, c].map(DType::storage);
    if a == b || b == c {
        return true;
    }
    let is_complex = |dtype: DType| dtype.kind() == Kind::Complex;
    let reads_imaginary_part = is_complex(c) || c == DType::B1;
    if is_complex(a) && !is_complex(b) && reads_imaginary_part {
        return false;
    }
    let [a, b, c] = [a, b, c].map(DType::real_part);
    let direct = [hops(a, c, numerics), [None, None]];
    let detour = [hops(a, b, numerics), hops(b, c, numerics)];
    let [direct, detour] =
        [direct, detour].map(|hops| essence(a, hops.into_iter().flatten().flatten().collect(), numerics));
    direct == detour
}

/// Whether a dtype has several NaNs of one sign.
fn has_nan_payloads(dtype: DType) -> bool {
    dtype.props().format.is_some_and(|format| format.specials == Specials::Ieee && format.mantissa_bits > 1)
}

/// How a hop treats numbers that its target does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Treatment {
    to: DType,
    wraps: bool,
    flushes: Option<FloatFormat>,
}

/// What the hops do to the values of `a`, without the hops that change nothing in the end.
fn essence(a: DType, mut hops: Vec<Hop>, numerics: Numerics) -> Vec<Treatment> {
    hops.dedup_by(|next, hop| {
        let narrows = hop.wraps() && next.wraps() && next.to.bits() <= hop.to.bits();
        if narrows {
            hop.to = next.to;
        }
        narrows
    });
    let kept = hops.iter().take_while(|hop| keeps_values(a, **hop, numerics)).count();
    hops.drain(..kept);
    if let [first, last] = hops[..]
        && last.to == DType::B1
        && keeps_truth(a, first, last, numerics)
    {
        hops.remove(0);
    }
    let meets_values_of_a = |index| index == 0;
    let treatment = |(index, hop): (usize, &Hop)| Treatment {
        to: hop.to,
        wraps: hop.wraps(),
        flushes: flush(*hop, numerics).filter(|format| !meets_values_of_a(index) || has_below(a, *format)),
    };
    hops.iter().enumerate().map(treatment).collect()
}

/// Whether the hop does not change any value of `a`.
fn keeps_values(a: DType, hop: Hop, numerics: Numerics) -> bool {
    is_exact(a, hop.to) && !flush(hop, numerics).is_some_and(|format| has_below(a, format))
}

/// Whether `b1` sees the same zeros in `first.to` as it sees in `a`.
///
/// To an integer, a wrap must keep all bits. To a float, rounding keeps order and overflow is not zero: it is enough that
/// the least magnitude of `a` is kept, and that zero and NaN are.
fn keeps_truth(a: DType, first: Hop, last: Hop, numerics: Numerics) -> bool {
    let (source, target) = (Values::of(a), Values::of(first.to));
    let flushes = |hop| flush(hop, numerics).is_some_and(|format| has_below(a, format));
    match first.to.kind() {
        Kind::Bool | Kind::Complex => false,
        Kind::Unsigned | Kind::Signed => first.wraps() && first.to.bits() >= a.bits(),
        Kind::Float => {
            let keeps_least = source.lowest >= target.lowest && !flushes(first) && !flushes(last);
            keeps_least && target.zero && (target.nan || !source.nan)
        }
    }
}

/// Whether `dtype` has nonzero values below the normal numbers of `format`.
fn has_below(dtype: DType, format: FloatFormat) -> bool {
    Values::of(dtype).lowest < lowest_normal(format)
}
