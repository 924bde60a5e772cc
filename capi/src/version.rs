//! Versions: of the library, and of the interface.

use std::ffi::c_char;

use crate::failure::{Failure, Refused};

/// What the header calls `PROMOTE_ABI_VERSION`. It changes when programs that were compiled before no longer work.
pub const ABI_VERSION: u32 = 1;

/// Checks the version that a structure of options was made for.
pub fn check(version: u32) -> Result<(), Failure> {
    if version == ABI_VERSION {
        return Ok(());
    }
    let message = format!(
        "the program was compiled for version {version} of libpromote's interface, and this is version {ABI_VERSION}: \
         compile it with this library's promote.h, and initialise options by their macro"
    );
    Err(Failure::new(Refused::Abi, message))
}

/// The version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn promote_abi_version() -> u32 {
    ABI_VERSION
}

/// The version of the library, as text.
#[unsafe(no_mangle)]
pub extern "C" fn promote_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
