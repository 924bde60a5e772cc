//! What all drivers have in common: handles, checks, the pool. A [`Driver`] below it sees nothing that is not valid.

use crate::DeviceError;
#[cfg(test)]
mod tests;

use crate::device::{Argument, Code, Description, Device, Launch, Memory, ModuleId};
use crate::pool::{self, Pool};
use crate::slots::Slots;

/// The pool keeps at most this part of the device's memory.
const POOLED_PART: u64 = 4;

/// A driver: what [`Device`] is, over values of its own and without checks.
///
/// Everything happens in the order of calls. Ranges are inside their buffers and not empty, buffers and modules are this
/// driver's and not released, counts of groups and threads are positive and within the limits.
pub(crate) trait Driver: Send {
    type Buffer: Send;
    type Module: Send;

    fn description(&self) -> &Description;
    fn load(&mut self, code: Code<'_>) -> Result<Self::Module, DeviceError>;
    /// Launches made before may still use the module.
    fn unload(&mut self, module: Self::Module);
    fn allocate(&mut self, bytes: u64) -> Result<Self::Buffer, DeviceError>;
    /// Returns memory that [`allocate`](Self::allocate) made. Calls made before may still use it.
    fn release(&mut self, buffer: Self::Buffer);
    /// A buffer for memory of somebody else's; it is dropped, not released.
    fn import(&mut self, pointer: u64, bytes: u64) -> Result<Self::Buffer, DeviceError>;
    fn address(&self, buffer: &Self::Buffer) -> Option<u64>;
    fn write(&mut self, to: &Self::Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;
    fn read(&mut self, from: &Self::Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
    fn copy(
        &mut self,
        from: (&Self::Buffer, u64),
        to: (&Self::Buffer, u64),
        bytes: u64,
    ) -> Result<(), DeviceError>;
    fn launch(
        &mut self,
        module: &Self::Module,
        launch: &Launch<'_>,
        arguments: &[Value<'_, Self::Buffer>],
    ) -> Result<(), DeviceError>;
    fn synchronize(&mut self) -> Result<(), DeviceError>;
    fn stream(&self) -> Option<u64> {
        None
    }
}

/// An [`Argument`] whose handle was looked up.
pub(crate) enum Value<'a, B> {
    Buffer(&'a B),
    Word(u64),
}

/// A [`Driver`] as a [`Device`].
pub(crate) struct Checked<D: Driver> {
    driver: D,
    modules: Slots<D::Module>,
    memory: Slots<Allocation<D::Buffer>>,
    pool: Pool<D::Buffer>,
    /// Bytes allocated by the driver, those in the pool included.
    allocated: u64,
    /// Why nothing works any more.
    lost: Option<DeviceError>,
}

struct Allocation<B> {
    buffer: B,
    bytes: u64,
    /// What the driver allocated; `None` for memory of somebody else's.
    capacity: Option<u64>,
}

impl<B> Allocation<B> {
    fn check(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(DeviceError::OutOfRange { offset, bytes, size: self.bytes }),
        }
    }
}

impl<D: Driver> Checked<D> {
    pub(crate) fn new(driver: D) -> Self {
        let pooled = driver.description().limits.memory_bytes / POOLED_PART;
        Self {
            driver,
            modules: Slots::new("a module"),
            memory: Slots::new("memory"),
            pool: Pool::new(pooled),
            allocated: 0,
            lost: None,
        }
    }

    /// Refuses calls once the device is lost.
    fn usable(&self) -> Result<(), DeviceError> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    /// Remembers that the device was lost.
    fn noted<T>(&mut self, result: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error @ DeviceError::Lost { .. }) = &result {
            self.lost = Some(error.clone());
        }
        result
    }

    fn device(&self) -> String {
        self.driver.description().name.clone()
    }

    fn release(&mut self, capacity: u64, buffer: D::Buffer) {
        self.allocated -= capacity;
        self.driver.release(buffer);
    }

    /// Returns all pooled memory to the driver; whether there was any.
    fn empty_pool(&mut self) -> Result<bool, DeviceError> {
        let pooled: Vec<_> = self.pool.drain().collect();
        let any = !pooled.is_empty();
        for (capacity, buffer) in pooled {
            self.release(capacity, buffer);
        }
        // Drivers release in order: the memory is free only when what was before is done.
        if any {
            self.driver.synchronize()?;
        }
        Ok(any)
    }

    /// Allocates by the driver, unless that were more than the device has: drivers on a CPU promise more than there is.
    fn allocate_by_driver(&mut self, capacity: u64) -> Result<D::Buffer, DeviceError> {
        let within = self.allocated.checked_add(capacity);
        if within.is_none_or(|sum| sum > self.driver.description().limits.memory_bytes) {
            return Err(DeviceError::OutOfMemory { device: self.device(), bytes: capacity });
        }
        let buffer = self.driver.allocate(capacity)?;
        self.allocated += capacity;
        Ok(buffer)
    }

    /// Allocates a whole size class, or, with little memory left, what is needed after the pool was emptied.
    fn allocate_buffer(&mut self, bytes: u64) -> Result<(u64, D::Buffer), DeviceError> {
        let limit = self.driver.description().limits.allocation_bytes;
        let capacity = pool::class(bytes).min(limit).max(1);
        if let Some(buffer) = self.pool.take(capacity) {
            return Ok((capacity, buffer));
        }
        let full = |error: &DeviceError| matches!(error, DeviceError::OutOfMemory { .. });
        match self.allocate_by_driver(capacity) {
            Err(error) if full(&error) => {}
            other => return other.map(|buffer| (capacity, buffer)),
        }
        self.empty_pool()?;
        let exact = bytes.max(1);
        match self.allocate_by_driver(exact) {
            Err(error) if full(&error) => Err(DeviceError::OutOfMemory { device: self.device(), bytes }),
            other => other.map(|buffer| (exact, buffer)),
        }
    }

    fn check_shape(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let limits = &self.driver.description().limits;
        let why = if launch.threads == 0 || launch.threads > limits.group_threads {
            let (threads, most) = (launch.threads, limits.group_threads);
            format!("a work group has 1 to {most} invocations, not {threads}")
        } else if let Some(axis) = (0..3).find(|axis| launch.groups[*axis] > limits.groups[*axis]) {
            let (groups, most) = (launch.groups[axis], limits.groups[axis]);
            format!("there are at most {most} work groups along {}, not {groups}", ["x", "y", "z"][axis])
        } else {
            return Ok(());
        };
        Err(DeviceError::Launch { device: self.device(), entry: launch.entry.to_owned(), why })
    }
}

impl<D: Driver> Device for Checked<D> {
    fn description(&self) -> &Description {
        self.driver.description()
    }

    fn load(&mut self, code: Code<'_>) -> Result<ModuleId, DeviceError> {
        self.usable()?;
        let module = self.driver.load(code);
        self.noted(module).map(|module| ModuleId(self.modules.insert(module)))
    }

    fn unload(&mut self, module: ModuleId) {
        if let Some(module) = self.modules.remove(module.0) {
            self.driver.unload(module);
        }
    }

    fn allocate(&mut self, bytes: u64) -> Result<Memory, DeviceError> {
        self.usable()?;
        let limit = self.driver.description().limits.allocation_bytes;
        if bytes > limit {
            return Err(DeviceError::TooLarge { device: self.device(), bytes, limit });
        }
        let allocated = self.allocate_buffer(bytes);
        let (capacity, buffer) = self.noted(allocated)?;
        Ok(Memory(self.memory.insert(Allocation { buffer, bytes, capacity: Some(capacity) })))
    }

    fn free(&mut self, memory: Memory) {
        let Some(allocation) = self.memory.remove(memory.0) else { return };
        let Some(capacity) = allocation.capacity else { return };
        for (capacity, buffer) in self.pool.put(capacity, allocation.buffer) {
            self.release(capacity, buffer);
        }
    }

    fn import(&mut self, pointer: u64, bytes: u64) -> Result<Memory, DeviceError> {
        self.usable()?;
        let buffer = self.driver.import(pointer, bytes);
        let buffer = self.noted(buffer)?;
        Ok(Memory(self.memory.insert(Allocation { buffer, bytes, capacity: None })))
    }

    fn address(&self, memory: Memory) -> Option<u64> {
        self.memory.get(memory.0).ok().and_then(|allocation| self.driver.address(&allocation.buffer))
    }

    fn write(&mut self, to: Memory, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.usable()?;
        let allocation = self.memory.get(to.0)?;
        allocation.check(offset, bytes.len() as u64)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.driver.write(&allocation.buffer, offset, bytes);
        self.noted(written)
    }

    fn read(&mut self, from: Memory, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.usable()?;
        let allocation = self.memory.get(from.0)?;
        allocation.check(offset, bytes.len() as u64)?;
        if bytes.is_empty() {
            return self.synchronize();
        }
        let read = self.driver.read(&allocation.buffer, offset, bytes);
        self.noted(read)
    }

    fn copy(&mut self, from: (Memory, u64), to: (Memory, u64), bytes: u64) -> Result<(), DeviceError> {
        self.usable()?;
        let (source, target) = (self.memory.get(from.0.0)?, self.memory.get(to.0.0)?);
        source.check(from.1, bytes)?;
        target.check(to.1, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        if from.0 == to.0 && from.1.abs_diff(to.1) < bytes {
            return Err(DeviceError::Overlap { from: from.1, to: to.1, bytes });
        }
        let copied = self.driver.copy((&source.buffer, from.1), (&target.buffer, to.1), bytes);
        self.noted(copied)
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        self.usable()?;
        let module = self.modules.get(launch.module.0)?;
        let mut values = Vec::with_capacity(launch.arguments.len());
        for argument in launch.arguments {
            values.push(match argument {
                Argument::Memory(memory) => Value::Buffer(&self.memory.get(memory.0)?.buffer),
                Argument::Word(word) => Value::Word(*word),
            });
        }
        self.check_shape(launch)?;
        if launch.groups.contains(&0) {
            return Ok(());
        }
        let launched = self.driver.launch(module, launch, &values);
        self.noted(launched)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.usable()?;
        let done = self.driver.synchronize();
        self.noted(done)
    }

    fn stream(&self) -> Option<u64> {
        self.driver.stream()
    }
}

impl<D: Driver> Drop for Checked<D> {
    fn drop(&mut self) {
        if self.lost.is_none() {
            // Whoever wanted to know whether it went well has synchronised.
            self.driver.synchronize().ok();
        }
        for module in self.modules.drain() {
            self.driver.unload(module);
        }
        for (_, buffer) in self.pool.drain() {
            self.driver.release(buffer);
        }
        for allocation in self.memory.drain() {
            if allocation.capacity.is_some() {
                self.driver.release(allocation.buffer);
            }
        }
    }
}
