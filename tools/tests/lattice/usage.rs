//! Command lines that are wrong.

use insta::assert_snapshot;

use crate::support::run;

#[test]
fn wrong_usage_exits_with_2_and_says_why() {
    let mut output = String::new();
    for args in [
        &["-x"][..],
        &["--x64"],
        &["tabel"],
        &["table", "--semantics", "numpi2"],
        &["table", "--semantics="],
        &["table", "--nodes", "u8,,i8"],
        &["table", "--nodes", "u8,i33"],
        &["table", "--mark", "none"],
        &["table", "--like", "jep", "-s", "jax"],
        &["table", "--like", "jax", "--nodes", "core"],
        &["table", "--format", "xml"],
        &["table", "--zero-dim", "none"],
        &["join"],
        &["join", "float32", "u8"],
        &["join", "bool", "Int16"],
        &["join", "quux"],
        &["join", "-s", "numpy2", "f8e5m2"],
        &["join", "int128"],
        &["table", "--semantics", "option2"],
        &["diff"],
        &["diff", "jax", "numpy2", "torch"],
        &["check", "jax", "--semantics", "numpy2"],
        &["svg", "--format", "json"],
        &["--completions", "tcsh"],
        &["--color=sometimes", "table"],
    ] {
        output.push_str(&format!("$ promote-lattice {}\n{}\n", args.join(" "), run(args).misused()));
    }
    assert_snapshot!(output);
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let output = run(&["check", "-s", "no-such-file.toml"]).refused();
    assert!(output.contains("error[P0025]") && output.contains("no-such-file.toml"), "{output}");
}
