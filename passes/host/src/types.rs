//! Types: from a host's to the engine's [`Type`]s and back, each distinct one once.

use promote_infer::graph::{Graph, Known, ShapeId, Type};
use promote_lattice::DType;
use rustc_hash::FxHashMap;

use crate::ir::{Element, Ir, Tensor};
use crate::rules::Form;

/// A translation table for the types of one graph.
pub struct Types<I: Ir> {
    from: FxHashMap<I::Type, Type>,
    to: FxHashMap<(DType, ShapeId, Form), I::Type>,
    mentions: FxHashMap<I::Type, bool>,
}

impl<I: Ir> Default for Types<I> {
    fn default() -> Self {
        Self { from: FxHashMap::default(), to: FxHashMap::default(), mentions: FxHashMap::default() }
    }
}

impl<I: Ir> Types<I> {
    /// What a type says about a value.
    pub fn view(&mut self, r#type: I::Type, ir: &I, graph: &mut Graph) -> Type {
        *self.from.entry(r#type).or_insert_with(|| view(ir.tensor(r#type), graph))
    }

    /// Whether a type is weak or unknown, or has such a type anywhere in it.
    pub fn is_weak(&mut self, r#type: I::Type, ir: &I, graph: &mut Graph) -> bool {
        match self.view(r#type, ir, graph).dtype {
            Known::DType(dtype) => dtype.is_weak(),
            Known::Unknown => true,
            Known::Opaque | Known::Refused => {
                *self.mentions.entry(r#type).or_insert_with(|| ir.mentions_promote(r#type))
            }
        }
    }

    /// The tensor type of a dtype and a shape, written in a form.
    pub fn tensor(&mut self, dtype: DType, shape: ShapeId, form: Form, (ir, graph): (&I, &Graph)) -> I::Type {
        let make = || ir.tensor_type_in(form, dtype, graph.shapes.get(shape));
        *self.to.entry((dtype, shape, form)).or_insert_with(make)
    }
}

fn view(tensor: Option<Tensor>, graph: &mut Graph) -> Type {
    let Some(Tensor { element, shape }) = tensor else { return Type::OPAQUE };
    let dtype = match element {
        Element::DType(dtype) => Known::DType(dtype),
        Element::Unknown => Known::Unknown,
        Element::Other => return Type::OPAQUE,
    };
    Type { dtype, shape: graph.shapes.id(shape) }
}
