//! Shapes: what NumPy makes of them.
//!
//! The same rules hold statically, where an extent may be dynamic, and at run time, where all are known.

use promote_lattice::Op;
use promote_lattice::op::ShapeRule;

use crate::program::Attributes;

/// An extent; `None` is dynamic.
pub type Extent = Option<usize>;

/// The extents of a tensor.
pub type Shape = Vec<Extent>;

/// A shape, or what is wrong.
pub type Result<T> = std::result::Result<T, String>;

/// The attribute entry for a dynamic extent.
pub const DYNAMIC: i64 = i64::MIN;

/// A shape whose extents are all known.
pub fn known(shape: &[usize]) -> Shape {
    shape.iter().copied().map(Some).collect()
}

/// The extent that two extents broadcast to. One that is not known is taken to fit.
fn broadcast_extent(a: Extent, b: Extent) -> Option<Extent> {
    match (a, b) {
        (Some(1), other) | (other, Some(1)) => Some(other),
        (None, other) | (other, None) => Some(other),
        (a, b) => (a == b).then_some(a),
    }
}

/// The shape that two shapes broadcast to, aligned at their ends.
///
/// # Errors
/// What does not fit.
pub fn broadcast(a: &[Extent], b: &[Extent]) -> Result<Shape> {
    let rank = a.len().max(b.len());
    let extent =
        |shape: &[Extent], i: usize| (i + shape.len()).checked_sub(rank).map_or(Some(1), |i| shape[i]);
    let extents = (0..rank).map(|i| broadcast_extent(extent(a, i), extent(b, i)));
    extents.collect::<Option<_>>().ok_or_else(|| format!("{a:?} and {b:?} do not broadcast"))
}

/// What two shapes say of one value.
///
/// # Errors
/// If they contradict each other.
pub fn meet(a: &[Extent], b: &[Extent]) -> Result<Shape> {
    let agree = |(a, b): (&Extent, &Extent)| match (*a, *b) {
        (None, other) | (other, None) => Some(other),
        (a, b) => (a == b).then_some(a),
    };
    let met: Option<Shape> = a.iter().zip(b).map(agree).collect();
    met.filter(|_| a.len() == b.len()).ok_or_else(|| format!("{a:?} is not {b:?}"))
}

/// An axis counted from the front.
///
/// # Errors
/// If there is no such axis.
pub fn axis(axis: i64, rank: usize) -> Result<usize> {
    let counted = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(counted) {
        Ok(counted) if counted < rank => Ok(counted),
        _ => Err(format!("a rank of {rank} has no axis {axis}")),
    }
}

/// The axes, counted from the front.
fn axes(list: &[i64], rank: usize) -> Result<Vec<usize>> {
    let counted = list.iter().map(|one| axis(*one, rank)).collect::<Result<Vec<_>>>()?;
    let twice = (1..counted.len()).any(|i| counted[..i].contains(&counted[i]));
    if twice { Err(format!("{list:?} names an axis twice")) } else { Ok(counted) }
}

/// The axes that a reduction or the like works along: those given, or all.
///
/// # Errors
/// If there is no such axis.
pub fn reduced_axes(attributes: &Attributes, rank: usize) -> Result<Vec<usize>> {
    match &attributes.axis {
        Some(list) => axes(list, rank),
        None => Ok((0..rank).collect()),
    }
}

/// The one axis that `sort` and `softmax` work along: that given, or the last.
///
/// # Errors
/// If there is no such axis.
pub fn along(attributes: &Attributes, rank: usize) -> Result<usize> {
    match attributes.axis.as_deref() {
        None => axis(-1, rank),
        Some([one]) => axis(*one, rank),
        Some(list) => Err(format!("{list:?} is not one axis")),
    }
}

/// How many elements; `None` if that is not known.
fn count(shape: &[Extent]) -> Extent {
    if shape.contains(&Some(0)) { Some(0) } else { shape.iter().copied().product() }
}

/// The shape of the result of `op`, which does not state it itself.
///
/// # Errors
/// What is wrong with the operands' shapes.
pub fn result(op: Op, attributes: &Attributes, operands: &[Shape]) -> Result<Shape> {
    let Some(first) = operands.first() else { return Err(format!("{op} states its shape")) };
    let rank = first.len();
    match op.info().shape {
        ShapeRule::Stated => Err(format!("{op} states its shape")),
        ShapeRule::Broadcast => operands.iter().try_fold(Vec::new(), |all, next| broadcast(&all, next)),
        ShapeRule::Same => Ok(first.clone()),
        ShapeRule::Reduce => {
            let gone = reduced_axes(attributes, rank)?;
            if matches!(op, Op::Max | Op::Min | Op::ArgMax | Op::ArgMin)
                && gone.iter().any(|axis| first[*axis] == Some(0))
            {
                return Err(format!("{op} of no elements"));
            }
            let kept = (0..rank).filter(|i| attributes.keepdims || !gone.contains(i));
            Ok(kept.map(|i| if gone.contains(&i) { Some(1) } else { first[i] }).collect())
        }
        ShapeRule::Along => {
            if op == Op::Flip {
                reduced_axes(attributes, rank)?;
            } else {
                along(attributes, rank)?;
            }
            Ok(first.clone())
        }
        ShapeRule::Scan if attributes.axis.is_none() && rank != 1 => Ok(vec![count(first)]),
        ShapeRule::Scan => along(attributes, rank).map(|_| first.clone()),
        ShapeRule::Matmul => matmul(first, &operands[1]),
        ShapeRule::Concat => {
            let along = axis(attributes.axis.as_deref().unwrap_or(&[0])[0], rank)?;
            let mut sum = Some(0);
            let mut joined = first.clone();
            for operand in operands {
                sum = sum.zip(*operand.get(along).ok_or("ranks differ")?).map(|(a, b)| a + b);
                let mut others = operand.clone();
                others[along] = joined[along];
                joined = meet(&joined, &others)?;
            }
            joined[along] = sum;
            Ok(joined)
        }
        ShapeRule::Stack => {
            let at = axis(attributes.axis.as_deref().unwrap_or(&[0])[0], rank + 1)?;
            let mut joined = operands.iter().try_fold(first.clone(), |all, next| meet(&all, next))?;
            joined.insert(at, Some(operands.len()));
            Ok(joined)
        }
        ShapeRule::Reshape => reshape(&attributes.shape, first),
        ShapeRule::Permute => {
            let order = axes(&attributes.permutation, rank)?;
            if order.len() != rank {
                return Err(format!("{order:?} is no permutation of {rank} axes"));
            }
            Ok(order.into_iter().map(|axis| first[axis]).collect())
        }
        ShapeRule::BroadcastTo => broadcast_to(&attributes.shape, operands),
        ShapeRule::ExpandDims => {
            let list = attributes.axis.as_deref().unwrap_or_default();
            let new = axes(list, rank + list.len())?;
            let mut old = first.iter().copied();
            let extent = |i| if new.contains(&i) { Some(1) } else { old.next().unwrap_or(Some(1)) };
            Ok((0..rank + list.len()).map(extent).collect())
        }
        ShapeRule::Squeeze => {
            let gone = axes(attributes.axis.as_deref().unwrap_or_default(), rank)?;
            if let Some(axis) = gone.iter().find(|axis| first[**axis].is_some_and(|extent| extent != 1)) {
                return Err(format!("axis {axis} of {first:?} is not 1"));
            }
            Ok((0..rank).filter(|i| !gone.contains(i)).map(|i| first[i]).collect())
        }
        ShapeRule::Slice => {
            let lists = [&attributes.start, &attributes.stop, &attributes.step];
            if lists.iter().any(|list| list.len() != rank) || attributes.step.contains(&0) {
                return Err(format!("a slice of rank {rank} by {attributes:?}"));
            }
            let extent = |i: usize| first[i].map(|extent| sliced(attributes, i, extent).len());
            Ok((0..rank).map(extent).collect())
        }
        ShapeRule::Take => {
            let along = axis(attributes.axis.as_deref().unwrap_or(&[0])[0], rank)?;
            Ok([&first[..along], &operands[1], &first[along + 1..]].concat())
        }
    }
}

/// The indices that Python's `start:stop:step` takes along axis `axis`.
pub fn sliced(attributes: &Attributes, axis: usize, extent: usize) -> Vec<usize> {
    let [start, stop, step] =
        [attributes.start[axis], attributes.stop[axis], attributes.step[axis]].map(i128::from);
    let extent = extent as i128;
    let (low, high) = if step < 0 { (-1, extent - 1) } else { (0, extent) };
    let bound = |at: i128| (if at < 0 { at + extent } else { at }).clamp(low, high);
    let (mut at, stop) = (bound(start), bound(stop));
    let mut taken = Vec::new();
    while if step < 0 { at > stop } else { at < stop } {
        taken.push(at as usize);
        at += step;
    }
    taken
}

fn matmul(x: &[Extent], y: &[Extent]) -> Result<Shape> {
    if x.is_empty() || y.is_empty() {
        return Err("matmul of a scalar".to_owned());
    }
    let (rows, inner_x) = x.split_at(x.len() - 1);
    let inner_y = y[y.len().saturating_sub(2)];
    if inner_x[0].zip(inner_y).is_some_and(|(a, b)| a != b) {
        return Err(format!("matmul of {x:?} and {y:?}"));
    }
    let batch = |shape: &[Extent]| shape[..shape.len().saturating_sub(2)].to_vec();
    let mut shape = broadcast(&batch(x), &batch(y))?;
    shape.extend(rows.last());
    shape.extend((y.len() > 1).then(|| y[y.len() - 1]));
    Ok(shape)
}

fn reshape(target: &[i64], from: &[Extent]) -> Result<Shape> {
    let wrong = || format!("{from:?} cannot be reshaped to {target:?}");
    let fixed: usize = target.iter().filter_map(|extent| usize::try_from(*extent).ok()).product();
    let free = target.iter().filter(|extent| **extent == -1).count();
    if free > 1 || target.iter().any(|extent| *extent < -1) {
        return Err(wrong());
    }
    let rest = match (count(from), free) {
        (Some(total), 0) if total != fixed => return Err(wrong()),
        (Some(total), 1) if fixed == 0 || total % fixed != 0 => return Err(wrong()),
        (Some(total), 1) => Some(total / fixed),
        _ => None,
    };
    Ok(target.iter().map(|extent| usize::try_from(*extent).map_or(rest, Some)).collect())
}

/// The first operand stretched to the attribute. An extent that it leaves open is that of the operands broadcast together.
fn broadcast_to(target: &[i64], operands: &[Shape]) -> Result<Shape> {
    let (first, pattern) = (&operands[0], operands.get(1));
    let open = match pattern {
        Some(pattern) => broadcast(first, pattern)?,
        None => first.clone(),
    };
    let extent = |i: usize| match target[i] {
        DYNAMIC => (i + open.len()).checked_sub(target.len()).and_then(|i| open[i]),
        extent => usize::try_from(extent).ok(),
    };
    let shape: Shape = (0..target.len()).map(extent).collect();
    let stretched = broadcast(first, &shape)?;
    let fits = |(a, b): (&Extent, &Extent)| a.is_none() || b.is_none() || a == b;
    if stretched.len() == shape.len() && stretched.iter().zip(&shape).all(fits) {
        Ok(shape)
    } else {
        Err(format!("{first:?} does not broadcast to {shape:?}"))
    }
}
