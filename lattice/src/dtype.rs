//! Dtypes: the nodes of every promotion lattice, and what is known of each.
//!
//! Use [`DType`] wherever a dtype is named; parse it from and print it in the notation of the promotion tables
//! (`"bf16"`, `"u8"`, `"f*"`). [`DType::props`] says what a dtype can hold; nothing in this crate lists pairs of
//! dtypes by hand when their properties decide.
//!
//! One macro row per dtype makes the enum, the names, the MLIR spelling and the properties, so a new dtype is one line.

use std::fmt;
use std::str::FromStr;

/// What sort of numbers a dtype holds, in the order in which promotion raises them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Truth values.
    Bool,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers, two's complement.
    Signed,
    /// Real floating-point numbers.
    Float,
    /// Complex numbers: two floating-point numbers.
    Complex,
}

/// How a floating-point format spells infinities, NaNs and negative zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Specials {
    /// IEEE 754: infinities, NaNs, signed zeros.
    Ieee,
    /// No infinity; the all-ones code is the NaN (`fn`).
    NanOnly,
    /// No infinity and no negative zero; the code of negative zero is the NaN (`fnuz`).
    NanIsNegativeZero,
    /// No infinity and no NaN: every code is a number (`f4e2m1fn`, `f6e2m3fn`, `f6e3m2fn`).
    FiniteOnly,
    /// Unsigned powers of two; all ones is the NaN; no zero (`f8e8m0fnu`).
    ExponentOnly,
}

/// A floating-point format: one sign bit (none for [`Specials::ExponentOnly`]), exponent, mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatFormat {
    /// Width of the exponent field in bits.
    pub exponent_bits: u32,
    /// Width of the stored mantissa in bits (the hidden bit not counted).
    pub mantissa_bits: u32,
    /// What is subtracted from the exponent field.
    pub bias: i32,
    /// Infinities, NaNs and zeros.
    pub specials: Specials,
}

impl FloatFormat {
    /// Whether there are zeros of both signs.
    pub const fn has_negative_zero(self) -> bool {
        match self.specials {
            Specials::Ieee | Specials::NanOnly | Specials::FiniteOnly => true,
            Specials::NanIsNegativeZero | Specials::ExponentOnly => false,
        }
    }
}

/// What a dtype can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Props {
    /// The sort of numbers.
    pub kind: Kind,
    /// Storage width in bits; of a complex dtype both parts together. A weak dtype has the width of the value that carries it (64, 128).
    pub bits: u32,
    /// The format of a float, or of each part of a complex number.
    pub format: Option<FloatFormat>,
}

macro_rules! dtypes {
    ($($variant:ident $name:literal $mlir:literal $kind:ident $bits:literal $format:expr, $doc:literal;)*) => {
        /// A dtype: a node of the promotion lattices. The weak ones (`i*`, `f*`, `c*`, …) are Python scalars and weakly
        /// typed arrays, whose kind counts in promotion while their width does not (JEP 9407).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum DType { $(#[doc = $doc] $variant,)* }

        impl DType {
            /// Every dtype, in declaration order: `ALL[d as usize] == d`.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The name in the notation of the promotion tables.
            pub const fn name(self) -> &'static str { match self { $(DType::$variant => $name,)* } }

            /// The element type that stands for this dtype in MLIR.
            pub const fn mlir(self) -> &'static str { match self { $(DType::$variant => $mlir,)* } }

            /// What the dtype can hold.
            pub const fn props(self) -> Props {
                match self { $(DType::$variant => Props { kind: Kind::$kind, bits: $bits, format: $format },)* }
            }
        }
    };
}

const fn ieee(exponent_bits: u32, mantissa_bits: u32) -> Option<FloatFormat> {
    format(exponent_bits, mantissa_bits, (1 << (exponent_bits - 1)) - 1, Specials::Ieee)
}

const fn format(
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
) -> Option<FloatFormat> {
    Some(FloatFormat { exponent_bits, mantissa_bits, bias, specials })
}

dtypes! {
    B1 "b1" "i1" Bool 1 None, "bool";
    U8 "u8" "ui8" Unsigned 8 None, "uint8";
    U16 "u16" "ui16" Unsigned 16 None, "uint16";
    U32 "u32" "ui32" Unsigned 32 None, "uint32";
    U64 "u64" "ui64" Unsigned 64 None, "uint64";
    I8 "i8" "i8" Signed 8 None, "int8";
    I16 "i16" "i16" Signed 16 None, "int16";
    I32 "i32" "i32" Signed 32 None, "int32";
    I64 "i64" "i64" Signed 64 None, "int64";
    BF16 "bf16" "bf16" Float 16 ieee(8, 7), "bfloat16";
    F16 "f16" "f16" Float 16 ieee(5, 10), "float16";
    F32 "f32" "f32" Float 32 ieee(8, 23), "float32";
    F64 "f64" "f64" Float 64 ieee(11, 52), "float64";
    C64 "c64" "complex<f32>" Complex 64 ieee(8, 23), "complex64";
    C128 "c128" "complex<f64>" Complex 128 ieee(11, 52), "complex128";
    U1 "u1" "ui1" Unsigned 1 None, "uint1";
    U2 "u2" "ui2" Unsigned 2 None, "uint2";
    U4 "u4" "ui4" Unsigned 4 None, "uint4";
    I1 "i1" "si1" Signed 1 None, "int1 (`si1` in MLIR, where `i1` is bool)";
    I2 "i2" "i2" Signed 2 None, "int2";
    I4 "i4" "i4" Signed 4 None, "int4";
    F4E2M1FN "f4e2m1fn" "f4E2M1FN" Float 4 format(2, 1, 1, Specials::FiniteOnly), "float4_e2m1fn";
    F6E2M3FN "f6e2m3fn" "f6E2M3FN" Float 6 format(2, 3, 1, Specials::FiniteOnly), "float6_e2m3fn";
    F6E3M2FN "f6e3m2fn" "f6E3M2FN" Float 6 format(3, 2, 3, Specials::FiniteOnly), "float6_e3m2fn";
    F8E3M4 "f8e3m4" "f8E3M4" Float 8 ieee(3, 4), "float8_e3m4";
    F8E4M3 "f8e4m3" "f8E4M3" Float 8 ieee(4, 3), "float8_e4m3";
    F8E8M0FNU "f8e8m0fnu" "f8E8M0FNU" Float 8 format(8, 0, 127, Specials::ExponentOnly), "float8_e8m0fnu";
    F8E4M3B11FNUZ "f8e4m3b11fnuz" "f8E4M3B11FNUZ" Float 8 format(4, 3, 11, Specials::NanIsNegativeZero), "float8_e4m3b11fnuz";
    F8E4M3FN "f8e4m3fn" "f8E4M3FN" Float 8 format(4, 3, 7, Specials::NanOnly), "float8_e4m3fn";
    F8E4M3FNUZ "f8e4m3fnuz" "f8E4M3FNUZ" Float 8 format(4, 3, 8, Specials::NanIsNegativeZero), "float8_e4m3fnuz";
    F8E5M2 "f8e5m2" "f8E5M2" Float 8 ieee(5, 2), "float8_e5m2";
    F8E5M2FNUZ "f8e5m2fnuz" "f8E5M2FNUZ" Float 8 format(5, 2, 16, Specials::NanIsNegativeZero), "float8_e5m2fnuz";
    WeakInt "i*" "!promote.weak_int" Signed 64 None, "a weakly typed integer";
    WeakFloat "f*" "!promote.weak_float" Float 64 ieee(11, 52), "a weakly typed float";
    WeakComplex "c*" "!promote.weak_complex" Complex 128 ieee(11, 52), "a weakly typed complex number";
    C32 "c32" "complex<f16>" Complex 32 ieee(5, 10), "complex32, as in PyTorch";
    BC32 "bc32" "complex<bf16>" Complex 32 ieee(8, 7), "a complex number of two bfloat16, as in PyTorch";
    WeakI64 "i64*" "!promote.weak_int64" Signed 64 None, "a weakly typed integer that would be 64 bits wide, as in TensorFlow, whose `i*` would be 32";
    WeakF64 "f64*" "!promote.weak_float64" Float 64 ieee(11, 52), "a weakly typed float that would be 64 bits wide, as in TensorFlow, whose `f*` would be 32";
}

impl DType {
    /// How many dtypes there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Every dtype that an array can be stored in: all but the weak ones, in declaration order.
    pub fn strong() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.iter().copied().filter(|dtype| !dtype.is_weak())
    }

    /// The dtype whose discriminant is `index`, if there is one.
    pub const fn from_index(index: usize) -> Option<Self> {
        if index < Self::COUNT { Some(Self::ALL[index]) } else { None }
    }

    /// The sort of numbers the dtype holds.
    pub const fn kind(self) -> Kind {
        self.props().kind
    }

    /// Storage width in bits (see [`Props::bits`]).
    pub const fn bits(self) -> u32 {
        self.props().bits
    }

    /// Whether the dtype is `i*`, `f*`, `c*` or one of TensorFlow's `i64*` and `f64*`.
    pub const fn is_weak(self) -> bool {
        matches!(self, Self::WeakInt | Self::WeakFloat | Self::WeakComplex | Self::WeakI64 | Self::WeakF64)
    }

    /// Whether the dtype holds integers: signed, unsigned or `i*`, but not bool.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Unsigned | Kind::Signed)
    }

    /// Whether `number` is in the dtype's range, if the dtype is an integer; others take any.
    pub const fn holds_integer(self, number: i64) -> bool {
        let bits = self.bits();
        match self.kind() {
            Kind::Unsigned => number >= 0 && (bits >= 64 || number < 1 << bits),
            Kind::Signed => bits >= 64 || (-1 << (bits - 1) <= number && number < 1 << (bits - 1)),
            Kind::Bool | Kind::Float | Kind::Complex => true,
        }
    }

    /// The number of an integer dtype's range that is nearest to `number`; for other dtypes the number itself.
    pub const fn nearest_integer(self, number: i64) -> i64 {
        if self.holds_integer(number) {
            return number;
        }
        match (self.kind(), number < 0) {
            (Kind::Signed, true) => -1 << (self.bits() - 1),
            (Kind::Signed, false) => (1 << (self.bits() - 1)) - 1,
            (Kind::Unsigned, true) => 0,
            // 64 bits hold every number that is not negative.
            (Kind::Unsigned, false) => (1 << self.bits()) - 1,
            (Kind::Bool | Kind::Float | Kind::Complex, _) => number,
        }
    }

    /// Whether the dtype holds floats or complex numbers.
    pub const fn is_inexact(self) -> bool {
        matches!(self.kind(), Kind::Float | Kind::Complex)
    }

    /// The dtype of the real and imaginary part of a complex dtype; any other dtype is its own real part.
    pub const fn real_part(self) -> Self {
        match self {
            Self::C32 => Self::F16,
            Self::BC32 => Self::BF16,
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            Self::WeakComplex => Self::WeakFloat,
            other => other,
        }
    }

    /// The dtype that a weak value's number is stored in before its width is known: `i64`, `f64`, `c128`. Others are themselves.
    pub const fn storage(self) -> Self {
        match self {
            Self::WeakInt | Self::WeakI64 => Self::I64,
            Self::WeakFloat | Self::WeakF64 => Self::F64,
            Self::WeakComplex => Self::C128,
            other => other,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no dtype's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a dtype: write one of b1, u8, i32, bf16, f32, c64, f8e4m3fn, i*, f*, c*, …")]
pub struct UnknownDType(pub String);

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(name: &str) -> Result<Self, UnknownDType> {
        Self::ALL.iter().copied().find(|d| d.name() == name).ok_or_else(|| UnknownDType(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_dtype_has_a_name_and_an_element_type_of_its_own() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(*dtype));
            assert_eq!(DType::from_index(*dtype as usize), Some(*dtype));
        }
        let element_types: HashSet<&str> = DType::ALL.iter().map(|dtype| dtype.mlir()).collect();
        assert_eq!(element_types.len(), DType::COUNT);
    }
}
