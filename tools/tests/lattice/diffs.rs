//! `diff`: where two semantics differ.

use insta::assert_snapshot;

use crate::support::{run, transcript};

#[test]
fn lists_and_tables() {
    assert_snapshot!(transcript(&[
        &["diff", "jax:x64", "numpy2", "--nodes", "u8,i8,i64,f16,i*"],
        &["diff", "numpy2", "--nodes", "u8,i8,f16", "--x64"],
        &["diff", "jax:x64", "numpy2", "--nodes", "u8,i8,i64,f16,i*", "--table"],
        &["diff", "numpy1", "numpy2", "--nodes", "u8,i8,f16"],
        &["diff", "jax", "jax-strict", "--nodes", "u8,i8", "--format", "json"],
        &["diff", "jax", "jax-strict", "--nodes", "u8,i8", "--format", "csv"],
        &["diff", "jax", "jax-strict", "--nodes", "u8,i8", "--format", "json", "--table"],
    ]));
}

#[test]
fn only_what_both_have_is_compared() {
    let compared = run(&["diff", "jax", "numpy2", "--format", "json"]).json();
    assert_eq!(compared["cells"], 18 * 18);
    let output = run(&["diff", "jax", "numpy2", "--nodes", "u8,f8e5m2"]).misused();
    assert!(output.contains("numpy2 has no dtype f8e5m2"), "{output}");
}

#[test]
fn nothing_differs_from_itself() {
    assert_eq!(run(&["diff", "jax"]).succeeded(), "jax and jax differ in 0 of 1225 cells\n");
}
