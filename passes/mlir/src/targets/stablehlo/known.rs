//! What is known of values without running the program.

use mlir_sys::MlirOperation;
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Kind};

use super::builder::{Builder, Tensor};
use crate::{constant, raw};

/// Ops whose result has no other elements than their operand.
const ARRANGING: &[&str] =
    &["stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.reverse"];

/// The op that makes the elements of `x`.
fn producer(x: Tensor) -> Option<MlirOperation> {
    let mut producer = raw::defining_op(x.value)?;
    while ARRANGING.contains(&raw::name(producer).as_str()) {
        producer = raw::defining_op(raw::operand(producer, 0))?;
    }
    Some(producer)
}

/// All that elements of `x` can be, if it is made of a constant; each in the bits of its dtype.
pub fn elements(x: Tensor) -> Option<Vec<Bits>> {
    let producer = producer(x)?;
    let is_constant = raw::is_named(producer, "stablehlo.constant");
    let value = is_constant.then(|| raw::attribute(producer, "value")).flatten()?;
    constant::elements(value, x.dtype)
}

/// The number that bits of an integer dtype are.
const fn number(bits: Bits, dtype: DType) -> i128 {
    let unused = Bits::BITS - dtype.bits();
    match dtype.kind() {
        Kind::Signed => (bits << unused).cast_signed() >> unused,
        Kind::Bool | Kind::Unsigned | Kind::Float | Kind::Complex => (bits << unused >> unused).cast_signed(),
    }
}

/// The one number that all elements of `x`, integers, are, if it is made of a constant.
pub fn integer(x: Tensor) -> Option<i64> {
    let elements = elements(x).filter(|_| x.dtype.is_integer())?;
    let (first, rest) = elements.split_first()?;
    let same = rest.iter().all(|bits| bits == first);
    same.then(|| i64::try_from(number(*first, x.dtype)).ok()).flatten()
}

/// Between which numbers the integers of `x` lie, if it is made of a constant, an iota, or
/// narrower integers without a sign.
pub fn range(b: &Builder<'_>, x: Tensor) -> Option<(i128, i128)> {
    if let Some(elements) = elements(x) {
        let numbers = || elements.iter().map(|bits| number(*bits, x.dtype));
        let (low, high) = (numbers().min()?, numbers().max()?);
        return Some((low, high));
    }
    let producer = producer(x)?;
    if raw::is_named(producer, "stablehlo.convert") {
        let from = b.tensor(raw::operand(producer, 0)).dtype;
        let is_kept = matches!(from.kind(), Kind::Bool | Kind::Unsigned) && from.bits() < x.dtype.bits();
        return is_kept.then(|| (0, (1 << from.bits()) - 1));
    }
    if !raw::is_named(producer, "stablehlo.iota") {
        return None;
    }
    let longest = b.tensor(raw::result(producer)).shape().into_iter().max().unwrap_or(0);
    Some((0, i128::from(longest) - 1))
}
