//! Integers as wide as other dtypes.

use promote_lattice::DType;

/// The unsigned integer of the width of a real dtype.
pub const fn bits_dtype(dtype: DType) -> DType {
    match dtype.bits() {
        0..=2 => DType::U2,
        3..=4 => DType::U4,
        5..=8 => DType::U8,
        9..=16 => DType::U16,
        17..=32 => DType::U32,
        _ => DType::U64,
    }
}

/// The signed integer of the width of a real dtype.
pub const fn signed_dtype(dtype: DType) -> DType {
    match dtype.bits() {
        0..=2 => DType::I2,
        3..=4 => DType::I4,
        5..=8 => DType::I8,
        9..=16 => DType::I16,
        17..=32 => DType::I32,
        _ => DType::I64,
    }
}
