//! Attributes as the passes see them.

use mlir_sys::*;
use promote_dialect::attrs::Value as Attribute;

/// An attribute's value.
pub fn attribute(value: MlirAttribute) -> Attribute {
    // SAFETY: the attribute is alive, and each accessor is called on an attribute of its kind.
    unsafe {
        if mlirAttributeIsABool(value) {
            Attribute::Flag(mlirBoolAttrGetValue(value))
        } else if mlirAttributeIsAInteger(value) {
            let r#type = mlirAttributeGetType(value);
            let signless = mlirTypeIsAInteger(r#type) && mlirIntegerTypeIsSignless(r#type);
            match signless && mlirIntegerTypeGetWidth(r#type) == 64 {
                true => Attribute::Int(mlirIntegerAttrGetValueInt(value)),
                false => Attribute::Other,
            }
        } else if mlirAttributeIsAFloat(value) && mlirTypeIsAF64(mlirAttributeGetType(value)) {
            Attribute::Float(mlirFloatAttrGetValueDouble(value))
        } else if mlirAttributeIsADenseI64Array(value) {
            let count = mlirDenseArrayGetNumElements(value);
            Attribute::Ints((0..count).map(|i| mlirDenseI64ArrayGetElement(value, i)).collect())
        } else if mlirAttributeIsADenseElements(value) {
            Attribute::Elements
        } else {
            Attribute::Other
        }
    }
}
