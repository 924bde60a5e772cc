//! Arithmetic of indices, in short.

use promote_scalar::{Binary, Compare, Ty};

use crate::code::Code;

/// What every [`Code`] can be asked for, in few words. Indices are not negative.
pub(crate) trait Build: Code {
    fn number(&mut self, number: i64) -> Self::Value {
        self.int(Ty::I64, number)
    }

    /// The zero of a type: of floats the positive one.
    fn zero(&mut self, ty: Ty) -> Self::Value {
        if ty.is_float() { self.float(ty, 0.0) } else { self.int(ty, 0) }
    }

    fn add(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::Add, x, y)
    }

    fn sub(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::Sub, x, y)
    }

    fn mul(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::Mul, x, y)
    }

    /// A number further on.
    fn ahead(&mut self, x: Self::Value, by: i64) -> Self::Value {
        if by == 0 {
            return x;
        }
        let by = self.number(by);
        self.add(x, by)
    }

    fn scaled(&mut self, x: Self::Value, by: i64) -> Self::Value {
        if by == 1 {
            return x;
        }
        let by = self.number(by);
        self.mul(x, by)
    }

    fn min(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::MinS, x, y)
    }

    fn less(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.compare(Compare::LtS, x, y)
    }

    fn both(&mut self, x: Self::Value, y: Self::Value) -> Self::Value {
        self.binary(Binary::And, x, y)
    }

    /// A number divided by another, and the remainder.
    fn divided(&mut self, x: Self::Value, by: Self::Value) -> (Self::Value, Self::Value) {
        (self.binary(Binary::DivU, x, by), self.binary(Binary::RemU, x, by))
    }

    /// The same by a known number.
    fn split(&mut self, x: Self::Value, by: i64) -> (Self::Value, Self::Value) {
        let by = self.number(by);
        self.divided(x, by)
    }
}

impl<C: Code> Build for C {}
