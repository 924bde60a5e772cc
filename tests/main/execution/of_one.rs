//! Reductions of one element each: what types state to be one is not reduced, and has the same bits as what a run finds to be one.

use std::fmt::Write;

use promote::{DType, Kind};
use promote_reference::{Array, Number, Value};

use super::support::{compile, function, run, session};

/// Ops of a dtype along an axis.
fn ops(dtype: DType) -> &'static [&'static str] {
    match dtype.kind() {
        Kind::Bool => &["any", "all", "sum", "argmax", "count_nonzero"],
        Kind::Unsigned | Kind::Signed => {
            &["sum", "prod", "max", "min", "any", "argmin", "cumulative_sum", "cumulative_prod", "mean"]
        }
        Kind::Float => &[
            "sum",
            "prod",
            "max",
            "min",
            "any",
            "all",
            "mean",
            "var",
            "std",
            "argmax",
            "argmin",
            "logsumexp",
            "softmax",
            "cumulative_sum",
            "cumulative_prod",
        ],
        Kind::Complex => &["sum", "prod", "max", "any", "mean", "var", "cumulative_sum", "cumulative_prod"],
    }
}

/// A function for each op, of operands whose extents are stated, and of such whose extents are open.
fn text(dtype: DType, ops: &[&str], shape: [usize; 3], axis: usize) -> String {
    let stated = shape.map(|extent| extent.to_string()).join("x");
    let mut text = String::new();
    for (name, dims) in [("stated", stated.as_str()), ("open", "?x?x?")] {
        let x = format!("tensor<{dims}x{}>", dtype.mlir());
        for op in ops {
            let _ = write!(
                text,
                "func.func @{name}_{op}(%x: {x}) -> !u {{
  %0 = \"promote.{op}\"(%x) {{axis = array<i64: {axis}>}} : ({x}) -> !u
  return %0 : !u
}}
"
            );
        }
    }
    text
}

/// The rules of the second and third library are tried with `f32` and, in turn, with half of the other dtypes.
#[test]
fn an_axis_of_one_element_is_reduced_to_the_same_bits_stated_or_not() {
    let numbers = [1.5, f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, -3.0, 1e-40, 127.0, -2.5];
    let dtypes =
        [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8, DType::I32, DType::B1, DType::C64];
    let shapes = [([4, 9, 1], 2), ([1, 4, 9], 0), ([4, 1, 9], 1)];
    for (turn, rules) in ["jax", "numpy2", "torch"].into_iter().enumerate() {
        let session = session(rules, true, false);
        let is_tried = |number: usize| turn == 0 || number == 0 || (number + turn).is_multiple_of(2);
        for (number, dtype) in dtypes.into_iter().enumerate().filter(|(number, _)| is_tried(*number)) {
            let (shape, axis) = shapes[(number + turn) % shapes.len()];
            // What a library has no function of, or none of the dtype.
            let is_missing = |op: &&&str| match rules {
                "numpy2" => dtype == DType::BF16 || matches!(**op, "logsumexp" | "softmax"),
                "torch" => match dtype.kind() {
                    Kind::Complex => **op == "max",
                    Kind::Unsigned | Kind::Signed => **op == "mean",
                    Kind::Bool | Kind::Float => false,
                },
                _ => false,
            };
            let ops: Vec<&str> = ops(dtype).iter().filter(|op| !is_missing(op)).copied().collect();
            let executable = compile(&session, &text(dtype, &ops, shape, axis));
            let number = |place: usize| {
                let number = numbers[place % numbers.len()];
                let is_finite = number.is_finite();
                match dtype.kind() {
                    // XLA does nothing to what it knows to be one element, not even add a zero. Which NaN a product of complex numbers is,
                    // is open.
                    Kind::Float | Kind::Complex if rules == "jax" && number == 0.0 => 0.25,
                    Kind::Complex if !is_finite => 0.5,
                    Kind::Float | Kind::Complex => number,
                    Kind::Bool => f64::from(u8::from(number > 0.0)),
                    Kind::Unsigned | Kind::Signed if is_finite => number.trunc(),
                    Kind::Unsigned | Kind::Signed => 9.0,
                }
            };
            let x: Vec<f64> = (0..36).map(number).collect();
            let x = Array::of_reals(dtype, &shape, &x);
            for op in ops {
                let [stated, open] = ["stated", "open"].map(|name| {
                    let results =
                        run(&function(&executable, &format!("{name}_{op}")), &[Value::Array(x.clone())]);
                    results.expect("it runs").remove(0)
                });
                assert_eq!(stated.bits(), open.bits(), "{op} of {dtype} {shape:?}, {rules}");
                assert_eq!(stated.dtype, open.dtype, "{op} of {dtype} {shape:?}, {rules}");
            }
        }
    }
}

/// XLA takes a sum, a product and a mean of one element for the element, whichever zero and however infinite it is.
#[test]
fn jax_does_nothing_to_what_is_known_to_be_one_element() {
    let session = session("jax", true, false);
    let ops = ["sum", "prod", "mean"];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::C64, DType::C128] {
        let executable = compile(&session, &text(dtype, &ops, [4, 9, 1], 2));
        let parts = [-0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, -3.0, 0.5];
        let number = |place: usize| {
            let part = parts[place % 6];
            if dtype.kind() == Kind::Complex {
                Number::Complex(part, parts[place / 6])
            } else {
                Number::Real(part)
            }
        };
        let x = Array::new(dtype, vec![4, 9, 1], (0..36).map(number).collect::<Vec<_>>());
        for op in ops {
            let found = run(&function(&executable, &format!("stated_{op}")), &[Value::Array(x.clone())]);
            assert_eq!(found.expect("it runs")[0].bits(), x.bits(), "{op} of {dtype}");
        }
    }
}
