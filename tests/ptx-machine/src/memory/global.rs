//! Global memory: allocations, of which no address is ever used again, and who used each word of theirs in this launch.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Fault;

/// Where the first allocation starts.
const START: u64 = 0x7200_0000_0000;
/// Bytes between allocations that belong to none.
const GAP: u64 = 16 << 20;
/// What the starts of allocations are multiples of.
const ALIGNMENT: u64 = 256;
/// What memory is full of before it is written: NaNs, and −1.
const UNWRITTEN: u32 = u32::MAX;

/// How much memory there is.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All allocations together.
    pub bytes: u64,
}

/// An allocation.
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    words: Vec<AtomicU32>,
    /// For each four bytes who wrote them, and who read them.
    users: Vec<[AtomicU64; 2]>,
}

/// All allocations of a device.
pub struct Allocations {
    limits: Limits,
    /// In the order of their addresses.
    regions: Vec<Arc<Region>>,
    freed: Vec<(u64, u64)>,
    next: u64,
    used: u64,
    launches: u32,
}

impl Allocations {
    /// Memory without allocations.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, regions: Vec::new(), freed: Vec::new(), next: START, used: 0, launches: 0 }
    }

    /// Allocates memory; its address. `None` if there is not as much.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let left = self.limits.bytes - self.used;
        if bytes == 0 || bytes > left {
            return None;
        }
        let start = self.next;
        let of = |count: u64| usize::try_from(count).expect("addresses have 64 bits");
        let words = (0..of(bytes.div_ceil(4))).map(|_| AtomicU32::new(UNWRITTEN)).collect();
        let users = (0..of(bytes.div_ceil(4))).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        self.regions.push(Arc::new(Region { start, bytes, words, users }));
        self.next = (start + bytes + GAP).next_multiple_of(ALIGNMENT);
        self.used += bytes;
        Some(start)
    }

    /// Frees what starts at an address; whether there is such an allocation.
    pub fn free(&mut self, start: u64) -> bool {
        let Ok(index) = self.regions.binary_search_by_key(&start, |region| region.start) else {
            return false;
        };
        let region = self.regions.remove(index);
        self.used -= region.bytes;
        self.freed.push((region.start, region.bytes));
        true
    }

    /// Whether an address is in an allocation.
    #[must_use]
    pub fn has(&self, address: u64) -> bool {
        find(&self.regions, address, 1).is_some()
    }

    /// Copies bytes to memory; whether they are all in one allocation.
    pub fn write(&self, address: u64, bytes: &[u8]) -> bool {
        let Some(index) = find(&self.regions, address, bytes.len() as u64) else { return bytes.is_empty() };
        let region = &self.regions[index];
        let mut place = address - region.start;
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = (4 - place % 4).min(rest.len() as u64);
            let (now, after) = rest.split_at(taken as usize);
            let mut word = [0; 8];
            word[..now.len()].copy_from_slice(now);
            region.store_bytes(place, taken, u64::from_le_bytes(word));
            place += taken;
            rest = after;
        }
        true
    }

    /// Copies bytes from memory; whether they are all in one allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Some(index) = find(&self.regions, address, bytes.len() as u64) else { return bytes.is_empty() };
        let region = &self.regions[index];
        let mut place = address - region.start;
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = (4 - place % 4).min(rest.len() as u64);
            let (now, after) = rest.split_at_mut(taken as usize);
            now.copy_from_slice(&region.load(place, taken).to_le_bytes()[..taken as usize]);
            place += taken;
            rest = after;
        }
        true
    }

    /// What a launch sees.
    pub(crate) fn launch(&mut self) -> Global {
        // No number is ever used again: another launch may still be running.
        self.launches = self.launches.checked_add(1).expect("there are fewer than 2^32 launches");
        let (regions, freed) = (self.regions.clone(), self.freed.clone());
        Global { regions, freed, launch: self.launches, block: 0, last: 0 }
    }
}

/// The allocation that has all of these bytes.
fn find(regions: &[Arc<Region>], address: u64, bytes: u64) -> Option<usize> {
    let index = regions.partition_point(|region| region.start <= address).checked_sub(1)?;
    regions[index].has(address, bytes).then_some(index)
}

impl Region {
    fn has(&self, address: u64, bytes: u64) -> bool {
        address >= self.start && bytes <= self.bytes && address - self.start <= self.bytes - bytes
    }

    /// Reads up to four bytes of one word, or eight bytes of two.
    #[inline(always)]
    fn load(&self, place: u64, bytes: u64) -> u64 {
        let index = (place / 4) as usize;
        let word = |index: usize| u64::from(self.words[index].load(Ordering::Relaxed));
        match bytes {
            8 => word(index) | word(index + 1) << 32,
            4 => word(index),
            _ => word(index) >> (8 * (place % 4)) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Whether those of the bytes of a word that are said are what is there.
    fn holds(&self, index: usize, bytes: u32, value: u32) -> bool {
        let differing = self.words[index].load(Ordering::Relaxed) ^ value;
        (0..4).all(|byte| bytes >> byte & 1 == 0 || differing >> (8 * byte) & 0xff == 0)
    }

    /// Writes up to four bytes of one word, however many they are.
    fn store_bytes(&self, place: u64, bytes: u64, value: u64) {
        match bytes {
            4 => self.store(place, 4, value),
            _ => (0..bytes).for_each(|byte| self.store(place + byte, 1, value >> (8 * byte))),
        }
    }

    /// Notes which block wrote bytes.
    #[inline(always)]
    fn note_write(&self, place: u64, bytes: u64, launch: u32, block: u32) {
        for (word, mask) in words(place, bytes) {
            let [written, _] = &self.users[word];
            let writer = User(written.load(Ordering::Relaxed)).and(User::new(launch, mask, false, block));
            written.store(writer.0, Ordering::Release);
        }
    }

    /// Writes up to four bytes of one word, or eight bytes of two.
    #[inline(always)]
    fn store(&self, place: u64, bytes: u64, value: u64) {
        let words = &self.words[(place / 4) as usize..];
        match bytes {
            8 => {
                words[0].store(value as u32, Ordering::Relaxed);
                words[1].store((value >> 32) as u32, Ordering::Relaxed);
            }
            4 => words[0].store(value as u32, Ordering::Relaxed),
            _ => {
                // Another thread may write the other bytes of the word.
                let (shift, mask) = (8 * (place % 4) as u32, (1u32 << (8 * bytes)) - 1);
                let change = |old: u32| Some(old & !(mask << shift) | (value as u32 & mask) << shift);
                words[0]
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, change)
                    .expect("there is a new value");
            }
        }
    }
}

/// Who used a word: the launch, which of its bytes, whether as memory that is only read, and the block.
#[derive(Clone, Copy)]
struct User(u64);

/// Several blocks.
const MANY: u32 = (1 << 27) - 1;
/// Atomic operations of any block.
const ATOMIC: u32 = MANY - 1;

impl User {
    fn new(launch: u32, bytes: u32, is_only_read: bool, block: u32) -> Self {
        Self(u64::from(launch) << 32 | u64::from(bytes << 28 | u32::from(is_only_read) << 27 | block))
    }

    fn launch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn bytes(self) -> u32 {
        self.0 as u32 >> 28
    }

    /// Those of the bytes that were used in this launch.
    fn used(self, launch: u32, bytes: u32) -> u32 {
        if self.launch() == launch { self.bytes() & bytes } else { 0 }
    }

    fn is_only_read(self) -> bool {
        self.0 >> 27 & 1 != 0
    }

    fn block(self) -> u32 {
        self.0 as u32 & MANY
    }

    /// Both this and a later user, or the later one if they cannot be said in one.
    fn and(self, later: Self) -> Self {
        if self.launch() != later.launch() || self.is_only_read() != later.is_only_read() {
            return later;
        }
        if self.block() == later.block() {
            return Self(self.0 | later.0);
        }
        match self.bytes() & later.bytes() {
            0 => later,
            both => Self::new(later.launch(), both, later.is_only_read(), MANY),
        }
    }
}

/// Global memory as a block sees it.
#[derive(Clone)]
pub(crate) struct Global {
    regions: Vec<Arc<Region>>,
    freed: Vec<(u64, u64)>,
    launch: u32,
    block: u32,
    /// Where the last access was.
    last: usize,
}

impl Global {
    /// Says which block uses it from now on.
    pub(crate) fn enter(&mut self, block: u64) {
        self.block = (block % u64::from(ATOMIC)) as u32;
    }

    /// Finds the allocation of an access.
    #[inline(always)]
    fn region(&mut self, address: u64, bytes: u64, lane: u32) -> Result<&Region, Box<Fault>> {
        if !self.regions.get(self.last).is_some_and(|region| region.has(address, bytes)) {
            self.last =
                find(&self.regions, address, bytes).ok_or_else(|| self.outside(address, bytes, lane))?;
        }
        Ok(&self.regions[self.last])
    }

    #[cold]
    fn outside(&self, address: u64, bytes: u64, lane: u32) -> Box<Fault> {
        let is_freed = self.freed.iter().any(|(start, size)| address >= *start && address - start < *size);
        let near = self.regions.iter().rev().find(|region| region.start <= address);
        let place = match near {
            _ if is_freed => "in memory that was freed".to_owned(),
            Some(region) if address - region.start < region.bytes + GAP => {
                format!(
                    "{} bytes after the start of an allocation of {}",
                    address - region.start,
                    region.bytes
                )
            }
            _ => "in no allocation".to_owned(),
        };
        Fault::new(lane, format!("{bytes} bytes at {address:#x} are accessed, which is {place}"))
    }

    /// Reads up to eight bytes, which are aligned.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        address: u64,
        bytes: u64,
        is_only_read: bool,
        lane: u32,
    ) -> Result<u64, Box<Fault>> {
        let (launch, block) = (self.launch, self.block);
        let region = self.region(address, bytes, lane)?;
        let place = address - region.start;
        for (word, mask) in words(place, bytes) {
            let [written, read] = &region.users[word];
            let writer = User(written.load(Ordering::Relaxed));
            if writer.used(launch, mask) != 0 {
                if is_only_read {
                    let what = "is read by ld.global.nc, but written in this launch";
                    return Err(conflict(lane, address, what));
                }
                if writer.block() != block {
                    return Err(conflict(lane, address, "is read, but written by another block"));
                }
            }
            let (old, new) = (read.load(Ordering::Relaxed), User::new(launch, mask, is_only_read, block));
            let new = User(old).and(new).0;
            if old != new {
                read.store(new, Ordering::Relaxed);
            }
        }
        Ok(region.load(place, bytes))
    }

    /// Writes up to eight bytes, which are aligned. Several blocks may write the same.
    #[inline(always)]
    pub(crate) fn write(
        &mut self,
        address: u64,
        bytes: u64,
        value: u64,
        lane: u32,
    ) -> Result<(), Box<Fault>> {
        let (launch, block) = (self.launch, self.block);
        let region = self.free_to_write(address, bytes, block, Some(value), lane)?;
        let place = address - region.start;
        // What another block finds noted is there: it may have to be the same as what that block writes.
        region.store(place, bytes, value);
        region.note_write(place, bytes, launch, block);
        Ok(())
    }

    /// The allocation of bytes that a block is free to write, since no other block used them in this launch; if it is said
    /// what is written, others may have written the same.
    #[inline(always)]
    fn free_to_write(
        &mut self,
        address: u64,
        bytes: u64,
        block: u32,
        value: Option<u64>,
        lane: u32,
    ) -> Result<&Region, Box<Fault>> {
        let (launch, own) = (self.launch, self.block);
        let region = self.region(address, bytes, lane)?;
        let place = address - region.start;
        for ((word, mask), number) in words(place, bytes).zip(0..) {
            let [written, read] = &region.users[word];
            let (writer, reader) =
                (User(written.load(Ordering::Acquire)), User(read.load(Ordering::Relaxed)));
            if reader.used(launch, mask) != 0 {
                if reader.is_only_read() {
                    let what = "is written, but read by ld.global.nc in this launch";
                    return Err(conflict(lane, address, what));
                }
                if reader.block() != own {
                    return Err(conflict(lane, address, "is written, but read by another block"));
                }
            }
            let shared = if writer.block() == block { 0 } else { writer.used(launch, mask) };
            let is_same = |value: u64| {
                let of_word = if bytes < 4 { value << (8 * (place % 4)) } else { value >> (32 * number) };
                region.holds(word, shared, of_word as u32)
            };
            if shared != 0 && !value.is_some_and(is_same) {
                return Err(conflict(lane, address, "is written, but also by another block"));
            }
        }
        Ok(region)
    }

    /// Does an atomic operation on a number of four or eight bytes; what was there before.
    pub(crate) fn update(
        &mut self,
        address: u64,
        bytes: u64,
        lane: u32,
        of: impl Fn(u64) -> u64,
    ) -> Result<u64, Box<Fault>> {
        let launch = self.launch;
        let region = self.free_to_write(address, bytes, ATOMIC, None, lane)?;
        let place = address - region.start;
        region.note_write(place, bytes, launch, ATOMIC);
        // Numbers of eight bytes are two words.
        static UPDATES: Mutex<()> = Mutex::new(());
        let _only = UPDATES.lock().unwrap_or_else(PoisonError::into_inner);
        let old = region.load(place, bytes);
        region.store(place, bytes, of(old));
        Ok(old)
    }
}

/// The words of an access, and which of their bytes it is to.
#[inline(always)]
fn words(place: u64, bytes: u64) -> impl Iterator<Item = (usize, u32)> {
    let first = (place / 4) as usize;
    let (count, mask) = match bytes {
        8 => (2, 15),
        4 => (1, 15),
        _ => (1, ((1 << bytes) - 1) << (place % 4)),
    };
    (first..first + count).map(move |word| (word, mask))
}

#[cold]
fn conflict(lane: u32, address: u64, what: &str) -> Box<Fault> {
    Fault::new(lane, format!("a race: global memory at {address:#x} {what}"))
}
