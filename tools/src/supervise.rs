//! Work that may crash, in a process where a crash costs nothing.
//!
//! MLIR calls `abort` on some misuse and can crash on damaged bytecode; no Rust code can catch that. So the work is done
//! in a child, forked before any thread exists, and the parent waits: what the child says and writes is all there is,
//! unless it dies of a signal, which the parent reports.

use std::process::ExitCode;
use std::thread::{Builder, scope};

/// Stack of the thread that works: MLIR parses, verifies and prints recursively. It is only reserved, not used.
const STACK: usize = 1 << 30;

/// Stack of that thread where the address space is limited, and of the threads that help it.
pub const SMALL_STACK: usize = 64 << 20;

/// Does `work` in a child process, on a big stack, and gives its exit code. If the child dies of a signal, `on_crash`
/// says so, given the signal, and decides the exit code. Must be called before any other thread is started.
pub fn run(work: impl FnOnce() -> ExitCode + Send, on_crash: impl FnOnce(i32) -> ExitCode) -> ExitCode {
    // SAFETY: the process has one thread, so the child's copy of it is whole.
    match unsafe { libc::fork() } {
        0 => {
            prepare_child();
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

/// Sees to it that the child goes when its parent does, and that the signals of a crash end it without words: the
/// parent has them. A file that may not grow is an error of writing, not a crash.
fn prepare_child() {
    // SAFETY: the calls take plain numbers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
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

/// Whether the process may reserve address space as it likes.
pub fn is_address_space_free() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit outlives the call.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    known && limit.rlim_cur == libc::RLIM_INFINITY
}

/// Works in a thread with the biggest stack that can be had; without one, if none can be started.
fn on_big_stack(work: impl FnOnce() -> ExitCode + Send) -> ExitCode {
    let work = std::sync::Mutex::new(Some(work));
    let run = || work.lock().ok().and_then(|mut work| work.take()).map_or(ExitCode::FAILURE, |work| work());
    let threaded = |stack| {
        scope(|scope| {
            let worker = Builder::new().stack_size(stack).spawn_scoped(scope, run).ok()?;
            // The panic has said what it is; the parent says what came of it.
            Some(worker.join().unwrap_or_else(|_| std::process::abort()))
        })
    };
    [STACK, SMALL_STACK].into_iter().find_map(threaded).unwrap_or_else(run)
}
