//! `promote-lattice`: prints, checks, compares and draws promotion lattices and tables.

use std::process::ExitCode;

use promote_tools::lattice::{
    self,
    args::{Args, TOOL},
};
use promote_tools::{flags, supervise};

fn main() -> ExitCode {
    let args = match Args::from_command_line(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return flags::leave(&error, TOOL),
    };
    supervise::run(|| lattice::run(&args), |crash| lattice::report_crash(&args, crash))
}
