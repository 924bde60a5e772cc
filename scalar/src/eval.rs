//! Definitions run on numbers.
//!
//! [`Eval`] is a machine of one lane that computes at once: a definition of [`Emit`] called with it is an ordinary
//! function. It holds definitions to what [`emit`](crate::emit) says: operands of the right types, no shift by the width
//! or more, no integer divided by zero, no float converted to an integer that does not hold it; else it panics.
//!
//! ```
//! use promote_scalar::{Emit, eval::{Eval, Value}, emit::Binary};
//! let mut machine = Eval::default();
//! let sum = machine.binary(Binary::FAdd, Value::f32(1.5), Value::f32(2.0));
//! assert_eq!(sum.to_f32(), 3.5);
//! ```

use crate::emit::{Binary, Cast, Compare, Emit, Trap, Ty, Unary};

/// A number: the bits of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its type.
    pub ty: Ty,
    /// Its bits; those above the type's width are zero.
    pub bits: u64,
}

impl Value {
    /// The low bits of `bits`.
    #[inline(always)]
    pub const fn new(ty: Ty, bits: u64) -> Self {
        Self { ty, bits: bits & mask(ty) }
    }

    /// A truth value.
    #[inline(always)]
    pub const fn bool(value: bool) -> Self {
        Self { ty: Ty::I1, bits: value as u64 }
    }

    /// A number of single precision.
    #[inline(always)]
    pub const fn f32(value: f32) -> Self {
        Self { ty: Ty::F32, bits: value.to_bits() as u64 }
    }

    /// A number of double precision.
    #[inline(always)]
    pub const fn f64(value: f64) -> Self {
        Self { ty: Ty::F64, bits: value.to_bits() }
    }

    /// The truth value that it is.
    #[inline(always)]
    pub fn to_bool(self) -> bool {
        self.expect(Ty::I1);
        self.bits != 0
    }

    /// The number of single precision that it is.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        self.expect(Ty::F32);
        f32::from_bits(self.bits as u32)
    }

    /// The number of double precision that it is.
    #[inline(always)]
    pub fn to_f64(self) -> f64 {
        self.expect(Ty::F64);
        f64::from_bits(self.bits)
    }

    /// The unsigned integer that it is.
    #[inline(always)]
    pub fn to_unsigned(self) -> u64 {
        assert!(!self.ty.is_float(), "an integer is wanted, not {:?}", self.ty);
        self.bits
    }

    /// The signed integer that it is.
    #[inline(always)]
    pub fn to_signed(self) -> i64 {
        assert!(!self.ty.is_float(), "an integer is wanted, not {:?}", self.ty);
        let unused = 64 - self.ty.bits();
        ((self.bits << unused) as i64) >> unused
    }

    #[inline(always)]
    fn expect(self, ty: Ty) {
        assert!(self.ty == ty, "{ty:?} is wanted, not {:?}", self.ty);
    }
}

/// The machine.
#[derive(Clone, Debug, Default)]
pub struct Eval {
    /// What was trapped, in order.
    pub traps: Vec<Trap>,
    /// Whether [`Ty::F16`] can be converted.
    pub has_f16: bool,
    /// Whether [`Emit::mul_add`] rounds the product, too, and sums with constants may be computed in another order, as in XLA.
    pub is_loose: bool,
}

impl Emit for Eval {
    type Value = Value;

    #[inline(always)]
    fn ty(&self, value: Value) -> Ty {
        value.ty
    }

    #[inline(always)]
    fn int(&mut self, ty: Ty, value: i64) -> Value {
        assert!(!ty.is_float(), "an integer of type {ty:?}");
        Value::new(ty, value as u64)
    }

    #[inline(always)]
    fn float(&mut self, ty: Ty, value: f64) -> Value {
        match ty {
            Ty::F16 => Value { ty, bits: u64::from(f16_of_f64(value)) },
            Ty::F32 => Value::f32(value as f32),
            Ty::F64 => Value::f64(value),
            Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => panic!("a float of type {ty:?}"),
        }
    }

    #[inline(always)]
    fn unary(&mut self, op: Unary, x: Value) -> Value {
        match op {
            Unary::FNeg => Value::new(float_of(x).ty, x.bits ^ sign(x.ty)),
            Unary::FAbs => Value::new(float_of(x).ty, x.bits & !sign(x.ty)),
            Unary::Sqrt => rounded(x, f32::sqrt, f64::sqrt),
            Unary::Floor => rounded(x, f32::floor, f64::floor),
            Unary::Ceil => rounded(x, f32::ceil, f64::ceil),
            Unary::Trunc => rounded(x, f32::trunc, f64::trunc),
            Unary::RoundEven => rounded(x, f32::round_ties_even, f64::round_ties_even),
            Unary::LeadingZeros => {
                let zeros = x.to_unsigned().leading_zeros() - (64 - x.ty.bits());
                Value::new(x.ty, u64::from(zeros))
            }
        }
    }

    #[inline(always)]
    fn binary(&mut self, op: Binary, x: Value, y: Value) -> Value {
        y.expect(x.ty);
        match op {
            Binary::Add => integer(x, y, u64::wrapping_add),
            Binary::Sub => integer(x, y, u64::wrapping_sub),
            Binary::Mul => integer(x, y, u64::wrapping_mul),
            Binary::And => integer(x, y, |x, y| x & y),
            Binary::Or => integer(x, y, |x, y| x | y),
            Binary::Xor => integer(x, y, |x, y| x ^ y),
            Binary::Shl => integer(x, amount(y), |x, y| x << y),
            Binary::ShrU => integer(x, amount(y), |x, y| x >> y),
            Binary::ShrS => signed(x, amount(y), |x, y| x >> y),
            Binary::DivU => integer(x, divisor(y), |x, y| x / y),
            Binary::RemU => integer(x, divisor(y), |x, y| x % y),
            Binary::DivS => signed(x, signed_divisor(x, y), |x, y| x / y),
            Binary::RemS => signed(x, signed_divisor(x, y), |x, y| x % y),
            Binary::MinU => integer(x, y, u64::min),
            Binary::MaxU => integer(x, y, u64::max),
            Binary::MinS => signed(x, y, i64::min),
            Binary::MaxS => signed(x, y, i64::max),
            Binary::FAdd => float(x, y, |x, y| x + y, |x, y| x + y),
            Binary::FSub => float(x, y, |x, y| x - y, |x, y| x - y),
            Binary::FMul => float(x, y, |x, y| x * y, |x, y| x * y),
            Binary::FDiv => float(x, y, |x, y| x / y, |x, y| x / y),
            Binary::FRem => float(x, y, |x, y| x % y, |x, y| x % y),
            Binary::CopySign => Value::new(float_of(x).ty, (x.bits & !sign(x.ty)) | (y.bits & sign(x.ty))),
        }
    }

    #[inline(always)]
    fn fma(&mut self, x: Value, y: Value, z: Value) -> Value {
        match x.ty {
            Ty::F32 => Value::f32(x.to_f32().mul_add(y.to_f32(), z.to_f32())),
            Ty::F64 => Value::f64(x.to_f64().mul_add(y.to_f64(), z.to_f64())),
            ty @ (Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16) => panic!("arithmetic in {ty:?}"),
        }
    }

    #[inline(always)]
    fn mul_add(&mut self, x: Value, y: Value, z: Value) -> Value {
        if self.is_loose {
            let product = self.binary(Binary::FMul, x, y);
            return self.binary(Binary::FAdd, product, z);
        }
        self.fma(x, y, z)
    }

    #[inline(always)]
    fn compare(&mut self, compare: Compare, x: Value, y: Value) -> Value {
        y.expect(x.ty);
        Value::bool(match compare {
            Compare::Eq => x.to_unsigned() == y.to_unsigned(),
            Compare::Ne => x.to_unsigned() != y.to_unsigned(),
            Compare::LtS => x.to_signed() < y.to_signed(),
            Compare::LeS => x.to_signed() <= y.to_signed(),
            Compare::GtS => x.to_signed() > y.to_signed(),
            Compare::GeS => x.to_signed() >= y.to_signed(),
            Compare::LtU => x.to_unsigned() < y.to_unsigned(),
            Compare::LeU => x.to_unsigned() <= y.to_unsigned(),
            Compare::GtU => x.to_unsigned() > y.to_unsigned(),
            Compare::GeU => x.to_unsigned() >= y.to_unsigned(),
            Compare::FEq => arithmetic(x) == arithmetic(y),
            Compare::FNe => arithmetic(x) != arithmetic(y),
            Compare::FLt => arithmetic(x) < arithmetic(y),
            Compare::FLe => arithmetic(x) <= arithmetic(y),
            Compare::FGt => arithmetic(x) > arithmetic(y),
            Compare::FGe => arithmetic(x) >= arithmetic(y),
            Compare::FUnordered => arithmetic(x).is_nan() || arithmetic(y).is_nan(),
        })
    }

    #[inline(always)]
    fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        y.expect(x.ty);
        if condition.to_bool() { x } else { y }
    }

    #[inline(always)]
    fn cast(&mut self, cast: Cast, x: Value, to: Ty) -> Value {
        match cast {
            Cast::ZExt => {
                assert!(!to.is_float() && to.bits() > x.ty.bits(), "{:?} to {to:?} is not wider", x.ty);
                Value::new(to, x.to_unsigned())
            }
            Cast::SExt => {
                assert!(!to.is_float() && to.bits() > x.ty.bits(), "{:?} to {to:?} is not wider", x.ty);
                Value::new(to, x.to_signed() as u64)
            }
            Cast::Truncate => {
                assert!(!to.is_float() && to.bits() < x.ty.bits(), "{:?} to {to:?} is not narrower", x.ty);
                Value::new(to, x.to_unsigned())
            }
            Cast::SToF => match to {
                Ty::F32 => Value::f32(x.to_signed() as f32),
                Ty::F64 => Value::f64(x.to_signed() as f64),
                Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16 => panic!("an integer to {to:?}"),
            },
            Cast::UToF => match to {
                Ty::F32 => Value::f32(x.to_unsigned() as f32),
                Ty::F64 => Value::f64(x.to_unsigned() as f64),
                Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16 => panic!("an integer to {to:?}"),
            },
            Cast::FToS => {
                let (value, limit) = (arithmetic(x).trunc(), power_of_two(to.bits() - 1));
                assert!(!to.is_float() && (-limit..limit).contains(&value), "{value:e} to {to:?}");
                Value::new(to, value as i64 as u64)
            }
            Cast::FToU => {
                let (value, limit) = (arithmetic(x).trunc(), power_of_two(to.bits()));
                assert!(!to.is_float() && (0.0..limit).contains(&value), "{value:e} to {to:?}");
                Value::new(to, value as u64)
            }
            Cast::FExt => match (x.ty, to) {
                (Ty::F32, Ty::F64) => Value::f64(f64::from(x.to_f32())),
                (Ty::F16, Ty::F32) if self.has_f16 => Value::f32(f32_of_f16(x.bits as u16)),
                (from, to) => panic!("{from:?} widened to {to:?}"),
            },
            Cast::FTruncate => match (x.ty, to) {
                (Ty::F64, Ty::F32) => Value::f32(x.to_f64() as f32),
                (Ty::F32, Ty::F16) if self.has_f16 => {
                    Value { ty: to, bits: u64::from(f16_of_f64(f64::from(x.to_f32()))) }
                }
                (from, to) => panic!("{from:?} narrowed to {to:?}"),
            },
            Cast::Bitcast => {
                assert!(to.bits() == x.ty.bits(), "the bits of {:?} as {to:?}", x.ty);
                Value { ty: to, bits: x.bits }
            }
        }
    }

    fn repeat(
        &mut self,
        state: &[Value],
        mut condition: impl FnMut(&mut Self, &[Value]) -> Value,
        mut body: impl FnMut(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let mut state = state.to_vec();
        while condition(self, &state).to_bool() {
            let next = body(self, &state);
            assert!(
                state.iter().map(|value| value.ty).eq(next.iter().map(|value| value.ty)),
                "the types of a loop's state change: {state:?} to {next:?}"
            );
            state = next;
        }
        let last = body(self, &state);
        assert_eq!(state, last, "a lane whose condition is false is changed");
        state
    }

    #[inline(always)]
    fn trap(&mut self, condition: Value, why: Trap) {
        if condition.to_bool() {
            self.traps.push(why);
        }
    }

    #[inline(always)]
    fn keeps_sums(&self) -> bool {
        !self.is_loose
    }

    fn has_f16(&self) -> bool {
        self.has_f16
    }
}

#[inline(always)]
const fn mask(ty: Ty) -> u64 {
    u64::MAX >> (64 - ty.bits())
}

#[inline(always)]
const fn sign(ty: Ty) -> u64 {
    1 << (ty.bits() - 1)
}

/// 2 to the power of `exponent`, which is at most 64.
#[inline(always)]
fn power_of_two(exponent: u32) -> f64 {
    (1u128 << exponent) as f64
}

#[inline(always)]
fn float_of(x: Value) -> Value {
    assert!(x.ty.is_float(), "a float is wanted, not {:?}", x.ty);
    x
}

/// The number in double precision, which holds it exactly; of a type that computes, which [`Ty::F16`] is not.
#[inline(always)]
fn arithmetic(x: Value) -> f64 {
    match x.ty {
        Ty::F32 => f64::from(x.to_f32()),
        Ty::F64 => x.to_f64(),
        ty @ (Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16) => panic!("arithmetic in {ty:?}"),
    }
}

#[inline(always)]
fn rounded(x: Value, single: impl FnOnce(f32) -> f32, double: impl FnOnce(f64) -> f64) -> Value {
    match x.ty {
        Ty::F32 => Value::f32(single(x.to_f32())),
        Ty::F64 => Value::f64(double(x.to_f64())),
        ty @ (Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16) => panic!("arithmetic in {ty:?}"),
    }
}

#[inline(always)]
fn float(
    x: Value,
    y: Value,
    single: impl FnOnce(f32, f32) -> f32,
    double: impl FnOnce(f64, f64) -> f64,
) -> Value {
    rounded(x, |x| single(x, y.to_f32()), |x| double(x, y.to_f64()))
}

#[inline(always)]
fn integer(x: Value, y: Value, compute: impl FnOnce(u64, u64) -> u64) -> Value {
    Value::new(x.ty, compute(x.to_unsigned(), y.to_unsigned()))
}

#[inline(always)]
fn signed(x: Value, y: Value, compute: impl FnOnce(i64, i64) -> i64) -> Value {
    Value::new(x.ty, compute(x.to_signed(), y.to_signed()) as u64)
}

#[inline(always)]
fn amount(y: Value) -> Value {
    assert!(y.to_unsigned() < u64::from(y.ty.bits()), "{:?} shifted by {}", y.ty, y.bits);
    y
}

#[inline(always)]
fn divisor(y: Value) -> Value {
    assert!(y.to_unsigned() != 0, "{:?} divided by zero", y.ty);
    y
}

#[inline(always)]
fn signed_divisor(x: Value, y: Value) -> Value {
    assert!(x.bits != sign(x.ty) || y.to_signed() != -1, "the least {:?} divided by -1", x.ty);
    divisor(y)
}

/// Exact.
fn f32_of_f16(bits: u16) -> f32 {
    let (sign, exponent, mantissa) = (u32::from(bits & 0x8000) << 16, bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f32::from(mantissa) * 2f32.powi(-24),
        0x1f if mantissa == 0 => f32::INFINITY,
        0x1f => f32::from_bits(0x7fc0_0000 | u32::from(mantissa) << 13),
        _ => f32::from(mantissa | 0x400) * 2f32.powi(i32::from(exponent) - 25),
    };
    f32::from_bits(magnitude.to_bits() | sign)
}

/// Rounded to nearest even; a NaN keeps its sign and the high bits of its payload, and is quiet.
fn f16_of_f64(value: f64) -> u16 {
    let bits = value.to_bits();
    let magnitude = value.abs();
    let result = if magnitude.is_nan() {
        0x7e00 | (bits >> 42 & 0x3ff) as u16
    } else if magnitude >= 65520.0 {
        0x7c00
    } else {
        // The distance of neighbours is 2^-24 below 2^-13; a mantissa that rounds up carries into the exponent.
        let exponent = ((bits >> 52 & 0x7ff) as i32 - 1023).max(-14);
        let units = (magnitude * 2f64.powi(10 - exponent)).round_ties_even() as u16;
        ((exponent + 14) as u16) * 0x400 + units
    };
    (bits >> 48 & 0x8000) as u16 | result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_round_trips_and_rounds_to_even() {
        for bits in 0..=u16::MAX {
            let value = f32_of_f16(bits);
            if value.is_nan() {
                assert!(bits & 0x7fff > 0x7c00);
                assert_eq!(f16_of_f64(f64::from(value)), bits | 0x200);
                continue;
            }
            assert_eq!(f16_of_f64(f64::from(value)), bits, "{value:e}");
            let next = f32_of_f16(bits + 1);
            if bits & 0x7fff < 0x7bff {
                let middle = f64::midpoint(f64::from(value), f64::from(next));
                assert_eq!(f16_of_f64(middle), bits + (bits & 1), "{middle:e}");
            }
        }
        assert_eq!(f16_of_f64(65519.99), 0x7bff);
        assert_eq!(f16_of_f64(-65520.0), 0xfc00);
    }

    #[test]
    fn integers_wrap_at_their_width() {
        let mut e = Eval::default();
        let (x, y) = (e.int(Ty::I8, 127), e.int(Ty::I8, 2));
        assert_eq!(e.binary(Binary::Add, x, y).to_signed(), -127);
        assert_eq!(e.binary(Binary::Mul, x, y).to_unsigned(), 254);
        assert_eq!(e.unary(Unary::LeadingZeros, y).to_unsigned(), 6);
        let negative = e.int(Ty::I8, -7);
        assert_eq!(e.binary(Binary::DivS, negative, y).to_signed(), -3);
        assert_eq!(e.binary(Binary::ShrS, negative, y).to_signed(), -2);
        assert_eq!(e.cast(Cast::SExt, negative, Ty::I64).to_signed(), -7);
        assert_eq!(e.cast(Cast::ZExt, negative, Ty::I64).to_signed(), 249);
    }

    #[test]
    fn a_loop_runs_while_its_condition_holds() {
        let mut e = Eval::default();
        let state = [e.int(Ty::I32, 1)];
        let end = e.repeat(
            &state,
            |e, state| {
                let limit = e.int(Ty::I32, 100);
                e.compare(Compare::LtS, state[0], limit)
            },
            |e, state| {
                let (one, limit) = (e.int(Ty::I32, 1), e.int(Ty::I32, 100));
                let (next, done) =
                    (e.binary(Binary::Shl, state[0], one), e.compare(Compare::GeS, state[0], limit));
                vec![e.select(done, state[0], next)]
            },
        );
        assert_eq!(end[0].to_signed(), 128);
    }

    #[test]
    #[should_panic(expected = "shifted by 8")]
    fn a_shift_by_the_width_is_refused() {
        let mut e = Eval::default();
        let (x, y) = (e.int(Ty::I8, 1), e.int(Ty::I8, 8));
        e.binary(Binary::Shl, x, y);
    }

    #[test]
    #[should_panic(expected = "to I32")]
    fn a_float_out_of_range_is_refused() {
        let mut e = Eval::default();
        e.cast(Cast::FToS, Value::f32(2147483648.0), Ty::I32);
    }
}
