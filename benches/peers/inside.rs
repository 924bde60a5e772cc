//! Timing a pipeline from inside: a fresh process parses a file, and says how long the passes took.
//!
//! A process of its own, because a heap in which other modules have lived is laid out differently, and slower.

use std::env;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use promote::{Options, Pipeline, RunOptions, Semantics, Session, Source, Verdict};

use crate::outside;
use crate::table::median;

/// The first argument of such a process; a pipeline, a number of times and a file follow.
pub const ARGUMENT: &str = "--time-inside";

/// The seconds that `pipeline` takes on the module in `file`: the median of a fresh process's `times` modules.
pub fn time(pipeline: &str, times: usize, file: &Path) -> io::Result<f64> {
    let mut command = Command::new(env::current_exe()?);
    outside::answer(command.args([ARGUMENT, pipeline, &times.to_string()]).arg(file))
}

/// What such a process does.
pub fn serve(pipeline: &str, times: &str, file: &Path) -> io::Result<()> {
    let semantics = Semantics::by_name("jax", false).map_err(io::Error::other)?;
    let session = Session::new(&Options::new(semantics)).map_err(io::Error::other)?;
    let pipeline = Pipeline::parse(pipeline).map_err(io::Error::other)?;
    let times = times.parse().map_err(io::Error::other)?;
    let seconds: io::Result<Vec<f64>> = (0..times).map(|_| time_once(&session, &pipeline, file)).collect();
    println!("{}", median(&seconds?));
    // Freeing a big module takes longer than ending the process does.
    std::process::exit(0)
}

fn time_once(session: &Session, pipeline: &Pipeline, file: &Path) -> io::Result<f64> {
    let refused = || io::Error::other(format!("{:?}", session.take_diagnostics()));
    let mut module = session.parse(Source::File(file)).ok_or_else(refused)?;
    let start = Instant::now();
    let verdict = session.run(&mut module, pipeline, &RunOptions::default());
    let seconds = start.elapsed().as_secs_f64();
    match verdict {
        Ok(Verdict::Done) => Ok(seconds),
        Ok(Verdict::Refused) => Err(refused()),
        Err(error) => Err(io::Error::other(error)),
    }
}
