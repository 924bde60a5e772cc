//! `--help` teaches, and what it teaches is true.

use insta::assert_snapshot;

use crate::support::{GOOD, Tool, run, show};

fn help() -> String {
    run("", &["--help"]).succeeded().text().to_owned()
}

/// The text of the example in `--help`: its script, and the command lines below it.
fn example() -> (String, Vec<String>) {
    let help = help();
    let example = help.split("\nExample:\n").nth(1).expect("--help has an example");
    let unindented: Vec<&str> = example.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    let from = unindented.iter().position(|line| *line == "promote-opt <<'END'").expect("a here document");
    let to = unindented.iter().position(|line| *line == "END").expect("its end");
    let commands = unindented[to..].iter().filter(|line| line.starts_with("promote-opt "));
    // What a command does follows it, after a gap.
    let commands = commands.map(|line| line.split("   ").next().unwrap_or(line).to_owned());
    (unindented[from..=to].join("\n"), commands.collect())
}

#[test]
fn the_example_does_what_it_says() {
    let run = Tool::new().shell(&example().0).succeeded();
    assert_snapshot!(run.text());
    for text in [
        "\"promote.constant\"() {value = dense<2.000000e+00> : tensor<bf16>} : () -> tensor<bf16>",
        "\"promote.multiply\"(%arg0, %1) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>",
        "\"promote.convert\"(%2) {promote.implicit} : (tensor<8xbf16>) -> tensor<8xf32>",
        "return %4 : tensor<8xf32>",
    ] {
        assert!(run.text().contains(text), "{text}: {run}");
    }
}

#[test]
fn every_command_line_of_the_examples_works() {
    let (_, commands) = example();
    assert_eq!(commands.len(), 4, "{commands:?}");
    let expected = "// expected-error@below {{op expects}}\n\"promote.add\"() : () -> ()\n";
    for command in commands {
        let tool =
            Tool::new().with("model.mlir", GOOD).with("tests.mlir", format!("{GOOD}// -----\n{expected}"));
        let run = tool.shell(&command);
        assert_eq!(run.status, Some(0), "{command}: {run}");
        assert_eq!(run.stderr.contains("remark"), command.contains("--remarks"), "{command}: {run}");
        let written = tool.files().contains(&"out.mlir".to_owned());
        assert_eq!(written, command.contains("-o out.mlir"), "{command}: {run}");
    }
}

#[test]
fn short_help_is_short_and_leads_to_the_long_one() {
    let short = run("", &["-h"]).succeeded();
    assert!(short.text().contains("Try `promote-opt --help`"));
    assert!(short.text().lines().count() < help().lines().count() / 2, "{short}");
}

#[test]
fn help_needs_no_valid_input() {
    assert_eq!(run("broken", &["no-such-file", "--help"]).succeeded().text(), help());
    assert_eq!(run("", &["-help"]).succeeded().text(), help());
    run("", &["--version"]).succeeded();
    run("", &["-V"]).succeeded();
}

#[test]
fn lists() {
    let args = &["--list-passes"];
    assert_snapshot!(show(args, &run("", args).succeeded()));
    let dialects = run("", &["--show-dialects"]).succeeded();
    let names: Vec<&str> =
        dialects.text().trim_end().strip_prefix("Available Dialects: ").expect("a list").split(',').collect();
    assert!(names.is_sorted());
    for name in ["arith", "builtin", "func", "linalg", "llvm", "promote", "scf"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run("", &["--completions", shell]).succeeded();
        for word in ["pass-pipeline", "explain", "promote-opt"] {
            assert!(script.text().contains(word), "{shell}: {word}");
        }
        let checked = Tool::new()
            .with("script", script.text())
            .shell(&format!("command -v {shell} > /dev/null || exit 0; {shell} -n script"));
        if matches!(shell, "bash" | "fish" | "zsh") {
            assert_eq!(checked.status, Some(0), "{shell}: {checked}");
        }
    }
}
