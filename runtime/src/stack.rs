//! How much of its stack a thread has left.
//!
//! Compiled functions say how large their frames are, and are called only where the stack holds them: recursion ends with an error
//! and not with a signal, on the main thread and on threads whose stacks the caller made small. Where a thread's stack ends is
//! asked once; where that is not known, as in coroutines, which have stacks of their own, only the depth of calls is limited.

use std::cell::Cell;

/// Bytes that a frame of compiled code leaves for what it calls: this crate, the C library and its linker, signals.
pub const RESERVE: usize = 64 << 10;

/// Bytes of a stack that are used, at most: a stack without a limit would take all memory.
#[cfg(target_os = "linux")]
const MOST: usize = 256 << 20;

/// The addresses of a stack that may be used: from the lowest up to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    lowest: usize,
    end: usize,
}

thread_local! {
    /// The thread's stack, once asked for; empty if it is not known.
    static STACK: Cell<Option<Bounds>> = const { Cell::new(None) };
}

/// The lowest address of this stack that may be used; none if that is not known.
pub fn lowest() -> Option<usize> {
    let stack = STACK.get().unwrap_or_else(|| {
        let found = bounds().unwrap_or(Bounds { lowest: 0, end: 0 });
        STACK.set(Some(found));
        found
    });
    (stack.lowest..stack.end).contains(&here()).then_some(stack.lowest)
}

/// Bytes that are left above the lowest address.
pub fn left(lowest: usize) -> usize {
    here().saturating_sub(lowest)
}

/// An address on the stack, where it ends at the moment.
fn here() -> usize {
    let place = 0u8;
    (&raw const place).addr()
}

#[cfg(target_os = "linux")]
fn bounds() -> Option<Bounds> {
    use std::ffi::{c_int, c_ulong, c_void};
    use std::mem::MaybeUninit;

    /// At least as large as `pthread_attr_t` of any C library.
    type Attributes = [u64; 16];

    unsafe extern "C" {
        safe fn pthread_self() -> c_ulong;
        fn pthread_getattr_np(thread: c_ulong, attributes: *mut Attributes) -> c_int;
        fn pthread_attr_getstack(
            attributes: *const Attributes,
            address: *mut *mut c_void,
            size: *mut usize,
        ) -> c_int;
        fn pthread_attr_getguardsize(attributes: *const Attributes, size: *mut usize) -> c_int;
        fn pthread_attr_destroy(attributes: *mut Attributes) -> c_int;
    }

    let mut attributes = MaybeUninit::<Attributes>::zeroed();
    let attributes = attributes.as_mut_ptr();
    let (mut start, mut size, mut guard) = (std::ptr::null_mut(), 0, 0);
    // SAFETY: the thread is this one; the attributes are filled before they are read, and destroyed.
    let known = unsafe {
        if pthread_getattr_np(pthread_self(), attributes) != 0 {
            return None;
        }
        let known = pthread_attr_getstack(attributes, &mut start, &mut size) == 0
            && pthread_attr_getguardsize(attributes, &mut guard) == 0;
        pthread_attr_destroy(attributes);
        known
    };
    let end = start.addr().checked_add(size)?;
    // Some C libraries count the guard as part of the stack.
    let lowest = start.addr().checked_add(guard)?;
    known.then_some(Bounds { lowest: lowest.max(end.saturating_sub(MOST)), end })
}

#[cfg(not(target_os = "linux"))]
fn bounds() -> Option<Bounds> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_knows_how_much_it_has_left() {
        for size in [128 << 10, 1 << 20, 16 << 20] {
            let thread = std::thread::Builder::new().stack_size(size);
            let known = thread.spawn(|| lowest().map(left)).expect("a thread starts");
            let left = known.join().expect("it does not panic").expect("the stack is known");
            // The C library's own data, and a guard that it may count in.
            assert!(left <= size && left + (80 << 10) > size, "{left} of {size}");
        }
    }

    #[test]
    fn what_is_below_the_lowest_address_is_nothing() {
        assert_eq!(left(usize::MAX), 0);
    }
}
