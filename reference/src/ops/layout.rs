//! Ops that move elements and compute nothing.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};

use super::{Call, unsupported};
use crate::Error;
use crate::number::Number;
use crate::program::Attributes;
use crate::shape::{self, sliced};
use crate::value::{Array, indices};

/// `op` of `operands`, whose result has `shape`.
pub(super) fn arrange(call: Call<'_>, operands: &[Array], shape: Vec<usize>) -> Result<Array, Error> {
    let x = &operands[0];
    let rank = x.shape.len();
    let arranged = match call.op {
        Op::Reshape | Op::ExpandDims | Op::Squeeze | Op::Relax => Array { shape, ..x.clone() },
        Op::BroadcastTo => x.broadcast(&shape),
        Op::PermuteDims => {
            let order = &call.attributes.permutation;
            let axes = order.iter().map(|axis| shape::axis(*axis, rank)).collect::<Result<Vec<_>, _>>();
            let axes = axes.map_err(Error::Trap)?;
            x.gather(shape, |index| {
                let mut source = vec![0; rank];
                axes.iter().zip(index).for_each(|(axis, i)| source[*axis] = *i);
                source
            })
        }
        Op::Flip => {
            let axes = shape::reduced_axes(call.attributes, rank).map_err(Error::Trap)?;
            x.gather(shape, |index| {
                let flipped = |(axis, i): (usize, &usize)| {
                    if axes.contains(&axis) { x.shape[axis] - 1 - i } else { *i }
                };
                index.iter().enumerate().map(flipped).collect()
            })
        }
        Op::Slice => {
            let taken: Vec<Vec<usize>> =
                (0..rank).map(|axis| sliced(call.attributes, axis, x.shape[axis])).collect();
            x.gather(shape, |index| index.iter().zip(&taken).map(|(i, taken)| taken[*i]).collect())
        }
        Op::Take => take(call, x, &operands[1], shape)?,
        Op::Concat | Op::Stack => join(call, operands, shape)?,
        op => return Err(unsupported(op)),
    };
    Ok(Array { dtype: call.result, ..arranged })
}

fn one_axis(attributes: &Attributes, rank: usize) -> Result<usize, Error> {
    shape::axis(attributes.axis.as_deref().unwrap_or(&[0])[0], rank).map_err(Error::Trap)
}

fn join(call: Call<'_>, operands: &[Array], shape: Vec<usize>) -> Result<Array, Error> {
    let axis = one_axis(call.attributes, shape.len())?;
    let mut pieces = operands.to_vec();
    if call.op == Op::Stack {
        pieces.iter_mut().for_each(|piece| piece.shape.insert(axis, 1));
    }
    let element = |mut index: Vec<usize>| {
        for piece in &pieces {
            if index[axis] < piece.shape[axis] {
                return piece.at(&index);
            }
            index[axis] -= piece.shape[axis];
        }
        Number::zero(call.result)
    };
    let elements = indices(&shape).map(element).collect();
    Ok(Array { dtype: call.result, shape, elements })
}

/// Negative indices count from the end. What is out of range is an exception in NumPy and PyTorch; JAX fills it in.
fn take(call: Call<'_>, x: &Array, places: &Array, shape: Vec<usize>) -> Result<Array, Error> {
    let axis = one_axis(call.attributes, x.shape.len())?;
    let (extent, rank) = (x.shape[axis] as i128, places.shape.len());
    let is_outside = |place: &&Number| !(-extent..extent).contains(&place.int());
    let outside =
        places.elements.iter().find(is_outside).map(|place| format!("index {} of {extent}", place.int()));
    match (call.numerics, outside) {
        // Once for each index of the dimensions before.
        (Numerics::NumPy, Some(why)) if x.shape[..axis].iter().all(|extent| *extent > 0) => {
            return Err(Error::Trap(why));
        }
        (Numerics::Jax, Some(_)) if extent == 0 => {
            return Err(Error::Trap("take from an empty axis".to_owned()));
        }
        _ => {}
    }
    let mut elements = Vec::new();
    for index in indices(&shape) {
        let place = places.at(&index[axis..axis + rank]).int();
        let place = if place < 0 { place + extent } else { place };
        elements.push(match usize::try_from(place) {
            Ok(place) if place < x.shape[axis] => {
                x.at(&[&index[..axis], &[place], &index[axis + rank..]].concat())
            }
            _ if call.numerics == Numerics::Jax => filler(x.dtype),
            _ => return Err(Error::Trap(format!("index {place} of an extent of {extent}"))),
        });
    }
    Ok(Array { dtype: call.result, shape, elements })
}

/// What JAX fills in: NaN, of complex numbers in the real part, the least signed integer, the largest unsigned one, true.
pub(crate) fn filler(dtype: DType) -> Number {
    match dtype.kind() {
        Kind::Bool => Number::truth(true),
        Kind::Signed => Number::Int(-1 << (dtype.bits() - 1)),
        Kind::Unsigned => Number::Int(-1).fit(dtype),
        Kind::Float => Number::Real(f64::NAN).fit(dtype),
        Kind::Complex => Number::Complex(f64::NAN, 0.0),
    }
}
