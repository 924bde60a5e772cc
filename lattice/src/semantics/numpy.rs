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

mod ask;

use std::sync::Arc;

use DType::*;

use super::operand::{Bound, Operand, Origin, Typing, dtypes};
use super::refusal::{Accepts, Refusal};
use super::rows::take;
use super::{Defaults, Node, Rules, Semantics};
use crate::convert::{Literal, Numerics};
use crate::dtype::{DType, Kind};
use crate::lattice::NoJoin;
use crate::op::Op;
use ask::{Ask, settle_small, strengthen, value_asks, weak_ask};

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
                && !compute.holds_integer(literal)
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
        let outside = |operand: &Operand| matches!(operand.origin, Origin::Literal(Literal::Int(value)) if !compute.holds_integer(value));
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
        if self.version == Version::One {
            return Ok(typing);
        }
        typing.bounded(&[(low, Bound::Lower), (high, Bound::Upper)]).map_err(|literal| {
            Refusal::LiteralRange { semantics: self.name.clone(), literal, dtype: typing.result }
        })
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
