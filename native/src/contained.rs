//! Work that LLVM may give up on, where it cannot end the process.
//!
//! Where LLVM's code generators meet what they cannot do, they report a fatal error, and LLVM ends the process. It asks a
//! handler first, in the thread at work: the handler hands on the message to whoever waits for the work, and keeps the thread
//! from ever going on. That costs the thread and what it holds, once for each such error, and nothing else.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

use llvm_sys::error_handling::LLVMInstallFatalErrorHandler;

use crate::error::Error;

/// The stack of the thread at work: LLVM goes through expressions recursively. It is only reserved, not used.
pub const STACK: usize = 256 << 20;

thread_local! {
    /// Who waits for the work of this thread.
    static WAITING: RefCell<Option<Sender<String>>> = const { RefCell::new(None) };
}

/// Does some work of LLVM's in a thread of its own.
///
/// # Errors
/// Those of the work, and [`Error::Fatal`] if LLVM would have ended the process.
pub fn contained<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    static ONCE: Once = Once::new();
    // SAFETY: the handler is a function of this program, for as long as it runs.
    ONCE.call_once(|| unsafe { LLVMInstallFatalErrorHandler(Some(report)) });
    let (fatal, failed) = channel();
    let worker = move || {
        WAITING.set(Some(fatal));
        let outcome = work();
        WAITING.take();
        outcome
    };
    let started = Builder::new().name("llvm".to_owned()).stack_size(STACK).spawn(worker);
    let started = started.map_err(|error| Error::Fatal(format!("no thread can be started: {error}")))?;
    // The work's end drops the sender.
    match failed.recv() {
        Ok(message) => Err(Error::Fatal(message)),
        Err(_) => started.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

/// Hears of a fatal error. LLVM ends the process if this returns, without a word: the message is its last one.
extern "C" fn report(message: *const c_char) {
    // SAFETY: LLVM calls this with text.
    let message = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    match WAITING.take() {
        Some(waiting) => {
            // Whoever waits does so until the work ends.
            let _ = waiting.send(message);
            loop {
                std::thread::park();
            }
        }
        None => eprintln!("LLVM ERROR: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_ends_gives_its_result() {
        assert_eq!(contained(|| Ok(7)).unwrap(), 7);
        let refused = contained::<()>(|| Err(Error::Compile("no".to_owned())));
        assert!(matches!(refused, Err(Error::Compile(message)) if message == "no"));
    }
}
