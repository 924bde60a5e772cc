//! Whether any or all of long rows are true, which is settled before their end.

use promote::{DType, Tensor};

use super::support::{compile, function, session};

const OPS: [(&str, bool); 4] = [("any", true), ("max", true), ("all", false), ("min", false)];

#[test]
fn an_element_anywhere_in_a_long_row_settles_it_and_no_other_row() {
    for extent in [4096_usize, 4097, 12_345, 150_001] {
        for (is_open, dtype) in [(false, DType::B1), (true, DType::B1), (false, DType::U8), (true, DType::U8)]
        {
            let row = if is_open { "?".to_owned() } else { extent.to_string() };
            let x = format!("tensor<3x{row}x{}>", dtype.mlir());
            let text: String = OPS
                .iter()
                .map(|(op, _)| {
                    format!(
                        "func.func @{op}(%x: {x}) -> !u {{\n  %r = \"promote.{op}\"(%x) {{axis = array<i64: 1>}} : ({x}) -> !u\n  \
                         return %r : !u\n}}\n"
                    )
                })
                .collect();
            let executable = compile(&session("jax", true, false), &text);
            let places = [0, 1, 63, 2047, 2048, 4095, extent / 2, extent - 2, extent - 1];
            for (op, settling) in OPS {
                for place in places {
                    let mut elements = vec![u8::from(!settling); 3 * extent];
                    elements[extent + place] = settling.into();
                    let tensor = Tensor::new(dtype, &[3, extent as i64], &elements).expect("it has as many");
                    let results = function(&executable, op).run(&[tensor]).expect("it runs");
                    let found = results[0].bytes().expect("results are contiguous");
                    let others = u8::from(!settling);
                    assert_eq!(found, [others, settling.into(), others], "{op} of {extent} {dtype}, {place}");
                }
            }
        }
    }
}
