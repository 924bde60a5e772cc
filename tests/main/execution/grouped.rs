//! Rows that are read again at each index around them are reduced in groups, which changes no bit.

use promote::{DType, Tensor};

use super::layouts::{dims, elements};
use super::support::{Random, compile, function, session};

/// Operands of functions: `x` is the same for all rows, `y` at each index around them, `z` has an element of each pair, `v` one of each
/// row, and `w` one of each index around them.
const OPERANDS: [&str; 5] = ["x", "y", "z", "v", "w"];

/// What is computed of them, up to `%r`.
const BODIES: [&str; 9] = [
    "  %d = \"promote.subtract\"(%x, %y) : (X, Y) -> !u
  %q = \"promote.square\"(%d) : (!u) -> !u
  %r = \"promote.sum\"(%q) {axis = array<i64: 2>} : (!u) -> !u
",
    "  %p = \"promote.multiply\"(%x, %y) : (X, Y) -> !u
  %r = \"promote.max\"(%p) {axis = array<i64: 2>} : (!u) -> !u
",
    // What is computed of results, in part of tensors that have both dimensions.
    "  %d = \"promote.subtract\"(%x, %y) : (X, Y) -> !u
  %a = \"promote.abs\"(%d) : (!u) -> !u
  %s = \"promote.sum\"(%a) {axis = array<i64: 2>} : (!u) -> !u
  %t = \"promote.add\"(%s, %z) : (!u, Z) -> !u
  %r = \"promote.multiply\"(%t, %s) : (!u, !u) -> !u
",
    // What differs from row to row, and is the same within one.
    "  %p = \"promote.multiply\"(%x, %v) : (X, V) -> !u
  %q = \"promote.add\"(%p, %y) : (!u, Y) -> !u
  %r = \"promote.sum\"(%q) {axis = array<i64: 2>} : (!u) -> !u
",
    // What is the same for all rows.
    "  %p = \"promote.multiply\"(%x, %w) : (X, W) -> !u
  %q = \"promote.add\"(%p, %y) : (!u, Y) -> !u
  %r = \"promote.min\"(%q) {axis = array<i64: 2>} : (!u) -> !u
",
    // Several of the same rows.
    "  %p = \"promote.multiply\"(%x, %y) : (X, Y) -> !u
  %m = \"promote.max\"(%p) {axis = array<i64: 2>} : (!u) -> !u
  %s = \"promote.sum\"(%p) {axis = array<i64: 2>} : (!u) -> !u
  %r = \"promote.subtract\"(%m, %s) : (!u, !u) -> !u
",
    // What may be settled, looked for, or computed in stages.
    "  %p = \"promote.less\"(%x, %y) : (X, Y) -> !u
  %r = \"promote.all\"(%p) {axis = array<i64: 2>} : (!u) -> !u
",
    "  %p = \"promote.multiply\"(%x, %y) : (X, Y) -> !u
  %r = \"promote.argmax\"(%p) {axis = array<i64: 2>} : (!u) -> !u
",
    "  %p = \"promote.multiply\"(%x, %y) : (X, Y) -> !u
  %r = \"promote.var\"(%p) {axis = array<i64: 2>} : (!u) -> !u
",
];

/// Functions of operands of those types.
fn functions(types: &[String]) -> String {
    let arguments: Vec<String> =
        OPERANDS.iter().zip(types).map(|(name, ty)| format!("%{name}: {ty}")).collect();
    let typed = |body: &str| {
        OPERANDS.iter().zip(types).fold(body.to_owned(), |body, (name, ty)| {
            let name = name.to_uppercase();
            body.replace(&format!("({name},"), &format!("({ty},"))
                .replace(&format!(", {name})"), &format!(", {ty})"))
        })
    };
    let function = |(index, body): (usize, &&str)| {
        format!(
            "func.func @f{index}({}) -> !u {{\n{}  return %r : !u\n}}\n",
            arguments.join(", "),
            typed(body)
        )
    };
    BODIES.iter().enumerate().map(function).collect()
}

/// Asserts that rows have the same bits as where what all of them read is there once for each.
fn check(dtype: DType, [around, rows, within]: [usize; 3], is_open: bool) {
    let shapes: [Vec<usize>; 5] =
        [vec![around, 1, within], vec![rows, within], vec![around, rows], vec![rows, 1], vec![around, 1, 1]];
    let each = vec![around, rows, within];
    let mut random = Random::new(within as u64);
    let numbers: Vec<Vec<u8>> =
        shapes.iter().map(|shape| elements(dtype, shape.iter().product(), &mut random)).collect();
    let row = numbers[0].len() / around;
    let repeated: Vec<u8> = numbers[0].chunks(row).flat_map(|row| row.repeat(rows)).collect();
    let run = |shapes: &[Vec<usize>], numbers: &[&[u8]]| -> Vec<Vec<u8>> {
        // An extent of one is stated: elements are the same along it.
        let ty = |shape: &Vec<usize>| {
            let stated = shape.iter().map(|extent| dims(&[*extent], is_open && *extent > 1).concat());
            format!("tensor<{}x{}>", stated.collect::<Vec<_>>().join("x"), dtype.mlir())
        };
        let types: Vec<String> = shapes.iter().map(ty).collect();
        let executable = compile(&session("jax", false, false), &functions(&types));
        let tensors: Vec<Tensor<'_>> = numbers
            .iter()
            .zip(shapes)
            .map(|(numbers, shape)| {
                let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
                Tensor::new(dtype, &shape, numbers).expect("there are as many elements")
            })
            .collect();
        let result = |index: usize| {
            let results = function(&executable, &format!("f{index}")).run(&tensors).expect("it runs");
            results[0].bytes().expect("results are contiguous").to_vec()
        };
        (0..BODIES.len()).map(result).collect()
    };
    let numbers: Vec<&[u8]> = numbers.iter().map(Vec::as_slice).collect();
    let grouped = run(&shapes, &numbers);
    let of_each = run(&[&[each], &shapes[1..]].concat(), &[&[repeated.as_slice()], &numbers[1..]].concat());
    for ((index, grouped), of_each) in grouped.iter().enumerate().zip(&of_each) {
        let shape = [around, rows, within];
        assert!(grouped == of_each, "{dtype} {shape:?} open: {is_open}:\n{}", BODIES[index]);
    }
}

#[test]
fn rows_in_groups_have_the_same_bits_as_by_themselves() {
    // Groups that are whole, and those that take rows again; tiles of which one row is left; rows of less than a vector, and of more.
    for shape in [[2, 16, 33], [5, 19, 64], [2, 129, 65], [3, 259, 100], [1, 18, 128], [2, 15, 64]] {
        check(DType::F32, shape, false);
    }
    for shape in [[3, 17, 40], [2, 129, 200], [2, 3, 64]] {
        check(DType::F32, shape, true);
    }
    // More than a block of a sum, and more than stay in a cache.
    check(DType::F32, [2, 37, 70_001], false);
    check(DType::F32, [2, 21, 2003], false);
}

#[test]
fn rows_in_groups_of_other_dtypes_have_the_same_bits_as_by_themselves() {
    for dtype in [DType::F64, DType::BF16, DType::F16, DType::I32, DType::I8] {
        check(dtype, [3, 35, 130], false);
        check(dtype, [2, 18, 67], true);
    }
}
