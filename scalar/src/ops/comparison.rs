//! Predicates of two elements: comparisons and logic.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};

use crate::build::Build;
use crate::convert::is_nonzero;
use crate::emit::{Binary, Compare, Element, Emit, Ty};

/// What a predicate asks of two elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Predicate {
    /// The instruction of two truth values, which are whether the elements are not zero.
    Logic(Binary),
    /// How the first stands to the second.
    Relation(Relation),
    /// How the second stands to the first.
    Turned(Relation),
}

/// How two elements may stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
}

/// What an op asks, if it is a predicate of two elements.
pub(super) const fn predicate(op: Op) -> Option<Predicate> {
    Some(match op {
        Op::LogicalAnd => Predicate::Logic(Binary::And),
        Op::LogicalOr => Predicate::Logic(Binary::Or),
        Op::LogicalXor => Predicate::Logic(Binary::Xor),
        Op::Equal => Predicate::Relation(Relation::Equal),
        Op::NotEqual => Predicate::Relation(Relation::NotEqual),
        Op::Less => Predicate::Relation(Relation::Less),
        Op::LessEqual => Predicate::Relation(Relation::LessEqual),
        Op::Greater => Predicate::Turned(Relation::Less),
        Op::GreaterEqual => Predicate::Turned(Relation::LessEqual),
        // What has no definition is refused.
        _ => return None,
    })
}

/// A predicate of two elements of one dtype. Complex numbers are ordered by their real parts, then by the imaginary ones;
/// see [`compare_pairs`] for NaN.
pub(super) fn compare<E: Emit>(
    e: &mut E,
    predicate: Predicate,
    numerics: Numerics,
    dtype: DType,
    x: Element<E::Value>,
    y: Element<E::Value>,
) -> Element<E::Value> {
    let (relation, x, y) = match predicate {
        Predicate::Logic(instruction) => {
            let (x, y) = (is_nonzero(e, dtype, x), is_nonzero(e, dtype, y));
            return Element::Real(e.binary(instruction, x, y));
        }
        Predicate::Relation(relation) => (relation, x, y),
        Predicate::Turned(relation) => (relation, y, x),
    };
    let truth = match (x, y) {
        (Element::Complex(a, b), Element::Complex(c, d)) => {
            compare_pairs(e, relation, numerics, (a, b), (c, d))
        }
        (x, y) if dtype.kind() == Kind::Bool => compare_bools(e, relation, x.real(), y.real()),
        (x, y) if dtype.kind() == Kind::Float => {
            let (x, y) = (e.compared(x.real()), e.compared(y.real()));
            e.compare(comparison(relation, Kind::Float), x, y)
        }
        (x, y) => e.compare(comparison(relation, dtype.kind()), x.real(), y.real()),
    };
    Element::Real(truth)
}

const fn comparison(relation: Relation, kind: Kind) -> Compare {
    match (relation, kind) {
        (Relation::Equal, Kind::Float | Kind::Complex) => Compare::FEq,
        (Relation::Equal, Kind::Bool | Kind::Unsigned | Kind::Signed) => Compare::Eq,
        (Relation::NotEqual, Kind::Float | Kind::Complex) => Compare::FNe,
        (Relation::NotEqual, Kind::Bool | Kind::Unsigned | Kind::Signed) => Compare::Ne,
        (Relation::Less, Kind::Float | Kind::Complex) => Compare::FLt,
        (Relation::Less, Kind::Signed) => Compare::LtS,
        (Relation::Less, Kind::Bool | Kind::Unsigned) => Compare::LtU,
        (Relation::LessEqual, Kind::Float | Kind::Complex) => Compare::FLe,
        (Relation::LessEqual, Kind::Signed) => Compare::LeS,
        (Relation::LessEqual, Kind::Bool | Kind::Unsigned) => Compare::LeU,
    }
}

fn compare_bools<E: Emit>(e: &mut E, relation: Relation, x: E::Value, y: E::Value) -> E::Value {
    match relation {
        Relation::NotEqual => e.xor(x, y),
        Relation::Equal => {
            let differ = e.xor(x, y);
            e.not(differ)
        }
        Relation::Less => {
            let not = e.not(x);
            e.and(not, y)
        }
        Relation::LessEqual => {
            let not = e.not(x);
            e.or(not, y)
        }
    }
}

/// A predicate of two complex numbers. None is ordered that has a NaN in its real part; JAX looks at imaginary parts where
/// the real ones are equal only, and NumPy orders none that has a NaN there.
fn compare_pairs<E: Emit>(
    e: &mut E,
    relation: Relation,
    numerics: Numerics,
    x: (E::Value, E::Value),
    y: (E::Value, E::Value),
) -> E::Value {
    if relation == Relation::NotEqual {
        let (real, imaginary) = (e.compare(Compare::FNe, x.0, y.0), e.compare(Compare::FNe, x.1, y.1));
        return e.or(real, imaginary);
    }
    let imaginary = comparison(relation, Kind::Float);
    let (same, imaginary) = (e.compare(Compare::FEq, x.0, y.0), e.compare(imaginary, x.1, y.1));
    let of_same = e.and(same, imaginary);
    if relation == Relation::Equal {
        return of_same;
    }
    let less = e.compare(Compare::FLt, x.0, y.0);
    let less = match numerics {
        Numerics::Jax => less,
        Numerics::NumPy | Numerics::Torch => {
            let is_nan = e.compare(Compare::FUnordered, x.1, y.1);
            let are_numbers = e.not(is_nan);
            e.and(less, are_numbers)
        }
    };
    e.or(less, of_same)
}

/// An integer of any dtype as 64 bits and whether it is negative, which order all of them.
#[derive(Clone, Copy)]
pub(super) struct Wide<V> {
    negative: V,
    /// The lowest 64 bits.
    pub(super) bits: V,
}

impl<V: Copy> Wide<V> {
    pub(super) fn new<E: Emit<Value = V>>(e: &mut E, dtype: DType, x: V) -> Self {
        let bits = e.resize(x, Ty::I64, dtype.kind() == Kind::Signed);
        let negative = match dtype.kind() {
            Kind::Signed => e.is(Compare::LtS, bits, 0.0),
            Kind::Bool | Kind::Unsigned | Kind::Float | Kind::Complex => e.int(Ty::I1, 0),
        };
        Self { negative, bits }
    }

    pub(super) fn less<E: Emit<Value = V>>(self, e: &mut E, other: Self) -> V {
        let signs_differ = e.xor(self.negative, other.negative);
        let below = e.compare(Compare::LtU, self.bits, other.bits);
        e.select(signs_differ, self.negative, below)
    }

    fn differs<E: Emit<Value = V>>(self, e: &mut E, other: Self) -> V {
        let signs_differ = e.xor(self.negative, other.negative);
        let bits_differ = e.compare(Compare::Ne, self.bits, other.bits);
        e.or(signs_differ, bits_differ)
    }

    pub(super) fn select<E: Emit<Value = V>>(e: &mut E, condition: V, x: Self, y: Self) -> Self {
        let negative = e.select(condition, x.negative, y.negative);
        Self { negative, bits: e.select(condition, x.bits, y.bits) }
    }
}

/// A predicate of integers of two dtypes, by their numbers.
pub(super) fn compare_mixed<E: Emit>(
    e: &mut E,
    predicate: Predicate,
    (first, x): (DType, Element<E::Value>),
    (second, y): (DType, Element<E::Value>),
) -> Element<E::Value> {
    let (relation, (first, x), (second, y)) = match predicate {
        Predicate::Logic(instruction) => {
            let (x, y) = (is_nonzero(e, first, x), is_nonzero(e, second, y));
            return Element::Real(e.binary(instruction, x, y));
        }
        Predicate::Relation(relation) => (relation, (first, x), (second, y)),
        Predicate::Turned(relation) => (relation, (second, y), (first, x)),
    };
    let (x, y) = (Wide::new(e, first, x.real()), Wide::new(e, second, y.real()));
    Element::Real(match relation {
        Relation::Less => x.less(e, y),
        Relation::LessEqual => {
            let greater = y.less(e, x);
            e.not(greater)
        }
        Relation::Equal => {
            let differ = x.differs(e, y);
            e.not(differ)
        }
        Relation::NotEqual => x.differs(e, y),
    })
}
