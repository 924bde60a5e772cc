//! Options of passes, as C++ hands them over.

use std::sync::Arc;

use promote_host::rules::{OpRules, Rules};
use promote_infer::report::Policies;
use promote_lattice::document::{FileErrors, is_file, stem};
use promote_lattice::{Policy, Semantics};

/// A text that is not terminated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    data: *const u8,
    size: usize,
}

impl Text {
    /// A text that lives as long as the process, or as the call it is handed to.
    pub const fn of(text: &str) -> Self {
        Self { data: text.as_ptr(), size: text.len() }
    }

    /// No text.
    pub const NONE: Self = Self { data: std::ptr::null(), size: 0 };

    /// The text; what is not UTF-8 becomes a question mark.
    ///
    /// # Safety
    /// The text is alive.
    unsafe fn get(self) -> String {
        if self.size == 0 {
            return String::new();
        }
        // SAFETY: by contract.
        String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(self.data, self.size) }).into_owned()
    }
}

/// What a pass is asked for.
#[repr(C)]
pub struct Options {
    semantics: Text,
    warn: *const Text,
    warn_count: usize,
    deny: *const Text,
    deny_count: usize,
    op_rules: *const Text,
    op_rules_count: usize,
    x64: bool,
    /// Whether there is a remark for each inserted convert.
    pub remarks: bool,
    strict_carries: bool,
    /// Whether the context is multi-threaded.
    pub threads: bool,
}

impl Options {
    /// The semantics that is asked for.
    ///
    /// # Errors
    /// If there is none of that name, or the file describes none.
    ///
    /// # Safety
    /// The texts are alive.
    pub unsafe fn semantics(&self) -> Result<Arc<Semantics>, String> {
        // SAFETY: by contract.
        let name = unsafe { self.semantics.get() };
        let semantics = match is_file(&name) {
            true => read(&name, Semantics::from_toml),
            false => Semantics::by_name(&name, self.x64).map_err(|error| error.to_string()),
        };
        semantics.map(Arc::new)
    }

    /// The rules for ops of other dialects that are asked for.
    ///
    /// # Errors
    /// If there are none of a name, or a file describes none.
    ///
    /// # Safety
    /// The texts are alive.
    pub unsafe fn op_rules(&self) -> Result<Arc<Rules>, String> {
        // SAFETY: by contract.
        let names = unsafe { texts(self.op_rules, self.op_rules_count) };
        let files = names.iter().map(|name| match is_file(name) {
            true => read(name, OpRules::from_toml),
            false => OpRules::shipped(name).map_err(|error| error.to_string()),
        });
        Ok(Arc::new(Rules::new(files.collect::<Result<_, _>>()?)))
    }

    /// The policies that are asked for.
    ///
    /// # Errors
    /// If there is none of a name.
    ///
    /// # Safety
    /// The texts are alive.
    pub unsafe fn policies(&self) -> Result<Policies, String> {
        // SAFETY: by contract.
        unsafe {
            Ok(Policies {
                warn: policies(self.warn, self.warn_count)?,
                deny: policies(self.deny, self.deny_count)?,
                strict_carries: self.strict_carries,
            })
        }
    }
}

/// # Safety
/// There are as many texts, which are alive.
unsafe fn policies(names: *const Text, count: usize) -> Result<Vec<Policy>, String> {
    // SAFETY: by contract.
    let names = unsafe { texts(names, count) };
    names.iter().map(|name| name.parse::<Policy>().map_err(|error| error.to_string())).collect()
}

/// # Safety
/// There are as many texts, which are alive.
unsafe fn texts(texts: *const Text, count: usize) -> Vec<String> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: by contract.
    let texts = unsafe { std::slice::from_raw_parts(texts, count) };
    // SAFETY: by contract.
    texts.iter().map(|text| unsafe { text.get() }).collect()
}

/// What a file says.
fn read<T>(path: &str, parse: impl Fn(&str, &str) -> Result<T, FileErrors>) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    parse(&text, stem(path)).map_err(|errors| format!("{path}: {errors}"))
}
