//! Sums down columns, in the order that they are defined to be added up in: fours of rows, blocks of those, and parts.

use std::ops::Add;

use promote::DType;

use super::layouts::{check_functions, elements};
use super::support::Random;

const BLOCK: usize = 64;
const FOUR: usize = 4;

/// A float, and its bytes.
trait Float: Copy + Add<Output = Self> {
    const ZERO: Self;
    const MINUS_ZERO: Self;
    fn read(bytes: &[u8]) -> Self;
    fn bytes(self) -> Vec<u8>;
}

macro_rules! float {
    ($float:ty) => {
        impl Float for $float {
            const ZERO: Self = 0.0;
            const MINUS_ZERO: Self = -0.0;
            fn read(bytes: &[u8]) -> Self {
                Self::from_ne_bytes(bytes.try_into().expect("as many bytes as it has"))
            }
            fn bytes(self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
        }
    };
}

float!(f32);
float!(f64);

/// The sum of rows that follow each other, each in its column.
fn rows<T: Float>(from: Vec<T>, rows: &[T]) -> Vec<T> {
    let columns = from.len();
    rows.chunks_exact(columns).fold(from, |sum, row| sum.iter().zip(row).map(|(x, y)| *x + *y).collect())
}

/// The sum of all rows: of each four of a block, of the fours of each block, and of the blocks.
fn sum<T: Float>(matrix: &[T], columns: usize) -> Vec<T> {
    let nothing = || vec![T::ZERO; columns];
    let fours = |block: &[T]| -> Vec<T> {
        let four = |four: &[T]| rows(four[..columns].to_vec(), &four[columns..]);
        block.chunks(FOUR * columns).flat_map(four).collect()
    };
    let blocks: Vec<T> =
        matrix.chunks(BLOCK * columns).flat_map(|block| rows(nothing(), &fours(block))).collect();
    rows(nothing(), &blocks)
}

/// The sum of parts of so many rows, which are summed as rows are.
fn sum_in_parts<T: Float>(matrix: &[T], columns: usize, part: usize) -> Vec<T> {
    let parts: Vec<T> = matrix.chunks(part * columns).flat_map(|part| sum(part, columns)).collect();
    sum(&parts, columns)
}

/// The rows of a part of a sum whose extent a run alone knows.
fn open_part([rows, columns]: [usize; 2]) -> usize {
    rows.div_ceil((rows * columns / 65536).clamp(1, 64))
}

/// Asserts that the columns of a matrix in every order have the sums that the order of parts of so many rows gives. A number of a dtype has
/// some floats.
fn check<T: Float>(
    (dtype, of_dtype): (DType, DType),
    [rows, columns]: [usize; 2],
    (part, is_open): (usize, bool),
) {
    let extents =
        if is_open { ["?".to_owned(), columns.to_string()] } else { [rows, columns].map(|n| n.to_string()) };
    let x = format!("tensor<{}x{}>", extents.join("x"), dtype.mlir());
    let text = format!(
        "func.func @f0(%x: {x}) -> !u {{
  %r = \"promote.sum\"(%x) {{axis = array<i64: 0>}} : ({x}) -> !u
  return %r : !u
}}
"
    );
    let floats = if dtype == of_dtype { columns } else { 2 * columns };
    let mut random = Random::new(rows as u64);
    let mut numbers = elements(of_dtype, rows * floats, &mut random);
    let size = size_of::<T>();
    for number in numbers.chunks_exact_mut(size).filter(|_| random.below(8) == 0) {
        number.copy_from_slice(&T::MINUS_ZERO.bytes());
    }
    let matrix: Vec<T> = numbers.chunks_exact(size).map(T::read).collect();
    let expected: Vec<u8> = sum_in_parts(&matrix, floats, part).into_iter().flat_map(T::bytes).collect();
    let found = check_functions(&(text, 1), (dtype, &numbers), &[rows, columns], is_open);
    assert!(found[0].1 == expected, "{dtype} [{rows}, {columns}] open: {is_open}");
}

/// Of one four and of some, of a block and of some, and with rows that are left: of fewer columns than a vector has lanes, of as many, and
/// of some more.
#[test]
fn short_columns_are_added_up_in_fours_and_blocks() {
    for rows in [2, 4, 5, 7, 8, 23, 24, 31, 63, 64, 65, 67, 130, 777, 1100] {
        for columns in [2, 3, 16, 37] {
            let shape = [rows, columns];
            for is_open in [false, true] {
                let part = if is_open { open_part(shape) } else { rows };
                check::<f32>((DType::F32, DType::F32), shape, (part, is_open));
                check::<f64>((DType::F64, DType::F64), shape, (part, is_open));
            }
        }
        check::<f32>((DType::C64, DType::F32), [rows, 5], (rows, false));
    }
}

/// Parts are of whole blocks where types state their extents.
#[test]
fn long_columns_are_added_up_in_parts() {
    for (shape, part) in [([5000, 60], 1280), ([1600, 400], 192), ([70_001, 3], 23_360)] {
        check::<f32>((DType::F32, DType::F32), shape, (part, false));
    }
    for shape in [[5000, 60], [70_001, 3], [1600, 400]] {
        check::<f32>((DType::F32, DType::F32), shape, (open_part(shape), true));
        check::<f64>((DType::F64, DType::F64), shape, (open_part(shape), true));
    }
}
