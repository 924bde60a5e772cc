//! `promote-opt`: infers the dtypes of an MLIR module and makes every implicit promotion explicit.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use promote_tools::cli::Args;
use promote_tools::{opt, supervise};

fn main() -> ExitCode {
    let args = Args::from_command_line(std::env::args_os()).unwrap_or_else(|error| error.exit());
    supervise::run(|| opt::run(&args), |crash| opt::report_crash(&args, crash))
}
