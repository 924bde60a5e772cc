//! Whether the tool has the MLIR that the plugin was built for.
//!
//! The plugin is linked with MLIR's library by its version: in a tool of another version it would be loaded beside the tool's,
//! and know nothing of the tool's passes and dialects. So the libraries of the process are asked for another MLIR.

use std::ffi::{CStr, c_char, c_int, c_void};

/// The version of the MLIR that the plugin was built for.
const BUILT_FOR: &str = env!("PROMOTE_PLUGIN_MLIR");

/// What begins the name of MLIR's library, before its version.
const LIBRARY: &str = "libMLIR.so.";

/// A library of the process, as far as it matters here.
#[repr(C)]
struct Loaded {
    address: usize,
    name: *const c_char,
}

/// The paths of the libraries of the process.
fn libraries() -> Vec<String> {
    unsafe extern "C" {
        fn dl_iterate_phdr(
            callback: unsafe extern "C" fn(*const Loaded, usize, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
    }
    unsafe extern "C" fn collect(library: *const Loaded, _: usize, paths: *mut c_void) -> c_int {
        // SAFETY: the loader calls this with a library, whose name is text, and with the list below.
        unsafe {
            let name = CStr::from_ptr((*library).name).to_string_lossy().into_owned();
            (*paths.cast::<Vec<String>>()).push(name);
        }
        0
    }
    let mut paths: Vec<String> = Vec::new();
    // SAFETY: the list outlives the call.
    unsafe { dl_iterate_phdr(collect, (&raw mut paths).cast()) };
    paths
}

/// The version of another MLIR among libraries. The interface is the same within a minor version, which is that of the name.
fn other<'a>(built_for: &str, paths: &'a [String]) -> Option<&'a str> {
    let file = |path: &'a String| path.rsplit('/').next();
    let version = |file: &'a str| file.strip_prefix(LIBRARY);
    let is_own = |version: &str| built_for == version || built_for.starts_with(&format!("{version}."));
    paths.iter().filter_map(file).filter_map(version).find(|version| !is_own(version))
}

/// Whether the tool has the right one.
///
/// # Errors
/// What it has instead.
pub fn check() -> Result<(), String> {
    match other(BUILT_FOR, &libraries()) {
        None => Ok(()),
        Some(version) => Err(format!(
            "this plugin was built for MLIR {BUILT_FOR}, and the tool that loads it has MLIR {version}; \
             load it into mlir-opt-22, or build it by plugin/build.sh where MLIR_SYS_220_PREFIX names the tool's MLIR 22"
        )),
    }
}
