//! The signals that are meant to end a program.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Whether a signal is meant to end a program.
pub fn is_ending(signal: libc::c_int) -> bool {
    ENDING.contains(&signal)
}

/// Those signals, read from a descriptor instead of interrupting the process.
pub struct Signals {
    descriptor: Option<OwnedFd>,
    before: libc::sigset_t,
}

impl Signals {
    /// Holds back the signals that are not ignored. Without a descriptor to read them from, they are as before.
    pub fn hold_back() -> Self {
        // SAFETY: the sets are plain data, which the calls fill; the descriptor is ours.
        unsafe {
            let set = set_of(ENDING.into_iter().filter(|signal| !is_ignored(*signal)));
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            let descriptor = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC);
            let descriptor = (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor));
            let signals = Self { descriptor, before };
            if signals.descriptor.is_none() {
                signals.let_through();
            }
            signals
        }
    }

    /// Lets signals through as before.
    pub fn let_through(&self) {
        // SAFETY: the set is one that the system filled.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }

    /// What to wait for; negative if there is none.
    pub fn descriptor(&self) -> libc::c_int {
        self.descriptor.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// The signal that has come. Waits for one.
    pub fn read(&self) -> Option<libc::c_int> {
        // SAFETY: the structure is plain data of the size that is read.
        unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(self.descriptor(), (&raw mut info).cast(), size);
            let is_whole = usize::try_from(read) == Ok(size);
            is_whole.then(|| libc::c_int::try_from(info.ssi_signo).ok()).flatten()
        }
    }
}

/// Whether a signal is ignored, as under nohup: then it ends nothing.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: the action is plain data, which the call fills.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}

fn set_of(signals: impl IntoIterator<Item = libc::c_int>) -> libc::sigset_t {
    // SAFETY: the set is plain data, which the calls fill.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Ends this process by a signal, as if that had never been held back; returns only if it cannot.
pub fn die_of(signal: libc::c_int) -> std::process::ExitCode {
    let set = set_of([signal]);
    // SAFETY: the set is one that was filled; there is one thread.
    unsafe {
        // This process has nothing to show in a core.
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
    std::process::ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
}
