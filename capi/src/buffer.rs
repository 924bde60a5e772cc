//! Text and bytes that the library hands out.

use std::ffi::c_char;

/// Bytes that belong to the library, with a NUL byte after them.
#[repr(C)]
#[derive(Debug)]
pub struct Buffer {
    /// The bytes; null if there are none.
    data: *mut c_char,
    /// How many there are, the NUL not counted.
    size: usize,
}

impl Buffer {
    /// No bytes.
    pub const NONE: Self = Self { data: std::ptr::null_mut(), size: 0 };

    /// A buffer of its own.
    pub fn of(mut bytes: Vec<u8>) -> Self {
        let size = bytes.len();
        bytes.push(0);
        Self { data: Box::into_raw(bytes.into_boxed_slice()).cast(), size }
    }
}

/// Frees the bytes of a buffer, and empties it. Null does nothing.
///
/// # Safety
/// The buffer is null, or one that a function of this library filled, or empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_buffer_free(buffer: *mut Buffer) {
    // SAFETY: by contract.
    let Some(buffer) = (unsafe { buffer.as_mut() }) else { return };
    let Buffer { data, size } = std::mem::replace(buffer, Buffer::NONE);
    if !data.is_null() {
        let bytes = std::ptr::slice_from_raw_parts_mut(data.cast::<u8>(), size + 1);
        // SAFETY: `of` made it so.
        drop(unsafe { Box::from_raw(bytes) });
    }
}
