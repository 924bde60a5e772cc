//! What every op of the dialect computes, of operands that are already in the dtypes that it computes in.
//!
//! Where the libraries differ, the semantics' [`Numerics`] decide: what an integer divided by zero is, or one to a negative
//! power, what sign a zero has that is left of a division, what `sign` makes of -0 and NaN, and what `take` makes of an index
//! out of range. Elsewhere NumPy's definition of the op holds, computed element by element; reductions
//! go through their elements in order of the index, in the dtype of the operand.

mod binary;
mod layout;
mod reduce;
mod unary;

pub(crate) use binary::{larger, maximum, minimum, smaller};
pub(crate) use layout::filler;
pub(crate) use reduce::{extreme, order};

use promote_lattice::convert::Numerics;
use promote_lattice::op::ShapeRule;
use promote_lattice::{DType, Op};

use crate::Error;
use crate::number::Number;
use crate::program::Attributes;
use crate::shape::{self, Shape};
use crate::value::{Array, indices};

/// An op to be computed.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Which op.
    pub op: Op,
    /// Its attributes.
    pub attributes: &'a Attributes,
    /// The dtype of its result.
    pub result: DType,
    /// Whose numbers.
    pub numerics: Numerics,
}

/// An element, or why there is none.
pub type Element = Result<Number, Error>;

/// Computes an op.
///
/// # Errors
/// [`Error::Trap`] if the shapes do not fit or the library raises an exception, [`Error::Unsupported`] for what is not
/// modelled.
pub fn evaluate(call: Call<'_>, operands: &[Array]) -> Result<Array, Error> {
    let shapes: Vec<Shape> = operands.iter().map(|operand| shape::known(&operand.shape)).collect();
    let shape = shape::result(call.op, call.attributes, &shapes).map_err(Error::Trap)?;
    let shape: Vec<usize> = shape.into_iter().flatten().collect();
    match call.op.info().shape {
        ShapeRule::Broadcast => {
            let stretched: Vec<Array> = operands.iter().map(|operand| operand.broadcast(&shape)).collect();
            let count = shape.iter().product();
            let element = |i| {
                let numbers: Vec<Number> = stretched.iter().map(|operand| operand.elements[i]).collect();
                elementwise(call.op, call.numerics, operands[0].dtype, &numbers)
            };
            let elements = (0..count).map(element).collect::<Result<Vec<_>, _>>()?;
            Ok(Array::new(call.result, shape, elements))
        }
        ShapeRule::Reduce => reduce::reduce(call, &operands[0], shape),
        ShapeRule::Scan => reduce::scan(call, &operands[0], shape),
        ShapeRule::Along if call.op != Op::Flip => reduce::scan(call, &operands[0], shape),
        ShapeRule::Matmul => matmul(call, &operands[0], &operands[1], shape),
        _ => layout::arrange(call, operands, shape),
    }
}

/// An element-wise op of one element of each operand, the first of which is of `dtype`, as an element of `result`.
///
/// # Errors
/// [`Error::Trap`] where the library raises an exception, [`Error::Unsupported`] for what is not modelled, as an op that
/// is not element-wise.
pub fn element(op: Op, numerics: Numerics, dtype: DType, result: DType, numbers: &[Number]) -> Element {
    Ok(elementwise(op, numerics, dtype, numbers)?.fit(result))
}

fn elementwise(op: Op, numerics: Numerics, dtype: DType, numbers: &[Number]) -> Element {
    match (op, numbers) {
        (Op::Where, [condition, x, y]) => Ok(if condition.is_true() { *x } else { *y }),
        (Op::Clip, [x, low, high]) => Ok(binary::clip(*x, *low, *high, numerics)),
        (op, [x]) => unary::unary(op, *x, dtype, numerics),
        (op, [x, y]) => binary::binary(op, *x, *y, dtype, numerics),
        (op, _) => Err(unsupported(op)),
    }
}

fn unsupported(op: Op) -> Error {
    Error::Unsupported(format!("{op} of such numbers"))
}

/// NumPy's `x @ y`: a vector is a row on the left and a column on the right, and batches are broadcast.
fn matmul(call: Call<'_>, x: &Array, y: &Array, shape: Vec<usize>) -> Result<Array, Error> {
    let dtype = x.dtype;
    let (row_axes, column_axes) = (usize::from(x.shape.len() > 1), usize::from(y.shape.len() > 1));
    let inner = x.shape[x.shape.len() - 1];
    let batch = shape.len() - row_axes - column_axes;
    let place = |operand: &Array, index: &[usize], own: [usize; 2]| {
        let axes = operand.shape.len();
        if axes == 1 {
            return vec![own[0]];
        }
        let mut at: Vec<usize> = Vec::new();
        for axis in 0..axes - 2 {
            let i = index[axis + batch - (axes - 2)];
            at.push(if operand.shape[axis] == 1 { 0 } else { i });
        }
        at.extend(own);
        at
    };
    let mut elements = Vec::new();
    for index in indices(&shape) {
        let row = index.get(batch).copied().filter(|_| row_axes > 0).unwrap_or(0);
        let column = index.last().copied().filter(|_| column_axes > 0).unwrap_or(0);
        let mut sum = Number::zero(dtype);
        for k in 0..inner {
            let left = x.at(&place(x, &index, if row_axes > 0 { [row, k] } else { [k, 0] }));
            let right = y.at(&place(y, &index, [k, column]));
            let product = binary::binary(Op::Multiply, left, right, dtype, call.numerics)?.fit(dtype);
            sum = binary::binary(Op::Add, sum, product, dtype, call.numerics)?.fit(dtype);
        }
        elements.push(sum);
    }
    Ok(Array::new(call.result, shape, elements))
}
