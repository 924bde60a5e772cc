//! Dtypes as DLPack and NumPy name them.

use promote_lattice::{DType, Kind};
use promote_runtime::DLDataType;

/// A dtype's type code and width in DLPack.
pub const fn of(dtype: DType) -> DLDataType {
    let bits = dtype.bits() as u8;
    let (code, bits) = match dtype {
        DType::BF16 => (4, bits),
        DType::F8E3M4 => (7, bits),
        DType::F8E4M3 => (8, bits),
        DType::F8E4M3B11FNUZ => (9, bits),
        DType::F8E4M3FN => (10, bits),
        DType::F8E4M3FNUZ => (11, bits),
        DType::F8E5M2 => (12, bits),
        DType::F8E5M2FNUZ => (13, bits),
        DType::F8E8M0FNU => (14, bits),
        DType::F6E2M3FN => (15, bits),
        DType::F6E3M2FN => (16, bits),
        DType::F4E2M1FN => (17, bits),
        _ => match dtype.kind() {
            Kind::Bool => (6, 8),
            Kind::Signed => (0, bits),
            Kind::Unsigned => (1, bits),
            Kind::Float => (2, bits),
            Kind::Complex => (5, bits),
        },
    };
    DLDataType { code, bits, lanes: 1 }
}

/// The strong dtype of a type code and width; the first one, where DLPack cannot tell two apart.
pub fn dtype(dtype: DLDataType) -> Option<DType> {
    DType::ALL.iter().copied().find(|&known| !known.is_weak() && of(known) == dtype)
}

/// Bytes of an element; dtypes narrower than a byte take one each.
pub const fn size(dtype: DType) -> usize {
    of(dtype).size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_come_back() {
        for &known in DType::ALL.iter().filter(|known| !known.is_weak() && **known != DType::BC32) {
            assert_eq!(dtype(of(known)), Some(known));
        }
    }
}
