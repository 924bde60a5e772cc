//! Extremes of zeros and of NaNs, which operations that take one of two equal ones would give by chance: the same in every order.

use std::collections::BTreeMap;

use promote::{DType, Tensor};
use promote_reference::indices;

use super::layouts::{axes, check_functions, dims};
use super::support::{Random, compile, function, session};

/// An extreme over some axes of a tensor, or of what the program itself makes of it by turning its dimensions around.
struct Extreme {
    op: &'static str,
    axes: Vec<usize>,
    is_turned: bool,
}

impl Extreme {
    fn of(rank: usize) -> Vec<Self> {
        let mut all = Vec::new();
        for axes in axes(rank) {
            for (op, is_turned) in [("max", false), ("max", true), ("min", false), ("min", true)] {
                all.push(Self { op, axes: axes.clone(), is_turned });
            }
        }
        all
    }

    fn text(&self, name: &str, dtype: &str, dims: &[String]) -> String {
        let x = format!("tensor<{}x{dtype}>", dims.join("x"));
        let list = |axes: &mut dyn Iterator<Item = usize>| {
            axes.map(|axis| axis.to_string()).collect::<Vec<_>>().join(", ")
        };
        let (turned, axes) = (list(&mut (0..dims.len()).rev()), list(&mut self.axes.iter().copied()));
        let turn =
            format!("\"promote.permute_dims\"(%x) {{permutation = array<i64: {turned}>}} : ({x}) -> !u");
        let (turn, operand, ty) = match self.is_turned {
            true => (format!("  %t = {turn}\n"), "%t", "!u"),
            false => (String::new(), "%x", x.as_str()),
        };
        let op = self.op;
        format!(
            "func.func @{name}(%x: {x}) -> !u {{
{turn}  %r = \"promote.{op}\"({operand}) {{axis = array<i64: {axes}>}} : ({ty}) -> !u
  return %r : !u\n}}\n"
        )
    }

    /// Whether each result is -0, of zeros of which some are.
    fn signs(&self, shape: &[usize], signs: &[bool]) -> Vec<bool> {
        let mut results = BTreeMap::new();
        for (mut index, sign) in indices(shape).zip(signs) {
            if self.is_turned {
                index.reverse();
            }
            let kept = index.iter().enumerate().filter(|(axis, _)| !self.axes.contains(axis));
            let result = results.entry(kept.map(|(_, index)| *index).collect::<Vec<_>>()).or_insert(*sign);
            *result = if self.op == "max" { *result && *sign } else { *result || *sign };
        }
        results.into_values().collect()
    }
}

#[test]
fn extremes_of_zeros_have_the_same_sign_in_every_order() {
    for (dtype, shape, is_open) in [
        (DType::F32, &[3, 5][..], true),
        (DType::F32, &[37, 4133], true),
        (DType::F32, &[128, 128], false),
        (DType::F64, &[5000, 6], false),
        (DType::F64, &[3, 70_001], true),
        (DType::BF16, &[170, 167], true),
        (DType::F32, &[130, 30, 20], false),
        (DType::F32, &[11, 3, 1300], true),
    ] {
        let mut random = Random::new(shape.len() as u64);
        let some: Vec<bool> = (0..shape.iter().product()).map(|_| random.below(16) == 0).collect();
        let others: Vec<bool> = some.iter().map(|sign| !sign).collect();
        let (extremes, dims) = (Extreme::of(shape.len()), dims(shape, is_open));
        let texts = extremes.iter().enumerate();
        let text: String =
            texts.map(|(index, one)| one.text(&format!("f{index}"), dtype.mlir(), &dims)).collect();
        for signs in [some, others] {
            let zeros = signs.iter().map(|sign| u64::from(*sign) << (dtype.bits() - 1));
            let size = dtype.bits() as usize / 8;
            let numbers: Vec<u8> = zeros.flat_map(|zero| zero.to_le_bytes().into_iter().take(size)).collect();
            let functions = (text.clone(), extremes.len());
            let found = check_functions(&functions, (dtype, &numbers), shape, is_open);
            for (one, (_, bytes)) in extremes.iter().zip(&found) {
                let found: Vec<bool> = bytes.chunks_exact(size).map(|zero| zero[size - 1] != 0).collect();
                let text = one.text("f", dtype.mlir(), &dims);
                assert!(found == one.signs(shape, &signs), "{dtype} {shape:?}: {text}");
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
