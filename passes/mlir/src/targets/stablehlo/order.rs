//! Order and truth: comparisons, the larger and the smaller, of every sort of number.
//!
//! Complex numbers are ordered by their real parts, then by their imaginary ones; NaN among them is NumPy's or JAX's.

use promote_lattice::convert::{Literal, Numerics};
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
        // A real part that is NaN makes both false; an imaginary one counts where the real parts are apart, too, but in JAX.
        let then = self.and(alike, then);
        let ordered = self.or(apart, then);
        if self.numerics() == Numerics::Jax {
            return ordered;
        }
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

    /// Whether a number stands before another one where they are sorted: NaN is larger than all others. Of complex numbers JAX
    /// compares the real parts so, then the imaginary ones; NumPy puts those with a NaN in the imaginary part after the
    /// others, and those with one in the real part last.
    pub fn is_before(&mut self, x: Tensor, y: Tensor) -> Tensor {
        if x.kind() != Kind::Complex {
            return self.is_less_or_number(x, y);
        }
        let ((xr, xi), (yr, yi)) = (self.parts(x), self.parts(y));
        let (real, imaginary) = (self.is_less_or_number(xr, yr), self.is_less_or_number(xi, yi));
        let real_is_behind = self.is_less_or_number(yr, xr);
        let of_level = self.not(real_is_behind);
        let of_level = self.and(of_level, imaginary);
        let by_parts = self.or(real, of_level);
        if self.numerics() == Numerics::Jax {
            return by_parts;
        }
        // By which parts are NaN first.
        let group = |b: &mut Self, re, im| {
            let (re, im) = (b.is_nan(re), b.is_nan(im));
            let (re, im) = (b.cast(re, DType::U8), b.cast(im, DType::U8));
            let twice = b.add(re, re);
            b.add(twice, im)
        };
        let (of_x, of_y) = (group(self, xr, xi), group(self, yr, yi));
        let (before, level) =
            (self.compare(of_x, Direction::Lt, of_y), self.compare(of_x, Direction::Eq, of_y));
        let of_level = self.and(level, by_parts);
        self.or(before, of_level)
    }

    fn is_less_or_number(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let less = self.compare(x, Direction::Lt, y);
        let (x_is, y_is) = (self.is_nan(x), self.is_nan(y));
        let x_is_not = self.not(x_is);
        let before_nan = self.and(x_is_not, y_is);
        self.or(less, before_nan)
    }

    /// The larger, if `direction` is greater, or the smaller: the NaN if there is one. JAX takes the second of complex numbers
    /// that do not compare so.
    pub fn extreme(&mut self, x: Tensor, direction: Direction, y: Tensor) -> Tensor {
        let largest = direction == Direction::Gt;
        if x.kind() != Kind::Complex {
            return if largest { self.max(x, y) } else { self.min(x, y) };
        }
        if self.numerics() == Numerics::Jax {
            let takes_first = self.holds(x, direction, y);
            return self.select(takes_first, x, y);
        }
        let takes_first = self.holds(x, if largest { Direction::Ge } else { Direction::Le }, y);
        let is_nan = self.is_nan(x);
        let takes_first = self.or(takes_first, is_nan);
        self.select(takes_first, x, y)
    }
}

impl Builder<'_> {
    /// A number, or a bound that it is not beyond. Of complex numbers NumPy asks of NaN in the number alone, and not in a bound.
    pub fn bounded(&mut self, x: Tensor, direction: Direction, bound: Tensor) -> Tensor {
        if x.kind() != Kind::Complex {
            return self.extreme(x, direction, bound);
        }
        let ((xr, xi), (yr, yi)) = (self.parts(x), self.parts(bound));
        let alike = self.compare(xr, Direction::Eq, yr);
        let (real, imaginary) = (self.compare(xr, direction, yr), self.compare(xi, direction, yi));
        let stays = self.select(alike, imaginary, real);
        let is_nan = self.is_nan(x);
        let stays = self.or(stays, is_nan);
        self.select(stays, x, bound)
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
