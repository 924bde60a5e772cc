//! The RUN lines of a file, and how they are run.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::needed::of_llvm;

/// What a RUN line ends with whose whole output is expected, and what that stands for.
pub const EXACT: &str = "%{exact}";
const EXACTLY: &str = "FileCheck %s --strict-whitespace --match-full-lines";

/// The RUN lines of a file.
#[derive(Debug)]
pub struct Script {
    /// As they are written, those that end with a backslash joined with the next.
    pub lines: Vec<String>,
    /// The directory of the file, where they are run, so that messages name the file alone.
    directory: PathBuf,
    /// The file's name in it.
    name: String,
}

impl Script {
    /// Reads the RUN lines of a file.
    ///
    /// # Errors
    /// If it has none, or the last is cut off.
    pub fn parse(path: &Path, text: &str) -> Result<Self, String> {
        let mut lines: Vec<String> = Vec::new();
        let mut goes_on = false;
        for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("// RUN:")) {
            let line = line.trim();
            let (line, continues) =
                line.strip_suffix('\\').map_or((line, false), |line| (line.trim_end(), true));
            match lines.last_mut() {
                Some(last) if goes_on => *last += &format!(" {line}"),
                _ => lines.push(line.to_owned()),
            }
            goes_on = continues;
        }
        // Those in `execution` may have none: the tests of the library run them.
        let is_executed = text.lines().any(|line| line.starts_with("// EXECUTE:"));
        if lines.is_empty() && !is_executed {
            return Err("the file has no RUN line; tests/files/README.md says what one is".to_owned());
        }
        if goes_on {
            return Err("the last RUN line ends with a backslash".to_owned());
        }
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        Ok(Self { lines, directory: path.parent().expect("it is in a directory").to_owned(), name })
    }

    /// Runs a line in bash; what it writes to standard output.
    ///
    /// # Errors
    /// If it fails, all of its output.
    pub fn run(&self, line: &str) -> Result<String, String> {
        let scratch = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
        let command = self.expanded(line, &scratch);
        let output = Command::new("bash")
            .args(["-c", &format!("set -o pipefail; {command}")])
            .current_dir(&self.directory)
            .env("PATH", path())
            .env("RUST_BACKTRACE", "0")
            .env_remove("CLICOLOR_FORCE")
            .output()
            .map_err(|error| format!("bash cannot be run: {error}"))?;
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        match output.status.success() {
            true => Ok(stdout),
            false => Err(format!("{}: {command}\n{stdout}{stderr}", output.status)),
        }
    }

    /// A line with what its substitutions stand for.
    fn expanded(&self, line: &str, scratch: &TempDir) -> String {
        let scratch = scratch.path().join("t").display().to_string();
        line.replace(EXACT, EXACTLY).replace("%s", &self.name).replace("%t", &scratch)
    }
}

/// Where RUN lines find commands: our tools first, then LLVM's.
fn path() -> std::ffi::OsString {
    let ours = Path::new(env!("CARGO_BIN_EXE_promote-opt")).parent().expect("a tool is in a directory");
    let llvm = of_llvm("bin/FileCheck");
    let llvm = llvm.parent().expect("a tool is in a directory");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = [ours.to_owned(), llvm.to_owned()].into_iter().chain(std::env::split_paths(&others));
    std::env::join_paths(all).expect("paths have no colon")
}
