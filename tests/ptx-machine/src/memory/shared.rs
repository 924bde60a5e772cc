//! Shared memory of a block. For each byte it is kept who wrote and who read it since which barrier, and whether it is being
//! copied to.

use super::SHARED_START;
use crate::Fault;
use crate::lanes::Outcome;

/// Bytes between arrays that belong to none.
const GAP: u64 = 256;

/// Where an array is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// The places of arrays, of which each has an alignment and a size.
pub(crate) fn placed(arrays: impl IntoIterator<Item = (u64, u64)>) -> Vec<Place> {
    let mut next = SHARED_START;
    let place = |(alignment, bytes): (u64, u64)| {
        let start = next.next_multiple_of(alignment);
        next = start + bytes + GAP;
        Place { start, bytes }
    };
    arrays.into_iter().map(place).collect()
}

/// How many bits of a stamp are the thread.
const THREAD_BITS: u32 = 11;
/// Several threads.
const MANY: u32 = (1 << THREAD_BITS) - 1;
/// The last interval between barriers that a stamp can hold.
const LAST: u32 = (1 << (32 - THREAD_BITS)) - 1;

/// The stamp of what is being copied to: no thread wrote it in the last interval, which is skipped.
const COPYING: u32 = u32::MAX;

/// The shared memory of a block.
pub(crate) struct Shared {
    places: Vec<Place>,
    bytes: Vec<u8>,
    /// For each byte the interval and the thread of the last access; 0 if there was none.
    written: Vec<u32>,
    read: Vec<u32>,
    /// The number of the interval between two barriers.
    interval: u32,
}

impl Shared {
    pub(crate) fn new(places: &[Place]) -> Self {
        let size = places.last().map_or(0, |last| (last.start + last.bytes - SHARED_START) as usize);
        Self {
            places: places.to_vec(),
            bytes: vec![0; size],
            written: vec![0; size],
            read: vec![0; size],
            interval: 1,
        }
    }

    /// Makes it as new, for another block.
    pub(crate) fn clear(&mut self) {
        self.written.fill(0);
        self.read.fill(0);
        self.interval = 1;
    }

    /// What was done is done before what comes.
    pub(crate) fn barrier(&mut self) {
        self.interval += 1;
        if self.interval == LAST {
            let stamps = self.written.iter_mut().chain(&mut self.read);
            for stamp in stamps.filter(|stamp| !matches!(**stamp, 0 | COPYING)) {
                *stamp = 1 << THREAD_BITS | *stamp & MANY;
            }
            self.interval = 2;
        }
    }

    /// The range of an access.
    fn range(&self, address: u64, bytes: u64, lane: u32) -> Result<std::ops::Range<usize>, Box<Fault>> {
        let is_inside = |place: &&Place| {
            address >= place.start
                && address - place.start <= place.bytes.saturating_sub(bytes)
                && bytes <= place.bytes
        };
        if self.places.iter().find(is_inside).is_none() {
            let what = format!("{bytes} bytes at {address:#x} are in no array of shared memory");
            return Err(Fault::new(lane, what));
        }
        let start = (address - SHARED_START) as usize;
        Ok(start..start + bytes as usize)
    }

    /// A byte whose range is free for a thread to write: nobody read it since the last barrier, nor is it being copied to.
    #[inline]
    fn check_write(&self, place: usize, (address, thread, lane): (u64, u32, u32)) -> Outcome {
        let (written, read) = (self.written[place], self.read[place]);
        if written == COPYING {
            return Err(unfinished(lane, address, thread, "writes"));
        }
        if self.is_race(read, thread) {
            return Err(race(lane, address, thread, "writes", read, "read"));
        }
        Ok(())
    }

    /// Starts a copy to some bytes, which nobody may access before it is done.
    pub(crate) fn start_copy(&mut self, address: u64, bytes: u64, thread: u32, lane: u32) -> Outcome {
        for place in self.range(address, bytes, lane)? {
            self.check_write(place, (address, thread, lane))?;
            let written = self.written[place];
            if self.is_race(written, thread) {
                return Err(race(lane, address, thread, "copies to", written, "wrote"));
            }
            self.written[place] = COPYING;
        }
        Ok(())
    }

    /// Ends a copy that was started, with the bytes that were copied.
    pub(crate) fn end_copy(&mut self, address: u64, copied: &[u8], thread: u32) {
        let start = (address - SHARED_START) as usize;
        let range = start..start + copied.len();
        self.bytes[range.clone()].copy_from_slice(copied);
        self.written[range].fill(self.interval << THREAD_BITS | thread);
    }

    fn is_race(&self, stamp: u32, thread: u32) -> bool {
        stamp >> THREAD_BITS == self.interval && stamp & MANY != thread
    }

    /// Reads up to eight bytes as a little-endian number.
    #[inline]
    pub(crate) fn read(
        &mut self,
        address: u64,
        bytes: u64,
        thread: u32,
        lane: u32,
    ) -> Result<u64, Box<Fault>> {
        let range = self.range(address, bytes, lane)?;
        let own = self.interval << THREAD_BITS | thread;
        let mut value = 0;
        for (index, place) in range.enumerate() {
            let written = self.written[place];
            if written == 0 {
                let what = format!("shared memory at {address:#x} is read that was never written");
                return Err(Fault::new(lane, what));
            }
            if written == COPYING {
                return Err(unfinished(lane, address, thread, "reads"));
            }
            if self.is_race(written, thread) {
                return Err(race(lane, address, thread, "reads", written, "wrote"));
            }
            let read = &mut self.read[place];
            *read = if *read >> THREAD_BITS == self.interval && *read != own { own | MANY } else { own };
            value |= u64::from(self.bytes[place]) << (8 * index);
        }
        Ok(value)
    }

    /// Writes up to eight bytes. That several threads write the same is no race: it does not matter who is the last.
    #[inline]
    pub(crate) fn write(
        &mut self,
        address: u64,
        bytes: u64,
        value: u64,
        thread: u32,
        lane: u32,
    ) -> Result<(), Box<Fault>> {
        let own = self.interval << THREAD_BITS | thread;
        for (index, place) in self.range(address, bytes, lane)?.enumerate() {
            self.check_write(place, (address, thread, lane))?;
            let (written, byte) = (self.written[place], (value >> (8 * index)) as u8);
            let is_shared = self.is_race(written, thread);
            if is_shared && self.bytes[place] != byte {
                return Err(race(lane, address, thread, "writes", written, "wrote"));
            }
            self.written[place] = if is_shared { own | MANY } else { own };
            self.bytes[place] = byte;
        }
        Ok(())
    }

    /// Does an atomic operation on a number, which races with nothing but what is not atomic; what was there before.
    pub(crate) fn update(
        &mut self,
        address: u64,
        bytes: u64,
        thread: u32,
        lane: u32,
        of: impl Fn(u64) -> u64,
    ) -> Result<u64, Box<Fault>> {
        let range = self.range(address, bytes, lane)?;
        let own = self.interval << THREAD_BITS | MANY;
        let mut value = 0;
        for (index, place) in range.clone().enumerate() {
            if self.written[place] == 0 {
                let what = format!("shared memory at {address:#x} is changed that was never written");
                return Err(Fault::new(lane, what));
            }
            if self.written[place] == COPYING {
                return Err(unfinished(lane, address, thread, "changes"));
            }
            for (stamp, did) in [(self.written[place], "wrote"), (self.read[place], "read")] {
                if stamp != own && self.is_race(stamp, thread) {
                    return Err(race(lane, address, thread, "changes", stamp, did));
                }
            }
            value |= u64::from(self.bytes[place]) << (8 * index);
            self.written[place] = own;
        }
        let changed = of(value);
        for (index, place) in range.enumerate() {
            self.bytes[place] = (changed >> (8 * index)) as u8;
        }
        Ok(value)
    }
}

#[cold]
fn unfinished(lane: u32, address: u64, thread: u32, does: &str) -> Box<Fault> {
    let what =
        format!("thread {thread} {does} shared memory at {address:#x}, and a copy to it was not waited for");
    Fault::new(lane, what)
}

#[cold]
fn race(lane: u32, address: u64, thread: u32, does: &str, stamp: u32, did: &str) -> Box<Fault> {
    let other = match stamp & MANY {
        MANY => "several threads".to_owned(),
        other => format!("thread {other}"),
    };
    let what = format!(
        "a race: thread {thread} {does} shared memory at {address:#x}, which {other} {did} since the last barrier"
    );
    Fault::new(lane, what)
}
