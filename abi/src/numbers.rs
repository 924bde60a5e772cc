//! The numbers: statuses, traps, DLPack's type codes, and kinds of elements to sort.

macro_rules! numbers {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $repr:ident {
            $($(#[doc = $variant_doc:literal])* $variant:ident $text:literal = $number:literal,)*
        }
    )*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[repr($repr)]
            pub enum $name { $($(#[doc = $variant_doc])* $variant = $number,)* }

            impl $name {
                /// All of them, in order of their numbers.
                pub const ALL: &'static [$name] = &[$($name::$variant),*];

                /// The one of a number.
                pub const fn from_number(number: $repr) -> Option<$name> {
                    match number {
                        $($number => Some($name::$variant),)*
                        _ => None,
                    }
                }

                /// The one that Rust calls so, in letters of either case.
                pub const fn named(name: &str) -> Option<$name> {
                    $(if name.eq_ignore_ascii_case(stringify!($variant)) {
                        return Some($name::$variant);
                    })*
                    None
                }

                /// The name outside of Rust: C's, and for a type code that of messages.
                pub const fn name(self) -> &'static str {
                    match self { $($name::$variant => $text,)* }
                }
            }
        )*
    };
}

numbers! {
    /// How a call ended: what functions of the C interface return.
    Status: i32 {
        /// It succeeded.
        Ok "PROMOTE_OK" = 0,
        /// A pointer that must not be null is.
        Null "PROMOTE_NULL" = 1,
        /// A tensor is not in CPU memory.
        Device "PROMOTE_DEVICE" = 2,
        /// A tensor has another dtype than the function takes or returns.
        Dtype "PROMOTE_DTYPE" = 3,
        /// A tensor has another number of dimensions.
        Rank "PROMOTE_RANK" = 4,
        /// A tensor has another shape, a negative extent, or more elements than memory.
        Shape "PROMOTE_SHAPE" = 5,
        /// The strides of an output put several elements in one place, or the strides of a tensor leave the address space.
        Strides "PROMOTE_STRIDES" = 6,
        /// Memory could not be had.
        Memory "PROMOTE_MEMORY" = 7,
        /// A check made while running did not hold, for example that two extents agree.
        Check "PROMOTE_CHECK" = 8,
        /// An integer was divided by zero where the semantics refuse that.
        Division "PROMOTE_DIVISION" = 9,
        /// An integer was raised to a negative power.
        NegativePower "PROMOTE_NEGATIVE_POWER" = 10,
        /// An index was out of range where the semantics refuse that.
        Index "PROMOTE_INDEX" = 11,
        /// A fault of compiled code or of this library.
        Internal "PROMOTE_INTERNAL" = 12,
    }

    /// What code met that the semantics refuse: the `code` of `promote_rt_trap`.
    Trap: i32 {
        /// An integer was divided by zero.
        Division "PROMOTE_TRAP_DIVISION" = 1,
        /// An integer was raised to a negative power.
        NegativePower "PROMOTE_TRAP_NEGATIVE_POWER" = 2,
        /// An index was out of range.
        Index "PROMOTE_TRAP_INDEX" = 3,
    }

    /// DLPack's type codes, and ours for what it has no name for.
    TypeCode: u8 {
        /// Signed integers.
        Int "int" = 0,
        /// Unsigned integers.
        UInt "uint" = 1,
        /// IEEE's floats.
        Float "float" = 2,
        /// The upper half of single precision.
        Bfloat "bfloat" = 4,
        /// Two of IEEE's floats, a real and an imaginary part.
        Complex "complex" = 5,
        /// Bytes that are 0 or 1.
        Bool "bool" = 6,
        /// Floats of eight bits.
        F8E3M4 "float8_e3m4" = 7,
        /// Floats of eight bits.
        F8E4M3 "float8_e4m3" = 8,
        /// Floats of eight bits.
        F8E4M3B11FNUZ "float8_e4m3b11fnuz" = 9,
        /// Floats of eight bits.
        F8E4M3FN "float8_e4m3fn" = 10,
        /// Floats of eight bits.
        F8E4M3FNUZ "float8_e4m3fnuz" = 11,
        /// Floats of eight bits.
        F8E5M2 "float8_e5m2" = 12,
        /// Floats of eight bits.
        F8E5M2FNUZ "float8_e5m2fnuz" = 13,
        /// Floats of eight bits.
        F8E8M0FNU "float8_e8m0fnu" = 14,
        /// Floats of six bits.
        F6E2M3FN "float6_e2m3fn" = 15,
        /// Floats of six bits.
        F6E3M2FN "float6_e3m2fn" = 16,
        /// Floats of four bits.
        F4E2M1FN "float4_e2m1fn" = 17,
        /// Two bfloat16, a real and an imaginary part: ours, DLPack's complex numbers have parts of IEEE's formats. DLPack's own codes
        /// are counted up from 0; ours have the high bit.
        Bcomplex "bcomplex32" = 133,
    }

    /// What elements a sort compares: the `kind` of `promote_rt_sort`.
    SortKind: i32 {
        /// Bytes that are 0 or 1.
        Bool "PROMOTE_SORT_BOOL" = 0,
        /// `u8`, and narrower unsigned integers in bytes.
        U8 "PROMOTE_SORT_U8" = 1,
        /// `u16`.
        U16 "PROMOTE_SORT_U16" = 2,
        /// `u32`.
        U32 "PROMOTE_SORT_U32" = 3,
        /// `u64`.
        U64 "PROMOTE_SORT_U64" = 4,
        /// `i8`, and narrower signed integers, extended to bytes.
        I8 "PROMOTE_SORT_I8" = 5,
        /// `i16`.
        I16 "PROMOTE_SORT_I16" = 6,
        /// `i32`.
        I32 "PROMOTE_SORT_I32" = 7,
        /// `i64`.
        I64 "PROMOTE_SORT_I64" = 8,
        /// bfloat16.
        Bf16 "PROMOTE_SORT_BF16" = 9,
        /// IEEE half.
        F16 "PROMOTE_SORT_F16" = 10,
        /// `f32`.
        F32 "PROMOTE_SORT_F32" = 11,
        /// `f64`.
        F64 "PROMOTE_SORT_F64" = 12,
        /// Two `f32`.
        C64 "PROMOTE_SORT_C64" = 13,
        /// Two `f64`.
        C128 "PROMOTE_SORT_C128" = 14,
        /// Four bits in a byte: no infinity, no NaN.
        F4E2M1FN "PROMOTE_SORT_F4E2M1FN" = 15,
        /// Six bits in a byte: no infinity, no NaN.
        F6E2M3FN "PROMOTE_SORT_F6E2M3FN" = 16,
        /// Six bits in a byte: no infinity, no NaN.
        F6E3M2FN "PROMOTE_SORT_F6E3M2FN" = 17,
        /// Eight bits as in IEEE 754, three of them the exponent.
        F8E3M4 "PROMOTE_SORT_F8E3M4" = 18,
        /// Eight bits as in IEEE 754, four of them the exponent.
        F8E4M3 "PROMOTE_SORT_F8E4M3" = 19,
        /// Powers of two without a sign; all ones is the NaN.
        F8E8M0FNU "PROMOTE_SORT_F8E8M0FNU" = 20,
        /// Eight bits; the NaN is what would be negative zero.
        F8E4M3B11FNUZ "PROMOTE_SORT_F8E4M3B11FNUZ" = 21,
        /// Eight bits; the NaN is all ones.
        F8E4M3FN "PROMOTE_SORT_F8E4M3FN" = 22,
        /// Eight bits; the NaN is what would be negative zero.
        F8E4M3FNUZ "PROMOTE_SORT_F8E4M3FNUZ" = 23,
        /// Eight bits as in IEEE 754, five of them the exponent.
        F8E5M2 "PROMOTE_SORT_F8E5M2" = 24,
        /// Eight bits; the NaN is what would be negative zero.
        F8E5M2FNUZ "PROMOTE_SORT_F8E5M2FNUZ" = 25,
        /// Two IEEE halves.
        C32 "PROMOTE_SORT_C32" = 26,
        /// Two bfloat16.
        Bc32 "PROMOTE_SORT_BC32" = 27,
        /// Two `f32` in JAX's order.
        JaxC64 "PROMOTE_SORT_JAXC64" = 28,
        /// Two `f64` in JAX's order.
        JaxC128 "PROMOTE_SORT_JAXC128" = 29,
        /// Two IEEE halves in JAX's order.
        JaxC32 "PROMOTE_SORT_JAXC32" = 30,
        /// Two bfloat16 in JAX's order.
        JaxBc32 "PROMOTE_SORT_JAXBC32" = 31,
    }
}

impl TypeCode {
    /// Whether the code does not imply the width: messages write it after the name.
    pub const fn has_widths(self) -> bool {
        matches!(
            self,
            TypeCode::Int | TypeCode::UInt | TypeCode::Float | TypeCode::Bfloat | TypeCode::Complex
        )
    }
}
