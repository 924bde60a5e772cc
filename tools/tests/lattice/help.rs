//! `--help` teaches, and what it teaches is true.

use insta::assert_snapshot;

use crate::support::{run, run_in};

#[test]
fn help_is_short_and_long() {
    assert_snapshot!("help_short", run(&["-h"]).succeeded());
    assert_snapshot!("help_long", run(&["--help"]).succeeded());
    assert_snapshot!("help_table", run(&["table", "--help"]).succeeded());
}

#[test]
fn every_command_line_of_the_examples_works() {
    let help = run(&["--help"]).succeeded();
    let commands: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  promote-lattice ")).collect();
    assert_eq!(commands.len(), 10, "{commands:?}");
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    for command in commands {
        // What a command does follows it, after a gap.
        let (command, meaning) = command.split_once("   ").unwrap_or((command, ""));
        let args: Vec<_> = command.split_whitespace().map(|arg| arg.trim_matches('\'')).collect();
        let output = run_in(directory.path(), &args).succeeded();
        if command.starts_with("join i16") {
            assert_eq!(output.trim_end(), meaning.trim());
        }
    }
    for written in ["jax.svg", "lattices.html"] {
        assert!(directory.path().join(written).exists(), "{written}");
    }
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&["--completions", shell]).succeeded();
        for word in ["promote-lattice", "table", "zero-dim"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn versions_and_bare_calls() {
    assert!(run(&["--version"]).succeeded().starts_with("promote-lattice "));
    let bare = run(&[]);
    assert_eq!(bare.status, Some(2), "{bare}");
    assert!(bare.stderr.contains("Usage: promote-lattice"), "{bare}");
}
