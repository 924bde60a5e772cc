//! Work that may crash, in a process where a crash costs nothing.
//!
//! MLIR calls `abort` on some misuse and can crash on damaged bytecode; no Rust code can catch that. So the work is done
//! in a child, forked before any thread exists, and the parent waits: what the child says and writes is all there is,
//! unless it dies of a signal, which the parent reports.

use std::process::ExitCode;

/// Stack of the thread that works: MLIR parses, verifies and prints recursively. It is only reserved, not used.
const STACK: usize = 1 << 30;

/// Does `work` in a child process, on a big stack, and gives its exit code. If the child dies of a signal, `on_crash`
/// says so, given the signal, and decides the exit code. Must be called before any other thread is started.
pub fn run(work: impl FnOnce() -> ExitCode + Send, on_crash: impl FnOnce(i32) -> ExitCode) -> ExitCode {
    // SAFETY: the process has one thread, so the child's copy of it is whole.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: the child asks to be killed when its parent is; the call takes plain numbers.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            on_big_stack(work)
        }
        // No process can be forked: work here, unsupervised.
        -1 => on_big_stack(work),
        child => match wait(child) {
            Some(status) if libc::WIFSIGNALED(status) => on_crash(libc::WTERMSIG(status)),
            Some(status) => ExitCode::from(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(1)),
            None => ExitCode::FAILURE,
        },
    }
}

/// The status that a child ended with.
fn wait(child: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the child is ours, and the status outlives the call.
        if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
            return Some(status);
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return None;
        }
    }
}

fn on_big_stack(work: impl FnOnce() -> ExitCode + Send) -> ExitCode {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        worker.map_or(ExitCode::FAILURE, |worker| worker.join().unwrap_or(ExitCode::FAILURE))
    })
}
