//! Arithmetic on numbers outside of tensors: indices, truth values, integers that say with each op whether they have a sign,
//! and floats.
//!
//! These are the ops of MLIR's `arith`, `index` and `math` on scalars, with a result wherever those leave one open: integers
//! wrap, a shift by the width or more leaves no bit (or the sign), and a float that no integer holds gives the nearest that
//! there is, NaN 0. An integer must not be divided by zero; who asks for that checks the divisor.
//!
//! Numbers are held as elements are: see [`register`].

use std::fmt::{self, Display, Formatter};

use promote_lattice::convert::Numerics;
use promote_lattice::op::{Class, ShapeRule};
use promote_lattice::{DType, Kind, Op};

use crate::build::Build;
use crate::convert::{round_once, saturated};
use crate::emit::{Binary, Cast, Compare, Element, Emit, Ty, Unary};
use crate::ops::{divide_signed, elementwise};
use crate::storage::{load, narrow, register, round_to, store};

/// What an op takes and returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// So many numbers of one type, and returns one of that type.
    Same(Domain, usize),
    /// Two numbers of one type; returns a truth value.
    Test(Domain),
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
    Eq "eq" Test(Bits), "Whether they are equal.";
    Ne "ne" Test(Bits), "Whether they differ.";
    LtS "lts" Test(Bits), "Whether the first is less, signed.";
    LeS "les" Test(Bits), "Whether the first is less or equal, signed.";
    GtS "gts" Test(Bits), "Whether the first is greater, signed.";
    GeS "ges" Test(Bits), "Whether the first is greater or equal, signed.";
    LtU "ltu" Test(Bits), "Whether the first is less, unsigned.";
    LeU "leu" Test(Bits), "Whether the first is less or equal, unsigned.";
    GtU "gtu" Test(Bits), "Whether the first is greater, unsigned.";
    GeU "geu" Test(Bits), "Whether the first is greater or equal, unsigned.";
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
    Oeq "oeq" Test(Float), "Whether floats are equal; not if either is NaN, like all that follow up to `ord`.";
    Ogt "ogt" Test(Float), "Whether the first is greater.";
    Oge "oge" Test(Float), "Whether the first is greater or equal.";
    Olt "olt" Test(Float), "Whether the first is less.";
    Ole "ole" Test(Float), "Whether the first is less or equal.";
    One "one" Test(Float), "Whether they differ.";
    Ord "ord" Test(Float), "Whether neither is NaN.";
    Ueq "ueq" Test(Float), "Whether floats are equal, or either is NaN, like all that follow up to `uno`.";
    Ugt "ugt" Test(Float), "Whether the first is greater.";
    Uge "uge" Test(Float), "Whether the first is greater or equal.";
    Ult "ult" Test(Float), "Whether the first is less.";
    Ule "ule" Test(Float), "Whether the first is less or equal.";
    Une "une" Test(Float), "Whether they differ.";
    Uno "uno" Test(Float), "Whether either is NaN.";
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
        (Form::Convert, [x]) => convert(e, op == Arith::ConvertS, dtypes[0], result, *x),
        (Form::Bitcast, [x]) => bitcast(e, dtypes[0], result, *x),
        (Form::Test(Domain::Float | Domain::Wide), [x, y]) => test_floats(e, op, *x, *y),
        (Form::Test(_), [x, y]) => e.compare(comparison(op), *x, *y),
        (Form::Same(Domain::Float | Domain::Wide, _), args) => {
            let computed = match op {
                Arith::Function(op) => function(e, op, numerics, result, args),
                op => floats(e, op, args),
            };
            round_to(e, result, computed)
        }
        (Form::Same(..), [x]) => integer(e, op, *x),
        (Form::Same(..), [x, y]) if result == DType::B1 => truths(e, op, *x, *y),
        (Form::Same(..), [x, y]) => integers(e, op, *x, *y),
        (form, args) => unreachable!("{} of {} numbers, which takes {form:?}", op.name(), args.len()),
    }
}

fn function<E: Emit>(e: &mut E, op: Op, numerics: Numerics, dtype: DType, args: &[E::Value]) -> E::Value {
    let args: Vec<_> = args.iter().map(|arg| Element::Real(*arg)).collect();
    let computed = elementwise(e, op, numerics, &vec![dtype; args.len()], dtype, &args);
    computed.unwrap_or_else(|| unreachable!("{} is a function of floats", op.name())).real()
}

// Integers.

fn integer<E: Emit>(e: &mut E, op: Arith, x: E::Value) -> E::Value {
    match op {
        Arith::Not => e.not(x),
        Arith::Abs => {
            let (is_negative, negative) = (e.is(Compare::LtS, x, 0.0), e.neg(x));
            e.select(is_negative, negative, x)
        }
        Arith::LeadingZeros => e.unary(Unary::LeadingZeros, x),
        Arith::TrailingZeros => {
            // Below the lowest bit that is one there are ones.
            let less_one = e.offset(x, -1.0);
            let others = e.not(x);
            let below = e.and(others, less_one);
            ones(e, below)
        }
        Arith::Ones => ones(e, x),
        op => unreachable!("{} takes more than one integer", op.name()),
    }
}

/// How many bits are one: sums of neighbours, in fields that double.
fn ones<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let mut sum = x;
    for (places, mask) in [(1, 0x55), (2, 0x33), (4, 0x0f)] {
        let mask = i64::from_le_bytes([mask; 8]);
        let high = e.shift(Binary::ShrU, sum, places);
        let (high, low) = (e.masked(high, mask), e.masked(sum, mask));
        sum = e.add(high, low);
    }
    let mut places = 8;
    while places < e.ty(x).bits() {
        let high = e.shift(Binary::ShrU, sum, places);
        sum = e.add(sum, high);
        places *= 2;
    }
    e.masked(sum, 0xff)
}

/// Of truth values, whose arithmetic is that of one bit.
fn truths<E: Emit>(e: &mut E, op: Arith, x: E::Value, y: E::Value) -> E::Value {
    match op {
        Arith::Add | Arith::Sub | Arith::Xor => e.xor(x, y),
        Arith::Mul | Arith::And => e.and(x, y),
        Arith::Or => e.or(x, y),
        op => unreachable!("{} takes wider integers", op.name()),
    }
}

fn integers<E: Emit>(e: &mut E, op: Arith, x: E::Value, y: E::Value) -> E::Value {
    match op {
        Arith::Add => e.add(x, y),
        Arith::Sub => e.sub(x, y),
        Arith::Mul => e.mul(x, y),
        Arith::DivU => e.binary(Binary::DivU, x, y),
        Arith::RemU => e.binary(Binary::RemU, x, y),
        Arith::DivS => quotient(e, x, y),
        Arith::RemS => rest(e, x, y).1,
        Arith::CeilDivU => {
            let (quotient, rest) = (e.binary(Binary::DivU, x, y), e.binary(Binary::RemU, x, y));
            let (is_inexact, up) = (e.is(Compare::Ne, rest, 0.0), e.offset(quotient, 1.0));
            e.select(is_inexact, up, quotient)
        }
        Arith::CeilDivS => {
            let (quotient, rest) = rest(e, x, y);
            let (is_inexact, up) = (e.is(Compare::Ne, rest, 0.0), e.offset(quotient, 1.0));
            let signs = e.xor(x, y);
            let is_positive = e.is(Compare::GeS, signs, 0.0);
            let goes_up = e.and(is_inexact, is_positive);
            e.select(goes_up, up, quotient)
        }
        Arith::FloorDivS => {
            let (quotient, rest) = rest(e, x, y);
            let (is_inexact, down) = (e.is(Compare::Ne, rest, 0.0), e.offset(quotient, -1.0));
            let signs = e.xor(x, y);
            let is_negative = e.is(Compare::LtS, signs, 0.0);
            let goes_down = e.and(is_inexact, is_negative);
            e.select(goes_down, down, quotient)
        }
        Arith::MinU => e.binary(Binary::MinU, x, y),
        Arith::MinS => e.binary(Binary::MinS, x, y),
        Arith::MaxU => e.binary(Binary::MaxU, x, y),
        Arith::MaxS => e.binary(Binary::MaxS, x, y),
        Arith::And => e.and(x, y),
        Arith::Or => e.or(x, y),
        Arith::Xor => e.xor(x, y),
        Arith::Shl | Arith::ShrU => {
            let (shift, zero) = (if op == Arith::Shl { Binary::Shl } else { Binary::ShrU }, e.bits(x, 0));
            let (places, is_beyond) = places(e, y);
            let shifted = e.binary(shift, x, places);
            e.select(is_beyond, zero, shifted)
        }
        Arith::ShrS => {
            let (places, is_beyond) = places(e, y);
            let last = e.ty(x).bits() - 1;
            let sign = e.shift(Binary::ShrS, x, last);
            let shifted = e.binary(Binary::ShrS, x, places);
            e.select(is_beyond, sign, shifted)
        }
        op => unreachable!("{} takes another number of integers", op.name()),
    }
}

/// The places of a shift, or 0 if no bit is left of those; and whether that is so.
fn places<E: Emit>(e: &mut E, y: E::Value) -> (E::Value, E::Value) {
    let width = f64::from(e.ty(y).bits());
    let (is_beyond, zero) = (e.is(Compare::GeU, y, width), e.bits(y, 0));
    (e.select(is_beyond, zero, y), is_beyond)
}

fn quotient<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> E::Value {
    divide_signed(e, x, y, |e, x, y| e.binary(Binary::DivS, x, y))
}

/// The quotient of signed integers, rounded towards zero, and what is left.
fn rest<E: Emit>(e: &mut E, x: E::Value, y: E::Value) -> (E::Value, E::Value) {
    let quotient = quotient(e, x, y);
    let whole = e.mul(quotient, y);
    (quotient, e.sub(x, whole))
}

fn comparison(op: Arith) -> Compare {
    match op {
        Arith::Eq => Compare::Eq,
        Arith::Ne => Compare::Ne,
        Arith::LtS => Compare::LtS,
        Arith::LeS => Compare::LeS,
        Arith::GtS => Compare::GtS,
        Arith::GeS => Compare::GeS,
        Arith::LtU => Compare::LtU,
        Arith::LeU => Compare::LeU,
        Arith::GtU => Compare::GtU,
        Arith::GeU => Compare::GeU,
        op => unreachable!("{} compares no integers", op.name()),
    }
}

// Floats.

fn floats<E: Emit>(e: &mut E, op: Arith, args: &[E::Value]) -> E::Value {
    match (op, args) {
        (Arith::AddF, [x, y]) => e.add(*x, *y),
        (Arith::SubF, [x, y]) => e.sub(*x, *y),
        (Arith::MulF, [x, y]) => e.mul(*x, *y),
        (Arith::DivF, [x, y]) => e.div(*x, *y),
        (Arith::RemF, [x, y]) => e.binary(Binary::FRem, *x, *y),
        (Arith::NegF, [x]) => e.neg(*x),
        (Arith::Fma, [x, y, z]) => e.fma(*x, *y, *z),
        (Arith::MinF | Arith::MinNumF, [x, y]) => extreme(e, op == Arith::MinNumF, Compare::FLt, *x, *y),
        (Arith::MaxF | Arith::MaxNumF, [x, y]) => extreme(e, op == Arith::MaxNumF, Compare::FGt, *x, *y),
        (op, args) => unreachable!("{} of {} floats", op.name(), args.len()),
    }
}

/// The lesser or the greater of two floats. Zeros are told from each other by their signs, which bits alone see.
fn extreme<E: Emit>(e: &mut E, passes_nan: bool, first: Compare, x: E::Value, y: E::Value) -> E::Value {
    let is_first = e.compare(first, x, y);
    let chosen = e.select(is_first, x, y);
    let (is_equal, a, b) = (e.compare(Compare::FEq, x, y), e.to_bits(x), e.to_bits(y));
    let joined = if first == Compare::FLt { e.or(a, b) } else { e.and(a, b) };
    let ty = e.ty(x);
    let equal = e.cast(Cast::Bitcast, joined, ty);
    let chosen = e.select(is_equal, equal, chosen);
    if passes_nan {
        // A comparison with NaN chooses the second; that is to be the other one.
        let is_nan = e.is_nan(y);
        return e.select(is_nan, x, chosen);
    }
    let (is_nan, nan) = (e.compare(Compare::FUnordered, x, y), e.add(x, y));
    e.select(is_nan, nan, chosen)
}

fn test_floats<E: Emit>(e: &mut E, op: Arith, x: E::Value, y: E::Value) -> E::Value {
    let (compare, is_inverted) = match op {
        Arith::Oeq => (Compare::FEq, false),
        Arith::Ogt => (Compare::FGt, false),
        Arith::Oge => (Compare::FGe, false),
        Arith::Olt => (Compare::FLt, false),
        Arith::Ole => (Compare::FLe, false),
        Arith::Une => (Compare::FNe, false),
        Arith::Uno => (Compare::FUnordered, false),
        Arith::Ord => (Compare::FUnordered, true),
        Arith::Ugt => (Compare::FLe, true),
        Arith::Uge => (Compare::FLt, true),
        Arith::Ult => (Compare::FGe, true),
        Arith::Ule => (Compare::FGt, true),
        Arith::One | Arith::Ueq => {
            let (is_less, is_greater) = (e.compare(Compare::FLt, x, y), e.compare(Compare::FGt, x, y));
            let differ = e.or(is_less, is_greater);
            return if op == Arith::One { differ } else { e.not(differ) };
        }
        op => unreachable!("{} compares no floats", op.name()),
    };
    let holds = e.compare(compare, x, y);
    if is_inverted { e.not(holds) } else { holds }
}

// Conversions.

/// `is_signed` says how integers are read; a truth value then is -1.
fn convert<E: Emit>(e: &mut E, is_signed: bool, from: DType, to: DType, x: E::Value) -> E::Value {
    match (from.kind() == Kind::Float, to.kind() == Kind::Float) {
        (true, true) => round_once(e, from, to, x),
        (true, false) => {
            let whole = saturated(e, integer_of(to.bits(), is_signed), x);
            e.resize(whole, register(to), is_signed)
        }
        (false, true) => to_float(e, is_signed, to, x),
        (false, false) => e.resize(x, register(to), is_signed),
    }
}

/// The integer dtype of at least so many bits.
fn integer_of(bits: u32, is_signed: bool) -> DType {
    match (bits, is_signed) {
        (..=8, true) => DType::I8,
        (..=16, true) => DType::I16,
        (..=32, true) => DType::I32,
        (_, true) => DType::I64,
        (..=8, false) => DType::U8,
        (..=16, false) => DType::U16,
        (..=32, false) => DType::U32,
        (_, false) => DType::U64,
    }
}

/// An integer as a float, rounded once.
fn to_float<E: Emit>(e: &mut E, is_signed: bool, to: DType, x: E::Value) -> E::Value {
    let cast = if is_signed { Cast::SToF } else { Cast::UToF };
    let x = if e.ty(x).bits() < 32 { e.resize(x, Ty::I32, is_signed) } else { x };
    if narrow(to).is_none() {
        return e.cast(cast, x, register(to));
    }
    let exact = if e.ty(x) == Ty::I64 { fit_f64(e, is_signed, x) } else { x };
    let double = e.cast(cast, exact, Ty::F64);
    round_once(e, DType::F64, to, double)
}

/// An integer that `f64` holds and that rounds to narrower formats as this one: what low bits there are beyond its precision
/// is kept in one.
fn fit_f64<E: Emit>(e: &mut E, is_signed: bool, x: E::Value) -> E::Value {
    const LOW: i64 = (1 << 11) - 1;
    let low = e.masked(x, LOW);
    let is_inexact = e.is(Compare::Ne, low, 0.0);
    let cut = e.masked(x, !LOW);
    let last = e.bits(x, LOW + 1);
    let odd = e.or(cut, last);
    let odd = e.select(is_inexact, odd, cut);
    let moved = if is_signed { e.offset(x, (1_u64 << 53) as f64) } else { x };
    let end = if is_signed { 1_i64 << 54 } else { 1 << 53 };
    let end = e.bits(x, end);
    let fits = e.compare(Compare::LtU, moved, end);
    e.select(fits, x, odd)
}

fn bitcast<E: Emit>(e: &mut E, from: DType, to: DType, x: E::Value) -> E::Value {
    let bits = match from.kind() {
        Kind::Float if narrow(from).is_some() => store(e, from, x),
        Kind::Float => e.to_bits(x),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Complex => x,
    };
    match to.kind() {
        Kind::Float if narrow(to).is_some() => load(e, to, bits),
        Kind::Float => e.cast(Cast::Bitcast, bits, register(to)),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Complex => bits,
    }
}
