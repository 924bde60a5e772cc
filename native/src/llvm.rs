//! LLVM's C interface with owners: what is made is disposed of once, and text becomes Rust's.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::sync::Once;

use llvm_sys::core::{LLVMDisposeMessage, LLVMGetBufferSize, LLVMGetBufferStart};
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::prelude::{LLVMDiagnosticInfoRef, LLVMMemoryBufferRef, LLVMModuleRef, LLVMValueRef};
use llvm_sys::target_machine::LLVMTargetMachineRef;

unsafe extern "C" {
    fn promote_llvm_initialise();
    pub fn promote_llvm_cpus(
        triple: *const c_char,
        callback: unsafe extern "C" fn(*const c_char, *mut c_void),
        data: *mut c_void,
    );
    pub fn promote_llvm_features(
        triple: *const c_char,
        callback: unsafe extern "C" fn(*const c_char, *mut c_void),
        data: *mut c_void,
    );
    pub fn promote_llvm_memory(
        triple: *const c_char,
        pointer_bits: *mut u32,
        is_little_endian: *mut bool,
        message: *mut *mut c_char,
    ) -> bool;
    pub fn promote_llvm_has(
        triple: *const c_char,
        cpu: *const c_char,
        features: *const c_char,
        feature: *const c_char,
    ) -> bool;
    pub fn promote_llvm_defined(
        data: *const c_char,
        size: usize,
        callback: unsafe extern "C" fn(*const c_char, usize, *mut c_void),
        context: *mut c_void,
    ) -> bool;
    pub fn promote_llvm_register_translations(context: *mut c_void);
    pub fn promote_llvm_instructions(module: LLVMModuleRef) -> usize;
    pub fn promote_llvm_run_passes(
        module: LLVMModuleRef,
        pipeline: *const c_char,
        machine: LLVMTargetMachineRef,
        unswitched: c_uint,
    ) -> LLVMErrorRef;
    pub fn promote_llvm_units(
        module: LLVMModuleRef,
        number: usize,
        prefix: *const c_char,
        callback: unsafe extern "C" fn(*const c_char, usize, *mut c_void),
        data: *mut c_void,
    );
    pub fn promote_llvm_frame(diagnostic: LLVMDiagnosticInfoRef, size: *mut u64) -> LLVMValueRef;
}

/// Makes the code generators known to LLVM, once.
pub fn initialise() {
    static ONCE: Once = Once::new();
    // SAFETY: registers static data.
    ONCE.call_once(|| unsafe { promote_llvm_initialise() });
}

/// Text as C takes it; a NUL, which no name of ours has, becomes a question mark.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// Text that LLVM made, which is disposed of.
///
/// # Safety
/// `message` is null or a message of LLVM that is ours.
pub unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: by contract.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        text
    }
}

/// The outcome of a call that returns an error or null; the error is consumed.
///
/// # Safety
/// `error` is null or an error that is ours.
pub unsafe fn check(error: LLVMErrorRef) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: by contract.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(text)
    }
}

/// The bytes of a buffer, copied.
///
/// # Safety
/// The buffer is alive.
pub unsafe fn buffer_bytes(buffer: LLVMMemoryBufferRef) -> Vec<u8> {
    // SAFETY: by contract; the buffer has that many bytes.
    unsafe {
        std::slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer))
            .to_vec()
    }
}
