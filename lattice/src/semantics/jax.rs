//! JAX: the lattice of JEP 9407 with the narrow dtypes, its strict form, and `jax.lax`.
//!
//! The op rules are those of `jax.numpy`, `jax.nn` and `jax.lax` as jax 0.12 behaves; the oracle tests compare every
//! entry.

use DType::*;

use super::operand::{Operand, Origin, Typing};
use super::refusal::{Accepts, Refusal};
use super::rows::{Compute, OnLattice, Output, Row, Rule, Weakness};
use super::{Defaults, Node, Semantics};
use crate::convert::Numerics;
use crate::dtype::{DType, Kind};
use crate::lattice::Lattice;
use crate::op::{Class, Op};

/// What JAX's tables are over, in the order of its documents.
const NODES: &[DType] = &[
    B1,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    BF16,
    F16,
    F32,
    F64,
    C64,
    C128,
    U1,
    U2,
    U4,
    I1,
    I2,
    I4,
    F4E2M1FN,
    F6E2M3FN,
    F6E3M2FN,
    F8E3M4,
    F8E4M3,
    F8E8M0FNU,
    F8E4M3B11FNUZ,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    WeakInt,
    WeakFloat,
    WeakComplex,
];

const FLOAT_NODES: &[DType] = &[
    WeakComplex,
    BF16,
    F16,
    F4E2M1FN,
    F6E2M3FN,
    F6E3M2FN,
    F8E3M4,
    F8E4M3,
    F8E8M0FNU,
    F8E4M3B11FNUZ,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
];

/// Immediate successors in JEP 9407's lattice; the narrow dtypes lie above what they absorb and below nothing.
const STANDARD: &[(DType, &[DType])] = &[
    (B1, &[WeakInt]),
    (WeakInt, &[U8, I8, U1, U2, U4, I1, I2, I4]),
    (U8, &[I16, U16]),
    (U16, &[I32, U32]),
    (U32, &[I64, U64]),
    (U64, &[WeakFloat]),
    (I8, &[I16]),
    (I16, &[I32]),
    (I32, &[I64]),
    (I64, &[WeakFloat]),
    (WeakFloat, FLOAT_NODES),
    (BF16, &[F32]),
    (F16, &[F32]),
    (F32, &[F64, C64]),
    (F64, &[C128]),
    (WeakComplex, &[C64]),
    (C64, &[C128]),
];

/// `jax.numpy_dtype_promotion('strict')`: only weak values are promoted.
const STRICT: &[(DType, &[DType])] = &[
    (WeakInt, &[WeakFloat, U8, U16, U32, U64, I8, I16, I32, I64, U1, U2, U4, I1, I2, I4]),
    (WeakFloat, FLOAT_NODES),
    (WeakFloat, &[F32, F64]),
    (WeakComplex, &[C64, C128]),
];

/// `jax.lax`: a Python scalar is an array of the default dtype, and nothing else is promoted.
const LAX: &[(DType, &[DType])] = &[(WeakInt, &[I64]), (WeakFloat, &[F64]), (WeakComplex, &[C128])];
const LAX_X32: &[(DType, &[DType])] = &[(WeakInt, &[I32]), (WeakFloat, &[F32]), (WeakComplex, &[C64])];

/// Without x64, JAX narrows what a promotion returns; a 64-bit array that is not promoted stays what it is.
const fn narrowed(dtype: DType) -> DType {
    match dtype {
        U64 => U32,
        I64 => I32,
        F64 => F32,
        C128 => C64,
        other => other,
    }
}

const fn kept(dtype: DType) -> DType {
    dtype
}

/// `jax.numpy` under the standard promotion.
pub(super) fn standard(x64: bool) -> Semantics {
    semantics("jax", x64, STANDARD, rule)
}

/// `jax.numpy` under `jax.numpy_dtype_promotion('strict')`.
pub(super) fn strict(x64: bool) -> Semantics {
    Semantics { tabulated: Some(Op::Add), ..semantics("jax-strict", x64, STRICT, rule) }
}

/// `jax.lax`, whose arithmetic refuses bool.
pub(super) fn lax(x64: bool) -> Semantics {
    let lax = semantics("jax-lax", x64, if x64 { LAX } else { LAX_X32 }, lax_rule);
    Semantics { tabulated: Some(Op::Add), ..lax }
}

/// What JAX's dtypes become: 32 bits, with x64 64.
const fn defaults(x64: bool) -> Defaults {
    let (integer, unsigned, float, complex) = if x64 { (I64, U64, F64, C128) } else { (I32, U32, F32, C64) };
    Defaults { integer, float, complex, unsigned, bool_integer: I32, small_float: F32 }
}

fn semantics(name: &str, x64: bool, edges: &[(DType, &[DType])], rule: fn(Op) -> Rule) -> Semantics {
    let lattice =
        Lattice::new(NODES, edges).expect("the edges of JAX's lattices have no cycle, as a test shows");
    let rules = OnLattice::new(name, lattice, defaults(x64), if x64 { kept } else { narrowed }, rule);
    let nodes = NODES.iter().map(|dtype| Node::of(*dtype)).collect();
    let raises_carries = true;
    Semantics { x64, raises_carries, ..Semantics::on_lattice(rules, nodes, Numerics::Jax) }
}

const fn row(accepts: Accepts, compute: Compute, output: Output, weakness: Weakness) -> Rule {
    Rule::Together(Row::new(accepts, compute, output, weakness))
}

/// The table: which dtypes an op accepts, what it computes in, what it returns, and when weakness survives.
pub(super) fn rule(op: Op) -> Rule {
    use Op::*;
    use {Accepts as A, Compute as C, Output as O, Weakness as W};
    match op.class() {
        Class::Stated => Rule::Stated,
        Class::Layout => Rule::First,
        Class::Indexing => Rule::Take,
        Class::Joining | Class::Extremum => Rule::Together(Row::PLAIN),
        Class::Choice => match op {
            Clip => row(A::REAL, C::Join, O::Compute, W::Kept),
            _ => Rule::Where(Row::PLAIN),
        },
        Class::Part => match op {
            Conj => Rule::Together(Row::PLAIN),
            Angle => row(A::ANY, C::DefaultFloat, O::RealPart, W::Kept),
            _ => row(A::ANY, C::Join, O::RealPart, W::Kept),
        },
        Class::Sign => match op {
            Positive => Rule::Together(Row::PLAIN),
            Abs => row(A::ANY, C::Join, O::RealPart, W::Kept),
            Relu => row(A::ANY, C::WithWeakInt, O::Compute, W::Kept),
            Square => row(A::ANY, C::BoolToInt, O::Compute, W::Kept),
            _ => row(A::NUMBERS, C::Join, O::Compute, W::Kept),
        },
        Class::Rounding => match op {
            Round => row(A::NUMBERS, C::Join, O::Compute, W::Kept),
            _ => row(A::REAL, C::Join, O::Compute, W::Kept),
        },
        Class::Function => match op {
            Cbrt => row(A::REAL, C::Inexact, O::Compute, W::Kept),
            Rsqrt | Sigmoid => row(A::INEXACT, C::Join, O::Compute, W::Kept),
            Log10 => row(A::ANY, C::Inexact, O::Compute, W::Dropped),
            _ => row(A::ANY, C::Inexact, O::Compute, W::Kept),
        },
        Class::SpecialFunction => row(A::REAL, C::Inexact, O::Compute, W::Kept),
        Class::Predicate => match op {
            SignBit => row(A::REAL, C::Join, O::Bool, W::Kept),
            _ => row(A::ANY, C::Join, O::Bool, W::Kept),
        },
        Class::Logical | Class::Comparison | Class::Truth => row(A::ANY, C::Join, O::Bool, W::Kept),
        Class::Bitwise => row(A::BITS, C::Join, O::Compute, W::Kept),
        Class::Shift => row(A::BITS, C::BoolToInt, O::Compute, W::Kept),
        Class::Arithmetic => match op {
            Subtract => row(A::NUMBERS, C::Join, O::Compute, W::Kept),
            Divide => row(A::ANY, C::Inexact, O::Compute, W::Kept),
            FloorDivide | Remainder => row(A::REAL, C::BoolToInt, O::Compute, W::Kept),
            Pow => Rule::Own(power),
            Fmod => Rule::Own(fmod),
            _ => Rule::Together(Row::PLAIN),
        },
        Class::FloatPair => match op {
            Atan2 => row(A::ANY, C::Inexact, O::Compute, W::Kept),
            LogAddExp => row(A::ANY, C::Inexact, O::Compute, W::OfLiteralsIfComplex),
            _ => row(A::REAL, C::Inexact, O::Compute, W::Kept),
        },
        Class::IntegerPair => row(A::INTEGERS, C::Join, O::Compute, W::OfLiterals),

        Class::Accumulation => match op {
            CumulativeSum | CumulativeProd => row(A::ANY, C::BoolToDefault, O::Compute, W::Dropped),
            _ => row(A::ANY, C::Widest, O::Compute, W::Dropped),
        },
        Class::Moment => match op {
            Mean => row(A::ANY, C::Inexact, O::Compute, W::Dropped),
            _ => row(A::ANY, C::Inexact, O::RealPart, W::Dropped),
        },
        Class::Order => match op {
            Sort => Rule::Together(Row::PLAIN),
            _ => row(A::ANY, C::Join, O::Compute, W::Dropped),
        },
        Class::Index => row(A::ANY, C::Join, O::Index, W::Kept),
        Class::Exponential => match op {
            Softmax => row(A::NUMBERS, C::Inexact, O::Compute, W::Dropped),
            _ => row(A::ANY, C::Inexact, O::Compute, W::Dropped),
        },
        Class::Product => Rule::Own(matmul),
    }
}

fn lax_rule(op: Op) -> Rule {
    match (op, rule(op)) {
        (Op::Add | Op::Multiply, Rule::Together(row)) => {
            Rule::Together(Row { accepts: Accepts::NUMBERS, ..row })
        }
        (_, rule) => rule,
    }
}

/// `jnp.power`: an integer exponent of an inexact base stays what it is; a literal integer exponent takes the base's
/// dtype; else both are promoted together, and integers lose their weakness.
fn power(jax: &OnLattice, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let row = Row { compute: Compute::BoolToInt, ..Row::PLAIN };
    let [base, exponent] = operands else { return Err(jax.no_join(operands)) };
    let strengthen = |dtype| jax.defaults.strengthen(dtype);
    if base.dtype.is_inexact() && exponent.dtype.is_integer() {
        let result = if exponent.dtype.is_weak() { base.dtype } else { strengthen(base.dtype) };
        return Ok(Typing::own(operands, result));
    }
    match exponent.origin {
        Origin::Literal(_) if matches!(exponent.dtype, WeakInt | B1) => {
            let compute = jax.compute(op, row, base.dtype)?;
            if exponent.is_negative_literal() && compute.is_integer() {
                return Err(Refusal::NegativePower { semantics: jax.name.clone(), dtype: base.dtype });
            }
            Ok(Typing::uniform(compute, compute))
        }
        Origin::Literal(_) | Origin::Constant(_) | Origin::Value => {
            let typing = jax.together(op, row, operands)?;
            let integer = typing.result.is_integer();
            let result = if integer { strengthen(typing.result) } else { typing.result };
            Ok(Typing { result, ..typing })
        }
    }
}

/// `jnp.fmod` looks for integers, whose divisors of 0 it replaces, before it promotes bool to one: of two truth values it is
/// another function, and so it is computed of them.
fn fmod(jax: &OnLattice, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let row = Row::new(Accepts::REAL, Compute::BoolToInt, Output::Compute, Weakness::Kept);
    let typing = jax.together(op, row, operands)?;
    let is_bool = operands.iter().all(|operand| operand.dtype == B1);
    Ok(if is_bool { Typing::uniform(B1, typing.result) } else { typing })
}

/// `jnp.matmul` asks for the joined dtype as its result, and refuses to make a weak array narrower for it.
fn matmul(jax: &OnLattice, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
    let typing = jax.together(op, Row::PLAIN, operands)?;
    let join = typing.result;
    for operand in operands.iter().filter(|o| o.dtype.is_weak() && !join.is_weak()) {
        let carried = jax.defaults.strengthen(operand.dtype);
        let same_sort = carried.is_integer() && join.is_integer()
            || carried.kind() == Kind::Complex && join.kind() == Kind::Complex;
        if same_sort && carried.bits() > join.bits() {
            let (semantics, weak) = (jax.name.clone(), operand.dtype);
            return Err(Refusal::WeakTooWide { semantics, weak, carried, dtype: join });
        }
    }
    Ok(typing)
}
