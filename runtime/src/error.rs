//! Errors of a run, and the thread's last message for C callers.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt;

use promote_abi::Status;

/// Why a call was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// What sort of error.
    pub status: Status,
    /// The whole message: function, argument, what was expected and what was found.
    pub message: String,
}

impl RunError {
    /// An error of that sort.
    pub(crate) fn new(status: Status, message: impl Into<String>) -> RunError {
        RunError { status, message: message.into() }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for RunError {}

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Keeps the outcome for [`last`], and returns its number.
pub fn keep(outcome: Result<(), RunError>) -> i32 {
    let (status, message) = match outcome {
        Ok(()) => (Status::Ok, None),
        Err(error) => (error.status, CString::new(error.message.replace('\0', "?")).ok()),
    };
    // A thread that is ending has no place for the message any more; the status remains.
    let _ = LAST.try_with(|last| *last.borrow_mut() = message);
    status as i32
}

/// The message of the thread's last call: empty if it succeeded. Valid until the thread's next call.
pub fn last() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ref().map_or(c"".as_ptr(), |message| message.as_ptr()))
        .unwrap_or(c"".as_ptr())
}
