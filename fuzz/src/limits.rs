//! What a program may take.

/// The processor time of a program: several times what the largest takes on a quiet machine.
pub const SECONDS: u64 = 30;

/// The memory of a process.
pub const BYTES: u64 = 2 << 30;

/// Limits the memory of this process: what goes beyond it is not given, and ends it.
pub fn limit_memory() {
    // The address space has no limit: allocators and stacks reserve more of it than they use.
    set(libc::RLIMIT_DATA, BYTES);
    set(libc::RLIMIT_CORE, 0);
}

/// Returns this process [`SECONDS`] more; then a signal ends it.
pub fn restart_clock() {
    // SAFETY: zeros are a value of the type, and it outlives the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let spent = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
    set(libc::RLIMIT_CPU, spent as u64 + 1 + SECONDS);
}

fn set(resource: libc::__rlimit_resource_t, limit: u64) {
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit outlives the call.
    let status = unsafe { libc::setrlimit(resource, &raw const limit) };
    assert_eq!(status, 0, "a process may lower its limits");
}
