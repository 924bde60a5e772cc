//! Sessions: whose rules, and the contexts of modules.

use std::ffi::{CString, c_char};
use std::sync::{Arc, OnceLock};

use promote::op_rules::{OpRules, Rules};
use promote::{Options, Policies, Policy, Semantics};

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
    op_rules: *const RulesOption,
    op_rules_count: usize,
}

/// Rules for ops of another dialect: a text, or a name.
#[repr(C)]
pub struct RulesOption {
    name: *const c_char,
    text: *const c_char,
    text_size: usize,
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
    Semantics::from_toml(utf8("lattice", lattice)?, name.unwrap_or("lattice"))
        .map_err(|errors| Failure::argument(errors.to_string()))
}

fn utf8<'a>(what: &str, bytes: &'a [u8]) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|error| Failure::argument(format!("{what} is not UTF-8: {error}")))
}

/// The rules for ops of other dialects that options ask for.
///
/// # Safety
/// The options are as the header says.
unsafe fn op_rules(options: &SessionOptions) -> Result<Rules, Failure> {
    // SAFETY: by contract.
    let files = unsafe { argument::elements("op_rules", options.op_rules, options.op_rules_count) }?;
    let file = |file: &RulesOption| {
        // SAFETY: by contract.
        let (name, text) = unsafe {
            let name = argument::text("name of op rules", file.name)?;
            (name, argument::elements("text of op rules", file.text.cast::<u8>(), file.text_size)?)
        };
        match file.text.is_null() {
            true => OpRules::shipped(name).map_err(|error| Failure::argument(error.to_string())),
            false => OpRules::from_toml(utf8("text of op rules", text)?, name)
                .map_err(|errors| Failure::argument(format!("op rules {name}: {errors}"))),
        }
    };
    Ok(Rules::new(files.iter().map(file).collect::<Result<_, _>>()?))
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
                threads: options.threads != 0,
                remarks: options.remarks != 0,
                policies,
                op_rules: Arc::new(op_rules(options)?),
                ..Options::new(semantics(options)?)
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

/// The name at a place of a list; null if there are not as many.
fn name_at(
    names: &'static OnceLock<Vec<CString>>,
    list: impl FnOnce() -> Vec<CString>,
    index: usize,
) -> *const c_char {
    names.get_or_init(list).get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// How many semantics there are.
#[unsafe(no_mangle)]
pub extern "C" fn promote_semantics_count() -> usize {
    Semantics::names().count()
}

/// The name of a semantics; null if there are not as many.
#[unsafe(no_mangle)]
pub extern "C" fn promote_semantics_name(index: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    name_at(&NAMES, || Semantics::names().map(c_text).collect(), index)
}

/// How many files of rules for ops of other dialects come with Promote.
#[unsafe(no_mangle)]
pub extern "C" fn promote_op_rules_count() -> usize {
    OpRules::shipped_names().count()
}

/// The name of one of them; null if there are not as many.
#[unsafe(no_mangle)]
pub extern "C" fn promote_op_rules_name(index: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    name_at(&NAMES, || OpRules::shipped_names().map(c_text).collect(), index)
}
