//! Reference-counted buffers, taken from a cache.
//!
//! Fresh memory costs a page fault per page when it is first written, which is more expensive than most kernels. So a freed
//! block goes to a cache, and the next buffer of its size class gets it with its pages. Classes are four to a doubling;
//! when the cache holds more than its bound, the block that was put there longest ago is given back.
//!
//! A block starts with a [`Header`] of one cache line; the data after it are aligned to 64 bytes.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What precedes the data of a buffer.
#[repr(C, align(64))]
pub struct Header {
    /// How many owners there are; the last one frees.
    pub references: AtomicI64,
    /// Where the context lists the buffer; only changed by who holds the context's lock.
    pub place: usize,
    class: usize,
}

/// From the block to its data; also their alignment.
pub const HEADER: usize = size_of::<Header>();

/// The smallest block.
const SMALLEST: usize = 128;

/// Blocks at least this large are aligned to huge pages, and ask for them.
const HUGE: usize = 4 << 20;

/// A huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes that the cache may hold, at most; less where memory is small.
const CACHE_BOUND: usize = 2 << 30;

/// Why there is no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It would not fit into the machine's memory.
    TooLarge,
    /// The system returned none.
    Exhausted,
}

struct Free {
    block: NonNull<Header>,
    /// When it was freed, counted in frees.
    time: u64,
}

/// Blocks that are in use no more.
pub struct Cache {
    /// Free blocks by class, the oldest first.
    classes: Vec<VecDeque<Free>>,
    bytes: usize,
    time: u64,
}

// SAFETY: the cache owns its blocks; nobody else knows them.
unsafe impl Send for Cache {}

static CACHE: Mutex<Cache> = Mutex::new(Cache { classes: Vec::new(), bytes: 0, time: 0 });

/// Bytes in blocks that are in use.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The cache, locked.
pub fn cache() -> MutexGuard<'static, Cache> {
    // The cache is consistent between any two statements that can panic: there are none.
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The class whose blocks hold at least `bytes`: 4 `n` + `q` has `SMALLEST · 2ⁿ · (4 + q) / 4` bytes.
const fn class_of(bytes: usize) -> usize {
    if bytes <= SMALLEST {
        return 0;
    }
    let doubling = (bytes - 1).ilog2() as usize;
    let quarter = (bytes - 1 - (1 << doubling)) >> (doubling - 2);
    4 * (doubling - SMALLEST.ilog2() as usize) + quarter + 1
}

const fn class_bytes(class: usize) -> usize {
    (SMALLEST << (class / 4)) / 4 * (4 + class % 4)
}

fn layout(class: usize) -> Option<Layout> {
    let bytes = class_bytes(class);
    Layout::from_size_align(bytes, if bytes >= HUGE { HUGE_PAGE } else { HEADER }).ok()
}

/// A buffer for `bytes` bytes of data, with one owner. Its contents are arbitrary.
///
/// # Errors
/// If that many bytes are more than the machine has, or the system refuses.
pub fn allocate(bytes: usize) -> Result<NonNull<Header>, Refusal> {
    if bytes > physical_memory() {
        return Err(Refusal::TooLarge);
    }
    let class = class_of(bytes + HEADER);
    let size = class_bytes(class);
    if IN_USE.load(Ordering::Relaxed).saturating_add(bytes) > physical_memory() {
        return Err(Refusal::Exhausted);
    }
    let block = match take_cached(class) {
        Some(block) => block,
        None => fresh(class).ok_or(Refusal::Exhausted)?,
    };
    IN_USE.fetch_add(size, Ordering::Relaxed);
    // SAFETY: the block is ours and as large as its class, which holds a header.
    unsafe { block.write(Header { references: AtomicI64::new(1), place: 0, class }) };
    Ok(block)
}

/// Takes a buffer back that has no owner any more.
///
/// # Safety
/// `block` came from [`allocate`], and nobody uses it.
pub unsafe fn free(block: NonNull<Header>) {
    // SAFETY: by contract.
    let class = unsafe { block.as_ref() }.class;
    let size = class_bytes(class);
    IN_USE.fetch_sub(size, Ordering::Relaxed);
    let bound = CACHE_BOUND.min(physical_memory() / 8);
    if size > bound {
        return give_back(block, class);
    }
    let mut cache = cache();
    while cache.bytes + size > bound {
        let Some((block, class)) = cache.evict() else { break };
        give_back(block, class);
    }
    cache.put(block, class);
}

/// The data of a buffer.
pub const fn data(block: NonNull<Header>) -> *mut u8 {
    // A block is larger than its header.
    block.as_ptr().cast::<u8>().wrapping_add(HEADER)
}

/// The buffer that has these data.
///
/// # Safety
/// `data` came from [`data`].
pub unsafe fn block_of(data: *mut u8) -> NonNull<Header> {
    // SAFETY: by contract there is a header in front, so the address is not null.
    unsafe { NonNull::new_unchecked(data.sub(HEADER).cast()) }
}

impl Cache {
    fn put(&mut self, block: NonNull<Header>, class: usize) {
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, VecDeque::new);
        }
        self.time += 1;
        self.bytes += class_bytes(class);
        self.classes[class].push_back(Free { block, time: self.time });
    }

    /// Removes the block that was freed longest ago.
    fn evict(&mut self) -> Option<(NonNull<Header>, usize)> {
        let age = |class: &VecDeque<Free>| class.front().map(|free| free.time);
        let (_, class) = (self.classes.iter().enumerate())
            .filter_map(|(index, class)| Some((age(class)?, index)))
            .min()?;
        let free = self.classes[class].pop_front()?;
        self.bytes -= class_bytes(class);
        Some((free.block, class))
    }
}

fn take_cached(class: usize) -> Option<NonNull<Header>> {
    let mut cache = cache();
    let free = cache.classes.get_mut(class)?.pop_back()?;
    cache.bytes -= class_bytes(class);
    Some(free.block)
}

fn fresh(class: usize) -> Option<NonNull<Header>> {
    let layout = layout(class)?;
    // SAFETY: no class is empty.
    let block = NonNull::new(unsafe { alloc(layout) })?;
    if layout.size() >= HUGE {
        ask_for_huge_pages(block, layout.size());
    }
    Some(block.cast())
}

fn give_back(block: NonNull<Header>, class: usize) {
    if let Some(layout) = layout(class) {
        // SAFETY: the block was allocated with the layout of its class, and nobody uses it.
        unsafe { dealloc(block.as_ptr().cast(), layout) };
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::{c_int, c_long, c_void};

    pub const PAGE_SIZE: c_int = 30;
    pub const PHYSICAL_PAGES: c_int = 85;
    pub const HUGE_PAGE: c_int = 14;

    unsafe extern "C" {
        pub safe fn sysconf(name: c_int) -> c_long;
        pub fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
}

/// Bytes of memory the machine has.
fn physical_memory() -> usize {
    /// 0 before anybody asked; two who ask at once find the same.
    static MEMORY: AtomicUsize = AtomicUsize::new(0);
    match MEMORY.load(Ordering::Relaxed) {
        0 => {
            let found = find_physical_memory();
            MEMORY.store(found, Ordering::Relaxed);
            found
        }
        known => known,
    }
}

fn find_physical_memory() -> usize {
    #[cfg(target_os = "linux")]
    let known = {
        let value = |name| usize::try_from(system::sysconf(name)).ok();
        value(system::PAGE_SIZE).zip(value(system::PHYSICAL_PAGES)).map(|(size, pages)| size * pages)
    };
    #[cfg(not(target_os = "linux"))]
    let known = None;
    known.unwrap_or(isize::MAX as usize / 4)
}

fn ask_for_huge_pages(block: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is an allocation of ours; the advice changes no contents. If it is refused, small pages do.
    unsafe {
        system::madvise(block.as_ptr().cast(), bytes / HUGE_PAGE * HUGE_PAGE, system::HUGE_PAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (block, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_are_for() {
        for bytes in (1..5000).chain([1 << 20, (1 << 20) + 1, 3 << 30, (1 << 40) - 1]) {
            let class = class_of(bytes);
            assert!(class_bytes(class) >= bytes, "{bytes} in {class}");
            assert!(class == 0 || class_bytes(class - 1) < bytes, "{bytes} in {class}");
        }
    }

    #[test]
    fn a_freed_block_is_used_again() {
        let first = allocate(777_777).unwrap();
        // SAFETY: nobody uses it.
        unsafe { free(first) };
        let second = allocate(777_000).unwrap();
        assert_eq!(first, second);
        // SAFETY: as above.
        unsafe { free(second) };
    }

    #[test]
    fn more_than_there_is_is_refused() {
        assert_eq!(allocate(usize::MAX / 4).err(), Some(Refusal::TooLarge));
        assert_eq!(allocate(physical_memory() + 1).err(), Some(Refusal::TooLarge));
    }

    #[test]
    fn data_are_aligned() {
        for bytes in [0, 1, 63, 64, 4096, 5 << 20] {
            let block = allocate(bytes).unwrap();
            assert_eq!(data(block) as usize % 64, 0);
            // SAFETY: nobody uses it.
            unsafe { free(block) };
        }
    }
}
