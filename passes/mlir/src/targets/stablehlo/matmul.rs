//! `promote.matmul`: NumPy's `x @ y` as a `dot_general`.
//!
//! A vector is a row on the left and a column on the right, and batches are broadcast. Narrow floats are added up in f32. The
//! precision is the highest that a machine has: the numbers are those of the dtype.

use promote_lattice::{DType, Kind, Op};
use promote_scalar::accumulator;

use super::builder::{Builder, Direction, Tensor};

/// The product of matrices of one dtype; its result has this shape.
pub fn matmul(b: &mut Builder<'_>, x: Tensor, y: Tensor, shape: &[i64]) -> Tensor {
    match x.kind() {
        // A product of truth values is whether one of the pairs is true.
        Kind::Bool => {
            let (x, y) = (b.cast(x, DType::I32), b.cast(y, DType::I32));
            let (count, zero) = (dot(b, x, y, DType::I32, shape), b.splat_bits(DType::I32, shape, 0));
            b.compare(count, Direction::Ne, zero)
        }
        Kind::Float if x.dtype.bits() < 16 => {
            let (x, y) = (b.cast(x, DType::F32), b.cast(y, DType::F32));
            dot(b, x, y, DType::F32, shape)
        }
        // The low bits of wider products are those of narrow integers.
        Kind::Unsigned | Kind::Signed => {
            let narrow = x.dtype;
            let (x, y) = (b.in_bytes(x), b.in_bytes(y));
            let product = dot(b, x, y, x.dtype, shape);
            b.cast(product, narrow)
        }
        Kind::Float | Kind::Complex => dot(b, x, y, accumulator(Op::Sum, x.dtype), shape),
    }
}

fn dot(b: &mut Builder<'_>, x: Tensor, y: Tensor, dtype: DType, shape: &[i64]) -> Tensor {
    let (x_shape, y_shape) = (x.shape(), y.shape());
    let (rows, columns) = (usize::from(x_shape.len() > 1), usize::from(y_shape.len() > 1));
    // One matrix for a whole batch is a product of matrices; else both are batches.
    let batch = if y_shape.len() > 2 { shape.len() - rows - columns } else { 0 };
    let batched = |operand: Tensor, own: usize, b: &mut Builder<'_>| {
        let own_shape = operand.shape();
        let full = [&shape[..batch], &own_shape[own_shape.len() - own..]].concat();
        b.broadcast(operand, &full)
    };
    let (x, y) = if batch > 0 { (batched(x, rows + 1, b), batched(y, columns + 1, b)) } else { (x, y) };
    let contracted = [x.shape().len() - 1, y.shape().len() - 1 - columns];
    let batches: Vec<_> = (0..batch).map(|axis| axis.to_string()).collect();
    let batches = batches.join(", ");
    let numbers = format!(
        "#stablehlo.dot<lhs_batching_dimensions = [{batches}], rhs_batching_dimensions = [{batches}], \
         lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}]>",
        contracted[0], contracted[1]
    );
    let attributes = [
        ("dot_dimension_numbers", b.attribute(&numbers)),
        ("precision_config", b.attribute("[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]")),
    ];
    b.op("stablehlo.dot_general", &[x, y], (dtype, shape), &attributes)
}
