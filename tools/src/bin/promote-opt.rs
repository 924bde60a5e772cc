//! `promote-opt`: infers the dtypes of an MLIR module and makes every implicit promotion explicit.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use promote_tools::cli::Args;
use promote_tools::{flags, opt, render, supervise};

fn main() -> ExitCode {
    let args = match Args::from_command_line(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return flags::leave(&error, render::TOOL),
    };
    supervise::run(|| opt::run(&args), |crash| opt::report_crash(&args, crash))
}
