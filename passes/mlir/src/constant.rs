//! Constants: their elements, and constant ops of other elements.

use mlir_sys::*;
use promote_lattice::DType;
use promote_lattice::convert::Bits;

use super::raw::{self, NewOp};

/// A constant op with this value, at the place of another op and with its other attributes, in no block yet.
pub fn like(other: MlirOperation, value: MlirAttribute, result: MlirType) -> MlirOperation {
    let context = raw::context(other);
    let kept = raw::attributes(other).filter(|(name, _)| name != "value");
    let kept = kept.map(|(name, value)| raw::named(context, &name, value));
    let attributes: Vec<_> = std::iter::once(raw::named(context, "value", value)).chain(kept).collect();
    raw::create(&NewOp {
        name: "promote.constant",
        location: raw::location(other),
        operands: &[],
        results: &[result],
        attributes: &attributes,
    })
}

/// The type of a dense attribute.
pub fn r#type(value: MlirAttribute) -> Option<MlirType> {
    // SAFETY: the attribute is alive.
    unsafe { mlirAttributeIsADenseElements(value).then(|| mlirAttributeGetType(value)) }
}

/// The elements of a dense attribute of `dtype`; one, if all are the same. `None` if they cannot be read: packed bits
/// of other types than bool.
pub fn elements(value: MlirAttribute, dtype: DType) -> Option<Vec<Bits>> {
    // SAFETY: the attribute is alive, and its accessors are called on a dense one, within its length.
    unsafe {
        if !mlirAttributeIsADenseElements(value) {
            return None;
        }
        let splat = mlirDenseElementsAttrIsSplat(value);
        let count = if splat { 1 } else { usize::try_from(mlirElementsAttrGetNumElements(value)).ok()? };
        if count == 0 {
            return Some(Vec::new());
        }
        match dtype {
            DType::B1 if splat => {
                return Some(vec![Bits::from(mlirDenseElementsAttrGetBoolSplatValue(value) != 0)]);
            }
            DType::B1 => {
                let bit = |i| Bits::from(mlirDenseElementsAttrGetBoolValue(value, i as isize));
                return Some((0..count).map(bit).collect());
            }
            _ if dtype.bits() == 1 => return None,
            _ => {}
        }
        let width = dtype.bits().div_ceil(8) as usize;
        let data =
            std::slice::from_raw_parts(mlirDenseElementsAttrGetRawData(value).cast::<u8>(), count * width);
        let bits =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |bits: Bits, byte| bits << 8 | Bits::from(*byte));
        Some(data.chunks_exact(width).map(bits).collect())
    }
}

/// A dense attribute of `result`'s type with these elements; a single one stands for all.
pub fn dense(bits: &[Bits], dtype: DType, result: MlirType) -> MlirAttribute {
    let width = dtype.bits().div_ceil(8) as usize;
    let bytes: Vec<u8> = if dtype.bits() == 1 {
        packed(bits)
    } else {
        bits.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
    };
    // SAFETY: the type is a static tensor's, and the buffer holds one element or all of them.
    unsafe { mlirDenseElementsAttrRawBufferGet(result, bytes.len(), bytes.as_ptr().cast()) }
}

/// One bit an element, the lowest first; a single element as a byte of eight equal bits.
fn packed(bits: &[Bits]) -> Vec<u8> {
    match bits {
        [single] => vec![if *single == 0 { 0 } else { u8::MAX }],
        all => all
            .chunks(8)
            .map(|bits| bits.iter().enumerate().fold(0, |byte, (i, bit)| byte | u8::from(*bit != 0) << i))
            .collect(),
    }
}
