//! Rows that lie down their columns are read in whole lines of the cache, wherever a tensor begins, which changes no bit.

use std::fmt::Write;

use promote::{DType, Tensor};

use super::ragged_rows::targets;
use super::support::{Random, compile_for, function, known, session};

/// What is computed of rows: in one stage and in several, in blocks and at once.
const OPS: [&str; 5] = ["sum", "max", "argmax", "var", "logsumexp"];

/// A function for each op of a matrix, and one for what it adds up to.
fn text(dtype: DType, [rows, columns]: [usize; 2]) -> String {
    let x = format!("tensor<{rows}x{columns}x{dtype}>");
    let axes = OPS.iter().map(|op| (*op, *op, " {axis = array<i64: 1>}"));
    let mut text = String::new();
    for (name, op, axis) in axes.chain([("all", "sum", "")]) {
        let _ = write!(
            text,
            "func.func @{name}(%x: {x}) -> !u {{
  %0 = \"promote.{op}\"(%x){axis} : ({x}) -> !u
  return %0 : !u
}}
"
        );
    }
    known(&text)
}

/// Tiles of rows begin and end with lines or not, and are one or several; columns are as many bytes apart as whole lines have, or as they have
/// not. So much is read that it is in no cache: of less, vectors begin where rows do.
#[test]
fn rows_down_columns_have_the_same_bits_wherever_a_tensor_begins() {
    let (session, mut random) = (session("jax", true, false), Random::new(17));
    let target = targets().pop().expect("there are processors");
    for (dtype, size, rows, apart, columns) in [
        (DType::F32, 4, 2064, 2064, 8192),
        (DType::F32, 4, 1037, 1040, 16_200),
        (DType::F32, 4, 4500, 4501, 3750),
        (DType::F64, 8, 1037, 1040, 8100),
        (DType::F64, 8, 272, 280, 31_000),
        (DType::BF16, 2, 2061, 2080, 16_400),
    ] {
        let executable = compile_for(&session, &text(dtype, [rows, columns]), target.clone());
        let executable = executable.expect("it is compiled");
        let numbers: Vec<Vec<u8>> = (0..1009)
            .map(|_| {
                let number = random.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0;
                match size {
                    8 => number.to_ne_bytes().to_vec(),
                    4 => (number as f32).to_ne_bytes().to_vec(),
                    _ => (((number as f32).to_bits() >> 16) as u16).to_ne_bytes().to_vec(),
                }
            })
            .collect();
        let number = |row: usize, column: usize| &numbers[(row * 31 + column * 7 + row * column) % 1009];
        let mut straight = Vec::with_capacity(rows * columns * size);
        (0..rows * columns).for_each(|at| straight.extend_from_slice(number(at / columns, at % columns)));
        let shape = [rows, columns].map(|extent| extent as i64);
        let straight = Tensor::new(dtype, &shape, &straight).expect("there are as many elements");
        // What is around the tensor, and between its columns, is not a number.
        let mut space = vec![0xff; (apart * columns + 64) * size];
        let line = space.as_ptr().align_offset(64);
        let bits = |name: &str, tensor: &Tensor<'_>| {
            let found = function(&executable, name).run(std::slice::from_ref(tensor)).expect("it runs");
            found[0].bytes().expect("results are contiguous").to_vec()
        };
        let names = || OPS.into_iter().chain(["all"]);
        let expected: Vec<Vec<u8>> = names().map(|name| bits(name, &straight)).collect();
        for behind in [0, 16, 64 - size] {
            space.fill(0xff);
            let begin = line + behind;
            for (at, place) in (begin..).step_by(size).take(apart * columns).enumerate() {
                if at % apart < rows {
                    space[place..][..size].copy_from_slice(number(at % apart, at / apart));
                }
            }
            let down = &space[begin..][..(apart * (columns - 1) + rows) * size];
            let down = Tensor::strided(dtype, &shape, &[1, apart as i64], down, 0).expect("the strides fit");
            for (name, expected) in names().zip(&expected) {
                let what = format!("{name} of {dtype} [{rows}, {columns}], {apart} apart");
                assert!(bits(name, &down) == *expected, "{what}, {behind} bytes behind a line");
            }
        }
    }
}
