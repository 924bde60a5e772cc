//! Promote as a plugin of `mlir-opt` and of other tools that are linked with the shared libraries of MLIR.
//!
//! `--load-pass-plugin` calls [`mlirGetPassPluginInfo`]: all passes are registered, with options, and the pipeline
//! `promote-default`. `--load-dialect-plugin` calls [`mlirGetDialectPluginInfo`]: the dialect is known to every context that is
//! made. `docs/plugin.md` shows how it is used.
//!
//! Passes with options, a pipeline and diagnostics with notes need C++, which is `shim.cpp`; what passes do is that of
//! [`promote_mlir::pass::Runner`], and nothing is decided here.

mod options;
mod passes;
mod version;

use std::ffi::{c_char, c_void};

/// What MLIR asks of a plugin, of passes or of dialects: the two are alike.
#[repr(C)]
pub struct PluginInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// The version of the structure, which MLIR compares with its own.
const API_VERSION: u32 = 1;

/// A version that MLIR refuses.
const NONE: u32 = 0;

impl PluginInfo {
    fn new(register: unsafe extern "C" fn(*mut c_void)) -> Self {
        let name = c"promote".as_ptr();
        let version = concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast();
        match version::check() {
            Ok(()) => Self { api_version: API_VERSION, name, version, register: Some(register) },
            Err(why) => {
                // MLIR says no more than that the plugin has another version.
                eprintln!("promote: {why}");
                Self { api_version: NONE, name, version, register: None }
            }
        }
    }
}

/// What `--load-pass-plugin` asks.
#[unsafe(no_mangle)]
pub extern "C" fn mlirGetPassPluginInfo() -> PluginInfo {
    PluginInfo::new(passes::register)
}

/// What `--load-dialect-plugin` asks.
#[unsafe(no_mangle)]
pub extern "C" fn mlirGetDialectPluginInfo() -> PluginInfo {
    PluginInfo::new(register_dialect)
}

unsafe extern "C" {
    fn promote_plugin_register_dialect(registry: *mut c_void, data: *const c_char, size: usize);
}

/// Registers the dialect; MLIR calls it with a registry.
unsafe extern "C" fn register_dialect(registry: *mut c_void) {
    let text = promote_dialect::irdl::TEXT;
    // SAFETY: the registry is MLIR's, and the text is part of the library.
    unsafe { promote_plugin_register_dialect(registry, text.as_ptr().cast(), text.len()) }
}
