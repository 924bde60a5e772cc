//! Options of passes, as C++ hands them over.

use std::path::Path;
use std::sync::Arc;

use promote_infer::report::Policies;
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
        let is_file = name.ends_with(".toml") || name.contains(std::path::is_separator);
        let semantics = if is_file {
            let text =
                std::fs::read_to_string(&name).map_err(|error| format!("cannot read {name}: {error}"))?;
            let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(&name);
            Semantics::from_toml(&text, stem).map_err(|errors| format!("{name}: {errors}"))
        } else {
            Semantics::by_name(&name, self.x64).map_err(|error| error.to_string())
        };
        semantics.map(Arc::new)
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
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: by contract.
    let names = unsafe { std::slice::from_raw_parts(names, count) };
    // SAFETY: by contract.
    let policy = |name: &Text| unsafe { name.get() }.parse::<Policy>().map_err(|error| error.to_string());
    names.iter().map(policy).collect()
}
