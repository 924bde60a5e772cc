//! A child process that checks programs, and says so.
//!
//! It writes a line before each program, `begin 17`, and one after it, `end 17 Same` or `wrong 17 …` with the lines of what is
//! wrong escaped, so that who reads it knows at which program it died.

use std::io::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::case::{Case, mutant};
use crate::check::Bench;
use crate::limits;

/// Which programs are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Random functions with dynamic extents.
    Programs,
    /// Mutants of random programs.
    Mutants,
}

impl Mode {
    /// The mode of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Programs, Self::Mutants].into_iter().find(|mode| mode.name() == name)
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Programs => "programs",
            Self::Mutants => "mutants",
        }
    }

    /// The program of a number.
    pub fn case(self, number: u64) -> Case {
        match self {
            Self::Programs => Case::of_seed(number),
            Self::Mutants => Case::of_bytes(&mutant(number)),
        }
    }
}

/// Checks programs, each under the limits.
pub fn work(mode: Mode, numbers: Range<u64>) {
    limits::limit_memory();
    let mut bench = Bench::new();
    for number in numbers {
        limits::restart_clock();
        say(&format!("begin {number}"));
        let checked = catch_unwind(AssertUnwindSafe(|| bench.check(&mode.case(number))));
        match checked {
            Ok(Ok(ending)) => say(&format!("end {number} {ending:?}")),
            Ok(Err(finding)) => say(&format!("wrong {number} {}", finding.escape_default())),
            // The panic has been reported; the state that it left is not used again.
            Err(_) => std::process::exit(1),
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Who does not listen any more does not need it.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
