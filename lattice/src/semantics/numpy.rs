//! NumPy, as version 2 promotes (NEP 50) and as version 1 did, and its relatives Dask and CuPy.
//!
//! NumPy's rules are no lattice. A ufunc is a list of loops, one a dtype, in a fixed [`ORDER`]; it runs the first whose
//! dtype every operand is cast to safely. The promotion of arrays alone (`result_type`) is the same search among all
//! dtypes, and so a function of the set of operands, though no fold of two gives it. (With bfloat16 and two others NumPy
//! itself depends on the order of its operands; the set is refused where bfloat16 meets a dtype it is not promoted with.) What an operand asks of a loop is an
//! [`Ask`]: an array asks to be cast safely; a Python scalar asks for its kind, if an array has that kind, and else for
//! the default dtype. NumPy 1 looked at the value of scalars instead.
//!
//! The tables and op rules are those of numpy 2.5 and 1.26 with ml_dtypes' bfloat16, whose loops stand after NumPy's own;
//! the oracle tests compare every entry.

mod ask;
mod ops;

use std::sync::Arc;

use DType::*;

use super::operand::{Operand, Origin, Output, Typing, dtypes};
use super::refusal::{Accepts, Refusal};
use super::{DOCUMENTED, Defaults, Node, Rules, Semantics};
use crate::convert::{Literal, Numerics};
use crate::dtype::{DType, Kind};
use crate::lattice::NoJoin;
use crate::op::{Class, Op};
use ask::{Ask, settle_small, value_asks, weak_ask};

/// The order in which ufuncs list their loops.
const ORDER: &[DType] = &[B1, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64, C64, C128];

/// What a Python scalar becomes that meets no array of its kind.
const DEFAULTS: Defaults = Defaults { unsigned: U64, ..Defaults::new(I64, F64, C128) };

/// Which of NumPy's relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// Values do not matter: NEP 50.
    Two,
    /// The value of a scalar decides how wide it is.
    One,
    /// As `Two`, with CuPy's ufuncs.
    CuPy,
}

/// A ufunc, or a function that finds its dtype as a ufunc does.
#[derive(Clone, Copy, Debug)]
struct Ufunc {
    /// The kinds it has loops of.
    loops: Accepts,
    output: Output,
    /// Whether ml_dtypes gives it a loop of bfloat16 beside those of floats.
    bf16: bool,
    /// Whether it takes bools alone, if its loops are ones that bools are cast to safely.
    bools: bool,
    /// Whether it promotes its operands before it looks for a loop; others only look whether operands fit one.
    promotes: bool,
}

impl Ufunc {
    const fn of(loops: Accepts) -> Self {
        Self { loops, output: Output::Compute, bf16: true, bools: true, promotes: false }
    }

    const fn giving(self, output: Output) -> Self {
        Self { output, ..self }
    }

    const fn promoting(self) -> Self {
        Self { promotes: true, ..self }
    }

    const fn without_bools(self) -> Self {
        Self { bools: false, ..self }
    }

    const fn without_bf16(self) -> Self {
        Self { bf16: false, ..self }
    }
}

/// The rule of an op.
enum Rule {
    /// A ufunc.
    Ufunc(Ufunc),
    /// A function of its own.
    Own(OwnRule),
    /// The op's type says the dtype.
    Stated,
    /// NumPy has no such function.
    None,
}

type OwnRule = fn(&NumPy, Op, &[Operand]) -> Result<Typing, Refusal>;

fn rule(op: Op) -> Rule {
    use Accepts as A;
    use Op::*;
    use Rule::{None, Own, Stated};
    let ufunc = |loops| Ufunc::of(loops);
    Rule::Ufunc(match op.class() {
        Class::Stated => return Stated,
        Class::Layout => match op {
            Relax => return Own(ops::relax),
            _ => return Own(ops::same),
        },
        Class::Indexing => return Own(ops::take),
        Class::Joining => return Own(ops::join),
        Class::Choice => match op {
            Clip => return Own(ops::clip),
            _ => return Own(ops::where_),
        },
        Class::Part => match op {
            Conj => ufunc(A::NUMBERS),
            Angle => return Own(ops::angle),
            _ => return Own(ops::part),
        },
        Class::Sign => match op {
            Square => ufunc(A::NUMBERS),
            Abs => ufunc(A::ANY).giving(Output::RealPart),
            Relu => return None,
            _ => ufunc(A::NUMBERS).without_bools(),
        },
        Class::Rounding => match op {
            Round => return Own(ops::round),
            _ => return Own(ops::truncate),
        },
        Class::Function => match op {
            Reciprocal => ufunc(A::NUMBERS),
            Cbrt => ufunc(A::FLOATS),
            Sinc => return Own(ops::sinc),
            Rsqrt | Sigmoid => return None,
            _ => ufunc(A::INEXACT),
        },
        Class::SpecialFunction | Class::Exponential => return None,
        Class::Predicate => match op {
            SignBit => ufunc(A::FLOATS).giving(Output::Bool),
            _ => ufunc(A::ANY).giving(Output::Bool),
        },
        Class::Logical => ufunc(A::ANY).giving(Output::Bool),
        Class::Bitwise => ufunc(A::BITS),
        Class::Shift => ufunc(A::INTEGERS),
        Class::Arithmetic => match op {
            Subtract => ufunc(A::NUMBERS).without_bools().promoting(),
            Divide => return Own(ops::divide),
            FloorDivide | Remainder | Fmod => ufunc(A::REAL_NUMBERS),
            Pow => return Own(ops::pow),
            _ => ufunc(A::ANY).promoting(),
        },
        Class::Extremum => ufunc(A::ANY).promoting(),
        Class::FloatPair => ufunc(A::FLOATS),
        Class::IntegerPair => ufunc(A::INTEGERS).without_bools().promoting(),
        Class::Comparison => return Own(ops::comparison),
        Class::Accumulation => return Own(ops::sum),
        Class::Moment => match op {
            Mean => return Own(ops::mean),
            _ => return Own(ops::variance),
        },
        Class::Order => return Own(ops::same),
        Class::Truth => return Own(ops::truth),
        Class::Index => return Own(ops::index),
        Class::Product => ufunc(A::ANY).without_bf16(),
    })
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

/// Dask's arrays: NumPy 2, its table being what `+` gives.
pub(super) fn dask(_x64: bool) -> Semantics {
    Semantics { tabulated: Some(Op::Add), ..semantics("dask", Version::Two) }
}

/// CuPy 14: NumPy 2's rules, as an array without dimensions is an array like any other in both.
pub(super) fn cupy(_x64: bool) -> Semantics {
    semantics("cupy", Version::CuPy)
}

fn semantics(name: &str, version: Version) -> Semantics {
    let nodes = DOCUMENTED.iter().map(|dtype| Node::of(*dtype)).collect();
    let rules = NumPy { name: name.into(), version };
    let semantics = Semantics::by_rules(rules.name.clone(), rules, nodes, Numerics::NumPy);
    Semantics { defaults: DEFAULTS, ..semantics }
}

impl NumPy {
    /// What each operand asks of a loop.
    fn asks(&self, operands: &[Operand]) -> Vec<Ask> {
        match self.version {
            Version::Two | Version::CuPy => {
                let arrays = || operands.iter().filter(|operand| !operand.is_python());
                operands.iter().map(|operand| weak_ask(*operand, arrays)).collect()
            }
            Version::One => value_asks(operands, false),
        }
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

    fn ufunc(&self, op: Op, operands: &[Operand], ufunc: Ufunc) -> Result<Typing, Refusal> {
        let Ufunc { loops: accepts, output, bf16, bools, promotes } = ufunc;
        let semantics = || self.name.clone();
        if !bools && operands.iter().all(|operand| operand.dtype == B1) {
            return Err(Refusal::Dtype { semantics: semantics(), op, dtype: B1, accepts });
        }
        let mut asks = self.asks(operands);
        if promotes {
            settle_small(&mut asks);
        }
        let found = first_loop(&asks, operands, accepts, bf16);
        let compute = found.ok_or_else(|| self.no_loop(op, operands, accepts))?;
        let outside = |operand: &Operand| match operand.origin {
            Origin::Literal(Literal::Int(number)) if !compute.holds_integer(number) => Some(number),
            _ => None,
        };
        // A Python integer takes the dtype of the array, and must be one of its numbers.
        let refuses = self.version != Version::One && output != Output::Bool;
        if let (true, Some(literal)) = (refuses, operands.iter().find_map(outside)) {
            return Err(Refusal::LiteralRange { semantics: semantics(), literal, dtype: compute });
        }
        Ok(Typing::uniform(compute, output.of(compute, I64)))
    }

    fn join(&self, operands: &[Operand]) -> Result<DType, Refusal> {
        self.promote(operands).map_err(|reason| self.no_promotion(operands, reason))
    }
}

impl Rules for NumPy {
    fn looks_at_rank(&self) -> bool {
        self.version == Version::One
    }

    fn promote(&self, operands: &[Operand]) -> Result<DType, NoJoin> {
        if let Some(operand) = operands.iter().find(|operand| !DOCUMENTED.contains(&operand.dtype)) {
            return Err(NoJoin::NoNode { dtype: operand.dtype });
        }
        let mut asks = match self.version {
            Version::Two | Version::CuPy => self.asks(operands),
            Version::One => value_asks(operands, true),
        };
        settle_small(&mut asks);
        let has_bf16 = operands.iter().any(|operand| operand.dtype == BF16);
        if has_bf16 {
            for ask in &mut asks {
                match *ask {
                    Ask::Safe(U16 | U32 | U64 | I16 | I32 | I64) | Ask::SmallUnsigned(U16 | U32 | U64) => {
                        return Err(no_bf16(operands));
                    }
                    // NumPy 2 gives a Python float its default dtype there, though it finds a narrower loop.
                    Ask::Safe(F16)
                        if !operands.iter().any(|operand| operand.dtype == F16)
                            && self.version != Version::One =>
                    {
                        *ask = Ask::Safe(F64);
                    }
                    Ask::Safe(F16) => return Err(no_bf16(operands)),
                    Ask::Safe(_) | Ask::SmallUnsigned(_) | Ask::Kind(_) => {}
                }
            }
        }
        let found = first_loop(&asks, operands, Accepts::ANY, true);
        found.ok_or_else(|| NoJoin::NoUpperBound { dtypes: dtypes(operands) })
    }

    fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        if let Some(operand) = operands.iter().find(|operand| !DOCUMENTED.contains(&operand.dtype)) {
            return Err(Refusal::NoNode { semantics: self.name.clone(), dtype: operand.dtype });
        }
        let typing = match rule(op) {
            Rule::Ufunc(ufunc) => self.ufunc(op, operands, ufunc),
            Rule::Own(own) => own(self, op, operands),
            Rule::Stated => return Ok(None),
            Rule::None => {
                let because = "NumPy has no such function";
                Err(Refusal::NoOp { semantics: self.name.clone(), op, because })
            }
        };
        typing.map(Some)
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

fn no_bf16(operands: &[Operand]) -> NoJoin {
    let because = "ml_dtypes defines no common dtype of bf16 with f16 or integers wider than 8 bits";
    NoJoin::Undefined { dtypes: dtypes(operands), because }
}
