//! Strong programs in MLIR, as lowering reads them.

use mlir_sys::*;
use promote_host::strong::Strong;
use promote_lattice::Kind;
use promote_lower::program::Literal;
use promote_lower::types::Number;

use super::constant::elements;
use super::ir::Mlir;
use super::raw::{self, Address};

impl Strong for Mlir {
    fn number_type(&self, r#type: Address<MlirType>) -> Option<Number> {
        // SAFETY: types live as long as the context; each accessor is called on a type of its kind.
        unsafe {
            if mlirTypeIsAIndex(r#type.0) {
                return Some(Number::Index);
            }
            if mlirTypeIsAInteger(r#type.0) && mlirIntegerTypeIsSignless(r#type.0) {
                return Some(Number::Int(mlirIntegerTypeGetWidth(r#type.0)));
            }
        }
        let dtype = self.vocabulary.names.dtype(r#type.0);
        dtype.filter(|dtype| dtype.kind() == Kind::Float).map(Number::Float)
    }

    fn number(&self, op: Address<MlirOperation>, r#type: Number) -> Option<Literal> {
        let value = raw::attribute(op.0, "value")?;
        // SAFETY: the attribute is alive, and each accessor is called on one of its kind.
        unsafe {
            match r#type {
                Number::Float(dtype) if mlirAttributeIsAFloat(value) => {
                    // As an element of a tensor it tells its bits, those of a NaN too.
                    let none = MlirAttribute { ptr: std::ptr::null() };
                    let r#type =
                        mlirRankedTensorTypeGet(0, std::ptr::null(), mlirAttributeGetType(value), none);
                    let elements = elements(mlirDenseElementsAttrSplatGet(r#type, value), dtype)?;
                    elements.first().copied().map(Literal::Float)
                }
                Number::Int(1) if mlirAttributeIsABool(value) => {
                    Some(Literal::Int(mlirBoolAttrGetValue(value).into()))
                }
                Number::Index | Number::Int(_) if mlirAttributeIsAInteger(value) => {
                    Some(Literal::Int(mlirIntegerAttrGetValueInt(value)))
                }
                Number::Index | Number::Int(_) | Number::Float(_) => None,
            }
        }
    }

    fn integer(&self, op: Address<MlirOperation>, name: &str) -> Option<i64> {
        let value = raw::attribute(op.0, name)?;
        // SAFETY: the attribute is alive, and its accessor is called on an integer.
        unsafe { mlirAttributeIsAInteger(value).then(|| mlirIntegerAttrGetValueInt(value)) }
    }

    fn cases(&self, op: Address<MlirOperation>) -> Vec<i64> {
        let Some(values) = raw::attribute(op.0, "case_values") else { return Vec::new() };
        // SAFETY: the attribute is alive, and asked for its elements, integers, if it has such.
        unsafe {
            let is_dense = mlirAttributeIsADenseIntElements(values);
            let count = if is_dense { mlirElementsAttrGetNumElements(values) as u64 } else { 0 };
            let value = |index| mlirElementsAttrGetValue(values, 1, [index].as_mut_ptr());
            (0..count).map(|index| mlirIntegerAttrGetValueInt(value(index))).collect()
        }
    }

    fn string(&self, op: Address<MlirOperation>, name: &str) -> Option<String> {
        raw::string_attribute(op.0, name)
    }

    fn attribute_text(&self, op: Address<MlirOperation>, name: &str) -> Option<String> {
        let value = raw::attribute(op.0, name)?;
        // SAFETY: the attribute is alive.
        Some(raw::printed(|print, to| unsafe { mlirAttributePrint(value, print, to) }))
    }
}
