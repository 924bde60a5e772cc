//! Running the tool, and showing what came of it.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

/// The tool under test.
pub const PROMOTE_OPT: &str = env!("CARGO_BIN_EXE_promote-opt");

/// Where the programs that tests share are.
pub const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

/// A program that is accepted: three passes change it.
pub const GOOD: &str = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<8xbf16>, %y: tensor<8xf32>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<8xbf16>, tensor<8xf32>) -> !u
  return %0 : !u
}
"#;

/// What comes of [`GOOD`].
pub const PROMOTED: &str = r#"module {
  func.func @f(%arg0: tensor<8xbf16>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "promote.convert"(%arg0) {promote.implicit} : (tensor<8xbf16>) -> tensor<8xf32>
    %1 = "promote.add"(%0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

"#;

/// A program that is refused with two errors.
pub const BAD: &str = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf8E5M2>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xf8E5M2>) -> !u
  %1 = "promote.sum"(%x) {axis = array<i64: 1>} : (tensor<4xf8E4M3FN>) -> !u
  return %0 : !u
}
"#;

/// No run takes longer, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The exit status; `None` if it was killed, as it is when [`PATIENCE`] ends.
    pub status: Option<i32>,
    /// Its result.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: String,
}

impl Run {
    /// The result as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("the result is text")
    }

    /// Itself, which must be a success without a word.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!((self.status, self.stderr.as_str()), (Some(0), ""), "{self}");
        self
    }

    /// Itself, which must be a refusal of the input that says why, and no internal error.
    #[track_caller]
    pub fn refused(self) -> Self {
        assert_eq!(self.status, Some(1), "{self}");
        assert!(self.stderr.contains("error[P"), "{self}");
        self.without_crash()
    }

    /// Itself, which must be a complaint about the command line.
    #[track_caller]
    pub fn misused(self) -> Self {
        assert_eq!((self.status, self.text()), (Some(2), ""), "{self}");
        assert!(self.stderr.contains("error"), "{self}");
        self.without_crash()
    }

    #[track_caller]
    fn without_crash(self) -> Self {
        assert!(!self.stderr.contains("[P0099]") && !self.stderr.contains("panicked"), "{self}");
        self
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or("killed".to_owned(), |status| status.to_string());
        let stdout = String::from_utf8_lossy(&self.stdout);
        write!(f, "exit status {status}\n--- stdout\n{stdout}--- stderr\n{}", self.stderr)
    }
}

/// The tool, in a directory and an environment of the test's own.
pub struct Tool {
    directory: TempDir,
    environment: Vec<(&'static str, &'static str)>,
}

impl Tool {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        Self { directory, environment: Vec::new() }
    }

    /// The same with a file.
    pub fn with(self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.path(name), content).expect("the directory can be written to");
        self
    }

    /// The same with a variable in the environment.
    pub fn with_variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// A file of the directory.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What a file holds.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of the files there are.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).expect("the directory is there");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs the tool with arguments, and nothing to read.
    pub fn run(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Run {
        self.run_on("", args)
    }

    /// Runs the tool on a standard input.
    pub fn run_on(
        &self,
        stdin: impl Into<Vec<u8>>,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Run {
        self.command(PROMOTE_OPT, stdin, args)
    }

    /// Runs a shell script in which `promote-opt` is the tool.
    pub fn shell(&self, script: &str) -> Run {
        self.command("bash", "", ["-c", script])
    }

    /// Runs a program in the directory.
    pub fn command(
        &self,
        program: &str,
        stdin: impl Into<Vec<u8>>,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Run {
        let tools = Path::new(PROMOTE_OPT).parent().expect("the tool is in a directory").to_owned();
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&others)));
        let mut command = assert_cmd::Command::new(program);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
            command.env_remove(name);
        }
        let output = command
            .current_dir(self.directory.path())
            .env("PATH", path.expect("paths have no colon"))
            .env("RUST_BACKTRACE", "0")
            .envs(self.environment.iter().copied())
            .args(args)
            .write_stdin(stdin)
            .timeout(PATIENCE)
            .output()
            .expect("the tool can be run");
        Run {
            status: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the tool on a standard input in a directory of its own.
pub fn run(stdin: impl Into<Vec<u8>>, args: &[&str]) -> Run {
    Tool::new().run_on(stdin, args)
}

/// The arguments with what came of them, for snapshots.
pub fn show(args: &[&str], run: &Run) -> String {
    format!("$ promote-opt {}\n{run}", args.join(" "))
}

/// All pairs of a task and its answer, worked on by all cores.
pub fn in_parallel<T: Sync, R: Send>(tasks: &[T], work: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;
    tasks.par_iter().map(work).collect()
}
