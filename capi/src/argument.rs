//! What C passes, checked: pointers, texts and arrays.

use std::ffi::{CStr, c_char};

use crate::failure::Failure;

/// What a pointer points to, to read.
///
/// # Safety
/// The pointer is null or points to a `T`, which lives as long as it is used.
pub unsafe fn required<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: by contract.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// Where a result is written, which is set to `nothing` first: a caller may free it whatever happens.
///
/// # Safety
/// The pointer is null or points to memory of a `T`, which nobody else uses meanwhile.
pub unsafe fn result<'a, T>(what: &str, pointer: *mut T, nothing: T) -> Result<&'a mut T, Failure> {
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: by contract; the memory may not be initialised.
    unsafe {
        pointer.write(nothing);
        Ok(&mut *pointer)
    }
}

/// Elements in memory of the caller.
///
/// # Safety
/// The pointer is null or points to `count` elements, which live as long as they are used.
pub unsafe fn elements<'a, T>(what: &str, pointer: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Failure::argument(format!("{what} cannot have {count} elements")));
    }
    // SAFETY: by contract.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Where pointers are written, which are null first.
///
/// # Safety
/// The pointer is null or points to memory of `count` pointers, which nobody else uses meanwhile.
pub unsafe fn places<'a, T>(
    what: &str,
    pointer: *mut *mut T,
    count: usize,
) -> Result<&'a mut [*mut T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    if count > isize::MAX as usize / size_of::<*mut T>() {
        return Err(Failure::argument(format!("{what} cannot have {count} elements")));
    }
    // SAFETY: by contract; null is all zeros.
    unsafe {
        pointer.write_bytes(0, count);
        Ok(std::slice::from_raw_parts_mut(pointer, count))
    }
}

/// A text that ends with a NUL byte.
///
/// # Safety
/// The pointer is null or points to such a text, which lives as long as it is used.
pub unsafe fn text<'a>(what: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    // SAFETY: by contract.
    unsafe { optional_text(what, pointer) }?.ok_or_else(|| Failure::null(what))
}

/// The same; none if it is null.
///
/// # Safety
/// As [`text`].
pub unsafe fn optional_text<'a>(what: &str, pointer: *const c_char) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: by contract.
    let text = unsafe { CStr::from_ptr(pointer) };
    match text.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Failure::argument(format!("{what} is not UTF-8: {}", text.to_string_lossy()))),
    }
}

/// A handle for C.
pub fn handle<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Frees a handle; null does nothing. A panic of a destructor goes no further.
///
/// # Safety
/// The pointer is null or one of [`handle`] that was not freed.
pub unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: by contract.
        let value = unsafe { Box::from_raw(pointer) };
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(value)));
    }
}
