//! Rows that do not stay in the first-level cache: how they are gone through changes no bit.

use std::fmt::Write;

use promote::{Function, Tensor};

use super::support::{Random, compile, function, session};

fn numbers(count: usize, random: &mut Random) -> Vec<f32> {
    (0..count).map(|_| random.below(1 << 24) as f32 / 8_388_608.0 - 1.0).collect()
}

fn tensor<'a>(elements: &'a [f32], shape: &[usize]) -> Tensor<'a> {
    let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    Tensor::of(elements, &shape).expect("there are as many elements")
}

fn bits(function: &Function, arguments: &[Tensor<'_>]) -> Vec<u32> {
    let results = function.run(arguments).expect("it runs");
    let elements = results[0].elements::<f32>().expect("the result is of f32");
    elements.iter().map(|number| number.to_bits()).collect()
}

/// Columns are reduced in the same order whether some rows are taken at once, as where nothing else is computed, or one by one, as
/// where the least element is found beside: in blocks of rows, and in the rest of a block.
#[test]
fn long_rows_are_reduced_in_the_same_order_some_at_once_and_one_by_one() {
    const OPS: [&str; 5] = ["sum", "prod", "max", "mean", "var"];
    let mut random = Random::new(11);
    for (rows, width) in
        [1, 3, 4, 63, 64, 65, 71, 134].into_iter().flat_map(|rows| [(rows, 8192), (rows, 8209)])
    {
        let mut text = String::new();
        for op in OPS {
            let (x, r) = (format!("tensor<{rows}x{width}xf32>"), format!("tensor<{width}xf32>"));
            let _ = write!(
                text,
                "func.func @{op}(%x: {x}) -> {r} {{
  %0 = \"promote.{op}\"(%x) {{axis = array<i64: 0>}} : ({x}) -> {r}
  return %0 : {r}
}}
func.func @{op}_and_min(%x: {x}) -> ({r}, {r}) {{
  %0 = \"promote.{op}\"(%x) {{axis = array<i64: 0>}} : ({x}) -> {r}
  %1 = \"promote.min\"(%x) {{axis = array<i64: 0>}} : ({x}) -> {r}
  return %0, %1 : {r}, {r}
}}
"
            );
        }
        let executable = compile(&session("jax", false, false), &text);
        let x = numbers(rows * width, &mut random);
        for op in OPS {
            let of = |name: &str| bits(&function(&executable, name), &[tensor(&x, &[rows, width])]);
            assert!(of(op) == of(&format!("{op}_and_min")), "{op} of {rows} rows of {width}");
        }
    }
}

/// Where extents are known, threads take blocks of the terms, and chunks of columns of them; where a run alone knows them, they
/// take columns.
#[test]
fn threads_that_share_the_terms_of_a_product_add_them_up_in_order() {
    let mut random = Random::new(12);
    for [batch, rows, inner, width] in [[1, 1, 1153, 4133], [2, 3, 401, 4200], [3, 8, 770, 512]] {
        let text = format!(
            "func.func @known(%x: tensor<{batch}x{rows}x{inner}xf32>, %y: tensor<{batch}x{inner}x{width}xf32>) -> !u {{
  %r = \"promote.matmul\"(%x, %y) : (tensor<{batch}x{rows}x{inner}xf32>, tensor<{batch}x{inner}x{width}xf32>) -> !u
  return %r : !u
}}
func.func @open(%x: tensor<?x?x?xf32>, %y: tensor<?x?x?xf32>) -> !u {{
  %r = \"promote.matmul\"(%x, %y) : (tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> !u
  return %r : !u
}}
"
        );
        let executable = compile(&session("jax", false, false), &text);
        let x = numbers(batch * rows * inner, &mut random);
        let y = numbers(batch * inner * width, &mut random);
        let operands = [tensor(&x, &[batch, rows, inner]), tensor(&y, &[batch, inner, width])];
        let of = |name: &str| bits(&function(&executable, name), &operands);
        assert!(of("known") == of("open"), "[{batch},{rows},{inner}] · [{batch},{inner},{width}]");
    }
}
