//! Dtypes as DLPack names them.

use promote_lattice::DType;
use promote_passes::mlir::cpu::dlpack;
use promote_runtime::DLDataType;

/// A dtype's type code and width in DLPack.
pub const fn of(dtype: DType) -> DLDataType {
    let (code, bits) = dlpack(dtype);
    // No part of a number is wider than 128 bits.
    DLDataType { code, bits: bits as u8, lanes: 1 }
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
