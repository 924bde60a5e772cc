//! Types.

use mlir_sys::*;

use super::printed;

/// A type as MLIR writes it.
pub fn type_text(r#type: MlirType) -> String {
    // SAFETY: types live as long as the context.
    printed(|callback, data| unsafe { mlirTypePrint(r#type, callback, data) })
}

/// Whether a type is a tensor's, ranked or not.
pub fn is_tensor(r#type: MlirType) -> bool {
    // SAFETY: the type is alive.
    unsafe { mlirTypeIsATensor(r#type) }
}

/// The number of dimensions of a tensor type, if that is known.
pub fn rank(r#type: MlirType) -> Option<usize> {
    // SAFETY: the type is alive, and asked for its rank only if it has one.
    unsafe { mlirTypeIsARankedTensor(r#type).then(|| mlirShapedTypeGetRank(r#type) as usize) }
}

/// The extents of a tensor type, `None` where it is dynamic; none at all if its rank is not known.
pub fn extents(r#type: MlirType) -> impl ExactSizeIterator<Item = Option<i64>> {
    // SAFETY: the type is a ranked tensor's if it has axes, and they are within its rank.
    (0..rank(r#type).unwrap_or(0)).map(move |axis| unsafe {
        (!mlirShapedTypeIsDynamicDim(r#type, axis as isize))
            .then(|| mlirShapedTypeGetDimSize(r#type, axis as isize))
    })
}

/// The element type of a type that is a tensor's, ranked or not.
pub fn element_type(r#type: MlirType) -> Option<MlirType> {
    // SAFETY: the type is alive, and a tensor's if it is asked for its elements.
    unsafe { is_tensor(r#type).then(|| mlirShapedTypeGetElementType(r#type)) }
}

/// Whether a type is a ranked tensor's with an encoding.
pub fn is_encoded(r#type: MlirType) -> bool {
    // SAFETY: the type is alive, and a ranked tensor's if it is asked for its encoding.
    unsafe { mlirTypeIsARankedTensor(r#type) && !mlirRankedTensorTypeGetEncoding(r#type).ptr.is_null() }
}

/// The type of indices.
pub fn index_type(context: MlirContext) -> MlirType {
    // SAFETY: the context is alive.
    unsafe { mlirIndexTypeGet(context) }
}

/// The type of truth values.
pub fn truth_type(context: MlirContext) -> MlirType {
    // SAFETY: the context is alive.
    unsafe { mlirIntegerTypeGet(context, 1) }
}
