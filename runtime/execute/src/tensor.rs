//! Tensors on a device.

use std::fmt;
use std::sync::Arc;

use promote_devices::{Device, Memory};
use promote_lattice::DType;
use promote_scalar::memory_size;

use crate::{Error, SharedDevice, lock};

/// A tensor in the memory of a device, contiguous and row-major.
pub struct Tensor {
    device: SharedDevice,
    memory: Memory,
    dtype: DType,
    dims: Vec<i64>,
    /// The tensor whose memory it is, if it is another one's.
    lender: Option<Arc<Tensor>>,
    /// Who keeps the memory alive, if it is somebody else's.
    owner: Option<Box<dyn Send + Sync>>,
}

/// Where kernels expect tensors to start, in bytes: they access as many at once.
const ALIGNMENT: u64 = 16;

impl Tensor {
    pub(crate) const fn new(device: SharedDevice, memory: Memory, dtype: DType, dims: Vec<i64>) -> Self {
        Self { device, memory, dtype, dims, lender: None, owner: None }
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

    /// A tensor of somebody else's, at a pointer of the device. One that is not aligned to 16 bytes, as kernels access it, is copied
    /// there.
    ///
    /// # Errors
    /// If the device cannot use it.
    ///
    /// # Safety
    /// The pointer is that of as many elements, contiguous and row-major, which nobody changes, and which live until the tensor is
    /// dropped and the device has done what it was asked to before that:
    /// [`Device::synchronize`](promote_devices::Device::synchronize) waits for it, and [`with_owner`](Self::with_owner) has
    /// an owner kept so long.
    pub unsafe fn import(
        device: &SharedDevice,
        dtype: DType,
        dims: &[i64],
        pointer: u64,
    ) -> Result<Self, Error> {
        let bytes = crate::heap::byte_count(dims, memory_size(dtype))?;
        let mut open = lock(device);
        let imported = open.import(pointer, bytes)?;
        let memory = if pointer.is_multiple_of(ALIGNMENT) {
            imported
        } else {
            let copied = copy_of(open.as_mut(), imported, bytes);
            open.free(imported);
            copied?
        };
        drop(open);
        Ok(Self::new(device.clone(), memory, dtype, dims.to_vec()))
    }

    /// The same tensor once more, which keeps it alive.
    pub fn share(tensor: &Arc<Self>) -> Self {
        let (device, dims) = (tensor.device.clone(), tensor.dims.clone());
        let mut shared = Self::new(device, tensor.memory, tensor.dtype, dims);
        shared.lender = Some(tensor.clone());
        shared
    }

    /// The tensor with an owner of its memory, which is dropped after the tensor, once the device has done what it was asked to
    /// before that.
    #[must_use]
    pub fn with_owner(mut self, owner: Box<dyn Send + Sync>) -> Self {
        self.owner = Some(owner);
        self
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
        let mut device = lock(&self.device);
        if self.owner.is_some() {
            // What is lost uses nothing any more.
            device.synchronize().ok();
        }
        if self.lender.is_none() {
            device.free(self.memory);
        }
        // The owner may be a tensor of the same device.
        drop(device);
        self.owner = None;
    }
}

/// Memory with the same bytes.
fn copy_of(device: &mut dyn Device, memory: Memory, bytes: u64) -> Result<Memory, Error> {
    let copy = device.allocate(bytes)?;
    match device.copy((memory, 0), (copy, 0), bytes) {
        Ok(()) => Ok(copy),
        Err(error) => {
            device.free(copy);
            Err(error.into())
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}{:?} on a device)", self.dtype, self.dims)
    }
}
