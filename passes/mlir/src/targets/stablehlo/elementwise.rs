//! Element-wise ops: those that StableHLO has are its own; all others are what [`promote_scalar`] defines.
//!
//! Floats narrower than f32 are computed in f32 and rounded once. Where an op has one right result in every format, those of
//! 16 bits are computed in themselves: a machine without instructions for them gets the same bits by way of f32.

use promote_lattice::convert::{Bits, Literal, Numerics};
use promote_lattice::dtype::Specials;
use promote_lattice::op::Class;
use promote_lattice::{DType, Kind, Op};
use promote_scalar::{Element, Trap};

use super::builder::{Builder, Direction, Made, Tensor, refuse};
use super::emit::{self, Machine};
use super::known;
use super::outline::Expanded;

/// An element-wise op of operands that are in the dtypes it computes in, and of one shape.
pub fn elementwise(b: &mut Builder<'_>, op: Op, operands: &[Tensor], result: DType) -> Made {
    match operands {
        [x] => {
            if let Some(made) = unary(b, op, *x) {
                return Ok(made);
            }
        }
        [x, y] => {
            if let Some(made) = binary(b, op, *x, *y) {
                return Ok(made);
            }
        }
        [first, x, y] if op == Op::Where => {
            let condition = b.is_true(*first);
            return Ok(b.select(condition, *x, *y));
        }
        [x, low, high] if op == Op::Clip && x.kind() != Kind::Complex => {
            // The bounds may be of a wider dtype than what they bound.
            let (wide, high) = (b.convert(*x, low.dtype), b.convert(*high, low.dtype));
            let raised = b.max(wide, *low);
            return Ok(b.min(raised, high));
        }
        _ => {}
    }
    defined(b, op, operands, result)
}

/// The comparison that an op of the dialect is.
const fn direction(op: Op) -> Option<Direction> {
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

/// An op of one operand that is one op of StableHLO, or none at all. Others are what they are defined as.
fn unary(b: &mut Builder<'_>, op: Op, x: Tensor) -> Option<Tensor> {
    let (kind, numerics) = (x.kind(), b.numerics());
    let is_complex = kind == Kind::Complex;
    let is_integer = matches!(kind, Kind::Unsigned | Kind::Signed);
    Some(match op {
        Op::Positive => x,
        Op::Real | Op::Conj if !is_complex => x,
        Op::Real => b.part("stablehlo.real", x),
        Op::Imag if is_complex => b.part("stablehlo.imag", x),
        Op::Abs if is_complex => b.abs(x),
        Op::Negative if is_complex || is_integer => b.neg(x),
        Op::Square if is_complex => b.mul(x, x),
        Op::Reciprocal if is_complex => {
            let one = b.splat(x.dtype, &x.shape(), Literal::one(x.dtype));
            b.div(one, x)
        }
        Op::BitwiseInvert => b.not(x),
        Op::LogicalNot if kind == Kind::Bool => b.not(x),
        // NumPy's zero has no signs, and PyTorch's NaN has no direction.
        Op::Sign if kind == Kind::Signed => b.unary("stablehlo.sign", x),
        Op::Sign if is_complex && numerics != Numerics::NumPy => b.unary("stablehlo.sign", x),
        Op::Sign if kind == Kind::Float && numerics == Numerics::Jax => b.unary("stablehlo.sign", x),
        Op::IsFinite if kind == Kind::Float && x.dtype.bits() >= 16 => {
            b.op("stablehlo.is_finite", &[x], (DType::B1, &x.shape()), &[])
        }
        _ => match op.class() {
            Class::Function if is_complex => b.unary(emit::native(op, true)?, x),
            Class::Sign
            | Class::Part
            | Class::Rounding
            | Class::Function
            | Class::SpecialFunction
            | Class::Predicate
            | Class::Logical
            | Class::Bitwise
            | Class::Arithmetic
            | Class::Extremum
            | Class::Shift
            | Class::FloatPair
            | Class::IntegerPair
            | Class::Comparison
            | Class::Stated
            | Class::Layout
            | Class::Indexing
            | Class::Joining
            | Class::Choice
            | Class::Accumulation
            | Class::Moment
            | Class::Order
            | Class::Truth
            | Class::Index
            | Class::Exponential
            | Class::Product => return None,
        },
    })
}

/// An op of two operands that is one op of StableHLO. Others are what they are defined as.
fn binary(b: &mut Builder<'_>, op: Op, x: Tensor, y: Tensor) -> Option<Tensor> {
    let (is_complex, is_float) = (x.kind() == Kind::Complex, x.kind() == Kind::Float);
    if let Some(direction) = direction(op).filter(|_| x.dtype == y.dtype) {
        let has_order = !is_complex || matches!(direction, Direction::Eq | Direction::Ne);
        return has_order.then(|| b.compare(x, direction, y));
    }
    Some(match op {
        Op::LogicalAnd => {
            let (x, y) = (b.is_true(x), b.is_true(y));
            b.and(x, y)
        }
        Op::LogicalOr => {
            let (x, y) = (b.is_true(x), b.is_true(y));
            b.or(x, y)
        }
        Op::LogicalXor => {
            let (x, y) = (b.is_true(x), b.is_true(y));
            b.xor(x, y)
        }
        Op::Maximum if !is_complex => b.max(x, y),
        Op::Minimum if !is_complex => b.min(x, y),
        Op::Add if !is_float => b.add(x, y),
        Op::Subtract if !is_float => b.sub(x, y),
        Op::Multiply if is_complex || x.kind() == Kind::Bool => b.mul(x, y),
        Op::BitwiseAnd => b.and(x, y),
        Op::BitwiseOr => b.or(x, y),
        Op::BitwiseXor => b.xor(x, y),
        Op::Divide if is_complex => b.div(x, y),
        Op::Pow => return chain_of_products(b, x, y),
        _ => match op.class() {
            Class::Arithmetic
            | Class::Extremum
            | Class::Shift
            | Class::Bitwise
            | Class::Logical
            | Class::FloatPair
            | Class::IntegerPair
            | Class::Comparison
            | Class::Sign
            | Class::Part
            | Class::Rounding
            | Class::Function
            | Class::SpecialFunction
            | Class::Predicate
            | Class::Stated
            | Class::Layout
            | Class::Indexing
            | Class::Joining
            | Class::Choice
            | Class::Accumulation
            | Class::Moment
            | Class::Order
            | Class::Truth
            | Class::Index
            | Class::Exponential
            | Class::Product => return None,
        },
    })
}

/// The largest exponent whose power of a real number is a chain of products: of a longer one the rounding shows.
const LONGEST_CHAIN: u64 = 3;
/// The same of complex numbers, whose general power is the less accurate one.
const LONGEST_COMPLEX_CHAIN: u64 = 64;

/// The power by an integer that is known, if that is a chain of products.
fn chain_of_products(b: &mut Builder<'_>, x: Tensor, y: Tensor) -> Option<Tensor> {
    let exponent = known::integer(y)?;
    let is_short = match x.kind() {
        Kind::Bool => false,
        // Products of integers are exact; their inverses are not.
        Kind::Unsigned | Kind::Signed => exponent >= 0,
        Kind::Float => exponent.unsigned_abs() <= LONGEST_CHAIN,
        Kind::Complex => exponent.unsigned_abs() <= LONGEST_COMPLEX_CHAIN,
    };
    is_short.then(|| {
        let wide = b.at_least_single(x);
        let power = chain(b, wide, exponent);
        b.rounded(power, x.dtype)
    })
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

/// Ops that have one right result in every format with infinities, and need no bits of it.
const EXACT: &[Op] = &[
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Divide,
    Op::Negative,
    Op::Abs,
    Op::Square,
    Op::Floor,
    Op::Ceil,
    Op::Round,
    Op::Trunc,
    Op::Relu,
    Op::Reciprocal,
    Op::IsNan,
    Op::IsInf,
    Op::LogicalNot,
];

/// Ops whose results every format with infinities has.
const CHOOSING: &[Op] = &[
    Op::Negative,
    Op::Abs,
    Op::Sign,
    Op::Floor,
    Op::Ceil,
    Op::Round,
    Op::Trunc,
    Op::Relu,
    Op::CopySign,
    Op::NextAfter,
    Op::Imag,
];

/// The dtype that an op of numbers of a dtype is computed in.
fn computed(op: Op, dtype: DType) -> DType {
    let is_narrow = dtype.kind() == Kind::Float && dtype.bits() < 32;
    let is_exact = dtype.bits() == 16 && EXACT.contains(&op);
    if is_narrow && !is_exact { DType::F32 } else { dtype }
}

/// An op as the scalar definitions say.
fn defined(b: &mut Builder<'_>, op: Op, operands: &[Tensor], result: DType) -> Made {
    let name = format!("promote.{}.{}", op.info().name, result.name());
    let (made, traps) = b.outlined(&name, operands, |b, operands| expanded(b, op, operands, result))?;
    traps.into_iter().try_for_each(|why| never_raises(b, why, operands))?;
    Ok(made)
}

/// The expansion of an op, and what may raise an exception in it.
fn expanded(b: &mut Builder<'_>, op: Op, operands: &[Tensor], result: DType) -> Made<Expanded> {
    let numerics = b.numerics();
    let shape = operands.first().map(|operand| operand.shape()).unwrap_or_default();
    let is_narrow_float = |dtype: &DType| dtype.kind() == Kind::Float && computed(op, *dtype).bits() == 16;
    let narrow = operands.iter().map(|x| x.dtype).find(is_narrow_float);
    let mut machine = Machine::new(b, shape).computing_in(narrow.unwrap_or(DType::F32));
    let args: Vec<_> = operands.iter().enumerate().map(|operand| load(&mut machine, op, operand)).collect();
    // Neighbours are those of the narrow format; all others are rounded to it at the end.
    let of_definition = |dtype: DType| {
        let is_rounded = dtype.kind() == Kind::Float && dtype.bits() < 32 && op != Op::NextAfter;
        if is_rounded { DType::F32 } else { dtype }
    };
    let dtypes: Vec<_> = operands.iter().map(|x| of_definition(x.dtype)).collect();
    let made = promote_scalar::elementwise(&mut machine, op, numerics, &dtypes, of_definition(result), &args);
    let Some(made) = made.map(|made| machine.store(result, made)) else {
        let dtype = operands.first().map_or(result, |x| x.dtype);
        return refuse(format!("StableHLO has no {} of {dtype}", op.name()), REMEDY);
    };
    let traps = machine.traps;
    let is_rounded = result.kind() == Kind::Float && !CHOOSING.contains(&op);
    let made = match is_rounded {
        true if made.dtype == result => b.kept(made),
        true => b.rounded(made, result),
        false => b.cast(made, result),
    };
    Ok((made, traps))
}

/// An operand in registers, with its index.
fn load(machine: &mut Machine<'_, '_>, op: Op, (index, x): (usize, &Tensor)) -> Element<Tensor> {
    let x = *x;
    let specials = x.dtype.props().format.map(|format| format.specials);
    // Only the sign is asked for. The number itself would not do: XLA flushes subnormal ones on the way.
    let is_sign = matches!((op, index), (Op::SignBit, 0) | (Op::CopySign, 1));
    if is_sign && specials == Some(Specials::NanIsNegativeZero) {
        return Element::Real(machine.decoded(x));
    }
    let wide = machine.convert(x, computed(op, x.dtype));
    machine.load(wide)
}

const REMEDY: &str = "convert the operand to a dtype that the op is defined for";

/// Refuses what may raise an exception at run time, as the last operand of an op decides.
fn never_raises(b: &Builder<'_>, why: Trap, operands: &[Tensor]) -> Made<()> {
    let Some(y) = operands.last().copied() else { return Ok(()) };
    let (never, message, remedy) = match why {
        Trap::DivisionByZero => (
            known::elements(y).is_some_and(|elements: Vec<Bits>| elements.iter().all(|bits| *bits != 0)),
            "an integer divided by zero raises an exception, which StableHLO cannot express",
            "divide by a constant, or convert to a float dtype and round",
        ),
        Trap::NegativePower => (
            known::range(b, y).is_some_and(|(lowest, _)| lowest >= 0),
            "an integer to a negative power raises an exception, which StableHLO cannot express",
            "raise to a constant or an unsigned exponent, or convert the base to a float dtype",
        ),
        Trap::IndexOutOfRange => (
            false,
            "an index out of range raises an exception, which StableHLO cannot express",
            "take at indices that are known to be in range",
        ),
    };
    if never { Ok(()) } else { refuse(message, remedy) }
}

/// Whether a dtype is one that StableHLO has.
pub const fn is_stablehlo(dtype: DType) -> bool {
    match dtype.kind() {
        Kind::Bool => true,
        Kind::Unsigned | Kind::Signed => matches!(dtype.bits(), 2 | 4 | 8 | 16 | 32 | 64) && !dtype.is_weak(),
        Kind::Float => !dtype.is_weak(),
        Kind::Complex => matches!(dtype, DType::C64 | DType::C128),
    }
}
