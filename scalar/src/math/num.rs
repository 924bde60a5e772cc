//! Arithmetic of a machine written as operators.
//!
//! [`Num`] is a value with the machine that made it, so that `x * x + 1.0` asks for two instructions. Plain numbers stand
//! for constants of the type they meet: an `f64`, rounded, meets floats and an `i64` integers.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use promote_lattice::Op;

use crate::emit::{Binary, Cast, Compare, Element, Emit, Ty, Unary};

/// A value and its machine.
pub(super) struct Num<'m, E: Emit> {
    machine: &'m RefCell<&'m mut E>,
    pub(super) value: E::Value,
}

impl<E: Emit> Clone for Num<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Emit> Copy for Num<'_, E> {}

/// What may stand beside a [`Num`]: another, or a plain number.
pub(super) trait Operand<'m, E: Emit> {
    /// The value of the type of `like`.
    fn beside(self, like: Num<'m, E>) -> Num<'m, E>;
}

impl<'m, E: Emit> Operand<'m, E> for Num<'m, E> {
    fn beside(self, _: Num<'m, E>) -> Self {
        self
    }
}

impl<'m, E: Emit> Operand<'m, E> for f64 {
    fn beside(self, like: Num<'m, E>) -> Num<'m, E> {
        like.float(like.ty(), self)
    }
}

impl<'m, E: Emit> Operand<'m, E> for i64 {
    fn beside(self, like: Num<'m, E>) -> Num<'m, E> {
        like.int(like.ty(), self)
    }
}

/// Where the parts of a floating-point number are.
pub(super) struct Format {
    /// Bits of the fraction.
    pub(super) fraction: i64,
    /// What is added to an exponent.
    pub(super) bias: i64,
    /// A float near this, which is 1.5 times 2 to the power of `fraction`, is an integer, and its low bits are that integer
    /// of two's complement.
    pub(super) magic: f64,
    /// The least number that is not subnormal.
    pub(super) min_normal: f64,
}

const SINGLE: Format =
    Format { fraction: 23, bias: 127, magic: 12582912.0, min_normal: f32::MIN_POSITIVE as f64 };
const DOUBLE: Format =
    Format { fraction: 52, bias: 1023, magic: 6755399441055744.0, min_normal: f64::MIN_POSITIVE };

impl<'m, E: Emit> Num<'m, E> {
    pub(super) fn new(machine: &'m RefCell<&'m mut E>, value: E::Value) -> Self {
        Self { machine, value }
    }

    pub(super) fn ty(self) -> Ty {
        self.machine.borrow().ty(self.value)
    }

    /// One of two things, by the precision.
    pub(super) fn of<T>(self, single: T, double: T) -> T {
        match self.ty() {
            Ty::F32 => single,
            Ty::F64 => double,
            ty @ (Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16) => {
                unreachable!("functions take numbers of single or double precision, not {ty:?}")
            }
        }
    }

    pub(super) fn format(self) -> &'static Format {
        self.of(&SINGLE, &DOUBLE)
    }

    fn emit(self, make: impl FnOnce(&mut E) -> E::Value) -> Self {
        Self::new(self.machine, make(&mut self.machine.borrow_mut()))
    }

    fn binary(self, op: Binary, y: impl Operand<'m, E>) -> Self {
        let y = y.beside(self);
        self.emit(|e| e.binary(op, self.value, y.value))
    }

    /// The instruction for floats or that for integers.
    fn either(self, float: Binary, integer: Binary, y: impl Operand<'m, E>) -> Self {
        self.binary(if self.ty().is_float() { float } else { integer }, y)
    }

    fn unary(self, op: Unary) -> Self {
        self.emit(|e| e.unary(op, self.value))
    }

    fn compare(self, compare: Compare, y: impl Operand<'m, E>) -> Self {
        let y = y.beside(self);
        self.emit(|e| e.compare(compare, self.value, y.value))
    }

    /// An integer constant.
    pub(super) fn int(self, ty: Ty, value: i64) -> Self {
        self.emit(|e| e.int(ty, value))
    }

    /// A float constant.
    pub(super) fn float(self, ty: Ty, value: f64) -> Self {
        self.emit(|e| e.float(ty, value))
    }

    /// A constant of the same type.
    pub(super) fn constant(self, value: f64) -> Self {
        value.beside(self)
    }

    /// `self * y + z`, rounded once.
    pub(super) fn fma(self, y: impl Operand<'m, E>, z: impl Operand<'m, E>) -> Self {
        let (y, z) = (y.beside(self), z.beside(self));
        self.emit(|e| e.fma(self.value, y.value, z.value))
    }

    /// `self * y + z`, rounded once where the machine can, else also the product.
    pub(super) fn mul_add(self, y: impl Operand<'m, E>, z: impl Operand<'m, E>) -> Self {
        let (y, z) = (y.beside(self), z.beside(self));
        self.emit(|e| e.mul_add(self.value, y.value, z.value))
    }

    /// `c[0] + c[1] * self + c[2] * self^2 + …`.
    pub(super) fn polynomial(self, coefficients: &[f64]) -> Self {
        let [lower @ .., last] = coefficients else { unreachable!("a polynomial has coefficients") };
        lower.iter().rev().fold(self.constant(*last), |sum, c| sum.mul_add(self, *c))
    }

    pub(super) fn abs(self) -> Self {
        self.unary(Unary::FAbs)
    }

    pub(super) fn sqrt(self) -> Self {
        self.unary(Unary::Sqrt)
    }

    pub(super) fn trunc(self) -> Self {
        self.unary(Unary::Trunc)
    }

    pub(super) fn round_even(self) -> Self {
        self.unary(Unary::RoundEven)
    }

    /// A float that is an integer as one as wide.
    pub(super) fn to_signed(self) -> Self {
        self.cast(Cast::FToS, self.ty().bits_type())
    }

    /// See [`Emit::keeps_sums`].
    pub(super) fn keeps_sums(self) -> bool {
        self.machine.borrow().keeps_sums()
    }

    /// The machine's own function of the number, if it has it.
    pub(super) fn native(self, op: Op) -> Option<Self> {
        let made = self.machine.borrow_mut().native(op, &[Element::Real(self.value)])?;
        Some(Self::new(self.machine, made.real()))
    }

    pub(super) fn copysign(self, sign: Self) -> Self {
        self.binary(Binary::CopySign, sign)
    }

    pub(super) fn lt(self, y: impl Operand<'m, E>) -> Self {
        self.either_compare(Compare::FLt, Compare::LtS, y)
    }

    pub(super) fn gt(self, y: impl Operand<'m, E>) -> Self {
        self.either_compare(Compare::FGt, Compare::GtS, y)
    }

    pub(super) fn equals(self, y: impl Operand<'m, E>) -> Self {
        self.either_compare(Compare::FEq, Compare::Eq, y)
    }

    pub(super) fn differs(self, y: impl Operand<'m, E>) -> Self {
        self.either_compare(Compare::FNe, Compare::Ne, y)
    }

    /// Whether one of two is NaN.
    pub(super) fn unordered(self, y: Self) -> Self {
        self.compare(Compare::FUnordered, y)
    }

    /// Less, as unsigned integers.
    pub(super) fn below(self, y: impl Operand<'m, E>) -> Self {
        self.compare(Compare::LtU, y)
    }

    fn either_compare(self, float: Compare, integer: Compare, y: impl Operand<'m, E>) -> Self {
        self.compare(if self.ty().is_float() { float } else { integer }, y)
    }

    /// Where `self` is true `x`, else `y`.
    pub(super) fn select(self, x: impl Operand<'m, E>, y: Self) -> Self {
        let x = x.beside(y);
        self.emit(|e| e.select(self.value, x.value, y.value))
    }

    /// `value` where `condition`, else `self`.
    pub(super) fn replaced(self, condition: Self, value: impl Operand<'m, E>) -> Self {
        condition.select(value, self)
    }

    /// The lesser of `self` and `limit`; NaN stays.
    pub(super) fn at_most(self, limit: f64) -> Self {
        let limit = self.constant(limit);
        limit.lt(self).select(limit, self)
    }

    /// The greater of `self` and `limit`; NaN stays.
    pub(super) fn at_least(self, limit: f64) -> Self {
        let limit = self.constant(limit);
        limit.gt(self).select(limit, self)
    }

    /// The greater of two signed integers.
    pub(super) fn max_signed(self, y: impl Operand<'m, E>) -> Self {
        self.binary(Binary::MaxS, y)
    }

    /// The bits of a float.
    pub(super) fn bits(self) -> Self {
        self.cast(Cast::Bitcast, self.ty().bits_type())
    }

    /// The float of the type of `like` that has these bits.
    pub(super) fn as_float(self, like: Self) -> Self {
        self.cast(Cast::Bitcast, like.ty())
    }

    /// A shift to the right that fills with the sign.
    pub(super) fn shift_signed(self, by: i64) -> Self {
        self.binary(Binary::ShrS, by)
    }

    pub(super) fn cast(self, cast: Cast, to: Ty) -> Self {
        self.emit(|e| e.cast(cast, self.value, to))
    }

    /// A signed integer below 2^31 as a float of the type of `like`.
    pub(super) fn small_to_float(self, like: Self) -> Self {
        let narrow = if self.ty() == Ty::I64 { self.cast(Cast::Truncate, Ty::I32) } else { self };
        narrow.cast(Cast::SToF, like.ty())
    }

    /// Where `condition`, what `compute` makes of `self` instead of `usual`; the instructions run only if some lane needs
    /// them.
    pub(super) fn rarely<const N: usize>(
        self,
        condition: Self,
        usual: [Self; N],
        compute: impl for<'n> Fn(Num<'n, E>) -> [Num<'n, E>; N],
    ) -> [Self; N] {
        let state: Vec<_> = usual.iter().map(|num| num.value).chain([condition.value]).collect();
        let state = self.machine.borrow_mut().repeat(
            &state,
            |_, state| state[N],
            |e, state| {
                let computed = {
                    let machine = RefCell::new(&mut *e);
                    compute(Num::new(&machine, self.value)).map(|num| num.value)
                };
                let mut next: Vec<_> =
                    computed.iter().zip(state).map(|(new, old)| e.select(state[N], *new, *old)).collect();
                next.push(e.int(Ty::I1, 0));
                next
            },
        );
        std::array::from_fn(|i| Self::new(self.machine, state[i]))
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $float:ident $integer:ident;)*) => {$(
        impl<'m, E: Emit, R: Operand<'m, E>> $trait<R> for Num<'m, E> {
            type Output = Self;

            fn $method(self, y: R) -> Self {
                self.either(Binary::$float, Binary::$integer, y)
            }
        }
    )*};
}

operator! {
    Add add FAdd Add;
    Sub sub FSub Sub;
    Mul mul FMul Mul;
    Div div FDiv DivU;
    BitAnd bitand And And;
    BitOr bitor Or Or;
    BitXor bitxor Xor Xor;
    Shl shl Shl Shl;
    Shr shr ShrU ShrU;
}

impl<E: Emit> Neg for Num<'_, E> {
    type Output = Self;

    fn neg(self) -> Self {
        self.unary(Unary::FNeg)
    }
}

impl<E: Emit> Not for Num<'_, E> {
    type Output = Self;

    fn not(self) -> Self {
        self ^ -1
    }
}
