//! Conversions between types of numbers.

use promote_lattice::{DType, Kind};

use crate::build::Build;
use crate::convert::{round_once, saturated};
use crate::emit::{Cast, Compare, Emit, Ty};
use crate::storage::{load, narrow, register, store};

/// `is_signed` says how integers are read; a truth value then is -1.
pub(super) fn convert<E: Emit>(e: &mut E, is_signed: bool, from: DType, to: DType, x: E::Value) -> E::Value {
    match (from.kind() == Kind::Float, to.kind() == Kind::Float) {
        (true, true) => round_once(e, from, to, x),
        (true, false) => {
            let whole = saturated(e, integer_of(to.bits(), is_signed), x);
            e.resize(whole, register(to), is_signed)
        }
        (false, true) => to_float(e, is_signed, to, x),
        (false, false) => e.resize(x, register(to), is_signed),
    }
}

/// The integer dtype of at least so many bits.
fn integer_of(bits: u32, is_signed: bool) -> DType {
    match (bits, is_signed) {
        (..=8, true) => DType::I8,
        (..=16, true) => DType::I16,
        (..=32, true) => DType::I32,
        (_, true) => DType::I64,
        (..=8, false) => DType::U8,
        (..=16, false) => DType::U16,
        (..=32, false) => DType::U32,
        (_, false) => DType::U64,
    }
}

/// An integer as a float, rounded once.
fn to_float<E: Emit>(e: &mut E, is_signed: bool, to: DType, x: E::Value) -> E::Value {
    let cast = if is_signed { Cast::SToF } else { Cast::UToF };
    let x = if e.ty(x).bits() < 32 { e.resize(x, Ty::I32, is_signed) } else { x };
    if narrow(to).is_none() {
        return e.cast(cast, x, register(to));
    }
    let exact = if e.ty(x) == Ty::I64 { fit_f64(e, is_signed, x) } else { x };
    let double = e.cast(cast, exact, Ty::F64);
    round_once(e, DType::F64, to, double)
}

/// An integer that `f64` holds and that rounds to narrower formats as this one: what low bits there are beyond its precision
/// is kept in one.
fn fit_f64<E: Emit>(e: &mut E, is_signed: bool, x: E::Value) -> E::Value {
    const LOW: i64 = (1 << 11) - 1;
    let low = e.masked(x, LOW);
    let is_inexact = e.is(Compare::Ne, low, 0.0);
    let cut = e.masked(x, !LOW);
    let last = e.bits(x, LOW + 1);
    let odd = e.or(cut, last);
    let odd = e.select(is_inexact, odd, cut);
    let moved = if is_signed { e.offset(x, (1_u64 << 53) as f64) } else { x };
    let end = if is_signed { 1_i64 << 54 } else { 1 << 53 };
    let end = e.bits(x, end);
    let fits = e.compare(Compare::LtU, moved, end);
    e.select(fits, x, odd)
}

pub(super) fn bitcast<E: Emit>(e: &mut E, from: DType, to: DType, x: E::Value) -> E::Value {
    let bits = match from.kind() {
        Kind::Float if narrow(from).is_some() => store(e, from, x),
        Kind::Float => e.to_bits(x),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Complex => x,
    };
    match to.kind() {
        Kind::Float if narrow(to).is_some() => load(e, to, bits),
        Kind::Float => e.cast(Cast::Bitcast, bits, register(to)),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Complex => bits,
    }
}
