//! Products whose right matrix does not stay in the caches: several tiles share what is read of it, and no bit changes.

use std::fmt::Write;

use promote::{DType, Tensor, set_threads};

use super::support::{Random, compile, function, session};

/// Some tiles more than one thread multiplies at once, and some rows.
const ROWS: i64 = 269;
/// Matrices of a product.
const BATCH: i64 = 2;

/// Bytes of numbers near one, of both signs; any bytes, if they are integers. The number at a place is of another magnitude, which
/// instructions for narrow floats may take otherwise.
fn bytes(dtype: DType, count: i64, unusual: Option<i64>, random: &mut Random) -> Vec<u8> {
    let number = |random: &mut Random| random.below(1 << 24) as f32 / 8_388_608.0 - 1.0;
    (0..count)
        .flat_map(|index| {
            let value = if unusual == Some(index) { 1e-30 } else { number(random) };
            match dtype {
                DType::F32 => value.to_le_bytes().to_vec(),
                DType::F64 => f64::from(value).to_le_bytes().to_vec(),
                DType::BF16 => value.to_le_bytes()[2..].to_vec(),
                DType::I8 => vec![random.below(256) as u8],
                dtype => unreachable!("there are no numbers of {dtype} here"),
            }
        })
        .collect()
}

/// A function for stated extents, and one for those that a run knows, which are not known to be large.
fn text(dtypes: [DType; 2], terms: i64, columns: i64) -> String {
    let mut text = String::new();
    for (name, extents) in [
        ("shared", [BATCH, ROWS, terms, columns].map(|extent| extent.to_string())),
        ("open", [(); 4].map(|()| "?".to_owned())),
    ] {
        let [batch, rows, terms, columns] = extents;
        let of = |dtype: DType| {
            [[&rows, &terms], [&terms, &columns]]
                .map(|[height, width]| format!("tensor<{batch}x{height}x{width}x{}>", dtype.mlir()))
        };
        let [[x, y], [wide_x, wide_y]] = dtypes.map(of);
        let _ = write!(
            text,
            "func.func @{name}(%x: {x}, %y: {y}) -> !u {{
  %0 = \"promote.convert\"(%x) : ({x}) -> {wide_x}
  %1 = \"promote.convert\"(%y) : ({y}) -> {wide_y}
  %2 = \"promote.matmul\"(%0, %1) : ({wide_x}, {wide_y}) -> !u
  return %2 : !u
}}
"
        );
    }
    text
}

#[test]
fn tiles_that_share_panels_add_up_as_others_do() {
    let session = session("jax", true, false);
    let mut random = Random::new(23);
    // Two blocks of terms, the second one short, and as many columns as make the packed matrix larger than what stays in the caches:
    // 12 MiB. The unusual number is in the second tile of the first matrix.
    let in_second_tile = 390 * 20 + 77;
    for (dtype, sum, terms, columns, unusual) in [
        (DType::F32, DType::F32, 390, 8200, None),
        (DType::F64, DType::F64, 390, 4100, None),
        (DType::BF16, DType::F32, 390, 16400, None),
        (DType::BF16, DType::F32, 390, 16400, Some(in_second_tile)),
        (DType::I8, DType::I32, 1600, 8000, None),
    ] {
        let executable = compile(&session, &text([dtype, sum], terms, columns));
        let shapes = [[BATCH, ROWS, terms], [BATCH, terms, columns]];
        let [x, y] = [(shapes[0], unusual), (shapes[1], None)]
            .map(|(shape, unusual)| bytes(dtype, shape.iter().product(), unusual, &mut random));
        let product = |name: &str| {
            let arguments = [(&shapes[0], &x), (&shapes[1], &y)]
                .map(|(shape, bytes)| Tensor::new(dtype, shape, bytes).expect("there are as many bytes"));
            function(&executable, name).run(&arguments).expect("it runs").remove(0)
        };
        let open = product("open");
        // One thread takes all tiles, several take some each.
        for threads in [1, 0] {
            set_threads(threads);
            let shared = product("shared");
            let is_same = shared.bytes().is_some_and(|bytes| open.bytes() == Some(bytes));
            set_threads(0);
            assert!(is_same, "{dtype} {unusual:?} on {threads} threads");
        }
    }
}
