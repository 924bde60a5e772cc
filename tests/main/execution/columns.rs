//! Columns whose elements lie side by side, of as many rows as there may be: whole squares, several at once, and parts of one.

use promote::DType;

use super::layouts::{check_functions, dims, elements};
use super::support::Random;

/// Functions of one tensor that reduce its columns, and how many there are.
fn functions(x: &str) -> (String, usize) {
    let of = |op: &str, operand: &str, ty: &str| {
        format!("  %r = \"promote.{op}\"({operand}) {{axis = array<i64: 0>}} : ({ty}) -> !u\n")
    };
    let squares = format!("  %s = \"promote.multiply\"(%x, %x) : ({x}, {x}) -> !u\n");
    // What is the same in a row is read with it, and there is nothing of it in rows that are not there.
    let scaled = format!(
        "  %f = \"promote.slice\"(%x) {{start = array<i64: 0, 0>, stop = array<i64: 9223372036854775807, 1>, \
         step = array<i64: 1, 1>}} : ({x}) -> !u
  %s = \"promote.multiply\"(%x, %f) : ({x}, !u) -> !u\n"
    );
    let bodies = ["sum", "prod", "max", "argmin", "any", "var"]
        .map(|op| of(op, "%x", x))
        .into_iter()
        .chain([squares + &of("sum", "%s", "!u"), scaled + &of("sum", "%s", "!u")]);
    let functions = bodies
        .enumerate()
        .map(|(index, body)| format!("func.func @f{index}(%x: {x}) -> !u {{\n{body}  return %r : !u\n}}\n"));
    let functions: Vec<String> = functions.collect();
    (functions.concat(), functions.len())
}

fn check(dtype: DType, shape: [usize; 2], is_open: bool) {
    let x = format!("tensor<{}x{}>", dims(&shape, is_open).join("x"), dtype.mlir());
    let numbers = elements(dtype, shape.iter().product(), &mut Random::new(shape[0] as u64));
    check_functions(&functions(&x), (dtype, &numbers), &shape, is_open);
}

#[test]
fn columns_of_few_rows_give_the_same_bits_in_every_order() {
    for rows in 2..=34 {
        check(DType::F32, [rows, (1 << 17) / rows + 1], false);
    }
}

#[test]
fn columns_of_any_number_of_rows_give_the_same_bits_in_every_order() {
    // Blocks of sums have 64 rows, and parts of columns some of them.
    for rows in [61, 65, 79, 127, 191, 200, 403, 1031] {
        check(DType::F32, [rows, 1003], false);
    }
    for rows in [3, 8, 21, 71] {
        check(DType::F32, [rows, 50_000 / rows], true);
    }
}

#[test]
fn columns_of_other_dtypes_give_the_same_bits_in_every_order() {
    for dtype in [DType::F64, DType::BF16, DType::I8] {
        for rows in [3, 7, 9, 15, 23, 31, 37, 75] {
            check(dtype, [rows, (1 << 19) / rows + 3], false);
        }
    }
}
