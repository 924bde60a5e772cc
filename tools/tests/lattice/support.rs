//! Running the tool, and showing what came of it.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use promote_lattice::Semantics;
use serde_json::Value;

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    args: String,
    /// The exit status.
    pub status: Option<i32>,
    /// Its result.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Run {
    /// Its result, which must be a success without a word.
    #[track_caller]
    pub fn succeeded(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (Some(0), ""), "{self}");
        self.stdout
    }

    /// Its result as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.succeeded()).expect("the result is JSON")
    }

    /// What it says, which must be a refusal.
    #[track_caller]
    pub fn refused(self) -> String {
        assert_eq!((self.status, self.stdout.as_str()), (Some(1), ""), "{self}");
        self.stderr
    }

    /// What it says, which must be a complaint about the command line.
    #[track_caller]
    pub fn misused(self) -> String {
        assert_eq!((self.status, self.stdout.as_str()), (Some(2), ""), "{self}");
        assert!(self.stderr.starts_with("error: "), "{self}");
        self.stderr
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or("killed".to_owned(), |status| status.to_string());
        writeln!(f, "$ promote-lattice {}", self.args)?;
        write!(f, "exit status {status}\n--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}

/// Runs the tool.
pub fn run(args: &[&str]) -> Run {
    run_in(Path::new("."), args)
}

/// Runs the tool in a directory.
pub fn run_in(directory: &Path, args: &[impl AsRef<OsStr>]) -> Run {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_promote-lattice"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    let output = command.current_dir(directory).args(args).output().expect("the tool can be run");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    let args: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
    Run {
        args: args.join(" "),
        status: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// What several command lines print, for snapshots.
pub fn transcript(lines: &[&[&str]]) -> String {
    lines
        .iter()
        .map(|args| format!("$ promote-lattice {}\n{}\n", args.join(" "), run(args).succeeded()))
        .collect()
}

/// All semantics, as the tool calls them.
pub fn systems() -> Vec<String> {
    Semantics::names().flat_map(|name| [name.to_owned(), format!("{name}:x64")]).collect()
}

/// The data that the page's program works with.
pub fn page_data(page: &str) -> Value {
    let data = page.split_once("id=\"data\">").expect("there are data").1;
    serde_json::from_str(data.split_once("</script>").expect("they end").0).expect("they are JSON")
}
