//! `join`: results in words.

use insta::assert_snapshot;

use crate::support::{run, systems, transcript};

#[test]
fn in_words() {
    assert_snapshot!(transcript(&[
        &["join", "i16", "u16"],
        &["join", "f32"],
        &["join", "i64", "bf16", "f*"],
        &["join", "--x64", "u64", "i64"],
        &["join", "u64", "i32"],
        &["join", "-s", "numpy2", "u8", "i8", "f16"],
        &["join", "-s", "numpy1", "f16", "0:f64"],
        &["join", "-s", "torch", "0:f64", "f16", "i64"],
        &["join", "-s", "tensorflow-all", "i32*", "u8"],
        &["join", "-s", "jep9407-option2", "u16", "f16"],
    ]));
}

#[test]
fn for_programs() {
    assert_snapshot!(transcript(&[
        &["join", "i64", "bf16", "--format", "json"],
        &["join", "i64", "bf16", "--format", "csv"],
    ]));
}

#[test]
fn any_number_of_dtypes_can_be_joined() {
    let many = [vec!["join"; 1], vec!["i16"; 40], vec!["u16"; 40]].concat();
    let output = run(&many).succeeded();
    assert!(output.ends_with(" ∨ u16 = i32: i16 → i32; u16 → i32\n"), "{output}");
    for system in systems() {
        let many = [vec!["join", "-s", &system], vec!["f64"; 40]].concat();
        assert!(run(&many).succeeded().contains(" = f64: f64 stays\n"), "{system}");
    }
}

#[test]
fn refusals_say_why() {
    let output = [
        run(&["join", "f8e4m3fn", "f8e5m2"]),
        run(&["join", "-s", "jax-strict", "u8", "f32", "--format", "json"]),
        run(&["join", "-s", "jep9407-option1", "u64", "f64"]),
        run(&["join", "-s", "torch", "u16", "i8"]),
    ]
    .map(|run| run.refused());
    assert_snapshot!(output.concat());
}
