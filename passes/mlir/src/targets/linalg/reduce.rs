//! Reductions: `linalg.generic` whose accumulator is a tensor without the dimensions that go.

use mlir_sys::*;
use promote_lattice::{DType, Op};
use promote_scalar::{Compare, Emit, Ty};

use super::element::initial;
use super::emit::Register;
use super::structured::{At, Nest, Part, identity, without};
use super::{Failure, Lowering};
use promote_lower::graph::NodeId;

impl Lowering<'_> {
    /// The accumulator of a reduction before its first element.
    fn start(&mut self, op: Op, dtype: DType, of: NodeId, gone: &[usize]) -> Result<MlirValue, Failure> {
        let start = initial(op, self.numerics, dtype).ok_or(Failure)?;
        let shape = self.graph.shape(of);
        let kept: Vec<_> =
            (0..shape.len()).filter(|axis| !gone.contains(axis)).map(|axis| shape[axis]).collect();
        let (value, element) = (self.scalar(dtype, start), self.element_type(dtype));
        Ok(self.filled(value, element, &kept))
    }

    /// A reduction, in order of the index.
    pub fn reduce(&mut self, id: NodeId, arg: NodeId, op: Op, gone: &[usize]) -> Result<MlirValue, Failure> {
        let rank = self.graph.shape(arg).len();
        let (dtype, numerics) = (self.dtype(id), self.numerics);
        let element = self.element_type(dtype);
        let nest = Nest {
            loops: (0..rank).map(|axis| gone.contains(&axis)).collect(),
            ins: vec![Part { tensor: self.value(arg), at: identity(rank) }],
            outs: vec![Part { tensor: self.start(op, dtype, arg, gone)?, at: without(rank, gone) }],
        };
        let made = self.nest(&nest, &|machine, elements| {
            let [x, all] = [elements[0], elements[1]].map(|value| machine.load(dtype, value));
            let all = promote_scalar::combine(machine, op, numerics, dtype, all, x)?;
            Some(vec![machine.store(dtype, element, all)])
        })?;
        Ok(made[0])
    }

    /// The place of the first extreme element, or of the first NaN; the element goes along as a second result.
    pub fn arg(&mut self, id: NodeId, arg: NodeId, op: Op, axis: usize) -> Result<MlirValue, Failure> {
        let shape = self.graph.shape(arg);
        let rank = shape.len();
        let (dtype, numbers) = (self.dtype(arg), self.element_type(self.dtype(id)));
        let element = self.element_type(dtype);
        let extreme = if op == Op::ArgMax { Op::Max } else { Op::Min };
        // No place is after this one, so any element like the first accumulator comes before it.
        let nowhere = self.builder.integer(numbers, i64::MAX);
        let kept = self.graph.shape(id);
        let places = self.filled(nowhere, numbers, &kept);
        let elements = self.start(extreme, dtype, arg, &[axis])?;
        let out = |tensor| Part { tensor, at: without(rank, &[axis]) };
        let nest = Nest {
            loops: (0..rank).map(|dim| dim == axis).collect(),
            ins: vec![Part { tensor: self.value(arg), at: identity(rank) }],
            outs: vec![out(elements), out(places)],
        };
        let made = self.nest(&nest, &|machine, elements| {
            let [x, best] = [elements[0], elements[1]].map(|value| machine.load(dtype, value));
            let place = machine.loop_index(axis);
            let place = machine.number_of(place);
            let best_place = Register { value: elements[2], ty: Ty::I64 };
            let (best, place) =
                promote_scalar::combine_arg(machine, op, dtype, (best, best_place), (x, place))?;
            Some(vec![machine.store(dtype, element, best), place.value])
        })?;
        Ok(made[1])
    }

    /// Each partial result along a dimension. A round takes over what the one before left, so the dimension counts as reduced.
    pub fn scan(&mut self, id: NodeId, arg: NodeId, op: Op, axis: usize) -> Result<MlirValue, Failure> {
        let shape = self.graph.shape(id);
        let rank = shape.len();
        let (dtype, numerics) = (self.dtype(id), self.numerics);
        let element = self.element_type(dtype);
        let whole = self.empty(element, &shape);
        let nest = Nest {
            loops: (0..rank).map(|dim| dim == axis).collect(),
            ins: vec![Part { tensor: self.value(arg), at: identity(rank) }],
            outs: vec![
                Part { tensor: self.start(op, dtype, arg, &[axis])?, at: without(rank, &[axis]) },
                Part { tensor: whole, at: identity(rank) },
            ],
        };
        let made = self.nest(&nest, &|machine, elements| {
            let [x, all] = [elements[0], elements[1]].map(|value| machine.load(dtype, value));
            let mut all = promote_scalar::combine(machine, op, numerics, dtype, all, x)?;
            if promote_scalar::keeps_first(op, numerics, dtype) {
                let index = machine.loop_index(axis);
                let index = machine.number_of(index);
                let zero = machine.int(Ty::I64, 0);
                let is_first = machine.compare(Compare::Eq, index, zero);
                all = promote_scalar::select(machine, is_first, x, all);
            }
            let all = machine.store(dtype, element, all);
            Some(vec![all, all])
        })?;
        Ok(made[1])
    }

    /// Sums of products, batch by batch.
    pub fn matmul(&mut self, id: NodeId, (x, y): (NodeId, NodeId)) -> Result<MlirValue, Failure> {
        let rank = self.graph.shape(id).len();
        let (dtype, numerics) = (self.dtype(id), self.numerics);
        let element = self.element_type(dtype);
        let (value, shape) = (self.scalar(dtype, 0), self.graph.shape(id));
        let start = self.filled(value, element, &shape);
        // The loops: the batches, rows, columns, and last the dimension that goes.
        let (row, column, gone) = (rank - 2, rank - 1, rank);
        let at = |node: NodeId, last: [usize; 2]| {
            let batches = self.graph.shape(node).len() - last.len();
            without(batches, &[]).into_iter().chain(last.map(At::of)).collect()
        };
        let nest = Nest {
            loops: (0..=rank).map(|dim| dim == gone).collect(),
            ins: vec![
                Part { tensor: self.value(x), at: at(x, [row, gone]) },
                Part { tensor: self.value(y), at: at(y, [gone, column]) },
            ],
            outs: vec![Part { tensor: start, at: at(id, [row, column]) }],
        };
        let made = self.nest(&nest, &|machine, elements| {
            let [x, y, all] = [elements[0], elements[1], elements[2]].map(|value| machine.load(dtype, value));
            let dtypes = [dtype, dtype];
            let product =
                promote_scalar::elementwise(machine, Op::Multiply, numerics, &dtypes, dtype, &[x, y])?;
            let all = promote_scalar::combine(machine, Op::Sum, numerics, dtype, all, product)?;
            Some(vec![machine.store(dtype, element, all)])
        })?;
        Ok(made[0])
    }
}
