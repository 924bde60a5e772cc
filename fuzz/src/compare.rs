//! Compiled results beside the interpreter's.

use promote::{DType, Function, Kind, RunError, Tensor};
use promote_reference::random::Precision;
use promote_reference::{Array, Number, Value};

/// How many units in the last place floats may be off that one function made.
const NEAR: f64 = 8.0;

/// Runs a function on the interpreter's values.
///
/// # Errors
/// What the run returned.
pub fn run(function: &Function, arguments: &[Value]) -> Result<Vec<Array>, RunError> {
    let given = |(index, value): (usize, &Value)| match value {
        Value::Array(array) => tensor(array),
        Value::Integer(number) => {
            tensor(&Array::of_ints(function.inputs()[index].dtype, &[], &[i128::from(*number)]))
        }
    };
    let arguments: Vec<_> = arguments.iter().enumerate().map(given).collect();
    Ok(function.run(&arguments)?.iter().map(array).collect())
}

fn tensor(array: &Array) -> Tensor<'static> {
    let shape: Vec<i64> = array.shape.iter().map(|extent| *extent as i64).collect();
    let mut tensor = Tensor::zeros(array.dtype.storage(), &shape).expect("there is memory for a small array");
    let size = tensor.element_size();
    let bits = |number: &Number| number.bits(array.dtype).to_le_bytes();
    let bytes = array.elements.iter().flat_map(|number| bits(number).into_iter().take(size));
    tensor.bytes_mut().expect("the tensor is owned").iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    tensor
}

fn array(tensor: &Tensor<'_>) -> Array {
    let (dtype, size) = (tensor.dtype(), tensor.element_size());
    let element = |bytes: &[u8]| {
        let mut all = [0; 16];
        all[..size].copy_from_slice(bytes);
        Number::from_bits(u128::from_le_bytes(all), dtype)
    };
    let bytes = tensor.bytes().expect("results are contiguous");
    let shape = tensor.shape().iter().map(|extent| *extent as usize).collect();
    let elements = bytes.chunks_exact(size).map(element).collect();
    Array { dtype, shape, elements }
}

/// What is wrong with a result.
pub fn difference(found: &Array, expected: &Array, precision: Precision) -> Option<String> {
    if (found.dtype, &found.shape) != (expected.dtype, &expected.shape) {
        let (of, wanted) = ((found.dtype, &found.shape), (expected.dtype, &expected.shape));
        return Some(format!("{of:?}, expected {wanted:?}"));
    }
    let most = match precision {
        Precision::Exact => 0.0,
        Precision::Near => NEAR,
        Precision::Loose => return None,
    };
    let pairs = found.elements.iter().zip(&expected.elements);
    let wrong = |(x, y): &(&Number, &Number)| distance(**x, **y, found.dtype) > most;
    let (place, (x, y)) = pairs.enumerate().find(|(_, pair)| wrong(pair))?;
    Some(format!("element {place} of {}{:?} is {x:?}, expected {y:?}", found.dtype, found.shape))
}

/// How far elements are apart, in units in the last place of floats; different integers infinitely. A NaN is a NaN.
fn distance(x: Number, y: Number, dtype: DType) -> f64 {
    let one = |x: f64, y: f64| match (x.is_nan(), y.is_nan()) {
        (true, true) => 0.0,
        (false, false) if x == y => 0.0,
        _ if !x.is_finite() || !y.is_finite() => f64::INFINITY,
        _ => (x - y).abs() / unit(x.abs().max(y.abs()), dtype.real_part()),
    };
    match dtype.kind() {
        Kind::Float | Kind::Complex => {
            let ((a, b), (c, d)) = (x.parts(), y.parts());
            one(a, c).max(one(b, d))
        }
        Kind::Bool | Kind::Unsigned | Kind::Signed if x == y => 0.0,
        Kind::Bool | Kind::Unsigned | Kind::Signed => f64::INFINITY,
    }
}

/// The distance of a number to the next one.
fn unit(x: f64, dtype: DType) -> f64 {
    let Some(format) = dtype.props().format else { return 1.0 };
    let least = 1 - format.bias;
    let exponent = ((x.to_bits() >> 52) as i32 - 1023).max(least);
    2f64.powi((exponent - format.mantissa_bits as i32).max(-1074))
}
