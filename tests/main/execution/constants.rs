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

/// A choice between zero and `x` where `x` is compared with zero in a wider dtype, and the truth is a result, too.
fn choice(dtype: DType, wide: DType) -> String {
    let [narrow, wide] = [dtype, wide].map(|dtype| format!("tensor<{COUNT}x{}>", dtype.mlir()));
    let [zero, wide_zero] = [&narrow, &wide].map(|r#type| r#type.replace(&format!("{COUNT}x"), ""));
    let truths = format!("tensor<{COUNT}xi1>");
    format!(
        "func.func @main(%x: {narrow}) -> ({narrow}, {truths}) {{
  %z = \"promote.constant\"() {{value = dense<0.0> : {zero}}} : () -> {zero}
  %wz = \"promote.convert\"(%z) : ({zero}) -> {wide_zero}
  %w = \"promote.convert\"(%x) : ({narrow}) -> {wide}
  %c = \"promote.greater\"(%w, %wz) : ({wide}, {wide_zero}) -> {truths}
  %s = \"promote.where\"(%c, %wz, %w) : ({truths}, {wide_zero}, {wide}) -> {wide}
  %r = \"promote.convert\"(%s) : ({wide}) -> {narrow}
  return %r, %c : {narrow}, {truths}
}}
"
    )
}

/// A choice between zero and what `x` is converted to, where `x` is compared; the truth is a result, too, or not.
fn converted(from: DType, to: DType, has_truth: bool) -> String {
    let [x, result] = [from, to].map(|dtype| format!("tensor<{COUNT}x{}>", dtype.mlir()));
    let [zero, result_zero] = [&x, &result].map(|r#type| r#type.replace(&format!("{COUNT}x"), ""));
    let truths = format!("tensor<{COUNT}xi1>");
    let (types, truth) =
        if has_truth { (format!("({result}, {truths})"), ", %c") } else { (result.clone(), "") };
    let results = if has_truth { format!("{result}, {truths}") } else { result.clone() };
    format!(
        "func.func @main(%x: {x}) -> {types} {{
  %z = \"promote.constant\"() {{value = dense<0.0> : {zero}}} : () -> {zero}
  %rz = \"promote.constant\"() {{value = dense<0.0> : {result_zero}}} : () -> {result_zero}
  %c = \"promote.greater\"(%x, %z) : ({x}, {zero}) -> {truths}
  %w = \"promote.convert\"(%x) : ({x}) -> {result}
  %r = \"promote.where\"(%c, %rz, %w) : ({truths}, {result_zero}, {result}) -> {result}
  return %r{truth} : {results}
}}
"
    )
}

#[test]
fn zeros_keep_their_signs_in_a_choice_between_converted_floats() {
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    let numbers: Vec<f64> = NUMBERS.into_iter().cycle().take(COUNT).collect();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for rules in ["jax", "numpy2"] {
        let session = session(rules, true, false);
        for (from, to) in floats.iter().flat_map(|from| floats.map(|to| (*from, to))) {
            let fitted = |dtype: DType, numbers: &[f64]| {
                let numbers = numbers.iter().map(|number| Number::Real(*number).fit(from).fit(dtype));
                Value::Array(Array::new(dtype, vec![COUNT], numbers))
            };
            let x = fitted(from, &numbers);
            // What is too small for either dtype is a zero of its sign.
            let chosen: Vec<f64> = numbers
                .iter()
                .map(|number| if Number::Real(*number).fit(from).parts().0 > 0.0 { 0.0 } else { *number })
                .collect();
            let Value::Array(expected) = fitted(to, &chosen) else { unreachable!("it is one") };
            for has_truth in [false, true] {
                let executable = compile(&session, &converted(from, to, has_truth));
                let found = run(&function(&executable, "main"), std::slice::from_ref(&x)).expect("it runs");
                let differ = |(own, expected): &(&Number, &Number)| {
                    let [own, expected] = [own, expected].map(|number| number.parts().0);
                    own.is_nan() != expected.is_nan()
                        || own.abs() >= 1e-37 && own != expected
                        || own.is_sign_negative() != expected.is_sign_negative() && !own.is_nan()
                };
                compared += 1;
                if found[0].elements.iter().zip(&expected.elements).any(|pair| differ(&pair)) {
                    wrong.push(format!("{rules}: {from} converted to {to}, {has_truth}"));
                }
            }
        }
    }
    assert_eq!(compared, 64, "all pairs of floats");
    reported("choices between converted floats", wrong);
}

/// The second zero is the first operand of the outer op, which gives the first of equal numbers.
#[test]
fn zeros_have_the_sign_of_the_outer_extremes_first_operand() {
    let session = session("jax", true, false);
    let mut wrong = Vec::new();
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        for (op, zero, has_inner) in ["minimum", "maximum"].into_iter().flat_map(|op| {
            [0.0, -0.0].into_iter().flat_map(move |zero| [false, true].map(|has_inner| (op, zero, has_inner)))
        }) {
            let (x, k) = (format!("tensor<{COUNT}x{}>", dtype.mlir()), format!("tensor<{}>", dtype.mlir()));
            let (results, inner) = if has_inner { (format!("({x}, {x})"), ", %a") } else { (x.clone(), "") };
            let types = if has_inner { format!("{x}, {x}") } else { x.clone() };
            let text = format!(
                "func.func @main(%x: {x}) -> {results} {{
  %k = \"promote.constant\"() {{value = dense<{zero:?}> : {k}}} : () -> {k}
  %a = \"promote.{op}\"(%x, %k) : ({x}, {k}) -> {x}
  %b = \"promote.{op}\"(%k, %a) : ({k}, {x}) -> {x}
  return %b{inner} : {types}
}}
"
            );
            let zeros: Vec<f64> = [0.0, -0.0].into_iter().cycle().take(COUNT).collect();
            let executable = compile(&session, &text);
            let x = Value::Array(Array::of_reals(dtype, &[COUNT], &zeros));
            let found = run(&function(&executable, "main"), &[x]).expect("it runs");
            let is_same =
                |number: &Number| number.parts().0.is_sign_negative() == f64::is_sign_negative(zero);
            if !found[0].elements.iter().all(is_same) {
                wrong.push(format!("{op} of {zero:?} in {dtype}, with the inner one: {has_inner}"));
            }
        }
    }
    reported("extremes of extremes of zeros", wrong);
}

#[test]
fn zeros_keep_their_signs_in_a_choice_whose_condition_is_a_result_too() {
    let session = session("jax", true, false);
    let mut wrong = Vec::new();
    for (dtype, wide) in [
        (DType::F16, DType::F16),
        (DType::F16, DType::F32),
        (DType::BF16, DType::F32),
        (DType::F32, DType::F32),
        (DType::F32, DType::F64),
        (DType::F64, DType::F64),
    ] {
        let numbers: Vec<f64> = NUMBERS.into_iter().cycle().take(COUNT).collect();
        let array = |numbers: &[f64]| {
            let numbers = numbers.iter().map(|number| Number::Real(*number).fit(dtype));
            Value::Array(Array::new(dtype, vec![COUNT], numbers))
        };
        // What is too small for the dtype is a zero of its sign.
        let chosen: Vec<f64> =
            numbers.iter().map(|number| if *number > 0.0 { 0.0 } else { *number }).collect();
        let executable = compile(&session, &choice(dtype, wide));
        let found = run(&function(&executable, "main"), &[array(&numbers)]).expect("it runs");
        let Value::Array(expected) = array(&chosen) else { unreachable!("it is one") };
        if found[0].bits() != expected.bits() {
            wrong.push(format!("{dtype} compared as {wide}"));
        }
    }
    reported("choices between zeros", wrong);
}
