//! Short rows that a program reads in small steps, forward or backward: results have the bits of rows that lie side by side.

use std::fmt::Write;

use promote::DType;
use promote_reference::{Array, Value};

use super::ragged_rows::targets;
use super::support::{Random, compile_for, function, has_all, is_chosen, known, run, session};

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
    let lengths =
        [(2, 3), (3, 3), (4, 2), (5, 3), (7, 2), (8, 2), (5, 4), (3, 4), (16, 1), (9, 1), (32, 1), (13, 1)];
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
