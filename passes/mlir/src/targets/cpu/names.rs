//! What DLPack and the run time call dtypes.
//!
//! # Laws
//! - A dtype has at most one name in each, and no two dtypes share one in DLPack: what a tensor says it holds, it holds.

use promote_lattice::DType;
use promote_lattice::convert::Numerics;

/// DLPack's code of a dtype's sort of numbers, and the width that it says; none for weak dtypes, which no tensor in memory has.
///
/// DLPack has no name for two bfloat16. Its codes are counted up from 0; ours, for what it lacks, have the high bit.
pub const fn dlpack(dtype: DType) -> Option<(u8, u8)> {
    Some(match dtype {
        DType::I1 => (0, 1),
        DType::I2 => (0, 2),
        DType::I4 => (0, 4),
        DType::I8 => (0, 8),
        DType::I16 => (0, 16),
        DType::I32 => (0, 32),
        DType::I64 => (0, 64),
        DType::U1 => (1, 1),
        DType::U2 => (1, 2),
        DType::U4 => (1, 4),
        DType::U8 => (1, 8),
        DType::U16 => (1, 16),
        DType::U32 => (1, 32),
        DType::U64 => (1, 64),
        DType::F16 => (2, 16),
        DType::F32 => (2, 32),
        DType::F64 => (2, 64),
        DType::BF16 => (4, 16),
        DType::C32 => (5, 32),
        DType::C64 => (5, 64),
        DType::C128 => (5, 128),
        DType::B1 => (6, 8),
        DType::F8E3M4 => (7, 8),
        DType::F8E4M3 => (8, 8),
        DType::F8E4M3B11FNUZ => (9, 8),
        DType::F8E4M3FN => (10, 8),
        DType::F8E4M3FNUZ => (11, 8),
        DType::F8E5M2 => (12, 8),
        DType::F8E5M2FNUZ => (13, 8),
        DType::F8E8M0FNU => (14, 8),
        DType::F6E2M3FN => (15, 6),
        DType::F6E3M2FN => (16, 6),
        DType::F4E2M1FN => (17, 4),
        DType::BC32 => (128 + 5, 32),
        DType::WeakInt | DType::WeakI64 | DType::WeakFloat | DType::WeakF64 | DType::WeakComplex => {
            return None;
        }
    })
}

/// The run time's number of what is sorted, in the order that the library has.
pub fn sort_kind(dtype: DType, numerics: Numerics) -> u64 {
    let is_jax = numerics == Numerics::Jax;
    match dtype.storage() {
        DType::C64 if is_jax => 28,
        DType::C128 if is_jax => 29,
        DType::C32 if is_jax => 30,
        DType::BC32 if is_jax => 31,
        DType::B1 => 0,
        DType::U1 | DType::U2 | DType::U4 | DType::U8 => 1,
        DType::U16 => 2,
        DType::U32 => 3,
        DType::U64 => 4,
        DType::I1 | DType::I2 | DType::I4 | DType::I8 => 5,
        DType::I16 => 6,
        DType::I32 => 7,
        DType::I64 => 8,
        DType::BF16 => 9,
        DType::F16 => 10,
        DType::F32 => 11,
        DType::F64 => 12,
        DType::C64 => 13,
        DType::C128 => 14,
        DType::F4E2M1FN => 15,
        DType::F6E2M3FN => 16,
        DType::F6E3M2FN => 17,
        DType::F8E3M4 => 18,
        DType::F8E4M3 => 19,
        DType::F8E8M0FNU => 20,
        DType::F8E4M3B11FNUZ => 21,
        DType::F8E4M3FN => 22,
        DType::F8E4M3FNUZ => 23,
        DType::F8E5M2 => 24,
        DType::F8E5M2FNUZ => 25,
        DType::C32 => 26,
        DType::BC32 => 27,
        DType::WeakInt | DType::WeakI64 | DType::WeakFloat | DType::WeakF64 | DType::WeakComplex => {
            unreachable!("a weak dtype is stored as a strong one")
        }
    }
}
