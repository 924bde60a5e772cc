//! Buffers in memory: what is in them, and who may still read or write them.
//!
//! A buffer is never reused, so that whoever touches one after its release is found out.

use std::collections::BTreeMap;

use promote_lattice::DType;

use super::Stop;
use crate::Error;
use crate::number::Number;

/// The most elements that the buffers of a run have.
const MAX_ELEMENTS: usize = 1 << 22;

/// A buffer: an index into the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BufferId(usize);

/// How long a buffer lives, and who writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// As long as there are references to it.
    Counted,
    /// Longer than the run: arguments and constants, which nobody writes.
    Constant,
    /// Longer than the run: the results.
    Output,
    /// Until the function returns that made it: a number, which nobody writes.
    Spilled,
    /// Until the function returns that made it.
    Cell,
}

/// An element, and the write that it comes from.
#[derive(Clone, Copy, Debug)]
struct Element {
    number: Number,
    write: u64,
}

#[derive(Debug)]
struct Buffer {
    lifetime: Lifetime,
    dtype: DType,
    /// Where it was made.
    origin: String,
    /// Its elements, as far as they were written.
    elements: Vec<Option<Element>>,
    /// The references of all calls to it.
    references: u64,
    is_read: bool,
    is_freed: bool,
}

/// All buffers of a run.
#[derive(Debug, Default)]
pub(super) struct Heap {
    buffers: Vec<Buffer>,
    elements: usize,
    writes: u64,
}

/// How many references a call has, by buffer: at least one to each that is listed.
#[derive(Clone, Debug, Default)]
pub(super) struct References(BTreeMap<BufferId, u64>);

impl References {
    /// How many references to a buffer the call has.
    pub(super) fn of(&self, id: BufferId) -> u64 {
        self.0.get(&id).copied().unwrap_or(0)
    }

    /// Takes note of one more.
    pub(super) fn add(&mut self, id: BufferId) {
        *self.0.entry(id).or_default() += 1;
    }

    /// Takes note of one less; `false` if there is none.
    pub(super) fn remove(&mut self, id: BufferId) -> bool {
        let Some(count) = self.0.get_mut(&id) else { return false };
        *count -= 1;
        if *count == 0 {
            self.0.remove(&id);
        }
        true
    }

    /// A buffer to which a reference is left.
    pub(super) fn left(&self) -> Option<BufferId> {
        self.0.keys().next().copied()
    }
}

impl Buffer {
    fn fault(&self, what: &str) -> Stop {
        Stop::Fault(format!("the {} buffer made in {} {what}", self.dtype, self.origin))
    }
}

impl Heap {
    /// A new buffer, of which no element was written.
    pub(super) fn allocate(
        &mut self,
        (dtype, count): (DType, usize),
        lifetime: Lifetime,
        origin: String,
    ) -> Result<BufferId, Stop> {
        self.elements = self.elements.saturating_add(count);
        if self.elements > MAX_ELEMENTS {
            return Err(Error::Limit.into());
        }
        let dtype = dtype.storage();
        let elements = vec![None; count];
        let references = u64::from(lifetime == Lifetime::Counted);
        let (is_read, is_freed) = (false, false);
        self.buffers.push(Buffer { lifetime, dtype, origin, elements, references, is_read, is_freed });
        Ok(BufferId(self.buffers.len() - 1))
    }

    /// A new buffer of these elements.
    pub(super) fn filled(
        &mut self,
        dtype: DType,
        elements: impl ExactSizeIterator<Item = Option<Number>>,
        lifetime: Lifetime,
        origin: String,
    ) -> Result<BufferId, Stop> {
        let id = self.allocate((dtype, elements.len()), lifetime, origin)?;
        let all = elements.map(|number| number.map(|number| Element { number, write: 0 }));
        self.buffers[id.0].elements = all.collect();
        Ok(id)
    }

    fn buffer(&self, id: BufferId) -> Result<&Buffer, Stop> {
        let buffer = &self.buffers[id.0];
        if buffer.is_freed { Err(buffer.fault("is used after its release")) } else { Ok(buffer) }
    }

    /// The dtype of a buffer that is there.
    pub(super) fn dtype(&self, id: BufferId) -> Result<DType, Stop> {
        Ok(self.buffer(id)?.dtype)
    }

    /// How many elements a buffer has that is there.
    pub(super) fn len(&self, id: BufferId) -> Result<usize, Stop> {
        Ok(self.buffer(id)?.elements.len())
    }

    /// A fault of a buffer.
    pub(super) fn fault(&self, id: BufferId, what: &str) -> Stop {
        self.buffers[id.0].fault(what)
    }

    // References.

    /// One reference more.
    pub(super) fn retain(&mut self, id: BufferId) -> Result<(), Stop> {
        self.buffer(id)?;
        self.buffers[id.0].references += 1;
        Ok(())
    }

    /// One reference less, which somebody had.
    pub(super) fn release(&mut self, id: BufferId) -> Result<(), Stop> {
        self.buffer(id)?;
        let buffer = &mut self.buffers[id.0];
        buffer.references -= 1;
        if buffer.references == 0 && buffer.lifetime == Lifetime::Counted {
            self.free(id);
        }
        Ok(())
    }

    /// Ends the life of a spilled number.
    pub(super) fn end_spill(&mut self, id: BufferId) -> Result<(), Stop> {
        if self.buffers[id.0].references > 0 {
            return Err(self.fault(id, "is in use after the function returns that spilled it"));
        }
        self.free(id);
        Ok(())
    }

    fn free(&mut self, id: BufferId) {
        let buffer = &mut self.buffers[id.0];
        self.elements -= buffer.elements.len();
        buffer.elements = Vec::new();
        buffer.is_freed = true;
    }

    // Elements.

    /// A number for a step that writes: of each element it writes one number.
    pub(super) fn new_write(&mut self) -> u64 {
        self.writes += 1;
        self.writes
    }

    /// Takes note that a step reads a buffer: it is not written any more.
    pub(super) fn read(&mut self, id: BufferId) -> Result<(), Stop> {
        self.buffer(id)?;
        self.buffers[id.0].is_read = true;
        Ok(())
    }

    /// Lets a cell be written again: nothing reads any more what is in it.
    pub(super) fn renew(&mut self, id: BufferId) -> Result<(), Stop> {
        if self.buffer(id)?.lifetime == Lifetime::Cell {
            self.buffers[id.0].is_read = false;
        }
        Ok(())
    }

    /// Fails unless a call with these references may write a buffer.
    pub(super) fn check_writable(&self, id: BufferId, own: &References) -> Result<(), Stop> {
        let buffer = self.buffer(id)?;
        match buffer.lifetime {
            Lifetime::Constant => Err(buffer.fault("is written, and belongs to the caller or is constant")),
            Lifetime::Spilled => Err(buffer.fault("is written, and is a spilled number")),
            Lifetime::Counted | Lifetime::Output | Lifetime::Cell if buffer.is_read => {
                Err(buffer.fault("is written after it was read"))
            }
            Lifetime::Counted if own.of(id) != 1 || buffer.references != 1 => {
                Err(buffer.fault("is written by who has not the only reference"))
            }
            Lifetime::Output | Lifetime::Cell if buffer.references > 0 => {
                Err(buffer.fault("is written while another reference may read it"))
            }
            Lifetime::Counted | Lifetime::Output | Lifetime::Cell => Ok(()),
        }
    }

    /// Lets the contents of a buffer be unknown.
    pub(super) fn spoil(&mut self, id: BufferId) {
        self.buffers[id.0].elements.fill(None);
    }

    fn place(&self, id: BufferId, index: i64) -> Result<usize, Stop> {
        let buffer = self.buffer(id)?;
        let place = usize::try_from(index).ok().filter(|place| *place < buffer.elements.len());
        place.ok_or_else(|| {
            buffer.fault(&format!("has {} elements, and element {index} is accessed", buffer.elements.len()))
        })
    }

    /// An element.
    pub(super) fn load(&self, id: BufferId, index: i64) -> Result<Number, Stop> {
        let place = self.place(id, index)?;
        let buffer = &self.buffers[id.0];
        let never = || buffer.fault(&format!("is read at element {index}, which was never written"));
        Ok(buffer.elements[place].ok_or_else(never)?.number)
    }

    /// Writes an element, as part of the step that has this number.
    pub(super) fn store(&mut self, id: BufferId, index: i64, number: Number, write: u64) -> Result<(), Stop> {
        let place = self.place(id, index)?;
        if self.buffers[id.0].elements[place].is_some_and(|element| element.write == write) {
            return Err(self.fault(id, &format!("is written twice at element {index} in one step")));
        }
        self.buffers[id.0].elements[place] = Some(Element { number, write });
        Ok(())
    }

    /// All elements.
    pub(super) fn all(&self, id: BufferId) -> Result<Vec<Number>, Stop> {
        (0..self.len(id)? as i64).map(|index| self.load(id, index)).collect()
    }
}
