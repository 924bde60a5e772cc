//! Floats of 8 bits and less, by the list of their codes.
//!
//! A format of so few bits is the list of its numbers: [`real_of`] looks a code up, [`round`] looks for the nearest number,
//! and, of two at the same distance, for that of the even code.

use promote_lattice::DType;
use promote_lattice::convert::Bits;
use promote_lattice::dtype::{FloatFormat, Specials};

/// The format of a dtype of at most 8 bits, if it is a float.
pub(crate) fn narrow(dtype: DType) -> Option<FloatFormat> {
    dtype.props().format.filter(|_| dtype.bits() <= 8)
}

fn sign_bit(format: FloatFormat) -> Bits {
    1 << (format.exponent_bits + format.mantissa_bits)
}

/// The number of a code without its sign, as if all codes were numbers.
fn magnitude(code: Bits, format: FloatFormat) -> f64 {
    let units = 2f64.powi(-(format.mantissa_bits as i32));
    let field = (code >> format.mantissa_bits) as i32;
    let fraction = (code % (1 << format.mantissa_bits)) as f64 * units;
    match field {
        0 if format.specials != Specials::ExponentOnly => fraction * 2f64.powi(1 - format.bias),
        _ => (1.0 + fraction) * 2f64.powi(field - format.bias),
    }
}

/// The code of the largest number.
fn largest(format: FloatFormat) -> Bits {
    let all = sign_bit(format) - 1;
    match format.specials {
        Specials::Ieee => all - (1 << format.mantissa_bits),
        Specials::NanOnly | Specials::ExponentOnly => all - 1,
        Specials::NanIsNegativeZero | Specials::FiniteOnly => all,
    }
}

/// The number of a code; NaN with the sign of the code.
pub(crate) fn real_of(code: Bits, format: FloatFormat) -> f64 {
    let has_sign = format.specials != Specials::ExponentOnly;
    let is_negative = has_sign && code & sign_bit(format) != 0;
    let (bits, sign) = (code & (sign_bit(format) - 1), if is_negative { -1.0 } else { 1.0 });
    let is_nan = match format.specials {
        Specials::Ieee => bits > largest(format) + 1,
        Specials::NanIsNegativeZero => is_negative && bits == 0,
        Specials::NanOnly | Specials::ExponentOnly => bits > largest(format),
        Specials::FiniteOnly => false,
    };
    match bits {
        _ if is_nan => f64::NAN.copysign(sign),
        _ if bits > largest(format) => f64::INFINITY * sign,
        _ => magnitude(bits, format) * sign,
    }
}

/// The code of a number that the format holds, or of NaN.
pub(crate) fn code_of(value: f64, format: FloatFormat) -> Bits {
    let sign = if value.is_sign_negative() { sign_bit(format) } else { 0 };
    match format.specials {
        Specials::Ieee if value.is_nan() => (largest(format) + 1) | 1 << (format.mantissa_bits - 1) | sign,
        Specials::NanOnly if value.is_nan() => (largest(format) + 1) | sign,
        Specials::NanIsNegativeZero if value.is_nan() => sign_bit(format),
        Specials::ExponentOnly if value.is_nan() => largest(format) + 1,
        _ if value.is_infinite() => (largest(format) + 1) | sign,
        _ => first_from(value.abs(), format) | sign,
    }
}

/// The number of the format that a number becomes: the nearest, and, where the format has none of its sort, what `ml_dtypes`
/// has in its place. An infinity is the largest number of a format without infinities and NaN, and else NaN; NaN is zero of
/// the other sign where there is none; what is not positive is NaN in a format of powers of two.
pub(crate) fn round(value: f64, format: FloatFormat) -> f64 {
    let nan = |sign: f64| match format.specials {
        Specials::Ieee | Specials::NanOnly => f64::NAN.copysign(sign),
        Specials::NanIsNegativeZero => f64::NAN.copysign(-1.0),
        Specials::ExponentOnly => f64::NAN.copysign(1.0),
        Specials::FiniteOnly => 0f64.copysign(-sign),
    };
    let beyond = |sign: f64| match format.specials {
        Specials::Ieee => f64::INFINITY.copysign(sign),
        Specials::FiniteOnly => magnitude(largest(format), format).copysign(sign),
        Specials::NanOnly | Specials::NanIsNegativeZero | Specials::ExponentOnly => nan(sign),
    };
    let (size, sign) = (value.abs(), 1f64.copysign(value));
    if value.is_nan() || format.specials == Specials::ExponentOnly && value <= 0.0 {
        return nan(sign);
    }
    // One number more, to be nearer to which is to be beyond the largest.
    let last = largest(format) + 1;
    let code = match format.specials {
        Specials::ExponentOnly => nearest_power(size, format, last),
        Specials::Ieee | Specials::NanOnly | Specials::NanIsNegativeZero | Specials::FiniteOnly => {
            nearest(size, format, last)
        }
    };
    match code {
        _ if code == last => beyond(sign),
        0 if format.specials == Specials::NanIsNegativeZero => 0.0,
        _ => magnitude(code, format).copysign(value),
    }
}

/// The least code whose number is at least `size`, or the one after the largest.
fn first_from(size: f64, format: FloatFormat) -> Bits {
    let (mut from, mut to) = (0, largest(format) + 1);
    while from < to {
        let middle = from.midpoint(to);
        if magnitude(middle, format) < size { from = middle + 1 } else { to = middle }
    }
    from
}

fn nearest(size: f64, format: FloatFormat, last: Bits) -> Bits {
    let above = first_from(size, format).min(last);
    let Some(below) = above.checked_sub(1) else { return above };
    // Differences of a number and one of few bits beside it are exact.
    let (up, down) = (magnitude(above, format) - size, size - magnitude(below, format));
    match up.total_cmp(&down) {
        std::cmp::Ordering::Less => above,
        std::cmp::Ordering::Greater => below,
        std::cmp::Ordering::Equal => above & !1,
    }
}

/// A power of two, half of which goes up. The least is rounded to as if it were zero.
fn nearest_power(size: f64, format: FloatFormat, last: Bits) -> Bits {
    let least = magnitude(0, format);
    match size {
        _ if size <= least => 0,
        _ if size < 2.0 * least => 1,
        _ => (1..=last).rev().find(|code| size >= 0.75 * magnitude(*code, format)).unwrap_or(1),
    }
}

/// The number of the format that is next to a number of it towards another one; a zero has the sign of where it is come from.
pub(crate) fn next_after(from: f64, to: f64, format: FloatFormat) -> f64 {
    let numbers = (0..2 * sign_bit(format)).map(|code| real_of(code, format));
    let next = match from < to {
        true => numbers.filter(|number| *number > from).min_by(f64::total_cmp),
        false => numbers.filter(|number| *number < from).max_by(f64::total_cmp),
    };
    match next {
        Some(0.0) => round(0f64.copysign(from), format),
        Some(next) => next,
        None => from,
    }
}
