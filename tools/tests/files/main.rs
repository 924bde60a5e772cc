//! File tests: programs under `tests/files` that say in RUN lines, as those of LLVM's lit, what is to be run on them and what
//! must come of it. Each file is a test, named by its path. `tests/files/README.md` explains how to write one.

#[allow(dead_code, reason = "some of it is for the tests of the library only")]
#[path = "../../../tests/support/needed.rs"]
mod needed;

mod bless;
mod own;
mod script;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use script::Script;

/// Where the files are.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/files");

/// The variable that has expectations written instead of checked.
const BLESS: &str = "PROMOTE_BLESS";

/// The programs below a directory, in order.
fn programs(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory of the files can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    let below = |path: PathBuf| match path.is_dir() {
        true => programs(&path),
        false if path.extension().is_some_and(|extension| extension == "mlir") => vec![path],
        false => Vec::new(),
    };
    paths.into_iter().flat_map(below).collect()
}

/// Runs the RUN lines of a file.
fn check(path: &Path, blesses: bool) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let script = Script::parse(path, &text)?;
    if blesses {
        let blessed = bless::bless(&script, &text)?;
        if blessed != text {
            std::fs::write(path, blessed)?;
        }
    }
    for line in &script.lines {
        script.run(line)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let blesses = std::env::var(BLESS).is_ok_and(|value| value == "1");
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(FILES).expect("it is below").with_extension("");
        Trial::test(name.display().to_string().replace('/', "::"), move || check(&path, blesses))
    };
    let mut trials: Vec<Trial> = programs(Path::new(FILES)).into_iter().map(trial).collect();
    assert!(!trials.is_empty(), "there are programs in {FILES}");
    trials.extend(own::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}
