//! Products of complex numbers go in the order of the index: what is infinite is multiplied by no `1+0j` but that which a product begins with.

use promote::DType;
use promote_reference::{Array, Number, Value};

use super::support::{compile, function, run, session};

/// Functions `open` and `stated` that multiply the elements of a matrix along an axis.
fn text(shape: [usize; 2], axis: usize) -> String {
    let results = shape[1 - axis];
    let source = |name: &str, [rows, columns]: [String; 2], results: &str| {
        let (x, r) =
            (format!("tensor<{rows}x{columns}xcomplex<f32>>"), format!("tensor<{results}xcomplex<f32>>"));
        format!(
            "func.func @{name}(%x: {x}) -> {r} {{
  %r = \"promote.prod\"(%x) {{axis = array<i64: {axis}>}} : ({x}) -> {r}
  return %r : {r}
}}
"
        )
    };
    let mut open = shape.map(|extent| extent.to_string());
    open[axis] = "?".to_owned();
    source("open", open, &results.to_string())
        + &source("stated", shape.map(|extent| extent.to_string()), &results.to_string())
}

/// What the two functions return for elements given by their results and their places in a product.
fn products(
    shape: [usize; 2],
    axis: usize,
    element: impl Fn(usize, usize) -> (f32, f32),
) -> [Vec<(f32, f32)>; 2] {
    let executable = compile(&session("numpy2", false, false), &text(shape, axis));
    let places = (0..shape[0]).flat_map(|row| (0..shape[1]).map(move |column| [row, column]));
    let elements = places.map(|place| {
        let (real, imaginary) = element(place[1 - axis], place[axis]);
        Number::Complex(real.into(), imaginary.into())
    });
    let x = Value::Array(Array::new(DType::C64, shape.to_vec(), elements.collect::<Vec<_>>()));
    ["open", "stated"].map(|name| {
        let found = run(&function(&executable, name), std::slice::from_ref(&x)).expect("it runs").remove(0);
        let parts = |number: &Number| match number {
            Number::Complex(real, imaginary) => (*real as f32, *imaginary as f32),
            number => panic!("{name}: {number:?}"),
        };
        found.elements.iter().map(parts).collect()
    })
}

/// The last term is infinite, and is multiplied by what those before it are, once: the infinite part stays what it is, and the other is no
/// number.
#[test]
fn a_product_whose_last_term_is_infinite_is_infinite() {
    let of_rows = [1, 2, 3, 4, 5, 8, 15, 16, 17, 33, 100, 70_000].map(|length| ([3, length], 1));
    let of_columns = [1, 4, 5, 70_000].map(|length| ([length, 3], 0));
    for (shape, axis) in of_rows.into_iter().chain(of_columns) {
        let infinite =
            |_, place| if place + 1 == shape[axis] { (f32::NEG_INFINITY, 1.0) } else { (1.0, 0.0) };
        for (name, found) in ["open", "stated"].into_iter().zip(products(shape, axis, infinite)) {
            for (real, imaginary) in found {
                let is_right = real == f32::NEG_INFINITY && imaginary.is_nan();
                assert!(is_right, "{name} of {shape:?} over {axis}: {real} + {imaginary}j");
            }
        }
    }
}

/// Each term is multiplied with what those before it are, and nothing is fused.
#[test]
fn a_product_has_the_bits_of_one_term_after_the_other() {
    let element = |result: usize, place: usize| {
        let part = |number: usize| (number % 7) as f32 * 0.125 - 0.3;
        (part(3 * place + result) + 0.7, part(5 * place + 2 * result))
    };
    for (shape, axis) in [([5, 37], 1), ([19, 4], 1), ([37, 5], 0), ([2, 300], 1)] {
        let expected: Vec<(f32, f32)> = (0..shape[1 - axis])
            .map(|result| {
                let terms = (0..shape[axis]).map(|place| element(result, place));
                terms.fold((1.0, 0.0), |(a, b), (c, d)| (a * c - b * d, a * d + b * c))
            })
            .collect();
        for (name, found) in ["open", "stated"].into_iter().zip(products(shape, axis, element)) {
            assert_eq!(found, expected, "{name} of {shape:?} over {axis}");
        }
    }
}
