//! Tensors on a device.

use std::fmt;

use promote_devices::Memory;
use promote_lattice::DType;
use promote_scalar::memory_size;

use crate::{Error, SharedDevice, lock};

/// A tensor in the memory of a device, contiguous and row-major.
pub struct Tensor {
    device: SharedDevice,
    memory: Memory,
    dtype: DType,
    dims: Vec<i64>,
}

impl Tensor {
    pub(crate) const fn new(device: SharedDevice, memory: Memory, dtype: DType, dims: Vec<i64>) -> Self {
        Self { device, memory, dtype, dims }
    }

    /// Elements on a device, copied from memory of this process.
    ///
    /// # Errors
    /// If they do not fit there, or are not as many bytes as the extents say.
    pub fn from_bytes(
        device: &SharedDevice,
        dtype: DType,
        dims: &[i64],
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let size = crate::heap::byte_count(dims, memory_size(dtype))?;
        if size != bytes.len() as u64 {
            let why = "has another number of bytes";
            return Err(Error::Shape { dims: dims.to_vec(), size: memory_size(dtype), why });
        }
        let mut open = lock(device);
        let memory = open.allocate(size)?;
        let tensor = Self::new(device.clone(), memory, dtype, dims.to_vec());
        let written = open.write(memory, 0, bytes);
        drop(open);
        written.map(|()| tensor).map_err(Error::from)
    }

    /// A tensor of somebody else's, at a pointer of the device.
    ///
    /// # Errors
    /// If the device cannot use it, or it is not aligned to 16 bytes, as kernels access it.
    ///
    /// # Safety
    /// The pointer is that of as many elements, contiguous and row-major, which live until the tensor is dropped and the device has
    /// done what it was asked to before that: [`Device::synchronize`](promote_devices::Device::synchronize) waits for it.
    pub unsafe fn import(
        device: &SharedDevice,
        dtype: DType,
        dims: &[i64],
        pointer: u64,
    ) -> Result<Self, Error> {
        let size = memory_size(dtype);
        let bytes = crate::heap::byte_count(dims, size)?;
        if !pointer.is_multiple_of(16) {
            return Err(Error::Shape { dims: dims.to_vec(), size, why: "is not aligned to 16 bytes" });
        }
        let memory = lock(device).import(pointer, bytes)?;
        Ok(Self::new(device.clone(), memory, dtype, dims.to_vec()))
    }

    /// The element type.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// Where it is.
    pub const fn memory(&self) -> Memory {
        self.memory
    }

    /// The device that it is on.
    pub const fn device(&self) -> &SharedDevice {
        &self.device
    }

    /// The pointer of the device, as DLPack has it; `None` where the interface has no such thing.
    pub fn address(&self) -> Option<u64> {
        lock(&self.device).address(self.memory)
    }

    /// How many bytes it has.
    pub fn byte_count(&self) -> usize {
        // The extents were checked when the memory was allocated.
        self.dims.iter().product::<i64>() as usize * memory_size(self.dtype)
    }

    /// Copies its elements to memory of this process, as many bytes as it has.
    ///
    /// # Errors
    /// If the device fails, or there are not as many bytes.
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), Error> {
        Ok(lock(&self.device).read(self.memory, 0, bytes)?)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        lock(&self.device).free(self.memory);
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}{:?} on a device)", self.dtype, self.dims)
    }
}
