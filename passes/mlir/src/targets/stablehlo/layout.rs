//! Ops that move elements and compute nothing.

use promote_dialect::attrs::Attrs;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_scalar::filler;

use super::builder::{Builder, Direction, Made, Tensor, refuse};
use super::known;

/// The axis that an attribute names; negative ones count from the end.
pub fn axis_of(axis: i64, rank: usize) -> usize {
    // Inference found the axis in range.
    usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).unwrap_or(0)
}

/// The axes that the attribute `axis` names, in order; all, if it names none.
pub fn axes_of(attrs: &Attrs, rank: usize) -> Vec<i64> {
    let mut axes: Vec<i64> = match attrs.axes() {
        Some(list) => list.iter().map(|axis| axis_of(*axis, rank) as i64).collect(),
        None => (0..rank as i64).collect(),
    };
    axes.sort_unstable();
    axes
}

/// An op that moves elements; its result has this shape.
pub fn arrange(b: &mut Builder<'_>, op: Op, attrs: &Attrs, operands: &[Tensor], shape: &[i64]) -> Made {
    let x = operands[0];
    let rank = x.shape().len();
    Ok(match op {
        Op::Reshape | Op::ExpandDims | Op::Squeeze => b.reshape(x, shape),
        Op::BroadcastTo => b.broadcast(x, shape),
        Op::PermuteDims => {
            let order = attrs.list("permutation").iter();
            let order: Vec<_> = order.map(|axis| axis_of(*axis, rank) as i64).collect();
            b.transpose(x, &order)
        }
        Op::Flip => reverse(b, x, &axes_of(attrs, rank)),
        Op::Slice => slice(b, attrs, x, shape),
        Op::Take => return take(b, attrs, x, operands[1], shape),
        Op::Concat => join(b, operands, axis_of(attrs.int("axis"), rank), shape),
        Op::Stack => {
            let axis = axis_of(attrs.int("axis"), rank + 1);
            let mut piece = x.shape();
            piece.insert(axis, 1);
            let pieces: Vec<_> = operands.iter().map(|operand| b.reshape(*operand, &piece)).collect();
            join(b, &pieces, axis, shape)
        }
        op => return refuse(format!("StableHLO has no {op}"), "write it with other ops"),
    })
}

/// Tensors of one dtype, one after the other along an axis.
fn join(b: &mut Builder<'_>, parts: &[Tensor], axis: usize, shape: &[i64]) -> Tensor {
    let wide: Vec<Tensor> = parts.iter().map(|part| b.in_bytes(*part)).collect();
    let axis = b.int(axis as i64);
    let joined = b.op("stablehlo.concatenate", &wide, (wide[0].dtype, shape), &[("dimension", axis)]);
    b.cast(joined, parts[0].dtype)
}

fn reverse(b: &mut Builder<'_>, x: Tensor, axes: &[i64]) -> Tensor {
    if axes.is_empty() {
        return x;
    }
    let axes = b.list(axes);
    b.op("stablehlo.reverse", &[x], (x.dtype, &x.shape()), &[("dimensions", axes)])
}

/// `start:stop:step` along every axis. StableHLO goes forwards only: an axis that is taken backwards is reversed before.
fn slice(b: &mut Builder<'_>, attrs: &Attrs, x: Tensor, shape: &[i64]) -> Tensor {
    let from = x.shape();
    let [start, step] = ["start", "step"].map(|name| attrs.list(name));
    let backwards: Vec<i64> = (0..).zip(step).filter(|(_, step)| **step < 0).map(|(axis, _)| axis).collect();
    let x = reverse(b, x, &backwards);
    let (mut starts, mut limits, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, extent) in from.iter().enumerate() {
        let (low, high) = if step[axis] < 0 { (-1, extent - 1) } else { (0, *extent) };
        let start = if start[axis] < 0 { start[axis].saturating_add(*extent) } else { start[axis] };
        let start = start.clamp(low, high);
        let start = if step[axis] < 0 { extent - 1 - start } else { start };
        // With one element or none, any step will do.
        let stride = if shape[axis] > 1 { step[axis].saturating_abs() } else { 1 };
        let (start, limit) = match shape[axis] {
            0 => (0, 0),
            count => (start, start + (count - 1) * stride + 1),
        };
        starts.push(start);
        limits.push(limit);
        strides.push(stride);
    }
    let attributes = [
        ("start_indices", b.list(&starts)),
        ("limit_indices", b.list(&limits)),
        ("strides", b.list(&strides)),
    ];
    b.op("stablehlo.slice", &[x], (x.dtype, shape), &attributes)
}

/// Elements at places along an axis; negative ones count from the end. What is out of range is an exception in NumPy and
/// PyTorch; JAX fills it in.
fn take(b: &mut Builder<'_>, attrs: &Attrs, x: Tensor, places: Tensor, shape: &[i64]) -> Made {
    let axis = axis_of(attrs.int("axis"), x.shape().len());
    let extent = x.shape()[axis];
    let is_known = known::range(b, places)
        .is_some_and(|(low, high)| low >= -i128::from(extent) && high < i128::from(extent));
    if !is_known && b.numerics() != Numerics::Jax {
        return refuse(
            "an index out of range raises an exception, which StableHLO cannot express",
            "take at constant indices or those of an iota, in range, or use JAX's semantics, which fills in values",
        );
    }
    if extent == 0 || shape.contains(&0) {
        return Ok(b.splat_bits(x.dtype, shape, filler(x.dtype)));
    }
    let places = as_i64(b, places, extent);
    let (none, all) = (b.zero(places), b.whole(places, extent));
    let is_negative = b.compare(places, Direction::Lt, none);
    let from_end = b.add(places, all);
    let places = b.select(is_negative, from_end, places);
    if is_known {
        return Ok(gather(b, x, places, axis, shape));
    }
    let (above, below) = (b.compare(places, Direction::Ge, none), b.compare(places, Direction::Lt, all));
    let in_range = b.and(above, below);
    let safe = b.select(in_range, places, none);
    let found = gather(b, x, safe, axis, shape);
    let axes: Vec<i64> = (axis as i64..).take(places.shape().len()).collect();
    let in_range = b.stretch(in_range, &axes, shape);
    let filler = b.splat_bits(x.dtype, shape, filler(x.dtype));
    Ok(b.select(in_range, found, filler))
}

/// Indices as i64; those that it does not hold become the extent, which is out of range, too.
fn as_i64(b: &mut Builder<'_>, places: Tensor, extent: i64) -> Tensor {
    let held = if places.dtype == DType::U64 {
        let extent = b.whole(places, extent);
        b.min(places, extent)
    } else {
        places
    };
    b.cast(held, DType::I64)
}

fn gather(b: &mut Builder<'_>, x: Tensor, places: Tensor, axis: usize, shape: &[i64]) -> Tensor {
    let rank = places.shape().len();
    let offsets: Vec<_> =
        (0..shape.len()).filter(|i| !(axis..axis + rank).contains(i)).map(|i| i.to_string()).collect();
    let numbers = format!(
        "#stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{axis}], start_index_map = [{axis}], \
         index_vector_dim = {rank}>",
        offsets.join(", ")
    );
    let mut sizes = x.shape();
    sizes[axis] = 1;
    let attributes = [("dimension_numbers", b.attribute(&numbers)), ("slice_sizes", b.list(&sizes))];
    b.op("stablehlo.gather", &[x, places], (x.dtype, shape), &attributes)
}
