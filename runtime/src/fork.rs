//! `fork`: a child process finds the run time in order, whatever other threads of its parent were doing.
//!
//! A child has one thread only. A lock that another one held would stay locked for ever, and what it guards half changed; so the
//! thread that forks holds all locks meanwhile. Then the parent goes on as it was, and the child forgets the pool's threads,
//! which it does not have. Locks of a single call are none of these: nobody in the child takes part in the calls of its
//! parent's other threads.
//!
//! Whoever adds a lock that outlives calls adds it to [`Locks`], in the order in which a thread takes several. What is
//! initialised once must not be by a `OnceLock`: in a child it might be in progress for ever.

use std::cell::UnsafeCell;
use std::sync::MutexGuard;

use crate::{buffer, pool};

/// All locks of the process.
struct Locks {
    pool: MutexGuard<'static, pool::List>,
    cache: MutexGuard<'static, buffer::Cache>,
}

/// The locks of a thread that is forking.
struct Forking(UnsafeCell<Option<Locks>>);

// SAFETY: who holds the locks has it, and nobody else.
unsafe impl Sync for Forking {}

static FORKING: Forking = Forking(UnsafeCell::new(None));

unsafe extern "C" {
    safe fn pthread_atfork(
        before: extern "C" fn(),
        in_parent: extern "C" fn(),
        in_child: extern "C" fn(),
    ) -> i32;
}

/// Run when the code is loaded, so that no lock is taken before.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static REGISTER: extern "C" fn() = register;

extern "C" fn register() {
    // If there is no memory for it, children do without.
    let _ = pthread_atfork(before, in_parent, in_child);
}

extern "C" fn before() {
    let locks = Locks { pool: pool::list(), cache: buffer::cache() };
    // SAFETY: the locks are ours.
    unsafe { *FORKING.0.get() = Some(locks) };
}

fn taken_back() -> Option<Locks> {
    // SAFETY: the thread that forks calls this, and has the locks.
    unsafe { (*FORKING.0.get()).take() }
}

extern "C" fn in_parent() {
    drop(taken_back());
}

extern "C" fn in_child() {
    if let Some(Locks { mut pool, cache }) = taken_back() {
        drop(cache);
        pool.forget_threads();
    }
}
