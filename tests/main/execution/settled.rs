//! Whether any or all of long rows are true, which is settled before their end, and extremes of rows that have NaNs.

use promote::{DType, Tensor};

use super::support::{compile, function, session};

const OPS: [(&str, bool); 4] = [("any", true), ("max", true), ("all", false), ("min", false)];

#[test]
fn an_element_anywhere_in_a_long_row_settles_it_and_no_other_row() {
    for extent in [4096_usize, 4097, 12_345, 150_001] {
        for is_open in [false, true] {
            let row = if is_open { "?".to_owned() } else { extent.to_string() };
            let x = format!("tensor<3x{row}xi1>");
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
                    let tensor =
                        Tensor::new(DType::B1, &[3, extent as i64], &elements).expect("it has as many");
                    let results = function(&executable, op).run(&[tensor]).expect("it runs");
                    let found = results[0].bytes().expect("results are contiguous");
                    let others = u8::from(!settling);
                    assert_eq!(found, [others, settling.into(), others], "{op} of {extent}, {place}");
                }
            }
        }
    }
}

#[test]
fn extremes_of_several_nans_are_the_same_one_in_every_order() {
    let nans = [0x7fc0_0000_u32, 0xffc0_0000, 0x7fc0_0123, 0xffff_ffff, 0x7fff_fffe];
    let text = "func.func @max(%x: tensor<1001xf32>) -> !u {\n  %r = \"promote.max\"(%x) : (tensor<1001xf32>) -> !u\n  return %r : !u\n}\n\
                func.func @min(%x: tensor<1001xf32>) -> !u {\n  %r = \"promote.min\"(%x) : (tensor<1001xf32>) -> !u\n  return %r : !u\n}\n";
    let executable = compile(&session("jax", true, false), text);
    for op in ["max", "min"] {
        let found: Vec<u32> = (0..12_usize)
            .map(|turn| {
                let mut numbers: Vec<u32> = (0..1001).map(|place| (place as f32 - 500.0).to_bits()).collect();
                numbers[3] = f32::INFINITY.to_bits();
                numbers[4] = f32::NEG_INFINITY.to_bits();
                for (number, nan) in nans.iter().enumerate() {
                    numbers[(turn * 89 + number * 197) % 1001] = *nan;
                }
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                let tensor = Tensor::new(DType::F32, &[1001], &bytes).expect("it has as many");
                let results = function(&executable, op).run(&[tensor]).expect("it runs");
                let result = results[0].bytes().expect("results are contiguous");
                u32::from_le_bytes([result[0], result[1], result[2], result[3]])
            })
            .collect();
        assert!(f32::from_bits(found[0]).is_nan(), "{op}");
        assert!(found.iter().all(|bits| *bits == found[0]), "{op}: {found:x?}");
    }
}
