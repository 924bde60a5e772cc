//! Element-wise ops, by the sort of numbers that they compute with.
//!
//! Floats narrower than f32 are computed in f32 and rounded once, whatever the machine has instructions for. Where an op of f16
//! and bf16 has one right result, it is computed in them: a machine without it gets the same bits by way of f32.

use promote_lattice::convert::{Literal, Numerics};
use promote_lattice::{DType, Kind, Op};

use super::builder::{Builder, Direction, Made, Tensor, refuse};
use super::{known, order};

/// An element-wise op of operands that are in the dtypes it computes in, and of one shape.
pub fn elementwise(b: &mut Builder<'_>, op: Op, operands: &[Tensor]) -> Made {
    match (op, operands) {
        (Op::Where, [condition, x, y]) => {
            let condition = b.is_true(*condition);
            Ok(b.select(condition, *x, *y))
        }
        (Op::Clip, [x, low, high]) => {
            // The bounds may be of a wider dtype than what they bound.
            let wide = b.convert(*x, low.dtype);
            let high = b.convert(*high, low.dtype);
            let raised = b.bounded(wide, Direction::Gt, *low);
            Ok(b.bounded(raised, Direction::Lt, high))
        }
        (op, [x]) => unary(b, op, *x),
        (op, [x, y]) => binary(b, op, *x, *y),
        (op, operands) => refuse(format!("{op} of {} operands", operands.len()), REMEDY),
    }
}

const REMEDY: &str = "convert the operand to a dtype that the op is defined for";

fn undefined(op: Op, dtype: DType) -> Made {
    refuse(format!("StableHLO has no {} of {dtype}", op.name()), REMEDY)
}

/// Ops that StableHLO has of real and of complex numbers.
const OF_BOTH: &[(Op, &str)] = &[
    (Op::Negative, "stablehlo.negate"),
    (Op::Sign, "stablehlo.sign"),
    (Op::Sqrt, "stablehlo.sqrt"),
    (Op::Rsqrt, "stablehlo.rsqrt"),
    (Op::Exp, "stablehlo.exponential"),
    (Op::Expm1, "stablehlo.exponential_minus_one"),
    (Op::Log, "stablehlo.log"),
    (Op::Log1p, "stablehlo.log_plus_one"),
    (Op::Sin, "stablehlo.sine"),
    (Op::Cos, "stablehlo.cosine"),
    (Op::Tan, "stablehlo.tan"),
    (Op::Tanh, "stablehlo.tanh"),
    (Op::Sigmoid, "stablehlo.logistic"),
];

/// Ops that StableHLO has of real numbers.
const OF_REALS: &[(Op, &str)] = &[
    (Op::Cbrt, "stablehlo.cbrt"),
    (Op::Floor, "stablehlo.floor"),
    (Op::Ceil, "stablehlo.ceil"),
    (Op::Round, "stablehlo.round_nearest_even"),
];

fn named(op: Op, table: &[(Op, &'static str)]) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == op).map(|(_, name)| *name)
}

fn unary(b: &mut Builder<'_>, op: Op, x: Tensor) -> Made {
    match x.kind() {
        Kind::Bool | Kind::Unsigned | Kind::Signed => of_integer(b, op, x),
        Kind::Float => of_real(b, op, x),
        Kind::Complex => of_complex(b, op, x),
    }
}

fn of_integer(b: &mut Builder<'_>, op: Op, x: Tensor) -> Made {
    let is_signed = x.kind() == Kind::Signed;
    Ok(match op {
        Op::Positive | Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::Real | Op::Conj => x,
        Op::Negative if x.kind() != Kind::Bool => b.neg(x),
        Op::Abs => b.abs_of_integer(x),
        Op::Sign if is_signed => b.unary("stablehlo.sign", x),
        Op::Sign => {
            let one = b.whole(x, 1);
            b.min(x, one)
        }
        Op::Square => b.mul(x, x),
        Op::BitwiseInvert => b.not(x),
        Op::Relu if is_signed => {
            let zero = b.zero(x);
            b.max(x, zero)
        }
        Op::Relu => x,
        Op::Reciprocal => reciprocal_of_integer(b, x),
        Op::Imag => b.zero(x),
        Op::IsNan | Op::IsInf => b.truth(x, false),
        Op::IsFinite => b.truth(x, true),
        Op::SignBit => b.sign_is_set(x),
        Op::LogicalNot => {
            let truth = b.is_true(x);
            b.not(truth)
        }
        op => return undefined(op, x.dtype),
    })
}

/// The whole part of the inverse: 1 and -1 are their own, others have none. That of 0 is what x86 makes of an infinity in
/// NumPy: the least integer of 32 and 64 bits, of which narrower and unsigned ones keep no bit.
fn reciprocal_of_integer(b: &mut Builder<'_>, x: Tensor) -> Tensor {
    let (zero, one) = (b.zero(x), b.whole(x, 1));
    let size = b.abs_of_integer(x);
    let is_one = b.compare(size, Direction::Eq, one);
    let whole = b.select(is_one, x, zero);
    if b.numerics() != Numerics::NumPy || x.kind() != Kind::Signed || x.dtype.bits() < 32 {
        return whole;
    }
    let (is_zero, least) = (b.compare(x, Direction::Eq, zero), b.bits(x, 1 << (x.dtype.bits() - 1)));
    b.select(is_zero, least, whole)
}

/// Ops that have one right result in every format.
const EXACT: &[Op] = &[
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Divide,
    Op::Negative,
    Op::Abs,
    Op::Sign,
    Op::Square,
    Op::Floor,
    Op::Ceil,
    Op::Round,
    Op::Trunc,
    Op::Relu,
    Op::Reciprocal,
    Op::IsNan,
    Op::IsInf,
    Op::IsFinite,
    Op::LogicalNot,
];

/// Does something in f32 if the dtype is narrower, and rounds what comes of it.
fn at_least_f32<const N: usize>(
    b: &mut Builder<'_>,
    op: Op,
    operands: [Tensor; N],
    compute: impl FnOnce(&mut Builder<'_>, [Tensor; N]) -> Made,
) -> Made {
    let dtype = operands[0].dtype;
    if dtype.bits() >= 32 || dtype.bits() == 16 && EXACT.contains(&op) {
        return compute(b, operands);
    }
    // An exponent may be an integer.
    let widened = operands
        .map(|operand| if operand.kind() == Kind::Float { b.cast(operand, DType::F32) } else { operand });
    let made = compute(b, widened)?;
    Ok(if made.dtype == DType::F32 { b.cast(made, dtype) } else { made })
}

fn of_real(b: &mut Builder<'_>, op: Op, x: Tensor) -> Made {
    Ok(match op {
        Op::Positive | Op::Real | Op::Conj => x,
        Op::Imag => b.zero(x),
        Op::SignBit => b.sign_is_set(x),
        op => return at_least_f32(b, op, [x], |b, [x]| of_wide_real(b, op, x)),
    })
}

fn of_wide_real(b: &mut Builder<'_>, op: Op, x: Tensor) -> Made {
    if let Some(name) = named(op, OF_BOTH).or_else(|| named(op, OF_REALS)) {
        return Ok(b.unary(name, x));
    }
    Ok(match op {
        Op::Abs => b.abs(x),
        Op::Square => b.mul(x, x),
        Op::Trunc => {
            let zero = b.zero(x);
            let (floor, ceil) = (b.unary("stablehlo.floor", x), b.unary("stablehlo.ceil", x));
            let is_negative = b.compare(x, Direction::Lt, zero);
            b.select(is_negative, ceil, floor)
        }
        Op::Relu => {
            let zero = b.zero(x);
            let is_negative = b.compare(x, Direction::Lt, zero);
            b.select(is_negative, zero, x)
        }
        Op::Exp2 => b.exp2(x),
        Op::Log2 => b.log2(x),
        Op::Log10 => b.log10(x),
        Op::Sinh => b.sinh(x),
        Op::Cosh => b.cosh(x),
        Op::Asin => b.asin(x),
        Op::Acos => b.acos(x),
        Op::Atan => b.atan(x),
        Op::Asinh => b.asinh(x),
        Op::Acosh => b.acosh(x),
        Op::Atanh => b.atanh(x),
        Op::Erf => b.erf(x),
        Op::Reciprocal => {
            let one = b.real(x, 1.0);
            b.div(one, x)
        }
        Op::Angle => b.angle(x),
        Op::IsNan => b.is_nan(x),
        Op::IsInf => is_infinite(b, x),
        Op::IsFinite => is_finite(b, x),
        Op::LogicalNot => {
            let zero = b.zero(x);
            b.compare(x, Direction::Eq, zero)
        }
        op => return undefined(op, x.dtype),
    })
}

fn is_infinite(b: &mut Builder<'_>, x: Tensor) -> Tensor {
    let (size, infinity) = (b.abs(x), b.real(x, f64::INFINITY));
    b.compare(size, Direction::Eq, infinity)
}

fn is_finite(b: &mut Builder<'_>, x: Tensor) -> Tensor {
    b.op("stablehlo.is_finite", &[x], (DType::B1, &x.shape()), &[])
}

/// The number of the same direction at distance 1, as NumPy has it: zero has no signs, and a number with one infinite part
/// has the direction of that part.
fn numpys_sign(b: &mut Builder<'_>, z: Tensor) -> Tensor {
    let unit = b.unary("stablehlo.sign", z);
    let (re, im) = b.parts(z);
    let (along, up) = (is_infinite(b, re), is_infinite(b, im));
    let zero = b.zero(re);
    let (right, above) = (b.unary("stablehlo.sign", re), b.unary("stablehlo.sign", im));
    let (right, above) = (b.select(along, right, zero), b.select(up, above, zero));
    let direction = b.complex(right, above);
    let is_one = b.xor(along, up);
    let unit = b.select(is_one, direction, unit);
    let none = b.zero(z);
    let is_zero = b.compare(z, Direction::Eq, none);
    b.select(is_zero, none, unit)
}

fn of_complex(b: &mut Builder<'_>, op: Op, z: Tensor) -> Made {
    if op == Op::Sign && b.numerics() == Numerics::NumPy {
        return Ok(numpys_sign(b, z));
    }
    if let Some(name) = named(op, OF_BOTH) {
        return Ok(b.unary(name, z));
    }
    Ok(match op {
        Op::Positive => z,
        Op::Abs => b.abs(z),
        Op::Real => b.part("stablehlo.real", z),
        Op::Imag => b.part("stablehlo.imag", z),
        Op::Conj => b.conjugate(z),
        Op::Angle => b.complex_angle(z),
        Op::Square => b.mul(z, z),
        Op::Reciprocal => {
            let one = b.splat(z.dtype, &z.shape(), Literal::one(z.dtype));
            b.div(one, z)
        }
        Op::Round => {
            let (re, im) = b.parts(z);
            let [re, im] = [re, im].map(|part| b.unary("stablehlo.round_nearest_even", part));
            b.complex(re, im)
        }
        Op::Cbrt => b.complex_cbrt(z),
        Op::Exp2 => b.complex_exp2(z),
        Op::Log2 => b.complex_log2(z),
        Op::Log10 => b.complex_log10(z),
        Op::Sinh => b.complex_sinh(z),
        Op::Cosh => b.complex_cosh(z),
        Op::Asin => b.complex_asin(z),
        Op::Acos => b.complex_acos(z),
        Op::Atan => b.complex_atan(z),
        Op::Asinh => b.complex_asinh(z),
        Op::Acosh => b.complex_acosh(z),
        Op::Atanh => b.complex_atanh(z),
        Op::Relu => {
            let zero = b.zero(z);
            b.extreme(z, Direction::Gt, zero)
        }
        Op::IsNan => b.is_nan(z),
        Op::IsInf => {
            let (re, im) = b.parts(z);
            let (re, im) = (is_infinite(b, re), is_infinite(b, im));
            b.or(re, im)
        }
        Op::IsFinite => {
            let (re, im) = b.parts(z);
            let (re, im) = (is_finite(b, re), is_finite(b, im));
            b.and(re, im)
        }
        Op::LogicalNot => {
            let zero = b.zero(z);
            b.compare(z, Direction::Eq, zero)
        }
        op => return undefined(op, z.dtype),
    })
}

fn binary(b: &mut Builder<'_>, op: Op, x: Tensor, y: Tensor) -> Made {
    if let Some(direction) = order::direction(op) {
        return Ok(b.holds_of_integers(x, direction, y).unwrap_or_else(|| b.holds(x, direction, y)));
    }
    match op {
        Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor => {
            let (x, y) = (b.is_true(x), b.is_true(y));
            return Ok(match op {
                Op::LogicalAnd => b.and(x, y),
                Op::LogicalOr => b.or(x, y),
                _ => b.xor(x, y),
            });
        }
        Op::Maximum => return Ok(b.extreme(x, Direction::Gt, y)),
        Op::Minimum => return Ok(b.extreme(x, Direction::Lt, y)),
        _ => {}
    }
    match x.kind() {
        Kind::Bool | Kind::Unsigned | Kind::Signed => of_integers(b, op, x, y),
        Kind::Float => of_reals(b, op, x, y),
        Kind::Complex => of_complexes(b, op, x, y),
    }
}

fn of_integers(b: &mut Builder<'_>, op: Op, x: Tensor, y: Tensor) -> Made {
    let is_bool = x.kind() == Kind::Bool;
    Ok(match op {
        Op::Add => b.add(x, y),
        Op::Multiply => b.mul(x, y),
        Op::BitwiseAnd => b.and(x, y),
        Op::BitwiseOr => b.or(x, y),
        Op::BitwiseXor => b.xor(x, y),
        // JAX replaces a divisor of 0 by 1 of integers, which truth values are not yet; XLA then leaves the dividend.
        Op::Fmod if is_bool && b.numerics() == Numerics::Jax => {
            let by_zero = b.not(y);
            b.and(x, by_zero)
        }
        op if is_bool => return undefined(op, x.dtype),
        Op::Subtract => b.sub(x, y),
        Op::FloorDivide => return b.floor_divide_integers(x, y),
        Op::Remainder => return b.remainder_of_integers(x, y),
        Op::Fmod => return b.fmod_of_integers(x, y),
        Op::Pow if y.kind() != Kind::Float => return b.integer_power(x, y),
        Op::Gcd => b.gcd(x, y),
        Op::Lcm => b.lcm(x, y),
        Op::BitwiseLeftShift => b.shift_left(x, y),
        Op::BitwiseRightShift => b.shift_right(x, y),
        op => return undefined(op, x.dtype),
    })
}

fn of_reals(b: &mut Builder<'_>, op: Op, x: Tensor, y: Tensor) -> Made {
    match op {
        Op::CopySign => return Ok(b.copysign(x, y)),
        Op::NextAfter => return Ok(b.next_after(x, y)),
        _ => {}
    }
    at_least_f32(b, op, [x, y], |b, [x, y]| {
        Ok(match op {
            Op::Add => b.add(x, y),
            Op::Subtract => b.sub(x, y),
            Op::Multiply => b.mul(x, y),
            Op::Divide => b.div(x, y),
            Op::FloorDivide => b.floor_divide_reals(x, y),
            Op::Remainder => b.remainder_of_reals(x, y),
            Op::Fmod => b.rem(x, y),
            Op::Pow => power(b, x, y)?,
            Op::Atan2 => b.atan2(x, y),
            Op::Hypot => b.hypot(x, y),
            Op::LogAddExp => b.logaddexp(x, y),
            op => return undefined(op, x.dtype),
        })
    })
}

fn of_complexes(b: &mut Builder<'_>, op: Op, x: Tensor, y: Tensor) -> Made {
    Ok(match op {
        Op::Add => b.add(x, y),
        Op::Subtract => b.sub(x, y),
        Op::Multiply => b.mul(x, y),
        Op::Divide => b.div(x, y),
        Op::Pow => power(b, x, y)?,
        Op::LogAddExp => b.complex_logaddexp(x, y),
        op => return undefined(op, x.dtype),
    })
}

/// The largest exponent whose power is a chain of products.
const LONGEST_CHAIN: u64 = 3;
/// The same for complex numbers, whose general power is the less accurate one.
const LONGEST_COMPLEX_CHAIN: u64 = 64;

/// A real or complex number to some power; the exponent may be an integer.
fn power(b: &mut Builder<'_>, x: Tensor, y: Tensor) -> Made {
    let is_complex = x.kind() == Kind::Complex;
    if y.kind() == Kind::Float || y.kind() == Kind::Complex {
        return Ok(if is_complex { b.complex_power(x, y) } else { b.binary("stablehlo.power", x, y) });
    }
    let longest = if is_complex { LONGEST_COMPLEX_CHAIN } else { LONGEST_CHAIN };
    if let Some(exponent) = known::integer(y).filter(|n| n.unsigned_abs() <= longest) {
        return Ok(chain(b, x, exponent));
    }
    if is_complex {
        let real = b.cast(y, x.dtype.real_part());
        let zero = b.zero(real);
        let exponent = b.complex(real, zero);
        return Ok(b.complex_power(x, exponent));
    }
    Ok(b.real_to_integer(x, y))
}

/// The power by squaring.
fn chain(b: &mut Builder<'_>, x: Tensor, exponent: i64) -> Tensor {
    let one = b.splat(x.dtype, &x.shape(), Literal::one(x.dtype));
    let (mut rest, mut square, mut power) = (exponent.unsigned_abs(), x, None);
    while rest > 0 {
        if rest & 1 == 1 {
            power = Some(power.map_or(square, |power| b.mul(power, square)));
        }
        rest >>= 1;
        if rest > 0 {
            square = b.mul(square, square);
        }
    }
    let power = power.unwrap_or(one);
    if exponent < 0 { b.div(one, power) } else { power }
}

/// Whether a dtype is one that StableHLO has.
pub const fn is_stablehlo(dtype: DType) -> bool {
    match dtype.kind() {
        Kind::Bool => true,
        Kind::Unsigned | Kind::Signed => dtype.bits() >= 2 && !dtype.is_weak(),
        Kind::Float => !dtype.is_weak(),
        Kind::Complex => matches!(dtype, DType::C64 | DType::C128),
    }
}
