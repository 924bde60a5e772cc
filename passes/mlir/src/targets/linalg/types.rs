//! Types as linalg and arith want them: integers without a sign.
//!
//! [`make_signless`] takes `ui8`, `si1` and their like out of a whole program: of values, of function types, and of
//! attributes that are types or elements. What an op means by a number then stands in the op alone, as everywhere in
//! upstream dialects. All other element types stay: floats of 8 bits and less are storage, of a byte or less each.

use mlir_sys::*;
use rustc_hash::FxHashMap;

use crate::raw::{self, Address};
use crate::types;
use crate::units::Shared;

/// Translates types, each once.
#[derive(Debug, Default)]
pub struct Signless(FxHashMap<Address<MlirType>, MlirType>);

impl Signless {
    /// The same type with integers without a sign.
    pub fn of(&mut self, r#type: MlirType) -> MlirType {
        if let Some(known) = self.0.get(&Address(r#type)) {
            return *known;
        }
        let made = self.make(r#type);
        self.0.insert(Address(r#type), made);
        made
    }

    fn all(&mut self, types: Vec<MlirType>) -> Vec<MlirType> {
        types.into_iter().map(|r#type| self.of(r#type)).collect()
    }

    fn make(&mut self, r#type: MlirType) -> MlirType {
        // SAFETY: types live as long as the context, and each accessor is called on a type of its kind.
        unsafe {
            let context = mlirTypeGetContext(r#type);
            if mlirTypeIsAInteger(r#type) {
                return mlirIntegerTypeGet(context, mlirIntegerTypeGetWidth(r#type));
            }
            if mlirTypeIsAFunction(r#type) {
                let inputs = self.all(types::inputs(r#type));
                let results = self.all(types::results(r#type));
                return mlirFunctionTypeGet(
                    context,
                    inputs.len() as isize,
                    inputs.as_ptr(),
                    results.len() as isize,
                    results.as_ptr(),
                );
            }
            if mlirTypeIsATuple(r#type) {
                let parts =
                    (0..mlirTupleTypeGetNumTypes(r#type)).map(|i| mlirTupleTypeGetType(r#type, i)).collect();
                let parts = self.all(parts);
                return mlirTupleTypeGet(context, parts.len() as isize, parts.as_ptr());
            }
            if !mlirTypeIsAShaped(r#type) {
                return r#type;
            }
            let old = mlirShapedTypeGetElementType(r#type);
            let element = self.of(old);
            if mlirTypeEqual(old, element) { r#type } else { with_element(r#type, element) }
        }
    }
}

/// A tensor, memref or vector type with other elements; another shaped type as it is.
fn with_element(r#type: MlirType, element: MlirType) -> MlirType {
    // SAFETY: types live as long as the context, and each accessor is called on a type of its kind.
    unsafe {
        if mlirTypeIsAUnrankedTensor(r#type) {
            return mlirUnrankedTensorTypeGet(element);
        }
        if !mlirShapedTypeHasRank(r#type) {
            return r#type;
        }
        let rank = mlirShapedTypeGetRank(r#type);
        let dims: Vec<i64> = (0..rank as isize).map(|axis| mlirShapedTypeGetDimSize(r#type, axis)).collect();
        let dims = dims.as_ptr();
        if mlirTypeIsARankedTensor(r#type) {
            mlirRankedTensorTypeGet(rank as isize, dims, element, mlirRankedTensorTypeGetEncoding(r#type))
        } else if mlirTypeIsAMemRef(r#type) {
            let (layout, space) = (mlirMemRefTypeGetLayout(r#type), mlirMemRefTypeGetMemorySpace(r#type));
            mlirMemRefTypeGet(element, rank as isize, dims, layout, space)
        } else {
            r#type
        }
    }
}

/// Takes integers with a sign out of all that `root` has.
pub fn make_signless(root: MlirOperation, shared: Shared<'_>) {
    let mut types = Signless::default();
    for unit in shared.roots(root) {
        settle_attributes(unit.0, &mut types);
        shared.walk(unit.0, &mut |operation| settle(operation, &mut types));
        // A walk goes into an op, and an op's own block arguments belong to what is in it.
        settle_arguments(unit.0, &mut types);
    }
}

fn settle(operation: MlirOperation, types: &mut Signless) {
    raw::results(operation).for_each(|result| settle_value(result, types));
    if raw::is_named(operation, crate::ir::FUNCTION) {
        // It is a unit of its own.
        return;
    }
    settle_arguments(operation, types);
    settle_attributes(operation, types);
}

fn settle_arguments(operation: MlirOperation, types: &mut Signless) {
    let arguments = raw::regions(operation).flat_map(raw::blocks).flat_map(raw::arguments);
    arguments.for_each(|argument| settle_value(argument, types));
}

fn settle_value(value: MlirValue, types: &mut Signless) {
    let old = raw::value_type(value);
    let new = types.of(old);
    if Address(old) != Address(new) {
        raw::set_type(value, new);
    }
}

/// Rewrites attributes that are types, or elements.
fn settle_attributes(operation: MlirOperation, types: &mut Signless) {
    let all: Vec<_> = raw::attributes(operation).collect();
    for (name, value) in all {
        // SAFETY: the attribute is alive, and each accessor is called on an attribute of its kind.
        let new = unsafe {
            if mlirAttributeIsAType(value) {
                mlirTypeAttrGet(types.of(mlirTypeAttrGetValue(value)))
            } else if mlirAttributeIsADenseElements(value) {
                retyped(value, types.of(mlirAttributeGetType(value)))
            } else {
                continue;
            }
        };
        if Address(new) != Address(value) {
            raw::set_attribute(operation, &name, new);
        }
    }
}

/// The same elements as an attribute of a type of the same shape, whose elements are integers of the same width.
fn retyped(value: MlirAttribute, r#type: MlirType) -> MlirAttribute {
    // SAFETY: the attribute is alive and dense; its buffer holds one element, or all of them.
    unsafe {
        if mlirTypeEqual(mlirAttributeGetType(value), r#type) {
            return value;
        }
        let count = match mlirDenseElementsAttrIsSplat(value) {
            true => 1,
            false => mlirElementsAttrGetNumElements(value) as usize,
        };
        let bits = mlirIntegerTypeGetWidth(mlirShapedTypeGetElementType(r#type)) as usize;
        let size = if bits == 1 { count.div_ceil(8) } else { count * bits.div_ceil(8) };
        mlirDenseElementsAttrRawBufferGet(r#type, size, mlirDenseElementsAttrGetRawData(value))
    }
}
