//! Short rows that a program reads in small steps, forward or backward: results have the bits of rows that lie side by side.

use std::fmt::Write;

use promote::{DType, Tensor};
use promote_reference::{Array, Value};

use super::ragged_rows::targets;
use super::support::{Random, compile_for, function, has_all, is_chosen, known, run, session, tensor};

const OPS: [&str; 8] =
    ["sum", "max", "argmax", "any", "cumulative_sum", "cumulative_prod", "softmax", "logsumexp"];

/// For each op a function of every so many elements of rows, in reverse order if asked, and one of rows that are so already; and one that
/// copies them.
fn text(
    dtype: DType,
    (rows, length, step): (usize, usize, usize),
    reverses: bool,
) -> (String, Vec<&'static str>) {
    let of = |length: usize| format!("tensor<{rows}x{length}x{}>", dtype.mlir());
    let (x, y) = (of(length * step), of(length));
    let slice = format!(
        "\"promote.slice\"(%x) {{start = array<i64: 0, 0>, stop = array<i64: {rows}, {}>, step = array<i64: 1, {step}>}} : ({x}) -> {y}",
        length * step
    );
    let flip = if reverses { "flip\"(%s) {axis = array<i64: 1>}" } else { "positive\"(%s)" };
    let rows = format!("  %s = {slice}\n  %y = \"promote.{flip} : ({y}) -> {y}\n");
    let mut text = format!("func.func @copy(%x: {x}) -> {y} {{\n{rows}  return %y : {y}\n}}\n");
    let suits = |op: &&str| match *op {
        "softmax" | "logsumexp" => dtype.is_inexact() && dtype != DType::C64,
        "max" | "argmax" => dtype != DType::C64,
        _ => true,
    };
    let ops: Vec<&str> = OPS.into_iter().filter(suits).collect();
    for op in &ops {
        let along = format!(
            "  %0 = \"promote.{op}\"(%y) {{axis = array<i64: 1>}} : ({y}) -> !u\n  return %0 : !u\n}}\n"
        );
        let _ = write!(
            text,
            "func.func @both_{op}(%x: {x}) -> !u {{\n{rows}{along}func.func @own_{op}(%y: {y}) -> !u {{\n{along}"
        );
    }
    (known(&text), ops)
}

#[test]
fn short_rows_in_steps_have_the_bits_of_rows_side_by_side() {
    let (session, mut random) = (session("jax", true, false), Random::new(21));
    let lengths = [
        (2, 3),
        (3, 3),
        (4, 2),
        (5, 3),
        (7, 2),
        (8, 2),
        (5, 4),
        (3, 4),
        (16, 1),
        (9, 1),
        (32, 1),
        (13, 1),
        // Of floats of 32 and of 64 bits, by turns: they fill vectors.
        (27, 1),
        (19, 1),
        (31, 1),
        (25, 1),
    ];
    let dtypes = [DType::F32, DType::F64, DType::BF16, DType::I8, DType::I32, DType::C64];
    for (place, target) in targets().into_iter().enumerate() {
        for (number, (length, step)) in lengths.into_iter().enumerate() {
            for (turn, dtype) in dtypes.into_iter().enumerate() {
                // Half of the pairs, and of them each processor two of three.
                let pair = number * dtypes.len() + turn;
                if (number + turn) % 2 == 1 || !has_all() && is_chosen(pair / 2, 3, place) {
                    continue;
                }
                let (rows, reverses) = ([37, 64, 5][number % 3], step == 1 || number / 2 % 2 == 0);
                let part = if dtype.is_inexact() { 0.3 } else { 0.0 };
                let number = |random: &mut Random| random.below(9) as f64 - 4.0 + part;
                let numbers: Vec<f64> = (0..rows * length * step).map(|_| number(&mut random)).collect();
                let x = Array::of_reals(dtype, &[rows, length * step], &numbers);
                let (text, ops) = text(dtype, (rows, length, step), reverses);
                let executable = compile_for(&session, &text, target.clone()).expect("it is compiled");
                let of = |name: &str, x: &Array| {
                    let mut results = run(&function(&executable, name), &[Value::Array(x.clone())]);
                    results.as_mut().expect("it runs").remove(0)
                };
                let y = of("copy", &x);
                for op in ops {
                    let [both, own] = [of(&format!("both_{op}"), &x), of(&format!("own_{op}"), &y)];
                    let what = format!("{op} of {dtype} [{rows}, {length}] in steps of {step}");
                    assert_eq!(both, own, "{what}, {reverses}, {}", target.cpu());
                }
            }
        }
    }
}

/// Of so many that they are in no cache, and of fewer.
#[test]
fn short_rows_have_the_same_bits_however_they_lie() {
    let session = session("jax", true, false);
    for (dtype, rows, length) in
        [(DType::F32, 350_000, 27), (DType::F32, 37, 31), (DType::F64, 200_000, 22), (DType::F64, 20, 16)]
    {
        let mut random = Random::new(rows as u64);
        let numbers: Vec<f64> = (0..rows * length).map(|_| random.below(1000) as f64 / 7.0).collect();
        let turned: Vec<f64> =
            (0..rows * length).map(|place| numbers[place % rows * length + place / rows]).collect();
        let [straight, turned] = [(rows, length, numbers), (length, rows, turned)]
            .map(|(a, b, numbers)| tensor(&Array::of_reals(dtype, &[a, b], &numbers)));
        let shape = [rows as i64, length as i64];
        let lying = |is_down: &bool| {
            let (tensor, strides) =
                if *is_down { (&turned, [1, shape[0]]) } else { (&straight, [shape[1], 1]) };
            let bytes = tensor.bytes().expect("it is row-major");
            Tensor::strided(dtype, &shape, &strides, bytes, 0).expect("it lies there")
        };
        let ty = format!("tensor<{rows}x{length}x{dtype}>");
        let text = known(&format!(
            "func.func @sum(%x: {ty}) -> !u {{
  %0 = \"promote.sum\"(%x) {{axis = array<i64: 1>}} : ({ty}) -> !u
  return %0 : !u
}}
func.func @product(%x: {ty}, %y: {ty}) -> !u {{
  %0 = \"promote.multiply\"(%x, %y) : ({ty}, {ty}) -> !u
  %1 = \"promote.sum\"(%0) {{axis = array<i64: 1>}} : (!u) -> !u
  return %1 : !u
}}
"
        ));
        for target in targets() {
            let executable = compile_for(&session, &text, target.clone()).expect("it is compiled");
            let of = |name: &str, are_down: &[bool]| {
                let arguments: Vec<Tensor<'_>> = are_down.iter().map(lying).collect();
                let results = function(&executable, name).run(&arguments).expect("it runs");
                results[0].bytes().expect("it is contiguous").to_vec()
            };
            let what = format!("{dtype} [{rows}, {length}] on {}", target.cpu());
            assert!(of("sum", &[false]) == of("sum", &[true]), "sums, {what}");
            let product = of("product", &[false, false]);
            for are_down in [[false, true], [true, false], [true, true]] {
                assert!(product == of("product", &are_down), "sums of products, {what}, {are_down:?}");
            }
        }
    }
}
