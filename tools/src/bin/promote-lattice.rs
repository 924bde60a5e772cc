//! `promote-lattice`: prints, checks, compares and draws promotion lattices and tables.

use std::process::ExitCode;

use promote_tools::lattice::{self, args::Args};

fn main() -> ExitCode {
    let args = Args::from_command_line(std::env::args_os()).unwrap_or_else(|error| error.exit());
    lattice::run(&args)
}
