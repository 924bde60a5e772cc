//! Memory: what is allocated, and what is copied.

use std::ffi::{c_int, c_uint, c_void};

use super::{
    Code, Handle, INVALID_VALUE, OUT_OF_MEMORY, SUCCESS, device, lock, success_if, unless_failed, write,
};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> Code {
    unless_failed(|| match bytes {
        0 => INVALID_VALUE,
        _ => match lock(&device().memory).allocate(bytes as u64) {
            // SAFETY: the caller's.
            Some(start) => unsafe { write(pointer, start) },
            None => OUT_OF_MEMORY,
        },
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocManaged(pointer: *mut u64, bytes: usize, _flags: c_uint) -> Code {
    // SAFETY: the caller's.
    let code = unsafe { cuMemAlloc_v2(pointer, bytes) };
    if code == SUCCESS {
        // SAFETY: it was written just now.
        let start = unsafe { pointer.read() };
        lock(&device().managed).push(start..start + bytes as u64);
    }
    code
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(pointer: u64) -> Code {
    lock(&device().managed).retain(|range| range.start != pointer);
    unless_failed(|| success_if(lock(&device().memory).free(pointer)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(pointer: *mut u64, bytes: usize, _stream: Handle) -> Code {
    // SAFETY: the caller's.
    unsafe { cuMemAlloc_v2(pointer, bytes) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(pointer: u64, _stream: Handle) -> Code {
    cuMemFree_v2(pointer)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(pointer: *mut Handle, bytes: usize) -> Code {
    if bytes == 0 {
        return INVALID_VALUE;
    }
    // The host has no less memory than the device pretends to have.
    if bytes as u64 > device().bytes {
        return OUT_OF_MEMORY;
    }
    let mut words = vec![0u64; bytes.div_ceil(8)];
    let start = words.as_mut_ptr();
    lock(&device().pinned).insert(start.addr(), words);
    // SAFETY: the caller's.
    unsafe { write(pointer, start.cast()) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(pointer: Handle) -> Code {
    success_if(lock(&device().pinned).remove(&pointer.addr()).is_some())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    bytes: usize,
    _stream: Handle,
) -> Code {
    if bytes == 0 {
        return SUCCESS;
    }
    // SAFETY: the caller has as many bytes there.
    let from = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes) };
    unless_failed(|| success_if(lock(&device().memory).write(to, from)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    bytes: usize,
    _stream: Handle,
) -> Code {
    if bytes == 0 {
        return SUCCESS;
    }
    // SAFETY: the caller has place for as many bytes there.
    let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes) };
    unless_failed(|| success_if(lock(&device().memory).read(from, to)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, _stream: Handle) -> Code {
    if bytes as u64 > device().bytes {
        return INVALID_VALUE;
    }
    unless_failed(|| {
        let memory = lock(&device().memory);
        let mut copied = vec![0; bytes];
        success_if(memory.read(from, &mut copied) && memory.write(to, &copied))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttribute(data: Handle, attribute: c_uint, pointer: u64) -> Code {
    if !lock(&device().memory).has(pointer) {
        return INVALID_VALUE;
    }
    match attribute {
        // The kind of memory: a device's.
        // SAFETY: the caller has place for what the attribute is.
        2 => unsafe { write(data.cast::<c_uint>(), 2) },
        // Whether it is managed.
        8 => {
            let is_managed = lock(&device().managed).iter().any(|range| range.contains(&pointer));
            // SAFETY: as above.
            unsafe { write(data.cast::<c_uint>(), is_managed.into()) }
        }
        // The device.
        // SAFETY: as above.
        9 => unsafe { write(data.cast::<c_int>(), 0) },
        _ => INVALID_VALUE,
    }
}
