//! PyTorch: the dtype rules of its ops, and for which dtypes it has CPU code.
//!
//! How operands are promoted stands in [`promotion`], twice, as in PyTorch: [`Rules::promote`] is `torch.result_type`, and
//! [`Rules::infer`] is the rule of its meta device. [`Typing::has_kernel`] says whether its CPU code would have given the
//! same. An op's row in [`rule`] says where it takes Python scalars, what it accepts, computes in and returns; ops that
//! do not fit a row have a function in [`own`].

mod own;
mod promotion;

use DType::*;

use super::operand::{Operand, Typing, dtypes};
use super::refusal::{Accepts, Refusal};
use super::rows::Output;
use super::{Defaults, Node, Rules, Semantics};
use crate::convert::Numerics;
use crate::dtype::{DType, Kind};
use crate::lattice::{DTypeSet, NoJoin};
use crate::op::{Class, Op};
use promotion::{elementwise_dtype, no_join, result_type};

const NAME: &str = "torch";
const DEFAULTS: Defaults = Defaults::new(I64, F32, C64);

const BOOL: &[DType] = &[B1];
/// The integers that PyTorch has always had.
const INTEGERS: &[DType] = &[U8, I8, I16, I32, I64];
/// The integers that came later, with few kernels and few promotions.
const WIDE_UNSIGNED: &[DType] = &[U16, U32, U64];
const FLOATS: &[DType] = &[BF16, F16, F32, F64];
const COMPLEX: &[DType] = &[C64, C128];
const HALF_COMPLEX: &[DType] = &[C32, BC32];
const NARROW: &[DType] = &[F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN];

const fn set(groups: &[&[DType]]) -> DTypeSet {
    let (mut set, mut group) = (DTypeSet::EMPTY, 0);
    while group < groups.len() {
        let mut i = 0;
        while i < groups[group].len() {
            set = set.with(groups[group][i]);
            i += 1;
        }
        group += 1;
    }
    set
}

/// Dtypes that the CPU code of ops computes in.
mod kernels {
    use super::*;

    pub const ALL: DTypeSet = set(&[BOOL, INTEGERS, WIDE_UNSIGNED, FLOATS, COMPLEX, HALF_COMPLEX, NARROW]);
    pub const USUAL: DTypeSet = set(&[BOOL, INTEGERS, FLOATS, COMPLEX]);
    pub const WITH_C32: DTypeSet = USUAL.with(C32);
    pub const WITH_UNSIGNED: DTypeSet = set(&[BOOL, INTEGERS, WIDE_UNSIGNED, FLOATS, COMPLEX, &[C32]]);
    pub const NUMBERS: DTypeSet = set(&[INTEGERS, FLOATS, COMPLEX]);
    pub const REAL: DTypeSet = set(&[BOOL, INTEGERS, FLOATS]);
    pub const REAL_WITH_UNSIGNED: DTypeSet = set(&[BOOL, INTEGERS, WIDE_UNSIGNED, FLOATS]);
    pub const REAL_NUMBERS: DTypeSet = set(&[INTEGERS, FLOATS]);
    pub const REAL_NUMBERS_WITH_UNSIGNED: DTypeSet = set(&[INTEGERS, WIDE_UNSIGNED, FLOATS]);
    pub const BITS: DTypeSet = set(&[BOOL, INTEGERS]);
    pub const BITS_WITH_UNSIGNED: DTypeSet = set(&[BOOL, INTEGERS, WIDE_UNSIGNED]);
    pub const INTEGER: DTypeSet = set(&[INTEGERS]);
    pub const FLOAT: DTypeSet = set(&[FLOATS]);
    pub const INEXACT: DTypeSet = set(&[FLOATS, COMPLEX]);
}

/// PyTorch with its default dtypes.
pub(super) fn standard(_x64: bool) -> Semantics {
    let strong = [BOOL, &[U8], WIDE_UNSIGNED, &[I8, I16, I32, I64], FLOATS, COMPLEX, HALF_COMPLEX, NARROW];
    // PyTorch packs two f4e2m1fn in a byte, and names the pair.
    let named = |node: Node| match node.operand.dtype {
        F4E2M1FN => Node { name: "f4e2m1fnx2", ..node },
        _ => node,
    };
    let strong = strong.into_iter().flatten().map(|dtype| named(Node::of(*dtype)));
    let python = [Node::PYTHON_BOOL, Node::of(WeakInt), Node::of(WeakFloat), Node::of(WeakComplex)];
    let nodes = strong.chain(python).collect();
    let semantics = Semantics::by_rules(NAME.into(), Torch, nodes, Numerics::Torch);
    Semantics { defaults: DEFAULTS, has_pythons_operators: true, ..semantics }
}

/// The rules of PyTorch. See the [module](self).
#[derive(Debug)]
struct Torch;

fn refused(operands: &[Operand]) -> Refusal {
    Refusal::NoJoin { semantics: NAME.into(), dtypes: dtypes(operands), reason: no_join(operands) }
}

/// Which operands may be Python scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalars {
    /// None: the op is a function of arrays.
    None,
    /// All but the first.
    AfterFirst,
    /// Any, but not all: the op is one of Python's operators, which are Python's own between numbers.
    NotAll,
    /// Any.
    Any,
}

/// How the dtype that an op computes in follows from the one its operands are promoted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compute {
    /// The same.
    Promoted,
    /// The default float for bool and integers.
    Float,
    /// The default integer for bool.
    BoolToInteger,
    /// The default integer for bool and integers.
    Integer,
}

/// The dtype rule of one op.
#[derive(Clone, Copy, Debug)]
struct Row {
    scalars: Scalars,
    /// The kinds that the dtype the operands are promoted to may be of.
    accepts: Accepts,
    compute: Compute,
    output: Output,
    /// The dtypes computed in that there is CPU code for.
    kernels: DTypeSet,
}

impl Row {
    /// A function of arrays that are promoted together, without CPU code.
    const PLAIN: Self = Self {
        scalars: Scalars::None,
        accepts: Accepts::ANY,
        compute: Compute::Promoted,
        output: Output::Compute,
        kernels: DTypeSet::EMPTY,
    };
}

/// The rule of an op.
enum Rule {
    /// The op's type says the dtype.
    Stated,
    /// The first operand's dtype.
    First(Scalars),
    /// All operands are promoted together.
    Together(Row),
    /// A function of its own.
    Own(fn(Op, &[Operand]) -> Result<Typing, Refusal>),
    /// PyTorch has no such op, and how we know.
    None(&'static str),
}

const fn arrays(accepts: Accepts, compute: Compute, output: Output, kernels: DTypeSet) -> Rule {
    Rule::Together(Row { scalars: Scalars::None, accepts, compute, output, kernels })
}

const fn operator(accepts: Accepts, compute: Compute, output: Output, kernels: DTypeSet) -> Rule {
    Rule::Together(Row { scalars: Scalars::NotAll, accepts, compute, output, kernels })
}

const fn array_first(accepts: Accepts, compute: Compute, output: Output, kernels: DTypeSet) -> Rule {
    Rule::Together(Row { scalars: Scalars::AfterFirst, accepts, compute, output, kernels })
}

/// The table: where an op takes Python scalars, which dtypes it accepts, what it computes in, what it returns, and for
/// what there is CPU code.
fn rule(op: Op) -> Rule {
    use Op::*;
    use {Accepts as A, Compute as C, Output as O, kernels as K};
    match op.class() {
        Class::Stated => Rule::Stated,
        Class::Layout => match op {
            Relax => Rule::First(Scalars::Any),
            _ => Rule::First(Scalars::None),
        },
        Class::Indexing => Rule::Own(own::take),
        Class::Joining => arrays(A::ANY, C::Promoted, O::Compute, K::ALL),
        Class::Choice => match op {
            Clip => Rule::Own(own::clip),
            _ => Rule::Own(own::where_),
        },
        Class::Part => match op {
            Conj => arrays(A::ANY, C::Promoted, O::Compute, K::ALL),
            Imag => arrays(A::COMPLEX, C::Promoted, O::RealPart, K::ALL),
            Angle => arrays(A::ANY, C::Float, O::RealPart, K::INEXACT),
            _ => arrays(A::ANY, C::Promoted, O::RealPart, K::ALL),
        },
        Class::Sign => match op {
            Positive => arrays(A::NUMBERS, C::Promoted, O::Compute, K::ALL),
            Negative => arrays(A::NUMBERS, C::Promoted, O::Compute, K::NUMBERS),
            Abs => arrays(A::ANY, C::Promoted, O::RealPart, K::NUMBERS),
            Square => arrays(A::ANY, C::BoolToInteger, O::Compute, K::NUMBERS),
            Relu => arrays(A::ANY, C::Promoted, O::Compute, K::REAL_NUMBERS_WITH_UNSIGNED),
            _ => arrays(A::ANY, C::Promoted, O::Compute, K::REAL),
        },
        Class::Rounding => arrays(A::ANY, C::Promoted, O::Compute, K::REAL_NUMBERS_WITH_UNSIGNED),
        Class::Function => match op {
            Cbrt => Rule::None("neither torch nor torch.special has a cube root"),
            _ => arrays(A::ANY, C::Float, O::Compute, K::INEXACT),
        },
        Class::SpecialFunction => arrays(A::ANY, C::Float, O::Compute, K::FLOAT),
        Class::Predicate => match op {
            SignBit => arrays(A::ANY, C::Promoted, O::Bool, K::REAL_WITH_UNSIGNED),
            _ => arrays(A::ANY, C::Promoted, O::Bool, K::WITH_UNSIGNED),
        },
        Class::Logical => arrays(A::ANY, C::Promoted, O::Bool, K::USUAL),
        Class::Bitwise => match op {
            BitwiseInvert => arrays(A::ANY, C::Promoted, O::Compute, K::BITS),
            _ => operator(A::ANY, C::Promoted, O::Compute, K::BITS_WITH_UNSIGNED),
        },
        Class::Shift => Rule::Own(own::shift),
        Class::Arithmetic => match op {
            Subtract => Rule::Own(own::subtract),
            Multiply => operator(A::ANY, C::Promoted, O::Compute, K::WITH_UNSIGNED),
            Divide => Rule::Own(own::divide),
            FloorDivide => operator(A::REAL_NUMBERS, C::Promoted, O::Compute, K::REAL_NUMBERS),
            Remainder => operator(A::ANY, C::Promoted, O::Compute, K::REAL_NUMBERS),
            Fmod => array_first(A::ANY, C::Promoted, O::Compute, K::REAL_NUMBERS),
            Pow => Rule::Own(own::power),
            _ => operator(A::ANY, C::Promoted, O::Compute, K::WITH_C32),
        },
        Class::Extremum => Rule::Own(own::extremum),
        Class::FloatPair => match op {
            Atan2 => arrays(A::ANY, C::Float, O::Compute, K::FLOAT),
            LogAddExp => arrays(A::NUMBERS, C::Promoted, O::Compute, K::INEXACT),
            CopySign => array_first(A::ANY, C::Float, O::Compute, K::FLOAT),
            _ => arrays(A::ANY, C::Promoted, O::Compute, K::FLOAT),
        },
        Class::IntegerPair => match op {
            Lcm => arrays(A::NUMBERS, C::Promoted, O::Compute, K::INTEGER),
            _ => arrays(A::ANY, C::Promoted, O::Compute, K::INTEGER),
        },
        Class::Comparison => match op {
            Equal | NotEqual => operator(A::ANY, C::Promoted, O::Bool, K::ALL),
            _ => operator(A::ANY, C::Promoted, O::Bool, K::REAL),
        },

        Class::Accumulation => arrays(A::ANY, C::Integer, O::Compute, K::WITH_UNSIGNED),
        Class::Moment => match op {
            Mean => arrays(A::INEXACT, C::Promoted, O::Compute, K::INEXACT),
            _ => arrays(A::ANY, C::Promoted, O::RealPart, K::INEXACT),
        },
        Class::Order => match op {
            Sort => arrays(A::ANY, C::Promoted, O::Compute, K::REAL_WITH_UNSIGNED),
            _ => arrays(A::ANY, C::Promoted, O::Compute, K::REAL),
        },
        Class::Truth => Rule::Own(own::truth),
        Class::Index => match op {
            CountNonzero => arrays(A::ANY, C::Promoted, O::Index, K::USUAL),
            _ => arrays(A::ANY, C::Promoted, O::Index, K::REAL_NUMBERS),
        },
        Class::Exponential => match op {
            Softmax => arrays(A::ANY, C::Promoted, O::Compute, K::FLOAT),
            _ => arrays(A::ANY, C::Float, O::Compute, K::INEXACT),
        },
        Class::Product => Rule::Own(own::matmul),
    }
}

/// Refuses the first Python scalar where the op takes none.
fn check_scalars(op: Op, scalars: Scalars, operands: &[Operand]) -> Result<(), Refusal> {
    let first_python = || operands.iter().position(|operand| operand.is_python());
    let refused = match scalars {
        Scalars::None => first_python(),
        Scalars::AfterFirst => first_python().filter(|index| *index == 0),
        Scalars::NotAll => operands.iter().all(|operand| operand.is_python()).then_some(0),
        Scalars::Any => None,
    };
    match refused.and_then(|index| Some((index, operands.get(index)?.dtype))) {
        Some((index, dtype)) => Err(Refusal::Scalar { semantics: NAME.into(), op, index, dtype }),
        None => Ok(()),
    }
}

/// Promotes the operands together, as `row` says.
fn together(op: Op, row: Row, operands: &[Operand]) -> Result<Typing, Refusal> {
    check_scalars(op, row.scalars, operands)?;
    let promoted = elementwise_dtype(operands).ok_or_else(|| refused(operands))?;
    if !row.accepts.has(promoted.kind()) {
        return Err(Refusal::Dtype { semantics: NAME.into(), op, dtype: promoted, accepts: row.accepts });
    }
    let compute = match (row.compute, promoted.kind()) {
        (Compute::Float, Kind::Bool | Kind::Unsigned | Kind::Signed) => DEFAULTS.float,
        (Compute::Integer, Kind::Bool | Kind::Unsigned | Kind::Signed) => DEFAULTS.integer,
        (Compute::BoolToInteger, Kind::Bool) => DEFAULTS.integer,
        (Compute::Promoted | Compute::Float | Compute::Integer | Compute::BoolToInteger, _) => promoted,
    };
    let result = match row.output {
        Output::Compute => compute,
        Output::Bool => B1,
        Output::RealPart => compute.real_part(),
        Output::Index => DEFAULTS.integer,
    };
    let has_kernel = row.kernels.contains(compute) && result_type(operands).is_some();
    Ok(Typing { has_kernel, ..Typing::uniform(compute, result) })
}

/// A dtype that PyTorch does not have, if there is one.
fn unknown(operands: &[Operand]) -> Option<DType> {
    let known = |dtype| kernels::ALL.contains(dtype) || matches!(dtype, WeakInt | WeakFloat | WeakComplex);
    operands.iter().map(|operand| operand.dtype).find(|dtype| !known(*dtype))
}

impl Rules for Torch {
    fn promote(&self, operands: &[Operand]) -> Result<DType, NoJoin> {
        match unknown(operands) {
            Some(dtype) => Err(NoJoin::NoNode { dtype }),
            None => result_type(operands).ok_or_else(|| no_join(operands)),
        }
    }

    fn looks_at_rank(&self) -> bool {
        true
    }

    fn lacks_kernels(&self) -> bool {
        true
    }

    fn infer(&self, op: Op, operands: &[Operand]) -> Result<Option<Typing>, Refusal> {
        let rule = rule(op);
        if let Rule::Stated = rule {
            return Ok(None);
        }
        if let Some(dtype) = unknown(operands) {
            return Err(Refusal::NoNode { semantics: NAME.into(), dtype });
        }
        let typing = match rule {
            Rule::Stated => return Ok(None),
            Rule::First(scalars) => {
                check_scalars(op, scalars, operands)?;
                let first = operands.first().ok_or_else(|| refused(operands))?;
                Typing::own(operands, first.dtype)
            }
            Rule::Together(row) => together(op, row, operands)?,
            Rule::Own(own) => own(op, operands)?,
            Rule::None(because) => return Err(Refusal::NoOp { semantics: NAME.into(), op, because }),
        };
        Ok(Some(typing))
    }
}
