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

/// Tiles of some hundred rows begin and end with lines or not, and are one or several; columns are as many bytes apart as whole lines have, or
/// as they have not; there are more columns than a block of a sum has, or few.
#[test]
fn rows_down_columns_have_the_same_bits_wherever_a_tensor_begins() {
    let (session, mut random) = (session("jax", true, false), Random::new(17));
    let shapes = [
        (512, 512, 150),
        (1040, 1040, 70),
        (1037, 1040, 70),
        (1037, 1037, 70),
        (4500, 4512, 40),
        (300, 320, 4200),
    ];
    for target in targets() {
        for (rows, apart, columns) in shapes {
            for (dtype, size) in [(DType::F32, 4), (DType::F64, 8), (DType::BF16, 2)] {
                let executable = compile_for(&session, &text(dtype, [rows, columns]), target.clone());
                let executable = executable.expect("it is compiled");
                let mut number = || {
                    let number = random.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0;
                    match dtype {
                        DType::F64 => number.to_ne_bytes().to_vec(),
                        DType::F32 => (number as f32).to_ne_bytes().to_vec(),
                        _ => (((number as f32).to_bits() >> 16) as u16).to_ne_bytes().to_vec(),
                    }
                };
                let straight: Vec<u8> = (0..rows * columns).flat_map(|_| number()).collect();
                // What is around the tensor, and between its columns, is not a number.
                let mut space = vec![0xff; (apart * columns + 64) * size];
                let line = space.as_ptr().align_offset(64);
                let shape = [rows, columns].map(|extent| extent as i64);
                let row_major = Tensor::new(dtype, &shape, &straight).expect("there are as many elements");
                for behind in [0, 16, size, 64 - size] {
                    space.fill(0xff);
                    let begin = line + behind;
                    for (at, element) in straight.chunks_exact(size).enumerate() {
                        let place = begin + (at % columns * apart + at / columns) * size;
                        space[place..][..size].copy_from_slice(element);
                    }
                    let down = &space[begin..][..(apart * (columns - 1) + rows) * size];
                    let down = Tensor::strided(dtype, &shape, &[1, apart as i64], down, 0);
                    let down = down.expect("the strides fit");
                    for name in OPS.iter().chain(&["all"]) {
                        let bits = |tensor: &Tensor<'_>| {
                            let found = function(&executable, name)
                                .run(std::slice::from_ref(tensor))
                                .expect("it runs");
                            found[0].bytes().expect("results are contiguous").to_vec()
                        };
                        let what = format!("{name} of {dtype} [{rows}, {columns}], {apart} apart");
                        let same = bits(&row_major) == bits(&down);
                        assert!(same, "{what}, {behind} bytes behind a line, on {}", target.cpu());
                    }
                }
            }
        }
    }
}
