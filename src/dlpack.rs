//! DLPack: dtypes as it names them, and its tensors, for those who exchange tensors by pointers.
//!
//! [`Function::call_on`](crate::Function::call_on) and its siblings take them; [`Tensor::into_managed`](crate::Tensor::into_managed)
//! makes one.

use promote_lattice::DType;
use promote_mlir::targets::cpu::dlpack;
pub use promote_runtime::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};

use crate::tensor::{RunError, Status};

/// The type code and width of a dtype in memory: a weak one is there as what it is stored in.
pub const fn of(dtype: DType) -> DLDataType {
    let Some((code, bits)) = dlpack(dtype.storage()) else { panic!("a dtype of storage is strong") };
    DLDataType { code, bits, lanes: 1 }
}

/// The strong dtype of a type code and width.
pub fn dtype(dtype: DLDataType) -> Option<DType> {
    DType::ALL.iter().copied().find(|&known| !known.is_weak() && of(known) == dtype)
}

/// Bytes of an element; dtypes narrower than a byte take one each.
pub const fn size(dtype: DType) -> usize {
    of(dtype).size()
}

/// Why a tensor of a version of DLPack cannot be read.
pub(crate) fn unknown_version(version: DLPackVersion) -> RunError {
    RunError { status: Status::Internal, message: version.refused() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_dtype_has_a_type_code_and_width_of_its_own() {
        for known in DType::strong() {
            assert_eq!(dtype(of(known)), Some(known));
        }
        let weak = DType::ALL.iter().filter(|dtype| dtype.is_weak());
        weak.for_each(|weak| assert_eq!(dlpack(*weak), None, "{weak}"));
    }

    #[test]
    fn messages_give_every_dtype_a_name_of_its_own() {
        let names: HashSet<String> = DType::strong().map(|dtype| of(dtype).to_string()).collect();
        assert_eq!(names.len(), DType::strong().count());
    }

    #[test]
    fn elements_take_as_many_bytes_as_in_kernels() {
        for known in DType::strong() {
            assert_eq!(size(known), promote_scalar::memory_size(known), "{known}");
            let align = of(known).align();
            let parts = size(known) / size(known.real_part());
            assert_eq!(align * parts, size(known), "{known}");
        }
    }
}
