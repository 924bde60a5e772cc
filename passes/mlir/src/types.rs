//! Types: from MLIR to the engine's [`Type`]s and back, each distinct one once.

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::DType;
use rustc_hash::{FxHashMap, FxHashSet};

use super::raw::{self, Address};
use super::units;
use promote_infer::graph::{Graph, Known, ShapeId, Type};
use promote_infer::shape::{DYNAMIC, Shape};

/// A translation table for the types of one graph.
#[derive(Debug, Default)]
pub struct Types {
    from: FxHashMap<Address<MlirType>, Type>,
    to: FxHashMap<(DType, ShapeId), Address<MlirType>>,
    mentions: FxHashMap<Address<MlirType>, bool>,
}

impl Types {
    /// What an MLIR type says about a value.
    pub fn view(&mut self, r#type: MlirType, names: &Names, graph: &mut Graph) -> Type {
        *self.from.entry(Address(r#type)).or_insert_with(|| view(r#type, names, graph))
    }

    /// Whether a type is weak or unknown, or has such a type anywhere in it.
    pub fn is_weak(&mut self, r#type: MlirType, names: &Names, graph: &mut Graph) -> bool {
        match self.view(r#type, names, graph).dtype {
            Known::DType(dtype) => dtype.is_weak(),
            Known::Unknown => true,
            Known::Opaque | Known::Refused => {
                *self.mentions.entry(Address(r#type)).or_insert_with(|| mentions_promote(r#type))
            }
        }
    }

    /// The tensor type of a dtype and a shape.
    pub fn tensor(&mut self, dtype: DType, shape: ShapeId, names: &Names, graph: &Graph) -> MlirType {
        let make = || Address(tensor(names.element(dtype), graph.shapes.get(shape)));
        self.to.entry((dtype, shape)).or_insert_with(make).0
    }
}

fn view(r#type: MlirType, names: &Names, graph: &mut Graph) -> Type {
    // SAFETY: types live as long as the context; each accessor is called on a type of its kind.
    unsafe {
        let ranked = mlirTypeIsARankedTensor(r#type);
        if !ranked && !mlirTypeIsAUnrankedTensor(r#type) {
            return Type::OPAQUE;
        }
        if ranked && !mlirRankedTensorTypeGetEncoding(r#type).ptr.is_null() {
            return Type::OPAQUE;
        }
        let element = mlirShapedTypeGetElementType(r#type);
        let dtype = match names.dtype(element) {
            Some(dtype) => Known::DType(dtype),
            None if names.is_unknown(element) => Known::Unknown,
            None => return Type::OPAQUE,
        };
        let shape = if ranked {
            let dims = (0..mlirShapedTypeGetRank(r#type)).map(|i| {
                match mlirShapedTypeGetDimSize(r#type, i as isize) {
                    size if mlirShapedTypeIsDynamicSize(size) => DYNAMIC,
                    size => size,
                }
            });
            graph.shapes.id(Shape::ranked(dims.collect::<Vec<_>>()))
        } else {
            ShapeId::UNRANKED
        };
        Type { dtype, shape }
    }
}

/// The tensor type with this element type and shape.
pub fn tensor(element: MlirType, shape: &Shape) -> MlirType {
    // SAFETY: the element type is alive, and tensors of the dialect's and the builtin numeric types are valid.
    unsafe {
        match shape.dims() {
            None => mlirUnrankedTensorTypeGet(element),
            Some(dims) => {
                // MLIR's dynamic size is the engine's.
                let none = MlirAttribute { ptr: std::ptr::null() };
                mlirRankedTensorTypeGet(dims.len() as isize, dims.as_ptr(), element, none)
            }
        }
    }
}

/// Whether a type has a type of the dialect anywhere in it, as a function type or tuple may. Types in types are looked
/// through once each: written out, they could be exponentially long.
fn mentions_promote(r#type: MlirType) -> bool {
    let mut seen = FxHashSet::default();
    let mut rest = vec![r#type];
    while let Some(r#type) = rest.pop() {
        if !seen.insert(Address(r#type)) {
            continue;
        }
        // SAFETY: types live as long as the context; each accessor is called on a type of its kind.
        unsafe {
            if mlirTypeIsATuple(r#type) {
                rest.extend((0..mlirTupleTypeGetNumTypes(r#type)).map(|i| mlirTupleTypeGetType(r#type, i)));
            } else if mlirTypeIsAFunction(r#type) {
                rest.extend(units::inputs(r#type));
                rest.extend(units::results(r#type));
            } else if mlirTypeIsAShaped(r#type) {
                rest.push(mlirShapedTypeGetElementType(r#type));
            } else if raw::type_text(r#type).contains("!promote.") {
                return true;
            }
        }
    }
    false
}
