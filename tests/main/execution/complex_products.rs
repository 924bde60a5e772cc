//! Products of complex numbers: what is infinite is not multiplied by 1 once more where columns are cut into parts.

use promote::DType;
use promote_reference::{Array, Number, Value};

use super::support::{compile, function, run, session};

/// The last row is infinite, and is multiplied by 1 once, as by NumPy: the infinite part stays what it is, and the other is no number.
#[test]
fn an_infinite_product_down_columns_is_infinite_stated_or_not() {
    const COLUMNS: usize = 3;
    let source = |name: &str, rows: &str| {
        let x = format!("tensor<{rows}x{COLUMNS}xcomplex<f32>>");
        format!(
            "func.func @{name}(%x: {x}) -> tensor<{COLUMNS}xcomplex<f32>> {{
  %r = \"promote.prod\"(%x) {{axis = array<i64: 0>}} : ({x}) -> tensor<{COLUMNS}xcomplex<f32>>
  return %r : tensor<{COLUMNS}xcomplex<f32>>
}}
"
        )
    };
    let long = 100_000;
    let text = source("open", "?") + &source("long", &long.to_string());
    let executable = compile(&session("numpy2", false, false), &text);
    for (name, rows) in [("open", 1), ("open", 70_000), ("long", long)] {
        let mut elements = vec![Number::Complex(1.0, 0.0); rows * COLUMNS];
        elements[(rows - 1) * COLUMNS..].fill(Number::Complex(f64::NEG_INFINITY, 1.0));
        let x = Array::new(DType::C64, vec![rows, COLUMNS], elements);
        let found = run(&function(&executable, name), &[Value::Array(x)]).expect("it runs").remove(0);
        for number in found.elements.iter() {
            let Number::Complex(real, imaginary) = number else { panic!("{name}: {number:?}") };
            let is_right = *real == f64::NEG_INFINITY && imaginary.is_nan();
            assert!(is_right, "{name} of {rows}: {real} + {imaginary}j");
        }
    }
}
