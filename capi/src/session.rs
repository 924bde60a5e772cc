//! Sessions: whose rules, and the contexts of modules.

use std::ffi::c_char;
use std::sync::Arc;

use promote::pass::Policies;
use promote::{Options, Policy, Semantics};

use crate::argument;
use crate::context::Pool;
use crate::failure::{Failure, c_text, guarded};
use crate::version;

/// A session, as C holds it.
pub struct Session {
    /// The contexts, which modules keep alive, too.
    pub pool: Arc<Pool>,
}

/// What a session is made with. Truth values are bytes, so that any byte is one.
#[repr(C)]
pub struct SessionOptions {
    abi_version: u32,
    x64: u8,
    threads: u8,
    remarks: u8,
    strict_carries: u8,
    semantics: *const c_char,
    lattice: *const c_char,
    lattice_size: usize,
    warn: *const *const c_char,
    warn_count: usize,
    deny: *const *const c_char,
    deny_count: usize,
}

/// The semantics that options ask for.
///
/// # Safety
/// The options are as the header says.
unsafe fn semantics(options: &SessionOptions) -> Result<Semantics, Failure> {
    // SAFETY: by contract.
    let (name, lattice) = unsafe {
        let name = argument::optional_text("semantics", options.semantics)?;
        (name, argument::elements("lattice", options.lattice.cast::<u8>(), options.lattice_size)?)
    };
    if options.lattice.is_null() {
        let semantics = Semantics::by_name(name.unwrap_or("jax"), options.x64 != 0);
        return semantics.map_err(|error| Failure::argument(error.to_string()));
    }
    let text = std::str::from_utf8(lattice);
    let text = text.map_err(|error| Failure::argument(format!("lattice is not UTF-8: {error}")))?;
    Semantics::from_toml(text, name.unwrap_or("lattice"))
        .map_err(|errors| Failure::argument(errors.to_string()))
}

/// Policies by their names.
///
/// # Safety
/// The pointer is null or points to that many texts.
unsafe fn policies(what: &str, names: *const *const c_char, count: usize) -> Result<Vec<Policy>, Failure> {
    // SAFETY: by contract.
    let names = unsafe { argument::elements(what, names, count) }?;
    let policy = |&name: &*const c_char| {
        // SAFETY: by contract.
        let name = unsafe { argument::text(what, name) }?;
        name.parse().map_err(|error: promote::UnknownPolicy| Failure::argument(error.to_string()))
    };
    names.iter().map(policy).collect()
}

/// Makes a session.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_session_new(
    options: *const SessionOptions,
    session: *mut *mut Session,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract. The version stands first in every version of the options.
        unsafe {
            let result = argument::result("session", session, std::ptr::null_mut())?;
            let version = argument::required("options", options.cast::<u32>())?;
            version::check(*version)?;
            let options = &*options;
            let policies = Policies {
                warn: policies("warn", options.warn, options.warn_count)?,
                deny: policies("deny", options.deny, options.deny_count)?,
                strict_carries: options.strict_carries != 0,
            };
            let pool = Pool::new(Options {
                semantics: Arc::new(semantics(options)?),
                threads: options.threads != 0,
                remarks: options.remarks != 0,
                policies,
                op_rules: Arc::default(),
            });
            *result = argument::handle(Session { pool: Arc::new(pool) });
        }
        Ok(())
    })
}

/// Frees a session; what was made in it stays.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_session_free(session: *mut Session) {
    // SAFETY: by contract.
    unsafe { argument::free(session) }
}

/// How many semantics there are.
#[unsafe(no_mangle)]
pub extern "C" fn promote_semantics_count() -> usize {
    Semantics::names().count()
}

/// The name of a semantics; null if there are not as many.
#[unsafe(no_mangle)]
pub extern "C" fn promote_semantics_name(index: usize) -> *const c_char {
    static NAMES: std::sync::OnceLock<Vec<std::ffi::CString>> = std::sync::OnceLock::new();
    let names = NAMES.get_or_init(|| Semantics::names().map(c_text).collect());
    names.get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}
