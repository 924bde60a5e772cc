//! What went wrong: a status that functions return, and a message that the thread keeps.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use promote::{RunError, Status};

/// What functions return beside the statuses of compiled code ([`Status`]), whose numbers are smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Refused {
    /// The program was refused: the diagnostics say why.
    Program = 100,
    /// An argument is not what it must be.
    Argument = 101,
    /// The program that calls was compiled with another version of the header.
    Abi = 102,
    /// The semantics define no dtype for the operands.
    NoDtype = 103,
    /// LLVM or the system refuses the code.
    Native = 104,
}

/// Why a call failed.
#[derive(Clone, Debug)]
pub struct Failure {
    status: i32,
    message: String,
}

impl Failure {
    /// A failure with a message.
    pub fn new(status: Refused, message: impl Into<String>) -> Self {
        Self { status: status as i32, message: message.into() }
    }

    /// A failure of code, or of what runs it.
    pub fn status(status: Status, message: impl Into<String>) -> Self {
        Self { status: status as i32, message: message.into() }
    }

    /// A wrong argument.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(Refused::Argument, message)
    }

    /// A pointer that must not be null is.
    pub fn null(what: &str) -> Self {
        Self::status(Status::Null, format!("{what} is null"))
    }

    /// What must not happen.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::status(Status::Internal, message)
    }

    /// The system does not have what is needed.
    pub fn memory(message: impl Into<String>) -> Self {
        Self::status(Status::Memory, message)
    }

    /// A panic, as what it said.
    pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let what =
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Self::internal(format!("the library panicked: {}", what.unwrap_or("no message")))
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::status(error.status, error.message)
    }
}

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Does a call's work, and keeps its message; the status.
pub fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let (status, message) = match outcome.unwrap_or_else(|panic| Err(Failure::panicked(&*panic))) {
        Ok(()) => (Status::Ok as i32, None),
        Err(Failure { status, message }) => (status, Some(c_text(&message))),
    };
    // A thread that is ending has no place for the message any more; the status remains.
    let _ = LAST.try_with(|last| *last.borrow_mut() = message);
    status
}

/// Text as C has it; a NUL in it becomes a question mark.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// The message of this thread's last call: empty if it succeeded.
#[unsafe(no_mangle)]
pub extern "C" fn promote_error_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ref().map_or(c"".as_ptr(), |message| message.as_ptr()))
        .unwrap_or(c"".as_ptr())
}
