//! Products of matrices and sorts on devices: the bits of a processor, around the edges of tiles, blocks and runs.

use promote::device::DeviceTarget;
use promote::{DType, Kind};
use promote_reference::{Array, Number, Value};

use super::devices::{array, differs, is_wide, open, outcome, signed, targets};
use super::support::{Place, Random, known, on_all_cores, reported};

/// Matrix products of every form: large ones are multiplied in tiles, others are kernels.
#[test]
fn products_have_the_bits_of_a_processor() {
    let shapes: &[(&[usize], &[usize])] = &[
        (&[65, 70], &[70, 67]),
        (&[3, 5], &[5, 4]),
        (&[2, 33, 129], &[129, 40]),
        (&[100, 64], &[64]),
        (&[64], &[64, 100]),
        (&[5, 40, 50], &[5, 50, 60]),
        (&[1, 300], &[300, 200]),
        (&[70, 1000], &[1000, 65]),
    ];
    let dtypes = [DType::F32, DType::BF16, DType::F64, DType::I32, DType::I8, DType::C64, DType::F16];
    let product = |index: usize| {
        let (left, right) = shapes[index % shapes.len()];
        (dtypes[(index / shapes.len() + index) % dtypes.len()], left, right)
    };
    multiply_as_a_processor(&|target| {
        let count = shapes.len() * if target == DeviceTarget::OpenCl { 1 } else { 3 };
        (0..count).map(product).collect()
    });
}

/// A product of a dtype, and the shapes of its operands.
type Product = (DType, &'static [usize], &'static [usize]);

/// The function `f` of a product.
fn matmul(dtype: DType, left: &[usize], right: &[usize]) -> String {
    let [x, y] = [left, right].map(|shape| {
        let extents: String = shape.iter().map(|extent| format!("{extent}x")).collect();
        format!("tensor<{extents}{}>", dtype.mlir())
    });
    known(&format!(
        "func.func @f(%x: {x}, %y: {y}) -> !u {{\n  %r = \"promote.matmul\"(%x, %y) : ({x}, {y}) -> !u\n  return %r : !u\n}}\n"
    ))
}

fn multiply_as_a_processor(products: &dyn Fn(DeviceTarget) -> Vec<Product>) {
    let is_wide = is_wide();
    for target in targets() {
        let products = products(target);
        let work = |place: &Place, index: usize| {
            let (dtype, left, right) = products[index];
            let text = matmul(dtype, left, right);
            let mut random = Random::new(index as u64);
            let given = if index.is_multiple_of(2) { array } else { signed };
            let arguments = [left, right].map(|shape| Value::Array(given(dtype, shape, &mut random)));
            let on = |place: &Place| outcome(place, (&text, "f"), ("jax", true), &arguments);
            let (found, expected) = (on(place), on(&Place::host()));
            // Where an operand is a vector, the product is a sum along rows.
            let is_comparable = is_wide || left.len().min(right.len()) > 1 || !dtype.is_inexact();
            (is_comparable && found != expected)
                .then(|| format!("{dtype} {left:?} by {right:?} on {target}: {}", differs(&found, &expected)))
        };
        let wrong = on_all_cores(products.len(), || open(target), work);
        reported("products", wrong.into_iter().flatten().collect());
    }
}

/// Extents around those of tiles, of what is in shared memory at once and of blocks; rows that consist of whole accesses, and
/// others.
#[test]
fn products_around_the_edges_of_tiles_and_blocks_have_the_bits_of_a_processor() {
    let products: &[Product] = &[
        (DType::F32, &[1, 400], &[400, 129]),
        (DType::F32, &[4100, 8], &[8, 8]),
        (DType::F32, &[63, 0], &[0, 65]),
        (DType::F32, &[127, 9], &[9, 129]),
        (DType::F32, &[64, 383], &[383, 64]),
        (DType::F32, &[65, 384], &[384, 68]),
        (DType::F32, &[63, 385], &[385, 65]),
        (DType::F32, &[66, 800], &[800, 72]),
        (DType::F64, &[63, 385], &[385, 66]),
        (DType::I16, &[65, 388], &[388, 130]),
        (DType::U8, &[129, 17], &[17, 64]),
        (DType::I64, &[64, 385], &[385, 65]),
        (DType::I8, &[63, 0], &[0, 65]),
        (DType::I8, &[65, 63], &[63, 67]),
        (DType::I8, &[130, 128], &[128, 64]),
        (DType::U8, &[64, 65], &[65, 64]),
        (DType::U8, &[3, 1000], &[1000, 66]),
    ];
    multiply_as_a_processor(&|_| products.to_vec());
}

/// As many of them as large tiles need.
#[test]
fn products_in_large_tiles_have_the_bits_of_a_processor() {
    let products: &[Product] = &[
        (DType::F32, &[128, 121, 388], &[128, 388, 124]),
        (DType::F32, &[128, 120, 17], &[128, 17, 127]),
        (DType::F32, &[129, 65, 0], &[129, 0, 128]),
        (DType::BF16, &[64, 129, 40], &[64, 40, 128]),
        (DType::I8, &[128, 100, 33], &[128, 33, 126]),
        (DType::U32, &[128, 128, 8], &[128, 8, 120]),
    ];
    multiply_as_a_processor(&|_| products.to_vec());
}

/// A sum of products that are too small for a subnormal number, all of one sign, is a zero; of which sign, the place where sums
/// begin decides.
#[test]
fn products_that_underflow_have_the_zeros_of_a_processor() {
    let dtypes = [(DType::F32, 1e-30), (DType::F64, 1e-200), (DType::BF16, 1e-30)];
    for target in targets() {
        let shapes = [(64, 33, 66), (65, 400, 64)];
        let work = |place: &Place, index: usize| {
            let ((dtype, tiny), (rows, inner, columns)) = (dtypes[index / 2], shapes[index % 2]);
            let of = |number: f64, shape: [usize; 2]| {
                let numbers = vec![Number::Real(number).fit(dtype); shape[0] * shape[1]];
                Value::Array(Array::new(dtype, shape.to_vec(), numbers))
            };
            let arguments = [of(-tiny, [rows, inner]), of(tiny, [inner, columns])];
            let text = matmul(dtype, &[rows, inner], &[inner, columns]);
            let on = |place: &Place| outcome(place, (&text, "f"), ("jax", true), &arguments);
            let (found, expected) = (on(place), on(&Place::host()));
            (found != expected).then(|| format!("{dtype} on {target}: {}", differs(&found, &expected)))
        };
        let count = shapes.len() * dtypes.len();
        reported("zeros", on_all_cores(count, || open(target), work).into_iter().flatten().collect());
    }
}

/// Lines around the length of the runs that are sorted in shared memory, and of merged ones, along memory and across it. Half of the
/// elements are equal to others, as zeros of both signs are, or NaN.
#[test]
fn sorts_around_the_lengths_of_runs_have_the_bits_of_a_processor() {
    let shapes: &[(&[usize], usize)] = &[
        (&[2], 0),
        (&[5, 255], 1),
        (&[256, 3], 0),
        (&[3, 260], 1),
        (&[1023], 0),
        (&[3, 1024], 1),
        (&[2, 1025], 1),
        (&[2047], 0),
        (&[4097], 0),
        (&[1, 5000, 3], 1),
        (&[2, 1026, 5], 1),
        (&[37, 70], 0),
    ];
    let dtypes = [DType::F32, DType::I8, DType::C64, DType::BF16, DType::F64, DType::B1, DType::U64];
    let given = |dtype: DType, shape: &[usize], random: &mut Random| {
        let mut part = || match random.below(12) {
            0 => f64::NAN,
            1 | 2 => 0.0,
            3 | 4 => -0.0,
            5..8 => random.below(5) as f64 - 2.0,
            _ => random.next() as f64 / 2f64.powi(60) - 8.0,
        };
        let mut number = || match dtype.kind() {
            Kind::Complex => Number::Complex(part(), part()),
            Kind::Float => Number::Real(part()).fit(dtype),
            Kind::Bool | Kind::Unsigned | Kind::Signed => Number::Int((part() * 9.0) as i128).fit(dtype),
        };
        let numbers: Vec<Number> = (0..shape.iter().product()).map(|_| number()).collect();
        Value::Array(Array::new(dtype, shape.to_vec(), numbers))
    };
    for target in targets() {
        let work = |place: &Place, index: usize| {
            let (shape, axis) = shapes[index % shapes.len()];
            let dtype = dtypes[(index + index / shapes.len()) % dtypes.len()];
            let extents: String = shape.iter().map(|extent| format!("{extent}x")).collect();
            let r#type = format!("tensor<{extents}{}>", dtype.mlir());
            let text = known(&format!(
                "func.func @f(%x: {type}) -> !u {{\n  %r = \"promote.sort\"(%x) {{axis = array<i64: {axis}>}} : ({type}) -> !u\n  return %r : !u\n}}\n"
            ));
            let argument = [given(dtype, shape, &mut Random::new(index as u64))];
            let on = |place: &Place| outcome(place, (&text, "f"), ("jax", true), &argument);
            let (found, expected) = (on(place), on(&Place::host()));
            (found != expected)
                .then(|| format!("{type} along {axis} on {target}: {}", differs(&found, &expected)))
        };
        let count = 2 * shapes.len();
        reported("sorts", on_all_cores(count, || open(target), work).into_iter().flatten().collect());
    }
}
