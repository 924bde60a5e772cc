//! What chooses between elements.

use promote_lattice::convert::{Bits, Literal, Numerics, literal};
use promote_lattice::{DType, Kind};

use crate::build::Build;
use crate::convert::convert;
use crate::emit::{Binary, Cast, Compare, Element, Emit};

use super::comparison::Wide;
use super::complex::choose;

/// What JAX's `take` fills in where an index is out of range: NaN, of complex numbers in the real part; the least signed
/// integer; the largest unsigned one; true.
pub fn filler(dtype: DType) -> Bits {
    match dtype.kind() {
        Kind::Bool => 1,
        Kind::Signed => 1 << (dtype.bits() - 1),
        Kind::Unsigned => Bits::MAX >> (Bits::BITS - dtype.bits()),
        Kind::Float | Kind::Complex => {
            literal(Literal::Float(f64::NAN), dtype.real_part(), Numerics::Jax).bits
        }
    }
}

/// `x` where `condition`, else `y`, part by part.
pub fn select<E: Emit>(
    e: &mut E,
    condition: E::Value,
    x: Element<E::Value>,
    y: Element<E::Value>,
) -> Element<E::Value> {
    match (x, y) {
        (Element::Complex(a, b), Element::Complex(c, d)) => {
            Element::Complex(e.select(condition, a, c), e.select(condition, b, d))
        }
        (x, y) => Element::Real(e.select(condition, x.real(), y.real())),
    }
}

/// Whether the first of two elements is the one that a search for the largest, or the smallest if `least`, finds: the larger one,
/// of equal ones the first, and a NaN before all, of two the first. Of complex numbers JAX takes the first if it compares so, and
/// else the second, be there a NaN or not.
pub(crate) fn takes_first<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    least: bool,
    dtype: DType,
    x: Element<E::Value>,
    y: Element<E::Value>,
) -> E::Value {
    match (x, y) {
        (Element::Complex(a, b), Element::Complex(c, d)) if numerics == Numerics::Jax => {
            let (lesser, greater) = if least { ((a, b), (c, d)) } else { ((c, d), (a, b)) };
            less_pair(e, lesser, greater)
        }
        (Element::Complex(a, b), Element::Complex(c, d)) => {
            let x_is_nan = e.compare(Compare::FUnordered, a, b);
            let y_is_nan = e.compare(Compare::FUnordered, c, d);
            let (lesser, greater) = if least { ((a, b), (c, d)) } else { ((c, d), (a, b)) };
            let same = e.compare(Compare::FEq, a, c);
            let imaginary = e.compare(Compare::FLe, lesser.1, greater.1);
            let of_same = e.and(same, imaginary);
            let real = e.compare(Compare::FLt, lesser.0, greater.0);
            let first = e.or(real, of_same);
            let no_nan = e.not(y_is_nan);
            let first = e.and(first, no_nan);
            e.or(x_is_nan, first)
        }
        (x, y) if dtype.kind() == Kind::Float => {
            let is_nan = e.is_nan(x.real());
            let compare = if least { Compare::FLe } else { Compare::FGe };
            let first = e.compare(compare, x.real(), y.real());
            e.or(is_nan, first)
        }
        (x, y) if dtype.kind() == Kind::Bool => {
            // x, or neither, for the larger; not x, or both, for the lesser.
            let (x, y) = (x.real(), y.real());
            let flipped = if least { x } else { y };
            let other = if least { y } else { x };
            let flipped = e.not(flipped);
            e.or(flipped, other)
        }
        (x, y) => {
            let (x, y) = (x.real(), y.real());
            let compare = match (least, dtype.kind() == Kind::Signed) {
                (true, true) => Compare::LeS,
                (true, false) => Compare::LeU,
                (false, true) => Compare::GeS,
                (false, false) => Compare::GeU,
            };
            e.compare(compare, x, y)
        }
    }
}

/// Whether the real part of a complex number is less than that of another, or equal and the imaginary part is less.
fn less_pair<E: Emit>(e: &mut E, x: (E::Value, E::Value), y: (E::Value, E::Value)) -> E::Value {
    let same = e.compare(Compare::FEq, x.0, y.0);
    let imaginary = e.compare(Compare::FLt, x.1, y.1);
    let of_same = e.and(same, imaginary);
    let real = e.compare(Compare::FLt, x.0, y.0);
    e.or(real, of_same)
}

/// Whether an element stands before another one where they are sorted: NaN is larger than all others. Of complex numbers JAX
/// compares the real parts so, then the imaginary ones; NumPy puts those with a NaN in the imaginary part after the others,
/// and those with one in the real part last.
pub fn is_before<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    dtype: DType,
    x: Element<E::Value>,
    y: Element<E::Value>,
) -> E::Value {
    match (x, y, dtype.kind()) {
        (Element::Complex(a, b), Element::Complex(c, d), _) => {
            let real = less_or_number(e, a, c);
            let level = less_or_number(e, c, a);
            let level = e.or(real, level);
            let level = e.not(level);
            let imaginary = less_or_number(e, b, d);
            let of_level = e.and(level, imaginary);
            let by_parts = e.or(real, of_level);
            match numerics {
                Numerics::Jax => by_parts,
                Numerics::NumPy | Numerics::Torch => {
                    let [a_is_nan, b_is_nan, c_is_nan, d_is_nan] = [a, b, c, d].map(|part| e.is_nan(part));
                    // That the real parts are both NaN, or not, and the imaginary parts, too.
                    let (real, imaginary) = (e.xor(a_is_nan, c_is_nan), e.xor(b_is_nan, d_is_nan));
                    let others = e.select(imaginary, d_is_nan, by_parts);
                    e.select(real, c_is_nan, others)
                }
            }
        }
        (x, y, Kind::Float) => less_or_number(e, x.real(), y.real()),
        (x, y, Kind::Signed) => e.compare(Compare::LtS, x.real(), y.real()),
        (x, y, Kind::Bool | Kind::Unsigned | Kind::Complex) => e.compare(Compare::LtU, x.real(), y.real()),
    }
}

/// Whether a real number is less than another one, or that is NaN and it is not.
fn less_or_number<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> E::Value {
    let less = e.compare(Compare::FLt, x, y);
    let (x_is_nan, y_is_nan) = (e.is_nan(x), e.is_nan(y));
    let x_is_number = e.not(x_is_nan);
    let before_nan = e.and(x_is_number, y_is_nan);
    e.or(less, before_nan)
}

/// The larger element, of equal ones the first, and a NaN if there is one, of two the second; of complex numbers the one that
/// [`takes_first`] tells.
pub(crate) fn maximum<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    dtype: DType,
    x: Element<E::Value>,
    y: Element<E::Value>,
) -> Element<E::Value> {
    extreme(e, numerics, false, dtype, x, y)
}

/// The smaller element, in the same way.
pub(crate) fn minimum<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    dtype: DType,
    x: Element<E::Value>,
    y: Element<E::Value>,
) -> Element<E::Value> {
    extreme(e, numerics, true, dtype, x, y)
}

fn extreme<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    least: bool,
    dtype: DType,
    x: Element<E::Value>,
    y: Element<E::Value>,
) -> Element<E::Value> {
    let instruction = match (dtype.kind(), least) {
        (Kind::Bool, false) => Binary::Or,
        (Kind::Bool, true) => Binary::And,
        (Kind::Unsigned, false) => Binary::MaxU,
        (Kind::Unsigned, true) => Binary::MinU,
        (Kind::Signed, false) => Binary::MaxS,
        (Kind::Signed, true) => Binary::MinS,
        (Kind::Float, _) => {
            // False where the first is NaN, which is then the result. x86 compares and chooses so in one instruction. The other
            // question is of the second alone: where that is the same for many, so is the answer.
            let (x, y) = (e.chosen(x.real()), e.chosen(y.real()));
            let compare = if least { Compare::FLt } else { Compare::FGt };
            let second = e.compare(compare, y, x);
            let mut chosen = e.select(second, y, x);
            if !e.is_number(y) {
                let is_nan = e.is_nan(y);
                chosen = e.select(is_nan, y, chosen);
            }
            // LLVM takes an extreme of an extreme for one of them, though their zeros have other signs.
            return Element::Real(e.compared(chosen));
        }
        (Kind::Complex, _) => {
            let first = takes_first(e, numerics, least, dtype, x, y);
            return select(e, first, x, y);
        }
    };
    Element::Real(e.binary(instruction, x.real(), y.real()))
}

/// What was chosen of two floats; of equal ones, the one that follows from -0 < +0. It is one of the two, also where a
/// processor takes subnormal numbers of other bits for zeros.
pub(crate) fn zeros_in_order<E: Emit>(
    e: &mut E,
    least: bool,
    x: E::Value,
    y: E::Value,
    chosen: E::Value,
) -> E::Value {
    let (is_equal, a, b) = (e.compare(Compare::FEq, x, y), e.to_bits(x), e.to_bits(y));
    let bits = e.binary(if least { Binary::MinS } else { Binary::MaxS }, a, b);
    let ty = e.ty(x);
    let equal = e.cast(Cast::Bitcast, bits, ty);
    e.select(is_equal, equal, chosen)
}

/// The nearest element between two bounds, of which the upper one goes before the lower, and the dtype that it is of.
/// Bounds of another dtype are compared by their numbers.
pub(super) fn clip<E: Emit>(
    e: &mut E,
    numerics: Numerics,
    result: DType,
    (dtype, x): (DType, Element<E::Value>),
    (of_low, low): (DType, Element<E::Value>),
    (of_high, high): (DType, Element<E::Value>),
) -> (DType, Element<E::Value>) {
    let bounds = [of_low, of_high];
    if bounds != [dtype; 2] && [dtype, of_low, of_high].iter().all(|dtype| dtype.is_integer()) {
        let x = Wide::new(e, dtype, x.real());
        let (low, high) = (Wide::new(e, of_low, low.real()), Wide::new(e, of_high, high.real()));
        let is_below = x.less(e, low);
        let x = Wide::select(e, is_below, low, x);
        let is_above = high.less(e, x);
        let x = Wide::select(e, is_above, high, x);
        return (DType::I64, Element::Real(x.bits));
    }
    let wider = |x: DType, y: DType| if y.bits() > x.bits() { y } else { x };
    let common = match bounds == [dtype; 2] {
        true => dtype,
        false if bounds.iter().all(|bound| bound.kind() == dtype.kind()) => {
            wider(wider(dtype, of_low), of_high)
        }
        false => result,
    };
    let x = convert(e, dtype, common, numerics, x);
    let low = convert(e, of_low, common, numerics, low);
    let high = convert(e, of_high, common, numerics, high);
    let clipped = match (x, low, high) {
        (Element::Complex(a, b), Element::Complex(c, d), Element::Complex(f, g)) => {
            let raised = bounded(e, (a, b), (c, d), false);
            let (re, im) = bounded(e, raised, (f, g), true);
            Element::Complex(re, im)
        }
        _ => {
            let raised = maximum(e, numerics, common, x, low);
            minimum(e, numerics, common, raised, high)
        }
    };
    (common, clipped)
}

/// A complex number, or a bound that it is not beyond: NumPy's `clip` asks of NaN in the number alone.
fn bounded<E: Emit>(
    e: &mut E,
    x: (E::Value, E::Value),
    bound: (E::Value, E::Value),
    least: bool,
) -> (E::Value, E::Value) {
    let stays = if least { less_pair(e, x, bound) } else { less_pair(e, bound, x) };
    let is_nan = e.compare(Compare::FUnordered, x.0, x.1);
    let stays = e.or(is_nan, stays);
    choose(e, stays, x, bound)
}
