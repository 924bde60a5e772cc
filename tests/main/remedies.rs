//! What the help of a diagnostic says to write is accepted.

use promote::{DType, Session};

use crate::support::{DEFAULT, run_in, session};

const UNKNOWN: &str = "!promote.unknown";

/// A sum whose result is stated to be of dtype `stated`, and perhaps converted to another one.
fn sum(operands: (&str, &str), stated: &str, converted: Option<&str>) -> String {
    let (x, y) = operands;
    let used = if converted.is_some() { "%1" } else { "%0" };
    let convert = converted.map_or_else(String::new, |dtype| {
        format!("  %1 = \"promote.convert\"(%0) : (tensor<*x{stated}>) -> tensor<*x{dtype}>\n")
    });
    let result = converted.unwrap_or(stated);
    format!(
        "func.func private @f(%x: tensor<4x{x}>, %y: tensor<{y}>) -> tensor<*x{result}> {{\n  %0 = \"promote.add\"(%x, %y) : \
         (tensor<4x{x}>, tensor<{y}>) -> tensor<*x{stated}>\n{convert}  return {used} : tensor<*x{result}>\n}}\n"
    )
}

fn accepts(session: &Session, source: &str) -> bool {
    !run_in(session, source, DEFAULT).text.is_empty()
}

#[test]
fn a_stated_dtype_that_the_rules_do_not_give_is_written_or_converted_as_the_help_says() {
    let session = session("jax", false, false);
    let mut right = Vec::new();
    for operands in
        [("bf16", "f32"), ("i32", "!promote.weak_int"), ("!promote.weak_int", "!promote.weak_float")]
    {
        for stated in DType::ALL.iter().map(|dtype| dtype.mlir()) {
            let outcome = run_in(&session, &sum(operands, stated, None), DEFAULT);
            if !outcome.text.is_empty() {
                right.push(stated);
                continue;
            }
            let diagnostics = outcome.diagnostics_text();
            let refused = &outcome.diagnostics[0];
            assert_eq!(refused.code.as_str(), "P0012", "{diagnostics}");
            let remedy = refused.remedy.as_deref().unwrap_or_default();
            let written =
                remedy.strip_prefix("write ").and_then(|rest| rest.split_once(" or !promote.unknown"));
            let (written, rest) = written.unwrap_or_else(|| panic!("{diagnostics}"));
            assert!(accepts(&session, &sum(operands, written, None)), "{diagnostics}");
            assert!(accepts(&session, &sum(operands, UNKNOWN, None)), "{diagnostics}");
            let advises = rest.contains("promote.convert");
            let is_weak = stated.starts_with("!promote.weak");
            assert_eq!(advises, !is_weak, "{diagnostics}");
            assert_eq!(accepts(&session, &sum(operands, UNKNOWN, Some(stated))), advises, "{diagnostics}");
        }
    }
    assert_eq!(right, ["f32", "i32", "!promote.weak_float"]);
}
