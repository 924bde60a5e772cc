//! Conversions: what a shipped file writes gives the bits of ours, or is not written.

use promote::DType;
use promote::convert::{Bits, Numerics, convert};
use promote::op_rules::OpRules;

use super::{run, session};
use crate::linalg::stock::{Argument, Case, Tools, compare, run_lowered};

const DTYPES: &[DType] = {
    use DType::*;
    &[B1, I8, I16, I32, I64, BF16, F16, F32, F64]
};

/// Bits at the edges of a dtype, and some between them.
fn edges(dtype: DType) -> Vec<Bits> {
    let (width, mask) = (dtype.bits(), Bits::MAX >> (Bits::BITS - dtype.bits()));
    let mut bits: Vec<Bits> =
        (0..width).flat_map(|bit| [1 << bit, (1 << bit) - 1, !(1 << bit) & mask]).collect();
    let mut state: Bits = 0x9e37_79b9_7f4a_7c15;
    bits.extend((0..200).map(|_| {
        state = state.wrapping_mul(0xd134_2543_de82_ef95_1234_5679).wrapping_add(1);
        state >> 40 & mask
    }));
    bits.extend([mask, 0]);
    bits.retain(|bits| !dtype.is_inexact() || !is_subnormal(*bits, dtype));
    bits
}

/// Whether a number is subnormal as an f32: what becomes of those is the target's business, and some processors have none.
fn is_subnormal(bits: Bits, dtype: DType) -> bool {
    let number = f64::from_bits(convert(bits, dtype, DType::F64, Numerics::NumPy) as u64).abs();
    number > 0.0 && number < f64::from(f32::MIN_POSITIVE)
}

#[test]
fn arith_gives_the_bits_of_ours() {
    let rules = OpRules::shipped("linalg").expect("the rules are shipped");
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    let mut functions = String::new();
    for from in DTYPES {
        for to in DTYPES.iter().filter(|to| *to != from) {
            if rules.conversion(*from, *to).is_none() {
                continue;
            }
            let bits = edges(*from);
            let (x, y) = (
                format!("tensor<{}x{}>", bits.len(), from.mlir()),
                format!("tensor<{}x{}>", bits.len(), to.mlir()),
            );
            functions += &format!(
                "func.func @case_{}(%0: {x}) -> {y} {{\n\
                 %r = \"promote.convert\"(%0) {{promote.implicit}} : ({x}) -> {y}\n\
                 %s = \"arith.cmpi\"(%r, %r) {{predicate = 0 : i64}} : ({y}, {y}) -> tensor<{}xi1>\n\
                 return %r : {y}\n}}\n",
                cases.len(),
                bits.len()
            );
            expected.push(bits.iter().map(|bits| convert(*bits, *from, *to, Numerics::NumPy)).collect());
            cases.push(Case {
                name: format!("{from} -> {to}"),
                body: String::new(),
                arguments: vec![Argument::new(*from, &[bits.len()], bits)],
                result: *to,
            });
        }
    }
    assert_eq!(cases.len(), 53);
    let outcome = run(&session("jax", "linalg"), &functions, "promote-apply-op-rules");
    assert!(!outcome.text.is_empty() && !outcome.text.contains("promote."), "{}", outcome.diagnostics_text());
    let tools = Tools::find();
    let linalg = tools.lowered(&outcome.text, "func.func(convert-elementwise-to-linalg)");
    compare(&cases, &expected, &run_lowered(&tools, &linalg, &cases));
}

/// No row of a file that means another dialect's conversion turns a float into an integer, which each rounds as it likes.
#[test]
fn no_file_but_torchs_converts_floats_to_integers() {
    for name in ["stablehlo", "tosa", "linalg"] {
        let rules = OpRules::shipped(name).expect("the rules are shipped");
        let integers = DType::ALL.iter().filter(|dtype| dtype.is_integer());
        for (from, to) in
            integers.flat_map(|to| [DType::F16, DType::BF16, DType::F32, DType::F64].map(|from| (from, to)))
        {
            assert_eq!(rules.conversion(from, *to), None, "{name}: {from} -> {to}");
        }
    }
}
