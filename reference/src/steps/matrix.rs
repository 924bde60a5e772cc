//! Steps that are no kernels: products of matrices, and sorting.

use promote_lattice::Op;
use promote_lattice::convert::is_exact;
use promote_lower::program::{Matmul, Panels};

use super::frame::Frame;
use super::memory::BufferId;
use super::{MAX_WORK, Machine, Stop, fault};
use crate::Error;
use crate::number::{Number, convert};
use crate::ops::{element, order};

/// Fails unless a buffer has as many elements as these extents.
fn check_count(machine: &Machine<'_>, id: BufferId, extents: [usize; 3]) -> Result<(), Stop> {
    let count = extents.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
    if count == Some(machine.heap.len(id)?) {
        Ok(())
    } else {
        Err(machine.heap.fault(id, &format!("has not the extents {extents:?}")))
    }
}

fn work(machine: &mut Machine<'_>, count: usize) -> Result<(), Stop> {
    machine.work = machine.work.saturating_add(count as u64);
    if machine.work > MAX_WORK { Err(Error::Limit.into()) } else { Ok(()) }
}

/// Multiplies matrices: sums in order of the index, in the dtype of the product.
pub(super) fn matmul(machine: &mut Machine<'_>, frame: &Frame<'_>, step: &Matmul) -> Result<(), Stop> {
    let [left, right, product] = [step.left, step.right, step.product].map(|value| frame.buffer(value));
    let (left, right, product) = (left?, right?, product?);
    let [batch, rows, inner, columns] = step.extents().map(|arg| frame.extent(arg));
    let (batch, rows, inner, columns) = (batch?, rows?, inner?, columns?);
    check_count(machine, left, [batch, rows, inner])?;
    check_count(machine, right, [batch, inner, columns])?;
    check_count(machine, product, [batch, rows, columns])?;
    let dtype = machine.heap.dtype(product)?;
    let of = [machine.heap.dtype(left)?, machine.heap.dtype(right)?];
    for (id, from) in [left, right].into_iter().zip(of) {
        if !is_exact(from, dtype) {
            return Err(machine.heap.fault(id, &format!("has values that {dtype} does not hold")));
        }
    }
    machine.heap.read(left)?;
    machine.heap.read(right)?;
    // What is read is not written: the product and the workspace are other buffers.
    machine.heap.check_writable(product, &frame.references)?;
    if let Some(Panels { buffer, columns: width }) = step.workspace {
        let workspace = frame.buffer(buffer)?;
        if product == workspace {
            return fault("the product is the workspace");
        }
        let Some(width) = usize::try_from(width).ok().filter(|width| *width > 0) else {
            return fault("a panel has no columns");
        };
        check_count(machine, workspace, [batch, inner, columns.next_multiple_of(width)])?;
        machine.heap.check_writable(workspace, &frame.references)?;
        machine.heap.spoil(workspace);
    }
    let write = machine.heap.new_write();
    let numerics = machine.interpreter.program.numerics;
    for place in 0..batch * rows * columns {
        work(machine, 2 * inner)?;
        let (row, column) = (place / columns, place % columns);
        let matrix = row / rows;
        let mut sum = Number::zero(dtype);
        for k in 0..inner {
            let x = machine.heap.load(left, (row * inner + k) as i64)?;
            let y = machine.heap.load(right, ((matrix * inner + k) * columns + column) as i64)?;
            let [x, y] =
                [(x, of[0]), (y, of[1])].map(|(number, from)| convert(number, from, dtype, numerics));
            let product = element(Op::Multiply, numerics, dtype, dtype, &[x, y])?;
            sum = element(Op::Add, numerics, dtype, dtype, &[sum, product])?;
        }
        machine.heap.store(product, place as i64, sum, write)?;
    }
    Ok(())
}

/// Sorts in place along the middle one of three dimensions.
pub(super) fn sort(
    machine: &mut Machine<'_>,
    frame: &Frame<'_>,
    id: BufferId,
    [outer, extent, inner]: [usize; 3],
) -> Result<(), Stop> {
    check_count(machine, id, [outer, extent, inner])?;
    machine.heap.check_writable(id, &frame.references)?;
    work(machine, outer * extent * inner)?;
    let write = machine.heap.new_write();
    let numerics = machine.interpreter.program.numerics;
    for start in 0..outer * inner {
        let place = |index: usize| ((start / inner * extent + index) * inner + start % inner) as i64;
        let mut lane =
            (0..extent).map(|index| machine.heap.load(id, place(index))).collect::<Result<Vec<_>, _>>()?;
        lane.sort_by(|x, y| order(*x, *y, numerics));
        for (index, number) in lane.into_iter().enumerate() {
            machine.heap.store(id, place(index), number, write)?;
        }
    }
    Ok(())
}
