//! `take`: elements at places that a tensor holds.

use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind};
use promote_scalar::{Binary, Compare, Emit, Trap, Ty, filler};

use super::emit::{Machine, Register};
use super::extent::EQUAL;
use super::structured::{At, Nest, Part, identity};
use super::{Failure, Lowering};
use promote_dialect::extent::Extent;
use promote_lower::graph::NodeId;

impl Lowering<'_> {
    /// Elements of the first operand at indices along a dimension, which the second operand holds.
    pub fn take(
        &mut self,
        id: NodeId,
        (x, indices): (NodeId, NodeId),
        axis: usize,
    ) -> Result<MlirValue, Failure> {
        let shape = self.graph.shape(id);
        let places = self.graph.shape(indices).len();
        let (dtype, of_index) = (self.dtype(id), self.dtype(indices));
        let element = self.element_type(dtype);
        let empty = self.empty(element, &shape);
        let from = self.graph.shape(x);
        let extent = self.extent(from[axis]);
        let i64_type = self.element_type(DType::I64);
        let extent = self.builder.add("arith.index_cast", &[extent], i64_type);
        let extent = Register { value: extent, ty: Ty::I64 };
        let filler = self.scalar(dtype, filler(dtype));
        let (tensor, fills) = (self.value(x), self.numerics == Numerics::Jax);
        let nest = Nest {
            loops: vec![false; shape.len()],
            ins: vec![Part { tensor: self.value(indices), at: (axis..axis + places).map(At::of).collect() }],
            outs: vec![Part { tensor: empty, at: identity(shape.len()) }],
        };
        let is_signed = of_index.kind() == Kind::Signed;
        // NumPy looks at the indices for each index of the dimensions before, and PyTorch for each element that it takes.
        let asked = match self.numerics {
            Numerics::NumPy => shape[..axis].to_vec(),
            Numerics::Torch => shape.clone(),
            Numerics::Jax => Vec::new(),
        };
        let nothing = self.is_empty(&asked);
        let round = |machine: &mut Machine<'_>, elements: &[MlirValue]| {
            let place = machine.load(of_index, elements[0]).real();
            let mut place = machine.place(of_index, place);
            if is_signed {
                let zero = machine.int(Ty::I64, 0);
                let from_end = machine.compare(Compare::LtS, place, zero);
                let counted = machine.binary(Binary::Add, place, extent);
                place = machine.select(from_end, counted, place);
            }
            let is_there = machine.compare(Compare::LtU, place, extent);
            if !fills {
                let one = machine.int(Ty::I1, 1);
                let is_out = machine.binary(Binary::Xor, is_there, one);
                machine.trap(is_out, Trap::IndexOutOfRange);
            }
            let place = machine.index_of(place);
            let mut operands = vec![tensor];
            operands.extend((0..axis).map(|dim| machine.loop_index(dim)));
            operands.push(place);
            operands.extend((axis + places..shape.len()).map(|dim| machine.loop_index(dim)));
            Some(vec![machine.extract_if(is_there, element, &operands, filler)])
        };
        Ok(self.nest_unless(&nest, &round, nothing)?[0])
    }

    /// Whether one of these extents is 0; `None` if none is in any run.
    fn is_empty(&mut self, extents: &[Extent]) -> Option<MlirValue> {
        let truth = self.builder.integer_type(1);
        let mut found = None;
        for extent in extents {
            let extent = match self.graph.extents.resolve(*extent) {
                Extent::Fixed(1..) => continue,
                other => self.extent(other),
            };
            let zero = self.builder.index(0);
            let is_zero = self.compare(EQUAL, extent, zero);
            found = Some(match found {
                Some(found) => self.builder.add("arith.ori", &[found, is_zero], truth),
                None => is_zero,
            });
        }
        found
    }
}
