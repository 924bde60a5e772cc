//! What DLPack and the run time call dtypes.
//!
//! # Laws
//! - A dtype has at most one name in each, and no two dtypes share one in DLPack: what a tensor says it holds, it holds.

use promote_abi::{SortKind, TypeCode as Code};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;

/// DLPack's code of a dtype's sort of numbers, and the width that it says; none for weak dtypes, which no tensor in memory has.
pub const fn dlpack(dtype: DType) -> Option<(u8, u8)> {
    let (code, bits) = match dtype {
        DType::I1 => (Code::Int, 1),
        DType::I2 => (Code::Int, 2),
        DType::I4 => (Code::Int, 4),
        DType::I8 => (Code::Int, 8),
        DType::I16 => (Code::Int, 16),
        DType::I32 => (Code::Int, 32),
        DType::I64 => (Code::Int, 64),
        DType::U1 => (Code::UInt, 1),
        DType::U2 => (Code::UInt, 2),
        DType::U4 => (Code::UInt, 4),
        DType::U8 => (Code::UInt, 8),
        DType::U16 => (Code::UInt, 16),
        DType::U32 => (Code::UInt, 32),
        DType::U64 => (Code::UInt, 64),
        DType::F16 => (Code::Float, 16),
        DType::F32 => (Code::Float, 32),
        DType::F64 => (Code::Float, 64),
        DType::BF16 => (Code::Bfloat, 16),
        DType::C32 => (Code::Complex, 32),
        DType::C64 => (Code::Complex, 64),
        DType::C128 => (Code::Complex, 128),
        DType::B1 => (Code::Bool, 8),
        DType::F8E3M4 => (Code::F8E3M4, 8),
        DType::F8E4M3 => (Code::F8E4M3, 8),
        DType::F8E4M3B11FNUZ => (Code::F8E4M3B11FNUZ, 8),
        DType::F8E4M3FN => (Code::F8E4M3FN, 8),
        DType::F8E4M3FNUZ => (Code::F8E4M3FNUZ, 8),
        DType::F8E5M2 => (Code::F8E5M2, 8),
        DType::F8E5M2FNUZ => (Code::F8E5M2FNUZ, 8),
        DType::F8E8M0FNU => (Code::F8E8M0FNU, 8),
        DType::F6E2M3FN => (Code::F6E2M3FN, 6),
        DType::F6E3M2FN => (Code::F6E3M2FN, 6),
        DType::F4E2M1FN => (Code::F4E2M1FN, 4),
        DType::BC32 => (Code::Bcomplex, 32),
        DType::WeakInt | DType::WeakI64 | DType::WeakFloat | DType::WeakF64 | DType::WeakComplex => {
            return None;
        }
    };
    Some((code as u8, bits))
}

/// What the run time sorts, in the order that the library has.
pub fn sort_kind(dtype: DType, numerics: Numerics) -> SortKind {
    let is_jax = numerics == Numerics::Jax;
    match dtype.storage() {
        DType::C64 if is_jax => SortKind::JaxC64,
        DType::C128 if is_jax => SortKind::JaxC128,
        DType::C32 if is_jax => SortKind::JaxC32,
        DType::BC32 if is_jax => SortKind::JaxBc32,
        DType::B1 => SortKind::Bool,
        DType::U1 | DType::U2 | DType::U4 | DType::U8 => SortKind::U8,
        DType::U16 => SortKind::U16,
        DType::U32 => SortKind::U32,
        DType::U64 => SortKind::U64,
        DType::I1 | DType::I2 | DType::I4 | DType::I8 => SortKind::I8,
        DType::I16 => SortKind::I16,
        DType::I32 => SortKind::I32,
        DType::I64 => SortKind::I64,
        DType::BF16 => SortKind::Bf16,
        DType::F16 => SortKind::F16,
        DType::F32 => SortKind::F32,
        DType::F64 => SortKind::F64,
        DType::C64 => SortKind::C64,
        DType::C128 => SortKind::C128,
        DType::F4E2M1FN => SortKind::F4E2M1FN,
        DType::F6E2M3FN => SortKind::F6E2M3FN,
        DType::F6E3M2FN => SortKind::F6E3M2FN,
        DType::F8E3M4 => SortKind::F8E3M4,
        DType::F8E4M3 => SortKind::F8E4M3,
        DType::F8E8M0FNU => SortKind::F8E8M0FNU,
        DType::F8E4M3B11FNUZ => SortKind::F8E4M3B11FNUZ,
        DType::F8E4M3FN => SortKind::F8E4M3FN,
        DType::F8E4M3FNUZ => SortKind::F8E4M3FNUZ,
        DType::F8E5M2 => SortKind::F8E5M2,
        DType::F8E5M2FNUZ => SortKind::F8E5M2FNUZ,
        DType::C32 => SortKind::C32,
        DType::BC32 => SortKind::Bc32,
        DType::WeakInt | DType::WeakI64 | DType::WeakFloat | DType::WeakF64 | DType::WeakComplex => {
            unreachable!("a weak dtype is stored as a strong one")
        }
    }
}
