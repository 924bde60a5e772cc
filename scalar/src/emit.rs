//! The machine that definitions are written for.
//!
//! Its instructions are what LLVM, MLIR's arith and math, PTX and SPIR-V all have, with one meaning: IEEE 754 arithmetic,
//! rounded to nearest even, subnormal numbers kept, nothing contracted or reordered; integers of two's complement that
//! wrap. What has no defined result there (a shift by the width or more, a division of integers by zero or of the least by -1,
//! a float converted to an integer that does not hold it) definitions never ask for.

use promote_lattice::{DType, Op};

/// What a register holds in each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// A truth value.
    I1,
    /// 8 bits.
    I8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// IEEE half precision; only converted from and to, where [`Emit::has_f16`].
    F16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Ty {
    /// The integers of so many bits.
    ///
    /// # Panics
    /// If no type has as many.
    pub const fn integer(bits: u32) -> Self {
        match bits {
            1 => Self::I1,
            8 => Self::I8,
            16 => Self::I16,
            32 => Self::I32,
            64 => Self::I64,
            _ => panic!("no integers have so many bits"),
        }
    }

    /// Width in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::I1 => 1,
            Self::I8 => 8,
            Self::I16 | Self::F16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
        }
    }

    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The integer type of the same width.
    pub const fn bits_type(self) -> Self {
        match self {
            Self::F16 => Self::I16,
            Self::F32 => Self::I32,
            Self::F64 => Self::I64,
            integer => integer,
        }
    }
}

/// An instruction of one operand; the result is of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// The sign bit flipped, also of a NaN.
    FNeg,
    /// The sign bit cleared, also of a NaN.
    FAbs,
    /// Square root, correctly rounded.
    Sqrt,
    /// Towards negative infinity.
    Floor,
    /// Towards positive infinity.
    Ceil,
    /// Towards zero.
    Trunc,
    /// To the nearest integer, ties to even.
    RoundEven,
    /// How many high bits of an integer are zero; the width for 0.
    LeadingZeros,
}

/// An instruction of two operands of one type; the result is of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// A sum of integers, modulo two to the width.
    Add,
    /// A difference of integers, modulo two to the width.
    Sub,
    /// A product of integers, modulo two to the width.
    Mul,
    /// The bits that both have.
    And,
    /// The bits that either has.
    Or,
    /// The bits that one has and the other has not.
    Xor,
    /// A shift to the left that fills with zeros.
    Shl,
    /// A shift to the right that fills with zeros.
    ShrU,
    /// A shift to the right that fills with the sign.
    ShrS,
    /// A quotient of unsigned integers, towards zero; the divisor is not zero.
    DivU,
    /// A quotient of signed integers, towards zero; the divisor is not zero, and the quotient in range.
    DivS,
    /// What [`DivU`](Self::DivU) leaves.
    RemU,
    /// What [`DivS`](Self::DivS) leaves, of the sign of the first operand.
    RemS,
    /// The lesser of two unsigned integers.
    MinU,
    /// The lesser of two signed integers.
    MinS,
    /// The greater of two unsigned integers.
    MaxU,
    /// The greater of two signed integers.
    MaxS,
    /// A sum of floats.
    FAdd,
    /// A difference of floats.
    FSub,
    /// A product of floats.
    FMul,
    /// A quotient of floats.
    FDiv,
    /// C's `fmod`: exact, of the sign of the first operand.
    FRem,
    /// The first operand with the sign of the second.
    CopySign,
}

/// A comparison. Those of floats are ordered, so false if an operand is NaN, but for [`FNe`](Self::FNe) and
/// [`FUnordered`](Self::FUnordered), which are then true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// Equal bits of integers.
    Eq,
    /// Different bits of integers.
    Ne,
    /// Less, of signed integers.
    LtS,
    /// Less or equal, of signed integers.
    LeS,
    /// Greater, of signed integers.
    GtS,
    /// Greater or equal, of signed integers.
    GeS,
    /// Less, of unsigned integers.
    LtU,
    /// Less or equal, of unsigned integers.
    LeU,
    /// Greater, of unsigned integers.
    GtU,
    /// Greater or equal, of unsigned integers.
    GeU,
    /// Equal floats, among them 0 and -0.
    FEq,
    /// Floats that are not equal, or one of which is NaN.
    FNe,
    /// Less, of floats.
    FLt,
    /// Less or equal, of floats.
    FLe,
    /// Greater, of floats.
    FGt,
    /// Greater or equal, of floats.
    FGe,
    /// Floats one of which is NaN.
    FUnordered,
}

/// A conversion to another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cast {
    /// A wider integer, filled with zeros.
    ZExt,
    /// A wider integer, filled with the sign.
    SExt,
    /// The low bits of an integer.
    Truncate,
    /// A signed integer to a float, rounded to nearest even.
    SToF,
    /// An unsigned integer to a float, rounded to nearest even.
    UToF,
    /// A float to a signed integer, towards zero; it must be in range.
    FToS,
    /// A float to an unsigned integer, towards zero; it must be in range.
    FToU,
    /// A wider float.
    FExt,
    /// A narrower float, rounded to nearest even.
    FTruncate,
    /// The same bits.
    Bitcast,
}

/// What makes a library raise an exception in the middle of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trap {
    /// An integer divided by zero, in PyTorch.
    DivisionByZero,
    /// An integer to a negative power, in NumPy and PyTorch.
    NegativePower,
    /// An index of `take` out of range, in NumPy and PyTorch.
    IndexOutOfRange,
}

/// Makes instructions. A value has a type and one or more lanes; all values of one emitter have as many.
pub trait Emit {
    /// The result of an instruction.
    type Value: Copy;

    /// The type of a value.
    fn ty(&self, value: Self::Value) -> Ty;

    /// The low bits of `value` in every lane; `ty` is an integer type.
    fn int(&mut self, ty: Ty, value: i64) -> Self::Value;

    /// `value`, rounded, in every lane; `ty` is a floating-point type.
    fn float(&mut self, ty: Ty, value: f64) -> Self::Value;

    /// An instruction of one operand.
    fn unary(&mut self, op: Unary, x: Self::Value) -> Self::Value;

    /// An instruction of two operands of the same type.
    fn binary(&mut self, op: Binary, x: Self::Value, y: Self::Value) -> Self::Value;

    /// `x * y + z`, rounded once.
    fn fma(&mut self, x: Self::Value, y: Self::Value, z: Self::Value) -> Self::Value;

    /// `x * y + z` where a definition does not rest on the product being exact: in one instruction if the machine has one
    /// that rounds once, else in two.
    fn mul_add(&mut self, x: Self::Value, y: Self::Value, z: Self::Value) -> Self::Value {
        self.fma(x, y, z)
    }

    /// A comparison of two values of the same type, which gives [`Ty::I1`].
    fn compare(&mut self, compare: Compare, x: Self::Value, y: Self::Value) -> Self::Value;

    /// `x` where `condition`, else `y`.
    fn select(&mut self, condition: Self::Value, x: Self::Value, y: Self::Value) -> Self::Value;

    /// A conversion.
    fn cast(&mut self, cast: Cast, x: Self::Value, to: Ty) -> Self::Value;

    /// Repeats `body` while `condition` is true in any lane. `body` is run for all lanes and leaves a lane as it is whose
    /// condition is false. The state keeps its length and types.
    fn repeat(
        &mut self,
        state: &[Self::Value],
        condition: impl FnMut(&mut Self, &[Self::Value]) -> Self::Value,
        body: impl FnMut(&mut Self, &[Self::Value]) -> Vec<Self::Value>,
    ) -> Vec<Self::Value>;

    /// Notes that the library raises an exception if `condition` is true in any lane. Computation goes on.
    fn trap(&mut self, condition: Self::Value, why: Trap);

    /// Whether the machine converts between [`Ty::F16`] and [`Ty::F32`] in an instruction.
    fn has_f16(&self) -> bool;

    /// Whether the machine divides integers of every type in one instruction that is as fast as others.
    fn divides_integers(&self) -> bool {
        false
    }

    /// Whether a float is known not to be NaN, which saves asking. What is computed is the same.
    fn is_number(&self, _x: Self::Value) -> bool {
        false
    }

    /// The same float, if the machine's optimiser may not know what it was made of, or what else is made of it: for a comparison, or as
    /// what was chosen by one.
    fn compared(&mut self, x: Self::Value) -> Self::Value {
        x
    }

    /// The same float for a choice by a comparison of it, if the machine's optimiser may not know what it was widened from.
    fn chosen(&mut self, x: Self::Value) -> Self::Value {
        x
    }

    /// Whether sums with constants are computed one after the other, as written. A machine that adds constants to each other
    /// first may not be asked to round by adding a large number and taking it away.
    fn keeps_sums(&self) -> bool {
        true
    }

    /// What the machine has an operation of its own for: the function that an op names, of registers of single or double
    /// precision or pairs of them. `None` if the definition is to be used, as it is everywhere by default.
    ///
    /// A machine that has such an operation is no longer held to the bits of the others; it states its own bounds.
    fn native(&mut self, _op: Op, _args: &[Element<Self::Value>]) -> Option<Element<Self::Value>> {
        None
    }

    /// The nearest number of a float dtype narrower than [`Ty::F32`] to `x`, which is an `f32`, ties to even: what
    /// [`round_to`](crate::round_to) returns, but for the bits of a NaN. `None` if the machine has no instruction for it: it is then
    /// computed.
    fn round(&mut self, _dtype: DType, _x: Self::Value) -> Option<Self::Value> {
        None
    }

    /// The code of `x`, a number of a float dtype narrower than [`Ty::F32`], extended with zeros to the type that it has in
    /// [memory](crate::memory()). `None` if the machine does not have the dtype: the code is then computed.
    fn encode(&mut self, _dtype: DType, _x: Self::Value) -> Option<Self::Value> {
        None
    }

    /// The number, as [`Ty::F32`], that a code of such a dtype is: the reverse of [`encode`](Self::encode).
    fn decode(&mut self, _dtype: DType, _code: Self::Value) -> Option<Self::Value> {
        None
    }
}

/// An element in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<V> {
    /// A truth value, an integer or a real number.
    Real(V),
    /// Real and imaginary part.
    Complex(V, V),
}

impl<V: Copy> Element<V> {
    /// The number, or the real part.
    pub fn real(self) -> V {
        match self {
            Self::Real(value) | Self::Complex(value, _) => value,
        }
    }
}
