//! What code makes of operands that are constants is what it makes of the same numbers as arguments.

use promote::DType;
use promote_reference::{Array, Number, Value};

use super::support::{compile, function, known, reported, run, session};

/// Bounds, and numbers beside them: zeros of both signs, subnormals, infinities, NaN.
const NUMBERS: [f64; 12] =
    [0.0, -0.0, 1.0, -1.0, 1e-40, -1e-310, 127.0, -128.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -2.5];

/// So many elements, so that vectors see all and some are left over.
const COUNT: usize = 12 * 29;

/// Functions of two kinds for each pair of bounds: those that state them and those that are told.
fn text(dtype: DType) -> String {
    let (r#type, scalar) = (format!("tensor<{COUNT}x{}>", dtype.mlir()), format!("tensor<{}>", dtype.mlir()));
    let digits = dtype.bits().div_ceil(4) as usize;
    let body = format!(
        "  %0 = \"promote.maximum\"(%x, %a) : ({type}, {scalar}) -> !u\n  \
         %1 = \"promote.minimum\"(%x, %a) : ({type}, {scalar}) -> !u\n  \
         %2 = \"promote.maximum\"(%a, %x) : ({scalar}, {type}) -> !u\n  \
         %3 = \"promote.clip\"(%x, %a, %b) : ({type}, {scalar}, {scalar}) -> !u\n  \
         return %0, %1, %2, %3 : !u, !u, !u, !u\n}}\n"
    );
    let mut text =
        format!("func.func @told(%x: {type}, %a: {scalar}, %b: {scalar}) -> (!u, !u, !u, !u) {{\n{body}");
    for (index, low) in NUMBERS.iter().enumerate() {
        let constant = |name: &str, number: f64| {
            let bits = Number::Real(number).fit(dtype).bits(dtype);
            format!(
                "  %{name} = \"promote.constant\"() {{value = dense<0x{bits:0digits$X}> : {scalar}}} : () -> {scalar}\n"
            )
        };
        let (a, b) = (constant("a", *low), constant("b", high(index)));
        text.push_str(&format!("func.func @stated_{index}(%x: {type}) -> (!u, !u, !u, !u) {{\n{a}{b}{body}"));
    }
    known(&text)
}

/// The upper bound beside a lower one.
fn high(index: usize) -> f64 {
    NUMBERS[(index * 5 + 2) % NUMBERS.len()]
}

#[test]
fn bounds_that_are_constants_are_as_others() {
    let session = session("jax", true, false);
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let executable = compile(&session, &text(dtype));
        let x = Array::new(
            dtype,
            vec![COUNT],
            (0..COUNT).map(|index| Number::Real(NUMBERS[index % NUMBERS.len()])),
        );
        let scalar = |number: f64| Value::Array(Array::new(dtype, Vec::new(), [Number::Real(number)]));
        for (index, low) in NUMBERS.iter().enumerate() {
            let x = Value::Array(x.clone());
            let stated = run(&function(&executable, &format!("stated_{index}")), std::slice::from_ref(&x))
                .expect("it runs");
            let told = run(&function(&executable, "told"), &[x, scalar(*low), scalar(high(index))]);
            for (number, (stated, told)) in stated.iter().zip(told.expect("it runs")).enumerate() {
                compared += 1;
                if stated.bits() != told.bits() {
                    wrong.push(format!("result {number} of {dtype} and {low}, {}", high(index)));
                }
            }
        }
    }
    assert_eq!(compared, 4 * 4 * NUMBERS.len(), "four results of four dtypes");
    reported("bounds that are constants", wrong);
}
