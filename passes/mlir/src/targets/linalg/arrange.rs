//! What moves elements and computes nothing: views, reshapes, concatenations.

use mlir_sys::*;

use super::build::Make;
use super::structured::{At, Nest, Part, identity};
use super::{Failure, Lowering};
use crate::raw;
use promote_dialect::extent::Extent;
use promote_lower::graph::{Index, NodeId};

impl Lowering<'_> {
    /// The operand's elements elsewhere.
    pub fn view(&mut self, id: NodeId, arg: NodeId, indices: &[Index]) -> Result<MlirValue, Failure> {
        let shape = self.graph.shape(id);
        let element = self.element_type(self.dtype(id));
        let empty = self.empty(element, &shape);
        if shape.contains(&Extent::Fixed(0)) {
            // There is nothing to move, and maps of nothing have no valid places.
            return Ok(empty);
        }
        let loops = vec![false; shape.len()];
        let outs = vec![Part { tensor: empty, at: identity(shape.len()) }];
        let tensor = self.value(arg);
        let of_arg = self.graph.shape(arg);
        let at = indices.iter().zip(&of_arg).map(|(index, extent)| self.fixed(index, *extent, &shape));
        let made = match at.collect::<Option<Vec<At>>>() {
            Some(at) => {
                let nest = Nest { loops, ins: vec![Part { tensor, at }], outs };
                self.nest(&nest, &|_, elements| Some(vec![elements[0]]))?
            }
            None => {
                let ends: Vec<_> = indices.iter().map(|index| self.ends(index)).collect();
                let nest = Nest { loops, ins: Vec::new(), outs };
                self.nest(&nest, &|machine, _| {
                    let mut operands = vec![tensor];
                    for (index, (start, step)) in indices.iter().zip(&ends) {
                        operands.push(machine.stepped(index, *start, *step));
                    }
                    Some(vec![machine.builder.add("tensor.extract", &operands, element)])
                })?
            }
        };
        Ok(made[0])
    }

    /// An index all of which is known, into a dimension of this extent. An op of linalg takes a loop to go through all of a
    /// dimension that it indexes: a slice that is the first part of one has no such index.
    fn fixed(&self, index: &Index, extent: Extent, shape: &[Extent]) -> Option<At> {
        let [start, step] =
            [index.start, index.step].map(|extent| self.graph.extents.resolve(extent).fixed());
        let step = if index.down { step?.wrapping_neg() } else { step? };
        let is_loop = (start?, step) == (0, 1);
        let is_part = is_loop && index.dim.is_some_and(|dim| shape[dim] != extent);
        (!is_part).then_some(At { loop_: index.dim, start: start?, step })
    }

    fn ends(&mut self, index: &Index) -> (MlirValue, MlirValue) {
        (self.extent(index.start), self.extent(index.step))
    }

    /// The operand's elements in another shape: in a row, and then as they shall be.
    pub fn reshape(&mut self, id: NodeId, arg: NodeId) -> MlirValue {
        let (from, to) = (self.graph.shape(arg), self.graph.shape(id));
        let element = self.element_type(self.dtype(id));
        let value = self.value(arg);
        let one = |shape: &[Extent]| vec![Extent::Fixed(1); shape.len()];
        if from.is_empty() {
            return self.expand(value, element, &one(&to), &[]);
        }
        if to.is_empty() {
            let value = self.cast(value, self.tensor_type(element, &one(&from)));
            return self.collapse(value, self.tensor_type(element, &[]), &[]);
        }
        let row = match from.len() {
            1 => value,
            rank => self.collapse(value, self.row_type(element, &from), &[(0..rank).collect()]),
        };
        // A row whose length is known expands to extents that are, and another one to one that is not.
        let row = self.cast(row, self.row_type(element, &to));
        match to.len() {
            1 => row,
            rank => self.expand(row, element, &to, &[(0..rank).collect()]),
        }
    }

    /// The type of all elements of a shape in a row.
    fn row_type(&self, element: MlirType, shape: &[Extent]) -> MlirType {
        let known = shape.iter().map(|extent| extent.fixed()).product::<Option<i64>>();
        // SAFETY: the element type is valid.
        unsafe {
            let extent = known.unwrap_or_else(|| mlirShapedTypeGetDynamicSize());
            let none = MlirAttribute { ptr: std::ptr::null() };
            mlirRankedTensorTypeGet(1, &raw const extent, element, none)
        }
    }

    fn collapse(&self, value: MlirValue, to: MlirType, groups: &[Vec<usize>]) -> MlirValue {
        let groups = self.groups(groups);
        self.builder.add_with("tensor.collapse_shape", &[value], to, &[("reassociation", groups)])
    }

    fn expand(
        &mut self,
        value: MlirValue,
        element: MlirType,
        shape: &[Extent],
        groups: &[Vec<usize>],
    ) -> MlirValue {
        let (fixed, dynamic) = self.mixed(shape);
        let groups = self.groups(groups);
        let attributes =
            [("reassociation", groups), ("static_output_shape", self.builder.list_attribute(&fixed))];
        let operands = [&[value], dynamic.as_slice()].concat();
        let r#type = self.tensor_type(element, shape);
        self.builder.add_with("tensor.expand_shape", &operands, r#type, &attributes)
    }

    fn groups(&self, groups: &[Vec<usize>]) -> MlirAttribute {
        let number = |axis: &usize| self.builder.number_attribute(*axis as i64);
        let group = |group: &Vec<usize>| {
            let group: Vec<_> = group.iter().map(number).collect();
            self.builder.array_attribute(&group)
        };
        let groups: Vec<_> = groups.iter().map(group).collect();
        self.builder.array_attribute(&groups)
    }

    /// Operands one after the other, each put into its place of the whole.
    pub fn concat(&mut self, id: NodeId, args: &[NodeId], axis: usize) -> MlirValue {
        let shape = self.graph.shape(id);
        let element = self.element_type(self.dtype(id));
        let mut whole = self.empty(element, &shape);
        let mut offset = Offset::Fixed(0);
        // Of nothing there is no place in the whole.
        let is_empty = |shape: &[Extent]| shape.contains(&Extent::Fixed(0));
        let args: Vec<NodeId> =
            args.iter().copied().filter(|arg| !is_empty(&self.graph.shape(*arg))).collect();
        for (number, arg) in args.iter().enumerate() {
            let part = self.graph.shape(*arg);
            let is_full =
                matches!((offset, shape[axis]), (Offset::Fixed(at), Extent::Fixed(all)) if at >= all);
            if is_full {
                break;
            }
            whole = self.insert(self.value(*arg), whole, &part, (axis, offset));
            if number + 1 == args.len() {
                break;
            }
            let extent = part[axis];
            offset = match (offset, extent) {
                (Offset::Fixed(offset), Extent::Fixed(extent)) => Offset::Fixed(offset + extent),
                (offset, extent) => {
                    let offset = self.offset(offset);
                    let extent = self.extent(extent);
                    Offset::Of(self.on_indices("arith.addi", offset, extent))
                }
            };
        }
        whole
    }

    fn offset(&mut self, offset: Offset) -> MlirValue {
        match offset {
            Offset::Fixed(offset) => self.builder.index(offset),
            Offset::Of(offset) => offset,
        }
    }

    fn insert(
        &mut self,
        part: MlirValue,
        whole: MlirValue,
        shape: &[Extent],
        (axis, offset): (usize, Offset),
    ) -> MlirValue {
        let (sizes, dynamic_sizes) = self.mixed(shape);
        let mut offsets = vec![0; shape.len()];
        let mut dynamic_offsets = Vec::new();
        match offset {
            Offset::Fixed(offset) => offsets[axis] = offset,
            Offset::Of(offset) => {
                // SAFETY: the call asks for a constant.
                offsets[axis] = unsafe { mlirShapedTypeGetDynamicStrideOrOffset() };
                dynamic_offsets.push(offset);
            }
        }
        let operands = [&[part, whole], dynamic_offsets.as_slice(), dynamic_sizes.as_slice()].concat();
        let segments = [1, 1, dynamic_offsets.len(), dynamic_sizes.len(), 0];
        let attributes = [
            ("static_offsets", self.builder.list_attribute(&offsets)),
            ("static_sizes", self.builder.list_attribute(&sizes)),
            ("static_strides", self.builder.list_attribute(&vec![1; shape.len()])),
            ("operandSegmentSizes", self.builder.segments_attribute(&segments)),
        ];
        let results = [raw::value_type(whole)];
        let make =
            Make { operands: &operands, results: &results, attributes: &attributes, ..Make::default() };
        raw::result(self.builder.make("tensor.insert_slice", &make))
    }
}

/// Where a part of a whole begins.
#[derive(Clone, Copy)]
enum Offset {
    Fixed(i64),
    Of(MlirValue),
}
