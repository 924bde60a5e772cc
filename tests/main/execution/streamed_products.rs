//! Products of few rows, with a matrix that is in no cache.

use promote::{DType, Target, Tensor};

use super::products::{fractions, product};
use super::support::{Random, compile_for, function, known, session};

/// Some rows of a matrix are read at once, or, of one that is in no cache, one after the other: its columns are added up as those of its
/// halves.
#[test]
fn how_a_large_matrix_is_read_changes_no_sum() {
    let session = session("jax", true, false);
    for (dtype, size, [rows, inner, columns]) in [
        (DType::F32, 4, [1, 131_073, 70]),
        (DType::F32, 4, [3, 88_001, 100]),
        (DType::F64, 8, [1, 40_001, 110]),
        (DType::BF16, 2, [1, 150_001, 130]),
    ] {
        let half = columns / 2;
        let shapes = |columns: usize| [vec![rows, inner], vec![inner, columns]];
        let text = [("whole", columns), ("half", half)].map(|(name, columns)| {
            let shapes = shapes(columns);
            product(name, [&shapes[0], &shapes[1]], dtype, false)
        });
        let executable =
            compile_for(&session, &known(&text.concat()), Target::host()).expect("it is compiled");
        let mut random = Random::new(11);
        let numbers: Vec<Vec<u8>> = fractions(dtype, &[1009], &mut random)
            .bits()
            .into_iter()
            .map(|bits| bits.to_le_bytes()[..size].to_vec())
            .collect();
        let matrix = |shape: &[usize], of: &dyn Fn(usize, usize) -> usize| {
            let places = (0..shape[0]).flat_map(|row| (0..shape[1]).map(move |column| (row, column)));
            let bytes: Vec<u8> =
                places.flat_map(|(row, column)| numbers[of(row, column) % 1009].iter().copied()).collect();
            let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
            (shape, bytes)
        };
        let place = |row: usize, column: usize| row * 31 + column * 7 + row * column;
        let product = |name: &str, columns: usize, first: usize| {
            let [x, y] = shapes(columns);
            let operands = [
                matrix(&x, &|row, term| row + 5 * term),
                matrix(&y, &|row, column| place(row, column + first)),
            ];
            let [x, y] = operands
                .each_ref()
                .map(|(shape, bytes)| Tensor::new(dtype, shape, bytes).expect("there are as many elements"));
            let found = function(&executable, name).run(&[x, y]).expect("it runs");
            found[0].bytes().expect("results are contiguous").to_vec()
        };
        let whole = product("whole", columns, 0);
        let halves = [0, half].map(|first| product("half", half, first));
        let size = whole.len() / (rows * columns);
        for (number, row) in whole.chunks(columns * size).enumerate() {
            let own: Vec<u8> = halves
                .iter()
                .flat_map(|half| half.chunks(half.len() / rows).nth(number))
                .flatten()
                .copied()
                .collect();
            assert!(row == own, "row {number} of {rows} by [{inner}, {columns}], {dtype}");
        }
    }
}
