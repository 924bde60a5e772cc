//! Whole processes: what they take, and what they say.

use std::io;
use std::mem::MaybeUninit;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a process took.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Wall time from its start to its end.
    pub seconds: f64,
    /// Time that processors worked for it, which another process's load changes less.
    pub cpu_seconds: f64,
    /// The most memory that it, or a child it waited for, had resident.
    pub peak_mib: f64,
}

/// Runs a process to its end, its output going nowhere.
///
/// # Errors
/// If it cannot be started, or fails.
pub fn run(command: &mut Command) -> io::Result<Usage> {
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let (mut status, mut usage) = (0, MaybeUninit::zeroed());
    // SAFETY: the child is ours and nobody else waits for it; the kernel fills in what the pointers name.
    let (waited, usage) = unsafe {
        let waited = libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, usage.as_mut_ptr());
        (waited, usage.assume_init())
    };
    let seconds = start.elapsed().as_secs_f64();
    match (waited, status) {
        (-1, _) => Err(io::Error::last_os_error()),
        (_, 0) => Ok(Usage {
            seconds,
            cpu_seconds: in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime),
            peak_mib: usage.ru_maxrss as f64 / 1024.0,
        }),
        _ => Err(io::Error::other(format!("{command:?} failed"))),
    }
}

fn in_seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// Runs a process that prints a number of seconds.
///
/// # Errors
/// If it cannot be started, fails, or prints anything else.
pub fn answer(command: &mut Command) -> io::Result<f64> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    match (output.status.success(), printed.trim().parse()) {
        (true, Ok(seconds)) => Ok(seconds),
        _ => Err(io::Error::other(format!("{command:?} failed: {printed}"))),
    }
}
