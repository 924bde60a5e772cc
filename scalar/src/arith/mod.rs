//! Arithmetic on numbers outside of tensors: indices, truth values, integers that say with each op whether they have a sign,
//! and floats.
//!
//! These are the ops of MLIR's `arith`, `index` and `math` on scalars, with a result wherever those leave one open: integers
//! wrap, a shift by the width or more leaves no bit (or the sign), and a float that no integer holds gives the nearest that
//! there is, NaN 0. An integer must not be divided by zero; who asks for that checks the divisor.
//!
//! Numbers are held as elements are: see [`register`](crate::register).

mod convert;
mod floats;
mod integers;

use std::fmt::{self, Display, Formatter};

use promote_lattice::convert::Numerics;
use promote_lattice::op::{Class, ShapeRule};
use promote_lattice::{DType, Kind, Op};

use crate::emit::{Element, Emit};
use crate::ops::elementwise;
use crate::storage::{narrow, round_to};

/// What an op takes and returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// So many numbers of one type, and returns one of that type.
    Same(Domain, usize),
    /// So many numbers of one type; returns a truth value.
    Test(Domain, usize),
    /// A truth value and two numbers of one type, of which it returns one.
    Select,
    /// A number of any type; returns one of any other.
    Convert,
    /// A number; returns one of as many bits.
    Bitcast,
}

/// Which numbers an op takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Truth values.
    Truth,
    /// Integers, truth values among them.
    Bits,
    /// Integers of more than one bit.
    Integer,
    /// Floats.
    Float,
    /// Floats of at least 32 bits.
    Wide,
}

impl Domain {
    /// Whether numbers of a dtype are among them.
    pub fn has(self, dtype: DType) -> bool {
        let is_float = dtype.kind() == Kind::Float;
        match self {
            Self::Truth => dtype == DType::B1,
            Self::Bits => !is_float,
            Self::Integer => !is_float && dtype != DType::B1,
            Self::Float => is_float,
            Self::Wide => is_float && narrow(dtype).is_none(),
        }
    }
}

macro_rules! table {
    ($($op:ident $name:literal $form:expr, $text:literal;)*) => {
        /// An op on numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Arith {
            $(#[doc = $text] $op,)*
            /// A function of floats: an element-wise op of the dialect, as kernels compute it.
            Function(Op),
        }

        impl Arith {
            /// Every one, in order, but for functions.
            pub const ALL: &[Self] = &[$(Self::$op),*];

            /// Its name; of a function the op's.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$op => $name,)*
                    Self::Function(op) => op.name(),
                }
            }

            /// What it takes and returns.
            pub fn form(self) -> Form {
                use Domain::{Bits, Float, Integer, Truth, Wide};
                use Form::{Bitcast, Convert, Same, Select, Test};
                match self {
                    $(Self::$op => $form,)*
                    Self::Function(op) => Same(Float, op.info().arity.required),
                }
            }
        }
    };
}

table! {
    Add "add" Same(Bits, 2), "The sum.";
    Sub "sub" Same(Bits, 2), "The difference.";
    Mul "mul" Same(Bits, 2), "The product.";
    DivU "divu" Same(Integer, 2), "The quotient of unsigned integers, rounded down.";
    DivS "divs" Same(Integer, 2), "The quotient of signed integers, rounded towards zero.";
    CeilDivU "ceildivu" Same(Integer, 2), "The quotient of unsigned integers, rounded up.";
    CeilDivS "ceildivs" Same(Integer, 2), "The quotient of signed integers, rounded up.";
    FloorDivS "floordivs" Same(Integer, 2), "The quotient of signed integers, rounded down.";
    RemU "remu" Same(Integer, 2), "What a division of unsigned integers leaves.";
    RemS "rems" Same(Integer, 2), "What a division of signed integers leaves: it has the sign of the dividend.";
    MinU "minu" Same(Integer, 2), "The lesser of unsigned integers.";
    MinS "mins" Same(Integer, 2), "The lesser of signed integers.";
    MaxU "maxu" Same(Integer, 2), "The greater of unsigned integers.";
    MaxS "maxs" Same(Integer, 2), "The greater of signed integers.";
    And "and" Same(Bits, 2), "The bits that both have.";
    Or "or" Same(Bits, 2), "The bits that either has.";
    Xor "xor" Same(Bits, 2), "The bits that one of them has.";
    Shl "shl" Same(Integer, 2), "The first, shifted to the left.";
    ShrU "shru" Same(Integer, 2), "The first, shifted to the right, and filled with zeros.";
    ShrS "shrs" Same(Integer, 2), "The first, shifted to the right, and filled with its sign.";
    Abs "abs" Same(Integer, 1), "The magnitude of a signed integer.";
    LeadingZeros "ctlz" Same(Integer, 1), "How many high bits are zero.";
    TrailingZeros "cttz" Same(Integer, 1), "How many low bits are zero.";
    Ones "ctpop" Same(Integer, 1), "How many bits are one.";
    Not "not" Same(Truth, 1), "Whether a truth value does not hold.";
    Eq "eq" Test(Bits, 2), "Whether they are equal.";
    Ne "ne" Test(Bits, 2), "Whether they differ.";
    LtS "lts" Test(Bits, 2), "Whether the first is less, signed.";
    LeS "les" Test(Bits, 2), "Whether the first is less or equal, signed.";
    GtS "gts" Test(Bits, 2), "Whether the first is greater, signed.";
    GeS "ges" Test(Bits, 2), "Whether the first is greater or equal, signed.";
    LtU "ltu" Test(Bits, 2), "Whether the first is less, unsigned.";
    LeU "leu" Test(Bits, 2), "Whether the first is less or equal, unsigned.";
    GtU "gtu" Test(Bits, 2), "Whether the first is greater, unsigned.";
    GeU "geu" Test(Bits, 2), "Whether the first is greater or equal, unsigned.";
    Select "select" Select, "The second if the first, a truth value, holds, else the third.";
    AddF "addf" Same(Float, 2), "The sum of floats.";
    SubF "subf" Same(Float, 2), "The difference of floats.";
    MulF "mulf" Same(Float, 2), "The product of floats.";
    DivF "divf" Same(Float, 2), "The quotient of floats.";
    RemF "remf" Same(Float, 2), "What C's `fmod` gives.";
    NegF "negf" Same(Float, 1), "A float with its sign flipped.";
    Fma "fma" Same(Wide, 3), "The product of two floats and the sum with a third, rounded once.";
    MinF "minimumf" Same(Float, 2), "The lesser of floats; NaN if either is, and -0 is less than 0.";
    MaxF "maximumf" Same(Float, 2), "The greater of floats; NaN if either is, and -0 is less than 0.";
    MinNumF "minnumf" Same(Float, 2), "The lesser of floats; the other one if one is NaN.";
    MaxNumF "maxnumf" Same(Float, 2), "The greater of floats; the other one if one is NaN.";
    Oeq "oeq" Test(Float, 2), "Whether floats are equal; not if either is NaN, like all that follow up to `ord`.";
    Ogt "ogt" Test(Float, 2), "Whether the first is greater.";
    Oge "oge" Test(Float, 2), "Whether the first is greater or equal.";
    Olt "olt" Test(Float, 2), "Whether the first is less.";
    Ole "ole" Test(Float, 2), "Whether the first is less or equal.";
    One "one" Test(Float, 2), "Whether they differ.";
    Ord "ord" Test(Float, 2), "Whether neither is NaN.";
    Ueq "ueq" Test(Float, 2), "Whether floats are equal, or either is NaN, like all that follow up to `uno`.";
    Ugt "ugt" Test(Float, 2), "Whether the first is greater.";
    Uge "uge" Test(Float, 2), "Whether the first is greater or equal.";
    Ult "ult" Test(Float, 2), "Whether the first is less.";
    Ule "ule" Test(Float, 2), "Whether the first is less or equal.";
    Une "une" Test(Float, 2), "Whether they differ.";
    Uno "uno" Test(Float, 2), "Whether either is NaN.";
    IsNan "isnan" Test(Float, 1), "Whether a float is NaN.";
    IsInf "isinf" Test(Float, 1), "Whether a float is an infinity.";
    IsFinite "isfinite" Test(Float, 1), "Whether a float is neither NaN nor an infinity.";
    Round "round" Same(Float, 1), "The nearest whole number, the one further from zero of two.";
    ConvertS "converts" Convert, "A number as one of another type; integers are signed.";
    ConvertU "convertu" Convert, "A number as one of another type; integers are unsigned.";
    Bitcast "bitcast" Bitcast, "The number that has the same bits.";
}

impl Arith {
    /// The function of real numbers that an op of the dialect is, if it is one.
    pub fn function(op: Op) -> Option<Self> {
        let is_function = match op.class() {
            Class::Function | Class::SpecialFunction | Class::Rounding | Class::FloatPair | Class::Sign => {
                true
            }
            Class::Arithmetic => op == Op::Pow,
            Class::Stated
            | Class::Layout
            | Class::Indexing
            | Class::Joining
            | Class::Choice
            | Class::Part
            | Class::Predicate
            | Class::Logical
            | Class::Bitwise
            | Class::Shift
            | Class::Extremum
            | Class::IntegerPair
            | Class::Comparison
            | Class::Accumulation
            | Class::Moment
            | Class::Order
            | Class::Truth
            | Class::Index
            | Class::Exponential
            | Class::Product => false,
        };
        (is_function && op.info().shape == ShapeRule::Broadcast).then_some(Self::Function(op))
    }

    /// Whether its second operand is a divisor, which must not be zero.
    pub fn divides(self) -> bool {
        use Arith::{CeilDivS, CeilDivU, DivS, DivU, FloorDivS, RemS, RemU};
        matches!(self, DivU | DivS | CeilDivU | CeilDivS | FloorDivS | RemU | RemS)
    }
}

/// As a program has it: `arith.add`, `math.sin`.
impl Display for Arith {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let dialect = if let Self::Function(_) = self { "math" } else { "arith" };
        write!(f, "{dialect}.{}", self.name())
    }
}

/// `op` of numbers in registers; `dtypes` are the operands', and `result` is the result's.
///
/// # Panics
/// If the op does not take such numbers.
pub fn arith<E: Emit>(
    e: &mut E,
    op: Arith,
    numerics: Numerics,
    (dtypes, result): (&[DType], DType),
    args: &[E::Value],
) -> E::Value {
    match (op.form(), args) {
        (Form::Select, [condition, x, y]) => e.select(*condition, *x, *y),
        (Form::Convert, [x]) => convert::convert(e, op == Arith::ConvertS, dtypes[0], result, *x),
        (Form::Bitcast, [x]) => convert::bitcast(e, dtypes[0], result, *x),
        (Form::Test(Domain::Float | Domain::Wide, _), [x]) => floats::ask(e, op, *x),
        (Form::Test(Domain::Float | Domain::Wide, _), [x, y]) => floats::test(e, op, *x, *y),
        (Form::Test(..), [x, y]) => e.compare(integers::comparison(op), *x, *y),
        (Form::Same(Domain::Float | Domain::Wide, _), args) => {
            let computed = match op {
                Arith::Function(op) => function(e, op, numerics, result, args),
                op => floats::same(e, op, args),
            };
            round_to(e, result, computed)
        }
        (Form::Same(..), [x]) => integers::unary(e, op, *x),
        (Form::Same(..), [x, y]) if result == DType::B1 => integers::of_truths(e, op, *x, *y),
        (Form::Same(..), [x, y]) => integers::binary(e, op, *x, *y),
        (form, args) => unreachable!("{} of {} numbers, which takes {form:?}", op.name(), args.len()),
    }
}

fn function<E: Emit>(e: &mut E, op: Op, numerics: Numerics, dtype: DType, args: &[E::Value]) -> E::Value {
    let args: Vec<_> = args.iter().map(|arg| Element::Real(*arg)).collect();
    let computed = elementwise(e, op, numerics, &vec![dtype; args.len()], dtype, &args);
    computed.unwrap_or_else(|| unreachable!("{} is a function of floats", op.name())).real()
}
