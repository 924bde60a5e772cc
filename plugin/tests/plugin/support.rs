//! Running `mlir-opt-22` with the plugin, and `promote-opt` beside it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The pipeline that does what `promote-opt` does.
pub const DEFAULT: &str = "builtin.module(promote-default)";

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    pub succeeded: bool,
    pub out: String,
    pub err: String,
}

impl Run {
    /// What was printed, if it succeeded.
    #[track_caller]
    pub fn text(self) -> String {
        assert!(self.succeeded, "{}", self.err);
        self.out
    }

    /// What was reported, if it failed.
    #[track_caller]
    pub fn refusal(self) -> String {
        assert!(!self.succeeded, "{}", self.out);
        self.err
    }
}

/// The folder in which cargo has put the plugin: that of this program.
fn built() -> PathBuf {
    let program = std::env::current_exe().expect("the test runs");
    program.parent().expect("it is in a folder").to_owned()
}

pub fn plugin() -> PathBuf {
    let plugin = built().join("libpromote_plugin.so");
    assert!(plugin.is_file(), "cargo builds the plugin for its tests");
    plugin
}

/// `promote-opt`, which the same build makes.
pub fn promote_opt(arguments: &[&str]) -> Run {
    let program = built().parent().expect("it is in a folder of the target").join("promote-opt");
    assert!(
        program.is_file(),
        "there is no promote-opt to compare with: cargo build --release -p promote-tools"
    );
    run(Command::new(program).args(arguments), "")
}

/// `mlir-opt-22` with the dialect and the passes.
pub fn mlir_opt(arguments: &[&str], input: &str) -> Run {
    let plugin = plugin().display().to_string();
    let (dialect, passes) =
        (format!("--load-dialect-plugin={plugin}"), format!("--load-pass-plugin={plugin}"));
    bare_mlir_opt(&[&[dialect.as_str(), &passes], arguments].concat(), input)
}

/// `mlir-opt-22`.
pub fn bare_mlir_opt(arguments: &[&str], input: &str) -> Run {
    run(Command::new(crate::needed::of_llvm("bin/mlir-opt")).args(arguments).current_dir(ROOT), input)
}

pub fn run(command: &mut Command, input: &str) -> Run {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("the program is there");
    // It may fail before it reads.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Run { succeeded: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
}

/// The programs below a folder.
pub fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(programs(&path));
        } else if path.extension().is_some_and(|extension| extension == "mlir") {
            found.push(path);
        }
    }
    found.sort();
    found
}
