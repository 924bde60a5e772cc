//! Memory of a Vulkan device.

use std::ptr::NonNull;

use ash::vk;

/// A buffer with memory of its own.
pub(super) struct Buffer {
    pub(super) raw: vk::Buffer,
    memory: vk::DeviceMemory,
    /// What kernels find it by.
    pub(super) address: u64,
    /// Where the host sees it, if it does.
    mapped: Option<NonNull<u8>>,
    size: usize,
}

// SAFETY: the mapping belongs to the buffer, and only its owner uses it.
unsafe impl Send for Buffer {}

/// What memory is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// What kernels compute on.
    Device,
    /// What kernels compute on and the host sees, where both share their memory.
    Unified,
    /// Argument blocks, and bytes on their way.
    Staging,
}

impl Use {
    /// Sets of memory properties, the best first.
    fn properties(self) -> &'static [vk::MemoryPropertyFlags] {
        use vk::MemoryPropertyFlags as Flags;
        const COHERENT: Flags = Flags::from_raw(Flags::HOST_VISIBLE.as_raw() | Flags::HOST_COHERENT.as_raw());
        const CACHED: Flags = Flags::from_raw(COHERENT.as_raw() | Flags::HOST_CACHED.as_raw());
        const UNIFIED: Flags = Flags::from_raw(CACHED.as_raw() | Flags::DEVICE_LOCAL.as_raw());
        match self {
            Use::Device => &[Flags::DEVICE_LOCAL],
            Use::Unified => &[UNIFIED],
            Use::Staging => &[CACHED, COHERENT],
        }
    }

    fn is_mapped(self) -> bool {
        self != Use::Device
    }
}

/// The type of memory for a use, of those that `allowed` has a bit for.
pub(super) fn memory_type(
    types: &vk::PhysicalDeviceMemoryProperties,
    allowed: u32,
    purpose: Use,
) -> Option<u32> {
    purpose.properties().iter().find_map(|wanted| {
        (0..types.memory_type_count).find(|index| {
            let there = types.memory_types[*index as usize].property_flags;
            allowed & 1 << index != 0 && there.contains(*wanted)
        })
    })
}

impl Buffer {
    pub(super) fn new(
        device: &ash::Device,
        types: &vk::PhysicalDeviceMemoryProperties,
        bytes: u64,
        purpose: Use,
    ) -> Result<Self, vk::Result> {
        let size = usize::try_from(bytes).map_err(|_| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        let info = vk::BufferCreateInfo::default().size(bytes).usage(
            vk::BufferUsageFlags::STORAGE_BUFFER
                | vk::BufferUsageFlags::TRANSFER_SRC
                | vk::BufferUsageFlags::TRANSFER_DST
                | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
        );
        // SAFETY: the device lives, and has bufferDeviceAddress.
        let raw = unsafe { device.create_buffer(&info, None) }?;
        let mut buffer = Self { raw, memory: vk::DeviceMemory::null(), address: 0, mapped: None, size };
        match buffer.back(device, types, purpose) {
            Ok(()) => Ok(buffer),
            Err(code) => {
                buffer.destroy(device);
                Err(code)
            }
        }
    }

    /// Gives the buffer its memory.
    fn back(
        &mut self,
        device: &ash::Device,
        types: &vk::PhysicalDeviceMemoryProperties,
        purpose: Use,
    ) -> Result<(), vk::Result> {
        // SAFETY: the buffer was just made by this device.
        let needs = unsafe { device.get_buffer_memory_requirements(self.raw) };
        let index = memory_type(types, needs.memory_type_bits, purpose)
            .ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(index)
            .push_next(&mut flags);
        // SAFETY: the buffer has no memory yet and is bound to as much as it needs, of a type it allows; it may have an
        // address by its usage; it is mapped only if its type is host visible.
        unsafe {
            self.memory = device.allocate_memory(&info, None)?;
            device.bind_buffer_memory(self.raw, self.memory, 0)?;
            let of = vk::BufferDeviceAddressInfo::default().buffer(self.raw);
            self.address = device.get_buffer_device_address(&of);
            if purpose.is_mapped() {
                let all = (vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
                self.mapped = NonNull::new(device.map_memory(self.memory, 0, all.0, all.1)?.cast());
            }
        }
        Ok(())
    }

    /// Destroys the buffer. No command that is not done may use it.
    pub(super) fn destroy(&mut self, device: &ash::Device) {
        // SAFETY: both are this device's or null, and no longer used; memory is unmapped when it is freed.
        unsafe {
            device.destroy_buffer(self.raw, None);
            device.free_memory(self.memory, None);
        }
    }

    /// The bytes as the host sees them, if it does. No command that is not done may write them.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: the mapping has `size` bytes and lives as long as the buffer. Device memory has always some value.
        self.mapped.map(|start| unsafe { std::slice::from_raw_parts(start.as_ptr(), self.size) })
    }

    /// The bytes as the host sees them, if it does. No command that is not done may use those that are written.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        let (Some(start), Ok(offset)) = (self.mapped, usize::try_from(offset)) else { return false };
        assert!(offset <= self.size && bytes.len() <= self.size - offset, "ranges are checked by the caller");
        // SAFETY: the mapping has `size` bytes, and the range is inside; nobody has a reference to them meanwhile.
        unsafe { start.as_ptr().add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        true
    }
}
