//! The floating-point environment of a call: the same on every thread that takes part.
//!
//! Compiled code runs with the caller's control register, except that [`set_flush_denormals`] can have denormal numbers
//! read and written as zero, which some libraries do.

use std::sync::atomic::{AtomicBool, Ordering};

static FLUSH: AtomicBool = AtomicBool::new(false);

/// From now on, calls flush denormal numbers to zero; or they leave that as their caller has it.
pub fn set_flush_denormals(flush: bool) {
    FLUSH.store(flush, Ordering::Relaxed);
}

/// Runs `body`, and the calls it makes, with denormal numbers read and written as zero.
pub fn with_flushed_denormals<T>(body: impl FnOnce() -> T) -> T {
    let Control(register) = Control::current();
    let _entered = Control(register | FLUSH_BITS).enter();
    body()
}

/// The control register of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control(Register);

/// A control register that is put back when this is dropped.
pub struct Entered {
    before: Control,
    changed: bool,
}

impl Control {
    /// What a call that starts on this thread runs with.
    pub fn for_call() -> Control {
        let Control(register) = Control::current();
        Control(if FLUSH.load(Ordering::Relaxed) { register | FLUSH_BITS } else { register })
    }

    /// What this thread runs with.
    pub fn for_thread() -> Control {
        Control::current()
    }

    /// Sets the thread's register to this one for a while.
    pub fn enter(self) -> Entered {
        let before = Control::current();
        let changed = before != self;
        if changed {
            self.set();
        }
        Entered { before, changed }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.changed {
            self.before.set();
        }
    }
}

#[cfg(target_arch = "x86_64")]
type Register = u32;
#[cfg(target_arch = "aarch64")]
type Register = u64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
type Register = u32;

/// Flush to zero (results) and denormals are zero (operands).
#[cfg(target_arch = "x86_64")]
const FLUSH_BITS: Register = 1 << 15 | 1 << 6;
/// Flush to zero, which on this machine is for operands and results.
#[cfg(target_arch = "aarch64")]
const FLUSH_BITS: Register = 1 << 24;

/// Nothing is known of this machine's register.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLUSH_BITS: Register = 0;

#[cfg(target_arch = "x86_64")]
impl Control {
    /// The exception flags, which are no part of how code computes.
    const FLAGS: Register = 0x3f;

    fn current() -> Control {
        let mut register = 0u32;
        // SAFETY: stores the register to the variable.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack, preserves_flags))
        };
        Control(register & !Self::FLAGS)
    }

    fn set(self) {
        // SAFETY: the value was read from the register, with at most the flush bits added. Compiled code and this crate
        // do not depend on them; the caller's value is put back before the caller goes on.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const self.0, options(nostack, preserves_flags))
        };
    }
}

#[cfg(target_arch = "aarch64")]
impl Control {
    fn current() -> Control {
        let register: u64;
        // SAFETY: reads the register.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) register, options(nomem, nostack)) };
        Control(register)
    }

    fn set(self) {
        // SAFETY: the value was read from the register, with at most the flush bit added, and is put back after the call.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) self.0, options(nomem, nostack)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Control {
    fn current() -> Control {
        Control(0)
    }

    fn set(self) {}
}
