//! Products whose right matrix does not stay in the caches: several tiles share what is read of it, and no bit changes.

use std::fmt::Write;

use promote::{DType, Tensor};

use super::support::{Random, compile, function, session};

/// Some tiles more than are multiplied at once, and some rows; two blocks of terms, the second one short.
const ROWS: i64 = 269;
const TERMS: i64 = 390;
/// Matrices of a product.
const BATCH: i64 = 2;

/// Bytes of numbers near one, of both signs; any bytes, if they are integers. One number in each is of another magnitude.
fn bytes(dtype: DType, count: i64, random: &mut Random) -> Vec<u8> {
    let number = |random: &mut Random| random.below(1 << 24) as f32 / 8_388_608.0 - 1.0;
    let unusual = count as usize / 3;
    (0..count as usize)
        .flat_map(|index| {
            let value = if index == unusual { 1e-30 } else { number(random) };
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

#[test]
fn tiles_that_share_panels_add_up_as_others_do() {
    let session = session("jax", true, false);
    let mut random = Random::new(23);
    // As many columns as make the packed matrix larger than what stays in the caches: 12 MiB.
    for (dtype, sum, columns) in [
        (DType::F32, DType::F32, 8200),
        (DType::F64, DType::F64, 4100),
        (DType::BF16, DType::F32, 16400),
        (DType::I8, DType::I32, 32800),
    ] {
        let mut text = String::new();
        for (name, extents) in [
            ("shared", [BATCH, ROWS, TERMS, columns].map(|extent| extent.to_string())),
            ("open", [(); 4].map(|()| "?".to_owned())),
        ] {
            let [batch, rows, terms, columns] = extents;
            let tensor =
                |[m, n]: [&str; 2], dtype: DType| format!("tensor<{batch}x{m}x{n}x{}>", dtype.mlir());
            let operands = [tensor([&rows, &terms], dtype), tensor([&terms, &columns], dtype)];
            let wide = [tensor([&rows, &terms], sum), tensor([&terms, &columns], sum)];
            let ([x, y], [wide_x, wide_y]) = (operands, wide);
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
        let executable = compile(&session, &text);
        let shapes = [[BATCH, ROWS, TERMS], [BATCH, TERMS, columns]];
        let [x, y] = shapes.map(|shape| bytes(dtype, shape.iter().product(), &mut random));
        let product = |name: &str| {
            let arguments = [(&shapes[0], &x), (&shapes[1], &y)]
                .map(|(shape, bytes)| Tensor::new(dtype, shape, bytes).expect("there are as many bytes"));
            function(&executable, name).run(&arguments).expect("it runs").remove(0)
        };
        let (shared, open) = (product("shared"), product("open"));
        assert!(shared.bytes().is_some_and(|bytes| open.bytes() == Some(bytes)), "{dtype}");
    }
}
