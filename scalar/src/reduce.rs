//! Reductions: what two elements, or what two partial results, are together.
//!
//! A reduction starts from [`identity`] and takes its elements in with [`combine`], in the dtype that [`accumulator`] says;
//! partial results combine the same way. The place of an extreme element is found with [`combine_arg`].

use promote_lattice::convert::Numerics;
use promote_lattice::dtype::Specials;
use promote_lattice::{DType, Kind, Op};

use crate::build::Build;
use crate::emit::{Binary, Cast, Compare, Element, Emit, Ty};
use crate::exact::mantissa_bits;
use crate::ops::{elementwise, select, takes_first, zeros_in_order};
use crate::storage::{ends, part, register, round_to};

/// The dtype that a reduction of elements of `dtype` adds up in: `f32` for narrower floats, else the dtype. What only
/// chooses elements stays in the dtype.
pub fn accumulator(op: Op, dtype: DType) -> DType {
    let dtype = dtype.storage();
    if matches!(
        op,
        Op::Max | Op::Maximum | Op::Min | Op::Minimum | Op::Any | Op::All | Op::ArgMax | Op::ArgMin
    ) {
        return dtype;
    }
    match dtype.kind() {
        Kind::Float if dtype.bits() < 32 => DType::F32,
        Kind::Complex if dtype.bits() < 64 => DType::C64,
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float | Kind::Complex => dtype,
    }
}

/// What a reduction begins with: 0 of sums, 1 of products, the least element of maxima and the largest of minima, false of
/// `any` and true of `all`. `None` if the op is no such reduction.
///
/// That changes nothing but the sign of a zero, and a complex number of which a part is a zero, infinite or NaN. NumPy's
/// cumulative sums and products begin with their first element: sums with -0, then, and products as [`keeps_first`] says.
pub fn identity<E: Emit>(e: &mut E, op: Op, numerics: Numerics, dtype: DType) -> Option<Element<E::Value>> {
    let dtype = dtype.storage();
    let ty = register(dtype);
    let zero = if op == Op::CumulativeSum && numerics == Numerics::NumPy { -0.0 } else { 0.0 };
    let value = match op {
        Op::Sum | Op::CumulativeSum | Op::CountNonzero | Op::Any => zero,
        Op::Prod | Op::CumulativeProd | Op::All => 1.0,
        Op::Max | Op::Maximum => return Some(end(e, dtype, true)),
        Op::Min | Op::Minimum => return Some(end(e, dtype, false)),
        _ => return None,
    };
    let constant = |e: &mut E, value: f64| match ty.is_float() {
        true => {
            let value = e.float(ty, value);
            round_to(e, dtype, value)
        }
        false => e.int(ty, value as i64),
    };
    let real = constant(e, value);
    Some(match dtype.kind() {
        Kind::Complex => {
            let imaginary = constant(e, zero);
            Element::Complex(real, imaginary)
        }
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => Element::Real(real),
    })
}

/// Whether the first result of a cumulative op is the first element, which [`combine`] with [`identity`] may not return.
pub fn keeps_first(op: Op, numerics: Numerics, dtype: DType) -> bool {
    let is_identity_exact = match op {
        Op::CumulativeProd => dtype.kind() != Kind::Complex,
        // A format without zero has no element that changes nothing in a sum.
        _ => part(dtype).props().format.is_none_or(|format| format.specials != Specials::ExponentOnly),
    };
    numerics == Numerics::NumPy && !is_identity_exact
}

/// Whether elements in another order may be reduced to something else than a number rounded otherwise. Of complex numbers
/// NumPy gives the first that has a NaN, with its other part, and in JAX a NaN gives way to what comes after it. An
/// infinite product of them is another number when it is multiplied once more, even by the `1+0j` that other parts or lanes begin with.
pub fn depends_on_order(op: Op, dtype: DType) -> bool {
    matches!(op, Op::Max | Op::Maximum | Op::Min | Op::Minimum | Op::Prod) && dtype.kind() == Kind::Complex
}

/// The least element of a dtype, or the largest.
fn end<E: Emit>(e: &mut E, dtype: DType, least: bool) -> Element<E::Value> {
    let ty = register(dtype);
    let bits = dtype.bits();
    match dtype.kind() {
        Kind::Bool | Kind::Unsigned if least => Element::Real(e.int(ty, 0)),
        Kind::Bool => Element::Real(e.int(ty, 1)),
        Kind::Unsigned => Element::Real(e.int(ty, (u64::MAX >> (64 - bits)).cast_signed())),
        Kind::Signed if least => Element::Real(e.int(ty, i64::MIN >> (64 - bits))),
        Kind::Signed => Element::Real(e.int(ty, i64::MAX >> (64 - bits))),
        Kind::Float => Element::Real(float_end(e, dtype, least)),
        Kind::Complex => {
            let part = float_end(e, part(dtype), least);
            Element::Complex(part, part)
        }
    }
}

/// An infinity, or what is nearest to it where a format has none.
fn float_end<E: Emit>(e: &mut E, dtype: DType, least: bool) -> E::Value {
    let (low, high) = ends(dtype);
    e.float(register(dtype), if least { low } else { high })
}

/// The op of two elements that a reduction, or a cumulative op, combines with. `None` if the op is none.
pub const fn combiner(op: Op) -> Option<Op> {
    Some(match op {
        Op::Max | Op::Maximum => Op::Maximum,
        Op::Min | Op::Minimum => Op::Minimum,
        Op::Sum | Op::CumulativeSum | Op::CountNonzero => Op::Add,
        Op::Prod | Op::CumulativeProd => Op::Multiply,
        Op::Any => Op::LogicalOr,
        Op::All => Op::LogicalAnd,
        _ => return None,
    })
}

/// Two elements, or two partial results, as one. `None` if the op is no such reduction, or not defined for the dtype.
///
/// `max` and `min` of real numbers do not depend on the order of elements, except for which of several NaNs they are: where
/// `maximum` and `minimum` take the first of two zeros, they order them -0 < +0, as IEEE 754 does. A reduction by one
/// of these is faster. It is for those to whom all zeros are equal.
pub fn combine<E: Emit>(
    e: &mut E,
    op: Op,
    numerics: Numerics,
    dtype: DType,
    a: Element<E::Value>,
    b: Element<E::Value>,
) -> Option<Element<E::Value>> {
    let dtype = dtype.storage();
    let step = combiner(op)?;
    let result = if matches!(step, Op::LogicalOr | Op::LogicalAnd) { DType::B1 } else { dtype };
    let both = elementwise(e, step, numerics, &[dtype, dtype], result, &[a, b])?;
    // What NaNs give is said once, by the op of two elements.
    if !matches!(op, Op::Max | Op::Min) || dtype.kind() != Kind::Float {
        return Some(both);
    }
    Some(Element::Real(zeros_in_order(e, op == Op::Min, a.real(), b.real(), both.real())))
}

/// The integers that stand for floats where `max`, or `min`, of many is sought: their order is that of [`combine`], in which
/// zeros are told apart and a NaN goes beyond all numbers, so that one instruction takes the more extreme of two. Of several
/// NaNs it is always the same one, whatever the order.
///
/// The bits of a float and of its rank are as many. Numbers keep the order of their bits, those of negative ones turned
/// round; NaNs of either sign are moved to the end that is sought, past the infinity there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    least: bool,
    float: Ty,
}

impl Ranks {
    /// Those that a reduction of elements of `dtype` may choose among; `None` if it does not choose real floats.
    pub fn of(op: Op, dtype: DType) -> Option<Self> {
        let dtype = dtype.storage();
        let least = match op {
            Op::Max => false,
            Op::Min => true,
            _ => return None,
        };
        (dtype.kind() == Kind::Float).then(|| Self { least, float: register(dtype) })
    }

    /// The type of a rank.
    pub const fn ty(self) -> Ty {
        self.float.bits_type()
    }

    /// The rank of a float.
    pub fn rank<E: Emit>(self, e: &mut E, x: E::Value) -> E::Value {
        let bits = e.to_bits(x);
        let ordered = self.turn_negative(e, bits);
        self.moved(e, ordered, !self.least)
    }

    /// The float of a rank.
    pub fn float<E: Emit>(self, e: &mut E, rank: E::Value) -> E::Value {
        let ordered = self.moved(e, rank, self.least);
        let bits = self.turn_negative(e, ordered);
        e.cast(Cast::Bitcast, bits, self.float)
    }

    /// The more extreme of two ranks.
    pub fn combine<E: Emit>(self, e: &mut E, x: E::Value, y: E::Value) -> E::Value {
        e.binary(if self.least { Binary::MinS } else { Binary::MaxS }, x, y)
    }

    /// All bits but the sign flipped, where it is set.
    fn turn_negative<E: Emit>(self, e: &mut E, bits: E::Value) -> E::Value {
        let width = self.ty().bits();
        let sign = e.shift(Binary::ShrS, bits, width - 1);
        let flipped = e.masked(sign, i64::MAX >> (64 - width));
        e.xor(bits, flipped)
    }

    /// Moved by as many places as there are NaNs of a sign, modulo the number of ranks.
    fn moved<E: Emit>(self, e: &mut E, rank: E::Value, down: bool) -> E::Value {
        let places = e.bits(rank, (1 << mantissa_bits(self.float)) - 1);
        e.binary(if down { Binary::Sub } else { Binary::Add }, rank, places)
    }
}

/// Of two elements with their places the one that `argmax`, or `argmin`, finds: the more extreme one, and of equal ones, or
/// of two NaNs, that of the lesser place. A NaN is more extreme than any number. Places are integers of one type that are
/// not negative.
pub fn combine_arg<E: Emit>(
    e: &mut E,
    op: Op,
    dtype: DType,
    a: (Element<E::Value>, E::Value),
    b: (Element<E::Value>, E::Value),
) -> Option<(Element<E::Value>, E::Value)> {
    let least = seeks_least(op)?;
    let dtype = dtype.storage();
    // The places of complex numbers, which JAX does not order, are NumPy's.
    let a_first = takes_first(e, Numerics::NumPy, least, dtype, a.0, b.0);
    let b_first = takes_first(e, Numerics::NumPy, least, dtype, b.0, a.0);
    let is_level = e.and(a_first, b_first);
    let is_before = e.compare(Compare::LeS, a.1, b.1);
    let a_taken = e.select(is_level, is_before, a_first);
    Some((select(e, a_taken, a.0, b.0), e.select(a_taken, a.1, b.1)))
}

/// The same where the place of `b` is the greater one, as of the next element of a row. A search may begin with the
/// [`identity`] and the first place: where no element is more extreme, all are level with it.
pub fn combine_next_arg<E: Emit>(
    e: &mut E,
    op: Op,
    dtype: DType,
    a: (Element<E::Value>, E::Value),
    b: (Element<E::Value>, E::Value),
) -> Option<(Element<E::Value>, E::Value)> {
    let a_taken = takes_first(e, Numerics::NumPy, seeks_least(op)?, dtype.storage(), a.0, b.0);
    Some((select(e, a_taken, a.0, b.0), e.select(a_taken, a.1, b.1)))
}

/// Whether an op seeks the place of the least element, and not of the greatest; none if it seeks no place.
const fn seeks_least(op: Op) -> Option<bool> {
    match op {
        Op::ArgMax => Some(false),
        Op::ArgMin => Some(true),
        _ => None,
    }
}
