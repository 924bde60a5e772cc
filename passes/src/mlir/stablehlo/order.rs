//! Order and truth: comparisons, the larger and the smaller, of every sort of number.
//!
//! Complex numbers are ordered by their real parts, then by their imaginary ones, as in NumPy and JAX.

use promote_lattice::convert::Literal;
use promote_lattice::{DType, Kind, Op};

use super::builder::{Builder, Direction, Tensor};

impl Builder<'_> {
    /// Whether numbers compare in this way.
    pub fn holds(&mut self, x: Tensor, direction: Direction, y: Tensor) -> Tensor {
        let strict = match direction {
            Direction::Lt | Direction::Le => Direction::Lt,
            Direction::Gt | Direction::Ge => Direction::Gt,
            Direction::Eq | Direction::Ne => return self.compare(x, direction, y),
        };
        if x.kind() != Kind::Complex {
            return self.compare(x, direction, y);
        }
        let ((xr, xi), (yr, yi)) = (self.parts(x), self.parts(y));
        let apart = self.compare(xr, strict, yr);
        let alike = self.compare(xr, Direction::Eq, yr);
        let then = self.compare(xi, direction, yi);
        // A real part that is NaN makes both false; an imaginary one counts where the real parts are apart, too.
        let then = self.and(alike, then);
        let ordered = self.or(apart, then);
        let (x_is, y_is) = (self.compare(xi, Direction::Eq, xi), self.compare(yi, Direction::Eq, yi));
        let numbers = self.and(x_is, y_is);
        self.and(ordered, numbers)
    }

    /// The exact comparison of an unsigned integer with a signed one, as NumPy's of u64; none of other dtypes.
    pub fn holds_of_integers(&mut self, x: Tensor, direction: Direction, y: Tensor) -> Option<Tensor> {
        let (signed, unsigned) = match (x.kind(), y.kind()) {
            (Kind::Signed, Kind::Unsigned) => (x, y),
            (Kind::Unsigned, Kind::Signed) => (y, x),
            _ => return None,
        };
        let zero = self.zero(signed);
        let is_negative = self.compare(signed, Direction::Lt, zero);
        let wide = self.convert(signed, DType::U64);
        let other = self.convert(unsigned, DType::U64);
        let is_first = x.kind() == Kind::Signed;
        let (x, y) = if is_first { (wide, other) } else { (other, wide) };
        let compared = self.compare(x, direction, y);
        // A negative number is less than all unsigned ones.
        let of_negative = match direction {
            Direction::Eq => false,
            Direction::Ne => true,
            Direction::Lt | Direction::Le => is_first,
            Direction::Gt | Direction::Ge => !is_first,
        };
        let of_negative = self.truth(x, of_negative);
        Some(self.select(is_negative, of_negative, compared))
    }

    /// Whether it is not zero; NaN is not.
    pub fn is_true(&mut self, x: Tensor) -> Tensor {
        if x.kind() == Kind::Bool {
            return x;
        }
        let zero = self.zero(x);
        self.compare(x, Direction::Ne, zero)
    }

    /// Whether it is NaN, or a part of it is.
    pub fn is_nan(&mut self, x: Tensor) -> Tensor {
        match x.kind() {
            Kind::Bool | Kind::Unsigned | Kind::Signed => self.truth(x, false),
            Kind::Float | Kind::Complex => self.compare(x, Direction::Ne, x),
        }
    }

    /// Zeros of the dtype and shape of `x`.
    pub fn zero(&mut self, x: Tensor) -> Tensor {
        self.splat(x.dtype, &x.shape(), Literal::Int(0))
    }

    /// The larger, if `direction` is greater, or the smaller: the NaN if there is one.
    pub fn extreme(&mut self, x: Tensor, direction: Direction, y: Tensor) -> Tensor {
        let largest = direction == Direction::Gt;
        if x.kind() != Kind::Complex {
            return if largest { self.max(x, y) } else { self.min(x, y) };
        }
        let takes_first = self.holds(x, if largest { Direction::Ge } else { Direction::Le }, y);
        let is_nan = self.is_nan(x);
        let takes_first = self.or(takes_first, is_nan);
        self.select(takes_first, x, y)
    }
}

/// The comparison that an op of the dialect is.
pub const fn direction(op: Op) -> Option<Direction> {
    Some(match op {
        Op::Equal => Direction::Eq,
        Op::NotEqual => Direction::Ne,
        Op::Less => Direction::Lt,
        Op::LessEqual => Direction::Le,
        Op::Greater => Direction::Gt,
        Op::GreaterEqual => Direction::Ge,
        _ => return None,
    })
}
