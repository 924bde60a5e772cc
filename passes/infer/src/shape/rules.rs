//! The shape rules of ops that do more than broadcast.

use std::fmt;

use promote_dialect::attrs::Attrs;
use promote_dialect::extent::slice_count;
use promote_lattice::op::Op;

use super::{DYNAMIC, Result, Shape, ShapeError, broadcast_dims, is_dynamic, normalise};

/// For each of `rank` axes, whether `axes` names it.
fn mask(axes: &[i64], rank: usize, shape: &Shape) -> Result<Vec<bool>> {
    let mut mask = vec![false; rank];
    for &axis in axes {
        let index = normalise(axis, rank, shape)?;
        if std::mem::replace(&mut mask[index], true) {
            return Err(ShapeError::other(format!("axis {axis} is named twice"), "name each axis once"));
        }
    }
    Ok(mask)
}

/// The number of elements, if every extent is static and it can be counted.
fn element_count(dims: &[i64]) -> Option<i64> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1i64, |count, dim| if is_dynamic(*dim) { None } else { count.checked_mul(*dim) })
}

fn one_axis(op: Op, axes: &[i64]) -> Result<i64> {
    match axes {
        [axis] => Ok(*axis),
        _ => Err(ShapeError::other(
            format!("{op} works along one axis, but {} are given", axes.len()),
            "give one axis, as in axis = array<i64: -1>",
        )),
    }
}

pub fn reduce(op: Op, attrs: &Attrs, x: &Shape) -> Result<Shape> {
    let axes = attrs.axes();
    if let (Op::ArgMax | Op::ArgMin, Some(axes)) = (op, axes) {
        one_axis(op, axes)?;
    }
    let Some(dims) = x.dims() else {
        return Ok(if axes.is_none() && !attrs.keepdims() { Shape::ranked([]) } else { Shape::UNRANKED });
    };
    let reduced = match axes {
        Some(axes) => mask(axes, dims.len(), x)?,
        None => vec![true; dims.len()],
    };
    let empty = dims.iter().zip(&reduced).any(|(dim, reduced)| *reduced && *dim == 0);
    if empty && matches!(op, Op::Max | Op::Min | Op::ArgMax | Op::ArgMin) {
        return Err(ShapeError::other(
            format!("{op} of no elements has no value: shape {x} is empty along the axes it reduces"),
            "reduce a shape that has elements",
        ));
    }
    let kept = dims.iter().zip(&reduced).filter_map(|(dim, reduced)| match (reduced, attrs.keepdims()) {
        (false, _) => Some(*dim),
        (true, true) => Some(1),
        (true, false) => None,
    });
    Ok(Shape::ranked(kept.collect::<Vec<_>>()))
}

pub fn along(op: Op, attrs: &Attrs, x: &Shape) -> Result<Shape> {
    let given = attrs.axes();
    let axes = match (op, given) {
        (Op::Sort | Op::Softmax, Some(axes)) => &[one_axis(op, axes)?],
        (Op::Sort | Op::Softmax, None) => &[-1][..],
        (_, axes) => axes.unwrap_or_default(),
    };
    if let Some(dims) = x.dims() {
        mask(axes, dims.len(), x)?;
    }
    Ok(x.clone())
}

pub fn scan(op: Op, attrs: &Attrs, x: &Shape) -> Result<Shape> {
    match (attrs.axes(), x.dims()) {
        (Some(axes), dims) => {
            let axis = one_axis(op, axes)?;
            if let Some(dims) = dims {
                normalise(axis, dims.len(), x)?;
            }
            Ok(x.clone())
        }
        (None, Some([_])) => Ok(x.clone()),
        (None, Some(dims)) => Ok(Shape::ranked([element_count(dims).unwrap_or(DYNAMIC)])),
        (None, None) => Ok(Shape::ranked([DYNAMIC])),
    }
}

/// The batch dimensions of a matmul operand: all but the last two, and none of a vector.
pub fn batch_dims(dims: &[i64]) -> &[i64] {
    &dims[..dims.len().saturating_sub(2)]
}

pub fn matmul(x: &Shape, y: &Shape) -> Result<Shape> {
    let (Some(a), Some(b)) = (x.dims(), y.dims()) else { return Ok(Shape::UNRANKED) };
    let scalar = || {
        ShapeError::other(
            format!("promote.matmul needs operands of rank 1 or more, but has shapes {x} and {y}"),
            "multiply by a scalar with promote.multiply",
        )
    };
    let inner_a = *a.last().ok_or_else(scalar)?;
    let inner_b = *b.get(b.len().saturating_sub(2)).ok_or_else(scalar)?;
    if inner_a != inner_b && !is_dynamic(inner_a) && !is_dynamic(inner_b) {
        return Err(ShapeError::other(
            format!(
                "promote.matmul contracts the last dimension of {x} ({inner_a}) with that of {y} ({inner_b})"
            ),
            "the contracted dimensions must be equal: transpose an operand with promote.permute_dims",
        ));
    }
    let mut dims = broadcast_dims(batch_dims(a), batch_dims(b))
        .ok_or_else(|| ShapeError::Broadcast(Shape::ranked(batch_dims(a)), Shape::ranked(batch_dims(b))))?;
    dims.extend(a.len().checked_sub(2).map(|row| a[row]));
    dims.extend(b.len().checked_sub(2).map(|_| b[b.len() - 1]));
    Ok(Shape::ranked(dims))
}

fn same_but(axis: Option<usize>, first: &[i64], other: &[i64]) -> Option<Vec<i64>> {
    let extent = |(i, (a, b)): (usize, (&i64, &i64))| match (*a, *b) {
        (a, b) if Some(i) == axis && (is_dynamic(a) || is_dynamic(b)) => Some(DYNAMIC),
        (a, b) if Some(i) == axis => a.checked_add(b),
        (a, b) if is_dynamic(b) => Some(a),
        (a, b) if is_dynamic(a) => Some(b),
        (a, b) => (a == b).then_some(a),
    };
    if first.len() == other.len() { first.iter().zip(other).enumerate().map(extent).collect() } else { None }
}

/// Whether two static extents have no sum.
fn is_too_long(a: i64, b: Option<i64>) -> bool {
    b.is_some_and(|b| !is_dynamic(a) && !is_dynamic(b) && a.checked_add(b).is_none())
}

fn joined(
    attrs: &Attrs,
    operands: &[&Shape],
    name: &str,
    new_axis: bool,
) -> Result<Option<(Vec<i64>, usize)>> {
    let Some(all) = operands.iter().map(|x| x.dims()).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let Some((first, rest)) = all.split_first() else { return Ok(None) };
    let axis = normalise(attrs.int("axis"), first.len() + usize::from(new_axis), operands[0])?;
    let mut dims = first.to_vec();
    for (dims_of_other, shape) in rest.iter().zip(&operands[1..]) {
        if !new_axis && is_too_long(dims[axis], dims_of_other.get(axis).copied()) {
            return Err(ShapeError::other(
                format!("{name} of shapes {} and {shape} has more elements than can be counted", operands[0]),
                "join fewer or smaller operands",
            ));
        }
        dims = same_but((!new_axis).then_some(axis), &dims, dims_of_other).ok_or_else(|| {
            ShapeError::other(
                format!("{name} of shapes {} and {shape}", operands[0]),
                if new_axis {
                    "all shapes must be equal"
                } else {
                    "all dimensions but that of axis must be equal"
                },
            )
        })?;
    }
    Ok(Some((dims, axis)))
}

pub fn concat(attrs: &Attrs, operands: &[&Shape]) -> Result<Shape> {
    Ok(joined(attrs, operands, "promote.concat", false)?
        .map_or(Shape::UNRANKED, |(dims, _)| Shape::ranked(dims)))
}

pub fn stack(attrs: &Attrs, operands: &[&Shape]) -> Result<Shape> {
    Ok(joined(attrs, operands, "promote.stack", true)?.map_or(Shape::UNRANKED, |(mut dims, axis)| {
        dims.insert(axis, operands.len() as i64);
        Shape::ranked(dims)
    }))
}

pub fn reshape(shape: &[i64], x: &Shape) -> Result<Shape> {
    let remedy = "the extents must multiply to the number of elements; one may be -1, which is then computed";
    let wrong = |message: String| ShapeError::other(message, remedy);
    if shape.iter().any(|dim| *dim < -1) || shape.iter().filter(|dim| **dim == -1).count() > 1 {
        return Err(wrong(format!(
            "promote.reshape to {} has more than one -1 or a negative extent",
            List(shape)
        )));
    }
    let known: Vec<i64> = shape.iter().copied().filter(|dim| *dim != -1).collect();
    let known =
        element_count(&known).ok_or_else(|| wrong(format!("{} has too many elements", List(shape))))?;
    let dynamic = x.dims().is_none_or(|dims| dims.iter().copied().any(is_dynamic));
    let total = x.dims().and_then(element_count);
    if total.is_none() && !dynamic {
        return Err(wrong(format!("{x} has more elements than can be counted")));
    }
    let mut dims = shape.to_vec();
    match (shape.iter().position(|dim| *dim == -1), total) {
        (Some(free), Some(total)) if known > 0 && total % known == 0 => dims[free] = total / known,
        (Some(_), None) if known == 0 => {
            return Err(wrong(format!(
                "promote.reshape of {x} to {}: with an extent of 0, -1 stands for any extent",
                List(shape)
            )));
        }
        (Some(free), None) => dims[free] = DYNAMIC,
        (None, Some(total)) if total == known => {}
        (None, None) => {}
        (_, Some(total)) => {
            return Err(wrong(format!("promote.reshape of {x} ({total} elements) to {}", List(shape))));
        }
    }
    Ok(Shape::ranked(dims))
}

struct List<'a>(&'a [i64]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0).finish()
    }
}

pub fn permute(permutation: &[i64], x: &Shape) -> Result<Shape> {
    let rank = x.dims().map_or(permutation.len(), <[i64]>::len);
    let wrong = || {
        ShapeError::other(
            format!("{} is not a permutation of the {rank} axes of {x}", List(permutation)),
            format!("name each axis from 0 to {} once", rank.saturating_sub(1)),
        )
    };
    let mask = mask(permutation, rank, x).map_err(|_| wrong())?;
    if mask.contains(&false) {
        return Err(wrong());
    }
    let Some(dims) = x.dims() else { return Ok(Shape::ranked(vec![DYNAMIC; rank])) };
    let dims: Result<Vec<i64>> =
        permutation.iter().map(|axis| Ok(dims[normalise(*axis, rank, x)?])).collect();
    dims.map(Shape::ranked)
}

/// `shape` may have [`DYNAMIC`] entries where the operand, or the operand after it whose shape is taken as a pattern,
/// has the extent at run time.
pub fn broadcast_to(shape: &[i64], operands: &[&Shape]) -> Result<Shape> {
    if shape.iter().any(|dim| *dim < 0 && *dim != DYNAMIC) {
        return Err(ShapeError::other(
            format!("promote.broadcast_to {} has a negative extent", List(shape)),
            "state every extent: only promote.reshape computes one",
        ));
    }
    let Some(x) = operands.first().and_then(|x| x.dims()) else { return Ok(Shape::ranked(shape)) };
    let known = |i: usize| (i + x.len()).checked_sub(shape.len()).is_some_and(|i| is_dynamic(x[i]));
    if operands.len() == 1 && (0..shape.len()).any(|i| shape[i] == DYNAMIC && !known(i)) {
        return Err(ShapeError::other(
            format!("the dynamic extents of {} are not defined at run time", Shape::ranked(shape)),
            "pass an operand with those extents as the second one",
        ));
    }
    let fits = x.len() <= shape.len()
        && x.iter().zip(&shape[shape.len() - x.len()..]).all(|(from, to)| {
            from == to || *from == 1 || is_dynamic(*from) || (*to == DYNAMIC && operands.len() > 1)
        });
    if !fits {
        return Err(ShapeError::other(
            format!("shape {} does not broadcast to {}", operands[0], Shape::ranked(shape)),
            "a dimension must be 1 or already have the new extent",
        ));
    }
    Ok(Shape::ranked(shape))
}

pub fn expand_dims(axes: &[i64], x: &Shape) -> Result<Shape> {
    let Some(dims) = x.dims() else { return Ok(Shape::UNRANKED) };
    let new = mask(axes, dims.len() + axes.len(), x)?;
    let mut old = dims.iter();
    Ok(Shape::ranked(
        new.iter().map(|new| if *new { 1 } else { *old.next().unwrap_or(&1) }).collect::<Vec<_>>(),
    ))
}

pub fn squeeze(axes: &[i64], x: &Shape) -> Result<Shape> {
    let Some(dims) = x.dims() else { return Ok(Shape::UNRANKED) };
    let gone = mask(axes, dims.len(), x)?;
    if let Some((axis, dim)) =
        dims.iter().enumerate().find(|(i, dim)| gone[*i] && **dim != 1 && !is_dynamic(**dim))
    {
        return Err(ShapeError::other(
            format!("promote.squeeze of axis {axis} of {x}, whose extent is {dim}"),
            "only dimensions of extent 1 can be squeezed",
        ));
    }
    let kept = dims.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(dim, _)| *dim);
    Ok(Shape::ranked(kept.collect::<Vec<_>>()))
}

pub fn slice(attrs: &Attrs, x: &Shape) -> Result<Shape> {
    let [start, stop, step] = ["start", "stop", "step"].map(|name| attrs.list(name));
    let rank = x.dims().map_or(start.len(), <[i64]>::len);
    if [start, stop, step].iter().any(|list| list.len() != rank) {
        return Err(ShapeError::other(
            format!(
                "promote.slice of rank {rank} has {} start, {} stop and {} step entries",
                start.len(),
                stop.len(),
                step.len()
            ),
            "give an entry of each for every dimension",
        ));
    }
    if step.contains(&0) {
        return Err(ShapeError::other(
            "promote.slice has a step of 0",
            "a step is positive, or negative to go backwards",
        ));
    }
    let Some(dims) = x.dims() else { return Ok(Shape::ranked(vec![DYNAMIC; rank])) };
    let extent = |(i, dim): (usize, &i64)| match *dim {
        extent if is_dynamic(extent) && (start[i], stop[i], step[i]) == (0, i64::MAX, 1) => extent,
        extent if is_dynamic(extent) => DYNAMIC,
        extent => slice_count(extent, start[i], stop[i], step[i]),
    };
    Ok(Shape::ranked(dims.iter().enumerate().map(extent).collect::<Vec<_>>()))
}

pub fn take(attrs: &Attrs, x: &Shape, indices: &Shape) -> Result<Shape> {
    let Some(dims) = x.dims() else { return Ok(Shape::UNRANKED) };
    let axis = normalise(attrs.int("axis"), dims.len(), x)?;
    let Some(indices) = indices.dims() else { return Ok(Shape::UNRANKED) };
    Ok(Shape::ranked([&dims[..axis], indices, &dims[axis + 1..]].concat()))
}

/// Whether JAX takes elements along that axis: it refuses to look for any along one of extent 0, whatever the indices are.
///
/// # Errors
/// [`ShapeError::Other`], if it does not.
pub fn takes_of_something(attrs: &Attrs, operands: &[&Shape]) -> Result<()> {
    let [x, indices, ..] = operands else { return Ok(()) };
    let (Some(dims), Some(places)) = (x.dims(), indices.dims()) else { return Ok(()) };
    let axis = normalise(attrs.int("axis"), dims.len(), x)?;
    if dims[axis] == 0 && places.iter().all(|extent| *extent > 0) {
        return Err(ShapeError::other(
            format!("JAX takes no elements along axis {axis} of {x}, which is empty"),
            "take along an axis that has elements, or no elements",
        ));
    }
    Ok(())
}
