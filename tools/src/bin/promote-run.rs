//! `promote-run`: promotes, compiles and runs a function of an MLIR module.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use promote_tools::run::args::Args;
use promote_tools::{run, supervise};

fn main() -> ExitCode {
    let args = Args::from_command_line(std::env::args_os()).unwrap_or_else(|error| error.exit());
    supervise::run(|| run::run(&args), |crash| run::report_crash(&args, crash))
}
