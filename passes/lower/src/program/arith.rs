//! Arithmetic on extents.

use super::{Arg, ValueKind};

/// Arithmetic on extents. Sums and products wrap around; comparisons return truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arith {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient of unsigned numbers. The divisor is not zero.
    DivU,
    /// The less of signed numbers.
    MinS,
    /// The greater of signed numbers.
    MaxS,
    /// Whether they are equal.
    Eq,
    /// Whether they differ.
    Ne,
    /// Whether the first is less, unsigned.
    LtU,
    /// Whether both truth values hold.
    And,
    /// Whether a truth value does not hold.
    Not,
    /// The second if the first, a truth value, holds, else the third.
    Select,
}

impl Arith {
    /// What it takes, and what it computes.
    pub const fn signature(self) -> (&'static [ValueKind], ValueKind) {
        const INDEX: ValueKind = ValueKind::INDEX;
        const TRUTH: ValueKind = ValueKind::TRUTH;
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::DivU | Self::MinS | Self::MaxS => {
                (&[INDEX, INDEX], INDEX)
            }
            Self::Eq | Self::Ne | Self::LtU => (&[INDEX, INDEX], TRUTH),
            Self::And => (&[TRUTH, TRUTH], TRUTH),
            Self::Not => (&[TRUTH], TRUTH),
            Self::Select => (&[TRUTH, INDEX, INDEX], INDEX),
        }
    }

    /// What it computes of numbers; `None` for a division by zero.
    ///
    /// # Panics
    /// If it takes another number of them.
    pub fn evaluate(self, args: &[i64]) -> Option<i64> {
        Some(match (self, args) {
            (Self::Add, [x, y]) => x.wrapping_add(*y),
            (Self::Sub, [x, y]) => x.wrapping_sub(*y),
            (Self::Mul, [x, y]) => x.wrapping_mul(*y),
            (Self::DivU, [x, y]) => x.cast_unsigned().checked_div(y.cast_unsigned())?.cast_signed(),
            (Self::MinS, [x, y]) => *x.min(y),
            (Self::MaxS, [x, y]) => *x.max(y),
            (Self::Eq, [x, y]) => (x == y).into(),
            (Self::Ne, [x, y]) => (x != y).into(),
            (Self::LtU, [x, y]) => (x.cast_unsigned() < y.cast_unsigned()).into(),
            (Self::And, [x, y]) => x & y,
            (Self::Not, [x]) => 1 - x,
            (Self::Select, [condition, x, y]) => *if *condition != 0 { x } else { y },
            _ => unreachable!("{self:?} takes {} numbers, not {}", self.signature().0.len(), args.len()),
        })
    }

    /// What is known of the result without computing it at run time.
    pub fn fold<V: Copy + PartialEq>(self, args: &[Arg<V>]) -> Option<Arg<V>> {
        if let (Self::Select, [condition, then, otherwise]) = (self, args) {
            return match condition {
                Arg::Known(0) => Some(*otherwise),
                Arg::Known(_) => Some(*then),
                Arg::Value(_) => (then == otherwise).then_some(*then),
            };
        }
        match (self, args) {
            (Self::Add | Self::Sub, [x, Arg::Known(0)]) | (Self::Add, [Arg::Known(0), x]) => return Some(*x),
            (Self::Mul | Self::DivU, [x, Arg::Known(1)])
            | (Self::Mul | Self::And, [Arg::Known(1), x])
            | (Self::And, [x, Arg::Known(1)]) => return Some(*x),
            (Self::Mul, [_, Arg::Known(0)] | [Arg::Known(0), _]) => return Some(Arg::Known(0)),
            (Self::Eq, [x, y]) if x == y => return Some(Arg::Known(1)),
            (Self::Ne, [x, y]) if x == y => return Some(Arg::Known(0)),
            _ => {}
        }
        let known: Vec<i64> = args.iter().map(Arg::fixed).collect::<Option<_>>()?;
        self.evaluate(&known).map(Arg::Known)
    }
}
