//! `promote-run`: promotes, compiles and runs a function of an MLIR module.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use promote_tools::run::args::{Args, TOOL};
use promote_tools::{flags, run, supervise};

fn main() -> ExitCode {
    let args = match Args::from_command_line(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return flags::leave(&error, TOOL),
    };
    supervise::run(|| run::run(&args), |crash| run::report_crash(&args, crash))
}
