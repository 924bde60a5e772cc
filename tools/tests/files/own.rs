//! That the tests of files fail where they must.

use std::path::PathBuf;

use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

use crate::check;

/// What prints three lines, each of which is expected.
const SCRIPT: &str = "// RUN: printf 'a [[1]]\\n  b\\n\\nc\\n' | %{exact}\n";

/// A file of its own, deleted in the end.
struct File(TempDir);

impl File {
    fn new(text: &str) -> Self {
        let file = Self(tempfile::tempdir().expect("a temporary directory can be made"));
        std::fs::write(file.path(), text).expect("the directory can be written to");
        file
    }

    /// A file with right expectations.
    fn blessed() -> Self {
        let file = Self::new(SCRIPT);
        check(&file.path(), true).expect("what was just written is right");
        file
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("f.mlir")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("it was written")
    }

    fn passes(&self) -> bool {
        check(&self.path(), false).is_ok()
    }
}

fn expect(holds: bool, what: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(what.into()) }
}

/// Every change to the expectations of a file is noticed.
fn every_line_counts() -> Result<(), Failed> {
    let blessed = File::blessed();
    expect(blessed.passes(), &blessed.text())?;
    let printed = ["a [[1]]", "  b", "", "c"];
    for line in printed {
        let others: Vec<&str> = printed.into_iter().filter(|other| *other != line).collect();
        let command = format!("printf '{}\\n'", others.join("\\n"));
        let fewer = blessed.text().replace("printf 'a [[1]]\\n  b\\n\\nc\\n'", &command);
        expect(fewer != blessed.text() && !File::new(&fewer).passes(), &fewer)?;
    }
    for (from, to) in [("'a", "'z\\na"), ("c\\n'", "c\\nz\\n'"), ("\\n  b", "\\n b"), ("c\\n'", "c \\n'")] {
        let other = blessed.text().replace(from, to);
        expect(other != blessed.text() && !File::new(&other).passes(), &other)?;
    }
    Ok(())
}

fn blessing_twice_changes_nothing() -> Result<(), Failed> {
    let blessed = File::blessed();
    let once = blessed.text();
    check(&blessed.path(), true)?;
    expect(blessed.text() == once, &blessed.text())
}

fn a_file_without_a_run_line_fails() -> Result<(), Failed> {
    expect(!File::new("// run: true\n").passes() && !File::new("// RUN: true \\\n").passes(), "one passes")
}

fn a_failing_command_fails() -> Result<(), Failed> {
    let wrong = ["false", "false | cat", "promote-opt --no-such-flag %s", "not true", "no_such_command"];
    let passes = wrong.into_iter().find(|line| File::new(&format!("// RUN: {line}\n")).passes());
    expect(passes.is_none(), passes.unwrap_or_default())
}

/// The tests of the tests.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("own::every_line_counts", every_line_counts),
        Trial::test("own::blessing_twice_changes_nothing", blessing_twice_changes_nothing),
        Trial::test("own::a_file_without_a_run_line_fails", a_file_without_a_run_line_fails),
        Trial::test("own::a_failing_command_fails", a_failing_command_fails),
    ]
}
