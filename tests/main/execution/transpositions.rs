//! Transposed tensors, alone and with others: they are read in squares, which end where rows and columns do.

use std::fmt::Write;

use promote::{DType, Target, Tensor, TensorMut};

use super::ragged_rows::targets;
use super::support::{Random, compile_for, function, known, session};

/// What is transposed, what is added to it if something is, and the dtype of the result: of 1, 2, 4 and 8 bytes, alike and mixed.
const DTYPES: [(DType, Option<DType>, DType); 10] = [
    (DType::I8, None, DType::I8),
    (DType::I8, Some(DType::I8), DType::I8),
    (DType::I16, Some(DType::I16), DType::I16),
    (DType::BF16, Some(DType::BF16), DType::BF16),
    (DType::F32, Some(DType::F32), DType::F32),
    (DType::F64, Some(DType::F64), DType::F64),
    (DType::I8, Some(DType::I16), DType::I16),
    (DType::I8, Some(DType::F32), DType::F32),
    (DType::BF16, Some(DType::F32), DType::F32),
    (DType::F32, Some(DType::F64), DType::F64),
];

/// The bytes of small integers, as numbers of a dtype.
fn bytes(dtype: DType, numbers: impl Iterator<Item = i8>) -> Vec<u8> {
    let one = |number: i8| match dtype {
        DType::I8 => number.to_ne_bytes().to_vec(),
        DType::I16 => i16::from(number).to_ne_bytes().to_vec(),
        DType::BF16 => ((f32::from(number).to_bits() >> 16) as u16).to_ne_bytes().to_vec(),
        DType::F32 => f32::from(number).to_ne_bytes().to_vec(),
        DType::F64 => f64::from(number).to_ne_bytes().to_vec(),
        other => unreachable!("{other} is not transposed here"),
    };
    numbers.flat_map(one).collect()
}

/// A function for each of the dtypes, of matrices of so many rows and columns, which may be open.
fn text([rows, columns]: [&str; 2]) -> String {
    let mut text = String::new();
    for (number, (x, y, _)) in DTYPES.iter().enumerate() {
        let x = format!("tensor<{rows}x{columns}x{x}>");
        let y = y.map(|y| format!("tensor<{columns}x{rows}x{y}>"));
        let (second, sum, result) = match &y {
            Some(y) => {
                let sum = format!("  %1 = \"promote.add\"(%0, %y) : (!u, {y}) -> !u\n");
                (format!(", %y: {y}"), sum, "%1")
            }
            None => (String::new(), String::new(), "%0"),
        };
        let _ = write!(
            text,
            "func.func @f{number}(%x: {x}{second}) -> !u {{
  %0 = \"promote.permute_dims\"(%x) {{permutation = array<i64: 1, 0>}} : ({x}) -> !u
{sum}  return {result} : !u
}}
"
        );
    }
    known(&text)
}

/// Extents about those of squares of 8 and 16 rows, of units of 16, 32 and 64 rows, and of tiles of 256 columns.
const EXTENTS: [[usize; 2]; 12] = [
    [7, 40],
    [16, 16],
    [17, 24],
    [24, 63],
    [33, 64],
    [64, 33],
    [65, 130],
    [100, 47],
    [130, 100],
    [256, 64],
    [290, 81],
    [520, 129],
];

#[test]
fn matrices_of_every_size_and_width_of_elements_are_transposed_whole() {
    let session = session("jax", true, false);
    for target in targets() {
        let open = compile_for(&session, &text(["?", "?"]), target.clone()).expect("it is compiled");
        for [rows, columns] in EXTENTS {
            let extents = [rows, columns].map(|extent| extent.to_string());
            let stated = text(extents.each_ref().map(String::as_str));
            let stated = compile_for(&session, &stated, target.clone()).expect("it is compiled");
            let mut random = Random::new((rows * columns) as u64);
            let mut numbers =
                || (0..rows * columns).map(|_| random.below(120) as i8 - 60).collect::<Vec<i8>>();
            let [of_x, of_y] = [(); 2].map(|()| numbers());
            let turned = |number: usize| of_x[number % rows * columns + number / rows];
            for (number, (x, y, result)) in DTYPES.into_iter().enumerate() {
                let [given, added] = [(x, &of_x), (y.unwrap_or(x), &of_y)]
                    .map(|(dtype, numbers)| bytes(dtype, numbers.iter().copied()));
                let [shape, turned_shape] =
                    [[rows, columns], [columns, rows]].map(|shape| shape.map(|extent| extent as i64));
                let mut arguments = vec![Tensor::new(x, &shape, &given).expect("there are as many bytes")];
                if let Some(y) = y {
                    arguments.push(Tensor::new(y, &turned_shape, &added).expect("there are as many bytes"));
                }
                let wanted = (0..rows * columns).map(|number| turned(number) + y.map_or(0, |_| of_y[number]));
                let wanted = bytes(result, wanted);
                for executable in [&open, &stated] {
                    let found = function(executable, &format!("f{number}")).run(&arguments).expect("it runs");
                    let same = found[0].bytes().expect("results are contiguous") == wanted;
                    assert!(same, "{x} [{rows},{columns}] and {y:?} on {}", target.cpu());
                }
            }
        }
    }
}

/// Large tensors are read and written in whole lines of the cache: a tile begins with the first one, wherever that is.
#[test]
fn a_large_matrix_is_transposed_whole_wherever_it_and_the_result_begin() {
    let session = session("jax", true, false);
    for (dtype, rows, columns) in [
        (DType::F32, 1040, 4100),
        (DType::BF16, 2080, 4100),
        (DType::I8, 4160, 4100),
        (DType::F64, 520, 4104),
    ] {
        let x = format!("tensor<{rows}x{columns}x{dtype}>");
        let text = known(&format!(
            "func.func @f(%x: {x}) -> !u {{
  %0 = \"promote.permute_dims\"(%x) {{permutation = array<i64: 1, 0>}} : ({x}) -> !u
  return %0 : !u
}}
"
        ));
        let count: usize = rows * columns;
        let number = |at: usize| (at % 251) as u8 as i8;
        let given = bytes(dtype, (0..count).map(number));
        let wanted = bytes(dtype, (0..count).map(|at| number(at % rows * columns + at / rows)));
        let size = given.len() / count;
        let mut space = vec![0_u8; given.len() + 256];
        let first_line = space.as_ptr().align_offset(64);
        for target in targets() {
            let executable = compile_for(&session, &text, target).expect("it is compiled");
            let mut memory = vec![0_u8; wanted.len() + 512];
            let line = memory.as_ptr().align_offset(64) + 128;
            for (behind, begin) in [(0, 0), (16, size), (size, 16), (64 - size, 64 - size), (24, 0)] {
                memory.fill(0x55);
                let begin = line + begin;
                let argument = &mut space[first_line + behind..][..given.len()];
                argument.copy_from_slice(&given);
                let argument = Tensor::new(dtype, &[rows as i64, columns as i64], argument);
                let argument = argument.expect("there is as much memory");
                let result = &mut memory[begin..][..wanted.len()];
                let result = TensorMut::new(dtype, &[columns as i64, rows as i64], result);
                let mut results = [result.expect("there is as much memory")];
                function(&executable, "f").run_into(&[argument], &mut results).expect("it runs");
                let (before, after) = (&memory[..begin], &memory[begin + wanted.len()..]);
                let places = format!("{dtype}, {behind} and {} bytes behind lines", begin - line);
                assert!(memory[begin..][..wanted.len()] == wanted, "{places}");
                assert!(before.iter().chain(after).all(|byte| *byte == 0x55), "{places}");
            }
        }
    }
}

/// Complex numbers are transposed in tiles of 256, of which the last one may have fewer elements than a vector that ends there.
#[test]
fn the_last_tile_of_a_transposition_is_computed_whole() {
    let session = session("jax", true, false);
    for rows in [255, 256, 257, 259, 265, 300] {
        let columns = 500;
        let x = format!("tensor<{rows}x{columns}xcomplex<f32>>");
        let text = known(&format!(
            "func.func @f(%x: {x}) -> !u {{
  %0 = \"promote.permute_dims\"(%x) {{permutation = array<i64: 1, 0>}} : ({x}) -> !u
  return %0 : !u
}}
"
        ));
        let executable = compile_for(&session, &text, Target::host()).expect("it is compiled");
        let numbers: Vec<u64> = (0..rows * columns).map(|at| at as u64 * 0x9e37_79b9).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let shape = [rows as i64, columns as i64];
        let argument = Tensor::new(DType::C64, &shape, &bytes).expect("there are as many bytes");
        let result = function(&executable, "f").run(&[argument]).expect("it runs").remove(0);
        let turned = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
        let expected: Vec<u8> = turned.flat_map(|at| numbers[at].to_ne_bytes()).collect();
        assert!(result.bytes().expect("results are contiguous") == expected, "{rows} rows");
    }
}
