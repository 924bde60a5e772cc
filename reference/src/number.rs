//! Numbers: one element of an array, held exactly, and what a conversion makes of it.
//!
//! Every integer dtype fits in an `i128`, and every real one in an `f64`, so an element is its number, whatever its dtype.
//! [`Number::fit`] rounds a computed number into a dtype; [`convert`] does what `promote.convert` does, as the
//! semantics' library does it.
//!
//! ## Laws
//! - A number of an array is always one that the dtype of the array holds.
//! - Results of `f32` and narrower are computed in `f64`, rounded to `f32` and then to their dtype. For `+ - * / sqrt` that
//!   is what `f32` arithmetic with one more rounding returns, as 53 bits are more than twice 24.
//! - A NaN is quiet and has a sign, but no payload; a computed one is positive, and a converted one keeps its sign.

use promote_lattice::convert::{self as bits, Bits, Numerics};
use promote_lattice::dtype::FloatFormat;
use promote_lattice::{DType, Kind};

use crate::narrow::{self, narrow};

/// An element of an array.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer, or a truth value: 0 or 1.
    Int(i128),
    /// A real number.
    Real(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
}

impl Number {
    /// Zero of `dtype`.
    pub fn zero(dtype: DType) -> Self {
        Self::Int(0).fit(dtype)
    }

    /// A truth value.
    pub fn truth(value: bool) -> Self {
        Self::Int(value.into())
    }

    /// The integer that it is; of a real number its whole part, which a float is only asked for where that is meant.
    pub fn int(self) -> i128 {
        match self {
            Self::Int(value) => value,
            Self::Real(value) | Self::Complex(value, _) => value as i128,
        }
    }

    /// The nearest real number; the real part of a complex one.
    pub fn real(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Real(value) | Self::Complex(value, _) => value,
        }
    }

    /// The real and the imaginary part.
    pub fn parts(self) -> (f64, f64) {
        match self {
            Self::Complex(real, imaginary) => (real, imaginary),
            other => (other.real(), 0.0),
        }
    }

    /// Whether it is not zero; NaN is not.
    pub fn is_true(self) -> bool {
        match self {
            Self::Int(value) => value != 0,
            Self::Real(value) => value != 0.0,
            Self::Complex(real, imaginary) => real != 0.0 || imaginary != 0.0,
        }
    }

    /// Whether it is NaN, or a part of it is.
    pub fn is_nan(self) -> bool {
        let (real, imaginary) = self.parts();
        real.is_nan() || imaginary.is_nan()
    }

    /// The computed number as an element of `dtype`: integers wrap, reals are rounded, a NaN becomes the positive one.
    pub fn fit(self, dtype: DType) -> Self {
        let dtype = dtype.storage();
        match dtype.kind() {
            Kind::Bool => Self::truth(self.is_true()),
            Kind::Unsigned | Kind::Signed => Self::Int(wrap(self.int(), dtype)),
            Kind::Float => match self {
                // All libraries round an integer to f32 first where the dtype is narrower.
                Self::Int(value) if dtype != DType::F64 => Self::Real(round(value as f32 as f64, dtype)),
                other => Self::Real(computed(other.real(), dtype)),
            },
            Kind::Complex => {
                let (real, imaginary) = self.parts();
                let part = dtype.real_part();
                Self::Complex(computed(real, part), computed(imaginary, part))
            }
        }
    }

    /// An integer as the nearest number of a real dtype, ties to even.
    pub(crate) fn of_integer(value: i128, dtype: DType) -> Self {
        if dtype == DType::F64 {
            return Self::Real(value as f64);
        }
        // `f64` holds 53 bits. Of more, those below are kept in the last one that it holds: that decides what a tie is.
        let unit = 1 << (i128::BITS - value.unsigned_abs().leading_zeros()).saturating_sub(52);
        let cut = value.div_euclid(unit) * unit;
        let sticky = if cut == value { cut } else { cut + unit / 2 };
        Self::Real(round(sticky as f64, dtype))
    }

    /// A real number as the nearest one of a dtype, ties to even.
    pub(crate) fn nearest(self, dtype: DType) -> Self {
        Self::Real(round(self.real(), dtype))
    }

    /// The bits of the element in `dtype`, in the low bits; of a complex one the real part lowest.
    pub fn bits(self, dtype: DType) -> Bits {
        let dtype = dtype.storage();
        let part = dtype.real_part();
        match self {
            Self::Int(value) => value.cast_unsigned() & mask(dtype),
            Self::Real(value) => real_bits(value, part),
            Self::Complex(real, imaginary) => {
                real_bits(real, part) | real_bits(imaginary, part) << part.bits()
            }
        }
    }

    /// The element of `dtype` with these bits.
    pub fn from_bits(bits: Bits, dtype: DType) -> Self {
        let dtype = dtype.storage();
        let part = dtype.real_part();
        match dtype.kind() {
            Kind::Bool | Kind::Unsigned | Kind::Signed => Self::Int(wrap(bits.cast_signed(), dtype)),
            Kind::Float => Self::Real(real_of(bits, part)),
            Kind::Complex => Self::Complex(real_of(bits, part), real_of(bits >> part.bits(), part)),
        }
    }
}

/// Equal by bits: zeros differ by their sign, and NaN is NaN of the same sign.
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        let bits = |(real, imaginary): (f64, f64)| (real.to_bits(), imaginary.to_bits());
        match (*self, *other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Int(_), _) | (_, Self::Int(_)) => false,
            (a, b) => bits(a.parts()) == bits(b.parts()),
        }
    }
}

fn mask(dtype: DType) -> Bits {
    Bits::MAX >> (Bits::BITS - dtype.bits())
}

/// The low bits of an integer, read as one of `dtype`.
fn wrap(value: i128, dtype: DType) -> i128 {
    let unused = Bits::BITS - dtype.bits();
    match dtype.kind() {
        Kind::Signed => value << unused >> unused,
        _ => (value.cast_unsigned() & mask(dtype)).cast_signed(),
    }
}

fn real_bits(value: f64, dtype: DType) -> Bits {
    if let Some(format) = narrow(dtype) {
        return narrow::code_of(value, format);
    }
    match dtype {
        DType::F64 => value.to_bits().into(),
        DType::F32 => (value as f32).to_bits().into(),
        DType::F16 => half::f16::from_f64(value).to_bits().into(),
        DType::BF16 => half::bf16::from_f64(value).to_bits().into(),
        narrow => bits::convert(value.to_bits().into(), DType::F64, narrow, Numerics::NumPy),
    }
}

fn real_of(bits: Bits, dtype: DType) -> f64 {
    if let Some(format) = narrow(dtype) {
        return narrow::real_of(bits & mask(dtype), format);
    }
    let value = match dtype {
        DType::F64 => f64::from_bits(bits as u64),
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::F16 => half::f16::from_bits(bits as u16).to_f64(),
        _ => half::bf16::from_bits(bits as u16).to_f64(),
    };
    if value.is_nan() { nan(value.is_sign_negative()) } else { value }
}

fn nan(negative: bool) -> f64 {
    if negative { -f64::NAN.copysign(1.0) } else { f64::NAN.copysign(1.0) }
}

/// A computed real number as one of `dtype`.
fn computed(value: f64, dtype: DType) -> f64 {
    match dtype {
        _ if value.is_nan() => round(nan(false), dtype),
        DType::F64 => value,
        _ => round(round(value, DType::F32), dtype),
    }
}

/// Rounds to the nearest number of `dtype`, ties to even. Beyond the largest is an infinity.
fn round(value: f64, dtype: DType) -> f64 {
    if let Some(format) = narrow(dtype) {
        return narrow::round(value, format);
    }
    let Some(format) = dtype.props().format.filter(|_| dtype != DType::F64) else { return value };
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let FloatFormat { mantissa_bits, bias, .. } = format;
    let exponent = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(1 - bias);
    // Powers of two: dividing and multiplying by the unit is exact.
    let unit = power_of_two(exponent - mantissa_bits as i32);
    let rounded = (value / unit).round_ties_even() * unit;
    let largest = (2.0 - power_of_two(-(mantissa_bits as i32))) * power_of_two(bias);
    if rounded.abs() > largest { f64::INFINITY.copysign(value) } else { rounded }
}

fn power_of_two(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// What `promote.convert` makes of a number of dtype `from` in dtype `to`. Weak dtypes are converted as what they are
/// stored in.
///
/// A complex number loses its imaginary part where the target has none; a real one gains a zero.
pub fn convert(number: Number, from: DType, to: DType, numerics: Numerics) -> Number {
    let (from, to) = (from.storage(), to.storage());
    if from == to {
        return number;
    }
    let (from_part, to_part) = (from.real_part(), to.real_part());
    let part = |value: f64| convert_real(Number::Real(value), from_part, to_part, numerics);
    match (number, to.kind()) {
        (Number::Complex(real, imaginary), Kind::Complex) => {
            Number::Complex(part(real).real(), part(imaginary).real())
        }
        (Number::Complex(real, imaginary), Kind::Bool) => {
            Number::truth(part(real).is_true() || part(imaginary).is_true())
        }
        (Number::Complex(real, _), _) => part(real),
        (real, Kind::Complex) => Number::Complex(convert_real(real, from, to_part, numerics).real(), 0.0),
        (real, _) => convert_real(real, from, to, numerics),
    }
}

fn convert_real(number: Number, from: DType, to: DType, numerics: Numerics) -> Number {
    match (number, to.kind()) {
        (number, _) if from == to => number,
        (Number::Int(_), _) => number.fit(to),
        (_, Kind::Bool) => Number::truth(flush_for_truth(number.real(), from, numerics) != 0.0),
        (_, Kind::Unsigned | Kind::Signed) => {
            Number::Int(wrap(to_integer(number.real(), from, to, numerics), to))
        }
        (_, Kind::Float | Kind::Complex) => Number::Real(to_float(number.real(), from, to, numerics)),
    }
}

/// The library's way from one float dtype to another. From `f64` to `bf16` all go by way of `f32`, NumPy and PyTorch also to
/// narrower floats, and PyTorch to `f16`. JAX loses the subnormal numbers of `f32` between `f64` and `f32`, and from `bf16` to `f64`.
fn to_float(value: f64, from: DType, to: DType, numerics: Numerics) -> f64 {
    use DType::{BF16, F32, F64};
    if value.is_nan() {
        return round(nan(value.is_sign_negative()), to);
    }
    let flushes = numerics == Numerics::Jax;
    match (from, to) {
        (F64, BF16) => round(to_float(value, F64, F32, numerics), BF16),
        (F64, F32) | (BF16 | F32, F64) if flushes => round(flush(value, F32), to),
        (F64, _) if !flushes && to.bits() < 32 && (to, numerics) != (DType::F16, Numerics::NumPy) => {
            round(round(value, F32), to)
        }
        _ => round(value, to),
    }
}

fn flush_for_truth(value: f64, from: DType, numerics: Numerics) -> f64 {
    match from {
        DType::F32 | DType::BF16 if numerics == Numerics::Jax => flush(value, DType::F32),
        DType::F64 if numerics == Numerics::Jax => flush(value, DType::F64),
        _ => value,
    }
}

/// Zero for what is below the normal numbers of `f32` or `f64`, once rounded to the precision of that.
fn flush(value: f64, dtype: DType) -> f64 {
    let least = match dtype {
        DType::F32 => power_of_two(-126) - power_of_two(-151),
        _ => f64::MIN_POSITIVE,
    };
    if value.abs() < least { 0f64.copysign(value) } else { value }
}

/// The integer that a float becomes, before it is cut to the width of `to`. JAX saturates, and NaN is 0; NumPy and PyTorch
/// do what x86 does in the register that they use.
fn to_integer(value: f64, from: DType, to: DType, numerics: Numerics) -> i128 {
    let whole = value as i128;
    let signed = to.kind() == Kind::Signed;
    let width = to.bits();
    match numerics {
        Numerics::Jax if signed => whole.clamp(-1 << (width - 1), (1 << (width - 1)) - 1),
        Numerics::Jax => whole.clamp(0, (1 << width) - 1),
        Numerics::Torch if to == DType::U8 => x86(value, 64, true),
        Numerics::NumPy | Numerics::Torch => match width {
            ..32 => x86(value, 32, true),
            32 if !signed && from == DType::F16 => x86(value, 64, true),
            _ => x86(value, width, signed),
        },
    }
}

/// What x86 makes of a float: the signed instruction returns the least integer for all that it cannot hold, and the
/// unsigned conversion is the signed one below half of the range, and above it the signed one of the rest.
fn x86(value: f64, width: u32, signed: bool) -> i128 {
    let whole = if value.is_nan() { i128::MIN } else { value as i128 };
    let half = 1i128 << (width - 1);
    let instruction = |whole: i128| if (-half..half).contains(&whole) { whole } else { -half };
    if signed || whole < half { instruction(whole) } else { instruction(whole - half) ^ half }
}
