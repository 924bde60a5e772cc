//! Columns whose elements lie side by side, of as many rows as there may be: whole squares, several at once, and parts of one.

use promote::DType;

use super::layouts::{Which, check_functions, dims, elements};
use super::support::Random;

/// Functions of one tensor of so many dimensions that reduce its columns along an axis, and how many there are: the sum, and which of the
/// others are asked for.
fn functions(x: &str, (rank, axis): (usize, usize), which: Which) -> (String, usize) {
    let of = |name: &str, op: &str, operand: &str, ty: &str| {
        format!("  %{name} = \"promote.{op}\"({operand}) {{axis = array<i64: {axis}>}} : ({ty}) -> !u\n")
    };
    let squares = format!("  %s = \"promote.multiply\"(%x, %x) : ({x}, {x}) -> !u\n");
    // What is the same in a row is read with it, and there is nothing of it in rows that are not there; so is what is the same in a
    // column.
    let scaled = |along: usize| {
        let stop = |dim: usize| if dim == along { i64::MAX } else { 1 };
        let stop: Vec<String> = (0..rank).map(|dim| stop(dim).to_string()).collect();
        let (starts, steps) = (vec!["0"; rank].join(", "), vec!["1"; rank].join(", "));
        format!(
            "  %f = \"promote.slice\"(%x) {{start = array<i64: {starts}>, stop = array<i64: {}>, \
             step = array<i64: {steps}>}} : ({x}) -> !u
  %s = \"promote.multiply\"(%x, %f) : ({x}, !u) -> !u\n",
            stop.join(", ")
        )
    };
    let (by_row, by_column) = (scaled(axis), scaled(rank - 1));
    // Several of the same columns, and what is computed of all of them.
    let both = of("m", "max", "%x", x) + &of("s", "sum", "%x", x);
    let both = both + "  %r = \"promote.subtract\"(%m, %s) : (!u, !u) -> !u\n";
    let bodies = ["sum", "prod", "max", "argmin", "any", "var"].map(|op| of("r", op, "%x", x));
    let bodies = bodies.into_iter().chain([
        squares + &of("r", "sum", "%s", "!u"),
        by_row + &of("r", "sum", "%s", "!u"),
        by_column + &of("r", "sum", "%s", "!u"),
        both,
    ]);
    let own =
        bodies.enumerate().filter(|(number, _)| *number == 0 || which.has(*number)).map(|(_, body)| body);
    let functions = own
        .enumerate()
        .map(|(index, body)| format!("func.func @f{index}(%x: {x}) -> !u {{\n{body}  return %r : !u\n}}\n"));
    let functions: Vec<String> = functions.collect();
    (functions.concat(), functions.len())
}

fn check<const N: usize>(dtype: DType, shape: ([usize; N], usize), is_open: bool) {
    check_some(dtype, shape, is_open, Which::All);
}

fn check_some<const N: usize>(dtype: DType, (shape, axis): ([usize; N], usize), is_open: bool, which: Which) {
    let x = format!("tensor<{}x{}>", dims(&shape, is_open).join("x"), dtype.mlir());
    let numbers = elements(dtype, shape.iter().product(), &mut Random::new(shape[axis] as u64));
    check_functions(&functions(&x, (N, axis), which), (dtype, &numbers), &shape, is_open);
}

#[test]
fn columns_of_few_rows_give_the_same_bits_in_every_order() {
    for rows in 2..=34 {
        check_some(DType::F32, ([rows, (1 << 17) / rows + 1], 0), false, Which::InTurn(rows));
    }
}

#[test]
fn columns_of_any_number_of_rows_give_the_same_bits_in_every_order() {
    // Blocks of sums have 64 rows, and parts of columns some of them.
    for (number, rows) in [61, 65, 79, 127, 191, 200, 403, 1031].into_iter().enumerate() {
        check_some(DType::F32, ([rows, 1003], 0), false, Which::InTurn(number));
    }
    for (number, rows) in [3, 8, 21, 71].into_iter().enumerate() {
        check_some(DType::F32, ([rows, 50_000 / rows], 0), true, Which::InTurn(number));
    }
}

/// Rows of a few hundred bytes, so many that they are in no cache, are read one after the other, and not some at once.
#[test]
fn columns_that_are_in_no_cache_give_the_same_bits_in_every_order() {
    check(DType::F32, ([33_001, 259], 0), false);
    check(DType::I8, ([74_001, 461], 0), false);
}

#[test]
fn columns_of_other_dtypes_give_the_same_bits_in_every_order() {
    for (turn, dtype) in [DType::F64, DType::BF16, DType::I8].into_iter().enumerate() {
        for (number, rows) in [3, 7, 15, 31, 75].into_iter().enumerate() {
            let shape = ([rows, (1 << 19) / rows + 3], 0);
            check_some(dtype, shape, false, Which::InTurn(number + turn));
        }
    }
}

#[test]
fn columns_beside_others_give_the_same_bits_in_every_order() {
    // Few rows, and parts; columns that fill vectors, and those of which one or some are left, along the innermost dimension and before it.
    for (shape, axis) in [
        ([7, 61, 83], 0),
        ([75, 19, 32], 0),
        ([130, 17, 25], 0),
        ([520, 9, 11], 0),
        ([1100, 5, 27], 0),
        ([9, 67, 59], 1),
        ([3, 600, 22], 1),
    ] {
        check(DType::F32, (shape, axis), false);
    }
    for dtype in [DType::F64, DType::F16, DType::I32, DType::I8, DType::B1] {
        check(dtype, ([150, 31, 13], 0), false);
    }
    check(DType::F32, ([67, 21, 29], 0), true);
    check(DType::BF16, ([5, 90, 77], 1), true);
}

#[test]
fn columns_of_more_dimensions_give_the_same_bits_in_every_order() {
    check(DType::F32, ([70, 6, 7, 13], 0), false);
    check(DType::F32, ([5, 70, 7, 12], 1), false);
    check(DType::F32, ([5, 6, 70, 11], 2), true);
}
