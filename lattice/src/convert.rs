//! Scalar conversion: what a `convert` from one dtype to another makes of a value, bit for bit.
//!
//! [`convert`] maps the bits of a value of any dtype to any other, as one of three libraries does it ([`Numerics`]):
//! constant folding and interpretation rest on it. [`literal`] does the same for a number written in a program and says
//! whether the dtype can hold it. [`is_exact`] and [`loss`] say without looking at a value whether a conversion can
//! change one, and how; [`collapses`] says whether two conversions in a row may be replaced with one.
//!
//! # How it works
//!
//! A complex number is converted part by part. A real conversion takes one hop or two: some kernels go through `f32` or
//! through a machine integer, and the double rounding is part of the result. A hop decodes the bits to an exact
//! number, flushes it to zero if the library does, and rounds it into the target. The facts stand in two functions,
//! `via` and `flush`; all else follows from [`Props`](crate::dtype::Props).
//!
//! # Laws
//!
//! - Rounding to a float is to nearest, ties to even. Overflow returns an infinity, else a NaN, else (formats with neither)
//!   the largest finite number. `f8e8m0fnu` has neither zero nor negative numbers: they become its NaN.
//! - Integers wrap. Floats are truncated; out of range, JAX saturates and makes NaN 0, while NumPy and PyTorch give what
//!   x86 gives.
//! - To `b1` is "not zero"; NaN is true. Complex to real drops the imaginary part, real to complex adds a zero.
//! - A NaN becomes the canonical quiet NaN of its sign. What the libraries make of payloads differs from kernel to kernel
//!   (vector or scalar, software or hardware), so it is not modelled.
//! - A dtype converted to itself keeps its bits, NaN payloads too. A weak dtype is converted as its
//!   [storage](DType::storage).

mod collapse;
mod literal;
mod loss;
mod number;

pub use collapse::{collapses, collapses_but_for_nan};
pub use literal::{Converted, Literal, literal};
pub use loss::{Loss, Lost, is_exact, loss};

use crate::dtype::{DType, FloatFormat, Kind};
use number::{Number, decode, encode};

/// The bits of a value, in the low [`DType::bits`] bits. A complex number is `real | imaginary << part`, where `part` is
/// the width of a part. Higher bits are ignored in operands and zero in results.
pub type Bits = u128;

/// Whose conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numerics {
    /// JAX on CPU (XLA): float to integer saturates, and `f32` and `f64` subnormals are flushed to zero where the
    /// conversion computes with them.
    Jax,
    /// NumPy with `ml_dtypes`, on x86-64. (From 8-bit floats to integers `ml_dtypes` makes NaN 0 and saturates infinities;
    /// here they share the rule of the wider floats.)
    NumPy,
    /// PyTorch on CPU, on x86-64.
    Torch,
}

/// Converts a value of dtype `from` to dtype `to`.
///
/// ```
/// use promote_lattice::DType::{F32, I8, U8};
/// use promote_lattice::convert::{Numerics, convert};
///
/// let value = f32::to_bits(300.0).into();
/// assert_eq!(convert(value, F32, U8, Numerics::Jax), 255);
/// assert_eq!(convert(value, F32, U8, Numerics::NumPy), 44);
/// assert_eq!(convert(0xff, I8, F32, Numerics::NumPy), f32::to_bits(-1.0).into());
/// ```
pub fn convert(bits: Bits, from: DType, to: DType, numerics: Numerics) -> Bits {
    let (from, to) = (from.storage(), to.storage());
    if from == to {
        return bits & mask(to.bits());
    }
    let (from_part, to_part) = (from.real_part(), to.real_part());
    let part = |bits: Bits| convert_real(bits & mask(from_part.bits()), from_part, to_part, numerics);
    let real = part(bits);
    let imaginary = if from == from_part { 0 } else { part(bits >> from_part.bits()) };
    match to {
        DType::B1 => real | imaginary,
        _ if to == to_part => real,
        _ => real | imaginary << to_part.bits(),
    }
}

fn convert_real(bits: Bits, from: DType, to: DType, numerics: Numerics) -> Bits {
    let [first, last] = hops(from, to, numerics);
    let bits = first.map_or(bits, |hop| hop.take(bits, numerics));
    last.map_or(bits, |hop| hop.take(bits, numerics))
}

/// The hops of a conversion between real dtypes that are their own storage: one or two, but from a dtype to itself none.
fn hops(from: DType, to: DType, numerics: Numerics) -> [Option<Hop>; 2] {
    match via(from, to, numerics) {
        _ if from == to => [None, None],
        None => [None, Some(Hop { from, to })],
        Some(via) => [Some(Hop { from, to: via }), Some(Hop { from: via, to })],
    }
}

/// The dtype through which the library's kernel goes on its way, if it does. All of it can be seen in `values.json`, the
/// oracle's bits: double rounding on the way to narrow floats, and the width of the register that truncates.
fn via(from: DType, to: DType, numerics: Numerics) -> Option<DType> {
    use DType::{BF16, F16, F32, F64, I32, I64, U8, U32};
    use Numerics::{Jax, NumPy, Torch};
    let to_narrow_float = to.kind() == Kind::Float && to.bits() < F32.bits();
    match (numerics, from.kind(), to) {
        (Jax, Kind::Float, _) => (from == F64 && to == BF16).then_some(F32),
        (NumPy, Kind::Float, F16) => None,
        (NumPy | Torch, Kind::Float, _) if to_narrow_float => (from == F64).then_some(F32),
        (Torch, Kind::Float, U8) => Some(I64),
        (NumPy | Torch, Kind::Float, U32) => (from == F16).then_some(I64),
        (NumPy | Torch, Kind::Float, _) => (to.is_integer() && to.bits() < I32.bits()).then_some(I32),
        (_, Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Complex, _) => to_narrow_float.then_some(F32),
    }
}

/// The float format whose subnormals the hop turns into zeros of their sign, if it does.
fn flush(hop: Hop, numerics: Numerics) -> Option<FloatFormat> {
    use DType::{B1, BF16, F32, F64};
    let computed_in = match (hop.from, hop.to) {
        (F64, F32) | (BF16 | F32, F64 | B1) => F32,
        (F64, B1) => F64,
        _ => return None,
    };
    if numerics == Numerics::Jax { computed_in.props().format } else { None }
}

/// One step of a conversion between real dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    from: DType,
    to: DType,
}

impl Hop {
    fn take(self, bits: Bits, numerics: Numerics) -> Bits {
        let exact = decode(bits, self.from);
        let number = flush(self, numerics).map_or(exact, |format| exact.flushed(format));
        match self.to.props().format {
            Some(format) => encode(number, format).into(),
            None if self.to == DType::B1 => (!number.is_zero()).into(),
            None => self.take_to_integer(number, numerics) as Bits & mask(self.to.bits()),
        }
    }

    /// The integer before it is cut down to the width of the target.
    fn take_to_integer(self, number: Number, numerics: Numerics) -> i128 {
        let width = self.to.bits();
        let whole = number.truncated();
        match (numerics, self.to.kind()) {
            _ if self.wraps() => whole,
            (Numerics::Jax, _) if number.is_nan() => 0,
            (Numerics::Jax, Kind::Signed) => whole.clamp(-1 << (width - 1), (1 << (width - 1)) - 1),
            (Numerics::Jax, _) => whole.clamp(0, (1 << width) - 1),
            (Numerics::NumPy | Numerics::Torch, kind) => x86_integer(whole, width, kind == Kind::Signed),
        }
    }

    /// Whether the hop keeps the low bits of an integer.
    fn wraps(self) -> bool {
        self.to.is_integer() && self.from.kind() != Kind::Float
    }
}

/// What x86 makes of a truncated float: the signed instruction returns the least integer for all that is out of range; the
/// unsigned conversion is the signed one, below half of the range and above it.
fn x86_integer(whole: i128, width: u32, signed: bool) -> i128 {
    let half = 1 << (width - 1);
    let instruction = |whole| if (-half..half).contains(&whole) { whole } else { -half };
    if signed || whole < half { instruction(whole) } else { instruction(whole - half) ^ half }
}

/// The `width` low bits.
fn mask(width: u32) -> Bits {
    Bits::MAX.checked_shr(Bits::BITS - width).unwrap_or(0)
}
