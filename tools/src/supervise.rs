//! Work that may crash or be killed, in a process where that costs nothing.
//!
//! MLIR calls `abort` on some misuse and can crash on damaged bytecode; no Rust code can catch that. So the work is done
//! in a child, forked before any thread exists, and the parent waits: what the child says and writes is all there is,
//! unless it dies of a signal, which the parent reports. Where a library ends the process before the work has ended, as LLVM
//! does at some errors, the child aborts. A signal that is meant to end the tool ends both; what files
//! the child leaves then ([`leftovers`]), the parent removes.

mod signals;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, scope};

use crate::leftovers;
use signals::{Signals, die_of, is_ending};

/// Stack of the thread that works: MLIR parses, verifies and prints recursively. It is only reserved, not used.
const STACK: usize = 1 << 30;

/// Stack of that thread where the address space is limited, and of the threads that help it.
pub const SMALL_STACK: usize = 64 << 20;

/// Does `work` in a child process, on a big stack, and returns its exit code. If the child dies of a signal, `on_crash`
/// says so, given the signal, and decides the exit code. Must be called before any other thread is started.
pub fn run(work: impl FnOnce() -> ExitCode + Send, on_crash: impl FnOnce(i32) -> ExitCode) -> ExitCode {
    let Some((mut from_child, to_parent)) = pipe() else { return on_big_stack(work) };
    let signals = Signals::hold_back();
    // SAFETY: the process has one thread, so the child's copy of it is whole.
    match unsafe { libc::fork() } {
        0 => {
            signals.let_through();
            drop(from_child);
            prepare_child();
            leftovers::report_to(to_parent);
            // SAFETY: the handler is a function of this program, which may end the process.
            unsafe { libc::atexit(abort_unless_done) };
            let code = on_big_stack(work);
            IS_DONE.store(true, Ordering::Release);
            code
        }
        // No process can be forked: work here, unsupervised.
        -1 => {
            signals.let_through();
            on_big_stack(work)
        }
        child => {
            drop(to_parent);
            adopt_orphans();
            let (announced, ended_by) = listen(&mut from_child, &signals, child);
            let status = wait(child);
            // One that ended by itself has waited for what it started.
            if status.is_none_or(|status| libc::WIFSIGNALED(status)) {
                end_orphans();
            }
            leftovers::remove(&announced);
            conclude(status, ended_by, on_crash)
        }
    }
}

/// Whether the child's work has ended.
static IS_DONE: AtomicBool = AtomicBool::new(false);

/// Ends the child as a crash does, if it is not the work's end that ends it.
extern "C" fn abort_unless_done() {
    if !IS_DONE.load(Ordering::Acquire) {
        std::process::abort();
    }
}

/// The exit code for a child's status. A signal that is meant to end the tool ends the parent, too, so that whoever sent it
/// sees that it did.
fn conclude(
    status: Option<i32>,
    ended_by: Option<libc::c_int>,
    on_crash: impl FnOnce(i32) -> ExitCode,
) -> ExitCode {
    let died_of = status.filter(|status| libc::WIFSIGNALED(*status)).map(|status| libc::WTERMSIG(status));
    match (ended_by.or(died_of.filter(|signal| is_ending(*signal))), died_of, status) {
        (Some(signal), ..) => die_of(signal),
        (None, Some(signal), _) => on_crash(signal),
        (None, None, Some(status)) => ExitCode::from(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(1)),
        (None, None, None) => ExitCode::FAILURE,
    }
}

/// A pipe that no other program inherits.
fn pipe() -> Option<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for both ends, which are ours.
    unsafe {
        (libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) == 0)
            .then(|| (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

/// Keeps what the child announces until it has ended. A signal ends it; which one, is reported.
fn listen(from_child: &mut File, signals: &Signals, child: libc::pid_t) -> (Vec<u8>, Option<libc::c_int>) {
    let (mut announced, mut ended_by) = (Vec::new(), None);
    let mut part = [0; 4096];
    loop {
        let ready = |descriptor| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        let mut both = [ready(from_child.as_raw_fd()), ready(signals.descriptor())];
        // SAFETY: the array has the stated number of entries.
        let polled = unsafe { libc::poll(both.as_mut_ptr(), both.len() as libc::nfds_t, -1) };
        if polled < 0 {
            match std::io::Error::last_os_error().kind() {
                ErrorKind::Interrupted => continue,
                _ => return (announced, ended_by),
            }
        }
        if both[1].revents != 0
            && let Some(signal) = signals.read()
        {
            ended_by.get_or_insert(signal);
            // SAFETY: the child has not been waited for, so the number is its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        if both[0].revents != 0 {
            match from_child.read(&mut part) {
                Ok(count @ 1..) => announced.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The child has ended: it has closed its side.
                Ok(0) | Err(_) => return (announced, ended_by),
            }
        }
    }
}

/// Lets what the child starts become this process's children when it is gone.
fn adopt_orphans() {
    // SAFETY: the call takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Ends the programs that the child had started, as the linker: they would go on writing.
fn end_orphans() {
    let children = format!("/proc/self/task/{}/children", std::process::id());
    loop {
        let listed = std::fs::read_to_string(&children).unwrap_or_default();
        let mut orphans = listed.split_whitespace().filter_map(|number| number.parse().ok()).peekable();
        if orphans.peek().is_none() {
            return;
        }
        for orphan in orphans {
            // SAFETY: a child has its number until it is waited for. Those that it has started are ours when it is gone.
            unsafe {
                libc::kill(orphan, libc::SIGKILL);
                libc::waitpid(orphan, std::ptr::null_mut(), 0);
            }
        }
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
            // The panic has been reported; the parent process reports the consequence.
            Some(worker.join().unwrap_or_else(|_| std::process::abort()))
        })
    };
    [STACK, SMALL_STACK].into_iter().find_map(threaded).unwrap_or_else(run)
}
