//! `take`: elements at places that a tensor holds.

use mlir_sys::*;
use promote_lattice::convert::{Bits, Literal, Numerics, literal};
use promote_lattice::{DType, Kind};
use promote_scalar::{Binary, Compare, Emit, Trap, Ty};

use super::emit::Register;
use super::structured::{At, Nest, Part, identity};
use super::{Failure, Lowering};
use crate::lower::graph::NodeId;

/// What JAX gives for an index out of range: NaN, the least signed integer, the largest unsigned one, true.
fn filler(dtype: DType) -> Bits {
    match dtype.kind() {
        Kind::Bool => 1,
        Kind::Signed => 1 << (dtype.bits() - 1),
        Kind::Unsigned => Bits::MAX >> (Bits::BITS - dtype.bits()),
        Kind::Float | Kind::Complex => {
            let part = dtype.real_part();
            let nan = literal(Literal::Float(f64::NAN), part, Numerics::NumPy).bits;
            if part == dtype { nan } else { nan | nan << part.bits() }
        }
    }
}

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
        let made = self.nest(&nest, &|machine, elements| {
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
        })?;
        Ok(made[0])
    }
}
