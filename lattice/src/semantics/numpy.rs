//! NumPy, as version 2 promotes (NEP 50) and as version 1 did, and its relatives Dask and CuPy.
//!
//! NumPy's rules are no lattice. A ufunc is a list of loops, one a dtype, in a fixed [`ORDER`]; it runs the first whose
//! dtype every operand is cast to safely. The promotion of arrays alone (`result_type`) is the same search among all
//! dtypes, and so a function of the set of operands, though no fold of two gives it. What an operand asks of a loop is an
//! [`Ask`]: an array asks to be cast safely; a Python scalar asks for its kind, if an array has that kind, and else for
//! the default dtype. NumPy 1 looked at the value of scalars instead.
//!
//! The tables and op rules are those of numpy 2.5 and 1.26 with ml_dtypes' bfloat16, whose loops stand after NumPy's own;
//! the oracle tests compare every entry.

use std::sync::Arc;

use DType::*;

use super::operand::{Operand, Origin, Rank, Typing, dtypes};
use super::refusal::{Accepts, Refusal};
use super::rows::take;
use super::{Defaults, Node, Rules, Semantics};
use crate::convert::{Literal, Numerics};
use crate::dtype::{DType, Kind};
use crate::lattice::NoJoin;
use crate::op::Op;

/// The order in which ufuncs list their loops.
const ORDER: &[DType] = &[B1, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64, C64, C128];

/// What the tables are over, in the order of the documents.
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
    WeakInt,
    WeakFloat,
    WeakComplex,
];

/// Which of NumPy's relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// Values do not matter: NEP 50.
    Two,
    /// The value of a scalar decides how wide it is.
    One,
    /// NumPy 2 where every array is lazy: promotion is what adding gives.
    Dask,
}

/// What an operand asks of the dtype of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// That this dtype is cast to it safely.
    Safe(DType),
    /// The same of an unsigned dtype or the signed one of its width: a small number that is not negative.
    SmallUnsigned(DType),
    /// That it is of this kind, or one above it; the two kinds of integers are one.
    Kind(Kind),
}

impl Ask {
    fn is_met_by(self, to: DType) -> bool {
        match self {
            Self::Safe(from) => is_safe(from, to),
            Self::SmallUnsigned(from) => is_safe(from, to) || is_safe(signed(from), to),
            Self::Kind(kind) => {
                category(to.kind()) >= category(kind) && (kind != Kind::Complex || to.kind() == Kind::Complex)
            }
        }
    }
}

/// Whether every number of `from` is one of `to`, as NumPy's safe casts see it: 64-bit integers pass for f64.
fn is_safe(from: DType, to: DType) -> bool {
    let (part, wide) = (to.real_part(), from.bits() * 2);
    match (from.kind(), to.kind()) {
        _ if from == to => true,
        (Kind::Bool, _) => true,
        (_, Kind::Bool) => false,
        (Kind::Unsigned, Kind::Unsigned) | (Kind::Signed, Kind::Signed) => from.bits() <= to.bits(),
        (Kind::Unsigned, Kind::Signed) => from.bits() < to.bits(),
        (Kind::Signed, Kind::Unsigned) => false,
        (Kind::Unsigned | Kind::Signed, Kind::Float | Kind::Complex) => part.bits() >= wide.min(64),
        (Kind::Float, Kind::Float | Kind::Complex) | (Kind::Complex, Kind::Complex) => {
            let (Some(from), Some(to)) = (from.props().format, to.props().format) else { return false };
            from.exponent_bits <= to.exponent_bits && from.mantissa_bits <= to.mantissa_bits
        }
        (Kind::Float | Kind::Complex, _) => false,
    }
}

/// The signed dtype of an unsigned one's width.
const fn signed(unsigned: DType) -> DType {
    match unsigned {
        U8 => I8,
        U16 => I16,
        U32 => I32,
        U64 => I64,
        other => other,
    }
}

/// NumPy's three kinds: bools, integers, and the rest.
const fn category(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => 0,
        Kind::Unsigned | Kind::Signed => 1,
        Kind::Float | Kind::Complex => 2,
    }
}

/// What becomes of a Python scalar that meets no array of its kind.
const fn strengthen(dtype: DType) -> DType {
    match dtype {
        WeakInt => I64,
        WeakFloat => F64,
        WeakComplex => C128,
        other => other,
    }
}

/// The narrowest dtype that NumPy 1 takes a scalar of `dtype` for, by its value.
fn narrowest(literal: Literal, dtype: DType) -> Ask {
    /// Beyond these NumPy 1 takes a float for a wider one, though the dtypes reach a little further.
    const F16_BOUND: f64 = 65000.0;
    const F32_BOUND: f64 = 3.4e38;
    let dtype = strengthen(dtype);
    let within = |bound: f64, value: f64| -bound < value && value < bound;
    match (literal, dtype.kind()) {
        (Literal::Int(_), Kind::Bool) => Ask::Safe(B1),
        (Literal::Int(value @ 0..), Kind::Unsigned | Kind::Signed) => {
            let bits = 64 - value.leading_zeros();
            let unsigned = if bits <= 8 {
                U8
            } else if bits <= 16 {
                U16
            } else if bits <= 32 {
                U32
            } else {
                U64
            };
            if bits < unsigned.bits() { Ask::SmallUnsigned(unsigned) } else { Ask::Safe(unsigned) }
        }
        (Literal::Int(value), Kind::Unsigned | Kind::Signed) => {
            let bits = 65 - value.leading_ones();
            Ask::Safe(if bits <= 8 {
                I8
            } else if bits <= 16 {
                I16
            } else if bits <= 32 {
                I32
            } else {
                I64
            })
        }
        (Literal::Float(_), Kind::Float) if dtype.bits() == 16 => Ask::Safe(dtype),
        (Literal::Float(value), Kind::Float) if !value.is_finite() || within(F16_BOUND, value) => {
            Ask::Safe(F16)
        }
        (Literal::Float(value), Kind::Float) if within(F32_BOUND, value) => Ask::Safe(F32),
        (Literal::Complex(re, im), Kind::Complex) if within(F32_BOUND, re) && within(F32_BOUND, im) => {
            Ask::Safe(C64)
        }
        _ => Ask::Safe(dtype),
    }
}

/// How the dtype of a result follows from the loop that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// The loop's.
    Loop,
    /// Bool.
    Bool,
    /// The real part of a complex dtype, else the same.
    RealPart,
}

/// The rule of an op.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// A ufunc: the kinds that it has loops of, and what it returns.
    Ufunc(Accepts, Output),
    /// A ufunc that refuses bools, though it has loops that they are cast to safely.
    NoBools(Accepts),
    /// A ufunc without a loop of ml_dtypes' bfloat16.
    NoBf16,
    /// The same; the first operand is an array, the bounds may be Python scalars.
    Clip,
    /// Comparisons, which are exact between Python integers and arrays, and between integers of either sign.
    Comparison,
    /// A ufunc that refuses to raise integers to a negative literal.
    Pow,
    /// The default float of integers, and else a ufunc.
    Divide,
    /// Integers are rounded to themselves, bools to halves.
    Round,
    /// The angle of `x` is `atan2(0, x)`.
    Angle,
    /// The real or imaginary part; a Python scalar's is one.
    Part,
    /// The first operand is a condition; the others are promoted without a loop.
    Where,
    /// The operands are arrays, and promoted without a loop.
    Join,
    /// Integers become the widest of their signedness.
    Sum,
    /// Integers become the default float.
    Mean,
    /// As `Mean`, then the real part.
    Variance,
    /// The same dtype; a Python scalar becomes an array.
    Same,
    /// What it computes on stays what it is; the result is of this dtype.
    Gives(DType),
    /// The first operand's; the second holds indices.
    Take,
    /// As it is, a Python scalar too.
    Relax,
    /// The op's type says the dtype.
    Stated,
    /// NumPy has no such function.
    None,
}

fn rule(op: Op) -> Rule {
    use Op::*;
    use {Accepts as A, Output as O, Rule as R};
    match op {
        Constant | Iota | Convert => R::Stated,
        Relax => R::Relax,
        Positive | Negative | Sign | Subtract => R::NoBools(A::NUMBERS),
        Square | Conj | Reciprocal => R::Ufunc(A::NUMBERS, O::Loop),
        Pow => R::Pow,
        Abs => R::Ufunc(A::ANY, O::RealPart),
        Add | Multiply | Maximum | Minimum => R::Ufunc(A::ANY, O::Loop),
        Floor | Ceil | Trunc => R::Ufunc(A::REAL, O::Loop),
        FloorDivide | Remainder | Fmod => R::Ufunc(A::REAL_NUMBERS, O::Loop),
        Cbrt | Atan2 | Hypot | LogAddExp | CopySign | NextAfter => R::Ufunc(A::FLOATS, O::Loop),
        Sqrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan | Sinh | Cosh | Tanh
        | Asin | Acos | Atan | Asinh | Acosh | Atanh => R::Ufunc(A::INEXACT, O::Loop),
        BitwiseLeftShift | BitwiseRightShift => R::Ufunc(A::INTEGERS, O::Loop),
        Gcd | Lcm => R::NoBools(A::INTEGERS),
        BitwiseInvert | BitwiseAnd | BitwiseOr | BitwiseXor => R::Ufunc(A::BITS, O::Loop),
        IsNan | IsInf | IsFinite | LogicalNot | LogicalAnd | LogicalOr | LogicalXor => {
            R::Ufunc(A::ANY, O::Bool)
        }
        SignBit => R::Ufunc(A::FLOATS, O::Bool),
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => R::Comparison,
        Divide => R::Divide,
        Round => R::Round,
        Angle => R::Angle,
        Real | Imag => R::Part,
        Clip => R::Clip,
        Matmul => R::NoBf16,
        Where => R::Where,
        Concat | Stack => R::Join,
        Sum | Prod | CumulativeSum | CumulativeProd => R::Sum,
        Mean => R::Mean,
        Var | Std => R::Variance,
        Max | Min | Sort | Reshape | PermuteDims | BroadcastTo | ExpandDims | Squeeze | Flip | Slice => {
            R::Same
        }
        Any | All => R::Gives(B1),
        ArgMax | ArgMin | CountNonzero => R::Gives(I64),
        Take => R::Take,
        Relu | Rsqrt | Erf | Sigmoid | Softmax | LogSumExp => R::None,
    }
}

/// The rules of one version. See the [module](self).
#[derive(Debug)]
struct NumPy {
    name: Arc<str>,
    version: Version,
}

/// NumPy 2.
pub(super) fn two(_x64: bool) -> Semantics {
    semantics("numpy2", Version::Two)
}

/// NumPy 1.
pub(super) fn one(_x64: bool) -> Semantics {
    semantics("numpy1", Version::One)
}

/// Dask's arrays.
pub(super) fn dask(_x64: bool) -> Semantics {
    semantics("dask", Version::Dask)
}

/// CuPy 14: NumPy 2's rules, as an array without dimensions is an array like any other in both.
pub(super) fn cupy(_x64: bool) -> Semantics {
    semantics("cupy", Version::Two)
}

fn semantics(name: &str, version: Version) -> Semantics {
    let nodes = NODES.iter().map(|dtype| Node::of(*dtype)).collect();
    let rules = NumPy { name: name.into(), version };
    let semantics = Semantics::by_rules(rules.name.clone(), rules, nodes, Numerics::NumPy);
    let defaults = Defaults { unsigned: U64, ..semantics.defaults };
    let tabulated = (version == Version::Dask).then_some(Op::Add);
    Semantics { defaults, tabulated, ..semantics }
}

impl NumPy {
    /// What each operand asks of a loop.
    fn asks(&self, operands: &[Operand]) -> Vec<Ask> {
        match self.version {
            Version::Two | Version::Dask => {
                let arrays = || operands.iter().filter(|operand| !operand.is_python());
                operands.iter().map(|operand| weak_ask(*operand, arrays)).collect()
            }
            Version::One => value_asks(operands),
        }
    }

    /// The first dtype among `loops` that all asks are met by; bfloat16's loop is looked for first where it can be.
    fn first_loop(asks: &[Ask], operands: &[Operand], loops: Accepts, bf16: bool) -> Option<DType> {
        let meets = |dtype: &DType| asks.iter().all(|ask| ask.is_met_by(*dtype));
        let has_bf16 = bf16 && loops.has(Kind::Float) && operands.iter().any(|operand| operand.dtype == BF16);
        if has_bf16 && meets(&BF16) {
            return Some(BF16);
        }
        ORDER.iter().copied().filter(|dtype| loops.has(dtype.kind())).find(meets)
    }

    fn no_loop(&self, op: Op, operands: &[Operand], accepts: Accepts) -> Refusal {
        let semantics = self.name.clone();
        match self.promote(operands) {
            Ok(dtype) if !accepts.has(dtype.kind()) => Refusal::Dtype { semantics, op, dtype, accepts },
            Ok(_) => {
                let dtypes = dtypes(operands);
                let because = "the op has no loop that all of them are cast to safely";
                let reason = NoJoin::Undefined { dtypes: dtypes.clone(), because };
                Refusal::NoJoin { semantics, dtypes, reason }
            }
            Err(reason) => self.no_promotion(operands, reason),
        }
    }

    fn no_promotion(&self, operands: &[Operand], reason: NoJoin) -> Refusal {
        Refusal::NoJoin { semantics: self.name.clone(), dtypes: dtypes(operands), reason }
    }

    fn ufunc(&self, op: Op, operands: &[Operand], loops: Accepts, output: Output) -> Result<Typing, Refusal> {
        let bf16 = !matches!(rule(op), Rule::NoBf16 | Rule::Clip);
        let mut asks = self.asks(operands);
        if promotes_first(op) {
            settle_small(&mut asks);
        }
        let found = Self::first_loop(&asks, operands, loops, bf16);
        let compute = found.ok_or_else(|| self.no_loop(op, operands, loops))?;
        let result = match output {
            Output::Loop => compute,
            Output::Bool => B1,
            Output::RealPart => compute.real_part(),
        };
        if output != Output::Bool {
            self.check_literals(operands, compute)?;
        }
        Ok(Typing::uniform(compute, result))
    }

    /// NumPy 2 refuses a Python integer that the dtype it takes does not hold.
    fn check_literals(&self, operands: &[Operand], compute: DType) -> Result<(), Refusal> {
        if self.version == Version::One || !compute.is_integer() {
            return Ok(());
        }
        for operand in operands {
            if let Origin::Literal(Literal::Int(literal)) = operand.origin
                && !holds(compute, literal)
            {
                return Err(Refusal::LiteralRange { semantics: self.name.clone(), literal, dtype: compute });
            }
        }
        Ok(())
    }

    /// Comparisons: where a Python integer is outside the range of the integers it meets, both are compared in a dtype
    /// that holds them; signed and unsigned 64-bit integers are compared as they are.
    fn comparison(&self, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
        let typing = self.ufunc(op, operands, Accepts::ANY, Output::Bool)?;
        let compute = typing.compute(0);
        let integers = operands.iter().all(|operand| operand.dtype.is_integer());
        if compute == F64 && integers {
            return Ok(Typing::own(operands, B1));
        }
        let outside = |operand: &Operand| matches!(operand.origin, Origin::Literal(Literal::Int(value)) if !holds(compute, value));
        if self.version != Version::One && compute.is_integer() && operands.iter().any(outside) {
            // A negative number is below all of u64, in f64 too.
            return Ok(Typing::uniform(if compute == U64 { F64 } else { I64 }, B1));
        }
        Ok(typing)
    }

    /// `clip`: a bound beyond the range of the integers it bounds is dropped, which a literal that is brought into the
    /// range amounts to; one that leaves nothing is refused.
    fn clip(&self, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
        let [x, low, high] = operands else { return Err(self.no_loop(op, operands, Accepts::ANY)) };
        let x = if x.is_python() { Operand::value(self.same(x)) } else { *x };
        let without_literals = |bound: &Operand| match bound.origin {
            Origin::Literal(Literal::Int(_)) if self.version != Version::One => Operand::literal(bound.dtype),
            _ => *bound,
        };
        let arrays = [x, without_literals(low), without_literals(high)];
        let typing = self.ufunc(op, &arrays, Accepts::ANY, Output::Loop)?;
        let dtype = typing.result;
        for (bound, leaves_none) in [(low, false), (high, true)] {
            if let Origin::Literal(Literal::Int(literal)) = bound.origin
                && dtype.is_integer()
                && !holds(dtype, literal)
                && (literal < 0) == leaves_none
                && self.version != Version::One
            {
                return Err(Refusal::LiteralRange { semantics: self.name.clone(), literal, dtype });
            }
        }
        Ok(typing)
    }

    fn pow(&self, op: Op, operands: &[Operand]) -> Result<Typing, Refusal> {
        let typing = self.ufunc(op, operands, Accepts::NUMBERS, Output::Loop)?;
        if typing.result.is_integer()
            && operands.last().is_some_and(|exponent| exponent.is_negative_literal())
        {
            return Err(Refusal::NegativePower { semantics: self.name.clone(), dtype: typing.result });
        }
        Ok(typing)
    }

    fn same(&self, operand: &Operand) -> DType {
        strengthen(operand.dtype)
    }

    /// The typing of a reduction or the like, of its one operand.
    fn of_one(
        &self,
        op: Op,
        operands: &[Operand],
        compute: impl Fn(DType) -> DType,
    ) -> Result<Typing, Refusal> {
        let [x] = operands else { return Err(self.no_loop(op, operands, Accepts::ANY)) };
        let compute = compute(self.same(x));
        Ok(Typing::uniform(compute, compute))
    }

    fn apply(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        let float = |dtype: DType| if dtype.is_inexact() { dtype } else { F64 };
        let join = |operands: &[Operand]| {
            self.promote(operands).map_err(|reason| self.no_promotion(operands, reason))
        };
        Ok(Some(match rule(op) {
            Rule::Stated => return Ok(None),
            Rule::Ufunc(loops, output) => self.ufunc(op, operands, loops, output)?,
            Rule::NoBf16 => self.ufunc(op, operands, Accepts::ANY, Output::Loop)?,
            Rule::Clip => self.clip(op, operands)?,
            Rule::NoBools(accepts) if operands.iter().all(|operand| operand.dtype == B1) => {
                return Err(Refusal::Dtype { semantics: self.name.clone(), op, dtype: B1, accepts });
            }
            Rule::NoBools(loops) => self.ufunc(op, operands, loops, Output::Loop)?,
            Rule::Comparison => self.comparison(op, operands)?,
            Rule::Pow => self.pow(op, operands)?,
            Rule::Divide if operands.iter().all(|operand| !operand.dtype.is_inexact()) => {
                Typing::uniform(F64, F64)
            }
            Rule::Divide => self.ufunc(op, operands, Accepts::INEXACT, Output::Loop)?,
            Rule::Round if operands.iter().all(|operand| operand.dtype == B1) => Typing::uniform(F16, F16),
            Rule::Round => self.ufunc(op, operands, Accepts::NUMBERS, Output::Loop)?,
            Rule::Angle if operands.iter().any(|operand| operand.dtype.kind() == Kind::Complex) => {
                self.ufunc(op, operands, Accepts::INEXACT, Output::RealPart)?
            }
            Rule::Angle => {
                let with_zero: Vec<_> =
                    operands.iter().copied().chain([Operand::python(Literal::Int(0))]).collect();
                self.ufunc(op, &with_zero, Accepts::FLOATS, Output::Loop)?
            }
            Rule::Part => match operands {
                [x] if x.is_literal() && x.dtype == B1 => Typing::uniform(WeakInt, WeakInt),
                [x] => Typing::own(operands, x.dtype.real_part()),
                _ => return Err(self.no_loop(op, operands, Accepts::ANY)),
            },
            Rule::Where => {
                let [_, branches @ ..] = operands else {
                    return Err(self.no_loop(op, operands, Accepts::ANY));
                };
                let compute = join(branches)?;
                Typing::uniform(compute, compute).with(0, B1)
            }
            Rule::Join => {
                let arrays = operands.iter().map(|operand| Operand::value(self.same(operand)));
                let compute = join(&arrays.collect::<Vec<_>>())?;
                Typing::uniform(compute, compute)
            }
            Rule::Sum => self.of_one(op, operands, |dtype| match dtype.kind() {
                Kind::Bool | Kind::Signed => I64,
                Kind::Unsigned => U64,
                Kind::Float | Kind::Complex => dtype,
            })?,
            Rule::Mean => self.of_one(op, operands, float)?,
            Rule::Variance => {
                let typing = self.of_one(op, operands, float)?;
                Typing { result: typing.result.real_part(), ..typing }
            }
            Rule::Same => match operands {
                [x, ..] => {
                    let dtype = self.same(x);
                    Typing::own(operands, dtype).with(0, dtype)
                }
                [] => return Err(self.no_loop(op, operands, Accepts::ANY)),
            },
            Rule::Gives(result) => {
                self.of_one(op, operands, |dtype| dtype).map(|t| Typing { result, ..t })?
            }
            Rule::Take => match take(op, operands) {
                Some(typing) => {
                    let typing = typing?;
                    let dtype = strengthen(typing.result);
                    Typing { result: dtype, ..typing }.with(0, dtype)
                }
                None => return Err(self.no_loop(op, operands, Accepts::ANY)),
            },
            Rule::Relax => match operands {
                [x, ..] => Typing::own(operands, x.dtype),
                [] => return Err(self.no_loop(op, operands, Accepts::ANY)),
            },
            Rule::None => {
                let because = "it is no function of NumPy's";
                return Err(Refusal::NoOp { semantics: self.name.clone(), op, because });
            }
        }))
    }
}

/// Ufuncs that promote their operands before they look for a loop, where others only look whether operands fit it.
const fn promotes_first(op: Op) -> bool {
    use Op::*;
    matches!(op, Add | Subtract | Multiply | Maximum | Minimum | Gcd | Lcm | Clip)
        || matches!(op, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
}

/// In a promotion a small number takes the signed dtype of its width only where it meets a signed one.
fn settle_small(asks: &mut [Ask]) {
    let has_signed = asks.iter().any(|ask| matches!(ask, Ask::Safe(I8 | I16 | I32 | I64)));
    for ask in asks {
        if let (Ask::SmallUnsigned(dtype), false) = (*ask, has_signed) {
            *ask = Ask::Safe(dtype);
        }
    }
}

/// What an operand asks under NEP 50: an array its dtype, a Python scalar its kind if an array has it.
fn weak_ask<'a, I: Iterator<Item = &'a Operand>>(operand: Operand, arrays: impl Fn() -> I) -> Ask {
    let has = |least: u8| arrays().any(|array| category(array.dtype.kind()) >= least);
    match operand.dtype {
        WeakInt if has(1) => Ask::Kind(Kind::Unsigned),
        // bfloat16 is no dtype that a Python float is known to fit.
        WeakFloat if has(2) && arrays().all(|array| !array.dtype.is_inexact() || array.dtype == BF16) => {
            Ask::Safe(F16)
        }
        WeakFloat if has(2) => Ask::Kind(Kind::Float),
        WeakComplex if has(2) => Ask::Kind(Kind::Complex),
        dtype => Ask::Safe(strengthen(dtype)),
    }
}

/// What operands ask under NumPy 1: scalars of no higher kind than the arrays ask for what their value needs; those
/// whose value is not in the program, for their kind.
fn value_asks(operands: &[Operand]) -> Vec<Ask> {
    // Beside bfloat16 arrays the integers of array scalars count in full.
    let has_bf16 = operands.iter().any(|operand| operand.dtype == BF16);
    let is_scalar = |operand: &Operand| {
        operand.is_python() || operand.rank == Rank::Zero && !(has_bf16 && operand.dtype.is_integer())
    };
    let highest = |scalars: bool| {
        let of_sort = operands.iter().filter(|operand| is_scalar(operand) == scalars);
        of_sort.map(|operand| category(operand.dtype.kind())).max()
    };
    let by_value = highest(false).is_some() && highest(false) >= highest(true);
    let ask = |operand: &Operand| match operand.origin {
        Origin::Literal(literal) | Origin::Constant(literal) if by_value && is_scalar(operand) => {
            narrowest(literal, operand.dtype)
        }
        Origin::Value if by_value && is_scalar(operand) && operand.dtype != B1 => {
            Ask::Kind(operand.dtype.kind())
        }
        _ => Ask::Safe(strengthen(operand.dtype)),
    };
    operands.iter().map(ask).collect()
}

/// Whether an integer dtype holds `value`.
fn holds(dtype: DType, value: i64) -> bool {
    let bits = dtype.bits();
    match dtype.kind() {
        Kind::Unsigned => value >= 0 && (bits >= 64 || value < 1 << bits),
        Kind::Signed => bits >= 64 || (-1 << (bits - 1)..1 << (bits - 1)).contains(&value),
        Kind::Bool | Kind::Float | Kind::Complex => true,
    }
}

impl Rules for NumPy {
    fn looks_at_rank(&self) -> bool {
        self.version == Version::One
    }

    fn promote(&self, operands: &[Operand]) -> Result<DType, NoJoin> {
        if let Some(operand) = operands.iter().find(|operand| !NODES.contains(&operand.dtype)) {
            return Err(NoJoin::NoNode { dtype: operand.dtype });
        }
        let mut asks = self.asks(operands);
        settle_small(&mut asks);
        let has_bf16 = operands.iter().any(|operand| operand.dtype == BF16);
        if has_bf16 && self.version != Version::Dask {
            for ask in &mut asks {
                match *ask {
                    Ask::Safe(U16 | U32 | U64 | I16 | I32 | I64) | Ask::SmallUnsigned(U16 | U32 | U64) => {
                        return Err(no_bf16(operands));
                    }
                    // NumPy 2 gives a Python float its default dtype there, though it finds a narrower loop.
                    Ask::Safe(F16)
                        if !operands.iter().any(|operand| operand.dtype == F16)
                            && self.version == Version::Two =>
                    {
                        *ask = Ask::Safe(F64);
                    }
                    Ask::Safe(F16) => return Err(no_bf16(operands)),
                    _ => {}
                }
            }
        }
        let found = Self::first_loop(&asks, operands, Accepts::ANY, true);
        found.ok_or_else(|| NoJoin::NoUpperBound { dtypes: dtypes(operands) })
    }

    fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        if let Some(operand) = operands.iter().find(|operand| !NODES.contains(&operand.dtype)) {
            return Err(Refusal::NoNode { semantics: self.name.clone(), dtype: operand.dtype });
        }
        self.apply(op, operands)
    }
}

fn no_bf16(operands: &[Operand]) -> NoJoin {
    let because = "ml_dtypes gives bf16 no common dtype with f16 or integers wider than 8 bits";
    NoJoin::Undefined { dtypes: dtypes(operands), because }
}
