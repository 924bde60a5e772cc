//! Freed memory kept for the next allocation of its size class, so that loops which allocate and free call no driver.
//!
//! Sizes are rounded up to [classes](class): eight to each power of two, so at most an eighth is wasted. What is kept is bounded in bytes
//! and in buffers; what was freed longest ago is returned to the driver first.

use std::collections::VecDeque;

/// How many freed buffers are kept at most.
const BUFFERS: usize = 256;

/// The smallest size class.
const SMALLEST: u64 = 256;

/// The size that an allocation of so many bytes is rounded up to; the bytes themselves near 2^64.
pub(crate) fn class(bytes: u64) -> u64 {
    if bytes <= SMALLEST {
        return SMALLEST;
    }
    let step = 1 << (bytes - 1).ilog2().saturating_sub(3);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

/// Freed buffers, in the order in which they were freed.
pub(crate) struct Pool<B> {
    free: VecDeque<(u64, B)>,
    bytes: u64,
    limit: u64,
}

impl<B> Pool<B> {
    /// A pool that keeps at most so many bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Self { free: VecDeque::new(), bytes: 0, limit }
    }

    /// Takes a buffer of that capacity out, the one that was freed last.
    pub(crate) fn take(&mut self, capacity: u64) -> Option<B> {
        let at = self.free.iter().rposition(|(size, _)| *size == capacity)?;
        let (size, buffer) = self.free.remove(at)?;
        self.bytes -= size;
        Some(buffer)
    }

    /// Keeps a freed buffer, and returns what must be returned to the driver for it.
    pub(crate) fn put(&mut self, capacity: u64, buffer: B) -> Vec<(u64, B)> {
        if capacity > self.limit {
            return vec![(capacity, buffer)];
        }
        self.free.push_back((capacity, buffer));
        self.bytes += capacity;
        let mut evicted = Vec::new();
        while self.bytes > self.limit || self.free.len() > BUFFERS {
            let Some((size, buffer)) = self.free.pop_front() else { break };
            self.bytes -= size;
            evicted.push((size, buffer));
        }
        evicted
    }

    /// Takes everything out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u64, B)> {
        self.bytes = 0;
        self.free.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_wastes_an_eighth_at_most() {
        for bytes in (1..100_000).chain((1..64).map(|bit| 1 << bit)).chain([u64::MAX / 2 + 1, u64::MAX]) {
            let class = class(bytes);
            assert!(class >= bytes && class.is_multiple_of(32) || bytes == u64::MAX, "{bytes}: {class}");
            assert!(class == SMALLEST || class - bytes <= bytes / 8, "{bytes}: {class}");
            assert_eq!(self::class(class), class);
        }
    }

    #[test]
    fn a_freed_buffer_serves_the_next_of_its_class() {
        let mut pool = Pool::new(4096);
        assert!(pool.put(256, "a").is_empty());
        assert!(pool.put(512, "b").is_empty());
        assert!(pool.put(256, "c").is_empty());
        assert_eq!((pool.take(256), pool.take(256), pool.take(256)), (Some("c"), Some("a"), None));
        assert_eq!(pool.take(512), Some("b"));
    }

    #[test]
    fn what_was_freed_first_is_evicted_first() {
        let mut pool = Pool::new(1024);
        assert!(pool.put(512, 1).is_empty());
        assert!(pool.put(512, 2).is_empty());
        assert_eq!(pool.put(512, 3), [(512, 1)]);
        assert_eq!(pool.put(2048, 4), [(2048, 4)]);
        for buffer in 0..BUFFERS {
            pool.put(1, buffer);
        }
        assert!(pool.free.len() <= BUFFERS);
    }
}
