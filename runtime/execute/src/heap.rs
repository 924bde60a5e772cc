//! The buffers of a call.

use promote_devices::{Device, Memory};

use crate::Error;

/// A buffer: an index into the heap of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(usize);

/// What keeps a buffer alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// So many references.
    Counted(u32),
    /// The call: it is freed, or handed on, at its end.
    Call,
    /// Somebody else.
    Outside,
    /// Nobody: it is gone.
    None,
}

/// All buffers of a call.
#[derive(Default)]
pub struct Heap {
    buffers: Vec<(Memory, Owner)>,
    free: Vec<usize>,
}

impl Heap {
    fn add(&mut self, memory: Memory, owner: Owner) -> BufferId {
        match self.free.pop() {
            Some(index) => {
                self.buffers[index] = (memory, owner);
                BufferId(index)
            }
            None => {
                self.buffers.push((memory, owner));
                BufferId(self.buffers.len() - 1)
            }
        }
    }

    /// A new buffer with one reference.
    pub fn counted(&mut self, memory: Memory) -> BufferId {
        self.add(memory, Owner::Counted(1))
    }

    /// A new buffer that lives until the end of the call.
    pub fn of_call(&mut self, memory: Memory) -> BufferId {
        self.add(memory, Owner::Call)
    }

    /// A buffer that lives longer than the call.
    pub fn outside(&mut self, memory: Memory) -> BufferId {
        self.add(memory, Owner::Outside)
    }

    /// Where a buffer is.
    pub fn memory(&self, id: BufferId) -> Memory {
        self.buffers[id.0].0
    }

    /// A reference more.
    pub fn retain(&mut self, id: BufferId) {
        if let Owner::Counted(count) = &mut self.buffers[id.0].1 {
            *count += 1;
        }
    }

    /// A reference less.
    pub fn release(&mut self, device: &mut dyn Device, id: BufferId) {
        if let Owner::Counted(count) = &mut self.buffers[id.0].1 {
            *count -= 1;
            if *count == 0 {
                self.forget(device, id);
            }
        }
    }

    /// Frees a buffer of the call before its end.
    pub fn forget(&mut self, device: &mut dyn Device, id: BufferId) {
        let (memory, owner) = &mut self.buffers[id.0];
        if !matches!(owner, Owner::None | Owner::Outside) {
            *owner = Owner::None;
            device.free(*memory);
            self.free.push(id.0);
        }
    }

    /// Hands the memory of a buffer of the call on.
    pub fn take(&mut self, id: BufferId) -> Memory {
        let (memory, owner) = &mut self.buffers[id.0];
        *owner = Owner::Outside;
        *memory
    }

    /// Frees all that is left.
    pub fn clear(&mut self, device: &mut dyn Device) {
        for (memory, owner) in self.buffers.drain(..) {
            if matches!(owner, Owner::Counted(_) | Owner::Call) {
                device.free(memory);
            }
        }
        self.free.clear();
    }
}

/// The bytes of a contiguous tensor.
pub fn byte_count(dims: &[i64], size: usize) -> Result<u64, Error> {
    let refuse = |why| Error::Shape { dims: dims.to_vec(), size, why };
    if dims.iter().any(|extent| *extent < 0) {
        return Err(refuse("has a negative extent"));
    }
    if dims.contains(&0) {
        return Ok(0);
    }
    let bytes = dims.iter().try_fold(size as u64, |bytes, extent| bytes.checked_mul(extent.unsigned_abs()));
    let bytes = bytes.filter(|bytes| i64::try_from(*bytes).is_ok());
    bytes.ok_or_else(|| refuse("is larger than any memory"))
}
