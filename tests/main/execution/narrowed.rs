//! Reductions whose results are narrowed, where vectors leave one element, or a few: nothing beside the results is written.

use promote::{DType, TensorMut};

use super::layouts::{Laid, Spread};
use super::support::{Random, compile, function, known, session};

/// The bytes beside the result that are looked at.
const BESIDE: usize = 128;

/// A function of a tensor that narrows what it adds up along the last axis, what the greatest is there, where it is, and how much less
/// than it each element is.
fn text(of: DType, to: DType, [others, rows, columns]: [usize; 3]) -> String {
    let x = format!("tensor<{others}x{rows}x{columns}x{}>", of.mlir());
    let [reduced, whole] =
        ["", &format!("x{columns}")].map(|columns| format!("tensor<{others}x{rows}{columns}x{}>", to.mlir()));
    let reduction = |name: &str| {
        format!(
            "func.func @{name}(%x: {x}) -> {reduced} {{
  %s = \"promote.{name}\"(%x) {{axis = array<i64: 2>}} : ({x}) -> !u
  %r = \"promote.convert\"(%s) : (!u) -> {reduced}
  return %r : {reduced}
}}
"
        )
    };
    let less = format!(
        "func.func @less(%x: {x}) -> {whole} {{
  %m = \"promote.max\"(%x) {{axis = array<i64: 2>, keepdims = true}} : ({x}) -> !u
  %d = \"promote.subtract\"(%m, %x) : (!u, {x}) -> !u
  %r = \"promote.convert\"(%d) : (!u) -> {whole}
  return %r : {whole}
}}
"
    );
    known(&(["sum", "max", "argmax"].map(reduction).concat() + &less))
}

/// What the function of a row gives, which is small enough for a byte.
fn wanted(name: &str, row: &[u8]) -> Vec<u8> {
    let most = *row.iter().max().expect("rows have elements");
    match name {
        "sum" => vec![row.iter().sum()],
        "max" => vec![most],
        "argmax" => vec![row.iter().position(|one| *one == most).expect("it is there") as u8],
        "less" => row.iter().map(|one| most - one).collect(),
        name => unreachable!("there is no {name}"),
    }
}

fn check(of: DType, to: DType, shape: [usize; 3]) {
    let [others, rows, columns] = shape;
    let executable = compile(&session("jax", true, false), &text(of, to, shape));
    let mut random = Random::new((rows * columns) as u64);
    let x: Vec<u8> = (0..others * rows * columns).map(|_| random.below(3) as u8).collect();
    let bytes: Vec<u8> = match of {
        DType::F32 => x.iter().flat_map(|one| f32::from(*one).to_le_bytes()).collect(),
        DType::F64 => x.iter().flat_map(|one| f64::from(*one).to_le_bytes()).collect(),
        DType::I32 => x.iter().flat_map(|one| i32::from(*one).to_le_bytes()).collect(),
        of => unreachable!("{of} is not among them"),
    };
    let size = to.bits() as usize / 8;
    for order in [[0, 1, 2], [0, 2, 1], [2, 1, 0]] {
        let laid = Laid::new((of, &bytes), &shape, &order, Spread { gap: 0, step: 1 });
        for name in ["sum", "max", "argmax", "less"] {
            let numbers: Vec<u8> = x.chunks_exact(columns).flat_map(|row| wanted(name, row)).collect();
            let all = numbers.len() * size;
            let mut memory = vec![0x55; all + 2 * BESIDE];
            let extents = [others, rows, columns].map(|extent| extent as i64);
            let extents = if name == "less" { &extents[..] } else { &extents[..2] };
            let target = TensorMut::new(to, extents, &mut memory[BESIDE..][..all]);
            let mut targets = [target.expect("there is as much memory")];
            function(&executable, name).run_into(&[laid.tensor()], &mut targets).expect("it runs");
            let found = memory[BESIDE..][..all].chunks_exact(size);
            let is_right = found
                .zip(&numbers)
                .all(|(bytes, number)| bytes[0] == *number && bytes[1..].iter().all(|byte| *byte == 0));
            let at = format!("{name} of {of} {shape:?} in {order:?} to {to}");
            assert!(is_right, "{at}");
            let is_beside = |place: &usize| !(BESIDE..BESIDE + all).contains(place);
            let is_whole = (0..memory.len()).filter(is_beside).all(|place| memory[place] == 0x55);
            assert!(is_whole, "{at}: wrote beside");
        }
    }
}

#[test]
fn rows_and_columns_of_which_vectors_leave_a_few() {
    for (of, to) in [
        (DType::F32, DType::I8),
        (DType::F32, DType::I16),
        (DType::F64, DType::U8),
        (DType::F64, DType::I32),
        (DType::I32, DType::I8),
    ] {
        // Enough of them to be read where they are.
        for shape in [[1, 1025, 40], [3, 513, 33], [2, 2049, 17], [1, 1027, 35], [5, 65, 97], [40, 33, 65]] {
            check(of, to, shape);
        }
    }
}
