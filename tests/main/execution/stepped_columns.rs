//! Columns whose elements a program reads in steps, in arguments that lie in any order: results have the bits of row-major ones.

use promote::DType;

use super::layouts::{check_functions, dims, elements};
use super::support::Random;

/// Functions of every so many elements of a tensor along an axis, from the second one on: what they are reduced to along each dimension, and
/// what they are beside themselves in reverse order; and how many there are.
fn functions(x: &str, extents: &[usize], (axis, step): (usize, usize)) -> (String, usize) {
    let rank = extents.len();
    let list = |of: &dyn Fn(usize) -> String| (0..rank).map(of).collect::<Vec<_>>().join(", ");
    let pick = |own: usize, other: usize| move |dim: usize| if dim == axis { own } else { other }.to_string();
    let (start, steps) = (list(&pick(1, 0)), list(&pick(step, 1)));
    let stop = list(&|_| i64::MAX.to_string());
    let slice = format!(
        "  %v = \"promote.slice\"(%x) {{start = array<i64: {start}>, stop = array<i64: {stop}>, \
         step = array<i64: {steps}>}} : ({x}) -> !u\n"
    );
    let mut bodies = Vec::new();
    for dim in 0..rank {
        for op in ["sum", "prod", "max", "argmin", "any", "var", "cumulative_sum"] {
            bodies.push(format!("  %r = \"promote.{op}\"(%v) {{axis = array<i64: {dim}>}} : (!u) -> !u\n"));
        }
        bodies.push(format!(
            "  %s = \"promote.multiply\"(%v, %v) : (!u, !u) -> !u
  %r = \"promote.sum\"(%s) {{axis = array<i64: {dim}>}} : (!u) -> !u\n"
        ));
    }
    let turned = list(&|dim| (rank - 1 - dim).to_string());
    bodies.push(format!(
        "  %t = \"promote.permute_dims\"(%v) {{permutation = array<i64: {turned}>}} : (!u) -> !u
  %r = \"promote.add\"(%t, %t) : (!u, !u) -> !u\n"
    ));
    let functions: Vec<String> = (bodies.iter().enumerate())
        .map(|(index, body)| {
            format!("func.func @f{index}(%x: {x}) -> !u {{\n{slice}{body}  return %r : !u\n}}\n")
        })
        .collect();
    (functions.concat(), functions.len())
}

fn check(dtype: DType, shape: &[usize], steps: (usize, usize), is_open: bool) {
    let x = format!("tensor<{}x{}>", dims(shape, is_open).join("x"), dtype.mlir());
    let numbers = elements(dtype, shape.iter().product(), &mut Random::new(shape[0] as u64));
    check_functions(&functions(&x, shape, steps), (dtype, &numbers), shape, is_open);
}

#[test]
fn columns_in_steps_give_the_same_bits_in_every_order() {
    // Whole squares and parts of one; blocks of sums, and parts of columns; fewer columns than a vector has lanes, and one left over. Where
    // types state so few elements, arguments are packed.
    for (number, (rows, columns)) in
        [(7, 300), (15, 17), (33, 129), (65, 31), (130, 7), (403, 33), (1031, 129)].into_iter().enumerate()
    {
        check(DType::F32, &[rows * (2 + number % 3), columns], (0, 2 + number % 3), true);
    }
    for (rows, columns) in [(35, 1100), (403, 33), (2100, 7)] {
        check(DType::F32, &[rows * 3, columns], (0, 3), false);
    }
    // Steps that are too wide.
    check(DType::F32, &[200 * 5, 67], (0, 5), false);
    check(DType::F32, &[129, 700], (1, 3), false);
}

#[test]
fn columns_of_other_dtypes_in_steps_give_the_same_bits_in_every_order() {
    for (number, dtype) in
        [DType::F64, DType::BF16, DType::I8, DType::I32, DType::F16, DType::B1].into_iter().enumerate()
    {
        let step = 2 + number % 3;
        check(dtype, &[251 * step, 79], (0, step), false);
        check(dtype, &[45 * step, 83], (0, step), true);
    }
}

#[test]
fn columns_in_steps_of_more_dimensions_give_the_same_bits_in_every_order() {
    check(DType::F32, &[140, 9, 33], (0, 2), false);
    check(DType::F32, &[9, 210, 21], (1, 3), false);
    check(DType::I8, &[5, 17, 600], (2, 4), true);
}
